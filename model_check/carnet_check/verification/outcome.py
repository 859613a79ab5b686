"""What a verification run established."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from carnet_check.engines.exploration import Coverage
from carnet_check.engines.exploring.searches import MOST_STATES_DRAWN
from carnet_check.engines.interface import EngineResult
from carnet_check.results import Kind, Result, as_html, by_verdict, exit_code
from carnet_check.verification.diagnosis import Diagnosis
from carnet_check.verification.planning import Campaign
from carnet_spec.language import Instance, markup


@dataclass(frozen=True, slots=True)
class GoalOutcome:
    """Whether a goal was reached in a variant, and by how many steps under which threat model."""

    variant: str
    goal: str
    sentence: str
    rounds: int
    reached: bool
    threat: str = ""
    steps: int | None = None
    where: str = ""
    directed: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class CampaignOutcome:
    """The verdicts of a run in a fixed order, and what they rest on.

    ``answers`` is what each engine said; ``results`` are their rows, with what is worthless marked and with a row for
    everything that should happen and does not.
    """

    campaign: Campaign
    answers: tuple[EngineResult, ...] = ()
    results: tuple[Result, ...] = ()
    goals: tuple[GoalOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    diagnoses: tuple[Diagnosis, ...] = ()
    """How each claim and lemma stands where proofs are made by induction."""

    @property
    def searches(self) -> tuple[Coverage, ...]:
        """Everything that was explored, by whatever engine."""
        return tuple(found for answer in self.answers for found in answer.searches)

    @property
    def explored(self) -> list[dict[str, Any]]:
        """What each search explored, by whatever engine, as JSON values."""
        return [
            {
                "engine": answer.engine,
                "variant": found.search.variant,
                "threat": found.search.threat,
                "profile": found.search.profile.name,
                "directed": found.search.directed,
                "beyond_profile": found.search.sought,
                "covered": found.covered,
                **found.scope.explored.as_json(),
            }
            for answer in self.answers
            for found in answer.searches
            if found.scope
        ]

    @property
    def limits(self) -> Iterator[str]:
        """Where explorations had to stop, as far as it was asked for, or because interpretations were drawn."""
        limits = self.campaign.request.limits
        if limits.states is not None:
            yield f"asked for: {limits.states:,} states to an exploration"
        elif any(found.scope and found.scope.explored.shortfall for found in self.searches):
            yield f"{MOST_STATES_DRAWN:,} states where interpretations are drawn"
        if limits.seconds is not None:
            yield f"asked for: {limits.seconds:,.0f} s to an exploration"

    def instance_of(self, row: Result) -> Instance:
        """Return the instance in which the violation was found that a row reports."""
        return self.violation_of(row).instance_of(row.claim)

    def violation_of(self, row: Result) -> Coverage:
        """Return the search that found the violation that a row reports."""
        return next(
            found
            for answer in self.answers
            for found in answer.searches
            if (answer.engine, found.search.variant, found.search.threat) == (row.engine, row.variant, row.threat)
            and row.claim in found.violations
        )

    def again(self, row: Result) -> str:
        """Return the command that finds the violation that a row reports once more."""
        request = self.campaign.request
        pair = f"--variant {row.variant} --threat {row.threat} --claim {row.claim}"
        if row.kind is Kind.LIVENESS:
            under = f" --threat {row.threat}" if self.campaign.task.plan(row.variant).protocol.threats else ""
            asked = f"--variant {row.variant}{under} --claim {row.claim} --engine {row.engine}"
            return f"carnet verify {request.source.shown} {asked} --profile {request.profile}"
        found = self.violation_of(row)
        if found.walked is None and not found.search.alone:
            return f"carnet attack {request.source.shown} {pair}"
        options = [f"--engine {row.engine}"]
        if found.walked is not None and (walks := self.campaign.walks):
            options += [f"--simulate {walks.number} --seed {walks.seed} --profile {request.profile}"]
        options += [] if request.depth is None else [f"--depth {request.depth}"]
        return f"carnet verify {request.source.shown} {pair} {' '.join(options)}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how many verdicts there are of each kind, and all of them in a table."""
        summary = self.summary()
        counts = " · ".join(f"{word} {count}" for word, count in summary["by_verdict"].items())
        whether = "every verdict as expected" if summary["as_expected"] else "not every verdict as expected"
        title = f"{self.campaign.request.source.family.title}: {whether}"
        return markup.document(title, markup.paragraph(counts), as_html(self.results))

    @property
    def exit_code(self) -> int:
        """What the command exits with."""
        return exit_code(self.results)

    def summary(self) -> dict[str, Any]:
        """Return the summary object of the command's contract."""
        return {
            "as_expected": all(result.as_expected for result in self.results),
            "by_verdict": by_verdict(self.results),
            "declared": self.campaign.declared,
        }


def rows_of(answers: Sequence[EngineResult]) -> list[Result]:
    """Return the rows of all engines."""
    return [row for answer in answers for row in answer.rows]
