"""A simulated AMD: roots and signing keys of each line of processors, chips, and the reports that they sign.

Certificates keep the common names that AMD gives them, since appraisals ask for those; the organisation is that of the
tests. Chips' keys are derived from a seed. The RSA keys above them are drawn once for each process, and RSASSA-PSS
salts each signature at random, so certificates differ from run to run. They are shorter than AMD's, to be drawn sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.amd.certificate_files import parse_certificates
from carnet_ref.attestation.amd.certificates import (
    ARC,
    AUTHORITIES,
    CLOUD,
    HARDWARE_ID,
    HARDWARE_ID_BYTES,
    PLACES,
    PRODUCT_NAME,
    RESERVED_PLACES,
    SALT_BYTES,
    SECURITY_VERSIONS,
    KeyKind,
)
from carnet_ref.attestation.amd.report import (
    CPUID_SINCE,
    ECDSA_P384_SHA384,
    NUMBER_BYTES,
    SIGNATURE_FIELD,
    SIGNED_BYTES,
    TAIL_BYTES,
    VECTORS_SINCE,
    Cpuid,
    FirmwareVersion,
    GuestPolicy,
    PlatformInfo,
    SigningKey,
    SnpReport,
)
from carnet_ref.attestation.amd.tcb import Product, TcbVersion
from carnet_ref.attestation.anchors import AnchorRole, Anchors
from carnet_ref.attestation.simulated.authority import derived, derived_key, test_name

RSA_BITS: Final = 3072
AUTHORITIES_LAST: Final = timedelta(days=25 * 365)
KEYS_LAST: Final = timedelta(days=7 * 365)
TEST_CLOUD: Final = "carnet.test"
LISTS_LAST: Final = timedelta(days=180)
SERIALS: Final = {"root": 0x10000, KeyKind.VCEK: 0x10001, KeyKind.VLEK: 0x10101}
"""The numbers of AMD's own certificates, as those of Milan have them."""
PSS: Final = padding.PSS(padding.MGF1(hashes.SHA384()), SALT_BYTES)
SMT_AND_RESERVED_ONE: Final = 0x30000
NO_AGENT: Final = b"\xff" * 32
SERIAL_ONE: Final = bytes.fromhex("a003020102020101")
"""How the signed part of a certificate of X.509 version 3 begins whose serial number is 1."""

PRODUCT_NAMES: Final = {Product.MILAN: "Milan-B0", Product.GENOA: "Genoa", Product.TURIN: "Turin"}
STRUCTURES: Final = {Product.MILAN: 0, Product.GENOA: 0, Product.TURIN: 1}
CPUIDS: Final = {
    Product.MILAN: Cpuid(0x19, 0x01, 1),
    Product.GENOA: Cpuid(0x19, 0x11, 1),
    Product.TURIN: Cpuid(0x1A, 0x02, 1),
}
TCBS: Final = {
    Product.MILAN: TcbVersion(Product.MILAN, {"bootloader": 4, "tee": 0, "snp": 24, "microcode": 219}),
    Product.GENOA: TcbVersion(Product.GENOA, {"bootloader": 10, "tee": 0, "snp": 23, "microcode": 84}),
    Product.TURIN: TcbVersion(Product.TURIN, {"fmc": 1, "bootloader": 1, "tee": 1, "snp": 4, "microcode": 81}),
}


@cache
def _authority_key(name: str, keys: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, RSA_BITS)


@dataclass(frozen=True, slots=True)
class _Issuer:
    """A certificate that may issue others, and its key."""

    certificate: x509.Certificate
    key: rsa.RSAPrivateKey


class SimulatedAmd:
    """AMD for one line of processors: its root, and the signing keys for chips' keys and for clouds' keys.

    ``at`` is the time at which its certificates begin. With other ``keys``, it is another AMD of the same names;
    ``root`` is the name of its root, if not that of this line.
    """

    def __init__(self, product: Product, at: datetime, keys: str = "usual", root: str | None = None) -> None:
        self.product = product
        self.at = at
        self._keys = keys
        self._root = self._authority(root or f"ARK-{product}", None, SERIALS["root"])
        self._issuers = {
            kind: self._authority(AUTHORITIES[kind].format(product), self._root, SERIALS[kind], path_length=0)
            for kind in KeyKind
        }

    @property
    def anchors(self) -> Anchors:
        """Trust in this test root alone."""
        return Anchors({AnchorRole.AMD_SEV: (self._root.certificate,)})

    @property
    def root(self) -> x509.Certificate:
        """The certificate of the root."""
        return self._root.certificate

    def authority(self, kind: KeyKind) -> x509.Certificate:
        """Return the certificate of the key that signs endorsement keys of this kind."""
        return self._issuers[kind].certificate

    def revocation_list(
        self,
        *revoked: x509.Certificate,
        at: datetime | None = None,
        by: KeyKind | None = None,
        signature: padding.PSS | padding.PKCS1v15 = PSS,
        partial: bool = False,
    ) -> x509.CertificateRevocationList:
        """Return what AMD publishes about keys that it takes back.

        Args:
            revoked: the certificates of these keys.
            at: when the list was made; without it, when the certificates begin.
            by: the signing key that signs it, if it is not the root.
            signature: the padding of the signature.
            partial: whether it says that it is about some certificates alone.
        """
        issuer, since = self._root if by is None else self._issuers[by], self.at if at is None else at
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(issuer.certificate.subject)
            .last_update(since)
            .next_update(since + LISTS_LAST)
        )
        for certificate in revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(certificate.serial_number).revocation_date(since)
            builder = builder.add_revoked_certificate(entry.build())
        if partial:
            scope = x509.IssuingDistributionPoint(None, None, False, False, None, False, True)
            builder = builder.add_extension(scope, critical=True)
        return builder.sign(issuer.key, hashes.SHA384(), rsa_padding=signature)

    def chip(self, seed: bytes) -> SimulatedChip:
        """Return a processor of this line; ``seed`` gives its id and keys."""
        return SimulatedChip(self, seed)

    def certify(
        self,
        kind: KeyKind,
        key: ec.EllipticCurvePublicKey,
        extensions: dict[str, bytes],
        lasting: timedelta = KEYS_LAST,
        name: str | None = None,
    ) -> x509.Certificate:
        """Return an endorsement key's certificate, which has the serial number 0 and does not say what it is for.

        Args:
            kind: which of the signing keys signs it.
            key: the key.
            extensions: what it says of the key, in DER, by OIDs.
            lasting: for how long it counts.
            name: whose it is, if not one of this kind.
        """
        builder = self._builder(name or f"SEV-{kind}", self._issuers[kind], lasting).serial_number(1).public_key(key)
        for oid, value in extensions.items():
            extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value)
            builder = builder.add_extension(extension, critical=False)
        issuer = self._issuers[kind].key
        return _with_serial_zero(builder.sign(issuer, hashes.SHA384(), rsa_padding=PSS), issuer)

    def _authority(self, name: str, issuer: _Issuer | None, serial: int, path_length: int | None = None) -> _Issuer:
        key = _authority_key(name, self._keys)
        usage = {"key_cert_sign": True, "crl_sign": issuer is None}
        others = dict.fromkeys(
            (
                "digital_signature",
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        builder = (
            self._builder(name, issuer, AUTHORITIES_LAST)
            .serial_number(serial)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(True, path_length), critical=True)
            .add_extension(x509.KeyUsage(**usage, **others), critical=True)
        )
        signer = key if issuer is None else issuer.key
        return _Issuer(builder.sign(signer, hashes.SHA384(), rsa_padding=PSS), key)

    def _builder(self, name: str, issuer: _Issuer | None, lasting: timedelta) -> x509.CertificateBuilder:
        subject = test_name(name)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if issuer is None else issuer.certificate.subject)
            .not_valid_before(self.at)
            .not_valid_after(self.at + lasting)
        )


def _with_serial_zero(certificate: x509.Certificate, issuer: rsa.RSAPrivateKey) -> x509.Certificate:
    """Return the certificate as AMD would number it, which the builder of certificates refuses to do."""
    der, signed = certificate.public_bytes(Encoding.DER), certificate.tbs_certificate_bytes
    assert signed.count(SERIAL_ONE) == 1
    changed = signed.replace(SERIAL_ONE, SERIAL_ONE[:-1] + b"\0")
    signature = issuer.sign(changed, PSS, hashes.SHA384())
    (renumbered,) = parse_certificates(der[: -len(signature)].replace(signed, changed) + signature)
    return renumbered


class SimulatedChip:
    """A processor that signs reports with its own key (VCEK) or one that was loaded for a cloud (VLEK)."""

    def __init__(self, amd: SimulatedAmd, seed: bytes) -> None:
        self.amd = amd
        self.product = amd.product
        self.hardware_id = derived(seed, "hardware id", HARDWARE_ID_BYTES[amd.product])
        self._seed = seed

    def endorsement(
        self,
        kind: KeyKind = KeyKind.VCEK,
        tcb: TcbVersion | None = None,
        *,
        changed: dict[str, bytes | None] | None = None,
        lasting: timedelta = KEYS_LAST,
    ) -> x509.Certificate:
        """Return the certificate of a key of this chip for a TCB.

        Args:
            kind: whose key it is.
            tcb: what it is derived for; without it, what the chips of this line run.
            changed: extensions with another value, or with none, by their OIDs.
            lasting: for how long it counts.
        """
        tcb = TCBS[self.product] if tcb is None else tcb
        found: dict[str, bytes | None] = {**self.extensions(kind, tcb), **(changed or {})}
        extensions = {oid: value for oid, value in found.items() if value is not None}
        return self.amd.certify(kind, self.key(kind, tcb), extensions, lasting)

    def key(self, kind: KeyKind = KeyKind.VCEK, tcb: TcbVersion | None = None) -> ec.EllipticCurvePublicKey:
        """Return the public part of a key of this chip for a TCB."""
        return self._key(kind, TCBS[self.product] if tcb is None else tcb).public_key()

    def report(self, report_data: bytes, version: int = VECTORS_SINCE, kind: KeyKind = KeyKind.VCEK) -> SnpReport:
        """Return what the firmware would say of an ordinary guest that asked with 64 bytes."""
        tcb = TCBS[self.product].encode()
        firmware = FirmwareVersion(1, 55, 49)
        vector = 0x3F if version >= VECTORS_SINCE else None
        masked = bytes(64) if kind is KeyKind.VLEK else self.hardware_id.ljust(64, b"\0")
        return SnpReport(
            version=version,
            guest_svn=2,
            policy=GuestPolicy(SMT_AND_RESERVED_ONE | 31),
            family_id=bytes(16),
            image_id=bytes(16),
            vmpl=0,
            current_tcb=tcb,
            platform=PlatformInfo(0x25),
            author_key_enabled=False,
            chip_key_masked=kind is KeyKind.VLEK,
            signing_key=SigningKey[kind.name],
            report_data=report_data,
            measurement=derived(self._seed, "measurement", 48),
            host_data=derived(self._seed, "host data", 32),
            id_key_digest=bytes(48),
            author_key_digest=bytes(48),
            report_id=derived(self._seed, "report id", 32),
            migration_agent_report_id=NO_AGENT,
            reported_tcb=tcb,
            cpuid=CPUIDS[self.product] if version >= CPUID_SINCE else None,
            chip_id=masked,
            committed_tcb=tcb,
            current_version=firmware,
            committed_version=firmware,
            launch_tcb=tcb,
            launch_mitigations=vector,
            current_mitigations=vector,
        )

    def sign(self, report: SnpReport, kind: KeyKind = KeyKind.VCEK, tcb: TcbVersion | None = None) -> bytes:
        """Return the report with the signature of this chip's key for a TCB."""
        return self.sign_bytes(encode_report(report), kind, tcb)

    def sign_bytes(self, signed: bytes, kind: KeyKind = KeyKind.VCEK, tcb: TcbVersion | None = None) -> bytes:
        """Return 672 bytes, which need be no report, with the signature of this chip's key for a TCB.

        Source: RFC 6979 (deterministic ECDSA).
        """
        key = self._key(kind, TCBS[self.product] if tcb is None else tcb)
        numbers = decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA384(), deterministic_signing=True)))
        fields = (number.to_bytes(NUMBER_BYTES, "little").ljust(SIGNATURE_FIELD, b"\0") for number in numbers)
        return signed + b"".join(fields) + bytes(TAIL_BYTES)

    def extensions(self, kind: KeyKind, tcb: TcbVersion) -> dict[str, bytes]:
        """Return what a certificate says of a key of this chip, in DER, by OIDs."""
        reserved = [place for place in RESERVED_PLACES if self.product is not Product.TURIN or place != 4]
        versions = {PLACES[part]: version for part, version in tcb.parts.items()} | dict.fromkeys(reserved, 0)
        found = {
            f"{ARC}.1": asn1.encode_der(STRUCTURES[self.product]),
            PRODUCT_NAME: asn1.encode_der(asn1.IA5String(PRODUCT_NAMES[self.product])),
        }
        found |= {f"{SECURITY_VERSIONS}.{place}": asn1.encode_der(version) for place, version in versions.items()}
        if kind is KeyKind.VCEK:
            return found | {HARDWARE_ID: self.hardware_id}
        return found | {CLOUD: asn1.encode_der(asn1.IA5String(TEST_CLOUD))}

    def _key(self, kind: KeyKind, tcb: TcbVersion) -> ec.EllipticCurvePrivateKey:
        return derived_key(self._seed, f"{kind} {tcb}", ec.SECP384R1())


def encode_report(report: SnpReport) -> bytes:
    """Return the 672 bytes that are signed."""
    flags = report.author_key_enabled | report.chip_key_masked << 1 | report.signing_key << 2
    cpuid = (0, 0, 0) if report.cpuid is None else (report.cpuid.family, report.cpuid.model, report.cpuid.stepping)
    vectors = report.launch_mitigations or 0, report.current_mitigations or 0
    encoded = b"".join(
        (
            report.version.to_bytes(4, "little"),
            report.guest_svn.to_bytes(4, "little"),
            report.policy.bits.to_bytes(8, "little"),
            report.family_id + report.image_id,
            report.vmpl.to_bytes(4, "little"),
            ECDSA_P384_SHA384.to_bytes(4, "little"),
            report.current_tcb,
            report.platform.bits.to_bytes(8, "little"),
            flags.to_bytes(8, "little"),
            report.report_data + report.measurement + report.host_data,
            report.id_key_digest + report.author_key_digest,
            report.report_id + report.migration_agent_report_id,
            report.reported_tcb,
            bytes(cpuid).ljust(24, b"\0"),
            report.chip_id + report.committed_tcb,
            _firmware(report.current_version) + _firmware(report.committed_version),
            report.launch_tcb,
            *(vector.to_bytes(8, "little") for vector in vectors),
        )
    )
    return encoded.ljust(SIGNED_BYTES, b"\0")


def _firmware(version: FirmwareVersion) -> bytes:
    return bytes((version.build, version.minor, version.major, 0))
