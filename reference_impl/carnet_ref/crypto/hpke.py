"""HPKE in base mode, with its export interface: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.

The sender only knows the recipient's public key, so the sender is not authenticated. Both ends are bound to the context
by the secrets that they export from it.

Source: RFC 9180, sections 4.1 (DHKEM), 5.1 (key schedule), 5.2 (encryption) and 5.3 (export).
"""

from typing import Final

from carnet_ref.crypto import primitives

_KEM: Final = b"KEM\x00\x20"
_SUITE: Final = b"HPKE\x00\x20\x00\x01\x00\x02"
_BASE_MODE: Final = b"\x00"


class Direction:
    """One direction of a context: each message is sealed or opened with the next sequence number."""

    __slots__ = ("_base", "_cipher", "_sequence")

    def __init__(self, key: bytes, base: bytes) -> None:
        self._cipher = primitives.AesGcm(key)
        self._base = int.from_bytes(base, "big")
        self._sequence = 0

    def seal(self, message: bytes) -> bytes:
        """Return the sealed message, with the next sequence number."""
        return self._cipher.encrypt(self._nonce(), message)

    def open(self, sealed: bytes) -> bytes:
        """Return the plaintext of the next message. Raises AuthenticationError if it is not the next message."""
        return self._cipher.decrypt(self._nonce(), sealed)

    def _nonce(self) -> bytes:
        nonce = (self._base ^ self._sequence).to_bytes(primitives.NONCE_BYTES, "big")
        self._sequence += 1
        return nonce


class Context:
    """The keys that both ends derive from the KEM's shared secret; ``info`` separates one use of HPKE from another."""

    __slots__ = ("_exporter", "messages")

    def __init__(self, shared: bytes, info: bytes) -> None:
        hashes = _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
        secret = _extract(_SUITE, shared, b"secret", b"")

        def expand(label: bytes, length: int) -> bytes:
            return _expand(_SUITE, secret, label, _BASE_MODE + hashes, length)

        self.messages = Direction(expand(b"key", primitives.KEY_BYTES), expand(b"base_nonce", primitives.NONCE_BYTES))
        self._exporter = expand(b"exp", primitives.KEY_BYTES)

    def export(self, purpose: bytes, length: int) -> bytes:
        """Return the exported secret for a purpose, which is independent of those for other purposes."""
        return _expand(_SUITE, self._exporter, b"sec", purpose, length)


def sender(recipient: bytes, ephemeral: bytes, info: bytes) -> tuple[bytes, Context]:
    """Return the encapsulated key for the recipient's public key, and the sender's context.

    Raises KeyMaterialError if ``recipient`` is no public key, or ``ephemeral`` no private key.
    """
    share = primitives.X25519Share(ephemeral)
    return share.public, Context(_shared(share.agree(recipient), share.public, recipient), info)


def recipient(own: primitives.X25519Share, encapsulated: bytes, info: bytes) -> Context:
    """Return the recipient's context. Raises KeyMaterialError if ``encapsulated`` is no public key."""
    return Context(_shared(own.agree(encapsulated), encapsulated, own.public), info)


def _shared(agreed: bytes, encapsulated: bytes, public: bytes) -> bytes:
    pseudorandom = _extract(_KEM, b"", b"eae_prk", agreed)
    return _expand(_KEM, pseudorandom, b"shared_secret", encapsulated + public, primitives.KEY_BYTES)


def _extract(suite: bytes, salt: bytes, label: bytes, secret: bytes) -> bytes:
    return primitives.hkdf_extract_sha256(salt, b"HPKE-v1" + suite + label + secret)


def _expand(suite: bytes, secret: bytes, label: bytes, info: bytes, length: int) -> bytes:
    return primitives.hkdf_expand_sha256(secret, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, length)
