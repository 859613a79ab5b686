"""The two ends of an SPDM session, as objects that each hold the state of their state machine.

`handle` is the machine itself. The other methods are for callers that take turns: they say what the caller expects to
happen, and raise if something else does.
"""

from typing import TypeVar

from carnet_ref.keys import OneTimeSecret, SecretTakenError
from carnet_ref.spdm import machine
from carnet_ref.spdm.errors import UnexpectedMessageError
from carnet_ref.spdm.requester import AwaitBegin, RequesterConfig
from carnet_ref.spdm.responder import AwaitGetVersion, ResponderConfig
from carnet_ref.spdm.session import GpuSession, SessionReport

_Effect = TypeVar("_Effect", machine.ApplicationData, machine.Measured)


class Endpoint:
    """One end of a session."""

    __slots__ = ("_secret", "session", "state")

    def __init__(self, state: machine.SessionState) -> None:
        self.state = state
        """The state of the machine; it is named by what it awaits."""
        self.session: GpuSession | None = None
        """The session, from when it was opened."""
        self._secret: OneTimeSecret | None = None

    @property
    def is_established(self) -> bool:
        """Whether the session has been opened."""
        return self.session is not None

    @property
    def label(self) -> str:
        """A name of the session that is equal at both ends; empty before it is opened."""
        return "" if self.session is None else self.session.label

    def handle(self, event: machine.SessionEvent) -> tuple[machine.SessionEffect, ...]:
        """Return the effects of an event: messages to send, and results for the application.

        Raises SpdmError if the event is a call that does not fit the state; nothing changed.
        """
        self.state, effects = self.state.handle(event)
        for effect in effects:
            if isinstance(effect, machine.Opened):
                self.session, self._secret = effect.session, effect.secret
            elif isinstance(effect, machine.Closed) and self._secret is not None:
                self._secret.wipe()
        return effects

    def exported_master_secret(self) -> bytes:
        """Return the session's exported secret; this works only once.

        Raises SecretTakenError if there is no session, it is over, or the secret was taken.
        """
        if self._secret is None:
            raise SecretTakenError("there is no session to export a secret of")
        return self._secret.take()

    def receive(self, message: bytes) -> list[bytes]:
        """Process a message of the peer, and return the messages that answer it.

        Raises SpdmError, CryptoError, MalformedError if the message ended the session, or holds what the caller did not
        expect: the application's bytes, or a report.
        """
        effects = self._checked(machine.Received(message))
        for effect in effects:
            if isinstance(effect, machine.ApplicationData | machine.Measured):
                raise UnexpectedMessageError("a message that needs no taking", type(effect).__name__)
        return _sent(effects)

    def seal(self, payload: bytes) -> bytes:
        """Return application data as a record of the session.

        Raises SpdmError if they are too many for one record, or the session is not open.
        """
        (message,) = _sent(self._checked(machine.SendApplication(payload)))
        return message

    def open(self, message: bytes) -> bytes:
        """Return the application data in a record.

        Raises SpdmError or CryptoError or MalformedError if the record ended the session, or holds something else.
        """
        return self._only(machine.ApplicationData, message).payload

    def _only(self, kind: type[_Effect], message: bytes) -> _Effect:
        effects = self._checked(machine.Received(message))
        for effect in effects:
            if isinstance(effect, kind):
                return effect
        raise UnexpectedMessageError(kind.__name__, "another message of the session")

    def _checked(self, event: machine.SessionEvent) -> tuple[machine.SessionEffect, ...]:
        effects = self.handle(event)
        for effect in effects:
            if isinstance(effect, machine.Closed) and effect.error is not None:
                raise effect.error
        return effects


def _sent(effects: tuple[machine.SessionEffect, ...]) -> list[bytes]:
    return [effect.data for effect in effects if isinstance(effect, machine.Send)]


class Requester(Endpoint):
    """The end that opens the session."""

    __slots__ = ()

    def __init__(self, config: RequesterConfig) -> None:
        super().__init__(AwaitBegin.first(config))

    def begin(self) -> list[bytes]:
        """Return the first messages of the handshake."""
        return _sent(self.handle(machine.Begin()))

    def ask_report(self, nonce: bytes) -> bytes:
        """Return the request for a measurement report on ``nonce``, as a record of the session."""
        (message,) = _sent(self.handle(machine.Measure(nonce)))
        return message

    def take_report(self, message: bytes) -> SessionReport:
        """Return the measurement report in the record that answers the request.

        Raises SpdmError or CryptoError or MalformedError if the message ended the session, or holds something else.
        """
        return self._only(machine.Measured, message).report

    @property
    def responder_key(self) -> bytes:
        """The public key that signed the key exchange, as DER; empty before the session was opened."""
        return b"" if self.session is None else self.session.responder_key


class Responder(Endpoint):
    """The device's end, which answers requests for reports in `receive`."""

    __slots__ = ()

    def __init__(self, config: ResponderConfig) -> None:
        super().__init__(AwaitGetVersion.first(config))
