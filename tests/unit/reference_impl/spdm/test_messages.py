"""Messages that say something that cannot be, named one by one; the property tests draw the rest."""

from __future__ import annotations

import pytest

from carnet_ref.spdm.layout import Layout, Version
from carnet_ref.spdm.messages import (
    ChunkSend,
    DeliverEncapsulatedResponse,
    EncapsulatedRequest,
    EncapsulatedResponseAck,
    Error,
    KeyUpdate,
    NegotiateAlgorithms,
    NotReady,
    parse_message,
)
from carnet_ref.spdm.profile import CURRENT
from carnet_ref.wire import MalformedError

V = Version.V1_2


def altered(place: int, value: int) -> bytes:
    """Return NEGOTIATE_ALGORITHMS with one byte altered."""
    raw = bytearray(CURRENT.negotiate(V).encode())
    raw[place] = value
    return bytes(raw)


ACK = bytes([V, EncapsulatedResponseAck.CODE])
ROWS: dict[str, tuple[bytes, str]] = {
    "ENCAPSULATED_REQUEST without one": (bytes([V, EncapsulatedRequest.CODE, 1, 0]), "an encapsulated message"),
    "DELIVER_ENCAPSULATED_RESPONSE without one": (
        bytes([V, DeliverEncapsulatedResponse.CODE, 1, 0]),
        "an encapsulated message",
    ),
    "an acknowledgement of no kind": (ACK + bytes([0, 3]) + bytes(4), "a kind of payload"),
    "an acknowledgement without a payload that has one": (ACK + bytes([0, 0]) + bytes(5), "a payload of its kind"),
    "an acknowledgement with half a slot": (ACK + bytes([0, 2]) + bytes(4), "a payload of its kind"),
    "an acknowledgement with two slots": (ACK + bytes([0, 2]) + bytes(6), "a payload of its kind"),
    "an acknowledgement that does not say of what": (ACK + bytes([0, 0]), "acknowledged request id"),
    "an ERROR that says too much": (bytes([V, Error.CODE, 1, 0]) + bytes(33), "32 bytes at most"),
    "an update of no kind": (bytes([V, KeyUpdate.CODE, 0, 0]), "an update operation"),
    "a piece that is shorter than it says": (
        ChunkSend(V, 0, 1, False, bytes(40)).encode()[:-1],
        "40 bytes of chunk",
    ),
    "a first piece that does not say how long the whole is": (
        ChunkSend(V, 0, 0, False, b"").encode(),
        "size of the large message",
    ),
    "algorithms that are shorter than they say": (altered(4, 49), "a length of 48"),
    "external signature algorithms": (altered(28, 1), "no external asymmetric algorithms"),
    "external hash algorithms": (altered(29, 1), "no external hash algorithms"),
    "a table of algorithms in three bytes": (altered(33, 0x30), "two bytes of algorithms"),
    "a message of no code": (bytes([V, 0x40, 0, 0]), "a known code"),
}


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_message_is_malformed(row: str) -> None:
    data, expected = ROWS[row]
    with pytest.raises(MalformedError, match=expected):
        parse_message(data, Layout(V))


@pytest.mark.parametrize("size", [0, 3, 5])
def test_when_a_response_is_ready_is_said_in_four_bytes(size: int) -> None:
    with pytest.raises(MalformedError, match="four bytes"):
        NotReady.of(Error(V, 0x42, extended=bytes(size)))


def test_post_quantum_algorithms_are_reserved_bytes_before_1_4() -> None:
    for version, found in ((V, 0), (Version.V1_4, 5)):
        raw = bytearray(CURRENT.negotiate(version).encode())
        raw[16] = 5
        message = parse_message(bytes(raw), Layout(version))
        assert isinstance(message, NegotiateAlgorithms)
        assert message.post_quantum == found
