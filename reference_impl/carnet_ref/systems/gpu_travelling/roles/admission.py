"""Where the orchestrator receives holders: channels, evidence shown in them, and who proved to be whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from carnet_ref.crypto.primitives import Random
from carnet_ref.systems.gpu_travelling.defences import Defences
from carnet_ref.systems.gpu_travelling.roles.appraising import accept_enrolment
from carnet_ref.systems.gpu_travelling.roles.channel import Channel, respond
from carnet_ref.systems.gpu_travelling.roles.channel_messages import (
    Answer,
    Envelope,
    Evidence,
    Hello,
    Message,
    NoChannel,
    Proof,
    Record,
    encode_envelope,
    encode_message,
    parse_message,
)
from carnet_ref.systems.gpu_travelling.roles.facts import HolderEnrolled
from carnet_ref.transport.frames import Effect, Kind, ProtocolError, Send

Attest = Callable[[bytes, bytes], Evidence]
"""Makes evidence for a channel, from its exporter and the holder's nonce."""


@dataclass(slots=True)
class _Guest:
    channel: Channel
    nonce: bytes
    enrolled: HolderEnrolled | None = None


@dataclass(slots=True)
class Reception:
    """The orchestrator's ends of all channels; a new one replaces the old once the holder proved itself in it."""

    keys: Mapping[str, EllipticCurvePublicKey]
    random: Random
    defences: Defences
    _admitted: dict[str, _Guest] = field(default_factory=dict)
    _arriving: dict[str, _Guest] = field(default_factory=dict)

    def admitted(self, holder: str) -> HolderEnrolled | None:
        """Return the fact that the holder is at the end of its channel, if it is."""
        guest = self._admitted.get(holder)
        return guest.enrolled if guest else None

    def latest(self) -> str:
        """Return who was admitted last."""
        return next(reversed(self._admitted))

    def answer(self, holder: str, hello: Hello, attest: Attest | None) -> list[Effect]:
        """Answer a hello and, if there is a GPU to vouch for, show evidence.

        Raises:
            ProtocolError: nobody of that name is enrolled.
            KeyMaterialError: the hello is no key share.
        """
        if holder not in self.keys:
            raise ProtocolError(f"nobody called {holder!r} is enrolled")
        share, channel = respond(hello.share, self.random)
        guest = self._arriving[holder] = _Guest(channel, hello.nonce)
        return [_send(holder, Answer(share, hello.share)), *self._show(holder, guest, attest)]

    def show_all(self, attest: Attest) -> list[Effect]:
        """Show evidence in every channel."""
        guests = [*self._admitted.items(), *self._arriving.items()]
        return [effect for holder, guest in guests for effect in self._show(holder, guest, attest)]

    def take(self, holder: str, record: Record) -> Message | None:
        """Return the message in a record; the first enrolment proof is taken in, and gives ``None``.

        Raises:
            ProtocolError: there is no such channel, or the proof is refused.
            AuthenticationError: it is not the next record of the channel.
            MalformedError: it holds no message.
        """
        arriving = self._arriving.get(holder)
        guest = next((each for each in (arriving, self._admitted.get(holder)) if _is_in(each, record)), None)
        if guest is None:
            raise ProtocolError(f"{holder!r} is in no such channel")
        message = parse_message(guest.channel.open(record.sealed))
        if not isinstance(message, Proof) or guest is not arriving:
            return message
        exporter = guest.channel.exporter
        guest.enrolled = accept_enrolment(holder, self.keys[holder], message.signature, exporter, self.defences)
        self._admitted.pop(holder, None)
        self._admitted[holder] = self._arriving.pop(holder)
        return None

    def send(self, holder: str, message: Message) -> Send:
        """Return the frame that carries ``message`` to an admitted holder."""
        return _in_channel(holder, self._admitted[holder].channel, message)

    def forget(self, holder: str, record: Record) -> list[Effect]:
        """Give up the channel that a record is of, and tell whoever is there."""
        for guests in (self._arriving, self._admitted):
            if _is_in(guests.get(holder), record):
                del guests[holder]
        return [_send(holder, NoChannel(record.channel))]

    def invite(self) -> list[Effect]:
        """Give up every channel, and tell every holder that there is none, so that it asks for one."""
        self._arriving.clear()
        self._admitted.clear()
        return [_send(holder, NoChannel()) for holder in self.keys]

    def _show(self, holder: str, guest: _Guest, attest: Attest | None) -> list[Effect]:
        if attest is None:
            return []
        evidence = attest(guest.channel.exporter, guest.nonce)
        return [_in_channel(holder, guest.channel, evidence)]


def _is_in(guest: _Guest | None, record: Record) -> TypeGuard[_Guest]:
    return guest is not None and guest.channel.name == record.channel


def _in_channel(holder: str, channel: Channel, message: Message) -> Send:
    return _send(holder, Record(channel.name, channel.seal(encode_message(message))))


def _send(holder: str, envelope: Envelope) -> Send:
    return Send(holder, Kind.CHANNEL, encode_envelope(envelope))
