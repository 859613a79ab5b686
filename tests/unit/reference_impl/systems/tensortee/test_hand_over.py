"""Tensors are written, move as they are, and are read; what was changed or is old never leaves verified."""

import os
from dataclasses import dataclass, field, replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee import memory, session
from carnet_ref.systems.tensortee.enclaves import Cpu, Enclave, Npu

KEYS = session.Keys(bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96)))
WEIGHTS, BIAS, GRADIENTS, LOSS = 1, 2, 3, 4
LINES = 3
SHAPES = {
    WEIGHTS: memory.Shape(LINES, memory.Side.CPU),
    BIAS: memory.Shape(LINES, memory.Side.CPU),
    GRADIENTS: memory.Shape(LINES, memory.Side.NPU),
    LOSS: memory.Shape(1, memory.Side.NPU),
}


def block(text: str) -> bytes:
    """Return a line that begins with the text."""
    return text.encode().ljust(memory.LINE_BYTES, b".")


@dataclass
class Job:
    """Both enclaves of a job, each with its memory."""

    checks: Checks = EVERY
    cpu_memory: memory.Memory = field(default_factory=memory.Memory)
    npu_memory: memory.Memory = field(default_factory=memory.Memory)

    def __post_init__(self) -> None:
        self.cpu = Cpu(KEYS, memory.Layout(SHAPES), self.cpu_memory, checks=self.checks)
        self.npu = Npu(KEYS, memory.Layout(SHAPES), self.npu_memory, checks=self.checks)

    def write(self, side: Enclave, tensor: int, version: int, text: str) -> list[bytes]:
        blocks = [block(f"{text} {line}") for line in range(SHAPES[tensor].lines)]
        side.begin(tensor, version)
        for line, written in enumerate(blocks):
            side.write(tensor, line, written)
        return blocks

    def send(self, tensor: int, version: int = 1, text: str = "weights") -> memory.Descriptor:
        """Let the CPU write a pass and hand the tensor over, and copy it."""
        self.write(self.cpu, tensor, version, text)
        memory.transfer(tensor, self.cpu_memory, self.npu_memory)
        return self.cpu.hand_over(tensor)

    def fetch(self, tensor: int) -> list[bytes]:
        return [self.npu.fetch(tensor, line) for line in range(SHAPES[tensor].lines)]

    def change(self, tensor: int, line: int, place: int = 0) -> None:
        """Change a bit of a line in the NPU's memory."""
        stored = bytearray(self.npu_memory.lines[tensor, line])
        stored[place] ^= 1
        self.npu_memory.lines[tensor, line] = bytes(stored)


@pytest.fixture
def job() -> Job:
    return Job()


# -- what is written is read ------------------------------------------------------------------------------------------


@pytest.mark.verifies("tensortee-REQ-HAND-02")
def test_a_tensor_moves_to_the_npu_as_it_is(job: Job) -> None:
    descriptor = job.send(WEIGHTS)
    job.npu.load(descriptor)
    read = job.fetch(WEIGHTS)
    job.npu.verify(WEIGHTS)
    assert read == [block(f"weights {line}") for line in range(LINES)]
    assert job.npu.verified_lines(WEIGHTS) == dict(enumerate(read))
    assert {**job.cpu_memory.lines} == {**job.npu_memory.lines}


def test_a_result_moves_to_the_cpu_as_it_is_and_the_next_version_is_read_next(job: Job) -> None:
    written = job.write(job.npu, GRADIENTS, 1, "gradients")
    memory.transfer(GRADIENTS, job.npu_memory, job.cpu_memory)
    job.cpu.take(job.npu.hand_over(GRADIENTS))
    assert [job.cpu.read(GRADIENTS, line) for line in range(LINES)] == written
    for version in (1, 2, 3):
        job.npu.load(job.send(WEIGHTS, version, f"pass {version}"))
        assert job.fetch(WEIGHTS)[0] == block(f"pass {version} 0")
        job.npu.verify(WEIGHTS)


@pytest.mark.parametrize("size", [0, 63, 65])
def test_what_is_no_line_is_not_written(job: Job, size: int) -> None:
    job.cpu.begin(WEIGHTS, 1)
    with pytest.raises(session.TensorError, match=f"a line has 64 bytes, and this block {size}"):
        job.cpu.write(WEIGHTS, 0, bytes(size))
    assert not job.cpu_memory.lines
    job.cpu.write(WEIGHTS, 0, block("weights 0"))


# -- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.verifies("tensortee-REQ-WRITE-01")
@pytest.mark.parametrize(("side", "tensor"), [("npu", WEIGHTS), ("cpu", GRADIENTS)])
def test_one_side_writes_a_tensor(job: Job, side: str, tensor: int) -> None:
    enclave = job.npu if side == "npu" else job.cpu
    with pytest.raises(session.TensorError, match="is written by the"):
        enclave.begin(tensor, 1)
    with pytest.raises(session.TensorError, match="is written by the"):
        enclave.write(tensor, 0, block("x"))
    with pytest.raises(session.TensorError, match="is written by the"):
        enclave.hand_over(tensor)


@pytest.mark.verifies("tensortee-REQ-WRITE-03", "tensortee-REQ-WRITE-02")
def test_a_line_is_written_once_in_a_pass(job: Job) -> None:
    with pytest.raises(session.TensorError, match="no pass is under way"):
        job.cpu.write(WEIGHTS, 0, block("x"))
    job.cpu.begin(WEIGHTS, 1)
    job.cpu.write(WEIGHTS, 0, block("x"))
    before = job.cpu_memory.lines[WEIGHTS, 0]
    with pytest.raises(session.TensorError, match="line 0 was written in this pass"):
        job.cpu.write(WEIGHTS, 0, block("y"))
    assert job.cpu_memory.lines[WEIGHTS, 0] == before
    job.cpu.begin(WEIGHTS, 2)
    job.cpu.write(WEIGHTS, 0, block("x"))
    assert job.cpu_memory.lines[WEIGHTS, 0] != before


@pytest.mark.verifies("tensortee-REQ-HAND-01")
def test_a_tensor_is_handed_over_whole(job: Job) -> None:
    for enclave, tensor in ((job.cpu, WEIGHTS), (job.npu, GRADIENTS)):
        with pytest.raises(session.TensorError, match="3 of 3 lines are not written"):
            enclave.hand_over(tensor)
        enclave.begin(tensor, 1)
        enclave.write(tensor, 1, block("x"))
        with pytest.raises(session.TensorError, match="2 of 3 lines are not written"):
            enclave.hand_over(tensor)


@pytest.mark.parametrize("line", [-1, LINES])
def test_no_line_is_beside_the_tensor(job: Job, line: int) -> None:
    job.npu.load(job.send(WEIGHTS))
    for step in (
        lambda: job.cpu.write(WEIGHTS, line, block("x")),
        lambda: job.cpu.read(WEIGHTS, line),
        lambda: job.npu.fetch(WEIGHTS, line),
    ):
        with pytest.raises(session.TensorError, match="no line"):
            step()
    with pytest.raises(session.TensorError, match="no such tensor"):
        job.cpu.begin(99, 1)


# -- descriptors ------------------------------------------------------------------------------------------------------


@pytest.mark.verifies("tensortee-REQ-HAND-02")
def test_a_descriptor_is_of_the_other_side_and_of_this_session(job: Job) -> None:
    descriptor = job.send(WEIGHTS)
    forged = [
        memory.Descriptor(BIAS, 1, descriptor.tag),
        memory.Descriptor(WEIGHTS, 2, descriptor.tag),
        memory.Descriptor(WEIGHTS, 1, bytes(16)),
        memory.Descriptor(WEIGHTS, 1),
        memory.Descriptor(WEIGHTS, 2**40, descriptor.tag),
    ]
    for each in forged:
        with pytest.raises(session.TensorError, match="the descriptor is not of the cpu"):
            job.npu.load(each)
    with pytest.raises(session.TensorError, match="is written by the cpu itself"):
        job.cpu.take(descriptor)
    job.npu.load(descriptor)


@pytest.mark.verifies("tensortee-REQ-HAND-03")
def test_an_old_descriptor_is_not_taken(job: Job) -> None:
    old = job.send(WEIGHTS)
    old_lines = dict(job.npu_memory.lines)
    job.npu.load(job.send(WEIGHTS, 2, "newer"))
    job.fetch(WEIGHTS)
    job.npu.verify(WEIGHTS)
    job.npu_memory.lines.update(old_lines)
    with pytest.raises(session.TensorError, match="version 1 is no newer than version 2"):
        job.npu.load(old)
    results = []
    for version in (1, 2):
        job.write(job.npu, GRADIENTS, version, "gradients")
        results.append(job.npu.hand_over(GRADIENTS))
    job.cpu.take(results[1])
    with pytest.raises(session.TensorError, match="version 1 is no newer than version 2"):
        job.cpu.take(results[0])


# -- the CPU reads by the line ----------------------------------------------------------------------------------------


@pytest.mark.verifies("tensortee-REQ-READ-01", "tensortee-REQ-MAC-01")
def test_the_cpu_uses_a_line_only_if_its_mac_verifies(job: Job) -> None:
    job.write(job.cpu, WEIGHTS, 1, "old")
    old = dict(job.cpu_memory.lines)
    job.write(job.cpu, WEIGHTS, 2, "new")
    job.write(job.cpu, BIAS, 1, "bias")
    job.cpu.begin(BIAS, 2)
    job.cpu.write(BIAS, 0, block("same version"))
    lines = job.cpu_memory.lines
    good = lines[WEIGHTS, 0]
    flipped = [bytes(byte ^ (at == place) for at, byte in enumerate(good)) for place in range(memory.STORED_BYTES)]
    for bad in [old[WEIGHTS, 0], lines[WEIGHTS, 1], lines[BIAS, 0], *flipped]:
        lines[WEIGHTS, 0] = bad
        with pytest.raises(session.TensorError, match="the MAC of line 0 does not verify"):
            job.cpu.read(WEIGHTS, 0)
    for bad in (b"", good[:-1], good + b"\0"):
        lines[WEIGHTS, 0] = bad
        with pytest.raises(session.TensorError, match="line 0 was not written"):
            job.cpu.read(WEIGHTS, 0)
    lines[WEIGHTS, 0] = good
    assert job.cpu.read(WEIGHTS, 0) == block("new 0")


def test_the_cpu_reads_new_lines_of_its_own_pass_and_no_result_before_it_is_handed_over(job: Job) -> None:
    job.write(job.cpu, WEIGHTS, 1, "old")
    job.cpu.begin(WEIGHTS, 2)
    job.cpu.write(WEIGHTS, 1, block("new"))
    assert job.cpu.read(WEIGHTS, 1) == block("new")
    with pytest.raises(session.TensorError, match="does not verify"):
        job.cpu.read(WEIGHTS, 0)
    job.write(job.npu, LOSS, 1, "loss")
    memory.transfer(LOSS, job.npu_memory, job.cpu_memory)
    with pytest.raises(session.TensorError, match="does not verify"):
        job.cpu.read(LOSS, 0)


def add(old: bytes, read: bytes) -> bytes:
    return old + read


def refused(job: Job, tensor: int, why: str) -> None:
    """Look that a result leaves in neither way."""
    for leave in (job.npu.release, job.npu.hand_over):
        with pytest.raises(session.TensorError, match=why):
            leave(tensor)


# -- loading ----------------------------------------------------------------------------------------------------------


@pytest.mark.verifies("tensortee-REQ-LOAD-01")
def test_a_tensor_that_awaits_its_mac_is_neither_read_again_nor_written(job: Job) -> None:
    job.npu.load(job.send(WEIGHTS))
    with pytest.raises(session.TensorError, match="awaits its MAC"):
        job.npu.load(job.send(WEIGHTS, 2))
    job.write(job.npu, GRADIENTS, 1, "g")
    job.npu.load_again(GRADIENTS)
    with pytest.raises(session.TensorError, match="awaits its MAC"):
        job.npu.load_again(GRADIENTS)
    with pytest.raises(session.TensorError, match="awaits its MAC"):
        job.npu.begin(GRADIENTS, 2)
    assert job.npu.table.version(WEIGHTS) == job.npu.table.version(GRADIENTS) == 1


@pytest.mark.verifies("tensortee-REQ-LOAD-02")
def test_a_line_is_fetched_once_and_that_is_what_the_mac_is_of(job: Job) -> None:
    job.npu.load(job.send(WEIGHTS))
    good = job.npu_memory.lines[WEIGHTS, 0]
    job.change(WEIGHTS, 0)
    assert job.npu.fetch(WEIGHTS, 0) != block("weights 0")
    job.npu_memory.lines[WEIGHTS, 0] = good
    with pytest.raises(session.TensorError, match="line 0 was fetched"):
        job.npu.fetch(WEIGHTS, 0)
    for line in (1, 2):
        job.npu.fetch(WEIGHTS, line)
    with pytest.raises(session.TensorError, match="the MAC does not verify"):
        job.npu.verify(WEIGHTS)


def test_what_is_not_read_is_neither_fetched_nor_verified(job: Job) -> None:
    job.send(WEIGHTS)
    for step in (lambda: job.npu.fetch(WEIGHTS, 0), lambda: job.npu.verify(WEIGHTS)):
        with pytest.raises(session.TensorError, match="is not being read"):
            step()
    with pytest.raises(session.TensorError, match="was neither read nor computed"):
        job.npu.compute(LOSS, WEIGHTS, add)
    with pytest.raises(session.TensorError, match="was never written"):
        job.npu.load_again(LOSS)


# -- verifying --------------------------------------------------------------------------------------------------------


@pytest.mark.verifies("tensortee-REQ-VERIFY-01")
def test_a_mac_is_compared_when_every_line_is_there(job: Job) -> None:
    """The MACs of the lines lie in memory, so memory can show the sum of any of them."""
    job.npu.load(job.send(WEIGHTS))
    job.npu.fetch(WEIGHTS, 0)
    job.npu_memory.macs[WEIGHTS] = job.npu_memory.lines[WEIGHTS, 0][-TAG_BYTES:]
    with pytest.raises(session.TensorError, match="2 lines are missing"):
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
        macs[WEIGHTS] = memory.total(old[WEIGHTS, line][-TAG_BYTES:] for line in range(LINES))
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


@pytest.mark.verifies("tensortee-REQ-VERIFY-02", "tensortee-REQ-VERIFY-03", "tensortee-REQ-MAC-01")
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
def test_what_memory_changes_does_not_verify_and_nothing_leaves(job: Job, what: str) -> None:
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
    with pytest.raises(session.TensorError, match="the MAC does not verify"):
        job.npu.verify(WEIGHTS)
    assert job.npu.verified_lines(WEIGHTS) == {}
    for tensor in (LOSS, GRADIENTS):
        for leave in (job.npu.release, job.npu.hand_over):
            with pytest.raises(session.HaltedError, match="has halted"):
                leave(tensor)


@pytest.mark.verifies("tensortee-REQ-VERIFY-03")
def test_an_npu_that_gave_up_lets_nothing_out(job: Job) -> None:
    job.write(job.npu, LOSS, 1, "clean")
    with pytest.raises(session.TensorError, match="a line does not come"):
        job.npu.give_up(WEIGHTS, "a line does not come")
    with pytest.raises(session.HaltedError):
        job.npu.release(LOSS)


# -- what is computed -------------------------------------------------------------------------------------------------


@pytest.mark.verifies("tensortee-REQ-TAINT-01", "tensortee-REQ-EXPORT-01")
def test_a_result_is_computed_ahead_and_leaves_after(job: Job) -> None:
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


@pytest.mark.verifies("tensortee-REQ-TAINT-01")
def test_a_result_awaits_what_every_result_before_it_does(job: Job) -> None:
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


@pytest.mark.verifies("tensortee-REQ-TAINT-01", "tensortee-REQ-EXPORT-01")
def test_a_mac_of_its_own_does_not_clear_a_result(job: Job) -> None:
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


@pytest.mark.verifies("tensortee-REQ-TAINT-01")
def test_a_result_is_computed_from_a_result_that_was_not_in_memory(job: Job) -> None:
    job.npu.load(job.send(WEIGHTS))
    job.fetch(WEIGHTS)
    job.npu.compute(GRADIENTS, WEIGHTS, add)
    job.npu.compute(LOSS, GRADIENTS, add)
    refused(job, LOSS, "awaits the MAC of 1$")
    job.npu.verify(WEIGHTS)
    assert len(job.npu.release(LOSS)) == LINES * len(block(""))


def test_a_tensor_of_the_cpu_is_read_again_and_is_no_result(job: Job) -> None:
    job.npu.load(job.send(WEIGHTS))
    first = job.fetch(WEIGHTS)
    job.npu.verify(WEIGHTS)
    job.npu.load_again(WEIGHTS)
    assert not job.npu.is_verified(WEIGHTS)
    assert job.fetch(WEIGHTS) == first
    job.npu.verify(WEIGHTS)
    with pytest.raises(session.TensorError, match="is written by the cpu"):
        job.npu.compute(BIAS, WEIGHTS, add)
    with pytest.raises(session.TensorError, match="is no result"):
        job.npu.release(WEIGHTS)


@pytest.mark.verifies("tensortee-REQ-EXPORT-01")
def test_a_tensor_that_is_read_back_awaits_itself(job: Job) -> None:
    written = job.write(job.npu, LOSS, 1, "loss")
    job.npu.load_again(LOSS)
    job.fetch(LOSS)
    refused(job, LOSS, "awaits the MAC of 4")
    job.npu.verify(LOSS)
    assert job.npu.release(LOSS) == written[0]


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
    with pytest.raises(session.TensorError, match="does not verify"):
        job.npu.verify(WEIGHTS)
    with pytest.raises(session.HaltedError):
        job.npu.release(LOSS)


ROOT = ec.generate_private_key(ec.SECP384R1())
NPU = ec.generate_private_key(ec.SECP384R1())
FAKE = ec.generate_private_key(ec.SECP384R1())


def device(identity: ec.EllipticCurvePrivateKey = NPU) -> session.Device:
    return session.Device(identity, session.certify(ROOT if identity is NPU else FAKE, identity), os.urandom)


@pytest.mark.verifies("tensortee-REQ-KEY-01")
def test_both_ends_have_the_same_keys() -> None:
    exchange = session.KeyExchange(os.urandom)
    answer, keys = device().answer(exchange.opening)
    assert exchange.take(answer, ROOT.public_key()) == keys
    assert len({keys.lines, keys.macs, keys.descriptors}) == 3


@pytest.mark.verifies("tensortee-REQ-KEY-02", "tensortee-REQ-KEY-03")
def test_each_exchange_has_keys_of_its_own() -> None:
    npu, found = device(), set()
    for _ in range(3):
        exchange = session.KeyExchange(os.urandom)
        answer, _ = npu.answer(exchange.opening)
        found.add(exchange.take(answer, ROOT.public_key()).lines)
    assert len(found) == 3


def test_neither_a_second_answer_nor_the_share_of_somebody_between_is_taken() -> None:
    """Two sessions would have one share on this side, and the second answer may be an old one."""
    exchange, npu = session.KeyExchange(os.urandom), device()
    exchange.take(npu.answer(exchange.opening)[0], ROOT.public_key())
    with pytest.raises(session.SessionError, match="an answer was taken before"):
        exchange.take(npu.answer(exchange.opening)[0], ROOT.public_key())
    exchange = session.KeyExchange(os.urandom)
    answer, _ = device().answer(exchange.opening)
    own, _ = device(FAKE).answer(exchange.opening)
    with pytest.raises(session.SessionError, match="report does not verify"):
        exchange.take(replace(answer, share=own.share), ROOT.public_key())


@pytest.mark.verifies("tensortee-REQ-KEY-01")
def test_a_fake_npu_is_not_taken() -> None:
    exchange = session.KeyExchange(os.urandom)
    answer, _ = device(FAKE).answer(exchange.opening)
    with pytest.raises(session.SessionError, match="certificate does not verify"):
        exchange.take(answer, ROOT.public_key())


@pytest.mark.verifies("tensortee-REQ-KEY-01")
def test_a_report_of_another_exchange_is_not_taken() -> None:
    answer, _ = device().answer(session.KeyExchange(os.urandom).opening)
    with pytest.raises(session.SessionError, match="report does not verify"):
        session.KeyExchange(os.urandom).take(answer, ROOT.public_key())


@pytest.mark.parametrize("bad", [b"", b"\0" * 97])
def test_what_is_no_device_key_is_one_error(bad: bytes) -> None:
    exchange = session.KeyExchange(os.urandom)
    answer, _ = device().answer(exchange.opening)
    with pytest.raises(session.SessionError, match="no session"):
        exchange.take(replace(answer, device=bad), ROOT.public_key())
