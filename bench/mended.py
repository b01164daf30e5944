"""What each optimisation of the worker is worth: the function as it is against itself with one of them undone.

Run as `python -m bench.mended` it is the process that is measured, and reads its plan from its input.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from statistics import median
from typing import Any, Final, cast

from botocore.config import Config  # pyright: ignore[reportMissingTypeStubs]  (botocore-stubs lacks it)

from bench import worker
from bench.report import Cell, Result
from bench.scene import laid
from bench.worker import Plan, Timing, environment, told_by, work
from notify_core import wiring
from notify_core.adapters import aws, slack
from notify_core.adapters.dynamodb.items import Item
from notify_core.adapters.kept_connections import KeptConnections

_TURNS: Final = 5
_ROUNDS: Final = 3
_BATCH: Final = 10


_WIRING: Final[Any] = wiring
_AWS: Final[Any] = aws
_SLACK: Final[Any] = slack
_ITEM: Final[Any] = Item


def _asking_where_to_call() -> None:
    def give_another(_client: object) -> bool:
        return False

    _AWS._rules_give_its_own_address = give_another  # noqa: SLF001  (to undo what follows from it)


def _over_botocores_connections() -> None:
    def proxies(_url: str) -> dict[str, str]:
        return {"https": "with one it is left to botocore, which sees that there is none"}

    _AWS.get_environ_proxies = proxies


def _on_all_cpus() -> None:
    _WIRING.keep_to_one_cpu = lambda: None


def _configured(**changes: bool | str | None) -> Callable[[], None]:
    def undo() -> None:
        make, options = _WIRING._client, cast("Any", changes)  # noqa: SLF001  (to undo what it is given)

        def client(service: str, config: Any) -> Any:  # noqa: ANN401  (botocore's)
            return make(service, config.merge(Config(**options)))

        _WIRING._client = client  # noqa: SLF001  (to undo what it is given)

    return undo


def _connecting_for_each_message() -> None:
    _SLACK.KeptConnections = partial(KeptConnections, idle_seconds_max=-1)


def _serialising_all_of_a_class() -> None:
    del _ITEM.serialize  # then it is pynamodb's


UNDOING: Final[Mapping[str, Callable[[], None]]] = {
    "The endpoint's rules asked once, not at every call": _asking_where_to_call,
    "A user agent of our own: botocore composes none": _configured(user_agent=None),
    "What the product builds itself isn't validated": _configured(parameter_validation=True),
    "All threads on one CPU": _on_all_cpus,
    "Calls to AWS over connections of our own, not urllib3's": _over_botocores_connections,
    "Connections to Slack kept": _connecting_for_each_message,
    "Rows serialised over what they hold, not over their class": _serialising_all_of_a_class,
}
"""Each optimisation, with what takes it back in a process that has called nothing yet."""


def run() -> Result:
    """Measure each by turns with the whole, in processes of their own."""
    rows: list[list[Cell]] = []
    figures: dict[str, float] = {}
    with laid() as scene:
        plan = Plan(folder="deliver_chat", events=scene.dispatches(100), rounds=_ROUNDS)
        variables = environment(plan.folder, scene.stub)
        for what in UNDOING:
            turns = [
                (min(worker.run(plan, scene.stub).rounds_cpu_ms), min(_without(what, plan, variables).rounds_cpu_ms))
                for _ in range(_TURNS)
            ]
            ratios = [after / before for after, before in turns]
            before_ms = median(before for _, before in turns) / _BATCH
            after_ms = median(after for after, _ in turns) / _BATCH
            rows.append([what, before_ms, after_ms, median(ratios), min(ratios), max(ratios)])
            figures[f"ratio: {what}"] = median(ratios)
    return Result(
        name="mended",
        title="What was mended: CPU of a chat delivery, before and after",
        columns=["what", "before ms", "after ms", "ratio", "least", "most"],
        rows=rows,
        figures=figures,
        notes=[
            (
                f"Before is the worker as it is with this one thing undone. By turns, {_TURNS} processes of each, the "
                "least of each process's rounds; the median of the ratios counts."
            ),
        ],
    )


def _without(what: str, plan: Plan, variables: Mapping[str, str]) -> Timing:
    return Timing(**told_by("bench.mended", {"undone": what, "plan": asdict(plan)}, variables))


def _main() -> None:
    out = sys.stdout
    asked: Mapping[str, Any] = json.load(sys.stdin)
    UNDOING[asked["undone"]]()
    timing = work(Plan(**asked["plan"]))
    sys.stdout = out
    print(json.dumps(asdict(timing)))


if __name__ == "__main__":
    _main()
