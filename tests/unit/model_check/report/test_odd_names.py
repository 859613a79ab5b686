"""Names from a specification lead to no file outside the folder that was asked for."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.errors import UsageError
from carnet_check.report.formats import sarif
from carnet_check.report.html import write_html
from carnet_check.report.run_folder import plain_name, read_run, write_attack
from carnet_check.wording import MOST
from tests.fixtures.odd_texts import ODD
from tests.unit.model_check.command import FIXTURES, carnet


@pytest.mark.mends("M6")
@pytest.mark.parametrize("name", ODD)
def test_nothing_is_written_outside_whatever_an_attack_is_called(folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    run = read_run(folder)
    attack = {**run.attacks[0], "name": name}
    write_html(replace(run, attacks=(attack,)), tmp_path / "in" / "pages")
    write_attack(tmp_path / "in" / "kept", attack, {})
    replace(run, graphs=({**run.graphs[0], "name": name},), attacks=()).write(tmp_path / "in" / "run")
    assert {each.name for each in tmp_path.iterdir()} == {"in"}
    assert {each.name for each in (tmp_path / "in").iterdir()} == {"pages", "kept", "run"}
    for kept in (tmp_path / "in").rglob("*"):
        assert plain_name(kept.name)
        assert kept.name.isascii()
        assert len(kept.name) <= MOST + len("attack-.itf.json")
    assert len(read_run(tmp_path / "in" / "run").graphs) == 1


@pytest.mark.mends("M6")
def test_a_protocol_with_odd_names_is_kept_shown_and_written_as_a_test(tmp_path: Path) -> None:
    protocol, inside = str(FIXTURES / "odd_names.py"), tmp_path / "in"
    inside.mkdir()
    kept = ("--out", str(inside / "run"), "--html", str(inside / "html"))
    assert carnet("verify", protocol, "--engine", "explicit", *kept).code == 1
    assert carnet("report", str(inside / "run"), "--html", str(inside / "again")).code == 0
    written = ("--as-test", str(inside / "test_it.py"), "--itf", str(inside / "it.json"), "--out", str(inside / "run"))
    assert carnet("attack", protocol, "--variant", "main", *written).code == 1
    assert {each.name for each in tmp_path.iterdir()} == {"in"}
    assert {each.name for each in inside.iterdir()} == {"run", "html", "again", "test_it.py", "it.json"}
    module = ast.parse((inside / "test_it.py").read_text())
    assert [type(each).__name__ for each in module.body] == [
        *("Expr", "ImportFrom", "ImportFrom", "AnnAssign", "AnnAssign", "AnnAssign", "FunctionDef")
    ]


@pytest.mark.mends("M6")
def test_an_attack_whose_file_has_another_name_is_refused(changed: Path) -> None:
    file = changed / "attacks" / "main.anyone.stays-home.json"
    file.rename(file.with_name("main.anyone.other.json"))
    with pytest.raises(UsageError, match="is not called after the name in it"):
        read_run(changed)


@pytest.mark.mends("M6")
def test_marks_that_turn_the_direction_of_text_are_shown_as_escapes(folder: Path, tmp_path: Path) -> None:
    run = read_run(folder)
    turned = json.loads(
        json.dumps({"spec": run.spec, "verdicts": run.verdicts}).replace("as written", "safe\u202etset")
    )
    for each in turned["spec"]["variants"]:
        each["claims"][0]["sentence"] += "\u202e\u2066"
    row = {**turned["verdicts"][0], "as_expected": False, "detail": "all\u202ellew"}
    odd = replace(run, spec=turned["spec"], verdicts=(row,))
    write_html(odd, tmp_path)
    pages = "".join(page.read_text() for page in tmp_path.iterdir())
    shown = json.dumps(sarif(odd), ensure_ascii=False)
    assert "\\u202e" in pages
    assert "\\u202e" in shown
    assert not {"\u202e", "\u2066"} & {*pages, *shown}
