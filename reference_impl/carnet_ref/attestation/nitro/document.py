"""Attestation documents of AWS Nitro Enclaves and of NitroTPM, read strictly.

The rules are those by which AWS has documents validated. Genuine documents differ from them in one place: the optional
fields that nobody asked for are there, as null. Both are read. The signed map is one of indefinite length. Bytes behind
a document are not read, and counted.

Source: aws/aws-nitro-enclaves-nsm-api, docs/attestation_process.md, sections 2.2, 3.1 and 3.2.2; Amazon EC2 User
Guide, "Validate a NitroTPM Attestation Document".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from cryptography import x509

from carnet_ref.attestation.cose import SIGN1, ClaimMap, Sign1, parse_cbor, parse_leading_cbor, parse_sign1
from carnet_ref.attestation.documents import decode
from carnet_ref.attestation.dstack import Platform, envelope_in
from carnet_ref.attestation.kinds import DSTACK_ENVELOPE, kind_of, known_kind
from carnet_ref.crypto.certificate_path import parse_der_chain
from carnet_ref.wire import MalformedError

WHAT: Final = "Nitro document"
LARGEST: Final = 1 << 15
LARGEST_PAYLOAD: Final = 16384
PCR_COUNT: Final = 32
PCR_SIZES: Final = frozenset({32, 48, 64})
SIGNATURE_BYTES: Final = 96
ES384: Final = -35
LAST_MILLISECOND: Final = 253402300799999  #: The end of the year 9999.
MANDATORY: Final = frozenset({"module_id", "digest", "timestamp", "certificate", "cabundle"})
#: Fields that may be left out, with their sizes.
OPTIONAL: Final = {"public_key": range(1, 1025), "user_data": range(513), "nonce": range(513)}
CERTIFICATE_SIZES: Final = range(1, 1025)
PLATFORMS: Final = (Platform.NITRO_ENCLAVE, Platform.AWS_NITRO_TPM)


class Source(StrEnum):
    """The measured system, by the name of the field that has its registers."""

    ENCLAVE = "pcrs"
    INSTANCE = "nitrotpm_pcrs"


@dataclass(frozen=True, slots=True)
class NitroDocument:
    """A parsed attestation document: its signature, its claims, and the values that it was requested with."""

    signed: Sign1
    source: Source
    module_id: str
    made_at: datetime
    pcrs: Mapping[int, bytes]
    path: tuple[x509.Certificate, ...]  #: The certificates, the signer's first and the root last.
    public_key: bytes | None
    user_data: bytes | None
    nonce: bytes | None
    bytes_behind: int  #: How many bytes, which nobody signs, stood behind the document in its file.
    found_in: str | None = None  #: What it lay in; nothing where it came alone.


def parse_document(data: bytes) -> NitroDocument:
    """Parse a document that is raw, hexadecimal or base64.

    Raises MalformedError if it is something else; UsageError without the library for CBOR.
    """
    if known_kind(data) == DSTACK_ENVELOPE:
        envelope = envelope_in(data)
        document = envelope.evidence_of(PLATFORMS, "a document of AWS's Nitro system")
        return replace(_parsed(document), found_in=envelope.name)
    return _parsed(decode(data, WHAT))


def _parsed(raw: bytes) -> NitroDocument:
    if raw[:2] not in (b"\xd2\x84", b"\x84\x44"):
        raise MalformedError(WHAT, "an attestation document of AWS's Nitro system", kind_of(raw))
    value, end = parse_leading_cbor(raw, WHAT, tags=frozenset({SIGN1}), largest=LARGEST)
    signed = parse_sign1(value, WHAT)
    if signed.algorithm != ES384 or signed.content_type is not None or len(signed.signature) != SIGNATURE_BYTES:
        found = f"{signed.algorithm_name} and {len(signed.signature)} bytes"
        raise MalformedError(WHAT, f"ES384 alone in the header and {SIGNATURE_BYTES} bytes of signature", found)
    claims = ClaimMap(parse_cbor(signed.payload, WHAT, largest=LARGEST_PAYLOAD, indefinite=True), WHAT)
    return _document(signed, claims, len(raw) - end)


def _document(signed: Sign1, claims: ClaimMap, bytes_behind: int) -> NitroDocument:
    sources = [source for source in Source if source in claims.names()]
    if len(sources) != 1:
        raise MalformedError(WHAT, " or ".join(Source), " and ".join(sources) or "neither")
    claims.require_known(MANDATORY | OPTIONAL.keys() | {sources[0].value})
    if claims.text("digest") != "SHA384":
        raise MalformedError(WHAT, "the digest SHA384", ascii(claims.text("digest"))[:80])
    if not claims.text("module_id"):
        raise MalformedError(WHAT, "a module_id", "none")
    return NitroDocument(
        signed,
        sources[0],
        claims.text("module_id"),
        _time(claims.number("timestamp")),
        _pcrs(claims.map(sources[0])),
        _path(claims),
        _optional(claims, "public_key"),
        _optional(claims, "user_data"),
        _optional(claims, "nonce"),
        bytes_behind,
    )


def _optional(claims: ClaimMap, name: str) -> bytes | None:
    return claims.octets(name, OPTIONAL[name]) if claims.has(name) else None


def _time(milliseconds: int) -> datetime:
    if not 0 < milliseconds <= LAST_MILLISECOND:
        raise MalformedError(WHAT, "a timestamp in milliseconds", f"{milliseconds}")
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def _pcrs(registers: ClaimMap) -> Mapping[int, bytes]:
    if not 1 <= len(registers.names()) <= PCR_COUNT:
        raise MalformedError(WHAT, f"1 to {PCR_COUNT} registers", f"{len(registers.names())}")
    found = {}
    for number in registers.names():
        if not isinstance(number, int) or number not in range(PCR_COUNT):
            raise MalformedError(WHAT, f"registers from 0 to {PCR_COUNT - 1}", ascii(number)[:80])
        found[number] = registers.octets(number, PCR_SIZES)
    return found


def _path(claims: ClaimMap) -> tuple[x509.Certificate, ...]:
    """Return the certificates from the signer's to the root's; the bundle has them the other way round."""
    bundle = claims.values("cabundle")
    if not bundle:
        raise MalformedError(WHAT, "certificates in cabundle", "none")
    encoded = [claims.octets("certificate", CERTIFICATE_SIZES)]
    for each in reversed(bundle):
        if not isinstance(each, bytes) or len(each) not in CERTIFICATE_SIZES:
            raise MalformedError(WHAT, "certificates of 1 to 1024 bytes in cabundle", type(each).__name__)
        encoded.append(each)
    return parse_der_chain(encoded)
