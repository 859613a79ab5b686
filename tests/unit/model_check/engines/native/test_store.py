"""What the native engine stores: rows of words, keys, groups and looked-up answers, however crowded."""

from __future__ import annotations

import pytest

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

import functools
import importlib
from collections.abc import Callable
from typing import cast
from unittest.mock import patch

import numba
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch, Sighting, most_answers
from carnet_check.engines.exploration import Caps
from carnet_check.engines.native import answer_tables, kernel, machine, rows
from carnet_check.engines.native import store as native_store
from carnet_check.engines.native.answer_tables import AnswerTables
from carnet_check.engines.native.rows import CHEAPER, FOUND
from carnet_check.engines.native.search import NativeSearch
from carnet_check.engines.native.store import MOST_STATES, WORD, Gathering, Store, packed, row_of
from carnet_check.engines.native.tables import CODE, EMPTY, MARKED, NONE, Number, StateTable, Words
from carnet_check.semantics import Interpreter
from carnet_spec.language import Draft, Formula, Instance, Protocol, Role, Step, flag
from tests.fixtures.unseen import letters, relay, sites, vote

BITS = 130


def _slot(row: Words, like: Words, table: StateTable) -> Number:
    """Look for a row where another one would be."""
    h = rows.hashed(like, 0, table)
    return rows.slot_for(h, rows.home(h, table), row, 0, table)


slot_for = cast(Callable[[Words, Words, StateTable], int], numba.njit(_slot))
"""Python cannot call what is made for the kernel alone; not kept on the disk, where it would outlive the kernel's."""
states = st.lists(st.integers(0, (1 << BITS) - 1), unique=True, max_size=60)
ABSENT = 0


def told_of(state: int, store: Store, like: int | None = None) -> int:
    """Return what the kernel tells of a state; it takes its hash for that of another one, if told."""
    row, other = (np.zeros(store.table.width, np.uint64) for _ in range(2))
    for each, table in ((state, row), (state if like is None else like, other)):
        if native_store.pack(row_of(each, store.words), store.words, 0, store.table._replace(rows=table)) != NONE:
            return ABSENT
    return min(int(slot_for(row, other, store.table)), ABSENT)


def row_numbers(part: Words) -> list[int]:
    """Return states, each a row of words, as numbers."""
    return [int.from_bytes(row.tobytes(), "little") for row in part]


@given(states, st.integers(0, 40), st.integers(1, 50), st.sampled_from([2, 16, 1024]))
def test_states_keep_their_order_and_are_found_again(known: list[int], more: int, room: int, places: int) -> None:
    """Also where words are spelt out, as they have more values than there are codes."""
    with patch.multiple(native_store, FEWEST=2, MOST=places):
        store = Store(3, packed(known, 3), len(known) + more + 1)
        for _ in range(2):
            assert list(store) == store[:] == known
            assert len(store) == len(known)
            assert all(told_of(state, store) == FOUND for state in known)
            half = len(known) // 2
            assert [each for part in store.words_from(half) for each in row_numbers(part)] == known[half:]
            assert store.most >= len(known)
            store.make_room(room)
            assert store.most >= len(known) + room - 1
            store.widen(store.words + 1)
            for word in np.flatnonzero(store.table.fields < 1 << CODE):
                store.make_codes(int(word))
        assert told_of((1 << BITS) + 1, store) == ABSENT


@given(
    st.integers(1, 10),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1 << 10)), unique=True, max_size=60),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1 << 10)), max_size=20),
    st.sampled_from([4, 64, 1 << 17]),
)
def test_the_same_state_at_less_cost_is_met(
    counting: int, known: list[tuple[int, int]], asked: list[tuple[int, int]], places: int
) -> None:
    """Whether the word in which costs are counted is kept as a code, with them below, or as it is."""
    spent = (1 << counting) - 1
    costs = {(core << 62 | core << 80, cost & spent) for core, cost in known}
    states = [core << counting | cost for core, cost in sorted(costs)]
    with patch.multiple(native_store, FEWEST=4, MOST=places):
        store = Store(2, packed(states, 2), len(states) + 1, spent)
        for _ in range(2):
            assert store[:] == states
            for core, cost in [*known, *asked]:
                state = core << 62 | core << 80, cost & spent
                there = {other for same, other in costs if same == state[0]}
                expected = FOUND if state[1] in there else CHEAPER if there and min(there) < state[1] else ABSENT
                assert told_of(state[0] << counting | state[1], store) == expected
            store.make_room(40)
            store.widen(store.words + 1)


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=1))
def test_what_was_found_at_less_cost_is_passed_over(known: set[tuple[int, int]]) -> None:
    states = [core << 3 | cost for core, cost in sorted(known)]
    store = Store(1, packed(states, 1), len(states) + 1, 7)
    idle = np.zeros(len(states), np.uint8)
    kernel.pass_over(0, store.table, idle, np.zeros(4, np.uint64), np.zeros(1, np.uint64))
    cheapest = {core: min(cost for same, cost in known if same == core) for core, _ in known}
    assert idle.tolist() == [int(cost > cheapest[core]) for core, cost in sorted(known)]


@pytest.mark.parametrize("begun", [1_000, 4_096, 10_007])
def test_a_state_takes_at_most_eight_bytes_of_the_table(begun: int) -> None:
    """Right after the table grew it is as empty as it gets."""
    store = Store(1, packed(range(begun), 1), begun)
    store.make_room(1)
    assert store.table.slots.nbytes <= 8 * store.size + 8
    assert store.most > store.size


def test_most_words_are_kept_as_codes() -> None:
    """Three words of sixty values take one, and four where one of them has more values than there are codes."""
    known = [value << 64 | value << 128 for value in range(60)]
    for places, width in ((128, 1), (64, 3)):
        with patch.multiple(native_store, FEWEST=2, MOST=places):
            store = Store(3, packed(known, 3), 60)
        assert store.table.width == width
        assert store[:] == known


@pytest.mark.parametrize("bit", [0, 63, 64, BITS])
def test_a_state_is_told_from_one_with_the_same_hash(bit: int) -> None:
    state = (1 << BITS) // 3
    store = Store(3, packed([state], 3), 4)
    assert told_of(state, store) == FOUND
    assert told_of(state ^ 1 << bit, store, like=state) == ABSENT


def test_more_states_than_numbers_are_refused() -> None:
    store = Store(1, packed([0, 1], 1), 4)
    with pytest.raises(MemoryError):
        store.make_room(MOST_STATES)
    assert store[:] == [0, 1]


WORDS = 3
ALL = (1 << WORD) - 1
bits = st.integers(0, (1 << WORD * WORDS) - 1)
few = st.lists(st.integers(0, WORD * WORDS - 1), max_size=12).map(lambda places: sum(1 << place for place in {*places}))
growing = st.lists(few | bits, min_size=1, max_size=5)


def gathered(key: Gathering, state: int) -> list[int]:
    """Gather a key as the kernel does."""
    found = []
    for part in key.parts:
        word = 0
        for source, (mask, turn) in enumerate(zip(part.masks, part.turns, strict=True)):
            some = state >> WORD * source & mask
            word |= (some << turn | some >> WORD - turn) & ALL
        found.append(word)
    return found


def scattered(key: Gathering, gathered: list[int]) -> int:
    """Return the state that a key was gathered from."""
    (words,) = key.scattered(np.array([gathered], np.uint64).reshape(1, -1))
    return int.from_bytes(words.tobytes(), "little")


@given(growing, bits)
def test_every_bit_that_is_read_comes_back(reads: list[int], state: int) -> None:
    key = Gathering(WORDS, 0)
    read = 0
    for more in reads:
        key.read(more)
        read |= more
        assert scattered(key, gathered(key, state)) == state & read


@given(bits, few, bits)
def test_what_was_gathered_stays_where_it_is_when_more_is_read(reads: int, more: int, state: int) -> None:
    key = Gathering(WORDS, reads)
    before = gathered(key, state & reads)
    key.read(more)
    assert gathered(key, state & reads)[: len(before)] == before


@given(bits)
def test_a_key_is_no_longer_than_a_state(reads: int) -> None:
    assert len(Gathering(WORDS, reads).parts) <= WORDS


@given(few)
def test_few_bits_are_one_word_wherever_they_are(reads: int) -> None:
    assert len(Gathering(WORDS, reads).parts) <= 1


groups = importlib.import_module("carnet_check.engines.explicit.search")
WATCH = Watch(Caps(states=2_000))


def searched(protocol: Protocol, instance: Instance) -> NativeSearch:
    """Return a search that went on beyond the kernel's taking over."""
    model = build(Interpreter(protocol, instance), (), (), reduce=False)
    search = NativeSearch(model, WATCH, enough=0, dominance=True, hand_over_at=500)
    search.run()
    return search


@pytest.mark.parametrize(
    ("protocol", "instance"), [(vote(), sites(3)), (relay(), letters(2, among=3))], ids=["vote", "relay"]
)
def test_actions_in_parts_do_the_same(protocol: Protocol, instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "FEW", 1)
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    expected, found = (
        explore(protocol, instance, invariants=invariants, packed=packed, stop_at_first=False)
        for packed in (PackedSearch, functools.partial(NativeSearch, hand_over_at=100))
    )
    assert expected.complete
    assert (found.states, found.transitions, found.depth) == (expected.states, expected.transitions, expected.depth)
    assert found.fired == expected.fired


def test_actions_that_depend_on_few_bits_stay_whole() -> None:
    protocol = vote()
    assert len(searched(protocol, sites(1)).expanders) == len(protocol.actions)


def test_actions_fall_into_parts_until_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = vote()
    monkeypatch.setattr(groups, "FEW", 1)
    some = len(searched(protocol, sites(3)).expanders)
    assert some > len(protocol.actions)
    monkeypatch.setattr("carnet_check.engines.native.search.MANY", some - 1)
    assert len(protocol.actions) < len(searched(protocol, sites(3)).expanders) < some


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
def test_crowded_tables_answer_alike(protocol: Protocol, instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many answers then belong in a place that another one has."""
    for module in (answer_tables, machine):
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
    written = AnswerTables(1, (), (memo,))
    states = np.arange(256, dtype=np.uint64) << np.uint64(bits)
    written._enter(np.zeros(256, np.int64), states, np.full(256, 3, np.uint64))
    base, size = int(written.tables.bases[0]), int(written.tables.sizes[0])
    filled = np.flatnonzero(written.tables.cells[base : base + 2 * size : 2] != EMPTY)
    return max(map(len, np.split(filled, np.flatnonzero(np.diff(filled) > 1) + 1)))


@pytest.mark.parametrize("bits", range(0, 57, 4))
def test_keys_spread_over_a_table_whichever_bits_tell_them_apart(bits: int) -> None:
    assert longest_run(bits) <= 16
