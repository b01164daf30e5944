"""What `/_simulator/` takes, as pydantic models: strict, and closed to unknown fields."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from infra.local.simulator.faults import RETRY_AFTER_SECONDS, SEND_CALLS, Fault, FaultKind
from infra.local.simulator.ground_truth import Filter
from infra.local.simulator.receipts import DESCRIPTIONS
from infra.local.simulator.settings import Settings, SlackRate

Channel = Literal["chat", "text", "slack_system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """A field that can't be used as given, and what to give instead."""

    field: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class _Form:
    pattern: re.Pattern[str]
    words: str

    def errors(self, field: str, value: str | None) -> Iterator[FieldError]:
        if not self.pattern.fullmatch(value or ""):
            yield FieldError(field=field, code="wrong_form", message=f"Give {self.words}.")


_ADDRESSES: Final = {
    "chat": _Form(re.compile(r"U[A-Z0-9]{2,}"), "a Slack user id such as U0ANA"),
    "text": _Form(re.compile(r"\+[1-9][0-9]{1,14}"), "an E.164 number such as +41790000000"),
    "slack_system": _Form(re.compile(r"\S+"), "the channel as it is posted to"),
}
_SLACK_REFUSAL: Final = _Form(re.compile(r"[a-z_]+"), "a Slack error such as user_not_found")
_REFUSALS: Final = {
    "chat": _SLACK_REFUSAL,
    "text": _Form(
        re.compile(r"[A-Za-z]+(:[A-Za-z_-]+)?"),
        "Exception:Reason such as ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT",
    ),
    "slack_system": _SLACK_REFUSAL,
}
_FAILURE: Final = _Form(re.compile(r"50[0234]"), "an HTTP status: 500, 502, 503 or 504")
_ONLY_WITH: Final = {
    "code": (FaultKind.REJECT, FaultKind.ERROR_500),
    "retry_after": (FaultKind.THROTTLE,),
    "after_seconds": (FaultKind.DROP_RESPONSE,),
}


def _event_type(name: str) -> str:
    event_type = name if name.startswith("TEXT_") else f"TEXT_{name}"
    if event_type not in DESCRIPTIONS:
        raise ValueError(f"Give one of {', '.join(DESCRIPTIONS)}.")
    return event_type


EventType = Annotated[str, AfterValidator(_event_type)]
"""An SMS event type, with or without its `TEXT_`."""


class Body(BaseModel):
    """A JSON object without unknown fields, its values not coerced."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def contradictions(self) -> Iterator[FieldError]:
        """The fields that don't go together."""
        return iter(())


class FaultBody(Body):
    """A fault to queue.

    Beyond the contract: `call` (acts on this call instead of the send), `after_seconds` (the message whose
    answer is dropped arrives so much later), `probability` and `seed` (strikes at random), `times` null
    (until it is removed), and `code` with `error_500` (another 5xx).
    """

    channel: Channel
    fault: FaultKind
    to: str | None = None
    times: int | None = Field(default=1, ge=0)
    code: str | None = None
    retry_after: int | None = Field(default=None, ge=1, le=3600)
    after_seconds: float | None = Field(default=None, ge=0, le=60)
    probability: float = Field(default=1, gt=0, le=1)
    seed: int | None = None
    call: str | None = Field(default=None, pattern=r"^[A-Za-z.]+$")

    def contradictions(self) -> Iterator[FieldError]:
        """The fields that don't go together."""
        if self.channel == "text" and self.fault is FaultKind.UNAVAILABLE:
            message = "The SMS service has no such answer; use throttle or reject."
            yield FieldError(field="fault", code="slack_only", message=message)
        if self.to is not None:
            yield from _ADDRESSES[self.channel].errors("to", self.to)
        if self.fault is FaultKind.REJECT:
            yield from _REFUSALS[self.channel].errors("code", self.code)
        if self.fault is FaultKind.ERROR_500 and self.code is not None:
            yield from _FAILURE.errors("code", self.code)
        for field, kinds in _ONLY_WITH.items():
            if getattr(self, field) is not None and self.fault not in kinds:
                message = f"Leave it out, or use the fault {' or '.join(kinds)}."
                yield FieldError(field=field, code="not_used", message=message)

    def to_fault(self) -> Fault:
        """The fault to queue."""
        return Fault(
            channel=self.channel,
            call=self.call or SEND_CALLS[self.channel],
            kind=self.fault,
            to=self.to,
            times_left=1 if self.times == 0 else self.times,
            code=self.code,
            retry_after=self.retry_after or RETRY_AFTER_SECONDS,
            after_seconds=self.after_seconds or 0,
            probability=self.probability,
            chance=random.Random(self.seed),  # noqa: S311 - chance that can be repeated, not a secret
        )


class ReceiptBody(Body):
    """An event of a text that went out; `is_final` overrides what its type says, `times` repeats it."""

    delivery_id: str
    event: EventType
    times: int = Field(default=1, ge=1, le=1000)
    delay_seconds: int = Field(default=0, ge=0, le=900)
    is_final: bool | None = None


class TokenBody(Body):
    """Whose token to sign, and for how many seconds it is valid; negative: it has expired."""

    sub: str = Field(min_length=1)
    scope: str = Field(min_length=1)
    workspace_id: str | None = Field(default=None, min_length=1)
    seconds: int = 3600


class SlackRateBody(Body):
    """How many posts a second a workspace may make, and how long one that makes more is shut out."""

    per_second: float = Field(gt=0)
    retry_after: int = Field(default=RETRY_AFTER_SECONDS, ge=1)


class SettingsBody(Body):
    """The settings to change; those left out stay as they are."""

    receipts_queue_url: str | None = None
    aws_endpoint_url: str | None = None
    region: str = "us-east-1"
    auto_receipts: EventType | None = None
    slack_rate: SlackRateBody | None = None
    latency_ms: float = Field(default=0, ge=0, le=60_000)

    def applied_to(self, settings: Settings) -> Settings:
        """The settings with these changes."""
        changes: dict[str, object] = {name: getattr(self, name) for name in self.model_fields_set}
        if self.slack_rate is not None:
            changes["slack_rate"] = SlackRate(**self.slack_rate.model_dump())
        return replace(settings, **changes)  # type: ignore[arg-type]


class MessagesQuery(BaseModel):
    """Which messages to list; all of them by default."""

    model_config = ConfigDict(extra="forbid")

    channel: Channel | None = None
    to: str | None = None
    delivery_id: str | None = None
    since: AwareDatetime | None = None
    offset: int = Field(default=0, ge=0)
    limit: int | None = Field(default=None, ge=0)

    def to_filter(self) -> Filter:
        """The filter; a `+` that arrived as a space, because nobody encoded it, is put back."""
        to = None if self.to is None else self.to.replace(" ", "+")
        return Filter(channel=self.channel, to=to, delivery_id=self.delivery_id, since=self.since)
