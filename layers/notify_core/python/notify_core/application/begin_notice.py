"""Beginning notices: the first value of a recipient's notice, with what the inbox shows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from notify_core.application.ports import Ports
from notify_core.application.render_for import render_for
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Person
from notify_core.domain.identifiers import HQ, NoticeId, PersonId, Recipient, WorkspaceId
from notify_core.domain.notice import ConsoleContent, Notice, first_notice
from notify_core.domain.rendering import CannotRender
from notify_core.domain.request import ManifestEntry, Request


class DefinitionVersionMissing(LookupError):
    """A request pins a version of a definition that the registry doesn't hold."""


@dataclass(slots=True, kw_only=True)
class Reader:
    """Reads definitions and people on first use and remembers them for as long as it lives: one use case."""

    ports: Ports
    _people: dict[tuple[WorkspaceId, Recipient], Person | None] = field(
        default_factory=dict[tuple[WorkspaceId, Recipient], Person | None]
    )

    def definition(self, request: Request) -> Definition:
        """The version that the request pins."""
        version = request.definition_version
        found = (
            None
            if version is None
            else self.ports.registry.definition_version(request.workspace_id, request.definition, version)
        )
        if found is None:
            raise DefinitionVersionMissing(f"{request.definition} version {version}")
        return found

    def load_people(self, workspace: WorkspaceId, recipients: Iterable[Recipient]) -> None:
        """Read several people in one call."""
        wanted = {item for item in recipients if item != HQ and (workspace, item) not in self._people}
        if not wanted:
            return
        found = self.ports.directory.people(workspace, sorted(map(PersonId, wanted)))
        self._people |= {(workspace, item): found.get(PersonId(item)) for item in wanted}

    def remember(self, workspace: WorkspaceId, people: Mapping[Recipient, Person]) -> None:
        """Take over people that were read before."""
        self._people |= {(workspace, recipient): person for recipient, person in people.items()}

    def person(self, workspace: WorkspaceId, recipient: Recipient) -> Person | None:
        """The recipient as the directory knows it; None for HQ and for somebody gone."""
        self.load_people(workspace, (recipient,))
        return self._people.get((workspace, recipient))


def begin_notice(
    request: Request,
    entry: ManifestEntry,
    reader: Reader,
    *,
    notice: NoticeId | None = None,
    begun_at: datetime | None = None,
) -> Notice:
    """The first value of a notice that is about to be stored: not stored yet, the inbox's content included."""
    content = console_content(request, entry.recipient, reader) if entry.has_console else None
    return first_notice(request, entry, notice=notice, begun_at=begun_at, content=content)


def console_content(request: Request, recipient: Recipient, reader: Reader) -> ConsoleContent:
    """What the inbox shows of a request.

    Its text was rendered once before the acceptance; a directory or engine that changed since can't leave a recipient
    without a notice, so what can't be rendered any more shows the definition's title.
    """
    definition = reader.definition(request)
    try:
        content = render_for(
            definition, Channel.CONSOLE, request.data or {}, reader.person(request.workspace_id, recipient)
        )
    except CannotRender:
        reader.ports.telemetry.alarm("console_not_rendered", request_id=request.request_id)
        content = None
    if isinstance(content, ConsoleContent):
        return content
    return ConsoleContent(title=definition.title, body="", category=definition.category)
