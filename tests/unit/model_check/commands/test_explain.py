"""``carnet explain``: the meaning of an identifier, and how to check it."""

from __future__ import annotations

import pytest

from tests.unit.model_check.command import TOY, carnet


@pytest.mark.parametrize("arguments", [("list",), ("explain", "grant"), ("explain", "confidentiality")])
def test_what_there_is_fits_eighty_columns(arguments: tuple[str, ...]) -> None:
    lines = carnet(*arguments).out.splitlines()
    assert [line for line in lines if len(line) > 80 and "carnet " not in line] == []


def test_a_long_formula_goes_on_under_its_line() -> None:
    lines = carnet("explain", "grant").out.splitlines()
    (position,) = [number for number, line in enumerate(lines) if "¬" in line]
    assert lines[position].startswith("        require 'counter handed over': ¬consumed(link_h2d, v) ∧")
    assert lines[position + 1].startswith("          before(u, v) →")


IDS = {
    "secrecy": ("claim", "No one but its borrower", "--claim secrecy"),
    "fresh-key": ("defence", "Every loan has a key", "--without fresh-key"),
    "forgetful": ("variant", "one key for all loans", "--variant forgetful"),
    "collusion": ("threat model", "anyone may be corrupt", "--threat collusion"),
    "A1": ("assumption", "The lender is never corrupt", "carnet verify"),
    "one-key": ("finding", "A key lent twice", "carnet attack"),
    "lend": ("action", "the lender makes key", "carnet explore"),
    "tiny": ("profile", "borrowers 2; unbounded adversary", "--profile tiny"),
    "loan-ends": ("goal", "A loan ends", "carnet verify"),
    "known_keys_are_used": ("lemma", "Nobody knows a key", "induction"),
    "REQ-TOY-1": ("requirement", "", "carnet verify"),
}


@pytest.mark.parametrize("id", IDS)
def test_explain_says_what_it_is_and_how_to_check_it(id: str) -> None:
    kind, sentence, check = IDS[id]
    entries = carnet("explain", id, "--protocol", TOY, "--json").json["entries"]
    (entry,) = [entry for entry in entries if entry["kind"] == kind]
    assert sentence in entry["sentence"]
    assert check in entry["check"]


def test_a_step_is_explained_in_sentences_without_places_to_fill_in() -> None:
    said = " ".join(carnet("explain", "grant").out.split())
    assert "grants the link to a, over the channel of p, counting from v, buffer at b. Lend the encrypt half" in said


def test_the_sizes_of_a_profile_stand_beside_its_title() -> None:
    lines = carnet("explain", "directed").out.splitlines()
    assert lines[1] == "  honest parties without data, three rounds"
    assert "    holders 2, corrupt 0, rounds 3, chunks 0; at most 0 active adversary moves" in lines


def test_explain_says_where_a_requirement_is_enforced() -> None:
    (entry,) = carnet("explain", "REQ-TOY-1", "--protocol", TOY, "--json").json["entries"]
    assert entry["enforced_by"] == ["lend"]
    assert "lend: guard 'fresh key'" in carnet("explain", "fresh-key", "--protocol", TOY).out
