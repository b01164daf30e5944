"""Bringing the local stack up, taking it down, and telling how it is."""

import fcntl
import json
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from infra import outputs
from infra.local import cdk, fingerprints, furnish, ports, services, stack_file
from infra.local.cdk import Cdk
from infra.local.dummy_keys import REGION
from infra.local.options import Options
from infra.local.services import Address, Services
from infra.specs import Queue


class OtherPort(RuntimeError):
    """The stack already runs, on another port or with other roles than those asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the last complete `up` left: where the servers listen, and what was deployed from."""

    port: int
    simulator_port: int
    deployed: str
    simulator: str
    enforces_iam: bool

    @property
    def address(self) -> Address:
        """Where the servers listen."""
        return Address(port=self.port, simulator_port=self.simulator_port)


class LocalStack:
    """The local stack of one folder."""

    def __init__(self, options: Options, tell: Callable[[str], None]) -> None:
        self._options = options
        self._tell = tell
        self._folder = options.folder
        self._record_file = self._folder / "record.json"
        self._services = Services(self._folder)
        self.stack_file = self._folder / "stack.json"

    def up(self) -> None:
        """Starts what doesn't run, deploys what has changed, and writes `stack.json`."""
        began = time.monotonic()
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._alone():
            kept = self._kept()
            if kept is None or not self._runs(kept):
                self._start_anew(kept)
            else:
                self._bring_up_to_date(kept)
        self._tell(f"Ready after {time.monotonic() - began:.1f} s. {self.stack_file} says where everything is.")

    def down(self) -> None:
        """Stops the servers that `up` started, and removes what they left."""
        if not self._folder.exists():
            self._tell("The stack is not up.")
            return
        with self._alone():
            self.stack_file.unlink(missing_ok=True)
            stopped = self._services.stop()
        self._tell("The stack is down." if stopped else "The stack is not up.")

    def status(self) -> bool:
        """Tells whether the stack is up, where, and whether it is what the sources say."""
        kept = self._kept()
        if kept is None or not self._runs(kept):
            self._tell("The stack is not up. Start it with `make up`.")
            return False
        self._tell(f"AWS        {kept.address.endpoint_url}  (process {self._services.emulator.pid})")
        self._tell(f"providers  {kept.address.simulator_url}  (process {self._services.simulator.pid})")
        self._tell(f"the rest   {self.stack_file}")
        if kept != self._wanted(kept.address):
            self._tell("Sources or options have changed since: `make up` deploys them.")
        return True

    @contextmanager
    def _alone(self) -> Generator[None]:
        """One command at a time on a folder; a second one waits."""
        with (self._folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._tell("Another command is at work on this stack; waiting for it.")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _kept(self) -> Record | None:
        try:
            return Record(**json.loads(self._record_file.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def _runs(self, kept: Record) -> bool:
        return (
            self.stack_file.exists()
            and self._services.emulator.pid is not None
            and self._services.simulator.pid is not None
            and services.is_emulator(kept.address)
            and services.is_simulator(kept.address)
        )

    def _wanted(self, address: Address) -> Record:
        choices = (self._context(address), address)
        return Record(
            port=address.port,
            simulator_port=address.simulator_port,
            deployed=fingerprints.deployed_fingerprint(choices),
            simulator=fingerprints.simulator_fingerprint(),
            enforces_iam=self._options.enforce_iam,
        )

    def _context(self, address: Address) -> dict[str, str]:
        variables = {
            "AWS_ENDPOINT_URL": address.endpoint_url,
            "AWS_ENDPOINT_URL_PINPOINT_SMS_VOICE_V2": f"{address.simulator_url}/sms/",
            **self._options.function_environment,
        }
        return {
            "local": "true",
            "issuer_url": address.simulator_url,
            "schedules": "true" if self._options.schedules else "false",
            "concurrency_max": str(self._options.concurrency_max),
            "hq_channel": furnish.HQ_CHANNEL,
            "slack_base_url": f"{address.simulator_url}/slack/api/",
            "sms_origination_identity": furnish.SMS_ORIGINATION_IDENTITY,
            "sms_configuration_set": furnish.SMS_CONFIGURATION_SET,
            "environment": json.dumps(variables),
        }

    def _start_anew(self, kept: Record | None) -> None:
        cdk.find_node()
        cdk.find_cli()
        if self.stack_file.exists():
            self._tell("A server of the stack has ended, and what it stored with it.")
        self._services.stop()
        self.stack_file.unlink(missing_ok=True)
        address = self._choose_address(kept)
        wanted = self._wanted(address)
        self._tell(f"Starting the emulator on port {address.port}, the simulator on {address.simulator_port}.")
        try:
            self._step("servers", lambda: self._start_servers(address))
            self._deploy(address, wanted, bootstrap=True)
            if wanted.enforces_iam:
                self._step("roles", lambda: self._services.enforce_roles(address))
            self._finish(address, wanted)
        except BaseException:
            self._services.stop()
            raise

    def _bring_up_to_date(self, kept: Record) -> None:
        for name, asked, has in (
            ("NOTIFY_PORT", self._options.port, kept.port),
            (
                "NOTIFY_SIMULATOR_PORT",
                self._options.simulator_port or kept.simulator_port,
                kept.simulator_port,
            ),
            ("NOTIFY_ENFORCE_IAM", self._options.enforce_iam, kept.enforces_iam),
        ):
            if asked != has:
                raise OtherPort(f"The stack already runs, with {name}={has}. `make down` first, or leave it so.")
        wanted = self._wanted(kept.address)
        if wanted == kept:
            self._tell(f"The stack is up and unchanged, on port {kept.port}.")
            return
        if wanted.simulator != kept.simulator:
            self._tell("The simulator has changed: starting it again, empty.")
            self._services.simulator.stop()
            self._step("simulator", lambda: self._start_simulator(kept.address))
        if wanted.deployed != kept.deployed:
            self._tell("Sources or options have changed: deploying them.")
            self._deploy(kept.address, wanted, bootstrap=False)
        self._finish(kept.address, wanted)

    def _choose_address(self, kept: Record | None) -> Address:
        ports.check_free(self._options.port, "NOTIFY_PORT")
        simulator_port = self._options.simulator_port
        if simulator_port is not None:
            ports.check_free(simulator_port, "NOTIFY_SIMULATOR_PORT")
        elif kept is not None and ports.is_free(kept.simulator_port):
            simulator_port = kept.simulator_port
        return Address(port=self._options.port, simulator_port=simulator_port or ports.free_port())

    def _start_servers(self, address: Address) -> None:
        self._services.start_simulator(address)
        self._services.start_emulator(address, **(services.SAVING if self._options.enforce_iam else {}))
        self._services.await_ready(address)

    def _start_simulator(self, address: Address) -> None:
        self._services.start_simulator(address)
        self._services.await_ready(address)

    def _deploy(self, address: Address, wanted: Record, *, bootstrap: bool) -> None:
        toolkit = Cdk(
            folder=self._folder,
            environment=services.plain_environment(address),
            context=self._context(address),
        )
        with ThreadPoolExecutor() as pool:
            made = [pool.submit(self._synthesize, toolkit, wanted)]
            if bootstrap:
                made.append(pool.submit(self._step, "bootstrap", lambda: toolkit.bootstrap(REGION)))
            for step in made:
                step.result()
        self._step("deploy", toolkit.deploy)

    def _synthesize(self, toolkit: Cdk, wanted: Record) -> None:
        """Synthesizes, unless what lies there was made from the same sources and choices."""
        mark = self._folder / "synthesized"
        if mark.exists() and mark.read_text() == wanted.deployed:
            self._tell("  synthesis       unchanged")
            return
        mark.unlink(missing_ok=True)
        self._step("synthesis", toolkit.synthesize)
        mark.write_text(wanted.deployed)

    def _finish(self, address: Address, wanted: Record) -> None:
        self._step("settings", lambda: self._furnish(address))
        stack_file.write_whole(self._record_file, asdict(wanted))

    def _furnish(self, address: Address) -> None:
        told = stack_file.read_outputs(self._folder / "outputs.json")
        described = stack_file.describe_stack(told, address, furnish.operator_token(address))
        furnish.keep_slack_tokens(address)
        furnish.name_receipts_queue(address, told[outputs.queue_output(Queue.RECEIPTS)])
        stack_file.write_whole(self.stack_file, described)

    def _step(self, name: str, do: Callable[[], None]) -> None:
        began = time.monotonic()
        do()
        self._tell(f"  {name:15} {time.monotonic() - began:4.1f} s")
