"""No defect of an engine passes: what it leaves out is an error, and what it should not say ends the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import pytest

from carnet_check.engines import registry
from carnet_check.engines.interface import Engine, EngineResult, Task
from carnet_check.engines.runner import Listener
from carnet_check.errors import EngineError, UsageError
from carnet_check.loading.families import load
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, planned
from carnet_spec.language import Profile
from tests.unit.model_check.command import TOY

Rows = tuple[Result, ...]


@dataclass(frozen=True)
class Liar(Engine):
    """Says that everything is proved, after a change."""

    name: ClassVar = "liar"
    purpose: ClassVar = "nothing"
    verdicts: ClassVar = (Verdict.PROVED,)
    change: Callable[[Rows], Rows] = lambda rows: rows
    known_as: str = "liar"

    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Prove every claim by saying so."""
        rows = (
            Result("toy", plan.protocol.variant, claim.name, threat.id, "liar", Verdict.PROVED, Verdict.PROVED)
            for plan in task.plans
            for claim, threat in plan.pairs
        )
        return EngineResult(self.known_as, self.change(tuple(rows)))

    def limited(self, most: int) -> Self:
        """Change nothing."""
        return self

    def expected(self, profile: Profile) -> Verdict:
        """Return PROVED."""
        return Verdict.PROVED

    def intention(self, task: Task) -> str:
        """Say nothing much."""
        return "to lie"

    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        """Say nothing much."""
        return ("liar: none",)

    def budget(self, profile: Profile) -> str:
        """Say nothing much."""
        return "none"


def _each(**changes: Any) -> Callable[[Rows], Rows]:
    return lambda rows: tuple(replace(row, **changes) for row in rows)


def _verified(liar: Liar) -> tuple[int, list[Verdict]]:
    outcome = verify(replace(planned(Request(load(TOY))), engines=(liar,)))
    return outcome.exit_code, [row.verdict for row in outcome.results]


def test_a_row_for_each_pair_passes() -> None:
    assert _verified(Liar()) == (0, [Verdict.PROVED] * 2)


@pytest.mark.parametrize("kept", [0, 1])
def test_what_is_not_answered_is_an_error(kept: int) -> None:
    code, verdicts = _verified(Liar(lambda rows: rows[:kept]))
    assert (code, sorted(verdicts)) == (5, sorted([Verdict.PROVED] * kept + [Verdict.ERROR] * (2 - kept)))


def test_what_is_expected_is_not_for_an_engine_to_say() -> None:
    told = _each(verdict=Verdict.UNKNOWN, expected=Verdict.UNKNOWN)
    assert _verified(Liar(told)) == (3, [Verdict.UNKNOWN] * 2)


DEFECTS: dict[str, tuple[Liar, str]] = {
    "a row twice": (Liar(lambda rows: rows * 2), "said twice"),
    "another variant": (Liar(_each(variant="other")), "nobody asked"),
    "another claim": (Liar(_each(claim="other")), "nobody asked"),
    "another engine's row": (Liar(_each(engine="explicit")), "in the name of explicit"),
    "another engine's answer": (Liar(known_as="explicit"), "answers as 'explicit'"),
    "a goal": (Liar(_each(kind=Kind.GOAL)), "of a goal, which it does not judge"),
    "a word of its own": (Liar(_each(verdict=Verdict.EXHAUSTED)), "a word that is not among its verdicts"),
    "vacuous": (Liar(_each(verdict=Verdict.VACUOUS, expected=Verdict.VACUOUS)), "a word that is not"),
    "violated without a trace": (Liar(_each(verdict=Verdict.VIOLATED)), "no trace shows it"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_what_an_engine_should_not_say_ends_the_run(name: str) -> None:
    liar, why = DEFECTS[name]
    with pytest.raises(EngineError, match=why):
        _verified(liar)


def test_a_run_without_an_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no engine 'expicit'"):
        planned(Request(load(TOY), engines=("expicit",)))
    monkeypatch.setattr(registry, "ENGINES", {})
    with pytest.raises(UsageError, match="no engine runs"):
        planned(Request(load(TOY)))
