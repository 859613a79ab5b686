"""The channel between a holder and the orchestrator: an ephemeral key exchange, then records that both sides count.

Like TLS 1.3 it derives its keys from the transcript and has an exporter. The handshake authenticates nobody: the
orchestrator's quote and the holder's enrolment proof are bound to the exporter afterwards, inside the channel, since
a quote inside the handshake can be relayed.

Source: RFC 8446, sections 7.1 and 7.5; Sardar et al., Identity Crisis (post-handshake binding).
"""

from __future__ import annotations

from typing import Final

from carnet_ref.crypto import KEY_BYTES, AesGcm, Random, X25519Share, hkdf_sha384, sha384
from carnet_ref.keys import IvCounter

_LABEL: Final = b"carnet channel 1 "
EXPORTER_BYTES: Final = 48
NAME_BYTES: Final = 16


class Channel:
    """One end of an established channel; records are opened in the order they were sealed, each once.

    ``name`` is public, and the same at both ends: it tells the records of one channel from those of the one before.
    """

    __slots__ = ("_opener", "_opening", "_sealer", "_sealing", "exporter", "name")

    def __init__(self, shared: bytes, transcript: bytes, initiator: bool) -> None:
        own, other = (b"initiator", b"responder") if initiator else (b"responder", b"initiator")
        self._sealer = AesGcm(_derive(shared, transcript, own, KEY_BYTES))
        self._opener = AesGcm(_derive(shared, transcript, other, KEY_BYTES))
        self._sealing, self._opening = IvCounter(channel=0), IvCounter(channel=0)
        self.exporter = _derive(shared, transcript, b"exporter", EXPORTER_BYTES)
        self.name = sha384(transcript)[:NAME_BYTES]

    def seal(self, message: bytes) -> bytes:
        """Return the next record."""
        return self._sealer.encrypt(self._sealing.advance(), message)

    def open(self, record: bytes) -> bytes:
        """Return what is in the next record.

        Raises:
            AuthenticationError: it is not the next record.
        """
        return self._opener.decrypt(self._opening.advance(), record)


class Initiator:
    """The holder's part of the handshake."""

    __slots__ = ("_share", "hello")

    def __init__(self, random: Random) -> None:
        self._share = X25519Share(random(KEY_BYTES))
        self.hello = self._share.public

    def finish(self, answer: bytes) -> Channel:
        """Return the channel that the other end's answer makes.

        Raises:
            KeyMaterialError: it is no key share.
        """
        return Channel(self._share.agree(answer), self.hello + answer, initiator=True)


def respond(hello: bytes, random: Random) -> tuple[bytes, Channel]:
    """Return the answer to a hello, and the channel.

    Raises:
        KeyMaterialError: the hello is no key share.
    """
    share = X25519Share(random(KEY_BYTES))
    return share.public, Channel(share.agree(hello), hello + share.public, initiator=False)


def _derive(shared: bytes, transcript: bytes, purpose: bytes, length: int) -> bytes:
    return hkdf_sha384(shared, b"", _LABEL + purpose + sha384(transcript), length)
