"""Firing: which steps an action offers in a state, and the state that one of them leads to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from carnet_check.semantics.evaluation import Evaluation
from carnet_check.semantics.state import Env, Function, Relation, State
from carnet_spec.language import Action, Effect, Protocol, Row, Term, Update
from carnet_spec.language.analysis.freshness import told_apart
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import And, Var, free_variables


class NotEnabled(Exception):
    """A step was asked for whose guard does not hold."""

    def __init__(self, action: str, guard: str, env: Env) -> None:
        chosen = ", ".join(f"{name}={element}" for name, element in env.items())
        super().__init__(f"{action}({chosen}) is not enabled: '{guard}' does not hold")
        self.action = action
        self.guard = guard
        self.env = dict(env)


class Firing:
    """The steps of one protocol's actions, deductions included, one at a time."""

    def __init__(self, protocol: Protocol, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._instance = evaluation.instance
        self._told_apart = told_apart(protocol, self._instance)
        self._checks = {action.name: _checks(action) for action in protocol.actions}

    def enabled(self, action: Action, state: State) -> Iterator[Env]:
        """Choose the parameters one by one, checking each part of a guard as soon as it can be."""
        checks = self._checks[action.name]

        def choose(position: int, chosen: Env) -> Iterator[Env]:
            if all(self._evaluation.value(part, state, chosen) for part in checks[position]):
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
        for guard in action.guards:
            if not self._evaluation.value(guard.formula, state, env):
                raise NotEnabled(action.name, guard.name, env)
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
        return before.changed(relations, functions, 0 if self._instance.budget is None else action.cost)

    def _choices(self, action: Action, var: Var, state: State, chosen: Env) -> Sequence[str]:
        pool = self._instance.pools.get((action.name, var.name), self._instance.of(var.sort))
        if var not in action.fresh:
            return pool
        drawn = {chosen.get(other.name) for other in action.fresh if other.sort == var.sort}
        used = state.relations[used_symbol(var.sort).name]
        unused = [element for element in pool if (element,) not in used and element not in drawn]
        return unused if var.sort in self._told_apart else unused[:1]

    def _affected(self, update: Update, before: State, env: Env) -> Iterator[tuple[Row, str]]:
        evaluation = self._evaluation
        for more in evaluation.assignments(update.each):
            every = {**env, **more}
            if evaluation.value(update.when, before, every):
                row = tuple(str(evaluation.value(arg, before, every)) for arg in update.args)
                value = "" if update.value is None else str(evaluation.value(update.value, before, every))
                yield row, value


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
