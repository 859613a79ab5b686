"""Deductions: what follows by itself in a state, taken until nothing is added, and why the order is no matter."""

from __future__ import annotations

from collections.abc import Sequence

from carnet_check.semantics.firing import Firing
from carnet_check.semantics.state import State
from carnet_spec.language import Action, Effect, GuardKind, SpecificationError, Symbol, Term
from carnet_spec.language.terms import And, Apply, Exists, Forall, Implies, Not, Or, children, symbols_of
from carnet_spec.trace import TraceStep


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
            _require_monotone(rule, inserted)

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
    """Return the names of what a rule reads and writes."""
    terms = [guard.formula for guard in rule.guards]
    terms += [term for update in rule.updates for term in (*update.args, update.when)]
    written = {update.symbol.name for update in rule.updates}
    return frozenset(written | {symbol.name for term in terms for symbol in symbols_of(term) if symbol.mutable})


def _agree(one: State | None, other: State, names: frozenset[str]) -> bool:
    """Whether two states give these symbols the same value."""
    if one is None:
        return False
    return all(
        one.relations.get(name) == other.relations.get(name) and one.functions.get(name) == other.functions.get(name)
        for name in names
    )


def _require_monotone(rule: Action, inserted: frozenset[Symbol]) -> None:
    """Refuse a deduction whose premises deny what deductions insert: it would depend on their order."""
    premises = [guard.formula for guard in rule.guards]
    premises += [term for update in rule.updates for term in (*update.args, update.when)]
    for part in premises:
        denied = _denied(part) & inserted
        if denied:
            names = ", ".join(sorted(symbol.name for symbol in denied))
            raise SpecificationError(f"rule {rule.name} depends on the absence of {names}, which deductions insert")
    if any(update.effect is not Effect.INSERT for update in rule.updates):
        raise SpecificationError(f"rule {rule.name} does more than insert")
    if any(guard.kind is GuardKind.FRESH for guard in rule.guards):
        raise SpecificationError(f"rule {rule.name} draws a fresh value: make it an action")
    if rule.cost:
        raise SpecificationError(f"rule {rule.name} costs a move of the adversary, but a deduction is free")


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
