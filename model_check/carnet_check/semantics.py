"""The interpreter: what a protocol means on one finite instance, written to be read.

This is the judge. Every counterexample of every engine is replayed here before it is shown, so nothing here is clever
and the compiled explorer, which is written from the same definitions, takes nothing from here but the first state:

* A **state** gives a value to every mutable symbol. Relations start empty, unless the protocol says otherwise. A
  function without an initial value starts with the values that the instance names, or at the first element of its sort.
* An **action** is enabled for an assignment of its parameters if all its guards hold. A parameter that is drawn fresh
  is an element of its pool that is unused and that no earlier parameter of the same step drew: the least one, where
  unused elements are alike.
* **Firing** it evaluates arguments, conditions and values of all updates in the state *before* the step; updates of
  one symbol compose in the order they are written; whatever is not mentioned stays as it was.
* **Deductions** only insert, and their premises are monotone in what deductions insert, so all of them can be taken
  right after every step, in any order, with the same result: the state is *saturated*.
* An adversary **budget** bounds the sum of the costs of the actions taken; what was spent is part of the state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

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
from carnet_spec.language.analysis.freshness import told_apart
from carnet_spec.language.expressions import used_symbol
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
    children,
    free_variables,
    symbols_of,
)
from carnet_spec.trace import Step, Trace

Env = Mapping[str, str]
"""The element chosen for each parameter or bound variable, by name; an inner one hides an outer one."""

Relation = frozenset[Row]
Function = Mapping[Row, str]


class NotEnabled(Exception):
    """A step was asked for whose guard does not hold."""

    def __init__(self, action: str, guard: str, env: Env) -> None:
        chosen = ", ".join(f"{name}={element}" for name, element in env.items())
        super().__init__(f"{action}({chosen}) is not enabled: '{guard}' does not hold")
        self.action = action
        self.guard = guard
        self.env = dict(env)


class State:
    """The value of every mutable symbol, and what the adversary has spent of its budget.

    States are immutable, compare by value and hash.
    """

    __slots__ = ("_functions", "_hash", "_relations", "spent")

    def __init__(self, relations: Mapping[str, Relation], functions: Mapping[str, Function], spent: int = 0) -> None:
        self._relations = MappingProxyType(dict(relations))
        self._functions = MappingProxyType({name: MappingProxyType(dict(table)) for name, table in functions.items()})
        self.spent = spent
        tables = ((name, frozenset(table.items())) for name, table in self._functions.items())
        self._hash = hash((frozenset(self._relations.items()), frozenset(tables), spent))

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The rows for which each relation holds."""
        return self._relations

    @property
    def functions(self) -> Mapping[str, Function]:
        """The value of each function at each row; a variable has the empty row only."""
        return self._functions

    def changed(self, relations: Mapping[str, Relation], functions: Mapping[str, Function]) -> State:
        """Return this state with some symbols replaced."""
        return State({**self._relations, **relations}, {**self._functions, **functions}, self.spent)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and self._hash == other._hash
            and self.spent == other.spent
            and self._relations == other._relations
            and self._functions == other._functions
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        facts = [f"{name}({', '.join(row)})" for name, rows in self._relations.items() for row in sorted(rows)]
        values = [
            f"{name}({', '.join(row)})={value}" if row else f"{name}={value}"
            for name, table in self._functions.items()
            for row, value in sorted(table.items())
        ]
        return f"State({', '.join([*values, *facts, f'spent={self.spent}'])})"


class Interpreter:
    """One protocol on one instance.

    Raises:
        SpecificationError: the instance does not fit the protocol, or a deduction is not monotone.
    """

    def __init__(self, protocol: Protocol, instance: Instance) -> None:
        instance.check(protocol)
        self.protocol = protocol
        self.instance = instance
        self._mutable = [symbol for symbol in protocol.symbols if symbol.mutable]
        self._told_apart = told_apart(protocol, instance)
        self._rules = [action for action in protocol.actions if action.deduction]
        self._steps = [action for action in protocol.actions if not action.deduction]
        self._checks = {action.name: _checks(action) for action in protocol.actions}
        self._check_rigid_functions()
        for rule in self._rules:
            self._check_monotone(rule)

    # -- states and steps --------------------------------------------------------------------------

    def start(self) -> State:
        """Return the first state before any deduction."""
        relations: dict[str, Relation] = {}
        functions: dict[str, Function] = {}
        given = {initial.symbol: initial for initial in self.protocol.initial}
        nothing = State({}, {})
        for symbol in self._mutable:
            table: dict[Row, str | bool] = {}
            for row in self._rows(symbol):
                if symbol in given:
                    env = {var.name: at for var, at in zip(given[symbol].params, row, strict=True)}
                    table[row] = self._value(given[symbol].value, nothing, env)
                else:
                    table[row] = False if symbol.is_relation else self._first(symbol, row)
            if symbol.is_relation:
                relations[symbol.name] = frozenset(row for row in table if table[row])
            else:
                functions[symbol.name] = {row: str(value) for row, value in table.items()}
        return State(relations, functions)

    def initial(self) -> State:
        """Return the first state, saturated."""
        return self.saturate(self.start())

    def enabled(self, state: State) -> Iterator[tuple[Action, Env]]:
        """Yield every step that can be taken, deductions aside, in the protocol's order."""
        for action in self._steps:
            if self._affordable(action, state):
                for env in self._enabled(action, state):
                    yield action, env

    def fire(self, state: State, action: Action, env: Env) -> State:
        """Take one step, or one deduction, and nothing more.

        Any unused element will do for a parameter that is drawn fresh: which one is no part of the meaning.

        Raises:
            NotEnabled: a guard does not hold; it is named.
            SpecificationError: the arguments are not the action's.
        """
        self._check_arguments(action, env)
        for guard in action.guards:
            if not self._value(guard.formula, state, env):
                raise NotEnabled(action.name, guard.name, env)
        drawn = [(var.sort, env[var.name]) for var in action.fresh]
        if len(set(drawn)) < len(drawn):
            raise NotEnabled(action.name, "fresh values differ", env)
        if not self._affordable(action, state):
            raise NotEnabled(action.name, "adversary budget", env)
        return self._fired(state, action, env)

    def step(self, state: State, action: Action, env: Env) -> State:
        """Take one step and all deductions it makes possible.

        Raises:
            NotEnabled: a guard does not hold; it is named.
        """
        return self.saturate(self.fire(state, action, env))

    def saturate(self, state: State) -> State:
        """Take every deduction that adds something, until none does."""
        return self._saturation(state)[1]

    def premises_hold(self, rule: Action, state: State) -> bool:
        """Whether some instance of a deduction could be taken, be it that it adds nothing."""
        return any(True for _ in self._enabled(rule, state))

    # -- traces ------------------------------------------------------------------------------------

    def replay(self, trace: Trace) -> list[State]:
        """Return the states along ``trace``, the first one included.

        A trace that lists deductions is taken literally: every step is taken alone, from the unsaturated first state.
        A trace that lists none is completed: deductions are taken after every step.

        Raises:
            NotEnabled: a guard does not hold; it is named.
            SpecificationError: an action is unknown, or its arguments are not the action's.
        """
        steps = [(self.protocol.action(step.action), step.env) for step in trace.steps]
        literal = any(action.deduction for action, _ in steps)
        states = [self.start() if literal else self.initial()]
        for action, env in steps:
            take = self.fire if literal else self.step
            states.append(take(states[-1], action, env))
        return states

    def expand(self, steps: Iterable[Step]) -> list[Step]:
        """Write out every deduction between the given steps, which list none."""
        state = self.start()
        written, state = self._saturation(state)
        for step in steps:
            state = self.fire(state, self.protocol.action(step.action), step.env)
            derived, state = self._saturation(state)
            written += [step, *derived]
        return written

    # -- formulas ----------------------------------------------------------------------------------

    def holds(self, term: Term, state: State, env: Env | None = None) -> bool:
        """Whether a formula is true; ``env`` names an element for each variable free in it."""
        return bool(self._value(term, state, env or {}))

    def counterexample(self, invariant: Invariant, state: State) -> Env | None:
        """Return elements for which an invariant fails, or nothing."""
        return self._search(invariant.params, invariant.body, state, wanted=False)

    def witness(self, params: Sequence[Var], body: Term, state: State) -> Env | None:
        """Return elements for which a formula holds, or nothing."""
        return self._search(params, body, state, wanted=True)

    def axioms_hold(self) -> list[str]:
        """Return the names of the protocol's axioms that the instance violates: none, if all is well."""
        return self.violated(self.protocol.axioms)

    def violated(self, axioms: Iterable[Axiom]) -> list[str]:
        """Return the names of those axioms that the instance violates."""
        nothing = State({}, {})
        return [axiom.name for axiom in axioms if not self._value(axiom.formula, nothing, {})]

    def _search(self, params: Sequence[Var], body: Term, state: State, *, wanted: bool) -> Env | None:
        for env in self._assignments(params):
            if bool(self._value(body, state, env)) is wanted:
                return env
        return None

    def _value(self, term: Term, state: State, env: Env) -> str | bool:
        match term:
            case Var():
                return env[term.name]
            case Member(_, name):
                return name
            case Truth(value):
                return value
            case Apply(symbol, args):
                row = tuple(str(self._value(arg, state, env)) for arg in args)
                return self._at(symbol, row, state)
            case Equal(left, right):
                return self._value(left, state, env) == self._value(right, state, env)
            case Not(body):
                return not self._value(body, state, env)
            case And(parts):
                return all(self._value(part, state, env) for part in parts)
            case Or(parts):
                return any(self._value(part, state, env) for part in parts)
            case Implies(premise, conclusion):
                return not self._value(premise, state, env) or self._value(conclusion, state, env)
            case IfThenElse(test, then, otherwise):
                return self._value(then if self._value(test, state, env) else otherwise, state, env)
            case Forall(bound, body):
                return all(self._value(body, state, {**env, **more}) for more in self._assignments(bound))
            case Exists(bound, body):
                return any(self._value(body, state, {**env, **more}) for more in self._assignments(bound))

    def _at(self, symbol: Symbol, row: Row, state: State) -> str | bool:
        if symbol.is_relation:
            held = state.relations if symbol.mutable else self.instance.relations
            return row in held.get(symbol.name, frozenset())
        tables = state.functions if symbol.mutable else self.instance.functions
        return tables[symbol.name][row]

    # -- how a step is taken -----------------------------------------------------------------------

    def _enabled(self, action: Action, state: State) -> Iterator[Env]:
        """Choose the parameters one by one, checking each part of a guard as soon as it can be."""
        checks = self._checks[action.name]

        def choose(position: int, chosen: Env) -> Iterator[Env]:
            if all(self._value(part, state, chosen) for part in checks[position]):
                if position == len(action.params):
                    yield chosen
                else:
                    var = action.params[position]
                    for element in self._choices(action, var, state, chosen):
                        yield from choose(position + 1, {**chosen, var.name: element})

        return choose(0, {})

    def _choices(self, action: Action, var: Var, state: State, chosen: Env) -> Sequence[str]:
        pool = self.instance.pools.get((action.name, var.name), self.instance.of(var.sort))
        if var not in action.fresh:
            return pool
        drawn = {chosen.get(other.name) for other in action.fresh if other.sort == var.sort}
        used = state.relations[used_symbol(var.sort).name]
        unused = [element for element in pool if (element,) not in used and element not in drawn]
        return unused if var.sort in self._told_apart else unused[:1]

    def _affordable(self, action: Action, state: State) -> bool:
        budget = self.instance.budget
        return budget is None or state.spent + action.cost <= budget

    def _fired(self, before: State, action: Action, env: Env) -> State:
        relations: dict[str, Relation] = {}
        functions: dict[str, Function] = {}
        for update in action.updates:
            name = update.symbol.name
            rows = list(self._affected(update, before, env))
            if update.effect is Effect.INSERT:
                held = relations.get(name, before.relations.get(name, frozenset()))
                relations[name] = held | {row for row, _ in rows}
            elif update.effect is Effect.REMOVE:
                held = relations.get(name, before.relations.get(name, frozenset()))
                relations[name] = held - {row for row, _ in rows}
            else:
                table = functions.get(name, before.functions.get(name, {}))
                functions[name] = {**table, **dict(rows)}
        after = before.changed(relations, functions)
        if self.instance.budget is not None and action.cost:
            after = State(after.relations, after.functions, before.spent + action.cost)
        return after

    def _affected(self, update: Update, before: State, env: Env) -> Iterator[tuple[Row, str]]:
        for more in self._assignments(update.each):
            every = {**env, **more}
            if self._value(update.when, before, every):
                row = tuple(str(self._value(arg, before, every)) for arg in update.args)
                value = "" if update.value is None else str(self._value(update.value, before, every))
                yield row, value

    def _saturation(self, state: State) -> tuple[list[Step], State]:
        steps: list[Step] = []
        grew = True
        while grew:
            grew = False
            for rule in self._rules:
                # Premises are monotone: what held before this pass began to add facts still holds.
                for env in list(self._enabled(rule, state)):
                    after = self._fired(state, rule, env)
                    if after != state:
                        args = tuple((var.name, env[var.name]) for var in rule.params)
                        steps.append(Step(rule.name, rule.by.name, args))
                        state = after
                        grew = True
        return steps, state

    # -- elements and what is refused --------------------------------------------------------------

    def _assignments(self, variables: Sequence[Var]) -> Iterator[dict[str, str]]:
        names = [var.name for var in variables]
        for row in itertools.product(*(self.instance.of(var.sort) for var in variables)):
            yield dict(zip(names, row, strict=True))

    def _rows(self, symbol: Symbol) -> Iterator[Row]:
        return itertools.product(*(self.instance.of(sort) for sort in symbol.domain))

    def _first(self, symbol: Symbol, row: Row) -> str:
        elements = self.instance.of(symbol.result)
        if not elements:
            raise SpecificationError(f"the instance has no element of sort {symbol.result.name}")
        return self.instance.first.get(symbol.name, {}).get(row, elements[0])

    def _check_arguments(self, action: Action, env: Env) -> None:
        if set(env) != {var.name for var in action.params}:
            wanted = ", ".join(var.name for var in action.params) or "nothing"
            raise SpecificationError(f"{action.name} takes {wanted}; it was given {', '.join(env)}")
        for var in action.params:
            if env[var.name] not in self.instance.of(var.sort):
                raise SpecificationError(f"{action.name}: '{env[var.name]}' is no element of sort {var.sort.name}")

    def _check_rigid_functions(self) -> None:
        for symbol in self.protocol.symbols:
            if symbol.mutable or symbol.is_relation:
                continue
            table = self.instance.functions[symbol.name]
            missing = [row for row in self._rows(symbol) if row not in table]
            if missing:
                at = f"{symbol.name}({', '.join(missing[0])})"
                raise SpecificationError(f"the instance gives no value to {at}")

    def _check_monotone(self, rule: Action) -> None:
        """Refuse a deduction whose premises deny what deductions insert: it would depend on their order."""
        inserted = {update.symbol for other in self._rules for update in other.updates}
        for part in [*(guard.formula for guard in rule.guards), *(u.when for u in rule.updates)]:
            denied = _denied(part) & inserted
            if denied:
                names = ", ".join(sorted(symbol.name for symbol in denied))
                raise SpecificationError(f"rule {rule.name} depends on the absence of {names}, which deductions insert")
        if any(update.effect is not Effect.INSERT for update in rule.updates):
            raise SpecificationError(f"rule {rule.name} does more than insert")
        if any(guard.kind is GuardKind.FRESH for guard in rule.guards):
            raise SpecificationError(f"rule {rule.name} draws a fresh value: make it an action")


def _checks(action: Action) -> list[list[Term]]:
    """List the parts of the guards by the number of parameters that must be known to check them."""
    checks: list[list[Term]] = [[] for _ in range(len(action.params) + 1)]
    for guard in action.guards:
        for part in _conjuncts(guard.formula):
            needed = free_variables(part)
            last = [position for position, var in enumerate(action.params, 1) if var in needed]
            checks[max(last, default=0)].append(part)
    return checks


def _conjuncts(term: Term) -> Iterator[Term]:
    if isinstance(term, And):
        for part in term.parts:
            yield from _conjuncts(part)
    else:
        yield term


def _denied(term: Term, positive: bool = True) -> frozenset[Symbol]:
    """Return the symbols that may occur negatively in ``term``."""
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
