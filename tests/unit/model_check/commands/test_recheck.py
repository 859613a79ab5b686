"""`carnet certify` and `carnet recheck`: what they write, read and say, and what is not believed."""

import csv
import hashlib
import importlib
import json
import lzma
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from carnet_check.certificates import folder as certificates_folder
from carnet_check.certificates.file import (
    NAME,
    Certificates,
    Entry,
    LayerCertificates,
    load_certificates,
    save_certificates,
)
from carnet_check.certificates.folder import OF_NO_LAYER, Pair
from carnet_check.coq.folder import Verdict
from carnet_check.coq.program import program
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from carnet_check.obligations import GOAL
from carnet_spec.language.lints import PROOF_SOUNDNESS, unsound
from tests.fixtures.unsound import a_step_that_reads_what_nobody_wrote
from tests.unit.model_check.command import FIXTURES, TOY, Ran, carnet, carnet_once

pytestmark = pytest.mark.processes

recheck = importlib.import_module("carnet_check.commands.recheck")


def certify(*words: str) -> Ran:
    return carnet("certify", *words, "--jobs", "1")


def some_row(folder: Path) -> dict[str, str]:
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["obligation"].startswith("step/lend/"))


def test_a_whole_folder_is_accepted_and_what_was_rechecked_is_said(whole: Path) -> None:
    assert {each.name for each in whole.iterdir()} == {NAME, "index.csv", "obligations", "systems"}
    ran = carnet_once("recheck", str(whole), "--json")
    assert (ran.code, ran.json["unproved"]) == (0, [])
    assert ran.json["verified"] is (True if program() else None)
    assert ran.json["obligations"] > 20
    assert "accepts the certificates of" in carnet_once("recheck", str(whole)).out
    digest = load(TOY).protocol("main").digest
    assert carnet_once("recheck", str(whole), "--json").json["specifications"] == {"main": digest}
    assert f"main, spec digest {digest}" in " ".join(carnet_once("recheck", str(whole)).out.split())


def test_a_missing_certificate_or_text_is_3(folder: Path) -> None:
    row = some_row(folder)
    text = (folder / "obligations" / f"{row['digest']}.smt2").read_text().replace("true", "false")
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "obligations" / f"{digest}.smt2").write_text(text)
    index = folder / "index.csv"
    before = index.read_text()
    index.write_text(f"{before}main,,step/more,{digest},[]\n")
    ran = carnet("recheck", str(folder))
    assert ran.code == 3
    assert "step/more: there is no certificate" in ran.out
    index.write_text(before)
    (folder / "obligations" / f"{row['digest']}.smt2").unlink()
    ran = carnet("recheck", str(folder), "--json")
    assert ran.code == 3
    assert row["obligation"] in {each["obligation"] for each in ran.json["unproved"]}


def test_a_changed_text_and_a_digest_that_is_none_are_1(folder: Path) -> None:
    row = some_row(folder)
    file = folder / "obligations" / f"{row['digest']}.smt2"
    text = file.read_text()
    file.write_text(text.replace("(check-sat)", "(check-sat )"))
    ran = carnet("recheck", str(folder))
    assert ran.code == 1
    assert "another digest" in ran.out
    file.write_text(text)
    index = folder / "index.csv"
    index.write_text(index.read_text() + f"main,,step/more,{'../' * 21}x,[]\n")
    ran = carnet("recheck", str(folder))
    assert ran.code == 1
    assert "no SHA-256 digest" in ran.out


@pytest.mark.parametrize("name", ["index.csv", NAME])
def test_a_folder_without_its_files_is_none(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert carnet("recheck", str(folder)).code == (2 if name == "index.csv" else 3)


def test_a_variant_that_is_not_there_is_not_judged_and_none_may_be_there_twice(folder: Path) -> None:
    index = folder / "index.csv"
    index.write_text(index.read_text() + index.read_text().splitlines()[1].replace("main,", "other,", 1) + "\n")
    ran = carnet("recheck", str(folder))
    assert ran.code == 1
    assert "no variant in 'systems' asks for it" in " ".join(ran.out.split())
    shutil.copy(folder / "systems" / "main.json", folder / "systems" / "other.json")
    ran = carnet("recheck", str(folder))
    assert (ran.code, "expected one variant 'main'" in ran.err) == (2, True)


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


def test_an_empty_index_establishes_nothing_and_one_that_is_none_is_refused(folder: Path) -> None:
    index = folder / "index.csv"
    index.write_text(index.read_text().partition("\n")[0] + "\n")
    assert carnet("recheck", str(folder)).code == 3
    (folder / "index.csv").write_text("a,b\n")
    assert "expected rows of variant" in carnet("recheck", str(folder)).err


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


SAYS_NOTHING = "true says nothing, not what it accepts"


@pytest.mark.parametrize(("program", "code", "said"), [("true", 5, SAYS_NOTHING), ("false", 5, "refuses some")])
def test_the_program_proved_sound_has_to_agree(
    whole: Path, monkeypatch: pytest.MonkeyPatch, program: str, code: int, said: str
) -> None:
    monkeypatch.setenv("CARNET_CHECKER", program)
    ran = carnet("recheck", str(whole))
    assert (ran.code, said in ran.out) == (code, True)


@pytest.mark.parametrize(
    ("says", "code"),
    [("layer *: 18 of 18 accepted", 0), ("layer *: 17 of 17 accepted", 5), ("layer x: 18 of 18 accepted", 5)],
)
def test_the_program_has_to_say_how_many_it_accepts_of_each_layer(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, code: int
) -> None:
    file = tmp_path / "checker"
    file.write_text(f"#!/bin/sh\necho '{says}'\n")
    file.chmod(0o755)
    monkeypatch.setenv("CARNET_CHECKER", str(file))
    assert carnet("recheck", str(whole)).code == code


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("kill -9 $$", "checker was ended by signal 9"),
        ("ulimit -t 1; while true; do true; done", "checker was ended by signal"),
        ("echo 'Fatal error: exception Out_of_memory' >&2; exit 2", "exception Out_of_memory"),
    ],
)
def test_a_program_that_comes_to_no_end_establishes_nothing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, said: str
) -> None:
    file = tmp_path / "checker"
    file.write_text(f"#!/bin/sh\n{does}\n")
    file.chmod(0o755)
    monkeypatch.setenv("CARNET_CHECKER", str(file))
    ran = carnet("recheck", str(whole))
    assert (ran.code, said in " ".join(ran.out.split())) == (3, True)


def test_a_program_that_cannot_be_run_is_said(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARNET_CHECKER", str(whole / "nothing"))
    ran = carnet("recheck", str(whole))
    assert (ran.code, "CARNET_CHECKER" in ran.err) == (2, True)


def spoilt(folder: Path) -> str:
    """Exchange every certificate in a folder for one that proves nothing; return its index."""
    certificates = json.loads(lzma.decompress((folder / NAME).read_bytes()))
    for entry in certificates["entries"]:
        entry[2] = "x 0 0"
    (folder / NAME).write_bytes(lzma.compress(json.dumps(certificates).encode()))
    return (folder / "index.csv").read_text()


def test_nothing_that_was_not_judged_is_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    monkeypatch.setattr("carnet_check.certificates.folder.digests", lambda _: [])
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, len(ran.json["unproved"])) == (3, ran.json["obligations"])
    assert {each["why"] for each in ran.json["unproved"]} == {"it was not judged: no checker was asked about its text"}


def test_the_index_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is exchanged between two readings of it, if there are two: the second one says nothing."""
    without(monkeypatch)
    index = spoilt(folder)
    first = certificates_folder.read_index

    def exchanging(whose: Path) -> bytes:
        found = first(whose)
        (folder / "index.csv").write_text(index.partition("\n")[0] + "\n")
        return found

    monkeypatch.setattr(certificates_folder, "read_index", exchanging)
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, len(ran.json["unproved"])) == (1, ran.json["obligations"])


def no_end(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [os.mkfifo, no_end])
@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        ("index.csv", 2, "index.csv': it is no plain file"),
        ("systems/z.json", 2, "z.json': it is no plain file"),
        ("obligations/DIGEST.smt2", 3, "its text cannot be read: it is no plain file"),
        (NAME, 2, f"{NAME}': it is no plain file"),
    ],
)
def test_nothing_but_a_plain_file_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path], None], where: str, code: int, said: str
) -> None:
    without(monkeypatch)
    file = folder / where.replace("DIGEST", some_row(folder)["digest"])
    file.unlink(missing_ok=True)
    put(file)
    ran = carnet("recheck", str(folder))
    assert (ran.code, said in " ".join((ran.out + ran.err).split())) == (code, True)


@pytest.mark.parametrize(
    ("module", "name", "reads"),
    [
        (certificates_folder, "LARGEST_INDEX", certificates_folder.read_index),
        (certificates_folder, "LARGEST_SYSTEM", lambda folder: list(certificates_folder.specifications(folder))),
    ],
)
def test_a_file_that_is_too_large_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, reads: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(module, name, 100)
    with pytest.raises(UsageError, match="100 bytes"):
        reads(folder)


def rewritten(folder: Path, change: Callable[[list[list[str]]], list[list[str]]]) -> None:
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    with (folder / "index.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *change(rows)])


def test_a_row_under_another_threat_model_is_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    rewritten(folder, lambda rows: [[rows[0][0], "anything at all", *rows[0][2:]], *rows[1:]])
    ran = carnet("recheck", str(folder), "--json")
    assert ran.code == 1
    assert {each["why"] for each in ran.json["unproved"]} == {
        "no variant in 'systems' asks for it under 'anything at all'",
        "the index leaves it out",
    }


def test_a_row_that_is_there_twice_counts_once(whole: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    obligations = carnet("recheck", str(whole), "--json").json["obligations"]
    rewritten(folder, lambda rows: rows + rows + rows[:5])
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, ran.json["obligations"]) == (1, obligations)
    assert {each["why"] for each in ran.json["unproved"]} == {"the index has it more than once"}
    assert len(ran.json["unproved"]) == obligations + 5
    said = f"accepts the certificates of {obligations} obligations of {obligations} ("
    assert said in " ".join(carnet("recheck", str(folder)).out.split())


JUDGED = certificates_folder.check_texts


def share_killed(folder: Path, digests: list[str]) -> dict[str, certificates_folder.TextVerdict]:
    """Be killed with the share that has the first text of all, and judge the others."""
    every = certificates_folder.digests(certificates_folder.rows_of(certificates_folder.read_index(folder), folder))
    if every[0] in digests:
        os.kill(os.getpid(), signal.SIGKILL)
    return JUDGED(folder, digests)


def killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_only_a_lost_share_is_not_judged(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    monkeypatch.chdir(tmp_path)  # workers import nothing from the current folder, and what they run here is in this one
    monkeypatch.setattr(certificates_folder, "check_texts", share_killed)
    ran = carnet("recheck", str(folder), "--json")
    assert ran.code == 3
    assert {each["why"] for each in ran.json["unproved"]} == {"it was not judged: the worker was killed by signal 9"}
    assert 0 < len(ran.json["unproved"]) < ran.json["obligations"]


def test_a_lost_comparison_leaves_all_unproved(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(certificates_folder, "compare_index", killed)
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, len(ran.json["unproved"])) == (3, ran.json["obligations"])
    assert ran.json["specifications"] == {}


def test_a_lost_program_is_3(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recheck, "verdicts_of_coq", killed)
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, ran.json["unproved"], ran.json["verified"]) == (3, [], False)


def test_variants_that_change_meanwhile_are_2(folder: Path) -> None:
    told = [Verdict("main", True, (), digest="0" * 64)]
    with pytest.raises(UsageError, match="changed while they were read"):
        recheck._require_same(folder, {"main": "1" * 64}, told)
    recheck._require_same(folder, {"main": "0" * 64}, told)


def test_what_is_accepted_is_told_claim_by_claim(whole: Path) -> None:
    protocol = load(TOY).protocol()
    asked = {(claim.name, threat) for claim in protocol.claims if claim.invariant for threat in claim.under}
    ran = carnet_once("recheck", str(whole), "--json")
    assert {(each["claim"], each["threat"]) for each in ran.json["claims"]} == asked
    assert {each["why"] for each in ran.json["claims"]} == {""}
    assert ran.json["declared"] == [
        {"variant": "main", "claim": claim.name} for claim in protocol.claims if claim.declared
    ]
    said = " ".join(carnet_once("recheck", str(whole)).out.split())
    assert f"{len(asked)} of {len(asked)} pairs of a claim and a threat model proved" in said
    assert "whether they contradict each other was not checked" in said


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


def test_what_only_exploring_needs_refuses_no_certificate(folder: Path) -> None:
    """An obligation holds for whatever a function may begin with."""
    protocol = a_step_that_reads_what_nobody_wrote().protocol()
    assert {complaint.rule for complaint in unsound(protocol)} == {"written-before-read"}
    assert unsound(protocol, PROOF_SOUNDNESS) == ()
    (folder / "systems" / "main.json").write_text(protocol.canonical_json)
    ran = carnet("recheck", str(folder), "--json")
    assert ran.json["specifications"] == {"main": protocol.digest}
    assert "the index leaves it out" in {each["why"] for each in ran.json["unproved"]}


CLAIMS_NOTHING = """
from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, relation


class Party(Individual):
    "Somebody."


seen = relation("seen", Party, kind=Kind.MESSAGE)


def of_nothing() -> Draft:
    draft = Draft("quiet", "Nobody says anything")
    draft.threat("anybody", "nothing more is assumed")

    @draft.action(by=Role("party"), says="{x} is seen", source="test")
    def see(step: Step, x: Party) -> None:
        step.insert(seen(x))

    return draft


def of_a_lemma() -> Draft:
    draft = of_nothing()

    @draft.lemma
    def seen_or_not(x: Party) -> Formula:
        return seen(x) | ~seen(x)

    return draft
"""


def test_without_claims_there_is_nothing_to_certify_or_prove(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(CLAIMS_NOTHING)
    ran = carnet("certify", f"{tmp_path / 'quiet.py'}:of_nothing", "--out", str(tmp_path / "out"), "--jobs", "1")
    assert ran.code == 2
    assert "nothing is claimed of variant main of quiet, so there is nothing to certify" in ran.err
    made = carnet("certify", f"{tmp_path / 'quiet.py'}:of_a_lemma", "--out", str(tmp_path / "out"), "--jobs", "1")
    assert made.code == 0, made.err
    ran = carnet("recheck", str(tmp_path / "out"))
    assert ran.code == 4
    assert "main: nothing is claimed, so nothing is proved of it" in " ".join(ran.out.split())


SPOILT: dict[str, Callable[[Entry], Entry]] = {
    "in another order": lambda entry: replace(entry, hypotheses=entry.hypotheses[::-1]),
    "twice": lambda entry: replace(entry, hypotheses=(*entry.hypotheses, entry.hypotheses[0])),
    "one that is not there": lambda entry: replace(entry, hypotheses=(*entry.hypotheses, "inv:peace")),
    "the goal": lambda entry: replace(entry, hypotheses=(*entry.hypotheses, GOAL)),
}


def spoil(folder: Path, change: Callable[[LayerCertificates, int], LayerCertificates]) -> None:
    """Change the certificate that uses the most hypotheses."""
    certificates = load_certificates(folder / NAME)
    uses = {
        (key, place): len(entry.hypotheses)
        for key, layer in certificates.layers.items()
        for place, entry in enumerate(layer.entries)
        if entry is not None
    }
    key, place = max(uses, key=lambda each: uses[each])
    spoilt = change(certificates.layers[key], place)
    save_certificates(folder / NAME, Certificates({**certificates.layers, key: spoilt}))


def changed(layer: LayerCertificates, place: int, entry: Entry) -> LayerCertificates:
    return replace(layer, entries=(*layer.entries[:place], entry, *layer.entries[place + 1 :]))


@pytest.mark.parametrize("how", SPOILT)
def test_hypotheses_are_named_once_and_in_order(folder: Path, how: str) -> None:
    """Steps count them, so both checkers would understand something else by another order."""
    spoil(folder, lambda layer, place: changed(layer, place, SPOILT[how](some(layer, place))))
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, ran.json["verified"]) == (1, False if program() else None)
    assert "does not name the hypotheses" in ran.json["unproved"][0]["why"]


def test_a_good_certificate_elsewhere_excuses_no_bad_one(folder: Path) -> None:
    def with_another(layer: LayerCertificates, place: int) -> LayerCertificates:
        good = some(layer, place)
        bad = replace(good, tokens="close")
        return replace(changed(layer, place, bad), skipped={**layer.skipped, "another": good})

    spoil(folder, with_another)
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, ran.json["verified"]) == (1, False if program() else None)


def some(layer: LayerCertificates, place: int) -> Entry:
    entry = layer.entries[place]
    assert entry is not None
    assert len(entry.hypotheses) > 1
    return entry


CERTIFICATES = "toy.certificates.json.xz"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a copy of the toy with its certificates beside it."""
    shutil.copy(TOY, tmp_path)
    shutil.copy(FIXTURES / CERTIFICATES, tmp_path)
    return tmp_path / "toy.py"


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


def test_certificates_lie_in_a_file_that_is_one_or_in_a_folder(spec: Path) -> None:
    spec.with_name(CERTIFICATES).write_bytes(b"certificates")
    ran = certify(str(spec))
    assert ran.code == 2
    assert "is no file of certificates" in ran.err
    assert certify("no-such-protocol").code == 2


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of a protocol of which two liveness properties are proved."""
    folder = tmp_path_factory.mktemp("lively") / "out"
    assert certify(str(FIXTURES / "desk.py"), "--out", str(folder)).code == 0
    return folder


def properties(folder: Path) -> tuple[int, dict[str, str]]:
    ran = carnet("recheck", str(folder), "--json")
    return ran.code, {each["property"]: each["why"] for each in ran.json["liveness"]}


def test_liveness_is_proved_by_a_folder_that_has_all_its_conditions(lively: Path) -> None:
    assert properties(lively) == (0, {"returned": "", "served": ""})
    assert "liveness main: 2 of 2 proved" in " ".join(carnet("recheck", str(lively)).out.split())


def test_a_liveness_property_needs_all_its_conditions(lively: Path, tmp_path: Path) -> None:
    rows = (lively / "index.csv").read_text().splitlines()
    conditions = [row for row in rows if ",live/" in row]
    assert len(conditions) == 11
    for row in conditions:
        folder = Path(shutil.copytree(lively, tmp_path / "out", dirs_exist_ok=True))
        (folder / "index.csv").write_text("".join(f"{each}\n" for each in rows if each != row))
        property = row.split("/")[1]
        code, whys = properties(folder)
        assert {name: bool(why) for name, why in whys.items()} == {
            "returned": property == "returned",
            "served": property == "served",
        }
        assert "not all conditions" in whys[property]
        digest = row.split(",")[3]
        (folder / "index.csv").write_text("".join(f"{each}\n" for each in rows))
        (folder / "obligations" / f"{digest}.smt2").unlink()
        code, whys = properties(folder)
        assert (code, "are not proved" in whys[property]) == (3, True)
        shutil.copy(lively / "obligations" / f"{digest}.smt2", folder / "obligations")


def test_liveness_rests_on_the_lemmas_of_its_layer(lively: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(lively, tmp_path / "out"))
    rows = (folder / "index.csv").read_text().splitlines()
    (row,) = (each for each in rows if "step/lend/one_drill" in each)
    (folder / "index.csv").write_text("".join(f"{each}\n" for each in rows if each != row))
    code, whys = properties(folder)
    assert code == 3
    assert all("are not proved" in why for why in whys.values())
