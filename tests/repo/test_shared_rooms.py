"""The shared rooms of the reference implementation say nothing of any one system: import-linter holds the arrows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from carnet_spec.protocols.gpu_travelling import FAMILY
from tests.repo.tracked import read, tracked_python

ROOM = Path("reference_impl") / "carnet_ref"
PUBLISHED = ("datapath", "commands/datapath.py", "commands/key_budget.py")
"""What reproduces published tables names the designs that were published, GPU Travelling among them."""
COMMON_WORDS = frozenset({"gpu", "gpus", "none", "platform", "ratchet", "reset", "Version"})
"""Words of the specification that have a sense outside of it: a GPU, the driver's own ratchet, a version of SPDM."""


def words() -> frozenset[str]:
    """Return the specification's names for roles, sorts, sizes, threats, defences, claims and variants."""
    protocol = FAMILY.protocol()
    ids = {each.id for listed in (protocol.threats, protocol.defences) for each in listed}
    names = {each.name for each in protocol.claims} | {each.name for each in protocol.sorts}
    roles = {action.by.name for action in protocol.actions}
    sizes = {size for profile in FAMILY.profiles.values() for size in profile.scale}
    return frozenset({*ids, *names, *roles, *sizes, *FAMILY.variants}) - COMMON_WORDS


def shared_rooms() -> list[Path]:
    """Return the files of the shared rooms."""
    others = [ROOM / part for part in ("systems", *PUBLISHED)]
    mine = [path for path in tracked_python() if path.is_relative_to(ROOM)]
    return [path for path in mine if not any(path.is_relative_to(other) for other in others)]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the string literals of a file that are no docstrings, with their lines."""
    tree = ast.parse(read(path))
    docs = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs:
            yield node.lineno, node.value


def test_no_shared_room_has_a_word_of_a_system() -> None:
    shared = shared_rooms()
    assert len(shared) > 90
    known = words()
    assert {"orchestrator", "holders", "outsider", "sealed-under-master", "Custody", "lease"} <= known
    found = [f"{path}:{line}: {text!r}" for path in shared for line, text in texts(path) if text in known]
    assert not found
