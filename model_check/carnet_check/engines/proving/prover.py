"""The base class of engines that prove unsimplified obligations one by one; claims are composed from the answers."""

from __future__ import annotations

import functools
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.cache import AnswerCache
from carnet_check.certificates.file import BadCertificateFile, Certificates, load_certificates, place_of
from carnet_check.certificates.judging import LayerObligations, key_of
from carnet_check.engines.interface import (
    AnswersObligations,
    EngineResult,
    ObligationAnswer,
    Plan,
    ProofBasis,
    Shares,
    Task,
)
from carnet_check.engines.proving.composition import ClaimProof, Composition, SolverAnswer, SolverOutcome, Unbounded
from carnet_check.engines.proving.solver import cached_answer, keep_answer, load_hints
from carnet_check.engines.runner import Listener, Runner, Shard, ShardReport
from carnet_check.errors import UsageError
from carnet_check.exports.obligation_text import Writer, digest
from carnet_check.loading.families import Source
from carnet_check.obligations import GOAL, Layer, Obligation, layers, obligations
from carnet_check.results import Result
from carnet_command.progress import Pace
from carnet_command.text import plural
from carnet_spec.language import Profile, Protocol, SpecificationError, Symbol
from carnet_spec.language.terms import Term, symbols_of


@dataclass(frozen=True)
class Prover(Unbounded, AnswersObligations, Shares):
    """Base class of engines that prove each obligation separately.

    ``most`` is the budget per obligation, in the solver's own units.
    """

    by_default: ClassVar = False
    unit: ClassVar[str]  # what its budget counts
    fewer: ClassVar[int]  # how many times less is spent on a text with few hypotheses, if others follow
    most: int

    @abstractmethod
    def solve(self, questions: Sequence[Question], runner: Runner) -> Iterator[SolverAnswer]:
        """Yield one answer per question, in any order; each names the digest of its question."""

    @abstractmethod
    def read(self, question: Question) -> str:
        """Return the text that the solver reads for a question. With the budget it determines the answer."""

    def budget_for(self, question: Question) -> int:
        """Return the budget for one question, in the solver's own units."""
        return question.share(self.most, self.fewer)

    @abstractmethod
    def require_trusted(self) -> None:
        """Check once per process that the solver answers known questions correctly.

        Raises UsageError if an answer is wrong.
        """

    @abstractmethod
    def missing(self) -> str:
        """Return what has to be installed before the engine can run; empty if it can run."""

    def with_limit(self, most: int) -> Self:
        """Return a copy of the engine with budget ``most`` per obligation."""
        return replace(self, most=most)

    def intention(self, task: Task) -> str:
        """Return the announcement of this engine's work: that it holds for any size, and which solver answers."""
        return f"every unsimplified obligation, for any number of everything, by {self.version()}"

    def budget(self, profile: Profile) -> str:
        """Return the words for the budget per obligation."""
        return f"{self.most:,} {self.unit} per obligation"

    def require_runnable(self, task: Task) -> None:
        """Raise UsageError if the solver is not installed or fails its self-test."""
        if lacking := self.missing():
            raise UsageError(f"the engine '{self.name}' needs {lacking}")
        self.require_trusted()

    # -- claims ------------------------------------------------------------------------------------

    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Prove the claims that are expected to hold, one variant after the other."""
        bases: dict[tuple[str, str, str, str, str], ProofBasis] = {}
        rows: list[Result] = []
        before = task.runner.answers(self.name, self.version())
        for plan in task.plans:
            for row, proof in self._judged(task, plan, listener, before):
                rows.append(row)
                bases[row.key] = ProofBasis(proof.layer, proof.satisfiable)
        return EngineResult(self.name, tuple(rows), notes=before.used.notes if before else (), bases=bases)

    def share(self, task: Task, shard: Shard, listener: Listener) -> ShardReport:
        """Answer the obligations of one shard. Obligations with equal texts belong to the same shard."""
        before = task.runner.answers(self.name, self.version())
        done, of = 0, 0
        open_: dict[str, str] = {}
        for plan in (plan for plan in task.plans if plan.to_prove):
            variant = plan.protocol.variant
            try:
                made, listed = _listed(plan)
            except SpecificationError as error:
                open_[variant] = str(error)
                continue
            of += len(listed)
            for found in self._answered(task.source, made, listed, task.runner, before, shard):
                done += 1
                listener.status(f"{variant}: {self.name}, {done} obligations of shard {shard}")
                if found.answer.outcome is SolverOutcome.UNKNOWN:
                    open_[f"{variant}: {found.obligation.id}"] = found.answer.reason
        return ShardReport(self.name, "obligation", done, of, open_, notes=before.used.notes if before else ())

    def _judged(
        self, task: Task, plan: Plan, listener: Listener, before: AnswerCache | None
    ) -> Iterator[tuple[Result, ClaimProof]]:
        wanted = plan.to_prove
        if not wanted:
            return
        began = time.monotonic()
        variant = plan.protocol.variant
        listener.status(f"{variant}: writing down proof obligations")
        proofs = self._proofs(task, plan, listener, before)
        seconds = time.monotonic() - began
        held = sum(proof.is_proved for proof in proofs)
        listener.line(f"{variant}: {self.name} proves {held} of {len(wanted)} in {seconds:.1f} s")
        for (_, threat), proof in zip(wanted, proofs, strict=True):
            rests = f"any number of everything; rests on {plural(len(proof.lemmas), 'lemma')}; {self.version()}"
            detail = rests if proof.is_proved else proof.reason
            yield self.row(task, plan, proof, threat, seconds, detail), proof

    def _proofs(self, task: Task, plan: Plan, listener: Listener, before: AnswerCache | None) -> list[ClaimProof]:
        try:
            made, listed = _listed(plan)
        except SpecificationError as error:
            return [ClaimProof(claim.name, SolverOutcome.UNKNOWN, reason=str(error)) for claim, _ in plan.to_prove]
        pace = Pace()
        answers: dict[str, SolverAnswer] = {}
        for done, found in enumerate(self._answered(task.source, made, listed, task.runner, before), 1):
            answers[found.obligation.id] = found.answer
            progress = f"{done} of {len(listed)} obligations{pace.left(done, len(listed))}"
            listener.status(f"{plan.protocol.variant}: {self.name}, {progress}")
        composed = Composition(made, listed, answers)
        return [composed.claim(claim, threat) for claim, threat in plan.to_prove]

    def obligation_answers(self, source: Source, protocol: Protocol, jobs: int) -> Iterator[ObligationAnswer]:
        """Yield the answer to each obligation of each layer of a protocol."""
        made = layers(protocol)
        listed = [each for layer in made for each in obligations(layer)]
        for found in self._answered(source, made, listed, Runner(jobs)):
            obligation, answer = found.obligation, found.answer
            layer = obligation.layer.threat.id if obligation.layer.threat else ""
            outcome = str(answer.outcome)
            yield ObligationAnswer(layer, obligation.id, outcome, found.digest, answer.seconds, answer.reason)

    def _answered(
        self,
        source: Source,
        made: Sequence[Layer],
        listed: Sequence[Obligation],
        runner: Runner,
        before: AnswerCache | None = None,
        shard: Shard | None = None,
    ) -> Iterator[Answered]:
        cores = likely_cores(source, made, listed)
        mine = listed
        if shard:  # obligations with one first text fall to one part
            writer = Writer()
            mine = [each for each in listed if shard.owns(digest(writer.text(each, next(attempts(each, cores)))))]
        return ask_solvers(mine, cores, lambda questions: self._solved(questions, runner, before))

    def _solved(
        self, questions: Sequence[Question], runner: Runner, before: AnswerCache | None
    ) -> Iterator[SolverAnswer]:
        """Answer questions, those that were answered before from the cache."""
        self.require_trusted()
        if before is None:
            yield from self.solve(questions, runner)
            return
        texts = {each.digest: self.read(each) for each in questions}
        budgets = {each.digest: self.budget_for(each) for each in questions}
        rest = []
        for each in questions:
            names = each.kept if each.kept is not None else [h.name for h in each.obligation.hypotheses]
            answer = cached_answer(before, each.digest, texts[each.digest], budgets[each.digest], names)
            if answer is None:
                rest.append(each)
            else:
                yield answer
        for answer in self.solve(rest, runner):
            keep_answer(before, answer, texts[answer.id], budgets[answer.id])
            yield answer


def _listed(plan: Plan) -> tuple[list[Layer], list[Obligation]]:
    """Return the layers that a plan asks for, and their obligations."""
    made = [each for each in layers(plan.protocol) if each.threat is None or each.threat in plan.threats]
    return made, [each for layer in made for each in obligations(layer)]


# --------------------------------------------------------------------------------------------------
# Which hypotheses a proof is likely to need: those of a certificate, or, where there is none, those of a hint.

FRESH = "fresh:values differ"  #: Hints name what is drawn fresh together; obligations name each pair.
#: For an obligation's id, the names of hypotheses. They change times and no verdict.
Cores = Mapping[str, tuple[str, ...]]


def likely_cores(source: Source, layers: Sequence[Layer], obligations: Iterable[Obligation]) -> Cores:
    """Return hypotheses to try first for each obligation: those of its certificate, or of an earlier proof."""
    place = place_of(source)
    try:
        certificates = load_certificates(place) if place else Certificates({})
    except BadCertificateFile:
        certificates = Certificates({})
    found: dict[str, tuple[str, ...]] = {}
    for layer in layers:
        entries = LayerObligations.of(layer).entries(certificates.layers.get(key_of(layer)))
        found |= {id: entry.hypotheses for id, entry in entries.items() if entry is not None}
    hints = load_hints(layers[0].protocol)
    for each in obligations:
        hint = hints.get(each.id.removeprefix(each.layer.prefix))
        if hint is not None and each.id not in found:
            drawn = tuple(h.name for h in each.hypotheses if h.name.startswith("fresh:")) if FRESH in hint else ()
            found[each.id] = (*hint, *drawn)
    return found


# --------------------------------------------------------------------------------------------------
# Obligations as questions for a solver: equal texts are asked once, with few hypotheses first and with all if need
# be.
#
# Which hypotheses come first changes times and no verdict: a proof from fewer is a proof, and only what is satisfiable
# with all of them is refuted.

OWN = ("guard:", "fresh:")


@dataclass(frozen=True, slots=True)
class Question:
    """A text to be answered, and the obligation it comes from."""

    digest: str  #: of the SMT-LIB text, whatever language the solver reads.
    text: str
    obligation: Obligation  #: one of the obligations that have this text.
    kept: tuple[str, ...] | None  #: the hypotheses that it has; ``None`` means all.

    def share(self, budget: int, fewer: int) -> int:
        """Return ``budget`` divided by ``fewer``, or all of it if this is the last question of its obligation."""
        return budget if self.kept is None else max(1, budget // fewer)


Solve = Callable[[Sequence[Question]], Iterable[SolverAnswer]]  #: Answers questions in any order, by their digests.


@dataclass(frozen=True, slots=True)
class Answered:
    """An obligation, the digest of its first question, and the answer."""

    obligation: Obligation
    digest: str
    answer: SolverAnswer


def attempts(obligation: Obligation, cores: Cores) -> Iterator[tuple[str, ...] | None]:
    """Yield the sets of hypotheses to try, from small to large; ``None`` last, which means all hypotheses.

    The first set is the known core, or else the invariant with the action's guards; next come the hypotheses that read
    the same symbols.
    """
    hypotheses = obligation.hypotheses[:-1]
    own = {f"inv:{obligation.invariant.name}", *(each.name for each in hypotheses if each.name.startswith(OWN))}
    likely = cores.get(obligation.id, own)
    first = tuple(each.name for each in hypotheses if each.name in likely)
    if len(first) < len(hypotheses):
        yield first
        said = (each.formula for each in obligation.hypotheses if each.name in own or each.name == GOAL)
        spoken = {symbol for formula in said for symbol in _changing(formula)}
        near = tuple(h.name for h in hypotheses if h.name in own or _changing(h.formula) <= spoken)
        if near != first and len(near) < len(hypotheses):
            yield near
    yield None


@functools.cache
def _changing(formula: Term) -> frozenset[Symbol]:
    return frozenset(symbol for symbol in symbols_of(formula) if symbol.mutable)


def ask_solvers(obligations: Iterable[Obligation], cores: Cores, solve: Solve) -> Iterator[Answered]:
    """Yield the answer to each obligation; questions with equal texts are asked once."""
    writer = Writer()
    first: dict[Obligation, str] = {}
    waiting = {each: attempts(each, cores) for each in obligations}
    number = 0
    while waiting:
        now = {obligation: next(turns) for obligation, turns in waiting.items()}
        for found in _round(now, writer, solve):
            obligation = found.obligation
            digest = first.setdefault(obligation, found.digest)
            if now[obligation] is None or found.answer.outcome is SolverOutcome.PROVED:
                del waiting[obligation]
                yield replace(found, digest=digest, answer=replace(found.answer, attempt=number))
        number += 1


def _round(wanted: Mapping[Obligation, tuple[str, ...] | None], writer: Writer, solve: Solve) -> Iterator[Answered]:
    questions: dict[str, Question] = {}
    sharing: dict[str, list[Obligation]] = {}
    for obligation, kept in wanted.items():
        text = writer.text(obligation, kept)
        key = digest(text)
        questions.setdefault(key, Question(key, text, obligation, kept))
        sharing.setdefault(key, []).append(obligation)
    for answer in solve(tuple(questions.values())):
        for obligation in sharing.pop(answer.id):
            yield Answered(obligation, answer.id, replace(answer, id=obligation.id))
    for key, left_out in sharing.items():
        for obligation in left_out:
            yield Answered(obligation, key, SolverAnswer(obligation.id, SolverOutcome.UNKNOWN, reason="no answer"))
