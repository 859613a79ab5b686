"""Which invariants survive a change: drop those that are no longer inductive until none is left to drop.

What survives is inductive by itself, so every surviving claim is proved of the changed protocol. Used to show that a
removed defence was redundant; a claim that does not survive is not refuted by that.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from carnet_check.engines.induction.induction import Progress, ProofResult, answers_to, taken_over
from carnet_check.engines.induction.obligations import Obligation, System, obligations_of, system
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Workers
from carnet_check.engines.proving.composition import ClaimProof, SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import Hints, load_hints
from carnet_spec.language import Protocol, Threat


@dataclass(frozen=True)
class Houdini:
    """The outcome of dropping what is not inductive.

    Attributes:
        proof: the proof of what survived.
        dropped: for each dropped invariant, the obligations that made it fall, in the order of dropping.
        rounds: how often something was dropped.
        asked: how many obligations were put to the solver.
        complete: whether all that is left is inductive together; without it, only what the proofs of the wanted
            claims rest on is.
    """

    proof: ProofResult
    dropped: Mapping[str, tuple[str, ...]]
    rounds: int
    asked: int
    complete: bool

    @property
    def surviving(self) -> tuple[str, ...]:
        """The invariants that are inductive together, if all were looked at."""
        return tuple(each.name for each in self.proof.system.invariants) if self.complete else ()

    def claim(self, name: str) -> ClaimProof:
        """Say whether the claim survived, and what its proof rests on."""
        invariant = self.proof.protocol.claim(name).checked.name
        if invariant in self.dropped:
            fell = self.dropped[invariant]
            return ClaimProof(name, SolverOutcome.UNKNOWN, missing=fell, reason="the claim is not inductive any more")
        return self.proof.claim(name)


def houdini(
    protocol: Protocol,
    threat: Threat | None = None,
    *,
    baselines: Sequence[ProofResult] = (),
    claims: Collection[str] | None = None,
    jobs: int = 2,
    rlimit: int = DEFAULT_RLIMIT,
    progress: Progress | None = None,
    hints: Hints | None = None,
    workers: Workers | None = None,
) -> Houdini:
    """Drop the invariants of ``protocol`` that are not inductive, until a fixpoint.

    Args:
        protocol: what to prove things about.
        threat: the threat model whose axioms may be used.
        baselines: earlier proofs, of the unchanged protocol for instance. An answer of theirs is taken over where its
            goal and everything in its core are the same here.
        claims: look only at what these rest on, and stop when all have fallen; by default look at everything.
        jobs: how many worker processes; 1 stays in this one.
        rlimit: the budget of each question, in units of the solver's own counter.
        progress: told of every answer.
        hints: hypotheses to try first.
        workers: a pool to use instead of starting one.
    """
    started = time.perf_counter()
    search = _Search(system(protocol, threat), baselines)
    asking = _Asking(load_hints(protocol) if hints is None else hints, rlimit, progress)
    wanted = None if claims is None else {protocol.claim(name).checked.name for name in claims}
    rounds = 0
    with workers or Workers(jobs) as pool:
        while open_ := search.open(wanted):
            rounds += search.drop(open_, asking, pool)
    proof = search.proof(time.perf_counter() - started)
    return Houdini(proof, search.dropped, rounds, search.asked, complete=not search.open(None))


@dataclass(frozen=True, slots=True)
class _Asking:
    hints: Hints
    rlimit: int
    progress: Progress | None


class _Search:
    """What has been dropped so far, and the proofs that this left standing."""

    def __init__(self, subject: System, baselines: Sequence[ProofResult]) -> None:
        self._subject = subject
        self._obligations = {each.id: each for each in obligations_of(subject)}
        self._answers = taken_over(self._obligations, baselines)
        self.dropped: dict[str, tuple[str, ...]] = {}
        self.asked = 0

    def kept(self) -> System:
        """The system with the invariants that are left."""
        kept = tuple(each for each in self._subject.invariants if each.name not in self.dropped)
        return replace(self._subject, invariants=kept)

    def open(self, wanted: Collection[str] | None) -> list[Obligation]:
        """The obligations without a proof of what is left, or of that part of it which ``wanted`` rests on so far."""
        looked_at = self._rested_on(wanted)
        return [
            each
            for each in self._obligations.values()
            if each.invariant.name in looked_at and each.id not in self._answers
        ]

    def _rested_on(self, wanted: Collection[str] | None) -> set[str]:
        left = {each.name for each in self.kept().invariants}
        if wanted is None:
            return left
        proof = self.proof(0.0)
        return {used for name in wanted if name in left for used in proof.uses(name)}

    def drop(self, open_: Sequence[Obligation], asking: _Asking, workers: Workers) -> bool:
        """Try to prove ``open_``; drop the invariants for which that fails, and say whether there were any."""
        fell: dict[str, list[str]] = {}
        answers = answers_to(open_, self.kept(), asking.hints, asking.rlimit, workers)
        for done, answer in enumerate(answers, 1):
            if answer.outcome is SolverOutcome.PROVED:
                self._answers[answer.id] = answer
            else:
                fell.setdefault(self._obligations[answer.id].invariant.name, []).append(answer.id)
            if asking.progress:
                asking.progress(done, len(open_), answer)
        self.asked += len(open_)
        self.dropped |= {name: tuple(sorted(ids)) for name, ids in fell.items()}
        self._answers = _still_valid(self._answers, fell)
        return bool(fell)

    def proof(self, seconds: float) -> ProofResult:
        """The proof of what is left."""
        left = {id: each for id, each in self._obligations.items() if each.invariant.name not in self.dropped}
        answers = {id: self._answers[id] for id in left if id in self._answers}
        return ProofResult(self.kept(), left, answers, seconds)


def _still_valid(answers: Mapping[str, SolverAnswer], dropped: Iterable[str]) -> dict[str, SolverAnswer]:
    """Keep the proofs that use nothing dropped: fewer hypotheses cannot harm them."""
    gone = {f"inv:{name}" for name in dropped}
    return {id: answer for id, answer in answers.items() if gone.isdisjoint(answer.core)}
