"""Each claim says something of its own: in some design it falls, with nothing but what its fall implies."""

from __future__ import annotations

import pytest

from docs._ext.carnet_pages import discriminating

ROWS = {row["claim"]: row for row in discriminating.recorded()}
CLAIMS = [
    claim.name
    for variant in (discriminating.MAIN, discriminating.TIMED)
    for claim in discriminating.SOURCE.protocol(variant).claims
]


def listed(cell: str) -> set[str]:
    return set(cell.split("; ")) - {""}


def test_every_claim_has_one_design_and_one_row() -> None:
    assert sorted(design.claim for design in discriminating.DESIGNS) == sorted(CLAIMS)
    assert list(ROWS) == [design.claim for design in discriminating.DESIGNS]


def test_the_record_is_of_the_present_designs() -> None:
    recorded_as = {claim: (row["design"], row["threat"]) for claim, row in ROWS.items()}
    assert recorded_as == {design.claim: (design.words, design.threat) for design in discriminating.DESIGNS}


def test_what_falls_with_a_claim_is_implied() -> None:
    """Every other claim made there is accounted for: implied, proved, or looked at in every explored state."""
    wrong: list[str] = []
    for design in discriminating.DESIGNS:
        row, threat = ROWS[design.claim], design.others or design.threat
        parts = [listed(row[name]) for name in ("falls with it", "proved", "held in every explored state")]
        made = {each.name for each in design.protocol.claims if threat in each.under} - {design.claim}
        wrong += [
            f"{design.claim}: {each} is not implied"
            for each in parts[0] - {*discriminating.IMPLIED.get(design.claim, ())}
        ]
        wrong += [f"{design.claim}: {each} is unaccounted for" for each in made ^ set().union(*parts)]
        wrong += [f"{design.claim}: in two lists"] * (sum(map(len, parts)) != len(set().union(*parts)))
    assert wrong == []


def test_no_reason_is_given_for_what_never_falls() -> None:
    assert set(discriminating.IMPLIED) <= {claim for claim, row in ROWS.items() if row["falls with it"]}


def test_nothing_can_be_forgotten_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="grant has no never that could be forgotten"):
        discriminating.forgetting(discriminating.SOURCE.protocol(), "grant", ("never",))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("design", discriminating.DESIGNS, ids=lambda design: design.claim)
def test_it_comes_out_again_as_recorded(design: discriminating.Design) -> None:
    assert dict(zip(ROWS[design.claim], discriminating.judge(design).row, strict=True)) == ROWS[design.claim]
