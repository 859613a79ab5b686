"""Making the certificates of a family: valid certificates are kept, and only the others are searched for."""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from carnet_check.certificates.file import Certificates, Entry, LayerCertificates, LayerKey
from carnet_check.certificates.judging import (
    Judge,
    LayerObligations,
    Pair,
    adapt_entry,
    by_pair,
    key_of,
    pair_of,
    with_used_hypotheses,
)
from carnet_check.certificates.producing.refutation import NotFound, find_refutation
from carnet_check.exports.obligation_text import Provable, Writer
from carnet_check.kernel.checker import Refused
from carnet_check.kernel.reader import read_obligation
from carnet_check.loading.families import load
from carnet_check.obligations import GOAL, Layer, LivenessAttempt, attempts, layers, obligations
from carnet_command.worker import Lost
from carnet_command.workers import PATIENCE, WorkerPool, only

#: Hypotheses that may suffice, by the id of an obligation without its threat model.
Hints = Mapping[str, tuple[str, ...]]
#: Called with the variant, the number of certified obligations, and the number of all obligations.
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class ProductionReport:
    """Counts for the obligations of one variant: how many there are, and where their certificates come from."""

    variant: str
    kept: int = 0
    adapted: int = 0
    found: int = 0
    missing: dict[str, str] = field(default_factory=dict)  # obligation without certificate: why
    seconds: float = 0.0

    @property
    def obligations(self) -> int:
        """The number of obligations; all skipped pairs of an invariant count as one."""
        return self.kept + self.adapted + self.found + len(self.missing)

    def add(self, other: ProductionReport) -> None:
        """Add the counts, not the time, for other obligations of the variant."""
        self.kept += other.kept
        self.adapted += other.adapted
        self.found += other.found
        self.missing |= other.missing


class Production:
    """Makes the certificates of variants, one after the other; certificates of one variant are tried in the next."""

    def __init__(self, reference: str, before: Certificates, workers: Workers, progress: Progress) -> None:
        self._reference = reference
        self._workers = workers
        self._progress = progress
        self.layers: dict[LayerKey, LayerCertificates] = dict(before.layers)
        self.liveness: dict[str, Mapping[str, Entry]] = dict(before.liveness)
        self._like: dict[Pair, list[Entry]] = {}
        for layer in before.layers.values():
            self._remember(by_pair(layer).items())

    @property
    def certificates(self) -> Certificates:
        """The certificates of all variants so far."""
        return Certificates(self.layers, self.liveness)

    def make(self, layers: Sequence[Layer], hints: Hints) -> ProductionReport:
        """Make the missing and stale certificates of one variant: of its layers and its liveness properties."""
        began, variant = time.monotonic(), layers[0].protocol.variant
        tally = ProductionReport(variant)
        there = set(map(key_of, layers))
        self.layers = {key: each for key, each in self.layers.items() if key[0] != variant or key in there}
        judge = Judge()
        asked = [LayerObligations.of(layer) for layer in layers]
        total = sum(len(each.proper) + len(each.skipped) for each in asked)
        for each in asked:
            found: dict[str, Entry] = {}
            earlier = each.entries(self.layers.get(key_of(each.layer)))
            likely = {one.id: hints[id] for one in each if (id := one.id[len(each.layer.prefix) :]) in hints}

            def report() -> None:
                self._progress(variant, tally.kept + tally.adapted + tally.found, total)

            self._find([*each], earlier, likely, judge, tally, found, report)
            self.layers[key_of(each.layer)] = each.certificates(found)
        if lively := dict(self._lively(layers, judge, tally)):
            self.liveness[variant] = lively
        tally.seconds = time.monotonic() - began
        return tally

    def _lively(self, layers: Sequence[Layer], judge: Judge, tally: ProductionReport) -> Iterator[tuple[str, Entry]]:
        """Yield the certificates of each liveness property: of its first attempt whose conditions all have one."""
        earlier = dict(self.liveness.pop(tally.variant, {}))
        for name, tried in attempts(layers).items():
            last = ProductionReport(tally.variant, missing={name: "the certified language cannot say it"})
            for attempt in tried:
                last = ProductionReport(tally.variant)
                found = self._attempted(attempt, earlier, judge, last)
                if not last.missing:
                    yield from found.items()
                    break
                earlier |= found
            tally.add(last)

    def _attempted(
        self, attempt: LivenessAttempt, earlier: Mapping[str, Entry], judge: Judge, tally: ProductionReport
    ) -> dict[str, Entry]:
        """Look for the certificates of an attempt's conditions; if the first has none, the others are not tried."""
        found: dict[str, Entry] = {}
        for listed in (attempt.obligations[:1], attempt.obligations[1:]):
            if not tally.missing:
                self._find(listed, earlier, {}, judge, tally, found, lambda: None)
        return found

    def _find(
        self,
        asked: Sequence[Provable],
        earlier: Mapping[str, Entry | None],
        hints: Hints,
        judge: Judge,
        tally: ProductionReport,
        found: dict[str, Entry],
        report: Callable[[], None],
    ) -> None:
        """Put the certificates of obligations into ``found``, valid earlier ones first; call ``report`` after each."""
        open = []
        for each in asked:
            before = earlier.get(each.id)
            if before is not None and not judge.why_refused(each, before):
                found[each.id] = before
                tally.kept += 1
            elif (other := self._adapted(judge, each, before)) is not None:
                found[each.id] = other
                tally.adapted += 1
            else:
                open.append(each)
        report()
        questions = [Question(self._reference, tally.variant, each.id, hints.get(each.id)) for each in open]
        for answer in self._workers.answers(questions):
            if answer.entry is None:
                tally.missing[answer.question.id] = answer.reason
            else:
                tally.found += 1
                found[answer.question.id] = answer.entry
                report()
        self._remember((pair_of(each), found.get(each.id)) for each in asked)

    def _adapted(self, judge: Judge, obligation: Provable, before: Entry | None) -> Entry | None:
        """Return a certificate for the same action and invariant of another layer that proves this obligation, too."""
        like = self._like.get(pair_of(obligation), ())
        tried = dict.fromkeys((before, *reversed(like)) if before else reversed(like))
        made = (adapt_entry(judge.writer, obligation, entry) for entry in tried)
        return next((entry for entry in made if entry is not None), None)

    def _remember(self, found: Iterable[tuple[Pair, Entry | None]]) -> None:
        for pair, entry in found:
            if entry is not None and entry not in (known := self._like.setdefault(pair, [])):
                known.append(entry)


# --------------------------------------------------------------------------------------------------
# The work of a worker process: it looks for the certificate of one obligation, with few hypotheses first.

#: CPU seconds for a search with guessed hypotheses, and with hypotheses that sufficed for a similar obligation.
GUESS, HINTED = 0.2, 10.0
CORE_MILLISECONDS = 30_000  #: Milliseconds that Z3 may take to find hypotheses that suffice.
DEEPEST = 5_000  #: The recursion limit of a search; some refutations are deep.


@dataclass(frozen=True, slots=True)
class Question:
    """An obligation without certificate, and hypotheses to try first, if some are known."""

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
    """Search for a certificate of one obligation, and yield its answer. Any failure becomes the answer's reason."""
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    try:
        writer, listed = _obligations_of(question.reference, question.variant)
        yield Answer(question, certificate(writer, listed[question.id], question.hint))
    except (NotFound, Refused) as error:
        yield Answer(question, reason=str(error))
    except MemoryError:
        raise
    except Exception as error:  # a failed search is the answer for its obligation and stops no other
        yield Answer(question, reason=f"the search failed: {type(error).__name__} {error}")


@functools.cache
def _obligations_of(reference: str, variant: str) -> tuple[Writer, dict[str, Provable]]:
    """Return the writer of a variant's obligations, and these by id; cached, as a worker searches for many."""
    protocol = load(reference).protocol(variant)
    made = layers(protocol)
    every: list[Provable] = [each for layer in made for each in obligations(layer)]
    every += (each for tried in attempts(made).values() for attempt in tried for each in attempt.obligations)
    return Writer(), {each.id: each for each in every}


def certificate(writer: Writer, obligation: Provable, hint: Sequence[str] | None) -> Entry:
    """Return the certificate of an obligation.

    Raises NotFound if the search found no refutation; Refused if the kernel does not accept the refutation.
    """
    reason = ""  # not the error, which would keep the solver by its traceback until garbage is collected
    for kept, seconds in _tries(writer, obligation, hint):
        try:
            return _with(writer, obligation, kept, time.process_time() + seconds)
        except NotFound as error:
            reason = str(error)
    raise NotFound(reason)


def _tries(writer: Writer, obligation: Provable, hint: Sequence[str] | None) -> Iterator[tuple[set[str], float]]:
    """Yield sets of hypotheses that may suffice, each with the CPU seconds for a search with them.

    The hypotheses that sorts are not empty come late: they are rarely needed, and add many instances.
    """
    fresh, sorts = _of(obligation, "fresh:"), _of(obligation, "sort:")
    if hint is None or obligation.skipped:
        yield fresh | _of(obligation, *obligation.likely), GUESS
    else:
        hinted = {each.name for each in obligation.hypotheses}.intersection(hint) | fresh
        yield hinted, HINTED
        yield hinted | sorts, HINTED
    core = _core(writer.text(obligation))
    yield core, HINTED
    yield core | sorts, math.inf


def _core(text: str) -> set[str]:
    """Return the names of contradictory hypotheses; the solver's memory is released before they are used.

    Raises NotFound if Z3 finds no contradiction.
    """
    import z3

    solver = z3.Solver(ctx=z3.Context())
    solver.set("timeout", CORE_MILLISECONDS)
    solver.set("core.minimize", True)
    solver.from_string(text)
    if solver.check() != z3.unsat:
        raise NotFound("Z3 finds no contradiction")
    return {str(name).strip("|") for name in solver.unsat_core()}


def _of(obligation: Provable, *kinds: str) -> set[str]:
    return {each.name for each in obligation.hypotheses if each.name.startswith(kinds)}


def _with(writer: Writer, obligation: Provable, kept: set[str], deadline: float = math.inf) -> Entry:
    """Return a certificate of an obligation that uses hypotheses of ``kept`` only."""
    here, names = read_obligation(writer.text(obligation, kept - {GOAL}))
    return with_used_hypotheses(writer, obligation, find_refutation(here, deadline), dict(enumerate(names)))


# -- Worker processes that look for certificates: if one is killed, one answer is lost --------------

MEMORY = 4 << 30  #: Bytes of address space that a worker may use.
#: The function that a worker runs; a fresh process must be able to import it.
Searcher = Callable[[Question], Iterable[Answer]]


class Workers:
    """A pool of worker processes, to be used as a context manager."""

    def __init__(
        self, jobs: int, *, patience: float = PATIENCE, memory: int = MEMORY, search: Searcher = answers
    ) -> None:
        self._pool = WorkerPool(jobs, patience=patience, memory=memory, keep=False)
        self._search = search

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool.__exit__(*error)

    def answers(self, questions: Sequence[Question]) -> Iterator[Answer]:
        """Yield the answers to ``questions``, in the order in which they arrive."""
        for question, said in self._pool.results(self._search, questions, only):
            yield Answer(question, reason=said.reason) if isinstance(said, Lost) else said
