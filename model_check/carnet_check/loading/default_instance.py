"""A finite instance for a protocol that comes without one, so that a first draft can be checked.

Every sort gets its named constants and two elements beside them. Rigid symbols are given values that the axioms
allow, chosen so that the instance is interesting: public relations hold wherever they may, a truth about one element
(who is corrupt) holds of the last one only, and functions spread over their range.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from carnet_check.errors import UsageError
from carnet_check.loading.assignment import Assignment, Choice, Decided, functions_in, relations_in
from carnet_check.loading.extent import refuse_choices, refuse_sizes
from carnet_spec.language import Axiom, Instance, Kind, Protocol, Row, Scale, Symbol

BESIDE_CONSTANTS = 2
EACH = "each"
"""The name in a scale that stands for every sort: how many elements beside its constants."""
MOST_DECISIONS = 200_000
"""How many times the solver is asked for all instances that are drawn."""


def default_instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build an instance of ``protocol`` in which its axioms and those of ``threat`` hold.

    Raises:
        UsageError: the scale names no sort of the protocol, or no instance of that size satisfies the axioms.
    """
    return next(drawn_instances(protocol, axioms_under(protocol, threat), elements_of(protocol, scale), (), 1))


def drawn_instances(
    protocol: Protocol, axioms: Sequence[Axiom], elements: Mapping[str, Row], free: Sequence[Symbol], most: int
) -> Iterator[Instance]:
    """Yield the default instance, and others that the axioms allow, drawn at random and always the same.

    What is ``free`` at first begins with any values in all but the default instance. Fewer than ``most`` are yielded
    where there is much to decide; the same may come again.

    Raises:
        UsageError: no instance of that size satisfies the axioms.
    """
    refuse_choices(protocol, Instance(elements), [axiom.formula for axiom in axioms])
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    assignment = Assignment(protocol, elements, rigid, axioms)
    yield _instance(elements, assignment.decided(_by_default(assignment, rigid)))
    for number in range(1, min(most, MOST_DECISIONS // max(1, len(assignment.choices)))):
        chance = random.Random(number)
        drawn = _instance(elements, assignment.decided(_drawn(assignment, chance)))
        first = {s.name: {row: chance.choice(assignment.of(s.result)) for row in assignment.rows(s)} for s in free}
        yield replace(drawn, first=first)


def axioms_under(protocol: Protocol, threat: str) -> list[Axiom]:
    """Return the axioms of a protocol and of one of its threat models."""
    return [*protocol.axioms, *(axiom for model in protocol.threats if model.id == threat for axiom in model.axioms)]


def elements_of(protocol: Protocol, scale: Scale) -> dict[str, Row]:
    """Return the elements of each sort: its constants, and as many beside them as the scale says.

    Raises:
        UsageError: the scale names no sort of the protocol.
    """
    refuse_sizes(scale)
    sorts = [sort for sort in protocol.sorts if not sort.is_enumeration]
    known = {sort.name for sort in sorts}
    for name in scale:
        if name not in known and name != EACH:
            raise UsageError(
                f"'{protocol.id}' has no size '{name}'; the sizes of a protocol without instances of "
                f"its own are its sorts: {', '.join(sorted(known)) or 'none'}"
            )
    found = {}
    for sort in sorts:
        constants = [s.name for s in protocol.symbols if _is_constant(s) and s.result == sort]
        beside = scale.get(EACH, BESIDE_CONSTANTS)
        count = scale.get(sort.name, len(constants) + beside)
        numbered = (f"{sort.name.lower()}{number}" for number in itertools.count(1))
        others = (name for name in numbered if name not in constants)
        found[sort.name] = tuple(itertools.islice(itertools.chain(constants, others), count))
    return found


def _is_constant(symbol: Symbol) -> bool:
    return not symbol.mutable and not symbol.domain and not symbol.is_relation


# -- what is preferred ----------------------------------------------------------------------------


def _instance(elements: Mapping[str, Row], decided: Decided) -> Instance:
    return Instance(elements, relations_in(decided), functions_in(decided))


def _drawn(assignment: Assignment, chance: random.Random) -> Iterator[tuple[Choice, bool]]:
    """Yield wishes in random order: each value of a function, of a relation that it holds or that it does not."""
    choices = chance.sample(assignment.choices, len(assignment.choices))
    return ((choice, choice.value is not None or chance.random() < 1 / 2) for choice in choices)


def _by_default(assignment: Assignment, rigid: Sequence[Symbol]) -> Iterator[tuple[Choice, bool]]:
    """Yield functions before relations, and of a function's values the preferred one first."""
    for symbol in rigid:
        if symbol.is_relation:
            continue
        constants = [s.name for s in rigid if _is_constant(s) and s.result == symbol.result]
        values = assignment.of(symbol.result)
        if symbol.domain:
            values = tuple(sorted(values, key=lambda value: value in constants))
        for number, row in enumerate(assignment.rows(symbol)):
            first = constants.index(symbol.name) if not symbol.domain else number
            turned = [values[(first + i) % len(values)] for i in range(len(values))]
            yield from ((Choice(symbol, row, value), True) for value in turned)
    for symbol in rigid:
        if symbol.is_relation:
            last = assignment.of(symbol.domain[0])[-1] if len(symbol.domain) == 1 else None
            public = symbol.kind is not Kind.TRUTH
            yield from ((Choice(symbol, row), public or row[:1] == (last,)) for row in assignment.rows(symbol))
