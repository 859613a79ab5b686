"""A verification run: every engine is asked, and what could make a pass worthless is looked for.

For every variant, each claim is judged under each threat model that it names. What is claimed to fail must fall. What
could make a pass worthless (a goal nobody reaches, a step nobody takes, a premise that cannot hold) becomes a row of
its own, or takes the claim's place.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from carnet_check.engines.runner import Listener, Silent
from carnet_check.results import Kind, Result
from carnet_check.verification.answers import accepted
from carnet_check.verification.checks import Checked, checked, disagreements
from carnet_check.verification.diagnosis import diagnosed
from carnet_check.verification.evidence import Evidence
from carnet_check.verification.outcome import CampaignOutcome, rows_of
from carnet_check.verification.planning import Campaign

SILENT = Silent()


def verify(campaign: Campaign, listener: Listener = SILENT) -> CampaignOutcome:
    """Ask every engine what was planned, check the answers, and list the rows in a fixed order."""
    began = time.monotonic()
    answers = tuple(accepted(campaign, engine, engine.run(campaign.task, listener)) for engine in campaign.engines)
    listener.status("looking for vacuous premises, unreached goals and steps nobody takes")
    found = Checked(tuple(rows_of(answers)), notes=campaign.notes)
    bases = {key: basis for answer in answers for key, basis in answer.bases.items()}
    for plan in campaign.plans:
        agreed = replace(found, rows=tuple(disagreements(found.rows, plan, bases)))
        found = checked(campaign, plan, Evidence.of(plan.protocol.variant, answers), agreed)
    diagnoses = diagnosed(campaign, answers, found.rows, listener)
    remarks = (f"{answer.engine}: {note}" for answer in answers for note in answer.notes)
    return CampaignOutcome(
        campaign=campaign,
        answers=answers,
        results=tuple(sorted(found.rows, key=lambda row: _order(campaign, row))),
        goals=found.goals,
        notes=(*found.notes, *remarks),
        seconds=time.monotonic() - began,
        diagnoses=diagnoses,
    )


def _order(campaign: Campaign, row: Result) -> tuple[int, ...]:
    """By variant, kind, claim, threat model and engine."""
    variants = [plan.protocol.variant for plan in campaign.plans]
    plan = campaign.plans[variants.index(row.variant)]
    return (
        variants.index(row.variant),
        list(Kind).index(row.kind),
        _place([claim.name for claim in plan.protocol.claims], row.claim),
        _place([threat.id for threat in plan.threats], row.threat),
        _place([engine.name for engine in campaign.engines], row.engine),
    )


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)
