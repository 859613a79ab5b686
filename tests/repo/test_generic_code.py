"""Code that serves every protocol knows none: it names no sort, size, threat model, variant or action of one."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from carnet_check.loading.families import registered_families
from carnet_spec.language import Family

ROOT = Path(__file__).parents[2]
GENERIC = ("model_check/carnet_check", "spec/carnet_command", "spec/carnet_spec/language")
STARTER = ROOT / "model_check/carnet_check/starter"
"""A protocol, to begin one's own with."""
FILES = [
    *sorted(file for folder in GENERIC for file in (ROOT / folder).rglob("*.py") if file.parent != STARTER),
    ROOT / "spec/carnet_spec/trace.py",
]


def written(source: str) -> Iterator[str]:
    """Yield the names and the texts in a module; what documents it is none of them."""
    tree = ast.parse(source)
    documenting = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in documenting:
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str() as name):
                yield from () if name == FIELD else (name,)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def names_of(family: Family) -> set[str]:
    """Return what only one protocol calls something: its sorts, sizes and threat models, and names of several words.

    A word alone, such as an action ``count`` or a variant ``main``, may mean something else in other code.
    """
    protocols = [family.protocol(variant) for variant in family.variants]
    sizes = {size for profile in (*family.profiles.values(), *family.hunts) for size in profile.scale}
    sorts = {sort.name for protocol in protocols for sort in protocol.sorts}
    threats = {threat.id for protocol in protocols for threat in protocol.threats}
    others = (
        set(family.variants)
        | {action.name for protocol in protocols for action in protocol.actions}
        | {defence.id for protocol in protocols for defence in protocol.defences}
        | {claim.name for protocol in protocols for claim in protocol.claims}
    )
    several = {name for name in others if "-" in name or "_" in name}
    return {family.id} | sizes | family.fresh_sizes | sorts | threats | several


WORDS = {"instances", "none", "slots", "twins"}
"""Names of a protocol that are everyday words of the checker too."""
FIELD = "rounds"
"""A field of every goal is called so, and may be read; as a text it would be a protocol's size."""
ENCODINGS = [ROOT / "spec/carnet_spec/language" / name for name in ("encoding.py", "decoding.py")]
"""Write down the names of fields, and read them back."""


@functools.cache
def names() -> set[str]:
    """Return what only registered protocols call something."""
    return set().union(*(names_of(family) for family in registered_families())) - WORDS


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_generic_code_names_nothing_of_a_protocol(file: Path) -> None:
    fields = {FIELD} if file in ENCODINGS else set()
    assert sorted(set(written(file.read_text("utf-8"))) & names() - fields) == []


@pytest.mark.parametrize(
    "source",
    [
        'SIZES = {"rounds"}',
        "header.sessions",
        "def follow(holders): ...",
        'x = f(threat="outsider")',
        'ok = a == "rotate_out"',
    ],
)
def test_a_name_of_a_protocol_is_found(source: str) -> None:
    assert set(written(source)) & names()
