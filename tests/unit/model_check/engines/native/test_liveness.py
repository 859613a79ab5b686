"""Liveness by compiled code: the graph of all states, what of it is known, and its components."""

from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.liveness import Graph, GraphSearch, lassos
from carnet_check.engines.explicit.model import Model, build
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Caps
from carnet_check.engines.native import compiling
from carnet_check.engines.native.compiling import compiler
from carnet_check.engines.native.engine import NATIVE
from carnet_check.engines.native.liveness import NativeGraph, NativeGraphSearch
from carnet_check.engines.native.machine import Machine
from carnet_check.engines.native.search import NativeSearch
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import objection
from carnet_spec.language import Instance
from tests.fixtures.lassos import answers, compiled_lassos
from tests.property.test_native_agrees import APART, TIGHT, Room, within
from tests.unit.model_check.command import FIXTURES

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
DESK = load(str(FIXTURES / "desk.py")).protocol()
FOUR = Instance({"Person": ("ada", "eve", "joe", "kim")})
_, SERVED = DESK.liveness
UNFAIR = replace(SERVED, name="unfair", fair=(), strong=(), given=())


FEWER: dict[str, dict[str, Any]] = {
    "all fair": {},
    "weak fairness alone": {"strong": ()},
    "nobody has to bring it back": {"fair": ("lend",)},
    "nobody has to lend it": {"fair": ("bring_back",), "strong": (), "given": ()},
    "it may be lent to others": {"given": ()},
}
ROOMS = {"ample": {}, "tight": TIGHT, "nothing compiled anew": APART}
in_any_room = pytest.mark.parametrize("room", ROOMS.values(), ids=ROOMS)


def model() -> Model:
    return build(Interpreter(DESK, FOUR), (), (), reduce=False)


def numbers_of(graph: Graph) -> tuple[object, ...]:
    """Return what two graphs of the same states agree in, however these are numbered: steps by label, and degrees."""
    assert (np.diff(graph.sources.astype(np.int64)) >= 0).all()
    ends = (np.bincount(each, minlength=graph.states) for each in (graph.sources, graph.targets))
    sizes = np.bincount(graph.components() + 1)
    return np.bincount(graph.labels).tolist(), *(
        sorted(each.tolist()) for each in (*ends, graph.known, sizes[sizes > 0])
    )


@in_any_room
def test_the_graph_has_every_step_that_changes_something(room: Room) -> None:
    with within(room):
        expected = GraphSearch(model(), Watch(), ("lend",))
        found = NativeGraphSearch(model(), Watch(), ("lend",), hand_over_at=1)
        assert (expected.run(), found.run()) == (None, None)
        assert isinstance(found.graph, NativeGraph)
        assert bool(found.graph.strays) == (room is APART)
        assert numbers_of(found.graph) == numbers_of(expected.graph)


@in_any_room
@pytest.mark.parametrize("less", FEWER)
def test_each_fairness_is_needed_and_all_of_it_is_enough(less: str, room: Room) -> None:
    live = replace(SERVED, **FEWER[less])
    found = compiled_lassos(DESK, FOUR, [live], room)
    assert answers(found) == answers(lassos(DESK, FOUR, [live]))
    assert [*found.violations] == ([] if less == "all fair" else ["served"])
    assert not [why for trace in found.violations.values() if (why := objection(Interpreter(DESK, FOUR), live, trace))]


@in_any_room
def test_a_search_that_stops_knows_no_state_with_a_step_to_one_that_was_not_found(room: Room) -> None:
    """So no property is violated that holds, and a lasso that was found is one."""
    for most in range(2, 40, 3):
        with within(room):
            search = NativeGraphSearch(model(), Watch(Caps(states=most)), (), hand_over_at=1)
            stopped = search.run()
            assert search.graph.known.all() == (stopped is None)
        counts = np.bincount(search.graph.sources, minlength=search.graph.states)
        assert not counts[~search.graph.known].any()
        found = compiled_lassos(DESK, FOUR, [SERVED, UNFAIR], room, caps=Caps(states=most))
        assert "served" not in found.violations
        if stopped is not None:
            assert found.stopped_by == "states"


NODES = 12
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=40)


@pytest.fixture(scope="module")
def machine() -> Machine:
    search = NativeGraphSearch(model(), Watch(), (), hand_over_at=1)
    search.run()
    assert isinstance(search.graph, NativeGraph)
    return search.graph.machine


@given(EDGES)
def test_components_are_those_of_networkx(machine: Machine, edges: list[tuple[int, int]]) -> None:
    ordered = np.array(sorted(edges, key=itemgetter(0)), np.int64).reshape(-1, 2)
    begins = np.searchsorted(ordered[:, 0], np.arange(NODES + 1)).astype(np.uint64)
    found = machine.components(begins, ordered[:, 1].astype(np.uint32)).tolist()
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(NODES))
    groups = {frozenset(node for node in range(NODES) if found[node] == number) for number in found}
    assert groups == set(map(frozenset, nx.strongly_connected_components(graph)))


def test_a_long_cycle_is_one_component(machine: Machine) -> None:
    """Where a recursion would be too deep."""
    size = 300_000
    begins, targets = np.arange(size + 1, dtype=np.uint64), (np.arange(size, dtype=np.uint32) + 1) % size
    assert not machine.components(begins, targets).any()


def test_memory_that_is_not_there_leaves_open_what_was_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(_: Machine, *__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Machine, "components", no_memory)
    found = compiled_lassos(DESK, FOUR, [SERVED], {})
    assert (found.complete, found.stopped_by, found.violations) == (False, "memory", {})


def test_nothing_more_is_looked_for_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PackedSearch, "run", lambda _: "interrupt")
    monkeypatch.setattr(GraphSearch, "graph", property(lambda _: pytest.fail("the graph is made")))
    found = lassos(DESK, FOUR, [UNFAIR])
    assert (found.stopped_by, found.violations, found.undecided) == ("interrupt", {}, {})


def test_code_that_finds_no_numbers_of_states_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of a search without a graph has rows of one word."""
    monkeypatch.setenv(compiling.FOLDER, str(tmp_path / "code"))
    plain = NativeSearch(model(), Watch(), enough=0, dominance=False, hand_over_at=1)
    plain.run()
    assert isinstance(plain.found, Machine)
    assert plain.found.width == 1
    search = NativeGraphSearch(model(), Watch(), (), hand_over_at=1)
    search.run()
    expected = GraphSearch(model(), Watch(), ())
    expected.run()
    assert numbers_of(search.graph) == numbers_of(expected.graph)


def test_the_engine_looks_for_lassos_by_compiled_code_in_threads() -> None:
    made = NATIVE.with_threads(3).searches_of_graphs()
    assert isinstance(made, partial)
    assert (made.func, made.keywords) == (NativeGraphSearch, {"threads": 3})
