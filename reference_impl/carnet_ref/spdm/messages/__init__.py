"""SPDM messages as typed values: bytes are read once, completely or not at all."""

from __future__ import annotations

from typing import Final

from carnet_ref.spdm.messages.chunks import ChunkGet, ChunkResponse, ChunkSend, ChunkSendAck
from carnet_ref.spdm.messages.common import Layout, Message, Version
from carnet_ref.spdm.messages.encapsulated import (
    DeliverEncapsulatedResponse,
    EncapsulatedRequest,
    EncapsulatedResponseAck,
    GetEncapsulatedRequest,
    Payload,
)
from carnet_ref.spdm.messages.error import Error, ErrorCode, NotReady, RespondIfReady
from carnet_ref.spdm.messages.identity import (
    Certificate,
    Challenge,
    ChallengeAuth,
    Digests,
    GetCertificate,
    GetDigests,
    GetMeasurements,
    Measurements,
    SlotKey,
    Summary,
)
from carnet_ref.spdm.messages.negotiation import (
    Algorithms,
    AlgorithmTable,
    Capabilities,
    GetCapabilities,
    GetVersion,
    NegotiateAlgorithms,
    VersionList,
)
from carnet_ref.spdm.messages.session import (
    EndSession,
    EndSessionAck,
    Finish,
    FinishRsp,
    Heartbeat,
    HeartbeatAck,
    KeyExchange,
    KeyExchangeRsp,
    KeyUpdate,
    KeyUpdateAck,
    MutualRequest,
    PskExchange,
    PskExchangeRsp,
    PskFinish,
    PskFinishRsp,
    UpdateOperation,
)
from carnet_ref.wire.reader import MalformedError, Reader

REQUESTS: Final[tuple[type[Message], ...]] = (
    GetVersion,
    GetCapabilities,
    NegotiateAlgorithms,
    GetDigests,
    GetCertificate,
    Challenge,
    GetMeasurements,
    KeyExchange,
    Finish,
    PskExchange,
    PskFinish,
    Heartbeat,
    KeyUpdate,
    EndSession,
    GetEncapsulatedRequest,
    DeliverEncapsulatedResponse,
    ChunkSend,
    ChunkGet,
    RespondIfReady,
)
RESPONSES: Final[tuple[type[Message], ...]] = (
    VersionList,
    Capabilities,
    Algorithms,
    Digests,
    Certificate,
    ChallengeAuth,
    Measurements,
    KeyExchangeRsp,
    FinishRsp,
    PskExchangeRsp,
    PskFinishRsp,
    HeartbeatAck,
    KeyUpdateAck,
    EndSessionAck,
    EncapsulatedRequest,
    EncapsulatedResponseAck,
    ChunkSendAck,
    ChunkResponse,
    Error,
)
_BY_CODE: Final = {kind.CODE: kind for kind in (*REQUESTS, *RESPONSES)}
_VERSIONLESS: Final = frozenset({GetVersion.CODE, VersionList.CODE})


def parse_message(data: bytes, layout: Layout) -> Message:
    """Return the message that the bytes are, in the version that was agreed on.

    GET_VERSION and VERSION are of version 1.0 whatever is agreed on, and an ERROR may be.

    Raises:
        MalformedError: they are no message, one of another version, or there are more or fewer bytes than it has.
    """
    reader = Reader(data, "SPDM message")
    version, code = reader.number(1, "version"), reader.number(1, "code")
    params = reader.number(1, "Param1"), reader.number(1, "Param2")
    kind = _BY_CODE.get(code)
    if kind is None:
        raise MalformedError("SPDM message", "a known code", f"{code:#04x}", 1)
    allowed = {Version.V1_0} if code in _VERSIONLESS else {layout.version}
    if code == Error.CODE:
        allowed |= {Version.V1_0}
    if version not in allowed:
        expected = " or ".join(Version(choice).label for choice in sorted(allowed))
        raise MalformedError("SPDM message", f"version {expected}", f"{version >> 4}.{version & 15}", 0)
    message = kind.read(reader, Version(version), params, layout)
    reader.end()
    return message


__all__ = [
    "REQUESTS",
    "RESPONSES",
    "AlgorithmTable",
    "Algorithms",
    "Capabilities",
    "Certificate",
    "Challenge",
    "ChallengeAuth",
    "ChunkGet",
    "ChunkResponse",
    "ChunkSend",
    "ChunkSendAck",
    "DeliverEncapsulatedResponse",
    "Digests",
    "EncapsulatedRequest",
    "EncapsulatedResponseAck",
    "EndSession",
    "EndSessionAck",
    "Error",
    "ErrorCode",
    "Finish",
    "FinishRsp",
    "GetCapabilities",
    "GetCertificate",
    "GetDigests",
    "GetEncapsulatedRequest",
    "GetMeasurements",
    "GetVersion",
    "Heartbeat",
    "HeartbeatAck",
    "KeyExchange",
    "KeyExchangeRsp",
    "KeyUpdate",
    "KeyUpdateAck",
    "Layout",
    "Measurements",
    "Message",
    "MutualRequest",
    "NegotiateAlgorithms",
    "NotReady",
    "Payload",
    "PskExchange",
    "PskExchangeRsp",
    "PskFinish",
    "PskFinishRsp",
    "RespondIfReady",
    "SlotKey",
    "Summary",
    "UpdateOperation",
    "Version",
    "VersionList",
    "parse_message",
]
