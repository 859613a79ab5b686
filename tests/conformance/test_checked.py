"""Checked traces: every check that the spec demands is there, and no event is dropped, repeated, moved or changed."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.conformance import checks, conform
from carnet_check.conformance.recorded import Logs
from carnet_check.errors import UsageError
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_spec.trace import Header, TraceCheck, TraceEnd, TraceEvent
from tests.fixtures.rounds import Event, end, events, header, honest, logged_again, with_deductions, write_checked
from tests.fixtures.travelling import FAMILY, SOURCE
from tests.fixtures.worlds import world_of
from tests.unit.model_check.command import carnet

VARIANT = FAMILY.main[0]
PROTOCOL = SOURCE.protocol(VARIANT)


LAYERED = [SOURCE.protocol(name) for name in FAMILY.with_layers([VARIANT])]
ASKED = checks.CheckRules.of(LAYERED, [FAMILY.draft_of(each.variant).whole() for each in LAYERED])
RUN = events(with_deductions(honest(1)), LAYERED)
FIRST = header(variant=VARIANT, threat="")
OTHER = "0" * 64  #: A digest of nothing.


def _conforms(path: Path, found: Sequence[Event], last: Event | None = None) -> bool:
    return conform(write_checked(path / "trace", FIRST, found, last)).conforms


@pytest.mark.parametrize("variant", FAMILY.main)
def test_a_run_with_all_its_checks_conforms(tmp_path: Path, variant: str) -> None:
    run = events(
        with_deductions(honest(2, variant=variant)), [SOURCE.protocol(name) for name in FAMILY.with_layers([variant])]
    )
    result = conform(write_checked(tmp_path / "trace", header(variant=variant, threat=""), run))
    assert result.conforms, result.divergence
    assert result.required == result.seen == sum("check" in event for event in run) > 60


def test_the_command_says_how_many_checks_were_required_and_found(tmp_path: Path) -> None:
    trace = write_checked(tmp_path / "trace", FIRST, RUN)
    count = sum("check" in event for event in RUN)
    ran = carnet("conform", str(trace), "--json")
    assert (ran.json["checked"], ran.json["checks"]) == (True, {"required": count, "seen": count})
    assert f"all {count} that the steps require were made and held" in carnet("conform", str(trace)).out


def test_what_is_demanded_is_what_guards_with_a_defence_say() -> None:
    """The demands are read off the spec: change the spec, and they change."""
    found = checks.demands(PROTOCOL)
    in_report = ["code-read-back", "no-context-left", "model-read-back", "received-count"]
    assert [each.defence for each in found["verified"]] == in_report
    assert {each.senders for each in found["verified"]} == {frozenset({"gpu"})}
    assert not [each for each in found["rotate_out"] if each.defence == "fresh-key"]
    assert "attestation-age" in [each.defence for each in checks.demands(LAYERED[-1])["grant"]]
    weaker = checks.demands(SOURCE.protocol(VARIANT, ("model-read-back",)))
    assert [each.defence for each in weaker["verified"]] == ["code-read-back", "no-context-left", "received-count"]


# -- as it was recorded: nothing can be left out, repeated, moved or changed ---------------------------------------


def _tampered(run: Sequence[Event]) -> Iterator[tuple[str, list[Event]]]:
    """Drop, repeat and swap each event, and change each of its fields, as somebody does who edits the file."""
    for at, event in enumerate(run):
        yield f"{at} dropped", [*run[:at], *run[at + 1 :]]
        yield f"{at} repeated", [*run[: at + 1], *run[at:]]
        if at + 1 < len(run) and run[at + 1]["party"] == event["party"]:
            yield f"{at} swapped", [*run[:at], run[at + 1], event, *run[at + 2 :]]
        for name, value in event.items():
            yield f"{at} {name}", [*run[:at], event | {name: _another(value)}, *run[at + 1 :]]


def _another(value: object) -> object:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value + 0.5
        case str():
            return value + "x"
        case list():
            return [OTHER]
        case dict():
            return {name: _another(each) for name, each in value.items()} or {"x": "y"}
    raise TypeError(value)


def _logs_refuse(run: Sequence[Event], last: Event, first: Header = FIRST) -> bool:
    logs = Logs(replace(first, checked=True))
    return any(logs.take(TraceEvent.from_json(event)) for event in run) or bool(logs.close(TraceEnd.from_json(last)))


def test_every_edit_of_every_event_is_refused() -> None:
    last = end(RUN, FIRST)
    assert not _logs_refuse(RUN, last)
    assert not [what for what, run in _tampered(RUN) if not _logs_refuse(run, last)]


@pytest.mark.parametrize(
    ("at", "change"),
    [(5, "drop"), (9, "repeat"), (14, "digest"), (20, "number"), (-1, "drop")],
    ids=str,
)
def test_conform_refuses_an_edited_trace(tmp_path: Path, at: int, change: str) -> None:
    run, at = list(RUN), at % len(RUN)
    edits: dict[str, Callable[[Event], list[Event]]] = {
        "drop": lambda event: [],
        "repeat": lambda event: [event, event],
        "digest": lambda event: [event | {"before": OTHER}],
        "number": lambda event: [event | {"number": event["number"] + 1}],
    }
    changed = [*run[:at], *edits[change](run[at]), *run[at + 1 :]]
    assert not _conforms(tmp_path, changed, end(RUN, FIRST))


def test_events_of_two_parties_keep_the_order_of_their_clocks(tmp_path: Path) -> None:
    at = next(n for n, (one, two) in enumerate(itertools.pairwise(RUN)) if one["party"] != two["party"])
    with pytest.raises(UsageError, match="the clock goes back"):
        _conforms(tmp_path, [*RUN[:at], RUN[at + 1], RUN[at], *RUN[at + 2 :]])


def test_a_trace_that_breaks_off_is_refused(tmp_path: Path) -> None:
    trace = write_checked(tmp_path / "trace", FIRST, RUN)
    trace.write_text("".join(trace.read_text().splitlines(keepends=True)[:-1]))
    found = conform(trace).divergence
    assert found is not None
    assert "breaks off" in found.why


def test_nothing_follows_the_end(tmp_path: Path) -> None:
    trace = write_checked(tmp_path / "trace", FIRST, RUN)
    trace.write_text(trace.read_text() + trace.read_text().splitlines()[1] + "\n")
    with pytest.raises(UsageError, match="the trace ends on the line before"):
        conform(trace)


def test_checks_are_not_read_where_the_header_does_not_promise_them(tmp_path: Path) -> None:
    trace = write_checked(tmp_path / "trace", FIRST, RUN)
    trace.write_text(trace.read_text().replace('"checked": true', '"checked": false'))
    with pytest.raises(UsageError, match="line 2: only a checked trace has this"):
        conform(trace)


# -- as if roles had done so: what the spec demands of checks ------------------------------------------------------


def _refused(run: Sequence[Event], asked: checks.CheckRules = ASKED) -> str:
    """Return why the checks of these events do not fit, whatever their logs say; steps are another test's business."""
    parties: dict[str, str] = {}
    for event in run:
        parties.setdefault(event["party"], event["by"])
    judge = checks.CheckJudge(asked, parties)
    said = (judge.take(TraceEvent.from_json(event)) for event in run)
    return next((why for why in said if why), "") or judge.left()


def _of_checks(run: Sequence[Event]) -> Iterator[tuple[int, str, list[Event]]]:
    for at, event in enumerate(run):
        if "check" not in event:
            continue
        yield at, "dropped", [*run[:at], *run[at + 1 :]]
        yield at, "failed", [*run[:at], event | {"holds": False}, *run[at + 1 :]]
        yield at, "of another defence", [*run[:at], event | {"check": "a-defence"}, *run[at + 1 :]]
        yield at, "for another requirement", [*run[:at], event | {"requirement": "REQ-NONE-01"}, *run[at + 1 :]]
        yield at, "by another role", [*run[:at], event | {"by": "platform"}, *run[at + 1 :]]
        yield at, "for no step", [*run[:at], event | {"for": ""}, *run[at + 1 :]]
        yield at, "after its step", _after_its_step(run, at)
        if event["sender"]:
            yield at, "of something else", [*run[:at], event | {"saw": OTHER}, *run[at + 1 :]]
            yield at, "of nobody's message", [*run[:at], event | {"sender": ""}, *run[at + 1 :]]
            yield at, "of a stranger's message", [*run[:at], event | {"sender": "nobody"}, *run[at + 1 :]]


def _after_its_step(run: Sequence[Event], at: int) -> list[Event]:
    mine = run[at]
    step = next(n for n in range(at, len(run)) if run[n]["party"] == mine["party"] and "action" in run[n])
    return [*run[:at], *run[at + 1 : step + 1], mine, *run[step + 1 :]]


def test_a_check_that_was_not_made_as_demanded_is_noticed() -> None:
    """Roles that leave a check out, or log it otherwise, do not conform, however well they keep their logs."""
    assert not _refused(RUN)
    changed = list(_of_checks(RUN))
    assert len({at for at, _, _ in changed}) == sum("check" in event for event in RUN)
    assert not [(at, what, RUN[at]) for at, what, run in changed if not _refused(run)]


def test_checks_without_their_step_are_noticed() -> None:
    """Unless the party takes the same kind of step next, which the machine has to miss."""
    for at, event in enumerate(RUN):
        later = (each["action"] for each in RUN[at + 1 :] if "action" in each and each["party"] == event["party"])
        if at and RUN[at - 1].get("for") == event.get("action", "") and next(later, "") != event["action"]:
            assert _refused([*RUN[:at], *RUN[at + 1 :]]), event


def test_what_a_role_sees_of_its_own_cannot_be_told_from_outside() -> None:
    """By nature invisible: nobody else can say what a role that logs the right result compared with what it holds."""
    at = next(n for n, event in enumerate(RUN) if "check" in event and not event["sender"])
    assert not _refused([*RUN[:at], RUN[at] | {"saw": OTHER}, *RUN[at + 1 :]])


def test_a_digest_that_its_sender_never_sent_is_noticed_at_either_end() -> None:
    seen = {event["saw"] for event in RUN if event.get("sender")}
    for at, event in enumerate(RUN):
        if seen & set(event.get("sent", ())):
            assert _refused([*RUN[:at], event | {"sent": [OTHER]}, *RUN[at + 1 :]]), event


def _of_earlier_messages(run: Sequence[Event]) -> Iterator[list[Event]]:
    """Yield the events with one step's checks about what an earlier step of the same party was taken on."""
    used = dict[tuple[str, str], tuple[str, str]]()
    for at, event in enumerate(run):
        before = used.get((event["party"], event.get("sender", "")))
        if before and before != (event["for"], event["saw"]):
            yield [*run[:at], event | {"saw": before[1]}, *run[at + 1 :]]
        elif event.get("sender"):
            used[event["party"], event["sender"]] = event["for"], event["saw"]


def test_a_check_of_an_old_message_is_noticed(recorded: list[Event]) -> None:
    """What a step was taken on is used up; if the design lacks a defence against replay, it is not."""
    for run in (RUN, recorded):
        old = list(_of_earlier_messages(run))
        assert len(old) > 10
        assert all("took an earlier step on the message of" in _refused(each) for each in old)
    weaker = [SOURCE.protocol(name, ("session-sequence",)) for name in FAMILY.with_layers([VARIANT])]
    asked = checks.CheckRules.of(weaker, LAYERED)
    assert not asked.once
    assert not _refused(next(_of_earlier_messages(RUN)), asked)


def test_what_keeps_messages_from_being_taken_twice_is_read_off_the_spec() -> None:
    found = {"session-sequence", "gpu-implicit-iv", "grant-once", "wrapped-key-once", "epochs-increase"}
    assert checks.replay_defences(LAYERED) == found
    rotating = [each.defence for each in checks.demands(PROTOCOL)["gpu_rotate_in"]]
    assert rotating == ["wrapped-key-once", "epochs-increase"]
    weaker = checks.demands(SOURCE.protocol(VARIANT, ("wrapped-key-once",)))
    assert [each.defence for each in weaker["gpu_rotate_in"]] == ["epochs-increase"]


def test_a_design_whose_epochs_share_ivs_takes_messages_twice() -> None:
    """Without a counter of the channel the GPU takes an earlier epoch's chunk, and equal messages are equal bytes."""
    assert not checks.takes_again(LAYERED)
    weaker = [SOURCE.protocol(name, ("channel-counter",)) for name in FAMILY.with_layers([VARIANT])]
    asked = checks.CheckRules.of(weaker, [FAMILY.draft_of(each.variant).whole() for each in LAYERED])
    assert checks.takes_again(weaker)
    assert checks.replay_defences(weaker) == checks.replay_defences(LAYERED), "no guard says so"
    assert (ASKED.once, asked.once) == (True, False)
    assert not _refused(next(_of_earlier_messages(RUN)), asked)
    early = [SOURCE.protocol(name, ("rotation-before-fence",)) for name in FAMILY.with_layers([VARIANT])]
    assert not checks.takes_again(early), "it sends an order early, and takes no message of another step"


def test_a_requirement_is_one_that_checks_of_the_defence_are_about() -> None:
    """Read off the spec: what actions enforce that carry it, or that share a message with what it takes away."""
    found = checks.requirements(FAMILY.draft_of(VARIANT).whole())
    assert found["scrub-workspace"] == {"REQ-SCRUB-01", "REQ-SCRUB-02"}
    assert "REQ-SESSION-01" in found["session-orders"]
    assert {"REQ-GRANT-03"} < found["launch-key-kept"]
    for at, event in enumerate(RUN):
        if "check" in event:
            other = next(id for ids in found.values() for id in sorted(ids) if id not in found[event["check"]])
            told = _refused([*RUN[:at], event | {"requirement": other}, *RUN[at + 1 :]])
            assert told.startswith(f"no check of '{event['check']}' is about {other}")


def test_defences_that_no_event_is_about_are_those_that_code_carries_out() -> None:
    """They erase, install, draw or leave something out; no guard of an honest role is about them."""
    found = checks.silent_defences(LAYERED)
    assert found["scrub-workspace"] == ("exec_scrub",)
    assert found["h2d-half-only"] == found["session-acknowledgements"] == ()
    asked = {each.defence for design in LAYERED for every in checks.demands(design).values() for each in every}
    assert not asked & set(found)
    assert asked | set(found) == {defence.id for defence in PROTOCOL.defences}


# -- the header: each log is bound to the design, and the end to all of it ------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        {"variant": "retired-engine-leaks"},
        {"variant": "sealed-under-master"},
        {"without": ("revocation-check",)},
        {"without": ("lease", "fence")},
        {"threat": "outsider"},
        {"sizes": (*FIRST.sizes[:-1], (FIRST.sizes[-1][0], FIRST.sizes[-1][1] + 1))},
    ],
    ids=str,
)
def test_a_header_that_is_edited_by_itself_is_noticed(tmp_path: Path, edit: dict[str, Any]) -> None:
    found = conform(write_checked(tmp_path / "trace", replace(FIRST, **edit), RUN, end(RUN, FIRST))).divergence
    assert found is not None
    design = "began its log in another design than the one that the header names"
    assert (design if edit.keys() & {"variant", "without"} else "the header is another than") in found.why


def test_a_trace_of_steps_only_says_so_first_and_is_refused_where_checks_are_required(tmp_path: Path) -> None:
    """A trace that is stripped of its checks, with its header edited, is a trace of steps and no more."""
    steps = [event for event in RUN if "action" in event]
    bare = [{name: each[name] for name in ("clock", "action", "by", "args")} for each in steps]
    trace = tmp_path / "trace"
    trace.write_text("".join(json.dumps(each) + "\n" for each in (FIRST.to_json(), *bare)))
    assert carnet("conform", str(trace)).out.startswith("STEPS ONLY: this trace does not show that any check was made")
    ran = carnet("conform", str(trace), "--require-checked")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "expected a trace with checks, found one with steps only" in ran.err
    assert carnet("conform", str(write_checked(trace, FIRST, RUN)), "--require-checked").code == 0


@pytest.mark.parametrize("action", ["give_report", "attest_orchestrator", "prove_enrolment", "admit"])
def test_steps_that_the_spec_deduces_have_to_be_recorded(tmp_path: Path, action: str) -> None:
    """With the quote's or the enrolment's check left out, nothing else of a trace changes: the step is missed."""
    skipped = [event for event in RUN if action not in (event.get("action"), event.get("for"))]
    assert not _conforms(tmp_path, logged_again(skipped, FIRST))


def test_a_trace_without_a_removed_defence_needs_no_check_of_it(tmp_path: Path) -> None:
    without = [event for event in RUN if event.get("check") != "model-read-back"]
    removed = replace(FIRST, without=("model-read-back",))
    assert not _conforms(tmp_path, logged_again(without, FIRST))
    assert conform(write_checked(tmp_path / "trace", removed, logged_again(without, removed))).conforms


def test_checks_are_events_that_can_be_read_back() -> None:
    for event in RUN:
        assert TraceEvent.from_json(event).to_json() == event
        assert isinstance(TraceEvent.from_json(event).step, TraceCheck) == ("check" in event)


# -- a run that was recorded ---------------------------------------------------------------------------------------


RECORDED = Deployment(holder_names(2), 2, chunk_bytes=64)


@pytest.fixture(scope="module")
def recorded() -> list[Event]:
    """Return the events of a run of the reference implementation: real keys, real evidence, one process."""
    world, _ = world_of(RECORDED)
    world.run(20_000)
    assert not world.failure
    return [json.loads(line) for line in world.recorder.lines]


def test_a_recorded_run_conforms_with_all_its_checks(tmp_path: Path, recorded: list[Event]) -> None:
    first = RECORDED.header(map(json.dumps, recorded))
    result = conform(write_checked(tmp_path / "trace", first, recorded))
    assert result.conforms, result.divergence
    assert result.seen > result.required > 80


def test_every_edit_of_every_recorded_event_is_refused(recorded: list[Event]) -> None:
    first = RECORDED.header(map(json.dumps, recorded))
    last = end(recorded, first)
    assert not _logs_refuse(recorded, last, first)
    assert not [what for what, run in _tampered(recorded) if not _logs_refuse(run, last, first)]


def test_a_recorded_check_that_is_not_missed_is_one_that_no_guard_demands(recorded: list[Event]) -> None:
    """By nature invisible: what a role checks beyond the spec, and the second of two checks about one defence."""
    found = {action: {each.defence for each in asked} for action, asked in checks.demands(LAYERED[-1]).items()}
    assert not _refused(recorded)
    for at, event in enumerate(recorded):
        if "check" in event and not _refused([*recorded[:at], *recorded[at + 1 :]]):
            near = recorded[max(0, at - 12) : at + 12]
            beside = [e for e in near if all(e.get(key) == event[key] for key in ("party", "check", "for"))]
            assert event["check"] not in found.get(event["for"], ()) or len(beside) > 1, event


def test_every_message_that_a_recorded_check_saw_was_sent(recorded: list[Event]) -> None:
    sent = {digest for event in recorded for digest in event.get("sent", ())}
    seen = [event for event in recorded if event.get("sender")]
    assert {event["sender"] for event in seen} == {"gpu", "orchestrator", "alice", "anna"}
    assert all(event["saw"] in sent for event in seen)
    for at, event in enumerate(recorded):
        if event.get("sender"):
            assert _refused([*recorded[:at], event | {"saw": OTHER}, *recorded[at + 1 :]])


# -- instants in checked traces --------------------------------------------------------------------------


TIMED = [SOURCE.protocol(name) for name in FAMILY.with_layers([VARIANT])]
TIMED_RUN = events(with_deductions(honest(2)), TIMED)
LATE = 2_000_000  #: After everything in the run, and after the end of every lease and of all evidence.


def _why(path: Path, run: Sequence[Event]) -> str:
    """Return why a trace of these events, recorded so, does not conform, or nothing."""
    found = conform(write_checked(path / "trace", FIRST, logged_again(run, FIRST))).divergence
    return "" if found is None else found.why


def _last(action: str) -> int:
    return max(number for number, event in enumerate(TIMED_RUN) if event.get("action") == action)


def _with(action: str, **at: float | None) -> list[Event]:
    """Return the run with other instants in the last step of a kind; ``None`` leaves one out."""
    last = _last(action)
    found = {name: instant for name, instant in (TIMED_RUN[last]["at"] | at).items() if instant is not None}
    return [*TIMED_RUN[:last], TIMED_RUN[last] | {"at": found}, *TIMED_RUN[last + 1 :]]


def test_what_is_followed_is_what_the_layer_says_of_instants() -> None:
    """Read off the spec: what carries a defence or says how the clock runs, and nothing of keys and phases."""
    (clock,) = checks.Clock.of(TIMED[0], TIMED)
    assert {action.name: [guard.name for guard in action.guards] for action in clock.protocol.actions} == {
        "open_session": ["time passes"],
        "accept_gpu": ["time passes"],
        "rotate_out": ["time passes", "age at the order"],
        "grant": ["time passes", "age at use", "a lease within it"],
        "take_back": ["time passes", "within the lease"],
        "evict": ["time passes"],
        "read_clock": ["time has passed"],
    }
    assert {each.name for each in clock.protocol.sorts} == {"Instant"}


def test_a_design_without_a_clock_has_none() -> None:
    assert checks.Clock.of(TIMED[0], TIMED[:1]) == ()


def test_instants_as_they_are_conform(tmp_path: Path) -> None:
    assert not _why(tmp_path, TIMED_RUN)


GRANTED = TIMED_RUN[_last("grant")]["at"]["now"]


@pytest.mark.parametrize(
    ("run", "guard"),
    [
        (_with("grant", end=LATE), "a lease within it"),
        (_with("grant", now=LATE, end=LATE), "age at use"),
        (_with("grant", end=GRANTED), "within the lease"),
        (_with("rotate_out", now=LATE), "age at the order"),
        (_with("take_back", now=LATE), "within the lease"),
        (_with("take_back", now=GRANTED - 1), "time passes"),
        (_with("accept_gpu", now=-1), "time passes"),
    ],
    ids=["lease too long", "granted late", "lease too short", "ordered late", "returned late", "before", "negative"],
)
def test_a_comparison_that_fails_is_noticed_though_the_role_says_that_it_holds(
    tmp_path: Path, run: list[Event], guard: str
) -> None:
    """Every check is recorded as made, and as holding; only the numbers say otherwise."""
    assert f"'{guard}'" in _why(tmp_path, run)


def test_a_comparison_that_a_design_lacks_is_not_made() -> None:
    """A trace of a weaker design is judged by what that one says of instants."""
    weaker = SOURCE.protocol(TIMED[-1].variant, ("lease",))
    (clock,) = checks.Clock.of(TIMED[0], [TIMED[0], weaker])
    assert [guard.name for guard in clock.protocol.action("take_back").guards] == ["time passes"]


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (_with("grant", end=None), "expected the instants of the event to be now, end, found now"),
        (_with("take_back", now=None), "to be now, found none"),
        (_with("grant", then=1), "to be now, end, found now, end, then"),
    ],
    ids=["missing", "all missing", "unknown"],
)
def test_each_step_gives_the_instants_that_the_layer_asks_for(tmp_path: Path, run: list[Event], told: str) -> None:
    assert told in _why(tmp_path, run)


@pytest.mark.parametrize("instant", ["1", True, None, float("nan"), float("inf")], ids=str)
def test_an_instant_is_a_number(tmp_path: Path, instant: object) -> None:
    at = _last("grant")
    odd = [*TIMED_RUN[:at], TIMED_RUN[at] | {"at": {"now": instant, "end": 1}}, *TIMED_RUN[at + 1 :]]
    with pytest.raises(UsageError, match="expected 'now' to be a number of seconds"):
        conform(write_checked(tmp_path / "trace", FIRST, odd, {"end": {}, "header": ""}))


def test_a_recorded_run_says_when_it_was(tmp_path: Path) -> None:
    """Real roles: their instants conform, and a return that is moved behind its lease does not."""
    deployment = Deployment(holder_names(2), 2, chunk_bytes=64)
    world, _ = world_of(deployment)
    world.run(20_000)
    assert not world.failure
    first = deployment.header(world.recorder.lines)
    run: list[Event] = [json.loads(line) for line in world.recorder.lines]
    assert conform(write_checked(tmp_path / "trace", first, run)).conforms
    ends = next(event["at"]["end"] for event in run if event.get("action") == "grant")
    at = next(number for number, event in enumerate(run) if event.get("action") == "take_back")
    late = logged_again([*run[:at], run[at] | {"at": {"now": ends + 0.001}}, *run[at + 1 :]], first)
    found = conform(write_checked(tmp_path / "late", first, late)).divergence
    assert found is not None
    assert "'within the lease'" in found.why
