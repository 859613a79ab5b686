"""The states of an exported module, visited by the rules of TLA+, are those that Carnet counts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.exports.tla import configuration, tla
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from tests.fixtures import reversed_draws, shells, stove
from tests.fixtures.tla_states import Visited, visited
from tests.unit.model_check.command import FIXTURES, TOY, carnet

GPU = "gpu-travelling"
DEPTH = 8
HALL = f"{FIXTURES}/hall.py"
FORGETFUL = (TOY, "--variant", "forgetful", "--set", "borrowers=1")
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
    explored = explore(design, instance, invariants=(), engine="interpreter", reduction=False)
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
        below = {interpreter.step(state, *taken) for state in level for taken in interpreter.enabled(state)}
        level = below - found
        found |= level
        levels.append(len(level))
    counted = visited(*exported(tmp_path, GPU, "--threat", "outsider"), depth=DEPTH)
    assert counted.levels == tuple(levels)
    assert not counted.broken
