"""Every number of the platform, with the relations that the protocols rest on.

Units are last in the names. The relations are asserted when the module is imported: a number that breaks a protocol
never reaches a deploy.
"""

from typing import Final

MINUTE_SECONDS: Final = 60
HOUR_SECONDS: Final = 3600
DAY_SECONDS: Final = 86_400

# Publications
DATA_BYTES_MAX: Final = 32 * 1024
AUDIENCE_ENTRIES_MAX: Final = 1_000
RECIPIENTS_MAX: Final = 200
PROBLEMS_MAX: Final = 100
CLOCK_SKEW_SECONDS: Final = 5 * MINUTE_SECONDS
"""How far in the future a producer's `published_at` or `withdrawn_at` may lie."""
DEFER_SECONDS_MAX: Final = 60 * DAY_SECONDS
EXPIRES_AFTER_SECONDS_MIN: Final = MINUTE_SECONDS
EXPIRES_AFTER_SECONDS_MAX: Final = 90 * DAY_SECONDS
MEMBERSHIPS_MAX: Final = 40
"""Teams and roles of one person: they are written with the person in one transaction."""

# Functions
PROCESS_TIMEOUT_SECONDS: Final = 30
DELIVER_TIMEOUT_SECONDS: Final = 28
RECEIPTS_TIMEOUT_SECONDS: Final = 15
DEAD_LETTERS_TIMEOUT_SECONDS: Final = 30
RECONCILE_TIMEOUT_SECONDS: Final = 60
SWEEP_TIMEOUT_SECONDS: Final = 50
API_TIMEOUT_SECONDS: Final = 28
GATEWAY_TIMEOUT_SECONDS: Final = 30
BATCH_MESSAGES: Final = 10

# Providers
CONNECT_TIMEOUT_SECONDS: Final = 2
PROVIDER_TIMEOUT_SECONDS: Final = 8
SEND_SECONDS_MAX: Final = CONNECT_TIMEOUT_SECONDS + PROVIDER_TIMEOUT_SECONDS
CONNECTION_IDLE_SECONDS_MAX: Final = 5
"""How long after its last use a connection is trusted with a call that can't be repeated."""
REPEATED_CONNECTION_IDLE_SECONDS_MAX: Final = MINUTE_SECONDS
"""The same where a call that got no answer is made again."""
STORE_TIMEOUT_SECONDS: Final = 2
"""One DynamoDB call, connecting included; `STORE_TRIES_MAX` of them fit into a handler."""
STORE_TRIES_MAX: Final = 3
STORE_CALL_SECONDS_MAX: Final = STORE_TIMEOUT_SECONDS * STORE_TRIES_MAX + 3
"""All tries of a call that isn't answered, and botocore's pauses between them: one second at most, then two."""
SPARE_SECONDS: Final = STORE_CALL_SECONDS_MAX
"""What a handler keeps back at its end, for the writes that must follow what it started: they go out together."""

# Queues
DELAY_SECONDS_MAX: Final = 15 * MINUTE_SECONDS
RECEIVES_MAX: Final = 6
RECEIVES_LEFT_FOR_A_COPY: Final = 3
"""A message waiting for its time is replaced by a fresh copy when it has this many receives left."""
MESSAGE_DAYS_MAX: Final = 14
RECONCILE_BACKLOG_MAX: Final = 10_000

# Claims and evidence
LEASE_SECONDS: Final = 30
EVIDENCE_PAUSE_SECONDS: Final = 30
"""How long after a lease the provider's silence is believed."""
TEXT_EVIDENCE_SECONDS: Final = DAY_SECONDS
"""How long a text whose result is unknown waits for a receipt, if its deadline isn't sooner."""
RECEIPT_TIMEOUT_SECONDS: Final = 3 * DAY_SECONDS

# Sweeps
FIRST_CHECK_SECONDS: Final = 90
"""When an accepted request with channel work is looked at first."""
CHECK_SECONDS_MAX: Final = HOUR_SECONDS
CLOSING_GRACE_SECONDS: Final = 60
"""When a closed request's follow-up is repeated by the sweep."""
REPUBLISH_AHEAD_SECONDS: Final = 2 * MINUTE_SECONDS
OVERDUE_SECONDS: Final = 30
"""A deferred delivery whose time passed this long ago has lost its message."""
KEEP_CLOSED_SECONDS: Final = 90 * DAY_SECONDS
AUDIT_LATELY_SECONDS: Final = 2 * DAY_SECONDS
"""How long after it was closed every night's audit looks at a request."""
AUDIT_TURN_DAYS: Final = 28
"""In how many nights the audit looks once at each older request."""

# Notices
CONTRIBUTORS_MAX: Final = 50
TIMELINE_MAX: Final = 30
UNREAD_COUNT_MAX: Final = 1_000
GENERATION_MARGIN_SECONDS: Final = LEASE_SECONDS + PROCESS_TIMEOUT_SECONDS
"""Folding looks back over the generations begun later than this before the request was accepted."""

# Content
JSON_DEPTH_MAX: Final = 32
NUMBER_DIGITS_MAX: Final = 38
"""Of a whole number in the data: what the template engine computes with exactly."""
SCHEMA_BYTES_MAX: Final = 32 * 1024
SCHEMA_DEPTH_MAX: Final = 64
SUBSCHEMAS_MAX: Final = 1_000
"""Of a schema whose references are written out: what checking a value against it costs."""
SCHEMA_STEPS_MAX: Final = 50_000
"""Subschemas times values up to which all problems of the data are listed, beyond it only the first."""
PATTERN_BYTES_MAX: Final = 1024 * 1024
"""Of a compiled regular expression."""
TEMPLATE_CHARACTERS_MAX: Final = 4_000
"""Of one template: the engine parses by recursion, and this keeps it far from the end of a thread's stack."""
TEMPLATES_BYTES_MAX: Final = 128 * 1024
TEMPLATE_FUEL: Final = 20_000
"""Steps of the template engine for one text; ending an endless loop takes about 5 ms."""
VALUE_CHARACTERS_MAX: Final = 20_000
"""Of all values that one text shows."""
TITLE_CHARACTERS_MAX: Final = 200
CONSOLE_BYTES_MAX: Final = 4 * 1024
"""Of title and body together: they are stored in the notice."""
CHAT_CHARACTERS_MAX: Final = 4_000
TEXT_SEGMENTS_MAX: Final = 10
NAME_CHARACTERS_MAX: Final = 200
REASON_CHARACTERS_MAX: Final = 200
FOLD_WITHIN_SECONDS_MIN: Final = MINUTE_SECONDS
FOLD_WITHIN_SECONDS_MAX: Final = 30 * DAY_SECONDS
EXCLUSIONS_MAX: Final = 1_000
OPT_OUTS_MAX: Final = 100
SHARDS_MAX: Final = 64

# Losing races
CONFLICTS_MAX: Final = 8
FOLD_CONFLICTS_MAX: Final = 2 * CONTRIBUTORS_MAX
"""Folding loses its race mostly to another contributor: after so many the notice is full, and the next begun."""

# Lists
PAGE_ITEMS: Final = 50
PAGE_ITEMS_MAX: Final = 200

# A lease outlives the function that holds it, and no send outlives its handler.
assert LEASE_SECONDS > DELIVER_TIMEOUT_SECONDS > SEND_SECONDS_MAX + SPARE_SECONDS
# Silence is believed only when nothing sent under the lease can still arrive.
assert LEASE_SECONDS + EVIDENCE_PAUSE_SECONDS > DELIVER_TIMEOUT_SECONDS + SEND_SECONDS_MAX
assert TEXT_EVIDENCE_SECONDS > LEASE_SECONDS
# What a sweep repeats is no longer being done by its first writer.
assert CLOSING_GRACE_SECONDS >= max(PROCESS_TIMEOUT_SECONDS, API_TIMEOUT_SECONDS)
assert FIRST_CHECK_SECONDS >= LEASE_SECONDS + EVIDENCE_PAUSE_SECONDS
# A row outlives every message that could meet it.
assert KEEP_CLOSED_SECONDS > DEFER_SECONDS_MAX + MESSAGE_DAYS_MAX * DAY_SECONDS
# A visible message waits for its next receive no longer than a republished one would.
assert REPUBLISH_AHEAD_SECONDS < DELAY_SECONDS_MAX
assert RECEIVES_MAX > RECEIVES_LEFT_FOR_A_COPY + 1
assert API_TIMEOUT_SECONDS < GATEWAY_TIMEOUT_SECONDS
# A claim that was begun in time, however slow the store, can still be put back where it can't be sent any more.
assert 2 * STORE_CALL_SECONDS_MAX < SEND_SECONDS_MAX + SPARE_SECONDS
