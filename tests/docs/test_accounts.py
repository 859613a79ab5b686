"""What the pages say that each proof needs is of the present specification, and is what is found out again."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_check.engines.induction.minimal import claims_of_layers
from carnet_check.loading.families import load
from docs._ext.carnet_pages.accounts import accounts_page, record, recorded

SOURCE = load("gpu-travelling")
KEPT: Any = recorded(SOURCE.family.id)
VARIANTS = SOURCE.family.with_layers(SOURCE.family.main[:1])


@pytest.mark.parametrize("name", VARIANTS)
def test_every_claim_is_accounted_for_where_the_fewest_axioms_are_used(name: str) -> None:
    wanted = claims_of_layers(SOURCE.protocol(name), SOURCE.family.default_threat)
    pairs = {(each["layer"], each["claim"]) for each in KEPT["variants"][name]["claims"]}
    assert pairs == {(layer, claim) for layer, claims in wanted.items() for claim in claims}


@pytest.mark.parametrize("name", VARIANTS)
def test_only_what_exists_is_needed_and_only_what_is_needed_makes_a_claim_fall(name: str) -> None:
    protocol, variant = SOURCE.protocol(name), KEPT["variants"][name]
    stated, defences = {axiom.states for axiom in protocol.axioms}, {each.id for each in protocol.defences}
    needed = {each["claim"]: each for each in variant["claims"]}
    for each in variant["claims"]:
        assert set(each["assumptions"]) <= stated
        assert set(each["defences"]) <= defences
        assert set(each["unsure"]) <= {*each["assumptions"], *each["defences"]}
    for fall in variant["falls"]:
        assert fall["assumption"] in needed[fall["claim"]]["assumptions"]
    assert any(fall["attack"] for fall in KEPT["variants"][VARIANTS[0]]["falls"])


def test_the_page_tells_attacks_from_lost_proofs() -> None:
    page = accounts_page([SOURCE.family])
    row = next(line for line in page.splitlines() if line.startswith("| `gpu-genuine` | every"))
    assert "**A1**, A10?" in row
    (fall, *_) = (each for each in KEPT["variants"][VARIANTS[0]]["falls"] if each["attack"])
    assert f"`{fall['claim']}` ({fall['attack']['steps']} steps under {fall['attack']['threat']}" in page


def test_the_page_says_of_how_much_a_need_is_known() -> None:
    variant = KEPT["variants"][VARIANTS[0]]
    elements = [(each["claim"], name) for each in variant["claims"] for name in each["assumptions"] + each["defences"]]
    attacked = {(fall["claim"], fall["assumption"]) for fall in variant["falls"] if fall["attack"]}
    unsure = {(each["claim"], name) for each in variant["claims"] for name in each["unsure"]}
    said = f"Of {len(elements)} elements in these sets an attack shows {len(attacked)} to be needed"
    assert f"{said}; {len(unsure - attacked)} have a *?*." in accounts_page([SOURCE.family])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_same_is_found_out_again() -> None:
    assert record(SOURCE.family) == KEPT
