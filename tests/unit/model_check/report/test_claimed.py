"""What is claimed and what holds, on one page: the words of the specification with the verdicts of a run."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from carnet_check.loading.families import load
from carnet_check.report import claimed
from carnet_check.results import MARKS, Verdict
from tests.fixtures import toy
from tests.unit.model_check.command import FIXTURES, TOY, carnet, control

ROW = {"protocol": "toy", "variant": "main", "claim": "secrecy", "threat": "none", "kind": "claim", "detail": ""}


def row(verdict: str, **changes: Any) -> dict[str, Any]:
    return {**ROW, "verdict": verdict, "expected": "PROVED", "engine": "one", "assumptions": [], **changes}


def words(*variants: str) -> dict[str, Any]:
    return claimed.words_of(toy.FAMILY, variants or ("main",))


def test_a_weaker_verdict_than_expected_stands_out_and_a_stronger_one_does_not() -> None:
    rows = [row("EXHAUSTED"), row("PROVED", threat="collusion", expected="EXHAUSTED")]
    ((_, threats, (claim,)),) = claimed.claim_tables(words(), rows)
    assert (threats, claim.name) == (["none", "collusion"], "secrecy")
    assert claim.cells == ((f"{MARKS[Verdict.EXHAUSTED]} (not as expected: EXHAUSTED)",), (MARKS[Verdict.PROVED],))


def test_designs_share_a_table_only_if_their_verdicts_are_equal() -> None:
    both = words("main", "forgetful")
    equal = [row("PROVED", variant=name) for name in ("main", "forgetful")]
    (shared,) = claimed.claim_tables(both, equal)
    assert [design["name"] for design in shared.designs] == ["main", "forgetful"]
    differing = [row("PROVED"), row("VIOLATED", variant="forgetful", expected="VIOLATED")]
    assert [len(each.designs) for each in claimed.claim_tables(both, differing)] == [1, 1]
    assert claimed.violated_claims(both, differing) == [(both["claims"]["secrecy"], ["none"])]


def test_what_a_verdict_rests_on_is_listed_whether_or_not_it_has_words() -> None:
    rows = [row("PROVED", assumptions=["A1"]), row("PROVED", claim="punctual", assumptions=["A1", "unheard of"])]
    first, second = claimed.assumptions_of(words(), rows)
    assert first == ("A1", "The lender is never corrupt", "The lender is never corrupt.", "every proof")
    assert (second.id, second.sentence, second.used_by) == ("unheard of", "", "the proof of punctual")
    assert [each.used_by for each in claimed.assumptions_of(words(), [row("EXHAUSTED", assumptions=["A1"])])] == [
        "exploration alone"
    ]
    assert claimed.assumptions_of(words(), [row("VIOLATED", assumptions=["A1"])]) == []


@pytest.mark.parametrize("reference", [TOY, str(FIXTURES / "broker.py"), control("sound")])
def test_every_assumption_of_a_run_has_words(reference: str) -> None:
    ran = carnet("verify", reference, "--engine", "explicit", "--engine", "induction", "--jobs", "1", "--json")
    family = load(reference).family
    found = claimed.assumptions_of(claimed.words_of(family, family.with_layers(family.main)), ran.json["results"])
    assert {each.id for each in found} == {id for row in ran.json["results"] for id in row["assumptions"]}
    assert [each.id for each in found if not each.sentence] == []


def test_nothing_is_said_to_be_carried_out_for_a_protocol_that_carnet_does_not_bring() -> None:
    assert "nothing was carried out" in claimed.simulation_sentence(words())
    family = load("gpu-travelling").family
    said = claimed.simulation_sentence(claimed.words_of(family, family.main[:1]))
    assert "simulated hardware with these services" in said


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claimed") / "run"
    assert carnet("verify", TOY, "--engine", "explicit", "--out", str(folder)).code == 0
    return folder


def changed(run: Path, folder: Path, change: Any) -> Path:
    """Return a copy of a run whose words were changed."""
    copy = folder / "changed"
    shutil.copytree(run, copy)
    spec = json.loads((copy / "spec.json").read_text("utf-8"))
    change(spec)
    (copy / "spec.json").write_text(json.dumps(spec), "utf-8")
    return copy


def test_a_run_of_an_earlier_version_has_a_report_without_the_page(run: Path, tmp_path: Path) -> None:
    for folder, there in ((run, True), (changed(run, tmp_path, lambda spec: spec.pop("claimed")), False)):
        html = tmp_path / f"html-{there}"
        assert carnet("report", str(folder), "--html", str(html)).code == 0
        assert ('id="claimed"' in (html / "index.html").read_text("utf-8")) is there


def test_words_of_another_shape_are_refused(run: Path, tmp_path: Path) -> None:
    folder = changed(run, tmp_path, lambda spec: spec["claimed"].update(claims=["secrecy"]))
    ran = carnet("report", str(folder), "--html", str(tmp_path / "html"))
    assert (ran.code, "$.claimed.claims" in ran.err.replace("['", ".").replace("']", "")) == (2, True), ran.err
    assert not (tmp_path / "html").exists()
