"""cdk-nag is at work: the stack has no finding, and a finding fails the synthesis."""

from pathlib import Path

import pytest
from aws_cdk import App
from aws_cdk import aws_sqs as sqs

from infra.app import make_app
from tests.infra.templates import Template


def test_the_stack_has_no_finding(cloud: Template, protected: Template) -> None:
    assert cloud.resources.keys() == protected.resources.keys()


def test_a_queue_that_takes_plain_http_fails_the_synthesis(tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path), context={"issuer_url": "https://issuer.example.com"})
    stack = make_app(app)
    sqs.Queue(stack, "Careless")
    with pytest.raises(RuntimeError, match="AwsSolutions-SQS4"):
        app.synth()
