"""The TEE below a replica: certified quotes, a sealing key, and monotonic counters."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.systems import devices
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import point, refused_as, verify_under
from carnet_ref.wire import MalformedError, join, split


class TeechainError(Exception):
    """The protocol refuses something; nothing was released, and nothing that was logged is lost."""


class QuoteError(TeechainError):
    """A quote is refused."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the quote is not taken: {reason}")


class ChainError(TeechainError):
    """A replica refuses a message or a step in a chain."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"refused by the chain: {reason}")


class SealedStateError(TeechainError):
    """A replica refuses to start from a sealed state."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the sealed state is refused: {reason}")


class SilentMemberError(TeechainError):
    """A member does not answer, so nothing is acknowledged."""

    def __init__(self, member: str) -> None:
        super().__init__(f"{member} does not answer, and the chain waits for it")
        self.member = member


_QUOTE = b"carnet teechain quote"
_DEVICE = b"carnet teechain platform"
_SEALED = b"carnet teechain sealed state"
#: Returns the certificate of a platform, from the vendor's key and the platform's.
certify = partial(devices.certify, _DEVICE)


@dataclass(frozen=True, slots=True)
class Quote:
    """A signed statement of a platform: the measurement of an enclave, and the enclave's data."""

    measurement: bytes
    said: bytes
    signature: bytes
    platform: bytes
    certificate: bytes

    def encode(self) -> bytes:
        """Return the encoded quote."""
        return join(self.measurement, self.said, self.signature, self.platform, self.certificate)

    @classmethod
    def decode(cls, data: bytes) -> Quote:
        """Return the quote in some bytes. Raises QuoteError if they are malformed."""
        with refused_as(QuoteError, MalformedError):
            return cls(*split(data, "quote", "measurement", "said", "signature", "platform", "certificate"))


@dataclass(frozen=True, slots=True)
class Policy:
    """The quotes that are accepted: those of a vendor's platforms about one program."""

    root: ec.EllipticCurvePublicKey
    measurement: bytes

    @enforces("REQ-SETUP-04", "REQ-SETUP-05", "REQ-HOLDER-02", "quote-certificate", "quote-measurement")
    def check(self, quote: Quote, checks: Checks = EVERY) -> None:
        """Check a quote. Raises QuoteError if it is not certified, or about another program."""
        with refused_as(QuoteError, primitives.AuthenticationError, ValueError):
            verify_under(quote.platform, quote.signature, join(_QUOTE, quote.measurement, quote.said), "quote")
            if checks.insist_on("quote-certificate"):
                primitives.verify_p384(self.root, quote.certificate, join(_DEVICE, quote.platform), "certificate")
        if quote.measurement != self.measurement and checks.insist_on("quote-measurement"):
            raise QuoteError(f"the measurement is {quote.measurement.hex()[:16]}…")


class Tee:
    """One platform; it and its counters outlive every launch of its enclaves."""

    def __init__(
        self, identity: ec.EllipticCurvePrivateKey, certificate: bytes, measurement: bytes, random: primitives.Random
    ) -> None:
        self._identity, self._certificate, self._measurement = identity, certificate, measurement
        self._random, self._sealing = random, random(primitives.KEY_BYTES)
        self._counters: dict[bytes, int] = defaultdict(int)

    def quote(self, said: bytes) -> Quote:
        """Return a quote with the enclave's data."""
        signature = primitives.sign_p384(self._identity, join(_QUOTE, self._measurement, said))
        return Quote(self._measurement, said, signature, point(self._identity), self._certificate)

    def counter(self, chain: bytes) -> int:
        """Return the enclave's monotonic counter for a chain."""
        return self._counters[chain]

    @enforces("REQ-STORE-01", "increment-first")
    def advance(self, chain: bytes, value: int) -> None:
        """Advance a counter to ``value``; a counter never goes back."""
        self._counters[chain] = max(self._counters[chain], value)

    def seal(self, state: bytes) -> bytes:
        """Seal a state for launches of this enclave on this platform."""
        nonce = self._random(primitives.NONCE_BYTES)
        return nonce + primitives.AesGcm(self._sealing_key()).encrypt(nonce, state, _SEALED)

    def unseal(self, sealed: bytes) -> bytes:
        """Return a sealed state, however old.

        Raises SealedStateError if this enclave did not seal it on this platform.
        """
        if len(sealed) < primitives.NONCE_BYTES:
            raise SealedStateError("it is cut short")
        with refused_as(SealedStateError, primitives.AuthenticationError):
            return primitives.AesGcm(self._sealing_key()).decrypt(
                sealed[: primitives.NONCE_BYTES], sealed[primitives.NONCE_BYTES :], _SEALED
            )

    def _sealing_key(self) -> bytes:
        return primitives.hkdf_sha384(self._sealing, self._measurement, _SEALED, primitives.KEY_BYTES)
