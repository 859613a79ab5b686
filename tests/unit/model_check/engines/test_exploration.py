"""Coverage adds explorations up: what claims share once, what one claim needed beside, and the first trace of each."""

from __future__ import annotations

from dataclasses import replace

from carnet_check.engines.exploration import Coverage, Exploration, Part, Search
from carnet_check.loading.extent import Explored
from carnet_check.loading.scope import Scope
from carnet_spec.language import Instance, Profile
from carnet_spec.trace import Trace, TraceStep

SEARCH = Search("small", "main", (), "anyone", Profile("tiny", {}), ("one", "two"))
HERE, THERE = Instance({"Party": ("alice",)}), Instance({"Party": ("alice", "bob")}, budget=2)
WHOLE = Exploration(7, 9, 3, seconds=1.0, peak_memory_bytes=5, fired={"see": 2, "tell": 0})


def trace(*actions: str) -> Trace:
    return Trace("small", "main", (), "anyone", tuple(TraceStep(action, "party") for action in actions))


def covered(*parts: Part) -> Coverage:
    scope = Scope(tuple((part.instance, part.claims) for part in parts), Explored((("Party", 2),), len(parts)))
    return Coverage(SEARCH, scope, parts)


def test_shared_instances_add_up_and_those_of_one_claim_stand_beside() -> None:
    found = covered(Part(HERE, WHOLE), Part(HERE, WHOLE), Part(HERE, WHOLE, ("two",)))
    assert (found.states, found.transitions, found.depth, found.seconds) == (14, 18, 3, 3.0)
    assert (found.extra_states("one"), found.extra_states("two")) == (0, 7)
    assert found.fired == {"see": 6, "tell": 0}
    assert found.peak_memory_bytes == 5
    assert found.covered == "14 states, depth 3"


def test_it_is_complete_if_every_part_is() -> None:
    stopped = replace(WHOLE, stopped_by="memory")
    assert covered(Part(HERE, WHOLE), Part(HERE, WHOLE)).exhaustive
    assert not covered(Part(HERE, WHOLE), Part(HERE, stopped)).complete
    assert covered(Part(HERE, WHOLE), Part(HERE, stopped)).covered == "stopped by memory after 14 states, depth 3"


def test_a_budget_is_told_and_is_not_exhaustive() -> None:
    found = covered(Part(THERE, WHOLE))
    assert (found.complete, found.exhaustive, found.budget) == (True, False, 2)
    assert found.covered == "7 states, depth 3, at most 2 active adversary moves"


def test_the_first_trace_counts_and_its_instance_is_known() -> None:
    first = replace(WHOLE, violations={"one": trace("see")}, goals={"late": trace("see", "tell")})
    second = replace(WHOLE, violations={"one": trace("tell"), "two": trace("tell")}, goals={"late": trace("tell")})
    found = covered(Part(HERE, first), Part(THERE, second))
    assert found.violations == {"one": trace("see"), "two": trace("tell")}
    assert found.goals == {"late": trace("see", "tell")}
    assert (found.instance_of("one"), found.instance_of("two")) == (HERE, THERE)


def test_a_failure_covers_nothing() -> None:
    found = Coverage(SEARCH, failure="ValueError: no")
    assert (found.states, found.complete, found.stopped_by) == (0, False, "an error")
    assert found.problems == ("ValueError: no",)
    assert (found.instances, dict(found.left_out)) == ("", {})


def test_problems_of_every_part_are_told() -> None:
    broken = Exploration(stopped_by="an error", problems=("an axiom is violated",))
    assert covered(Part(HERE, WHOLE), Part(HERE, broken)).problems == ("an axiom is violated",)


def test_a_search_that_ended_early_says_in_how_many_interpretations_it_was() -> None:
    found = Coverage(
        SEARCH, Scope((), Explored((), 3, 3)), (Part(HERE, WHOLE), Part(HERE, replace(WHOLE, stopped_by="time")))
    )
    assert found.covered == "stopped by time after 14 states, depth 3, in 2 of 3 interpretations"
