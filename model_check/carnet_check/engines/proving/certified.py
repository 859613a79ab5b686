"""Proofs by the certificates beside a specification, so that no solver is needed.

Workers generate the texts of obligations and have the kernel check the certificates. Designs of one family have many
obligations with equal texts, so each worker takes a part of the obligations of all designs.

A proof depends on the hypotheses that its certificate uses. A certificate does not say which updates of defences it
needs, so all that it may need are listed.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from carnet_check.certificates.file import (
    BadCertificateFile,
    Certificates,
    Entry,
    LayerCertificates,
    load_certificates,
    place_of,
)
from carnet_check.certificates.judging import Accepted, Judge, LayerObligations, certified_conditions, cores, key_of
from carnet_check.engines.interface import InvariantStatus, LivenessAnswer, Plan, Status
from carnet_check.engines.proving.composition import Composition, SolverAnswer, SolverOutcome, liveness_of
from carnet_check.engines.proving.solver import Hints
from carnet_check.exports.obligation_text import Provable, Writer
from carnet_check.loading.families import Source, load
from carnet_check.obligations import LivenessAttempt, attempts, layers
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool
from carnet_spec.language import Protocol, SpecificationError, Threat

MOST_TOKENS = 1_000_000  #: The most tokens that a certificate may have.
FEW = 1_000  #: Checking fewer certificates than this takes less time than starting a process.
BATCH = 100  #: How many judgements a worker sends at once.
#: Induction's name for the hypothesis about all values drawn fresh; certificates name each pair.
FRESH = "fresh:values differ"


@dataclass(frozen=True, slots=True)
class CertifiedDesign:
    """What certificates prove of one design: an answer to each obligation of the requested layers."""

    composition: Composition
    seconds: float  #: the time of checking the certificates of all requested designs.
    #: the properties that certificates prove, including the lemmas that they use.
    liveness: Mapping[str, LivenessAnswer]
    spoilt: Mapping[str, str]  #: the refused certificates of liveness conditions, and why they are refused.

    @property
    def refusals(self) -> Mapping[str, str]:
        """The obligations that no certificate proves, and why."""
        answers = self.composition.answers.items()
        return {id: answer.reason for id, answer in answers if answer.outcome is not SolverOutcome.PROVED}

    def answers(self, threat: str) -> Mapping[str, SolverAnswer]:
        """Return what certificates prove under a threat model, by obligation id.

        An empty ``threat`` means: without one.

        A proof under none is valid under each. A proof that uses no axiom of the only threat model is valid under none.
        """
        found: dict[str, SolverAnswer] = {}
        alone = not self.composition.layers[0].claims
        for each in self.composition.obligations:
            answer, layer = self.composition.answers[each.id], each.layer.threat
            here = layer is None or layer.id == threat or (alone and not threat and not _of_threat(answer))
            if here and answer.outcome is SolverOutcome.PROVED:
                id = each.id.removeprefix(each.layer.prefix)
                changes, read = each.action.updates if each.action else (), each.statement.symbols
                updates = (f"update:{update.name}" for update in changes if update.symbol.name in read)
                found[id] = replace(answer, id=id, core=(*_in_induction(answer.core), *updates))
        return found

    def standings(self) -> Iterator[InvariantStatus]:
        """Yield the status *proved* of each invariant whose obligations all have accepted certificates, layer by layer.

        Threat models are in the order that induction uses, those with few axioms first.
        """
        protocol = self.composition.layers[0].protocol
        lemmas = {lemma.name for lemma in protocol.lemmas}
        ordered = sorted(self.composition.layers, key=lambda layer: len(layer.threat.axioms) if layer.threat else -1)
        for invariant in protocol.invariants:
            having = [layer.threat for layer in ordered if invariant in layer.claims]
            everywhere = None in having or self.composition.everywhere([invariant.name]) is not None
            for threat in [None] if having and everywhere else having:
                layer = threat.id if threat else ""
                yield InvariantStatus(protocol.variant, invariant.name, invariant.name in lemmas, layer, Status.PROVED)


def _of_threat(answer: SolverAnswer) -> bool:
    return any(name.startswith("threat:") for name in answer.core)


class _Design(NamedTuple):
    """A design by its names and digest, with the threat models under which there are claims to prove."""

    reference: str
    variant: str
    digest: str
    threats: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the work: every ``of``-th obligation of all layers of some designs."""

    place: Path
    designs: tuple[_Design, ...]
    number: int
    of: int

    def __contains__(self, id: str) -> bool:
        return crc32(id.encode()) % self.of == self.number


@dataclass(frozen=True, slots=True)
class _Judgement:
    """Why the certificate of an obligation is refused, or else the hypotheses that it uses."""

    variant: str
    obligation: str
    why: str
    hypotheses: tuple[str, ...]


def fitting_cores(source: Source, protocol: Protocol, threat: Threat | None) -> Hints:
    """Return the hypotheses of the certificates that fit a design, by the ids of obligations without threat models.

    The kernel is not asked about these certificates, so nothing is proved by them.
    """
    place, found = place_of(source), dict[str, tuple[str, ...]]()
    with contextlib.suppress(BadCertificateFile, SpecificationError):
        certificates = load_certificates(place) if place else Certificates({})
        for layer in (each for each in layers(protocol) if each.threat in (None, threat)):
            for (_, id), core in cores(certificates, [layer]).items():
                found[id.removeprefix(layer.prefix)] = _in_induction(core)
    return found


def _in_induction(core: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(FRESH if name.startswith("fresh:") else name for name in core))


def check_designs(
    source: Source, plans: Sequence[Plan], jobs: int
) -> tuple[dict[str, CertifiedDesign], tuple[str, ...]]:
    """Have workers check the certificates of all claims to be proved; return results by variant, and notes.

    A design without certificates, or with a construct that cannot be certified, is left out.
    """
    place = place_of(source)
    if place is None or not place.is_file():
        return {}, ()
    try:
        found = load_certificates(place).layers
    except BadCertificateFile as error:
        return {}, (f"no certificate is accepted, so the solver was asked: {error}",)
    needed = {}
    for plan in plans:
        variant, threats = plan.protocol.variant, frozenset(threat.id for _, threat in plan.to_prove)
        if (plan.to_prove or plan.liveness_to_prove) and any(variant == each for each, _ in found):
            with contextlib.suppress(SpecificationError):
                design = _Design(source.reference, variant, plan.protocol.digest, threats)
                needed[variant] = design, _obligations(design)
    began = time.monotonic()
    judged: dict[str, dict[str, _Judgement]] = {variant: {} for variant in needed}
    asked = tuple(design for design, _ in needed.values())
    for said in _in_workers(place, asked, 0 if sum(map(_number, found.values())) < FEW else jobs):
        judged[said.variant][said.obligation] = said
    seconds = time.monotonic() - began
    return {variant: _put_together(listed, judged[variant], seconds) for variant, (_, listed) in needed.items()}, ()


def _put_together(listed: _Listed, judged: Mapping[str, _Judgement], seconds: float) -> CertifiedDesign:
    composition = _composition(listed.layers, judged)
    accepted = {id: said.hypotheses for id, said in judged.items() if not said.why}
    conditions = {each.id for every in listed.lively.values() for attempt in every for each in attempt.obligations}
    spoilt = {id: judged[id].why for id in conditions & judged.keys() if judged[id].why}
    return CertifiedDesign(composition, seconds, liveness_of(composition, listed.lively, accepted), spoilt)


def _number(layer: LayerCertificates) -> int:
    return len(layer.entries)


def _in_workers(place: Path, designs: tuple[_Design, ...], jobs: int) -> Iterator[_Judgement]:
    """Yield what workers say of the certificates of designs; without any, this process says it."""
    parts = [_Part(place, designs, number, jobs or 1) for number in range(jobs or 1)] if designs else []
    if not jobs:
        yield from (each for part in parts for batch in _judged(part) for each in batch)
        return
    with WorkerPool(jobs) as pool:
        for _, said in pool.results(_judged, parts):
            yield from [] if isinstance(said, Lost) else said


def _judged(part: _Part) -> Iterator[list[_Judgement]]:
    """Judge the certificates of a part: equal texts are written by one writer, and followed once."""
    certificates = load_certificates(part.place)
    accepted: Accepted = set()
    judge = Judge(MOST_TOKENS, accepted)
    for design in part.designs:
        judge.writer = Writer(judge.writer.known)
        mine = (each for each in _certificates_of(design, certificates) if each[0].id in part)
        while batch := [_judgement(design, judge, *each) for each in islice(mine, BATCH)]:
            yield batch


def _certificates_of(design: _Design, certificates: Certificates) -> Iterator[tuple[Provable, Entry | None]]:
    """Yield the obligations of a design with their certificates, and what has one of its liveness properties."""
    listed = _obligations(design)
    for each in listed.layers:
        entries = each.entries(certificates.layers.get(key_of(each.layer)))
        yield from ((obligation, entries.get(obligation.id)) for obligation in each)
    yield from certified_conditions(listed.lively, certificates.liveness.get(design.variant, {}))


def _judgement(design: _Design, judge: Judge, obligation: Provable, entry: Entry | None) -> _Judgement:
    try:
        why = judge.why_refused(obligation, entry)
    except SpecificationError as error:
        why = str(error)
    return _Judgement(design.variant, obligation.id, why, entry.hypotheses if entry and not why else ())


class _Listed(NamedTuple):
    """What is to be proved of a design: of the layers that are asked for, and of liveness properties."""

    layers: tuple[LayerObligations, ...]
    lively: Mapping[str, tuple[LivenessAttempt, ...]]


@functools.lru_cache(maxsize=8)
def _obligations(design: _Design) -> _Listed:
    """Return what is to be proved of a design; a forked worker has what its parent listed.

    Raises SpecificationError if something in it cannot be certified, or it has changed.
    """
    protocol = load(design.reference).protocol(design.variant)
    if protocol.digest != design.digest:
        raise SpecificationError(f"{design.variant} changed while it was checked")
    every = layers(protocol)
    wanted = (each for each in every if each.threat is None or each.threat.id in design.threats)
    return _Listed(tuple(map(LayerObligations.of, wanted)), attempts(every))


def _composition(listed: Sequence[LayerObligations], judged: Mapping[str, _Judgement]) -> Composition:
    answers: dict[str, SolverAnswer] = {}
    for layer in listed:
        for each in layer:
            said = judged.get(each.id)
            if said is None or said.why:
                why = said.why if said else "no checker judged its certificate"
                answers[each.id] = SolverAnswer(each.id, SolverOutcome.UNKNOWN, reason=why)
            else:
                answers[each.id] = SolverAnswer(each.id, SolverOutcome.PROVED, said.hypotheses, certified=True)
    every = tuple(each for layer in listed for each in layer)
    return Composition([layer.layer for layer in listed], every, answers)
