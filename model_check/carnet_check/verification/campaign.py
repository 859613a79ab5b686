"""Running a verification: all engines answer, and the results are checked for vacuity.

For every variant, each claim is judged under each threat model that it names. An expected violation has to be found.
Vacuity (a goal that is never reached, an action that is never taken, a premise that cannot hold) becomes a row of its
own, or replaces the claim's verdict.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from carnet_check.engines.interface import (
    DecidesLiveness,
    Engine,
    EngineResult,
    JudgesLemmaClaims,
    Plan,
    ProvesLiveness,
    RunsInBackground,
    Shares,
)
from carnet_check.engines.runner import Listener, NullListener, Shard, ShardReport
from carnet_check.errors import EngineError, UsageError
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.checks import CheckedRows, Evidence, check_plan, disagreements
from carnet_check.verification.outcome import CampaignOutcome, diagnose, rows_of
from carnet_check.verification.planning import Campaign
from carnet_command.exit_codes import ExitCode, deciding
from carnet_spec.language import LemmaClaim

SILENT = NullListener()


def verify(campaign: Campaign, listener: Listener = SILENT) -> CampaignOutcome:
    """Run every planned engine, check the answers, and return the rows in a fixed order."""
    began = time.monotonic()
    with _begun(campaign) as engines:
        answers, settled = _run_engines(campaign, engines, listener)
    listener.status("looking for vacuous premises, unreached goals and steps that no run takes")
    found = CheckedRows(tuple(rows_of(answers)), notes=campaign.notes)
    bases = {key: basis for answer in answers for key, basis in answer.bases.items()}
    for plan in campaign.plans:
        agreed = replace(found, rows=tuple(disagreements(found.rows, plan, bases)))
        found = check_plan(campaign, plan, Evidence.of(plan.protocol.variant, answers), agreed)
    diagnoses = diagnose(campaign, answers, found.rows, listener)
    settled_by_proof = tuple(_not_explored(settled))
    remarks = (f"{answer.engine}: {note}" for answer in answers for note in answer.notes)
    return CampaignOutcome(
        campaign=campaign,
        answers=answers,
        results=tuple(sorted(found.rows, key=lambda row: _order(campaign, row))),
        goals=found.goals,
        notes=(*found.notes, *settled_by_proof, *remarks),
        asides=found.asides | {*settled_by_proof},
        seconds=time.monotonic() - began,
        diagnoses=diagnoses,
    )


@contextmanager
def _begun(campaign: Campaign) -> Iterator[tuple[Engine, ...]]:
    """Start an engine that runs in the background early, in parallel with the engines before it.

    If there are several such engines, none is started early: each may use all the memory for explorations.
    """
    able = [each for each in campaign.engines if isinstance(each, RunsInBackground)]
    if len(able) != 1 or able[0] is campaign.engines[0] or campaign.task.jobs == 1:
        yield campaign.engines
        return
    early = able[0]
    first = campaign.engines[: campaign.engines.index(early)]
    lively = {(plan.protocol.variant, live.name) for plan in campaign.plans for live in plan.liveness_to_prove}
    proved = lively if any(isinstance(each, ProvesLiveness) for each in first) else set()
    with early.begun(_with_proved(campaign, proved).task) as begun:
        yield tuple(begun if each is early else each for each in campaign.engines)


def _run_engines(
    campaign: Campaign, engines: Sequence[Engine], listener: Listener
) -> tuple[tuple[EngineResult, ...], set[tuple[str, str, str]]]:
    """Return the engines' answers, and the liveness proved before an engine ran, as (engine, variant, name)."""
    answers: tuple[EngineResult, ...] = ()
    settled: set[tuple[str, str, str]] = set()
    for engine in engines:
        proved = {about for answer in answers for about, said in answer.liveness.items() if said.is_proved}
        asked = _with_proved(campaign, proved) if isinstance(engine, DecidesLiveness) else campaign
        answers += (accept_answer(asked, engine, engine.run(asked.task, listener)),)
        settled |= {(engine.name, plan.protocol.variant, name) for plan in asked.plans for name in plan.proved}
    return answers, settled


def _with_proved(campaign: Campaign, proved: Collection[tuple[str, str]]) -> Campaign:
    """Return the campaign without exploration of liveness properties that are proved for every size."""
    return replace(campaign, plans=tuple(_without(plan, proved) for plan in campaign.plans))


def _without(plan: Plan, proved: Collection[tuple[str, str]]) -> Plan:
    done = tuple(live for live in plan.liveness if (plan.protocol.variant, live.name) in proved)
    rest = tuple(live for live in plan.liveness if live not in done)
    return replace(plan, liveness=rest, proved=tuple(live.name for live in done))


def _not_explored(settled: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield notes about the liveness properties that an engine did not explore because they are proved."""
    for (engine, variant), group in groupby(sorted(settled), key=itemgetter(0, 1)):
        names = ", ".join(name for _, _, name in group)
        told = f"proved for any size, and therefore not explored (--engine {engine} does that): {names}"
        yield f"{variant}: {told}"


def _order(campaign: Campaign, row: Result) -> tuple[int, ...]:
    """Return the sort key of a row: variant, kind, claim, threat model and engine."""
    variants = [plan.protocol.variant for plan in campaign.plans]
    plan = campaign.plans[variants.index(row.variant)]
    return (
        variants.index(row.variant),
        list(Kind).index(row.kind),
        _place(plan.protocol.claim_names, row.claim),
        _place([threat.id for threat in plan.threats], row.threat),
        _place([engine.name for engine in campaign.engines], row.engine),
    )


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


# --------------------------------------------------------------------------------------------------
# An engine's answer is checked before it counts: it has one row for each requested pair, and no other row.
#
# An engine that omits a row, repeats one or adds one has a defect; an omitted row becomes an error.

#: The verdicts that any engine may give; VIOLATED needs a trace.
ALWAYS_SAID = (Verdict.UNKNOWN, Verdict.ERROR, Verdict.VIOLATED)


def accept_answer(campaign: Campaign, engine: Engine, answer: EngineResult) -> EngineResult:
    """Return the answer with an error row for each missing row, and with the expected verdict in every row.

    Raises EngineError if a row has another engine's name, was not requested, or has a verdict that the engine cannot
    give.
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


def _defect(engine: Engine, plan: Plan | None, answer: EngineResult, row: Result) -> str:
    """Return why a row is no valid answer of this engine; empty if it is one."""
    if row.engine != engine.name:
        return f"in the name of {row.engine}"
    if plan is None or (row.kind is Kind.CLAIM and (row.claim, row.threat) not in _pairs(plan)):
        return "nobody asked"
    if row.kind is Kind.LIVENESS and isinstance(engine, DecidesLiveness):
        if (row.claim, row.threat) not in _lively(plan):
            return "nobody asked"
    elif row.kind is Kind.LEMMA_CLAIM and isinstance(engine, JudgesLemmaClaims):
        if (row.claim, row.threat) not in _lemma_claims(engine, plan):
            return "nobody asked"
    elif row.kind is not Kind.CLAIM and row.verdict is not Verdict.ERROR:
        return f"of a {row.kind}, which it does not judge"
    empty = (Verdict.VACUOUS,) if row.kind is Kind.LEMMA_CLAIM else ()  # no case, or an unneeded hypothesis
    if row.verdict not in (*engine.verdicts, *ALWAYS_SAID, *empty):
        return "a word that is not among its verdicts"
    shown = row.kind is Kind.LEMMA_CLAIM or _has_trace(answer, row)
    if row.verdict is Verdict.VIOLATED and not (engine.refutes and shown):
        return "no trace shows it"
    return ""


def _pairs(plan: Plan) -> set[tuple[str, str]]:
    return {(claim.name, threat.id) for claim, threat in plan.pairs}


def _lively(plan: Plan) -> set[tuple[str, str]]:
    return {(live.name, threat.id) for live in plan.liveness for threat in plan.threats}


def _lemma_claims(engine: JudgesLemmaClaims, plan: Plan) -> dict[tuple[str, str], LemmaClaim]:
    wanted = engine.decided_claims(plan)
    return {(claim.name, threat.id): claim for claim, threat in plan.lemma_claims if claim in wanted}


def _has_trace(answer: EngineResult, row: Result) -> bool:
    searches = (each for each in answer.searches if each.search.variant == row.variant)
    return any(row.claim in each.violations for each in searches if each.search.threat == row.threat)


def _with_expectation(campaign: Campaign, engine: Engine, plan: Plan, row: Result) -> Result:
    if isinstance(engine, JudgesLemmaClaims):
        return replace(row, expected=engine.expected_of(_lemma_claims(engine, plan)[row.claim, row.threat]))
    falls = row.kind in (Kind.CLAIM, Kind.LIVENESS) and plan.expects_violation(row.claim, row.threat)
    return replace(row, expected=Verdict.VIOLATED if falls else engine.expected_verdict(campaign.profile))


def _missing(
    campaign: Campaign, engine: Engine, plan: Plan, answered: Collection[tuple[str, str, str, str, str]]
) -> Iterator[Result]:
    """Yield an error row for each pair without a row; engines that cannot show violations may omit expected ones."""
    asked = [
        (Kind.CLAIM, claim.name, threat.id)
        for claim, threat in plan.pairs
        if engine.refutes or not plan.expects_violation(claim.name, threat.id)
    ]
    if isinstance(engine, JudgesLemmaClaims):
        asked = [(Kind.LEMMA_CLAIM, *pair) for pair in _lemma_claims(engine, plan)]
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
            expected=engine.expected_verdict(campaign.profile),
            detail=f"{engine.name} gives no answer",
            kind=kind,
        )
        if row.key not in answered:
            yield _with_expectation(campaign, engine, plan, row)


# --------------------------------------------------------------------------------------------------
# One shard of a verification run: it answers its share of obligations and searches, and judges no claim.
#
# A claim depends on obligations of several shards, so a shard has no verdicts. It stores its answers in the cache. A
# later run of everything finds them there, computes the missing ones, and gives the verdicts.


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """The outcome of one shard of a run."""

    shard: Shard
    shares: tuple[ShardReport, ...]
    seconds: float

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command: 0 only if all work of the shard has a definite answer."""
        return deciding(map(_code, self.shares))

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values; a shard has no rows and no expectations."""
        return {
            "results": [],
            "summary": {"as_expected": False, "by_verdict": {}, "declared": []},
            "shard": {"number": self.shard.number, "of": self.shard.of, "shares": list(map(_as_json, self.shares))},
        }


def require_shareable(campaign: Campaign) -> tuple[Shares, ...]:
    """Return the engines of a campaign, after a check that each can do a shard of its work.

    Raises UsageError if an engine cannot.
    """
    return tuple(_able(engine) for engine in campaign.engines)


def run_shard(campaign: Campaign, shard: Shard, listener: Listener) -> ShardOutcome:
    """Do the work of a shard."""
    began = time.monotonic()
    shares = tuple(engine.share(campaign.task, shard, listener) for engine in require_shareable(campaign))
    return ShardOutcome(shard, shares, time.monotonic() - began)


def _able(engine: Engine) -> Shares:
    if not isinstance(engine, Shares):
        raise UsageError(f"the work of the {engine.name} engine is not shared out: run it without --shard")
    return engine


def _code(share: ShardReport) -> ExitCode:
    if share.problems:
        return ExitCode.INTERNAL
    return ExitCode.UNKNOWN if share.open else ExitCode.EXPECTED


def _as_json(share: ShardReport) -> dict[str, Any]:
    return {
        "engine": share.engine,
        "work": share.work,
        "done": share.done,
        "of": share.of,
        "open": dict(share.open),
        "problems": list(share.problems),
        "notes": list(share.notes),
    }


def shard_lines(shared: ShardOutcome) -> Iterator[tuple[str, str]]:
    """Yield the lines about a shard for display, as labels and texts."""
    for each in shared.shares:
        yield each.engine, f"{each.done:,} of {each.of:,} {each.work}s, {len(each.open):,} without an answer"
        for name, why in sorted(each.open.items())[:SHOWN_OPEN]:
            yield "open", f"{name}: {why}"
        for problem in each.problems:
            yield "problem", problem
        for note in each.notes:
            yield "note", f"{each.engine}: {note}"


SHOWN_OPEN = 10  #: The most unanswered obligations and searches that are named.
