"""Certificate chains as SPDM carries them, and who is asked whether to trust one.

Source: DMTF DSP0274 1.3.2, section "Certificate chains".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.crypto.certificate_path import parse_der_chain
from carnet_ref.crypto.primitives import RSA_BITS, SHA384_BYTES, sha384
from carnet_ref.spdm.errors import UntrustedChainError
from carnet_ref.spdm.messages.common import u16
from carnet_ref.wire.reader import MalformedError, Reader

Trust = Callable[[tuple[x509.Certificate, ...]], None]
"""Raises `UntrustedChainError` unless the chain, root first and device last, is trusted now."""

_LONG_FORM: Final = 0x82


def encode_chain(certificates: tuple[x509.Certificate, ...]) -> bytes:
    """Return the SPDM form of a chain: its size, the digest of its root, and the certificates, root first."""
    encoded = [certificate.public_bytes(Encoding.DER) for certificate in certificates]
    rest = bytes(2) + sha384(encoded[0]) + b"".join(encoded)
    return u16(2 + len(rest)) + rest


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain that was read; nothing is said of whether it is trusted."""

    certificates: tuple[x509.Certificate, ...]
    digest: bytes

    @classmethod
    def parse(cls, data: bytes) -> Chain:
        """Read a chain in SPDM's form.

        Raises:
            MalformedError: it is none, or its root is not the one it names.
        """
        reader = Reader(data, "certificate chain")
        if (size := reader.number(2, "size")) != len(data):
            raise MalformedError("certificate chain", f"a size of {len(data)}", str(size), 0)
        reader.number(2, "reserved")
        root = reader.take(SHA384_BYTES, "root digest")
        encoded = _split(reader)
        if not encoded or sha384(encoded[0]) != root:
            raise MalformedError("certificate chain", "the root it names, first", f"{len(encoded)} others", 4)
        return cls(parse_der_chain(encoded), sha384(data))

    @property
    def leaf(self) -> x509.Certificate:
        """The device's certificate."""
        return self.certificates[-1]

    def device_key(self) -> ec.EllipticCurvePublicKey:
        """Return the device's key.

        Raises:
            UntrustedChainError: it is no P-384 key.
        """
        key = self.leaf.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
            raise UntrustedChainError("the device's key is no P-384 key")
        return key

    def requester_key(self) -> rsa.RSAPublicKey:
        """Return the requester's key.

        Raises:
            UntrustedChainError: it is no RSA key of 3072 bits.
        """
        key = self.leaf.public_key()
        if not isinstance(key, rsa.RSAPublicKey) or key.key_size != RSA_BITS:
            raise UntrustedChainError(f"the requester's key is no RSA key of {RSA_BITS} bits")
        return key


def _split(reader: Reader) -> list[bytes]:
    """Return the DER sequences that follow each other."""
    parts = []
    while reader.remaining:
        head = reader.take(4, "certificate header")
        if head[0] != 0x30 or head[1] != _LONG_FORM:
            raise reader.malformed("a certificate of 256 to 65535 bytes", head.hex())
        parts.append(head + reader.take(int.from_bytes(head[2:], "big"), "certificate"))
    return parts
