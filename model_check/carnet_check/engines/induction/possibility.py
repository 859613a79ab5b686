"""Whether something can happen at all, in an instance of any size: the solver's answer.

What is asked is weaker than reachability and stronger than mere consistency with the axioms: relations that no step
inserts are as they were at first, and a variable over an enumeration holds a member that it was given at first or that
some step assigns. Only steps count that can be taken themselves, which is found out step by step from the first state
on. So "never" is established for every instance, while "perhaps" says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from carnet_check.engines.induction.obligations import system
from carnet_check.engines.induction.precondition import at_start
from carnet_check.engines.induction.solving import SolverOutcome, ask
from carnet_check.exports.smtlib import problem, statement
from carnet_spec.language import Action, Effect, Goal, Protocol, Symbol, Threat
from carnet_spec.language.terms import (
    Apply,
    Equal,
    Exists,
    Forall,
    Implies,
    Member,
    Term,
    Var,
    disjunction,
)


def satisfiable(
    protocol: Protocol,
    threat: Threat | None,
    premise: Goal,
    taken: Sequence[Action] | None,
    known: Mapping[str, Term],
) -> bool:
    """Whether ``premise`` may hold when only the actions of ``taken`` are ever taken; unsure counts as yes.

    Without ``taken`` nothing is said about how symbols change.
    """
    subject = system(protocol, threat)
    formulas: dict[str, Term] = {**subject.axioms, **{f"known:{name}": formula for name, formula in known.items()}}
    for number, fact in enumerate(() if taken is None else _never_changed(protocol, taken)):
        formulas[f"constant:{number}"] = fact
    formulas["premise"] = Exists(premise.params, premise.body) if premise.params else premise.body
    said = [statement(name, formula, subject.declarations) for name, formula in formulas.items()]
    return ask(problem(subject.declarations, said))[0] is not SolverOutcome.PROVED


def _never_changed(protocol: Protocol, taken: Sequence[Action]) -> Iterator[Term]:
    """Yield what the values of symbols are confined to, because no action of ``taken`` takes them elsewhere."""
    start = at_start(protocol.initial, protocol.symbols)
    for symbol in protocol.symbols:
        if not symbol.mutable:
            continue
        params = tuple(Var(f"c{number}", sort) for number, sort in enumerate(symbol.domain))
        place = Apply(symbol, params)
        confined = _empty_at_most(symbol, place, start(place), taken) if symbol.is_relation else None
        if symbol.result.is_enumeration:
            confined = _assigned(symbol, place, protocol, taken)
        if confined is not None:
            yield Forall(params, confined) if params else confined


def _empty_at_most(symbol: Symbol, place: Term, at_start: Term, taken: Sequence[Action]) -> Term | None:
    if any(u.symbol == symbol and u.effect is Effect.INSERT for action in taken for u in action.updates):
        return None
    return Implies(place, at_start)


def _assigned(symbol: Symbol, place: Term, protocol: Protocol, taken: Sequence[Action]) -> Term | None:
    """Say which members of an enumeration ``place`` can hold, if every assignment names one."""
    values: list[Term | None] = [initial.value for initial in protocol.initial if initial.symbol == symbol]
    values = values or [None]
    values += [u.value for action in taken for u in action.updates if u.symbol == symbol]
    if not all(isinstance(value, Member) for value in values):
        return None
    members = dict.fromkeys(value for value in values if value is not None)
    return disjunction(tuple(Equal(place, member) for member in members))
