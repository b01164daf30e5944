"""What kinds of runs there are: each presses where one kind of rule has to hold."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ALL_DEFINITIONS: Final = ("plain", "plain", "chat", "replace", "replace", "fold", "fold", "foldtext", "alert")
OPERATIONS: Final[dict[str, int]] = {
    "publish": 50, "repeat": 8, "withdraw": 12, "withdraw_key": 8, "read": 8, "read_all": 3, "retry": 6,
    "reprocess": 2, "retire": 1, "register_again": 1, "leave": 1,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A mixture: of whom, of what is published under which keys, of what is done, and of what goes wrong."""

    name: str = "mixed"
    people: tuple[int, ...] = (1, 1, 2, 3, 8)
    definitions: tuple[str, ...] = ALL_DEFINITIONS
    replacement_keys: tuple[str, ...] = ("a", "b")
    fold_keys: tuple[str, ...] = ("x", "y")
    operations: "Mapping[str, int]" = field(default_factory=lambda: OPERATIONS)
    burst: tuple[int, ...] = (1,)
    """How many publications follow each other at once."""
    published: tuple[float, ...] = (0, 0, 0, -1, -30, 60, -3600, 290, 900)
    """How far the producers' clocks are off, in seconds."""
    span: float = 0
    """Over how many seconds the operations are spread at least."""
    second: int = 0
    """Publications are timed by so many full seconds, where it isn't zero: several have the same time."""
    wait: float = 0.2
    deadline: float = 0.3
    deadlines: tuple[float, ...] = (5, 60, 700, 3600, 10_000)
    withdrawn: float = 0.3
    """How many publications are withdrawn, and after how long at most, in seconds."""
    withdrawn_after: tuple[float, ...] = (0.03, 0.1, 0.1, 0.3, 5)
    repeated: float = 0.1
    retired: float = 0.0
    """How many publications have their definition retired behind them, and registered again a little later."""
    later: tuple[str, ...] = ()
    """What is done once more in the hours or days after."""
    later_hours: float = 120
    hurried: float = 0.0
    """How often an operator tries again what a sweep has just read, and the message is lost."""
    torn: float = 0.0
    """How often a withdrawal stops once it has marked its head, and an older publication comes meanwhile."""
    dawdling: float = 0.0
    """How often a worker stops for a while just before it posts, up to the end of its function and beyond."""
    answers: tuple[str, ...] = ()
    """How a provider fails, where not in every way."""
    hours: tuple[float, ...] = (1, 6, 48)
    purges: tuple[int, ...] = (0,)
    refusals: tuple[int, ...] = (0,)
    """How often a provider refuses everything for a while."""
    poisoned: float = 0.0
    """How many people's dispatches, and how many publications, fail again and again."""
    faults: "Mapping[str, float]" = field(default_factory=dict[str, float])
    """Faults that are at least so likely."""


def _operations(**more: int) -> dict[str, int]:
    return {**OPERATIONS, **more}


_FOLDS_OVER_CHANNELS: Final = Profile(  # that come and go
    name="folds over channels",
    people=(1, 2),
    definitions=("fold", "fold", "foldtext"),
    fold_keys=("x",),
    operations=_operations(publish=60, withdraw=4, read=2, read_all=4, redefine=6, leave=12, move=12, retry=2),
    deadline=0.5,
    deadlines=(20, 60, 120, 10_000),
    withdrawn=0.05,
    hours=(6, 48),
    refusals=(0, 1, 2),
    faults={"provider": 0.5},
)
_OPERATORS: Final = Profile(  # who try again, at the worst of moments
    name="operators",
    people=(2, 3),
    definitions=("chat", "fold", "foldtext", "foldtext"),
    fold_keys=("x",),
    poisoned=0.7,
    hurried=0.7,
    hours=(5, 5, 24, 24),
    published=(0, 0, -1),
    withdrawn=0.0,
    deadline=0.0,
    later=("retry",) * 4 + ("retry_all",) * 8 + ("regret",) * 24,
    later_hours=6,
)

PROFILES: Final[tuple[Profile, ...]] = (
    Profile(),
    Profile(),
    _FOLDS_OVER_CHANNELS,
    _FOLDS_OVER_CHANNELS,
    _OPERATORS,
    _OPERATORS,
    _OPERATORS,
    Profile(  # a few keys, everything at once
        name="contention",
        people=(1, 2),
        definitions=("plain", "chat"),
        operations=_operations(publish=25, repeat=40, withdraw=40),
        withdrawn=0.6,
        repeated=0.5,
        faults={"stale": 0.5},
    ),
    Profile(  # folds whose contributors leave one after the other
        name="folds",
        people=(1, 1, 2),
        definitions=("fold", "fold", "foldtext"),
        fold_keys=("x",),
        operations=_operations(publish=60, withdraw=40, read=4, read_all=4, purge=3, retry=10),
        deadline=0.4,
        withdrawn=0.5,
        withdrawn_after=(0.1, 1, 30, 600, 3600),
        hours=(6, 48),
        purges=(0, 1, 2),
        faults={"crash": 0.01},
    ),
    Profile(  # replacements with equal times
        name="replacements",
        people=(1, 2),
        definitions=("replace",),
        replacement_keys=("a", "b", "c"),
        operations=_operations(publish=50, withdraw_key=25, repeat=4, withdraw=6),
        burst=(1, 1, 2),
        span=60,
        published=(0, 0, -1, -2, -3, 2),
        second=2,
        wait=0.1,
        withdrawn=0.3,
        torn=0.5,
        faults={"slow_function": 0.02},
    ),
    Profile(  # closings that die halfway, with the messages that would resume them
        name="closings",
        people=(2, 3, 8),
        definitions=("plain", "chat", "replace", "fold", "foldtext", "foldtext"),
        operations=_operations(withdraw=20, withdraw_key=15, purge=8),
        withdrawn=0.5,
        withdrawn_after=(0.1, 0.3, 5, 60),
        hours=(6, 48),
        purges=(1, 3),
        faults={"crash": 0.03},
    ),
    Profile(  # texts and their receipts
        name="receipts",
        people=(1, 3, 8),
        definitions=("foldtext", "plain", "plain"),
        operations=_operations(retry=20, withdraw=20),
        hours=(6, 48, 120),
        deadline=0.1,
        withdrawn_after=(0.3, 5, 60, 600),
        later=("retry",) * 8,
        faults={"provider": 0.3, "crash": 0.005},
    ),
    Profile(  # providers that refuse everything for a while
        name="refusals",
        people=(8, 20),
        definitions=("chat", "plain", "alert"),
        refusals=(1, 2, 3),
        withdrawn=0.1,
        deadline=0.1,
        hours=(6, 48),
        faults={"provider": 0.2},
    ),
    Profile(  # answers that come late, workers that dawdle, operators in a hurry
        name="late answers",
        people=(8, 20),
        definitions=("chat", "chat", "chat", "alert"),
        operations=_operations(retry=30),
        withdrawn=0.05,
        deadline=0.05,
        hours=(6, 48),
        answers=("late", "late", "late", "unavailable"),
        dawdling=0.9,
        faults={"provider": 0.8},
    ),
    Profile(  # more folded than a notice holds
        name="crowded folds",
        people=(1,),
        definitions=("fold",),
        fold_keys=("x",),
        operations=_operations(publish=60, read=0, read_all=0, withdraw=5),
        burst=(1, 5, 8),
        wait=0.05,
        deadline=0.1,
        withdrawn=0.05,
        published=(0, 0, -1),
        hours=(48,),
    ),
    Profile(  # what can't be processed, time after time
        name="poison",
        people=(1, 2, 3),
        definitions=("plain", "chat", "alert", "foldtext"),
        operations=_operations(reprocess=10, repeat=12),
        poisoned=0.3,
        hours=(6, 48),
        withdrawn=0.1,
        deadline=0.1,
    ),
    Profile(  # definitions that come and go
        name="retirements",
        people=(1, 2),
        operations=_operations(retire=12, register_again=12, redefine=6, leave=4, purge=2),
        retired=0.3,
        purges=(0, 1),
        hours=(6, 48),
        faults={"stale": 0.5, "crash": 0.02},
    ),
)  # fmt: skip
