"""What a deploy was made from, as one hash: an equal hash means that nothing has changed."""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from infra.layers import ROOT

SIMULATOR: Final = ROOT / "infra" / "local" / "simulator"
DEPLOYED: Final = (
    "functions",
    "layers",
    "infra",
    "requirements/runtime.txt",
    "cdk.json",
    "package-lock.json",
)
"""What the templates and assets are made from; `infra/local` is not."""


def deployed_fingerprint(choices: object) -> str:
    """The hash of the deployed sources, of the choices and of this interpreter."""
    files = (path for name in DEPLOYED for path in _files(ROOT / name) if ROOT / "infra" / "local" not in path.parents)
    return _hash(files, f"{choices} {sys.version}")


def simulator_fingerprint() -> str:
    """The hash of the simulator's sources."""
    return _hash(_files(SIMULATOR), sys.version)


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".pyc"
        )


def _hash(files: Iterable[Path], start: str) -> str:
    digest = hashlib.sha256(start.encode())
    for path in files:
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(ROOT)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
