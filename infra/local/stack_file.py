"""`stack.json`: where everything of the running stack is, for whoever wants to talk to it."""

import json
from collections.abc import Mapping
from pathlib import Path

from infra import outputs
from infra.local.dummy_keys import REGION
from infra.local.services import Address
from infra.specs import FUNCTIONS, Queue, Table


def read_outputs(path: Path) -> Mapping[str, str]:
    """The outputs of the deploy that wrote `path`."""
    told: Mapping[str, str] = json.loads(path.read_text())[outputs.STACK_NAME]
    return told


def describe_stack(told: Mapping[str, str], address: Address, operator_token: str) -> dict[str, object]:
    """What `stack.json` says."""
    return {
        "endpoint_url": address.endpoint_url,
        "region": REGION,
        "api_url": f"{address.endpoint_url}/_aws/execute-api/{told[outputs.API_ID]}/$default",
        "simulator_url": address.simulator_url,
        "issuer_url": address.simulator_url,
        "operator_token": operator_token,
        "queues": {queue.value: told[outputs.queue_output(queue)] for queue in Queue},
        "tables": {table.value: told[outputs.table_output(table)] for table in Table},
        "functions": {spec.folder: told[outputs.function_output(spec)] for spec in FUNCTIONS},
    }


def write_whole(path: Path, content: object) -> None:
    """Writes JSON so that a reader never sees half of it."""
    made = path.with_suffix(".new")
    made.write_text(json.dumps(content, indent=2) + "\n")
    made.replace(path)
