"""The engine of certificates: claims proved for any number of parties, and checked again by a small kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import ClassVar, Self

from carnet_check.certificates.file import BadCertificateFile, Certificates, Entry, load_certificates, place_of
from carnet_check.certificates.judging import (
    Accepted,
    Bound,
    Follow,
    Identity,
    Judge,
    LayerObligations,
    in_turn,
    in_workers,
    key_of,
)
from carnet_check.engines.interface import AnswersObligations, EngineResult, ObligationAnswer, Plan, ProofBasis, Task
from carnet_check.engines.proving.composition import ClaimProof, Composition, SolverAnswer, SolverOutcome, Unbounded
from carnet_check.engines.runner import Listener
from carnet_check.loading.families import Source
from carnet_check.obligations import Layer, Obligation, layers, obligations
from carnet_check.results import Result
from carnet_command.text import counted
from carnet_command.workers import WorkerPool
from carnet_spec.language import Profile, Protocol, SpecificationError

MOST_TOKENS = 1_000_000


@dataclass(frozen=True)
class Kernel(Unbounded, AnswersObligations):
    """Has the kernel follow every certificate that a claim rests on; ``most`` is how many tokens one may have."""

    name: ClassVar = "kernel"
    purpose: ClassVar = "proofs for any number of parties, by certificates and without a solver"
    by_default: ClassVar = False
    believes_no_solver: ClassVar = True
    most: int = MOST_TOKENS

    def limited(self, most: int) -> Self:
        """Return the same engine for certificates of at most so many tokens."""
        return replace(self, most=most)

    def intention(self, task: Task) -> str:
        """Say that certificates are checked."""
        return "checks the certificates of proofs for any number of everything"

    def budget(self, profile: Profile) -> str:
        """Say how long a certificate may be."""
        return f"{self.most:,} tokens to a certificate"

    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Check the certificates of what is claimed to hold: where one is refused, nothing is refuted."""
        accepted: Accepted = set()
        with WorkerPool(task.jobs) as pool:
            follow = in_workers(pool)
            told = [each for plan in task.plans for each in self._checked(task, plan, accepted, follow, listener)]
        bases = {row.key: ProofBasis(proof.layer) for row, proof in told}
        return EngineResult(self.name, tuple(row for row, _ in told), bases=bases)

    def obligation_answers(self, source: Source, protocol: Protocol, jobs: int) -> Iterator[ObligationAnswer]:
        """Judge the certificate of every obligation of every layer; one that is not accepted decides nothing."""
        place, judge = place_of(source), Judge(self.most)
        certificates = load_certificates(place) if place else Certificates({})
        for layer in layers(protocol):
            asked = LayerObligations.of(layer)
            entries = asked.entries(certificates.layers.get(key_of(layer)))
            skipped: dict[str, ObligationAnswer] = {}
            for obligation in obligations(layer):
                answer = skipped.get(obligation.invariant.name) if obligation.skipped else None
                if answer is None:
                    answer = _told(judge, obligation, entries.get(obligation.id))
                if obligation.skipped:
                    skipped[obligation.invariant.name] = answer
                yield replace(answer, obligation=obligation.id)

    def version(self) -> str:
        """Return the version of the checker, which the kernel is part of."""
        return f"carnet {metadata.version('carnet')}"

    def _checked(
        self, task: Task, plan: Plan, accepted: Accepted, follow: Follow, listener: Listener
    ) -> Iterator[tuple[Result, ClaimProof]]:
        wanted = plan.to_prove
        if not wanted:
            return
        began, variant = time.monotonic(), plan.protocol.variant
        listener.status(f"{variant}: checking certificates")
        proofs = _proofs(task.source, plan, Judge(self.most, accepted), follow)
        seconds = time.monotonic() - began
        held = sum(proof.proved for proof in proofs)
        listener.line(f"{variant}: {self.name} accepts {held} of {len(wanted)} in {seconds:.1f} s")
        for (_, threat), proof in zip(wanted, proofs, strict=True):
            rests = f"any number of everything, by certificates; rests on {counted(len(proof.lemmas), 'lemma')}"
            yield self.row(task, plan, proof, threat, seconds, rests if proof.proved else proof.reason), proof


def _proofs(source: Source, plan: Plan, judge: Judge, follow: Follow) -> list[ClaimProof]:
    """Return the proof of each claim, by certificates."""
    wanted = plan.to_prove
    needed = {threat.id for _, threat in wanted}
    place = place_of(source)
    try:
        certificates = load_certificates(place) if place else Certificates({})
        if not certificates.layers:
            raise BadCertificateFile(f"no certificates: expected '{place or 'a file'}'; `carnet certify` makes it")
        every = [each for each in layers(plan.protocol) if each.threat is None or each.threat.id in needed]
    except (BadCertificateFile, SpecificationError) as error:
        return [ClaimProof(claim.name, SolverOutcome.UNKNOWN, reason=str(error)) for claim, _ in wanted]
    composed = composed_of(every, certificates, judge, follow)
    return [composed.claim(claim, threat) for claim, threat in wanted]


def composed_of(
    layers: Sequence[Layer], certificates: Certificates, judge: Judge, follow: Follow = in_turn
) -> Composition:
    """Judge the certificates of some layers: one that is accepted is a proof from the hypotheses that it uses.

    The skipped pairs of an invariant have one text, so the certificate of the first stands for all of them.
    """
    asked = {each: entry for layer in layers for each, entry in _entries(layer, certificates)}
    bound: dict[Obligation, Bound | str] = {}

    def unknown() -> Iterator[Bound]:
        seen: set[Identity] = set(judge.accepted)
        for obligation, entry in asked.items():
            each = bound[obligation] = judge.bound(obligation, entry)
            if isinstance(each, Bound) and each.identity not in seen:
                seen.add(each.identity)
                yield each

    whys = follow(unknown())
    judge.accepted.update(key for key, why in whys.items() if not why)
    answers: dict[str, SolverAnswer] = {}
    for obligation, entry in asked.items():
        each = bound[obligation]
        if isinstance(each, str):
            why = each
        elif each.identity in judge.accepted:
            why = ""
        else:
            why = whys.get(each.identity, "nobody judged its certificate")
        answers[obligation.id] = _answer(obligation, entry, why)
    return Composition(layers, tuple(asked), answers)


def _answer(obligation: Obligation, entry: Entry | None, why: str) -> SolverAnswer:
    if why or entry is None:
        return SolverAnswer(obligation.id, SolverOutcome.UNKNOWN, reason=why)
    return SolverAnswer(obligation.id, SolverOutcome.PROVED, entry.hypotheses)


def _entries(layer: Layer, certificates: Certificates) -> Iterator[tuple[Obligation, Entry | None]]:
    """Yield the obligations of a layer, each with its certificate."""
    asked = LayerObligations.of(layer)
    entries = asked.entries(certificates.layers.get(key_of(layer)))
    yield from ((each, entries.get(each.id)) for each in asked)


def _told(judge: Judge, obligation: Obligation, entry: Entry | None) -> ObligationAnswer:
    began = time.perf_counter()
    why = judge.why_refused(obligation, entry)
    threat, outcome = obligation.layer.threat.id if obligation.layer.threat else "", "unknown" if why else "proved"
    return ObligationAnswer(threat, obligation.id, outcome, seconds=time.perf_counter() - began, reason=why)


KERNEL = Kernel()
