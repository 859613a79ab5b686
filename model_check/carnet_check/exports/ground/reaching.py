"""Reaching: which values a place may ever hold, and which steps may ever be taken, by a fixpoint that only adds.

A step counts as possible once each part of its guards may hold by what places may hold so far; what it may write is
added to that. Values are never taken away, and what one step needs is not looked at together, so every value that is
ever held is found, and some that never are. What is never found is a constant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Set

from carnet_check.exports.ground.conditions import Condition, Fact, Place, Value, every
from carnet_check.exports.ground.reading import Possible, Reading
from carnet_check.semantics import Env, State
from carnet_spec.language import Action, Effect, GuardKind, Instance, Protocol, Row, Sort, Term, Update
from carnet_spec.language.analysis.freshness import told_apart
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.protocol import terms_of_action
from carnet_spec.language.terms import And, Var, free_variables, symbols_of

Written = Iterator[tuple[Place, Value, Condition]]
"""Places that an update writes, the value, and when."""


class Reaching:
    """What may be reached in one protocol on one instance from a first state."""

    def __init__(self, protocol: Protocol, instance: Instance, start: State, changing: Set[Place] | None) -> None:
        """Work out what may be reached; where it is said which places are ``changing``, all others are constants."""
        self.protocol = protocol
        self.instance = instance
        self._told_apart = told_apart(protocol, instance)
        self._possible = _first(start, protocol, instance)
        self._changing = self._possible.keys() if changing is None else changing
        self.reading = Reading(instance, self._possible)
        self._orders = {action.name: _order(action) for action in protocol.actions}
        self._reach()

    @property
    def possible(self) -> Possible:
        """The values that each place may hold, the first one first."""
        return self._possible

    def restrict(self, possible: Possible) -> None:
        """Take note that places hold fewer values than was thought."""
        self._possible.update({place: list(values) for place, values in possible.items()})

    def steps(self, action: Action) -> Iterator[tuple[Env, Condition]]:
        """Yield the elements with which an action may be taken, and when it can be."""
        if self.instance.budget is not None and action.cost > self.instance.budget:
            return
        order = self._orders[action.name]

        def choose(position: int, chosen: Env, when: Condition) -> Iterator[tuple[Env, Condition]]:
            now = every([when, *(self.reading.condition(part, chosen) for part in order.checks[position])])
            if now is False:
                return
            if position == len(order.variables):
                whole = every([now, *self.drawn(action, chosen)])
                if whole is not False:
                    yield {var.name: chosen[var.name] for var in action.params}, whole
                return
            var = order.variables[position]
            for element in self.pool(action, var):
                yield from choose(position + 1, {**chosen, var.name: element}, now)

        yield from choose(0, {}, True)

    def pool(self, action: Action, var: Var) -> Row:
        """Return the elements that a search tries for a parameter."""
        return self.instance.pools.get((action.name, var.name), self.instance.of(var.sort))

    def written(self, update: Update, env: Env) -> Written:
        """Yield what an update may write: for a value that depends on the state, each value that there may be."""
        for inner in self.reading.assignments(update.each, env):
            when = self.reading.condition(update.when, inner)
            if when is False:
                continue
            for row, applies in self.reading.rows(update.args, inner):
                place = Place(update.symbol.name, row)
                if update.value is None:
                    yield place, update.effect is Effect.INSERT, every((when, applies))
                    continue
                for value, holds in self.reading.cases(update.value, inner):
                    both = every((when, applies, holds))
                    if both is not False:
                        yield place, value, both

    def drawn(self, action: Action, env: Env) -> Iterator[Condition]:
        """Yield what must hold so that fresh parameters are drawn, in their order: unused, distinct, the first such."""
        earlier: dict[Sort, list[str]] = {}
        for var in (each for each in action.params if each in action.fresh):
            element, drawn = env[var.name], earlier.setdefault(var.sort, [])
            pool = self.pool(action, var)
            yield element in pool and element not in drawn
            yield self._used(var.sort, element, wanted=False)
            if var.sort not in self._told_apart:
                before = pool[: pool.index(element)] if element in pool else ()
                yield from (self._used(var.sort, other, wanted=True) for other in before if other not in drawn)
            drawn.append(element)

    def _used(self, sort: Sort, element: str, *, wanted: bool) -> Condition:
        place = Place(used_symbol(sort).name, (element,))
        values = self._possible[place]
        return Fact(place, True, wanted) if len(values) > 1 else values[0] is wanted

    def _reach(self) -> None:
        reads = {action.name: _reads(action) for action in self.protocol.actions}
        waiting = {action.name: action for action in self.protocol.actions}
        while waiting:
            action = waiting.pop(next(iter(waiting)))
            grown = self._grow(action)
            for other in self.protocol.actions:
                if not grown.isdisjoint(reads[other.name]):
                    waiting[other.name] = other

    def _grow(self, action: Action) -> set[str]:
        """Add what an action may write; return the symbols that may hold more now."""
        grown: set[str] = set()
        for env, _ in list(self.steps(action)):
            for update in action.updates:
                for place, value, _ in list(self.written(update, env)):
                    if place in self._changing and value not in self._possible[place]:
                        self._possible[place].append(value)
                        grown.add(place.symbol)
        return grown


class _Order:
    """In which order parameters are chosen, and what can be looked at once so many of them are."""

    def __init__(self, variables: Sequence[Var], checks: Sequence[Sequence[Term]]) -> None:
        self.variables = variables
        self.checks = checks


def _order(action: Action) -> _Order:
    """Choose those parameters first that let a part of the guards be looked at soonest."""
    parts = [
        (part, free_variables(part))
        for guard in action.guards
        if guard.kind is not GuardKind.FRESH
        for part in _parts(guard.formula)
    ]
    variables: list[Var] = []
    while len(variables) < len(action.params):
        left = [var for var in action.params if var not in variables]

        def missing(var: Var) -> int:
            needs = [len(needed.difference(variables)) for _, needed in parts if var in needed]
            return min(needs, default=len(action.params) + 1)

        variables.append(min(left, key=missing))
    checks: list[list[Term]] = [[] for _ in range(len(variables) + 1)]
    for part, needed in parts:
        checks[max((variables.index(var) + 1 for var in needed if var in variables), default=0)].append(part)
    return _Order(variables, checks)


def _parts(term: Term) -> Iterator[Term]:
    if isinstance(term, And):
        for part in term.parts:
            yield from _parts(part)
    else:
        yield term


def _reads(action: Action) -> frozenset[str]:
    """Return the names of the mutable symbols that an action reads."""
    read = {symbol.name for term in terms_of_action(action) for symbol in symbols_of(term) if symbol.mutable}
    return frozenset(read | {used_symbol(var.sort).name for var in action.fresh})


def _first(start: State, protocol: Protocol, instance: Instance) -> dict[Place, list[Value]]:
    found: dict[Place, list[Value]] = {}
    for symbol in protocol.symbols:
        if symbol.mutable:
            for row in itertools.product(*(instance.of(sort) for sort in symbol.domain)):
                held: Value = (
                    row in start.relations[symbol.name] if symbol.is_relation else start.functions[symbol.name][row]
                )
                found[Place(symbol.name, row)] = [held]
    return found
