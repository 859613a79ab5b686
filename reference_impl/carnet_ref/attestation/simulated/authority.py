"""Test authorities: keys derived from a seed, and the certificates and revocation lists that they sign."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from carnet_ref.crypto.primitives import hkdf_sha384

TEST: Final = "Carnet TEST"  #: The organisation in every name made here.
NO_END: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
#: Source: NIST SP 800-186, sections 3.2.1.3 and 3.2.1.4.
_ORDERS: Final = {
    "secp256r1": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    "secp384r1": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
}


def derive_bytes(seed: bytes, label: str, length: int) -> bytes:
    """Return pseudorandom bytes, determined by a seed and a label."""
    return hkdf_sha384(seed, b"carnet simulated hardware", label.encode(), length)


def derived_key(seed: bytes, label: str, curve: ec.EllipticCurve) -> ec.EllipticCurvePrivateKey:
    """Return a private key, determined by a seed and a label.

    Source: FIPS 186-5, A.2.1 (more bits than needed, reduced).
    """
    number = int.from_bytes(derive_bytes(seed, f"key {label}", 64), "big")
    return ec.derive_private_key(number % (_ORDERS[curve.name] - 1) + 1, curve)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate with its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    hash: hashes.SHA256 | hashes.SHA384


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority of one simulated vendor."""

    seed: bytes
    curve: ec.EllipticCurve
    hash: hashes.SHA256 | hashes.SHA384
    start: datetime
    end: datetime

    def issue(
        self,
        name: str,
        issuer: Issued | None,
        *,
        authority: bool,
        path_length: int | None = None,
        extensions: Sequence[x509.ExtensionType] = (),
    ) -> Issued:
        """Return a certificate for ``name``, by ``issuer`` or, without one, by itself."""
        key = derived_key(self.seed, name, self.curve)
        subject = test_name(name)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if issuer is None else issuer.certificate.subject)
            .public_key(key.public_key())
            .serial_number(int.from_bytes(derive_bytes(self.seed, f"serial {name}", 19), "big") + 1)
            .not_valid_before(self.start)
            .not_valid_after(self.end)
            .add_extension(x509.BasicConstraints(authority, path_length), critical=True)
            .add_extension(_usage(authority), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        signer = key if issuer is None else issuer.key
        above = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        builder = builder.add_extension(above, critical=False)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return Issued(builder.sign(signer, self.hash, ecdsa_deterministic=True), key, self.hash)


def test_name(name: str) -> x509.Name:
    """Return a certificate name that cannot be mistaken for a vendor's."""
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, TEST), x509.NameAttribute(NameOID.COMMON_NAME, name)]
    )


def _usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def revocation_list(
    issuer: Issued, start: datetime, lasting: timedelta, revoked: Sequence[x509.Certificate]
) -> x509.CertificateRevocationList:
    """Return a signed revocation list with the certificates in ``revoked``."""
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(issuer.certificate.subject)
        .last_update(start)
        .next_update(start + lasting)
        .add_extension(x509.CRLNumber(1), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()), critical=False)
    )
    for certificate in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(certificate.serial_number).revocation_date(start)
        builder = builder.add_revoked_certificate(entry.build())
    return builder.sign(issuer.key, issuer.hash, ecdsa_deterministic=True)
