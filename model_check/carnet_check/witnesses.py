"""Witnesses of earlier answers, which are checked again when a specification changes, instead of a new search.

A run is the witness of a violated claim: the interpreter takes its steps in the present design, and the claim is false
at the end. An action and an invariant that it does not preserve are the witness of a failed proof: the solver is asked
about this pair alone (:mod:`.mutation.judging`). If the same code was asked the same question, the answer is its own
witness; :class:`Questions` identifies questions. Nothing else of an earlier answer is reused. An answer without a valid
witness, or an unknown one, is computed again.
"""

import hashlib
from dataclasses import replace
from functools import cached_property

from carnet_check.loading.families import Source, axiom_violations, threat_of
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_spec.language import Action, Profile, Protocol, SpecificationError
from carnet_spec.trace import Trace


def breaks(judge: Interpreter, claim: str, run: Trace) -> bool:
    """Whether each step of a run can be taken, and the claim is false at its end."""
    try:
        return not judge.holds(judge.protocol.claim(claim).checked.formula, judge.replay(run)[-1])
    except (NotEnabled, SpecificationError):
        return False


def is_attack(source: Source, protocol: Protocol, profile: Profile, claim: str, run: Trace) -> bool:
    """Whether a run violates a claim of a design, in an instance of the profile that satisfies the threat model."""
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
        """Return the digest of the question whether everything is proved, if ``changed`` replaces an action.

        A proof about one action depends on the axioms, the claims, the lemmas and that action, and on no other action.
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
        """The protocol with its symbols and nothing else."""
        nothing = replace(self._protocol, actions=(), axioms=(), initial=(), claims=(), lemmas=(), goals=())
        return replace(nothing, liveness=(), threats=(), assumptions=(), defences=())
