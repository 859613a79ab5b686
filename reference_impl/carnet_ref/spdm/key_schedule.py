"""The secrets and keys of an SPDM session, from its shared secret and its transcript.

Source: DMTF DSP0274 1.3.2, section "Key schedule"; DSP0277 1.2.0 for the keys and IVs of records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from carnet_ref.crypto.primitives import (
    KEY_BYTES,
    NONCE_BYTES,
    SHA384_BYTES,
    hkdf_expand_sha384,
    hmac_sha384,
    verify_hmac_sha384,
)
from carnet_ref.spdm.messages import Version

_ZEROS: Final = bytes(SHA384_BYTES)
_ONES: Final = b"\xff" * SHA384_BYTES
"""From 1.3 on, a PSK is extracted under another salt than an ECDHE secret, so that neither is taken for the other."""


def bin_concat(version: Version, size: int, label: str, context: bytes = b"") -> bytes:
    """Return the info of an expansion: the size, the versioned label, and what it is bound to."""
    return size.to_bytes(2, "little") + f"spdm{version.label} {label}".encode("ascii") + context


def expand(version: Version, secret: bytes, label: str, context: bytes = b"", size: int = SHA384_BYTES) -> bytes:
    """Return what ``label`` names under ``secret``."""
    return hkdf_expand_sha384(secret, bin_concat(version, size, label, context), size)


@dataclass(frozen=True, slots=True)
class DirectionSecret:
    """The secret of one direction in one phase, with the record key and IV that come from it."""

    version: Version
    secret: bytes = field(repr=False)

    @property
    def key(self) -> bytes:
        """The AES-256 key."""
        return expand(self.version, self.secret, "key", size=KEY_BYTES)

    @property
    def iv(self) -> bytes:
        """The IV that sequence numbers are added to."""
        return expand(self.version, self.secret, "iv", size=NONCE_BYTES)

    @property
    def finished_key(self) -> bytes:
        """The key of verify data."""
        return expand(self.version, self.secret, "finished")

    def verify_data(self, transcript_hash: bytes) -> bytes:
        """Return what proves knowledge of this secret and agreement on the transcript."""
        return hmac_sha384(self.finished_key, transcript_hash)

    def check_verify_data(self, transcript_hash: bytes, found: bytes, what: str) -> None:
        """Check the peer's verify data.

        Raises:
            AuthenticationError: it is another.
        """
        verify_hmac_sha384(self.finished_key, transcript_hash, found, what)

    def updated(self) -> DirectionSecret:
        """Return the secret after a KEY_UPDATE; nothing fresh enters."""
        return DirectionSecret(self.version, expand(self.version, self.secret, "traffic upd"))


@dataclass(frozen=True, slots=True)
class HandshakeSecrets:
    """The secrets between KEY_EXCHANGE_RSP and FINISH_RSP."""

    version: Version
    handshake: bytes = field(repr=False)
    request: DirectionSecret
    response: DirectionSecret

    @classmethod
    def derive(cls, version: Version, shared: bytes, th1: bytes, *, psk: bool = False) -> HandshakeSecrets:
        """Derive them from the shared secret (ECDHE, or a PSK) and the transcript hash TH1."""
        salt = _ONES if psk and version >= Version.V1_3 else _ZEROS
        handshake = hmac_sha384(salt, shared)
        return cls(
            version,
            handshake,
            DirectionSecret(version, expand(version, handshake, "req hs data", th1)),
            DirectionSecret(version, expand(version, handshake, "rsp hs data", th1)),
        )

    def master(self) -> bytes:
        """Return the master secret."""
        return hmac_sha384(expand(self.version, self.handshake, "derived"), _ZEROS)

    def session(self, th2: bytes) -> SessionSecrets:
        """Return the secrets of the session, which the transcript hash TH2 is bound to."""
        master = self.master()
        return SessionSecrets(
            DirectionSecret(self.version, expand(self.version, master, "req app data", th2)),
            DirectionSecret(self.version, expand(self.version, master, "rsp app data", th2)),
            expand(self.version, master, "exp master", th2),
        )


@dataclass(frozen=True, slots=True)
class SessionSecrets:
    """The secrets after FINISH_RSP; ``export`` is handed out once."""

    request: DirectionSecret
    response: DirectionSecret
    export: bytes = field(repr=False)
