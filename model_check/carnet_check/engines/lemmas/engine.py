"""The engines for lemma claims: each checks all cases by its own means, and that each hypothesis is needed.

If the claim is false in a case, it is VIOLATED, with the case. If no case without some hypothesis is found in which the
claim is false, the row is VACUOUS: the claim names a hypothesis as necessary that may not be.
"""

import time
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.interface import EngineResult, JudgesLemmaClaims, Plan, Task
from carnet_check.engines.runner import Listener
from carnet_check.errors import EngineError
from carnet_check.results import Kind, Result, Verdict
from carnet_command.text import plural
from carnet_spec.language import Case, Examination, LemmaClaim, Means, Profile

MOST_CASES = 1_000_000  #: The most cases of one claim, and of the claim without one hypothesis.


@dataclass(frozen=True)
class Examiner(JudgesLemmaClaims):
    """The base class of engines for lemma claims; ``most`` limits the number of cases of one claim."""

    verdicts: ClassVar = (Verdict.EXHAUSTED, Verdict.SAMPLED)
    refutes: ClassVar = True
    believes_no_solver: ClassVar = True
    most: int = MOST_CASES

    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Check every lemma claim of the task that is to be decided by this engine's means."""
        asked = [(plan, claim) for plan in task.plans for claim in self.decided_claims(plan)]
        rows = (row for plan, claim in asked for row in self._rows(task, plan, claim, listener))
        return EngineResult(self.name, tuple(rows))

    def _rows(self, task: Task, plan: Plan, claim: LemmaClaim, listener: Listener) -> list[Result]:
        began = time.monotonic()
        listener.status(f"{plan.protocol.variant}: {self.name} of {claim.name}")
        examination = claim.examination(self.means)
        assert examination is not None, claim.name
        found = self._examined(claim, examination)
        row = replace(
            found,
            protocol=task.source.family.id,
            variant=plan.protocol.variant,
            expected=self.expected_of(claim),
            seconds=time.monotonic() - began,
        )
        return [replace(row, threat=threat.id) for other, threat in plan.lemma_claims if other is claim]

    def _examined(self, claim: LemmaClaim, examination: Examination) -> Result:
        number, failing = self._first_failing(claim, examination, "")
        row = Result("", "", claim.name, "", self.name, Verdict.UNKNOWN, Verdict.UNKNOWN, kind=Kind.LEMMA_CLAIM)
        if failing is not None:
            return replace(row, verdict=Verdict.VIOLATED, detail=f"it does not hold for {failing.words}")
        if number > self.most:
            return replace(row, detail=f"more than {self.most:,} cases: {examination.over}")
        if not number:
            return replace(row, verdict=Verdict.VACUOUS, detail=f"there is no case: {examination.over}")
        shown: list[tuple[str, str]] = []
        for name in examination.needs:
            seen, counterexample = self._first_failing(claim, examination, name)
            if counterexample is None:
                why = f"of {plural(min(seen, self.most), 'case')} without {name}, the claim fails in none"
                verdict = Verdict.UNKNOWN if seen > self.most else Verdict.VACUOUS
                return replace(row, verdict=verdict, detail=f"{why}: the hypothesis is not shown to be needed")
            shown.append((name, counterexample.words))
        verdict = Verdict.EXHAUSTED if examination.complete else Verdict.SAMPLED
        return replace(row, verdict=verdict, bound=number, detail=examination.over, counterexamples=tuple(shown))

    def _first_failing(self, claim: LemmaClaim, examination: Examination, left_out: str) -> tuple[int, Case | None]:
        """Return how many cases were checked, and the first one in which the claim is false, which is a smallest one.

        Raises EngineError if the cases are not sorted by size, so the first need not be a smallest one.
        """
        number, size = 0, 0
        for number, case in enumerate(examination.cases(left_out), 1):
            if case.size < size:
                raise EngineError(f"{claim.name}: a case of size {case.size} comes after one of size {size}")
            size = case.size
            if not case.holds or number > self.most:
                return number, None if case.holds else case
        return number, None

    def with_limit(self, most: int) -> Self:
        """Return the same engine for at most ``most`` cases of a claim."""
        return replace(self, most=most)

    def expected_verdict(self, profile: Profile) -> Verdict:
        """Return EXHAUSTED, for every profile."""
        return Verdict.EXHAUSTED

    def expected_of(self, claim: LemmaClaim) -> Verdict:
        """Return the expected verdict, which depends on whether the cases are complete or samples."""
        examination = claim.examination(self.means)
        return Verdict.EXHAUSTED if examination is None or examination.complete else Verdict.SAMPLED

    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        """Return the words for the number of cases that were checked."""
        rows = {row.claim: row.bound or 0 for row in outcome.rows}
        return (f"{self.name}: {plural(sum(rows.values()), 'case')} of {plural(len(rows), 'lemma claim')}",)

    def budget(self, profile: Profile) -> str:
        """Return the words for the limit on cases."""
        return f"{self.most:,} cases per lemma claim"


class Counting(Examiner):
    """Decides each case by counting, directly from the definition of the claim."""

    name: ClassVar = "lemma-count"
    purpose: ClassVar = "lemma claims, by an exhaustive count of small cases"
    means: ClassVar = Means.COUNTING

    def intention(self, task: Task) -> str:
        """Return the words that small cases are counted."""
        return "counts every small case of the lemma claims, and one for each hypothesis left out"


class Calculation(Examiner):
    """Decides each case by a formula or an algorithm."""

    name: ClassVar = "lemma-calc"
    purpose: ClassVar = "lemma claims, by exact calculation"
    means: ClassVar = Means.CALCULATION

    def intention(self, task: Task) -> str:
        """Return the words that cases are calculated."""
        return "calculates lemma claims at the sizes that they name, and one case for each hypothesis left out"


COUNTING = Counting()
CALCULATION = Calculation()
