"""Delayed verification: the NPU computes with what it has, and nothing leaves before every MAC behind it verified."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.systems.tensortee.memory import total
from carnet_ref.systems.tensortee.session import HaltedError, TensorError
from tests.unit.reference_impl.systems.tensortee.jobs import BIAS, GRADIENTS, LINES, LOSS, WEIGHTS, Job, block

Verifies = Callable[[str, object], None]


def add(old: bytes, read: bytes) -> bytes:
    return old + read


@pytest.fixture
def job() -> Job:
    return Job()


def refused(job: Job, tensor: int, why: str) -> None:
    """Look that a result leaves in neither way."""
    for leave in (job.npu.release, job.npu.hand_over):
        with pytest.raises(TensorError, match=why):
            leave(tensor)


# -- loading ----------------------------------------------------------------------------------------------------------


def test_a_tensor_that_awaits_its_mac_is_neither_read_again_nor_written(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-LOAD-01")
    job.npu.load(job.send(WEIGHTS))
    with pytest.raises(TensorError, match="awaits its MAC"):
        job.npu.load(job.send(WEIGHTS, 2))
    job.write(job.npu, GRADIENTS, 1, "g")
    job.npu.load_again(GRADIENTS)
    with pytest.raises(TensorError, match="awaits its MAC"):
        job.npu.load_again(GRADIENTS)
    with pytest.raises(TensorError, match="awaits its MAC"):
        job.npu.begin(GRADIENTS, 2)
    assert job.npu.table.version(WEIGHTS) == job.npu.table.version(GRADIENTS) == 1


def test_a_line_is_fetched_once_and_that_is_what_the_mac_is_of(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-LOAD-02")
    job.npu.load(job.send(WEIGHTS))
    good = job.npu_memory.lines[WEIGHTS, 0]
    job.change(WEIGHTS, 0)
    assert job.npu.fetch(WEIGHTS, 0) != block("weights 0")
    job.npu_memory.lines[WEIGHTS, 0] = good
    with pytest.raises(TensorError, match="line 0 was fetched"):
        job.npu.fetch(WEIGHTS, 0)
    for line in (1, 2):
        job.npu.fetch(WEIGHTS, line)
    with pytest.raises(TensorError, match="the MAC does not verify"):
        job.npu.verify(WEIGHTS)


def test_what_is_not_read_is_neither_fetched_nor_verified(job: Job) -> None:
    job.send(WEIGHTS)
    for step in (lambda: job.npu.fetch(WEIGHTS, 0), lambda: job.npu.verify(WEIGHTS)):
        with pytest.raises(TensorError, match="is not being read"):
            step()
    with pytest.raises(TensorError, match="was neither read nor computed"):
        job.npu.compute(LOSS, WEIGHTS, add)
    with pytest.raises(TensorError, match="was never written"):
        job.npu.load_again(LOSS)


# -- verifying --------------------------------------------------------------------------------------------------------


def test_a_mac_is_compared_when_every_line_is_there(job: Job, record_property: Verifies) -> None:
    """The MACs of the lines lie in memory, so memory can show the sum of any of them."""
    record_property("verifies", "tensortee-REQ-VERIFY-01")
    job.npu.load(job.send(WEIGHTS))
    job.npu.fetch(WEIGHTS, 0)
    job.npu_memory.macs[WEIGHTS] = job.npu_memory.lines[WEIGHTS, 0][-TAG_BYTES:]
    with pytest.raises(TensorError, match="2 lines are missing"):
        job.npu.verify(WEIGHTS)
    assert not job.npu.is_verified(WEIGHTS)


def changes(job: Job, old: dict[tuple[int, int], bytes], what: str) -> None:
    lines, macs = job.npu_memory.lines, job.npu_memory.macs
    if what == "a bit":
        job.change(WEIGHTS, 1)
    elif what == "the same bit of two lines":
        job.change(WEIGHTS, 0)
        job.change(WEIGHTS, 2)
    elif what == "two lines in each other's place":
        lines[WEIGHTS, 0], lines[WEIGHTS, 1] = lines[WEIGHTS, 1], lines[WEIGHTS, 0]
    elif what == "an old line":
        lines[WEIGHTS, 0] = old[WEIGHTS, 0]
    elif what == "the old tensor, with its MAC":
        lines.update(old)
        macs[WEIGHTS] = total(old[WEIGHTS, line][-TAG_BYTES:] for line in range(LINES))
    elif what == "another tensor, with its MAC":
        lines.update({(WEIGHTS, line): lines[BIAS, line] for line in range(LINES)})
        macs[WEIGHTS] = macs[BIAS]
    elif what == "nothing":
        lines.clear()
        macs.clear()
    elif what == "half a line":
        lines[WEIGHTS, 0] = lines[WEIGHTS, 0][:20]
    else:
        macs[WEIGHTS] = bytes(TAG_BYTES)


@pytest.mark.parametrize(
    "what",
    [
        "a bit",
        "the same bit of two lines",
        "two lines in each other's place",
        "an old line",
        "the old tensor, with its MAC",
        "another tensor, with its MAC",
        "nothing",
        "half a line",
        "no MAC",
    ],
)
def test_what_memory_changes_does_not_verify_and_nothing_leaves(job: Job, what: str, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-VERIFY-02, tensortee-REQ-VERIFY-03, tensortee-REQ-MAC-01")
    job.send(WEIGHTS, 1, "old")
    old = {place: line for place, line in job.npu_memory.lines.items() if place[0] == WEIGHTS}
    job.send(BIAS, 1, "bias")
    job.send(BIAS, 2, "bias")
    descriptor = job.send(WEIGHTS, 2, "new")
    job.write(job.npu, LOSS, 1, "clean")
    changes(job, old, what)
    job.npu.load(descriptor)
    job.fetch(WEIGHTS)
    job.npu.compute(GRADIENTS, WEIGHTS, add)
    with pytest.raises(TensorError, match="the MAC does not verify"):
        job.npu.verify(WEIGHTS)
    assert job.npu.verified_lines(WEIGHTS) == {}
    for tensor in (LOSS, GRADIENTS):
        for leave in (job.npu.release, job.npu.hand_over):
            with pytest.raises(HaltedError, match="has halted"):
                leave(tensor)


def test_an_npu_that_gave_up_lets_nothing_out(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-VERIFY-03")
    job.write(job.npu, LOSS, 1, "clean")
    with pytest.raises(TensorError, match="a line does not come"):
        job.npu.give_up(WEIGHTS, "a line does not come")
    with pytest.raises(HaltedError):
        job.npu.release(LOSS)


# -- what is computed -------------------------------------------------------------------------------------------------


def test_a_result_is_computed_ahead_and_leaves_after(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-TAINT-01, tensortee-REQ-EXPORT-01")
    job.npu.load(job.send(WEIGHTS))
    job.npu.fetch(WEIGHTS, 0)
    job.npu.compute(LOSS, WEIGHTS, add)
    job.write(job.npu, LOSS, 1, "loss")
    refused(job, LOSS, "awaits the MAC of 1")
    for line in (1, 2):
        job.npu.fetch(WEIGHTS, line)
    refused(job, LOSS, "awaits the MAC of 1")
    job.npu.verify(WEIGHTS)
    assert job.npu.release(LOSS) == block("weights 0")
    assert job.npu.hand_over(LOSS).version == 1


def test_a_result_awaits_what_every_result_before_it_does(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-TAINT-01")
    for tensor in (WEIGHTS, BIAS):
        job.npu.load(job.send(tensor))
        job.fetch(tensor)
        job.npu.compute(GRADIENTS, tensor, add)
    job.write(job.npu, GRADIENTS, 1, "g")
    job.npu.load_again(GRADIENTS)
    job.fetch(GRADIENTS)
    job.npu.compute(LOSS, GRADIENTS, add)
    refused(job, LOSS, "awaits the MAC of 1, 2, 3")
    job.npu.verify(BIAS)
    refused(job, LOSS, "awaits the MAC of 1, 3")
    job.npu.verify(GRADIENTS)
    refused(job, LOSS, "awaits the MAC of 1$")
    job.npu.verify(WEIGHTS)
    assert len(job.npu.release(LOSS)) == 3 * LINES * len(block(""))


def test_a_mac_of_its_own_does_not_clear_a_result(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-TAINT-01, tensortee-REQ-EXPORT-01")
    descriptor = job.send(WEIGHTS)
    job.change(WEIGHTS, 0)
    job.npu.load(descriptor)
    job.npu.compute(GRADIENTS, WEIGHTS, add)
    job.fetch(WEIGHTS)
    job.npu.compute(GRADIENTS, WEIGHTS, add)
    job.write(job.npu, GRADIENTS, 1, "made of changed weights")
    job.npu.load_again(GRADIENTS)
    job.fetch(GRADIENTS)
    job.npu.verify(GRADIENTS)
    assert job.npu.is_verified(GRADIENTS)
    refused(job, GRADIENTS, "awaits the MAC of 1$")


def test_a_result_is_computed_from_a_result_that_was_not_in_memory(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-TAINT-01")
    job.npu.load(job.send(WEIGHTS))
    job.fetch(WEIGHTS)
    job.npu.compute(GRADIENTS, WEIGHTS, add)
    job.npu.compute(LOSS, GRADIENTS, add)
    refused(job, LOSS, "awaits the MAC of 1$")
    job.npu.verify(WEIGHTS)
    assert len(job.npu.release(LOSS)) == LINES * len(block(""))


def test_a_tensor_of_the_cpu_is_read_again_in_its_version(job: Job) -> None:
    job.npu.load(job.send(WEIGHTS))
    first = job.fetch(WEIGHTS)
    job.npu.verify(WEIGHTS)
    job.npu.load_again(WEIGHTS)
    assert not job.npu.is_verified(WEIGHTS)
    assert job.fetch(WEIGHTS) == first
    job.npu.verify(WEIGHTS)


def test_a_tensor_that_is_read_back_awaits_itself(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-EXPORT-01")
    written = job.write(job.npu, LOSS, 1, "loss")
    job.npu.load_again(LOSS)
    job.fetch(LOSS)
    refused(job, LOSS, "awaits the MAC of 4")
    job.npu.verify(LOSS)
    assert job.npu.release(LOSS) == written[0]


def test_the_cpu_computes_no_result_of_the_npu_and_gives_none_out(job: Job) -> None:
    job.npu.load(job.send(WEIGHTS))
    with pytest.raises(TensorError, match="is written by the cpu"):
        job.npu.compute(BIAS, WEIGHTS, add)
    job.fetch(WEIGHTS)
    job.npu.verify(WEIGHTS)
    with pytest.raises(TensorError, match="is no result"):
        job.npu.release(WEIGHTS)


@given(st.permutations(range(LINES)), st.integers(0, LINES - 1), st.integers(0, 63))
def test_whichever_bit_is_changed_nothing_leaves(order: list[int], line: int, place: int) -> None:
    job = Job()
    descriptor = job.send(WEIGHTS)
    job.change(WEIGHTS, line, place)
    job.npu.load(descriptor)
    for each in order:
        job.npu.fetch(WEIGHTS, each)
        job.npu.compute(LOSS, WEIGHTS, add)
    job.write(job.npu, LOSS, 1, "loss")
    refused(job, LOSS, "awaits the MAC")
    with pytest.raises(TensorError, match="does not verify"):
        job.npu.verify(WEIGHTS)
    with pytest.raises(HaltedError):
        job.npu.release(LOSS)
