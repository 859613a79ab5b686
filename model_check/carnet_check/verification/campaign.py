"""A verification run: every engine is asked, and what could make a pass worthless is looked for.

For every variant, each claim is judged under each threat model that it names. What is claimed to fail must fall. What
could make a pass worthless (a goal nobody reaches, a step nobody takes, a premise that cannot hold) becomes a row of
its own, or takes the claim's place.
"""

from __future__ import annotations

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
    """Ask every engine what was planned, check the answers, and list the rows in a fixed order."""
    began = time.monotonic()
    with _begun(campaign) as engines:
        answers, settled = _run_engines(campaign, engines, listener)
    listener.status("looking for vacuous premises, unreached goals and steps nobody takes")
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
    """Start an asynchronous engine early, beside those before it, which are expected to prove everything.

    Of several, none is started early: each may take all the memory that there is for explorations.
    """
    able = [each for each in campaign.engines if isinstance(each, RunsInBackground)]
    if len(able) != 1 or able[0] is campaign.engines[0] or campaign.task.jobs == 1:
        yield campaign.engines
        return
    early = able[0]
    first = campaign.engines[: campaign.engines.index(early)]
    lively = {(plan.protocol.variant, live.name) for plan in campaign.plans for live in plan.liveness}
    proved = lively if any(isinstance(each, ProvesLiveness) for each in first) else set()
    with early.begun(_with_proved(campaign, proved).task) as begun:
        yield tuple(begun if each is early else each for each in campaign.engines)


def _run_engines(
    campaign: Campaign, engines: Sequence[Engine], listener: Listener
) -> tuple[tuple[EngineResult, ...], set[tuple[str, str, str]]]:
    """Return what each engine answers, and which liveness was proved before an engine (engine, variant, name)."""
    answers: tuple[EngineResult, ...] = ()
    settled: set[tuple[str, str, str]] = set()
    for engine in engines:
        proved = {about for answer in answers for about, said in answer.liveness.items() if said.proved}
        asked = _with_proved(campaign, proved) if isinstance(engine, DecidesLiveness) else campaign
        answers += (accept_answer(asked, engine, engine.run(asked.task, listener)),)
        settled |= {(engine.name, plan.protocol.variant, name) for plan in asked.plans for name in plan.proved}
    return answers, settled


def _with_proved(campaign: Campaign, proved: Collection[tuple[str, str]]) -> Campaign:
    """Return the campaign in which liveness that is proved for any size need not be decided for one."""
    return replace(campaign, plans=tuple(_without(plan, proved) for plan in campaign.plans))


def _without(plan: Plan, proved: Collection[tuple[str, str]]) -> Plan:
    done = tuple(live for live in plan.liveness if (plan.protocol.variant, live.name) in proved)
    rest = tuple(live for live in plan.liveness if live not in done)
    return replace(plan, liveness=rest, proved=tuple(live.name for live in done))


def _not_explored(settled: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Say what was not decided for an instance, by which engine, because it is proved."""
    for (engine, variant), group in groupby(sorted(settled), key=itemgetter(0, 1)):
        names = ", ".join(name for _, _, name in group)
        told = f"proved for any size, so no instance was explored for it (--engine {engine} does that): {names}"
        yield f"{variant}: {told}"


def _order(campaign: Campaign, row: Result) -> tuple[int, ...]:
    """By variant, kind, claim, threat model and engine."""
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
# An engine's answer is checked before it counts: one row for each pair that was asked for, and no other.
#
# An engine that says nothing, says it twice, or speaks of something else has a defect: nothing that it leaves out
# passes.

ALWAYS_SAID = (Verdict.UNKNOWN, Verdict.ERROR, Verdict.VIOLATED)
"""The verdicts that any engine may give; VIOLATED needs a trace."""


def accept_answer(campaign: Campaign, engine: Engine, answer: EngineResult) -> EngineResult:
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


def _defect(engine: Engine, plan: Plan | None, answer: EngineResult, row: Result) -> str:
    """Say why a row cannot be what this engine was asked for, or nothing."""
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
    empty = (Verdict.VACUOUS,) if row.kind is Kind.LEMMA_CLAIM else ()  # no case, or a hypothesis that is not needed
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
    wanted = engine.wanted(plan)
    return {(claim.name, threat.id): claim for claim, threat in plan.lemma_claims if claim in wanted}


def _has_trace(answer: EngineResult, row: Result) -> bool:
    searches = (each for each in answer.searches if each.search.variant == row.variant)
    return any(row.claim in each.violations for each in searches if each.search.threat == row.threat)


def _with_expectation(campaign: Campaign, engine: Engine, plan: Plan, row: Result) -> Result:
    if isinstance(engine, JudgesLemmaClaims):
        return replace(row, expected=engine.expected_of(_lemma_claims(engine, plan)[row.claim, row.threat]))
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
            expected=engine.expected(campaign.profile),
            detail=f"{engine.name} gives no answer",
            kind=kind,
        )
        if row.key not in answered:
            yield _with_expectation(campaign, engine, plan, row)


# --------------------------------------------------------------------------------------------------
# One part of a verification run: the obligations and searches that fall to it are answered, and no claim is judged.
#
# A claim rests on obligations of several parts, so a part has no verdict to give. It leaves its answers in the cache;
# the run that finds them all there gives the verdicts, and asks for itself whatever it does not find.


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """What one part of a run did."""

    shard: Shard
    shares: tuple[ShardReport, ...]
    seconds: float

    @property
    def exit_code(self) -> ExitCode:
        """What the command exits with: 0 only if everything that falls to the part has a definite answer."""
        return deciding(map(_code, self.shares))

    def as_json(self) -> dict[str, Any]:
        """Return the part as JSON values; a part has no rows, and nothing is as expected before they are joined."""
        return {
            "results": [],
            "summary": {"as_expected": False, "by_verdict": {}, "declared": []},
            "shard": {"number": self.shard.number, "of": self.shard.of, "shares": list(map(_as_json, self.shares))},
        }


def require_shareable(campaign: Campaign) -> tuple[Shares, ...]:
    """Return the engines of a campaign, all of which can do a part of their work.

    Raises:
        UsageError: one cannot.
    """
    return tuple(_able(engine) for engine in campaign.engines)


def run_shard(campaign: Campaign, shard: Shard, listener: Listener) -> ShardOutcome:
    """Do the part of the work that ``shard`` names."""
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
    """Yield what a person reads of a part, as labels and texts."""
    for each in shared.shares:
        yield each.engine, f"{each.done:,} of {each.of:,} {each.work}s, {len(each.open):,} without an answer"
        for name, why in sorted(each.open.items())[:SHOWN_OPEN]:
            yield "open", f"{name}: {why}"
        for problem in each.problems:
            yield "problem", problem
        for note in each.notes:
            yield "note", f"{each.engine}: {note}"


SHOWN_OPEN = 10
"""How many pieces of work without an answer are named."""
