"""Whether something can happen at all, in an instance of any size: the solver's answer.

What is asked is weaker than reachability and stronger than mere consistency with the axioms: relations that no step
inserts are as they were at first, and a variable over an enumeration holds a member that it was given at first or that
some step assigns. Only steps count that can be taken themselves, which is found out step by step from the first state
on. So "never" is established for every instance, while "perhaps" says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from carnet_check.cache import Answers
from carnet_check.engines.induction.obligations import system
from carnet_check.engines.induction.precondition import at_start
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, ask_apart
from carnet_check.engines.interface import Possibilities
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import keep
from carnet_check.engines.proving.solver import known as remembered
from carnet_check.exports.smtlib import Statement, problem, statement
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

PREMISE = "premise"


class SolverPossibilities(Possibilities):
    """The solver's answers for one protocol under one threat model, with what is ``known`` to hold in every state.

    What is given is written down once. What was refuted stays refuted as long as the facts hold that its core names:
    the more actions are taken, the fewer facts hold.
    """

    def __init__(
        self,
        protocol: Protocol,
        threat: Threat | None,
        known: Mapping[str, Term],
        before: Answers | None = None,
    ) -> None:
        self.before = before
        subject = system(protocol, threat)
        self._declarations = subject.declarations
        formulas: dict[str, Term] = {**subject.axioms, **{f"known:{name}": formula for name, formula in known.items()}}
        self._given = [statement(name, formula, self._declarations) for name, formula in formulas.items()]
        self._confined = _Confined(protocol)
        self._written: dict[tuple[Symbol, tuple[Term | None, ...]], Statement] = {}
        self._refuted: dict[Goal, frozenset[str]] = {}
        self._unanswered: set[Goal] = set()

    def may(self, premise: Goal, taken: Sequence[Action] | None) -> bool:
        """Whether ``premise`` may hold when only the actions of ``taken`` are ever taken; unsure counts as yes."""
        facts = {said.text: said for said in self._facts(taken)} if taken is not None else {}
        if premise in self._refuted and self._refuted[premise] <= facts.keys():
            return False
        body = Exists(premise.params, premise.body) if premise.params else premise.body
        said = [*self._given, *facts.values(), statement(PREMISE, body, self._declarations)]
        answer = self._answer(problem(self._declarations, said), [each.name for each in said])
        self._unanswered.discard(premise)
        if answer.outcome is SolverOutcome.UNKNOWN:
            self._unanswered.add(premise)
        if answer.outcome is not SolverOutcome.PROVED:
            return True
        self._refuted[premise] = frozenset(text for text, fact in facts.items() if fact.name in answer.core)
        return False

    def answered(self, premise: Goal) -> bool:
        """Whether the solver answered within its budget, and its worker was not lost."""
        return premise not in self._unanswered

    def _answer(self, text: str, names: Sequence[str]) -> SolverAnswer:
        """Ask the solver, unless it was asked before."""
        if self.before is not None and (found := remembered(self.before, PREMISE, text, DEFAULT_RLIMIT, names)):
            return found
        outcome, core, reason = ask_apart(text)
        answer = SolverAnswer(PREMISE, outcome, core, reason=reason)
        if self.before is not None:
            keep(self.before, answer, text, DEFAULT_RLIMIT)
        return answer

    def _facts(self, taken: Sequence[Action]) -> Iterator[Statement]:
        """Yield what the values of symbols are confined to, because no action of ``taken`` takes them elsewhere."""
        for symbol, values in self._confined.to(taken):
            if (symbol, values) not in self._written:
                fact = self._confined.fact(symbol, values)
                self._written[symbol, values] = statement(f"constant:{symbol.name}", fact, self._declarations)
            yield self._written[symbol, values]


class _Confined:
    """What each symbol is confined to while only some actions are taken.

    A relation that nobody inserts into holds what it held at first. A variable over an enumeration, each of whose
    assignments names a member, holds a member that it held at first or that somebody assigns.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._start = at_start(protocol.initial, protocol.symbols)
        self._mutable = [symbol for symbol in protocol.symbols if symbol.mutable]
        self._first: dict[Symbol, list[Term | None]] = {each: [] for each in self._mutable}
        for initial in protocol.initial:
            self._first[initial.symbol].append(initial.value)

    def to(self, taken: Sequence[Action]) -> Iterator[tuple[Symbol, tuple[Term | None, ...]]]:
        """Yield each symbol that is confined, and to which values: none in particular, for a relation."""
        inserted = {u.symbol for action in taken for u in action.updates if u.effect is Effect.INSERT}
        assigned: dict[Symbol, list[Term | None]] = {}
        for update in (update for action in taken for update in action.updates):
            assigned.setdefault(update.symbol, []).append(update.value)
        for symbol in self._mutable:
            if symbol.is_relation and symbol not in inserted:
                yield symbol, ()
            elif symbol.result.is_enumeration:
                values = self._first[symbol] or [None]
                values = [*values, *assigned.get(symbol, ())]
                if all(isinstance(value, Member) for value in values):
                    yield symbol, tuple(dict.fromkeys(values))

    def fact(self, symbol: Symbol, values: tuple[Term | None, ...]) -> Term:
        """Say that a symbol is confined."""
        params = tuple(Var(f"c{number}", sort) for number, sort in enumerate(symbol.domain))
        place = Apply(symbol, params)
        named = disjunction(tuple(Equal(place, value) for value in values if value is not None))
        confined = Implies(place, self._start(place)) if symbol.is_relation else named
        return Forall(params, confined) if params else confined
