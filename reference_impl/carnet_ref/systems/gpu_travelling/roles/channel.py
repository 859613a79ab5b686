"""The channel between a holder and the orchestrator: HPKE to an ephemeral key, then records that both sides count.

The orchestrator is the sender; its records are HPKE's. The holder's go under a key and a nonce that are exported, and
so is what evidence is bound to. The handshake authenticates nobody: the orchestrator's quote and the holder's enrolment
proof are bound to the exporter afterwards, inside the channel, since a quote inside the handshake can be relayed.

Source: RFC 9180, sections 5.3 and 9.8; Sardar et al., Identity Crisis (post-handshake binding).
"""

from __future__ import annotations

from typing import Final

from carnet_ref.crypto import hpke
from carnet_ref.crypto.primitives import KEY_BYTES, NONCE_BYTES, Random, X25519Share, sha384

_INFO: Final = b"carnet channel 1"
EXPORTER_BYTES: Final = 48
NAME_BYTES: Final = 16


class Channel:
    """One end of an established channel; records are opened in the order they were sealed, each once.

    ``name`` is public, and the same at both ends: it tells the records of one channel from those of the one before.
    """

    __slots__ = ("_opener", "_sealer", "exporter", "name")

    def __init__(self, context: hpke.Context, handshake: bytes, initiator: bool) -> None:
        answers = hpke.Direction(context.export(b"key", KEY_BYTES), context.export(b"nonce", NONCE_BYTES))
        self._sealer, self._opener = (answers, context.messages) if initiator else (context.messages, answers)
        self.exporter = context.export(b"exporter", EXPORTER_BYTES)
        self.name = sha384(handshake)[:NAME_BYTES]

    def seal(self, message: bytes) -> bytes:
        """Return the next record."""
        return self._sealer.seal(message)

    def open(self, record: bytes) -> bytes:
        """Return what is in the next record.

        Raises:
            AuthenticationError: it is not the next record.
        """
        return self._opener.open(record)


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
        return Channel(hpke.recipient(self._share, answer, _INFO), self.hello + answer, initiator=True)


def respond(hello: bytes, random: Random) -> tuple[bytes, Channel]:
    """Return the answer to a hello, and the channel.

    Raises:
        KeyMaterialError: the hello is no key share.
    """
    answer, context = hpke.sender(hello, random(KEY_BYTES), _INFO)
    return answer, Channel(context, hello + answer, initiator=False)
