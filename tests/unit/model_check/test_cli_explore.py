"""``carnet explore``, ``list`` and ``explain``."""

from __future__ import annotations

import pytest

from carnet_check.commands.explain import entries
from carnet_check.loading.families import load
from tests.unit.model_check.command import TOY, WIDE, carnet, control


def test_explore_counts_every_state() -> None:
    ran = carnet("explore", TOY, "--no-reduction", "--json")
    assert ran.code == 0
    promised = {"protocol", "states", "transitions", "depth", "complete", "seconds", "states_per_second"}
    assert promised | {"peak_memory_bytes", "violations", "reduction"} <= ran.json.keys()
    assert (ran.json["states"], ran.json["complete"], ran.json["violations"]) == (144, True, [])


def test_explore_stops_where_it_is_told_and_says_so() -> None:
    ran = carnet("explore", WIDE, "--max-states", "100", "--json")
    assert (ran.code, ran.json["complete"], ran.json["stopped_by"]) == (3, False, "states")
    assert "UNKNOWN" in ran.json["run"]["verdicts"]


def test_explore_reports_violations() -> None:
    ran = carnet("explore", TOY, "--variant", "forgetful", "--max-states", "2000", "--json")
    (violation,) = ran.json["violations"]
    assert (ran.code, violation["claim"], len(violation["steps"])) == (1, "secrecy", 5)


def test_sizes_reach_the_instance() -> None:
    ran = carnet("explore", control("sound"), "--set", "Party=5", "--json")
    assert ran.json["instance"] == "5 Party"
    assert ran.json["complete"]


def test_a_budget_is_never_called_exhaustive() -> None:
    ran = carnet("explore", TOY, "--moves", "1", "--json")
    assert ran.json["run"]["verdicts"] == {"HOLDS-TO": 1}


def test_one_move_of_the_adversary_is_counted_as_one() -> None:
    ran = carnet("explore", TOY, "--moves", "1")
    assert ran.out.count("at most 1 active adversary move\n") == 2
    assert "1 active adversary moves" not in ran.out


@pytest.mark.parametrize("arguments", [("list",), ("explain", "grant"), ("explain", "confidentiality")])
def test_what_there_is_fits_eighty_columns(arguments: tuple[str, ...]) -> None:
    lines = carnet(*arguments).out.splitlines()
    assert [line for line in lines if len(line) > 80 and "carnet " not in line] == []


def test_a_long_formula_goes_on_under_its_line() -> None:
    lines = carnet("explain", "grant").out.splitlines()
    (position,) = [number for number, line in enumerate(lines) if "¬" in line]
    assert lines[position].startswith("        require 'counter handed over': ¬consumed(link_h2d, v) ∧")
    assert lines[position + 1].startswith("          before(u, v) →")


def test_list_names_everything_that_other_commands_take() -> None:
    (listed,) = carnet("list", TOY, "--json").json["protocols"]
    assert listed["claims"] == ["secrecy", "punctual"]
    assert listed["threats"] == ["none", "collusion"]
    assert listed["defences"] == ["fresh-key", "return-checked"]
    assert listed["variants"] == ["main", "forgetful"]
    assert listed["profiles"] == ["tiny"]
    (finding,) = listed["findings"]
    assert (finding["id"], finding["variant"]) == ("one-key", "forgetful")


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


@pytest.mark.parametrize("protocol", [TOY, "gpu-travelling"])
def test_whatever_is_listed_is_explained(protocol: str) -> None:
    (listed,) = carnet("list", protocol, "--json").json["protocols"]
    names = {
        name for kind in ("claims", "threats", "defences", "variants", "profiles", "goals") for name in listed[kind]
    }
    names |= {finding["id"] for finding in listed["findings"]}
    assert names - {entry.id for entry in entries(load(protocol))} == set()


def test_a_step_is_explained_in_sentences_without_places_to_fill_in() -> None:
    said = " ".join(carnet("explain", "grant").out.split())
    assert "grants the link to a, over the channel of p, counting from v. Lend the encrypt half" in said


def test_the_sizes_of_a_profile_stand_beside_its_title() -> None:
    lines = carnet("explain", "directed").out.splitlines()
    assert lines[1] == "  honest parties without data, three rounds"
    assert "    holders 2, corrupt 0, rounds 3, chunks 0; at most 0 active adversary moves" in lines


def test_explain_says_where_a_requirement_is_enforced() -> None:
    (entry,) = carnet("explain", "REQ-TOY-1", "--protocol", TOY, "--json").json["entries"]
    assert entry["enforced_by"] == ["lend"]
    assert "lend: guard 'fresh key'" in carnet("explain", "fresh-key", "--protocol", TOY).out
