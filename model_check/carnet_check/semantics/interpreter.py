"""The interpreter: first states, steps, traces and formulas of one protocol on one instance."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from carnet_check.semantics.evaluation import Env, Evaluation, Function, Relation, State, Value, evaluation_of
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

NOTHING = State({}, {})  #: The state in which rigid terms are evaluated.


class Interpreter:
    """One protocol on one instance.

    Raises SpecificationError if the instance does not fit the protocol, an initial value reads state, or the outcome of
    a deduction may depend on when it is taken.
    """

    def __init__(self, protocol: Protocol, instance: Instance) -> None:
        instance.check(protocol)
        self.protocol = protocol
        self.instance = instance
        self._evaluation = evaluation_of(instance)
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
        """Return the first state, before any deduction and with an unspent budget."""
        return self._start

    def initial(self) -> State:
        """Return the first state, saturated."""
        return self.saturate(self.start())

    def enabled_steps(self, state: State) -> Iterator[tuple[Action, Env]]:
        """Yield every enabled step, without deductions, in the protocol's order."""
        for action in self._steps:
            yield from ((action, env) for env in self.enabled_by(action, state))

    def enabled_by(self, action: Action, state: State) -> Iterator[Env]:
        """Yield the arguments for which an action or a deduction is enabled."""
        if self._firing.affordable(action, state):
            yield from self._firing.enabled_arguments(action, state)

    def fire(self, state: State, action: Action, env: Env) -> State:
        """Take one step or one deduction, without the deductions that follow.

        A parameter that is drawn fresh may be any unused element.

        Raises NotEnabled if a guard does not hold (the error names it), two values that are drawn fresh are equal, or
        the adversary's budget is spent; SpecificationError if the arguments do not fit the action's parameters.
        """
        if set(env) != {var.name for var in action.params}:
            wanted = ", ".join(var.name for var in action.params) or "nothing"
            raise SpecificationError(f"{action.name} takes {wanted}; it was given {', '.join(env) or 'nothing'}")
        for var in action.params:
            if env[var.name] not in self.instance.of(var.sort):
                raise SpecificationError(f"{action.name}: '{env[var.name]}' is no element of sort {var.sort.name}")
        return self._firing.fire_if_enabled(state, action, env)

    def step(self, state: State, action: Action, env: Env) -> State:
        """Take one step and all deductions that it enables.

        Raises NotEnabled if the step cannot be taken, as in :meth:`fire`; SpecificationError if the arguments do not
        fit the action's parameters.
        """
        return self.saturate(self.fire(state, action, env))

    def saturate(self, state: State) -> State:
        """Take deductions until none adds a fact."""
        return self._deductions.saturate(state)[1]

    def premises_hold(self, rule: Action, state: State) -> bool:
        """Whether the premises of a deduction hold for some elements, even if it adds nothing."""
        return any(True for _ in self._firing.enabled_arguments(rule, state))

    # -- traces ------------------------------------------------------------------------------------

    def replay(self, trace: Trace) -> list[State]:
        """Return the states along ``trace``, the first one included.

        The steps of a trace with deductions are taken exactly as given, from the unsaturated first state. For a trace
        without deductions, all deductions are taken after every step.

        Only actions and arguments are checked here. The caller has to check that the trace is of this design, and that
        the instance satisfies the axioms of its threat model: see :meth:`violated_axioms`.

        Raises NotEnabled if a step cannot be taken, as in :meth:`fire`; SpecificationError if an action is unknown, or
        its arguments are not the action's.
        """
        steps = [(self.protocol.action(step.action), step.env) for step in trace.steps]
        literal = any(action.deduction for action, _ in steps)
        states = [self.start() if literal else self.initial()]
        for action, env in steps:
            take = self.fire if literal else self.step
            states.append(take(states[-1], action, env))
        return states

    def expand(self, steps: Iterable[TraceStep]) -> list[TraceStep]:
        """Return the given steps, which have no deductions, with every deduction between them.

        The deductions of the first state come before the first step.

        Raises NotEnabled if a step cannot be taken, as in :meth:`fire`; SpecificationError if an action is unknown, or
        its arguments are not the action's.
        """
        written, state = self.expanded_start()
        for step in steps:
            more, state = self.step_with_deductions(state, step)
            written += more
        return written

    def expanded_start(self) -> tuple[list[TraceStep], State]:
        """Return every deduction of the first state, and the saturated first state."""
        return self._deductions.saturate(self.start())

    def step_with_deductions(self, state: State, step: TraceStep) -> tuple[list[TraceStep], State]:
        """Return a step with every deduction that follows it, and the state after these.

        Raises NotEnabled if the step cannot be taken, as in :meth:`fire`; SpecificationError if the action is unknown,
        or its arguments are not the action's.

        Args:
            state: a saturated state, such as this function returns.
            step: the step to take.
        """
        after_step = self.fire(state, self.protocol.action(step.action), step.env)
        derived, after = self._deductions.saturate(after_step, settled=state)
        return [step, *derived], after

    # -- formulas ----------------------------------------------------------------------------------

    def holds(self, term: Term, state: State, env: Env | None = None) -> bool:
        """Whether a formula is true; ``env`` has an element for each free variable."""
        return bool(self._evaluation.value(term, state, env or {}))

    def value(self, term: Term, state: State, env: Env | None = None) -> str | bool:
        """Return the value of a term; ``env`` has an element for each free variable."""
        return self._evaluation.value(term, state, env or {})

    def counterexample(self, invariant: Invariant, state: State) -> Env | None:
        """Return the first elements for which an invariant is false, or None.

        For a false invariant without parameters the result is ``{}``, not None.
        """
        return self._evaluation.first(invariant.params, invariant.body, state, wanted=False)

    def witness(self, params: Sequence[Var], body: Term, state: State) -> Env | None:
        """Return the first elements for which a formula holds, or None."""
        return self._evaluation.first(params, body, state, wanted=True)

    def axioms_hold(self) -> list[str]:
        """Return the names of the protocol's axioms that the instance violates."""
        return self.violated_axioms(self.protocol.axioms)

    def violated_axioms(self, axioms: Iterable[Axiom]) -> list[str]:
        """Return the names of those of ``axioms`` that the instance violates.

        Raises SpecificationError if an axiom reads a mutable symbol, so an instance alone does not decide it.
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
        raise SpecificationError(f"{what} reads {', '.join(changing)}, which is mutable")


# -- Firing: the enabled steps of an action in a state, and the state after a step -----------------


class NotEnabled(Exception):
    """A step cannot be taken, for example because a guard does not hold."""

    def __init__(self, action: str, guard: str, env: Env) -> None:
        chosen = ", ".join(f"{name}={element}" for name, element in env.items())
        super().__init__(f"{action}({chosen}) is not enabled: '{guard}' does not hold")
        self.action = action
        self.guard = guard
        self.env = dict(env)


#: The rows that an update is about in a state, each with the value there.
Affected = Callable[[State, Env], list[tuple[Row, str]]]


@dataclass(frozen=True, slots=True)
class _ActionFunctions:
    """What an action asks of a state and does to it."""

    action: Action  #: it itself.
    checks: list[list[Value]]  #: the parts of its guards, by the number of parameters that must be known to check them.
    guards: list[tuple[str, Value]]  #: each guard by its name.
    updates: list[tuple[Update, Affected]]  #: each update with the function for the rows that it is about.


class Firing:
    """The steps of one protocol's actions, deductions included, one at a time."""

    def __init__(self, protocol: Protocol, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._instance = evaluation.instance
        self._told_apart = distinguishable_fresh_sorts(protocol, self._instance)
        self._by_action: dict[int, _ActionFunctions] = {}

    def enabled_arguments(self, action: Action, state: State) -> Iterator[Env]:
        """Yield the enabled arguments; parts of guards are checked as soon as their parameters are chosen."""
        checks = self._functions(action).checks
        chosen: dict[str, str] = {}

        def choose(position: int) -> Iterator[Env]:
            for part in checks[position]:
                if not part(state, chosen):
                    return
            if position == len(action.params):
                yield {**chosen}
            else:
                var = action.params[position]
                for element in self._choices(action, var, state, chosen):
                    chosen[var.name] = element
                    yield from choose(position + 1)
                chosen.pop(var.name, None)

        return choose(0)

    def affordable(self, action: Action, state: State) -> bool:
        """Whether the adversary's budget allows one more step of this action."""
        budget = self._instance.budget
        return budget is None or state.spent + action.cost <= budget

    def fire_if_enabled(self, state: State, action: Action, env: Env) -> State:
        """Take a step with given arguments, if it is enabled.

        Raises NotEnabled if a guard does not hold, two values drawn fresh are equal, or the budget is spent.
        """
        for name, holds in self._functions(action).guards:
            if not holds(state, env):
                raise NotEnabled(action.name, name, env)
        drawn = [(var.sort, env[var.name]) for var in action.fresh]
        if len(set(drawn)) < len(drawn):
            raise NotEnabled(action.name, "fresh values differ", env)
        if not self.affordable(action, state):
            raise NotEnabled(action.name, "adversary budget", env)
        return self.successor(state, action, env)

    def successor(self, before: State, action: Action, env: Env) -> State:
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
        return before.with_values(relations, functions, 0 if self._instance.budget is None else action.cost)

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
        """Return the parts of the guards by the number of parameters that must be chosen to check them."""
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
# Deductions: they are taken until none adds a fact, and their order does not matter.


class Deductions:
    """The rules of one protocol. Raises SpecificationError if the outcome of a rule may depend on when it is taken."""

    def __init__(self, rules: Sequence[Action], firing: Firing) -> None:
        self._rules = rules
        self._firing = firing
        self._concern = {rule.name: _concern(rule) for rule in rules}
        inserted = frozenset(update.symbol for rule in rules for update in rule.updates)
        for rule in rules:
            # Refuse a deduction whose premises negate what deductions insert: its outcome would depend on their order
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

    def saturate(self, state: State, settled: State | None = None) -> tuple[list[TraceStep], State]:
        """Take deductions until none adds a fact; return the deductions and the state.

        A rule that added nothing is not tried again until a symbol that it reads or writes changes.

        Args:
            state: the state to begin with.
            settled: a saturated state, if one is known; the fewer symbols differ from ``state``, the fewer rules are
                tried.
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
                for env in list(self._firing.enabled_arguments(rule, state)):
                    after = self._firing.successor(state, rule, env)
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
    ours, theirs = one.relations, other.relations
    if any(ours.get(name) is not theirs.get(name) and ours.get(name) != theirs.get(name) for name in names):
        return False
    before, now = one.functions, other.functions
    return all(before.get(name) is now.get(name) or before.get(name) == now.get(name) for name in names)


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


# -- Replays: traces are replayed step by step; a common prefix of several traces is taken once ----


@dataclass(slots=True)
class _ReplayNode:
    """A node of the prefix tree of replayed traces: a state, and the nodes after further steps."""

    state: State
    further: dict[TraceStep, _ReplayNode] = field(default_factory=dict)


class Replays:
    """Replays traces of one protocol on one instance; many shortest traces have a common prefix."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter  #: the interpreter that takes the steps.
        self._begins: dict[bool, _ReplayNode] = {}

    def end(self, steps: Iterable[TraceStep]) -> State:
        """Return the state after steps, which are taken as in :meth:`Interpreter.replay`.

        Raises NotEnabled if a step cannot be taken; SpecificationError if an action is unknown, or its arguments are
        not the action's.
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
