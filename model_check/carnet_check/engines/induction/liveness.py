"""Liveness by one rule: somebody who can act, is treated fairly, and gets there in one step.

If what is waited for can only come or be waited for on (no step leaves the waiting otherwise), and if one action is
possible all the while and ends the waiting, then weak fairness of that action brings it about. This is the rule WF1 of
the temporal logic of actions (L. Lamport, "The Temporal Logic of Actions", ACM TOPLAS 16(3), 1994, section 5.6). It
asks for no instance and uses axioms alone, so it holds for any number of parties and under every threat model.
"""

from __future__ import annotations

from carnet_check.engines.induction.obligations import drawn_apart, fresh_values_differ, system
from carnet_check.engines.induction.precondition import after_updates, with_constants
from carnet_check.engines.induction.workers import ask_apart
from carnet_check.engines.interface import LivenessAnswer
from carnet_check.engines.proving.answers import SolverOutcome
from carnet_check.exports.smtlib import Declarations, problem, statement
from carnet_spec.language import Action, Eventually, Protocol
from carnet_spec.language.terms import Exists, Term, conjunction, disjunction, negation


def by_fairness(protocol: Protocol, live: Eventually) -> LivenessAnswer:
    """Try to prove ``live`` by fairness of one of the actions that it names."""
    rule = _Rule(protocol, live)
    leaving = [action.name for action in protocol.actions if not rule.keeps_waiting(action)]
    if leaving:
        return LivenessAnswer(open=tuple(f"{name} may end the waiting without what is waited for" for name in leaving))
    lacking: list[str] = []
    for name in live.fair:
        missing = rule.missing(protocol.action(name))
        if not missing:
            return LivenessAnswer(fair=name, axioms=frozenset(rule.used))
        lacking += missing
    return LivenessAnswer(open=tuple(lacking) or ("no action is to be taken fairly",))


class _Rule:
    """The three conditions of WF1, asked of the solver; ``used`` are the axioms that its answers rest on."""

    def __init__(self, protocol: Protocol, live: Eventually) -> None:
        self.axioms = system(protocol, None).axioms
        self.waiting = conjunction((live.trigger, negation(live.response)))
        self.live = live
        self.used: set[str] = set()

    def keeps_waiting(self, action: Action) -> bool:
        """Whether after ``action`` it is still waited for, or there."""
        return self._follows(action, disjunction((self.live.trigger, self.live.response)))

    def missing(self, action: Action) -> list[str]:
        """Return what fairness of ``action`` lacks to bring it about."""
        guards = conjunction((*(guard.formula for guard in action.guards), drawn_apart(action.fresh)))
        enabled = Exists(action.params, guards) if action.params else guards
        brought, possible = self._follows(action, self.live.response), self._valid((self.waiting,), enabled)
        return [
            *([] if brought else [f"{action.name} does not always bring it about"]),
            *([] if possible else [f"{action.name} is not always possible meanwhile"]),
        ]

    def _follows(self, action: Action, after: Term) -> bool:
        """Whether ``after`` holds once ``action`` was taken while it was waited."""
        ground = with_constants(action)
        before = (self.waiting, *(guard.formula for guard in ground.guards), fresh_values_differ(action))
        return self._valid(before, after_updates(ground.updates)(after))

    def _valid(self, given: tuple[Term, ...], goal: Term) -> bool:
        """Whether the axioms and what is given make ``goal`` true in every world."""
        declarations = Declarations()
        formulas = {**self.axioms, **{f"given:{number}": each for number, each in enumerate(given)}}
        said = [statement(name, formula, declarations) for name, formula in formulas.items()]
        outcome, core, _ = ask_apart(problem(declarations, [*said, statement("goal", negation(goal), declarations)]))
        self.used.update(name.removeprefix("axiom:") for name in core if name.startswith("axiom:"))
        return outcome is SolverOutcome.PROVED
