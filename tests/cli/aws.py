"""Queues in AWS's own form, for the command line to send to and to look into."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

QUEUES = ("requests", "chat", "text", "system", "reconcile", "receipts")


@dataclass(frozen=True)
class Aws:
    """The platform's six queues, each with its dead letters."""

    sqs: "SQSClient"
    queues: dict[str, str]
    dead: dict[str, str]

    @classmethod
    def made(cls) -> "Aws":
        sqs = boto3.client("sqs")
        queues, dead = {}, {}
        for name in QUEUES:
            dead[name] = sqs.create_queue(QueueName=f"notify-{name}-dead")["QueueUrl"]
            arn = sqs.get_queue_attributes(QueueUrl=dead[name], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
            policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 6})
            made = sqs.create_queue(QueueName=f"notify-{name}", Attributes={"RedrivePolicy": policy})
            queues[name] = made["QueueUrl"]
        return cls(sqs, queues, dead)

    def bury(self, queue: str, body: object, **attributes: str) -> str:
        """Put a letter into a queue's dead letters, and give its id."""
        told: Any = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
        text = body if isinstance(body, str) else json.dumps(body)
        return self.sqs.send_message(QueueUrl=self.dead[queue], MessageBody=text, MessageAttributes=told)["MessageId"]

    def take(self, queue: str) -> list[Any]:
        """The messages of a queue: each with its group and its body."""
        answer = self.sqs.receive_message(
            QueueUrl=self.queues[queue], MaxNumberOfMessages=10, MessageSystemAttributeNames=["MessageGroupId"]
        )
        return [(item["Attributes"]["MessageGroupId"], item["Body"]) for item in answer.get("Messages", [])]

    def left(self, queue: str) -> int:
        """How many letters a queue's dead letters hold, looked at or not."""
        told = self.sqs.get_queue_attributes(QueueUrl=self.dead[queue], AttributeNames=["All"])["Attributes"]
        return int(told["ApproximateNumberOfMessages"]) + int(told["ApproximateNumberOfMessagesNotVisible"])
