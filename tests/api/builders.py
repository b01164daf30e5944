"""Rows as the platform writes them, put into a world's stores."""

from datetime import datetime, timedelta
from typing import Any

from notify_core.application.ports import Ports
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import Recipient, RequestId, request_id
from notify_core.domain.notice import Notice, created, first_notice
from notify_core.domain.request import ManifestEntry, Request
from tests.builders import ACME, CONTENT, INVOICE, a_request, an_entry, planned

CONSOLE, CHAT, TEXT = planned(Channel.CONSOLE), planned(Channel.CHAT), planned(Channel.TEXT)


def id_of(key: str) -> RequestId:
    """The id of the request of a key."""
    return request_id(ACME, INVOICE, key)


def request_at(at: datetime, key: str, *entries: ManifestEntry, **changes: Any) -> Request:
    """A request recorded and accepted at a time, good for a week and with the console unless told."""
    times = {"recorded_at": at, "published_at": at, "accepted_at": at, "expires_at": at + timedelta(days=7)}
    return a_request(key, *(entries or (an_entry("ana", CONSOLE),)), **{**times, **changes})


def accepted(ports: Ports, at: datetime, key: str, *entries: ManifestEntry, **changes: Any) -> Request:
    """Such a request, stored."""
    request = request_at(at, key, *entries, **changes)
    ports.requests.put(request, None)
    return request


def stored(ports: Ports, request: Request, person: str = "ana") -> Notice:
    """A recipient's notice as the acceptance stores it."""
    manifest_entry = request.entry(Recipient(person))
    assert manifest_entry is not None
    notice = created(first_notice(request, manifest_entry, content=CONTENT))
    ports.notices.put(notice, None)
    return notice


def told(ports: Ports, at: datetime, key: str, person: str = "ana") -> Notice:
    """A console notice of a request of its own, both stored."""
    return stored(ports, accepted(ports, at, key, an_entry(person, CONSOLE)), person)
