"""What a verification run leaves behind, put together from the campaign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carnet_check.attacks.minimise import minimise
from carnet_check.attacks.record import Attack
from carnet_check.engines.explicit.searches import threat_of
from carnet_check.exports.itf import itf
from carnet_check.report.closing import Closing
from carnet_check.report.outline import outline
from carnet_check.report.run_folder import Run
from carnet_check.report.state_graph import state_graph
from carnet_check.results import Result
from carnet_check.semantics import Interpreter
from carnet_check.verification.planning import EXPLICIT, Campaign
from carnet_spec.trace import Trace


def recorded(campaign: Campaign, closing: Closing) -> Run:
    """Return everything that is kept of a finished run; every violation is minimised and replayed first."""
    attacks = sorted((attack_of(campaign, row) for row in campaign.results if row.steps), key=lambda each: each.name)
    return Run(
        verdicts=tuple(row.as_json() for row in campaign.results),
        timings=tuple(_timing(row) for row in campaign.results),
        run={
            "summary": campaign.summary(),
            "goals": [goal.as_json() for goal in campaign.goals],
            "notes": campaign.notes,
            "run": closing.as_json(),
        },
        spec=outline(campaign),
        attacks=tuple(attack.as_json() for attack in attacks),
        itf={attack.name: itf(attack.judge.protocol, attack.states, attack.trace) for attack in attacks},
        graphs=tuple(sorted(_graphs(campaign), key=lambda graph: str(graph["name"]))),
    )


def attack_of(campaign: Campaign, row: Result) -> Attack:
    """Minimise and replay the violation that ``row`` reports.

    Raises:
        EngineError: the interpreter does not reproduce it.
    """
    plan = next(plan for plan in campaign.plans if plan.protocol.variant == row.variant)
    protocol, source = plan.protocol, campaign.request.source
    judge = Interpreter(protocol, campaign.instance_of(row))
    claim = protocol.claim(row.claim)
    found = Trace(protocol.id, protocol.variant, protocol.without, row.threat, row.steps)
    trace = minimise(judge, claim.checked, found)
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
        profile=campaign.profile,
        expected=row.as_expected,
        rerun=f"carnet attack {source.shown} --variant {row.variant} --threat {row.threat} --claim {row.claim}",
        finding=next(findings, None),
    )


def _timing(row: Result) -> dict[str, Any]:
    names = ("variant", "kind", "claim", "threat", "engine")
    return {**dict(zip(names, map(str, row.key), strict=True)), "seconds": row.seconds}


def _graphs(campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Draw each variant, if exploring was asked for at all."""
    if EXPLICIT in campaign.engines:
        source, profile = campaign.request.source, campaign.profile
        for plan in campaign.plans:
            instances = {each.id: source.instance(plan.protocol, each.id, profile) for each in plan.threats}
            graph = state_graph(plan.protocol, instances)
            if graph is not None:
                yield graph
