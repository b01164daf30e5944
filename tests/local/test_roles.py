"""Every function can do its work with what its role allows, and a role allows no more than that."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from infra.layers import ROOT
from tests.local.client import Stack
from tests.local.conftest import SECONDS_MAX, bring_up, run_local


@pytest.fixture(scope="module")
def enforcing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack of its own, whose emulator holds every function to its role."""
    folder = tmp_path_factory.mktemp("roles")
    try:
        yield bring_up(folder, NOTIFY_ENFORCE_IAM="true")
    finally:
        run_local("down", folder)


def client_of(stack: Stack, function: str, service: str) -> Any:
    """A client with the credentials that a function has."""
    role = stack.lambda_.get_function_configuration(FunctionName=stack.functions[function])["Role"]
    place = {"endpoint_url": stack.described["endpoint_url"], "region_name": stack.described["region"]}
    root: Any = boto3.client("sts", aws_access_key_id="test", aws_secret_access_key="test", **place)
    given = root.assume_role(RoleArn=role, RoleSessionName="tests")["Credentials"]
    return boto3.client(  # type: ignore[call-overload] - the name is a variable
        service,
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
        **place,
    )


def test_a_role_reaches_its_table_and_no_other(enforcing: Stack) -> None:
    dynamodb = client_of(enforcing, "sweep_nightly", "dynamodb")
    query = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "nobody"}}}
    assert dynamodb.query(TableName=enforcing.tables["registry"], **query)["Count"] == 0
    with pytest.raises(ClientError, match="AccessDenied"):
        dynamodb.query(TableName=enforcing.tables["notices"], **query)


def test_a_role_reaches_its_queue_and_no_other(enforcing: Stack) -> None:
    sqs = client_of(enforcing, "sweep_nightly", "sqs")
    depth = {"AttributeNames": ["ApproximateNumberOfMessages"]}
    assert sqs.get_queue_attributes(QueueUrl=enforcing.queues["reconcile"], **depth)["Attributes"]
    with pytest.raises(ClientError, match="AccessDenied"):
        sqs.send_message(QueueUrl=enforcing.queues["requests"], MessageBody="{}")


@pytest.mark.timeout(SECONDS_MAX + 60)
def test_the_whole_path_works_with_what_the_roles_allow(enforcing: Stack, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "inner")),
            str(ROOT / "tests/local/test_whole_path.py"),
        ],
        cwd=ROOT,
        env={**os.environ, "NOTIFY_STACK": str(enforcing.file)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
