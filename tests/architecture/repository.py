"""The repository's own files, as the tests of its shape see them."""

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE_BY_TOOLS = [
    ".git",
    *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line and not line.startswith("#")),
]


def is_made_by_tools(path: Path) -> bool:
    return any(fnmatch(path.name, pattern) for pattern in MADE_BY_TOOLS)


def texts(folder: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Gives each text file's path from the root, and its content."""
    for path in sorted(folder.iterdir()):
        if is_made_by_tools(path):
            continue
        if path.is_dir():
            yield from texts(path)
        else:
            yield str(path.relative_to(ROOT)), path.read_text(errors="replace")


def requirement_lines(file: str) -> list[str]:
    """The lines of a requirement file, less blanks and comments; a wrapped line is joined."""
    text = (ROOT / "requirements" / file).read_text().replace("\\\n", "")
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def pins(file: str) -> set[str]:
    """What a requirement file pins, as `name==version`; another Python may have another version."""
    return {line.split()[0] for line in requirement_lines(file)}
