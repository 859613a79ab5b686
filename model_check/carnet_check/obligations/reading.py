"""A protocol as its obligations need it: everything in the certified language, parameters of actions as constants."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from carnet_check.made import Purpose, stand_in
from carnet_check.obligations.certified import Language, Reader, language_of, once, universally
from carnet_check.obligations.preconditions import Change, Start
from carnet_spec.language import (
    Action,
    Axiom,
    Effect,
    Initial,
    Invariant,
    Protocol,
    Sort,
    SpecificationError,
    Term,
    Update,
)
from carnet_spec.language.terms import BOOL, TRUE, Apply, Equal, Exists, Not, Var, sort_of, substitute, symbols_of

GOAL = "goal"
"""The name of the negated goal, which is the last hypothesis of every obligation."""


@dataclass(frozen=True, eq=False, slots=True)
class Hypothesis:
    """A formula with the name that proofs call it by; one that obligations share is one object."""

    name: str
    formula: Term


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    """An invariant, closed, and denied as the goal of a step that leaves it alone, with the names of its symbols."""

    invariant: Invariant
    hypothesis: Hypothesis
    denied: Hypothesis
    symbols: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Steps:
    """The steps of one action: its parameters as constants, what it asks, and its updates by symbol."""

    action: Action
    constants: tuple[Apply, ...]
    asked: tuple[Hypothesis, ...]
    changes: Mapping[str, tuple[Change, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A protocol, read."""

    protocol: Protocol
    axioms: tuple[Hypothesis, ...]
    """That sorts are not empty, by their names, and the axioms; no order of declaration plays a part."""
    threats: Mapping[str, tuple[Hypothesis, ...]]
    statements: Mapping[str, Statement]
    starts: Mapping[str, Start]
    steps: tuple[Steps, ...]


def read(protocol: Protocol) -> Reading:
    """Return ``protocol`` in the certified language.

    Raises:
        SpecificationError: it says something that this language cannot say.
    """
    language = language_of(protocol)
    once("axiom", (axiom.name for axiom in protocol.axioms))
    once("threat model", (threat.id for threat in protocol.threats))
    once("invariant", (invariant.name for invariant in protocol.invariants))
    once("action", (action.name for action in protocol.actions))
    once("first value", (initial.symbol.name for initial in protocol.initial))
    sorts = (sort for sort in sorted(protocol.sorts, key=lambda sort: sort.name) if sort.members is None)
    return Reading(
        protocol,
        (*map(_not_empty, sorts), *(_axiom("axiom", axiom, language) for axiom in protocol.axioms)),
        {threat.id: tuple(_threat_axioms(threat.id, threat.axioms, language)) for threat in protocol.threats},
        {invariant.name: _statement(invariant, language) for invariant in protocol.invariants},
        {initial.symbol.name: _start(initial, language) for initial in protocol.initial},
        tuple(steps_of(action, language) for action in protocol.actions),
    )


def _not_empty(sort: Sort) -> Hypothesis:
    return Hypothesis(f"sort:{sort.name}", Exists((Var("x", sort),), TRUE))


def _axiom(kind: str, axiom: Axiom, language: Language) -> Hypothesis:
    formula = language.at(f"axiom '{axiom.name}'", (), rigid=True).formula(axiom.formula)
    return Hypothesis(f"{kind}:{axiom.name}", formula)


def _threat_axioms(id: str, axioms: tuple[Axiom, ...], language: Language) -> Iterator[Hypothesis]:
    once(f"in threat model {id} the axiom", (axiom.name for axiom in axioms))
    return (_axiom("threat", axiom, language) for axiom in axioms)


def _statement(invariant: Invariant, language: Language) -> Statement:
    reader = language.at(f"invariant {invariant.name}", invariant.params)
    formula = universally(invariant.params, reader.formula(invariant.body))
    names = frozenset(symbol.name for symbol in symbols_of(formula))
    hypothesis = Hypothesis(f"inv:{invariant.name}", formula)
    return Statement(invariant, hypothesis, Hypothesis(GOAL, Not(formula)), names)


def _start(initial: Initial, language: Language) -> Start:
    symbol = initial.symbol
    place = f"the first value of {symbol.name}"
    once(f"in {place} the parameter", (var.name for var in initial.params))
    reader = language.at(place, initial.params, rigid=True)
    if tuple(var.sort for var in initial.params) != symbol.domain:
        raise reader.refused("other parameters than its symbol")
    if language.symbols.get(symbol.name) != symbol or not symbol.mutable:
        raise reader.refused("a symbol that never changes, or that the protocol does not declare")
    return Start(initial.params, _value(initial.value, symbol.result, reader))


def _value(term: Term, sort: Sort, reader: Reader) -> Term:
    return reader.formula(term) if sort == BOOL else reader.term(term, sort)


# -- actions ---------------------------------------------------------------------------------------


def steps_of(action: Action, language: Language) -> Steps:
    """Return the steps of ``action``.

    Raises:
        SpecificationError: it says something that the certified language cannot say.
    """
    place = f"action {action.name}"
    once(f"in {place} the parameter", (var.name for var in action.params))
    values: dict[Var, Term] = {var: stand_in(Purpose.PARAMETER, var) for var in action.params}
    asked = [
        Hypothesis(
            f"guard:{guard.name}",
            substitute(language.at(f"{place}, guard '{guard.name}'", action.params).formula(guard.formula), values),
        )
        for guard in action.guards
    ]
    asked += _drawn_apart(action, values)
    once(f"in {place} the", (hypothesis.name for hypothesis in asked))
    changes: dict[str, list[Change]] = {}
    for update in action.updates:
        reader = language.at(f"{place}, update '{update.name}'", (*action.params, *update.each))
        changes.setdefault(update.symbol.name, []).append(_change(update, action, reader, values))
    constants = tuple(stand_in(Purpose.PARAMETER, var) for var in action.params)
    return Steps(action, constants, tuple(asked), {name: tuple(found) for name, found in changes.items()})


def _drawn_apart(action: Action, values: Mapping[Var, Term]) -> Iterator[Hypothesis]:
    """What one action draws fresh differs, where it is of one sort."""
    for var in action.fresh:
        if var not in values:
            raise SpecificationError(f"action {action.name} draws {var.name}, which is no parameter of it")
    for first, second in itertools.combinations(action.fresh, 2):
        if first != second and first.sort == second.sort:
            yield Hypothesis(f"fresh:{first.name},{second.name}", Not(Equal(values[first], values[second])))


def _change(update: Update, action: Action, reader: Reader, values: Mapping[Var, Term]) -> Change:
    symbol = update.symbol
    _check_update(update, action, reader)
    place = reader.language.at(reader.place, action.params)
    return Change(
        symbol,
        update.effect,
        tuple(
            None if arg in update.each else substitute(place.term(arg, sort), values)
            for arg, sort in zip(update.args, symbol.domain, strict=True)
        ),
        tuple(arg for arg in update.args if isinstance(arg, Var) and arg in update.each),
        substitute(reader.formula(update.when), values),
        None if update.value is None else substitute(reader.term(update.value, symbol.result), values),
    )


def _check_update(update: Update, action: Action, reader: Reader) -> None:
    symbol = update.symbol
    if reader.language.symbols.get(symbol.name) != symbol or not symbol.mutable:
        raise reader.refused(f"a change of {symbol.name}, which never changes or is not declared")
    if tuple(map(sort_of, update.args)) != symbol.domain:
        raise reader.refused(f"other arguments than {symbol.name} has")
    if symbol.is_relation != (update.effect is not Effect.ASSIGN) or symbol.is_relation != (update.value is None):
        raise reader.refused(f"an effect that {symbol.name} cannot have")
    for var in update.each:
        parameters = {param.name for param in action.params}
        if var.name in parameters or update.args.count(var) != 1 or update.each.count(var) != 1:
            raise reader.refused(f"'each' {var.name}, which has to stand for one argument alone")
