"""`carnet mutate`: what it says, keeps and ends with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_check.mutation import campaign
from carnet_check.mutation.campaign import RECORD_FILE
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool
from tests.fixtures import door
from tests.unit.model_check.command import FIXTURES, Ran, carnet, carnet_once

DOOR = str(FIXTURES / "door.py")
SURVIVORS = [
    "show/guard invited/drop",
    "admit/guard badge/drop",
    "admit/guard badge/negate",
    "admit/guard listed/drop",
    "admit/guard listed/negate",
    "give_key/update insert keyed/drop",
    "greet/guard inside/drop",
    "greet/update forget the others/drop",
]
ARGUED = "admit/guard listed/drop"


def mutate(*words: str) -> Ran:
    return carnet("mutate", *words, "--jobs", "1")


def whole() -> Ran:
    return carnet_once("mutate", DOOR, "--pairs", "--jobs", "1", "--json")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a copy of the door in which one survivor is argued."""
    file = Path(shutil.copy(DOOR, tmp_path))
    digest = door.FAMILY.protocol().digest
    file.with_name("door.argued-mutants.toml").write_text(
        f'[[argued]]\nmutant = "{ARGUED}"\nvariant = "main"\ndigest = "{digest}"\nargument = "The list is a copy."\n',
        encoding="utf-8",
    )
    return file


def test_every_mutant_has_its_fate() -> None:
    ran = whole()
    value = ran.json
    assert ran.code == 1
    assert value["protocol"] == "door"
    assert [each["mutant"] for each in value["survived"]] == SURVIVORS
    noticed = value["killed"] + value["equivalent"] + value["stronger"]
    assert noticed + len(value["survived"]) == value["mutants"] == 28
    assert (value["killed"], value["equivalent"], value["stronger"], value["unknown"]) == (16, 2, 2, [])
    assert value["killed_by"] == {"failed proof": 5, "lost attack": 2, "lost goal": 9}
    assert [each["mutant"] for each in value["refused"]] == ["greet/update forget the others/swap with insert greeted"]
    assert {each["argument"] for each in value["survived"]} == {None}


def test_a_pair_is_a_minimal_cut_set() -> None:
    pairs = whole().json["pairs"]
    assert [each["mutant"] for each in pairs["killed"]] == ["admit/guard invited and guard listed/drop"]


def test_survivors_are_told_to_a_reader() -> None:
    ran = mutate(DOOR, "--only", "admit/guard listed")
    assert ran.code == 1
    assert "SURVIVED main: admit/guard listed/drop" in ran.out
    assert "the action can be taken more often" in " ".join(ran.out.split())
    assert "2 unexplained survivors" in ran.out
    assert f"rerun        carnet mutate {DOOR} --only 'admit/guard listed'" in ran.out


def test_without_an_unexplained_survivor_all_is_well(spec: Path) -> None:
    ran = mutate(str(spec), "--only", ARGUED, "--only", "forge", "--json")
    assert ran.code == 0
    assert ran.json["survived"] == [{"mutant": ARGUED, "variant": "main", "argument": "The list is a copy."}]
    assert ran.json["killed"] == 2
    assert f"ARGUED main: {ARGUED}" in mutate(str(spec), "--only", ARGUED).out


def test_an_argument_that_nobody_needs_is_told(spec: Path) -> None:
    arguments = spec.with_name("door.argued-mutants.toml")
    arguments.write_text(arguments.read_text("utf-8").replace(ARGUED, "give_key/guard inside/drop"), encoding="utf-8")
    told = " ".join(mutate(str(spec), "--only", "give_key/guard").out.split())
    assert "nobody needs the argument for main: give_key/guard inside/drop: it is killed" in told


def test_an_argument_expires_with_the_specification(spec: Path) -> None:
    spec.write_text(spec.read_text("utf-8").replace("Only guests come in.", "Guests alone come in."), encoding="utf-8")
    ran = mutate(str(spec))
    assert ran.code == 2
    assert "has expired" in ran.err


@pytest.mark.parametrize("words", [["--variant", "other"], ["--threat", "other"], ["--jobs", "0"]])
def test_what_does_not_exist_is_refused(words: list[str]) -> None:
    assert carnet("mutate", DOOR, *words).code == 2


def test_one_threat_model_can_be_asked_for() -> None:
    ran = mutate(DOOR, "--threat", "intruders", "--only", "give_key/guard", "--json")
    assert (ran.code, ran.json["killed"], ran.json["mutants"]) == (0, 2, 2)
    assert "under intruders" in ran.json["judgements"][0]["evidence"]


# -- interruption, and workers that are lost -------------------------------------------------------


Results = Callable[..., Iterator[tuple[Any, Any]]]
"""What asks workers, as a test sees it: parts and answers of any kind."""


def kept(folder: Path, kind: str) -> list[str]:
    lines = (folder / RECORD_FILE).read_text("utf-8").splitlines()
    return [entry["key"] for entry in map(json.loads, lines[1:]) if entry["kind"] == kind]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (DOOR, "--only", "admit", "--out", str(tmp_path), "--json")
    results: Results = WorkerPool.results
    asked: list[str] = []

    def stopped(self: WorkerPool, function: object, *asked_for: object) -> Iterator[tuple[Any, Any]]:
        for number, (part, answer) in enumerate(results(self, function, *asked_for)):
            asked.append(part.key)
            if function is campaign._judge and number == 3:
                raise KeyboardInterrupt
            yield part, answer

    monkeypatch.setattr(WorkerPool, "results", stopped)
    ran = mutate(*words)
    assert ran.code == 130
    assert "interrupted" in ran.err
    before = kept(tmp_path, "mutant")
    assert len(before) == 3
    monkeypatch.undo()

    def counting(self: WorkerPool, *asked_for: object) -> Iterator[tuple[Any, Any]]:
        for part, answer in results(self, *asked_for):
            asked.append(part.key)
            yield part, answer

    asked.clear()
    monkeypatch.setattr(WorkerPool, "results", counting)
    again = mutate(*words)
    assert again.code == 1
    assert not set(before) & set(asked[: asked.index("main: small under intruders")])
    monkeypatch.undo()
    afresh = mutate(*words[:3], "--json").json
    assert [each["fate"] for each in again.json["judgements"]] == [each["fate"] for each in afresh["judgements"]]


def test_a_lost_worker_takes_one_mutant_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (DOOR, "--only", "give_key/guard", "--out", str(tmp_path), "--json")
    results: Results = WorkerPool.results

    def losing(self: WorkerPool, function: object, *asked_for: object) -> Iterator[tuple[Any, Any]]:
        for part, answer in results(self, function, *asked_for):
            gone = function is campaign._judge and part.key.endswith("/drop")
            yield part, Lost("the worker was killed by signal 9") if gone else answer

    monkeypatch.setattr(WorkerPool, "results", losing)
    ran = mutate(*words)
    assert ran.code == 3
    assert ran.json["unknown"] == [
        {"mutant": "give_key/guard inside/drop", "variant": "main", "why": "the worker was killed by signal 9"}
    ]
    assert (ran.json["killed"], ran.json["mutants"]) == (1, 2)
    monkeypatch.undo()
    assert mutate(*words).code == 0
