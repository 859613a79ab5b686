"""Random walks: known draws, every step as likely as any other, and few walks cover a small graph."""

import functools
from collections import Counter
from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore, sample
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.walking import PackedWalks, RandomStream, _after, chance_of
from carnet_check.engines.exploration import ActionCoverage, Caps, GuardCoverage, WalkCoverage, Walks
from carnet_check.engines.native.compiling import compiler
from carnet_check.engines.native.walking import NativeWalks
from carnet_check.semantics import Interpreter
from carnet_spec.language import Goal, Instance, Protocol, Step, exists
from carnet_spec.language.terms import TRUE, Apply, Var, conjunction
from tests.fixtures import toy
from tests.unit.model_check.small import Party, drafted, first, known, second, seen
from tests.unit.model_check.steps import learn

ANY = Goal("anything", (), TRUE, "whatever happens")
SOMEBODY = Goal("somebody", (), exists(seen, Party).term, "somebody is seen")
SOMEBODY_KNOWS = Goal("somebody knows", (), exists(known, Party).term, "somebody knows")
whoever_walks = pytest.mark.parametrize(
    "packed",
    [
        PackedWalks,
        pytest.param(
            functools.partial(NativeWalks, hand_over_at=0),
            marks=pytest.mark.skipif(compiler() is None, reason="there is no C compiler"),
        ),
    ],
    ids=["explicit", "native"],
)


def see(step: Step, a: Party) -> None:
    step.require("not seen", ~seen(a))
    step.insert(seen(a))


def see_again(step: Step, a: Party) -> None:
    step.insert(seen(a))


def set_first(step: Step) -> None:
    step.insert(first)


def stay(step: Step, a: Party) -> None:
    step.insert(known(a))
    step.remove(known(a), name="take back")


def stop(step: Step) -> None:
    step.require("first is set", first)
    step.require("second is not", ~second)
    step.insert(second)


def see_at_last(step: Step, a: Party) -> None:
    step.require("second is set", second)
    step.insert(seen(a))


def instance(protocol: Protocol, parties: int = 3, budget: int | None = None) -> Instance:
    names = tuple(f"p{number}" for number in range(parties))
    return Instance(
        elements={"Party": names, "Key": ("k0", "k1", "k2")},
        relations={"before": frozenset(), "corrupt": frozenset()},
        functions={"alice": {(): names[0]}, "bob": {(): names[-1]}},
        budget=budget,
    )


def _toy() -> tuple[Protocol, Instance]:
    protocol = toy.FAMILY.draft("main").protocol()
    return protocol, toy.instance(protocol, "collusion", {"borrowers": 2})


def walks_of(protocol: Protocol, walks: Walks, where: Instance | None = None) -> PackedWalks:
    judge = Interpreter(protocol, where or instance(protocol))
    return PackedWalks(build(judge, (), (), reduce=False), Watch(), walks)


def test_each_step_that_changes_the_state_is_as_likely_as_any_other() -> None:
    """Seven of them: three of two actions each, and another; three that are offered beside them change nothing."""
    protocol = drafted(see, see_again, set_first, stay).protocol()
    run = walks_of(protocol, Walks(1))
    many, counts = 21_000, Counter[tuple[int, int]]()
    for number in range(many):
        found = run.offers.draw_move(run.start, chance_of(0, number))
        assert found is not None
        counts[found[:2]] += 1
    names = {(run.model.steps[action].action.name, way) for action, way in counts}
    assert names == {(name, way) for name in ("see", "see_again") for way in range(3)} | {("set_first", 0)}
    expected = many / 7
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 22.46  # 6 degrees, 1 in 1,000


@whoever_walks
def test_walks_take_each_step_equally_often(packed: Callable[..., PackedWalks]) -> None:
    protocol = drafted(see, see_again, set_first, stay).protocol()
    found = sample(protocol, instance(protocol), Walks(14_000, depth=1), invariants=(), packed=packed)
    assert found.walked is not None
    counts = {name: seen.taken for name, seen in found.walked.actions.items()}
    assert counts["stay"] == 0
    for name, ways in {"see": 3, "see_again": 3, "set_first": 1}.items():
        assert abs(counts[name] - 2_000 * ways) < 200 * ways


@whoever_walks
@pytest.mark.parametrize("depth", [1, 3])
def test_the_last_state_of_a_walk_is_judged(packed: Callable[..., PackedWalks], depth: int) -> None:
    """Nobody is seen before the last step, and no walk goes on from there."""
    protocol = drafted(*((see,) if depth == 1 else (set_first, stop, see_at_last))).protocol()
    found = sample(protocol, instance(protocol), Walks(5, depth), invariants=(), goals=[SOMEBODY], packed=packed)
    assert len(found.goals["somebody"].steps) == depth


@whoever_walks
def test_guards_are_seen_in_every_state_on_the_way(packed: Callable[..., PackedWalks]) -> None:
    """The second is set by the second step, and only then somebody may be seen."""
    protocol = drafted(set_first, stop, see_at_last).protocol()
    found = sample(protocol, instance(protocol), Walks(5, 3), invariants=(), packed=packed)
    assert found.walked is not None
    assert found.walked.actions["see_at_last"].guards["second is set"].held
    assert found.walked == sample(protocol, instance(protocol), Walks(5, 3), invariants=()).walked


@whoever_walks
def test_what_rules_conclude_is_there_after_the_step(packed: Callable[..., PackedWalks]) -> None:
    protocol = drafted(see, rules=(learn,)).protocol()
    found = sample(
        protocol, instance(protocol, parties=1), Walks(2, 1), invariants=(), goals=[SOMEBODY_KNOWS], packed=packed
    )
    assert [step.action for step in found.goals["somebody knows"].steps] == ["see", "learn"]
    assert found.fired == {"see": 2, "learn": 1}


def test_a_step_that_changes_nothing_is_never_taken() -> None:
    protocol = drafted(stay).protocol()
    found = sample(protocol, instance(protocol), Walks(3), invariants=())
    assert found.walked == WalkCoverage(3, 0, 3, {"stay": ActionCoverage(0, True, {})})
    assert (found.states, found.depth, found.stopped_by) == (3, 0, None)


def test_walks_cover_every_step_of_a_small_graph() -> None:
    """The toy has 144 states; in each of them, everything that changes it is taken by some walk."""
    protocol, where = _toy()
    every = explore(protocol, where, invariants=(), reduction=False)
    run = walks_of(protocol, Walks(1), where)
    visited, steps = {run.start}, set[tuple[int, int, int]]()
    for number in range(4_000):
        s, chance = run.start, chance_of(0, number)
        while (found := run.offers.draw_move(s, chance)) is not None:
            steps.add((s, *found[:2]))
            s = found[2]
            visited.add(s)
    ways = {
        (s, action, way)
        for s in visited
        for action, memo in enumerate(run.offers.memos)
        if (moves := memo.answer(s)) is not None
        for way in range(len(moves.effects))
        if _after(s, moves, way) != s
    }
    assert len(visited) == every.states
    assert steps == ways


def test_an_action_that_reads_much_is_asked_for_one_element_at_a_time() -> None:
    """Whoever is seen depends on who is: as a whole, most states of a walk would need an answer of their own."""
    protocol = drafted(see, set_first).protocol()
    run = walks_of(protocol, Walks(300), instance(protocol, parties=14))
    assert run.run() is None
    assert [step.action.name for step in run.offers.steps].count("see") == 14
    assert sum(map(len, run.offers.memos)) < 40
    assert run.action_coverage()["see"].guards == {"not seen": GuardCoverage(True, True, True)}


def test_what_is_looked_for_is_looked_for_one_element_at_a_time() -> None:
    protocol = drafted(see, set_first, stay).protocol()
    where = instance(protocol, parties=14)
    party = Var("a", seen.symbol.domain[0])
    both = conjunction((Apply(seen.symbol, (party,)), Apply(known.symbol, (party,))))
    wanted = Goal("both", (party,), both, "somebody is seen and known")
    judge = Interpreter(protocol, where)
    watch = Watch()
    run = PackedWalks(build(judge, (), [wanted, SOMEBODY], reduce=False), watch, Walks(300))
    assert len(run.looking) > 2
    assert run.run() is None
    assert {run.model.monitors[number].name for number in run.sightings} == {"somebody"}
    assert sum(map(len, run.looking)) < 60


@whoever_walks
def test_what_is_looked_for_in_parts_is_seen_by_each(packed: Callable[..., PackedWalks]) -> None:
    protocol = drafted(see).protocol()
    party = Var("a", seen.symbol.domain[0])
    wanted = Goal("seen", (party,), Apply(seen.symbol, (party,)), "somebody is seen")
    judge = Interpreter(protocol, instance(protocol, parties=14))
    watch = Watch()
    run = packed(build(judge, (), [wanted], reduce=False), watch, Walks(3, depth=1))
    assert len(run.looking) == 14
    assert run.run() is None
    assert run.sightings == {0: (0, 1)}


def test_nothing_counts_of_the_walk_by_which_actions_are_split() -> None:
    """It would have used the rule; the walk that is asked for ends before anybody is seen."""
    protocol = drafted(set_first, stop, see_at_last, rules=(learn,)).protocol()
    found = sample(protocol, instance(protocol), Walks(1, depth=1), invariants=())
    assert found.fired == {"set_first": 1, "stop": 0, "see_at_last": 0, "learn": 0}
    assert found.walked is not None
    assert not found.walked.actions["see_at_last"].guards["second is set"].held


def test_guards_are_told_apart() -> None:
    protocol = drafted(see, set_first, stop).protocol()
    found = sample(protocol, instance(protocol), Walks(50), invariants=())
    assert found.walked is not None
    guards = found.walked.actions["stop"].guards
    assert guards == {"first is set": GuardCoverage(True, True, True), "second is not": GuardCoverage(True, True, True)}
    never = sample(drafted(see, stop).protocol(), instance(protocol), Walks(50), invariants=())
    assert never.walked is not None
    seen = never.walked.actions["stop"]
    assert (seen.taken, seen.enabled) == (0, False)
    assert seen.guards == {
        "first is set": GuardCoverage(False, True, True),
        "second is not": GuardCoverage(True, False, False),
    }


def test_what_several_instances_show_is_added_up() -> None:
    one = WalkCoverage(2, 10, 1, {"a": ActionCoverage(3, False, {"g": GuardCoverage(held=True, decided=True)})})
    other = WalkCoverage(1, 5, 0, {"a": ActionCoverage(0, True, {"g": GuardCoverage(failed=True, alone=True)})})
    assert WalkCoverage.together([one, other]) == WalkCoverage(
        3, 15, 1, {"a": ActionCoverage(3, True, {"g": GuardCoverage(True, True, True)})}
    )


def test_no_state_is_kept() -> None:
    """Ten times as many walks remember as many answers."""
    protocol, where = _toy()
    remembered = []
    for number in (1_000, 10_000):
        run = walks_of(protocol, Walks(number), where)
        assert run.run() is None
        remembered.append((sum(map(len, run.offers.memos)), sum(map(len, run.model.saturation.memos))))
    assert remembered[0] == remembered[1]


def test_memory_ends_walks_with_what_they_covered() -> None:
    protocol = drafted(see).protocol()
    found = sample(protocol, instance(protocol), Walks(10), invariants=(), goals=[ANY], caps=Caps(memory=1))
    assert (found.stopped_by, found.complete, found.goals) == ("memory", False, {})


#: What SplitMix64 draws from 1234567: the example that implementations of it are compared with.
KNOWN = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]


def test_draws_are_splitmix64_and_decided_by_seed_and_walk() -> None:
    chance = RandomStream(1234567)
    assert [chance.next_word() for _ in KNOWN] == KNOWN
    first, again = chance_of(5, 7), chance_of(5, 7)
    assert [first.below(1000) for _ in range(20)] == [again.below(1000) for _ in range(20)]
    assert len({chance_of(seed, walk).state for seed in range(100) for walk in range(100)}) == 10_000


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10])
def test_every_choice_is_as_likely_as_any_other(bound: int) -> None:
    """Over the first draws of many walks and over many draws of one, by Pearson's statistic."""
    many = 20_000
    one = chance_of(1, 0)
    firsts, others = (
        [chance_of(0, walk).below(bound) for walk in range(many)],
        [one.below(bound) for _ in range(many)],
    )
    for drawn in (firsts, others):
        counts, expected = Counter(drawn), many / bound
        assert set(counts) == set(range(bound))
        assert sum((counts[each] - expected) ** 2 / expected for each in range(bound)) < 3 * bound + 15
