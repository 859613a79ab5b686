"""A simulated TDX platform: TDs that quote, and the collateral that a vendor would publish for it.

Certificate authorities keep the common names that Intel gives them, since appraisals ask for those; the organisation
is that of the tests. The quoting enclave has the identity of Intel's for the same reason.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.appraisal import AnchorRole, Anchors
from carnet_ref.attestation.intel import certificates, quote
from carnet_ref.attestation.intel.collateral import TD_QUOTING_ENCLAVE, TcbStatus
from carnet_ref.attestation.kinds import INTEL_QE_VENDOR
from carnet_ref.attestation.simulated.authority import Authority, Issued, derive_bytes, derived_key, revocation_list
from carnet_ref.crypto.primitives import sha256, sign_p256

ROOT: Final = "TEST root of simulated TDX platforms"
PCK_AUTHORITY: Final = "Intel SGX PCK Platform CA"
CERTIFICATES_LAST: Final = timedelta(days=3650)
COLLATERAL_LASTS: Final = timedelta(days=30)
MODULE: Final = (5, 1)  #: Security version and major version of the simulated TDX module: TDX_01.
COMPONENTS: Final = (3, 3, 2, 2, 4, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0)
PCESVN: Final = 13
QE_ISVSVN: Final = 4
SEPT_VE_DISABLE: Final = 1 << 28
DEBUG: Final = 1
XFAM: Final = bytes.fromhex("e702060000000000")
REGISTER: Final = 48


class SimulatedPlatform:
    """A machine whose processor makes TDX quotes, with its own test root.

    ``seed`` gives every key and number, ``at`` the time at which certificates and collateral begin.
    """

    def __init__(self, seed: bytes, at: datetime, fmspc: bytes = bytes.fromhex("70e501000000")) -> None:
        self.fmspc = fmspc
        self._seed = seed
        self._at = at
        authority = self._authority()
        self._root = authority.issue(ROOT, None, authority=True, path_length=1)
        self._issuer = authority.issue(PCK_AUTHORITY, self._root, authority=True, path_length=0)
        self._signing = authority.issue(certificates.TCB_SIGNING, self._root, authority=False)
        self._pck = self._certified()

    def sibling(self, seed: bytes) -> SimulatedPlatform:
        """Return another platform with the same authorities and collateral."""
        other = copy(self)
        other._seed = seed
        other._pck = other._certified()
        return other

    def _authority(self) -> Authority:
        return Authority(self._seed, ec.SECP256R1(), hashes.SHA256(), self._at, self._at + CERTIFICATES_LAST)

    def _certified(self) -> Issued:
        """Return the PCK certificate, of this platform's own key."""
        extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(certificates.SGX_EXTENSION), self._sgx_extension())
        name = certificates.PCK_CERTIFICATE
        return self._authority().issue(name, self._issuer, authority=False, extensions=[extension])

    @property
    def anchors(self) -> Anchors:
        """Trust anchors: this platform's test root only."""
        return Anchors({AnchorRole.INTEL_SGX: (self._root.certificate,)})

    @property
    def collateral(self) -> bytes:
        """The collateral of this platform: its TCB is up to date, and nothing is revoked."""
        return self.issue_collateral(self._at)

    @property
    def pck_chain(self) -> tuple[Issued, Issued, Issued]:
        """The certificates that quotes carry: platform, authority, root."""
        return self._pck, self._issuer, self._root

    @property
    def tcb_signer(self) -> Issued:
        """The certificate that signs the collateral."""
        return self._signing

    def td(
        self, mrtd: bytes = bytes(REGISTER), rtmrs: Sequence[bytes] = (bytes(REGISTER),) * 4, *, debug: bool = False
    ) -> SimulatedTd:
        """Return a TD on this platform with the given measurements, 48 bytes each."""
        return SimulatedTd(self, TdContents(mrtd, tuple(rtmrs), debug))

    def issue_collateral(
        self,
        at: datetime,
        *,
        status: TcbStatus = TcbStatus.UP_TO_DATE,
        advisories: Sequence[str] = (),
        revoked: Sequence[x509.Certificate] = (),
        lasting: timedelta = COLLATERAL_LASTS,
    ) -> bytes:
        """Return collateral issued at ``at``, in which this platform's TCB level has ``status`` and ``advisories``."""
        period = {"issueDate": _written(at), "nextUpdate": _written(at + lasting), "tcbEvaluationDataNumber": 1}
        tcb_info = _document(self._tcb_info(period, _level(self._at, status, advisories)))
        qe_identity = _document(
            {
                "id": "TD_QE",
                "version": 2,
                **period,
                "miscselect": bytes(4).hex(),
                "miscselectMask": "FF" * 4,
                "attributes": TD_QUOTING_ENCLAVE.attributes.hex(),
                "attributesMask": TD_QUOTING_ENCLAVE.attributes_mask.hex(),
                "mrsigner": TD_QUOTING_ENCLAVE.mrsigner.hex(),
                "isvprodid": TD_QUOTING_ENCLAVE.isvprodid,
                "tcbLevels": [{"tcb": {"isvsvn": QE_ISVSVN}, **_level(self._at, TcbStatus.UP_TO_DATE)}],
            }
        )
        chain = _pem(self._signing, self._root)
        root_crl = revocation_list(self._root, at, lasting, revoked)
        pck_crl = revocation_list(self._issuer, at, lasting, revoked)
        return _document(
            {
                "pck_crl_issuer_chain": _pem(self._issuer, self._root),
                "root_ca_crl": root_crl.public_bytes(Encoding.DER).hex(),
                "pck_crl": pck_crl.public_bytes(Encoding.DER).hex(),
                "tcb_info_issuer_chain": chain,
                "tcb_info": tcb_info.decode(),
                "tcb_info_signature": sign_p256(self._signing.key, tcb_info).hex(),
                "qe_identity_issuer_chain": chain,
                "qe_identity": qe_identity.decode(),
                "qe_identity_signature": sign_p256(self._signing.key, qe_identity).hex(),
            }
        )

    def sign_attestation_key(self, attestation_key: bytes, authentication: bytes) -> tuple[bytes, bytes]:
        """Return the quoting enclave's report that vouches for a key, 384 bytes, and the platform's signature."""
        report = b"".join(
            (
                bytes(16 + 4 + 28),  # CPUSVN, MISCSELECT, reserved
                TD_QUOTING_ENCLAVE.attributes,
                derive_bytes(self._seed, "MRENCLAVE", 32),
                bytes(32),
                TD_QUOTING_ENCLAVE.mrsigner,
                bytes(96),
                TD_QUOTING_ENCLAVE.isvprodid.to_bytes(2, "little"),
                QE_ISVSVN.to_bytes(2, "little"),
                bytes(60),
                sha256(attestation_key + authentication) + bytes(32),
            )
        )
        return report, sign_p256(self._pck.key, report)

    def attestation_key(self) -> ec.EllipticCurvePrivateKey:
        """Return the key with which the quoting enclave signs quotes."""
        return derived_key(self._seed, "attestation key", ec.SECP256R1())

    def _tcb_info(self, period: dict[str, object], level: dict[str, object]) -> dict[str, object]:
        module = {"mrsigner": bytes(48).hex(), "attributes": bytes(8).hex(), "attributesMask": "FF" * 8}
        module_level = {"tcb": {"isvsvn": MODULE[0]}, **_level(self._at, TcbStatus.UP_TO_DATE)}
        versions = {
            "sgxtcbcomponents": [{"svn": svn} for svn in COMPONENTS],
            "pcesvn": PCESVN,
            "tdxtcbcomponents": [{"svn": svn} for svn in (MODULE[0], 0, *bytes(14))],
        }
        return {
            "id": "TDX",
            "version": 3,
            **period,
            "fmspc": self.fmspc.hex(),
            "pceId": "0000",
            "tcbType": 0,
            "tdxModule": module,
            "tdxModuleIdentities": [{"id": f"TDX_{MODULE[1]:02X}", **module, "tcbLevels": [module_level]}],
            "tcbLevels": [{"tcb": versions, **level}],
        }

    def _sgx_extension(self) -> bytes:
        values = [*map(asn1.encode_der, (*COMPONENTS, PCESVN)), asn1.encode_der(bytes(COMPONENTS))]
        items = {
            field.name: _item(f"2.{place}", value)
            for place, (field, value) in enumerate(zip(fields(certificates.TcbSequence), values, strict=True), start=1)
        }
        tcb = certificates.TcbSequence(**items)
        return asn1.encode_der(
            certificates.SgxExtension(
                ppid=_item("1", asn1.encode_der(derive_bytes(self._seed, "PPID", 16))),
                tcb=_item("2", asn1.encode_der(tcb)),
                pceid=_item("3", asn1.encode_der(bytes(2))),
                fmspc=_item("4", asn1.encode_der(self.fmspc)),
                sgx_type=_item("5", b"\x0a\x01\x00"),  # ENUMERATED 0: standard
                platform_instance_id=None,
                configuration=None,
            )
        )


@dataclass(frozen=True, slots=True)
class TdContents:
    """The measurements of a TD (MRTD and RTMR0 to RTMR3, 48 bytes each), and whether its host may debug it."""

    mrtd: bytes
    rtmrs: tuple[bytes, ...]
    debug: bool


class SimulatedTd:
    """A TD on a simulated platform, which quotes any report data."""

    def __init__(self, platform: SimulatedPlatform, contents: TdContents) -> None:
        self._platform = platform
        self._contents = contents

    @property
    def collateral(self) -> bytes:
        """The collateral of the TD's platform."""
        return self._platform.collateral

    @property
    def anchors(self) -> Anchors:
        """Trust anchors: the test root of the TD's platform."""
        return self._platform.anchors

    def quote(self, report_data: bytes) -> bytes:
        """Return a quote of version 4 with this report data (64 bytes)."""
        assert len(report_data) == 64, "REPORTDATA has 64 bytes"
        key = self._platform.attestation_key()
        signed = _header() + self._report(report_data)
        point = certificates.raw_point(key.public_key())
        authentication = bytes(32)
        qe_report, qe_signature = self._platform.sign_attestation_key(point, authentication)
        chain = _pem(*self._platform.pck_chain).encode()
        certification = b"".join(
            (qe_report, qe_signature, len(authentication).to_bytes(2, "little"), authentication)
        ) + _certification(quote.PCK_CHAIN_CERTIFICATION, chain)
        signature = sign_p256(key, signed) + point + _certification(quote.QE_REPORT_CERTIFICATION, certification)
        return signed + len(signature).to_bytes(4, "little") + signature

    def _report(self, report_data: bytes) -> bytes:
        contents = self._contents
        attributes = SEPT_VE_DISABLE | (DEBUG if contents.debug else 0)
        body = b"".join(
            (
                bytes((*MODULE, 3)) + bytes(13),  # TEE_TCB_SVN
                bytes(48 + 48 + 8),  # MRSEAM, MRSIGNERSEAM, SEAMATTRIBUTES
                attributes.to_bytes(8, "little"),
                XFAM,
                contents.mrtd,
                bytes(3 * REGISTER),  # MRCONFIGID, MROWNER, MROWNERCONFIG
                *contents.rtmrs,
                report_data,
            )
        )
        assert len(body) == quote.BODY_BYTES[quote.BODY_TDX_10], "registers have 48 bytes each"
        return body


def _header() -> bytes:
    numbers = (4).to_bytes(2, "little") + quote.ECDSA_P256.to_bytes(2, "little") + quote.TEE_TDX.to_bytes(4, "little")
    return numbers + bytes(4) + INTEL_QE_VENDOR + bytes(20)


def _certification(kind: int, data: bytes) -> bytes:
    return kind.to_bytes(2, "little") + len(data).to_bytes(4, "little") + data


def _item(place: str, encoded: bytes) -> certificates.SgxItem:
    oid = x509.ObjectIdentifier(f"{certificates.SGX_EXTENSION}.{place}")
    return certificates.SgxItem(oid=oid, value=asn1.decode_der(asn1.TLV, encoded))


def _level(date: datetime, status: TcbStatus, advisories: Sequence[str] = ()) -> dict[str, object]:
    return {"tcbDate": _written(date), "tcbStatus": status.value, "advisoryIDs": list(advisories)}


def _written(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _document(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _pem(*chain: Issued) -> str:
    return b"".join(issued.certificate.public_bytes(Encoding.PEM) for issued in chain).decode()
