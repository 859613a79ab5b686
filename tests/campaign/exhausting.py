"""One instance exhausted: the states of the explorer, of the interpreter and of the oracle, and what Coq accepts.

The oracle takes every step alone, rules too. Without rules its states are those of the explorer, as far as their bits
say anything. With rules the explorer has the states in which no rule is left to be taken: each is one of the oracle's,
and each of the oracle's is covered by one that says of the facts that rules insert that at most they hold.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from carnet_check.coq.program import check_exhaustion, write
from carnet_check.engines.explicit.engine import visit
from carnet_check.exports.exhaustion import States
from carnet_check.loading.meanings import TooManyTables
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_check.semantics import State as Interpreted
from carnet_spec.language import Instance, Protocol, Symbol
from tests.fixtures.meanings import every_meaning
from tests.oracle.compare import Disagreement
from tests.oracle.evaluate import Row, rows
from tests.oracle.machine import Layout, State, Test, successors_of, test_of
from tests.oracle.replay import World

#: Elements of each sort, meanings of what never changes to choose from, and states that are looked at.
ELEMENTS, MEANINGS, MOST = 2, 40, 400
Bits = frozenset[int]


def instance_of(protocol: Protocol, threat: str, draw: random.Random) -> Instance | None:
    """Return an instance with one of the first meanings of what never changes; none, if there is none."""
    axioms = [*protocol.axioms, *(axiom for model in protocol.threats if model.id == threat for axiom in model.axioms)]
    sorts = [sort.name for sort in protocol.sorts if sort.members is None]
    elements = {sort: tuple(f"{sort.lower()}{n}" for n in range(1, ELEMENTS + 1)) for sort in sorts}
    try:
        found = list(itertools.islice(every_meaning(protocol, axioms, elements), MEANINGS))
    except TooManyTables:
        return None
    return draw.choice(found) if found else None


class _TooManyStates(Exception):
    """There are more states than are looked at, or updates that disagree."""


@dataclass(frozen=True)
class Exhausted:
    """One instance of a protocol under a threat model."""

    protocol: Protocol
    instance: Instance
    threat: str

    def compared(self, executable: Path, folder: Path) -> tuple[list[Disagreement], Counter[str]]:
        """Compare what is said of the instance; return where it differs, and what was counted."""
        try:
            states = self.states
        except _TooManyStates:
            return [], Counter({"instances too big": 1})
        found = list(self._interpreted(states))
        claims = [claim for claim in self.protocol.claims if claim.invariant is not None]
        visited = visit(self.protocol, self.instance, [claim.checked for claim in claims], ())
        found += self._covered(states, visited.states)
        standing = [claim.name for claim in claims if claim.checked.name not in visited.fallen]
        write(folder, self.protocol, self.instance, self.threat, standing, visited.states)
        accepted = check_exhaustion(executable, folder).accepted
        true = all(test(state) for test in self._tests(standing) for state in states)
        if true != accepted and (accepted or not self._rules):
            found.append(self._differs("exhausted", f"the program accepts: {accepted}", f"the claims hold: {true}"))
        counted = Counter({"instances": 1, "states": len(states), "exhausted accepted": int(accepted)})
        return found, counted

    def _tests(self, claims: Sequence[str]) -> Iterator[Test]:
        return (test_of(self.protocol.claim(name).checked.formula, self._layout) for name in claims)

    def _differs(self, kind: str, said: str, truth: str) -> Disagreement:
        return Disagreement(kind, f"variant {self.protocol.variant} under {self.threat or 'any'}", said, truth)

    # -- the oracle ---------------------------------------------------------------------------------

    @cached_property
    def _layout(self) -> Layout:
        return Layout.of(self.protocol, World(self.protocol, self.instance).sizes)

    @property
    def _rules(self) -> bool:
        return any(action.deduction for action in self.protocol.actions)

    @cached_property
    def states(self) -> list[State]:
        """Every state that is reached from the first one of the instance."""
        waiting = [self._start()]
        seen = set(waiting)
        steps = [successors_of(action, self._layout) for action in self.protocol.actions]
        for state in waiting:  # grows while it is walked through
            for _, after in itertools.chain.from_iterable(step(state) for step in steps):
                if after is None or len(seen) > MOST:
                    raise _TooManyStates
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return waiting

    def _start(self) -> State:
        """Return the first state in which what is open is the first element, as the instance leaves it."""
        starts = {self._layout.state(each) for each in World(self.protocol, self.instance).starts()}
        given = {initial.symbol for initial in self.protocol.initial}
        chosen = [
            0 if symbol.mutable and not symbol.is_relation and symbol not in given else None
            for symbol, _ in self._layout.cells
        ]
        (start,) = (each for each in starts if all(want in (None, got) for want, got in zip(chosen, each, strict=True)))
        return start

    # -- the interpreter ----------------------------------------------------------------------------

    def _interpreted(self, states: Sequence[State]) -> Iterator[Disagreement]:
        judge = Interpreter(self.protocol, self.instance)
        seen = {judge.start()}
        waiting = list(seen)
        while waiting:
            fresh = set(self._next(judge, waiting.pop())) - seen
            seen |= fresh
            waiting += fresh
        here = {self._numbers(state) for state in seen}
        if here != set(states):
            yield self._differs("interpreter", f"it reaches {len(here)} states", f"{len(states)} are reached")

    def _next(self, judge: Interpreter, state: Interpreted) -> Iterator[Interpreted]:
        for action in self.protocol.actions:
            for row in itertools.product(*(self.instance.of(var.sort) for var in action.params)):
                try:
                    yield judge.fire(state, action, {v.name: e for v, e in zip(action.params, row, strict=True)})
                except NotEnabled:
                    continue

    def _numbers(self, state: Interpreted) -> State:
        return tuple(self._value(symbol, self._named(symbol, row), state) for symbol, row in self._layout.cells)

    def _named(self, symbol: Symbol, row: Row) -> tuple[str, ...]:
        return tuple(self.instance.of(sort)[n] for sort, n in zip(symbol.domain, row, strict=True))

    def _value(self, symbol: Symbol, row: tuple[str, ...], state: Interpreted) -> int:
        if symbol.is_relation:
            relations = state.relations if symbol.mutable else self.instance.relations
            return int(row in relations.get(symbol.name, frozenset()))
        functions = state.functions if symbol.mutable else self.instance.functions
        return self.instance.of(symbol.result).index(functions[symbol.name][row])

    # -- the certificate ----------------------------------------------------------------------------

    def _covered(self, states: Sequence[State], visited: States) -> Iterator[Disagreement]:
        here = dict.fromkeys(_bits(visited))
        there = dict.fromkeys(self._said(state, visited) for state in states)
        if None in there:
            yield self._differs("explorer", "a fact is said to hold always or never", "in some state it is otherwise")
        missing = [row for row in here if row not in there]
        if missing:
            yield self._differs("explorer", f"states with the bits {sorted(missing[0])}", "no such state is reached")
        at_most = {status[1] for status in visited.known.values() if status[0] == "AtMost" and len(status) == 2}
        for bits in there:
            if bits is not None and not any(bits - at_most == row - at_most and bits <= row for row in here):
                yield self._differs(
                    "explorer", "a state is not covered", f"one with the bits {sorted(bits)} is reached"
                )
                return

    def _said(self, state: State, visited: States) -> Bits | None:
        """Return the bits of a state; nothing, if it has a fact that is said never to hold, or lacks one."""
        bits = set[int]()
        values = dict(zip(self._layout.cells, state, strict=True))
        for symbol in self._layout.mutable:
            elements = (None,) if symbol.is_relation else self.instance.of(symbol.result)
            for row, (place, element) in itertools.product(rows(symbol, self._layout.sizes), enumerate(elements)):
                holds = bool(values[symbol, row]) if element is None else values[symbol, row] == place
                fact = (symbol.name, self._named(symbol, row), element)
                status = visited.known.get(fact, visited.usual[symbol.name])
                if isinstance(status, tuple) and holds:
                    bits.add(status[1])
                if status == ("Never" if holds else "Always"):
                    return None
        return frozenset(bits)


def _bits(visited: States) -> Iterator[Bits]:
    """Yield the bits that are set in each packed state."""
    for place in range(visited.rows):
        packed = int.from_bytes(visited.columns[place :: visited.rows], "big")
        numbers = (((packed >> each.shift) & ((1 << each.width) - 1), each.bits) for each in visited.fields)
        yield frozenset(bit for number, bits in numbers if (bit := bits[number]) is not None)
