"""What the recorded verdicts call PROVED is what has a theorem, or is liveness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carnet_check.loading.families import registered_families
from carnet_spec.language import Family
from tests.coq.coq_files import to_be_proved

RESULTS = Path(__file__).parents[2] / "docs" / "results"
MAIN = [(family, name) for family in registered_families() for name in family.with_layers(family.main)]


@pytest.mark.parametrize(("family", "variant"), MAIN, ids=[f"{family.id}-{variant}" for family, variant in MAIN])
def test_what_is_recorded_as_proved_has_its_theorem_or_is_liveness(family: Family, variant: str) -> None:
    results = json.loads((RESULTS / f"{family.id}.json").read_text("utf-8"))["results"]
    rows = [row for row in results if (row["variant"], row["verdict"]) == (variant, "PROVED")]
    claims = {(row["threat"], row["claim"]) for row in rows if row["kind"] == "claim"}
    assert claims == set(to_be_proved(family.protocol(variant)))
    assert {row["kind"] for row in rows} <= {"claim", "liveness"}
