"""The errors of an SPDM session; a malicious peer can cause these and no other exceptions.

A message that cannot be read is a `carnet_ref.wire.MalformedError`; a signature, a verify data or a share that
is wrong is a `carnet_ref.crypto.primitives.CryptoError`.
"""

from typing import ClassVar


class SpdmError(Exception):
    """An error that ends a session."""

    kind: ClassVar[str] = "spdm"  #: a stable id of the reason.


class UnexpectedMessageError(SpdmError):
    """A message or a call that is not allowed in the present state."""

    kind = "unexpected-message"

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.expected = expected  #: what was awaited.
        self.found = found  #: what came.


class DowngradeError(SpdmError):
    """The peer offers or chooses less than the profile asks for."""

    kind = "downgrade"


class PskRefusedError(SpdmError):
    """The peer asks for, or offers, a session by pre-shared key.

    Source: Cremers, Dax, Naska, ePrint 2024/2047, and CVE-2023-31127: the modes of SPDM can be confused for each other.
    """

    kind = "psk-refused"


class PeerError(SpdmError):
    """The peer ended the session with an ERROR message."""

    kind = "peer-error"

    def __init__(self, code: int, data: int) -> None:
        super().__init__(f"the peer sent ERROR {code:#04x}, data {data:#04x}")
        self.code = code  #: its error code.


class UntrustedChainError(SpdmError):
    """The responder's certificate chain is not accepted."""

    kind = "untrusted-chain"


class TransferError(SpdmError):
    """A message that is too large, chunks that do not fit together, or a peer that defers an answer too often."""

    kind = "transfer"


class RequestRefusedError(SpdmError):
    """A request inside a session that is refused without ending the session."""

    kind = "request-refused"

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code  #: the error code of the answer.


class PutOffError(SpdmError):
    """A request that has to wait; code that makes answers raises one of the subclasses.

    It never leaves the responder: the requester is told, and asks again.
    """

    kind = "put-off"


class BusyError(PutOffError):
    """The responder is busy; the request has to be sent again."""

    kind = "busy"


class NotReadyError(PutOffError):
    """The answer is not ready; it takes about ``2 ** exponent`` microseconds."""

    kind = "not-ready"

    def __init__(self, exponent: int = 10) -> None:
        super().__init__(f"ready after about {1 << exponent} microseconds")
        self.exponent = exponent


class RecordError(SpdmError):
    """A record that belongs to another session, is too long, or does not authenticate."""

    kind = "record"


class SequenceError(SpdmError):
    """A record that was replayed or reordered, or that follows a lost one; or the sequence numbers are used up."""

    kind = "sequence"


class SessionOverError(SpdmError):
    """A session is used after its end."""

    kind = "session-over"
