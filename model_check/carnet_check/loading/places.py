"""Where in the source of a specification stands what a lint complains about, and where a name is written."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from carnet_spec.language import Draft
from carnet_spec.language.lints import NAMES, Complaint
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
    "accepted leak": ("accepted leak",),
}
"""What complaints call the parts of a draft, and what a draft calls them."""
_NAMED = re.compile(rf"(?P<kind>{'|'.join(KINDS)}|symbol|sort) (?P<name>.+)")
_QUOTED = re.compile(r"'([^']+)'")
_BRACED = re.compile(r"\{[^}]*\}")
_OF_NAMES = NAMES | {"family", "requirements"}


def place_of(complaint: Complaint, draft: Draft, files: Iterable[str] = ()) -> Place | None:
    """Return where a draft says what a complaint is about, or else where it begins; nothing if nobody wrote it.

    A misspelt name is looked for where it is written, and in ``files``, too.
    """
    every = [*dict.fromkeys((*_files(draft), *files))]
    stated = next((place for place in _places(complaint, draft, every) if place is not None), None)
    if complaint.rule in _OF_NAMES:
        stated = written(first_quoted(complaint.message), every, stated) or stated
    beginning = (place for (kind, _), place in draft.stated_at.items() if kind == "draft")
    return stated or next(beginning, None)


def first_quoted(message: str) -> str:
    """Return the name that an error is about: the first place in braces, or the first word in quotes."""
    return next(iter((*_BRACED.findall(message), *_QUOTED.findall(message))), "")


def written(text: str, files: Iterable[str], after: Place | None = None) -> Place | None:
    """Return where a string is, or has a place in braces: first after a place in its file, then anywhere in ``files``.

    Where several files have it, or several lines after the place, it is the first.
    """
    if not text:
        return None
    if after is not None:
        later = (line for line in _lines(text, after.file) if line >= after.line)
        first = min(later, default=0)
        if first:
            return Place(after.file, first)
    for file in files:
        for line in sorted(_lines(text, file)):
            return Place(file, line)
    return None


def _lines(text: str, file: str) -> Iterator[int]:
    """Yield the lines of a file on which a string is, or has this place in braces."""
    for node in _nodes(file):
        match node:
            case ast.Constant(value=str(value)) if value == text or (text.startswith("{") and text in value):
                yield node.lineno


def _nodes(file: str) -> Iterator[ast.AST]:
    with contextlib.suppress(OSError, ValueError, SyntaxError):
        yield from ast.walk(ast.parse(Path(file).read_bytes()))


def _files(draft: Draft) -> list[str]:
    """Return the files in which a draft says something."""
    return list(dict.fromkeys(place.file for place in draft.stated_at.values() if place is not None))


def _places(complaint: Complaint, draft: Draft, files: Iterable[str]) -> Iterator[Place | None]:
    found = _NAMED.fullmatch(complaint.where)
    if found is None:  # it is about several parts, and names them
        for name in _QUOTED.findall(complaint.message):
            yield from (draft.stated_at[key] for key in reversed(draft.stated_at) if key[1] == name)
            yield _declared(name, files)
        return
    kind, whole = found["kind"], found["name"]
    for name in (whole, whole.partition(",")[0], whole.strip("'\"")):
        yield from (draft.stated_at.get((known, name)) for known in KINDS.get(kind, ()))
        yield _declared(name, files) if kind in ("symbol", "sort") else None
    yield draft.stated_at.get(("threat model", whole.partition(": ")[0]))


def _declared(name: str, files: Iterable[str]) -> Place | None:
    """Return where a sort is declared, or a symbol: by a call of which the name is the first argument."""
    for file in files:
        for node in _nodes(file):
            match node:
                case ast.ClassDef(name=declared) if declared == name:
                    return Place(file, node.lineno)
                case ast.Call(args=[ast.Constant(value=declared), *_]) if declared == name:
                    return Place(file, node.lineno)
    return None
