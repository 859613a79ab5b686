"""The link keys of an H100: expanded from the session's exported secret by label, and ratcheted by a public function.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, conf_compute_keystore_gh100.c (derivation at 139-210, rotation at
397-455), cc_keystore.h (labels), spdm.c (738-762: the secret is retrieved once, and its first 32 bytes are the EMK).
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from carnet_ref.crypto.primitives import KEY_BYTES, KeyMaterialError, hkdf_expand_sha256, sha256
from carnet_ref.keys.errors import SecretTakenError

ENGINES: Final = 8
"""Copy engines with keys of their own on GH100: LCE0 to LCE7."""


class Direction(Enum):
    """Which way a half of a key pair protects."""

    H2D = "h2d"
    D2H = "d2h"


def engine_label(engine: int, direction: Direction) -> str:
    """Return the label of a copy engine's user key, such as ``Lce00_h2d_user``.

    Raises:
        KeyMaterialError: there is no such engine.
    """
    if not 0 <= engine < ENGINES:
        raise KeyMaterialError("copy engine", f"{engine}, not 0 to {ENGINES - 1}")
    return f"Lce{engine:02d}_{direction.value}_user"


def ratchet(key: bytes, label: str) -> bytes:
    """Return the key that follows ``key``; no secret enters but ``key``, so whoever holds it can do this.

    Raises:
        KeyMaterialError: the key is not 32 bytes, or zero, which the driver takes as fatal.
    """
    if len(key) != KEY_BYTES or not any(key):
        raise KeyMaterialError("link key", "not 32 bytes, or zero")
    return hkdf_expand_sha256(sha256(key), label.encode("ascii"))


class OneTimeSecret:
    """A secret that can be taken once, and is gone from here then."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret: bytes | None = secret

    def take(self) -> bytes:
        """Return the secret, the first time.

        Raises:
            SecretTakenError: it was taken or wiped.
        """
        if self._secret is None:
            raise SecretTakenError("the secret was exported or wiped before")
        secret, self._secret = self._secret, None
        return secret

    def wipe(self) -> None:
        """Forget the secret."""
        self._secret = None

    def __repr__(self) -> str:
        return "OneTimeSecret(…)"


class H100KeySchedule:
    """Every key of one session, by label and epoch, from the export master key (EMK) that both ends hold."""

    __slots__ = ("_emk",)

    def __init__(self, emk: bytes) -> None:
        if len(emk) != KEY_BYTES:
            raise KeyMaterialError("export master key", f"{len(emk)} bytes, not {KEY_BYTES}")
        self._emk: bytes | None = emk

    @classmethod
    def of_session(cls, exported_master_secret: bytes) -> H100KeySchedule:
        """Return the schedule of a session that exported this secret."""
        return cls(exported_master_secret[:KEY_BYTES])

    def key(self, label: str, epoch: int = 0) -> bytes:
        """Return the 32-byte key of ``label`` after ``epoch`` rotations.

        Raises:
            SecretTakenError: the EMK was wiped.
        """
        if self._emk is None:
            raise SecretTakenError("the export master key was wiped")
        key = hkdf_expand_sha256(self._emk, label.encode("ascii"))
        for _ in range(epoch):
            key = ratchet(key, label)
        return key

    def wipe(self) -> None:
        """Forget the EMK; keys that were derived live on where they are held."""
        self._emk = None

    def __repr__(self) -> str:
        return "H100KeySchedule(…)"
