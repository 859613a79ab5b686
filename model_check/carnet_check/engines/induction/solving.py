"""Calling Z3: a new solver for each question, with a budget counted in work, not in seconds.

Worker processes import this module. Questions and answers are strings. The questions of a batch share a Z3 context,
since creating a context takes longer than answering most questions. How much work a question takes may depend on what
the same context was asked before, so a question that takes much is asked again in a context of its own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from carnet_check.cache import AnswerCache
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import cached_answer, keep_answer, limited_memory, why_unknown
from carnet_check.exports.obligation_text import digest
from carnet_check.exports.smtlib import Declarations, Statement, problem
from carnet_command.worker import Lost
from carnet_command.workers import Pool, WorkerPool, only

DEFAULT_RLIMIT = 50_000_000  #: Units of Z3's resource counter; a typical obligation takes some 10,000.
SHARED_RLIMIT = 300_000  #: The most units that a question takes in a context that others share.


@dataclass(frozen=True, slots=True)
class Question:
    """One obligation to solve."""

    id: str
    goal: Statement  #: the negated goal; part of every attempt.
    own: tuple[Statement, ...]  #: hypotheses of this obligation alone.
    #: sets of names of hypotheses, shared or own, to try in turn; the last attempt has all of them. A proof from fewer
    #: hypotheses is a proof; a model only counts if it satisfies all of them.
    attempts: tuple[tuple[str, ...], ...]
    avoid: tuple[str, ...] = ()  #: hypotheses to leave out if possible, when small cores are requested.


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions that share declarations and hypotheses, and the settings of the solver for them."""

    declarations: Declarations
    hypotheses: Mapping[str, Statement]
    questions: tuple[Question, ...]
    rlimit: int = DEFAULT_RLIMIT
    minimise: bool = False


@dataclass(slots=True)
class Budget:
    """Work that many questions share, so that a search ends, however many questions it has."""

    left: int = sys.maxsize  #: what all further questions may take together, in units of Z3's counter.

    @property
    def is_spent(self) -> bool:
        """Whether nothing may be asked any more."""
        return self.left <= 0

    def rlimit(self, most: int) -> int:
        """Return what the next question may take, at most ``most``; never 0, which is no limit to Z3."""
        return max(1, min(most, self.left))

    def spend(self, units: int) -> None:
        """Take away what a question took."""
        self.left -= units


def units_spent(solver: Any) -> int:
    """Return the state of Z3's counter in the context of a solver."""
    return int(solver.statistics().get_key_value("rlimit count"))


#: The outcome, the names in an unsatisfiable core without the goal's, and why the outcome is unknown.
Answer = tuple[SolverOutcome, tuple[str, ...], str]


class _Context:
    """A context of Z3, and the state of its counter after what it was asked."""

    def __init__(self) -> None:
        import z3

        self._z3, self._context, self._counter = z3, z3.Context(), 0

    def ask(self, text: str, rlimit: int, minimise: bool) -> tuple[Answer, int]:
        """Return whether the assertions of ``text`` contradict each other, and the units that this took."""
        z3 = self._z3
        with limited_memory(z3):
            solver = z3.SimpleSolver(ctx=self._context)
            solver.set("rlimit", rlimit)
            if minimise:
                solver.set("core.minimize", True)
            solver.from_string("(set-option :produce-unsat-cores true)\n" + text)
            result = solver.check()
            said: Answer
            if result == z3.unsat:
                core = sorted(str(name.decl().name()) for name in solver.unsat_core())
                said = SolverOutcome.PROVED, tuple(name for name in core if name != "goal"), ""
            elif result == z3.sat:
                said = SolverOutcome.REFUTED, (), ""
            else:
                said = SolverOutcome.UNKNOWN, (), why_unknown(solver)
            before, self._counter = self._counter, units_spent(solver)
            return said, self._counter - before


def solve(batch: Batch) -> Iterator[SolverAnswer]:
    """Answer the questions of ``batch`` in order."""
    context = _Context()
    for question in batch.questions:
        yield _answer(context, batch, question)


def _answer(context: _Context, batch: Batch, question: Question) -> SolverAnswer:
    started, units = time.perf_counter(), 0
    outcome, reason, attempt = SolverOutcome.UNKNOWN, "nothing was tried", -1
    core: tuple[str, ...] = ()
    for attempt, names in enumerate(question.attempts):  # noqa: B007 # the last one is reported
        (outcome, core, reason), taken = _attempt(context, batch, question, names)
        units += taken
        if outcome is SolverOutcome.PROVED:
            break
    if batch.minimise and outcome is SolverOutcome.PROVED:
        core, taken = _without_the_avoidable(context, batch, question, core)
        units += taken
    return SolverAnswer(question.id, outcome, core, time.perf_counter() - started, attempt, reason, units=units)


def attempt_text(batch: Batch, question: Question, names: Iterable[str]) -> str:
    """Return the text of ``question`` with the hypotheses called ``names``."""
    own = {said.name: said for said in question.own}
    statements = (*(own.get(name) or batch.hypotheses[name] for name in names), question.goal)
    return problem(batch.declarations, statements)


def _attempt(context: _Context, batch: Batch, question: Question, names: Iterable[str]) -> tuple[Answer, int]:
    text = attempt_text(batch, question, names)
    answer, units = context.ask(text, min(SHARED_RLIMIT, batch.rlimit), batch.minimise)
    if answer[0] is not SolverOutcome.UNKNOWN:
        return answer, units
    alone, more = _Context().ask(text, batch.rlimit, batch.minimise)
    return alone, units + more


def _without_the_avoidable(
    context: _Context, batch: Batch, question: Question, core: tuple[str, ...]
) -> tuple[tuple[str, ...], int]:
    """Return a core with fewer hypotheses to avoid, each left out if a proof remains, and the units that this took."""
    every, units = question.attempts[-1], 0
    for name in question.avoid:
        if name in core:
            fewer = tuple(other for other in every if other != name)
            (outcome, found, _), taken = _attempt(context, batch, question, fewer)
            units += taken
            if outcome is SolverOutcome.PROVED:
                core, every = found, fewer
    return core, units


def ask(text: str, rlimit: int = DEFAULT_RLIMIT, minimise: bool = False) -> Answer:
    """Ask Z3 whether the assertions of ``text`` contradict each other.

    Raises MemoryError if Z3 exceeded its memory limit; it cannot be used in this process any more.
    """
    return _Context().ask(text, rlimit, minimise)[0]


# --------------------------------------------------------------------------------------------------
# Worker processes for Z3: a task has several questions, and the loss of one does not affect the others.
#
# If a worker is lost, its unanswered questions are asked again one by one; a question that is lost again is
# ``unknown``. A question whose answer is in the cache is not asked, and neither is a text that was just proved: most
# obligations of a variant have the same text in another variant.

SPENT = "the budget of the search is spent"
#: The most questions in one task, independent of the number of workers: questions of one task may affect cores.
BATCH = 8
#: The function that a worker runs; a fresh process must be able to import it.
Solver = Callable[[Batch], Iterable[SolverAnswer]]


class Workers:
    """A context manager for solver processes.

    Args:
        jobs: the number of processes.
        pool: a pool to use instead of local processes.
        answers: the cache of answers, or None.
        solver: the function that they run.
        budget: what all their questions share, if anything.
    """

    def __init__(
        self,
        jobs: int = 2,
        *,
        pool: Pool | None = None,
        answers: AnswerCache | None = None,
        solver: Solver | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._pool = pool or WorkerPool(jobs)
        self._before = answers
        self._solve = solver or solve
        self._budget = budget
        self._proved: dict[str, tuple[str, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool.__exit__(*error)

    def within(self, budget: Budget) -> Workers:
        """Return workers of the same pool whose questions share a budget; what is asked when it is spent is unknown."""
        return Workers(pool=self._pool, answers=self._before, solver=self._solve, budget=budget)

    def answers(self, batch: Batch) -> Iterator[SolverAnswer]:
        """Yield the answers to the questions of ``batch`` as they arrive; equal texts are asked once."""
        return self._answers(batch) if self._budget is None else self._answers_within(self._budget, batch)

    def _answers_within(self, budget: Budget, batch: Batch) -> Iterator[SolverAnswer]:
        left = {question.id for question in batch.questions}
        if not budget.is_spent:
            for answer in self._answers(replace(batch, rlimit=budget.rlimit(batch.rlimit))):
                left.remove(answer.id)
                budget.spend(answer.units)
                yield answer
                if budget.is_spent:
                    break
        yield from (
            SolverAnswer(each.id, SolverOutcome.UNKNOWN, reason=SPENT) for each in batch.questions if each.id in left
        )

    def _answers(self, batch: Batch) -> Iterator[SolverAnswer]:
        if batch.minimise:
            yield from self._asked(batch)
            return
        texts = {each.id: digest(attempt_text(batch, each, each.attempts[0])) for each in batch.questions}
        firsts: dict[str, Question] = {}
        for each in batch.questions:
            if texts[each.id] not in self._proved:
                firsts.setdefault(texts[each.id], each)
        for answer in self._unless_kept(replace(batch, questions=tuple(firsts.values()))):
            if answer.outcome is SolverOutcome.PROVED and answer.attempt == 0:
                self._proved[texts[answer.id]] = answer.core
            yield answer
        rest = [each for each in batch.questions if firsts.get(texts[each.id]) is not each]
        for each in rest:
            if texts[each.id] in self._proved:
                yield SolverAnswer(each.id, SolverOutcome.PROVED, self._proved[texts[each.id]], attempt=0)
        left = tuple(each for each in rest if texts[each.id] not in self._proved)
        yield from self._unless_kept(replace(batch, questions=left))

    def _unless_kept(self, batch: Batch) -> Iterator[SolverAnswer]:
        """Yield the answers, cached ones first."""
        if self._before is None:
            yield from self._asked(batch)
            return
        # The last attempt has all hypotheses and the others are subsets, so the answer only depends on its text.
        texts = {
            each.id: json.dumps(each.attempts) + attempt_text(batch, each, each.attempts[-1])
            for each in batch.questions
        }
        names = {question.id: question.attempts[-1] for question in batch.questions}
        found = {id: cached_answer(self._before, id, text, batch.rlimit, names[id]) for id, text in texts.items()}
        yield from (answer for answer in found.values() if answer is not None)
        rest = replace(batch, questions=tuple(each for each in batch.questions if found[each.id] is None))
        for answer in self._asked(rest):
            keep_answer(self._before, answer, texts[answer.id], batch.rlimit)
            yield answer

    def _asked(self, batch: Batch) -> Iterator[SolverAnswer]:
        lost: dict[str, str] = {}
        for again in (False, True):
            asked = replace(batch, questions=tuple(q for q in batch.questions if q.id in lost)) if again else batch
            lost = {question.id: "" for question in asked.questions}
            size, every = 1 if again else BATCH, asked.questions
            parts = [replace(batch, questions=every[begin : begin + size]) for begin in range(0, len(every), size)]
            for part, answer in self._pool.results(self._solve, parts):
                if isinstance(answer, Lost):
                    lost.update((question.id, answer.reason) for question in part.questions if question.id in lost)
                else:
                    del lost[answer.id]
                    yield answer
        yield from (SolverAnswer(id, SolverOutcome.UNKNOWN, reason=reason) for id, reason in lost.items())


def ask_apart(text: str) -> Answer:
    """Ask Z3 in a worker process with limited memory; see :func:`~carnet_check.engines.induction.solving.ask`."""
    with WorkerPool(1) as pool:
        ((_, answer),) = pool.results(_asked_alone, [text], only)
    return (SolverOutcome.UNKNOWN, (), answer.reason) if isinstance(answer, Lost) else answer


def _asked_alone(text: str) -> list[Answer]:
    return [ask(text)]
