"""A search in several places finds what a search in one place finds, and says when a place is lost."""

import functools
from collections.abc import Sequence
from typing import Any

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.places import LostPlaceError, Owner, PlacesSearch, owner_of
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import Draft, Formula, Instance, Invariant, Protocol, Role, Step, flag
from carnet_spec.language.terms import negation
from tests.fixtures.local_places import Here
from tests.fixtures.unseen import letters, relay, sites, vote
from tests.unit.model_check.command import TOY, carnet

GUARD = Role("guard")
THIEF = Role("thief", honest=False)


class Leaky(Here):
    """Places of which one is lost after a while."""

    def __init__(self, number: int, after: int) -> None:
        super().__init__(number)
        self._left = after

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        self._left -= 1
        if not self._left:
            raise LostPlaceError
        return super().each(method, *arguments)


def in_places(
    number: int, protocol: Protocol, instance: Instance, hand_over_at: int, invariants: Sequence[Invariant] = ()
) -> Exploration:
    packed = functools.partial(PlacesSearch, places=Here(number), hand_over_at=hand_over_at)
    return explore(protocol, instance, invariants=invariants, goals=protocol.goals, packed=packed, stop_at_first=False)


def same(found: Exploration, expected: Exploration) -> bool:
    """Whether all numbers are the same, and as many steps lead to the same things."""
    numbers = [(each.states, each.represented, each.transitions, each.depth, each.fired) for each in (found, expected)]
    traces = [
        {name: len(trace.steps) for name, trace in {**each.violations, **each.goals}.items()}
        for each in (found, expected)
    ]
    return numbers[0] == numbers[1] and traces[0] == traces[1] and found.stopped_by == expected.stopped_by


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("hand_over_at", [1, 300])
@pytest.mark.parametrize(
    ("protocol", "instance"), [(vote(), sites(3)), (relay(), letters(1, among=3))], ids=["vote", "relay"]
)
def test_any_number_of_places_finds_it_all(
    protocol: Protocol, instance: Instance, hand_over_at: int, number: int
) -> None:
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    expected = explore(protocol, instance, invariants=invariants, goals=protocol.goals, stop_at_first=False)
    assert same(in_places(number, protocol, instance, hand_over_at, invariants), expected)


def test_a_large_search_goes_on_in_places_with_a_limited_adversary() -> None:
    """The adversary's budget is spent on the way, and goals are reached after the places took over."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "outsider", source.profile("open-mode"))
    never = [
        Invariant(f"never {goal.name}", goal.params, negation(goal.body), "It is not reached.")
        for goal in protocol.goals
        if not goal.params
    ]
    expected = explore(protocol, instance, invariants=never, goals=protocol.goals, stop_at_first=False)
    assert expected.reduction["states_dominated"]
    assert same(in_places(3, protocol, instance, 100, never), expected)


def gate() -> Protocol:
    """Return a gate. The guard opens it, or a thief pays for that. Then everybody goes through."""
    draft = Draft("gate", "A gate")
    draft.threat("thief", "a thief is about")
    is_open, through = flag("is_open", of=GUARD, says="it is open"), flag("through", of=GUARD, says="they are through")

    @draft.action(by=THIEF, says="The thief has it opened.", source="tests", cost=1)
    def bribe(step: Step) -> None:
        step.insert(is_open)

    @draft.action(by=GUARD, says="It is opened.", source="tests")
    def unlock(step: Step) -> None:
        step.insert(is_open)

    @draft.action(by=GUARD, says="They go through.", source="tests")
    def go(step: Step) -> None:
        step.require("open, and not through yet", is_open & ~through)
        step.insert(through)

    @draft.goal(sentence="They are through.")
    def passed() -> Formula:
        return through

    return draft.protocol()


def test_what_is_dominated_at_the_end_of_its_level_is_not_expanded() -> None:
    """The same state is found at more cost first."""
    protocol = gate()
    model = build(Interpreter(protocol, Instance(elements={}, budget=1)), (), protocol.goals, reduce=True)
    search = PackedSearch(model, Watch(), enough=0, dominance=True)
    search.run()
    first, *level = search.found[:3]
    assert [state & model.layout.spent for state in level] == [1, 0]
    owner = Owner(model.again(), 1, dominance=True)
    owner.lay_out(model.layout.fields)
    owner.begin([[first], level])
    assert owner.expand_level().fired["go"] == 1 == search.fired["go"]


def test_a_place_that_is_lost_ends_the_search_with_what_was_covered() -> None:
    packed = functools.partial(PlacesSearch, places=Leaky(2, after=20), hand_over_at=1)
    found = explore(vote(), sites(3), invariants=(), packed=packed)
    assert found.stopped_by == "a lost worker"
    assert found.states <= found.represented
    assert 0 < found.states < explore(vote(), sites(3), invariants=()).states


@pytest.mark.parametrize("packed", [PackedSearch, functools.partial(PlacesSearch, places=Here(2), hand_over_at=1)])
def test_bounds_hold_wherever_states_are(packed: Any) -> None:
    found = explore(vote(), sites(3), invariants=(), packed=packed, caps=Caps(states=50))
    assert found.stopped_by == "states"
    assert not found.complete


def test_what_other_processes_hold_counts_and_states_fall_to_every_place() -> None:
    class Full(Here):
        def held(self) -> int:
            return 1 << 40

    packed = functools.partial(PlacesSearch, places=Full(2), hand_over_at=1)
    assert explore(vote(), sites(3), invariants=(), packed=packed, caps=Caps(memory=1 << 36)).stopped_by == "memory"
    assert {owner_of(state << 3, 0b111, 3) for state in range(1000)} == {0, 1, 2}
    assert {owner_of(0b1010_000 | cost, 0b111, 3) for cost in range(8)} == {owner_of(0b1010_000, 0b111, 3)}


@pytest.mark.parametrize("more", [("--simulate", "5"), ("--checkpoint", "kept"), ("--jobs", "2")])
def test_what_does_not_go_with_a_cluster_is_refused(more: tuple[str, ...]) -> None:
    ran = carnet("explore", TOY, "--ray", "local", *more)
    assert ran.code == ExitCode.USAGE
    assert "--ray does not go with" in ran.err


def test_it_explores_here_unless_it_is_told_where_and_can() -> None:
    ran = carnet("explore", TOY, "--ray", "local", "--engine", "native")
    assert ran.code == ExitCode.USAGE
    assert "explores on one machine alone (those that do: explicit)" in ran.err
    assert EXPLICIT.searches_by() is PackedSearch
