"""Obligations as questions for a solver: equal texts are asked once, with few hypotheses first and with all if need be.

Which hypotheses come first changes times and no verdict: a proof from fewer is a proof, and only what is satisfiable
with all of them is refuted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from carnet_check.engines.proving.answers import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.cores import Cores
from carnet_check.engines.runner import Shard
from carnet_check.exports.obligation_text import Writer, digest
from carnet_check.obligations import GOAL, Obligation
from carnet_spec.language import Symbol
from carnet_spec.language.terms import Term, symbols_of

OWN = ("guard:", "fresh:")


@dataclass(frozen=True, slots=True)
class Question:
    """A text to answer, and where it comes from.

    Attributes:
        digest: of the SMT-LIB text, whatever language the solver reads.
        obligation: one of the obligations that have this text.
        kept: the hypotheses that it has; ``None`` means all.
    """

    digest: str
    text: str
    obligation: Obligation
    kept: tuple[str, ...] | None

    def share(self, budget: int, fewer: int) -> int:
        """Return a ``fewer``-th part of a budget, or all of it if this is the last question of its obligation."""
        return budget if self.kept is None else max(1, budget // fewer)


Solve = Callable[[Sequence[Question]], Iterable[SolverAnswer]]
"""Answers questions in any order, by their digests."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An obligation, the digest of the text that was asked first, and the answer."""

    obligation: Obligation
    digest: str
    answer: SolverAnswer


def attempts(obligation: Obligation, cores: Cores) -> Iterator[tuple[str, ...] | None]:
    """Yield the hypotheses to try, in turn; all of them last.

    First come a core's, or the invariant itself and what the action asks for; then what speaks of the same state.
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
    """Return the symbols of ``formula`` that steps change."""
    return frozenset(symbol for symbol in symbols_of(formula) if symbol.mutable)


def falling_to(shard: Shard, obligations: Iterable[Obligation], cores: Cores) -> list[Obligation]:
    """Return the obligations that fall to a part of the work; those with one first text fall to one part."""
    writer = Writer()
    texts = ((each, writer.text(each, next(attempts(each, cores)))) for each in obligations)
    return [each for each, text in texts if shard.owns(digest(text))]


def asked(obligations: Iterable[Obligation], cores: Cores, solve: Solve) -> Iterator[Answered]:
    """Yield the answer to each obligation, under its id."""
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
