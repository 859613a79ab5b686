"""How holders are admitted: their channels, the evidence shown in them, and who proved to be whom.

An `Admission` counts records, as channels do, so it is no value; a job refers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from carnet_ref.crypto.primitives import Random
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.channel import Channel, respond
from carnet_ref.systems.gpu_travelling.roles.channel_messages import (
    Answer,
    Envelope,
    Hello,
    Message,
    NoChannel,
    OrchestratorEvidence,
    Proof,
    Record,
    encode_envelope,
    encode_message,
    parse_message,
)
from carnet_ref.systems.gpu_travelling.roles.facts import HolderEnrolled
from carnet_ref.transport.frames import FrameKind, ProtocolError, RoleEffect, Send

Attest = Callable[[bytes, bytes], OrchestratorEvidence]
"""Makes evidence for a channel, from its exporter and the holder's nonce."""


@dataclass(slots=True)
class _Applicant:
    channel: Channel
    nonce: bytes
    enrolled: HolderEnrolled | None = None


@dataclass(slots=True)
class Admission:
    """The orchestrator's ends of all channels; a new one replaces the old once the holder proved itself in it."""

    keys: Mapping[str, EllipticCurvePublicKey]
    random: Random
    checks: Checks
    _admitted: dict[str, _Applicant] = field(default_factory=dict)
    _applying: dict[str, _Applicant] = field(default_factory=dict)

    def admitted(self, holder: str) -> HolderEnrolled | None:
        """Return the fact that the holder is at the end of its channel, if it is."""
        applicant = self._admitted.get(holder)
        return applicant.enrolled if applicant else None

    @property
    def holders(self) -> tuple[str, ...]:
        """Everyone who is admitted, in the order in which they were."""
        return tuple(self._admitted)

    def answer(self, holder: str, hello: Hello, attest: Attest | None) -> list[RoleEffect]:
        """Answer a hello and, if there is a GPU to vouch for, show evidence.

        Raises:
            ProtocolError: nobody of that name is enrolled.
            KeyMaterialError: the hello is no key share.
        """
        if holder not in self.keys:
            raise ProtocolError(f"nobody called {holder!r} is enrolled")
        share, channel = respond(hello.share, self.random)
        applicant = self._applying[holder] = _Applicant(channel, hello.nonce)
        return [_send(holder, Answer(share, hello.share)), *self._show(holder, applicant, attest)]

    def show_all(self, attest: Attest) -> list[RoleEffect]:
        """Show evidence in every channel."""
        applicants = [*self._admitted.items(), *self._applying.items()]
        return [effect for holder, applicant in applicants for effect in self._show(holder, applicant, attest)]

    def take(self, holder: str, record: Record) -> Message | None:
        """Return the message in a record; the first enrolment proof admits the holder, and gives ``None``.

        Raises:
            ProtocolError: there is no such channel, or the proof is refused.
            AuthenticationError: it is not the next record of the channel.
            MalformedError: it holds no message.
        """
        applying = self._applying.get(holder)
        applicant = next((each for each in (applying, self._admitted.get(holder)) if _is_in(each, record)), None)
        if applicant is None:
            raise ProtocolError(f"{holder!r} is in no such channel")
        message = parse_message(applicant.channel.open(record.sealed))
        if not isinstance(message, Proof) or applicant is not applying:
            return message
        signature, channel = message.signature, applicant.channel
        applicant.enrolled = facts.enrolled(holder, self.keys[holder], signature, channel, self.checks)
        self._admitted.pop(holder, None)
        self._admitted[holder] = self._applying.pop(holder)
        return None

    def send(self, holder: str, message: Message) -> Send:
        """Return the frame that carries ``message`` to an admitted holder."""
        return _in_channel(holder, self._admitted[holder].channel, message)

    def forget(self, holder: str, record: Record) -> list[RoleEffect]:
        """Give up the channel that a record is of, and say so in reply."""
        for applicants in (self._applying, self._admitted):
            if _is_in(applicants.get(holder), record):
                del applicants[holder]
        return [_send(holder, NoChannel(record.channel))]

    def invite(self) -> list[RoleEffect]:
        """Give up every channel, and tell every holder that there is none, so that it asks for one."""
        self._applying.clear()
        self._admitted.clear()
        return [_send(holder, NoChannel()) for holder in self.keys]

    def _show(self, holder: str, applicant: _Applicant, attest: Attest | None) -> list[RoleEffect]:
        if attest is None:
            return []
        evidence = attest(applicant.channel.exporter, applicant.nonce)
        return [_in_channel(holder, applicant.channel, evidence)]


def _is_in(applicant: _Applicant | None, record: Record) -> TypeGuard[_Applicant]:
    return applicant is not None and applicant.channel.name == record.channel


def _in_channel(holder: str, channel: Channel, message: Message) -> Send:
    return _send(holder, Record(channel.name, channel.seal(encode_message(message))))


def _send(holder: str, envelope: Envelope) -> Send:
    return Send(holder, FrameKind.CHANNEL, encode_envelope(envelope))
