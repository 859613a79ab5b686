"""What ``verify --out`` keeps, and what ``report`` refuses to show."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.errors import UsageError
from carnet_check.report.html import write_html
from carnet_check.report.run_folder import read_run
from tests.unit.model_check.command import TOY, carnet, control


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run in which the wrong claim of a negative control falls."""
    folder = tmp_path_factory.mktemp("run")
    carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(folder))
    return folder


def kept_attack(folder: Path) -> Any:
    return json.loads((folder / "attacks" / "main.anyone.stays-home.json").read_text())


def test_a_kept_attack_says_who_did_what_and_what_changed(run: Path) -> None:
    attack = kept_attack(run)
    assert attack["parties"] == ["first", "party1"]
    (event,) = attack["events"]
    assert event["sentence"] == "first passes the token on to party1"
    assert event["arrow"] == {"from": "first", "to": "party1", "text": "token"}
    assert [change["text"] for change in event["changes"]] == ["− has(first)", "+ has(party1)"]
    assert attack["expected"] is False
    assert "stays-home fails for a = party1" in attack["reason"][0]


def test_a_kept_attack_lies_beside_its_itf_trace(run: Path) -> None:
    trace = json.loads((run / "attacks" / "main.anyone.stays-home.itf.json").read_text())
    assert [state["mbt::actionTaken"] for state in trace["states"]] == ["init", "pass_on"]


def test_what_was_read_is_what_was_written(run: Path) -> None:
    read = read_run(run)
    assert [attack["name"] for attack in read.attacks] == ["main.anyone.stays-home"]
    assert {row["claim"] for row in read.verdicts} == {"one-holder", "stays-home"}
    assert read.spec["variants"][0]["claims"][0]["sentence"] == "One party has the token."


@pytest.mark.mends("N22")
def test_a_graph_of_states_names_the_steps_of_its_lines(run: Path, tmp_path: Path) -> None:
    write_html(read_run(run), tmp_path / "html")
    lines = re.findall(r"<line [^>]*><title>([^<]*)</title>", (tmp_path / "html" / "index.html").read_text("utf-8"))
    assert lines
    assert {line.partition("(")[0].strip() for line in lines} == {"pass_on", "look"}


def test_a_later_run_into_the_same_folder_leaves_nothing_of_the_earlier_one(tmp_path: Path) -> None:
    carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(tmp_path))
    assert list((tmp_path / "attacks").iterdir())
    carnet("verify", control("sound"), "--engine", "explicit", "--out", str(tmp_path))
    assert not list((tmp_path / "attacks").iterdir())


def test_a_run_that_was_not_written_whole_is_none(tmp_path: Path) -> None:
    carnet("verify", TOY, "--engine", "explicit", "--out", str(tmp_path))
    shutil.rmtree(tmp_path / "attacks", ignore_errors=True)
    (tmp_path / "attacks").touch()
    ran = carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(tmp_path))
    assert ran.code == 2
    assert "cannot create the folder" in ran.err
    with pytest.raises(UsageError, match=r"has no run\.json"):
        read_run(tmp_path)


def test_a_proof_names_its_lemmas(tmp_path: Path) -> None:
    carnet("verify", TOY, "--engine", "induction", "--jobs", "1", "--out", str(tmp_path))
    for row in read_run(tmp_path).verdicts:
        assert set(row["lemmas"]) == {"lent_keys_are_owned", "known_keys_are_used"}


def test_a_report_names_the_defences_that_no_proof_can_name(tmp_path: Path) -> None:
    carnet("verify", TOY, "--engine", "explicit", "--out", str(tmp_path / "run"))
    run = read_run(tmp_path / "run")
    shut_out = {each["id"]: each["shuts_out"] for each in run.spec["variants"][0]["defences"] if each["shuts_out"]}
    assert shut_out == {"return-checked": ["forget"]}
    write_html(run, tmp_path / "pages")
    page = (tmp_path / "pages" / "index.html").read_text()
    assert "<dt>Proof</dt>\n<dd>none under " in page
    assert '<a href="#defence-main-return-checked">return-checked</a> (no forget)</dd>' in page
    for each in run.spec["variants"][0]["defences"]:  # as an earlier version wrote it
        del each["shuts_out"]
    write_html(run, tmp_path / "earlier")
    assert "(no forget)" not in (tmp_path / "earlier" / "index.html").read_text()


def broken(folder: Path, name: str, text: str) -> Path:
    """Return ``folder`` with one file replaced."""
    for file in ("run.json", "spec.json", "verdicts.jsonl", "timings.jsonl"):
        (folder / file).write_text('{"format": "carnet-run/1"}\n')
    (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.json", '{"format": "carnet-run/9"}', "carnet-run/9"),
        ("run.json", "[]", "expected a json object"),
        ("spec.json", "{", "expected json in"),
        ("verdicts.jsonl", "{}\n{\n", "verdicts.jsonl', line 2"),
        ("verdicts.jsonl", '{}\n{"cl', "verdicts.jsonl', line 2"),
    ],
    ids=["another format", "no object", "cut off", "a broken line", "a line cut off"],
)
def test_what_is_no_run_is_refused_in_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_run(broken(tmp_path, name, text))
    assert said in str(refused.value).lower()


HOSTILE = '<script>alert(1)</script>" onload="alert(1)\u2028'


def test_what_a_run_says_is_text_and_never_markup(run: Path, tmp_path: Path) -> None:
    read = read_run(run)
    poisoned = json.loads(json.dumps(read.spec).replace("One party has the token.", json.dumps(HOSTILE)[1:-1]))
    poisoned["title"] = HOSTILE
    write_html(replace(read, spec=poisoned), tmp_path)
    for page in tmp_path.glob("*.html"):
        assert "<script>alert" not in page.read_text()
        assert 'onload="' not in page.read_text()
    data = (tmp_path / "search.js").read_text()
    assert "alert(1)" in data
    assert "</script>" not in data
    assert "\u2028" not in data


def test_equal_runs_make_equal_pages(run: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_html(read_run(run), tmp_path / name)
    pages = {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()}
    assert pages == {file.name: file.read_bytes() for file in (tmp_path / "other").iterdir()}


def test_the_report_of_what_is_no_run_is_refused(tmp_path: Path) -> None:
    ran = carnet("report", str(tmp_path), "--html", str(tmp_path / "html"))
    assert (ran.code, ran.out) == (2, "")
    assert "has no run.json" in ran.err
    assert not (tmp_path / "html").exists()


BAD_REPORTS = {
    "nothing to do": ([], "give --html DIR"),
    "a key alone": (["--html", "OUT/html", "--key", "x.pem"], "need --key FILE"),
    "a bundle without a key": (["--bundle", "OUT/evidence.json"], "need --key FILE"),
    "to sign and to check": (
        ["--bundle", "OUT/a", "--check-bundle", "OUT/b", "--key", "x.pem"],
        "give only one of them",
    ),
    "no such key": (["--bundle", "OUT/evidence.json", "--key", "OUT/none.pem"], "cannot read"),
    "no such bundle": (["--check-bundle", "OUT/none.json", "--key", "OUT/none.pem"], "cannot read"),
    "no such table": (["--html", "OUT/html", "--table", "OUT/none.json"], "cannot read"),
    "no table": (["--html", "OUT/html", "--table", TOY], "expected JSON in"),
    "a file for a folder": (["--html", TOY], "expected a folder"),
}


@pytest.mark.mends("N12")
@pytest.mark.parametrize("name", BAD_REPORTS)
def test_a_bad_request_for_a_report_is_refused_and_nothing_is_written(run: Path, tmp_path: Path, name: str) -> None:
    arguments, said = BAD_REPORTS[name]
    ran = carnet("report", str(run), *(word.replace("OUT", str(tmp_path)) for word in arguments), "--json")
    assert ran.code == 2
    assert said in ran.json["error"]["message"]
    assert list(tmp_path.iterdir()) == []
