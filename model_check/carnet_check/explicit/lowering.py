"""Lowering: which ground steps can ever be taken, and what they read and write.

Grounding every action for every choice of parameters would drown in steps that can never happen. So the places begin
with their first value only, and the steps that may be taken by what is possible so far add the values they may write,
until nothing is added. Every reachable state holds possible values only (by induction on the number of steps), so a
guard that is false of them is false for good, and a place with one possible value is a constant. No reachable state
or transition is lost.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.explicit.formulas import FALSE, Formula, Places, Value, both, conjunction
from carnet_check.explicit.grounding import Check, Env, Grounder
from carnet_check.explicit.possible import find_possible
from carnet_check.semantics import State
from carnet_spec.language import Action, Effect, Instance, Protocol, Symbol, Update
from carnet_spec.language.actions import GuardKind
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import Var


@dataclass(frozen=True, slots=True)
class Write:
    """The place gets the value, if the condition holds before the step."""

    condition: Formula
    place: int
    value: int


@dataclass(frozen=True, slots=True)
class GroundStep:
    """One action with an element for each parameter; ``guard`` is a conjunction, in the order it is best tested."""

    action: Action
    args: tuple[tuple[str, str], ...]
    guard: tuple[Formula, ...]
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A protocol on an instance, ground: every step and deduction that may ever be possible."""

    grounder: Grounder
    steps: Mapping[str, tuple[GroundStep, ...]]
    deductions: Mapping[str, tuple[GroundStep, ...]]

    @property
    def places(self) -> Places:
        """The places, and the values possible for each."""
        return self.grounder.places


def lower(protocol: Protocol, instance: Instance, start: State) -> Lowered:
    """Ground a protocol; ``start`` is its first state before any deduction."""
    places = Places()
    for symbol in protocol.symbols:
        if symbol.mutable:
            for row in itertools.product(*(instance.of(sort) for sort in symbol.domain)):
                places.add(symbol.name, row, _first_value(symbol, row, start))
    lowering = _Lowering(instance, Grounder(instance, places))
    ground = lowering.ground([action for action in protocol.actions if _affordable(action, instance)])
    rules = {action.name for action in protocol.actions if action.deduction}
    return Lowered(
        lowering.grounder,
        {name: steps for name, steps in ground.items() if name not in rules},
        {name: steps for name, steps in ground.items() if name in rules},
    )


def _first_value(symbol: Symbol, row: tuple[str, ...], start: State) -> Value:
    if symbol.is_relation:
        return row in start.relations[symbol.name]
    return start.functions[symbol.name][row]


def _affordable(action: Action, instance: Instance) -> bool:
    return instance.budget is None or action.cost <= instance.budget


class _Lowering:
    def __init__(self, instance: Instance, grounder: Grounder) -> None:
        self.instance = instance
        self.grounder = grounder
        self.places = grounder.places

    def ground(self, actions: Sequence[Action]) -> dict[str, tuple[GroundStep, ...]]:
        """Ground every action by what is possible."""
        find_possible(actions, self.instance, self.places)
        return {action.name: tuple(self._steps(action)) for action in actions}

    def _steps(self, action: Action) -> Iterator[GroundStep]:
        pools = self.instance.pools
        domains = {var.name: pools.get((action.name, var.name), self.instance.of(var.sort)) for var in action.params}
        for env, guard in self.grounder.solutions(domains, self._checks(action), {}):
            whole = conjunction(guard)
            writes = tuple(write for update in action.updates for write in self._writes(update, env, whole))
            yield GroundStep(action, tuple((var.name, env[var.name]) for var in action.params), guard, writes)

    def _checks(self, action: Action) -> list[Check]:
        checks = [
            check
            for guard in action.guards
            if guard.kind is not GuardKind.FRESH
            for check in self.grounder.checks(guard.formula)
        ]
        drawn = [var for var in action.params if var in action.fresh]
        for position, var in enumerate(drawn):
            earlier = [other.name for other in drawn[:position] if other.sort == var.sort]
            checks.append(self._fresh(action, var, earlier))
        return checks

    def _fresh(self, action: Action, var: Var, earlier: Sequence[str]) -> Check:
        """Check that ``var`` is the least element of its pool neither used nor drawn earlier in the step."""
        pool = self.instance.pools.get((action.name, var.name), self.instance.of(var.sort))
        used = used_symbol(var.sort).name

        def formula(env: Env) -> Formula:
            drawn = {env[name] for name in earlier}
            element = env[var.name]
            if element in drawn:
                return FALSE
            before = [other for other in pool[: pool.index(element)] if other not in drawn]
            tests = [self.places.test(self.places.numbers[used, (other,)], True) for other in before]
            return conjunction((*tests, self.places.test(self.places.numbers[used, (element,)], False)))

        return Check(frozenset((var.name, *earlier)), formula)

    def _writes(self, update: Update, env: Env, guard: Formula) -> Iterator[Write]:
        sorts = [self.instance.of(var.sort) for var in update.each]
        for row in itertools.product(*sorts):
            every = {**env, **{var.name: element for var, element in zip(update.each, row, strict=True)}}
            when = self.grounder.formula(update.when, every)
            if both(guard, when) == FALSE:
                continue
            for condition, place, value in self._targets(update, every, when):
                known = both(guard, condition)
                if known == FALSE:
                    continue
                if len(self.places.values[place]) > 1:
                    yield Write(condition, place, self.places.values[place].index(value))

    def _targets(self, update: Update, env: Env, when: Formula) -> Iterator[tuple[Formula, int, Value]]:
        for at, row in self.grounder.rows(update.args, env):
            place = self.places.numbers[update.symbol.name, row]
            if update.effect is Effect.ASSIGN and update.value is not None:
                for case, value in self.grounder.cases(update.value, env):
                    yield both(both(when, at), case), place, value
            else:
                yield both(when, at), place, update.effect is Effect.INSERT
