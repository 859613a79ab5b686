"""What the host sees of a run with real bytes: the same for any data of one shape, and not without each defence."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_ref.systems.ablation import ChecksWithout
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.sgx_lkl.frames import TURNS, Call, Operation, Shape
from carnet_ref.systems.sgx_lkl.run import Host, Reaction, RunRecord, perform_run

SHAPE = Shape(chunks=3, ticks=7, block_bytes=64, blocks=2)
ROOM = SHAPE.room

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
    data: tuple[bytes, bytes],
    work: tuple[list[Call], list[Call]],
    ends: tuple[bytes, bytes],
    host: list[Reaction],
) -> None:
    one, other = (
        _performed(dataset, asked, host.__getitem__, result=result)
        for dataset, asked, result in zip(data, work, ends, strict=True)
    )
    assert one.observed == other.observed
    assert (one.dataset, other.dataset) == data


def _serve(_tick: int) -> Reaction:
    return Reaction.SERVE


def _refuse(_tick: int) -> Reaction:
    return Reaction.REFUSE


def _spoil(_tick: int) -> Reaction:
    return Reaction.SPOIL


def _call(content: bytes, operation: Operation = Operation.READ, block: int = 0, work: int = 0) -> Call:
    return Call("call", operation, block, content, work)


READ, NOTHING = [_call(b"a")], list[Call]()
TOLD_APART: dict[str, tuple[list[Call], list[Call], Host]] = {
    "pad-frames": (READ, [_call(b"longer")], _serve),
    "cut-to-frames": (READ, [_call(bytes(2 * ROOM))], _serve),
    "dummy-calls": (READ, NOTHING, _serve),
    "fixed-order": ([_call(b"a", Operation.PACKET)], READ, _serve),
    "constant-rate": ([_call(b"a", work=3)], [_call(b"a", work=9)], _serve),
    "fixed-scan": ([_call(b"a", block=1)], READ, _serve),
    "fresh-iv": (READ, [_call(b"a"), _call(b"b", Operation.WRITE, 1)], _serve),
    "retry-alike": (READ, NOTHING, _refuse),
    "check-dummies": ([_call(b"a", TURNS[at % 3], at % 2) for at in range(7)], NOTHING, _spoil),
    "fixed-end": (READ, [_call(b"a", Operation.PACKET)], _serve),
    "uniform-status": (READ, [_call(b"a", Operation.READ, block) for block in (0, 0, 0, 0)], _serve),
}
"""For each defence two workloads, and a host that tells them apart without it."""


@pytest.mark.parametrize("defence", TOLD_APART)
def test_without_it_the_host_tells_two_workloads_apart(defence: str) -> None:
    left, right, host = TOLD_APART[defence]
    whole = [_performed(b"data", asked, host).observed for asked in (left, right)]
    assert whole[0] == whole[1]
    weakened = [
        _performed(b"data", asked, host, ChecksWithout(frozenset({defence}))).observed for asked in (left, right)
    ]
    assert weakened[0] != weakened[1]


@pytest.mark.parametrize("defence", ["fill-chunks", "pad-chunks"])
def test_without_it_the_host_tells_two_datasets_apart(
    defence: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("verifies", "sgx-lkl-CLAIM-HAND-OVER-COUNT, sgx-lkl-CLAIM-HAND-OVER-SIZE")
    small, large = b"a", bytes(2 * ROOM + 1)
    assert _performed(small, READ, _serve).observed == _performed(large, READ, _serve).observed
    weakened = [_performed(data, READ, _serve, ChecksWithout(frozenset({defence}))).observed for data in (small, large)]
    assert weakened[0] != weakened[1]


def test_without_padding_the_result_is_as_long_as_it_is() -> None:
    checks = ChecksWithout(frozenset({"pad-result"}))
    ends = [_performed(b"", READ, _serve, checks, result).observed for result in (b"yes", b"no")]
    assert ends[0] != ends[1]


def test_the_application_is_served_what_has_its_turn() -> None:
    done = _performed(b"data", [_call(b"a"), _call(b"b", Operation.WRITE, 1)], _serve)
    assert done.served == 2
    assert done.end is not None
    assert done.end.status.value == "done"
