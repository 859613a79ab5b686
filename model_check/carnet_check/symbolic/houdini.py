"""Which invariants survive a change: drop those that are no longer inductive until none is left to drop.

What survives is inductive by itself, so every surviving claim is proved of the changed protocol. Used to show that a
removed defence was redundant; a claim that does not survive is not refuted by that.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from carnet_check.symbolic.hints import Hints, load_hints
from carnet_check.symbolic.induction import Progress, answers_to
from carnet_check.symbolic.obligations import Obligation, System, obligations_of, system
from carnet_check.symbolic.proof import ClaimProof, ProofResult
from carnet_check.symbolic.solving import DEFAULT_RLIMIT, Answer, Outcome
from carnet_check.symbolic.workers import Workers
from carnet_spec.language import Protocol, Threat


@dataclass(frozen=True)
class Houdini:
    """The outcome of dropping what is not inductive.

    Attributes:
        proof: the proof of what survived.
        dropped: for each dropped invariant, the obligations that made it fall, in the order of dropping.
        rounds: how often something was dropped.
        asked: how many obligations were put to the solver.
        complete: whether a fixpoint was reached; if not, all wanted claims had fallen before.
    """

    proof: ProofResult
    dropped: Mapping[str, tuple[str, ...]]
    rounds: int
    asked: int
    complete: bool

    @property
    def surviving(self) -> tuple[str, ...]:
        """The invariants that are inductive together; nothing is known of them without a fixpoint."""
        return tuple(each.name for each in self.proof.system.invariants) if self.complete else ()

    def claim(self, name: str) -> ClaimProof:
        """Say whether the claim survived, and what its proof rests on."""
        invariant = self.proof.protocol.claim(name).checked.name
        if invariant in self.dropped:
            fell = self.dropped[invariant]
            return ClaimProof(name, Outcome.UNKNOWN, missing=fell, reason="the claim is not inductive any more")
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
        claims: stop as soon as all of these have fallen; by default go on to the fixpoint.
        jobs: how many worker processes; 1 stays in this one.
        rlimit: the budget of each question, in units of the solver's own counter.
        progress: told of every answer.
        hints: hypotheses to try first.
        workers: a pool to use instead of starting one.
    """
    started = time.perf_counter()
    subject = system(protocol, threat)
    hints = load_hints(protocol) if hints is None else hints
    listed = {each.id: each for each in obligations_of(subject)}
    answers = _taken_over(listed, baselines)
    wanted = {protocol.claim(name).checked.name for name in claims} if claims is not None else set()
    dropped: dict[str, tuple[str, ...]] = {}
    rounds = asked = 0
    complete = False
    with workers or Workers(jobs) as pool:
        while not (wanted and wanted <= dropped.keys()):
            kept = replace(subject, invariants=tuple(each for each in subject.invariants if each.name not in dropped))
            open_ = [each for each in listed.values() if each.invariant.name not in dropped and each.id not in answers]
            fell: dict[str, list[str]] = {}
            for done, answer in enumerate(answers_to(open_, kept, hints, rlimit, pool), 1):
                answers[answer.id] = answer
                if answer.outcome is not Outcome.PROVED:
                    fell.setdefault(listed[answer.id].invariant.name, []).append(answer.id)
                if progress:
                    progress(done, len(open_), answer)
            asked += len(open_)
            if not fell:
                complete = True
                break
            rounds += 1
            dropped |= {name: tuple(sorted(ids)) for name, ids in fell.items()}
            answers = _still_valid(answers, dropped)
    survivors = replace(subject, invariants=tuple(each for each in subject.invariants if each.name not in dropped))
    remaining = {id: each for id, each in listed.items() if each.invariant.name not in dropped}
    proof = ProofResult(
        survivors,
        remaining,
        {id: answers[id] for id in remaining if id in answers},
        time.perf_counter() - started,
    )
    return Houdini(proof, dropped, rounds, asked, complete)


def _still_valid(answers: Mapping[str, Answer], dropped: Iterable[str]) -> dict[str, Answer]:
    """Keep the proofs that use nothing dropped: fewer hypotheses cannot harm them."""
    gone = {f"inv:{name}" for name in dropped}
    return {
        id: answer
        for id, answer in answers.items()
        if answer.outcome is Outcome.PROVED and gone.isdisjoint(answer.core)
    }


def _taken_over(listed: Mapping[str, Obligation], baselines: Sequence[ProofResult]) -> dict[str, Answer]:
    """Return the answers of ``baselines`` that are proofs of the obligations listed here, word for word."""
    found: dict[str, Answer] = {}
    for baseline in baselines:
        for id, answer in baseline.answers.items():
            here, there = listed.get(id), baseline.obligations[id]
            if here is None or id in found or answer.outcome is not Outcome.PROVED:
                continue
            if here.goal == there.goal and _same_hypotheses(answer.core, here, there):
                found[id] = answer
    return found


def _same_hypotheses(core: Iterable[str], here: Obligation, there: Obligation) -> bool:
    ours = (here.own, _shared(here.system, here))
    theirs = (there.own, _shared(there.system, there))
    for name in core:
        mine = ours[0].get(name, ours[1].get(name))
        if mine is None or mine != theirs[0].get(name, theirs[1].get(name)):
            return False
    return True


def _shared(subject: System, obligation: Obligation) -> Mapping[str, object]:
    return subject.axioms if obligation.action is None else subject.hypotheses
