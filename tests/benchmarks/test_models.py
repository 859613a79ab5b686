"""The narrow models that engines are measured by: the oracle counts in a small instance what every engine counts."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple

import pytest

from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import all_able
from carnet_check.loading.families import load
from carnet_spec.language import Action, Instance, Protocol
from carnet_spec.language.terms import Exists
from tests.benchmarks import spin
from tests.fixtures.spin import SMALL, needs_spin, verified
from tests.oracle import machine
from tests.oracle.replay import World
from tests.repo.tracked import ROOT
from tests.unit.model_check.command import carnet

MODELS = sorted((ROOT / "tests/benchmarks/models").glob("*.py"))
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)


class Counted(NamedTuple):
    """What a search counted and found."""

    states: int
    transitions: int
    depth: int
    broken: frozenset[str]
    reached: frozenset[str]


def posed(model: Path, profile: str = "tiny") -> tuple[Protocol, Instance]:
    """Return a model and an instance, the small one unless another is named."""
    source = load(str(model))
    protocol = source.protocol()
    (threat,) = protocol.threats
    return protocol, source.instance(protocol, threat.id, source.profile(profile))


def bits(protocol: Protocol, instance: Instance) -> int:
    """Return how many bits tell the states of an instance apart, each symbol by itself at each of its rows."""
    changing = [symbol for symbol in protocol.symbols if symbol.mutable]
    rows = [prod(len(instance.of(sort)) for sort in symbol.domain) for symbol in changing]
    values = [2 if symbol.is_relation else len(instance.of(symbol.result)) for symbol in changing]
    return sum(number * (several - 1).bit_length() for number, several in zip(rows, values, strict=True))


def in_order(action: Action, layout: machine.Layout) -> machine.Successors:
    """Return the steps of an action that draws elements in their order, as engines do."""
    every = machine.successors_of(action, layout)
    drawn = [place for place, var in enumerate(action.params) if var in action.fresh]

    def steps(state: machine.State) -> list[machine.Successor]:
        taken = every(state)
        least = [min((args[place] for args, _ in taken), default=0) for place in drawn]
        return [(args, after) for args, after in taken if [args[place] for place in drawn] == least]

    return steps


def after_each(state: machine.State, steps: Sequence[machine.Successors]) -> list[machine.State]:
    return [after for step in steps for _, after in step(state) if after is not None]


def deduced(state: machine.State, rules: Sequence[machine.Successors]) -> machine.State:
    """Return the state with whatever follows from it."""
    further = tuple(map(max, zip(state, *after_each(state, rules), strict=True)))
    return state if further == state else deduced(further, rules)


def by_the_oracle(protocol: Protocol, instance: Instance) -> Counted:
    """Count what can be reached without any engine, with deductions made as soon as they can be."""
    world = World(protocol, instance)
    layout = machine.Layout.of(protocol, world.sizes)
    rules = [in_order(action, layout) for action in protocol.actions if action.deduction]
    steps = [in_order(action, layout) for action in protocol.actions if not action.deduction]
    level = {deduced(layout.state(start), rules) for start in world.starts()}
    seen, transitions, depth = set(level), 0, 0
    while level:
        after = [each for state in level for each in after_each(state, steps)]
        level = {deduced(each, rules) for each in after} - seen
        seen |= level
        transitions += len(after)
        depth += bool(level)
    claims = {each.name: machine.test_of(each.checked.formula, layout) for each in protocol.claims}
    goals = {each.name: machine.test_of(Exists(each.params, each.body), layout) for each in protocol.goals}
    broken = frozenset(name for name, holds in claims.items() if not all(map(holds, seen)))
    return Counted(
        len(seen), transitions, depth, broken, frozenset(n for n, met in goals.items() if any(map(met, seen)))
    )


def by_an_engine(engine: Explores, protocol: Protocol, instance: Instance) -> Counted:
    """Count by an engine that leaves nothing out."""
    invariants = [claim.checked for claim in protocol.claims]
    found = engine.explore(protocol, instance, invariants=invariants, goals=protocol.goals, reduction=False)
    assert found.complete
    return Counted(found.states, found.transitions, found.depth, frozenset(found.violations), frozenset(found.goals))


def test_every_model_is_measured_beside_spin() -> None:
    assert sorted(spin.NARROW) == [f"{model.relative_to(ROOT)} --profile narrow" for model in MODELS]
    assert {*spin.NARROW} <= {*spin.USUAL}


@every_model
def test_a_model_is_narrow(model: Path) -> None:
    assert 32 < bits(*posed(model, "narrow")) <= 64


@every_model
def test_every_search_counts_what_the_oracle_counts(model: Path) -> None:
    protocol, instance = posed(model)
    counted = by_the_oracle(protocol, instance)
    assert not counted.broken
    assert counted.reached == {goal.name for goal in protocol.goals}
    for engine in all_able(Explores):
        assert engine.lacks or by_an_engine(engine, protocol, instance) == counted, engine.name


@needs_spin
@every_model
def test_spin_counts_them_too(model: Path, tmp_path: Path) -> None:
    explored = carnet("explore", str(model), "--no-reduction", "--json").json
    assert carnet("export", str(model), "--to", "promela", "--out", str(tmp_path)).code == 0
    (exported,) = tmp_path.iterdir()
    counted = verified(exported, optimise=SMALL)
    assert explored["complete"]
    assert (counted.states, counted.transitions, counted.errors) == (explored["states"], explored["transitions"] + 1, 0)
