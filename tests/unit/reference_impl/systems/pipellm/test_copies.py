"""Copies with real encryption: whatever is guessed, the GPU gets what was asked for, in order, under IVs used once."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.systems.pipellm.channel import (
    MAX_BLOCK,
    MESSAGES,
    NOP,
    Channel,
    ChannelError,
    CopyError,
    Gpu,
    Keys,
    Message,
    decrypt,
    encrypt,
    iv,
)
from carnet_ref.systems.pipellm.runtime import Fifo, FlushingRuntime, Lifo, Memory, Repeat, Runtime, Tactics
from tests.unit.reference_impl.systems.pipellm.bench import Bench, Oracle

Verifies = Callable[[str, object], None]
RUNTIMES = (Runtime, FlushingRuntime)


# -- whatever is guessed ----------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 3)),
        st.tuples(st.just("write"), st.integers(0, 3)),
        st.tuples(st.just("guess"), st.lists(st.integers(0, 5), max_size=4)),
        st.tuples(st.just("deliver"), st.none()),
    ),
    max_size=30,
)


@pytest.mark.parametrize("kind", RUNTIMES)
@given(steps=STEPS, gap=st.integers(0, 3), reach=st.integers(0, 5))
def test_the_gpu_gets_what_was_asked_for_in_order(
    kind: type[Runtime], steps: list[tuple[str, object]], gap: int, reach: int
) -> None:
    oracle = Oracle()
    bench = Bench(oracle, Tactics(4, gap, reach), kind)
    seen: dict[int, bytes] = {}
    for written, (what, which) in enumerate(steps):
        if what == "ask":
            assert isinstance(which, int)
            bench.ask(which)
        elif what == "write":
            assert isinstance(which, int)
            bench.deliver()
            bench.memory.write(which, b"written %d" % written)
        elif what == "guess":
            assert isinstance(which, list)
            oracle.pages = which
            bench.runtime.speculate()
        else:
            bench.deliver()
        for number, ciphertext in shared(bench).items():
            assert seen.setdefault(number, ciphertext) == ciphertext, "the host saw two ciphertexts under one IV"
    bench.deliver()
    assert list(bench.gpu.landed.items()) == list(bench.asked.items())
    assert bench.gpu.counter == bench.runtime.due == len(bench.sent)
    assert_each_iv_exposes_one_block(bench)


def shared(bench: Bench) -> dict[int, bytes]:
    """Return what the host sees of guesses now."""
    return bench.runtime.shared if isinstance(bench.runtime, FlushingRuntime) else {}


def assert_each_iv_exposes_one_block(bench: Bench) -> None:
    """Each message is under the IV of its number, and what else is exposed under that is the same ciphertext."""
    for count, message in enumerate(bench.sent):
        decrypt(bench.keys, count, message.ciphertext)
        assert shared(bench).get(count, message.ciphertext) == message.ciphertext


def test_copies_arrive_with_every_predictor(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-ORDER-01, pipellm-REQ-SEND-01, pipellm-REQ-RECEIVE-01")
    for predictor, order in ((Repeat(), [0, 1, 2] * 4), (Fifo(), [0, 1, 2]), (Lifo(), [2, 1, 0])):
        bench = Bench(predictor)
        for page in range(3):
            bench.runtime.swapped_out(page, b"swapped %d" % page)
        for page in order:
            bench.runtime.speculate()
            assert bench.copy(page) == b"swapped %d" % page
        assert bench.runtime.counts.hits >= len(order) // 2
        assert_each_iv_exposes_one_block(bench)


def test_a_guess_that_is_right_is_what_is_sent() -> None:
    bench = Bench(Oracle(2))
    bench.runtime.speculate()
    assert bench.copy(2) == b"page 2"
    assert (bench.runtime.counts.hits, bench.runtime.counts.misses, bench.runtime.counts.nops) == (1, 0, 0)


# -- counters ---------------------------------------------------------------------------------------------------------


def test_nops_move_the_counter_to_a_guess(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-SEND-03, pipellm-REQ-PAD-01")
    bench = Bench(Oracle(1), Tactics(gap=3))
    bench.runtime.speculate()
    assert bench.copy(1) == b"page 1"
    assert bench.runtime.counts.nops == 3
    assert [decrypt(bench.keys, count, bench.sent[count].ciphertext) for count in range(3)] == [NOP] * 3
    assert len(bench.gpu.landed) == 1


def test_a_guess_out_of_reach_is_encrypted_anew() -> None:
    bench = Bench(Oracle(1), Tactics(gap=3, reach=2))
    bench.runtime.speculate()
    assert bench.copy(1) == b"page 1"
    assert (bench.runtime.counts.misses, bench.runtime.counts.nops) == (1, 0)


def test_a_guess_that_is_behind_is_encrypted_anew(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-SEND-02, pipellm-REQ-SEND-04")
    bench = Bench(Oracle(1))
    bench.runtime.speculate()
    assert bench.copy(0) == b"page 0"
    assert bench.copy(1) == b"page 1"
    assert (bench.runtime.counts.misses, bench.runtime.due) == (2, 2)


@pytest.mark.parametrize("kind", RUNTIMES)
def test_no_counter_wraps(kind: type[Runtime], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(Oracle(1, 1, 1), kind=kind)
    monkeypatch.setattr(bench.runtime, "_due", MESSAGES - 1)
    bench.runtime.speculate()
    for page in (1, 0):
        bench.ask(page)
    assert len(bench.runtime.send()) == 1
    for _ in range(2):
        with pytest.raises(ChannelError, match="no IV left"):
            bench.runtime.send()
    with pytest.raises(ChannelError, match="no IV left"):
        iv(-1)


# -- writes -----------------------------------------------------------------------------------------------------------


def test_a_write_voids_the_guess(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-WRITE-01")
    bench = Bench(Oracle(1))
    bench.runtime.speculate()
    bench.memory.write(1, b"written since")
    assert bench.copy(1) == b"written since"
    assert bench.runtime.counts.misses == 1


def test_a_write_waits_for_the_copy(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-WRITE-02")
    bench = Bench(Oracle())
    bench.ask(1)
    for write in (bench.memory.write, bench.runtime.swapped_out):
        with pytest.raises(CopyError, match="page 1: a copy of it is pending"):
            write(1, b"too early")
    bench.memory.write(2, b"another page")
    bench.deliver()
    assert bench.gpu.landed == {0: b"page 1"}


@pytest.mark.parametrize("size", [0, MAX_BLOCK + 1])
def test_a_page_has_a_size(size: int) -> None:
    bench = Bench(Oracle())
    with pytest.raises(CopyError, match=f"{size} bytes are no page"):
        bench.memory.write(1, bytes(size))
    assert bench.copy(1) == b"page 1"


def test_a_page_that_is_not_there_is_not_copied() -> None:
    bench = Bench(Oracle(9))
    bench.runtime.speculate()
    with pytest.raises(CopyError, match="page 9: was never written"):
        bench.ask(9)
    assert bench.runtime.send() == []


# -- what the host does -----------------------------------------------------------------------------------------------


def messages(keys: Keys, memory: Memory, *pages: int) -> list[Message]:
    """Return the messages of copies, as a tenant without guesses sends them."""
    runtime = Runtime(keys, memory, Oracle())
    for page in pages:
        runtime.ask(page)
    return runtime.send()


BENCH = Bench(Oracle())
ONE, TWO, THREE = messages(BENCH.keys, BENCH.memory, 1, 2, 3)
FOREIGN = messages(Channel(random.Random(2).randbytes).for_tenant(), BENCH.memory, 1)[0]
HOSTILE = {
    "a message left out": TWO,
    "the commands of two messages exchanged": Message(ONE.ciphertext, TWO.command),
    "the blocks of two messages exchanged": Message(TWO.ciphertext, ONE.command),
    "a message of another channel": FOREIGN,
    "a block of another channel": Message(FOREIGN.ciphertext, ONE.command),
    "a bit changed in the block": Message(bytes([ONE.ciphertext[0] ^ 1]) + ONE.ciphertext[1:], ONE.command),
    "a bit changed in the tag": Message(ONE.ciphertext[:-1] + bytes([ONE.ciphertext[-1] ^ 1]), ONE.command),
    "a block cut short": Message(ONE.ciphertext[:-1], ONE.command),
    "a block shorter than a tag": Message(ONE.ciphertext[: TAG_BYTES - 1], ONE.command),
    "no block": Message(b"", ONE.command),
    "a command cut short": Message(ONE.ciphertext, ONE.command[:-1]),
    "no command": Message(ONE.ciphertext, b""),
    "a block in place of the command": Message(ONE.ciphertext, ONE.ciphertext),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_the_host_changes_ends_the_channel(what: str, record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-RECEIVE-02, pipellm-REQ-RECEIVE-03, pipellm-REQ-RECEIVE-04")
    gpu = Gpu(BENCH.keys)
    with pytest.raises(ChannelError, match=r"^message 0: (.* does not verify|\d+ bytes have no tag)$"):
        gpu.receive(HOSTILE[what])
    with pytest.raises(ChannelError, match="the channel has ended"):
        gpu.receive(ONE)
    assert gpu.landed == {}


def test_a_message_is_decrypted_once(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-RECEIVE-01")
    gpu = Gpu(BENCH.keys)
    gpu.receive(ONE)
    with pytest.raises(ChannelError, match="message 1: the command does not verify"):
        gpu.receive(ONE)
    assert gpu.landed == {0: b"page 1"}


# -- keys and shared memory -------------------------------------------------------------------------------------------


def test_an_end_of_a_channel_is_taken_once(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-KEY-01, pipellm-REQ-KEY-02")
    channel = Channel(random.Random(3).randbytes)
    keys = channel.for_tenant()
    assert keys == channel.for_gpu() != Channel(random.Random(4).randbytes).for_gpu()
    assert keys.blocks != keys.commands
    with pytest.raises(ChannelError, match="the tenant's end of the channel was taken already"):
        channel.for_tenant()
    with pytest.raises(ChannelError, match="the GPU's end of the channel was taken already"):
        channel.for_gpu()


def test_wrong_guesses_are_never_seen(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-STAGE-01")
    bench = Bench(Oracle(1, 2, 3))
    bench.runtime.speculate()
    guesses = {encrypt(bench.keys, count, b"page %d" % page) for count, page in enumerate((1, 2, 3))}
    for _ in range(3):
        bench.copy(0)
    assert not guesses & {message.ciphertext for message in bench.sent}


def test_flushed_guesses_are_what_the_host_saw(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-FLUSH-01")
    bench = Bench(Oracle(1, 2), kind=FlushingRuntime)
    bench.runtime.speculate()
    seen = shared(bench)
    bench.memory.write(1, b"written since")
    bench.runtime.speculate()
    assert shared(bench) == seen
    assert bench.copy(0) == b"page 0"
    assert bench.copy(1) == b"written since"
    assert isinstance(bench.runtime, FlushingRuntime)
    assert [message.ciphertext for message in bench.sent[:2]] == list(bench.runtime.shared.values())
    assert (bench.runtime.counts.nops, bench.runtime.counts.misses) == (2, 2)
