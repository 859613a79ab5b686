"""How each invariant stands where claims are proved by induction, and the state from which an induction fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What is known of one invariant. Only ``proved`` establishes it; only ``refuted`` says that it is false."""

    PROVED = "proved"
    NOT_INDUCTIVE = "not inductive"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Standing:
    """How one invariant stands in one layer of a variant.

    Attributes:
        lemma: whether it is a lemma; otherwise it is what a claim says.
        layer: the id of the threat model whose axioms were assumed, or nothing: none were.
        failing: its own obligations that do not hold, whatever else is assumed to hold before.
        open: its own obligations that got no answer, each with why.
        rests_on: the invariants that its proof uses and that are not proved.
    """

    variant: str
    invariant: str
    lemma: bool
    layer: str
    status: Status
    failing: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cti:
    """A counterexample to induction: a state in which every invariant holds, and a step after which one does not.

    Nobody says that the state can be reached. The interpreter has taken the step and judged both ends of it, unless
    ``unconfirmed`` says why not; nothing is known of a state then, so everything else is empty.

    Attributes:
        action: the step; nothing, if the invariant fails in the first state.
        sentence: the step in words.
        elements: the elements of each sort.
        about: the elements for which the invariant fails, by its parameters.
        before: the facts of the state that the step and the invariant are about; ``fixed`` never change, and ``beside``
            are values that neither of them reads.
        changes: what the step changed.
        formula: the invariant, and ``false`` the parts of it that do not hold afterwards.
        holding: the claims and lemmas that hold before the step: all that are assumed there.
    """

    obligation: str
    unconfirmed: str = ""
    action: str = ""
    sentence: str = ""
    args: Mapping[str, str] | None = None
    elements: Mapping[str, tuple[str, ...]] | None = None
    about: Mapping[str, str] | None = None
    before: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    formula: str = ""
    false: tuple[str, ...] = ()
    holding: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        tables = {name: dict(getattr(self, name) or {}) for name in ("args", "about")}
        lists = ("before", "fixed", "beside", "changes", "false", "holding")
        return {
            **{name: getattr(self, name) for name in ("obligation", "unconfirmed", "action", "sentence", "formula")},
            **tables,
            "elements": {sort: list(names) for sort, names in (self.elements or {}).items()},
            **{name: list(getattr(self, name)) for name in lists},
        }
