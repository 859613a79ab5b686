"""Copies with real encryption: the GPU gets what was asked for, in order, unless a defence is left out."""

import random
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.systems.ablation import without
from carnet_ref.systems.pipellm import ablations
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
from carnet_ref.systems.pipellm.exploits import Stepwise
from carnet_ref.systems.pipellm.runtime import (
    AheadRuntime,
    Fifo,
    FlushingRuntime,
    Memory,
    Predictor,
    Runtime,
    Tactics,
)


class Oracle:
    """Guesses what it is told to."""

    def __init__(self, *pages: int) -> None:
        self.pages = list(pages)

    def on_swap_out(self, page: int) -> None:
        """Learn nothing."""

    def on_swap_in_request(self, page: int) -> None:
        """Learn nothing."""

    def guess(self, count: int) -> Sequence[int]:
        """Return what it was told, however much that is."""
        return self.pages


class Bench:
    """A tenant and a GPU, with pages that hold their numbers, and the host between them."""

    def __init__(
        self,
        predictor: Predictor,
        tactics: Tactics | None = None,
        kind: type[Runtime] = Runtime,
        gpu: type[Gpu] = Gpu,
        channel: Channel | None = None,
    ) -> None:
        channel = channel or Channel(random.Random(1).randbytes)
        self.keys = channel.for_tenant()
        self.memory = Memory()
        for page in range(4):
            self.memory.write(page, b"page %d" % page)
        self.runtime = kind(self.keys, self.memory, predictor, tactics)
        self.gpu = gpu(channel.for_gpu())
        self.asked: dict[int, bytes] = {}
        self.sent: list[Message] = []

    def ask(self, page: int) -> int:
        """Ask for a copy, and note what the page holds."""
        copy = self.runtime.ask(page)
        self.asked[copy] = self.memory.read(page)
        return copy

    def deliver(self) -> None:
        """Send what is pending, and let the GPU have it."""
        for message in self.runtime.send():
            self.sent.append(message)
            self.gpu.receive(message)

    def copy(self, page: int) -> bytes:
        """Return what the GPU gets of a page."""
        copy = self.ask(page)
        self.deliver()
        return self.gpu.landed_blocks[copy]


KINDS = (Runtime, FlushingRuntime, AheadRuntime)


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


@pytest.mark.parametrize("kind", KINDS)
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
    assert list(bench.gpu.landed_blocks.items()) == list(bench.asked.items())
    assert bench.gpu.counter == bench.runtime.next_iv == len(bench.sent)
    assert_each_iv_exposes_one_block(bench)


def shared(bench: Bench) -> dict[int, bytes]:
    """Return what the host sees of guesses now."""
    return bench.runtime.visible_guesses if isinstance(bench.runtime, FlushingRuntime) else {}


def assert_each_iv_exposes_one_block(bench: Bench) -> None:
    """Each message is under the IV of its number, and what else is exposed under that is the same ciphertext."""
    for count, message in enumerate(bench.sent):
        decrypt(bench.keys, count, message.ciphertext)
        assert shared(bench).get(count, message.ciphertext) == message.ciphertext


@pytest.mark.verifies("pipellm-REQ-ORDER-01", "pipellm-REQ-SEND-01", "pipellm-REQ-RECEIVE-01")
def test_copies_arrive_with_every_predictor() -> None:
    bench = Bench(Fifo())
    for page in range(3):
        bench.runtime.swapped_out(page, b"swapped %d" % page)
    for page in range(3):
        bench.runtime.speculate()
        assert bench.copy(page) == b"swapped %d" % page
    assert bench.runtime.counts.hits >= 1


def test_a_right_guess_is_sent_one_out_of_reach_encrypted_anew_and_one_of_no_page_not_copied() -> None:
    bench = Bench(Oracle(2))
    bench.runtime.speculate()
    assert bench.copy(2) == b"page 2"
    assert (bench.runtime.counts.hits, bench.runtime.counts.misses, bench.runtime.counts.nops) == (1, 0, 0)
    bench = Bench(Oracle(1), Tactics(gap=3, reach=2))
    bench.runtime.speculate()
    assert bench.copy(1) == b"page 1"
    assert (bench.runtime.counts.misses, bench.runtime.counts.nops) == (1, 0)
    bench = Bench(Oracle(9))
    bench.runtime.speculate()
    with pytest.raises(CopyError, match="page 9: was never written"):
        bench.ask(9)
    assert bench.runtime.send() == []


# -- counters ---------------------------------------------------------------------------------------------------------


@pytest.mark.verifies("pipellm-REQ-SEND-03", "pipellm-REQ-PAD-01")
def test_nops_move_the_counter_to_a_guess() -> None:
    bench = Bench(Oracle(1), Tactics(gap=3))
    bench.runtime.speculate()
    assert bench.copy(1) == b"page 1"
    assert bench.runtime.counts.nops == 3
    assert [decrypt(bench.keys, count, bench.sent[count].ciphertext) for count in range(3)] == [NOP] * 3
    assert len(bench.gpu.landed_blocks) == 1


@pytest.mark.verifies("pipellm-REQ-SEND-02", "pipellm-REQ-SEND-04")
def test_a_guess_that_is_behind_is_encrypted_anew() -> None:
    bench = Bench(Oracle(1))
    bench.runtime.speculate()
    assert bench.copy(0) == b"page 0"
    assert bench.copy(1) == b"page 1"
    assert (bench.runtime.counts.misses, bench.runtime.next_iv) == (2, 2)


@pytest.mark.parametrize("kind", KINDS)
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


@pytest.mark.verifies("pipellm-REQ-WRITE-01")
def test_a_write_voids_the_guess() -> None:
    bench = Bench(Oracle(1))
    bench.runtime.speculate()
    bench.memory.write(1, b"written since")
    assert bench.copy(1) == b"written since"
    assert bench.runtime.counts.misses == 1


@pytest.mark.verifies("pipellm-REQ-WRITE-02")
def test_a_write_waits_for_the_copy() -> None:
    bench = Bench(Oracle())
    bench.ask(1)
    for write in (bench.memory.write, bench.runtime.swapped_out):
        with pytest.raises(CopyError, match="page 1: a copy of it is pending"):
            write(1, b"too early")
    bench.memory.write(2, b"another page")
    bench.deliver()
    assert bench.gpu.landed_blocks == {0: b"page 1"}


@pytest.mark.parametrize("size", [0, MAX_BLOCK + 1])
def test_a_page_has_a_size(size: int) -> None:
    bench = Bench(Oracle())
    with pytest.raises(CopyError, match=f"{size} bytes are no page"):
        bench.memory.write(1, bytes(size))
    assert bench.copy(1) == b"page 1"


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


@pytest.mark.verifies("pipellm-REQ-RECEIVE-02", "pipellm-REQ-RECEIVE-03", "pipellm-REQ-RECEIVE-04")
@pytest.mark.parametrize("what", HOSTILE)
def test_what_the_host_changes_ends_the_channel(what: str) -> None:
    gpu = Gpu(BENCH.keys)
    with pytest.raises(ChannelError, match=r"^message 0: (.* does not verify|\d+ bytes have no tag)$"):
        gpu.receive(HOSTILE[what])
    with pytest.raises(ChannelError, match="the channel has ended"):
        gpu.receive(ONE)
    assert gpu.landed_blocks == {}


@pytest.mark.verifies("pipellm-REQ-RECEIVE-01")
def test_a_message_is_decrypted_once() -> None:
    gpu = Gpu(BENCH.keys)
    gpu.receive(ONE)
    with pytest.raises(ChannelError, match="message 1: the command does not verify"):
        gpu.receive(ONE)
    assert gpu.landed_blocks == {0: b"page 1"}


# -- keys and shared memory -------------------------------------------------------------------------------------------


@pytest.mark.verifies("pipellm-REQ-KEY-01", "pipellm-REQ-KEY-02")
def test_an_end_of_a_channel_is_taken_once() -> None:
    channel = Channel(random.Random(3).randbytes)
    keys = channel.for_tenant()
    assert keys == channel.for_gpu() != Channel(random.Random(4).randbytes).for_gpu()
    assert keys.blocks != keys.commands
    with pytest.raises(ChannelError, match="the tenant's end of the channel was taken already"):
        channel.for_tenant()
    with pytest.raises(ChannelError, match="the GPU's end of the channel was taken already"):
        channel.for_gpu()


@pytest.mark.verifies("pipellm-REQ-STAGE-01")
def test_wrong_guesses_are_never_seen() -> None:
    bench = Bench(Oracle(1, 2, 3))
    bench.runtime.speculate()
    guesses = {encrypt(bench.keys, count, b"page %d" % page) for count, page in enumerate((1, 2, 3))}
    for _ in range(3):
        bench.copy(0)
    assert not guesses & {message.ciphertext for message in bench.sent}


@pytest.mark.verifies("pipellm-REQ-FLUSH-01")
def test_flushed_guesses_are_what_the_host_saw() -> None:
    bench = Bench(Oracle(1, 2), kind=FlushingRuntime)
    bench.runtime.speculate()
    seen = shared(bench)
    bench.memory.write(1, b"written since")
    bench.runtime.speculate()
    assert shared(bench) == seen
    assert bench.copy(0) == b"page 0"
    assert bench.copy(1) == b"written since"
    assert isinstance(bench.runtime, FlushingRuntime)
    assert [message.ciphertext for message in bench.sent[:2]] == list(bench.runtime.visible_guesses.values())
    assert (bench.runtime.counts.nops, bench.runtime.counts.misses) == (2, 2)


SECRET = b"weights!"
PUBLIC = b"a prompt"


def read(one: bytes, two: bytes, known: bytes) -> bytes:
    """Return what the host reads of the one block, if it knows the other and one IV encrypted both."""
    return bytes(a ^ b for a, b in zip(ablations.xor_ciphertexts(one, two), known, strict=False))


# -- what is exposed --------------------------------------------------------------------------------------------------


def wrong_guess(kind: type[Runtime]) -> Bench:
    """Return a bench on which a secret page was guessed, and a page that the host knows was asked for."""
    bench = Bench(Oracle(1), kind=kind)
    bench.memory.write(1, SECRET)
    bench.memory.write(2, PUBLIC)
    bench.runtime.speculate()
    bench.ask(2)
    return bench


@pytest.mark.verifies("pipellm-REQ-STAGE-01")
def test_a_wrong_guess_in_shared_memory_is_read() -> None:
    weak = wrong_guess(ablations.SharedStaging)
    weak.deliver()
    assert read(weak.runtime.visible_guesses[0], weak.sent[0].ciphertext, PUBLIC) == SECRET


def test_a_nop_over_a_guess_in_shared_memory_tells_a_byte_which_is_not_there() -> None:
    weak = Bench(Oracle(1, 2), kind=ablations.SharedStaging)
    weak.memory.write(1, SECRET)
    weak.runtime.speculate()
    weak.copy(2)
    assert read(weak.runtime.visible_guesses[0], weak.sent[0].ciphertext, NOP) == SECRET[:1]
    real = wrong_guess(Runtime)
    real.deliver()
    assert [decrypt(real.keys, 0, message.ciphertext) for message in real.sent] == [PUBLIC]


@pytest.mark.verifies("pipellm-REQ-STAGE-01")
def test_the_gpu_decrypts_a_wrong_guess_from_shared_memory() -> None:
    weak = wrong_guess(ablations.SharedStaging)
    (message,) = weak.runtime.send()
    weak.gpu.receive(Message(weak.runtime.visible_guesses[0], message.command))
    assert weak.gpu.landed_blocks == {0: SECRET} != weak.asked


@pytest.mark.verifies("pipellm-REQ-FLUSH-01")
def test_flushing_leaves_the_host_one_ciphertext_to_an_iv() -> None:
    real = wrong_guess(FlushingRuntime)
    real.deliver()
    assert real.runtime.visible_guesses == {0: real.sent[0].ciphertext}
    assert real.gpu.landed_blocks == real.asked


# -- what is sent -----------------------------------------------------------------------------------------------------


def stale(bench: Bench) -> bytes:
    bench.runtime.speculate()
    bench.memory.write(1, b"written since")
    return bench.copy(1)


@pytest.mark.verifies("pipellm-REQ-WRITE-01")
def test_a_guess_that_a_write_does_not_void_is_stale() -> None:
    assert stale(Bench(Oracle(1), kind=ablations.RUNTIMES["write-invalidates"])) == b"page 1"
    assert stale(Bench(Oracle(1))) == b"written since"


@pytest.mark.verifies("pipellm-REQ-WRITE-02")
def test_a_write_that_does_not_wait_is_copied() -> None:
    weak, real = (Bench(Oracle(), kind=kind) for kind in (ablations.RUNTIMES["write-waits"], Runtime))
    for bench in (weak, real):
        bench.ask(1)
        with suppress(CopyError):
            bench.memory.write(1, b"too early")
        bench.deliver()
    assert weak.gpu.landed_blocks == {0: b"too early"} != weak.asked
    assert real.gpu.landed_blocks == real.asked


@pytest.mark.verifies("pipellm-REQ-SEND-01")
def test_a_guess_of_another_page_is_another_page() -> None:
    weak, real = wrong_guess(ablations.SendsWhatIsThere), wrong_guess(Runtime)
    for bench in (weak, real):
        bench.deliver()
    assert weak.gpu.landed_blocks == {0: SECRET} != weak.asked
    assert real.gpu.landed_blocks == real.asked


@pytest.mark.verifies("pipellm-REQ-ORDER-01")
def test_a_hit_that_overtakes_arrives_first() -> None:
    for kind, order in ((ablations.AnyOrder, [1, 0]), (Runtime, [0, 1])):
        bench = Bench(Oracle(2), kind=kind)
        bench.ask(1)
        overtaking = bench.ask(2)
        if isinstance(bench.runtime, ablations.AnyOrder):
            bench.runtime.wanted = overtaking
        bench.deliver()
        assert list(bench.gpu.landed_blocks) == order


# -- counters ---------------------------------------------------------------------------------------------------------


@pytest.mark.verifies("pipellm-REQ-SEND-02")
def test_a_guess_that_is_behind_is_read() -> None:
    weak = wrong_guess(ablations.SendsBehind)
    weak.deliver()
    weak.ask(1)
    (behind,) = weak.runtime.send()
    assert read(weak.sent[0].ciphertext, behind.ciphertext, PUBLIC) == SECRET
    with pytest.raises(ChannelError, match="message 1: the tag of the block does not verify"):
        weak.gpu.receive(behind)
    real = wrong_guess(Runtime)
    real.deliver()
    assert real.copy(1) == SECRET


@pytest.mark.verifies("pipellm-REQ-SEND-03")
def test_a_guess_that_is_not_waited_for_is_read() -> None:
    weak = Bench(Oracle(1), Tactics(gap=1), ablations.NeverPads)
    weak.memory.write(1, SECRET)
    weak.memory.write(2, PUBLIC)
    weak.runtime.speculate()
    for page in (1, 2):
        weak.ask(page)
    early, later = weak.runtime.send()
    assert read(early.ciphertext, later.ciphertext, PUBLIC) == SECRET
    with pytest.raises(ChannelError, match="message 0: the tag of the block does not verify"):
        weak.gpu.receive(early)


@pytest.mark.verifies("pipellm-REQ-SEND-04")
def test_an_iv_that_is_left_is_used_again() -> None:
    weak, real = (Bench(Oracle(), kind=kind) for kind in (ablations.RUNTIMES["miss-advances"], Runtime))
    for bench in (weak, real):
        bench.memory.write(1, SECRET)
        bench.memory.write(2, PUBLIC)
        for page in (1, 2):
            bench.ask(page)
        bench.sent = bench.runtime.send()
    assert read(weak.sent[0].ciphertext, weak.sent[1].ciphertext, PUBLIC) == SECRET
    assert read(real.sent[0].ciphertext, real.sent[1].ciphertext, PUBLIC) != SECRET


@pytest.mark.verifies("pipellm-REQ-PAD-01")
def test_a_nop_that_goes_anywhere_overwrites_a_copy() -> None:
    for off, first in ((frozenset(("pad-discarded",)), NOP), (frozenset[str](), b"page 0")):
        bench = Bench(Oracle(), kind=without(Stepwise, ablations.RUNTIMES, off))
        bench.copy(0)
        assert isinstance(bench.runtime, Stepwise)
        bench.gpu.receive(bench.runtime.pad())
        assert bench.gpu.landed_blocks == {1: first}


@pytest.mark.verifies("pipellm-REQ-PAD-02")
def test_a_kernel_after_the_copy_on_its_stream_does_not_read_the_nop() -> None:
    bench = Bench(Oracle(1, 2), kind=AheadRuntime)
    bench.runtime.speculate()
    copy = bench.ask(2)
    assert isinstance(bench.runtime, AheadRuntime)
    nop, block = bench.runtime.send()
    bench.gpu.receive(nop)
    assert bench.gpu.landed_blocks == {copy: NOP}
    for counter in (0, bench.gpu.counter):
        with pytest.raises(CopyError, match="has not come"):
            bench.runtime.launch(copy, counter)
    bench.gpu.receive(block)
    bench.runtime.launch(copy, bench.gpu.counter)
    assert bench.gpu.landed_blocks == {copy: b"page 2"}


# -- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.verifies("pipellm-REQ-KEY-02")
def test_a_counter_that_begins_again_is_read() -> None:
    weak = ablations.GivesAgain(random.Random(5).randbytes)
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


@pytest.mark.verifies("pipellm-REQ-KEY-01")
def test_a_tenant_with_the_key_of_another_reads() -> None:
    weak = ablations.GivesAgain(random.Random(6).randbytes)
    alice, mallory = Bench(Oracle(), channel=weak), weak.for_tenant()
    alice.copy(1)
    assert decrypt(mallory, 0, alice.sent[0].ciphertext) == b"page 1"
    real = Channel(random.Random(6).randbytes)
    Bench(Oracle(), channel=real)
    with pytest.raises(ChannelError, match="taken already"):
        real.for_tenant()


def sent(gpu: type[Gpu]) -> tuple[Bench, list[Message]]:
    bench = Bench(Oracle(), gpu=gpu)
    for page in range(3):
        bench.ask(page)
    return bench, bench.runtime.send()


def refused(messages: Sequence[Message], at: int, reason: str) -> None:
    """Check that the real GPU takes what comes before a message, and not the message itself."""
    bench, _ = sent(Gpu)
    *good, bad = messages[: at + 1]
    for message in good:
        bench.gpu.receive(message)
    with pytest.raises(ChannelError, match=f"message {at}: {reason} does not verify"):
        bench.gpu.receive(bad)
    assert list(bench.gpu.landed_blocks.items()) == list(bench.asked.items())[: len(bench.gpu.landed_blocks)]


@pytest.mark.verifies("pipellm-REQ-RECEIVE-01")
def test_an_iv_from_the_host_brings_an_old_block() -> None:
    weak, (one, two, _) = sent(ablations.TakesAnyIv)
    replayed = [one, ablations.AddressedMessage(one.ciphertext, two.command, iv=0, number=1)]
    for message in replayed:
        weak.gpu.receive(message)
    assert weak.gpu.landed_blocks == {0: b"page 0", 1: b"page 0"}
    refused(replayed, 1, "the tag of the block")


@pytest.mark.verifies("pipellm-REQ-RECEIVE-02")
def test_a_tag_that_is_not_verified_lets_bits_change() -> None:
    weak, (one, *_) = sent(ablations.TakesAnyBytes)
    changed = Message(bytes([one.ciphertext[0] ^ 0x20]) + one.ciphertext[1:], one.command)
    weak.gpu.receive(changed)
    assert weak.gpu.landed_blocks == {0: b"Page 0"}
    refused([changed], 0, "the tag of the block")


@pytest.mark.verifies("pipellm-REQ-RECEIVE-03")
def test_a_command_of_any_number_exchanges_blocks() -> None:
    weak, (one, two, _) = sent(ablations.TakesAnyCommand)
    exchanged = [
        ablations.AddressedMessage(one.ciphertext, two.command, iv=0, number=1),
        ablations.AddressedMessage(two.ciphertext, one.command, iv=1, number=0),
    ]
    for message in exchanged:
        weak.gpu.receive(message)
    assert weak.gpu.landed_blocks == {1: b"page 0", 0: b"page 1"}
    refused(exchanged, 0, "the command")


@pytest.mark.verifies("pipellm-REQ-RECEIVE-04")
def test_a_channel_that_goes_on_has_a_gap() -> None:
    weak, (one, two, three) = sent(ablations.GoesOn)
    spoilt = [one, Message(two.ciphertext[:-1], two.command), three]
    for message in spoilt:
        with suppress(ChannelError):
            weak.gpu.receive(message)
    assert weak.gpu.landed_blocks == {0: b"page 0", 2: b"page 2"}
    refused(spoilt, 1, "the tag of the block")


@pytest.mark.parametrize(
    ("left", "returned", "queue"),
    [("", "", ""), ("012", "", "01"), ("012", "0", "12"), ("010", "", "10"), ("0", "5", "0")],
)
def test_what_left_first_returns_first(left: str, returned: str, queue: str) -> None:
    predictor = Fifo()
    for page in left:
        predictor.on_swap_out(int(page))
    for page in returned:
        predictor.on_swap_in_request(int(page))
    assert predictor.guess(2) == [int(page) for page in queue]
