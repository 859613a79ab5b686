"""Proofs of liveness by the rule of stages: by certificates if there are any, otherwise by the solver."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from carnet_check.engines.induction.induction import ProofResult, prove
from carnet_check.engines.induction.obligations import (
    System,
    after_updates,
    fresh_values_differ,
    system,
    with_constants,
)
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Batch, Question, Workers
from carnet_check.engines.interface import LivenessAnswer
from carnet_check.engines.proving.certified import CertifiedDesign
from carnet_check.engines.proving.composition import Composition, SolverOutcome
from carnet_check.exports.smtlib import statement
from carnet_check.obligations.liveness import Condition, Rule
from carnet_spec.language import Eventually, Protocol
from carnet_spec.language.terms import Term, negation


def by_fairness(
    protocol: Protocol,
    live: Eventually,
    proofs: Sequence[ProofResult] = (),
    workers: Workers | None = None,
    rlimit: int = DEFAULT_RLIMIT,
) -> LivenessAnswer:
    """Try to prove ``live`` by fairness of one of the actions that it names, and then of all of them.

    Args:
        protocol: the protocol of the property.
        live: the property.
        proofs: earlier proofs of the protocol's invariants, whose answers are reused.
        workers: a pool to use instead of starting one.
        rlimit: the solver's budget for each question, in units of its own counter.
    """
    with workers or Workers(1) as pool:
        return LivenessProofs(protocol, proofs, pool, rlimit=rlimit).answer(live)


class LivenessProofs:
    """Proofs of the liveness properties of one protocol, which share the text of its hypotheses.

    Args:
        protocol: the protocol of the properties.
        proofs: earlier proofs of its invariants, whose answers are reused.
        workers: the pool that runs the solver.
        design: what certificates prove of the protocol, or None.
        rlimit: the solver's budget for each question, in units of its own counter.
    """

    def __init__(
        self,
        protocol: Protocol,
        proofs: Sequence[ProofResult],
        workers: Workers,
        design: CertifiedDesign | None = None,
        rlimit: int = DEFAULT_RLIMIT,
    ) -> None:
        self._known = design.liveness if design else {}
        self._asked = _Asked(protocol, proofs, workers, design.composition if design else None, rlimit)

    def answer(self, live: Eventually) -> LivenessAnswer:
        """Try to prove a property by fairness of one of the actions that it names, and then of all of them.

        A property with parameters is proved for arbitrary constants, and so for all elements.
        """
        if live.name in self._known:
            return self._known[live.name]
        began = time.monotonic()
        answer = _by_fairness(self._asked, Rule(self._asked.protocol, live))
        return replace(answer, seconds=time.monotonic() - began)


def _by_fairness(asked: _Asked, rule: Rule) -> LivenessAnswer:
    asked.used, asked.conditions = frozenset(), 0
    if leaving := asked.lacking(rule.waits):
        return LivenessAnswer(open=leaving)
    lacking: tuple[str, ...] = () if rule.attempts else ("no action is to be taken fairly",)
    always = asked.used, asked.conditions
    for names in rule.attempts:
        asked.used, asked.conditions = always
        stages = rule.stages(names)
        missing = asked.lacking([stages.possible]) or asked.lacking(stages.moves) or asked.unproved()
        if not missing:
            return asked.proved(names)
        lacking += missing
    return LivenessAnswer(open=tuple(dict.fromkeys(lacking)))


class _Asked:
    """The solver's answers to conditions of one protocol; ``used`` are the hypotheses in the cores of its proofs.

    ``conditions`` counts the proved conditions. Stated invariants may be used as hypotheses, and are proved at the end.
    """

    def __init__(
        self,
        protocol: Protocol,
        proofs: Sequence[ProofResult],
        workers: Workers,
        certified: Composition | None,
        rlimit: int,
    ) -> None:
        self.protocol = protocol
        self.used: frozenset[str] = frozenset()
        self.conditions = 0
        self._certified = certified
        self._proofs = [*proofs]
        self._workers = workers
        self._rlimit = rlimit

    @cached_property
    def _system(self) -> System:
        known = (each.system for each in self._proofs if each.protocol is self.protocol)
        return next((each for each in known if each.threat is None), None) or system(self.protocol, None)

    def lacking(self, conditions: Sequence[Condition]) -> tuple[str, ...]:
        """Return the explanations of the conditions that follow neither from the axioms nor from axioms and invariants.

        The first given formula is tried alone first: it suffices if a step changes nothing that matters, and all these
        cases are the same question, which is asked once.
        """
        subject = self._system
        batch = Batch(subject.declarations, subject.step_hypotheses, (*map(self._question, conditions),), self._rlimit)
        proved = [each for each in self._workers.answers(batch) if each.outcome is SolverOutcome.PROVED]
        self.used = self.used.union(*(each.core for each in proved))
        self.conditions += len(proved)
        ids = {each.id for each in proved}
        return tuple(each.lacking for each in conditions if each.id not in ids)

    def _question(self, condition: Condition) -> Question:
        declarations = self._system.declarations
        given, goal = _step(condition)
        own = [statement(f"given:{place}", each, declarations) for place, each in enumerate(given)]
        names = [said.name for said in own]
        known = (tuple(names[:1]), (*self._system.axioms, *names), (*self._system.hypotheses, *names))
        return Question(condition.id, statement("goal", negation(goal), declarations), (*own,), known)

    # -- the invariants that were used -------------------------------------------------------------

    def unproved(self) -> tuple[str, ...]:
        """Prove the invariants that were used, and those that their proofs use; return the unproved obligations.

        The solver is not used if certificates prove all of them.
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
        """Return all invariants that answers depend on and the axioms of their proofs, if certificates prove them."""
        return self._certified.everywhere(self._named("inv:")) if self._certified else None

    def _prove(self, wanted: frozenset[str]) -> None:
        proof = prove(
            self.protocol,
            only=lambda each: each.invariant.name in wanted,
            baselines=self._proofs,
            workers=self._workers,
            rlimit=self._rlimit,
        )
        self._proofs.append(proof)

    def proved(self, names: tuple[str, ...]) -> LivenessAnswer:
        """Return the answer that the property is proved by fairness of these actions, with the basis of the proof."""
        invariants, axioms = self._by_certificates() or self._by_proofs()
        return LivenessAnswer(
            fair=names,
            axioms=self._named("axiom:") | axioms,
            lemmas=tuple(sorted(invariants)),
            believed=self.conditions if self._certified else 0,
        )

    def _by_proofs(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return all invariants that the answers depend on, and the axioms of their proofs."""
        named = self._named("inv:")
        invariants = named.union(*(self._proofs[-1].uses(name) for name in named))
        return invariants, frozenset[str]().union(*(self._proofs[-1].axioms(name) for name in invariants))

    def _named(self, kind: str) -> frozenset[str]:
        return frozenset(name.removeprefix(kind) for name in self.used if name.startswith(kind))


def _step(condition: Condition) -> tuple[tuple[Term, ...], Term]:
    """Return the hypotheses of a condition, and the formula that has to follow."""
    action = condition.action
    if action is None:
        return (condition.before,), condition.after
    ground = with_constants(action)
    given = (condition.before, *(guard.formula for guard in ground.guards), fresh_values_differ(action))
    return given, after_updates(ground.updates)(condition.after)
