"""Every parser of the reference implementation is in the registry, so that none is left out of fuzzing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.repo.tracked import ROOT, read, tracked_python

PACKAGE = Path("reference_impl/carnet_ref")
INSIDE_OTHERS = {
    "carnet_ref.attestation.documents.Document": "collateral, tcb-info and qe-identity are read with it",
    "carnet_ref.attestation.documents.parse_documents": "an event-log in JSON is read with it",
    "carnet_ref.attestation.nvidia.rim.parse_bounded": "a rim is read with it",
}
"""Parsers that others of the registry call with bytes they were given."""


def parsers(path: Path) -> Iterator[str]:
    """Yield the public parsers of bytes in a module: functions, and classes with a method of that kind."""
    module = ".".join(path.relative_to("reference_impl").with_suffix("").parts).removesuffix(".__init__")
    for node in ast.parse(read(path)).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            if any(isinstance(each, ast.FunctionDef) and _parses_bytes(each) for each in node.body):
                yield f"{module}.{node.name}"
        elif isinstance(node, ast.FunctionDef) and _parses_bytes(node):
            yield f"{module}.{node.name}"


def _parses_bytes(function: ast.FunctionDef) -> bool:
    takes = [argument for argument in function.args.args if argument.arg not in {"self", "cls"}]
    first = takes[0].annotation if takes else None
    return function.name.startswith("parse") and isinstance(first, ast.Name) and first.id == "bytes"


def test_every_parser_is_fuzzed() -> None:
    found = {name for path in tracked_python() if path.is_relative_to(PACKAGE) for name in parsers(path)}
    registry = [ast.parse((ROOT / "tests" / "fuzz" / name).read_text()) for name in ("parsers.py", "spdm_inputs.py")]
    imported = {
        f"{node.module}.{alias.name}"
        for node in (node for module in registry for node in ast.walk(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert len(found) > 20
    assert not found - imported - set(INSIDE_OTHERS)
