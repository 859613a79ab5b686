"""Folding: what an instance decides about a formula before any state is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from carnet_spec.language import Action, Guard, Instance, Row, Symbol, Term, Update
from carnet_spec.language.terms import (
    FALSE,
    TRUE,
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
    conjunction,
    disjunction,
    free_variables,
    negation,
    rebuild,
    substitute,
    symbols_of,
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A formula that must hold, or must not."""

    term: Term
    wanted: bool
    needs: frozenset[str]


def conditions_in(term: Term, wanted: bool = True) -> list[Condition]:
    """Split a formula (or its negation) into parts that must all hold."""
    match term:
        case Not(body):
            return conditions_in(body, not wanted)
        case And(parts) if wanted:
            return [test for part in parts for test in conditions_in(part, True)]
        case Or(parts) if not wanted:
            return [test for part in parts for test in conditions_in(part, False)]
        case Implies(premise, conclusion) if not wanted:
            return conditions_in(premise, True) + conditions_in(conclusion, False)
        case _:
            return [Condition(term, wanted, frozenset(var.name for var in free_variables(term)))]


class Folding:
    """Replaces by their values what has no variables and never changes; an element stands as a member of its sort."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def term(self, term: Term) -> Term:
        """Fold a term."""
        folded = rebuild(term, self.term)
        match folded:
            case Apply(symbol, args) if not symbol.mutable:
                return self._rigid(symbol, args)
            case Equal(Member(_, left), Member(_, right)):
                return Truth(left == right)
            case Equal(left, right) if left == right:
                return TRUE
            case Not(body):
                return negation(body)
            case And(parts):
                return conjunction(parts)
            case Or(parts):
                return disjunction(parts)
            case Implies(premise, conclusion) if TRUE in (premise, conclusion) or FALSE in (premise, conclusion):
                return disjunction((negation(premise), conclusion))
            case IfThenElse(Truth(value), then, otherwise):
                return then if value else otherwise
            case Forall(bound, Truth(value)):
                return Truth(value or self._is_empty(bound))
            case Exists(bound, Truth(value)):
                return Truth(value and not self._is_empty(bound))
            case _:
                return folded

    def action(self, action: Action) -> Action:
        """Fold the guards and updates of an action."""
        return replace(
            action,
            guards=tuple(self._guard(guard) for guard in action.guards),
            updates=tuple(self._update(update) for update in action.updates),
        )

    def domain(self, var: Var, pool: Row, tests: Sequence[Condition]) -> Row:
        """Return the elements of the pool that no condition on this variable alone rules out."""
        decided = [test for test in tests if test.needs == {var.name} and not changes(test.term)]
        return tuple(
            element
            for element in pool
            if all(
                self.term(substitute(test.term, {var: Member(var.sort, element)})) != Truth(not test.wanted)
                for test in decided
            )
        )

    def domains(self, variables: Sequence[Var], tests: Sequence[Condition]) -> dict[str, Row]:
        """Return the elements that variables ranging over their sorts may be."""
        return {var.name: self.domain(var, self.instance.of(var.sort), tests) for var in variables}

    def _rigid(self, symbol: Symbol, args: tuple[Term, ...]) -> Term:
        row = tuple(arg.name for arg in args if isinstance(arg, Member))
        if len(row) < len(args):
            return Apply(symbol, args)
        if symbol.is_relation:
            return Truth(row in self.instance.relations.get(symbol.name, frozenset()))
        return Member(symbol.result, self.instance.functions[symbol.name][row])

    def _guard(self, guard: Guard) -> Guard:
        return replace(guard, formula=self.term(guard.formula))

    def _update(self, update: Update) -> Update:
        return replace(
            update,
            args=tuple(self.term(arg) for arg in update.args),
            value=None if update.value is None else self.term(update.value),
            when=self.term(update.when),
        )

    def _is_empty(self, bound: Sequence[Var]) -> bool:
        return any(not self.instance.of(var.sort) for var in bound)


def changes(term: Term) -> bool:
    """Whether a term reads anything that may change."""
    return any(symbol.mutable for symbol in symbols_of(term))
