"""Answers are looked up for many states at once: by more memos than a word has bits, and in tables that are crowded."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

import numpy as np

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.search import PackedSearch, Sighting, most_answers
from carnet_check.engines.native import book, machine
from carnet_check.engines.native.book import Book
from carnet_check.engines.native.search import NativeSearch
from carnet_check.engines.native.tables import EMPTY, MARKED
from carnet_spec.language import Draft, Formula, Instance, Protocol, Role, Step, flag
from tests.fixtures.unseen import letters, relay, sites, vote

LAMPLIGHTER = Role("lamplighter")
LAMPS = 70


def lit_after(number: int, before: Formula | None, lamp: Formula) -> Callable[[Step], None]:
    """Return the action that lights a lamp, which has a number, after the one before it, if there is one."""

    def light(step: Step) -> None:
        if before is not None:
            step.require("the one before is lit", before)
        step.insert(lamp)

    light.__name__ = f"light_{number}"
    return light


def street() -> Protocol:
    """Return a street whose lamps are lit one after the other, each by an action of its own."""
    draft = Draft("street", "A street")
    draft.threat("none", "nobody puts lamps out")
    lamps = [flag(f"lamp_{number}", of=LAMPLIGHTER, says=f"lamp {number} is lit") for number in range(LAMPS)]
    for number, lamp in enumerate(lamps):
        light = lit_after(number, lamps[number - 1] if number else None, lamp)
        draft.action(by=LAMPLIGHTER, says="A lamp is lit.", source="tests")(light)
    return draft.protocol()


def test_more_actions_than_a_word_has_bits_all_take_their_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(most_answers.__globals__, "FEW", 0)  # so that none are answered for together
    protocol, instance = street(), Instance(elements={})
    expected, found = (
        explore(protocol, instance, invariants=(), packed=packed)
        for packed in (PackedSearch, functools.partial(NativeSearch, hand_over_at=1))
    )
    assert (found.states, found.transitions, found.depth) == (expected.states, expected.transitions, expected.depth)
    assert found.depth == LAMPS - 1  # whether the last lamp is lit matters to nobody
    assert len(protocol.actions) > MARKED
    assert found.fired == expected.fired


@pytest.mark.parametrize(
    ("protocol", "instance"), [(vote(), sites(3)), (relay(), letters(2, among=3))], ids=["vote", "relay"]
)
def test_crowded_tables_have_the_same_answers(
    protocol: Protocol, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many answers then belong in a place that another one has."""
    for module in (book, machine):
        monkeypatch.setattr(module, "ASKED", 4)
    expected, found = (
        explore(protocol, instance, invariants=(), packed=packed)
        for packed in (PackedSearch, functools.partial(NativeSearch, hand_over_at=1))
    )
    assert (found.states, found.transitions, found.depth) == (expected.states, expected.transitions, expected.depth)
    assert found.fired == expected.fired


def longest_run(bits: int) -> int:
    """Return how many cells side by side are full of answers about eight neighbouring bits, from one on."""
    memo: Memo[Sighting] = Memo(lambda _: ())
    memo.grow(0xFF << bits)
    written = Book(1, (), (memo,))
    states = np.arange(256, dtype=np.uint64) << np.uint64(bits)
    written._enter(np.zeros(256, np.int64), states, np.full(256, 3, np.uint64))
    base, size = int(written.tables.bases[0]), int(written.tables.sizes[0])
    filled = np.flatnonzero(written.tables.cells[base : base + 2 * size : 2] != EMPTY)
    runs = np.split(filled, np.flatnonzero(np.diff(filled) > 1) + 1)
    return max(map(len, runs))


@pytest.mark.parametrize("bits", range(0, 57, 4))
def test_keys_spread_over_a_table_whichever_bits_tell_them_apart(bits: int) -> None:
    assert longest_run(bits) <= 16
