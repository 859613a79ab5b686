"""A protocol on an instance as generated functions: for the moves of actions, for rules, and for monitors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from carnet_check.engines.explicit.layout import (
    Domains,
    Folding,
    Layout,
    Read,
    Relevance,
    conditions_in,
    pattern_of,
    read_by,
    read_by_guards,
    read_by_update,
)
from carnet_check.engines.explicit.queries import Domain, Draw, Lines, Names, Queries
from carnet_check.engines.explicit.saturation import Rule, Saturation, Writes
from carnet_check.engines.explicit.symmetry import Canonicalizer, SymmetryInput, canonicalizer_of
from carnet_check.semantics import Interpreter
from carnet_spec.language import Action, Effect, Goal, GuardKind, Instance, Invariant, Protocol, Row, Term, Update
from carnet_spec.language.analysis.freshness import distinguishable_fresh_sorts
from carnet_spec.language.analysis.polarity import signed_symbols
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import And, Exists, Not, Var, symbols_of


@dataclass(frozen=True)
class CompiledStep:
    """One compiled action: ``moves`` returns, for a state, the writes of each step and its elements.

    ``choices`` are the possible elements of each parameter. ``parts`` yields, for each parameter with several, the
    steps restricted to one element each.
    """

    action: Action
    moves: Callable[[int], list[tuple[Writes, Row]]]
    reads: tuple[Read, ...]
    choices: Mapping[str, Domain]
    parts: Callable[[], Iterator[Sequence[CompiledStep]]]


@dataclass(frozen=True)
class Monitor:
    """A formula that is checked in every state: the negation of an invariant, or a goal.

    ``parts`` yields, for each parameter with several elements, the monitors restricted to one element each.
    """

    name: str
    is_goal: bool
    formula: Term  # when it holds
    holds: Callable[[int], bool]
    reads: tuple[Read, ...]
    parts: Callable[[], Iterator[Sequence[Monitor]]]


@dataclass(frozen=True)
class Model:
    """Everything the search needs."""

    protocol: Protocol
    layout: Layout
    steps: tuple[CompiledStep, ...]
    monitors: tuple[Monitor, ...]
    saturation: Saturation
    relevance: Relevance
    queries: Queries
    again: Callable[[], Model]  # builds the same model anew, also in another process
    #: Computes the representative of the states that differ by renaming interchangeable elements, if there are any.
    canonical: Canonicalizer | None = None


def build(
    interpreter: Interpreter,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal],
    *,
    reduce: bool,
    symmetric: bool = False,
    every_draw: bool = False,
    noticed: Collection[str] = (),
) -> Model:
    """Generate the functions; with ``reduce``, only for places that matter to the invariants, goals and guards.

    With ``symmetric``, one state represents those that differ by renaming interchangeable elements. With
    ``every_draw``, a step that draws an unused element tries each, even if one could represent all. Places that the
    actions ``noticed`` write are relevant, too, so a step of theirs that changes the state changes the packed state.
    """
    builder = _Builder(interpreter, invariants, goals, reduce=reduce, every_draw=every_draw, noticed=noticed)
    canonical = canonicalizer_of(builder.explored()) if symmetric else None
    builder.layout.grouping = canonical
    return Model(
        protocol=interpreter.protocol,
        layout=builder.layout,
        steps=tuple(builder.step(each, builder.domains[each.name]) for each in builder.actions if not each.deduction),
        monitors=tuple(builder.monitor(each, builder.looked_through(each)) for each in builder.monitored),
        saturation=Saturation([builder.rule(action) for action in builder.actions if action.deduction]),
        relevance=builder.relevance,
        queries=builder.queries,
        again=partial(
            _built,
            interpreter.protocol,
            interpreter.instance,
            invariants,
            goals,
            reduce=reduce,
            symmetric=symmetric,
            every_draw=every_draw,
            noticed=noticed,
        ),
        canonical=canonical,
    )


def _built(protocol: Protocol, instance: Instance, *asked: Any, **more: Any) -> Model:
    return build(Interpreter(protocol, instance), *asked, **more)


@dataclass(frozen=True, slots=True)
class _Monitored:
    name: str
    is_goal: bool
    params: tuple[Var, ...]
    body: Term

    @property
    def formula(self) -> Term:
        """When it is seen."""
        return Exists(self.params, self.body if self.is_goal else Not(self.body))


class _Builder:
    def __init__(
        self,
        interpreter: Interpreter,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal],
        *,
        reduce: bool,
        every_draw: bool,
        noticed: Collection[str],
    ) -> None:
        protocol, self.instance = interpreter.protocol, interpreter.instance
        self.sorts = protocol.sorts
        self.told_apart = (
            frozenset(protocol.sorts) if every_draw else distinguishable_fresh_sorts(protocol, self.instance)
        )
        self.layout = Layout(protocol, self.instance, interpreter.start())
        self.folding = Folding(self.instance)
        self.queries = Queries(self.layout, self.folding)
        self.actions = [self.folding.action(action) for action in protocol.actions]
        self.monitored = [
            *(_Monitored(each.name, False, each.params, self.folding.term(each.body)) for each in invariants),
            *(_Monitored(each.name, True, each.params, self.folding.term(each.body)) for each in goals),
        ]
        self.domains = {action.name: self._domains(action) for action in self.actions}
        self.relevance = Relevance()
        self._relevant: dict[tuple[str, tuple[Row, ...]], list[Update]] = {}
        if reduce:
            watched = [
                read for each in self.monitored for read in read_by(each.body, self.looked_through(each), self.folding)
            ]
            watched += [
                (update.symbol.name, pattern_of(update.args, self.domains[each.name], self.instance))
                for each in self.actions
                if each.name in noticed
                for update in each.updates
            ]
            self.relevance = Relevance.of(watched, self.actions, self.domains, self.folding)

    # -- what there is -----------------------------------------------------------------------------

    def explored(self) -> SymmetryInput:
        return SymmetryInput(
            sorts=self.sorts,
            instance=self.instance,
            steps=[(action, self._updates(action, self.domains[action.name])) for action in self.actions],
            sought=[each.body for each in self.monitored],
            tables=self.layout.tables,
            relevance=self.relevance,
            told_apart=self.told_apart,
        )

    def step(self, action: Action, domains: Domains) -> CompiledStep:
        generated = cache(partial(self._moves, action, domains))

        def moves(bits: int) -> list[tuple[Writes, Row]]:
            return generated()(bits)

        reads = tuple(self._reads(action, domains))
        choices = self._choices(action, domains)

        def parts() -> Iterator[Sequence[CompiledStep]]:
            for var in action.params:
                if var not in action.fresh and len(domains[var.name]) > 1:
                    yield [self.step(action, {**domains, var.name: (element,)}) for element in domains[var.name]]

        return CompiledStep(action, moves, reads, choices, parts)

    def rule(self, action: Action) -> Rule:
        """Generate what a deduction concludes."""
        domains = self.domains[action.name]
        moves = self._moves(action, domains)
        premises = [guard.formula for guard in action.guards] + [update.when for update in action.updates]
        signed = [each for term in premises for each in signed_symbols(term)]
        placing = {symbol for update in action.updates for arg in update.args for symbol in symbols_of(arg)}
        rule = Rule(
            action.name,
            lambda s: [writes for writes, _ in moves(s)],
            self.layout,
            frozenset(symbol.name for symbol, sign in signed if sign) | {symbol.name for symbol in placing},
            frozenset(symbol.name for symbol, sign in signed if not sign) | {symbol.name for symbol in placing},
            [(update.symbol.name, pattern_of(update.args, domains, self.instance)) for update in action.updates],
            Exists(action.params, And(tuple(guard.formula for guard in action.guards))),
        )
        rule.read(self._reads(action, domains))
        return rule

    def monitor(self, each: _Monitored, domains: Domains) -> Monitor:
        tests = conditions_in(each.body, each.is_goal)

        @cache
        def generated() -> Callable[[int], bool]:
            return self.queries.function((), partial(self.queries.witness, domains, tests))

        def holds(bits: int) -> bool:
            return generated()(bits)

        reads = tuple(dict.fromkeys(read_by(each.body, domains, self.folding)))

        def parts() -> Iterator[Sequence[Monitor]]:
            for var in each.params:
                if len(domains[var.name]) > 1:
                    yield [self.monitor(each, {**domains, var.name: (element,)}) for element in domains[var.name]]

        return Monitor(each.name, each.is_goal, each.formula, holds, reads, parts)

    def looked_through(self, each: _Monitored) -> Domains:
        return self.folding.domains(each.params, conditions_in(each.body, each.is_goal))

    # -- how it is generated -----------------------------------------------------------------------

    def _domains(self, action: Action) -> Domains:
        tests = [test for guard in action.guards for test in conditions_in(guard.formula)]
        domains = {}
        for var in action.params:
            pool = self.instance.pools.get((action.name, var.name), self.instance.of(var.sort))
            domains[var.name] = pool if var in action.fresh else self.folding.domain(var, pool, tests)
        return domains

    def _reads(self, action: Action, domains: Domains) -> list[Read]:
        reads = list(read_by_guards(action, domains, self.folding))
        for update in self._updates(action, domains):
            reads += read_by_update(update, domains, self.folding)
        return list(dict.fromkeys(reads))

    def _updates(self, action: Action, domains: Domains) -> list[Update]:
        asked = action.name, tuple(domains.values())
        if asked not in self._relevant:
            every = action.updates
            self._relevant[asked] = [each for each in every if self.relevance.of_update(each, domains, self.folding)]
        return self._relevant[asked]

    def _moves(self, action: Action, domains: Domains) -> Callable[[int], list[tuple[Writes, Row]]]:
        tests = [
            test
            for guard in action.guards
            if guard.kind is not GuardKind.FRESH
            for test in conditions_in(guard.formula)
        ]
        choices = self._choices(action, domains)

        def body(names: Names) -> Lines:
            def leaf(names: Names) -> Lines:
                chosen = "".join(f"{names[var.name]}, " for var in action.params)
                return [
                    "w = {}",
                    *[line for update in self._updates(action, domains) for line in self._write(update, names)],
                    f"found.append((w, ({chosen})))",
                ]

            return ["found = []", *self.queries.search(choices, tests, names, leaf), "return found"]

        return self.queries.function((), body)

    def _choices(self, action: Action, domains: Domains) -> dict[str, Domain]:
        choices: dict[str, Domain] = {}
        for position, var in enumerate(action.params):
            pool = domains[var.name]
            if var in action.fresh:
                earlier = [other for other in action.params[:position] if other in action.fresh]
                after = tuple(other.name for other in earlier if other.sort == var.sort)
                choices[var.name] = Draw(used_symbol(var.sort), pool, after, var.sort in self.told_apart)
            else:
                choices[var.name] = pool
        return choices

    def _write(self, update: Update, names: Names) -> Lines:
        each: dict[str, Domain] = {var.name: self.instance.of(var.sort) for var in update.each}
        tests = conditions_in(update.when)
        name = update.symbol.name
        known = self.queries.name_for("places", name, self.relevance.places(self.layout.tables[name]))

        def leaf(names: Names) -> Lines:
            row = self.queries.row(update.args, names)
            value = str(update.effect is Effect.INSERT)
            if update.value is not None:
                value = self.queries.individual(update.value, names)
            return [f"p = {known}.get({row})", f"if p is not None: w[p] = {value}"]

        return self.queries.search(each, tests, names, leaf)


# -- The cost of steps: if there is a budget, the lowest bits of a state are the amount spent ------


def spent_by(model: Model, step: CompiledStep) -> int:
    """Return the mask of the bits for the amount spent; 0 if the step costs nothing."""
    return model.layout.spent if step.action.cost else 0


def add_cost(touched: int, cleared: int, bits: int, step: CompiledStep, spent: int) -> tuple[int, int]:
    """Return masks that also add the cost of the step to the amount spent."""
    if not spent:
        return touched, cleared
    total = (bits & spent) + step.action.cost
    return touched | spent, cleared | spent & ~total


def can_afford(model: Model, step: CompiledStep, s: int) -> bool:
    """Whether the adversary's budget allows one more step of this action."""
    budget = model.layout.instance.budget
    return budget is None or not step.action.cost or (s & model.layout.spent) + step.action.cost <= budget
