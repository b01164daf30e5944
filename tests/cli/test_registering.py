"""`notify workspace|person|definition put` and `notify inbox`."""

import json
from pathlib import Path

import pytest

from notify_core.domain.identifiers import DefinitionKey, PersonId, WorkspaceId
from tests.application.world import ACME
from tests.cli.conftest import Notify
from tests.cli.platform import Platform

DEFINITIONS = sorted((Path(__file__).parents[2] / "examples" / "definitions").glob("*.json"))


def written(folder: Path, name: str, body: object) -> str:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(body))
    return str(file)


def test_a_workspace_is_registered_from_a_file_named_for_it(platform: Platform, notify: Notify, tmp_path: Path) -> None:
    done = notify("workspace", "put", written(tmp_path, "globex", {"name": "Globex", "channels": ["console", "chat"]}))
    assert (done.code, done.lines) == (0, ["globex: 2 channels"])
    workspace = platform.world.ports.registry.workspace(WorkspaceId("globex"))
    assert workspace is not None
    assert workspace.name == "Globex"


def test_definitions_are_registered_and_repeating_it_changes_nothing(platform: Platform, notify: Notify) -> None:
    files = [str(file) for file in DEFINITIONS]
    first, second = (notify("definition", "put", *files, "--json") for _ in range(2))
    assert first.documents == second.documents
    assert [told["name"] for told in first.documents] == [file.stem for file in DEFINITIONS]
    known = platform.world.ports.registry.definition(ACME, DefinitionKey("shift.changed"))
    assert known is not None
    assert known.version == 1


def test_one_refused_file_keeps_none_of_the_others_back(platform: Platform, notify: Notify, tmp_path: Path) -> None:
    files = [written(tmp_path, "eva", {"name": "Eva"}), written(tmp_path, "max", {"phone": "1"}),
             written(tmp_path, "zoe", {"name": "Zoe", "teams": ["billing"]})]  # fmt: skip
    done = notify("person", "put", *files)
    assert (done.code, done.lines) == (1, ["eva: Eva", "zoe: Zoe"])
    assert done.err.splitlines()[0] == "max: Something has to be corrected"
    assert "  name: add this field (required)" in done.err.splitlines()
    assert platform.world.ports.directory.team(ACME, "billing") == [PersonId("zoe")]


def test_the_standard_input_registers_what_it_is_told(platform: Platform, notify: Notify) -> None:
    done = notify("person", "put", "-", "--name", "eva", stdin='{"name": "Eva"}')
    assert (done.code, done.lines) == (0, ["eva: Eva"])
    assert PersonId("eva") in platform.world.ports.directory.people(ACME, [PersonId("eva")])


@pytest.mark.parametrize(
    "arguments",
    [("-",), ("a.json", "b.json", "--name", "eva"), ("nowhere.json",), ("has space.json",), ()],
)
def test_what_names_nobody_is_not_understood(platform: Platform, notify: Notify, arguments: tuple[str, ...]) -> None:
    assert (notify("person", "put", *arguments).code, platform.calls) == (2, [])


# ---------------------------------------------------------------- inbox


def test_an_inbox_shows_what_its_person_sees(platform: Platform, notify: Notify) -> None:
    platform.world.publish("k1", data={"number": "1"})
    platform.world.run()
    platform.world.read_all()
    platform.world.skip(seconds=1)
    platform.world.publish("k2", data={"number": "2"})
    platform.world.run()
    done = notify("inbox", "ana")
    first, second = (f"{platform.world.notice(request_key=key).created_at:%Y-%m-%d %H:%M:%S}Z" for key in ("k1", "k2"))
    assert done.lines == [
        "1 unread",
        "at status read title body notice",
        f"{second} delivered unread Invoice 2 For Ana {platform.world.id_of('k2')}",
        f"{first} delivered {first} Invoice 1 For Ana {platform.world.id_of('k1')}",
    ]
    told = notify("inbox", "ana", "--json").documents
    assert told[0] == {"unread": 1, "more": False}
    assert [item["title"] for item in told[1:]] == ["Invoice 2", "Invoice 1"]


def test_on_a_real_platform_the_token_says_whose_inbox_it_is(platform: Platform, bare: Notify) -> None:
    platform.world.publish("k1")
    platform.world.run()
    token = platform.simulator.token(sub="ana", scope="notify/inbox", workspace_id="acme")
    real = {"NOTIFY_API_URL": platform.url, "NOTIFY_TOKEN": token}
    assert bare("inbox", **real).lines[0] == "1 unread"
    assert bare("inbox", "ana", **real).code == 2


def test_an_inbox_is_somebodys(notify: Notify) -> None:
    assert notify("inbox").code == 2
    assert notify("inbox", "bob").lines == ["0 unread", "at status read title body notice"]
