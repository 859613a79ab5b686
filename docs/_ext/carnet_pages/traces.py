"""From the ids of requirements to the tests and the code that name them, found by reading the sources.

A test names an id, or a claim, as a string of its own: a key of a table of cases, a parameter, an argument. Code says
what it enforces in its docstring, in a line that begins with ``Enforces:``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ID = re.compile(r"\b(?:REQ|CLAIM|ASM)-[A-Z0-9-]*[A-Z0-9]\b")
_ENFORCES = re.compile(r"^\s*Enforces: *(.+?)(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)

Places = dict[str, list[str]]
"""For each name, the places that mention it, in order."""


def named_by_tests(root: Path, folder: str = "tests") -> Places:
    """Return for each string that stands by itself in a test module where it does, as ``path`` or ``path::test``."""
    found: Places = {}
    for path in sorted((root / folder).rglob("test_*.py")):
        where = path.relative_to(root).as_posix()
        for function, text in _strings(ast.parse(path.read_text("utf-8"))):
            place = f"{where}::{function}" if function else where
            if place not in found.setdefault(text, []):
                found[text].append(place)
    return found


def enforced_by_code(root: Path, folder: str = "reference_impl") -> Places:
    """Return for each id the modules, classes and functions whose docstrings say that they enforce it."""
    found: Places = {}
    for path in sorted((root / folder).rglob("*.py")):
        module = ".".join(path.relative_to(root / folder).with_suffix("").parts).removesuffix(".__init__")
        for name, docstring in _docstrings(ast.parse(path.read_text("utf-8")), module):
            for said in _ENFORCES.findall(docstring):
                for id in ID.findall(said):
                    found.setdefault(id, []).append(name)
    return found


def _strings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the strings of a module, each with the test that it stands in, decorators included."""
    for node in tree.body:
        function = node.name if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") else ""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and len(inner.value) < 80:
                yield function, inner.value


def _docstrings(tree: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield (name if isinstance(node, ast.Module) else f"{name}.{node.name}"), docstring
