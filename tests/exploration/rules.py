"""Each rule of the protocol, switched off in the code, and the configuration that shows what it is there for.

The mutations are the simulation's, where a rule that a model showed to be needed is marked †; some are made here, of
what the model switched off and a catalogue for random runs has no use for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.exploration.configurations import CONFIGURATIONS, Configuration
from tests.simulation.mutants import MUTATIONS
from tests.simulation.mutation import Mutation, edit, mutation

OWN: Final = (
    mutation(
        "released-without-ending",
        "† a claim that nobody carries is released unsent and, in the same write, its notice ends",
        edit(
            "application.deliver_notices:_check",
            (
                "new = ended(claim.notice, carrier, now=now, claim_of=claim.channel)",
                (
                    "from notify_core.domain.notice import _released\n"
                    "        new = _released(claim.notice, claim.channel, by=Actor.WORKER, now=now)"
                ),
            ),
        ),
        edit(
            "domain.notice:_can_carry",
            ("return item.state not in ENDED_UNSENT and not is_retryable(item)", "return True"),
        ),
    ),
    mutation(
        "handed-to-the-open-only",
        "† one that was closed by retirement carries too: a notice is handed to it",
        edit(
            "application.end_notices:_without",
            (
                "[item for item in others if carries(item, now)]",
                "[item for item in others if carries(item, now) and not item.is_retired]",
            ),
        ),
    ),
    mutation(
        "receipt-handed-over-unwatched",
        "† what was sent is handed over as well: the one that takes it over is looked at before its receipt times out",
        edit("application.end_notices:_without", ("if notice.is_active:", "if notice.is_busy:")),
    ),
    mutation(
        "not-folded-past-the-deadline",
        "† a folded request settles only once a notice holds it, past its deadline too",
        edit(
            "application.sweep_request:_sweep_accepted",
            (
                "if _is_unfinished(request, notices):",
                "if _is_unfinished(request, notices) and not request.is_past(now):",
            ),
        ),
    ),
)

FOUND_IN: Final[Mapping[str, str]] = {
    "open-not-resumed": "1a-accept2-withdraw",
    "retired-not-resumed": "5g-retire-fold-new",
    "not-looked-behind": "3f-fold1-console-sweep",
    "notice-version-unguarded": "1c-workers2-withdraw",
    "half-a-commit": "2c-replace-settle",
    "replacement-in-two-writes": "2a-replace2-withdraw",
    "withdrawal-by-key-in-two-writes": "2d-withdrawkey-chat",
    "no-second-look": "1c-workers2-withdraw",
    "second-look-eventual": "9q-stale-worker",
    "shorter-lease": "1d2-evidence-late",
    "no-pause-before-silence-is-believed": "1d2-evidence-late",
    "unknown-text-queued-again": "8b-channels-faults",
    "early-receipt-dropped": "4b-receipt",
    "late-receipt-dropped": "4b-receipt",
    "receipt-not-awaited": "4b2-receipt-days",
    "dead-letter-uncounted": "7b-poison",
    "closing-not-armed": "6a-loss",
    "closed-repeat-ends-nothing": "1b-lazy",
    "repeated-withdrawal-ends-nothing": "1a-accept2-withdraw",
    "replaced-not-ended": "9d-people2-replace",
    "settled-unread": "4a-retry",
    "expiry-left-to-the-sweep": "8d-channels-expire",
    "gives-up-in-silence": "1b-lazy",
    "no-handover": "4c-retry-fold",
    "receipt-handed-over-unwatched": "4f-receipt-fold",
    "handed-to-one-that-left": "4g-retry-fold3",
    "expiry-takes-all-along": "3b-fold2-deadlines",
    "folded-into-an-ended-channel": "3b3-fold-expired",
    "folded-into-a-skipped-channel": "3j-fold-skipped",
    "fold-adds-a-channel": "3h-fold-plan",
    "only-the-newest-generation": "3d-fold-read",
    "look-back-too-short": "3d-fold-read",
    "folded-while-gone": "6e-loss-fold-chat",
    "retirement-ends-notices": "5a-retire-deadline",
    "definition-read-eventually": "5-retire",
    "sweep-keeps-the-retired-open": "5-retire",
    "retry-without-transaction": "4a-retry",
    "ended-counts-as-unread": "1a-accept2-withdraw",
    "released-without-ending": "3a2-fold2-crash",
    "handed-to-the-open-only": "5d-retire-fold",
    "not-folded-past-the-deadline": "6e-loss-fold-chat",
}
"""By mutation: where its counterexample is found."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule switched off, and where it is missed."""

    mutation: Mutation
    configuration: Configuration


def rules() -> list[Rule]:
    """Every rule that is marked †, in the order of the catalogue."""
    by_name = {configuration.name: configuration for configuration in CONFIGURATIONS}
    return [
        Rule(mutation=item, configuration=by_name[FOUND_IN[item.name]])
        for item in (*MUTATIONS, *OWN)
        if item.rule.startswith("†")
    ]
