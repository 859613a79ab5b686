"""What the tenant's defences are good for, with real bytes: the attack without each, and the same on the real thing."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

import pytest

from carnet_ref.systems.ablation import without
from carnet_ref.systems.pipellm.ablations import (
    RUNTIMES,
    AnyOrder,
    GivesAgain,
    KeepsStale,
    LeavesTheIv,
    NeverPads,
    SendsBehind,
    SendsWhatIsThere,
    SharedStaging,
    WritesOn,
    summed,
)
from carnet_ref.systems.pipellm.channel import NOP, Channel, ChannelError, CopyError, Message, decrypt
from carnet_ref.systems.pipellm.exploits import Stepwise
from carnet_ref.systems.pipellm.runtime import FlushingRuntime, Runtime, Tactics
from tests.unit.reference_impl.systems.pipellm.bench import Bench, Oracle

Verifies = Callable[[str, object], None]
SECRET = b"weights!"
PUBLIC = b"a prompt"


def read(one: bytes, two: bytes, known: bytes) -> bytes:
    """Return what the host reads of the one block, if it knows the other and one IV encrypted both."""
    return bytes(a ^ b for a, b in zip(summed(one, two), known, strict=False))


# -- what is exposed --------------------------------------------------------------------------------------------------


def wrong_guess(kind: type[Runtime]) -> Bench:
    """Return a bench on which a secret page was guessed, and a page that the host knows was asked for."""
    bench = Bench(Oracle(1), kind=kind)
    bench.memory.write(1, SECRET)
    bench.memory.write(2, PUBLIC)
    bench.runtime.speculate()
    bench.ask(2)
    return bench


def test_a_wrong_guess_in_shared_memory_is_read(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-STAGE-01")
    weak = wrong_guess(SharedStaging)
    weak.deliver()
    assert read(weak.runtime.shared[0], weak.sent[0].ciphertext, PUBLIC) == SECRET


def test_a_nop_over_a_guess_in_shared_memory_tells_a_byte() -> None:
    weak = Bench(Oracle(1, 2), kind=SharedStaging)
    weak.memory.write(1, SECRET)
    weak.runtime.speculate()
    weak.copy(2)
    assert read(weak.runtime.shared[0], weak.sent[0].ciphertext, NOP) == SECRET[:1]


def test_the_gpu_decrypts_a_wrong_guess_from_shared_memory(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-STAGE-01")
    weak = wrong_guess(SharedStaging)
    (message,) = weak.runtime.send()
    weak.gpu.receive(Message(weak.runtime.shared[0], message.command))
    assert weak.gpu.landed == {0: SECRET} != weak.asked


def test_flushing_leaves_the_host_one_ciphertext_to_an_iv(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-FLUSH-01")
    real = wrong_guess(FlushingRuntime)
    real.deliver()
    assert real.runtime.shared == {0: real.sent[0].ciphertext}
    assert real.gpu.landed == real.asked


def test_nothing_of_a_wrong_guess_is_in_shared_memory() -> None:
    real = wrong_guess(Runtime)
    real.deliver()
    assert [decrypt(real.keys, 0, message.ciphertext) for message in real.sent] == [PUBLIC]


# -- what is sent -----------------------------------------------------------------------------------------------------


def stale(bench: Bench) -> bytes:
    bench.runtime.speculate()
    bench.memory.write(1, b"written since")
    return bench.copy(1)


def test_a_guess_that_a_write_does_not_void_is_stale(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-WRITE-01")
    assert stale(Bench(Oracle(1), kind=KeepsStale)) == b"page 1"
    assert stale(Bench(Oracle(1))) == b"written since"


def test_a_write_that_does_not_wait_is_copied(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-WRITE-02")
    weak, real = (Bench(Oracle(), kind=kind) for kind in (WritesOn, Runtime))
    for bench in (weak, real):
        bench.ask(1)
        with suppress(CopyError):
            bench.memory.write(1, b"too early")
        bench.deliver()
    assert weak.gpu.landed == {0: b"too early"} != weak.asked
    assert real.gpu.landed == real.asked


def test_a_guess_of_another_page_is_another_page(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-SEND-01")
    weak, real = wrong_guess(SendsWhatIsThere), wrong_guess(Runtime)
    for bench in (weak, real):
        bench.deliver()
    assert weak.gpu.landed == {0: SECRET} != weak.asked
    assert real.gpu.landed == real.asked


def test_a_hit_that_overtakes_arrives_first(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-ORDER-01")
    for kind, order in ((AnyOrder, [1, 0]), (Runtime, [0, 1])):
        bench = Bench(Oracle(2), kind=kind)
        bench.ask(1)
        overtaking = bench.ask(2)
        if isinstance(bench.runtime, AnyOrder):
            bench.runtime.wanted = overtaking
        bench.deliver()
        assert list(bench.gpu.landed) == order


# -- counters ---------------------------------------------------------------------------------------------------------


def test_a_guess_that_is_behind_is_read(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-SEND-02")
    weak = wrong_guess(SendsBehind)
    weak.deliver()
    weak.ask(1)
    (behind,) = weak.runtime.send()
    assert read(weak.sent[0].ciphertext, behind.ciphertext, PUBLIC) == SECRET
    with pytest.raises(ChannelError, match="message 1: the tag of the block does not verify"):
        weak.gpu.receive(behind)
    real = wrong_guess(Runtime)
    real.deliver()
    assert real.copy(1) == SECRET


def test_a_guess_that_is_not_waited_for_is_read(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-SEND-03")
    weak = Bench(Oracle(1), Tactics(gap=1), NeverPads)
    weak.memory.write(1, SECRET)
    weak.memory.write(2, PUBLIC)
    weak.runtime.speculate()
    for page in (1, 2):
        weak.ask(page)
    early, later = weak.runtime.send()
    assert read(early.ciphertext, later.ciphertext, PUBLIC) == SECRET
    with pytest.raises(ChannelError, match="message 0: the tag of the block does not verify"):
        weak.gpu.receive(early)


def test_an_iv_that_is_left_is_used_again(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-SEND-04")
    weak, real = (Bench(Oracle(), kind=kind) for kind in (LeavesTheIv, Runtime))
    for bench in (weak, real):
        bench.memory.write(1, SECRET)
        bench.memory.write(2, PUBLIC)
        for page in (1, 2):
            bench.ask(page)
        bench.sent = bench.runtime.send()
    assert read(weak.sent[0].ciphertext, weak.sent[1].ciphertext, PUBLIC) == SECRET
    assert read(real.sent[0].ciphertext, real.sent[1].ciphertext, PUBLIC) != SECRET


def test_a_nop_that_goes_anywhere_overwrites_a_copy(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-PAD-01")
    for off, first in ((frozenset(("pad-discarded",)), NOP), (frozenset[str](), b"page 0")):
        bench = Bench(Oracle(), kind=without(Stepwise, RUNTIMES, off))
        bench.copy(0)
        assert isinstance(bench.runtime, Stepwise)
        bench.gpu.receive(bench.runtime.pad())
        assert bench.gpu.landed == {1: first}


# -- keys -------------------------------------------------------------------------------------------------------------


def test_a_counter_that_begins_again_is_read(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-KEY-02")
    weak = GivesAgain(random.Random(5).randbytes)
    before, after = (Bench(Oracle(), channel=weak) for _ in range(2))
    before.memory.write(1, SECRET)
    after.memory.write(1, PUBLIC)
    for bench in (before, after):
        bench.copy(1)
    assert read(before.sent[0].ciphertext, after.sent[0].ciphertext, PUBLIC) == SECRET
    real = Channel(random.Random(5).randbytes)
    Bench(Oracle(), channel=real)
    with pytest.raises(ChannelError, match="taken already"):
        Bench(Oracle(), channel=real)


def test_a_tenant_with_the_key_of_another_reads(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-KEY-01")
    weak = GivesAgain(random.Random(6).randbytes)
    alice, mallory = Bench(Oracle(), channel=weak), weak.for_tenant()
    alice.copy(1)
    assert decrypt(mallory, 0, alice.sent[0].ciphertext) == b"page 1"
    real = Channel(random.Random(6).randbytes)
    Bench(Oracle(), channel=real)
    with pytest.raises(ChannelError, match="taken already"):
        real.for_tenant()
