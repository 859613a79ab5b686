"""Each finding comes out of the hunt as an attack that the interpreter replays."""

from __future__ import annotations

import pytest

from carnet_check.attacks.hunt import Hunt
from carnet_check.results import Verdict
from carnet_check.wording import narrate
from carnet_spec.language import Finding
from tests.fixtures.travelling import FAMILY, SOURCE, hunted

FINDINGS = {finding.id: finding for finding in FAMILY.findings}
QUICK = ("finding-2", "finding-10", "finding-12")


def found_again(finding: Finding) -> Hunt:
    """Hunt for a finding; what comes out has been replayed, and is minimal."""
    found = hunted(finding.variant, finding.without, finding.threat, finding.claim)
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, finding.claim), found.detail
    assert found.target.finding == finding
    assert found.decisive is not None
    return found


def test_they_are_numbered_without_a_gap() -> None:
    numbers = {int(id.split("-")[1]) for id in FINDINGS}
    assert numbers == set(range(1, 19))


@pytest.mark.parametrize("id", QUICK)
def test_a_finding_is_found_again(id: str) -> None:
    found_again(FINDINGS[id])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("id", [id for id in FINDINGS if id not in QUICK])
def test_every_other_finding_is_found_again(id: str) -> None:
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
