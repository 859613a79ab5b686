"""What the GPU's defences are good for, with real bytes: the attack without each, and the same on the real thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from carnet_ref.systems.pipellm.ablations import AddressedMessage, GoesOn, TakesAnyBytes, TakesAnyCommand, TakesAnyIv
from carnet_ref.systems.pipellm.channel import ChannelError, Gpu, Message
from tests.unit.reference_impl.systems.pipellm.bench import Bench, Oracle

Verifies = Callable[[str, object], None]


def sent(gpu: type[Gpu]) -> tuple[Bench, list[Message]]:
    """Return a bench, and the messages of three copies."""
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
    assert list(bench.gpu.landed.items()) == list(bench.asked.items())[: len(bench.gpu.landed)]


def test_an_iv_from_the_host_brings_an_old_block(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-RECEIVE-01")
    weak, (one, two, _) = sent(TakesAnyIv)
    replayed = [one, AddressedMessage(one.ciphertext, two.command, iv=0, number=1)]
    for message in replayed:
        weak.gpu.receive(message)
    assert weak.gpu.landed == {0: b"page 0", 1: b"page 0"}
    refused(replayed, 1, "the tag of the block")


def test_a_tag_that_is_not_verified_lets_bits_change(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-RECEIVE-02")
    weak, (one, *_) = sent(TakesAnyBytes)
    changed = Message(bytes([one.ciphertext[0] ^ 0x20]) + one.ciphertext[1:], one.command)
    weak.gpu.receive(changed)
    assert weak.gpu.landed == {0: b"Page 0"}
    refused([changed], 0, "the tag of the block")


def test_a_command_of_any_number_exchanges_blocks(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-RECEIVE-03")
    weak, (one, two, _) = sent(TakesAnyCommand)
    exchanged = [
        AddressedMessage(one.ciphertext, two.command, iv=0, number=1),
        AddressedMessage(two.ciphertext, one.command, iv=1, number=0),
    ]
    for message in exchanged:
        weak.gpu.receive(message)
    assert weak.gpu.landed == {1: b"page 0", 0: b"page 1"}
    refused(exchanged, 0, "the command")


def test_a_channel_that_goes_on_has_a_gap(record_property: Verifies) -> None:
    record_property("verifies", "pipellm-REQ-RECEIVE-04")
    weak, (one, two, three) = sent(GoesOn)
    spoilt = [one, Message(two.ciphertext[:-1], two.command), three]
    for message in spoilt:
        with suppress(ChannelError):
            weak.gpu.receive(message)
    assert weak.gpu.landed == {0: b"page 0", 2: b"page 2"}
    refused(spoilt, 1, "the tag of the block")
