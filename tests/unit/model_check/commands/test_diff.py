"""``carnet diff``: exactly what two runs say differently is told, and nothing of what each run varies in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.commands.diff import KEY, Direction, differences
from carnet_check.report.run_folder import Run
from tests.unit.model_check.command import TOY, carnet

ENGINES, CLAIMS, THREATS = ("induction", "explicit"), ("secrecy", "custody", "order"), ("none", "collusion")


def _row(claim: str, threat: str, engine: str) -> dict[str, Any]:
    key = {"protocol": "p", "variant": "main", "kind": "claim", "claim": claim, "threat": threat, "engine": engine}
    said = {"verdict": "PROVED", "bound": None, "expected": "PROVED", "assumptions": ["A1"], "as_expected": True}
    return {**key, **said, "detail": "", "defences": []}


ROWS = [_row(claim, threat, engine) for claim in CLAIMS for threat in THREATS for engine in ENGINES]
EDITS: Mapping[str, tuple[dict[str, Any], Direction]] = {
    "falls": ({"verdict": "VIOLATED", "as_expected": False}, Direction.WORSE),
    "is expected to fall": ({"verdict": "VIOLATED", "expected": "VIOLATED"}, Direction.CHANGED),
    "is bounded": ({"verdict": "EXHAUSTED", "bound": 7}, Direction.CHANGED),
    "rests on more": ({"assumptions": ["A1", "A2"]}, Direction.CHANGED),
    "has another detail": ({"detail": "took longer", "defences": ["lease"]}, Direction.NEW),
}
"""What may happen to a verdict; the last one is no difference."""


def _run(rows: list[dict[str, Any]], digest: str = "ab") -> Run:
    return Run(tuple(rows), {}, {"variants": [{"name": "main", "digest": digest}]})


@pytest.mark.mends("N7")
@given(
    edits=st.dictionaries(st.integers(0, len(ROWS) - 1), st.sampled_from(sorted(EDITS))),
    gone=st.sets(st.integers(0, len(ROWS) - 1)),
    missing=st.sets(st.integers(0, len(ROWS) - 1)),
)
def test_exactly_what_was_edited_is_told(edits: dict[int, str], gone: set[int], missing: set[int]) -> None:
    before = [row for place, row in enumerate(ROWS) if place not in missing]
    edited = [{**row, **(EDITS[edits[place]][0] if place in edits else {})} for place, row in enumerate(ROWS)]
    after = [row for place, row in enumerate(edited) if place not in gone]
    found = differences(_run(before), _run(after))
    told = {tuple(each.key[name] for name in KEY): each.direction for each in found.verdicts}
    expected = {}
    for place, row in enumerate(ROWS):
        key = tuple(row[name] for name in KEY)
        if place in missing and place in gone:
            continue
        if place in gone:
            expected[key] = Direction.GONE
        elif place in missing:
            expected[key] = Direction.NEW
        elif place in edits and edits[place] != "has another detail":
            expected[key] = EDITS[edits[place]][1]
    assert told == expected
    both = len(ROWS) - len(gone | missing)
    assert found.unchanged == both - sum(way not in (Direction.GONE, Direction.NEW) for way in expected.values())


@given(st.integers(0, len(ROWS) - 1))
def test_what_was_worse_is_better_the_other_way_round(place: int) -> None:
    fallen = [{**row, **EDITS["falls"][0]} if number == place else row for number, row in enumerate(ROWS)]
    (better,) = differences(_run(fallen), _run(ROWS)).verdicts
    assert (better.direction, better.says) == (Direction.BETTER, "VIOLATED → PROVED")


def test_a_design_that_changed_is_told_although_all_verdicts_are_the_same() -> None:
    found = differences(_run(ROWS), _run(ROWS, digest="cd"))
    assert (found.verdicts, found.designs) == ((), {"main": ("ab", "cd")})


def test_every_difference_is_said_in_words() -> None:
    changed = {"verdict": "EXHAUSTED", "bound": 1234, "expected": "EXHAUSTED", "assumptions": []}
    (found,) = differences(_run(ROWS[:1]), _run([{**ROWS[0], **changed}])).verdicts
    assert found.says == "PROVED → EXHAUSTED(1,234); expected PROVED → EXHAUSTED; rests on A1 → none"


@pytest.fixture(scope="module")
def toy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    assert carnet("verify", TOY, "--engine", "explicit", "--out", str(folder)).code == 0
    return folder


def test_a_run_is_the_same_as_itself_done_again(toy_run: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    carnet("verify", TOY, "--engine", "explicit", "--jobs", "1", "--out", str(again))
    ran = carnet("diff", str(toy_run), str(again), "--json")
    assert (ran.code, ran.json["same"], ran.json["differences"], ran.json["designs"]) == (0, True, [], [])
    assert ran.json["unchanged"] == len((toy_run / "verdicts.jsonl").read_text().splitlines())


def test_a_smaller_run_lacks_what_it_did_not_judge(toy_run: Path, tmp_path: Path) -> None:
    less = tmp_path / "less"
    carnet("verify", TOY, "--engine", "explicit", "--threat", "none", "--out", str(less))
    ran = carnet("diff", str(toy_run), str(less))
    assert ran.code == 1
    assert "gone         secrecy under collusion, main, explicit: EXHAUSTED(" in ran.out
    assert ran.out.splitlines()[-1].startswith("rerun        carnet diff ")


def test_a_verdict_that_fell_is_worse(toy_run: Path, tmp_path: Path) -> None:
    fallen = tmp_path / "fallen"
    carnet("verify", TOY, "--engine", "explicit", "--out", str(fallen))
    rows = [json.loads(line) for line in (fallen / "verdicts.jsonl").read_text().splitlines()]
    rows[0] |= {"verdict": "VIOLATED", "bound": None, "as_expected": False}
    (fallen / "verdicts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ran = carnet("diff", str(toy_run), str(fallen), "--json")
    assert (ran.code, ran.json["same"], [each["way"] for each in ran.json["differences"]]) == (1, False, ["worse"])


@pytest.mark.parametrize("sides", [("nothing", "run"), ("run", "nothing")])
def test_what_is_no_run_is_refused(toy_run: Path, tmp_path: Path, sides: tuple[str, str]) -> None:
    (tmp_path / "nothing").mkdir()
    places = {"run": str(toy_run), "nothing": str(tmp_path / "nothing")}
    ran = carnet("diff", *(places[side] for side in sides))
    assert (ran.code, "has no run.json" in ran.err) == (2, True)


def test_two_runs_of_different_protocols_share_nothing() -> None:
    found = differences(_run(ROWS), _run([{**row, "protocol": "q"} for row in ROWS]))
    assert {each.direction for each in found.verdicts} == {Direction.GONE, Direction.NEW}
    assert (len(found.verdicts), found.unchanged) == (2 * len(ROWS), 0)
