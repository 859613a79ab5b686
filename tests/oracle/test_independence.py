"""The oracle reads the language and nothing else: what it shared with an engine, it could not judge."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ENUMERATOR = ("enumerate", "errors", "evaluate", "machine", "questions", "replay", "worlds")
ALLOWED = ("carnet_spec.language", "carnet_spec.trace", "tests.oracle")


def imported(tree: ast.AST) -> set[str]:
    """The modules that ``tree`` imports."""
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return found | {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("module", ENUMERATOR)
def test_it_imports_the_language_and_its_own_modules_only(module: str) -> None:
    found = imported(ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")))
    carnets = {name for name in found if name.startswith(("carnet", "tests"))}
    assert not {name for name in carnets if not name.startswith(ALLOWED)}
