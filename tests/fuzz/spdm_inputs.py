"""Inputs of SPDM: what reads them, and what to start from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from carnet_ref.spdm import NotReadyError, secured
from carnet_ref.spdm.layout import MESSAGES, Layout, Message, Version
from carnet_ref.spdm.messages import (
    ChunkGet,
    ChunkResponse,
    ChunkSend,
    ChunkSendAck,
    Error,
    ErrorCode,
    GetDigests,
    NotReady,
    RespondIfReady,
    parse_message,
)
from carnet_ref.spdm.transfer import Answering, Asking, Sizes
from tests.fixtures.spdm_traces import CONVERSATIONS, trace


def session_messages() -> list[bytes]:
    """Return one message of each kind and size in conversations between the project's own ends."""
    found: dict[tuple[bytes, int], bytes] = {}
    for name in CONVERSATIONS:
        for _, message in trace(name):
            found.setdefault((message[:4], len(message)), message)
    return list(found.values())


def clear_messages() -> list[bytes]:
    return [message[1:] for message in session_messages() if message[0] == 5]


def records() -> list[bytes]:
    return [message for message in session_messages() if message[0] == 6]


def message_under_a_layout(data: bytes) -> Message:
    """Read a message under a layout that its first bytes choose."""
    flags = data[0] if data else 0
    version = (Version.V1_1, Version.V1_2, Version.V1_3, Version.V1_4)[flags & 3]
    layout = Layout(version, bool(flags & 4), bool(flags & 8), bool(flags & 16), bool(flags & 32))
    return parse_message(data[1:], layout)


def messages_under_layouts() -> list[bytes]:
    seeds = [bytes([8 | message[0] - Version.V1_1 & 3]) + message for message in clear_messages()]
    return seeds + [bytes([9, Version.V1_2, code, 0, 0]) + bytes(160) for code in MESSAGES if code & 0x80]


_SIZES: Final = Sizes(pieces=True, peer_transfer=64, peer_message=4096, own_message=4096)


def _transfer(data: bytes, transfer: Asking | Answering) -> None:
    """Take what follows as messages, each after its size in one byte."""
    while data:
        size, data = data[0], data[1:]
        transfer = transfer.take(data[:size]).transfer
        data = data[size:]


def asking(data: bytes) -> None:
    """Take the messages of a responder, while a request that does not fit a transfer is under way, or one that does."""
    request = GetDigests(Version.V1_2).encode() + bytes(200 if data[:1] == b"\1" else 0)
    _transfer(data[1:], Asking(Version.V1_2, _SIZES).put(request).transfer)


def answering(data: bytes) -> None:
    """Take the messages of a requester, while a large response is handed out, or a request waits, or neither."""
    transfer = Answering(Version.V1_2, _SIZES)
    match data[:1]:
        case b"\1":
            transfer = transfer.put(bytes(300)).transfer
        case b"\2":
            transfer = transfer.put_off(GetDigests(Version.V1_2).encode(), NotReadyError()).transfer
        case _:
            pass
    _transfer(data[1:], transfer)


def responses() -> list[bytes]:
    version = Version.V1_2
    late = NotReady(3, GetDigests.CODE, 5, 2).encode()
    messages: list[Message] = [
        Error(version, ErrorCode.BUSY),
        Error(version, ErrorCode.RESPONSE_NOT_READY, extended=late),
        Error(version, ErrorCode.LARGE_RESPONSE, extended=b"\0"),
        ChunkResponse(version, 0, 0, False, bytes(40), 80),
        ChunkResponse(version, 0, 1, True, bytes(40)),
    ]
    acks = [ChunkSendAck(version, 0, number) for number in range(4)]
    return [b"\0" + _sized(messages), b"\1" + _sized(acks)]


def requests() -> list[bytes]:
    version = Version.V1_2
    pieces = [ChunkSend(version, 3, 0, False, bytes(40), 80), ChunkSend(version, 3, 1, True, bytes(40))]
    gets = [ChunkGet(version, 0, number) for number in range(7)]
    return [b"\0" + _sized(pieces), b"\1" + _sized(gets), b"\2" + _sized([RespondIfReady(version, GetDigests.CODE, 1)])]


def _sized(messages: Iterable[Message]) -> bytes:
    return b"".join(bytes([len(message.encode())]) + message.encode() for message in messages)


def opaque_data(data: bytes) -> None:
    """Read either end's opaque data, of either form; the first byte chooses."""
    flags = data[0] if data else 0
    version = Version.V1_2 if flags & 1 else Version.V1_1
    if flags & 2:
        secured.check_selected(version, data[1:])
    else:
        secured.selected_version(version, data[1:])


def opaque_seeds() -> list[bytes]:
    offered = [(version, secured.offered_versions(version)) for version in (Version.V1_1, Version.V1_2)]
    selected = [secured.selected_version(version, data) for version, data in offered]
    return [bytes([flags]) + data for flags, data in enumerate([*(data for _, data in offered), *selected])]
