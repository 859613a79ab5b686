"""The compiled search takes the interpreter's steps and leaves out what cannot matter; fair runs wait."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from carnet_check.engines.explicit import bounds, explore
from carnet_check.engines.explicit.bounds import Watch, resident_bytes
from carnet_check.engines.explicit.liveness import NOWHERE, Graph
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import Model, build, can_afford
from carnet_check.engines.explicit.saturation import apply_change
from carnet_check.engines.explicit.search import Moves, all_moves, expander
from carnet_check.engines.exploration import Caps, Exploration, trigger_of
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import objection, with_rules_as_steps
from carnet_check.wording import reasons
from carnet_command.interrupts import stoppable
from carnet_spec.language import Draft, Instance, Protocol, Step, true
from tests.fixtures import toy
from tests.fixtures.interpreted import interpreted
from tests.fixtures.lassos import lassos
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import ask, back, draw_two, learn, see, serve_one, swing


def need(step: Step) -> None:
    step.require("first", first)
    step.insert(second)


def again(step: Step) -> None:
    step.require("first", first)
    step.insert(first)


def push(step: Step) -> None:
    step.insert(first)


def _model(budget: int | None = None) -> Model:
    protocol = drafted(see, need, again, costly=(push,), rules=(learn,)).protocol()
    return build(Interpreter(protocol, Instance({"Party": ("p1", "p2")}, budget=budget)), (), (), reduce=False)


def _expander(model: Model, name: str) -> Memo[Moves | None]:
    step = next(step for step in model.steps if step.action.name == name)
    return expander(model, step, lambda _: None)


def _after(moves: Moves | None, s: int) -> list[int]:
    assert moves is not None
    return [(s | touched) ^ cleared for touched, cleared, _ in moves.effects]


def test_an_action_that_cannot_be_taken_or_changes_nothing_has_no_moves() -> None:
    assert _expander(_model(), "need").answer(0) is None
    model = _model()
    memo = _expander(model, "again")
    s = apply_change(0, model.layout.masks_for([(model.layout.tables["first"].places[()], True)], lambda: None))
    moves = memo.answer(s)
    assert moves is not None
    assert (moves.actions, moves.effects) == (("again",), ())


def test_each_move_leads_to_its_state_and_to_the_deductions_that_it_wakes() -> None:
    model = _model()
    memo = _expander(model, "see")
    moves = memo.answer(0)
    assert moves is not None
    assert moves.actions == ("see", "see")
    places = model.layout.tables["seen"].places
    assert _after(moves, 0) == [places["p1",].mask, places["p2",].mask]
    for (_, _, deductions), s, party in zip(moves.effects, _after(moves, 0), ("p1", "p2"), strict=True):
        assert deductions is not None
        assert apply_change(s, deductions.answer(s)) == s | model.layout.tables["known"].places[party,].mask


@pytest.mark.parametrize(("budget", "affordable"), [(None, [True, True]), (0, [False]), (2, [True, True, False])])
def test_a_move_is_paid_for_as_long_as_the_budget_lasts(budget: int | None, affordable: list[bool]) -> None:
    model = _model(budget)
    step = next(step for step in model.steps if step.action.name == "push")
    assert [can_afford(model, step, spent) for spent in range(len(affordable))] == affordable
    free = next(step for step in model.steps if step.action.name == "see")
    assert can_afford(model, free, budget or 0)


def test_moves_cost_what_they_cost_and_are_joined_with_those_of_other_actions() -> None:
    model = _model(budget=2)
    memo = _expander(model, "push")
    (once,) = _after(memo.answer(0), 0)
    (twice,) = _after(memo.answer(once), once)
    assert [s & model.layout.spent for s in (once, twice)] == [1, 2]
    assert memo.answer(twice) is None
    one, other = Moves(((1, 0, None),), ("one",)), Moves(((2, 2, None), (4, 0, None)), ("other", "other"))
    assert all_moves([None, None]) is None
    assert all_moves([None, one]) is one
    assert all_moves([one, None, other]) == Moves(((1, 0, None), (2, 2, None), (4, 0, None)), ("one", "other", "other"))


def lose(step: Step, a: Party) -> None:
    step.remove(seen(a))


def forget(step: Step, a: Party) -> None:
    step.remove(known(a))


def clear(step: Step) -> None:
    step.require("set", first)
    step.remove(first)


def learn_when_clear(step: Step, a: Party) -> None:
    step.given("clear", seen(a) & ~first)
    step.insert(known(a))


def tell(step: Step, a: Party, b: Party) -> None:
    step.given("told", known(a) & second)
    step.insert(known(b))


def mark(step: Step) -> None:
    step.insert(second)


def _set_at_first() -> Draft:
    draft = drafted(see, clear, rules=(learn_when_clear,))
    draft.initially(first, true)
    return draft


SMALL: dict[str, Callable[[], Draft]] = {
    "two values are drawn at once": lambda: drafted(draw_two),
    "what is deduced is taken away": lambda: drafted(see, forget, rules=(learn,)),
    "why it was deduced is taken away": lambda: drafted(see, lose, rules=(learn,)),
    "what a deduction waits to be over is over": _set_at_first,
    "one deduction leads to another": lambda: drafted(see, mark, forget, rules=(tell, learn)),
}


def _agree(protocol: Protocol, instance: Instance) -> None:
    """Every number is the same, without reductions."""
    compiled = explore(protocol, instance, invariants=(), reduction=False)
    plain = interpreted(protocol, instance, invariants=())
    assert compiled.states == plain.states > 1
    assert (compiled.transitions, compiled.depth, compiled.fired) == (plain.transitions, plain.depth, plain.fired)


@pytest.mark.parametrize("name", SMALL)
def test_both_take_the_same_steps(name: str) -> None:
    _agree(SMALL[name]().protocol(), Instance({"Party": ("p1", "p2"), "Key": ("k1", "k2", "k3")}))


@pytest.mark.parametrize("threat", ["none", "collusion"])
def test_both_take_the_same_steps_of_a_whole_protocol(threat: str) -> None:
    protocol = toy.FAMILY.protocol()
    _agree(protocol, toy.instance(protocol, threat, {"borrowers": 2}))


def _explored(protocol: Protocol, budget: int | None = None, *, reduction: bool = True) -> Exploration:
    claims = [claim.checked for claim in protocol.claims]
    instance = Instance({}, budget=budget)
    return explore(protocol, instance, invariants=claims, reduction=reduction, stop_at_first=False)


def begin(step: Step) -> None:
    step.insert(first)


def carry(step: Step) -> None:
    step.insert(second, when=first)


def arrive(step: Step) -> None:
    step.insert(third, when=second)


@pytest.mark.parametrize("order", list(itertools.permutations(("begin", "carry", "arrive"))), ids="-".join)
def test_a_place_matters_that_decides_by_way_of_others(order: tuple[str, ...]) -> None:
    """In whatever order the steps are written down: what decides what decides what is claimed is kept."""
    protocol = claimed(drafted(begin, carry, arrive), never=lambda: ~third)
    found = _explored(reordered(protocol, order))
    assert [step.action for step in found.violations["never"].steps] == ["begin", "carry", "arrive"]


def test_a_place_that_nothing_reads_is_left_out() -> None:
    protocol = claimed(drafted(begin, carry), never=lambda: ~third)
    assert _explored(protocol).states == 1
    assert _explored(protocol, reduction=False).states == 3


def push_first(step: Step) -> None:
    step.insert(first)


def push_second(step: Step) -> None:
    step.insert(second)


@pytest.mark.parametrize("order", list(itertools.permutations(("push_first", "push_second"))), ids="-".join)
def test_states_found_at_the_same_cost_stand_side_by_side(order: tuple[str, ...]) -> None:
    protocol = claimed(drafted(costly=(push_first, push_second)), one=lambda: ~first, other=lambda: ~second)
    found = _explored(reordered(protocol, order), budget=1)
    assert set(found.violations) == {"one", "other"}
    assert (found.states, found.reduction["states_dominated"]) == (3, 0)


def test_a_state_that_was_found_at_no_cost_is_not_found_again_at_one() -> None:
    protocol = claimed(drafted(begin, costly=(push_first,)), never=lambda: ~first)
    found = _explored(protocol, budget=1)
    assert (found.states, found.reduction["states_dominated"]) == (2, 2)
    assert _explored(protocol, budget=1, reduction=False).states == 3


@pytest.mark.parametrize(("budget", "fallen"), [(0, set()), (1, {"one"}), (2, {"one", "both"})])
def test_the_adversary_makes_as_many_moves_as_it_may(budget: int, fallen: set[str]) -> None:
    draft = drafted(costly=(push_first, push_second))
    protocol = claimed(draft, one=lambda: ~first, both=lambda: ~(first & second))
    assert set(_explored(protocol, budget=budget).violations) == fallen


MEBIBYTE = 1 << 20
HOLDS = "import sys; held = bytearray(int(sys.argv[1])); print('ready', flush=True); sys.stdin.read()"


def _watch(max_memory: int, workers: int) -> Watch:
    return Watch(Caps(memory=max_memory, workers=workers))


def test_a_search_alone_stops_beyond_its_memory_or_when_it_is_interrupted() -> None:
    assert _watch(resident_bytes() // 2, 1).exceeded_bound(0) == "memory"
    assert _watch(resident_bytes() * 2, 1).exceeded_bound(0) is None
    with stoppable():
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            _watch(resident_bytes() * 2, 1).exceeded_bound(0)


def test_a_worker_under_its_share_goes_on_whatever_the_others_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_resident_in_siblings", lambda: 1 << 60)
    assert _watch(resident_bytes() * 3, 2).exceeded_bound(0) is None


def test_a_worker_over_its_share_goes_on_while_the_others_leave_room(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = resident_bytes() * 3 // 2
    monkeypatch.setattr(bounds, "_resident_in_siblings", lambda: 0)
    assert _watch(memory, 2).exceeded_bound(0) is None
    monkeypatch.setattr(bounds, "_resident_in_siblings", lambda: memory)
    assert _watch(memory, 2).exceeded_bound(0) == "memory"


def test_what_siblings_hold_is_counted() -> None:
    """A sibling of ours is started by a child of ours that asks on our behalf."""
    script = (
        "import subprocess, sys\n"
        f"holder = subprocess.Popen([sys.executable, '-c', {HOLDS!r}, '{64 * MEBIBYTE}'],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "holder.stdout.readline()\n"
        "ask = 'from carnet_check.engines.explicit.bounds import _resident_in_siblings as held; print(held())'\n"
        "print(subprocess.run([sys.executable, '-c', ask], capture_output=True, text=True, check=True).stdout)\n"
        "holder.communicate()\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert int(told) >= 64 * MEBIBYTE


def test_what_is_no_part_of_a_search_counts_for_none_of_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    watch = Watch(Caps(seconds=6.0))
    now = 107.0
    assert watch.exceeded_bound(1) == "time"
    watch.leave_out(4.0)
    assert (watch.exceeded_bound(1), watch.seconds) == (None, 3.0)


SIZE = 9
edges = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=24)


def _ends(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _graph(sources: ArrayLike, targets: ArrayLike, size: int) -> Graph:
    starts, ends = np.array(sources, np.uint32), np.array(targets, np.uint32)
    return Graph.of(np.ones(size, np.bool_), starts, ends, np.zeros_like(starts))


@given(edges)
def test_components_are_the_strongly_connected_ones_of_several_nodes(pairs: list[tuple[int, int]]) -> None:
    graph = nx.DiGraph(pairs)
    expected = {frozenset(each) for each in nx.strongly_connected_components(graph) if len(each) > 1}
    found = _graph(*_ends(pairs), SIZE).components()
    groups: dict[int, set[int]] = {}
    for node, number in enumerate(found.tolist()):
        groups.setdefault(number, set()).add(node)
    groups.pop(NOWHERE, None)
    assert set(map(frozenset, groups.values())) == expected


@given(edges, st.lists(st.integers(0, SIZE - 1), unique=True))
def test_the_steps_from_some_states_are_in_their_order(pairs: list[tuple[int, int]], nodes: list[int]) -> None:
    graph = _graph(*_ends(pairs), SIZE)
    steps = graph.steps_from(np.array(nodes, np.int64))
    assert graph.targets[steps].tolist() == [target for node in nodes for source, target in pairs if source == node]


def test_a_long_cycle_is_one_component() -> None:
    """Where a recursion would be too deep."""
    size = 50_000
    graph = _graph(range(size), [(each + 1) % size for each in range(size)], size)
    assert len(set(graph.components().tolist())) == 1


LAST = {"serve_one": {"a": last}}  #: The steps that serve the party that came last.


def serve(step: Step) -> None:
    step.require("asked", first)
    step.insert(second)


def serve_there(step: Step) -> None:
    step.require("there", third)
    step.insert(second)


def serve_known(step: Step, a: Party) -> None:
    step.given("known", known(a))
    step.insert(second)


def renew(step: Step, k: Key) -> None:
    step.fresh(k)
    step.set(current, k)


def pay(step: Step) -> None:
    step.require("asked", first)
    step.insert(second)


def _protocol(draft: Draft, *fair: str) -> Protocol:
    draft.eventually("served", first, second, sentence="Who asks is served.", fair=fair)
    return draft.protocol()


def _found(protocol: Protocol, instance: Instance | None = None, max_states: int | None = None) -> Exploration:
    where = instance or Instance({"Party": ("p", "q")})
    found = lassos(protocol, where, protocol.liveness, caps=Caps(states=max_states))
    judge = Interpreter(with_rules_as_steps(protocol, protocol.liveness), where)
    for trace in found.violations.values():
        assert objection(judge, protocol.liveness[0], trace) == ""
    return found


def _way(found: Exploration) -> tuple[list[str], list[str]]:
    """Return the actions of the only lasso: those on the way there, and those that are repeated."""
    (trace,) = found.violations.values()
    names = [step.action for step in trace.steps]
    return names[: trace.loop], names[trace.loop :]


def test_fairness_of_the_step_that_is_always_open_brings_it_about_and_nothing_less() -> None:
    found = _found(_protocol(drafted(ask, serve, swing, back), "serve"))
    assert (found.complete, found.states, found.violations, found.undecided) == (True, 6, {}, {})
    assert _way(_found(_protocol(drafted(ask, serve, swing, back)))) == (["ask"], [])
    draft = drafted(ask, serve_there, swing, back)
    stem, repeated = _way(_found(_protocol(draft, "swing", "back", "serve_there")))
    assert (stem, sorted(repeated)) == (["ask"], ["back", "swing"])


def test_nobody_has_to_draw_a_conclusion_that_an_honest_party_waits_for() -> None:
    draft = drafted(ask, see, serve_known, rules=(learn,))
    stem, repeated = _way(_found(_protocol(draft, "see", "serve_known")))
    assert (sorted(stem), repeated) == (["ask", "see", "see"], [])
    again = drafted(ask, see, serve_known, rules=(learn,))
    assert not _found(_protocol(again, "see", "serve_known", "learn")).violations


def test_what_a_fair_step_changes_belongs_to_the_state_and_what_does_not_matter_returns() -> None:
    """Whether somebody is seen matters to nobody: a reduced search goes round once where the states do so later."""
    stem, repeated = _way(_found(_protocol(drafted(ask, swing, back, see), "swing", "back")))
    assert (stem, sorted(repeated)) == (["ask"], ["back", "swing"])
    stem, repeated = _way(_found(_protocol(drafted(ask, see), "see")))
    assert (sorted(stem), repeated) == (["ask", "see", "see"], [])


def test_a_way_out_is_no_way_round_and_who_asks_for_nothing_does_not_wait() -> None:
    """Whoever is fair to the step that serves is served, though it leads out of where runs go round."""

    def ask_when_served(step: Step) -> None:
        step.require("served", second)
        step.insert(first)

    assert not _found(_protocol(drafted(ask_when_served, serve_there, swing))).violations
    found = _found(_protocol(drafted(ask, serve, swing, back), "swing", "back", "serve"))
    assert (found.violations, found.undecided) == ({}, {})


def test_only_the_steps_that_are_meant_have_to_be_taken() -> None:
    """Who serves others for ever is fair to serving, and not to serving those who came last."""
    stem, repeated = _way(_found(_protocol(drafted(ask, serve_one), "serve_one")))
    assert (stem, repeated) == (["ask"], ["serve_one", "serve_one"])
    draft = drafted(ask, serve_one, swing)
    draft.eventually("served", first, second, sentence="It comes.", fair=("serve_one",), given=LAST)
    found = _found(draft.protocol())
    assert (found.complete, found.violations, found.undecided) == (True, {}, {})
    assert set(found.fired) == {"ask", "serve_one", "swing"}
    assert found.fired["serve_one"] == 8


def test_a_lasso_takes_steps_by_the_names_of_whole_actions() -> None:
    """Nobody has to serve those who did not come last."""
    draft = drafted(ask, serve_one)
    draft.eventually("there", first, second & third, sentence="It comes.", fair=("serve_one",), given=LAST)
    found = _found(draft.protocol())
    assert _way(found)[0][0] == "ask"
    assert {step.action for trace in found.violations.values() for step in trace.steps} <= {"ask", "serve_one"}


def _strong(draft: Draft, *fair: str, strong: tuple[str, ...]) -> Protocol:
    draft.eventually("served", first, second, sentence="Who asks is served.", fair=fair, strong=strong)
    return draft.protocol()


def test_strong_fairness_asks_for_what_is_open_now_and_then() -> None:
    def wait_for(*fair: str) -> Exploration:
        return _found(_strong(drafted(ask, serve_there, swing, back), *fair, strong=("serve_there",)))

    found = wait_for("swing", "back", "serve_there")
    assert (found.complete, found.violations, found.undecided) == (True, {}, {})
    assert _way(wait_for("back", "serve_there")) == (["ask"], [])


def test_a_run_may_do_without_the_states_in_which_a_step_is_open() -> None:
    """Who goes on early and late and never there may leave out those who serve there, however strongly fair it is."""

    def go_on(step: Step) -> None:
        step.require("here", (phase == Phase.EARLY) & ~third)
        step.set(phase, Phase.LATE)

    def go_back(step: Step) -> None:
        step.require("here", (phase == Phase.LATE) & ~third)
        step.set(phase, Phase.EARLY)

    draft = drafted(ask, serve_there, swing, back, go_on, go_back)
    fair = ("go_on", "go_back", "serve_there")
    stem, repeated = _way(_found(_strong(draft, *fair, strong=("serve_there",))))
    assert (stem, sorted(repeated)) == (["ask"], ["go_back", "go_on"])


def test_a_lasso_takes_a_strongly_fair_step_though_it_is_closed_on_the_way() -> None:
    """Who may serve there and takes something back is not served; the round has to go by there."""

    def serve_badly(step: Step) -> None:
        step.require("there", third)
        step.remove(third)
        step.set(phase, Phase.LATE)

    def forget(step: Step) -> None:
        step.require("late", phase == Phase.LATE)
        step.set(phase, Phase.EARLY)

    draft = drafted(ask, swing, serve_badly, forget)
    _, repeated = _way(_found(_strong(draft, "swing", "serve_badly", "forget", strong=("serve_badly",))))
    assert {"swing", "serve_badly", "forget"} <= {*repeated}


def test_a_property_of_each_element_fails_if_it_does_for_one() -> None:
    def see_the_last(step: Step, a: Party) -> None:
        step.require("came last", a == last)
        step.insert(seen(a))

    draft = drafted(see_the_last)
    draft.eventually("seen", lambda a: ~seen(a), seen, each=(Party,), sentence="All are seen.", fair=("see_the_last",))
    found = _found(draft.protocol())
    assert (_way(found), found.states) == ((["see_the_last"], []), 2)
    judge = Interpreter(draft.protocol(), Instance({"Party": ("p", "q")}))
    (trace,) = found.violations.values()
    told = reasons(judge, draft.protocol().liveness[0], trace, judge.replay(trace))
    assert told[0] == "seen fails for a = q:"
    assert "  and it never holds that  seen(q)" in told


def test_elements_that_want_other_steps_taken_fairly_have_graphs_of_their_own_and_share_the_bounds() -> None:
    draft = drafted(see)
    draft.eventually(
        "seen",
        lambda a: ~seen(a),
        seen,
        each=(Party,),
        sentence="All are seen.",
        fair=("see",),
        given={"see": {"a": lambda a: a}},
    )
    found = _found(draft.protocol())
    assert (found.complete, found.violations, found.undecided) == (True, {}, {})
    assert (found.states, found.fired["see"]) == (2 * 2**1, 2 * 2 * 2)
    for most, stopped in ((1, "states"), (2, "states"), (5, None)):
        assert _found(draft.protocol(), max_states=most).stopped_by == stopped


CUT = {
    "no element left to draw": (drafted(ask, renew), ("renew",), Instance({"Key": ("k",)})),
    "no budget": (drafted(ask, costly=(pay,)), ("pay",), Instance({}, budget=0)),
    "no element in the pool": (
        drafted(ask, see, serve),
        ("see",),
        Instance({"Party": ("p", "q")}, pools={("see", "a"): ("p",)}),
    ),
}


@pytest.mark.parametrize("name", CUT)
def test_a_run_that_only_the_instance_ends_is_no_violation_and_no_success(name: str) -> None:
    draft, fair, instance = CUT[name]
    found = _found(_protocol(draft, *fair), instance)
    assert found.violations == {}
    assert fair[0] in found.undecided["served"]


def test_a_search_that_stops_early_is_not_complete_and_has_no_ends() -> None:
    found = _found(_protocol(drafted(ask, serve, swing, back)), max_states=2)
    assert found.stopped_by == "states"
    found = _found(_protocol(drafted(ask, serve), "serve"), max_states=2)
    assert (found.complete, found.violations, found.undecided) == (False, {}, {})


def test_a_way_to_the_trigger_is_shown_where_something_waits() -> None:
    protocol = _protocol(drafted(ask, serve), "serve")
    ways = _found(protocol).goals
    assert [step.action for step in ways[trigger_of(protocol.liveness[0]).name].steps] == ["ask"]
    assert _found(_protocol(drafted(serve), "serve")).goals == {}
