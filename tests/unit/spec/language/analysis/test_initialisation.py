"""Nothing is read before it is written: every early read is found, and few others, with random protocols as a judge."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_spec.language import *
from carnet_spec.language.analysis.initialisation import claims_that_read_early, early_reads
from tests.fixtures.thorough import share

PARTY = Role("party")


class Agent(Individual):
    """An agent."""


class Item(Individual, fresh=True):
    """An item."""


class Phase(Individual):
    """A phase."""

    START = member()
    MIDDLE = member()
    END = member()


boss = constant("boss", Agent)
phase = variable("phase", Phase, of=PARTY)
item = variable("item", Item, of=PARTY)
ready = flag("ready", of=PARTY)
local_phase = function("local_phase", Agent, to=Phase, kind=Kind.STATE, of=PARTY)
local_item = function("local_item", Agent, to=Item, kind=Kind.STATE, of=PARTY)
ticket = relation("ticket", Agent, kind=Kind.STATE, of=PARTY)
stored = relation("stored", Agent, Item, kind=Kind.STATE, of=PARTY)
owner = function("owner", Item, to=Agent, kind=Kind.GHOST)
fine = rigid_relation("fine", Item)
taken = relation("taken", Item, kind=Kind.MESSAGE)


def start(a: Agent) -> Phase:
    return Phase.START


def write(step: Step, i: Item) -> None:
    step.require("start", phase == Phase.START)
    step.set(item, i)
    step.set(phase, Phase.MIDDLE)


def drafted(*bodies: Any) -> Draft:
    """Return a draft that begins in the first phases and has these actions of the party."""
    draft = Draft("test", "Test")
    draft.initially(phase, Phase.START)
    draft.initially(local_phase, start)
    for body in bodies:
        draft.action(by=PARTY, says="x", source="y")(body)
    return draft


def _protocol(*bodies: Any) -> Protocol:
    return drafted(*bodies).protocol()


def _early(*bodies: Any) -> list[tuple[str, str]]:
    return [(read.action, read.symbol.name) for read in early_reads(_protocol(*bodies))]


def skip(step: Step) -> None:
    step.require("start", phase == Phase.START)
    step.set(phase, Phase.MIDDLE)


def write_and_mark(step: Step, i: Item) -> None:
    step.set(item, i)
    step.insert(ready)


def mark(step: Step) -> None:
    step.insert(ready)


def write_perhaps(step: Step, i: Item) -> None:
    step.require("start", phase == Phase.START)
    step.set(item, i, when=ready)
    step.set(phase, Phase.MIDDLE)


def read(step: Step, i: Item) -> None:
    step.require("middle", phase == Phase.MIDDLE)
    step.require("it", item == i)


def go_when_ready(step: Step) -> None:
    step.require("start", (phase == Phase.START) & ready)
    step.set(phase, Phase.MIDDLE)


def read_when_ready(step: Step, i: Item) -> None:
    step.require("it", ready & (item == i))


def read_at_once(step: Step, i: Item) -> None:
    step.require("it", item == i)


def read_in_a_phase_as_the_boss(step: Step, a: Agent, i: Item) -> None:
    step.require("both", (phase == Phase.MIDDLE) & (a == boss))
    step.require("it", item == i)


def read_guarded_inside(step: Step, i: Item) -> None:
    step.require("it", implies(phase == Phase.MIDDLE, item == i))
    step.require("or", any_of(phase != Phase.MIDDLE, item == i))


def read_in_the_condition_of_an_update(step: Step, i: Item) -> None:
    step.set(phase, Phase.END, when=(phase == Phase.MIDDLE) & (item == i))
    step.insert(taken(item), when=phase == Phase.MIDDLE)


def read_for_some(step: Step) -> None:
    step.require("it", exists(lambda a: ticket(a) & stored(a, item), Agent))


def write_and_give(step: Step, a: Agent, i: Item) -> None:
    step.set(item, i)
    step.insert(ticket(a))


def read_if_any(step: Step, a: Agent, i: Item) -> None:
    step.require("either", any_of(ready, ticket(a)))
    step.require("it", item == i)


def unreachable(step: Step, i: Item) -> None:
    step.require("end", phase == Phase.END)
    step.require("it", item == i)


def enter(step: Step, a: Agent, i: Item) -> None:
    step.require("start", local_phase(a) == Phase.START)
    step.set(local_item(a), i)
    step.set(local_phase(a), Phase.MIDDLE)


def leave(step: Step, a: Agent) -> None:
    step.require("middle", local_phase(a) == Phase.MIDDLE)
    step.require("it", fine(local_item(a)))


def leave_another(step: Step, a: Agent, b: Agent) -> None:
    step.require("middle", local_phase(a) == Phase.MIDDLE)
    step.require("it", fine(local_item(b)))


def push(step: Step, a: Agent, b: Agent) -> None:
    step.set(local_phase(a), Phase.END)
    step.set(local_phase(b), Phase.MIDDLE, name="push")


def clear_all(step: Step) -> None:
    every: Any = step.each(Agent)
    step.set(local_phase(every), Phase.MIDDLE)


def make(step: Step, a: Agent, i: Item) -> None:
    step.set(owner(i), a)
    step.insert(stored(a, i))
    step.set(item, i)


def make_for_nobody(step: Step, a: Agent, i: Item) -> None:
    step.insert(stored(a, i))


def read_owner(step: Step, a: Agent, i: Item) -> None:
    step.require("stored", stored(a, i))
    step.given("it", owner(i) == a)


def read_owner_of_another(step: Step, a: Agent, i: Item, j: Item) -> None:
    step.require("stored", stored(a, i) & taken(j))
    step.given("it", owner(j) == a)


def take(step: Step, i: Item) -> None:
    step.insert(taken(i))


def read_owner_of_variable(step: Step, a: Agent) -> None:
    step.require("ready", ready)
    step.given("it", owner(item) == a)


def make_and_mark(step: Step, a: Agent, i: Item) -> None:
    step.set(owner(i), a)
    step.set(item, i)
    step.insert(ready)


def read_owner_of_equal(step: Step, a: Agent, i: Item, j: Item) -> None:
    step.require("same", (i == j) & stored(a, i))
    step.given("it", owner(j) == a)


def read_owner_of_all(step: Step) -> None:
    step.given("it", forall(lambda i: implies(stored(boss, i), owner(i) == boss), Item))


def read_owner_of_every(step: Step) -> None:
    step.given("it", forall(lambda i: owner(i) == boss, Item))


def read_two_for_some(step: Step) -> None:
    step.given("one", exists(lambda i: stored(boss, i), Item))
    step.given("other", exists(lambda i: owner(i) == boss, Item))


ROWS: dict[str, tuple[tuple[Any, ...], list[tuple[str, str]]]] = {
    "a phase comes after": ((write, read), []),
    "a phase may come without": ((write, skip, read), [("read", "item")]),
    "written on condition": ((write_perhaps, read), [("read", "item")]),
    "a flag comes after": ((write_and_mark, read_when_ready), []),
    "a flag may come without": ((write_and_mark, mark, read_when_ready), [("read_when_ready", "item")]),
    "a flag that comes after leads on": ((write_and_mark, go_when_ready, read), []),
    "a flag that may come without leads on": ((write_and_mark, go_when_ready, mark, read), [("read", "item")]),
    "a phase says it beside what does not": ((write, read_in_a_phase_as_the_boss), []),
    "either flag comes after": ((write_and_mark, write_and_give, read_if_any), []),
    "one of two flags may come without": ((mark, write_and_give, read_if_any), [("read_if_any", "item")]),
    "at once": ((write, read_at_once), [("read_at_once", "item")]),
    "where it matters only later": ((write, read_guarded_inside, read_in_the_condition_of_an_update), []),
    "for some who came after": ((write_and_give, read_for_some, make_for_nobody), []),
    "never reached": ((unreachable,), []),
    "each in its phase": ((enter, leave), []),
    "another's phase": ((enter, leave_another), [("leave_another", "local_item")]),
    "pushed into a phase": ((enter, push, leave), [("leave", "local_item")]),
    "all put into a phase": ((enter, clear_all, leave), [("leave", "local_item")]),
    "recorded together": ((make, read_owner), []),
    "recorded without": ((make, make_for_nobody, read_owner), [("read_owner", "owner")]),
    "recorded of another": ((make, take, read_owner_of_another), [("read_owner_of_another", "owner")]),
    "recorded of what a variable holds": ((make_and_mark, read_owner_of_variable), []),
    "a variable that may hold another": (
        (make_and_mark, write, read_owner_of_variable),
        [("read_owner_of_variable", "owner")],
    ),
    "recorded of an equal": ((make, read_owner_of_equal), []),
    "recorded of all": ((make, read_owner_of_all), []),
    "read of every one": ((make, read_owner_of_every), [("read_owner_of_every", "owner")]),
    "two of one name": ((make, read_two_for_some), [("read_two_for_some", "owner")]),
}


@pytest.mark.parametrize("row", ROWS)
def test_what_is_read_too_early(row: str) -> None:
    bodies, early = ROWS[row]
    assert _early(*bodies) == early


class Room(Individual):
    """A room; ways lead from the first to the last."""

    HALL = member()
    DETOUR = member()
    KITCHEN = member()
    CELLAR = member()
    ATTIC = member()


room = variable("room", Room, of=PARTY)


def _way(name: str, begin: Room, end: Room, *, writes: bool = False) -> Callable[[Step, Item], None]:
    def body(step: Step, i: Item) -> None:
        step.require("here", room == begin)
        step.set(room, end)
        if writes:
            step.set(item, i)

    body.__name__ = name
    return body


WAYS = (
    _way("cook", Room.HALL, Room.KITCHEN, writes=True),
    _way("turn", Room.HALL, Room.DETOUR),
    _way("join", Room.DETOUR, Room.KITCHEN),
    _way("sink", Room.KITCHEN, Room.CELLAR),
    _way("rise", Room.CELLAR, Room.ATTIC),
)


def test_a_way_that_is_found_late_is_followed_to_its_end() -> None:
    """What is found to be unwritten in one phase is unwritten in all that follow, in whatever order steps come."""

    def read_in_the_attic(step: Step, i: Item) -> None:
        step.require("here", room == Room.ATTIC)
        step.require("it", item == i)

    for ways in itertools.permutations(WAYS):
        draft = Draft("test", "Test")
        draft.initially(room, Room.HALL)
        for body in (*ways, read_in_the_attic):
            draft.action(by=PARTY, says="x", source="y")(body)
        found = [(read.action, read.symbol.name) for read in early_reads(draft.protocol())]
        assert found == [("read_in_the_attic", "item")], ways


def _all(a: Agent) -> Formula:
    return true


def _nobody(a: Agent) -> Formula:
    return false


def enter_with_ticket(step: Step, a: Agent, i: Item) -> None:
    step.set(local_item(a), i)
    step.insert(ticket(a))


def read_with_ticket(step: Step, a: Agent, i: Item) -> None:
    step.require("ticket", ticket(a))
    step.require("it", local_item(a) == i)


AT_FIRST: dict[str, tuple[tuple[Any, ...], Callable[[Draft], None], list[tuple[str, str]]]] = {
    "a flag that is up at first": (
        (write_and_mark, read_when_ready),
        lambda draft: draft.initially(ready, true),
        [("read_when_ready", "item")],
    ),
    "a flag that is down at first": (
        (write_and_mark, read_when_ready),
        lambda draft: draft.initially(ready, false),
        [],
    ),
    "a ticket that all have at first": (
        (enter_with_ticket, read_with_ticket),
        lambda draft: draft.initially(ticket, _all),
        [("read_with_ticket", "local_item")],
    ),
    "a ticket that nobody has at first": (
        (enter_with_ticket, read_with_ticket),
        lambda draft: draft.initially(ticket, _nobody),
        [],
    ),
}


@pytest.mark.parametrize("row", AT_FIRST)
def test_what_holds_at_first_says_nothing_of_what_was_written(row: str) -> None:
    bodies, begin, early = AT_FIRST[row]
    draft = drafted(*bodies)
    begin(draft)
    assert [(read.action, read.symbol.name) for read in early_reads(draft.protocol())] == early


def test_a_complaint_names_the_place_and_the_writers() -> None:
    (found,) = early_reads(_protocol(write, skip, read))
    assert (found.where, found.writers) == ("guard 'it'", ("write",))


@pytest.mark.parametrize(
    ("waits", "early"),
    [(Phase.START, [("in-the-end", "item")]), (Phase.MIDDLE, [])],
    ids=["before it is written", "after it is written"],
)
def test_what_is_given_of_a_fair_step_may_be_read_too_early(waits: Phase, early: list[tuple[str, str]]) -> None:
    def take(step: Step, i: Item) -> None:
        step.insert(ready)

    draft = drafted(write, take)
    given = {"take": {"i": item}}
    draft.eventually("in-the-end", phase == waits, phase != waits, sentence="It comes.", fair=("take",), given=given)
    assert [(read.action, read.symbol.name) for read in claims_that_read_early(draft.protocol())] == early


def test_no_action_is_taken_for_what_judges() -> None:
    def take(step: Step, i: Item) -> None:
        step.insert(ready)

    def never(step: Step) -> None:
        step.require("at no time", false)

    draft = drafted(write, take)
    starts, given = phase == Phase.START, {"take": {"i": item}}
    draft.eventually("in-the-end", starts, ~starts, sentence="It comes.", fair=("take",), given=given)
    for number in range(4):
        never.__name__ = f"judge {number}"
        draft.action(by=PARTY, says="x", source="y")(never)
    assert [(read.action, read.symbol.name) for read in claims_that_read_early(draft.protocol())] == [
        ("in-the-end", "item")
    ]


@dataclass(frozen=True)
class Move:
    """What one action does, to one of two agents (0 or 1) or to the party as a whole (``None``)."""

    asks_phase: tuple[tuple[int | None, str], ...]
    asks_fact: tuple[int | None, ...]
    sets_phase: tuple[tuple[int | None, str, bool], ...]
    makes_fact: tuple[int | None, ...]
    writes: tuple[int | None, ...]
    reads: tuple[int | None, ...]

    def body(self, step: Step, a: Agent, b: Agent, i: Item) -> None:
        agents = (a, b)
        step.require("phases", all_of(*(_phase(agents, who) == getattr(Phase, p) for who, p in self.asks_phase)))
        step.require("facts", all_of(*(_fact(agents, who) for who in self.asks_fact)))
        step.require("reads", all_of(*(_item(agents, who) == i for who in self.reads)))
        for number, (who, p, sure) in enumerate(self.sets_phase):
            step.set(_phase(agents, who), getattr(Phase, p), when=None if sure else taken(i), name=f"phase {number}")
        for number, who in enumerate(self.makes_fact):
            step.insert(_fact(agents, who), name=f"fact {number}")
        for number, who in enumerate(self.writes):
            step.set(_item(agents, who), i, name=f"item {number}")


def _phase(agents: tuple[Agent, Agent], who: int | None) -> Phase:
    chosen: Phase = phase if who is None else local_phase(agents[who])
    return chosen


def _fact(agents: tuple[Agent, Agent], who: int | None) -> Formula:
    return ready if who is None else ticket(agents[who])


def _item(agents: tuple[Agent, Agent], who: int | None) -> Item:
    chosen: Item = item if who is None else local_item(agents[who])
    return chosen


places = st.sampled_from([None, 0, 1])
phases = st.sampled_from(["START", "MIDDLE", "END"])


def _few(strategy: Any, most: int = 2) -> Any:
    return st.lists(strategy, max_size=most).map(tuple)


moves = st.builds(
    Move,
    asks_phase=_few(st.tuples(places, phases)),
    asks_fact=_few(places),
    sets_phase=_few(st.tuples(places, phases, st.booleans())),
    makes_fact=_few(places, 1),
    writes=_few(places),
    reads=_few(places, 1),
)

#: The phase of the party and of each agent; whose facts hold; whose items were written.
World = tuple[tuple[str, ...], frozenset[int], frozenset[int]]


def _early_in_fact(protocol_moves: list[Move]) -> set[tuple[str, str]]:
    """Play all runs for two agents, with reads and conditions answered either way."""
    start: World = (("START",) * 3, frozenset(), frozenset())
    reached, waiting = {start}, [start]
    found: set[tuple[str, str]] = set()
    while waiting:
        world = waiting.pop()
        for number, move in enumerate(protocol_moves):
            for agents in itertools.product((1, 2), repeat=2):
                if _enabled(world, move, agents):
                    for who in move.reads:
                        if _slot(agents, who) not in world[2]:
                            found.add((f"move{number}", "item" if who is None else "local_item"))
                    for after in _worlds_after(world, move, agents):
                        if after not in reached:
                            reached.add(after)
                            waiting.append(after)
    return found


def _slot(agents: tuple[int, ...], who: int | None) -> int:
    return 0 if who is None else agents[who]


def _enabled(world: World, move: Move, agents: tuple[int, ...]) -> bool:
    phases_fit = all(world[0][_slot(agents, who)] == p for who, p in move.asks_phase)
    return phases_fit and all(_slot(agents, who) in world[1] for who in move.asks_fact)


def _worlds_after(world: World, move: Move, agents: tuple[int, ...]) -> Iterator[World]:
    facts = world[1] | {_slot(agents, who) for who in move.makes_fact}
    written = world[2] | {_slot(agents, who) for who in move.writes}
    for happens in (True, False):
        changed = list(world[0])
        for who, p, sure in move.sets_phase:
            if sure or happens:
                changed[_slot(agents, who)] = p
        yield tuple(changed), facts, written


def _add(draft: Draft, name: str, move: Move) -> None:
    def body(step: Step, a: Agent, b: Agent, i: Item) -> None:
        move.body(step, a, b, i)

    body.__name__ = name
    draft.action(by=PARTY, says="x", source="y")(body)


@settings(max_examples=share(600))
@given(st.lists(moves, min_size=1, max_size=5))
def test_no_early_read_is_missed(protocol_moves: list[Move]) -> None:
    draft = Draft("random", "Random")
    draft.initially(phase, Phase.START)
    draft.initially(local_phase, start)
    for number, move in enumerate(protocol_moves):
        _add(draft, f"move{number}", move)
    reported = {(read.action, read.symbol.name) for read in early_reads(draft.protocol())}
    assert _early_in_fact(protocol_moves) <= reported
