"""Each claim says something of its own: in some design it falls, with nothing but what its fall implies."""

from __future__ import annotations

import pytest

from docs._ext.carnet_pages.discriminating import (
    DESIGNS,
    IMPLIED,
    MAIN,
    SOURCE,
    TIMED,
    Design,
    forgetting,
    judge,
    recorded,
)

ROWS = {row["claim"]: row for row in recorded()}
CLAIMS = [claim.name for variant in (MAIN, TIMED) for claim in SOURCE.protocol(variant).claims]


def listed(cell: str) -> set[str]:
    return set(cell.split("; ")) - {""}


def test_every_claim_has_one_design_and_one_row() -> None:
    assert sorted(design.claim for design in DESIGNS) == sorted(CLAIMS)
    assert list(ROWS) == [design.claim for design in DESIGNS]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.claim)
def test_the_record_is_of_the_present_designs(design: Design) -> None:
    row = ROWS[design.claim]
    assert (row["design"], row["threat"]) == (design.words, design.threat)


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_falls_with_a_claim_is_implied(claim: str) -> None:
    """Every other claim made there is accounted for: implied, proved, or looked at in every explored state."""
    row = ROWS[claim]
    fallen, proved, held = (listed(row[name]) for name in ("falls with it", "proved", "held in every explored state"))
    assert fallen <= set(IMPLIED.get(claim, ()))
    assert not fallen & proved
    assert not held & (fallen | proved)
    (design,) = (each for each in DESIGNS if each.claim == claim)
    threat = design.others or design.threat
    made = {each.name for each in design.protocol.claims if threat in each.under} - {claim}
    assert fallen | proved | held == made


def test_no_reason_is_given_for_what_never_falls() -> None:
    assert set(IMPLIED) <= {claim for claim, row in ROWS.items() if row["falls with it"]}


def test_nothing_can_be_forgotten_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="grant has no never that could be forgotten"):
        forgetting(SOURCE.protocol(), "grant", ("never",))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.claim)
def test_it_comes_out_again_as_recorded(design: Design) -> None:
    assert dict(zip(ROWS[design.claim], judge(design).row, strict=True)) == ROWS[design.claim]
