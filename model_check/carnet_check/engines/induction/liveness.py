"""Liveness by stages: somebody can act always and is treated fairly, and no run goes round among stages for ever.

The actions that are treated fairly are stages, in the order in which they are named. A state in which something is
waited for is at the last stage whose action is possible. If there always is one, if no step leads back to an earlier
stage or ends the waiting otherwise, and if the action of a stage leads beyond it, then a run that waits for ever is at
one stage for ever: its action is possible all the while and never taken, which weak fairness rules out. With one stage
this is the rule WF1 of the temporal logic of actions, with several its lattice rule (L. Lamport, "The Temporal Logic of
Actions", ACM TOPLAS 16(3), 1994, sections 5.6 and 5.7). Steps may lead back from a stage whose action is treated
strongly fairly: a run that comes there again and again has it taken in the end. The rule asks for no instance, and uses
no axiom of a threat model, so it holds for any number of parties and under every threat model.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from carnet_check.engines.induction.induction import ProofResult, prove
from carnet_check.engines.induction.obligations import (
    System,
    after_updates,
    drawn_apart,
    fresh_values_differ,
    system,
    with_constants,
)
from carnet_check.engines.induction.solving import Batch, Question, Workers
from carnet_check.engines.interface import LivenessAnswer
from carnet_check.engines.proving.composition import Composition, SolverOutcome
from carnet_check.exports.smtlib import statement
from carnet_check.reserved_symbols import Purpose, stand_in
from carnet_check.semantics.fairness import divided
from carnet_check.wording import listed
from carnet_spec.language import Action, Eventually, GuardKind, Protocol
from carnet_spec.language.terms import Exists, Term, Var, conjunction, disjunction, free_variables, negation


def by_fairness(
    protocol: Protocol, live: Eventually, proofs: Sequence[ProofResult] = (), workers: Workers | None = None
) -> LivenessAnswer:
    """Try to prove ``live`` by fairness of one of the actions that it names, and then of all of them.

    Args:
        protocol: whose property it is.
        live: the property.
        proofs: of the protocol's invariants; what they proved is not asked again.
        workers: a pool to use instead of starting one.
    """
    with workers or Workers(1) as pool:
        return LivenessProofs(protocol, proofs, pool).answer(live)


class LivenessProofs:
    """Proofs of the liveness properties of one protocol, which share the text of its hypotheses.

    Args:
        protocol: whose properties they are.
        proofs: of its invariants; what they proved is not asked again.
        workers: who asks the solver.
        certified: what certificates prove of the invariants, if there are any.
    """

    def __init__(
        self,
        protocol: Protocol,
        proofs: Sequence[ProofResult],
        workers: Workers,
        certified: Composition | None = None,
    ) -> None:
        self._protocol, self._proofs, self._workers, self._certified = protocol, proofs, workers, certified

    @cached_property
    def _asked(self) -> _Asked:
        known = (each.system for each in self._proofs if each.protocol is self._protocol)
        subject = next((each for each in known if each.threat is None), None) or system(self._protocol, None)
        return _Asked(subject, self._proofs, self._workers, self._certified)

    def answer(self, live: Eventually) -> LivenessAnswer:
        """Try to prove a property by fairness of one of the actions that it names, and then of all of them.

        One with parameters is proved of arbitrary constants, and so of all elements.
        """
        began = time.monotonic()
        self._asked.used, self._asked.conditions = frozenset(), 0
        constants = (stand_in(Purpose.SKOLEM, var) for var in live.params)
        return replace(_by_fairness(self._asked, live.at(constants)), seconds=time.monotonic() - began)


def _by_fairness(asked: _Asked, live: Eventually) -> LivenessAnswer:
    protocol = asked.protocol
    waiting = conjunction((live.trigger, negation(live.response)))
    waited_on = disjunction((live.trigger, live.response))
    leaving = asked.failing(
        (each, waiting, waited_on, f"{each.name} may end the waiting without what is waited for")
        for each in protocol.actions
    )
    if leaving:
        return LivenessAnswer(open=leaving)
    lacking: tuple[str, ...] = () if live.fair else ("no action is to be taken fairly",)
    always = asked.used, asked.conditions
    alone = tuple((name,) for name in live.fair)
    for names in (*alone, live.fair) if len(alone) > 1 else alone:
        asked.used, asked.conditions = always
        stages = _Stages(asked, live.fair_to(names), waiting)
        missing = stages.missing() or asked.unproved()
        if not missing:
            believed = asked.conditions if asked.certified else 0
            return LivenessAnswer(fair=names, axioms=asked.axioms, lemmas=asked.lemmas, believed=believed)
        lacking += missing
    return LivenessAnswer(open=tuple(dict.fromkeys(lacking)))


Leads = tuple[Action, Term, Term, str]
"""An action that, taken where one formula holds, is to lead to where another does; and what is said if it may not."""


class _Stages:
    """The conditions of the rule for actions that are treated fairly, in the order in which they are due."""

    def __init__(self, asked: _Asked, live: Eventually, waiting: Term) -> None:
        self._asked = asked
        self._response = live.response
        self._strong = live.strong
        self._waiting = waiting
        self._parts = divided(asked.protocol, [live])
        self._stages = [self._parts.action(name) for name in live.fair]
        self._possible = [_enabled(action) for action in self._stages]

    def missing(self) -> tuple[str, ...]:
        names = [action.name for action in self._stages]
        if not self._asked.held([((self._waiting,), disjunction(tuple(self._possible)))])[0]:
            return (
                f"{names[0]} is not always possible meanwhile"
                if len(names) == 1
                else f"there are times at which none of {listed(names)} is possible",
            )
        return self._asked.failing(each for place in range(len(names)) for each in self._of(place))

    def _of(self, place: int) -> Iterator[Leads]:
        """Yield what is to hold so that no run stays at a stage although its action is taken, or goes back from it.

        There is no way back from the first stage: where something is waited for, some stage is possible. One whose
        action is treated strongly fairly may be left again: as long as it is reached again and again, it is taken.
        """
        own, later = self._stages[place], [action.name for action in self._stages[place + 1 :]]
        stays = f"{own.name} does not always bring it about" + (f" or make {listed(later)} possible" if later else "")
        yield own, self._at(place), self._beyond(place + 1), stays
        for action in self._parts.actions if place and own.name not in self._strong else ():
            if action.name != own.name:
                back = f"{action.name} may lead back from where {own.name} is possible"
                yield action, self._at(place), self._beyond(place), back

    def _at(self, place: int) -> Term:
        """Return that it is waited for, and which stage it is at: the last one whose action is possible."""
        after = (negation(each) for each in self._possible[place + 1 :])
        return conjunction((self._waiting, self._possible[place], *after))

    def _beyond(self, place: int) -> Term:
        """Return that it is there, or that this stage or a later one is possible."""
        return disjunction((self._response, *self._possible[place:]))


def _enabled(action: Action) -> Term:
    """Return that the guards allow the action for some elements.

    Something is always left to draw fresh, so what is drawn need not be asked for, unless another guard speaks of it.
    """
    others = (guard.formula for guard in action.guards if guard.kind is not GuardKind.FRESH)
    spoken = frozenset[Var]().union(*map(free_variables, others))
    drawn = frozenset(action.fresh) - spoken
    asked = (guard.formula for guard in action.guards if drawn.isdisjoint(free_variables(guard.formula)))
    guards = conjunction((*asked, drawn_apart(var for var in action.fresh if var not in drawn)))
    params = tuple(var for var in action.params if var not in drawn)
    return Exists(params, guards) if params else guards


class _Asked:
    """What the solver says of steps of one protocol; ``used`` are the hypotheses that its answers rest on.

    ``conditions`` counts what it proved, for which there are no certificates.

    Invariants may be used as they are stated, and are proved in the end.
    """

    def __init__(
        self, subject: System, proofs: Sequence[ProofResult], workers: Workers, certified: Composition | None
    ) -> None:
        self.protocol = subject.protocol
        self.used: frozenset[str] = frozenset()
        self.conditions = 0
        self.certified = certified
        self._system = subject
        self._proofs = [*proofs]
        self._workers = workers

    def failing(self, wanted: Iterable[Leads]) -> tuple[str, ...]:
        asked = [*wanted]
        held = self.held([self._step(action, before, after) for action, before, after, _ in asked])
        return tuple(said for (*_, said), holds in zip(asked, held, strict=True) if not holds)

    def _step(self, action: Action, before: Term, after: Term) -> tuple[tuple[Term, ...], Term]:
        ground = with_constants(action)
        given = (before, *(guard.formula for guard in ground.guards), fresh_values_differ(action))
        return given, after_updates(ground.updates)(after)

    def held(self, wanted: Sequence[tuple[tuple[Term, ...], Term]]) -> list[bool]:
        """Say of each goal whether it follows from what is given with it and axioms, or else from invariants, too.

        What comes first among what is given is tried alone: it suffices where a step leaves everything as it is, and
        all these are one question, which is asked once.
        """
        subject = self._system
        questions = [self._question(number, given, goal) for number, (given, goal) in enumerate(wanted)]
        answers = {}
        for answer in self._workers.answers(Batch(subject.declarations, subject.step_hypotheses, (*questions,))):
            answers[answer.id] = answer.outcome is SolverOutcome.PROVED
            if answers[answer.id]:
                self.used |= frozenset(answer.core)
                self.conditions += 1
        return [answers[question.id] for question in questions]

    def _question(self, number: int, given: Iterable[Term], goal: Term) -> Question:
        declarations = self._system.declarations
        own = [statement(f"given:{place}", each, declarations) for place, each in enumerate(given)]
        names = [said.name for said in own]
        known = (tuple(names[:1]), (*self._system.axioms, *names), (*self._system.hypotheses, *names))
        return Question(str(number), statement("goal", negation(goal), declarations), (*own,), known)

    # -- what is used ------------------------------------------------------------------------------

    def unproved(self) -> tuple[str, ...]:
        """Prove the invariants that were used, and those that these rest on; return the obligations without a proof.

        What certificates prove of all of them is not asked.
        """
        if self._by_certificates() is not None:
            return ()
        wanted, reached = frozenset[str](), self._named("inv:")
        while reached != wanted:
            wanted = reached
            self._prove(wanted)
            reached = wanted.union(*(self._proofs[-1].uses(name) for name in wanted))
        return tuple(dict.fromkeys(id for name in sorted(wanted) for id in self._proofs[-1].missing(name)))

    def _by_certificates(self) -> tuple[frozenset[str], frozenset[str]] | None:
        """Return all invariants that answers rest on, and the axioms of their proofs, if certificates prove them."""
        return self.certified.everywhere(self._named("inv:")) if self.certified else None

    def _prove(self, wanted: frozenset[str]) -> None:
        proof = prove(
            self.protocol,
            only=lambda each: each.invariant.name in wanted,
            baselines=self._proofs,
            workers=self._workers,
        )
        self._proofs.append(proof)

    @property
    def lemmas(self) -> tuple[str, ...]:
        """The invariants that answers rest on, sorted."""
        if (certified := self._by_certificates()) is not None:
            return tuple(sorted(certified[0]))
        named = self._named("inv:")
        return tuple(sorted(named.union(*(self._proofs[-1].uses(name) for name in named))))

    @property
    def axioms(self) -> frozenset[str]:
        """The axioms that answers and the proofs of lemmas rest on."""
        if (certified := self._by_certificates()) is not None:
            return self._named("axiom:") | certified[1]
        return self._named("axiom:").union(*(self._proofs[-1].axioms(name) for name in self.lemmas))

    def _named(self, kind: str) -> frozenset[str]:
        return frozenset(name.removeprefix(kind) for name in self.used if name.startswith(kind))
