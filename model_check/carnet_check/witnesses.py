"""Witnesses of earlier answers: they are checked again when a specification changes, and spare the search for them.

A run witnesses that a claim falls: the interpreter takes its steps in the design as it is now, and the claim is false
at the end. An invariant that a step breaks witnesses a failed proof, and the solver is asked for that step and that
invariant alone (:mod:`.mutation.judging`). Where the same code was asked the same question, the answer is a witness of
itself: :class:`Questions` tells. Nothing else of an earlier answer is believed. What has no witness that still holds
is looked for anew, and so is what was unknown.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property

from carnet_check.loading.families import Source, axiom_violations, threat_of
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_spec.language import Action, Profile, Protocol, SpecificationError
from carnet_spec.trace import Trace


def breaks(judge: Interpreter, claim: str, run: Trace) -> bool:
    """Whether each step of a run can be taken, and a claim is false at its end."""
    try:
        return not judge.holds(judge.protocol.claim(claim).checked.formula, judge.replay(run)[-1])
    except (NotEnabled, SpecificationError):
        return False


def is_attack(source: Source, protocol: Protocol, profile: Profile, claim: str, run: Trace) -> bool:
    """Whether a run breaks a claim of a design, in an instance of some size that its threat model allows."""
    try:
        judge = Interpreter(protocol, source.instance(protocol, run.threat, profile))
        wrong = axiom_violations(judge, threat_of(protocol, run.threat))
    except SpecificationError:
        return False
    return not wrong and breaks(judge, claim, run)


class Questions:
    """Digests of questions about changes of a protocol: equal questions have equal answers."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._premises: dict[str, str] = {}

    def digest(self, changed: Action | None = None) -> str:
        """Return what tells apart the questions whether all is proved if an action is changed, or something else is.

        A proof about one action depends on the axioms, the claims, the lemmas and that action, and on no other one.
        """
        if changed is None:
            return self._protocol.digest
        if changed.name not in self._premises:
            before = self._protocol.action(changed.name)
            self._premises[changed.name] = replace(self._protocol, actions=(before,)).digest
        after = replace(self._bare, actions=(changed,)).digest
        return hashlib.sha256(f"{self._premises[changed.name]} {after}".encode()).hexdigest()[:32]

    @cached_property
    def _bare(self) -> Protocol:
        """The protocol's symbols alone."""
        nothing = replace(self._protocol, actions=(), axioms=(), initial=(), claims=(), lemmas=(), goals=())
        return replace(nothing, liveness=(), threats=(), assumptions=(), defences=())
