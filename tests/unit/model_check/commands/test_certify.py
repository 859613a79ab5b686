"""`carnet certify` and `carnet recheck`: what they write, say and end with."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carnet_check.certificates.pairs import OF_NO_LAYER, Pair
from carnet_check.certificates.place import NAME
from carnet_check.coq.program import program
from carnet_check.loading.families import load
from tests.unit.model_check.command import FIXTURES, TOY, Ran, carnet

CERTIFICATES = "toy.certificates.json.xz"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a copy of the toy with its certificates beside it."""
    shutil.copy(TOY, tmp_path)
    shutil.copy(FIXTURES / CERTIFICATES, tmp_path)
    return tmp_path / "toy.py"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that was written for `carnet recheck`."""
    folder = tmp_path_factory.mktemp("certified") / "out"
    assert certify(TOY, "--out", str(folder)).code == 0
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder, to be spoilt."""
    return Path(shutil.copytree(whole, tmp_path / "out"))


def certify(*words: str) -> Ran:
    return carnet("certify", *words, "--jobs", "1")


def some_row(folder: Path) -> dict[str, str]:
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["obligation"].startswith("step/lend/"))


def test_certificates_that_serve_are_kept_and_their_file_stays_as_it_is(spec: Path) -> None:
    before = spec.with_name(CERTIFICATES).read_bytes()
    ran = certify(str(spec), "--json")
    (main,) = ran.json["variants"]
    assert ran.code == 0
    assert (main["variant"], main["found"], main["missing"]) == ("main", 0, {})
    assert main["kept"] == main["obligations"] > 15
    assert ran.json["bytes"] == len(before)
    assert spec.with_name(CERTIFICATES).read_bytes() == before
    assert f"{main['kept']} kept, 0 adapted, 0 found, 0 missing" in " ".join(certify(str(spec)).out.split())


def test_what_is_missing_is_made(spec: Path) -> None:
    spec.with_name(CERTIFICATES).unlink()
    ran = certify(str(spec), "--json")
    (main,) = ran.json["variants"]
    assert (ran.code, main["kept"], main["missing"]) == (0, 0, {})
    assert main["found"] == main["obligations"]
    assert carnet("verify", str(spec), "--engine", "kernel").code == 0


def test_what_cannot_be_proved_is_missing_and_named(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "controls.py", tmp_path)
    ran = certify(f"{tmp_path / 'controls.py'}:wrong_claim")
    assert ran.code == 3
    assert "missing      step/" in ran.out


def test_a_file_that_is_none_is_refused(spec: Path) -> None:
    spec.with_name(CERTIFICATES).write_bytes(b"certificates")
    ran = certify(str(spec))
    assert ran.code == 2
    assert "is no file of certificates" in ran.err


def test_a_protocol_in_no_file_needs_a_folder() -> None:
    assert certify("no-such-protocol").code == 2


# -- recheck --------------------------------------------------------------------------------------


def test_a_whole_folder_is_accepted(whole: Path) -> None:
    assert {each.name for each in whole.iterdir()} == {NAME, "index.csv", "obligations", "systems"}
    ran = carnet("recheck", str(whole), "--json")
    assert (ran.code, ran.json["unproved"]) == (0, [])
    assert ran.json["verified"] is (True if program() else None)
    assert ran.json["obligations"] > 20
    assert "accepts the certificates of" in carnet("recheck", str(whole)).out


def test_what_is_accepted_is_told_claim_by_claim(whole: Path) -> None:
    protocol = load(TOY).protocol()
    asked = {(claim.name, threat) for claim in protocol.claims if claim.invariant for threat in claim.under}
    ran = carnet("recheck", str(whole), "--json")
    assert {(each["claim"], each["threat"]) for each in ran.json["claims"]} == asked
    assert {each["why"] for each in ran.json["claims"]} == {""}
    assert ran.json["declared"] == [
        {"variant": "main", "claim": claim.name} for claim in protocol.claims if claim.declared
    ]
    said = " ".join(carnet("recheck", str(whole)).out.split())
    assert f"{len(asked)} of {len(asked)} pairs of a claim and a threat model proved" in said
    assert "nobody looked whether they contradict each other" in said


def test_a_claim_that_no_layer_proves_is_3(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strange = Pair("main", "peace", "war", OF_NO_LAYER)
    monkeypatch.setattr("carnet_check.commands.recheck._judged", lambda *_: [strange])
    ran = carnet("recheck", str(whole), "--json")
    assert (ran.code, ran.json["unproved"]) == (3, [])
    assert ran.json["claims"] == [{"variant": "main", "claim": "peace", "threat": "war", "why": OF_NO_LAYER}]
    assert "main, claim peace under war: no layer has it" in " ".join(carnet("recheck", str(whole)).out.split())


HOSTILE: dict[str, Callable[[Any], None]] = {
    "two claims of a name": lambda it: it["claims"].append(it["claims"][0]),
    "two threat models of an id": lambda it: it["threats"].append(it["threats"][0]),
    "a blank threat model": lambda it: it["threats"][0].update(id=""),
    "a claim under nothing": lambda it: it["claims"][0].update(under=[], fails_under=[]),
    "a claim under nobody": lambda it: it["claims"][0].update(under=["nobody at all"]),
    "a claim both ways": lambda it: it["claims"][0].update(fails_under=it["claims"][0]["under"]),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_variant_of_which_no_verdict_means_anything_is_refused(folder: Path, what: str) -> None:
    file = folder / "systems" / "main.json"
    content = json.loads(file.read_text())
    HOSTILE[what](content)
    file.write_text(json.dumps(content, sort_keys=True, separators=(",", ":")))
    ran = carnet("recheck", str(folder))
    assert (ran.code, ran.out) == (2, "")


def test_a_missing_certificate_is_3(folder: Path) -> None:
    row = some_row(folder)
    text = (folder / "obligations" / f"{row['digest']}.smt2").read_text().replace("true", "false")
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "obligations" / f"{digest}.smt2").write_text(text)
    index = folder / "index.csv"
    index.write_text(index.read_text() + f"main,,step/more,{digest},[]\n")
    ran = carnet("recheck", str(folder))
    assert ran.code == 3
    assert "step/more: there is no certificate" in ran.out


def test_a_missing_text_is_3(folder: Path) -> None:
    row = some_row(folder)
    (folder / "obligations" / f"{row['digest']}.smt2").unlink()
    ran = carnet("recheck", str(folder), "--json")
    assert ran.code == 3
    assert row["obligation"] in {each["obligation"] for each in ran.json["unproved"]}


def test_a_changed_text_is_1(folder: Path) -> None:
    row = some_row(folder)
    file = folder / "obligations" / f"{row['digest']}.smt2"
    file.write_text(file.read_text().replace("(check-sat)", "(check-sat )"))
    ran = carnet("recheck", str(folder))
    assert ran.code == 1
    assert "another digest" in ran.out


def test_a_digest_that_is_none_is_1(folder: Path) -> None:
    index = folder / "index.csv"
    index.write_text(index.read_text() + f"main,,step/more,{'../' * 21}x,[]\n")
    ran = carnet("recheck", str(folder))
    assert ran.code == 1
    assert "no SHA-256 digest" in ran.out


@pytest.mark.parametrize("name", ["index.csv", NAME])
def test_a_folder_without_its_files_is_none(folder: Path, name: str) -> None:
    (folder / name).unlink()
    ran = carnet("recheck", str(folder))
    assert ran.code == (2 if name == "index.csv" else 3)


def test_an_index_that_is_none_is_refused(folder: Path) -> None:
    (folder / "index.csv").write_text("a,b\n")
    assert "expected rows of variant" in carnet("recheck", str(folder)).err


def test_a_variant_that_is_not_there_is_not_judged(folder: Path) -> None:
    index = folder / "index.csv"
    index.write_text(index.read_text() + index.read_text().splitlines()[1].replace("main,", "other,", 1) + "\n")
    ran = carnet("recheck", str(folder))
    assert ran.code == 1
    assert "no variant in 'systems' asks for it" in " ".join(ran.out.split())


def test_variants_of_an_earlier_run_go(folder: Path) -> None:
    (folder / "systems" / "main.json").rename(folder / "systems" / "earlier.json")
    (folder / "systems" / "kept.txt").write_text("")
    assert certify(TOY, "--out", str(folder)).code == 0
    assert {each.name for each in (folder / "systems").iterdir()} == {"main.json", "kept.txt"}


@pytest.mark.parametrize("text", ["xx", "[]", "{}", '{"format":"carnet-protocol/1"}'])
def test_a_variant_that_is_no_protocol_is_refused(folder: Path, text: str) -> None:
    (folder / "systems" / "main.json").write_text(text)
    ran = carnet("recheck", str(folder))
    assert (ran.code, "main.json" in ran.err) == (2, True)


def test_an_empty_index_establishes_nothing(folder: Path) -> None:
    index = folder / "index.csv"
    index.write_text(index.read_text().partition("\n")[0] + "\n")
    assert carnet("recheck", str(folder)).code == 3


def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel in Python be the only one."""
    monkeypatch.setattr("carnet_check.coq.program.program", lambda: None)


def test_an_index_that_leaves_an_obligation_out_is_3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    left = some_row(folder)["obligation"]
    index = folder / "index.csv"
    kept = [line for line in index.read_text().splitlines(keepends=True) if f",{left}," not in line]
    index.write_text("".join(kept))
    ran = carnet("recheck", str(folder), "--json")
    assert ran.code == 3
    assert [(each["obligation"], each["why"]) for each in ran.json["unproved"]] == [(left, "the index leaves it out")]


def test_the_text_of_another_obligation_in_its_place_is_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    index = folder / "index.csv"
    with index.open(encoding="utf-8", newline="") as file:
        header, first, *rows = csv.reader(file)
    first[3:] = rows[-1][3:]
    with index.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, first, *rows])
    ran = carnet("recheck", str(folder), "--json")
    assert ran.code == 1
    assert [each["obligation"] for each in ran.json["unproved"]] == [first[2]]


def test_another_specification_than_was_certified_is_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    file = folder / "systems" / "main.json"
    guard = '["not",["apply","used_key",[["variable","key","Key"]]]]'
    file.write_text(file.read_text().replace(guard, '["true"]'))
    ran = carnet("recheck", str(folder), "--json")
    assert ran.code == 1
    assert any(each["obligation"].startswith("step/lend/") for each in ran.json["unproved"])


def test_what_was_rechecked_is_said(whole: Path) -> None:
    digest = load(TOY).protocol("main").digest
    assert carnet("recheck", str(whole), "--json").json["specifications"] == {"main": digest}
    assert f"main, spec digest {digest[:16]}" in carnet("recheck", str(whole)).out


def test_two_specifications_of_one_variant_are_2(folder: Path) -> None:
    shutil.copy(folder / "systems" / "main.json", folder / "systems" / "other.json")
    ran = carnet("recheck", str(folder))
    assert (ran.code, "expected one variant 'main'" in ran.err) == (2, True)


@pytest.mark.parametrize(("program", "code", "said"), [("true", 0, "accepts them all"), ("false", 5, "refuses some")])
def test_the_program_that_is_proved_sound_has_to_agree(
    whole: Path, monkeypatch: pytest.MonkeyPatch, program: str, code: int, said: str
) -> None:
    monkeypatch.setenv("CARNET_CHECKER", program)
    ran = carnet("recheck", str(whole))
    assert (ran.code, said in ran.out) == (code, True)


def test_a_program_that_cannot_be_run_is_said(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARNET_CHECKER", str(whole / "nothing"))
    ran = carnet("recheck", str(whole))
    assert (ran.code, "CARNET_CHECKER" in ran.err) == (2, True)
