import os
from pathlib import Path

import pytest

from infra.local.cdk import find_node

os.environ["JSII_NODE"] = str(find_node())

from tests.infra.templates import Template, synthesize

SECONDS_MAX = 300
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives these tests the time that pip and the CDK need on a busy machine."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(SECONDS_MAX))


@pytest.fixture(scope="session")
def cloud() -> Template:
    """What a real account gets by default."""
    return synthesize()


@pytest.fixture(scope="session")
def protected() -> Template:
    """What a real account gets with `-c protect=true`."""
    return synthesize(protect="true")


@pytest.fixture(scope="session")
def local() -> Template:
    """What the emulator gets in a test."""
    return synthesize(
        local="true",
        issuer_url="http://127.0.0.1:4567",
        schedules="false",
        concurrency_max="3",
        hq_channel="C0HQ",
        slack_base_url="http://127.0.0.1:4567/slack/api/",
        sms_origination_identity="+15550100",
        sms_configuration_set="notify-local",
        environment='{"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}',
    )
