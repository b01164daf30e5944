"""The simulator's own interface, `/_simulator/`: ground truth, faults, receipts, tokens, settings, reset."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from infra.local.simulator.control_bodies import (
    Body,
    FaultBody,
    FieldError,
    MessagesQuery,
    ReceiptBody,
    SettingsBody,
    TokenBody,
)
from infra.local.simulator.faults import FaultBook
from infra.local.simulator.ground_truth import GroundTruth
from infra.local.simulator.issuer import Issuer
from infra.local.simulator.receipts import QueueNotSet, QueueRefused, Receipts, event_of
from infra.local.simulator.settings import Switches
from infra.local.simulator.wire import Answer, Request, json_answer, to_json

PREFIX: Final = "/_simulator/"
_AnyBody = TypeVar("_AnyBody", bound=Body)
_AnyModel = TypeVar("_AnyModel", bound=BaseModel)


class _Problem(Exception):
    """A request that can't be done, as an RFC 9457 problem."""

    def __init__(self, status: int, title: str, errors: Iterable[FieldError] = ()) -> None:
        super().__init__(title)
        problem = {"title": title, "status": status, "errors": [asdict(error) for error in errors]}
        self.answer = Answer(status=status, body=to_json(problem), content_type="application/problem+json")


class Control:
    """What a test, the demo or a person at a terminal asks the simulator itself."""

    def __init__(
        self,
        *,
        switches: Switches,
        faults: FaultBook,
        messages: GroundTruth,
        receipts: Receipts,
        issuer: Issuer,
        reset: Callable[[], None],
    ) -> None:
        self._switches = switches
        self._faults = faults
        self._messages = messages
        self._receipts = receipts
        self._issuer = issuer
        self._reset = reset
        self._routes: dict[str, dict[str, Callable[[Request], Answer]]] = {
            "health": {"GET": self._health},
            "messages": {"GET": self._list_messages},
            "faults": {"GET": self._list_faults, "POST": self._add_fault, "DELETE": self._remove_faults},
            "receipts": {"POST": self._send_receipt},
            "tokens": {"POST": self._sign_token},
            "config": {"GET": self._show_settings, "POST": self._change_settings},
            "reset": {"POST": self._forget},
        }

    def respond(self, request: Request) -> Answer:
        """The answer to one request; a problem names the field and the remedy."""
        try:
            return self._route(request)(request)
        except _Problem as problem:
            return problem.answer

    def _route(self, request: Request) -> Callable[[Request], Answer]:
        methods = self._routes.get(request.path.removeprefix(PREFIX))
        if methods is None:
            raise _Problem(404, f"There is no such path here; there is {', '.join(self._routes)}.")
        if request.method not in methods:
            raise _Problem(405, f"Use {' or '.join(methods)}.")
        return methods[request.method]

    def _health(self, _request: Request) -> Answer:
        return json_answer({"status": "ok", "messages": len(self._messages), "faults": len(self._faults.remaining())})

    def _list_messages(self, request: Request) -> Answer:
        query = _validated(lambda: MessagesQuery.model_validate(request.query))
        return Answer(body=self._messages.to_json(query.to_filter(), offset=query.offset, limit=query.limit))

    def _list_faults(self, _request: Request) -> Answer:
        return json_answer(self._faults.remaining())

    def _add_fault(self, request: Request) -> Answer:
        fault = _body(FaultBody, request).to_fault()
        self._faults.add(fault)
        return json_answer(fault.to_json())

    def _remove_faults(self, request: Request) -> Answer:
        self._faults.clear()
        return self._list_faults(request)

    def _send_receipt(self, request: Request) -> Answer:
        body = _body(ReceiptBody, request)
        text = self._receipts.find(body.delivery_id)
        if text is None:
            raise _Problem(404, "No text with this delivery_id went out.")
        event = event_of(text, body.event, is_final=body.is_final)
        try:
            self._receipts.send(event, times=body.times, delay_seconds=body.delay_seconds)
        except QueueNotSet:
            raise _Problem(409, "Set receipts_queue_url first, by POST /_simulator/config.") from None
        except QueueRefused as refusal:
            raise _Problem(502, f"The queue took no receipt: {refusal}.") from refusal
        return json_answer(event)

    def _sign_token(self, request: Request) -> Answer:
        return json_answer({"token": self._issuer.token(**_body(TokenBody, request).model_dump())})

    def _show_settings(self, _request: Request) -> Answer:
        return json_answer(asdict(self._switches.now))

    def _change_settings(self, request: Request) -> Answer:
        self._switches.now = _body(SettingsBody, request).applied_to(self._switches.now)
        return self._show_settings(request)

    def _forget(self, request: Request) -> Answer:
        self._reset()
        return self._health(request)


def _body(model: type[_AnyBody], request: Request) -> _AnyBody:
    body = _validated(lambda: model.model_validate_json(request.body or b"{}"))
    if errors := list(body.contradictions()):
        raise _Problem(422, "Some fields don't go together.", errors)
    return body


def _validated(validate: Callable[[], _AnyModel]) -> _AnyModel:
    try:
        return validate()
    except ValidationError as invalid:
        raise _Problem(422, "Some fields can't be used.", _field_errors(invalid)) from invalid


def _field_errors(invalid: ValidationError) -> Iterable[FieldError]:
    for error in invalid.errors(include_url=False, include_context=False, include_input=False):
        field = ".".join(map(str, error["loc"]))
        yield FieldError(field=field, code=error["type"], message=error["msg"])
