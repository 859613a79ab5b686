"""``carnet export --to promela``: Spin counts the states that Carnet counts, and finds what Carnet finds broken."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploring.searches import moves
from carnet_check.exports.ground.system import ground
from carnet_check.exports.promela import ModelHeader, promela
from carnet_check.loading.families import load
from tests.fixtures import crowd, reversed_draws, shells, stove
from tests.fixtures.interpreted import interpreted
from tests.fixtures.spin import COMPILER, FAST, SMALL, Verified, needs_spin, verified
from tests.repo.tracked import ROOT
from tests.unit.model_check.command import FIXTURES, TOY, carnet

GPU = "gpu-travelling"
COLLUSION = "collusion"


def exported(folder: Path, protocol: str, *options: str) -> Path:
    ran = carnet("export", protocol, "--to", "promela", *options, "--out", str(folder))
    assert ran.code == 0, ran.err
    (file,) = folder.iterdir()
    return file


def spin_agrees(folder: Path, protocol: str, *options: str, optimise: str = SMALL) -> Verified:
    """Compare what Spin counts with ``carnet explore --no-reduction``; one more transition stands for the start."""
    explored = carnet("explore", protocol, *options, "--no-reduction", "--json").json
    counted = verified(exported(folder, protocol, *options), optimise=optimise)
    assert explored["complete"]
    assert counted.states == explored["states"]
    assert counted.transitions - counted.errors == explored["transitions"] + 1
    assert bool(counted.errors) == bool(explored["violations"])
    return counted


def shortest(protocol: str, variant: str, without: tuple[str, ...] = (), **sizes: int) -> dict[str, int]:
    """Return, for each claim that falls under collusion, how many steps the shortest run takes to break it."""
    source = load(protocol)
    design = source.protocol(variant or source.family.main[0], without)
    tiny = source.profile("tiny")
    instance = source.instance(design, COLLUSION, replace(tiny, scale={**tiny.scale, **sizes}))
    claims = [claim.checked for claim in design.claims if COLLUSION in (*claim.under, *claim.fails_under)]
    found = EXPLICIT.explore(design, instance, invariants=claims)
    return {name: moves(design, trace) for name, trace in found.violations.items()}


def spin_finds_the_shortest(folder: Path, protocol: str, options: tuple[str, ...], expected: dict[str, int]) -> None:
    """Compare the first claim that Spin finds broken, breadth first, with the shortest runs that Carnet finds."""
    found = verified(exported(folder, protocol, *options), shortest=True)
    assert len(found.steps) == expected[found.broken] == min(expected.values())


@needs_spin
@pytest.mark.parametrize(
    "options", [(), ("--set", "borrowers=1"), ("--set", "borrowers=3"), ("--moves", "1")], ids=" ".join
)
def test_spin_counts_the_states_of_a_small_protocol(options: tuple[str, ...], tmp_path: Path) -> None:
    assert not spin_agrees(tmp_path, TOY, *options).errors


@needs_spin
def test_spin_finds_a_shortest_run_to_a_broken_claim(tmp_path: Path) -> None:
    small = ("--set", "borrowers=1")
    forgetful, without = ("--variant", "forgetful", *small), ("--without", "fresh-key", *small)
    spin_finds_the_shortest(tmp_path / "1", TOY, forgetful, shortest(TOY, "forgetful", borrowers=1))
    spin_finds_the_shortest(tmp_path / "2", TOY, without, shortest(TOY, "", ("fresh-key",), borrowers=1))


@needs_spin
def test_spin_counts_the_states_of_a_broken_design(tmp_path: Path) -> None:
    assert spin_agrees(tmp_path / "1", TOY, "--variant", "forgetful", "--set", "borrowers=1").errors
    assert spin_agrees(tmp_path / "2", str(FIXTURES / "hall.py")).errors


@needs_spin
def test_spin_counts_the_states_of_gpu_travelling(tmp_path: Path) -> None:
    assert not spin_agrees(tmp_path, GPU, "--threat", "outsider").errors


@needs_spin
@pytest.mark.parametrize(
    "options",
    [
        ("outsider", "--variant", "rotate-out-only"),
        pytest.param(("collusion", "--variant", "sealed-under-master"), marks=pytest.mark.slow),
    ],
)
def test_spin_counts_the_states_of_broken_designs_of_gpu_travelling(options: tuple[str, ...], tmp_path: Path) -> None:
    assert spin_agrees(tmp_path, GPU, "--moves", "1", "--threat", *options).errors


@needs_spin
@pytest.mark.parametrize("given", [crowd, reversed_draws, shells, stove], ids=["crowd", "draws", "shells", "stove"])
def test_spin_counts_what_the_interpreter_counts_of(given: ModuleType, tmp_path: Path) -> None:
    """Draws follow the parameters, updates read the state before the step, and what was removed may follow anew."""
    design, instance = given.PROTOCOL, given.INSTANCE
    file = tmp_path / "given.pml"
    file.write_text(promela(design, instance, ground(design, instance, {}), ModelHeader(file.name, "none")))
    counted = verified(file, optimise=SMALL)
    explored = interpreted(design, instance, invariants=())
    assert (counted.states, counted.transitions) == (explored.states, explored.transitions + 1)


@needs_spin
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "options",
    [
        ("--threat", "hypervisor"),
        ("--threat", "past-keys"),
        ("--threat", "collusion"),
        ("--threat", "collusion", "--variant", "sealed-under-master"),
        ("--threat", "outsider", "--variant", "rotate-out-only"),
    ],
    ids=" ".join,
)
def test_spin_counts_the_states_of_larger_instances(options: tuple[str, ...], tmp_path: Path) -> None:
    spin_agrees(tmp_path, GPU, *options, optimise=FAST)


@needs_spin
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spin_finds_a_shortest_attack_on_gpu_travelling(tmp_path: Path) -> None:
    for variant in ("rotate-out-only", "fence-before-rotate"):
        spin_finds_the_shortest(tmp_path / variant, GPU, ("--variant", variant), shortest(GPU, variant))


def test_one_file_is_written_and_says_how_to_run_it(tmp_path: Path) -> None:
    file = exported(tmp_path, TOY)
    text = file.read_text()
    assert file.name == "toy.pml"
    for command in ("spin -a -o2 toy.pml", "gcc -O2 -DSAFETY -DNOREDUCE -o pan pan.c", "Carnet counts 144 states."):
        assert command in text


@pytest.mark.mends("R443")
def test_the_model_and_the_guide_say_how_failure_shows(tmp_path: Path) -> None:
    head = exported(tmp_path, TOY).read_text().partition("*/")[0]
    guide = (ROOT / "docs" / "how-to" / "ask-another-model-checker.md").read_text("utf-8")
    for text in (head, guide):
        for words in ("ends with 0 where an assertion fails", "errors: 0", "Search not completed", "search depth"):
            assert words in text


@needs_spin
@pytest.mark.mends("R443")
def test_the_guides_script_tells_success_from_failure(tmp_path: Path) -> None:
    """The two lines of shell that the guide gives, on a model that holds, one that fails and one that is cut off."""
    guide = (ROOT / "docs" / "how-to" / "ask-another-model-checker.md").read_text("utf-8")
    (script,) = re.findall(r"^(\./pan .*pan\.log\ngrep .*)$", guide, re.MULTILINE)
    codes = {}
    for name, model, options in (
        ("holds", "assert(x == 1)", script),
        ("fails", "assert(x == 0)", script),
        ("cut off", "do :: x < 200 -> x++ :: else -> break od", script.replace("-m1000000", "-m20")),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "m.pml").write_text(f"byte x = 0;\nactive proctype p() {{ x = 1; {model} }}\n")
        build = "spin -a -o2 m.pml && gcc -O2 -DSAFETY -DNOREDUCE -o pan pan.c"
        subprocess.run(["sh", "-ec", build], cwd=folder, check=True, capture_output=True)
        codes[name] = subprocess.run(["sh", "-c", options], cwd=folder, check=False, capture_output=True).returncode
    assert codes == {"holds": 0, "fails": 1, "cut off": 1}


def test_the_parts_of_each_step_have_their_names(tmp_path: Path) -> None:
    text = exported(tmp_path, TOY).read_text()
    protocol = load(TOY).protocol("main")
    left_out = {
        "forget",  # a shortcut that only the design without the defence has
        "fake_return",  # its guard on who is corrupt is decided
    }
    for action in protocol.actions:
        if not action.deduction and action.name not in left_out:
            assert f"/* {action.name}: " in text
            names = [guard.name for guard in action.guards] + [update.name for update in action.updates]
            assert [name for name in names if f"/* {name} */" not in text] in ([], ["actor"])
    assert "knows_borrower2_k1 = 1;  /* read */" in text


def test_strays_stand_for_what_was_left_out(tmp_path: Path) -> None:
    """Whoever says that a place never changes is not believed: a step that would change it breaks an assertion."""
    source = load(TOY)
    design = source.protocol("main")
    instance = source.instance(design, COLLUSION, source.profile("tiny"))
    wrong = frozenset(place for place in ground(design, instance, {}).values if place.symbol != "returned")
    told = ground(design, instance, {}, wrong)
    assert {step.action.name for step, _ in told.strays} == {"give_back", "fake_return"}
    file = tmp_path / "toy.pml"
    file.write_text(promela(design, instance, told, ModelHeader(file.name, COLLUSION)))
    if shutil.which("spin") and COMPILER:
        assert verified(file, shortest=True, optimise=SMALL).broken.startswith("stray")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--to", "smtlib", "--moves", "2"), "--to smtlib writes no instance: expected no --moves"),
        (("--to", "promela", "--variant", "main", "--variant", "forgetful"), "expected --variant once"),
        (("--to", "promela", "--threat", "none", "--threat", COLLUSION), "expected --threat once"),
        (("--to", "promela", "--full"), "--to promela writes no obligations: expected no --full"),
        (("--to", "tla", "--max-states", "5"), "--to tla visits no states: expected no --max-states"),
        (("--to", "promela", "--threat", "nobody"), "no threat model 'nobody'"),
        (("--to", "promela", "--set", "unknown=2"), "unknown"),
        (("--to", "promela", "--profile", "huge"), "huge"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_makes_no_model_is_refused_in_one_line(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = carnet("export", TOY, *options, "--out", str(out))
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not out.exists()


def test_a_file_that_no_export_wrote_stays(tmp_path: Path) -> None:
    own = tmp_path / "toy.pml"
    own.write_text("mine")
    assert carnet("export", TOY, "--to", "promela", "--out", str(tmp_path)).code == 2
    assert own.read_text() == "mine"


@needs_spin
def test_where_carnet_did_not_look_spin_counts_the_same(tmp_path: Path) -> None:
    source = load(TOY)
    design = source.protocol("main")
    instance = source.instance(design, COLLUSION, source.profile("tiny"))
    written = ground(design, instance, {})
    assert not written.strays
    file = tmp_path / "toy.pml"
    file.write_text(promela(design, instance, written, ModelHeader(file.name, COLLUSION)))
    assert verified(file, optimise=SMALL).states == 144


def test_what_is_too_large_to_visit_is_written_all_the_same(tmp_path: Path) -> None:
    text = exported(tmp_path, TOY, "--max-states", "5").read_text()
    assert "Carnet did not visit its states." in text
    assert "stray" not in text.partition("active proctype")[2]
