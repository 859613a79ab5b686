"""What a variant declares to fall, ``carnet verify`` shows to fall: in its profile, or in the sizes of its hunts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.interface import Plan
from carnet_check.engines.runner import NullListener
from carnet_check.loading.families import load
from carnet_check.verification.planning import Campaign, Request, planned

FAMILY = load("gpu-travelling").family


def _falling(campaign: Campaign) -> tuple[Plan, ...]:
    """Return the plans with the pairs that are expected to fall."""
    found = []
    for plan in campaign.plans:
        pairs = tuple((claim, threat) for claim, threat in plan.pairs if plan.falls(claim.name, threat.id))
        threats = tuple(threat for threat in plan.threats if any(threat == other for _, other in pairs))
        found += [replace(plan, pairs=pairs, threats=threats, liveness=())] if pairs else []
    return tuple(found)


@pytest.mark.slow
@pytest.mark.parametrize("variant", [name for name, each in FAMILY.variants.items() if not each.over])
def test_verify_shows_every_fall_that_a_variant_declares(variant: str) -> None:
    campaign = planned(Request(load("gpu-travelling"), (variant,), engines=("explicit",)))
    plans = _falling(campaign)
    rows = EXPLICIT.run(replace(campaign.task, plans=plans, every_claim=False), NullListener()).rows
    assert len(rows) == sum(len(plan.pairs) for plan in plans)
    assert [(row.claim, row.threat, row.detail) for row in rows if not row.as_expected] == []
