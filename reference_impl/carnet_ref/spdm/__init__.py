"""SPDM: the protocol that authenticates a device, reports what runs on it, and opens a protected session with it.

`Requester` and `Responder` are the two ends, without input or output. What is allowed, and no less than which, is a
`Profile`. The established session is a `GpuSession`, and a report that came inside it a `SessionReport`.
"""

from carnet_ref.spdm.chain import Chain, Trust, encode_chain
from carnet_ref.spdm.endpoints import Requester, Responder
from carnet_ref.spdm.errors import (
    DowngradeError,
    PeerError,
    PskRefusedError,
    RecordError,
    SequenceError,
    SessionOverError,
    SpdmError,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.profile import CURRENT, H100, H100_DEVICE, Profile
from carnet_ref.spdm.records import MAX_PAYLOAD
from carnet_ref.spdm.requester import RequesterConfig
from carnet_ref.spdm.responder import Reporter, ResponderConfig
from carnet_ref.spdm.session import GpuSession, SessionReport

__all__ = [
    "CURRENT",
    "H100",
    "H100_DEVICE",
    "MAX_PAYLOAD",
    "Chain",
    "DowngradeError",
    "GpuSession",
    "PeerError",
    "Profile",
    "PskRefusedError",
    "RecordError",
    "Reporter",
    "Requester",
    "RequesterConfig",
    "Responder",
    "ResponderConfig",
    "SequenceError",
    "SessionOverError",
    "SessionReport",
    "SpdmError",
    "Trust",
    "UnexpectedMessageError",
    "UntrustedChainError",
    "encode_chain",
]
