"""The inner key: a one-time data key between a holder and the verified code on the GPU, over any link schedule.

Against an adversary that only records it holds as well as its authenticated exchange; against one that can write to the
GPU it is no safer than the link beneath, because the code that decrypts can be replaced.
"""

from __future__ import annotations

from carnet_ref.crypto.primitives import KEY_BYTES, TAG_BYTES, AesGcm, Random, X25519Share, hkdf_sha256, sha256
from carnet_ref.keys.schedule import EngineChannel, IvCounter, SecretTakenError
from carnet_ref.keys.usage import KeyUsage, UsageLimits


class InnerKey:
    """A data key that seals, or opens, the chunks of one journey in order, within the limits of a key."""

    __slots__ = ("_cipher", "_ivs", "_usage")

    def __init__(self, key: bytes, limits: UsageLimits | None = None) -> None:
        self._cipher = AesGcm(key)
        self._ivs = IvCounter(EngineChannel(0))
        self._usage = KeyUsage(limits)

    def seal(self, plaintext: bytes) -> bytes:
        """Return the next chunk sealed.

        Raises:
            KeyExhaustedError: the key has protected as much as it may.
        """
        self._usage.count(len(plaintext))
        return self._cipher.encrypt(self._ivs.advance(), plaintext)

    def open(self, sealed: bytes) -> bytes:
        """Return the plaintext of the next chunk.

        Raises:
            AuthenticationError: it is not the next chunk under this key.
            KeyExhaustedError: the key has protected as much as it may.
        """
        self._usage.count(max(0, len(sealed) - TAG_BYTES))
        return self._cipher.decrypt(self._ivs.advance(), sealed)


class InnerKeyExchange:
    """One end's part in agreeing on an inner key, once.

    ``context`` binds the key to what both ends authenticated: the channel, the epoch and the code digest. An end that
    was shown another share or context gets another key, and nothing opens.
    """

    __slots__ = ("_limits", "_share")

    def __init__(self, random: Random, limits: UsageLimits | None = None) -> None:
        self._limits = limits
        self._share: X25519Share | None = X25519Share(random(KEY_BYTES))

    @property
    def public(self) -> bytes:
        """The share to send to the other end, authenticated.

        Raises:
            SecretTakenError: the exchange is over.
        """
        return self._open().public

    def agree(self, peer: bytes, context: bytes) -> InnerKey:
        """Return the key shared with the peer, and forget the share.

        Raises:
            KeyMaterialError: the peer's share is not acceptable.
            SecretTakenError: the exchange is over.
        """
        share, self._share = self._open(), None
        shares = b"".join(sorted((share.public, peer)))
        info = b"carnet inner key" + sha256(shares + context)
        return InnerKey(hkdf_sha256(share.agree(peer), b"", info, KEY_BYTES), self._limits)

    def _open(self) -> X25519Share:
        if self._share is None:
            raise SecretTakenError("the inner key was agreed before")
        return self._share
