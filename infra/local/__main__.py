"""`python -m infra.local up | down | status`: the local stack."""

import argparse
import os
import signal
import sys
from typing import Final

from infra.local.cdk import CommandFailed, ToolMissing
from infra.local.options import OptionInvalid, read_options
from infra.local.ports import PortTaken
from infra.local.services import ServiceFailed
from infra.local.stack import LocalStack, OtherPort

INTERRUPTED: Final = 130
EXPECTED: Final = (CommandFailed, OptionInvalid, OtherPort, PortTaken, ServiceFailed, ToolMissing)


def main() -> int:
    """0 when done, 1 when it can't be done or, for `status`, when the stack is not up."""
    parser = argparse.ArgumentParser(prog="infra.local", description=__doc__)
    parser.add_argument("command", choices=("up", "down", "status"))
    command = parser.parse_args().command
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it cleans up on its way out
    try:
        stack = LocalStack(read_options(os.environ), tell=lambda line: print(line, flush=True))
        if command == "status":
            return 0 if stack.status() else 1
        stack.up() if command == "up" else stack.down()
    except EXPECTED as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
