"""Keys to sign evidence with, and signed evidence of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from carnet_check.report.bundle import sign_run
from carnet_check.report.run_folder import run_of, snapshot


def pems(key: Any) -> tuple[bytes, bytes]:
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private, public


PRIVATE, PUBLIC = pems(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


def seal(folder: Path, private: bytes = PRIVATE) -> bytes:
    """Return signed evidence of what is in a folder now."""
    files = snapshot(folder)
    return sign_run(files, run_of(files, folder), private)
