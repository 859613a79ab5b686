"""What an engine answers is looked at before it counts: one row for each pair that was asked for, and no other.

An engine that says nothing, says it twice, or speaks of something else has a defect: nothing that it leaves out passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

from carnet_check.engines.interface import DecidesLiveness, Engine, Outcome, Plan
from carnet_check.errors import EngineError
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.planning import Campaign

ALWAYS_SAID = (Verdict.UNKNOWN, Verdict.ERROR, Verdict.VIOLATED)
"""What any engine may say, VIOLATED with a trace."""


def accepted(campaign: Campaign, engine: Engine, answer: Outcome) -> Outcome:
    """Return the answer with an error for each row that is missing, and with what the run expects in every row.

    Raises:
        EngineError: a row is not this engine's, speaks of what was not asked, or says what the engine cannot know.
    """
    plans = {plan.protocol.variant: plan for plan in campaign.plans}
    counts = Counter(row.key for row in answer.rows)
    for row in answer.rows:
        if why := _defect(engine, plans.get(row.variant), answer, row) or ("said twice" if counts[row.key] > 1 else ""):
            raise EngineError(f"{engine.name} says {row.verdict} of {row.variant}, {row.claim}, {row.threat}: {why}")
    if answer.engine != engine.name:
        raise EngineError(f"{engine.name} answers as '{answer.engine}'")
    told = (_with_expectation(campaign, engine, plans[row.variant], row) for row in answer.rows)
    missing = (row for plan in campaign.plans for row in _missing(campaign, engine, plan, counts))
    return replace(answer, rows=(*told, *missing))


def _defect(engine: Engine, plan: Plan | None, answer: Outcome, row: Result) -> str:
    """Say why a row cannot be what this engine was asked for, or nothing."""
    if row.engine != engine.name:
        return f"in the name of {row.engine}"
    if plan is None or (row.kind is Kind.CLAIM and (row.claim, row.threat) not in _pairs(plan)):
        return "nobody asked"
    if row.kind is Kind.LIVENESS and isinstance(engine, DecidesLiveness):
        if (row.claim, row.threat) not in _lively(plan):
            return "nobody asked"
    elif row.kind is not Kind.CLAIM and row.verdict is not Verdict.ERROR:
        return f"of a {row.kind}, which it does not judge"
    if row.verdict not in (*engine.verdicts, *ALWAYS_SAID):
        return "a word that is not among its verdicts"
    if row.verdict is Verdict.VIOLATED and not (engine.refutes and _has_trace(answer, row)):
        return "no trace shows it"
    return ""


def _pairs(plan: Plan) -> set[tuple[str, str]]:
    return {(claim.name, threat.id) for claim, threat in plan.pairs}


def _lively(plan: Plan) -> set[tuple[str, str]]:
    return {(live.name, threat.id) for live in plan.liveness for threat in plan.threats}


def _has_trace(answer: Outcome, row: Result) -> bool:
    searches = (each for each in answer.searches if each.search.variant == row.variant)
    return any(row.claim in each.violations for each in searches if each.search.threat == row.threat)


def _with_expectation(campaign: Campaign, engine: Engine, plan: Plan, row: Result) -> Result:
    falls = row.kind is Kind.CLAIM and plan.falls(row.claim, row.threat)
    return replace(row, expected=Verdict.VIOLATED if falls else engine.expected(campaign.profile))


def _missing(
    campaign: Campaign, engine: Engine, plan: Plan, answered: Collection[tuple[str, str, str, str, str]]
) -> Iterator[Result]:
    """Yield an error for each pair without a row; what falls is not missed where an engine cannot show it."""
    asked = [
        (Kind.CLAIM, claim.name, threat.id)
        for claim, threat in plan.pairs
        if engine.refutes or not plan.falls(claim.name, threat.id)
    ]
    if isinstance(engine, DecidesLiveness):
        asked += [(Kind.LIVENESS, *pair) for pair in sorted(_lively(plan))]
    for kind, name, threat in asked:
        row = Result(
            protocol=campaign.request.source.family.id,
            variant=plan.protocol.variant,
            claim=name,
            threat=threat,
            engine=engine.name,
            verdict=Verdict.ERROR,
            expected=engine.expected(campaign.profile),
            detail=f"{engine.name} gives no answer",
            kind=kind,
        )
        if row.key not in answered:
            yield _with_expectation(campaign, engine, plan, row)
