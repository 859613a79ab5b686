"""Where in the source of a specification stands what a lint complains about."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from carnet_spec.language import Draft
from carnet_spec.language.lints import Complaint
from carnet_spec.language.tracing import Place

KINDS = {
    "action": ("action",),
    "rule": ("action",),
    "claim or lemma": ("claim", "lemma"),
    "claim": ("claim",),
    "lemma": ("lemma",),
    "goal": ("goal",),
    "liveness": ("liveness",),
    "axiom": ("axiom",),
    "threat model": ("threat model",),
    "initial value of": ("initial value of",),
}
"""What complaints call the parts of a draft, and what a draft calls them."""
_NAMED = re.compile(rf"(?P<kind>{'|'.join(KINDS)}|symbol|sort) (?P<name>.+)")
_QUOTED = re.compile(r"'([^']+)'")


def place_of(complaint: Complaint, draft: Draft) -> Place | None:
    """Return where a draft says what a complaint is about, or else where it begins; nothing if nobody wrote it."""
    beginning = (place for (kind, _), place in draft.stated_at.items() if kind == "draft")
    return next((place for place in _places(complaint, draft) if place is not None), next(beginning, None))


def _places(complaint: Complaint, draft: Draft) -> Iterator[Place | None]:
    found = _NAMED.fullmatch(complaint.where)
    if found is None:  # it is about several parts, and names them
        for name in _QUOTED.findall(complaint.message):
            yield from (draft.stated_at[key] for key in reversed(draft.stated_at) if key[1] == name)
            yield _declared(name, draft)
        return
    kind, whole = found["kind"], found["name"]
    for name in (whole, whole.partition(",")[0], whole.strip("'\"")):
        yield from (draft.stated_at.get((known, name)) for known in KINDS.get(kind, ()))
        yield _declared(name, draft) if kind in ("symbol", "sort") else None
    yield draft.stated_at.get(("threat model", whole.partition(": ")[0]))


def _declared(name: str, draft: Draft) -> Place | None:
    """Return where a sort is declared, or a symbol: by a call of which the name is the first argument."""
    for file in dict.fromkeys(place.file for place in draft.stated_at.values() if place is not None):
        with contextlib.suppress(OSError, ValueError, SyntaxError):
            for node in ast.walk(ast.parse(Path(file).read_bytes())):
                match node:
                    case ast.ClassDef(name=declared) if declared == name:
                        return Place(file, node.lineno)
                    case ast.Call(args=[ast.Constant(value=declared), *_]) if declared == name:
                        return Place(file, node.lineno)
    return None
