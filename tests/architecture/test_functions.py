import ast
import re
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT, is_made_by_tools

FOLDERS = sorted(path for path in (ROOT / "functions").iterdir() if path.is_dir() and not is_made_by_tools(path))
VERBS = "deliver|process|reconcile|record|serve|sweep"
LINES_MAX = 25


def lines_of_code(text: str) -> int:
    """Counts lines without blanks, comments and docstrings; a wrapped statement counts as one."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return len([line for line in ast.unparse(tree).splitlines() if line])


HANDLER = '''"""Words."""

import os  # why


def f():
    """Words."""
    os.path.join(
        "a",
    )
'''


def test_lines_of_code_are_counted_without_words_and_wrapping() -> None:
    assert lines_of_code(HANDLER) == 3


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_function_is_named_for_what_it_does(folder: Path) -> None:
    assert re.fullmatch(rf"({VERBS})(_[a-z]+)+", folder.name)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_handler_is_thin(folder: Path) -> None:
    assert lines_of_code((folder / "handler.py").read_text()) <= LINES_MAX
