"""What every state of the responder does with a request that has to wait, or that it cannot meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from carnet_ref.spdm.errors import (
    DowngradeError,
    PskRefusedError,
    PutOffError,
    RequestRefusedError,
    UnexpectedMessageError,
)
from carnet_ref.spdm.events import Closed, SessionEffect
from carnet_ref.spdm.machine import REFUSALS, Conversing, Ended, Secured, SessionStep
from carnet_ref.spdm.messages import Error, ErrorCode
from carnet_ref.spdm.responder_config import ResponderConfig
from carnet_ref.spdm.transfer import Answering
from carnet_ref.wire.reader import MalformedError


def code_of(error: Exception) -> ErrorCode:
    """Return how ERROR names an error."""
    match error:
        case DowngradeError():
            return ErrorCode.VERSION_MISMATCH
        case PskRefusedError():
            return ErrorCode.UNSUPPORTED_REQUEST
        case UnexpectedMessageError():
            return ErrorCode.UNEXPECTED_REQUEST
        case MalformedError():
            return ErrorCode.INVALID_REQUEST
        case _:
            return ErrorCode.UNSPECIFIED


class Serves:
    """Takes a request, and answers it later or with an ERROR where that is all that happens."""

    __slots__ = ()

    def take(self: Conversing, raw: bytes) -> SessionStep:  # type: ignore[misc]  # only states are mixed with it
        """Take a whole request of the peer."""
        assert isinstance(self.transfer, Answering)
        try:
            return Conversing.take(self, raw)
        except PutOffError as why:
            return self.crossed(self.transfer.put_off(raw, why))
        except RequestRefusedError as error:
            return self.say(Error(self.layout.version, error.code).encode())


@dataclass(frozen=True, slots=True)
class Plain(Serves, Conversing):
    """A state of the responder before the session."""

    awaits: ClassVar[str] = ""

    config: ResponderConfig

    def refusal(self, error: Exception) -> tuple[SessionEffect, ...]:
        """Tell the peer in the clear what kind of error it was; there is no session to say it in."""
        return self.wrapped(Error(self.layout.version, code_of(error)).encode())[1]


@dataclass(frozen=True, slots=True)
class Guarded(Serves, Secured):
    """A state of the responder inside the session.

    What does not authenticate is not answered, because it has no known sender. What does, and is refused, is answered
    inside the session with an ERROR, and then the session is over.
    """

    awaits: ClassVar[str] = ""

    config: ResponderConfig
    vca: bytes

    def opened(self, raw: bytes) -> SessionStep:
        """Take a request whose record authenticated."""
        try:
            return Secured.opened(self, raw)
        except REFUSALS as error:
            _, effects = self.wrapped(Error(self.layout.version, code_of(error)).encode())
            return Ended(), (*effects, Closed(error))
