"""Conditions on states: formulas simplified for one instance and for the values that its places can have.

A **place** is one mutable symbol at one row. A condition says what some places hold. It is kept in negation normal
form, flat, and without what decides itself, so that a formula that nothing can make true is ``False``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from carnet_spec.language import Row, Term
from carnet_spec.language.terms import Var, free_variables

Value = str | bool  #: What a place holds: an element, or whether a relation holds there.


class Place(NamedTuple):
    """One mutable symbol at one row; a variable has the empty row only."""

    symbol: str
    row: Row


class Fact(NamedTuple):
    """The condition that a place has ``value``, or, unless ``wanted``, that it has another one.

    A relation's value is True.
    """

    place: Place
    value: Value
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Every:
    """A conjunction of at least two conditions."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """A disjunction of at least two conditions."""

    parts: tuple[Condition, ...]


Condition = bool | Fact | Every | Some

Known = Mapping[Place, Fact]  #: What is known of places: for each, one fact.


def negate(condition: Condition) -> Condition:
    """Return the negation of a condition."""
    match condition:
        case bool():
            return not condition
        case Fact(place, value, wanted):
            return Fact(place, value, not wanted)
        case Every(parts):
            return Some(tuple(negate(part) for part in parts))
        case Some(parts):
            return Every(tuple(negate(part) for part in parts))


def some(parts: Iterable[Condition]) -> Condition:
    """Return the flattened disjunction of conditions, without parts that are false, repeated, or imply another part."""
    return _joined(Some, False, parts)


def every(parts: Iterable[Condition]) -> Condition:
    """Return the flattened conjunction of conditions, without true, repeated or implied parts."""
    return _joined(Every, True, parts)


def _joined(kind: type[Every | Some], neutral: bool, parts: Iterable[Condition]) -> Condition:
    """Return the conjunction or disjunction of conditions; ``neutral`` is that of none."""
    given: list[Condition] = []
    for part in parts:
        if not isinstance(part, bool):
            given.append(part)
        elif part is not neutral:
            return part
    if len(given) <= 1:
        return given[0] if given else neutral
    return _flattened(kind, neutral, given)


def _flattened(kind: type[Every | Some], neutral: bool, given: Sequence[Condition]) -> Condition:
    """Return the conjunction or disjunction of conditions, of which none is known to hold or to fail."""
    settled: dict[Place, Fact] = {}
    excluded: dict[Place, dict[Value, Fact]] = {}
    others: set[Condition] = set()
    listed: list[Condition] = []
    for part in given:
        for each in part.parts if isinstance(part, kind) else (part,):
            if not isinstance(each, Fact):
                if each in others:
                    continue
                others.add(each)
            elif (before := settled.get(each.place) or excluded.get(each.place, {}).get(each.value)) is not None:
                if not _decides(before, each, neutral):
                    return not neutral
                continue
            elif each.wanted is not neutral:
                excluded.setdefault(each.place, {})[each.value] = each
            else:
                settled[each.place] = each
                for other in excluded.pop(each.place, {}).values():
                    listed.remove(other)
            listed.append(each)
    return listed[0] if len(listed) == 1 else kind(tuple(listed))


def _decides(known: Fact, asked: Fact, holding: bool = True) -> bool | None:
    """Return what one fact says of another about the same place; nothing if it leaves it open.

    Unless ``holding``, the negations of both are compared.
    """
    if known.value == asked.value:
        return known.wanted == asked.wanted
    return asked.wanted is not holding if known.wanted is holding else None


def facts_in(condition: Condition) -> Iterator[Fact]:
    """Yield every fact that occurs in a condition."""
    match condition:
        case Fact():
            yield condition
        case Every(parts) | Some(parts):
            for part in parts:
                yield from facts_in(part)


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """Return the parts of a conjunction, or the condition itself."""
    if condition is True:
        return ()
    return condition.parts if isinstance(condition, Every) else (condition,)


def known_from(condition: Condition) -> dict[Place, Fact]:
    """Return the facts that a condition implies, by place."""
    known: dict[Place, Fact] = {}
    for part in conjuncts(condition):
        if isinstance(part, Fact) and (part.wanted or part.place not in known):
            known[part.place] = part
    return known


def assuming(condition: Condition, known: Known) -> Condition:
    """Return a condition simplified under the assumption of known facts."""
    match condition:
        case Fact(place) if place in known:
            decided = _decides(known[place], condition)
            return condition if decided is None else decided
        case Every(parts):
            return every(assuming(part, known) for part in parts)
        case Some(parts):
            return some(assuming(part, known) for part in parts)
        case _:
            return condition


# -- In which order elements are chosen, so that conditions are worked out as soon as they can be ----


class ChoiceOrder(NamedTuple):
    """An order in which variables are chosen, and the parts that can be evaluated after each choice."""

    variables: Sequence[Var]
    checks: Sequence[Sequence[tuple[Term, bool]]]


def choice_order(variables: Sequence[Var], parts: Sequence[tuple[Term, bool]]) -> ChoiceOrder:
    """Order the variables so that parts can be evaluated as soon as possible."""
    needs = [free_variables(part) for part, _ in parts]
    chosen: list[Var] = []
    left = list(variables)

    def missing(var: Var) -> int:
        return min((len(needed.intersection(left)) for needed in needs if var in needed), default=len(variables) + 1)

    while left:
        chosen.append(min(left, key=missing))
        left.remove(chosen[-1])
    checks: list[list[tuple[Term, bool]]] = [[] for _ in range(len(chosen) + 1)]
    for part, needed in zip(parts, needs, strict=True):
        checks[max((chosen.index(var) + 1 for var in needed if var in chosen), default=0)].append(part)
    return ChoiceOrder(chosen, checks)
