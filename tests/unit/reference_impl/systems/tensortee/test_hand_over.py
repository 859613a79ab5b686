"""Tensors that are written, move as they are, and are read: what was changed or is old is refused with one error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_ref.systems.tensortee.memory import STORED_BYTES, Descriptor, transfer
from carnet_ref.systems.tensortee.session import TensorError
from tests.unit.reference_impl.systems.tensortee.jobs import BIAS, GRADIENTS, LINES, LOSS, WEIGHTS, Job, block

Verifies = Callable[[str, object], None]


@pytest.fixture
def job() -> Job:
    return Job()


# -- what is written is read ------------------------------------------------------------------------------------------


def test_a_tensor_moves_to_the_npu_as_it_is(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-HAND-02")
    descriptor = job.send(WEIGHTS)
    job.npu.load(descriptor)
    read = job.fetch(WEIGHTS)
    job.npu.verify(WEIGHTS)
    assert read == [block(f"weights {line}") for line in range(LINES)]
    assert job.npu.verified_lines(WEIGHTS) == dict(enumerate(read))
    assert {**job.cpu_memory.lines} == {**job.npu_memory.lines}


def test_a_result_moves_to_the_cpu_as_it_is(job: Job) -> None:
    written = job.write(job.npu, GRADIENTS, 1, "gradients")
    transfer(GRADIENTS, job.npu_memory, job.cpu_memory)
    job.cpu.take(job.npu.hand_over(GRADIENTS))
    assert [job.cpu.read(GRADIENTS, line) for line in range(LINES)] == written


def test_the_next_version_is_read_next(job: Job) -> None:
    for version in (1, 2, 3):
        job.npu.load(job.send(WEIGHTS, version, f"pass {version}"))
        assert job.fetch(WEIGHTS)[0] == block(f"pass {version} 0")
        job.npu.verify(WEIGHTS)


@pytest.mark.parametrize("size", [0, 63, 65])
def test_what_is_no_line_is_not_written(job: Job, size: int) -> None:
    job.cpu.begin(WEIGHTS, 1)
    with pytest.raises(TensorError, match=f"a line has 64 bytes, and this block {size}"):
        job.cpu.write(WEIGHTS, 0, bytes(size))
    assert not job.cpu_memory.lines
    job.cpu.write(WEIGHTS, 0, block("weights 0"))


# -- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("side", "tensor"), [("npu", WEIGHTS), ("cpu", GRADIENTS)])
def test_one_side_writes_a_tensor(job: Job, side: str, tensor: int, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-WRITE-01")
    enclave = job.npu if side == "npu" else job.cpu
    with pytest.raises(TensorError, match="is written by the"):
        enclave.begin(tensor, 1)
    with pytest.raises(TensorError, match="is written by the"):
        enclave.write(tensor, 0, block("x"))
    with pytest.raises(TensorError, match="is written by the"):
        enclave.hand_over(tensor)


def test_a_line_is_written_once_in_a_pass(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-WRITE-03, tensortee-REQ-WRITE-02")
    with pytest.raises(TensorError, match="no pass is under way"):
        job.cpu.write(WEIGHTS, 0, block("x"))
    job.cpu.begin(WEIGHTS, 1)
    job.cpu.write(WEIGHTS, 0, block("x"))
    before = job.cpu_memory.lines[WEIGHTS, 0]
    with pytest.raises(TensorError, match="line 0 was written in this pass"):
        job.cpu.write(WEIGHTS, 0, block("y"))
    assert job.cpu_memory.lines[WEIGHTS, 0] == before
    job.cpu.begin(WEIGHTS, 2)
    job.cpu.write(WEIGHTS, 0, block("x"))
    assert job.cpu_memory.lines[WEIGHTS, 0] != before


def test_a_tensor_is_handed_over_whole(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-HAND-01")
    for enclave, tensor in ((job.cpu, WEIGHTS), (job.npu, GRADIENTS)):
        with pytest.raises(TensorError, match="3 of 3 lines are not written"):
            enclave.hand_over(tensor)
        enclave.begin(tensor, 1)
        enclave.write(tensor, 1, block("x"))
        with pytest.raises(TensorError, match="2 of 3 lines are not written"):
            enclave.hand_over(tensor)


@pytest.mark.parametrize("line", [-1, LINES])
def test_no_line_is_beside_the_tensor(job: Job, line: int) -> None:
    job.npu.load(job.send(WEIGHTS))
    for step in (
        lambda: job.cpu.write(WEIGHTS, line, block("x")),
        lambda: job.cpu.read(WEIGHTS, line),
        lambda: job.npu.fetch(WEIGHTS, line),
    ):
        with pytest.raises(TensorError, match="no line"):
            step()
    with pytest.raises(TensorError, match="no such tensor"):
        job.cpu.begin(99, 1)


# -- descriptors ------------------------------------------------------------------------------------------------------


def test_a_descriptor_is_of_the_other_side_and_of_this_session(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-HAND-02")
    descriptor = job.send(WEIGHTS)
    forged = [
        Descriptor(BIAS, 1, descriptor.tag),
        Descriptor(WEIGHTS, 2, descriptor.tag),
        Descriptor(WEIGHTS, 1, bytes(16)),
        Descriptor(WEIGHTS, 1),
        Descriptor(WEIGHTS, 2**40, descriptor.tag),
    ]
    for each in forged:
        with pytest.raises(TensorError, match="the descriptor is not of the cpu"):
            job.npu.load(each)
    with pytest.raises(TensorError, match="is written by the cpu itself"):
        job.cpu.take(descriptor)
    job.npu.load(descriptor)


def test_an_old_descriptor_is_not_taken(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-HAND-03")
    old = job.send(WEIGHTS)
    old_lines = dict(job.npu_memory.lines)
    job.npu.load(job.send(WEIGHTS, 2, "newer"))
    job.fetch(WEIGHTS)
    job.npu.verify(WEIGHTS)
    job.npu_memory.lines.update(old_lines)
    with pytest.raises(TensorError, match="version 1 is no newer than version 2"):
        job.npu.load(old)
    results = []
    for version in (1, 2):
        job.write(job.npu, GRADIENTS, version, "gradients")
        results.append(job.npu.hand_over(GRADIENTS))
    job.cpu.take(results[1])
    with pytest.raises(TensorError, match="version 1 is no newer than version 2"):
        job.cpu.take(results[0])


# -- the CPU reads by the line ----------------------------------------------------------------------------------------


def test_the_cpu_uses_a_line_only_if_its_mac_verifies(job: Job, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-READ-01, tensortee-REQ-MAC-01")
    job.write(job.cpu, WEIGHTS, 1, "old")
    old = dict(job.cpu_memory.lines)
    job.write(job.cpu, WEIGHTS, 2, "new")
    job.write(job.cpu, BIAS, 1, "bias")
    job.cpu.begin(BIAS, 2)
    job.cpu.write(BIAS, 0, block("same version"))
    lines = job.cpu_memory.lines
    good = lines[WEIGHTS, 0]
    flipped = [bytes(byte ^ (at == place) for at, byte in enumerate(good)) for place in range(STORED_BYTES)]
    for bad in [old[WEIGHTS, 0], lines[WEIGHTS, 1], lines[BIAS, 0], *flipped]:
        lines[WEIGHTS, 0] = bad
        with pytest.raises(TensorError, match="the MAC of line 0 does not verify"):
            job.cpu.read(WEIGHTS, 0)
    for bad in (b"", good[:-1], good + b"\0"):
        lines[WEIGHTS, 0] = bad
        with pytest.raises(TensorError, match="line 0 was not written"):
            job.cpu.read(WEIGHTS, 0)
    lines[WEIGHTS, 0] = good
    assert job.cpu.read(WEIGHTS, 0) == block("new 0")


def test_a_pass_under_way_has_new_lines_only(job: Job) -> None:
    job.write(job.cpu, WEIGHTS, 1, "old")
    job.cpu.begin(WEIGHTS, 2)
    job.cpu.write(WEIGHTS, 1, block("new"))
    assert job.cpu.read(WEIGHTS, 1) == block("new")
    with pytest.raises(TensorError, match="does not verify"):
        job.cpu.read(WEIGHTS, 0)


def test_the_cpu_reads_no_result_before_it_is_handed_over(job: Job) -> None:
    job.write(job.npu, LOSS, 1, "loss")
    transfer(LOSS, job.npu_memory, job.cpu_memory)
    with pytest.raises(TensorError, match="does not verify"):
        job.cpu.read(LOSS, 0)
