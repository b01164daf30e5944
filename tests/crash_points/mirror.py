"""What is really stored, shown to the judges as soon as it is written."""

from collections.abc import Iterator
from typing import Any

from notify_core.application.ports import NoticeKey, Ports
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import DefinitionKey, NoticeId, Recipient, RequestId, WorkspaceId
from tests.crash_points.aws import Cloud
from tests.crash_points.boundary import Boundary
from tests.crash_points.judges import Judges

_Row = tuple[str, str, str]
"""A table, and a row's keys in it."""


class Mirror:
    """Finds what has changed in the tables, and reads it through the stores."""

    def __init__(self, cloud: Cloud, stores: Ports, boundary: Boundary, judges: Judges) -> None:
        self._stores = stores
        self._boundary = boundary
        self._judges = judges
        self._tables = {name: cloud.table(name) for name in ("registry", "requests", "notices")}
        self._rows: dict[_Row, Any] = {}

    def follow(self) -> bool:
        """Show what has changed, requests before notices; whether anything has."""
        changed = [row for table in self._tables for row in self._changed(table)]
        with self._boundary.unwatched():
            for table, pk, sk in changed:
                if table == "registry":
                    self._follow_registry(WorkspaceId(pk.partition("#")[2]), *sk.split("#")[:2])
                elif table == "requests" and pk.startswith("R#"):
                    self._follow_request(*pk.split("#", 2)[1:])
                elif table == "notices":
                    self._follow_notice(*pk.split("#", 1), notice_id=sk)
        self._judges.heads_agree()
        return bool(changed)

    def _changed(self, table: str) -> Iterator[_Row]:
        for item in self._tables[table].all_items():
            row = (table, item.attrs["pk"].value, item.attrs["sk"].value if "sk" in item.attrs else "")
            if self._rows.get(row) is not item:  # moto makes a new one for every write
                self._rows[row] = item
                yield row

    def _follow_request(self, workspace: str, request_id: str) -> None:
        found = self._stores.requests.get(WorkspaceId(workspace), RequestId(request_id))
        assert found is not None
        self._judges.request_written(found)

    def _follow_notice(self, workspace: str, recipient: str, *, notice_id: str) -> None:
        place = WorkspaceId(workspace), Recipient(recipient)
        if notice_id.startswith("!"):
            mark = self._stores.notices.read_mark(*place)
            assert mark is not None
            self._judges.read_up_to[place] = mark.read_up_to
            return
        key = NoticeKey(workspace_id=place[0], recipient=place[1], notice_id=NoticeId(notice_id))
        found = self._stores.notices.get(key)
        assert found is not None
        self._judges.notice_written(found)

    def _follow_registry(self, workspace: WorkspaceId, kind: str, name: str = "") -> None:
        registry = self._stores.registry
        if kind == "D":
            definition = registry.definition(workspace, DefinitionKey(name), consistent=True)
            assert definition is not None
            self._judges.definition_written(definition)
        elif kind == "channel":
            state = registry.channel_state(workspace, Channel(name))
            assert state is not None
            self._judges.channel_written(state)

    def check_unread(self) -> None:
        """Compare the totals that DynamoDB counts with the notices that are there to be seen."""
        with self._boundary.unwatched():
            for (workspace, recipient), seen in self._judges.unread().items():
                place = WorkspaceId(workspace), Recipient(recipient)
                after = self._judges.read_up_to.get(place)
                counted = self._stores.notices.unread_count(*place, after=after, limit=1000)
                self._judges.check(counted == seen, f"{place}: {counted} unread, {seen} to be seen")
