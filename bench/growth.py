"""Growth: what an operation asks of the tables, however much there is beneath it."""

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from bench.meter.meter import Meter, Usage
from bench.meter.schema import metered_tables
from bench.meter.sizes import Item
from bench.meter.tables import MemoryTables, metered_stores
from bench.report import Cell, Result
from notify_core.adapters.dynamodb import DynamoStores, connect
from notify_core.adapters.memory import FixedClock, memory_ports
from notify_core.application.accept_request import accept_request
from notify_core.application.deliver_notices import deliver_notices
from notify_core.application.list_attention import AttentionQuery, list_attention
from notify_core.application.mark_read import mark_all_read, mark_read
from notify_core.application.ports import NoticeKey, Ports, QueueName
from notify_core.application.read_history import HistoryQuery, read_history
from notify_core.application.read_inbox import count_unread, read_inbox
from notify_core.application.read_notice import read_notice
from notify_core.application.read_request import read_request
from notify_core.application.sweep_request import sweep_request
from notify_core.application.tasks import DispatchTask, parse_task
from notify_core.application.withdraw_request import withdraw_request
from notify_core.domain.identifiers import NoticeId, Recipient
from notify_core.domain.request import Publication, Withdrawal
from notify_core.domain.send_result import Rejected, RejectionScope
from notify_core.messages.publications import parse_message
from tests.application.world import ACME, NOON, OVERDUE, World
from tests.conformance.backends import emulator

ANA: Final = Recipient("ana")
PAGE: Final = 50
IN_MEMORY: Final = (100, 1_000, 10_000)
ON_EMULATOR: Final = (100, 2_000)
_OLDER: Final = timedelta(seconds=1)
_PLACES: Final = ("history_key", "inbox", "failed_at")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")

Operation = Callable[[World, Ports], object]


def run() -> Result:
    """Meter each operation over more and more requests of a workspace, and as many notices of one person."""
    columns: dict[str, Mapping[str, Usage]] = {}
    for number in IN_MEMORY:
        columns[f"{number:,}"] = in_memory(number)
    for number in ON_EMULATOR:
        columns[f"{number:,} on the emulator"] = on_emulator(number)
    rows: list[list[Cell]] = [
        [name, *(_told(usages[name]) for usages in columns.values())] for name in next(iter(columns.values()))
    ]
    full = [usages for number, usages in columns.items() if not number.startswith("100")]
    growing = [name for name in OPERATIONS if len({_told(usages[name]) for usages in full}) > 1]
    return Result(
        name="growth",
        title="Growth: calls, write units and read units of an operation over so many requests and notices",
        columns=["operation", *columns],
        rows=rows,
        figures={"operations_that_grow_beyond_1000": len(growing)},
        budgets={"operations_that_grow_beyond_1000": 0},
        notes=[
            (
                "Each cell: calls / write units / read units. They stay flat beyond because nothing is scanned: an "
                "operation reads rows by their keys, or one page of an index from its end, and a page has a fixed "
                "size. The unread total counts index entries, up to 1,000 of them."
            ),
        ],
    )


def in_memory(number: int) -> Mapping[str, Usage]:
    """What each operation asks of tables in memory, over so many older requests and notices."""
    stores, meter, tables = metered_stores()
    return metered(stores, meter, number, partial(_lay, meter, tables))


def on_emulator(number: int) -> Mapping[str, Usage]:
    """The same on the local stack's emulator."""
    with tempfile.TemporaryDirectory() as folder, emulator(Path(folder)) as dynamo:
        meter = Meter(metered_tables(dynamo.tables))
        meter.attach(dynamo.client.meta.events)

        def put(table: str, item: Item) -> None:
            dynamo.client.put_item(TableName=getattr(dynamo.tables, table), Item=dict(item))

        return metered(connect(dynamo.tables, dynamo.client), meter, number, put)


def _lay(meter: Meter, tables: MemoryTables, table: str, item: Item) -> None:
    tables.put(table, item)
    meter.lay(table, item)


def metered(stores: DynamoStores, meter: Meter, number: int, put: Callable[[str, Item], None]) -> Mapping[str, Usage]:
    """What each operation asks of the tables, over so many older requests and notices."""
    world = a_world(stores)
    for table, item in older(meter, world, number):
        put(table, item)
    found: dict[str, Usage] = {}
    meter.take()
    for name, operation in OPERATIONS.items():
        operation(world, world.ports)
        found[name] = Usage.of(meter.take())
    return found


def on(stores: DynamoStores) -> World:
    """A platform on these stores."""
    return World(
        replace(
            memory_ports(FixedClock(NOON)),
            registry=stores.registry,
            directory=stores.directory,
            requests=stores.requests,
            notices=stores.notices,
        )
    )


def a_world(stores: DynamoStores) -> World:
    """A platform on these stores where ana was told one thing, and wasn't told another."""
    world = on(stores)
    world.register_people("ana")
    world.register_definition()
    world.chat.faults.append(Rejected(reason="user_not_found", scope=RejectionScope.PERSON))
    for key in ("failing", "newest"):
        world.publish(key)
        world.run()
        world.skip(minutes=1)
    world.skip(minutes=1)
    return world


def older(meter: Meter, world: World, number: int) -> Iterable[tuple[str, Item]]:
    """Rows like the newest request and notice, and like the failed one, each a second older than the one before."""
    ids = world.id_of("newest"), world.id_of("failing")
    request = next(item for item in meter.rows("requests") if item["pk"]["S"].endswith(ids[0]))
    newest, failed = (next(item for item in meter.rows("notices") if item["sk"]["S"] == identity) for identity in ids)
    for index in range(number):
        identity = f"{index:022d}"
        yield "requests", _older(request, ids[0], identity, index)
        notice, known_as = (failed, ids[1]) if index % 3 else (newest, ids[0])
        yield "notices", _older(notice, known_as, identity, index)


def _older(item: Item, known_as: str, identity: str, index: int) -> Item:
    """The row under another identity, and so many seconds further back in every index that it stands in."""
    renamed = {
        name: {kind: value.replace(known_as, identity) if isinstance(value, str) else value}
        for name, content in item.items()
        for kind, value in content.items()
    }
    places = {name: renamed[name]["S"] for name in _PLACES if name in renamed}
    return {
        **renamed,
        **{name: {"S": _TIME.sub(lambda found: _before(found[0], index), place)} for name, place in places.items()},
    }


def _before(time: str, index: int) -> str:
    earlier = datetime.fromisoformat(time) - (index + 1) * _OLDER
    return earlier.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _told(usage: Usage) -> str:
    calls = sum(usage.calls.values())
    return f"{calls} / {usage.write_units:g} / {usage.read_units:g}"


# ---------------------------------------------------------------- the operations


def _newest(world: World) -> NoticeKey:
    return NoticeKey(workspace_id=ACME, recipient=ANA, notice_id=NoticeId(world.id_of("newest")))


def _accept(world: World, ports: Ports) -> object:
    publication = parse_message(json.dumps(world.publication("another")))
    assert isinstance(publication, Publication)
    return accept_request(publication, ports)


def _deliver(world: World, ports: Ports) -> object:
    tasks = [parse_task(body) for _, body in world.waiting(QueueName.CHAT)]
    assert len(tasks) == 1
    until = world.clock.now() + timedelta(seconds=25)
    return deliver_notices([task for task in tasks if isinstance(task, DispatchTask)], ports, until=until)


def _withdraw(world: World, ports: Ports) -> object:
    at = world.clock.now()
    return withdraw_request(
        Withdrawal(workspace_id=ACME, definition=OVERDUE, withdrawn_at=at, request_key="newest"), ports
    )


OPERATIONS: Final[Mapping[str, Operation]] = {
    "a page of the history": lambda _, ports: read_history(HistoryQuery(workspace_id=ACME, limit=PAGE), ports),
    "a page of the inbox": lambda _, ports: read_inbox(ACME, ANA, ports, before=None, limit=PAGE),
    "a page of the attention list": lambda _, ports: list_attention(
        AttentionQuery(workspace_id=ACME, limit=PAGE), ports
    ),
    "the unread total": lambda _, ports: count_unread(ACME, ANA, ports),
    "one request": lambda world, ports: read_request(ACME, world.id_of("newest"), ports),
    "one notice": lambda world, ports: read_notice(_newest(world), ports),
    "a look of the sweep": lambda world, ports: sweep_request(ACME, world.id_of("newest"), ports),
    "a notice read": lambda world, ports: mark_read(_newest(world), ports),
    "all read": lambda world, ports: mark_all_read(ACME, ANA, world.clock.now(), ports),
    "an acceptance": _accept,
    "a delivery": _deliver,
    "a withdrawal": _withdraw,
}
