"""Statements as an author writes them down: invariants as functions, and which steps are to be taken fairly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from carnet_spec.language.errors import MisuseError, SpecificationError
from carnet_spec.language.expressions import Formula, Individual, called, formula_term, parameters
from carnet_spec.language.statements import Given, Invariant
from carnet_spec.language.terms import Var
from carnet_spec.language.tracing import said_twice


def traced_invariant(function: Callable[..., Formula], name: str) -> Invariant:
    """Return what a function says of all its parameters.

    Raises:
        MisuseError: it says what cannot be traced.
    """
    params = parameters(function)
    body = said_twice(function, lambda: formula_term(function(*params), f"the body of {name}"))
    says = " ".join((function.__doc__ or "").split())
    return Invariant(name, tuple(variable_of(param) for param in params), body, says)


def variable_of(param: Individual) -> Var:
    """Return the variable that a parameter is.

    Raises:
        SpecificationError: it is none.
    """
    if not isinstance(param.term, Var):
        raise SpecificationError(f"{param!r} is not a parameter")
    return param.term


def given_values(name: str, fair: tuple[str, ...], given: Mapping[str, Mapping[str, Individual]]) -> tuple[Given, ...]:
    """Return what parameters are in the steps that the property ``name`` wants taken fairly, in the order of ``fair``.

    Raises:
        MisuseError: ``fair`` is no tuple, ``given`` speaks of another action, or a value is no element.
    """
    if not isinstance(fair, tuple):
        raise MisuseError(f"{name}: 'fair' must be a tuple of names, not {fair!r}")
    for action in given:
        if action not in fair:
            raise MisuseError(f"{name} says what is given of {action}, which it does not name in 'fair'")
    return tuple(
        _given(name, action, parameter, value)
        for action in dict.fromkeys(fair)
        for parameter, value in dict(given.get(action, {})).items()
    )


def _given(name: str, action: str, parameter: str, value: object) -> Given:
    if not isinstance(value, Individual):
        raise MisuseError(
            f"{name} gives {called(value)} for '{parameter}' of {action}, which is no element: write a constant, a "
            "variable or a member"
        )
    return Given(action, parameter, value.term)
