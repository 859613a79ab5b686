"""Take the steps of a trace one by one in plain structures, and say what may hold at the end.

This is the slow half of the oracle again: tables instead of tuples, :func:`~tests.oracle.evaluate.value` instead of
compiled text. It judges the traces that the engines show, and the witnesses of the enumerator.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from carnet_spec.language import Action, Effect, Instance, Protocol, Symbol, Update
from carnet_spec.language.terms import TRUE, Not, Term, Var
from carnet_spec.trace import TraceStep
from tests.oracle.evaluate import Row, Sizes, Structure, Value, extensions, rows, size_of, value
from tests.oracle.machine import Layout

Tables = Mapping[Symbol, Mapping[Row, Value]]


class NoSuchRunError(Exception):
    """A trace is no run of the protocol; says which step cannot be taken, and why."""


@dataclass(frozen=True)
class World:
    """The elements of an instance by number, with the meaning that it gives to rigid symbols."""

    protocol: Protocol
    instance: Instance

    @property
    def sizes(self) -> Sizes:
        """How many elements each sort has."""
        return {name: len(elements) for name, elements in self.instance.elements.items()}

    def starts(self) -> list[Structure]:
        """Return every structure that the protocol may start in here.

        Raises NoSuchRunError if the instance breaks an axiom.
        """
        layout = Layout.of(self.protocol, self.sizes)
        rigid = {symbol: self._rigid(symbol) for symbol in layout.rigid}
        broken = [a.name for a in self.protocol.axioms if not value(a.formula, {}, Structure(self.sizes, rigid))]
        if broken:
            raise NoSuchRunError(f"the instance breaks axiom {broken[0]}")
        choices = [self._first_tables(symbol, rigid) for symbol in layout.mutable]
        return [
            Structure(self.sizes, rigid | dict(zip(layout.mutable, tables, strict=True)))
            for tables in itertools.product(*choices)
        ]

    def allows(self, threat: str) -> bool:
        """Whether the rigid symbols have a meaning that the threat model called ``threat`` assumes."""
        rigid = {symbol: self._rigid(symbol) for symbol in Layout.of(self.protocol, self.sizes).rigid}
        axioms = self.protocol.threat(threat).axioms
        return all(value(axiom.formula, {}, Structure(self.sizes, rigid)) for axiom in axioms)

    def _rigid(self, symbol: Symbol) -> dict[Row, Value]:
        names = [self.instance.of(sort) for sort in symbol.domain]
        named = {row: tuple(part[n] for part, n in zip(names, row, strict=True)) for row in rows(symbol, self.sizes)}
        if symbol.is_relation:
            facts = self.instance.relations.get(symbol.name, frozenset())
            return {row: name in facts for row, name in named.items()}
        table = self.instance.functions[symbol.name]
        return {row: self.instance.of(symbol.result).index(table[name]) for row, name in named.items()}

    def _first_tables(self, symbol: Symbol, rigid: Tables) -> list[dict[Row, Value]]:
        places = rows(symbol, self.sizes)
        for initial in self.protocol.initial:
            if initial.symbol == symbol:
                around = Structure(self.sizes, rigid)
                envs = [dict(zip(initial.params, row, strict=True)) for row in places]
                return [{row: value(initial.value, env, around) for row, env in zip(places, envs, strict=True)}]
        if symbol.is_relation:
            return [dict.fromkeys(places, False)]
        anything = itertools.product(range(size_of(symbol.result, self.sizes)), repeat=len(places))
        return [dict(zip(places, values, strict=True)) for values in anything]

    def environment(self, step: TraceStep) -> dict[Var, int]:
        """Return the arguments of ``step`` as numbers."""
        params = self.protocol.action(step.action).params
        if {var.name for var in params} != set(step.env):
            raise NoSuchRunError(f"{step} does not name the parameters {', '.join(var.name for var in params)}")
        return {var: self.instance.of(var.sort).index(step.env[var.name]) for var in params}


def replay(protocol: Protocol, instance: Instance, steps: Iterable[TraceStep]) -> list[Structure]:
    """Return every structure that ``steps`` may end in, from some first state that ``instance`` leaves open.

    Raises NoSuchRunError if the steps are no run, from any first state.
    """
    world = World(protocol, instance)
    possible = world.starts()
    for number, step in enumerate(steps, 1):
        action = protocol.action(step.action)
        env = world.environment(step)
        refusals, after = [], []
        for structure in possible:
            try:
                after.append(take(action, env, structure))
            except NoSuchRunError as error:
                refusals.append(error)
        if not after:
            raise NoSuchRunError(f"step {number}, {step}: {refusals[0]}")
        possible = after
    return possible


def take(action: Action, env: Mapping[Var, int], structure: Structure) -> Structure:
    """Return the structure after ``action``.

    Raises NoSuchRunError if a guard does not hold, two values drawn fresh are the same, or two updates disagree.
    """
    for guard in action.guards:
        if not value(guard.formula, env, structure):
            raise NoSuchRunError(f"guard '{guard.name}' does not hold")
    drawn = [(var.sort, env[var]) for var in action.fresh]
    if len(set(drawn)) != len(drawn):
        raise NoSuchRunError("two fresh values are the same")
    changes: dict[tuple[Symbol, Row], Value] = {}
    width: dict[tuple[Symbol, Row], int] = {}
    for update in action.updates:
        for place, new in _changes(update, env, structure):
            if changes.get(place, new) != new and width[place] <= len(update.each):
                raise NoSuchRunError(f"updates disagree about {place[0].name} at {place[1]}")
            changes[place], width[place] = new, len(update.each)
    tables = {symbol: dict(table) for symbol, table in structure.tables.items()}
    for (symbol, row), new in changes.items():
        tables[symbol][row] = new
    return Structure(structure.sizes, tables)


def _changes(
    update: Update, env: Mapping[Var, int], structure: Structure
) -> Iterable[tuple[tuple[Symbol, Row], Value]]:
    for inner in extensions(update.each, env, structure.sizes):
        if value(update.when, inner, structure):
            row = tuple(int(value(arg, inner, structure)) for arg in update.args)
            new: Term = update.value if update.effect is Effect.ASSIGN and update.value is not None else TRUE
            put = value(new, inner, structure)
            yield (update.symbol, row), (not put if update.effect is Effect.REMOVE else put)


def falsified(formula: Term, structures: Iterable[Structure]) -> bool:
    """Whether the closed ``formula`` is false in one of ``structures``."""
    return any(value(Not(formula), {}, structure) for structure in structures)
