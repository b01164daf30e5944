import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from notify_core.domain.identifiers import WorkspaceId
from tests.conformance.backends import Dynamo, Stores, deployed, emulator, fresh_workspace, memory_stores, moto

STACK = os.environ.get("NOTIFY_STACK")
"""The stack.json of a stack to test on, instead of an emulator of the session's own."""


@pytest.fixture(scope="session")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dynamo]:
    if STACK:
        yield deployed(Path(STACK))
        return
    with emulator(tmp_path_factory.mktemp("emulator")) as dynamo:
        yield dynamo


@pytest.fixture
def mocked() -> Iterator[Dynamo]:
    with moto() as dynamo:
        yield dynamo


@pytest.fixture(params=["moto", "emulator"])
def dynamo(request: pytest.FixtureRequest) -> Dynamo:
    """DynamoDB, where a test looks at the rows themselves."""
    found: Dynamo = request.getfixturevalue({"moto": "mocked", "emulator": "emulated"}[request.param])
    return found


@pytest.fixture(params=["memory", "moto", "emulator"])
def stores(request: pytest.FixtureRequest) -> Stores:
    """Each implementation of the stores in turn."""
    if request.param == "memory":
        return memory_stores()
    found: Dynamo = request.getfixturevalue({"moto": "mocked", "emulator": "emulated"}[request.param])
    return found.stores()


@pytest.fixture
def workspace() -> WorkspaceId:
    return fresh_workspace()
