"""What a verification run leaves behind, put together from its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carnet_check.attacks.minimise import minimise
from carnet_check.attacks.record import Attack
from carnet_check.engines.interface import Explores
from carnet_check.exports.itf import itf
from carnet_check.loading.families import threat_of
from carnet_check.report.closing import Closing
from carnet_check.report.lemmas import standings
from carnet_check.report.outline import outline
from carnet_check.report.run_folder import Run
from carnet_check.report.state_graph import state_graph
from carnet_check.results import Kind, Result
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import with_rules_as_steps
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Campaign
from carnet_spec.language import Claim, Eventually
from carnet_spec.trace import Trace


def recorded(outcome: CampaignOutcome, closing: Closing) -> Run:
    """Return everything that is kept of a finished run; every violation is minimised and replayed first."""
    attacks = sorted((attack_of(outcome, row) for row in outcome.results if row.has_trace), key=lambda each: each.name)
    return Run(
        verdicts=tuple(row.as_json() for row in outcome.results),
        timings=tuple(_timing(row) for row in outcome.results),
        run={
            "summary": outcome.summary(),
            "goals": [goal.as_json() for goal in outcome.goals],
            "lemmas": standings(outcome),
            "explored": outcome.explored,
            "notes": list(outcome.notes),
            "run": closing.as_json(),
        },
        spec=outline(outcome.campaign),
        attacks=tuple(attack.as_json() for attack in attacks),
        itf={attack.name: itf(attack.judge.protocol, attack.states, attack.trace) for attack in attacks},
        graphs=tuple(sorted(_graphs(outcome.campaign), key=lambda graph: str(graph["name"]))),
    )


def attack_of(outcome: CampaignOutcome, row: Result) -> Attack:
    """Minimise and replay the violation that ``row`` reports; a lasso is replayed as it is.

    Raises:
        EngineError: the interpreter does not reproduce it.
    """
    campaign = outcome.campaign
    protocol, source = campaign.task.plan(row.variant).protocol, campaign.request.source
    violation = outcome.violation_of(row)
    instance = violation.instance_of(row.claim)
    trace = Trace(protocol.id, protocol.variant, protocol.without, row.threat, row.steps, row.loop)
    claim: Claim | Eventually
    if row.kind is Kind.LIVENESS:
        claim = next(live for live in protocol.liveness if live.name == row.claim)
        judge = Interpreter(with_rules_as_steps(protocol, [claim]), instance)
    else:
        claim = protocol.claim(row.claim)
        judge = Interpreter(protocol, instance)
        trace = minimise(judge, claim.checked, trace)
    findings = (
        each
        for each in source.family.findings
        if (each.variant, each.claim, each.threat, each.without) == (row.variant, row.claim, row.threat, ())
    )
    return Attack(
        judge=judge,
        claim=claim,
        threat=threat_of(protocol, row.threat),
        trace=trace,
        states=judge.replay(trace),
        profile=violation.search.profile,
        expected=row.as_expected,
        rerun=outcome.again(row),
        digest=protocol.digest,
        finding=next(findings, None),
    )


def _timing(row: Result) -> dict[str, Any]:
    names = ("variant", "kind", "claim", "threat", "engine")
    return {**dict(zip(names, map(str, row.key), strict=True)), "seconds": row.seconds}


def _graphs(campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Draw each variant, if exploring was asked for at all."""
    if any(isinstance(engine, Explores) for engine in campaign.engines):
        source, profile = campaign.request.source, campaign.profile
        for plan in campaign.plans:
            instances = {each.id: source.instance(plan.protocol, each.id, profile) for each in plan.threats}
            graph = state_graph(plan.protocol, instances)
            if graph is not None:
                yield graph
