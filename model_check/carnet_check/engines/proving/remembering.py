"""Answers of solvers in a cache: what is kept of one, and what is believed when it is read back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from carnet_check.cache import Answers, NotAnAnswerError
from carnet_check.engines.proving.answers import SolverAnswer, SolverOutcome

DEFINITE = (SolverOutcome.PROVED, SolverOutcome.REFUTED)
"""What is kept; ``unknown`` says what happened in one run, and is asked again in the next."""


def known(answers: Answers, id: str, text: str, budget: int, hypotheses: Collection[str]) -> SolverAnswer | None:
    """Return what was answered to ``text`` with this budget, if that was definite; a core names only hypotheses."""

    def read(kept: Mapping[str, Any]) -> SolverAnswer:
        outcome, core, attempt = SolverOutcome(kept["outcome"]), kept["core"], kept["attempt"]
        if outcome not in DEFINITE or type(attempt) is not int:
            raise NotAnAnswerError("it is not definite")
        if not isinstance(core, list) or not set(core) <= set(hypotheses):
            raise NotAnAnswerError("its core names what is no hypothesis")
        return SolverAnswer(id, outcome, tuple(core), attempt=attempt)

    return answers.known(text, str(budget), read)


def keep(answers: Answers, answer: SolverAnswer, text: str, budget: int) -> None:
    """Keep what was answered to ``text``, if it is definite."""
    if answer.outcome in DEFINITE:
        kept = {"outcome": str(answer.outcome), "core": list(answer.core), "attempt": answer.attempt}
        answers.keep(text, str(budget), kept)
