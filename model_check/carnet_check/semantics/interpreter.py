"""The judge itself: first states, steps, traces and formulas of one protocol on one instance."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

from carnet_check.semantics.deductions import Deductions
from carnet_check.semantics.evaluation import Evaluation
from carnet_check.semantics.firing import Firing
from carnet_check.semantics.state import Env, Relation, State
from carnet_spec.language import (
    Action,
    Axiom,
    Instance,
    Invariant,
    Protocol,
    Row,
    SpecificationError,
    Symbol,
    Term,
)
from carnet_spec.language.terms import Var, symbols_of
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
        self._require_rigid_values()
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
            if self._firing.affordable(action, state):
                for env in self._firing.enabled(action, state):
                    yield action, env

    def fire(self, state: State, action: Action, env: Env) -> State:
        """Take one step, or one deduction, and nothing more.

        Any unused element will do for a parameter that is drawn fresh: which one is no part of the meaning.

        Raises:
            NotEnabled: a guard does not hold, and it is named; two values that are drawn fresh are the same; or the
                adversary's budget is spent.
            SpecificationError: the arguments are not the action's.
        """
        self._require_arguments(action, env)
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
            return {row: False if symbol.is_relation else self._first_element(symbol, row) for row in rows}
        names = [var.name for var in given[symbol].params]
        value = given[symbol].value
        return {row: self._evaluation.value(value, NOTHING, dict(zip(names, row, strict=True))) for row in rows}

    def _first_element(self, symbol: Symbol, row: Row) -> str:
        return self.instance.first.get(symbol.name, {}).get(row, self.instance.of(symbol.result)[0])

    def _require_arguments(self, action: Action, env: Env) -> None:
        if set(env) != {var.name for var in action.params}:
            wanted = ", ".join(var.name for var in action.params) or "nothing"
            raise SpecificationError(f"{action.name} takes {wanted}; it was given {', '.join(env) or 'nothing'}")
        for var in action.params:
            if env[var.name] not in self.instance.of(var.sort):
                raise SpecificationError(f"{action.name}: '{env[var.name]}' is no element of sort {var.sort.name}")

    def _require_rigid_values(self) -> None:
        for symbol in self.protocol.symbols:
            if symbol.mutable or symbol.is_relation:
                continue
            table = self.instance.functions[symbol.name]
            missing = [row for row in self._evaluation.rows(symbol) if row not in table]
            if missing:
                at = f"{symbol.name}({', '.join(missing[0])})"
                raise SpecificationError(f"the instance gives no value to {at}")


def _require_rigid(what: str, term: Term) -> None:
    changing = sorted(symbol.name for symbol in symbols_of(term) if symbol.mutable)
    if changing:
        raise SpecificationError(f"{what} reads {', '.join(changing)}, which changes")
