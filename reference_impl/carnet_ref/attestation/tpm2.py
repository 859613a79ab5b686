"""The structures of TPM 2.0 in a quote, parsed strictly, and the register values that an event log results in.

Source: TCG, Trusted Platform Module Library, part 2, revision 1.59: sections 10.12 (TPMS_ATTEST), 11.3
(TPMT_SIGNATURE), 12.2 (TPMT_PUBLIC), 8.3 (TPMA_OBJECT) and 6.3 (algorithms); tpm2-software/tpm2-tools, ``lib/pcr.c``
(values of PCRs); TCG PC Client Platform Firmware Profile 1.06, sections 3.3.4 and 10.4.5 (start of PCR0).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_der_public_key, load_pem_public_key

from carnet_ref.attestation.documents import PEM, decode
from carnet_ref.attestation.event_logs import NO_ACTION, LoggedEvent
from carnet_ref.crypto.certificate_path import parse_pem_chain
from carnet_ref.wire import MalformedError, Reader

#: What a TPM writes before everything that it says of itself, and signs nothing of others with.
GENERATED: Final = b"\xffTCG"
ATTEST_QUOTE: Final = bytes.fromhex("8018")
PCRS: Final = 24
MOST_BANKS: Final = 16
RSASSA, RSAPSS, ECDSA, NULL = 0x0014, 0x0016, 0x0018, 0x0010
RSA_KEY, ECC_KEY = 0x0001, 0x0023
HASHES: Final[Mapping[int, hashes.HashAlgorithm]] = {
    0x000B: hashes.SHA256(),
    0x000C: hashes.SHA384(),
    0x000D: hashes.SHA512(),
}
SHA256: Final = 0x000B
BANKS: Final = {0x0004: "SHA-1", 0x000B: "SHA-256", 0x000C: "SHA-384", 0x000D: "SHA-512"}
CURVES: Final[Mapping[int, ec.EllipticCurve]] = {3: ec.SECP256R1(), 4: ec.SECP384R1(), 5: ec.SECP521R1()}
#: Virtual TPMs of clouds sign with 2048 bits; NIST SP 800-57 Part 1 Revision 5, table 4, has these until 2030.
RSA_BITS: Final = range(2048, 8193)
FIXED_TPM, FIXED_PARENT, ORIGIN, RESTRICTED, SIGN = 1 << 1, 1 << 4, 1 << 5, 1 << 16, 1 << 18
#: The attributes of a key that signs nothing but what its own TPM made, and that never left it.
ATTESTING: Final = FIXED_TPM | FIXED_PARENT | ORIGIN | RESTRICTED | SIGN
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey


def digest(algorithm: hashes.HashAlgorithm, *parts: bytes) -> bytes:
    """Return the hash of the concatenation of ``parts``."""
    context = hashes.Hash(algorithm)
    for part in parts:
        context.update(part)
    return context.finalize()


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected registers (PCRs) of one bank, which its hash names."""

    bank: int
    registers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """A TPM's statement about registers: the selection, the hash of their values, and the qualifying data."""

    message: bytes
    qualifying_data: bytes
    clock: int
    reset_count: int
    restart_count: int
    safe: bool
    firmware_version: int
    selection: Selection
    pcr_digest: bytes


def parse_quote(data: bytes) -> Quote:
    """Read a TPMS_ATTEST with a quote. Raises MalformedError if it is something else."""
    reader = Reader(data, "TPM quote", "big")
    reader.constant(GENERATED, "magic")
    reader.constant(ATTEST_QUOTE, "type")
    _sized(reader, "qualified signer")
    qualifying_data = _sized(reader, "qualifying data")
    clock, resets, restarts = (reader.number(width, "clock") for width in (8, 4, 4))
    safe = reader.number(1, "safe")
    if safe > 1:
        raise reader.malformed("0 or 1 for safe", f"{safe}")
    version = reader.number(8, "firmware version")
    count = reader.number(4, "number of selections")
    if count > MOST_BANKS:
        raise reader.malformed(f"at most {MOST_BANKS} selections", f"{count}")
    selected = [each for each in (_selection(reader) for _ in range(count)) if each.registers]
    pcr_digest = _sized(reader, "digest of registers")
    reader.end()
    if len(selected) != 1 or selected[0].bank not in HASHES:
        found = ", ".join(BANKS[each.bank] for each in selected) or "none"
        raise MalformedError("TPM quote", "registers of one bank, of SHA-256, SHA-384 or SHA-512", found)
    return Quote(data, qualifying_data, clock, resets, restarts, bool(safe), version, selected[0], pcr_digest)


def _sized(reader: Reader, field: str) -> bytes:
    return reader.take(reader.number(2, f"size of {field}"), field)


def _selection(reader: Reader) -> Selection:
    bank = reader.number(2, "bank")
    if bank not in BANKS:
        raise reader.malformed(f"a bank out of {', '.join(BANKS.values())}", f"{bank:#x}")
    bits = int.from_bytes(reader.take(reader.number(1, "size of a selection"), "selection"), "little")
    if bits >> PCRS:
        raise reader.malformed(f"registers below {PCRS}", f"{bits:#x}")
    return Selection(bank, tuple(number for number in range(PCRS) if bits >> number & 1))


@dataclass(frozen=True, slots=True)
class Signature:
    """A TPMT_SIGNATURE: its scheme, its hash, and the numbers of the signature."""

    scheme: int
    hash: int
    values: tuple[bytes, ...]

    @property
    def name(self) -> str:
        """The scheme and the hash in words."""
        scheme = {RSASSA: "RSASSA-PKCS1-v1_5", RSAPSS: "RSASSA-PSS", ECDSA: "ECDSA"}[self.scheme]
        return f"{scheme} with {BANKS[self.hash]}"


def parse_signature(data: bytes) -> Signature:
    """Read a TPMT_SIGNATURE, or the bare number of RSASSA-PKCS1-v1_5 with SHA-256, as Azure's tools write it.

    Raises MalformedError if it is something else, or of a scheme or hash that is not accepted.
    """
    reader = Reader(data, "TPM signature", "big")
    if len(data) % 128 == 0 and data:
        return Signature(RSASSA, SHA256, (data,))
    scheme, algorithm = reader.number(2, "scheme"), reader.number(2, "hash")
    if scheme not in (RSASSA, RSAPSS, ECDSA) or algorithm not in HASHES:
        raise MalformedError("TPM signature", "RSA or ECDSA with SHA-256, SHA-384 or SHA-512", data[:4].hex())
    values = tuple(_sized(reader, "signature") for _ in range(2 if scheme == ECDSA else 1))
    reader.end()
    return Signature(scheme, algorithm, values)


def is_signed(key: PublicKey, signature: Signature, data: bytes) -> bool:
    """Return whether the signature on ``data`` verifies; false if its scheme is of another kind of key."""
    algorithm = HASHES[signature.hash]
    try:
        match key:
            case rsa.RSAPublicKey() if signature.scheme == RSASSA:
                key.verify(signature.values[0], data, padding.PKCS1v15(), algorithm)
            case rsa.RSAPublicKey() if signature.scheme == RSAPSS:
                pss = padding.PSS(padding.MGF1(algorithm), padding.PSS.AUTO)
                key.verify(signature.values[0], data, pss, algorithm)
            case ec.EllipticCurvePublicKey() if signature.scheme == ECDSA:
                r, s = (int.from_bytes(value, "big") for value in signature.values)
                key.verify(encode_dss_signature(r, s), data, ec.ECDSA(algorithm))
            case _:
                return False
    except InvalidSignature:
        return False
    return True


def accepted_key(key: object) -> PublicKey:
    """Return a key that may sign quotes. Raises MalformedError if it is of another kind, or too weak."""
    match key:
        case rsa.RSAPublicKey() if key.key_size in RSA_BITS:
            return key
        case ec.EllipticCurvePublicKey() if any(key.curve.name == curve.name for curve in CURVES.values()):
            return key
    found = f"{type(key).__name__} of {getattr(key, 'key_size', 'unknown')} bits"
    raise MalformedError("attestation key", "RSA of 2048 bits or more, or a key on P-256, P-384 or P-521", found)


def parse_public(data: bytes) -> PublicKey:
    """Return the key of a TPMT_PUBLIC, or of a TPM2B_PUBLIC, which has its size before it.

    Raises MalformedError if it is something else, or of a key that may sign what no TPM made.
    """
    if len(data) >= 2 and int.from_bytes(data[:2], "big") == len(data) - 2:
        data = data[2:]
    reader = Reader(data, "TPM public key", "big")
    kind = reader.number(2, "type")
    reader.number(2, "hash of the name")
    attributes = reader.number(4, "attributes")
    _sized(reader, "policy")
    if reader.number(2, "symmetric algorithm") != NULL:
        raise reader.malformed("no symmetric algorithm, as of a key that signs", "one")
    if reader.number(2, "scheme") != NULL:
        reader.number(2, "hash of the scheme")
    key = _rsa(reader) if kind == RSA_KEY else _ecc(reader, kind)
    reader.end()
    if attributes & ATTESTING != ATTESTING:
        raise MalformedError("TPM public key", "a restricted signing key that is fixed to its TPM", f"{attributes:#x}")
    return accepted_key(key)


def _rsa(reader: Reader) -> rsa.RSAPublicKey:
    reader.number(2, "bits")
    exponent = reader.number(4, "exponent") or 65537
    modulus = int.from_bytes(_sized(reader, "modulus"), "big")
    return rsa_key(exponent, modulus)


def rsa_key(exponent: int, modulus: int) -> rsa.RSAPublicKey:
    """Return the RSA key of two numbers. Raises MalformedError if they make no key."""
    if modulus.bit_length() not in RSA_BITS:
        raise MalformedError("attestation key", "RSA of 2048 to 8192 bits", f"{modulus.bit_length()} bits")
    try:
        return rsa.RSAPublicNumbers(exponent, modulus).public_key()
    except ValueError as error:
        raise MalformedError("attestation key", "an RSA key", str(error)[:80]) from None


def _ecc(reader: Reader, kind: int) -> ec.EllipticCurvePublicKey:
    curve = CURVES.get(reader.number(2, "curve"))
    if kind != ECC_KEY or curve is None:
        raise reader.malformed("RSA, or a key on P-256, P-384 or P-521", "another key")
    if reader.number(2, "key derivation") != NULL:
        raise reader.malformed("no key derivation", "one")
    x, y = (int.from_bytes(_sized(reader, "coordinate"), "big") for _ in range(2))
    try:
        return ec.EllipticCurvePublicNumbers(x, y, curve).public_key()
    except ValueError as error:
        raise MalformedError("attestation key", f"a point of {curve.name}", str(error)[:80]) from None


SELECTION_FIELD: Final = 8
DIGEST_FIELD: Final = 64
DIGESTS: Final = 8


def listed_values(data: bytes, selection: Selection) -> tuple[bytes, ...]:
    """Return the values of selected registers, as ``tpm2_quote -o`` writes them: serialized, or one after the other.

    Raises MalformedError if ``data`` is something else.
    """
    size = HASHES[selection.bank].digest_size
    if len(data) == size * len(selection.registers):
        return tuple(data[start : start + size] for start in range(0, len(data), size))
    reader = Reader(data, "PCR values")
    reader.take(4 + MOST_BANKS * SELECTION_FIELD, "selections")
    values = []
    for _ in range(min(reader.number(4, "number of lists"), PCRS)):
        count = reader.number(4, "number of values")
        for place in range(DIGESTS):
            size = reader.number(2, "size of a value")
            value = reader.take(DIGEST_FIELD, "value")
            if place < count:
                values.append(value[:size])
    reader.end()
    return tuple(values)


@dataclass(frozen=True, slots=True)
class AttestationKey:
    """The key that came with a quote: its public part, or its certificate chain, leaf first."""

    public: PublicKey | None = None
    certificates: tuple[x509.Certificate, ...] = ()


def parse_key(data: bytes) -> AttestationKey:
    """Read a public key in PEM, DER or TPM2B_PUBLIC, or certificates in PEM, the key's first.

    Raises MalformedError if it is something else.
    """
    if b"BEGIN CERTIFICATE" in data:
        return AttestationKey(certificates=parse_pem_chain(data))
    try:
        if PEM in data:
            return AttestationKey(accepted_key(load_pem_public_key(data)))
        raw = decode(data, "attestation key")
        return AttestationKey(accepted_key(load_der_public_key(raw)) if raw[:1] == b"\x30" else parse_public(raw))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if isinstance(error, MalformedError):
            raise
        raise MalformedError("attestation key", "a public key, or certificates in PEM", "something else") from None


STARTUP_LOCALITY: Final = b"StartupLocality\0"


def replay_pcrs(events: Sequence[LoggedEvent], bank: int) -> Mapping[int, bytes]:
    """Return the final values of the registers of a bank that an event log extends.

    A register begins as zeros. PCR0 begins with the locality that the firmware started in, if the log says it.

    Raises MalformedError if an event has no digest of the bank.
    """
    algorithm = HASHES[bank]
    registers: dict[int, bytes] = {}
    start = bytes(algorithm.digest_size)
    for event in events:
        if event.type == NO_ACTION:
            if event.register == 0 and event.data[:-1] == STARTUP_LOCALITY and 0 not in registers:
                start = start[:-1] + event.data[-1:]
            continue
        if bank not in event.digests:
            raise MalformedError("event log", f"a digest of {BANKS[bank]} for each event", "an event without")
        before = registers.get(event.register, start if event.register == 0 else bytes(algorithm.digest_size))
        registers[event.register] = digest(algorithm, before, event.digests[bank])
    return registers


#: The registers that the firmware extends before it starts anything, if only by a separator, and logs.
FIRMWARE_REGISTERS: Final = range(8)
SECURE_BOOT_REGISTER: Final = 7
SECURE_BOOT: Final = bytes.fromhex("61dfe48bca93d211aa0d00e098032b8c") + (10).to_bytes(8, "little")
#: The variable: the GUID of global variables, the length of its name, and, after the length of its value, its name.
SECURE_BOOT_NAME: Final = "SecureBoot".encode("utf-16-le")


def secure_boot(events: Sequence[LoggedEvent], bank: int) -> bool | None:
    """Return whether Secure Boot was on; None unless a replayed log of PCR7 begins with that event and has it once.

    Only the digest of an event is measured. Its type and its data are therefore ignored: the author of the log may
    change them. Software that runs after the firmware can extend the register with the same digest, but only later.
    """
    values = {_secure_boot_digest(value, bank): value for value in (False, True)}
    measured = [event for event in events if event.register == SECURE_BOOT_REGISTER and event.type != NO_ACTION]
    digests = [event.digests[bank] for event in measured]
    said = [each for each in digests if each in values]
    return values[said[0]] if said == digests[:1] and said else None


def _secure_boot_digest(value: bool, bank: int) -> bytes:
    """Return the digest of the event that firmware measures if Secure Boot is on (or off)."""
    return digest(HASHES[bank], SECURE_BOOT, (1).to_bytes(8, "little"), SECURE_BOOT_NAME, bytes([value]))
