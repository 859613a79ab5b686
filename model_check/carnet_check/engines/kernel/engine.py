"""The engine of certificates: a small kernel checks the proofs of claims, for any number of parties."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import ClassVar, Self, TypeVar

from carnet_check.certificates.file import BadCertificateFile, Certificates, Entry, load_certificates, place_of
from carnet_check.certificates.judging import (
    Accepted,
    Bound,
    Follow,
    Identity,
    Judge,
    LayerObligations,
    certified_conditions,
    in_turn,
    in_workers,
    key_of,
)
from carnet_check.engines.interface import (
    AnswersObligations,
    EngineResult,
    LivenessAnswer,
    ObligationAnswer,
    Plan,
    ProofBasis,
    ProvesLiveness,
    Task,
)
from carnet_check.engines.proving.composition import (
    ClaimProof,
    Composition,
    SolverAnswer,
    SolverOutcome,
    Unbounded,
    liveness_of,
)
from carnet_check.engines.runner import Listener
from carnet_check.exports.obligation_text import Provable
from carnet_check.loading.families import Source
from carnet_check.obligations import Layer, Obligation, attempts, layers, obligations
from carnet_check.results import Result
from carnet_command.text import plural
from carnet_command.workers import WorkerPool
from carnet_spec.language import Claim, Eventually, Profile, Protocol, SpecificationError, Threat

MOST_TOKENS = 1_000_000
NOT_ALL = "not all conditions for any stages, and what they rest on, have a certificate that is accepted"
_P = TypeVar("_P", bound=Provable)


@dataclass(frozen=True)
class Kernel(Unbounded, AnswersObligations, ProvesLiveness):
    """Has the kernel check every certificate that a claim depends on; ``most`` limits the tokens of one."""

    name: ClassVar = "kernel"
    purpose: ClassVar = "proofs for any number of parties, by certificates and without a solver"
    by_default: ClassVar = False
    believes_no_solver: ClassVar = True
    most: int = MOST_TOKENS

    def with_limit(self, most: int) -> Self:
        """Return the same engine for certificates of at most ``most`` tokens."""
        return replace(self, most=most)

    def intention(self, task: Task) -> str:
        """Return the words that certificates are checked."""
        return "checks the certificates of proofs for any number of everything"

    def budget(self, profile: Profile) -> str:
        """Return the words for the most tokens of a certificate."""
        return f"{self.most:,} tokens per certificate"

    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Check the certificates of the claims that are expected to hold; a refused certificate refutes nothing."""
        accepted: Accepted = set()
        with WorkerPool(task.jobs) as pool:
            follow = in_workers(pool)
            told = [self._checked(task, plan, accepted, follow, listener) for plan in task.plans]
        rows = [each for found, _ in told for each in found]
        bases = {row.key: ProofBasis(proof.layer) for row, proof in rows}
        lively = {about: answer for _, answers in told for about, answer in answers.items()}
        return EngineResult(self.name, tuple(row for row, _ in rows), bases=bases, liveness=lively)

    def liveness(self, source: Source, protocol: Protocol, live: Eventually) -> LivenessAnswer:
        """Check the certificates of the conditions of ``live``, and of all lemmas that these depend on."""
        return _judged(source, protocol, {each.id for each in protocol.threats}, Judge(self.most), in_turn).answer(live)

    def obligation_answers(self, source: Source, protocol: Protocol, jobs: int) -> Iterator[ObligationAnswer]:
        """Check the certificate of every obligation of every layer; a refused one leaves the obligation unknown."""
        place, judge = place_of(source), Judge(self.most)
        certificates = load_certificates(place) if place else Certificates({})
        for layer in layers(protocol):
            asked = LayerObligations.of(layer)
            entries = asked.entries(certificates.layers.get(key_of(layer)))
            skipped: dict[str, ObligationAnswer] = {}
            for obligation in obligations(layer):
                answer = skipped.get(obligation.invariant.name) if obligation.skipped else None
                if answer is None:
                    answer = _answer_of(judge, obligation, entries.get(obligation.id))
                if obligation.skipped:
                    skipped[obligation.invariant.name] = answer
                yield replace(answer, obligation=obligation.id)

    def version(self) -> str:
        """Return the version of Carnet, which contains the kernel."""
        return f"carnet {metadata.version('carnet')}"

    def _checked(
        self, task: Task, plan: Plan, accepted: Accepted, follow: Follow, listener: Listener
    ) -> tuple[list[tuple[Result, ClaimProof]], dict[tuple[str, str], LivenessAnswer]]:
        wanted, variant = plan.to_prove, plan.protocol.variant
        if not (wanted or plan.liveness_to_prove):
            return [], {}
        began = time.monotonic()
        listener.status(f"{variant}: checking certificates")
        needed = {threat.id for _, threat in wanted}
        found = _judged(task.source, plan.protocol, needed, Judge(self.most, accepted), follow)
        seconds = time.monotonic() - began
        proofs = [found.claim(claim, threat) for claim, threat in wanted]
        held = sum(proof.is_proved for proof in proofs)
        if wanted:
            listener.line(f"{variant}: {self.name} accepts {held} of {len(wanted)} in {seconds:.1f} s")
        rows = []
        for (_, threat), proof in zip(wanted, proofs, strict=True):
            rests = f"any number of everything, by certificates; rests on {plural(len(proof.lemmas), 'lemma')}"
            detail = rests if proof.is_proved else proof.reason
            rows.append((self.row(task, plan, proof, threat, seconds, detail), proof))
        return rows, {(variant, live.name): found.answer(live) for live in plan.liveness_to_prove}


@dataclass(frozen=True, slots=True)
class _Judged:
    """What certificates prove of a design, or why none is accepted."""

    composition: Composition | None
    liveness: Mapping[str, LivenessAnswer]
    why: str = ""

    def claim(self, claim: Claim, threat: Threat) -> ClaimProof:
        if self.composition is None:
            return ClaimProof(claim.name, SolverOutcome.UNKNOWN, reason=self.why)
        return self.composition.claim(claim, threat)

    def answer(self, live: Eventually) -> LivenessAnswer:
        return self.liveness.get(live.name) or LivenessAnswer(open=(self.why or NOT_ALL,))


def _judged(source: Source, protocol: Protocol, threats: Collection[str], judge: Judge, follow: Follow) -> _Judged:
    """Check the certificates of a design, without a threat model and under some."""
    place = place_of(source)
    try:
        certificates = load_certificates(place) if place else Certificates({})
        if not certificates.layers:
            raise BadCertificateFile(f"no certificates: expected '{place or 'a file'}'; `carnet certify` makes it")
        every = layers(protocol)
    except (BadCertificateFile, SpecificationError) as error:
        return _Judged(None, {}, str(error))
    made = [each for each in every if each.threat is None or each.threat.id in threats]
    composed, properties = composed_of(made, certificates, judge, follow), attempts(every)
    lively = dict(certified_conditions(properties, certificates.liveness.get(protocol.variant, {})))
    answers = _answers(lively, judge, follow).values()
    accepted = {answer.id: answer.core for answer in answers if answer.outcome is SolverOutcome.PROVED}
    return _Judged(composed, liveness_of(composed, properties, accepted))


def composed_of(
    layers: Sequence[Layer], certificates: Certificates, judge: Judge, follow: Follow = in_turn
) -> Composition:
    """Check the certificates of some layers; an accepted one is a proof from the hypotheses that it uses.

    All skipped pairs of an invariant have the same text, so the certificate of the first proves all of them.
    """
    asked = {each: entry for layer in layers for each, entry in _entries(layer, certificates)}
    return Composition(layers, tuple(asked), _answers(asked, judge, follow))


def _answers(asked: Mapping[_P, Entry | None], judge: Judge, follow: Follow) -> dict[str, SolverAnswer]:
    """Check certificates; return the answers to obligations, by their ids."""
    bound: dict[_P, Bound | str] = {}

    def unknown() -> Iterator[Bound]:
        seen: set[Identity] = set(judge.accepted)
        for obligation, entry in asked.items():
            each = bound[obligation] = judge.bind(obligation, entry)
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
            why = whys.get(each.identity, "no checker judged its certificate")
        answers[obligation.id] = _answer(obligation, entry, why)
    return answers


def _answer(obligation: Provable, entry: Entry | None, why: str) -> SolverAnswer:
    if why or entry is None:
        return SolverAnswer(obligation.id, SolverOutcome.UNKNOWN, reason=why)
    return SolverAnswer(obligation.id, SolverOutcome.PROVED, entry.hypotheses)


def _entries(layer: Layer, certificates: Certificates) -> Iterator[tuple[Obligation, Entry | None]]:
    """Yield the obligations of a layer, each with its certificate."""
    asked = LayerObligations.of(layer)
    entries = asked.entries(certificates.layers.get(key_of(layer)))
    yield from ((each, entries.get(each.id)) for each in asked)


def _answer_of(judge: Judge, obligation: Obligation, entry: Entry | None) -> ObligationAnswer:
    began = time.perf_counter()
    why = judge.why_refused(obligation, entry)
    threat, outcome = obligation.layer.threat.id if obligation.layer.threat else "", "unknown" if why else "proved"
    return ObligationAnswer(threat, obligation.id, outcome, seconds=time.perf_counter() - began, reason=why)


KERNEL = Kernel()
