"""Steps one by one: what a changed action still keeps, and what follows from what holds before every step.

Questions are asked in this process and answered as they are taken, so that who has heard enough stops. A caller that
wants bounded memory runs in a worker process.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from carnet_check.engines.induction.induction import attempts
from carnet_check.engines.induction.obligations import (
    GOAL,
    Obligation,
    System,
    obligations_of,
    obligations_of_action,
    system,
)
from carnet_check.engines.induction.simplify import simplified
from carnet_check.engines.induction.solving import Batch, Question, solve
from carnet_check.engines.interface import ObligationAnswer, StepProofs
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import load_hints
from carnet_check.exports.smtlib import Statement, statement
from carnet_spec.language import Action, Protocol, Threat
from carnet_spec.language.terms import TRUE, Term, negation


class SolverSteps(StepProofs):
    """Z3's answers about the steps of one protocol under one threat model."""

    def __init__(self, protocol: Protocol, threat: Threat | None, rlimit: int) -> None:
        self._system = system(protocol, threat)
        self._hints = load_hints(protocol)
        self._rlimit = rlimit

    def kept(self, action: Action, invariants: Collection[str], first: str = "") -> Iterator[ObligationAnswer]:
        """Ask about each invariant that the action may break."""
        subject = system(self._system.protocol, self._system.threat)
        return self._answered(subject, obligations_of_action(subject, action, invariants), first)

    def every(self, invariants: Collection[str], first: str = "") -> Iterator[ObligationAnswer]:
        """Ask about each obligation."""
        listed = (each for each in obligations_of(self._system) if each.invariant.name in invariants)
        return self._answered(self._system, listed, first)

    def follows(self, given: Mapping[str, Term], goal: Term) -> ObligationAnswer:
        """Ask first with those invariants alone that speak of no other state than what is given and the goal."""
        declarations, shared = self._system.declarations, self._system.step_hypotheses
        own = tuple(statement(name, simplified(formula), declarations) for name, formula in given.items())
        denied = statement(GOAL, negation(simplified(goal)), declarations)
        every = (*shared, *given)
        near = tuple(name for name in every if name in given or _is_near(shared[name], (*own, denied)))
        tried = (near, every) if len(near) < len(every) else (every,)
        return self._asked(self._system, Question(GOAL, denied, own, tried))

    def _answered(self, subject: System, listed: Iterable[Obligation], first: str) -> Iterator[ObligationAnswer]:
        for each in self._in_order(listed, first):
            if each.goal == TRUE:
                yield self._told(SolverAnswer(each.id, SolverOutcome.PROVED))
            else:
                tried = attempts(each, each.shared, self._hints.get(each.id))
                yield self._asked(subject, Question(each.id, each.negated_goal, each.own_statements, tried))

    def _in_order(self, listed: Iterable[Obligation], first: str) -> Sequence[Obligation]:
        return sorted(listed, key=lambda each: first not in self._hints.get(each.id, ()))

    def _asked(self, subject: System, question: Question) -> ObligationAnswer:
        batch = Batch(subject.declarations, subject.step_hypotheses, (question,), self._rlimit)
        (answer,) = solve(batch)
        return self._told(answer)

    def _told(self, answer: SolverAnswer) -> ObligationAnswer:
        layer = self._system.threat.id if self._system.threat else ""
        outcome, seconds, reason = str(answer.outcome), answer.seconds, answer.reason
        return ObligationAnswer(layer, answer.id, outcome, seconds=seconds, reason=reason, core=answer.core)


def _is_near(said: Statement, spoken: Iterable[Statement]) -> bool:
    known = {name for each in spoken for name in each.symbols}
    return all(name in known for name in said.symbols if name.startswith("now."))
