"""The layers as Lambda unpacks them: complete by themselves, and for the right machine."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from infra import layers
from infra.layers import CLOUD, LOCAL, LayerBuildFailed, LayerZip
from infra.specs import FUNCTIONS

MIB = 1024 * 1024
ELF_MACHINE_OFFSET = 18
ARM64 = 0xB7
CLIENTS = ("dynamodb", "sqs", "secretsmanager", "pinpoint-sms-voice-v2")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The local layers, unpacked on top of each other as under /opt."""
    folder = tmp_path_factory.mktemp("opt")
    for layer in (layers.build_dependencies(LOCAL), layers.build_core(LOCAL)):
        with zipfile.ZipFile(layer.path) as archive:
            archive.extractall(folder)
    return folder / "python"


def run(code: str, *paths: Path) -> str:
    """What a program prints when it sees nothing but the standard library and `paths`."""
    lines = [f"import sys; sys.path[:0] = {[str(path) for path in paths]}", code]
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", [spec.folder for spec in FUNCTIONS])
def test_a_function_needs_nothing_but_the_layers(unpacked: Path, folder: str) -> None:
    code = "import handler, notify_core; print(callable(handler.handler), notify_core.__file__)"
    printed = run(code, unpacked, layers.ROOT / "functions" / folder)
    assert printed == f"True {unpacked}/notify_core/__init__.py\n"


@pytest.mark.parametrize("client", CLIENTS)
def test_the_services_that_we_call_are_in_the_layer(unpacked: Path, client: str) -> None:
    code = f"""
from botocore.session import Session
print(Session().create_client({client!r}, "us-east-1").meta.service_model.service_name)
"""
    assert run(code, unpacked) == f"{client}\n"


def test_nothing_is_compiled_again_though_unpacking_gave_the_sources_another_time(unpacked: Path) -> None:
    code = f"""
from importlib.machinery import SourceFileLoader as Loader
compiled, compile_source = [], Loader.source_to_code
Loader.source_to_code = lambda loader, data, path: compiled.append(path) or compile_source(loader, data, path)
import pydantic.json_schema, pynamodb.models, botocore.client, notify_core.domain.limits
print([path for path in compiled if path.startswith({str(unpacked)!r})])
"""
    assert run(code, unpacked) == "[]\n"


def test_the_emulator_finds_the_dependencies_where_the_pointer_says(tmp_path: Path) -> None:
    with zipfile.ZipFile(layers.build_pointer(layers.build_dependencies(LOCAL)).path) as archive:
        archive.extractall(tmp_path)
    (site_packages,) = (tmp_path / "python" / "lib").glob("python3.*/site-packages")
    code = f"import site; site.addsitedir({str(site_packages)!r}); import pydantic; print(pydantic.__file__)"
    assert run(code) == f"{layers.build_dependencies(LOCAL).path.with_suffix('')}/python/pydantic/__init__.py\n"


def native_machines(layer: LayerZip) -> set[int]:
    with zipfile.ZipFile(layer.path) as archive:
        return {
            int.from_bytes(archive.read(name)[ELF_MACHINE_OFFSET : ELF_MACHINE_OFFSET + 2], "little")
            for name in archive.namelist()
            if name.endswith(".so")
        }


def test_the_layer_for_the_cloud_is_for_python_3_13_on_arm_and_small() -> None:
    layer = layers.build_dependencies(CLOUD)
    with zipfile.ZipFile(layer.path) as archive:
        names = archive.namelist()
        unpacked_bytes = sum(entry.file_size for entry in archive.infolist())
    assert native_machines(layer) == {ARM64}
    assert [name for name in names if ".cpython-" in name and "cpython-313" not in name] == []
    assert {name.split("/")[0] for name in names} == {"python"}
    assert unpacked_bytes < 60 * MIB
    assert layer.path.stat().st_size < 20 * MIB


@pytest.fixture
def one_requirement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A requirement file with the first of the real ones only."""
    text = layers.REQUIREMENTS.read_text()
    file = tmp_path / "runtime.txt"
    file.write_text(text[: text.index("    # via")])
    monkeypatch.setattr(layers, "REQUIREMENTS", file)
    return file


def test_a_layer_is_built_once(one_requirement: Path) -> None:
    cache = one_requirement.parent / "cache"
    first = layers.build_dependencies(LOCAL, cache)
    written_at = first.path.stat().st_mtime_ns
    assert layers.build_dependencies(LOCAL, cache) == first
    assert first.path.stat().st_mtime_ns == written_at
    assert list(cache.iterdir()) == [first.path]


def test_other_requirements_are_another_layer(one_requirement: Path) -> None:
    cache = one_requirement.parent / "cache"
    first = layers.build_dependencies(LOCAL, cache)
    one_requirement.write_text(one_requirement.read_text() + "# changed\n")
    assert layers.build_dependencies(LOCAL, cache).digest != first.digest


def test_requirements_that_pip_refuses_are_told_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requirements = tmp_path / "runtime.txt"
    requirements.write_text("botocore==1.43.106\n")
    monkeypatch.setattr(layers, "REQUIREMENTS", requirements)
    with pytest.raises(LayerBuildFailed, match="--require-hashes"):
        layers.build_dependencies(LOCAL, tmp_path)
    assert list(tmp_path.iterdir()) == [requirements]


def test_a_changed_core_is_another_layer_with_equal_bytes_for_equal_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = tmp_path / "core"
    (core / "notify_core").mkdir(parents=True)
    source = core / "notify_core" / "__init__.py"
    source.write_text("ANSWER = 41\n")
    monkeypatch.setattr(layers, "CORE", core)
    first = layers.build_core(LOCAL, tmp_path / "first")
    again = layers.build_core(LOCAL, tmp_path / "again")
    source.write_text("ANSWER = 42\n")
    changed = layers.build_core(LOCAL, tmp_path / "first")
    assert again.digest == first.digest
    assert again.path.read_bytes() == first.path.read_bytes()
    assert changed.digest != first.digest
    with zipfile.ZipFile(changed.path) as archive:
        assert archive.read("python/notify_core/__init__.py") == b"ANSWER = 42\n"
