"""Induction: prove obligations, and say what the proof of each claim rests on.

A claim is proved if a set of invariants contains it, every obligation of every member is proved, and every hypothesis
used in doing so is a member again. That set is found by following unsat cores from the claim, so an unproved lemma
spoils only the claims that rest on it, and each proof names exactly the assumptions and defences that it used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from carnet_check.symbolic.hints import Hints, load_hints
from carnet_check.symbolic.obligations import Obligation, System, obligations_of, system
from carnet_check.symbolic.solving import (
    DEFAULT_RLIMIT,
    Answer,
    Batch,
    Outcome,
    Question,
    solver_version,
)
from carnet_check.symbolic.workers import Workers
from carnet_spec.language import Protocol, SpecificationError, Threat
from carnet_spec.language.terms import TRUE

Progress = Callable[[int, int, Answer], None]
"""Called with how many obligations are done, how many there are, and the latest answer."""


@dataclass(frozen=True, slots=True)
class ClaimProof:
    """What induction says of one claim.

    Attributes:
        outcome: ``proved``, or ``unknown``: a failed induction refutes no claim.
        lemmas: the invariants, other claims among them, that the proof rests on.
        assumptions: ids of the assumptions that it used.
        defences: ids of the defences whose guards or updates it used.
        axioms: names of the axioms that it used, those of the threat model included.
        missing: obligations that were not proved.
        reason: why there is no proof, where no obligation says so.
    """

    claim: str
    outcome: Outcome
    lemmas: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    defences: tuple[str, ...] = ()
    axioms: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""

    @property
    def proved(self) -> bool:
        """Whether the claim is proved."""
        return self.outcome is Outcome.PROVED


@dataclass(frozen=True)
class ProofResult:
    """Answers to all obligations of a protocol under a threat model, or, without one, under all of them."""

    system: System
    obligations: Mapping[str, Obligation]
    answers: Mapping[str, Answer]
    seconds: float
    solver: str = field(default_factory=solver_version)

    @property
    def protocol(self) -> Protocol:
        """The protocol that the proof is about."""
        return self.system.protocol

    @property
    def threat(self) -> Threat | None:
        """The threat model whose axioms were assumed."""
        return self.system.threat

    @property
    def failed(self) -> tuple[Answer, ...]:
        """What was refuted or is unknown, in the order of the obligations."""
        return tuple(answer for answer in self.answers.values() if answer.outcome is not Outcome.PROVED)

    @cached_property
    def _of_invariant(self) -> Mapping[str, tuple[Obligation, ...]]:
        found: dict[str, list[Obligation]] = {each.name: [] for each in self.system.invariants}
        for obligation in self.obligations.values():
            found[obligation.invariant.name].append(obligation)
        return {name: tuple(listed) for name, listed in found.items()}

    def uses(self, invariant: str) -> tuple[str, ...]:
        """Return the invariants that the proof of ``invariant`` rests on, itself included, sorted."""
        reached = {invariant}
        waiting = [invariant]
        while waiting:
            for obligation in self._of_invariant[waiting.pop()]:
                for used in self._core(obligation, "inv:"):
                    if used not in reached:
                        reached.add(used)
                        waiting.append(used)
        return tuple(sorted(reached))

    def _core(self, obligation: Obligation, kind: str) -> list[str]:
        answer = self.answers.get(obligation.id)
        core = answer.core if answer else ()
        return [name.removeprefix(kind) for name in core if name.startswith(kind)]

    def claim(self, name: str) -> ClaimProof:
        """Say whether the claim ``name`` is proved and what the proof rests on."""
        invariant = self.protocol.claim(name).checked.name
        if invariant not in self._of_invariant:
            where = f"threat model {self.threat.id}" if self.threat else "every threat model"
            reason = f"not claimed under {where}"
            return ClaimProof(name, Outcome.UNKNOWN, reason=reason)
        members = self.uses(invariant)
        rest_on = [each for member in members for each in self._of_invariant[member]]
        missing = tuple(each.id for each in rest_on if not self._is_proved(each))
        axioms = {axiom for each in rest_on for kind in ("axiom:", "threat:") for axiom in self._core(each, kind)}
        return ClaimProof(
            claim=name,
            outcome=Outcome.UNKNOWN if missing else Outcome.PROVED,
            lemmas=tuple(member for member in members if member != invariant),
            assumptions=self._assumptions(axioms),
            defences=tuple(sorted({id for each in rest_on for id in self._defences(each)})),
            axioms=tuple(sorted(axioms)),
            missing=missing,
        )

    def _is_proved(self, obligation: Obligation) -> bool:
        answer = self.answers.get(obligation.id)
        return answer is not None and answer.outcome is Outcome.PROVED

    def _assumptions(self, axioms: Iterable[str]) -> tuple[str, ...]:
        stated = {axiom.name: axiom.assumption for axiom in self.protocol.axioms}
        return tuple(sorted({stated[name] for name in axioms if stated.get(name)}))

    def _defences(self, obligation: Obligation) -> set[str]:
        action = obligation.action
        if action is None:
            return set()
        guards = set(self._core(obligation, "guard:"))
        updates = set(self._core(obligation, "update:"))
        return {
            *(guard.defence for guard in action.guards if guard.defence and guard.name in guards),
            *(each.defence for each in action.updates if each.defence and each.name in updates),
        }


def prove(
    protocol: Protocol,
    threat: Threat | None = None,
    *,
    jobs: int = 2,
    rlimit: int = DEFAULT_RLIMIT,
    progress: Progress | None = None,
    only: Callable[[Obligation], bool] | None = None,
    base: ProofResult | None = None,
    hints: Hints | None = None,
    workers: Workers | None = None,
) -> ProofResult:
    """Prove the obligations of ``protocol`` under ``threat``; without one, for all threat models at once.

    Args:
        protocol: what to prove things about.
        threat: the threat model whose axioms may be used.
        jobs: how many worker processes; 1 stays in this one.
        rlimit: the budget of each question, in units of the solver's own counter.
        progress: told of every answer.
        only: which obligations to look at; the others stay unanswered, so claims that rest on them are not proved.
        base: an earlier proof of the same protocol with fewer axioms and invariants; what it proved is not asked again.
        hints: hypotheses to try first; by default those that lie beside the specification. They change times only.
        workers: a pool to use instead of starting one.
    """
    started = time.perf_counter()
    subject = system(protocol, threat)
    listed = {each.id: each for each in obligations_of(subject)}
    known = _known(protocol, base)
    hints = load_hints(protocol) if hints is None else hints
    answers = {id: known[id] for id in listed if id in known}
    asked = [each for each in listed.values() if each.id not in known and (not only or only(each))]
    done, total = 0, len(asked)
    with workers or Workers(jobs) as pool:
        for answer in _answered(asked, subject, hints, rlimit, pool):
            answers[answer.id] = answer
            done += 1
            if progress:
                progress(done, total, answer)
    ordered = {id: answers[id] for id in listed if id in answers}
    return ProofResult(subject, listed, ordered, time.perf_counter() - started)


def _known(protocol: Protocol, base: ProofResult | None) -> Mapping[str, Answer]:
    """Return what ``base`` proved; each of its cores names hypotheses that the new proof has too.

    Raises:
        SpecificationError: ``base`` is about another protocol, or assumed the axioms of a threat model.
    """
    if base is None:
        return {}
    if base.protocol != protocol or base.threat is not None:
        raise SpecificationError("a proof can rest on one of the same protocol without a threat model only")
    return {id: answer for id, answer in base.answers.items() if answer.outcome is Outcome.PROVED}


def _answered(asked: list[Obligation], subject: System, hints: Hints, rlimit: int, pool: Workers) -> Iterable[Answer]:
    for each in asked:
        if each.goal == TRUE:
            yield Answer(each.id, Outcome.PROVED)
    open_ = [each for each in asked if each.goal != TRUE]
    for shared, chosen in (
        (subject.init_hypotheses, [each for each in open_ if each.action is None]),
        (subject.step_hypotheses, [each for each in open_ if each.action is not None]),
    ):
        questions = tuple(Question(each.id, each.statements, attempts(each, hints.get(each.id))) for each in chosen)
        if questions:
            yield from pool.answers(Batch(subject.declarations, shared, questions, rlimit))


def attempts(obligation: Obligation, hint: tuple[str, ...] | None) -> tuple[tuple[str, ...], ...]:
    """Return the sets of hypotheses to try: a hint, or what speaks of the same state; then everything."""
    shared = obligation.shared
    every = tuple(shared)
    first = _near(obligation) if hint is None else tuple(name for name in every if name in hint)
    return (first, every) if len(first) < len(every) else (every,)


def _near(obligation: Obligation) -> tuple[str, ...]:
    """Return the invariant itself and the hypotheses that speak of no other state than the obligation does."""
    spoken = {name for own in obligation.statements for name in own.symbols}
    return tuple(
        name
        for name, said in obligation.shared.items()
        if name == f"inv:{obligation.invariant.name}"
        or all(symbol in spoken for symbol in said.symbols if symbol.startswith("now."))
    )


def prove_claims(
    protocol: Protocol,
    threats: Iterable[Threat] | None = None,
    *,
    jobs: int = 2,
    rlimit: int = DEFAULT_RLIMIT,
    progress: Progress | None = None,
    hints: Hints | None = None,
) -> dict[tuple[str, str], ClaimProof]:
    """Prove every stated claim under each of ``threats`` (by default all) that it is claimed for.

    One proof without the axioms of any threat model serves as many claims as it can; what it leaves open is tried
    again under each threat model, with its axioms and the invariants limited to it.

    Returns:
        The proof of each claim, by its name and the threat model's id.
    """
    threats = tuple(protocol.threats if threats is None else threats)
    found: dict[tuple[str, str], ClaimProof] = {}
    with Workers(jobs) as workers:
        general = prove(protocol, None, rlimit=rlimit, progress=progress, hints=hints, workers=workers)
        for threat in threats:
            wanted = [
                claim.name for claim in protocol.claims if claim.invariant is not None and threat.id in claim.under
            ]
            proofs = {name: general.claim(name) for name in wanted}
            if not all(proof.proved for proof in proofs.values()):
                own = prove(
                    protocol,
                    threat,
                    rlimit=rlimit,
                    progress=progress,
                    base=general,
                    hints=hints,
                    workers=workers,
                )
                proofs = {name: proof if proof.proved else own.claim(name) for name, proof in proofs.items()}
            found.update({(name, threat.id): proof for name, proof in proofs.items()})
    return found
