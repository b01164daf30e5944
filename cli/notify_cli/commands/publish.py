"""`notify publish`: tell people something, or see what that would do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from rich.console import RenderableType
from typer import Argument, BadParameter, Exit, Option

from notify_cli import messages
from notify_cli.api import Json
from notify_cli.commands.watch import INTERVAL_SECONDS, PATIENCE_SECONDS, watch_request
from notify_cli.names import id_of
from notify_cli.output import facts, table
from notify_cli.request_view import because, exclusions_table, problems_table, recipient
from notify_cli.session import Session, with_session
from notify_cli.via import Via

Names = list[str]


@with_session
def publish(
    session: Session,
    definition: Annotated[str, Argument(help="The kind of notification.")],
    key: Annotated[str, Argument(help="The request key: publishing it again changes nothing.")],
    *,
    data: Annotated[str, Option(help="A JSON object, or @FILE that holds one; @- is the standard input.")] = "{}",
    person: Annotated[Names | None, Option(help="A person to tell; repeat it for more.")] = None,
    team: Annotated[Names | None, Option(help="A team to tell.")] = None,
    role: Annotated[Names | None, Option(help="The holders of a role to tell.")] = None,
    hq: Annotated[bool, Option("--hq", help="An alert to the headquarters instead.")] = False,
    not_before: Annotated[str | None, Option(help="Tell nobody before: a time with an offset, or +15m, +2h.")] = None,
    deadline: Annotated[str | None, Option(help="Tell nobody after.")] = None,
    replacement_key: Annotated[str | None, Option(help="Replaces the open request with the same one.")] = None,
    fold_key: Annotated[str | None, Option(help="Folds into the live notice with the same one.")] = None,
    via: Annotated[Via, Option(help="The way that the publication takes.")] = Via.HTTP,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only show what it would do: nothing is stored or sent.")
    ] = False,
    watch: Annotated[bool, Option("--watch", help="Then watch it, as `notify watch` does.")] = False,
) -> None:
    """Publishes a request: who is to be told what."""
    now = session.now()
    messages.keys(replacement_key, fold_key)
    body = messages.publication(
        session.workspace,
        definition,
        key,
        published_at=now,
        data=messages.read_data(data),
        audience=messages.audience(person or (), team or (), role or (), hq=hq),
        not_before=messages.read_time(not_before, "--not-before", now=now),
        deadline=messages.read_time(deadline, "--deadline", now=now),
        replacement_key=replacement_key,
        fold_key=fold_key,
    )
    request_id = id_of(session.workspace, definition, key)
    if dry_run:
        if watch or via is Via.SQS:
            raise BadParameter(
                "it asks the API and publishes nothing: leave out --watch and --via", param_hint="--dry-run"
            )
        _preview(session, body)
        return
    _send(session, body, via)
    _tell(session, request_id, via, is_watched=watch)
    if watch:
        watch_request(session, request_id, patience_seconds=PATIENCE_SECONDS, interval_seconds=INTERVAL_SECONDS)


def _send(session: Session, body: Json, via: Via) -> None:
    if via is Via.SQS:
        session.queues.send_request(body)
    else:
        session.api.post(*session.path("requests"), body=body, repeat=True)


def _tell(session: Session, request_id: str, via: Via, *, is_watched: bool) -> None:
    if session.output.as_json:
        session.output.line({"request_id": request_id, "via": via.value})
        return
    session.output.say(f"Published as request {request_id}: the queue has it.")
    if not is_watched:
        session.output.say(f"What becomes of it: notify watch '{request_id}' -w {session.workspace}", "dim")


# ---------------------------------------------------------------- dry run


def _preview(session: Session, body: Mapping[str, Any]) -> None:
    preview = session.api.post(*session.path("requests"), body=body, repeat=True, dry_run="true")
    if session.output.as_json:
        session.output.line(preview)
    else:
        session.output.show(*_preview_tables(preview))
    if preview["state"] == "invalid":
        raise Exit(1)


def _preview_tables(preview: Json) -> Iterator[RenderableType]:
    told = {
        "would be": preview["state"],
        "recipients": len(preview["recipients"]),
        "would replace": preview["replaces"],
        "would fold into": ", ".join(f"{recipient(item)}'s {item['notice_id']}" for item in preview["folds"]) or None,
    }
    yield facts("Nothing was published. If it were now:", told)
    if preview["problems"]:
        yield problems_table(preview["problems"])
    if preview["exclusions"]:
        yield exclusions_table(preview["exclusions"])
    if preview["recipients"]:
        yield _recipients_table(preview["recipients"])


def _recipients_table(recipients: Sequence[Json]) -> RenderableType:
    rows = [
        (recipient(item), channel["channel"], because(channel), channel["segments"], _content(channel["content"]))
        for item in recipients
        for channel in item["channels"]
    ]
    return table(("recipient", "channel", "begins", "parts", "content"), rows)


def _content(content: Json | None) -> str:
    """A rendered text: title and body, or what a message says."""
    if content is None:
        return ""
    texts = [content[name] for name in ("title", "body", "text") if content.get(name)]
    return "\n".join(texts) + (f"\n(and {len(content['blocks'])} blocks)" if content.get("blocks") else "")
