"""The engine of induction: claims proved for any number of parties, keys, messages and rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

from carnet_check.engines.induction.counterexample import explain_cti
from carnet_check.engines.induction.hints import load_hints
from carnet_check.engines.induction.houdini import houdini
from carnet_check.engines.induction.induction import answers_to, prove, prove_claims
from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.engines.induction.obligations import Obligation, obligations
from carnet_check.engines.induction.possibility import SolverPossibilities
from carnet_check.engines.induction.proof import ClaimProof
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT
from carnet_check.engines.induction.solving import SolverOutcome as Solved
from carnet_check.engines.induction.workers import Workers
from carnet_check.engines.interface import (
    Check,
    DecidesPossibility,
    Listener,
    LivenessAnswer,
    Outcome,
    Plan,
    ProvesLiveness,
    ProvesWeakened,
    Separable,
    Task,
    Tool,
)
from carnet_check.loading.threats import NO_THREAT
from carnet_check.results import Result, Verdict
from carnet_command.progress import Pace
from carnet_command.text import counted
from carnet_spec.language import Claim, Eventually, Profile, Protocol, Threat
from carnet_spec.language.terms import Term

SHOWN = 3
"""How many open obligations of a claim are named."""
Proofs = Mapping[tuple[str, str], ClaimProof]
"""The proof of each claim, by its name and the threat model's id."""
Answered = Callable[[int, int, object], None]
"""Told how many obligations are done, how many there are, and the latest answer."""


@dataclass(frozen=True)
class Induction(DecidesPossibility, ProvesLiveness, ProvesWeakened, Separable):
    """Proves one obligation for each invariant and action; ``rlimit`` is the solver's budget for each."""

    name: ClassVar = "induction"
    purpose: ClassVar = "claims, for any number of parties, keys, messages and rounds"
    verdicts: ClassVar = (Verdict.PROVED,)
    needs: ClassVar = (
        Tool("z3", "proofs by induction", "pip install -c constraints.txt .", ("z3-solver",), required=True),
    )
    rlimit: int = DEFAULT_RLIMIT

    def limited(self, most: int) -> Self:
        """Return the engine with another budget for each obligation, in units of the solver's own counter."""
        return replace(self, rlimit=most)

    def expected(self, profile: Profile) -> Verdict:
        """Return PROVED, whatever the profile."""
        return Verdict.PROVED

    def intention(self, task: Task) -> str:
        """Say that no size matters."""
        return "for any number of parties, keys, messages and rounds"

    def strength(self, task: Task, outcome: Outcome) -> tuple[str, ...]:
        """Say that no size matters."""
        return (f"{self.name}: unbounded",)

    def budget(self, profile: Profile) -> str:
        """Say what the solver may take."""
        return f"{self.rlimit:,} solver units to an obligation"

    # -- claims -----------------------------------------------------------------------------------

    def run(self, task: Task, listener: Listener) -> Outcome:
        """Prove what is claimed to hold, one variant after the other: a failed induction refutes nothing."""
        return Outcome(self.name, tuple(row for plan in task.plans for row in self._proved(task, plan, listener)))

    def _proved(self, task: Task, plan: Plan, listener: Listener) -> Iterator[Result]:
        wanted = [(c, t) for c, t in plan.pairs if not plan.falls(c.name, t.id)]
        if not wanted:
            return
        began, pace = time.monotonic(), Pace()
        variant = plan.protocol.variant
        listener.status(f"{variant}: writing down proof obligations")

        def answered(done: int, total: int, _: object) -> None:
            listener.status(f"{variant}: {self.name}, {done} of {total} obligations{pace.left(done, total)}")

        proofs = self._proofs(plan, wanted, task.jobs, answered)
        seconds = time.monotonic() - began
        held = sum(proof.proved for proof in proofs.values())
        listener.line(f"{variant}: {self.name} proves {held} of {len(wanted)} in {seconds:.1f} s")
        for claim, threat in wanted:
            yield self._row(task, plan, proofs[claim.name, threat.id], threat, seconds)

    def _proofs(
        self, plan: Plan, wanted: Sequence[tuple[Claim, Threat]], jobs: int, answered: Answered
    ) -> dict[tuple[str, str], ClaimProof]:
        """Prove what is wanted; if something is not inductive, try again without whatever is not."""
        first = self._together(plan, wanted, jobs, answered)
        found = {(claim.name, threat.id): first[claim.name, threat.id] for claim, threat in wanted}
        for model in (None, *(threat for threat in plan.threats if threat != NO_THREAT)):
            again = [key for key, proof in found.items() if not proof.proved and _covers(plan.protocol, model, key)]
            if again:
                names = {name for name, _ in again}
                survivors = houdini(
                    plan.protocol, model, claims=names, jobs=jobs, rlimit=self.rlimit, progress=answered
                )
                proofs = {name: survivors.claim(name) for name in names}
                found.update({(name, id): proofs[name] for name, id in again if proofs[name].proved})
        return found

    def _together(self, plan: Plan, wanted: Sequence[tuple[Claim, Threat]], jobs: int, answered: Answered) -> Proofs:
        """Prove all claims with the help of all lemmas."""
        protocol = plan.protocol
        if protocol.threats:
            threats = [threat for threat in plan.threats if any(t == threat for _, t in wanted)]
            return prove_claims(protocol, threats, jobs=jobs, rlimit=self.rlimit, progress=answered)
        general = prove(protocol, None, jobs=jobs, rlimit=self.rlimit, progress=answered)
        return {(claim.name, threat.id): general.claim(claim.name) for claim, threat in wanted}

    def _row(self, task: Task, plan: Plan, proof: ClaimProof, threat: Threat, seconds: float) -> Result:
        return Result(
            protocol=task.source.family.id,
            variant=plan.protocol.variant,
            claim=proof.claim,
            threat=threat.id,
            engine=self.name,
            verdict=Verdict.PROVED if proof.proved else Verdict.UNKNOWN,
            expected=self.expected(task.profile),
            detail=_detail(proof),
            seconds=seconds,
            assumptions=plan.protocol.resting_on(proof.assumptions),
            defences=proof.defences,
            lemmas=proof.lemmas,
        )

    # -- what else it can do ----------------------------------------------------------------------

    def liveness(self, protocol: Protocol, live: Eventually) -> LivenessAnswer:
        """Try to prove ``live`` by fairness of one step."""
        return by_fairness(protocol, live)

    def possibilities(
        self, protocol: Protocol, threat: Threat | None, known: Mapping[str, Term]
    ) -> SolverPossibilities:
        """Ask the solver, for instances of any size."""
        return SolverPossibilities(protocol, threat, known)

    def unproved(
        self,
        protocol: Protocol,
        threat: Threat | None,
        claims: Collection[str],
        jobs: int,
        progress: Callable[[int, int], None],
    ) -> tuple[str, ...]:
        """Drop the lemmas that are not inductive any more, and see which claims fall with them."""

        def answered(done: int, total: int, _: object) -> None:
            progress(done, total)

        left = houdini(protocol, threat, claims=claims, jobs=jobs, rlimit=self.rlimit, progress=answered)
        return tuple(name for name in claims if not left.claim(name).proved)

    def checks(self, plan: Plan) -> Iterator[Check]:
        """Yield what holds under every threat model, then what is limited to some.

        Fewer hypotheses are at hand under no particular threat model than under any, so what is proved there is proved
        everywhere and is not asked again.
        """
        protocol = plan.protocol
        general = obligations(protocol)
        yield from (self._check(None, each) for each in general)
        proved = {each.invariant.name for each in general}
        for threat in protocol.threats:
            limited = (each for each in obligations(protocol, threat) if each.invariant.name not in proved)
            yield from (self._check(threat, each) for each in limited)

    def _check(self, threat: Threat | None, obligation: Obligation) -> Check:
        name = f"{threat.id}:{obligation.id}" if threat else obligation.id
        claims = obligation.system.protocol.claims
        stated = (c for c in claims if c.invariant is not None and c.invariant.name == obligation.invariant.name)
        return Check(name, tuple(c.requirement or c.name for c in stated), partial(self._failure, obligation))

    def _failure(self, obligation: Obligation) -> str:
        """Ask the solver, and if it finds no proof say how the step breaks the invariant."""
        system = obligation.system
        with Workers(1) as here:
            (answer,) = answers_to([obligation], system, load_hints(system.protocol), self.rlimit, here)
        if answer.outcome is Solved.PROVED:
            return ""
        return explain_cti(system.protocol, obligation.id, system.threat)


def _covers(protocol: Protocol, model: Threat | None, key: tuple[str, str]) -> bool:
    """Whether a proof under ``model`` speaks of a claim under a threat model and was not covered by a wider one."""
    claim = protocol.claim(key[0])
    everywhere = {threat.id for threat in protocol.threats} <= set(claim.under)
    return everywhere if model is None else model.id == key[1] and not everywhere


def _detail(proof: ClaimProof) -> str:
    if proof.proved:
        return f"any number of everything; rests on {counted(len(proof.lemmas), 'lemma')}"
    missing = proof.missing
    told = proof.reason or f"{counted(len(missing), 'obligation')} open: " + ", ".join(missing[:SHOWN])
    return told + (", …" if len(missing) > SHOWN else "")


INDUCTION = Induction()
