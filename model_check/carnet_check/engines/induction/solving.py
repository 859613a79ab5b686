"""Asking Z3: a solver of its own for each question, a budget counted in work and not in seconds.

This module is what a worker process imports. Questions arrive as strings and answers leave as strings, so nothing of
one question can leak into another. The questions of a batch share a context, which takes longer to make than most
questions take to answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import limited_memory
from carnet_check.exports.smtlib import Declarations, Statement, problem

DEFAULT_RLIMIT = 50_000_000
"""Units of Z3's resource counter; a typical obligation takes some 10,000."""


@dataclass(frozen=True, slots=True)
class Question:
    """One obligation to solve.

    Attributes:
        goal: the negated goal; part of every attempt.
        own: hypotheses of this obligation alone.
        attempts: names of hypotheses, shared or own, to try in turn; the last attempt has all of them. A proof from
            fewer hypotheses is a proof; a model counts only if it satisfies all of them.
        avoid: hypotheses to do without, if that is possible and small cores are asked for.
    """

    id: str
    goal: Statement
    own: tuple[Statement, ...]
    attempts: tuple[tuple[str, ...], ...]
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions that share declarations and hypotheses."""

    declarations: Declarations
    hypotheses: Mapping[str, Statement]
    questions: tuple[Question, ...]
    rlimit: int = DEFAULT_RLIMIT
    minimise: bool = False


Answer = tuple[SolverOutcome, tuple[str, ...], str]
"""The outcome, the names of the assertions in an unsatisfiable core without the goal's, and why it is unknown."""


def solve(batch: Batch) -> Iterator[SolverAnswer]:
    """Answer the questions of ``batch`` in order."""
    import z3

    context = z3.Context()
    return (_answer(context, batch, question) for question in batch.questions)


def _answer(context: Any, batch: Batch, question: Question) -> SolverAnswer:
    started = time.perf_counter()
    outcome, reason, attempt = SolverOutcome.UNKNOWN, "nothing was tried", -1
    core: tuple[str, ...] = ()
    for attempt, names in enumerate(question.attempts):  # noqa: B007 # the last one is reported
        outcome, core, reason = _attempt(context, batch, question, names)
        if outcome is SolverOutcome.PROVED:
            break
    if batch.minimise and outcome is SolverOutcome.PROVED:
        core = _without_the_avoidable(context, batch, question, core)
    return SolverAnswer(question.id, outcome, core, time.perf_counter() - started, attempt, reason)


def attempt_text(batch: Batch, question: Question, names: Iterable[str]) -> str:
    """Return the text of ``question`` with the hypotheses called ``names``."""
    own = {said.name: said for said in question.own}
    statements = (*(own.get(name) or batch.hypotheses[name] for name in names), question.goal)
    return problem(batch.declarations, statements)


def _attempt(context: Any, batch: Batch, question: Question, names: Iterable[str]) -> Answer:
    return _asked(context, attempt_text(batch, question, names), batch.rlimit, batch.minimise)


def _without_the_avoidable(context: Any, batch: Batch, question: Question, core: tuple[str, ...]) -> tuple[str, ...]:
    """Look for a proof that does without each hypothesis to avoid, one after the other."""
    every = question.attempts[-1]
    for name in question.avoid:
        if name in core:
            fewer = tuple(other for other in every if other != name)
            outcome, found, _ = _attempt(context, batch, question, fewer)
            if outcome is SolverOutcome.PROVED:
                core, every = found, fewer
    return core


def ask(text: str, rlimit: int = DEFAULT_RLIMIT, minimise: bool = False) -> Answer:
    """Ask Z3 whether the assertions of ``text`` contradict one another.

    Raises:
        MemoryError: Z3 needs more memory than it may have; it cannot be used in this process any more.
    """
    import z3

    return _asked(z3.Context(), text, rlimit, minimise)


def _asked(context: Any, text: str, rlimit: int, minimise: bool) -> Answer:
    import z3

    with limited_memory(z3):
        return _checked(z3, z3.SimpleSolver(ctx=context), text, rlimit, minimise)


def _checked(z3: Any, solver: Any, text: str, rlimit: int, minimise: bool) -> Answer:
    solver.set("rlimit", rlimit)
    if minimise:
        solver.set("core.minimize", True)
    solver.from_string("(set-option :produce-unsat-cores true)\n" + text)
    result = solver.check()
    if result == z3.unsat:
        core = tuple(sorted(str(name.decl().name()) for name in solver.unsat_core()))
        return SolverOutcome.PROVED, tuple(name for name in core if name != "goal"), ""
    if result == z3.sat:
        return SolverOutcome.REFUTED, (), ""
    return SolverOutcome.UNKNOWN, (), str(solver.reason_unknown())
