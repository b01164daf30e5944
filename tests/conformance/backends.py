"""What the stores stand on: memory, moto in this process, or the deployed emulator."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from botocore.config import Config
from botocore.session import Session
from moto import mock_aws

from infra.local.ports import HOST, free_port
from infra.local.web import answers
from notify_core.adapters.aws import create_client
from notify_core.adapters.dynamodb import CLIENT_CONFIG, TableNames, connect
from notify_core.adapters.memory import (
    MemoryDatabase,
    MemoryDirectoryStore,
    MemoryNoticeStore,
    MemoryRegistryStore,
    MemoryRequestStore,
)
from notify_core.application.ports import DirectoryStore, NoticeStore, RegistryStore, RequestStore
from notify_core.domain.identifiers import WorkspaceId
from tests.conformance.tables import create_tables

READY_SECONDS = 30
CALM = Config(connect_timeout=20, read_timeout=20)
"""A busy machine with an emulator is slower than DynamoDB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The four stores over one database."""

    registry: RegistryStore
    directory: DirectoryStore
    requests: RequestStore
    notices: NoticeStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Dynamo:
    """Tables somewhere, and the client that reaches them."""

    client: Any
    tables: TableNames

    def stores(self) -> Stores:
        stores = connect(self.tables, self.client)
        return Stores(
            registry=stores.registry,
            directory=stores.directory,
            requests=stores.requests,
            notices=stores.notices,
        )

    def raw_request(self, workspace: str, request: str) -> dict[str, Any]:
        """A request's row as DynamoDB has it."""
        key = {"pk": {"S": f"R#{workspace}#{request}"}}
        return self.client.get_item(TableName=self.tables.requests, Key=key, ConsistentRead=True)["Item"]

    def raw_notice(self, workspace: str, recipient: str, notice: str) -> dict[str, Any]:
        """A notice's row as DynamoDB has it."""
        key = {"pk": {"S": f"{workspace}#{recipient}"}, "sk": {"S": notice}}
        return self.client.get_item(TableName=self.tables.notices, Key=key, ConsistentRead=True)["Item"]


def memory_stores(database: MemoryDatabase | None = None) -> Stores:
    database = database or MemoryDatabase()
    return Stores(
        registry=MemoryRegistryStore(database),
        directory=MemoryDirectoryStore(database),
        requests=MemoryRequestStore(database),
        notices=MemoryNoticeStore(database),
    )


def make_client(endpoint_url: str | None = None) -> Any:
    return client_of("dynamodb", CLIENT_CONFIG.merge(CALM), endpoint_url)


def client_of(service: str, config: Config, endpoint_url: str | None = None) -> Any:
    """A client as the product makes them, whatever the environment says."""
    session = Session()
    session.set_credentials("test", "test")
    return create_client(session, service, config, endpoint_url=endpoint_url, region_name="us-east-1")


@contextmanager
def moto() -> Iterator[Dynamo]:
    """moto in this process, with tables of its own; not atomic under threads."""
    # With an endpoint set, moto would let the calls through to the real emulator.
    assert not [name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")]
    with mock_aws():
        client = make_client()
        yield Dynamo(client=client, tables=create_tables(client))


@contextmanager
def emulator(folder: Path) -> Iterator[Dynamo]:
    """The emulator of the local stack on a port of its own, with tables made for it."""
    port = free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ministack"],
            cwd=folder,
            env={**os.environ, **_emulator_settings(port, folder)},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        endpoint_url = f"http://{HOST}:{port}"
        deadline = time.monotonic() + READY_SECONDS
        while not answers(f"{endpoint_url}/_ministack/health"):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.05)
        client = make_client(endpoint_url)
        yield Dynamo(client=client, tables=create_tables(client))
    finally:
        process.terminate()
        process.wait(READY_SECONDS)


def _emulator_settings(port: int, folder: Path) -> dict[str, str]:
    """Loopback only, and nothing outside of the folder."""
    return {
        "BIND_HOST": HOST,
        "DOCKER_HOST": f"unix://{folder}/none",
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",
        "MINISTACK_HOST": HOST,
        "S3_DATA_DIR": str(folder / "s3"),
        "SFTP_ENABLED": "0",
        "STATE_DIR": str(folder),
        "TMPDIR": str(folder),
    }


def deployed(stack: Path) -> Dynamo:
    """The tables of a stack that is up, told by its stack.json."""
    told = json.loads(stack.read_text())
    return Dynamo(client=make_client(told["endpoint_url"]), tables=TableNames(**told["tables"]))


def fresh_workspace() -> WorkspaceId:
    """A workspace that no other test has: the emulator remembers client tokens."""
    return WorkspaceId(f"w{uuid4().hex[:15]}")
