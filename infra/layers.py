"""The two Lambda layers, built without Docker: the dependencies (cached) and the shared core.

They are two so that a change of our own code uploads a few kilobytes.
"""

import compileall
import hashlib
import platform
import py_compile
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
CORE: Final = ROOT / "layers" / "notify_core" / "python"
REQUIREMENTS: Final = ROOT / "requirements" / "runtime.txt"
CACHE: Final = ROOT / ".local" / "layers"

AWS_SERVICES_KEPT: Final = frozenset({"dynamodb", "pinpoint-sms-voice-v2", "secretsmanager", "sqs", "sts"})
"""The services our code calls: botocore's descriptions of the 400 others are a third of its layer."""

JUNK: Final = ("bin", "**/__pycache__", "**/*.pyi", "**/tests")
KEPT_SECONDS: Final = 7 * 86_400
EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class LayerBuildFailed(RuntimeError):
    """pip could not install the layer's dependencies; the message holds what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The interpreter that imports a layer."""

    name: str
    python_version: str
    platforms: tuple[str, ...] = ()
    """pip's platform tags; none for the interpreter that runs this."""

    @property
    def pip_options(self) -> tuple[str, ...]:
        """What makes pip install for this target instead of for itself."""
        if not self.platforms:
            return ()
        tags = [part for tag in self.platforms for part in ("--platform", tag)]
        return (*tags, "--python-version", self.python_version, "--implementation", "cp")

    @property
    def compiles(self) -> bool:
        """Whether this interpreter writes bytecode that the target's can read."""
        return self.python_version == _running_version()


def _running_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


CLOUD: Final = Target(
    name="arm64",
    python_version="3.13",
    platforms=("manylinux2014_aarch64", "manylinux_2_28_aarch64"),
)
LOCAL: Final = Target(
    name=f"{platform.system().lower()}-{platform.machine()}-{_running_version()}",
    python_version=_running_version(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerZip:
    """A built layer and the hash of what it was built from."""

    path: Path
    digest: str


def build_dependencies(target: Target, cache: Path = CACHE) -> LayerZip:
    """Installs the hashed requirements for `target` into a zip; a second call finds it in `cache`.

    Raises:
        LayerBuildFailed: pip failed.
    """
    digest = _digest(target, {"requirements": REQUIREMENTS.read_bytes()})
    return _cached(
        cache / f"dependencies-{target.name}-{digest[:16]}.zip",
        digest,
        lambda folder: _install(target, folder),
    )


def build_pointer(layer: LayerZip) -> LayerZip:
    """Unpacks a layer beside its zip, and makes one in its place that only says where.

    The emulator unpacks every layer for every process: with the dependencies themselves that takes a cold start
    seconds, and a disk gigabytes.
    """
    unpacked = layer.path.with_suffix("")
    if not unpacked.exists():
        with tempfile.TemporaryDirectory(dir=unpacked.parent) as folder, zipfile.ZipFile(layer.path) as archive:
            made = Path(folder, "unpacked")
            archive.extractall(made)
            with suppress(OSError):  # another process was faster
                made.rename(unpacked)
    line = f"import sys; sys.path.insert(0, {str(unpacked / 'python')!r})\n"
    digest = hashlib.sha256(f"{layer.digest} {line}".encode()).hexdigest()
    return _cached(
        layer.path.with_name(f"pointer-{digest[:16]}.zip"),
        digest,
        lambda folder: _write_line(folder / "lib" / f"python{_running_version()}" / "site-packages", line),
    )


def build_core(target: Target, cache: Path = CACHE) -> LayerZip:
    """Zips the shared core for `target`."""
    sources = {str(path.relative_to(CORE)): path.read_bytes() for path in _files(CORE) if _is_source(path)}
    digest = _digest(target, sources)
    return _cached(
        cache / f"core-{target.name}-{digest[:16]}.zip",
        digest,
        lambda folder: _copy_core(target, folder),
    )


def _cached(path: Path, digest: str, fill: Callable[[Path], None]) -> LayerZip:
    if not path.exists():
        _forget_old(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            content = Path(folder, "content")
            fill(content / "python")
            made = Path(folder, "layer.zip")
            _zip(content, made)
            made.replace(path)
    return LayerZip(path=path, digest=digest)


def _write_line(folder: Path, line: str) -> None:
    folder.mkdir(parents=True)
    (folder / "dependencies.pth").write_text(line)


def _forget_old(cache: Path) -> None:
    """Removes cores built a while ago: there is another one after every change."""
    for layer in cache.glob("core-*.zip"):
        if time.time() - layer.stat().st_mtime > KEPT_SECONDS:
            layer.unlink(missing_ok=True)


def _install(target: Target, folder: Path) -> None:
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--target", str(folder), "--requirement", str(REQUIREMENTS)),
        *("--require-hashes", "--no-deps", "--only-binary=:all:", "--no-compile"),
        *target.pip_options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        raise LayerBuildFailed(f"pip could not install {REQUIREMENTS} for {target.name}:\n{done.stderr}")
    _trim(folder)
    _compile(target, folder)


def _trim(folder: Path) -> None:
    """Takes out what no import reads: scripts, stubs, tests, and AWS services that we never call."""
    for pattern in JUNK:
        for path in list(folder.glob(pattern)):
            _remove(path)
    for service in list((folder / "botocore" / "data").glob("*/")):
        if service.name not in AWS_SERVICES_KEPT:
            _remove(service)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy_core(target: Target, folder: Path) -> None:
    shutil.copytree(CORE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    _compile(target, folder)


def _compile(target: Target, folder: Path) -> None:
    """Adds bytecode: Lambda's layers are read-only, so without it every cold start would compile again.

    It is trusted unchecked, since unzipping gives the sources other times.
    """
    if target.compiles:
        compileall.compile_dir(
            folder,
            quiet=2,
            optimize=0,  # Lambda starts Python without -O; whoever builds this may not
            stripdir=str(folder),
            prependdir="/opt/python",
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )


def _zip(folder: Path, made: Path) -> None:
    """Zips a folder so that equal contents give equal bytes."""
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in _files(folder):
            entry = zipfile.ZipInfo(str(path.relative_to(folder)), EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _is_source(path: Path) -> bool:
    return "__pycache__" not in path.parts and ".egg-info" not in str(path)


def _digest(target: Target, contents: Mapping[str, bytes]) -> str:
    builder = Path(__file__).read_bytes()
    digest = hashlib.sha256(f"{target} {_running_version()}".encode() + builder)
    for name, content in contents.items():
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()
