"""Starts the simulator: `python -m infra.local.simulator --port 4567 --state-dir .local/simulator`."""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from infra.local.simulator.server import SimulatorServer
from infra.local.simulator.settings import Settings


def main() -> int:
    """Serves until SIGTERM or SIGINT; 1 when the port is taken."""
    options = _options()
    settings = Settings(
        receipts_queue_url=options.receipts_queue_url,
        aws_endpoint_url=options.endpoint_url,
        region=options.region,
    )
    try:
        server = SimulatorServer(
            port=options.port, state_dir=options.state_dir, settings=settings, verbose=options.verbose
        )
    except OSError as error:
        if error.filename is not None:
            raise
        print(f"The simulator can't listen on port {options.port}: {error.strerror}. Give another --port.")
        return 1
    ended = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    server.start()
    print(f"simulator ready on {server.url}", flush=True)
    _warm_up()
    ended.wait()
    server.stop()
    return 0


def _warm_up() -> None:
    """Loads the model of the SMS service, so that neither the start nor the first text waits for it."""
    from infra.local.simulator.sms_rules import violations  # noqa: PLC0415

    violations({})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--state-dir", type=Path, required=True, help="keeps the issuer's key over restarts")
    parser.add_argument("--receipts-queue-url", default=os.environ.get("SIMULATOR_RECEIPTS_QUEUE_URL"))
    parser.add_argument("--endpoint-url", default=os.environ.get("AWS_ENDPOINT_URL"), help="where SQS is")
    parser.add_argument("--region", default=os.environ.get("AWS_REGION", "us-east-1"))
    parser.add_argument("--verbose", action="store_true", help="prints a line a request: method, path, outcome")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
