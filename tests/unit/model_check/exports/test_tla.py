"""TLA+ and the informal trace format: a module that parses and has the states that Carnet counts, and traces."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from carnet_check.exports.tla import Terms, configuration, tla
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_spec.language import Action, Protocol
from carnet_spec.language.expressions import used_symbol
from tests.fixtures import reversed_draws, shells, stove
from tests.fixtures.interpreted import interpreted
from tests.fixtures.tla import (
    Visited,
    bound,
    declared,
    defined,
    definition,
    mistakes,
    nodes,
    parsed,
    undefined,
    visited,
)
from tests.property.random_protocols import Sample, samples
from tests.unit.model_check.command import FIXTURES, TOY, carnet

GPU = "gpu-travelling"
LENDING = "tests.unit.model_check.obligations.lending:lending"
DESIGNS = ("engine-per-holder", "sealed-under-master", "engine-per-holder-timed")


def exported(folder: Path, protocol: str, *options: str) -> tuple[str, str]:
    """Export and return the module and what TLC is told."""
    ran = carnet("export", protocol, "--to", "tla", *options, "--out", str(folder))
    assert ran.code == 0, ran.err
    (module,), (config,) = folder.glob("*.tla"), folder.glob("*.cfg")
    assert module.stem == config.stem
    return module.read_text(), config.read_text()


def is_sound(text: str) -> None:
    """Require that a module parses, and that no name is undefined, defined twice or hidden."""
    root = parsed(text)
    assert mistakes(root) == []
    assert undefined(root) == set()
    globals_ = [name for name in defined(root) if name != "free"] + declared(root)
    assert len(set(globals_)) == len(globals_)
    assert bound(root).isdisjoint(globals_)


def says_everything(text: str, protocol: Protocol) -> None:
    """Require that each guard, update, action and variable of a protocol has its place in the module."""
    assert len(declared(parsed(text))) >= sum(symbol.mutable for symbol in protocol.symbols)
    for action in protocol.actions:
        body = definition(text, action.name)
        for update in action.updates:
            assert body.count(f"\\* {update.name}") == 1 or _repeated(action, update.name), (action.name, update.name)
        if action.deduction:
            body = definition(text, f"{action.name}_given")
        for guard in action.guards:
            assert f"\\* {guard.name}" in body, (action.name, guard.name)
    taken = definition(text, "Next") + definition(text, "Deduced" if _rules(protocol) else "Next")
    assert all(action.name in taken for action in protocol.actions)


def _rules(protocol: Protocol) -> bool:
    return any(action.deduction for action in protocol.actions)


def _repeated(action: Action, name: str) -> bool:
    names = [guard.name for guard in action.guards] + [update.name for update in action.updates]
    return sum(each.startswith(name) for each in names) > 1


@pytest.mark.parametrize("design", DESIGNS)
def test_gpu_travelling_is_a_sound_module(design: str, tmp_path: Path) -> None:
    text, config = exported(tmp_path, GPU, "--variant", design)
    is_sound(text)
    says_everything(text, load(GPU).protocol(design))
    assert "INVARIANT confidentiality\n" in config or "timed" in design


def test_the_toy_is_a_sound_module_that_saturates_in_one_step(tmp_path: Path) -> None:
    """Whatever a step writes goes through the deductions before it is the next state, and so does the first one."""
    text, config = exported(tmp_path, TOY)
    is_sound(text)
    says_everything(text, load(TOY).protocol("main"))
    assert config.splitlines()[1:] == [
        "SPECIFICATION Spec",
        "CHECK_DEADLOCK FALSE",
        "INVARIANT TypeOK",
        "INVARIANT secrecy",
    ]
    for action in load(TOY).protocol("main").actions:
        if not action.deduction:
            assert "Become(Saturated(" in definition(text, action.name)
    assert "Saturated(First)" in definition(text, "Init")
    assert definition(text, "Saturated").strip() == (
        "Saturated(s) == LET t == Deduced(s) IN IF t = s THEN s ELSE Saturated(t)"
    )
    (line,) = (line for line in text.splitlines() if line.endswith(" : lend(to, key)"))
    used = used_symbol(next(sort for sort in load(TOY).protocol("main").sorts if sort.name == "Key")).name
    assert f'\\E key \\in FirstUnused(<<"k1", "k2", "k3">>, {used}) : ' in line


def test_a_budget_is_counted(tmp_path: Path) -> None:
    text, _ = exported(tmp_path, TOY, "--moves", "2")
    body = definition(text, "fake_return")
    assert "/\\ spent + 1 <= 2  \\* adversary budget" in body
    assert "!.spent = @ + 1" in body
    assert "spent \\in 0..2" in text


def test_what_is_expected_to_be_broken_does_not_stop_tlc(tmp_path: Path) -> None:
    _, config = exported(tmp_path, GPU)
    assert "\\* INVARIANT model_confidentiality    expected to be broken" in config.splitlines()


@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(samples())
def test_random_protocols_are_sound_modules(sample: Sample) -> None:
    text = tla(sample.protocol, sample.instance, sample.invariants, "none")
    is_sound(text)
    says_everything(text, sample.protocol)
    config = configuration(sample.protocol, sample.instance, sample.invariants)
    names = defined(parsed(text))
    assert all(line.split()[-1] in names for line in config.splitlines() if line.startswith(("INVARIANT", "SPEC")))


def test_a_part_left_out_is_noticed(tmp_path: Path) -> None:
    """The tests above can fail: without its guard, or with a name misspelt, a module is no longer sound."""
    text, _ = exported(tmp_path, TOY)
    protocol = load(TOY).protocol("main")
    with pytest.raises(AssertionError):
        says_everything(text.replace('  /\\ phase = "AWAY"  \\* away\n', ""), protocol)
    with pytest.raises(AssertionError):
        is_sound(text.replace('  /\\ phase = "AWAY"', '  /\\ fase = "AWAY"'))
    with pytest.raises(AssertionError):
        is_sound(text.replace('  /\\ phase = "AWAY"', "  /\\ phase = = 1"))
    assert sum(node.type == "operator_definition" for node in nodes(parsed(text))) > 20


@given(st.lists(st.text(st.sampled_from('aé<>9e"\\ \n'), max_size=6), unique=True, max_size=4))
@example(["é", "<e9>"])
def test_elements_that_differ_are_different_strings(elements: list[str]) -> None:
    terms = Terms(reversed_draws.PROTOCOL, reversed_draws.INSTANCE)
    written = [terms.element(each) for each in elements]
    assert len(set(written)) == len(elements)
    assert all(re.fullmatch(r'"[ !#-\[\]-~]*"', each) for each in written)


DEPTH = 8
HALL = f"{FIXTURES}/hall.py"
FORGETFUL = (TOY, "--variant", "forgetful", "--set", "borrowers=1", "--moves", "1")
INSTANCES = (
    (TOY,),
    (TOY, "--set", "borrowers=1"),
    (TOY, "--set", "borrowers=3"),
    (TOY, "--moves", "1"),
    (f"{FIXTURES}/cellar.py",),
    (f"{FIXTURES}/door.py",),
    (f"{FIXTURES}/house.py",),
)


def agrees(folder: Path, protocol: str, *options: str) -> Visited:
    """Compare the states, the steps and the broken claims with ``carnet explore --no-reduction``."""
    explored = carnet("explore", protocol, *options, "--no-reduction", "--json").json
    counted = visited(*exported(folder, protocol, *options))
    assert explored["complete"]
    assert (counted.states, counted.steps) == (explored["states"], explored["transitions"])
    assert counted.broken.keys() == {each["claim"].replace("-", "_") for each in explored["violations"]}
    return counted


@pytest.mark.parametrize("words", INSTANCES, ids=lambda words: " ".join(Path(word).name for word in words))
def test_a_module_has_the_states_that_carnet_counts(words: tuple[str, ...], tmp_path: Path) -> None:
    assert not agrees(tmp_path, *words).broken


def test_the_modules_of_broken_designs_are_broken(tmp_path: Path) -> None:
    assert agrees(tmp_path / "1", HALL).broken["guests_show"]
    assert agrees(tmp_path / "2", *FORGETFUL).broken["secrecy"]


@pytest.mark.parametrize("given", [reversed_draws, shells, stove], ids=["draws", "shells", "stove"])
def test_a_module_has_what_the_interpreter_counts_of(given: ModuleType) -> None:
    """Draws follow the parameters, updates read the state before the step, and what was removed may follow anew."""
    design, instance = given.PROTOCOL, given.INSTANCE
    counted = visited(tla(design, instance, (), "none"), configuration(design, instance, ()))
    explored = interpreted(design, instance, invariants=())
    assert (counted.states, counted.steps) == (explored.states, explored.transitions)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_module_of_gpu_travelling_begins_as_the_interpreter_does(tmp_path: Path) -> None:
    """As many states after each number of steps; all of them would take hours in Python."""
    source = load(GPU)
    protocol = source.protocol(source.family.main[0])
    interpreter = Interpreter(protocol, source.instance(protocol, "outsider", source.profile("tiny")))
    level = {interpreter.initial()}
    found, levels = set(level), [1]
    while len(levels) < DEPTH:
        below = {interpreter.step(state, *taken) for state in level for taken in interpreter.enabled_steps(state)}
        level = below - found
        found |= level
        levels.append(len(level))
    counted = visited(*exported(tmp_path, GPU, "--threat", "outsider"), depth=DEPTH)
    assert counted.levels == tuple(levels)
    assert not counted.broken


def test_an_itf_trace_round_trips_through_its_python_reader(tmp_path: Path) -> None:
    import itf_py

    file = tmp_path / "attack.itf.json"
    carnet("attack", TOY, "--without", "fresh-key", "--itf", str(file))
    written = json.loads(file.read_text())
    trace = itf_py.trace_from_json(written)
    assert list(trace.vars) == written["vars"]
    assert [state.values["mbt::actionTaken"] for state in trace.states][:3] == ["init", "lend", "read"]
    assert trace.states[1].values["lent"] == frozenset({("borrower2", "k1")})
    again = itf_py.trace_to_json(trace)
    assert itf_py.trace_from_json(again) == trace
    assert normal(again["states"]) == normal(written["states"])


def test_only_a_lasso_has_a_loop(tmp_path: Path) -> None:
    import itf_py

    out = tmp_path / "run"
    swinging = f"{FIXTURES / 'mended.py'}:a_light_that_swings"
    carnet("verify", swinging, "--claim", "lights-up", "--engine", "explicit", "--out", str(out))
    (file,) = (out / "attacks").glob("*.itf.json")
    trace = itf_py.trace_from_json(json.loads(file.read_text()))
    assert (trace.loop, [state.values["paid"] for state in trace.states]) == (0, [False, True, False])
    attack = tmp_path / "attack.itf.json"
    carnet("attack", TOY, "--without", "fresh-key", "--itf", str(attack))
    assert "loop" not in json.loads(attack.read_text())


def normal(value: Any) -> Any:
    """Return an ITF value with its sets and maps in one order."""
    if isinstance(value, dict):
        return {
            key: sorted(normal(part), key=str) if key in ("#set", "#map") else normal(part)
            for key, part in value.items()
        }
    return [normal(part) for part in value] if isinstance(value, list) else value
