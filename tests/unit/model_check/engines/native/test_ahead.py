"""Threads that work ahead: whatever they lack, and however they are late, a search finds what it finds alone."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Exploration
from carnet_check.engines.native import kernel, machine, search
from carnet_check.engines.native.tables import COUNTERS, EXPANDED, Number, room_to_work
from carnet_check.loading.families import load
from carnet_spec.language import Instance, Profile, Protocol
from tests.fixtures.unseen import letters, relay, sites, vote

Asked = tuple[Protocol, Instance, bool]
"""A protocol, an instance, and whether anything is left out."""


def _travelling() -> Asked:
    """Return an adversary with a budget, whose states are left out where they were reached at less cost."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    sizes = Profile("sizes", {"holders": 1, "corrupt": 1, "rounds": 1}, budget=2)
    return protocol, source.instance(protocol, "collusion", sizes), True


ASKED: dict[str, Callable[[], Asked]] = {
    "vote": lambda: (vote(), sites(4), False),
    "vote up to symmetry": lambda: (vote(), sites(6), True),
    "relay": lambda: (relay(), letters(2, among=3), False),
    "travelling": _travelling,
}


def found(asked: Asked, threads: int) -> Exploration:
    """Search in so many threads."""
    protocol, instance, reduction = asked
    return explore(
        protocol,
        instance,
        invariants=[claim.checked for claim in protocol.claims if claim.invariant],
        goals=protocol.goals,
        stop_at_first=False,
        reduction=reduction,
        packed=functools.partial(search.NativeSearch, hand_over_at=100, threads=threads),
    )


def said(explored: Exploration) -> tuple[object, ...]:
    """Return everything but how long it took, and how much memory."""
    counts = (explored.states, explored.transitions, explored.depth, explored.stopped_by, explored.fired)
    return (*counts, explored.violations, explored.goals, explored.reduction)


CROWDED = "vote up to symmetry"


@pytest.mark.parametrize(
    ("name", "threads"),
    [
        *((name, 2) for name in ASKED),
        (CROWDED, 5),
        *(pytest.param(name, 5, marks=pytest.mark.slow) for name in ASKED if name != CROWDED),
    ],
)
def test_any_number_of_threads_finds_the_same(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces included: of several ways to a state the same one is found first."""
    monkeypatch.setattr(search, "CHUNK", 64)
    monkeypatch.setattr(machine, "ASKED", 4)
    monkeypatch.setattr(machine, "FOLLOWERS", 1)
    monkeypatch.setattr(machine, "MOST_ALONE", 1)
    kinds: Counter[str] = Counter()
    piece = machine.Ahead.piece

    def counted(self: machine.Ahead, known: Callable[[], machine.Known], begin: int, end: int) -> machine.Piece:
        taken = piece(self, known, begin, end)
        reached = taken.counters[EXPANDED]
        kinds["all" if reached == taken.end else "none" if reached == begin else "some"] += 1
        kinds["no room"] += taken.done.result() == kernel.NARROW
        return taken

    asked = ASKED[name]()
    expected = found(asked, 1)
    monkeypatch.setattr(machine.Ahead, "piece", counted)
    assert said(found(asked, threads)) == said(expected)
    assert min(kinds[kind] for kind in ("all", "some", "no room")) > 0, kinds
    assert kinds["all"] > 100


def test_what_ends_a_search_ends_it_with_threads_under_way() -> None:
    protocol, instance = vote(), sites(5)
    stopped = explore(
        protocol,
        instance,
        invariants=(),
        max_states=100_000,
        reduction=False,
        packed=functools.partial(search.NativeSearch, threads=3),
    )
    assert stopped.stopped_by == "states"
    assert 100_000 <= stopped.states < 200_000


def test_what_was_given_to_a_thread_is_let_go_of_before_it_is_done() -> None:
    """Rows are memory that grows in its place, which it cannot while anybody holds it."""
    given: list[Any] = ["nothing that can be followed"]
    with pytest.raises(TypeError):
        machine._followed(given)
    assert not given


def _nothing() -> machine.Known:
    raise AssertionError("nothing more is begun")


def test_an_interrupt_forgets_no_thread_that_is_under_way() -> None:
    """A later stop waits for it."""

    class Interrupted(Future[Number]):
        def result(self, timeout: float | None = None) -> Number:
            raise KeyboardInterrupt

    working = machine.Ahead(threads=1, size=1)
    room = machine.Room(room_to_work(1, 1, 1, 1), np.zeros(1, np.uint32))
    piece = machine.Piece(1, room, np.zeros(COUNTERS, np.int64), Interrupted())
    working._pieces.append(piece)
    with pytest.raises(KeyboardInterrupt):
        working.piece(_nothing, 0, 1)
    with pytest.raises(KeyboardInterrupt):
        working.stop()
    assert [*working._pieces] == [piece]
