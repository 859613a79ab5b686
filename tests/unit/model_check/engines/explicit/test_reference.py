"""Both searches, the plain one and the compiled one, against numbers counted by hand.

A party is seen once; the gate may be shut; who is seen while it is open is known. With the gate open the known are the
seen: 4 states of two parties. With the gate shut a party is unseen, seen and known, or seen only: 9 states.
"""

from collections.abc import Callable
from functools import partial

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.semantics import Interpreter
from carnet_spec.language import Formula, Goal, Instance, Invariant, Step, forall, implies
from tests.fixtures.interpreted import interpreted
from tests.unit.model_check.small import Party, drafted, first, known, second, seen

Explore = Callable[..., Exploration]
IDS = ["interpreter", "compiled"]
BOTH = pytest.mark.parametrize("explored", [interpreted, partial(explore, reduction=False)], ids=IDS)
REDUCED = pytest.mark.parametrize("explored", [interpreted, explore], ids=IDS)


def see(step: Step, a: Party) -> None:
    step.require("new", ~seen(a))
    step.insert(seen(a))


def shut(step: Step) -> None:
    step.insert(first)


def learn(step: Step, a: Party) -> None:
    step.given("open", seen(a) & ~first)
    step.insert(known(a))


def mark(step: Step) -> None:
    step.given("never", first & ~first)
    step.insert(second)


PROTOCOL = drafted(see, shut, mark, rules=(learn,)).protocol()
INSTANCE = Instance({"Party": ("p1", "p2")})
SEEN_ARE_KNOWN = forall(lambda a: implies(seen(a), known(a)), Party)


def _invariant(name: str, formula: Formula) -> Invariant:
    return Invariant(name, (), formula.term)


@BOTH
def test_every_state_is_reached_and_every_step_from_it_counted(explored: Explore) -> None:
    found = explored(PROTOCOL, INSTANCE, invariants=())
    assert (found.states, found.depth) == (4 + 9, 3)
    assert found.fired == {"see": 4 + 6, "shut": 13, "mark": 0, "learn": 1}
    assert found.transitions == 4 + 6 + 13, "a step that changes nothing counts"
    assert (found.complete, found.stopped_by) == (True, None)


@REDUCED
def test_a_violation_comes_with_a_shortest_trace_and_ends_the_search(explored: Explore) -> None:
    broken = _invariant("seen are known", SEEN_ARE_KNOWN)
    found = explored(PROTOCOL, INSTANCE, invariants=[broken], threat="anyone")
    trace = found.violations["seen are known"]
    assert [step.action for step in trace.steps] == ["shut", "see"]
    assert trace.threat == "anyone"
    assert (found.complete, found.stopped_by) == (False, "violation")


@BOTH
def test_the_search_goes_on_beyond_violations_if_it_is_to(explored: Explore) -> None:
    wanted = {"seen are known": SEEN_ARE_KNOWN, "all are known": ~forall(known, Party), "open": ~first}
    invariants = [_invariant(name, formula) for name, formula in wanted.items()]
    found = explored(PROTOCOL, INSTANCE, invariants=invariants, stop_at_first=False)
    assert (found.states, found.complete) == (13, True)
    steps = {name: [step.action for step in trace.steps] for name, trace in found.violations.items()}
    assert steps == {
        "seen are known": ["shut", "see"],
        "all are known": ["see", "learn", "see", "learn"],
        "open": ["shut"],
    }


@BOTH
def test_a_goal_that_is_reached_has_a_trace_and_one_that_is_not_has_none(explored: Explore) -> None:
    reached = Goal("both seen", (), forall(seen, Party).term, "Both are seen.")
    missed = Goal("marked", (), second.term, "It is marked.")
    found = explored(PROTOCOL, INSTANCE, invariants=(), goals=(reached, missed))
    assert set(found.goals) == {"both seen"}
    final = Interpreter(PROTOCOL, INSTANCE).replay(found.goals["both seen"])[-1]
    assert final.relations["seen"] == {("p1",), ("p2",)}


@BOTH
def test_a_bound_on_states_ends_the_search_and_says_so(explored: Explore) -> None:
    found = explored(PROTOCOL, INSTANCE, invariants=(), caps=Caps(states=3))
    assert (found.complete, found.stopped_by) == (False, "states")
    assert 3 <= found.states < 13


@REDUCED
def test_a_search_that_is_interrupted_says_what_it_covered(explored: Explore, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("carnet_check.engines.explicit.Watch.exceeded_bound", interrupted)
    found = explored(PROTOCOL, INSTANCE, invariants=())
    assert (found.states, found.complete, found.stopped_by) == (1, False, "interrupt")
