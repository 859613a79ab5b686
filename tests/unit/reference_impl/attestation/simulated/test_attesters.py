"""The fixture for relying parties: genuine evidence is accepted, and each alteration is refused where it says."""

from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from carnet_ref.attestation import appraise
from carnet_ref.attestation.simulated.attesters import SimulatedAttesters, SimulatedEvidence
from tests.fixtures.command_words import attest
from tests.repo.tracked import ROOT

pytest_plugins = ["pytester"]
ATTESTERS = SimulatedAttesters()
QUESTION, NONCE = bytes(range(64)), bytes(range(32))
ALTERED = (*ATTESTERS.altered_tdx(QUESTION), *ATTESTERS.altered_gpu(NONCE))


@pytest.mark.parametrize("evidence", [ATTESTERS.tdx(QUESTION), ATTESTERS.gpu(NONCE)], ids=["tdx", "gpu"])
def test_genuine_evidence_is_accepted_and_fresh_under_its_own_roots_alone(evidence: SimulatedEvidence) -> None:
    appraisal = evidence.appraise()
    assert (evidence.what, evidence.failed_step) == ("genuine", None)
    assert (appraisal.failed_step, appraisal.accepted, appraisal.fresh) == (None, True, True)
    assert not appraise(evidence.document, at=ATTESTERS.at).accepted


@pytest.mark.parametrize("evidence", ALTERED, ids=[each.what for each in ALTERED])
def test_each_alteration_is_refused_at_the_step_that_it_names(evidence: SimulatedEvidence) -> None:
    assert evidence.appraise().failed_step == evidence.failed_step


def test_a_policy_can_ask_for_more() -> None:
    assert ATTESTERS.gpu(NONCE).appraise(policy={"require": ["measurements", "revocation"]}).accepted
    assert not ATTESTERS.gpu(NONCE).appraise(policy={"minimum_driver": "999"}).accepted


def test_evidence_can_be_made_at_another_time_and_its_roots_written(tmp_path: Path) -> None:
    later = datetime(2027, 5, 1, tzinfo=UTC)
    attesters = ATTESTERS.since(later)
    assert attesters.tdx(QUESTION).appraise().accepted
    assert attesters.tdx(QUESTION).appraise(at=ATTESTERS.at).failed_step == "validity"
    (tmp_path / "roots").write_bytes(attesters.anchors_pem)
    (tmp_path / "quote").write_bytes(attesters.tdx(QUESTION).document)
    words = ["--trust-anchor", f"{tmp_path}/roots", "--at", f"{later:%Y-%m-%d}"]
    assert attest(f"{tmp_path}/quote", *words).exit_code == 0


def test_a_relying_party_uses_the_fixture_as_the_page_shows(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs" / "how-to" / "appraise-evidence.md").read_text("utf-8")
    shown = page[page.index("def test_only_genuine") :].partition("```")[0]
    pytester.makepyfile(f"""
from carnet_ref.attestation import appraise


def admits(document, **given):
    return appraise(document, **given, require=["fresh"]).accepted


{shown}
""")
    pytester.makepyfile(
        test_careless=f"""
def admits(document, **given):
    return True


{shown}
"""
    )
    installed = "carnet_attestation" in entry_points(group="pytest11").names
    words = [] if installed else ["-p", "carnet_ref.pytest_plugin"]  # a checkout may be newer than what is installed
    ran = pytester.runpytest_inprocess(*words, "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=1, failed=1)
