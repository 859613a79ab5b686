"""``attack --as-test``, ``--full`` and ``--out``: an attack that stays at hand."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from carnet_check.attacks.regression import Steps, stands
from carnet_check.errors import UsageError
from carnet_spec.language import SpecificationError
from tests.unit.model_check.command import TOY, carnet, carnet_once


def written(folder: Path) -> Path:
    file = folder / "test_attack.py"
    carnet("attack", TOY, "--without", "fresh-key", "--as-test", str(file))
    return file


def module_of(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_written_test_fails_while_the_defect_is_there(tmp_path: Path) -> None:
    test = module_of(written(tmp_path)).test_toy_stands_against_an_attack_on_secrecy
    with pytest.raises(AssertionError, match="the attack on secrecy still works") as failed:
        test()
    assert "the lender takes k1 back from borrower2" in str(failed.value)
    assert "it is false that  borrower2 = owner(k1)" in str(failed.value)


def test_the_written_test_passes_once_the_defence_is_back(tmp_path: Path) -> None:
    module = module_of(written(tmp_path))
    module.WITHOUT.clear()
    module.test_toy_stands_against_an_attack_on_secrecy()


LEND = [("lend", {"to": "borrower2", "key": "k1"})]


def replayed(steps: Steps, without: tuple[str, ...] = ()) -> None:
    stands(TOY, "secrecy", steps, threat="collusion", variant="main", without=without, scale={"borrowers": 2})


def test_an_attack_after_which_the_claim_holds_works_no_more() -> None:
    replayed(LEND)


def test_what_no_longer_exists_is_an_error_and_not_a_pass() -> None:
    with pytest.raises(SpecificationError, match="no action 'borrow_forever'"):
        replayed([("borrow_forever", {})])
    with pytest.raises(UsageError, match="no defence 'fresh-keys'"):
        replayed(LEND, ("fresh-keys",))


def test_the_full_story_says_what_each_step_changed() -> None:
    ran = carnet_once("attack", TOY, "--without", "fresh-key", "--full")
    lines = [line.strip() for line in ran.out.splitlines()]
    assert "phase: HOME → AWAY  [lender]" in lines
    assert "+ lent(borrower2, k1)  [on the wire]" in lines
    assert "+ knows(borrower2, k1)  [borrower2]" in lines


def test_an_attack_is_kept_beside_the_run_it_belongs_to(tmp_path: Path) -> None:
    ran = carnet("attack", TOY, "--without", "fresh-key", "--out", str(tmp_path), "--json")
    kept = json.loads((tmp_path / "attacks" / "main.without-fresh-key.collusion.secrecy.json").read_text())
    assert kept["removed"] == ["fresh-key"]
    assert [event["action"] for event in kept["events"]] == [step["action"] for step in ran.json["steps"]]
    assert kept["finding"]["id"] == "one-key"


def test_nothing_is_written_when_there_is_no_attack(tmp_path: Path) -> None:
    file = tmp_path / "test_attack.py"
    ran = carnet("attack", TOY, "--without", "return-checked", "--jobs", "1", "--as-test", str(file), "--json")
    assert ran.json["verdict"] != "VIOLATED"
    assert not file.exists()
    assert ran.json["run"]["artefacts"] == ""
