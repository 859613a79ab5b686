"""Induction: ask for every obligation, cheaply first, and put the answers together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.engines.induction.obligations import Obligation, System, obligations_of, system
from carnet_check.engines.induction.proof import ProofResult, taken_over
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Batch, Question
from carnet_check.engines.induction.workers import Workers
from carnet_check.engines.proving.composition import ClaimProof, SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import Hints, load_hints
from carnet_check.exports.smtlib import Statement
from carnet_spec.language import Protocol, Threat
from carnet_spec.language.terms import TRUE

Progress = Callable[[int, int, SolverAnswer], None]
"""Called with how many obligations are done, how many there are, and the latest answer."""


def prove(
    protocol: Protocol,
    threat: Threat | None = None,
    *,
    jobs: int = 2,
    rlimit: int = DEFAULT_RLIMIT,
    progress: Progress | None = None,
    only: Callable[[Obligation], bool] | None = None,
    baselines: Sequence[ProofResult] = (),
    hints: Hints | None = None,
    workers: Workers | None = None,
    minimise: bool = False,
) -> ProofResult:
    """Prove the obligations of ``protocol`` under ``threat``; without one, for all threat models at once.

    Args:
        protocol: what to prove things about.
        threat: the threat model whose axioms may be used.
        jobs: how many worker processes; 1 stays in this one.
        rlimit: the budget of each question, in units of the solver's own counter.
        progress: told of every answer.
        only: which obligations to look at; the others stay unanswered, so claims that rest on them are not proved.
        baselines: earlier proofs, under other threat models or of a similar protocol. What they proved is not asked
            again where its goal and everything in its core are the same here.
        hints: hypotheses to try first; by default those that lie beside the specification. They change times only.
        workers: a pool to use instead of starting one.
        minimise: look for small cores, and for proofs without defences and axioms, for several times the time.
    """
    started = time.perf_counter()
    subject = next(
        (each.system.under(threat) for each in baselines if each.protocol is protocol), system(protocol, threat)
    )
    listed = {each.id: each for each in obligations_of(subject)}
    hints = load_hints(protocol) if hints is None else hints
    answers = taken_over(listed, baselines)
    asked = [each for each in listed.values() if each.id not in answers and (not only or only(each))]
    with workers or Workers(jobs) as pool:
        for done, answer in enumerate(answers_to(asked, subject, hints, rlimit, pool, minimise), 1):
            answers[answer.id] = answer
            if progress:
                progress(done, len(asked), answer)
    ordered = {id: answers[id] for id in listed if id in answers}
    return ProofResult(subject, listed, ordered, time.perf_counter() - started)


def answers_to(
    asked: Sequence[Obligation],
    subject: System,
    hints: Hints,
    rlimit: int,
    workers: Workers,
    minimise: bool = False,
) -> Iterator[SolverAnswer]:
    """Yield the answer to each obligation of ``asked``, with the invariants of ``subject`` as hypotheses."""
    yield from (SolverAnswer(each.id, SolverOutcome.PROVED) for each in asked if each.goal == TRUE)
    for stepping, shared in ((False, subject.init_hypotheses), (True, subject.step_hypotheses)):
        questions = tuple(
            Question(
                each.id,
                each.negated_goal,
                each.own_statements,
                attempts(each, shared, hints.get(each.id)),
                (*each.of_defences, *(name for name in shared if not name.startswith("inv:"))),
            )
            for each in asked
            if each.goal != TRUE and (each.action is not None) == stepping
        )
        if questions:
            batch = Batch(subject.declarations, shared, questions, rlimit, minimise)
            yield from workers.answers(batch)


def attempts(
    obligation: Obligation, shared: Mapping[str, Statement], hint: tuple[str, ...] | None
) -> tuple[tuple[str, ...], ...]:
    """Return the sets of hypotheses to try: a hint, or what speaks of the same state; then everything."""
    every = (*shared, *obligation.own)
    first = _near(obligation, shared) if hint is None else tuple(name for name in every if name in hint)
    return (first, every) if len(first) < len(every) else (every,)


def _near(obligation: Obligation, shared: Mapping[str, Statement]) -> tuple[str, ...]:
    """Return the invariant itself and the hypotheses that speak of no other state than the obligation does."""
    spoken = {name for said in obligation.statements for name in said.symbols}
    near = (
        name
        for name, said in shared.items()
        if name == f"inv:{obligation.invariant.name}"
        or all(symbol in spoken for symbol in said.symbols if symbol.startswith("now."))
    )
    return (*near, *obligation.own)


def fewest_axioms_first(threats: Iterable[Threat]) -> list[Threat]:
    """Order threat models so that each proof can take over much of those before it."""
    return sorted(threats, key=lambda threat: len(threat.axioms))


@dataclass(frozen=True, slots=True)
class Tried:
    """The proof of each claim, by its name and the threat model's id, and all proofs that were tried on the way."""

    claims: dict[tuple[str, str], ClaimProof]
    proofs: tuple[ProofResult, ...]


def prove_claims(
    protocol: Protocol,
    threats: Iterable[Threat] | None = None,
    *,
    jobs: int = 2,
    rlimit: int = DEFAULT_RLIMIT,
    progress: Progress | None = None,
    only: Callable[[Obligation], bool] | None = None,
    hints: Hints | None = None,
    workers: Workers | None = None,
) -> dict[tuple[str, str], ClaimProof]:
    """Prove every stated claim under each of ``threats`` (by default all) that it is claimed for.

    Returns:
        The proof of each claim, by its name and the threat model's id.
    """
    return try_claims(
        protocol, threats, jobs=jobs, rlimit=rlimit, progress=progress, only=only, hints=hints, workers=workers
    ).claims


def try_claims(
    protocol: Protocol,
    threats: Iterable[Threat] | None = None,
    *,
    jobs: int = 2,
    rlimit: int = DEFAULT_RLIMIT,
    progress: Progress | None = None,
    only: Callable[[Obligation], bool] | None = None,
    hints: Hints | None = None,
    workers: Workers | None = None,
) -> Tried:
    """Prove every stated claim as :func:`prove_claims` does, and return the proofs too.

    One proof without the axioms of any threat model serves as many claims as it can; what it leaves open is tried
    again under each threat model, with its axioms and the invariants limited to it. Threat models with few axioms come
    first, because what is proved without using an axiom is proved wherever the same invariants are at hand.
    """
    threats = tuple(protocol.threats if threats is None else threats)
    found: dict[tuple[str, str], ClaimProof] = {}
    with workers or Workers(jobs) as pool:

        def proof(threat: Threat | None, baselines: Sequence[ProofResult]) -> ProofResult:
            return prove(
                protocol,
                threat,
                rlimit=rlimit,
                progress=progress,
                only=only,
                baselines=baselines,
                hints=hints,
                workers=pool,
            )

        proofs = [proof(None, ())]
        for threat in fewest_axioms_first(threats):
            wanted = [claim.name for claim in protocol.claims if claim.invariant and threat.id in claim.under]
            general = {name: proofs[0].claim(name) for name in wanted}
            if not all(each.proved for each in general.values()):
                proofs.append(proof(threat, proofs))
            for name, each in general.items():
                found[name, threat.id] = each if each.proved else proofs[-1].claim(name)
    return Tried(found, tuple(proofs))
