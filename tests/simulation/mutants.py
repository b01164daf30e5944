"""The catalogue of seeded bugs: each breaks one rule; those marked † are the ones that a model showed to be needed."""

from typing import Final

from tests.simulation.mutation import Mutation, constant, edit, mutation

_ACCEPT: Final = (
    mutation(
        "retry-of-an-outcome",
        "a recorded outcome stands, whatever the same key is published with",
        edit(
            "application.accept_request:accept_request",
            ("first_published(row, publication)", "publication"),
        ),
    ),
    mutation(
        "difference-kept-silent",
        "a repeat with other content is noted on the row",
        edit("domain.acceptance:with_difference", ("replace(row, differing_repeat_at=now)", "row")),
    ),
    mutation(
        "open-not-resumed",
        "† a repeat of an open request resumes what is unfinished, and a sweep does",
        edit(
            "application.follow_up:follow_up",
            ("_begin(request, reader, ports, is_new=is_new)", "is_new and _begin(request, reader, ports, is_new=True)"),
        ),
    ),
    mutation(
        "retired-not-resumed",
        "† a repeat of a retired request resumes it, folded notices included",
        edit(
            "application.follow_up:follow_up",
            ("request.state is RequestState.OPEN or request.is_retired", "request.state is RequestState.OPEN"),
        ),
        edit(
            "application.sweep_request:_is_unfinished",
            ("if request.is_withdrawn or", "if request.is_withdrawn or request.is_retired or"),
        ),
    ),
    mutation(
        "not-looked-behind",
        "† after everything it wrote, an acceptance reads its request again",
        edit("application.follow_up:_look_behind", ("current is not None and current.is_withdrawn", "False")),
        edit(
            "application.sweep_request:_has_to_end", ("return notice is None or notice.ended is None", "return False")
        ),
    ),
    mutation(
        "told-before-written",
        "the outcome is written before anything follows from it",
        edit(
            "application.accept_request:accept_request",
            ("_write(decision, row, ports)", "told = _told(decision, ports); _write(decision, row, ports)"),
            ("return _told(decision, ports)", "return told"),
        ),
    ),
    mutation(
        "recipient-forgotten",
        "accepted means all recipients",
        edit(
            "application.accept_request:_decide_content",
            ("        judgement.manifest,\n", "        judgement.manifest[:-1] or judgement.manifest,\n"),
        ),
    ),
    mutation(
        "deadline-ignored-by-the-processor",
        "past its deadline nothing is accepted",
        edit("application.accept_request:decide", ("if now >= expires_at:", "if False:")),
    ),
    mutation(
        "accepted-before-its-time",
        "nothing is accepted before its not_before",
        edit(
            "application.accept_request:decide",
            ("publication.not_before is not None and now < publication.not_before", "False"),
        ),
    ),
    mutation(
        "clocks-believed",
        "a publication from more than five minutes ahead is invalid",
        constant("CLOCK_SKEW_SECONDS", 86_400),
    ),
    mutation(
        "message-let-go-too-early",
        "a waiting publication has a time at which a sweep looks at it",
        edit(
            "domain.acceptance:deferred",
            ("due_at=no_later_than_expiry(row, waiting_due_at(row.not_before, now=now))", "due_at=None"),
        ),
    ),
    mutation(
        "published-anew",
        "a publication that waits keeps its published_at",
        edit(
            "application.publish_again:publish_again",
            (
                "publication = publication_of(request)",
                "from dataclasses import replace; publication = replace(publication_of(request), published_at=now)",
            ),
        ),
        edit("application.accept_request:accept_request", ("first_published(row, publication)", "publication")),
    ),
)

_GUARDS: Final = (
    mutation(
        "request-version-unguarded",
        "a request's write names the version that was read",
        edit(
            "adapters.memory.database:MemoryDatabase.checked_request",
            ("check_version(guard.version, None if found is None else found.version, key)", "pass"),
            (
                "if found is not None and found.state not in guard.states:",
                "if found is not None and guard.states and found.state not in guard.states:",
            ),
        ),
    ),
    mutation(
        "notice-version-unguarded",
        "† a notice's write names the version that was read: it is put back whole",
        edit(
            "adapters.memory.database:MemoryDatabase.checked_notice",
            ("check_version(guard.version, None if found is None else found.version, key)", "pass"),
        ),
    ),
    mutation(
        "first-notice-unguarded",
        "a first notice is written only where there is none",
        edit(
            "adapters.memory.database:MemoryDatabase.checked_notice",
            ("check_version(guard.version,", "guard.version is None or check_version(guard.version,"),
        ),
    ),
    mutation(
        "head-unguarded",
        "a replacement head's write names the version that was read",
        edit(
            "adapters.memory.database:MemoryDatabase.checked_head",
            ("check_read(was, self.heads.get(key), key)", "pass"),
        ),
    ),
    mutation(
        "finish-overwrites",
        "a result that lost its race is recorded on what stands by then",
        edit(
            "application.deliver_notices:_write_own",
            (
                "again = replace(again, notice=current) if is_ours and current else None",
                "again = is_ours and replace(again, notice=replace(again.notice, version=current.version)) or None",
            ),
        ),
    ),
    mutation(
        "any-claim-is-mine",
        "a claim is known by its id",
        edit(
            "domain.notice:Notice.is_claimed_by",
            ("item.state is DeliveryState.SENDING and item.claim_id == claim", "item.state is DeliveryState.SENDING"),
        ),
    ),
    mutation(
        "sent-before-the-claim-is-written",
        "the claim is written before anything is sent",
        edit(
            "application.deliver_notices:_claim",
            ("ports.notices.put(new, notice)", "wait and ports.notices.put(new, notice)"),
        ),
    ),
    mutation(
        "half-a-commit",
        "† an acceptance with a replacement key is one transaction",
        edit(
            "adapters.memory.stores:MemoryRequestStore.commit",
            (
                "for write in [self._checked(write) for write in writes]:\n            write()",
                "for write in writes[:1]:\n            self._checked(write)()",
            ),
        ),
    ),
    mutation(
        "replacement-in-two-writes",
        "† request, head and preceding request are written together",
        edit(
            "application.accept_request:_write",
            (
                "ports.requests.commit((PutRequest(new=decision.new, was=was), *decision.with_head))",
                "ports.requests.put(decision.new, was); ports.requests.commit(decision.with_head)",
            ),
        ),
    ),
    mutation(
        "withdrawal-by-key-in-two-writes",
        "† a withdrawal by key marks the head and supersedes the request together",
        edit(
            "application.withdraw_request:_withdraw_key",
            (
                "ports.requests.commit(writes)",
                "is_marked or ports.requests.put_head(marked, head); ports.requests.commit(writes[:1])",
            ),
        ),
    ),
    mutation(
        "swapped-from-state",
        "a withdrawal leads from open only, and a settled request stays settled",
        edit(
            "application.withdraw_request:_withdraw_one",
            (
                "if row.state is RequestState.OPEN:",
                "if row.state is RequestState.OPEN or row.state is RequestState.SETTLED:",
            ),
        ),
        edit("domain.request:moved", ("REQUEST_LIFECYCLE.check(event, request.state, target, by=by)", "pass")),
        edit("domain.guard:guard_request", ("REQUEST_LIFECYCLE.leading_to(new.state)", "frozenset({was.state})")),
    ),
)

_DELIVER: Final = (
    mutation(
        "no-second-look",
        "† requests are read after the claims, not before",
        edit(
            "application.deliver_notices:deliver_notices",
            (
                "    claims = batch.each(",
                (
                    "    early = [notices[task.key] for task in distinct if task.key in notices]\n"
                    "    newest = _requests(((it.workspace_id, it.owner) for it in early), ports)\n"
                    "    claims = batch.each("
                ),
            ),
            ("    newest = _look_again(claims, batch)\n", ""),
        ),
    ),
    mutation(
        "second-look-eventual",
        "† requests are read strongly after the claims",
        edit(
            "application.deliver_notices:_look_again",
            ("_requests(newest, batch.ports)", "_requests(newest, batch.ports, consistent=False)"),
        ),
    ),
    mutation(
        "expired-ignored-by-the-worker",
        "past its deadline nothing is sent",
        edit(
            "application.deliver_notices:_carrier",
            (
                "if first is not None and carries(first, ports.clock.now()):",
                "if first is not None and (first.state is RequestState.OPEN or first.is_retired):",
            ),
        ),
    ),
    mutation(
        "only-the-newest-is-asked",
        "a folded notice is sent while any contributor carries it",
        edit("application.deliver_notices:_carrier", ("reversed(notice.contributors)]", "notice.contributors[-1:]]")),
    ),
    mutation(
        "expiry-told-as-withdrawal",
        "only what was withdrawn or replaced is superseded",
        edit("application.end_notices:ending_of", ("if request.is_withdrawn:", "if True:")),
    ),
    mutation(
        "inactive-person-told",
        "whether the person can be told is looked up again before sending",
        edit("application.deliver_notices:_prepare", ("if reason is not None:", "if False:")),
    ),
    mutation(
        "unknown-sent-again",
        "an unknown result is never repeated by guess",
        edit(
            "domain.notice:with_result",
            (
                "case Unknown():\n            return None",
                "case Unknown():\n            return _unavailable(notice, channel, result.reason, now=now)",
            ),
        ),
    ),
    mutation(
        "unknown-given-up",
        "an unknown result waits for its evidence",
        edit(
            "domain.notice:with_result",
            (
                "case Unknown():\n            return None",
                "case Unknown():\n            return outcome_unknown(notice, channel, now=now)",
            ),
        ),
    ),
    mutation(
        "shorter-lease",
        "† a lease outlives the function that holds it",
        constant("LEASE_SECONDS", 5),
        constant("EVIDENCE_PAUSE_SECONDS", 5),
    ),
    mutation(
        "no-pause-before-silence-is-believed",
        "† silence is believed only when nothing sent under the lease can still arrive",
        constant("LEASE_SECONDS", 26),
        constant("EVIDENCE_PAUSE_SECONDS", 0),
    ),
    mutation(
        "deferred-claimed-early",
        "a deferred delivery waits for its time",
        edit("domain.notice:Delivery.is_claimable", ("now >= self.next_at)", "True)")),
    ),
    mutation(
        "throttle-is-an-attempt",
        "a throttled send is no attempt",
        edit(
            "domain.notice:with_result",
            (
                "return _postponed(notice, channel, until, DeliveryReason.THROTTLED, now=now, failing_since=None)",
                "return _unavailable(notice, channel, DeliveryReason.THROTTLED, now=now)",
            ),
        ),
    ),
    mutation(
        "unavailable-is-no-attempt",
        "what certainly sent nothing is counted, and exhausts",
        edit(
            "domain.notice:_unavailable",
            ("attempts, failing_since = item.attempts + 1,", "attempts, failing_since = item.attempts,"),
        ),
    ),
    mutation(
        "retry-after-ignored",
        "while a channel is throttled nothing is claimed for it",
        edit("domain.circuit:wait_for", ("state.blocked_until is not None and now < state.blocked_until:", "False:")),
    ),
    mutation(
        "circuit-ignored",
        "while a circuit is open one delivery at a time may probe it",
        edit(
            "domain.circuit:wait_for", ("if state.open_since is not None and state.probe_at is not None:", "if False:")
        ),
    ),
    mutation(
        "everybody-probes",
        "only the writer of the next state is the probe",
        edit("application.channel_gate:ChannelGate._take_probe", ("return False", "return True")),
    ),
    mutation(
        "probe-without-end",
        "a probe taken puts the next one off",
        edit("domain.circuit:probing", ("probe_at=probe_at", "probe_at=now")),
    ),
    mutation(
        "circuit-never-closes",
        "a probe that gets through closes the circuit",
        edit(
            "domain.circuit:after_result",
            (
                "case Delivered() | Accepted() | Rejected() if state.open_since is not None:",
                "case Delivered() | Accepted() | Rejected() if False:",
            ),
        ),
    ),
)

_SETTLE: Final = (
    mutation(
        "found-is-sent-again",
        "what the provider's record shows was sent is not sent again",
        edit(
            "application.settle_send:_by_record",
            ("case Absent():", "case Absent() | Found():"),
            (
                "        case Found(provider_id=provider_id, provider_channel=provider_channel):",
                "        case Found(provider_id=provider_id, provider_channel=provider_channel) if False:",
            ),
        ),
    ),
    mutation(
        "untold-is-believed",
        "a record that can't be read shows nothing",
        edit(
            "application.settle_send:_by_record",
            (
                "return outcome_unknown(notice, item.channel, now=now) if now >= given_up_at else None",
                "return proved_unsent(notice, item.channel, now=now)",
            ),
        ),
    ),
    mutation(
        "unknown-text-queued-again",
        "† an unknown text waits for its receipt until its deadline or a day",
        edit(
            "application.settle_send:_settled",
            (
                "return outcome_unknown(notice, item.channel, now=now) if is_late else None",
                "return proved_unsent(notice, item.channel, now=now)",
            ),
        ),
    ),
    mutation(
        "unknown-retried",
        "an unknown outcome can't be retried",
        edit(
            "domain.notice:is_retryable",
            ("item.reason in RETRYABLE_REASONS", "item.reason in RETRYABLE_REASONS | LATE_RECEIPT_REASONS"),
        ),
    ),
    mutation(
        "evidence-is-no-attempt",
        "a send that evidence shows never to have happened is an attempt",
        edit(
            "domain.notice:proved_unsent",
            ("attempts, failing_since = item.attempts + 1,", "attempts, failing_since = item.attempts,"),
        ),
    ),
    mutation(
        "early-receipt-dropped",
        "† a receipt moves a delivery that is still being sent",
        edit(
            "domain.notice:believes_receipt",
            ("item.state in {DeliveryState.SENT, DeliveryState.SENDING}", "item.state is DeliveryState.SENT"),
        ),
    ),
    mutation(
        "late-receipt-dropped",
        "† a receipt corrects what was given up",
        edit("domain.notice:believes_receipt", ("item.state is DeliveryState.FAILED and", "False and")),
    ),
    mutation(
        "receipt-not-awaited",
        "† what was sent keeps its request due until its receipt or its timeout",
        edit("domain.sweeping:wakes_at", ("return receipt_ends_at(item)", "return None")),
    ),
    mutation(
        "receipt-given-up-at-once",
        "a receipt has three days",
        constant("RECEIPT_TIMEOUT_SECONDS", 60),
    ),
    mutation(
        "dead-letter-uncounted",
        "† a dead dispatch counts as an attempt",
        edit("domain.notice:charged", ("attempts=item.attempts + 1", "attempts=item.attempts")),
    ),
    mutation(
        "dead-dispatch-dropped",
        "a dead dispatch is charged and dispatched again",
        edit(
            "application.record_dead_task:_record_dead_dispatch",
            ("if item.state is not DeliveryState.QUEUED:", "if True:"),
        ),
        edit(
            "application.sweep_request:_is_overdue",
            (
                "if item.state is DeliveryState.QUEUED:\n        return True",
                "if item.state is DeliveryState.QUEUED:\n        return False",
            ),
        ),
    ),
    mutation(
        "dead-publication-dropped",
        "a publication that ran out of receives is recorded",
        edit(
            "application.record_dead_publication:_put_dead",
            ("ports.requests.put(_dead_row(first_published(was, publication), noted, ports, now=now), was)", "pass"),
        ),
    ),
    mutation(
        "poison-goes-round",
        "a dead-lettered publication waits for its operator",
        edit(
            "domain.request:Request.is_dead_lettered",
            ("return self.state is RequestState.QUEUED and bool(self.problems)", "return False"),
        ),
        edit("application.record_dead_publication:_dead_row", ("due_at=expires_at)", "due_at=now)")),
    ),
)

_SWEEP: Final = (
    mutation(
        "closing-not-armed",
        "† closing a request makes it due",
        edit("domain.request:closing_due_at", ("return now + timedelta(seconds=CLOSING_GRACE_SECONDS)", "return None")),
    ),
    mutation(
        "first-look-at-the-deadline",
        "what follows a commit is looked at soon",
        edit("domain.request:first_due_at", ("if follows else expires_at", "if False else expires_at")),
    ),
    mutation(
        "closing-not-finished-by-the-sweep",
        "a sweep finishes an interrupted closing",
        edit(
            "application.sweep_request:_has_to_end", ("return notice is None or notice.ended is None", "return False")
        ),
    ),
    mutation(
        "closed-repeat-ends-nothing",
        "† a repeat of a closed request runs its closing again",
        edit("application.follow_up:follow_up", ("elif request.is_withdrawn:", "elif False:")),
        edit("domain.request:closing_due_at", ("return now + timedelta(seconds=CLOSING_GRACE_SECONDS)", "return None")),
    ),
    mutation(
        "repeated-withdrawal-ends-nothing",
        "† a repeated withdrawal finishes an interrupted one",
        edit(
            "application.withdraw_request:_withdraw_one",
            ("return _end(row, WithdrawalResult.NOTHING, ports)", "return _answer(row, WithdrawalResult.NOTHING, {})"),
        ),
        edit("domain.request:closing_due_at", ("return now + timedelta(seconds=CLOSING_GRACE_SECONDS)", "return None")),
    ),
    mutation(
        "replaced-not-ended",
        "† the replacement ends the notices of what it replaced",
        edit("application.follow_up:_end_replaced", ("replaced is not None and replaced.is_withdrawn", "False")),
        edit("domain.request:closing_due_at", ("return now + timedelta(seconds=CLOSING_GRACE_SECONDS)", "return None")),
    ),
    mutation(
        "lost-messages-not-replaced",
        "a sweep replaces lost dispatches",
        edit(
            "application.sweep_request:_is_overdue",
            (
                "if item.state is DeliveryState.QUEUED:\n        return True",
                "if item.state is DeliveryState.QUEUED:\n        return False",
            ),
        ),
    ),
    mutation(
        "lost-waits-not-replaced",
        "a sweep replaces the lost message of a deferred delivery",
        edit(
            "application.sweep_request:_is_overdue",
            ("return item.state is DeliveryState.DEFERRED and", "return False and"),
        ),
        edit(
            "application.deliver_notices:_send_copies", ("batch.ports.queues.send(QUEUE_OF[channel], messages)", "pass")
        ),
    ),
    mutation(
        "unfinished-not-resumed",
        "a sweep stores the notices that a dead acceptance left out",
        edit("application.sweep_request:_is_unfinished", ("return any(", "return False and any(")),
    ),
    mutation(
        "settled-while-deferred",
        "a request settles when nothing is queued, deferred or sending",
        edit(
            "application.sweep_request:_put_due",
            ("request.is_past(now) and not progress.wakes:", "request.is_past(now):"),
        ),
    ),
    mutation(
        "settled-unread",
        "† settling names the version that was read before the notices",
        edit(
            "application.sweep_request:_put_due",
            (
                "    ends = ()",
                "    request = ports.requests.get(request.workspace_id, request.request_id)\n    ends = ()",
            ),
        ),
    ),
    mutation(
        "finished-for-ever",
        "what a sweep found finished is so until the request's next write",
        edit(
            "domain.request:Request.is_finished",
            ("return self.finished_version == self.version", "return self.finished_version is not None"),
        ),
    ),
    mutation(
        "finished-too-early",
        "nothing is finished while a receipt is owed or work is under way",
        edit(
            "application.sweep_request:_put_due",
            (
                "elif request.fold_key is None and not progress.wakes and not progress.receipts:",
                "elif request.fold_key is None:",
            ),
        ),
    ),
    mutation(
        "due-cleared-too-early",
        "only a sweep that finds nothing owed clears due_at",
        edit(
            "application.sweep_request:_put_due",
            ("soonest = None if first is None else max(first, now + timedelta(seconds=1))", "soonest = None"),
        ),
    ),
    mutation(
        "expiry-left-to-the-sweep",
        "† whichever write leaves nothing to do past the deadline ends the notice as expired",
        edit("domain.notice:_next", ("if ended_as is None and ends_expired(notice.deliveries):", "if False:")),
    ),
    mutation(
        "expired-though-reached",
        "a notice that reached somebody doesn't expire",
        edit("domain.notice_lifecycle:ends_expired", ("state in _PREVENTS_EXPIRY or", "state in ACTIVE or")),
    ),
    mutation(
        "audit-hides-a-difference",
        "the audit finds an altered notice",
        edit(
            "application.audit_request:_audit_notices",
            ("found.extend(_on(request, entry, kind) for kind in kinds)", "pass"),
        ),
    ),
)

_WITHDRAW: Final = (
    mutation(
        "no-tombstone",
        "a withdrawal before its publication leaves a tombstone",
        edit("application.withdraw_request:_leave_tombstone", ("_put(tombstone, was, ports)", "pass")),
    ),
    mutation(
        "key-withdrawal-covers-all",
        "a withdrawal by key covers what was published before it",
        edit(
            "application.withdraw_request:_covered",
            ("if head.current_published_at > withdrawal.withdrawn_at:", "if False:"),
        ),
    ),
    mutation(
        "head-not-marked",
        "a withdrawal by key covers what arrives later",
        edit(
            "application.withdraw_request:_marked",
            ("withdrawn_at=withdrawal.withdrawn_at,", "withdrawn_at=was.withdrawn_at,"),
        ),
    ),
    mutation(
        "withdrawn-key-accepted",
        "what a withdrawal by key covers is not accepted",
        edit(
            "application.accept_request:_cancellation",
            ("head.withdrawn_at is not None and publication.published_at <= head.withdrawn_at", "False"),
        ),
    ),
    mutation(
        "older-replaces-newer",
        "a publication older than the head's current one is cancelled",
        edit("application.accept_request:_cancellation", ("if current > ordering", "if False and current > ordering")),
    ),
    mutation(
        "equal-times-unordered",
        "publications of one time are ordered by request id",
        edit("domain.acceptance:ordering", ("return (published_at, request)", 'return (published_at, "")')),
    ),
    mutation(
        "preceding-left-open",
        "a replacement supersedes the open request before it",
        edit(
            "application.accept_request:_preceding",
            ("return current if current is not None and current.state is RequestState.OPEN else None", "return None"),
        ),
    ),
    mutation(
        "gives-up-in-silence",
        "† who loses its races and gives up leaves its message",
        edit(
            "application.withdraw_request:withdraw_request",
            (
                'raise Conflict("withdrawal kept losing its race")',
                (
                    'ports.telemetry.count("withdrawals", result="on_arrival")\n'
                    "    return _answer(None, WithdrawalResult.ON_ARRIVAL, {})"
                ),
            ),
            ("range(CONFLICTS_MAX)", "range(1)"),
        ),
    ),
    mutation(
        "mark-moved-back",
        "a later mark of a head stays",
        edit(
            "application.withdraw_request:_withdraw_key",
            ("head.withdrawn_at >= withdrawal.withdrawn_at", "False"),
        ),
    ),
)

_FOLD: Final = (
    mutation(
        "no-handover",
        "† handing active work to another contributor makes that one due first",
        edit("application.end_notices:make_due", ("if request.due_at is None or request.due_at > now:", "if False:")),
    ),
    mutation(
        "handed-to-one-that-left",
        "† a notice is handed to the oldest contributor that carries it",
        edit(
            "application.end_notices:_without",
            ("make_due(carrying[0], ports, now=now)", "make_due(others[0], ports, now=now)"),
        ),
    ),
    mutation(
        "handed-over-without-content",
        "a notice shows its newest carrying contributor",
        edit("application.end_notices:_without", ("if notice.has_console else None", "if False else None")),
    ),
    mutation(
        "expiry-takes-all-along",
        "† expiry ends a folded notice only when no other contributor carries it",
        edit(
            "application.end_notices:_without",
            ("if not carrying:", "if not carrying or ending.status is NoticeStatus.EXPIRED:"),
        ),
    ),
    mutation(
        "withdrawal-takes-all-along",
        "a withdrawal ends a folded notice only when no other contributor carries it",
        edit(
            "application.end_notices:_without",
            ("if not carrying:", "if not carrying or ending.status is NoticeStatus.SUPERSEDED:"),
        ),
    ),
    mutation(
        "contributor-forgotten",
        "whoever contributed to a notice stays on it",
        edit("domain.notice:joined", ("(*notice.contributors, new)", "(*notice.contributors[-1:], new)")),
    ),
    mutation(
        "order-of-arrival",
        "contributors stand in the order of publication",
        edit(
            "domain.notice:joined",
            ("tuple(sorted((*notice.contributors, new), key=lambda item: item.order))", "(*notice.contributors, new)"),
        ),
    ),
    mutation(
        "older-content-shown",
        "a notice shows the newest publication, whatever order they came in",
        edit("domain.notice:joined", ("(content if is_newest else None)", "content")),
    ),
    mutation(
        "folded-into-an-ended-channel",
        "† a request doesn't fold into a notice whose channel ended unsent",
        edit(
            "domain.notice:_can_carry",
            ("return item.state not in ENDED_UNSENT and not is_retryable(item)", "return True"),
        ),
    ),
    mutation(
        "folded-into-a-skipped-channel",
        "† a request with something to send doesn't fold where nothing is sent",
        edit(
            "domain.notice:_can_carry",
            ("if planned.state is DeliveryState.QUEUED and item.state in NEVER_SENT:", "if False:"),
        ),
    ),
    mutation(
        "fold-adds-a-channel",
        "† a request folds only over the same channels",
        edit(
            "domain.notice:can_join",
            ("and entry.channels == frozenset(item.channel for item in notice.deliveries)", ""),
            (
                "all(_can_carry(notice, planned) for planned in entry.plan)",
                "all(_can_carry(notice, planned) for planned in entry.plan if notice.delivery(planned.channel))",
            ),
        ),
    ),
    mutation(
        "folded-into-a-read-notice",
        "a request doesn't fold into a notice that was read",
        edit("application.fold_in:joins", ("is_read=is_read(newest, ports)", "is_read=False")),
    ),
    mutation(
        "mark-ignored-by-a-fold",
        "a read-all mark keeps a notice from being folded into",
        edit(
            "application.fold_in:is_read",
            ("return mark is not None and notice.created_at <= mark.read_up_to", "return False"),
        ),
    ),
    mutation(
        "fifty-one-contributors",
        "at most fifty contributors",
        constant("CONTRIBUTORS_MAX", 1_000),
    ),
    mutation(
        "window-ignored",
        "a request folds within its window only",
        edit("domain.notice:can_join", ("and accepted_at < notice.created_at + within", "")),
    ),
    mutation(
        "only-the-newest-generation",
        "† a request looks for itself in the generations before the newest",
        edit("application.fold_in:fold_in", ("(item for item in found if", "(item for item in found[:1] if")),
    ),
    mutation(
        "look-back-too-short",
        "† down to the first generation begun more than a lease before the acceptance",
        edit(
            "application.find_notices:generations",
            ("> GENERATION_MARGIN_SECONDS", "> -GENERATION_MARGIN_SECONDS"),
        ),
    ),
    mutation(
        "folded-while-gone",
        "† a folded request settles only once a notice holds it",
        edit(
            "application.sweep_request:_is_unfinished",
            ("request.fold_key is not None or entry.has_console", "entry.has_console"),
        ),
    ),
)

_RETIRE: Final = (
    mutation(
        "retirement-ends-notices",
        "† a retired request carries its notices on",
        edit(
            "domain.request:carries",
            ("(request.state is RequestState.OPEN or request.is_retired)", "request.state is RequestState.OPEN"),
        ),
    ),
    mutation(
        "definition-read-eventually",
        "† an acceptance reads its definition again, strongly",
        edit("application.follow_up:_look_behind", ("consistent=True", "consistent=False")),
        edit(
            "application.sweep_request:_closed_if_retired", ("if request.state is not RequestState.OPEN:", "if True:")
        ),
    ),
    mutation(
        "sweep-keeps-the-retired-open",
        "† every sweep of an open request reads its definition",
        edit(
            "application.sweep_request:_closed_if_retired", ("if request.state is not RequestState.OPEN:", "if True:")
        ),
        edit(
            "application.audit_request:_retired_definition", ("if request.state is not RequestState.OPEN:", "if True:")
        ),
    ),
    mutation(
        "retirement-closes-the-next-version",
        "a retirement closes the versions that it retired",
        edit("domain.definition:Definition.has_retired", ("return", "return True or")),
    ),
)

_OPERATE: Final = (
    mutation(
        "retry-without-transaction",
        "† a retry writes request and notice together",
        edit(
            "application.retry_delivery:retry_delivery",
            ("PutRequest(new=rescheduled(carrier, now), was=carrier),", ""),
        ),
    ),
    mutation(
        "withdrawn-retried",
        "only what a contributor carries is retried",
        edit(
            "application.retry_delivery:_carrier",
            ("return carrier or _refusal(requests)", "return carrier or requests[0]"),
            ("if notice.ended is not None:", "if False:"),
        ),
    ),
    mutation(
        "ended-counts-as-unread",
        "† a notice that ended leaves the unread total",
        edit("domain.notice:Notice.is_unread", ("and self.ended is None", "")),
    ),
    mutation(
        "read-mark-moved-back",
        "a read-all mark never moves back",
        edit(
            "adapters.memory.stores:MemoryNoticeStore.mark_read",
            ("if found is None or found.read_up_to < mark.read_up_to:", "if True:"),
        ),
    ),
    mutation(
        "read-mark-uncounted",
        "what lies before the mark is not counted as unread",
        edit(
            "adapters.memory.stores:MemoryNoticeStore.unread_count",
            ("rank = () if after is None else (after, LAST)", "rank = ()"),
        ),
    ),
)

MUTATIONS: Final[tuple[Mutation, ...]] = (
    *_ACCEPT, *_GUARDS, *_DELIVER, *_SETTLE, *_SWEEP, *_WITHDRAW, *_FOLD, *_RETIRE, *_OPERATE,
)  # fmt: skip

EQUIVALENT: Final[dict[str, str]] = {
    "the from-state left out of a write's guard": (
        "the version alone says what was read, and the move was checked from that"
    ),
    "a claim that nobody carries put back, its notice not ended (†)": (
        "whoever closed the request ends the notice, by its follow-up, its repeat or the sweep; until then every "
        "worker looks again, and a fold that takes the notice over carries it (the model, too, needs a second rule off)"
    ),
    "a sent delivery handed over without making its taker due (†)": (
        "whoever carries a fold is due at its own deadline, which looks at what was sent and waits on for its receipt"
    ),
    "a result recorded without asking whose claim stands": (
        "nobody else can claim before the lease is over, which outlives the function; a receipt that came first has "
        "moved the delivery to where the lifecycle lets no result follow"
    ),
    "a sweep without the closing's grace": (
        "every write is compare-and-swap, so a repeat beside the first writer costs calls and changes nothing"
    ),
    "dispatches sent before the inbox's notices are stored": "a claim creates the same first value",
    "the preceding request read eventually": "the transaction names the version that was read",
    "a bounce that speaks of an earlier claim": (
        "a second claim is made only once the first is known to have sent nothing, so nothing tells of the first"
    ),
}
"""Changes that no run can show, each with the reason."""

NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "who loses its races and gives up leaves its message": ("gives-up-in-silence",),
    "a late receipt is evidence": ("late-receipt-dropped",),
    "whichever write leaves nothing to do past the deadline ends the notice": ("expiry-left-to-the-sweep",),
    "a closed repeat runs its closing again": ("closed-repeat-ends-nothing", "repeated-withdrawal-ends-nothing"),
    "a retired repeat is the whole resume": ("retired-not-resumed",),
    "an acceptance reads its request again at its end": ("not-looked-behind", "definition-read-eventually"),
    "requests are read strongly, after the claims": ("no-second-look", "second-look-eventual"),
    "silence is believed after a pause": ("no-pause-before-silence-is-believed",),
    "a lease outlives its function": ("shorter-lease",),
    "early receipts move what is being sent": ("early-receipt-dropped",),
    "an unknown text waits for its receipt": ("unknown-text-queued-again",),
    "closing makes due": ("closing-not-armed", "replaced-not-ended"),
    "only a sweep that finds nothing owed clears due_at": ("due-cleared-too-early", "receipt-not-awaited"),
    "a handover makes its taker due, for what was sent too": ("no-handover",),
    "a withdrawal by key is one transaction": ("withdrawal-by-key-in-two-writes",),
    "a replacement is one transaction": ("half-a-commit", "replacement-in-two-writes"),
    "a handover goes to one that carries": ("handed-to-one-that-left",),
    "a fold joins neither other channels nor one that ended": (
        "fold-adds-a-channel",
        "folded-into-an-ended-channel",
        "folded-into-a-skipped-channel",
    ),
    "a fold looks back, a lease and more": ("only-the-newest-generation", "look-back-too-short"),
    "expiry hands over": ("expiry-takes-all-along",),
    "a folded request settles when a notice holds it": ("folded-while-gone",),
    "every sweep reads the definition strongly": ("sweep-keeps-the-retired-open",),
    "a retired request carries": ("retirement-ends-notices",),
    "settling names the version read before the notices": ("settled-unread",),
    "a retry is one transaction": ("retry-without-transaction",),
    "a dead dispatch is an attempt": ("dead-letter-uncounted",),
    "a notice is put back whole, under its version": ("notice-version-unguarded",),
}
"""The rules that a model showed to be needed (†), each with the mutations that break it."""
