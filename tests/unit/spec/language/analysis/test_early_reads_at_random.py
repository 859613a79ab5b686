"""No early read of a random protocol is missed: all its runs, played for two agents, are the judge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_spec.language import (
    Draft,
    Formula,
    Step,
    all_of,
)
from carnet_spec.language.analysis.initialisation import early_reads
from tests.fixtures.thorough import share
from tests.unit.spec.language.analysis.steps_and_items import (
    PARTY,
    Agent,
    Item,
    Phase,
    item,
    local_item,
    local_phase,
    phase,
    ready,
    start,
    taken,
    ticket,
)


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
        """Write the move in the language."""
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

World = tuple[tuple[str, ...], frozenset[int], frozenset[int]]
"""The phase of the party and of each agent; whose facts hold; whose items were written."""


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


@settings(max_examples=share(300))
@given(st.lists(moves, min_size=1, max_size=5))
def test_no_early_read_is_missed(protocol_moves: list[Move]) -> None:
    draft = Draft("random", "Random")
    draft.initially(phase, Phase.START)
    draft.initially(local_phase, start)
    for number, move in enumerate(protocol_moves):
        _add(draft, f"move{number}", move)
    reported = {(read.action, read.symbol.name) for read in early_reads(draft.protocol())}
    assert _early_in_fact(protocol_moves) <= reported
