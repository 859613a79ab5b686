"""What two runs of SGX-LKL show is claimed element by element: with one claim less, nobody may judge the rest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from carnet_check.loading.families import load
from carnet_spec.language.lints import lint_draft
from carnet_spec.protocols.sgx_lkl.design import oblivious, one_run
from tests.unit.model_check.command import carnet

FORGETFUL = """
from carnet_spec.protocols.sgx_lkl.design import oblivious

def draft():
    runs = oblivious()
    runs._claims = [claim for claim in runs._claims if claim.name != "{claim}"]
    return runs
"""
OF_ONE_RUN = {claim.name for claim in one_run().whole().claims}
OF_TWO_RUNS = [claim.name for claim in oblivious().whole().claims if claim.name not in OF_ONE_RUN]
SHOWN = {
    "size": {"symbol size"},
    "count": {"action emit", "action call"},
    "order": {"symbol operation"},
    "time": {"symbol moment"},
    "address": {"symbol address"},
    "revisits": {"symbol revisit"},
    "equality": {"symbol alike"},
    "refusal": {"symbol resent"},
    "end": {"action finish"},
    "error": {"symbol status"},
    "result": {"symbol result_size"},
    "hand-over-count": {"action send_chunk", "action plan"},
    "hand-over-end": {"action begin_run"},
    "hand-over-size": {"symbol chunk_size"},
}
"""What each claim is alone to speak of."""


def test_there_are_fourteen_claims_about_two_runs() -> None:
    assert set(OF_TWO_RUNS) == set(SHOWN)
    assert len(OF_TWO_RUNS) == 14


@pytest.mark.mends("R421")
@pytest.mark.parametrize("claim", OF_TWO_RUNS)
def test_without_a_claim_what_it_speaks_of_is_named(claim: str, tmp_path: Path) -> None:
    file = tmp_path / "forgetful.py"
    file.write_text(FORGETFUL.format(claim=claim), "utf-8")
    ran = carnet("verify", str(file), "--json")
    assert ran.code == 2
    error = ran.json["error"]
    said = error.get("complaints", [error["message"]])
    shown = {each.partition("two-runs: ")[2].partition(":")[0] for each in said}
    assert shown == SHOWN[claim]
    assert all("says that it does not: claim " in each and ", or accept it by accept_leak('" in each for each in said)
    lines = [re.match(r"(\w+)\.py:\d+: ", each) for each in said]
    assert all(lines), said


@pytest.mark.parametrize("variant", load("sgx-lkl").family.variants)
def test_every_design_says_what_it_shows(variant: str) -> None:
    assert not oblivious(variant).accepted_leaks
    assert not [complaint for complaint in lint_draft(oblivious(variant)) if complaint.rule == "two-runs"]
