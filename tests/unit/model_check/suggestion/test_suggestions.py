"""What is suggested for a claim that lacks a proof: source text that is pasted in, and then proves it."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from carnet_check.engines import registry
from carnet_check.engines.interface import Strengthens
from carnet_check.suggestion.suggestions import NOTHING, STOPPED, UNWRITTEN
from tests.benchmarks.suggestions import Removal, removed
from tests.unit.model_check.command import FIXTURES, Ran, carnet, carnet_once

BADGES = FIXTURES / "badges.py"
LEASES = FIXTURES / "leases.py"
PROVER = registry.able(Strengthens).name


def _verified(place: str | Path, *options: str) -> Ran:
    return carnet_once("verify", str(place), "--engine", PROVER, "--json", *options)


def _verdicts(ran: Ran) -> dict[str, str]:
    return {row["claim"]: row["verdict"] for row in ran.json["results"] if row["engine"] == PROVER}


def _pasted(place: Path, suggestion: dict[str, Any], left_out: str = "", protocol: Path = BADGES) -> Path:
    """Write the protocol with what is suggested, as an author does: imports first, lemmas last."""
    lemmas = (each["source"] for each in suggestion["lemmas"] if each["name"] != left_out)
    whole = protocol.read_text(encoding="utf-8")
    first = whole.replace("from carnet_spec", f"{suggestion['imports']}\nfrom carnet_spec", 1)
    place.write_text("\n\n".join([first, *lemmas]), encoding="utf-8")
    return place


def test_a_protocol_without_lemmas_is_proved_with_what_is_suggested(tmp_path: Path) -> None:
    ran = _verified(BADGES, "--suggest")
    assert _verdicts(ran) == dict.fromkeys(("staff-only", "high-enough", "one-owner"), "UNKNOWN")
    (suggestion,) = ran.json["suggestions"]
    assert (suggestion["open"], sorted(suggestion["proved"])) == ([], ["high-enough", "one-owner", "staff-only"])
    again = _verified(_pasted(tmp_path / "badges.py", suggestion), "--suggest")
    assert set(_verdicts(again).values()) == {"PROVED"}
    assert again.json["suggestions"] == []
    assert again.code == 0


def test_without_one_of_the_suggested_lemmas_a_claim_that_needs_it_is_not_proved(tmp_path: Path) -> None:
    (suggestion,) = _verified(BADGES, "--suggest").json["suggestions"]
    for left_out in suggestion["lemmas"]:
        pasted = _pasted(tmp_path / f"without_{left_out['name']}.py", suggestion, left_out["name"])
        verdicts = _verdicts(_verified(pasted))
        assert {verdicts[claim] for claim in left_out["proves"]} == {"UNKNOWN"}, left_out["name"]


def test_lemmas_of_which_each_needs_the_next_are_suggested_together(tmp_path: Path) -> None:
    """Two of them need each other, and others that exclude the same states are taken and given up before."""
    (suggestion,) = _verified(LEASES, "--suggest").json["suggestions"]
    assert (suggestion["open"], suggestion["proved"]) == ([], ["one-writer"])
    formulas = {each["formula"] for each in suggestion["lemmas"]}
    assert {"by(p, c) -> write(p, c)", "lease(p, c) -> latest(c)"} < formulas
    assert "lease(p, c) & write(q, c) -> p = q" in formulas
    assert _verdicts(_verified(_pasted(tmp_path / "leases.py", suggestion, protocol=LEASES))) == {
        "one-writer": "PROVED"
    }
    for left_out in suggestion["lemmas"]:
        pasted = _pasted(tmp_path / f"without_{left_out['name']}.py", suggestion, left_out["name"], LEASES)
        assert _verdicts(_verified(pasted)) == {"one-writer": "UNKNOWN"}, left_out["name"]


def test_a_search_that_is_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(registry.able(Strengthens)), "work", 20_000)
    ran = carnet("verify", str(BADGES), "--engine", PROVER, "--json", "--suggest")
    (suggestion,) = ran.json["suggestions"]
    assert (suggestion["lemmas"], suggestion["proved"]) == ([], [])
    assert suggestion["stopped"]
    said = " ".join(carnet("verify", str(BADGES), "--engine", PROVER, "--suggest").out.split())
    assert f"{STOPPED} {suggestion['stopped']}, and nothing so far proves staff-only" in said
    assert f"{suggestion['undecided']} not decided" in said
    assert NOTHING not in said
    assert ran.code == 3


def test_a_search_that_comes_to_its_end_was_not_stopped() -> None:
    (suggestion,) = _verified(BADGES, "--suggest").json["suggestions"]
    assert suggestion["stopped"] == ""


def test_a_suggestion_changes_no_verdict_and_no_exit_code() -> None:
    with_, without = _verified(BADGES, "--suggest"), _verified(BADGES)
    assert with_.code == without.code == 3
    assert _verdicts(with_) == _verdicts(without)
    assert "suggestions" not in without.json


def test_suggested_lemmas_have_certificates(tmp_path: Path) -> None:
    (suggestion,) = _verified(BADGES, "--suggest").json["suggestions"]
    pasted = _pasted(tmp_path / "badges.py", suggestion)
    assert carnet("certify", str(pasted)).code == 0
    ran = carnet("verify", str(pasted), "--engine", "kernel", "--json")
    assert {row["verdict"] for row in ran.json["results"]} == {"PROVED"}


def test_what_is_printed_is_the_source_text_and_what_it_is_for() -> None:
    ran = carnet_once("verify", str(BADGES), "--engine", PROVER, "--suggest")
    assert "@draft.lemma\ndef " in ran.out
    assert "# for staff-only" in ran.out


FALSE = """

@draft.claim(name="nobody", sentence="Nobody has one.", requirement="R4", source="example", under=("anyone",))
def nobody(p: Person, b: Badge) -> Formula:
    return ~carried(p, b)
"""


def test_for_a_false_claim_nothing_is_suggested_and_that_is_said(tmp_path: Path) -> None:
    place = tmp_path / "badges.py"
    place.write_text(BADGES.read_text(encoding="utf-8") + FALSE, encoding="utf-8")
    ran = _verified(place, "--claim", "nobody", "--suggest")
    (suggestion,) = ran.json["suggestions"]
    assert (suggestion["lemmas"], suggestion["open"]) == ([], ["nobody"])
    said = carnet("verify", str(place), "--engine", PROVER, "--claim", "nobody", "--suggest")
    assert NOTHING in " ".join(said.out.split())
    assert said.code == 3


def test_a_claim_that_is_refuted_is_not_one_to_find_lemmas_for(tmp_path: Path) -> None:
    place = tmp_path / "badges.py"
    place.write_text(BADGES.read_text(encoding="utf-8") + FALSE, encoding="utf-8")
    ran = carnet("verify", str(place), "--claim", "nobody", "--suggest", "--json")
    assert ran.json["suggestions"] == []
    assert ran.code == 1


def test_a_run_that_proves_nothing_cannot_suggest() -> None:
    ran = carnet("verify", str(BADGES), "--engine", "explicit", "--suggest")
    assert ran.code == 2
    assert f"add {PROVER}" in ran.err
    assert carnet("verify", str(BADGES), "--shard", "1/2", "--cache", "unused", "--suggest").code == 2


BRIBED = """

bribed = rigid_flag("bribed", says="the office can be bribed")
draft.threat("outsider", "the office cannot be bribed", honest=~bribed)


@draft.action(by=THIEF, says="The office forges {b} for {p}.", message="{p} -> office: {b}", source="example", cost=1)
def forge(step: Step, p: Person, b: Badge, r: Rank) -> None:
    step.given("bribed", bribed)
    step.insert(printed(p, b, r))
"""


def test_a_lemma_that_needs_the_axioms_of_a_threat_model_is_limited_to_it(tmp_path: Path) -> None:
    whole = BADGES.read_text(encoding="utf-8").replace("rigid_function,", "rigid_flag,\n    rigid_function,", 1)
    head, claim, rest = whole.partition('@draft.claim(name="staff-only"')
    claimed = "".join([head, claim, rest.replace('under=("anyone",)', 'under=("outsider",)', 1), BRIBED])
    (tmp_path / "bribed.py").write_text(claimed, encoding="utf-8")
    (suggestion,) = _verified(tmp_path / "bribed.py", "--claim", "staff-only", "--suggest").json["suggestions"]
    assert (suggestion["threat"], suggestion["proved"]) == ("outsider", ["staff-only"])
    sources = [each["source"] for each in suggestion["lemmas"]]
    assert all(text.startswith('@draft.lemma_under("outsider")\n') for text in sources)
    (tmp_path / "pasted.py").write_text("\n\n".join([claimed, *sources]), encoding="utf-8")
    assert _verdicts(_verified(tmp_path / "pasted.py", "--claim", "staff-only")) == {"staff-only": "PROVED"}


@pytest.mark.parametrize(
    ("protocol", "lemma"),
    [("fastrack", "one_user"), ("pipellm", "one_tenant"), ("tensortee", "lines_of_the_cpu_are_filled")],
)
def test_a_lemma_that_was_removed_is_offered_again_or_replaced(protocol: str, lemma: str) -> None:
    found = removed(protocol, lemma)
    assert found.removal in (Removal.AGAIN, Removal.REPLACED), found
    assert found.offered


DEPOT = FIXTURES / "depot.py"
VARIANTS = ("chief", "others", "list", "again")


def _suggested(place: Path) -> dict[str, dict[str, Any]]:
    return {each["variant"]: each for each in _verified(place, "--suggest").json["suggestions"]}


def test_a_name_is_that_of_one_lemma_in_all_variants() -> None:
    found = _suggested(DEPOT)
    assert tuple(found) == VARIANTS
    lemmas = [lemma for each in found.values() for lemma in each["lemmas"]]
    assert len({each["name"] for each in lemmas}) == len({each["formula"] for each in lemmas}) == 6
    assert found["list"]["lemmas"] == found["again"]["lemmas"]
    assert {tuple(each["variants"]) for each in found["chief"]["lemmas"]} == {("chief",)}
    assert {tuple(each["variants"]) for each in found["list"]["lemmas"]} == {("list", "again")}


def test_what_is_pasted_where_it_is_said_to_hold_proves_every_variant(tmp_path: Path) -> None:
    whole = DEPOT.read_text(encoding="utf-8").replace("    constant,\n", "    constant,\n    implies,\n", 1)
    pasted = {lemma["name"]: lemma for each in _suggested(DEPOT).values() for lemma in each["lemmas"]}
    stated = [textwrap.indent(lemma["source"], "    ") for lemma in pasted.values()]
    untrue = {name: tuple(set(VARIANTS) - set(lemma["variants"])) for name, lemma in pasted.items()}
    withdrawn = f"    draft.withdraw(*(name for name, where in {untrue}.items() if variant in where))\n"
    head, returned, rest = whole.rpartition("    return draft\n")
    (tmp_path / "depot.py").write_text("\n".join([head, *stated, withdrawn]) + returned + rest, encoding="utf-8")
    ran = _verified(tmp_path / "depot.py")
    verdicts = {row["variant"]: row["verdict"] for row in ran.json["results"]}
    assert verdicts == dict.fromkeys(VARIANTS, "PROVED")


def test_a_lemma_is_printed_once_with_the_variants_in_which_it_is_proved() -> None:
    out = carnet("verify", str(DEPOT), "--engine", PROVER, "--suggest").out
    assert out.count("@draft.lemma") == 6
    only = " only: withdraw it in the others if it is false there\n"
    assert out.count(f"# proved in variant chief{only}") == 2
    assert out.count(f"# proved in variants list and again{only}") == 2
    assert "variant again: add 2 lemmas from above" in " ".join(out.split())


def test_a_lemma_that_is_proved_in_every_variant_says_that_of_no_other(tmp_path: Path) -> None:
    whole = DEPOT.read_text(encoding="utf-8")
    less = whole.replace('main=("chief", "others", "list", "again")', 'main=("list", "again")', 1)
    less = "".join(line for line in less.splitlines(True) if not re.match(' *"(chief|others|spare)": Variant', line))
    (tmp_path / "depot.py").write_text(less, encoding="utf-8")
    out = carnet("verify", str(tmp_path / "depot.py"), "--engine", PROVER, "--suggest").out
    assert out.count("# proved in variants list and again\n") == out.count("@draft.lemma") == 2


def test_a_protocol_with_one_design_is_not_told_of_variants() -> None:
    assert "# proved in" not in carnet_once("verify", str(BADGES), "--engine", PROVER, "--suggest").out


def test_what_the_names_of_the_author_cannot_say_is_not_offered_and_that_is_said(tmp_path: Path) -> None:
    whole = DEPOT.read_text(encoding="utf-8")
    head, declared, rest = whole.partition('p = constant("chief", Person, says="the person who runs the depot")')
    unnamed = f"{head}PEOPLE = dict(chief={declared.removeprefix('p = ')}){rest}"
    unnamed = re.sub("= p([,}])", r'= PEOPLE["chief"]\1', unnamed)
    place = tmp_path / "depot.py"
    place.write_text(unnamed, encoding="utf-8")
    found = _suggested(place)["chief"]
    assert (found["lemmas"], found["proved"], found["open"]) == ([], [], ["no-loot"])
    assert found["unwritten"]
    said = " ".join(carnet("verify", str(place), "--engine", PROVER, "--suggest").out.split())
    assert f"variant chief: there is a proof, but {UNWRITTEN} {found['unwritten'][0]}" in said
    assert "carries_implies_chief" not in said


def test_a_draft_that_prints_when_its_names_are_looked_at_does_not_print_into_the_result(tmp_path: Path) -> None:
    head, drafted, rest = DEPOT.read_text(encoding="utf-8").partition('    draft = Draft("depot"')
    (tmp_path / "depot.py").write_text(f'{head}    print("noise")\n{drafted}{rest}', encoding="utf-8")
    assert set(_suggested(tmp_path / "depot.py")) == set(VARIANTS)
