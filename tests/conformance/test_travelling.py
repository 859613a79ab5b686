"""Traces of GPU Travelling: what the spec's own runs look like conforms, and what is changed in them is found."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.conformance import Divergence, Follower, Machine, conform, recorded
from carnet_check.conformance.tables import PER_EVENT
from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Caps
from carnet_check.errors import InvalidSpecificationError, UsageError
from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_spec.language import Instance, Profile, Protocol
from carnet_spec.trace import TraceStep
from tests.fixtures.rounds import header, honest, sizes_of, write
from tests.fixtures.thorough import THOROUGH
from tests.fixtures.travelling import COLLUSION, FAMILY, SOURCE
from tests.unit.model_check.command import carnet

THREATS = ("outsider", "holder", "hypervisor", COLLUSION)
TWO = {"holders": 2, "corrupt": 0, "chunks": 2, "rounds": 2}


def _design(threat: str, variant: str = FAMILY.main[0]) -> tuple[Protocol, Instance]:
    protocol = SOURCE.protocol(variant)
    return protocol, SOURCE.instance(protocol, threat, Profile("two rounds", TWO))


def _followed(protocol: Protocol, instance: Instance, steps: list[TraceStep]) -> Divergence | None:
    follower = Follower(Machine(protocol, instance))
    return next((found for step in steps if (found := follower.take(step)) is not None), None)


# -- runs of the spec -----------------------------------------------------------------------------


@pytest.mark.parametrize("variant", FAMILY.main)
@pytest.mark.parametrize("threat", THREATS)
def test_honest_rounds_conform(tmp_path: Path, variant: str, threat: str) -> None:
    steps = honest(3, routed=threat in ("outsider", "holder"), variant=variant)
    result = conform(write(tmp_path / "trace", header(variant=variant, threat=threat), steps))
    assert (result.conforms, result.events) == (True, len(steps)), result.divergence


@pytest.mark.parametrize("variant", FAMILY.main)
def test_a_run_to_every_goal_conforms(variant: str) -> None:
    """What the explorer finds, with whatever the adversary did on the way, the machine follows."""
    protocol = SOURCE.protocol(variant)
    instance = SOURCE.instance(protocol, COLLUSION, SOURCE.profile("tiny"))
    goals = tuple(goal for goal in protocol.goals if goal.rounds == 1)
    found = explore(protocol, instance, invariants=(), goals=goals, stop_at_first=False, caps=Caps(states=20_000))
    assert found.goals
    for trace in found.goals.values():
        steps = [step for step in trace.steps if not protocol.action(step.action).deduction]
        assert _followed(protocol, instance, steps) is None


# -- the threat model of a trace that names none --------------------------------------------------

RESET = TraceStep("reset", "adversary", (("g", "gpu1"), ("mode", "CONFIDENTIAL")))


def test_a_trace_that_names_no_threat_model_is_judged_under_the_weakest_one(tmp_path: Path) -> None:
    result = conform(write(tmp_path / "trace", header(variant=FAMILY.main[0], threat=""), honest(1)))
    assert (result.conforms, result.header.threat, result.ignored) == (True, "outsider", 0)


def test_a_family_that_chooses_an_unknown_threat_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "load", lambda _: replace(SOURCE, family=replace(FAMILY, judged_under=lambda _: "x")))
    with pytest.raises(UsageError, match="no threat model 'x' in gpu-travelling"):
        conform(write(tmp_path / "trace", header(variant=FAMILY.main[0], threat=""), honest(1)))


def test_after_a_reset_what_the_platform_says_of_itself_is_ignored(tmp_path: Path) -> None:
    steps = [*honest(1), RESET]
    routes = [step for step in steps if step.action == "switch_mux"]
    result = conform(write(tmp_path / "trace", header(variant=FAMILY.main[0], threat=""), steps))
    assert (result.conforms, result.header.threat, result.ignored) == (True, "hypervisor", len(routes))
    assert (result.events, result.to_json()["threat"]) == (len(steps), "hypervisor")


def test_a_trace_that_names_its_threat_model_is_judged_as_it_says(tmp_path: Path) -> None:
    steps = honest(1)
    result = conform(write(tmp_path / "trace", header(variant=FAMILY.main[0], threat="hypervisor"), steps))
    assert result.divergence is not None
    assert steps[result.divergence.index].action == "switch_mux"
    assert not conform(
        write(tmp_path / "trace", header(variant=FAMILY.main[0], threat="outsider"), [*steps, RESET])
    ).conforms


def test_ignored_events_count_where_a_trace_diverges(tmp_path: Path) -> None:
    steps = [*honest(1), RESET, RESET, TraceStep("grant", "orchestrator")]
    result = conform(write(tmp_path / "trace", header(variant=FAMILY.main[0], threat=""), steps))
    assert result.divergence is not None
    assert result.divergence.index == len(steps) - 1


def test_the_command_says_that_ignored_events_were_not_checked(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace", header(variant=FAMILY.main[0], threat=""), [*honest(1), RESET])
    ran = carnet("conform", str(trace), "--json")
    assert (ran.code, ran.json["conforms"]) == (0, True)
    assert "every guard checked of those that were not ignored, and 2 were" in ran.json["run"]["strength"]


@pytest.mark.parametrize(
    ("judged_under", "error", "said"),
    [
        (lambda actions: "nobody", UsageError, "no threat model 'nobody' in gpu-travelling"),
        (lambda actions: actions["reset"], InvalidSpecificationError, "TypeError"),
    ],
    ids=["unknown", "raises"],
)
def test_a_threat_model_that_a_family_chooses_exists(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    judged_under: Callable[[Any], str],
    error: type[Exception],
    said: str,
) -> None:
    wrong = replace(SOURCE, family=replace(FAMILY, judged_under=judged_under))
    monkeypatch.setattr(recorded, "load", lambda reference: wrong)
    trace = write(tmp_path / "trace", header(variant=FAMILY.main[0], threat=""), honest(1))
    with pytest.raises(error, match=said):
        conform(trace)


# -- runs with one thing changed ------------------------------------------------------------------


def _mutants(steps: list[TraceStep], protocol: Protocol, instance: Instance) -> Iterator[tuple[int, list[TraceStep]]]:
    """Drop, repeat or swap each step, or change one argument; the first step that differs comes with it."""
    for at, step in enumerate(steps):
        yield at, steps[:at] + steps[at + 1 :]
        yield at + 1, steps[: at + 1] + steps[at:]
        if at + 1 < len(steps):
            yield at, [*steps[:at], steps[at + 1], step, *steps[at + 2 :]]
        for number, (name, element) in enumerate(step.args):
            sort = next(var.sort for var in protocol.action(step.action).params if var.name == name)
            for other in [each for each in (*instance.of(sort)[1:], *instance.of(sort)) if each != element][:1]:
                args = (*step.args[:number], (name, other), *step.args[number + 1 :])
                yield at, [*steps[:at], replace(step, args=args), *steps[at + 1 :]]


@pytest.mark.long
def test_a_single_change_is_refused_where_the_judge_refuses_it() -> None:
    """Of the changed traces that are accepted, the judge says that they are legal too."""
    protocol = SOURCE.protocol()
    one = {"holders": 1, "corrupt": 0, "chunks": 1, "rounds": 1}
    instance = SOURCE.instance(protocol, COLLUSION, Profile("one round", one))
    steps = honest(1, chunks=1, routed=False)
    judge = Interpreter(protocol, instance)
    states = [judge.initial()]
    for step in steps:
        states.append(_after(judge, states[-1], step))
    verdicts = set()
    for at, changed in itertools.islice(_mutants(steps, protocol, instance), 0, None, 1 if THOROUGH else 4):
        found = _followed(protocol, instance, changed)
        expected = _judged(judge, states[at], changed, at)
        assert (None if found is None else found.index) == expected, changed[at:]
        verdicts.add(expected is None)
    assert verdicts == {True, False}


def _after(judge: Interpreter, state: State, step: TraceStep) -> State:
    return judge.step(state, judge.protocol.action(step.action), step.env)


def _judged(judge: Interpreter, state: State, steps: list[TraceStep], at: int) -> int | None:
    for index in range(at, len(steps)):
        try:
            state = _after(judge, state, steps[index])
        except NotEnabled:
            return index
    return None


@pytest.mark.parametrize(
    ("dropped", "refused", "guard"),
    [
        ("exec_scrub", "scrubbed", "acknowledged"),
        ("gpu_rotate_in", "rotated_in", "acknowledged"),
        ("exec_fence", "fenced", "acknowledged"),
        ("exec_upload", "exec_read_back", "counter"),
        ("give_back", "take_back", "returned"),
        ("rotated_in", "send_fence", "phase"),
        ("accept_grant", "provision", "accepted grant"),
    ],
)
def test_the_guard_that_fails_is_named(dropped: str, refused: str, guard: str) -> None:
    protocol, instance = _design("hypervisor")
    steps = [step for step in honest(1, routed=False) if step.action != dropped]
    found = _followed(protocol, instance, steps)
    assert found is not None
    assert isinstance(found.step, TraceStep)
    assert found.step.action == refused
    assert f"'{guard}'" in found.why


def test_a_key_that_was_used_in_an_earlier_round_is_refused() -> None:
    """The order of epochs is kept as a number, and still refuses every key that was passed."""
    protocol, instance = _design(COLLUSION, "sealed-under-master")
    steps = honest(2, routed=False, variant="sealed-under-master")
    old = next(step for step in steps if step.action == "gpu_rotate_out")
    found = _followed(protocol, instance, [*steps, old])
    assert found is not None
    assert found.index == len(steps)
    assert "'not accepted before'" in found.why


# -- what roles cannot see ------------------------------------------------------------------------


def test_what_a_role_cannot_see_is_found() -> None:
    protocol, instance = _design(COLLUSION)
    hidden = {"gpu_receive": {"a", "m"}, "take_back": {"a"}, "provision": {"s"}, "exec_read_back": {"c", "n"}}
    steps = [_without(step, hidden.get(step.action, set())) for step in honest(2, routed=False)]
    assert _followed(protocol, instance, steps) is None


def _without(step: TraceStep, names: set[str]) -> TraceStep:
    return replace(step, args=tuple(arg for arg in step.args if arg[0] not in names))


def test_a_wrong_guess_is_taken_back() -> None:
    """Which counter value a grant starts from shows only when data is sent."""
    protocol = SOURCE.protocol("", ("count-handover", "sender-iv-monotonic"))
    instance = SOURCE.instance(protocol, COLLUSION, Profile("one round", TWO))
    steps = honest(1, routed=False)
    hidden = [_without(step, {"m", "v"}) if step.action in ("provision", "gpu_receive") else step for step in steps]
    assert _followed(protocol, instance, hidden) is None


# -- how long it takes ----------------------------------------------------------------------------


def test_an_event_costs_as_much_work_however_long_the_trace() -> None:
    """The last tenth of a long run against the first, in steps of work; seconds are compared in the benchmarks."""
    protocol = SOURCE.protocol("sealed-under-master")
    rounds = 300
    sizes = sizes_of(rounds, holders=3)
    instance = SOURCE.instance(protocol, COLLUSION, Profile("long", sizes))
    steps = honest(rounds, holders=3, routed=False, variant="sealed-under-master")
    part = len(steps) // 10
    follower = Follower(Machine(protocol, instance))
    first, *_, last = (_work(follower, steps[at : at + part]) for at in range(0, 10 * part, part))
    assert last < 1.1 * first


def _work(follower: Follower, steps: list[TraceStep]) -> int:
    begun = follower.work.left
    assert [follower.take(step) for step in steps] == [None] * len(steps)
    return begun + PER_EVENT * len(steps) - follower.work.left
