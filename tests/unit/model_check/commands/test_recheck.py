"""`carnet recheck`: what it reads and says, what it ends with, and what it does not believe."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import lzma
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from carnet_check.certificates import folder as certificates_folder
from carnet_check.certificates.file import NAME
from carnet_check.coq.folder import Verdict
from carnet_check.coq.program import program
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from tests.unit.model_check.command import TOY, Ran, carnet

recheck = importlib.import_module("carnet_check.commands.recheck")


def certify(*words: str) -> Ran:
    return carnet("certify", *words, "--jobs", "1")


def some_row(folder: Path) -> dict[str, str]:
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["obligation"].startswith("step/lend/"))


def test_a_whole_folder_is_accepted(whole: Path) -> None:
    assert {each.name for each in whole.iterdir()} == {NAME, "index.csv", "obligations", "systems"}
    ran = carnet("recheck", str(whole), "--json")
    assert (ran.code, ran.json["unproved"]) == (0, [])
    assert ran.json["verified"] is (True if program() else None)
    assert ran.json["obligations"] > 20
    assert "accepts the certificates of" in carnet("recheck", str(whole)).out


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
    assert f"main, spec digest {digest}" in " ".join(carnet("recheck", str(whole)).out.split())


def test_two_specifications_of_one_variant_are_2(folder: Path) -> None:
    shutil.copy(folder / "systems" / "main.json", folder / "systems" / "other.json")
    ran = carnet("recheck", str(folder))
    assert (ran.code, "expected one variant 'main'" in ran.err) == (2, True)


SAYS_NOTHING = "true says nothing, not what it accepts"


@pytest.mark.parametrize(("program", "code", "said"), [("true", 5, SAYS_NOTHING), ("false", 5, "refuses some")])
def test_the_program_that_is_proved_sound_has_to_agree(
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


# -- folders that somebody else made ----------------------------------------------------------------


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
    assert {each["why"] for each in ran.json["unproved"]} == {"it was not judged: nobody was asked about its text"}


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
    """Change the rows of an index."""
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


def test_a_row_that_is_there_twice_is_1_and_counts_once(
    whole: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch)
    obligations = carnet("recheck", str(whole), "--json").json["obligations"]
    rewritten(folder, lambda rows: rows + rows + rows[:5])
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, ran.json["obligations"]) == (1, obligations)
    assert {each["why"] for each in ran.json["unproved"]} == {"the index has it more than once"}
    assert len(ran.json["unproved"]) == obligations + 5
    said = f"accepts the certificates of {obligations} obligations of {obligations} ("
    assert said in " ".join(carnet("recheck", str(folder)).out.split())


# -- processes that are lost ------------------------------------------------------------------------


def share_killed(folder: Path, digests: list[str]) -> dict[str, certificates_folder.Outcome]:
    """Be killed with the share that has the first text of all, and judge the others."""
    every = certificates_folder.digests(certificates_folder.rows_of(certificates_folder.read_index(folder), folder))
    if every[0] in digests:
        os.kill(os.getpid(), signal.SIGKILL)
    return certificates_folder.judged(folder, digests)


def killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_lost_share_is_not_judged_and_the_others_are(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch)
    monkeypatch.chdir(tmp_path)  # workers import nothing from the current folder, and what they run here is in this one
    monkeypatch.setattr(certificates_folder, "judged", share_killed)
    ran = carnet("recheck", str(folder), "--json")
    assert ran.code == 3
    assert {each["why"] for each in ran.json["unproved"]} == {"it was not judged: the worker was killed by signal 9"}
    assert 0 < len(ran.json["unproved"]) < ran.json["obligations"]


def test_a_lost_comparison_leaves_everything_unproved(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(certificates_folder, "compared", killed)
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
