"""Liveness by one rule: somebody who can act, is treated fairly, and gets there in one step.

If what is waited for can only come or be waited for on (no step leaves the waiting otherwise), and if one action is
possible all the while and ends the waiting, then weak fairness of that action brings it about. This is the rule WF1 of
the temporal logic of actions (L. Lamport, "The Temporal Logic of Actions", ACM TOPLAS 16(3), 1994, section 5.6). It
asks for no instance and uses axioms alone, so it holds for any number of parties and under every threat model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from carnet_check.symbolic.obligations import drawn_apart, fresh_values_differ, system
from carnet_check.symbolic.precondition import after_updates, with_constants
from carnet_check.symbolic.smtlib import Declarations, problem, statement
from carnet_check.symbolic.solving import Outcome, ask
from carnet_spec.language import Action, Eventually, Protocol
from carnet_spec.language.terms import Exists, Term, conjunction, disjunction, negation


@dataclass(frozen=True, slots=True)
class Lively:
    """Whether a liveness property is proved: by fairness of which action, or why it is not."""

    fair: str = ""
    open: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether it is proved."""
        return bool(self.fair)


def by_fairness(protocol: Protocol, live: Eventually) -> Lively:
    """Try to prove ``live`` by fairness of one of the actions that it names."""
    kept = [name for name, action in _actions(protocol) if not _keeps(protocol, live, action)]
    if kept:
        return Lively(open=tuple(f"{name} may end the waiting without what is waited for" for name in kept))
    missing: list[str] = []
    for name in live.fair:
        lacking = list(_lacking(protocol, live, protocol.action(name)))
        if not lacking:
            return Lively(fair=name)
        missing += lacking
    return Lively(open=tuple(missing) or ("no action is to be taken fairly",))


def _actions(protocol: Protocol) -> Iterator[tuple[str, Action]]:
    return ((action.name, action) for action in protocol.actions)


def _waiting(live: Eventually) -> Term:
    return conjunction((live.trigger, negation(live.response)))


def _keeps(protocol: Protocol, live: Eventually, action: Action) -> bool:
    """Whether after ``action`` it is still waited for, or there."""
    return _follows(protocol, live, action, disjunction((live.trigger, live.response)))


def _lacking(protocol: Protocol, live: Eventually, action: Action) -> Iterator[str]:
    if not _follows(protocol, live, action, live.response):
        yield f"{action.name} does not always bring it about"
    guards = conjunction((*(guard.formula for guard in action.guards), drawn_apart(action.fresh)))
    enabled = Exists(action.params, guards) if action.params else guards
    if not _valid(protocol, (_waiting(live),), enabled):
        yield f"{action.name} is not always possible meanwhile"


def _follows(protocol: Protocol, live: Eventually, action: Action, after: Term) -> bool:
    """Whether ``after`` holds once ``action`` was taken while it was waited."""
    ground = with_constants(action)
    before = (_waiting(live), *(guard.formula for guard in ground.guards), fresh_values_differ(action))
    return _valid(protocol, before, after_updates(ground.updates)(after))


def _valid(protocol: Protocol, given: tuple[Term, ...], goal: Term) -> bool:
    """Whether the axioms and what is given make ``goal`` true in every world."""
    declarations = Declarations()
    formulas = {**system(protocol, None).axioms, **{f"given:{number}": each for number, each in enumerate(given)}}
    said = [statement(name, formula, declarations) for name, formula in formulas.items()]
    said.append(statement("goal", negation(goal), declarations))
    return ask(problem(declarations, said))[0] is Outcome.PROVED
