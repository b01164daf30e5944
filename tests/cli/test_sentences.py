"""The sentences of `notify explain`: there is one for whatever the platform can say."""

import errno
from itertools import chain
from socket import gaierror
from ssl import SSLCertVerificationError
from string import Formatter
from urllib.error import URLError

from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
    ProxyConnectionError,
)

from notify_cli import sentences
from notify_cli.explaining import explain
from notify_cli.sentences import (
    ACTORS,
    BOUNCES,
    BY_PROVIDERS_CODE,
    CHANNELS,
    DELIVERIES,
    EXCLUSIONS,
    MOMENTS,
    NOTICES,
    REQUESTS,
    UNREACHED_REASONS,
    VERDICTS,
    Told,
)
from notify_core.adapters import slack_results, sms_results
from notify_core.application.record_dead_publication import DEAD_LETTERED
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DELIVERY_LIFECYCLE, DeliveryReason, DeliveryState
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import What
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.receipt import FAILURES
from notify_core.domain.request_lifecycle import RequestReason, RequestState
from notify_core.domain.send_result import Unavailable
from tests.api.contract import DOCUMENT

WITH_A_CODE = {DeliveryState.DEFERRED, DeliveryState.FAILED, DeliveryState.BOUNCED}


def test_every_state_and_reason_of_a_request_has_its_sentence() -> None:
    assert {state for state, _ in REQUESTS} == set(RequestState)
    own = {sentences.DEAD_LETTERED, sentences.SCHEDULED}
    assert {reason for _, reason in REQUESTS} - own == {*RequestReason, None}


def test_every_state_and_reason_of_a_delivery_has_its_sentence() -> None:
    assert {state for state, _ in DELIVERIES} | set(BY_PROVIDERS_CODE) == set(DeliveryState)
    assert {reason for _, reason in DELIVERIES} == {*DeliveryReason, None}
    assert set(BY_PROVIDERS_CODE) == WITH_A_CODE
    assert {state for state, _ in DELIVERIES} <= DELIVERY_LIFECYCLE.states()


def test_every_status_move_actor_and_channel_has_its_words() -> None:
    assert set(NOTICES) == set(NoticeStatus)
    assert set(MOMENTS) == set(What)
    assert set(ACTORS) == set(Actor)
    assert set(CHANNELS) == set(Channel)
    assert set(VERDICTS) == set(Told)


def test_every_reason_to_exclude_somebody_has_its_sentence() -> None:
    assert set(EXCLUSIONS) == set(DOCUMENT["components"]["schemas"]["ExclusionReason"]["enum"])


def test_every_reason_of_a_bounce_has_its_sentence() -> None:
    assert set(BOUNCES) == set(FAILURES.values())


def test_a_dead_letter_is_known_by_its_problem() -> None:
    assert DEAD_LETTERED.code == sentences.DEAD_LETTERED


def test_our_own_words_for_the_network_are_not_taken_for_a_providers() -> None:
    causes = [
        ConnectionRefusedError(),
        TimeoutError(),
        gaierror(),
        SSLCertVerificationError(),
        OSError(errno.ENETUNREACH, ""),
    ]
    on_the_way = [
        ConnectTimeoutError(endpoint_url=""),
        EndpointConnectionError(endpoint_url=""),
        ProxyConnectionError(proxy_url=""),
        NoCredentialsError(),
        PartialCredentialsError(provider="", cred_var=""),
    ]
    faults = [*(slack_results.classify_fault(URLError(cause)) for cause in causes),
              *map(sms_results.classify_fault, on_the_way)]  # fmt: skip
    assert {fault.reason for fault in faults if isinstance(fault, Unavailable)} == UNREACHED_REASONS
    assert all(isinstance(fault, Unavailable) for fault in faults)


FIELDS = {
    "who",
    "name",
    "reason",
    "by",
    "at",
    "provider",
    "place",
    "address",
    "channel",
    "recipient",
    "notice_id",
    "request_id",
    "attempts",
    "not_before",
    "expires_at",
    "closed_at",
    "next_at",
    "updated_at",
}


def test_a_sentence_asks_only_for_what_is_filled_in() -> None:
    tables = (REQUESTS, EXCLUSIONS, NOTICES, DELIVERIES, BY_PROVIDERS_CODE, BOUNCES, MOMENTS, VERDICTS)
    texts = [*chain.from_iterable(table.values() for table in tables), sentences.UNREACHED]
    asked = {field for text in texts for _, field, _, _ in Formatter().parse(text) if field}
    assert asked == FIELDS


def test_what_a_newer_platform_says_is_quoted() -> None:
    fields = {"problems": [], "exclusions": [], "notices": [], "not_before": None}
    explanation = explain("ana", [{"state": "paused", "reason": "holiday", **fields}], None)
    assert [line.sentence for line in explanation.lines] == [
        "It is `paused` (`holiday`), which this version of the command has no words for."
    ]
