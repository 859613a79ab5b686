"""Statements as an author writes them down: invariants as functions, and which steps are to be taken fairly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from carnet_spec.language.errors import MisuseError, SpecificationError
from carnet_spec.language.expressions import (
    Expression,
    Formula,
    Function,
    Individual,
    Relation,
    called,
    formula_term,
    parameters,
)
from carnet_spec.language.naming import did_you_mean
from carnet_spec.language.statements import Given, Invariant
from carnet_spec.language.terms import Apply, Symbol, Term, Var, sort_of
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


def name_of(function: Callable[..., object], what: str) -> str:
    """Return what a function is called, after which ``what`` it states is named.

    Raises:
        MisuseError: it has no name of its own.
    """
    name = getattr(function, "__name__", "<lambda>")
    if name == "<lambda>":
        raise MisuseError(f"{what} is named after its function, and {called(function)} has no name: write a 'def'")
    return str(name)


def first_value(
    what: Expression | Relation | Function[Any], value: Expression | Callable[..., Expression]
) -> tuple[Symbol, tuple[Var, ...], Term]:
    """Return the symbol whose value in the first state an author gives, the parameters of that value, and the value.

    Raises:
        MisuseError: it is no value of that sort, or takes other parameters than the relation or function.
    """
    params: tuple[Individual, ...] = ()
    if isinstance(what, Expression) and isinstance(value, Expression) and isinstance(what.term, Apply):
        symbol, given = what.term.symbol, value
    elif isinstance(what, Relation | Function) and callable(value):
        symbol, params = what.symbol, parameters(value, sorts=what.symbol.domain)
        given_for = tuple(param.sort for param in params)
        if given_for != symbol.domain:
            takes, has = (", ".join(sort.name for sort in each) or "nothing" for each in (symbol.domain, given_for))
            raise MisuseError(f"{symbol.name} takes {takes}, and its first value is given for {has}")
        given = value(*params)
    else:
        raise MisuseError("initially takes a variable and its value, or a relation or function and a Python one")
    if not isinstance(given, Expression) or sort_of(given.term) != symbol.result:
        raise MisuseError(f"{symbol.name} holds a {symbol.result.name}, not {called(given)}")
    return symbol, tuple(variable_of(param) for param in params), given.term


def given_values(name: str, fair: tuple[str, ...], given: Mapping[str, Mapping[str, Individual]]) -> tuple[Given, ...]:
    """Return what parameters are in the steps that the property ``name`` wants taken fairly, in the order of ``fair``.

    Raises:
        MisuseError: ``fair`` is no tuple, ``given`` speaks of another action, or a value is no element.
    """
    if not isinstance(fair, tuple):
        raise MisuseError(f"{name}: 'fair' must be a tuple of names, not {fair!r}")
    for action in given:
        if action not in fair:
            asked = did_you_mean(action, fair)
            raise MisuseError(
                f"{name} says what is given of '{action}', which it does not name in 'fair'{asked and '; ' + asked}"
            )
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
