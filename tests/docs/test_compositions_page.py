"""The page on compositions shows every bond, with its formulas and what is left, and refuses one that fails."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from carnet_check.verification.composition import BondStatus, Judgement
from carnet_spec.compositions import compositions
from carnet_spec.language.composition import BuiltBond
from carnet_spec.language.notation import show_lines
from docs._ext.carnet_pages.bonds import compositions_page

FOUND = compositions()


def implied(bond: BuiltBond) -> Judgement:
    return Judgement(bond.bond.name, BondStatus.IMPLIED)


def refused(bond: BuiltBond) -> Judgement:
    return Judgement(bond.bond.name, BondStatus.OPEN, ("it is not so",))


PAGE = compositions_page(FOUND, implied)


def test_every_bond_is_shown_with_both_formulas() -> None:
    for composition in FOUND:
        for bond in composition.built():
            assert f"\n### {bond.bond.name}\n" in PAGE
            for term in (*bond.assumed.values(), *bond.read.values()):
                assert "\n".join(show_lines(term)) in PAGE


def test_every_bond_is_drawn_as_an_arrow() -> None:
    drawn = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", PAGE, re.DOTALL)]
    assert len(drawn) == len(FOUND)
    for svg, composition in zip(drawn, FOUND, strict=True):
        assert len(svg.findall(".//{*}line")) == len(composition.bonds)
        assert len(svg.findall("{*}rect")) == 2


def test_every_assumption_that_is_left_open_is_listed_with_its_reason() -> None:
    for composition in FOUND:
        for each in composition.left_open:
            row = next(line for line in PAGE.splitlines() if line.endswith(f"| {each.why} |"))
            assert all(f"`{id} <" in row for id in each.ids)


def test_a_bond_that_does_not_hold_ends_the_build() -> None:
    with pytest.raises(ValueError, match="ring-of-travelling, bond 'certificates tell': it is not so"):
        compositions_page(FOUND, refused)
