"""The TEE below a replica: quotes that a vendor's certificate speaks for, a sealing key, and monotonic counters."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.crypto.primitives import (
    KEY_BYTES,
    NONCE_BYTES,
    AesGcm,
    AuthenticationError,
    Random,
    hkdf_sha384,
    sign_p384,
    verify_p384,
)
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.teechain.errors import QuoteError, SealedStateError
from carnet_ref.wire import MalformedError, join, split

_QUOTE = b"carnet teechain quote"
_DEVICE = b"carnet teechain platform"
_SEALED = b"carnet teechain sealed state"


@dataclass(frozen=True, slots=True)
class Quote:
    """What a platform signed: the measurement of an enclave, and what the enclave said."""

    measurement: bytes
    said: bytes
    signature: bytes
    platform: bytes
    certificate: bytes

    def encode(self) -> bytes:
        """Return the quote as bytes."""
        return join(self.measurement, self.said, self.signature, self.platform, self.certificate)

    @classmethod
    def decode(cls, data: bytes) -> Quote:
        """Return the quote in some bytes.

        Raises:
            QuoteError: they are none.
        """
        try:
            return cls(*split(data, "quote", "measurement", "said", "signature", "platform", "certificate"))
        except MalformedError as error:
            raise QuoteError(str(error)) from None


@dataclass(frozen=True, slots=True)
class Policy:
    """Whom quotes are taken from: a vendor's platforms, and one program."""

    root: ec.EllipticCurvePublicKey
    measurement: bytes

    @enforces("REQ-SETUP-04", "REQ-SETUP-05", "REQ-HOLDER-02", "quote-certificate", "quote-measurement")
    def check(self, quote: Quote, checks: Checks = EVERY) -> None:
        """Check that a quote is a certified one of the custody program.

        Raises:
            QuoteError: it is not.
        """
        try:
            key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), quote.platform)
            verify_p384(key, quote.signature, join(_QUOTE, quote.measurement, quote.said), "quote")
            if checks.insist_on("quote-certificate"):
                verify_p384(self.root, quote.certificate, join(_DEVICE, quote.platform), "certificate")
        except (AuthenticationError, ValueError) as error:
            raise QuoteError(str(error)) from None
        if quote.measurement != self.measurement and checks.insist_on("quote-measurement"):
            raise QuoteError(f"the measurement is {quote.measurement.hex()[:16]}…")


class Tee:
    """One platform: it outlives every launch of its enclaves, and so do its counters."""

    def __init__(
        self, identity: ec.EllipticCurvePrivateKey, certificate: bytes, measurement: bytes, random: Random
    ) -> None:
        self._identity, self._certificate, self._measurement = identity, certificate, measurement
        self._random, self._sealing = random, random(KEY_BYTES)
        self._counters: dict[bytes, int] = defaultdict(int)

    def quote(self, said: bytes) -> Quote:
        """Return a quote of what the enclave says."""
        signature = sign_p384(self._identity, join(_QUOTE, self._measurement, said))
        return Quote(self._measurement, said, signature, point(self._identity), self._certificate)

    def counter(self, chain: bytes) -> int:
        """Return the monotonic counter that the enclave has for a chain."""
        return self._counters[chain]

    @enforces("REQ-STORE-01", "increment-first")
    def advance(self, chain: bytes, value: int) -> None:
        """Move a counter forward; it never goes back."""
        self._counters[chain] = max(self._counters[chain], value)

    def seal(self, state: bytes) -> bytes:
        """Seal a state for launches of this enclave on this platform."""
        nonce = self._random(NONCE_BYTES)
        return nonce + AesGcm(self._sealing_key()).encrypt(nonce, state, _SEALED)

    def unseal(self, sealed: bytes) -> bytes:
        """Return a sealed state, of whatever age.

        Raises:
            SealedStateError: this enclave did not seal it on this platform.
        """
        if len(sealed) < NONCE_BYTES:
            raise SealedStateError("it is cut short")
        try:
            return AesGcm(self._sealing_key()).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _SEALED)
        except AuthenticationError as error:
            raise SealedStateError(str(error)) from None

    def _sealing_key(self) -> bytes:
        return hkdf_sha384(self._sealing, self._measurement, _SEALED, KEY_BYTES)


def certify(root: ec.EllipticCurvePrivateKey, identity: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the vendor's certificate of a platform."""
    return sign_p384(root, join(_DEVICE, point(identity)))


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public half of a key."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
