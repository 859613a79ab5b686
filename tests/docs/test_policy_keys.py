"""The page about appraisals lists every key that a policy can have, and every status that is accepted by default."""

from __future__ import annotations

import re

import pytest

from carnet_ref.attestation.intel import policy as intel
from carnet_ref.attestation.nvidia import policy
from tests.repo.tracked import ROOT

PAGE = (ROOT / "docs" / "how-to" / "appraise-evidence.md").read_text("utf-8")
TABLES = dict(
    zip(
        ("gpu", "node", "tdx"),
        re.findall(r"\| key \| what it says \| if left out \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", PAGE),
        strict=True,
    )
)
KEYS = {
    "gpu": set(policy.Policy.__dataclass_fields__),
    "node": set(policy.NODE_KEYS),
    "tdx": set(intel.KEYS),
}


@pytest.mark.parametrize("command", KEYS)
def test_every_key_of_a_policy_is_listed_and_no_other(command: str) -> None:
    listed = {key for row in TABLES[command].splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert listed == KEYS[command]


def test_the_statuses_accepted_by_default_are_listed() -> None:
    row = next(row for row in TABLES["tdx"].splitlines() if row.startswith("| `tcb_statuses`"))
    assert set(re.findall(r"`(\w+)`", row.split("|")[3])) == intel.DEFAULT_STATUSES
