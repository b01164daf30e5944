"""People who look while everything moves, and producers who withdraw over HTTP: what they are answered is judged."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from notify_core.application.list_attention import AttentionQuery, list_attention
from notify_core.application.mark_read import mark_all_read, mark_read
from notify_core.application.ports import Conflict, NoticeKey, StoreUnavailable
from notify_core.application.read_history import HistoryQuery, read_history
from notify_core.application.read_inbox import count_unread, read_inbox
from notify_core.application.read_notice import read_notice
from notify_core.application.read_request import read_request
from notify_core.application.refusals import NotFound
from notify_core.application.retry_deliveries import retry_deliveries
from notify_core.application.retry_delivery import Retried, retry_delivery
from notify_core.application.withdraw_request import withdraw_request
from notify_core.domain.identifiers import DefinitionKey, NoticeId, Recipient, WorkspaceId, request_id
from notify_core.domain.limits import API_TIMEOUT_SECONDS
from notify_core.domain.request import Withdrawal
from tests.simulation.checkers import outcome_of
from tests.simulation.operations import answer_of
from tests.simulation.stores import INDEX_LAG_SECONDS_MAX

if TYPE_CHECKING:
    from tests.simulation.workload import Workload

_HISTORY_ROWS = 10
_INDEX_LAG = timedelta(seconds=INDEX_LAG_SECONDS_MAX)


class Readers:
    """So many looks, spread over a time, at what a workload has published."""

    def __init__(self, workload: "Workload", *, looks: int, seconds: float) -> None:
        self.world = workload.world
        self.workload = workload
        self.random = self.world.kernel.random
        self.checkers = self.world.checkers
        self._looks = (
            *(self._look_at_request, self._look_at_request, self._look_at_notice, self._look_at_notice),
            *(self._look_at_history, self._look_at_inbox, self._look_at_unread, self._look_at_unread, self._read),
            *(self._withdraw, self._look_at_attention, self._retry),
        )
        for _ in range(looks):
            self.world.kernel.after(self.random.random() * seconds, self._look)

    def _look(self) -> None:
        if self.workload.published:
            self.random.choice(self._looks)()

    def _spawn(self, name: str, run: Callable[[], None]) -> None:
        def ended(outcome: object) -> None:
            if isinstance(outcome, Exception) and not isinstance(outcome, (Conflict, StoreUnavailable, NotFound)):
                raise outcome

        self.world.counts["looks"] += 1
        self.world.kernel.spawn(name, run, seconds=API_TIMEOUT_SECONDS, on_end=ended)

    def _some_body(self) -> dict[str, Any]:
        """A recent publication, most often."""
        published = self.workload.published
        return self.random.choice(published[-6:] if self.random.random() < 0.8 else published)

    # ---------------------------------------------------------------- requests and their notices

    def _look_at_request(self) -> None:
        body = self._some_body()
        workspace, key = WorkspaceId(body["workspace_id"]), (body["definition"], body["request_key"])
        identity = request_id(workspace, DefinitionKey(key[0]), key[1])

        def look() -> None:
            began = self.world.kernel.at
            with self.world.operations.during("read", key) as operation:
                view = read_request(workspace, identity, self.world.ports)
                self.world.operations.answer(operation, outcome_of(view.request))
            told = [notice.recipient for notice in view.notices]
            named = [entry.recipient for entry in view.request.manifest]
            self.checkers.judge(
                "accepted means all recipients or none",
                told == named and (not told or identity in self.checkers.accepted_at),
                lambda: f"at {began} {key} was {view.request.state} and told {told} of {named}",
            )
            for notice in view.notices:
                shown = view.notice_id(notice)
                self.checkers.judge(
                    "accepted means all recipients or none",
                    notice.version > 0 or not view.request.is_withdrawn,
                    lambda notice=notice: f"{notice.recipient} was shown {notice.status} of withdrawn {key}",
                )
                if body.get("fold_key") is not None and shown is not None:
                    read_notice(
                        NoticeKey(workspace_id=workspace, recipient=notice.recipient, notice_id=shown), self.world.plain
                    )

        self._spawn("reader", look)

    def _look_at_notice(self) -> None:
        """Each recipient's notice of an unfolded request is there from the acceptance on, and not before."""
        body = self._some_body()
        if body.get("fold_key") is not None or "people" not in body["audience"]:
            return
        workspace = WorkspaceId(body["workspace_id"])
        identity = request_id(workspace, DefinitionKey(body["definition"]), body["request_key"])
        recipient = self.random.choice(body["audience"]["people"])
        key = NoticeKey(workspace_id=workspace, recipient=Recipient(recipient), notice_id=NoticeId(identity))

        def look() -> None:
            was_told = self._is_told(identity, recipient)
            version = self._version(key)
            try:
                view = read_notice(key, self.world.ports)
            except NotFound:
                self.checkers.judge(
                    "accepted means all recipients or none", not was_told, f"{recipient} was shown nothing of {body}"
                )
                return
            shown = view.notice.version if self._version(key) else 0  # what isn't stored yet is derived
            self.checkers.judge(
                "accepted means all recipients or none",
                self._is_told(identity, recipient) and (version <= shown <= self._version(key) or not version),
                lambda: f"{recipient} was shown version {view.notice.version} of {body}",
            )

        self._spawn("reader", look)

    def _is_told(self, identity: str, recipient: str) -> bool:
        """Whether the request is accepted, for this recipient among others."""
        request: Any = next((item for item in self.world.database.requests if item.request_id == identity), None)
        return request is not None and any(entry.recipient == recipient for entry in request.manifest)

    def _version(self, key: NoticeKey) -> int:
        stored = self.world.database.notices.get(key)
        return 0 if stored is None else stored.version

    # ---------------------------------------------------------------- the History

    def _look_at_history(self) -> None:
        workspace = WorkspaceId(self._some_body()["workspace_id"])

        def look() -> None:
            began = self.world.kernel.at
            page = read_history(HistoryQuery(workspace_id=workspace, limit=_HISTORY_ROWS), self.world.ports)
            over = self.world.kernel.at
            places = [(row.recorded_at, row.request_id) for row in page.rows]
            right_order = places == sorted(set(places), reverse=True)
            self.checkers.judge("History shows what was", right_order, lambda: f"History's order is {places}")
            for row in page.rows:
                self.checkers.judge(
                    "History shows what was",
                    self._was(row.request_id, str(row.state), began - _INDEX_LAG, over),
                    lambda row=row: f"History showed {row.request_key} as {row.state} between {began} and {over}",
                )
            if page.before is None:
                shown = {row.request_id for row in page.rows}
                old = {key for key, states in self.checkers.states.items() if states[0][0] < began - _INDEX_LAG}
                self.checkers.judge("History shows what was", old <= shown, lambda: f"History missed {old - shown}")

        self._spawn("reader", look)

    def _was(self, identity: str, state: str, since: datetime, until: datetime) -> bool:
        """Whether a request had a state at any moment of a time."""
        states = self.checkers.states.get(identity, [])
        ends = [at for at, _ in states[1:]] + [until]
        return any(
            found == state and begun <= until and end >= since
            for (begun, found), end in zip(states, ends, strict=False)
        )

    # ---------------------------------------------------------------- the inbox

    def _look_at_inbox(self) -> None:
        workspace, recipient = self._some_inbox()

        def look() -> None:
            page = read_inbox(workspace, recipient, self.world.ports, before=None, limit=_HISTORY_ROWS)
            places = [(item.created_at, item.notice_id) for item in page.notices]
            told = all(self._carried(item.notice_id, recipient) for item in page.notices)
            self.checkers.judge(
                "accepted means all recipients or none",
                told and places == sorted(set(places), reverse=True),
                lambda: f"{recipient}'s inbox shows {places}",
            )

        self._spawn("inbox", look)

    def _carried(self, notice_id: str, recipient: str) -> bool:
        """Whether the inbox's notice was begun by an accepted request."""
        return any(
            notice.notice_id == notice_id
            and all(item.request_id in self.checkers.accepted_at for item in notice.contributors)
            for notice in self.world.database.notices
            if notice.recipient == recipient
        )

    def _look_at_unread(self) -> None:
        workspace, recipient = self._some_inbox()
        place = (workspace, recipient)

        def look() -> None:
            process = self.world.kernel.current
            seen = {self.checkers.unread(place)}
            self.checkers.unread_seen[process] = place, seen
            unread = count_unread(workspace, recipient, self.world.ports)
            del self.checkers.unread_seen[process]
            self.checkers.judge(
                "unread is the visible unread",
                unread.count in seen and not unread.is_more,
                lambda: f"{recipient} was shown {unread.count} unread, there were {sorted(seen)} meanwhile",
            )

        self._spawn("inbox", look)

    def _some_inbox(self) -> tuple[WorkspaceId, Recipient]:
        return WorkspaceId(self._some_body()["workspace_id"]), Recipient(self.random.choice(self.workload.people))

    def _read(self) -> None:
        """Somebody reads a notice, or everything, on one of two devices."""
        workspace, recipient = self._some_inbox()
        at = self.world.kernel.at
        if self.random.random() < 0.3:
            self._spawn("inbox", lambda: mark_all_read(workspace, recipient, at, self.world.ports))
            return
        notices = [item for item in self.world.database.notices if item.recipient == recipient]
        if notices:
            notice = self.random.choice(notices[-3:])
            key = NoticeKey(workspace_id=workspace, recipient=recipient, notice_id=notice.notice_id)
            for _ in range(2):
                self._spawn("inbox", lambda: mark_read(key, self.world.ports))

    # ---------------------------------------------------------------- producers and operators over HTTP

    def _withdraw(self) -> None:
        body = self._some_body()
        by_key = "replacement_key" in body and self.random.random() < 0.6
        withdrawal = Withdrawal(
            workspace_id=WorkspaceId(body["workspace_id"]),
            definition=DefinitionKey(body["definition"]),
            withdrawn_at=self.world.kernel.at,
            request_key=None if by_key else body["request_key"],
            replacement_key=body["replacement_key"] if by_key else None,
        )
        kind = "withdraw_key" if by_key else "withdraw"

        def withdraw() -> None:
            with self.world.operations.during(kind, withdrawal) as operation:
                answer = withdraw_request(withdrawal, self.world.ports)
                rows = self.world.database.requests
                keys = {row.request_id: (str(row.definition), row.request_key) for row in rows}
                self.world.operations.answer(operation, answer_of(answer, keys))

        self._spawn("producer", withdraw)

    def _look_at_attention(self) -> None:
        """An operator lists what failed, and now and then retries all of it that ran out of attempts."""
        workspace = WorkspaceId(self._some_body()["workspace_id"])
        is_bulk = self.random.random() < 0.5
        query = AttentionQuery(
            workspace_id=workspace, limit=_HISTORY_ROWS, reason="attempts_exhausted" if is_bulk else None
        )

        def look() -> None:
            if is_bulk:
                before = self.checkers.retries.total()
                bulk = retry_deliveries(query, self.world.ports)
                self.checkers.judge(
                    "a retry is one attempt",
                    bulk.retried <= self.checkers.retries.total() - before,
                    lambda: f"{bulk.retried} were retried in bulk, and queued less often",
                )
                return
            page = list_attention(query, self.world.ports)
            shown = [(notice.failed_at, notice.recipient, notice.notice_id) for notice, _ in page.failed]
            self.checkers.judge(
                "the attention list shows what failed",
                shown == sorted(shown, reverse=True) and all(item.state == "failed" for _, item in page.failed),
                lambda: f"the attention list shows {shown}",
            )

        self._spawn("operator", look)

    def _retry(self) -> None:
        """An operator presses twice: each press that is granted is an attempt of its own."""
        failed = [
            (notice, item.channel)
            for notice in self.world.database.notices
            for item in notice.deliveries
            if item.state == "failed" and item.reason == "attempts_exhausted"
        ]
        if not failed:
            return
        notice, channel = self.random.choice(failed[-5:])
        key = NoticeKey(workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id)
        identity = notice.delivery_id(channel)
        granted: list[object] = []
        before = self.checkers.retries[identity]

        def press() -> None:
            answer = retry_delivery(key, channel, self.world.ports)
            if isinstance(answer, Retried):
                granted.append(answer)
            self.checkers.judge(
                "a retry is one attempt",
                len(granted) <= self.checkers.retries[identity] - before,
                lambda: f"{identity} was retried {len(granted)} times and queued less often",
            )

        for _ in range(2):
            self._spawn("operator", press)
