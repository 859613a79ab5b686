"""Symbols that stand for something in a proof, and belong to no specification.

A symbol of a specification is a :class:`~carnet_spec.language.terms.Symbol`. What stands for a parameter or switches an
update is a :class:`ReservedSymbol`. It equals no symbol of a specification, even one of the same name, and its name in
a text is of a space of its own. It is shown with a ``$`` in front, which no name in a specification has. The prover
makes such symbols and the text of an obligation names them, so they lie below both.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from carnet_spec.language import Sort, Symbol, Update
from carnet_spec.language.terms import BOOL, Apply, Kind, Var


class Purpose(Enum):
    """What a made symbol is for; the value begins its name in a proof obligation's text."""

    PARAMETER = "par"
    """Stands for a parameter of an action."""
    SKOLEM = "any"
    """Stands for a parameter of an invariant that is to be refuted."""
    SWITCH = "on"
    """Says whether an update that belongs to a defence takes place."""
    COPY = "at"
    """Stands for a symbol that changes, after so many steps of a run."""
    CHOICE = "do"
    """Says whether an action is taken at a place in a run."""
    SLOT = "arg"
    """Stands for an argument of the action that is taken at a place in a run."""


@dataclass(frozen=True, slots=True)
class ReservedSymbol(Symbol):
    """A rigid symbol, made for a ``purpose``; nothing but a copy has arguments."""

    purpose: Purpose = Purpose.PARAMETER


def stand_in(purpose: Purpose, var: Var) -> Apply:
    """Return the constant that stands for ``var``: an arbitrary element of its sort.

    Its name ends in the sort's, because actions share declarations and not the sorts of their parameters.
    """
    return _reserved_constant(f"{var.name}.{var.sort.name}", var.sort, purpose)


def switch(update: Update) -> Apply:
    """Return the flag that says whether ``update`` takes place."""
    return _reserved_constant(update.name, BOOL, Purpose.SWITCH)


def _reserved_constant(name: str, result: Sort, purpose: Purpose) -> Apply:
    return Apply(ReservedSymbol(f"${purpose.value}.{name}", (), result, Kind.TRUTH, mutable=False, purpose=purpose), ())
