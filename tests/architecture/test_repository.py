import json
import re
import subprocess
import sys

import pytest

from tests.architecture.repository import ROOT, pins, requirement_lines, texts

REGISTRY_HOST = re.compile(r"\b(pypi|pythonhosted|npmjs|yarnpkg|debian)\.(org|com)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~*-])/(work|root|home|Users)/")
LOCKS = ["dev.txt", "runtime.txt"]


def named_in(pattern: re.Pattern[str]) -> list[str]:
    return [path for path, text in texts() if pattern.search(text)]


def test_no_file_names_a_package_registry() -> None:
    assert named_in(REGISTRY_HOST) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert named_in(MACHINE_PATH) == []


@pytest.mark.parametrize("file", LOCKS)
def test_every_requirement_is_one_version_with_its_hashes(file: str) -> None:
    line = re.compile(r"[a-z\d-]+==[\w.]+(\s+;[^#]+?)?(\s+--hash=sha256:[\da-f]{64})+\s*")
    assert [found for found in requirement_lines(file) if not line.fullmatch(found)] == []


@pytest.mark.parametrize("name", ["dev", "runtime"])
def test_what_is_asked_for_is_pinned(name: str) -> None:
    asked_for = {re.match(r"[\w-]*", line)[0] for line in requirement_lines(f"{name}.in")} - {"-r"}
    pinned = {pin.partition("==")[0] for pin in pins(f"{name}.txt")}
    assert {package.replace("_", "-") for package in asked_for} - pinned == set()


def test_the_layer_holds_what_was_tested() -> None:
    assert pins("runtime.txt") - pins("dev.txt") == set()


def test_what_is_installed_fits_together() -> None:
    check = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert (check.returncode, check.stdout) == (0, "No broken requirements found.\n")


def test_the_node_packages_are_pinned_with_hashes() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    unpinned = [path for path, package in packages.items() if path and "integrity" not in package]
    assert unpinned == []
