"""The arrows between the packages, in full: import-linter holds the rest (see pyproject.toml)."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.repo.tracked import read, tracked_python


def _imported_packages(path: Path) -> Iterator[str]:
    """Yield the top-level name of everything a file imports, wherever in the file it does so."""
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def test_the_spec_imports_the_standard_library_only() -> None:
    allowed = {"carnet_spec", *sys.stdlib_module_names}
    strangers = [
        f"{path}: {name}"
        for path in tracked_python()
        if path.parts[0] == "spec"
        for name in _imported_packages(path)
        if name not in allowed
    ]
    assert not strangers
