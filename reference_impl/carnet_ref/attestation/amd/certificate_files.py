"""Files with certificates of AMD: PEM, DER, several DER in a row, or the certificate table of an extended report.

The table is what a guest gets beside its report from its host: entries of a GUID, an offset and a length, the last
one zero, then certificates in DER. Entries of other kinds than certificates are passed over.

Source: AMD, SEV-ES Guest-Hypervisor Communication Block Standardization 56421, SNP Extended Guest Request.
"""

from __future__ import annotations

import uuid
from typing import Final

from cryptography import x509

from carnet_ref.attestation.encodings import PEM, decode
from carnet_ref.crypto.certificate_path import LONGEST_PATH, parse_der_chain, parse_pem_chain
from carnet_ref.wire.reader import MalformedError, Reader

WHAT: Final = "certificates of AMD"
TABLE: Final = "certificate table"
LARGEST_FILE: Final = 64 * 1024
VCEK: Final = uuid.UUID("63da758d-e664-4564-adc5-f4b93be8accd")
VLEK: Final = uuid.UUID("a8074bc2-a25a-483e-aae6-39c045a0b8a1")
ASK: Final = uuid.UUID("4ab7b379-bbac-4fe4-a02f-05aef327c782")
ARK: Final = uuid.UUID("c0b406a4-a803-4952-9743-3fb6014cd0ae")
CERTIFICATES: Final = frozenset({VCEK, VLEK, ASK, ARK})
ENTRY_BYTES: Final = 24
MOST_ENTRIES: Final = 64
SEQUENCE: Final = b"\x30\x82"
"""How the DER of anything from 256 to 65535 bytes begins, as every certificate here does."""


def parse_certificates(data: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates in a file, in its order.

    Raises:
        MalformedError: it has none, or something else is in it.
    """
    raw = data if PEM in data else decode(data, WHAT)
    if len(raw) > LARGEST_FILE:
        raise MalformedError(WHAT, f"at most {LARGEST_FILE} bytes", f"{len(raw)}")
    if PEM in raw:
        if not raw.isascii():
            raise MalformedError(WHAT, "PEM and nothing but text around it", "raw bytes")
        return parse_pem_chain(raw, zero_serial=True)
    encoded = _in_a_row(raw) if raw.startswith(SEQUENCE) else _in_a_table(raw)
    return parse_der_chain(encoded, zero_serial=True)


def _in_a_row(data: bytes) -> list[bytes]:
    """Split DER encodings that follow each other at the lengths that they state."""
    reader = Reader(data, WHAT, "big")
    found: list[bytes] = []
    while reader.remaining and len(found) <= LONGEST_PATH:
        reader.constant(SEQUENCE, "the start of a certificate")
        length = reader.take(2, "length")
        found.append(SEQUENCE + length + reader.take(int.from_bytes(length, "big"), "certificate"))
    return found


def _in_a_table(data: bytes) -> list[bytes]:
    """Return the certificates that the table has, by the places that its entries name."""
    reader = Reader(data, TABLE)
    found: list[bytes] = []
    kinds: list[uuid.UUID] = []
    for _ in range(MOST_ENTRIES):
        entry = reader.take(ENTRY_BYTES, "entry")
        if not any(entry):
            break
        kind = uuid.UUID(bytes=entry[:16])
        offset, length = (int.from_bytes(entry[place : place + 4], "little") for place in (16, 20))
        if kind in kinds:
            raise MalformedError(TABLE, "each kind of certificate once", f"{kind} twice")
        if offset + length > len(data):
            raise MalformedError(TABLE, f"entries inside its {len(data)} bytes", f"{offset + length}")
        kinds.append(kind)
        if kind in CERTIFICATES:
            found.append(data[offset : offset + length])
    else:
        raise MalformedError(TABLE, f"at most {MOST_ENTRIES} entries", "more")
    if not found:
        raise MalformedError(WHAT, "PEM, DER or a certificate table with certificates of AMD", "none of them")
    return found
