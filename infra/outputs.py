"""The names under which a deploy tells what it made."""

from typing import Final

from infra.specs import FunctionSpec, Queue, Table, pascal

STACK_NAME: Final = "notify"
API_ID: Final = "ApiId"
API_URL: Final = "ApiUrl"


def table_output(table: Table) -> str:
    """The output that holds a table's name."""
    return f"{pascal(table)}TableName"


def queue_output(queue: Queue) -> str:
    """The output that holds a queue's URL."""
    return f"{pascal(queue)}QueueUrl"


def dead_letters_output(queue: Queue) -> str:
    """The output that holds the URL of a queue's dead-letter queue."""
    return f"{pascal(queue)}DeadLettersUrl"


def function_output(spec: FunctionSpec) -> str:
    """The output that holds a function's name."""
    return f"{spec.name}FunctionName"
