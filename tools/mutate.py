"""Mutation testing of the domain: changes its code in thousands of small ways, and shows which ones no test notices.

`make mutate` takes all of it, most of an hour; `make mutate ONLY="notice rendering.words"` takes those modules. What
survives has to stand, with the reason why nothing can tell it from the code, in tests/domain/equivalent_mutants.toml.
The exit status is 1 where something survives without a reason, where no test reaches it, and where a reason stands for
what is found after all.

mutmut works on a copy in .local/mutate. `--report` sums up again what was run there last.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ROOT / "layers" / "notify_core" / "python" / "notify_core"
WORK = ROOT / ".local" / "mutate"
REASONS = ROOT / "tests" / "domain" / "equivalent_mutants.toml"
COPIED = ("tests", "infra", "tools", "docs")
"""What the tests of the domain need besides the core."""

CONFIGURATION = """\
[tool.mutmut]
source_paths = ["notify_core"]
only_mutate = ["notify_core/domain/*.py"]
also_copy = ["tests", "infra", "tools", "docs"]
pytest_add_cli_args = ["-p", "no:randomly", "--import-mode=importlib"]
pytest_add_cli_args_test_selection = ["tests/domain"]
timeout_constant = 5.0
use_git_change_detection = false

[tool.pytest]
pythonpath = ["."]
timeout = "60"
filterwarnings = ["error"]
"""

SURVIVED, NO_TESTS = 0, 33
KILLED = (1, 3)
"""mutmut's verdicts, as exit codes; None is not run, anything else ended by a timeout or a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A change of the domain: where, what, and mutmut's verdict."""

    name: str
    module: str
    verdict: int | None

    @property
    def function(self) -> str:
        """The function that is changed: `notice.left`, `notice.Delivery.is_claimable`."""
        mangled = self.name.removeprefix("notify_core.domain.").rpartition("__mutmut_")[0]
        module, _, function = mangled.rpartition(".")
        return f"{module}.{function.removeprefix('x_').replace('xǁ', '').replace('ǁ', '.')}"


def main(arguments: Sequence[str]) -> int:
    """Mutates the modules and prints what became of them; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("modules", nargs="*", help="of the domain: notice, rendering.content")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="sum up what was run before, and run nothing")
    asked = parser.parse_args(arguments)
    modules = asked.modules or _all_modules()
    if not asked.report:
        _copy()
        _run_mutmut(modules, asked.processes)
    return _report(modules)


def _all_modules() -> Sequence[str]:
    domain = CORE / "domain"
    paths = (path.relative_to(domain).with_suffix("") for path in sorted(domain.rglob("*.py")))
    return [".".join(path.parts) for path in paths if path.name != "__init__"]


# ---------------------------------------------------------------- running


def _copy() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    for place, source in (("notify_core", CORE), *((name, ROOT / name) for name in COPIED)):
        shutil.rmtree(WORK / place, ignore_errors=True)
        shutil.copytree(source, WORK / place, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(WORK / "mutants", ignore_errors=True)  # verdicts of other tests
    (WORK / "pyproject.toml").write_text(CONFIGURATION, encoding="utf-8")


def _run_mutmut(modules: Sequence[str], processes: int) -> None:
    """Let mutmut judge the modules' mutants."""
    mutmut = str(Path(sys.executable).with_name("mutmut"))
    chosen = [f"notify_core.domain.{module}.*" for module in modules]
    environment = {**os.environ, "CI": "1"}
    log_path = WORK / "mutmut.log"
    print(f"mutmut writes to {log_path.relative_to(ROOT)} …", flush=True)
    with log_path.open("w", encoding="utf-8") as log:
        command = [mutmut, "run", "--max-children", str(processes), *chosen]
        subprocess.run(command, cwd=WORK, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)


# ---------------------------------------------------------------- reporting


def _report(modules: Sequence[str]) -> int:
    reasons = _reasons()
    unexplained: list[str] = []
    explained: set[tuple[str, str]] = set()
    total: Counter[str] = Counter()
    print(f"{'module':20} {'mutants':>8} {'killed':>8} {'survive':>8} {'no test':>8} {'others':>8} {'not run':>8}")
    for module in modules:
        mutants = list(_mutants(module))
        counts = Counter(_word(mutant.verdict) for mutant in mutants)
        total.update(counts)
        _print_line(module, counts)
        for mutant in mutants:
            if mutant.verdict not in {SURVIVED, NO_TESTS}:
                continue
            key = (mutant.function, _change(mutant))
            explained.add(key)
            if key not in reasons:
                unexplained.append(f"{key[0]}: {key[1]}" + (" (no test)" if mutant.verdict == NO_TESTS else ""))
    _print_line("all", total)
    asked = tuple(f"{module}." for module in modules)
    stale = [": ".join(key) for key in reasons if key[0].startswith(asked) and key not in explained]
    for title, lines in (("survive without a reason", unexplained), ("have a reason and don't survive", stale)):
        print(f"\n{len(lines)} {title}")
        print("\n".join(f"  {line}" for line in lines))
    return 1 if unexplained or stale or total["not run"] or not total else 0


def _print_line(name: str, counts: Mapping[str, int]) -> None:
    words = ("killed", "survive", "no test", "others", "not run")
    print(f"{name:20} {sum(counts.values()):8} " + " ".join(f"{counts.get(word, 0):8}" for word in words))


def _word(verdict: int | None) -> str:
    if verdict is None:
        return "not run"
    if verdict in KILLED:
        return "killed"
    return {SURVIVED: "survive", NO_TESTS: "no test"}.get(verdict, "others")


def _reasons() -> Mapping[tuple[str, str], str]:
    if not REASONS.exists():
        return {}
    with REASONS.open("rb") as file:
        entries = tomllib.load(file).get("equivalent", [])
    return {(entry["function"], change): entry["reason"] for entry in entries for change in entry["changes"]}


def _mutants(module: str) -> Iterator[Mutant]:
    path = WORK / "mutants" / "notify_core" / "domain" / Path(*module.split(".")).with_suffix(".py.meta")
    if not path.exists():
        return
    verdicts = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    for name, verdict in verdicts.items():
        yield Mutant(name=name, module=module, verdict=verdict)


def _change(mutant: Mutant) -> str:
    """What it changes, on one line: `- the lines of before + those of after`."""
    with chdir(WORK):  # where mutmut finds its configuration, as soon as it is imported
        from mutmut.mutation.diff_apply import get_diff_for_mutant  # noqa: PLC0415

        path = Path("notify_core", "domain", *mutant.module.split(".")).with_suffix(".py")
        shown = get_diff_for_mutant(mutant.name, path=path)
    lines = [line for line in shown.splitlines() if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"}]
    return " ".join(f"{line[0]} {line[1:].strip()}" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
