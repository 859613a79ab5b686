"""Lines: an order whose pairs are not stored means what a stored one means, and counters cost the same however far."""

from __future__ import annotations

import itertools
import json
from collections.abc import Set
from dataclasses import replace

import pytest

from carnet_check.conformance import Follower, Machine
from carnet_check.conformance.tables import PER_EVENT, Line, Relation
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_spec.language import InLine, Instance, Profile, Protocol
from carnet_spec.trace import TraceEvent, TraceStep
from tests.fixtures.fast_parties import ChainTrainer, FastDeployment
from tests.fixtures.travelling import SOURCE
from tests.fixtures.worlds import world_of

NAMES = ("a", "b", "c", "d")
STORED = frozenset(itertools.combinations(NAMES, 2))


def test_a_line_is_its_pairs() -> None:
    line: Set[object] = InLine(NAMES)
    assert line == STORED
    assert (len(line), sorted(map(str, line)), hash(line)) == (6, sorted(map(str, STORED)), hash(InLine(NAMES)))
    assert {row for row in itertools.product((*NAMES, "e"), repeat=2) if row in line} == STORED
    assert "a" not in line
    assert line & {("a", "b"), ("b", "a")} == {("a", "b")}


@pytest.mark.parametrize("positions", [(), (0,), (1,), (0, 1)], ids=str)
def test_a_line_is_looked_up_as_a_table_is(positions: tuple[int, ...]) -> None:
    line, stored = Line("before", InLine(NAMES)).index(positions), Relation("before", sorted(STORED)).index(positions)
    for key in itertools.product(NAMES, repeat=len(positions)):
        found, expected = line.get(key, {}), stored.get(key, {})
        assert (sorted(found), len(found)) == (sorted(expected), len(expected))
        assert all((row in found) == (row in expected) for row in itertools.product(NAMES, repeat=2))


def recorded(rounds: int) -> list[TraceStep]:
    """Return the steps of a run in which every epoch is a channel of its own on an engine."""
    deployment = FastDeployment(holder_names(2), rounds, chunks=2, chunk_bytes=16, trainer=ChainTrainer())
    world, _ = world_of(deployment)
    world.run(500 * rounds)
    steps = (TraceEvent.from_json(json.loads(line)).step for line in world.recorder.lines)
    return [step for step in steps if isinstance(step, TraceStep)]


def design(rounds: int, steps: list[TraceStep], stored: bool = False) -> tuple[Protocol, Instance]:
    """Return the protocol, and an instance that has whatever the steps name."""
    protocol = SOURCE.protocol("engine-per-holder")
    sizes = {"holders": 2, "corrupt": 0, "chunks": 2, "rounds": rounds, "slots": rounds + 8}
    instance = SOURCE.instance(protocol, "outsider", Profile("a run", sizes))
    named: dict[str, dict[str, None]] = {
        sort: dict.fromkeys(value for step in steps for name, value in step.args if name in places)
        for sort, places in {"Key": "kj", "Session": "s", "Version": "n"}.items()
    }
    elements = {sort: (*instance.elements[sort], *names) for sort, names in named.items()}
    before = instance.relations["before"]
    relations = {**instance.relations, "before": frozenset(before) if stored else before}
    return protocol, replace(instance, elements={**instance.elements, **elements}, relations=relations)


def verdict(protocol: Protocol, instance: Instance, steps: list[TraceStep]) -> tuple[int, str] | None:
    follower = Follower(Machine(protocol, instance))
    found = next((found for step in steps if (found := follower.take(step)) is not None), None)
    return None if found is None else (found.index, found.why)


def test_stored_or_not_the_verdict_is_the_same() -> None:
    steps = recorded(2)
    changed = [
        [*steps[:at], replace(step, args=(*step.args[:n], (name, other), *step.args[n + 1 :])), *steps[at + 1 :]]
        for at, step in enumerate(steps)
        for n, (name, value) in enumerate(step.args)
        if value.isdecimal()
        for other in (str(int(value) + 1), str(max(0, int(value) - 1)))
    ]
    verdicts = set()
    for each in (steps, *changed[::9]):
        one, other = (verdict(*design(2, steps, stored), each) for stored in (False, True))
        assert one == other
        verdicts.add(one is None)
    assert verdicts == {True, False}


def test_an_event_costs_no_more_where_a_counter_is_far() -> None:
    """Each return is the next channel on the orchestrator's engine: its counter goes as far as the run."""
    rounds = 120
    steps = recorded(rounds)
    follower = Follower(Machine(*design(rounds, steps)))
    part = len(steps) // 6
    spent = []
    for at in range(0, 6 * part, part):
        begun = follower.work.left
        assert [follower.take(step) for step in steps[at : at + part]] == [None] * part
        spent.append(begun + PER_EVENT * part - follower.work.left)
    assert spent[-1] < 1.1 * spent[1]
