"""``carnet export --to tla``: a module that parses, leaves out no part, and refers to nothing undefined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from carnet_check.exports.tla import Terms, configuration, tla
from carnet_check.loading.families import load
from carnet_spec.language import Action, Protocol
from carnet_spec.language.expressions import used_symbol
from tests.fixtures import reversed_draws
from tests.fixtures.tla import bound, declared, defined, definition, mistakes, nodes, parsed, undefined
from tests.property.random_protocols import Sample, samples
from tests.unit.model_check.command import TOY, carnet

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
    root = parsed(text)
    assert len(declared(root)) >= sum(symbol.mutable for symbol in protocol.symbols)
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


def test_the_toy_is_a_sound_module(tmp_path: Path) -> None:
    text, config = exported(tmp_path, TOY)
    is_sound(text)
    says_everything(text, load(TOY).protocol("main"))
    assert config.splitlines()[1:] == [
        "SPECIFICATION Spec",
        "CHECK_DEADLOCK FALSE",
        "INVARIANT TypeOK",
        "INVARIANT secrecy",
    ]


def test_one_step_saturates(tmp_path: Path) -> None:
    """Whatever a step writes goes through the deductions before it is the next state, and so does the first one."""
    text, _ = exported(tmp_path, TOY)
    for action in load(TOY).protocol("main").actions:
        if not action.deduction:
            assert "Become(Saturated(" in definition(text, action.name)
    assert "Saturated(First)" in definition(text, "Init")
    assert definition(text, "Saturated").strip() == (
        "Saturated(s) == LET t == Deduced(s) IN IF t = s THEN s ELSE Saturated(t)"
    )


def test_a_fresh_value_is_the_first_that_is_unused(tmp_path: Path) -> None:
    text, _ = exported(tmp_path, TOY)
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
