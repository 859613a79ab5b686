"""Induction: solve every obligation, with few hypotheses first, and combine the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType

from carnet_check.engines.induction.obligations import FRESH_VALUES_DIFFER, Obligation, System, obligations_of, system
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Batch, Question, Workers
from carnet_check.engines.proving.composition import ClaimProof, SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import Hints, load_hints, solver_version
from carnet_check.exports.smtlib import Statement
from carnet_spec.language import GuardKind, Protocol, Threat
from carnet_spec.language.terms import TRUE

#: Returns the answers of certificates under a threat model, or without one under all, by the ids of obligations.
Certified = Callable[[Threat | None], Mapping[str, SolverAnswer]]
#: Called with the number of obligations done, the number of all, and the latest answer.
Progress = Callable[[int, int, SolverAnswer], None]


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
    certified: Certified | None = None,
) -> ProofResult:
    """Prove the obligations of ``protocol`` under ``threat``; without one, for all threat models at once.

    Args:
        protocol: the protocol whose claims and lemmas are to be proved.
        threat: the threat model whose axioms may be used.
        jobs: the number of worker processes; with 1, this process does the work.
        rlimit: the budget of each question, in units of the solver's own counter.
        progress: called with every answer.
        only: selects the obligations to solve; the others stay unanswered, so claims that need them are not proved.
        baselines: earlier proofs, under other threat models or of a similar protocol. An answer of theirs is reused if
            the goal and every hypothesis in its core are the same here.
        hints: hypotheses to try first; by default those stored beside the specification. They only affect the time.
        workers: a pool to use instead of starting one.
        minimise: look for small cores, and for proofs without defences and axioms; this takes several times as long.
        certified: what certificates prove; the solver does not get these obligations.
    """
    started = time.perf_counter()
    subject = next(
        (each.system.under(threat) for each in baselines if each.protocol is protocol), system(protocol, threat)
    )
    listed = {each.id: each for each in obligations_of(subject)}
    hints = load_hints(protocol) if hints is None else hints
    answers = taken_over(listed, baselines)
    for id, answer in certified(threat).items() if certified else ():
        if id in listed:
            answers.setdefault(id, answer)
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
        mutable = mutable_symbols(shared)
        questions = tuple(
            Question(
                each.id,
                each.negated_goal,
                each.own_statements,
                attempts(each, mutable, hints.get(each.id)),
                (*each.of_defences, *(name for name in shared if not name.startswith("inv:"))),
            )
            for each in asked
            if each.goal != TRUE and (each.action is not None) == stepping
        )
        if questions:
            batch = Batch(subject.declarations, shared, questions, rlimit, minimise)
            yield from workers.answers(batch)


def mutable_symbols(hypotheses: Mapping[str, Statement]) -> dict[str, frozenset[str]]:
    """Return the symbols of the state that each hypothesis reads."""
    return {
        name: frozenset(symbol for symbol in said.symbols if symbol.startswith("now."))
        for name, said in hypotheses.items()
    }


def attempts(
    obligation: Obligation, shared: Mapping[str, Set[str]], hint: tuple[str, ...] | None
) -> tuple[tuple[str, ...], ...]:
    """Return the sets of hypotheses to try: a hint, those that read the same mutable symbols, then all.

    ``shared`` are the hypotheses of all obligations, each with the mutable symbols that it reads.
    """
    every = (*shared, *obligation.own)
    hinted = [tuple(name for name in every if name in hint)] if hint is not None else []
    return tuple(dict.fromkeys((*hinted, _near(obligation, shared), every)))


def _near(obligation: Obligation, shared: Mapping[str, Set[str]]) -> tuple[str, ...]:
    spoken = {name for said in obligation.statements for name in said.symbols}
    own = f"inv:{obligation.invariant.name}"
    near = (name for name, symbols in shared.items() if name == own or symbols <= spoken)
    return (*near, *obligation.own)


def fewest_axioms_first(threats: Iterable[Threat]) -> list[Threat]:
    """Sort threat models by the number of axioms, so that each proof can reuse much of those before it."""
    return sorted(threats, key=lambda threat: len(threat.axioms))


@dataclass(frozen=True, slots=True)
class ClaimProofs:
    """The proof of each claim, by its name and the threat model's id, and all proofs that were attempted."""

    claims: dict[tuple[str, str], ClaimProof]
    proofs: tuple[ProofResult, ...]


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
    certified: Certified | None = None,
) -> ClaimProofs:
    """Prove every stated claim under each of ``threats`` (by default all) for which it is claimed.

    One proof without the axioms of any threat model covers as many claims as possible. Claims that it leaves open are
    tried again under each threat model, with its axioms and the invariants limited to it. Threat models with few axioms
    come first, because a proof that does not use an axiom is valid wherever the same invariants are available.
    """
    threats = tuple(protocol.threats if threats is None else threats)
    found: dict[tuple[str, str], ClaimProof] = {}
    with workers or Workers(jobs) as pool:
        proof = partial(
            prove,
            protocol,
            rlimit=rlimit,
            progress=progress,
            only=only,
            hints=hints,
            workers=pool,
            certified=certified,
        )
        proofs = [proof(None)]
        for threat in fewest_axioms_first(threats):
            wanted = [claim.name for claim in protocol.claims if claim.invariant and threat.id in claim.under]
            general = {name: proofs[0].claim(name) for name in wanted}
            if not all(each.is_proved for each in general.values()):
                proofs.append(proof(threat, baselines=proofs))
            for name, each in general.items():
                found[name, threat.id] = each if each.is_proved else proofs[-1].claim(name)
    return ClaimProofs(found, tuple(proofs))


# -- The results of proofs, and the basis of each claim's proof ------------------------------------
#
# A claim is proved if a set of invariants contains it, every obligation of every member is proved, and every
# invariant used as a hypothesis is a member again. That set is found by following unsat cores from the claim. So an
# unproved lemma only affects the claims that depend on it, and each proof names exactly the assumptions and defences
# that it used.


@dataclass(frozen=True, slots=True)
class _Part:
    """The hypotheses that the proofs of one invariant's obligations use, and which obligations have no proof."""

    invariants: frozenset[str]
    axioms: frozenset[str]
    defences: frozenset[str]
    unproved: tuple[str, ...]


@dataclass(frozen=True)
class ProofResult:
    """Answers to all obligations of a protocol under a threat model, or, without one, under all of them."""

    system: System
    obligations: Mapping[str, Obligation]
    answers: Mapping[str, SolverAnswer]
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
    def failures(self) -> tuple[SolverAnswer, ...]:
        """The refuted and unknown answers, in the order of the obligations."""
        return tuple(answer for answer in self.answers.values() if answer.outcome is not SolverOutcome.PROVED)

    @cached_property
    def _of_invariant(self) -> Mapping[str, tuple[Obligation, ...]]:
        found: dict[str, list[Obligation]] = {each.name: [] for each in self.system.invariants}
        for obligation in self.obligations.values():
            found[obligation.invariant.name].append(obligation)
        return {name: tuple(listed) for name, listed in found.items()}

    @cached_property
    def _parts(self) -> Mapping[str, _Part]:
        return {name: self._part(of_it) for name, of_it in self._of_invariant.items()}

    def _part(self, obligations: Iterable[Obligation]) -> _Part:
        invariants, axioms, defences = set[str](), set[str](), set[str]()
        unproved: list[str] = []
        for obligation in obligations:
            answer = self.answers.get(obligation.id)
            if answer is None or answer.outcome is not SolverOutcome.PROVED:
                unproved.append(obligation.id)
            for name in answer.core if answer else ():
                kind, _, rest = name.partition(":")
                if kind == "inv":
                    invariants.add(rest)
                elif kind in ("axiom", "threat"):
                    axioms.add(rest)
            defences |= self._defences(obligation)
        return _Part(frozenset(invariants), frozenset(axioms), frozenset(defences), tuple(unproved))

    def uses(self, invariant: str) -> tuple[str, ...]:
        """Return the invariants that the proof of ``invariant`` depends on, itself included, sorted."""
        reached = {invariant}
        waiting = [invariant]
        while waiting:
            further = self._parts[waiting.pop()].invariants - reached
            reached |= further
            waiting += further
        return tuple(sorted(reached))

    def speaks_of(self, invariant: str) -> bool:
        """Whether the proof is about this invariant."""
        return invariant in self._of_invariant

    def missing(self, invariant: str) -> tuple[str, ...]:
        """Return the unproved obligations of ``invariant``, and of all invariants that its proof depends on."""
        return tuple(id for part in self._rest_on(invariant) for id in part.unproved)

    def axioms(self, invariant: str) -> frozenset[str]:
        """Return the axioms used by the proof of ``invariant``, and of all invariants that it depends on."""
        return frozenset[str]().union(*(part.axioms for part in self._rest_on(invariant)))

    def _rest_on(self, invariant: str) -> list[_Part]:
        return [self._parts[member] for member in self.uses(invariant)]

    def claim(self, name: str) -> ClaimProof:
        """Return whether the claim ``name`` is proved, and the basis of the proof."""
        invariant = self.protocol.claim(name).checked.name
        if invariant not in self._of_invariant:
            where = f"threat model {self.threat.id}" if self.threat else "every threat model"
            return ClaimProof(name, SolverOutcome.UNKNOWN, reason=f"not claimed under {where}")
        missing, axioms = self.missing(invariant), self.axioms(invariant)
        stated = {axiom.name: axiom.states for axiom in self.protocol.axioms}
        defences = frozenset[str]().union(*(part.defences for part in self._rest_on(invariant)))
        needed = (each.id for member in self.uses(invariant) for each in self._of_invariant[member])
        answers = [self.answers[id] for id in needed if id in self.answers]
        return ClaimProof(
            claim=name,
            outcome=SolverOutcome.UNKNOWN if missing else SolverOutcome.PROVED,
            lemmas=tuple(member for member in self.uses(invariant) if member != invariant),
            assumptions=tuple(sorted({stated[name] for name in axioms if name in stated})),
            defences=tuple(sorted(defences)),
            axioms=tuple(sorted(axioms)),
            missing=missing,
            layer=self.threat.id if self.threat else "",
            satisfiable=tuple(
                each.id
                for each in self._of_invariant[invariant]
                if each.id in self.answers and self.answers[each.id].outcome is SolverOutcome.REFUTED
            ),
            certified=sum(answer.certified for answer in answers),
            asked=sum(answer.attempt >= 0 and not answer.certified for answer in answers),
        )

    def _defences(self, obligation: Obligation) -> set[str]:
        of_defences = obligation.of_defences
        answer = self.answers.get(obligation.id)
        used = set(answer.core) if answer else set[str]()
        if FRESH_VALUES_DIFFER in used and obligation.action is not None:
            fresh = (guard.name for guard in obligation.action.guards if guard.kind is GuardKind.FRESH)
            used |= {f"guard:{name}" for name in fresh}
        return {of_defences[name] for name in used if name in of_defences}


def taken_over(listed: Mapping[str, Obligation], baselines: Sequence[ProofResult]) -> dict[str, SolverAnswer]:
    """Return the answers of ``baselines`` that are proofs of the obligations listed here, too.

    An answer is reused if the goal and every hypothesis in its core are the same formulas here.
    """
    found: dict[str, SolverAnswer] = {}
    for baseline in baselines:
        for id, answer in baseline.answers.items():
            here, there = listed.get(id), baseline.obligations[id]
            if here is None or id in found or answer.outcome is not SolverOutcome.PROVED:
                continue
            if here.goal == there.goal and _same_hypotheses(answer.core, here, there):
                found[id] = answer
    return found


def _same_hypotheses(core: Iterable[str], here: Obligation, there: Obligation) -> bool:
    ours, theirs = (
        {**(each.system.hypotheses if each.action else each.system.axioms), **each.own} for each in (here, there)
    )
    return all(name in ours and ours[name] == theirs.get(name) for name in core)


# --------------------------------------------------------------------------------------------------
# Which invariants survive a change (Houdini): invariants that are not inductive are dropped until all others are.
#
# The remaining invariants are inductive together, so every remaining claim is proved of the changed protocol. This
# shows that a removed defence was redundant. A claim that is dropped is not refuted by that.


@dataclass(frozen=True)
class Houdini:
    """The outcome of dropping the invariants that are not inductive."""

    proof: ProofResult  #: the proof of the remaining invariants.
    #: for each dropped invariant, the obligations that failed, in the order of dropping.
    dropped: Mapping[str, tuple[str, ...]]
    rounds: int  #: the number of rounds in which invariants were dropped.
    asked: int  #: the number of obligations given to the solver.
    #: whether all remaining invariants are inductive together; otherwise only those are that the proofs of the wanted
    #: claims depend on.
    complete: bool

    @property
    def surviving(self) -> tuple[str, ...]:
        """The invariants that are inductive together, if the search was complete."""
        return tuple(each.name for each in self.proof.system.invariants) if self.complete else ()

    def claim(self, name: str) -> ClaimProof:
        """Return whether the claim is still proved, and the basis of its proof."""
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
    lemmas: Collection[str] = (),
    together: bool = False,
    jobs: int = 2,
    rlimit: int = DEFAULT_RLIMIT,
    progress: Progress | None = None,
    hints: Hints | None = None,
    expected: Hints = MappingProxyType({}),
    workers: Workers | None = None,
) -> Houdini:
    """Drop the invariants of ``protocol`` that are not inductive, until a fixpoint.

    With ``claims``, only invariants that these and ``lemmas`` depend on are checked, until all of them are dropped, or,
    with ``together``, until the first of them is. Obligations that are ``expected`` to be proved from these hypotheses
    are asked last: where one of the others fails, most of them need not be asked. The other arguments are those of
    :func:`prove`.
    """
    started = time.perf_counter()
    search = _Search(system(protocol, threat), baselines, expected)
    hints = {**(load_hints(protocol) if hints is None else hints), **expected}
    wanted = None if claims is None else {*(protocol.claim(name).checked.name for name in claims), *lemmas}
    needed = wanted if together and wanted else set[str]()
    rounds = 0
    with workers or Workers(jobs) as pool:
        for expected_answers in (search.expected, dict[str, SolverAnswer]()):
            search.expected = expected_answers
            while needed.isdisjoint(search.dropped) and (open_ := search.open(wanted)):
                open_.sort(key=lambda each: each.invariant.name not in needed)
                answers = answers_to(open_, search.kept(), hints, rlimit, pool)
                rounds += search.drop(open_, answers, progress, needed)
    proof = search.proof(time.perf_counter() - started)
    return Houdini(proof, search.dropped, rounds, search.asked, complete=not search.open(None))


class _Search:
    """The invariants dropped so far, the proofs that are still valid, and the answers that are expected for now."""

    def __init__(self, subject: System, baselines: Sequence[ProofResult], expected: Hints) -> None:
        self._subject = subject
        self._obligations = {each.id: each for each in obligations_of(subject)}
        self._answers = taken_over(self._obligations, baselines)
        self.expected = {id: SolverAnswer(id, SolverOutcome.PROVED, core) for id, core in expected.items()}
        self.dropped: dict[str, tuple[str, ...]] = {}
        self.asked = 0

    def kept(self) -> System:
        kept = tuple(each for each in self._subject.invariants if each.name not in self.dropped)
        return replace(self._subject, invariants=kept)

    def open(self, wanted: Collection[str] | None) -> list[Obligation]:
        looked_at = self._rested_on(wanted)
        answered = self.expected | self._answers
        return [
            each for each in self._obligations.values() if each.invariant.name in looked_at and each.id not in answered
        ]

    def _rested_on(self, wanted: Collection[str] | None) -> set[str]:
        left = {each.name for each in self.kept().invariants}
        if wanted is None:
            return left
        proof = self.proof(0.0)
        return {used for name in wanted if name in left for used in proof.uses(name)}

    def drop(
        self, open_: Sequence[Obligation], answers: Iterable[SolverAnswer], progress: Progress | None, needed: Set[str]
    ) -> bool:
        """Drop the invariants that are not inductive; if one of ``needed`` is among them, ask no further."""
        fell: dict[str, list[str]] = {}
        for done, answer in enumerate(answers, 1):
            self.asked += 1
            if answer.outcome is SolverOutcome.PROVED:
                self._answers[answer.id] = answer
            else:
                fell.setdefault(self._obligations[answer.id].invariant.name, []).append(answer.id)
            if progress:
                progress(done, len(open_), answer)
            if not needed.isdisjoint(fell):
                break
        self.dropped |= {name: tuple(sorted(ids)) for name, ids in fell.items()}
        # Keep the proofs that use no dropped invariant: fewer hypotheses cannot harm them
        gone = {f"inv:{name}" for name in fell}
        self._answers, self.expected = (
            {id: answer for id, answer in answers.items() if gone.isdisjoint(answer.core)}
            for answers in (self._answers, self.expected)
        )
        return bool(fell)

    def proof(self, seconds: float) -> ProofResult:
        left = {id: each for id, each in self._obligations.items() if each.invariant.name not in self.dropped}
        answered = self.expected | self._answers
        return ProofResult(self.kept(), left, {id: answered[id] for id in left if id in answered}, seconds)
