"""Findings, strengthenings and declared falls come out of the hunt as attacks that the interpreter replays."""

from dataclasses import dataclass, replace

import pytest

from carnet_check.attacks.hunt import Hunt
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.interface import Plan
from carnet_check.engines.runner import NullListener
from carnet_check.loading.families import load
from carnet_check.results import Verdict
from carnet_check.verification.planning import Campaign, Request, plan_campaign
from carnet_check.wording import narrate
from carnet_spec.language import Finding
from tests.fixtures.travelling import COLLUSION, FAMILY, SOURCE, hunted

FINDINGS = {finding.id: finding for finding in FAMILY.findings}
LONG = [pytest.mark.slow, pytest.mark.timeout(900)]
QUICK = ("finding-2", "finding-10", "finding-12")


def found_again(finding: Finding) -> Hunt:
    """Hunt for a finding; what comes out has been replayed, and is minimal."""
    found = hunted(finding.variant, finding.without, finding.threat, finding.claim)
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, finding.claim), found.detail
    assert found.target.finding == finding
    assert found.decisive is not None
    return found


def test_they_are_numbered_without_a_gap() -> None:
    assert {int(id.split("-")[1]) for id in FINDINGS} == set(range(1, 19))


@pytest.mark.parametrize("id", [id if id in QUICK else pytest.param(id, marks=LONG) for id in FINDINGS])
def test_a_finding_is_found_again(id: str) -> None:
    found_again(FINDINGS[id])


def test_an_attack_is_told_to_its_end() -> None:
    """Every step is a sentence without blanks, and the last thing told is that somebody learns what is not theirs."""
    found = found_again(FINDINGS["finding-2"])
    assert found.trace is not None
    told = narrate(SOURCE.protocol("rotate-out-only"), found.states, found.trace)
    assert not [line for line in told if "{" in line]
    _, learns, what = told[-1].partition(" learns ")
    assert learns
    assert "alice's chunk 1" in what


DATA = "confidentiality"


@dataclass(frozen=True)
class Fall:
    """What ``carnet attack`` is asked, and the claim that falls."""

    claim: str
    variant: str = ""
    without: tuple[str, ...] = ()
    threat: str = COLLUSION
    quick: bool = False


#: For each strengthening the design that newly falls.
FALLS = {
    "code left behind uses the engines, and answers": Fall(DATA, "kernel-answers"),
    "code left behind gives orders": Fall("trains-verified", "kernel-orders"),
    "orders are repeated and reordered": Fall("trains-verified", without=("session-sequence",)),
    "code left behind outlives the upload": Fall("trains-verified", without=("code-read-back",)),
    "an IV used twice forges": Fall("no-implant", without=("count-handover", "rotation-in"), threat="hypervisor"),
    "data-agreement speaks of the buffer": Fall("data-agreement", "ratchet"),
    "hand-overs agree on the address": Fall("handoff-agreement", without=("address-in-grant",), quick=True),
    "iv-unique speaks of key bytes": Fall("iv-unique", without=("channel-counter",)),
    "key-lifetime counts by key bytes": Fall("key-lifetime", without=("key-usage-limit",)),
    "honest GPUs are reset, too": Fall(
        "no-silent-reset", without=("fail-stop-on-reset",), threat="outsider", quick=True
    ),
    "past keys are those never accepted again": Fall("forward-isolation", "retired-engine-leaks", threat="past-keys"),
    "certified GPUs have leaked device keys": Fall(DATA, "leaked-device"),
    "certified GPUs have their debug flag on": Fall(DATA, without=("debug-check",)),
    "certified GPUs run older firmware": Fall(DATA, without=("reference-values",)),
    "somebody starts a second orchestrator": Fall("handoff-agreement", "forked-orchestrator"),
    "models have versions": Fall("participation", without=("model-read-back",)),
}


@pytest.mark.parametrize(
    "name", [name if fall.quick else pytest.param(name, marks=LONG) for name, fall in FALLS.items()]
)
def test_a_weaker_design_falls(name: str) -> None:
    fall = FALLS[name]
    found = hunted(fall.variant, fall.without, fall.threat, fall.claim)
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, fall.claim), found.detail


def _falling(campaign: Campaign) -> tuple[Plan, ...]:
    """Return the plans with the pairs that are expected to fall."""
    found = []
    for plan in campaign.plans:
        pairs = tuple((claim, threat) for claim, threat in plan.pairs if plan.expects_violation(claim.name, threat.id))
        threats = tuple(threat for threat in plan.threats if any(threat == other for _, other in pairs))
        found += [replace(plan, pairs=pairs, threats=threats, liveness=())] if pairs else []
    return tuple(found)


@pytest.mark.slow
@pytest.mark.parametrize("variant", [name for name, each in FAMILY.variants.items() if not each.over])
def test_verify_shows_every_fall_that_a_variant_declares(variant: str) -> None:
    campaign = plan_campaign(Request(load("gpu-travelling"), (variant,), engines=("explicit",)))
    plans = _falling(campaign)
    rows = EXPLICIT.run(replace(campaign.task, plans=plans, every_claim=False), NullListener()).rows
    assert len(rows) == sum(len(plan.pairs) for plan in plans)
    assert [(row.claim, row.threat, row.detail) for row in rows if not row.as_expected] == []
