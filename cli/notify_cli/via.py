"""The two ways for a producer's message, which are equal: the API and the queue."""

from enum import StrEnum


class Via(StrEnum):
    """How a message goes to the platform."""

    HTTP = "http"
    SQS = "sqs"
