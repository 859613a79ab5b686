"""``attack --as-test``, ``--full`` and ``--out``: an attack that stays at hand."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from carnet_check.attacks.regression import Steps, as_test, instance_of, stands, structure_of
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_spec.language import Profile, SpecificationError
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
@pytest.mark.parametrize(
    ("protocol", "defence"),
    [
        (TOY, "fresh-key"),
        ("starter", "fresh-ticket"),  # no guest need be corrupt, and an attack has to find one who is not
        ("starter", "void-after-entry"),  # works only where both guests are corrupt
        ("gpu-travelling", "session-orders"),  # a step of it exists only without the defence
        ("gpu-travelling", "rotation-out"),
    ],
)
def test_the_written_test_fails_until_the_defence_is_back_wherever_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, defence: str
) -> None:
    if protocol == "starter":
        carnet("init", str(tmp_path / "tickets"))
        monkeypatch.chdir(tmp_path / "tickets")
        protocol = "protocol.py:draft"
    file = tmp_path / "tests" / "test_attack.py"
    file.parent.mkdir()
    ran = carnet("attack", protocol, "--without", defence, "--jobs", "1", "--as-test", str(file), "--json")
    assert ran.json["verdict"] == "VIOLATED"
    assert ran.json["instance"]
    monkeypatch.chdir(tmp_path.parent)
    module = module_of(file)
    (test,) = (value for name, value in vars(module).items() if name.startswith("test_"))
    with pytest.raises(AssertionError, match="still works"):
        test()
    module.WITHOUT.clear()
    test()


def test_a_test_that_would_pass_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.attacks.regression.stands", lambda *_, **__: None)
    file = tmp_path / "test_attack.py"
    ran = carnet("attack", TOY, "--without", "fresh-key", "--jobs", "1", "--as-test", str(file))
    assert (ran.code, "does not work as a test would replay it" in ran.err) == (5, True)
    assert not file.exists()


def test_the_written_test_is_as_this_repository_wants_its_own(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="needs the dev extra")
    record = json.loads(kept(tmp_path, "gpu-travelling", "--without", "mode-check").read_text())
    record["structure"]["elements"]["Colour"] = [f"an_element_with_a_long_name_{number}" for number in range(8)]
    record["events"][-1]["args"] = {f"a_parameter_with_a_long_name_{number}": "x" for number in range(4)}
    text = as_test(record, "gpu-travelling", tmp_path)
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


def replayed(steps: Steps, without: tuple[str, ...] = (), corrupt: str = "borrower2") -> None:
    source = load(TOY)
    design = source.protocol()
    there = structure_of(source.instance(design, "collusion", Profile("two", {"borrowers": 2})), design)
    changed = {**there, "relations": {**there["relations"], "corrupt": [[corrupt]]}}
    stands(TOY, "secrecy", steps, threat="collusion", variant="main", without=without, instance=changed)


def test_an_attack_after_which_the_claim_holds_works_no_more() -> None:
    replayed(LEND)


def test_what_no_longer_exists_is_an_error_and_not_a_pass() -> None:
    with pytest.raises(SpecificationError, match="no action 'borrow_forever'"):
        replayed([("borrow_forever", {})])
    with pytest.raises(UsageError, match="no defence 'fresh-keys'"):
        replayed(LEND, ("fresh-keys",))


def test_an_instance_that_is_none_of_the_threat_model_is_an_error_and_not_a_pass() -> None:
    with pytest.raises(SpecificationError, match="the instance under collusion violates axiom"):
        replayed(LEND, corrupt="lender")


@pytest.mark.parametrize(
    ("part", "name", "change", "said"),
    [
        ("relations", "corrupt", "rename", "says nothing of 'corrupt'"),
        ("relations", "vip", "add", "speaks of what the protocol does not know: 'vip'"),
        ("relations", "corrupt", "drop", "says nothing of 'corrupt'"),
    ],
)
def test_an_instance_of_another_protocol_is_an_error_and_not_a_pass(
    part: str, name: str, change: str, said: str
) -> None:
    design = load(TOY).protocol()
    there = structure_of(load(TOY).instance(design, "collusion", Profile("two", {"borrowers": 2})), design)
    rows = dict(there[part])
    taken = rows.pop(name, []) if change != "add" else []
    rows |= {} if change == "drop" else {f"z_{name}" if change == "rename" else name: taken}
    with pytest.raises(SpecificationError, match=re.escape(said)):
        stands(TOY, "secrecy", LEND, threat="collusion", variant="main", instance={**there, part: rows})


def test_what_holds_of_nothing_is_written_too() -> None:
    design = load(TOY).protocol()
    there = structure_of(load(TOY).instance(design, "none", Profile("two", {"borrowers": 2})), design)
    assert there["relations"]["corrupt"] == []


def test_an_instance_is_read_as_it_is_written() -> None:
    design = load("gpu-travelling").protocol()
    instance = load("gpu-travelling").instance(design, "collusion", Profile("tiny", {}))
    again = instance_of(json.loads(json.dumps(structure_of(instance, design))), None)
    assert Interpreter(design, again).initial() == Interpreter(design, instance).initial()
    for symbol in design.symbols:
        if not symbol.mutable and symbol.is_relation:
            assert again.relations.get(symbol.name, frozenset()) == frozenset(instance.relations.get(symbol.name, ()))
        elif not symbol.mutable:
            assert again.functions[symbol.name] == instance.functions[symbol.name]
    with pytest.raises(SpecificationError, match="'first' is missing"):
        instance_of({"elements": {}, "relations": {}, "functions": {}}, None)


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


def test_a_module_of_the_current_folder_is_found_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    (tmp_path / "tickets" / "protocol.py").rename(tmp_path / "tickets" / "lent_tickets.py")
    monkeypatch.chdir(tmp_path / "tickets")
    written = tmp_path / "tests" / "test_attack.py"
    written.parent.mkdir()
    ran = carnet("attack", "lent_tickets:draft", "--without", "fresh-ticket", "--as-test", str(written))
    assert ran.code == 1
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="still works"):
        next(test for name, test in vars(module_of(written)).items() if name.startswith("test_"))()
