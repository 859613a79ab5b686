"""Traces that somebody writes to keep `carnet conform` busy: up to a megabyte, each of one kind."""

import itertools
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.conformance import AmbiguousTraceError, Follower, Machine, conform, recorded, tables
from carnet_spec.language import Profile
from carnet_spec.trace import TraceEvent, TraceStep
from tests.fixtures.rounds import honest
from tests.fixtures.travelling import COLLUSION, SOURCE
from tests.unit.model_check.command import carnet

MEGABYTE = 1 << 20
Lines = Iterable[str]

HEADER: dict[str, Any] = {
    "carnet_trace": 3,
    "protocol": "gpu-travelling",
    "variant": "engine-per-holder",
    "without": [],
    "threat": "collusion",
    "sizes": {"holders": 2, "corrupt": 1, "chunks": 2},
}


def header(variant: str = "engine-per-holder", **sizes: int) -> str:
    """Return a header of these sizes."""
    return json.dumps({**HEADER, "variant": variant, "sizes": {**HEADER["sizes"], **sizes}})


def lines(steps: Iterable[TraceStep]) -> Iterator[str]:
    return (json.dumps(TraceEvent(clock, step).to_json()) for clock, step in enumerate(steps))


def bare(steps: Iterable[TraceStep]) -> Iterator[TraceStep]:
    """Leave out every argument."""
    return (replace(step, args=()) for step in steps)


def adversary(*actions: str) -> Iterator[TraceStep]:
    """Repeat steps of the adversary, without arguments."""
    return (TraceStep(action, "adversary") for action in itertools.cycle(actions))


def without_data(steps: Iterable[TraceStep]) -> Iterator[TraceStep]:
    """Leave out the arguments of what there is most of."""
    return (replace(s, args=()) if s.action in ("provision", "gpu_receive") else s for s in steps)


def _named(count: int) -> Iterator[TraceStep]:
    """Draw a new session and a new key again and again, after a reset."""
    for number in range(count):
        yield TraceStep("reset", "adversary", (("g", "gpu1"), ("mode", "OPEN")))
        own = (("x", "mallory"), ("g", "gpu1"), ("s", f"s{number}"), ("k", f"k{number}"))
        yield TraceStep("open_own_session", "adversary", own)


def _rounds(rounds: int, *, holders: int = 2, chunks: int = 2) -> list[TraceStep]:
    return honest(rounds, holders=holders, chunks=chunks, routed=False)


LATE = [*bare(_rounds(12)[:200]), *[TraceStep("fenced", "orchestrator")] * 3]
OPENING = TraceStep("open_session", "orchestrator")

#: Those that take a second or two.
QUICK: dict[str, Callable[[], tuple[str, Lines]]] = {
    "a late failure after steps without arguments": lambda: (header(rounds=300), lines(LATE)),
    "no arguments at all, among many": lambda: (
        header(holders=40, corrupt=10, chunks=5, rounds=300),
        lines(bare(_rounds(300))),
    ),
    "a hundred thousand keys alike": lambda: (
        header(rounds=100_000),
        lines([OPENING, TraceStep("fenced", "orchestrator")]),
    ),
    "one fault everywhere": lambda: (header(gpus=20, fakes=5, rounds=2), lines([OPENING, *adversary_steps(400)])),
    "a deep value": lambda: (header(), ["[" * 500_000 + "]" * 500_000]),
    "a long name": lambda: (header(), lines([TraceStep("a" * 1_000_000, "orchestrator")])),
    "a long variant": lambda: (header("v" * 1_000_000), []),
    "a defence many times": lambda: (json.dumps(HEADER | {"without": ["fence"] * 100_000}), []),
}

SLOW: dict[str, Callable[[], tuple[str, Lines]]] = {
    "no arguments at all": lambda: (header(rounds=300), lines(bare(_rounds(300)))),
    "keys and sessions alike": lambda: (header(rounds=100_000, sessions=100_000), lines([OPENING] * 14_000)),
    "the largest sizes": lambda: (
        header(holders=10, corrupt=10, chunks=5, gpus=4, fakes=2, rounds=100_000, sessions=100_000),
        lines(bare(_rounds(300))),
    ),
    "a thousand chunks": lambda: (header(holders=1, chunks=1_000), lines(_rounds(2, holders=1, chunks=1_000))),
    "a thousand holders": lambda: (header(holders=1_000, chunks=1), lines(bare(_rounds(300)))),
    "a thousand corrupt holders": lambda: (header(holders=1, corrupt=1_000, chunks=1), lines(_named(5_000))),
    "a thousand instances": lambda: (header(holders=1, chunks=1, instances=1_000), lines(bare(_rounds(300)))),
    "a thousand counter values": lambda: (
        header(holders=1, chunks=1, slots=1_000),
        lines([*itertools.islice(adversary("reset"), 6_000), *bare(_rounds(100))]),
    ),
    "five hundred instants": lambda: (
        header("engine-per-holder-timed", holders=1, chunks=1, instants=500, limit=2),
        lines(bare(_rounds(300))),
    ),
    "GPUs of outsiders": lambda: (
        header(holders=1, chunks=1, elsewhere=400, own_sessions=3),
        lines(itertools.islice(adversary("open_own_session"), 13_000)),
    ),
    "many fresh values": lambda: (header(), lines(_named(10_000))),
    "data without arguments": lambda: (
        header(holders=1, chunks=500),
        lines(without_data(_rounds(3, holders=1, chunks=500))),
    ),
    "resets and reports": lambda: (
        header(corrupt=2),
        lines([*_rounds(1)[:31], *itertools.islice(adversary("reset", "obtain_report"), 8_000)]),
    ),
    "many sizes": lambda: (json.dumps(HEADER | {"sizes": {f"x{n}": 1 for n in range(70_000)}}), []),
    "many arguments": lambda: (
        header(),
        lines([TraceStep("open_session", "orchestrator", tuple((f"a{n}", "b") for n in range(60_000)))]),
    ),
    "empty lines": lambda: (header(), [""] * 1_000_000),
}


def adversary_steps(count: int) -> Iterator[TraceStep]:
    """Take resets that nothing names, and then a step that none of them allows."""
    yield from itertools.islice(adversary("reset"), count)
    yield TraceStep("fenced", "orchestrator")


def write(file: Path, shape: Callable[[], tuple[str, Lines]]) -> Path:
    """Write a trace, up to a megabyte of it."""
    first, rest = shape()
    size = 0
    with file.open("w", encoding="utf-8") as stream:
        for line in itertools.chain((first,), rest):
            size += len(line) + 1
            if size > MEGABYTE:
                break
            stream.write(line + "\n")
    return file


# -- A trace of a megabyte that is written to keep the checker busy is answered within seconds and a fixed memory ---


MOST_SECONDS = 10  #: Of processor time: other work on the machine does not count.
MOST_MEGABYTES = 300

#: `VmHWM` is of this process alone; `ru_maxrss` begins with what its parent held.
ALONE = """
import re, sys, time
from pathlib import Path
from carnet_check.cli import main
try:
    main(["conform", sys.argv[1], "--json"])
except SystemExit as end:
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print(end.code, time.process_time(), int(peak.group(1)) // 1024, file=sys.stderr)
"""


def answered(trace: Path) -> int:
    """Return the exit code of `carnet conform` in a process of its own, which keeps within what it may take."""
    ran = subprocess.run(
        [sys.executable, "-c", ALONE, str(trace)], capture_output=True, text=True, timeout=100, check=False
    )
    code, seconds, megabytes = ran.stderr.splitlines()[-1].split()
    assert float(seconds) < MOST_SECONDS
    assert int(megabytes) < MOST_MEGABYTES
    assert code in "0123"
    assert ran.stdout.count("\n") > 0
    return int(code)


@pytest.mark.mends("M4")
@pytest.mark.parametrize("shape", QUICK)
def test_a_hostile_trace_is_answered(tmp_path: Path, shape: str) -> None:
    assert answered(write(tmp_path / "trace", QUICK[shape])) in (1, 2, 3)


@pytest.mark.mends("M4")
@pytest.mark.slow
@pytest.mark.parametrize("shape", SLOW)
def test_a_hostile_trace_of_a_megabyte_is_answered(tmp_path: Path, shape: str) -> None:
    answered(write(tmp_path / "trace", SLOW[shape]))


@pytest.mark.mends("M4")
def test_what_is_not_decided_is_said_to_be_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "TO_BEGIN_WITH", 200_000)
    trace = write(tmp_path / "trace", QUICK["no arguments at all, among many"])
    ran = carnet("conform", str(trace), "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (3, "unknown")
    assert "undecided after 200,000 steps of work" in ran.json["error"]["message"]


# -- counted, not timed ----------------------------------------------------------------------------


def follower(**sizes: int) -> Follower:
    """Return a follower of traces that name no key and no session."""
    protocol = SOURCE.protocol()
    instance = SOURCE.instance(
        protocol, COLLUSION, Profile("sizes", {"holders": 2, "corrupt": 1, "chunks": 2, **sizes})
    )
    return Follower(Machine(protocol, instance, {"Key": (), "Session": ()}))


def spent(until: int) -> int:
    """Return the steps of work that the late failure takes up to an event."""
    following = follower(rounds=300)
    before = following.work.left
    for step in LATE[:until]:
        following.take(step)
    return before + until * tables.PER_EVENT - following.work.left


@pytest.mark.mends("M4")
def test_the_work_is_the_same_whenever_it_is_counted() -> None:
    assert spent(150) == spent(150) > 0


@pytest.mark.mends("M4")
def test_more_keys_of_one_kind_take_no_more_work() -> None:
    found = []
    for rounds in (2, 20_000):
        following = follower(rounds=rounds)
        before = following.work.left
        assert following.take(TraceStep("open_session", "orchestrator")) is None
        assert following.choice_points == 1  # the first key and the first session, or others
        found.append(before - following.work.left)
    assert found[0] == found[1]


@pytest.mark.mends("M4")
def test_a_step_that_no_state_allows_is_refused_without_going_back() -> None:
    following = follower(rounds=20)
    for step in LATE[:100]:
        assert following.take(step) is None
    assert following.choice_points
    before = following.work.left
    divergence = following.take(TraceStep("fly", "orchestrator"))
    assert divergence is not None
    assert divergence.index == 100
    assert following.work.left == before + tables.PER_EVENT


@pytest.mark.mends("M4")
def test_what_waits_too_long_is_forgotten_and_then_nothing_is_said_to_diverge(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace that goes on conforms all the same: what was followed is a run of the spec."""
    monkeypatch.setattr("carnet_check.conformance.tables.MOST_KEPT", 400)
    following = follower(rounds=20, slots=22)
    for step in bare(honest(20, routed=False)):
        assert following.take(step) is None
    assert following.stored_changes <= 400
    with pytest.raises(AmbiguousTraceError, match="undecided at event"):
        following.take(TraceStep("fenced", "orchestrator"))


@pytest.mark.mends("M4")
def test_a_recorded_run_leaves_most_of_its_allowance() -> None:
    following = follower(rounds=40, slots=42)
    steps = honest(40, routed=False)
    before = following.work.left
    assert not any(following.take(step) for step in steps)
    assert following.work.left - before > len(steps) * tables.PER_EVENT / 2
    assert following.choice_points == 0


def test_a_repeated_defence_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    first = {"carnet_trace": 3, "protocol": "gpu-travelling", "variant": "", "threat": COLLUSION}
    trace.write_text(json.dumps(first | {"without": ["fence", "fence"]}) + "\n")
    ran = carnet("conform", str(trace))
    assert (ran.code, ran.err) == (2, "carnet: line 1: 'without' names 'fence' twice\n")


def test_conforming_traces_are_those_of_before(tmp_path: Path) -> None:
    shape = SLOW["resets and reports"]
    assert conform(write(tmp_path / "trace", shape)).conforms


@pytest.mark.mends("M4")
def test_to_go_back_takes_no_longer_after_a_long_trace(tmp_path: Path) -> None:
    """What was taken since the first way that is open is not gone through for each way back: a deque counts it."""

    class Counted(deque[TraceStep]):
        seen = 0

        def __iter__(self) -> Iterator[TraceStep]:
            for each in super().__iter__():
                Counted.seen += 1
                yield each

    following = follower(rounds=20)
    reset = TraceStep("reset", "adversary", (("g", "gpu1"), ("mode", "OPEN")))
    for step in [OPENING, *[reset] * 2_000, TraceStep("reset", "adversary")]:
        assert following.take(step) is None
    following._steps = Counted(following._steps)
    assert following.take(TraceStep("fenced", "orchestrator")) is not None
    assert Counted.seen < 2_000


@pytest.mark.mends("L1")
def test_what_cannot_be_read_twice_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ran = carnet("conform", str(pipe))
    assert (ran.code, ran.err) == (2, f"carnet: '{pipe}' is read twice, so it has to be a plain file\n")


@pytest.mark.mends("L1")
def test_a_trace_that_changes_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write(tmp_path / "trace", QUICK["one fault everywhere"])
    monkeypatch.setattr(recorded, "_with_elements", lambda instance, _: (trace.write_text(""), instance)[1])
    ran = carnet("conform", str(trace))
    assert (ran.code, ran.err) == (2, f"carnet: '{trace}' changed while it was read\n")
