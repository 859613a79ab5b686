"""What a worker process does: it looks for the certificate of one obligation, with few hypotheses first."""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from carnet_check.certificates.file import Entry
from carnet_check.certificates.judging import cut
from carnet_check.certificates.producing.finding import found
from carnet_check.certificates.producing.tableau import NotFound
from carnet_check.exports.obligation_text import Writer
from carnet_check.kernel.checker import Refused
from carnet_check.kernel.reader import read_obligation
from carnet_check.loading.families import load
from carnet_check.obligations import GOAL, Obligation, layers, obligations
from carnet_command.worker import Lost
from carnet_command.workers import PATIENCE, WorkerPool, only

GUESS, HINTED = 0.2, 10.0
"""CPU seconds that a guess is worth, and hypotheses that sufficed for something similar."""
CORE_MILLISECONDS = 30_000
"""How long Z3 may look for hypotheses that suffice."""
DEEPEST = 5_000
"""How many calls within calls a search may take; some refutations are deep."""


@dataclass(frozen=True, slots=True)
class Question:
    """An obligation whose certificate is wanted, and hypotheses to try first, if some are known."""

    reference: str
    variant: str
    id: str
    hint: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The certificate of an obligation, or why there is none."""

    question: Question
    entry: Entry | None = None
    reason: str = ""


def answers(question: Question) -> Iterator[Answer]:
    """Look for a certificate; a search that fails, however that happens, costs that one."""
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    try:
        writer, listed = _listed(question.reference, question.variant)
        yield Answer(question, certificate(writer, listed[question.id], question.hint))
    except (NotFound, Refused) as error:
        yield Answer(question, reason=str(error))
    except MemoryError:
        raise
    except Exception as error:  # what is wrong with one search is said of its obligation
        yield Answer(question, reason=f"the search failed: {type(error).__name__} {error}")


@functools.cache
def _listed(reference: str, variant: str) -> tuple[Writer, dict[str, Obligation]]:
    """Return the obligations of a variant, with what writes them; a worker is asked for many."""
    every = (each for layer in layers(load(reference).protocol(variant)) for each in obligations(layer))
    return Writer(), {each.id: each for each in every}


def certificate(writer: Writer, obligation: Obligation, hint: Sequence[str] | None) -> Entry:
    """Return the certificate of an obligation.

    Raises:
        NotFound: the search ended without one.
        Refused: it found one that the kernel does not accept.
    """
    reasons = []
    for kept, seconds in _tries(writer, obligation, hint):
        try:
            return _with(writer, obligation, kept, time.process_time() + seconds)
        except NotFound as error:
            reasons.append(error)
    raise reasons[-1]


def _tries(writer: Writer, obligation: Obligation, hint: Sequence[str] | None) -> Iterator[tuple[set[str], float]]:
    """Yield hypotheses that may suffice, each with how many CPU seconds they are worth.

    That sorts are not empty is left out at first: it is needed now and then, and brings many instances.
    """
    fresh, sorts = _of(obligation, "fresh:"), _of(obligation, "sort:")
    if hint is None or obligation.skipped:
        yield fresh | _of(obligation, "guard:", f"inv:{obligation.invariant.name}"), GUESS
    else:
        hinted = {each.name for each in obligation.hypotheses}.intersection(hint) | fresh
        yield hinted, HINTED
        yield hinted | sorts, HINTED
    core = _core(writer.text(obligation))
    yield core, HINTED
    yield core | sorts, math.inf


def _of(obligation: Obligation, *kinds: str) -> set[str]:
    return {each.name for each in obligation.hypotheses if each.name.startswith(kinds)}


def _with(writer: Writer, obligation: Obligation, kept: set[str], deadline: float = math.inf) -> Entry:
    """Return the certificate of an obligation that uses no other hypotheses than those that are kept."""
    here, names = read_obligation(writer.text(obligation, kept - {GOAL}))
    return cut(writer, obligation, found(here, deadline), dict(enumerate(names)))


def _core(text: str) -> set[str]:
    """Return the names of hypotheses that contradict each other."""
    import z3

    solver = z3.Solver(ctx=z3.Context())
    solver.set("timeout", CORE_MILLISECONDS)
    solver.set("core.minimize", True)
    solver.from_string(text)
    if solver.check() != z3.unsat:
        raise NotFound("Z3 finds no contradiction")
    return {str(name).strip("|") for name in solver.unsat_core()}


# -- Worker processes that look for certificates: each can be killed at the cost of one answer -----

MEMORY = 4 << 30
"""Bytes of address space that a worker may take."""
Searcher = Callable[[Question], Iterable[Answer]]
"""What a worker runs; a function that a fresh process can import."""


class Workers:
    """A pool of worker processes, to be used as a context manager."""

    def __init__(
        self, jobs: int, *, patience: float = PATIENCE, memory: int = MEMORY, search: Searcher = answers
    ) -> None:
        self._pool = WorkerPool(jobs, patience=patience, memory=memory, keep=False)
        self._search = search

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.__exit__(kind, error, traceback)

    def answers(self, questions: Sequence[Question]) -> Iterator[Answer]:
        """Yield the answers to ``questions``, as they come."""
        for question, said in self._pool.results(self._search, questions, only):
            yield Answer(question, reason=said.reason) if isinstance(said, Lost) else said
