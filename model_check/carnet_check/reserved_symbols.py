"""Symbols that the prover introduces in a proof, and that belong to no specification.

A symbol of a specification is a :class:`~carnet_spec.language.terms.Symbol`. A constant for a parameter, or the flag of
an update, is a :class:`ReservedSymbol`. It equals no symbol of a specification, even one of the same name, and its name
in a text has a separate namespace. It is shown with the prefix ``$``, which no name in a specification has. Both the
prover and the text of obligations import this module.
"""

from dataclasses import dataclass
from enum import Enum

from carnet_spec.language import Sort, Symbol, Update
from carnet_spec.language.terms import BOOL, Apply, Kind, Var


class Purpose(Enum):
    """The purpose of a reserved symbol; the value is the prefix of its name in the text of an obligation."""

    PARAMETER = "par"  #: A constant for a parameter of an action.
    SKOLEM = "any"  #: A constant for a universally quantified variable of an invariant whose negation is assumed.
    SWITCH = "on"  #: A flag: whether an update that belongs to a defence takes place.
    COPY = "at"  #: A copy of a mutable symbol, after some number of steps of a run.
    CHOICE = "do"  #: A flag: whether an action is taken at a place in a run.
    SLOT = "arg"  #: A constant for an argument of the action that is taken at a place in a run.


@dataclass(frozen=True, slots=True)
class ReservedSymbol(Symbol):
    """A rigid symbol, introduced for a ``purpose``; only a copy has arguments."""

    purpose: Purpose = Purpose.PARAMETER


def stand_in(purpose: Purpose, var: Var) -> Apply:
    """Return the constant for ``var``: an arbitrary element of its sort.

    The sort is part of the constant's name, since parameters with one name may have different sorts in two actions.
    """
    return _reserved_constant(f"{var.name}.{var.sort.name}", var.sort, purpose)


def switch(update: Update) -> Apply:
    """Return the flag that says whether ``update`` takes place."""
    return _reserved_constant(update.name, BOOL, Purpose.SWITCH)


def _reserved_constant(name: str, result: Sort, purpose: Purpose) -> Apply:
    return Apply(ReservedSymbol(f"${purpose.value}.{name}", (), result, Kind.TRUTH, mutable=False, purpose=purpose), ())
