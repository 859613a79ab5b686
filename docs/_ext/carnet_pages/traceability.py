"""The matrix of the assurance case: for each requirement the names of what proves, verifies and enforces it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from carnet_spec.language.requirements import Level

from .markdown import Lines, code, label, prose, table

if TYPE_CHECKING:
    from .assurance import Case

NOT_IMPLEMENTED = "not implemented"
"""The status of what no reference implementation is of: another protocol, or a design that is only specified."""
SHOWN = 2
"""So many names are shown at once; more are behind their number, which opens."""
HEAD = ("requirement", "what it asks", "proved by", "verified by", "enforced in")


def matrix(found: Iterable[Case]) -> Lines:
    """Yield the matrix of the requirements of one protocol."""
    yield from table(HEAD, (_row(case) for case in found if case.requirement.level is not Level.ASSUMPTION))


def _row(case: Case) -> Sequence[str]:
    tests = [_link(test.id) for test in case.tests] or [f"{code(_name(test))} (slow)" for test in case.slow]
    places = [_link(label("code", place)) for place in case.code]
    return (
        _link(case.id),
        prose(case.requirement.sentence),
        _names([_link(id) for id in (*case.steps, *case.claims)], "steps and claims"),
        _names(tests, "tests"),
        _names(places, "places") if case.built else NOT_IMPLEMENTED,
    )


def _link(id: str) -> str:
    return f"{{need}}`{id}`"


def _name(test: str) -> str:
    """Return a test's own name, without its file."""
    return test.rpartition("::")[2]


def _names(names: Sequence[str], what: str) -> str:
    """Return the names in a cell; if there are many, behind how many they are."""
    listed = "<br>".join(names)
    return listed if len(names) <= SHOWN else f"<details><summary>{len(names)} {what}</summary>{listed}</details>"
