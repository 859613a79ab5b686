"""What a host sees of two runs with real bytes: the same for any data of one shape, and not without each defence.

The shape of a hand-over is looked at in GPU Travelling's own runs, where frames of a session have padding of random
length (DSP0277): both runs draw the same randomness, and what it makes different is looked at by itself.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_check.loading.families import load
from carnet_ref.crypto.primitives import KEY_BYTES, Random
from carnet_ref.systems.ablation import ChecksWithout
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.gpu_travelling.deployment import Deployment
from carnet_ref.systems.sgx_lkl import frames as wire
from carnet_ref.systems.sgx_lkl.enclave import Enclave, End, Keys
from carnet_ref.systems.sgx_lkl.frames import TURNS, Call, FrameMetadata, Operation, Shape, ShapeError
from carnet_ref.systems.sgx_lkl.run import Holder, Peer, collect_dataset, padded_dataset
from carnet_ref.transport.frames import Frame, FrameKind
from carnet_spec.language.lints import lint_draft
from carnet_spec.protocols.sgx_lkl.design import oblivious, one_run
from tests.fixtures.worlds import world_of
from tests.unit.model_check.command import carnet

SHAPE = Shape(chunks=3, ticks=7, block_bytes=64, blocks=2)
ROOM = SHAPE.room


class Reaction(Enum):
    """What the host does with a frame."""

    SERVE = "serve"
    REFUSE = "refuse"
    SPOIL = "spoil"


#: What the host does in each tick; a host that reacts to what it sees is a function of what both runs show.
Host = Callable[[int], Reaction]


datasets = st.binary(max_size=3 * ROOM)
results = st.binary(max_size=ROOM)
calls = st.builds(
    Call,
    name=st.just("call"),
    operation=st.sampled_from(TURNS),
    block=st.integers(0, SHAPE.blocks - 1),
    content=st.binary(max_size=3 * ROOM),
    work=st.integers(0, 1000),
)
workloads = st.lists(calls, max_size=6)
reactions = st.lists(st.sampled_from(Reaction), min_size=SHAPE.ticks, max_size=SHAPE.ticks)


@dataclass(slots=True)
class RunRecord:
    """What became of a run, and all that the host saw of it."""

    view: list[FrameMetadata] = field(default_factory=list)
    frames: list[wire.Frame] = field(default_factory=list)
    dataset: bytes = b""
    served: int = 0
    end: End | None = None
    end_tick: int = -1

    @property
    def observed(self) -> tuple[object, ...]:
        """All that the host can tell: what it saw, what was equal, and when and how the run ended."""
        end = None if self.end is None else (self.end_tick, self.end.status, len(self.end.result))
        return tuple(self.view), tuple(self.repetitions), end

    @property
    def repetitions(self) -> list[tuple[int, int]]:
        """The pairs of frames that the host sees are equal."""
        pairs = ((i, j) for i in range(len(self.frames)) for j in range(i))
        return [(i, j) for i, j in pairs if wire.equal(self.frames[i], self.frames[j])]

    def note(self, frame: wire.Frame) -> None:
        """Show a frame to the host."""
        self.frames.append(frame)
        self.view.append(wire.frame_metadata(frame))


def perform_run(
    shape: Shape,
    random: Random,
    dataset: bytes,
    calls: Sequence[Call],
    host: Host = lambda _tick: Reaction.SERVE,
    checks: Checks = EVERY,
    result: bytes = b"done",
) -> RunRecord:
    """Perform a run: hand the dataset over, and let the application ask for everything at once.

    Raises ObliviousError if a design that lacks a defence has nothing to send, or the dataset does not fit.
    """
    keys, hand_over_key = Keys(random(KEY_BYTES), random(KEY_BYTES)), random(KEY_BYTES)
    holder, enclave = Holder(shape, hand_over_key, dataset, checks), Enclave(shape, keys, checks)
    peer, done = Peer(shape, keys), RunRecord()
    for place in range(shape.chunks):
        if holder.may_send(place):
            done.note(holder.send(place))
    if checks is EVERY:
        done.dataset = collect_dataset(shape, hand_over_key, done.frames)
    for call in calls:
        enclave.ask(call)
    for tick in range(shape.ticks):
        _tick(done, enclave, peer, tick, host(tick))
        if done.end is None and enclave.may_finish(tick):
            done.end, done.end_tick = enclave.finish(tick, result), tick
    done.served = len(enclave.taken)
    return done


def _tick(done: RunRecord, enclave: Enclave, peer: Peer, tick: int, reaction: Reaction) -> None:
    call = enclave.due(tick)
    if enclave.over or not enclave.may_emit(tick, call):
        return
    done.note(enclave.emit(tick, call))
    if reaction is Reaction.REFUSE:
        again = enclave.retry(tick)
        if again is not None:
            done.note(again)
    answer = peer.answer(tick)
    if reaction is Reaction.SPOIL:
        answer = bytes(len(answer))
    last = done.frames[-1]
    done.view.append(
        wire.frame_metadata(wire.Frame(tick, last.operation, last.address, last.moment, answer), wire.Direction.IN)
    )
    enclave.process_answer(tick, answer)


def _performed(
    dataset: bytes, asked: Sequence[Call], host: Host, checks: Checks = EVERY, result: bytes = b""
) -> RunRecord:
    return perform_run(SHAPE, secrets.token_bytes, dataset, asked, host, checks, result)


@settings(max_examples=80, deadline=None)
@given(
    data=st.tuples(datasets, datasets),
    work=st.tuples(workloads, workloads),
    ends=st.tuples(results, results),
    host=reactions,
)
def test_the_host_sees_the_same_of_any_data(
    data: tuple[bytes, bytes], work: tuple[list[Call], list[Call]], ends: tuple[bytes, bytes], host: list[Reaction]
) -> None:
    one, other = (
        _performed(dataset, asked, host.__getitem__, result=result)
        for dataset, asked, result in zip(data, work, ends, strict=True)
    )
    assert one.observed == other.observed
    assert (one.dataset, other.dataset) == data


def _serve(_tick: int) -> Reaction:
    return Reaction.SERVE


def _call(content: bytes, operation: Operation = Operation.READ, block: int = 0, work: int = 0) -> Call:
    return Call("call", operation, block, content, work)


READ, NOTHING = [_call(b"a")], list[Call]()
#: For each defence two workloads, and a host that tells them apart without it.
TOLD_APART: dict[str, tuple[list[Call], list[Call], Host]] = {
    "pad-frames": (READ, [_call(b"longer")], _serve),
    "cut-to-frames": (READ, [_call(bytes(2 * ROOM))], _serve),
    "dummy-calls": (READ, NOTHING, _serve),
    "fixed-order": ([_call(b"a", Operation.PACKET)], READ, _serve),
    "constant-rate": ([_call(b"a", work=3)], [_call(b"a", work=9)], _serve),
    "fixed-scan": ([_call(b"a", block=1)], READ, _serve),
    "fresh-iv": (READ, [_call(b"a"), _call(b"b", Operation.WRITE, 1)], _serve),
    "retry-alike": (READ, NOTHING, lambda _tick: Reaction.REFUSE),
    "check-dummies": ([_call(b"a", TURNS[at % 3], at % 2) for at in range(7)], NOTHING, lambda _tick: Reaction.SPOIL),
    "fixed-end": (READ, [_call(b"a", Operation.PACKET)], _serve),
    "uniform-status": (READ, [_call(b"a", Operation.READ, block) for block in (0, 0, 0, 0)], _serve),
}


@pytest.mark.parametrize("defence", TOLD_APART)
def test_without_it_the_host_tells_two_workloads_apart(defence: str) -> None:
    left, right, host = TOLD_APART[defence]
    whole = [_performed(b"data", asked, host).observed for asked in (left, right)]
    assert whole[0] == whole[1]
    weakened = [
        _performed(b"data", asked, host, ChecksWithout(frozenset({defence}))).observed for asked in (left, right)
    ]
    assert weakened[0] != weakened[1]


@pytest.mark.verifies("sgx-lkl-CLAIM-HAND-OVER-COUNT", "sgx-lkl-CLAIM-HAND-OVER-SIZE")
@pytest.mark.parametrize("defence", ["fill-chunks", "pad-chunks"])
def test_without_it_the_host_tells_two_datasets_apart(defence: str) -> None:
    small, large = b"a", bytes(2 * ROOM + 1)
    assert _performed(small, READ, _serve).observed == _performed(large, READ, _serve).observed
    weakened = [_performed(data, READ, _serve, ChecksWithout(frozenset({defence}))).observed for data in (small, large)]
    assert weakened[0] != weakened[1]


def test_the_application_is_served_in_turn_and_its_result_is_as_long_as_it_is_without_padding() -> None:
    checks = ChecksWithout(frozenset({"pad-result"}))
    ends = [_performed(b"", READ, _serve, checks, result).observed for result in (b"yes", b"no")]
    assert ends[0] != ends[1]
    done = _performed(b"data", [_call(b"a"), _call(b"b", Operation.WRITE, 1)], _serve)
    assert done.served == 2
    assert done.end is not None
    assert done.end.status.value == "done"


FORGETFUL = """
from carnet_spec.protocols.sgx_lkl.design import oblivious

def draft():
    runs = oblivious("fixed-shape")
    runs._claims = [claim for claim in runs._claims if claim.name != "{claim}"]
    return runs
"""
OF_ONE_RUN = {claim.name for claim in one_run("fixed-shape").whole().claims}
OF_TWO_RUNS = [claim.name for claim in oblivious("fixed-shape").whole().claims if claim.name not in OF_ONE_RUN]
#: What each claim is alone to speak of.
SHOWN = {
    "size": {"symbol size"},
    "count": {"action emit", "action call"},
    "order": {"symbol operation"},
    "time": {"symbol moment"},
    "address": {"symbol address"},
    "revisits": {"symbol revisit"},
    "equality": {"symbol alike"},
    "refusal": {"symbol resent"},
    "end": {"action finish"},
    "error": {"symbol status"},
    "result": {"symbol result_size"},
    "hand-over-count": {"action send_chunk", "action plan"},
    "hand-over-end": {"action begin_run"},
    "hand-over-size": {"symbol chunk_size"},
}


def test_there_are_fourteen_claims_about_two_runs() -> None:
    assert set(OF_TWO_RUNS) == set(SHOWN)
    assert len(OF_TWO_RUNS) == 14


@pytest.mark.mends("R421")
@pytest.mark.parametrize("claim", OF_TWO_RUNS)
def test_without_a_claim_what_it_speaks_of_is_named(claim: str, tmp_path: Path) -> None:
    file = tmp_path / "forgetful.py"
    file.write_text(FORGETFUL.format(claim=claim), "utf-8")
    ran = carnet("verify", str(file), "--json")
    assert ran.code == 2
    error = ran.json["error"]
    said = error.get("complaints", [error["message"]])
    assert {each.partition("two-runs: ")[2].partition(":")[0] for each in said} == SHOWN[claim]
    assert all("says that it does not: claim " in each and ", or accept it by accept_leak('" in each for each in said)
    assert all(re.match(r"(\w+)\.py:\d+: ", each) for each in said), said


@pytest.mark.parametrize("variant", load("sgx-lkl").family.variants)
def test_every_design_says_what_it_shows(variant: str) -> None:
    assert not oblivious(variant).accepted_leaks
    assert not [complaint for complaint in lint_draft(oblivious(variant)) if complaint.rule == "two-runs"]


BOUND, CHUNK_BYTES = 3, 256
Shown = tuple[str, str, FrameKind, int]


@dataclass(frozen=True)
class Given(Deployment):
    """A run in which each holder has the dataset that it is given."""

    data: tuple[tuple[bytes, ...], ...] = field(default=(), repr=False)

    def dataset(self, holder: str) -> tuple[bytes, ...]:
        return self.data[self.holders.index(holder)]


def traffic(*data: tuple[bytes, ...], seed: str = "a run", schedule: str = "engine-per-holder") -> list[Shown]:
    """Return sender, receiver, path and size of every frame that the platform sees, in order."""
    deployment = Given(("alice", "anna"), 1, schedule, chunks=BOUND, chunk_bytes=CHUNK_BYTES, data=data)
    platform, seen = deployment.platform(), list[Frame]()
    platform.keep = seen.append
    world, _ = world_of(deployment, platform, seed)
    world.run()
    assert not world.failure
    return [(frame.source, frame.target, frame.kind, len(frame.body)) for frame in seen]


def _filled(byte: int, chunks: int = BOUND, size: int = CHUNK_BYTES) -> tuple[bytes, ...]:
    return tuple(bytes([byte]) * size for _ in range(chunks))


ZEROS = traffic(_filled(0), _filled(0))

chunk = st.binary(min_size=CHUNK_BYTES, max_size=CHUNK_BYTES)
dataset = st.tuples(*(chunk for _ in range(BOUND)))


@settings(max_examples=6, deadline=None)
@given(one=dataset, other=dataset)
def test_datasets_of_one_shape_give_one_traffic(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> None:
    assert traffic(one, other) == ZEROS


@pytest.mark.parametrize("schedule", ["ratchet", "sealed-under-master"])
def test_they_do_in_other_schedules(schedule: str) -> None:
    texts = _filled(ord("a")), _filled(ord("\n"))
    assert traffic(*texts, schedule=schedule) == traffic(_filled(0), _filled(255), schedule=schedule)


def test_other_randomness_changes_the_padding_of_sessions_alone() -> None:
    other = traffic(_filled(1), _filled(2), seed="another run")
    assert [each[:3] for each in other] == [each[:3] for each in ZEROS]
    changed = {each[2] for each, before in zip(other, ZEROS, strict=True) if each != before}
    assert changed == {FrameKind.SESSION}


@pytest.mark.verifies("sgx-lkl-REQ-HAND-OVER-01")
@pytest.mark.parametrize("chunks", [1, 2])
def test_without_padding_the_number_of_chunks_is_seen(chunks: int) -> None:
    assert len(traffic(_filled(0, chunks), _filled(0))) < len(ZEROS)


@pytest.mark.verifies("sgx-lkl-REQ-HAND-OVER-02")
def test_without_padding_the_size_of_the_last_chunk_is_seen() -> None:
    short = (*_filled(0, BOUND - 1), b"short")
    found = traffic(short, _filled(0))
    assert len(found) == len(ZEROS)
    assert found != ZEROS


@settings(max_examples=6, deadline=None)
@given(st.binary(max_size=BOUND * (CHUNK_BYTES - 4)), st.binary(max_size=BOUND * (CHUNK_BYTES - 4)))
def test_with_padding_to_the_manifests_bound_datasets_of_any_size_give_one_traffic(one: bytes, other: bytes) -> None:
    padded = (padded_dataset(data, BOUND, CHUNK_BYTES) for data in (one, other))
    assert traffic(*padded) == ZEROS


def test_a_dataset_beyond_the_bound_is_refused() -> None:
    with pytest.raises(ShapeError, match="do not fit 3 chunks"):
        padded_dataset(bytes(BOUND * CHUNK_BYTES), BOUND, CHUNK_BYTES)
