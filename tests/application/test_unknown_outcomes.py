"""A send that nobody can ever tell the outcome of is an alarm, once."""

from tests.application.delivery import accepted, deliver
from tests.application.world import World


def unknown(world: World) -> list[dict[str, object]]:
    return [dict(fields) for event, fields in world.telemetry.alarms if event == "outcome_unknown"]


def test_a_send_that_stays_unknown_is_an_alarm_that_names_the_notice_once(world: World) -> None:
    world.chat.faults.append("lose_request")
    world.chat.silent = True
    deliver(world, accepted(world, "ana"))
    world.advance(hours=20)
    assert unknown(world) == []
    world.advance(hours=12)
    assert world.states()["chat"] == "failed"
    notice = world.notice()
    assert unknown(world) == [
        {"workspace_id": "acme", "notice_id": notice.notice_id, "recipient": "ana", "channel": "chat"}
    ]


def test_a_send_that_evidence_settles_is_none(world: World) -> None:
    world.chat.faults.append("drop_response")
    deliver(world, accepted(world, "ana"))
    world.advance(hours=1)
    assert (world.states()["chat"], unknown(world)) == ("delivered", [])
