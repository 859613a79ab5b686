"""What can ever be: the values that each place may hold in some reachable state, or a few more.

A formula is asked only whether it *can* hold, place by place, forgetting what excludes what; that is much cheaper than
grounding it, and never says no to something that happens. Terms become closures once, so asking is a few look-ups.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from carnet_check.explicit.formulas import Places, Value
from carnet_check.explicit.grounding import Env
from carnet_spec.language import Action, Effect, Instance, Row, Symbol, Term, Update
from carnet_spec.language.actions import GuardKind
from carnet_spec.language.protocol import terms_of_action
from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    IfThenElse,
    Implies,
    Member,
    Not,
    Or,
    Truth,
    Var,
    free_variables,
    symbols_of,
)

Can = Callable[[Env], bool]
"""Whether a formula can hold for a choice of variables."""
Values = Callable[[Env], Iterable[str]]
"""What an individual can be for a choice of variables."""


def find_possible(actions: Sequence[Action], instance: Instance, places: Places) -> None:
    """Add to ``places`` every value that some sequence of ``actions`` may bring there."""
    steps = {action.name: _Step(action, instance, places) for action in actions}
    stale = list(actions)
    while stale:
        gained: set[str] = set()
        for action in stale:
            gained |= steps[action.name].advance()
        stale = [action for action in actions if not steps[action.name].reads.isdisjoint(gained)]


class _Step:
    """One action: which choices of parameters are possible, and what they may write."""

    def __init__(self, action: Action, instance: Instance, places: Places) -> None:
        self.reads = frozenset(symbol.name for term in terms_of_action(action) for symbol in symbols_of(term))
        self._places = places
        asking = _Asking(instance, places)
        guards = [
            (frozenset(var.name for var in free_variables(part)), asking.can(part, True))
            for guard in action.guards
            if guard.kind is not GuardKind.FRESH
            for part in _conjuncts(guard.formula)
        ]
        self._order = list(_ordered(action, instance, guards))
        self._writes = [_Write(update, instance, places, asking) for update in action.updates]
        self._settled: set[Row] = set()

    def advance(self) -> set[str]:
        """Take every choice that is possible now; return the symbols that gained a value."""
        gained: set[str] = set()
        for env in self._choices(0, {}):
            chosen = tuple(env.values())
            if chosen in self._settled:
                continue
            settled = [write.add(env, gained) for write in self._writes]
            if all(settled):
                self._settled.add(chosen)
        return gained

    def _choices(self, position: int, env: dict[str, str]) -> Iterator[dict[str, str]]:
        if position == len(self._order):
            yield env
            return
        name, elements, guards = self._order[position]
        for element in elements:
            chosen = {**env, name: element} if name else env
            if all(can(chosen) for can in guards):
                yield from self._choices(position + 1, chosen)


def _ordered(
    action: Action, instance: Instance, guards: Sequence[tuple[frozenset[str], Can]]
) -> Iterator[tuple[str, Row, list[Can]]]:
    """Choose parameters in order, asking each guard as soon as its variables are chosen."""
    yield "", ("",), [can for names, can in guards if not names]
    chosen: set[str] = set()
    for var in action.params:
        earlier = frozenset(chosen)
        chosen.add(var.name)
        ready = [can for names, can in guards if names and names <= chosen and not names <= earlier]
        yield var.name, instance.pools.get((action.name, var.name), instance.of(var.sort)), ready


class _Write:
    """One update: what it may write for a choice of parameters."""

    def __init__(self, update: Update, instance: Instance, places: Places, asking: _Asking) -> None:
        self._symbol = update.symbol.name
        self._places = places
        self._each = [(var.name, instance.of(var.sort)) for var in update.each]
        self._when = asking.can(update.when, True)
        self._args = [asking.values(arg) for arg in update.args]
        self._assigned = asking.values(update.value) if update.value is not None else None
        self._fact: Value = update.effect is Effect.INSERT
        terms = (*update.args, update.when, *(() if update.value is None else (update.value,)))
        self._fixed = not any(symbol.mutable for term in terms for symbol in symbols_of(term))

    def add(self, env: Env, gained: set[str]) -> bool:
        """Add what may be written; return whether no later gain can add to that."""
        for row in itertools.product(*(elements for _, elements in self._each)):
            every = {**env, **{name: element for (name, _), element in zip(self._each, row, strict=True)}}
            if not self._when(every):
                continue
            for at in itertools.product(*(arg(every) for arg in self._args)):
                place = self._places.numbers[self._symbol, at]
                written = [self._fact] if self._assigned is None else list(self._assigned(every))
                new = [self._places.allow(place, value) for value in written]
                if any(new):
                    gained.add(self._symbol)
        return self._fixed


def _conjuncts(term: Term) -> Iterator[Term]:
    if isinstance(term, And):
        for part in term.parts:
            yield from _conjuncts(part)
    else:
        yield term


class _Asking:
    """Turns terms into closures that ask what is possible at the time."""

    def __init__(self, instance: Instance, places: Places) -> None:
        self._instance = instance
        self._places = places

    def can(self, term: Term, wanted: bool) -> Can:
        """Ask whether a formula, or its negation unless ``wanted``, can hold."""
        match term:
            case Truth(value):
                return lambda _: value is wanted
            case Apply(symbol, args):
                return self._fact(symbol, args, wanted)
            case Equal(left, right):
                return self._equal(left, right, wanted)
            case Not(body):
                return self.can(body, not wanted)
            case And(parts):
                return _joined([self.can(part, wanted) for part in parts], all if wanted else any)
            case Or(parts):
                return _joined([self.can(part, wanted) for part in parts], any if wanted else all)
            case Implies(premise, conclusion):
                return _joined([self.can(premise, not wanted), self.can(conclusion, wanted)], any if wanted else all)
            case Exists(bound, body):
                return self._over(bound, self.can(body, wanted), any if wanted else all)
            case Forall(bound, body):
                return self._over(bound, self.can(body, wanted), all if wanted else any)
            case IfThenElse(test, then, otherwise):
                first = _joined([self.can(test, True), self.can(then, wanted)], all)
                second = _joined([self.can(test, False), self.can(otherwise, wanted)], all)
                return _joined([first, second], any)
            case _:
                raise TypeError(f"{term} is no formula")

    def values(self, term: Term) -> Values:
        """Ask what an individual can be."""
        match term:
            case Var(name, _):
                return lambda env: (env[name],)
            case Member(_, name):
                only = (name,)
                return lambda _: only
            case Apply(symbol, args):
                return self._function(symbol, args)
            case IfThenElse(_, then, otherwise):
                one, other = self.values(then), self.values(otherwise)
                return lambda env: {*one(env), *other(env)}
            case _:
                raise TypeError(f"{term} is no individual")

    def _function(self, symbol: Symbol, args: Sequence[Term]) -> Values:
        inner = [self.values(arg) for arg in args]
        rows = self._rows(inner)
        if not symbol.mutable:
            table: Mapping[Row, str] = self._instance.functions[symbol.name]
            return lambda env: {table[row] for row in rows(env)}
        numbers, values, name = self._places.numbers, self._places.values, symbol.name
        return lambda env: {str(value) for row in rows(env) for value in values[numbers[name, row]]}

    def _fact(self, symbol: Symbol, args: Sequence[Term], wanted: bool) -> Can:
        rows = self._rows([self.values(arg) for arg in args])
        if not symbol.mutable:
            held = self._instance.relations.get(symbol.name, frozenset())
            return lambda env: any((row in held) is wanted for row in rows(env))
        numbers, values, name = self._places.numbers, self._places.values, symbol.name
        return lambda env: any(wanted in values[numbers[name, row]] for row in rows(env))

    def _equal(self, left: Term, right: Term, wanted: bool) -> Can:
        one, other = self.values(left), self.values(right)
        if wanted:
            return lambda env: not set(one(env)).isdisjoint(other(env))
        return lambda env: len({*one(env), *other(env)}) > 1

    @staticmethod
    def _rows(args: Sequence[Values]) -> Callable[[Env], Iterable[Row]]:
        return lambda env: itertools.product(*(arg(env) for arg in args))

    def _over(self, bound: Sequence[Var], body: Can, join: Callable[[Iterable[bool]], bool]) -> Can:
        names = [var.name for var in bound]
        domains = [self._instance.of(var.sort) for var in bound]

        def ask(env: Env) -> bool:
            rows = itertools.product(*domains)
            return join(body({**env, **dict(zip(names, row, strict=True))}) for row in rows)

        return ask


def _joined(parts: Sequence[Can], join: Callable[[Iterable[bool]], bool]) -> Can:
    return lambda env: join(part(env) for part in parts)
