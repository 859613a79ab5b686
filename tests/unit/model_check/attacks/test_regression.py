"""``attack --as-test``, ``--full`` and ``--out``: an attack that stays at hand."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from carnet_check.attacks.regression import Steps, as_test, stands
from carnet_check.errors import UsageError
from carnet_spec.language import SpecificationError
from tests.unit.model_check.command import TOY, carnet, carnet_once

ROOT = Path(__file__).parents[4]


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


@pytest.mark.mends("P5")
def test_the_written_test_passes_once_the_defence_is_back(tmp_path: Path) -> None:
    module = module_of(written(tmp_path))
    module.WITHOUT.clear()
    module.test_toy_stands_against_an_attack_on_secrecy()


def test_the_written_test_is_as_this_repository_wants_its_own(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="needs the dev extra")
    record = json.loads(kept(tmp_path, "gpu-travelling", "--without", "mode-check").read_text())
    record["profile"]["scale"] = {f"a_size_with_a_long_name_{number}": number for number in range(8)}
    record["events"][-1]["args"] = {f"a_parameter_with_a_long_name_{number}": "x" for number in range(4)}
    text = as_test(record, "gpu-travelling")
    for arguments in (["check"], ["format", "--diff"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", "tests/test_attack.py", "-"]
        ran = subprocess.run(command, input=text, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout
    file = tmp_path / "test_attack.py"
    file.write_text(text, "utf-8")
    assert len(module_of(file).STEPS) == len(record["events"])


def kept(folder: Path, *arguments: str) -> Path:
    """Return the record of an attack."""
    carnet("attack", *arguments, "--out", str(folder))
    (record,) = [file for file in (folder / "attacks").iterdir() if not file.name.endswith(".itf.json")]
    return record


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
