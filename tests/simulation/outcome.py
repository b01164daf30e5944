"""What runs came to: counts that add up."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Outcome:
    """What a run did and how it ended; `seconds` are those of one core."""

    seed: int
    violation: str | None = None
    runs: int = 1
    counts: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    moves: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    evaluated: Counter[str] = field(default_factory=Counter[str])
    steps: int = 0
    virtual_seconds: float = 0.0
    seconds: float = field(default=0.0, compare=False)
    history: list[str] | None = None

    def add(self, other: "Outcome") -> None:
        """Take another run's counts in; its violation and its history stay its own."""
        self.runs += other.runs
        self.counts.update(other.counts)
        self.faults.update(other.faults)
        self.moves.update(other.moves)
        self.evaluated.update(other.evaluated)
        self.steps += other.steps
        self.virtual_seconds += other.virtual_seconds
        self.seconds += other.seconds
