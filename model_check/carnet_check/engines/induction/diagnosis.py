"""Why proofs fail: how each invariant stands, and small states from which the induction fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from carnet_check.engines.induction.counterexample import Counterexample, counterexample, parts_of
from carnet_check.engines.induction.induction import ProofResult
from carnet_check.engines.induction.obligations import obligations
from carnet_check.engines.interface import Cti, Standing, Status
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.errors import EngineDisagreement
from carnet_check.loading import families
from carnet_check.wording import filled
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool
from carnet_spec.language.notation import show


def standings(proofs: Sequence[ProofResult]) -> Iterator[Standing]:
    """Yield how each invariant stands after all proofs of one variant, first tries and later ones.

    What is proved without the axioms of a threat model is proved under each. What is not, is told of the threat models
    for which a proof was tried, if there are any.
    """
    general = [proof for proof in proofs if proof.threat is None]
    limited = [proof for proof in proofs if proof.threat is not None]
    lemmas = {lemma.name for lemma in proofs[0].protocol.lemmas}
    for name in [invariant.name for invariant in proofs[0].protocol.invariants]:
        found = _standing(name, name in lemmas, general)
        if found is not None and found.status is Status.PROVED:
            yield found
            continue
        threats = dict.fromkeys(proof.threat for proof in limited)
        told = [_standing(name, name in lemmas, [p for p in limited if p.threat == threat]) for threat in threats]
        yield from [each for each in told if each is not None] or ([found] if found is not None else [])


def _standing(name: str, lemma: bool, proofs: Sequence[ProofResult]) -> Standing | None:
    """Return how an invariant stands in one layer; the first of ``proofs`` has all invariants, others fewer."""
    speaking = [proof for proof in proofs if proof.speaks_of(name)]
    if not speaking:
        return None
    first = speaking[0]
    layer = first.threat.id if first.threat else ""
    if any(not proof.missing(name) for proof in speaking):
        return Standing(first.protocol.variant, name, lemma, layer, Status.PROVED)
    own = [answer for answer in first.failed if first.obligations[answer.id].invariant.name == name]
    failing = tuple(answer.id for answer in own if answer.outcome is SolverOutcome.REFUTED)
    open_ = tuple(f"{answer.id} ({answer.reason})" for answer in own if answer.outcome is not SolverOutcome.REFUTED)
    status = Status.NOT_INDUCTIVE if failing else Status.UNKNOWN
    fallen = {first.obligations[answer.id].invariant.name for answer in first.failed}
    rests_on = tuple(used for used in first.uses(name) if used != name and used in fallen)
    return Standing(first.protocol.variant, name, lemma, layer, status, failing, open_, rests_on)


# -- states from which an induction fails ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """Obligations to show the failure of, by names, so that a worker process finds them."""

    reference: str
    variant: str
    layer: str
    obligations: tuple[str, ...]
    rlimit: int


def counterexamples(reference: str, standing: Standing, most: int, rlimit: int) -> Iterator[Cti]:
    """Yield a small state for each of the first obligations of an invariant that do not hold, with bounded memory."""
    asked = _Asked(reference, standing.variant, standing.layer, standing.failing[:most], rlimit)
    left = list(asked.obligations)
    with WorkerPool(1) as pool:
        for _, said in pool.results(_shown, [asked]):
            if isinstance(said, Lost):
                yield from (Cti(id, unconfirmed=said.reason) for id in left)
            else:
                left.remove(said.obligation)
                yield said


def _shown(asked: _Asked) -> Iterator[Cti]:
    protocol = families.load(asked.reference).protocol(asked.variant)
    threat = protocol.threat(asked.layer) if asked.layer else None
    listed = {each.id: each for each in obligations(protocol, threat) if each.id in asked.obligations}
    for id in asked.obligations:
        try:
            found = counterexample(listed[id], asked.rlimit)
        except EngineDisagreement as problem:
            yield Cti(id, unconfirmed=str(problem))
        else:
            yield told(found) if found else Cti(id, unconfirmed="the solver gives no small state within its budget")


def told(found: Counterexample) -> Cti:
    """Return a counterexample in words."""
    obligation = found.obligation
    action, invariant = obligation.action, obligation.invariant
    parts = parts_of(found)
    return Cti(
        obligation=obligation.id,
        action=action.name if action else "",
        sentence=filled(action.says, parts.args) if action else "",
        args=parts.args,
        elements=found.before.elements,
        about=parts.about,
        before=tuple(parts.before),
        fixed=tuple(parts.fixed),
        beside=tuple(parts.beside),
        changes=tuple(parts.changes),
        formula=show(invariant.body),
        false=tuple(parts.false),
        holding=tuple(each.name for each in obligation.system.invariants) if action else (),
    )
