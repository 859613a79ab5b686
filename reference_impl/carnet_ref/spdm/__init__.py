"""SPDM: the protocol that authenticates a device, reports what runs on it, and opens a protected session with it.

`Requester` and `Responder` are the two ends, without input or output. What is allowed, and no less than which, is a
`Profile`. The established session is a `GpuSession`, and a report that came inside it a `SessionReport`.
"""

from carnet_ref.spdm.endpoints import Requester, Responder
from carnet_ref.spdm.errors import (
    BusyError,
    DowngradeError,
    NotReadyError,
    PeerError,
    PskRefusedError,
    RecordError,
    RequestRefusedError,
    SequenceError,
    SessionOverError,
    SpdmError,
    TransferError,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.measuring import Block, BlockReporter, MeasurementRequest, Reporter
from carnet_ref.spdm.profile import CURRENT, H100, H100_DEVICE, Profile
from carnet_ref.spdm.requester import RequesterConfig, RequesterIdentity
from carnet_ref.spdm.responder import MutualAuthentication, ResponderConfig
from carnet_ref.spdm.secured import MAX_PAYLOAD
from carnet_ref.spdm.session import Chain, DeviceReport, GpuSession, SessionReport, Trust, encode_chain

__all__ = [
    "CURRENT",
    "H100",
    "H100_DEVICE",
    "MAX_PAYLOAD",
    "Block",
    "BlockReporter",
    "BusyError",
    "Chain",
    "DeviceReport",
    "DowngradeError",
    "GpuSession",
    "MeasurementRequest",
    "MutualAuthentication",
    "NotReadyError",
    "PeerError",
    "Profile",
    "PskRefusedError",
    "RecordError",
    "Reporter",
    "RequestRefusedError",
    "Requester",
    "RequesterConfig",
    "RequesterIdentity",
    "Responder",
    "ResponderConfig",
    "SequenceError",
    "SessionOverError",
    "SessionReport",
    "SpdmError",
    "TransferError",
    "Trust",
    "UnexpectedMessageError",
    "UntrustedChainError",
    "encode_chain",
]
