"""Generic code names nothing of one protocol: no sort, no size, no threat model, no id."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from carnet_spec.language import Family
from carnet_spec.protocols.registry import OWN
from tests.repo.tracked import read, tracked_python

GENERIC = ("spec/carnet_spec/language/", "spec/carnet_spec/trace.py")
"""Code that every protocol shares."""
ALSO_ENGLISH = {"none", "rounds"}
"""A variant is called by the one; by the other every goal says how long it takes to reach it."""


def _family(id: str) -> Family:
    module, _, attribute = OWN[id].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    assert isinstance(found, Family)
    return found


@functools.cache
def _names_of(id: str) -> frozenset[str]:
    """Collect the names that a protocol gives to its sorts, sizes, threat models, variants and to itself."""
    family = _family(id)
    protocols = [family.draft(name).whole() for name in family.variants]
    sizes = {size for profile in (*family.profiles.values(), *family.hunts) for size in profile.scale}
    sorts = {sort.name for protocol in protocols for sort in protocol.sorts}
    threats = {threat.id for protocol in protocols for threat in protocol.threats}
    return frozenset({family.id, *family.variants, *sizes, *sorts, *threats} - ALSO_ENGLISH)


def _words(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the names and the strings of a file, without its docstrings."""
    nodes = list(ast.walk(ast.parse(read(path))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Constant(value=str() as word) if id(node) not in docstrings:
                yield node.lineno, word
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word) | ast.ClassDef(name=word):
                yield node.lineno, word
            case _:
                continue


@pytest.mark.parametrize("id", OWN)
def test_generic_code_names_nothing_of_a_protocol(id: str) -> None:
    names = _names_of(id)
    assert len(names) > 20
    found = [
        f"{path}:{line}: {word}"
        for path in tracked_python()
        if str(path).startswith(GENERIC)
        for line, word in _words(path)
        if word in names
    ]
    assert not found


def test_a_name_of_a_protocol_would_be_seen(tmp_path: Path) -> None:
    """Else the test above could not fail."""
    file = tmp_path / "generic.py"
    file.write_text('"""Gpu"""\nSIZES = {"holders": 1}\ndef lend(Session: int) -> None:\n    """Key"""\n')
    names = _names_of("gpu-travelling")
    assert {word for _, word in _words(file)} & names == {"holders", "Session"}
