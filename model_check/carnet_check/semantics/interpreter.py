"""The judge itself: first states, steps, traces and formulas of one protocol on one instance."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from carnet_check.semantics.evaluation import Env, Evaluation, Function, Relation, State, Value
from carnet_spec.language import (
    Action,
    Axiom,
    Effect,
    GuardKind,
    Instance,
    Invariant,
    Protocol,
    Row,
    SpecificationError,
    Symbol,
    Term,
    Update,
)
from carnet_spec.language.analysis.freshness import distinguishable_fresh_sorts
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import (
    And,
    Apply,
    Exists,
    Forall,
    Implies,
    Not,
    Or,
    Var,
    children,
    free_variables,
    symbols_of,
)
from carnet_spec.trace import Trace, TraceStep

NOTHING = State({}, {})
"""The state that what never changes is evaluated in."""


class Interpreter:
    """One protocol on one instance.

    Raises:
        SpecificationError: the instance does not fit the protocol, an initial value reads state, or the outcome of a
            deduction may depend on when it is taken.
    """

    def __init__(self, protocol: Protocol, instance: Instance) -> None:
        instance.check(protocol)
        self.protocol = protocol
        self.instance = instance
        self._evaluation = Evaluation(instance)
        for symbol in self.protocol.symbols:
            if symbol.mutable or symbol.is_relation:
                continue
            table = self.instance.functions[symbol.name]
            missing = [row for row in self._evaluation.rows(symbol) if row not in table]
            if missing:
                at = f"{symbol.name}({', '.join(missing[0])})"
                raise SpecificationError(f"the instance gives no value to {at}")
        for initial in protocol.initial:
            _require_rigid(f"the initial value of {initial.symbol.name}", initial.value)
        self._steps = [action for action in protocol.actions if not action.deduction]
        self._firing = Firing(protocol, self._evaluation)
        self._deductions = Deductions([action for action in protocol.actions if action.deduction], self._firing)

    # -- states and steps --------------------------------------------------------------------------

    def start(self) -> State:
        """Return the first state before any deduction; nothing is spent."""
        return self._start

    def initial(self) -> State:
        """Return the first state, saturated."""
        return self.saturate(self.start())

    def enabled(self, state: State) -> Iterator[tuple[Action, Env]]:
        """Yield every step that can be taken, deductions aside, in the protocol's order."""
        for action in self._steps:
            yield from ((action, env) for env in self.enabled_by(action, state))

    def enabled_by(self, action: Action, state: State) -> Iterator[Env]:
        """Yield the arguments with which one action, or one deduction, can be taken."""
        if self._firing.affordable(action, state):
            yield from self._firing.enabled(action, state)

    def fire(self, state: State, action: Action, env: Env) -> State:
        """Take one step, or one deduction, and nothing more.

        Any unused element will do for a parameter that is drawn fresh: which one is no part of the meaning.

        Raises:
            NotEnabled: a guard does not hold, and it is named; two values that are drawn fresh are the same; or the
                adversary's budget is spent.
            SpecificationError: the arguments are not the action's.
        """
        if set(env) != {var.name for var in action.params}:
            wanted = ", ".join(var.name for var in action.params) or "nothing"
            raise SpecificationError(f"{action.name} takes {wanted}; it was given {', '.join(env) or 'nothing'}")
        for var in action.params:
            if env[var.name] not in self.instance.of(var.sort):
                raise SpecificationError(f"{action.name}: '{env[var.name]}' is no element of sort {var.sort.name}")
        return self._firing.checked(state, action, env)

    def step(self, state: State, action: Action, env: Env) -> State:
        """Take one step and all deductions it makes possible.

        Raises:
            NotEnabled: the step cannot be taken, as in :meth:`fire`.
            SpecificationError: the arguments are not the action's.
        """
        return self.saturate(self.fire(state, action, env))

    def saturate(self, state: State) -> State:
        """Take every deduction that adds something, until none does."""
        return self._deductions.taken(state)[1]

    def premises_hold(self, rule: Action, state: State) -> bool:
        """Whether some instance of a deduction can be taken, even if it adds nothing."""
        return any(True for _ in self._firing.enabled(rule, state))

    # -- traces ------------------------------------------------------------------------------------

    def replay(self, trace: Trace) -> list[State]:
        """Return the states along ``trace``, the first one included.

        A trace that lists deductions is taken literally: every step is taken alone, from the unsaturated first state.
        A trace that lists none is completed: deductions are taken after every step.

        Steps are judged by their actions and arguments alone. That the trace names this protocol's design, and that
        the instance satisfies the axioms of its threat model, is the caller's business: see :meth:`violated`.

        Raises:
            NotEnabled: a step cannot be taken, as in :meth:`fire`.
            SpecificationError: an action is unknown, or its arguments are not the action's.
        """
        steps = [(self.protocol.action(step.action), step.env) for step in trace.steps]
        literal = any(action.deduction for action, _ in steps)
        states = [self.start() if literal else self.initial()]
        for action, env in steps:
            take = self.fire if literal else self.step
            states.append(take(states[-1], action, env))
        return states

    def expand(self, steps: Iterable[TraceStep]) -> list[TraceStep]:
        """Write out every deduction between the given steps, which list none.

        Deductions of the first state come before the first step.

        Raises:
            NotEnabled: a step cannot be taken, as in :meth:`fire`.
            SpecificationError: an action is unknown, or its arguments are not the action's.
        """
        written, state = self.expanded_start()
        for step in steps:
            more, state = self.expanded(state, step)
            written += more
        return written

    def expanded_start(self) -> tuple[list[TraceStep], State]:
        """Return every deduction of the first state, and where they lead."""
        return self._deductions.taken(self.start())

    def expanded(self, state: State, step: TraceStep) -> tuple[list[TraceStep], State]:
        """Return a step with every deduction that follows it, and where they lead.

        Args:
            state: one in which no deduction adds anything, such as this function returns.
            step: what is taken there.

        Raises:
            NotEnabled: the step cannot be taken, as in :meth:`fire`.
            SpecificationError: the action is unknown, or its arguments are not the action's.
        """
        after_step = self.fire(state, self.protocol.action(step.action), step.env)
        derived, after = self._deductions.taken(after_step, settled=state)
        return [step, *derived], after

    # -- formulas ----------------------------------------------------------------------------------

    def holds(self, term: Term, state: State, env: Env | None = None) -> bool:
        """Whether a formula is true; ``env`` names an element for each variable free in it."""
        return bool(self._evaluation.value(term, state, env or {}))

    def value(self, term: Term, state: State, env: Env | None = None) -> str | bool:
        """Return what a term stands for; ``env`` names an element for each variable free in it."""
        return self._evaluation.value(term, state, env or {})

    def counterexample(self, invariant: Invariant, state: State) -> Env | None:
        """Return the first elements for which an invariant fails, or nothing.

        For an invariant without parameters these are no elements, ``{}``, which is not nothing.
        """
        return self._evaluation.first(invariant.params, invariant.body, state, wanted=False)

    def witness(self, params: Sequence[Var], body: Term, state: State) -> Env | None:
        """Return the first elements for which a formula holds, or nothing."""
        return self._evaluation.first(params, body, state, wanted=True)

    def axioms_hold(self) -> list[str]:
        """Return the names of the protocol's axioms that the instance violates: none, if all is well."""
        return self.violated(self.protocol.axioms)

    def violated(self, axioms: Iterable[Axiom]) -> list[str]:
        """Return the names of those axioms that the instance violates.

        Raises:
            SpecificationError: an axiom reads state, so that no instance decides it.
        """
        listed = list(axioms)
        for axiom in listed:
            _require_rigid(f"axiom '{axiom.name}'", axiom.formula)
        return [axiom.name for axiom in listed if not self.holds(axiom.formula, NOTHING)]

    # -- first values and what is refused ----------------------------------------------------------

    @functools.cached_property
    def _start(self) -> State:
        relations: dict[str, Relation] = {}
        functions: dict[str, dict[Row, str]] = {}
        for symbol in self.protocol.symbols:
            if symbol.mutable:
                table = self._first_table(symbol)
                if symbol.is_relation:
                    relations[symbol.name] = frozenset(row for row in table if table[row])
                else:
                    functions[symbol.name] = {row: str(value) for row, value in table.items()}
        return State(relations, functions)

    def _first_table(self, symbol: Symbol) -> dict[Row, str | bool]:
        given = {initial.symbol: initial for initial in self.protocol.initial}
        rows = self._evaluation.rows(symbol)
        if symbol not in given:
            if symbol.is_relation:
                return dict.fromkeys(rows, False)
            first = self.instance.first.get(symbol.name, {})
            return {row: first.get(row, self.instance.of(symbol.result)[0]) for row in rows}
        names = [var.name for var in given[symbol].params]
        value = given[symbol].value
        return {row: self._evaluation.value(value, NOTHING, dict(zip(names, row, strict=True))) for row in rows}


def _require_rigid(what: str, term: Term) -> None:
    changing = sorted(symbol.name for symbol in symbols_of(term) if symbol.mutable)
    if changing:
        raise SpecificationError(f"{what} reads {', '.join(changing)}, which changes")


# -- Firing: which steps an action offers in a state, and the state that one of them leads to ------


class NotEnabled(Exception):
    """A step was asked for whose guard does not hold."""

    def __init__(self, action: str, guard: str, env: Env) -> None:
        chosen = ", ".join(f"{name}={element}" for name, element in env.items())
        super().__init__(f"{action}({chosen}) is not enabled: '{guard}' does not hold")
        self.action = action
        self.guard = guard
        self.env = dict(env)


Affected = Callable[[State, Env], list[tuple[Row, str]]]
"""The rows that an update is about in a state, each with the value there."""


@dataclass(frozen=True, slots=True)
class _ActionFunctions:
    """What an action asks of a state and does to it.

    Attributes:
        action: it itself.
        checks: the parts of its guards, by the number of parameters that must be known to check them.
        guards: each guard by its name.
        updates: each update with the function for the rows that it is about.
    """

    action: Action
    checks: list[list[Value]]
    guards: list[tuple[str, Value]]
    updates: list[tuple[Update, Affected]]


class Firing:
    """The steps of one protocol's actions, deductions included, one at a time."""

    def __init__(self, protocol: Protocol, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._instance = evaluation.instance
        self._told_apart = distinguishable_fresh_sorts(protocol, self._instance)
        self._by_action: dict[int, _ActionFunctions] = {}

    def enabled(self, action: Action, state: State) -> Iterator[Env]:
        """Choose the parameters one by one, checking each part of a guard as soon as it can be."""
        checks = self._functions(action).checks

        def choose(position: int, chosen: Env) -> Iterator[Env]:
            for part in checks[position]:
                if not part(state, chosen):
                    return
            if position == len(action.params):
                yield chosen
            else:
                var = action.params[position]
                for element in self._choices(action, var, state, chosen):
                    yield from choose(position + 1, {**chosen, var.name: element})

        return choose(0, {})

    def affordable(self, action: Action, state: State) -> bool:
        """Whether the adversary's budget allows one more of these steps."""
        budget = self._instance.budget
        return budget is None or state.spent + action.cost <= budget

    def checked(self, state: State, action: Action, env: Env) -> State:
        """Take a step whose parameters were given, if it can be taken.

        Raises:
            NotEnabled: a guard does not hold, two values drawn fresh are the same, or the budget is spent.
        """
        for name, holds in self._functions(action).guards:
            if not holds(state, env):
                raise NotEnabled(action.name, name, env)
        drawn = [(var.sort, env[var.name]) for var in action.fresh]
        if len(set(drawn)) < len(drawn):
            raise NotEnabled(action.name, "fresh values differ", env)
        if not self.affordable(action, state):
            raise NotEnabled(action.name, "adversary budget", env)
        return self.fired(state, action, env)

    def fired(self, before: State, action: Action, env: Env) -> State:
        """Return the state after a step that is known to be enabled."""
        relations: dict[str, Relation] = {}
        functions: dict[str, Function] = {}
        for update, affected in self._functions(action).updates:
            name = update.symbol.name
            rows = affected(before, env)
            if update.effect is Effect.INSERT:
                held = relations.get(name, before.relations.get(name, frozenset()))
                relations[name] = held | {row for row, _ in rows}
            elif update.effect is Effect.REMOVE:
                held = relations.get(name, before.relations.get(name, frozenset()))
                relations[name] = held - {row for row, _ in rows}
            else:
                table = functions.get(name, before.functions.get(name, {}))
                functions[name] = {**table, **dict(rows)}
        return before.changed(relations, functions, 0 if self._instance.budget is None else action.cost)

    def _choices(self, action: Action, var: Var, state: State, chosen: Env) -> Sequence[str]:
        pool = self._instance.pools.get((action.name, var.name), self._instance.of(var.sort))
        if var not in action.fresh:
            return pool
        drawn = {chosen.get(other.name) for other in action.fresh if other.sort == var.sort}
        used = state.relations[used_symbol(var.sort).name]
        unused = [element for element in pool if (element,) not in used and element not in drawn]
        return unused if var.sort in self._told_apart else unused[:1]

    def _functions(self, action: Action) -> _ActionFunctions:
        """Return the functions for an action; they are kept by its identity, and it is kept with them."""
        known = self._by_action.get(id(action))
        if known is None:
            guards = [(guard.name, self._evaluation.function(guard.formula)) for guard in action.guards]
            updates = [(update, self._affected(update)) for update in action.updates]
            known = self._by_action[id(action)] = _ActionFunctions(action, self._checks(action), guards, updates)
        return known

    def _affected(self, update: Update) -> Affected:
        """Return the function for the rows that an update is about, each with its value."""
        evaluation = self._evaluation
        when, args = evaluation.function(update.when), list(map(evaluation.function, update.args))
        value = None if update.value is None else evaluation.function(update.value)

        def rows(before: State, env: Env) -> list[tuple[Row, str]]:
            every = ({**env, **more} for more in evaluation.assignments(update.each))
            return [
                (tuple([str(arg(before, each)) for arg in args]), "" if value is None else str(value(before, each)))
                for each in every
                if when(before, each)
            ]

        return rows

    def _checks(self, action: Action) -> list[list[Value]]:
        checks: list[list[Value]] = [[] for _ in range(len(action.params) + 1)]
        for guard in action.guards:
            for part in _conjuncts(guard.formula):
                needed = free_variables(part)
                last = [position for position, var in enumerate(action.params, 1) if var in needed]
                checks[max(last, default=0)].append(self._evaluation.function(part))
        return checks


def _conjuncts(term: Term) -> Iterator[Term]:
    if isinstance(term, And):
        for part in term.parts:
            yield from _conjuncts(part)
    else:
        yield term


# --------------------------------------------------------------------------------------------------
# Deductions: what follows by itself in a state, taken until nothing is added, and why the order is no matter.


class Deductions:
    """The rules of one protocol.

    Raises:
        SpecificationError: the outcome of a rule may depend on when it is taken.
    """

    def __init__(self, rules: Sequence[Action], firing: Firing) -> None:
        self._rules = rules
        self._firing = firing
        self._concern = {rule.name: _concern(rule) for rule in rules}
        inserted = frozenset(update.symbol for rule in rules for update in rule.updates)
        for rule in rules:
            # Refuse a deduction whose premises deny what deductions insert: it would depend on their order
            premises = [guard.formula for guard in rule.guards]
            premises += [term for update in rule.updates for term in (*update.args, update.when)]
            for part in premises:
                denied = _denied(part) & inserted
                if denied:
                    names = ", ".join(sorted(symbol.name for symbol in denied))
                    raise SpecificationError(
                        f"rule {rule.name} depends on the absence of {names}, which deductions insert"
                    )
            if any(update.effect is not Effect.INSERT for update in rule.updates):
                raise SpecificationError(f"rule {rule.name} does more than insert")
            if any(guard.kind is GuardKind.FRESH for guard in rule.guards):
                raise SpecificationError(f"rule {rule.name} draws a fresh value: make it an action")
            if rule.cost:
                raise SpecificationError(f"rule {rule.name} costs a move of the adversary, but a deduction is free")

    def taken(self, state: State, settled: State | None = None) -> tuple[list[TraceStep], State]:
        """Take every deduction that adds something, until none does; return these and the state.

        A rule that added nothing adds nothing as long as what it reads and writes is the same, so it is not tried.

        Args:
            state: where to begin.
            settled: a state in which no deduction adds anything, if one is known; the nearer the fewer rules are tried.
        """
        steps: list[TraceStep] = []
        tried = dict.fromkeys(self._concern, settled)
        grew = True
        while grew:
            grew = False
            for rule in self._rules:
                if _agree(tried[rule.name], state, self._concern[rule.name]):
                    continue
                # Premises are monotone: what held before this pass began to add facts still holds.
                before = state
                for env in list(self._firing.enabled(rule, state)):
                    after = self._firing.fired(state, rule, env)
                    if after != state:
                        args = tuple((var.name, env[var.name]) for var in rule.params)
                        steps.append(TraceStep(rule.name, rule.by.name, args))
                        state = after
                        grew = True
                tried[rule.name] = before
        return steps, state


def _concern(rule: Action) -> frozenset[str]:
    terms = [guard.formula for guard in rule.guards]
    terms += [term for update in rule.updates for term in (*update.args, update.when)]
    written = {update.symbol.name for update in rule.updates}
    return frozenset(written | {symbol.name for term in terms for symbol in symbols_of(term) if symbol.mutable})


def _agree(one: State | None, other: State, names: frozenset[str]) -> bool:
    if one is None:
        return False
    return all(
        one.relations.get(name) == other.relations.get(name) and one.functions.get(name) == other.functions.get(name)
        for name in names
    )


def _denied(term: Term, positive: bool = True) -> frozenset[Symbol]:
    match term:
        case Not(body):
            return _denied(body, not positive)
        case Implies(premise, conclusion):
            return _denied(premise, not positive) | _denied(conclusion, positive)
        case And() | Or() | Forall() | Exists():
            return frozenset().union(*(_denied(child, positive) for child in children(term)))
        case Apply(_, args) if positive:
            return frozenset().union(*(symbols_of(arg) for arg in args))
        case _:
            return symbols_of(term)


# -- Replays: traces taken step by step, and what several of them begin with taken once ------------


@dataclass(slots=True)
class _ReplayNode:
    """Where some steps lead, and where more steps lead from there."""

    state: State
    further: dict[TraceStep, _ReplayNode] = field(default_factory=dict)


class Replays:
    """Replays the traces of one protocol on one instance; many shortest traces begin alike.

    Attributes:
        interpreter: which takes the steps.
    """

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._begins: dict[bool, _ReplayNode] = {}

    def end(self, steps: Iterable[TraceStep]) -> State:
        """Return the state in which steps end; they are taken as :meth:`Interpreter.replay` takes those of a trace.

        Raises:
            NotEnabled: a step cannot be taken.
            SpecificationError: an action is unknown, or its arguments are not the action's.
        """
        listed = [(step, self.interpreter.protocol.action(step.action)) for step in steps]
        literal = any(action.deduction for _, action in listed)
        take = self.interpreter.fire if literal else self.interpreter.step
        place = self._begin(literal)
        for step, action in listed:
            if step not in place.further:
                place.further[step] = _ReplayNode(take(place.state, action, step.env))
            place = place.further[step]
        return place.state

    def _begin(self, literal: bool) -> _ReplayNode:
        if literal not in self._begins:
            self._begins[literal] = _ReplayNode(self.interpreter.start() if literal else self.interpreter.initial())
        return self._begins[literal]
