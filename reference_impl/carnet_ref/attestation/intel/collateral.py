"""What Intel publishes to judge a quote by: TCB info, the quoting enclave's identity, revocation lists.

Signatures of the two JSON documents are over the exact bytes of the value, so those bytes are kept as they came. The
file read here is one JSON object with the fields of `QuoteCollateral` that collateral services hand out.

Source: Intel SGX and TDX Provisioning Certification Service API, version 4; Intel SGX DCAP Quote Verification
Library, `sgx_ql_qve_collateral_t`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography import x509

from carnet_ref.attestation.documents import Document
from carnet_ref.attestation.intel.certificates import parse_issuer_chain
from carnet_ref.attestation.intel.tcb import (
    Level,
    ModuleIdentity,
    PlatformLevel,
    QeIdentity,
    SvnLevel,
    TcbInfo,
    TcbStatus,
)
from carnet_ref.attestation.revocation_lists import parse_crl
from carnet_ref.wire.reader import MalformedError

COMPONENTS: Final = 16
LARGEST_SVN: Final = 255
TCB_INFO_VERSION: Final = 3
TCB_TYPE: Final = 0
"""How levels are compared: the one way there is so far."""
PART_STATUSES: Final = frozenset({TcbStatus.UP_TO_DATE, TcbStatus.OUT_OF_DATE, TcbStatus.REVOKED})
"""What can be said of a TDX module or an enclave, which have no configuration."""
QE_IDENTITY_VERSION: Final = 2
PCK_CHAIN: Final = "pck_crl_issuer_chain"


@dataclass(frozen=True, slots=True)
class SignedDocument:
    """The exact bytes of a JSON value and the raw signature over them."""

    body: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Collateral:
    """Everything needed to judge the quotes of one kind of platform, as it was published.

    ``pck_crl_chain`` may be empty: quotes carry the certificate of who signs ``pck_crl``.
    """

    signed_tcb_info: SignedDocument
    tcb_info: TcbInfo
    tcb_info_chain: tuple[x509.Certificate, ...]
    signed_qe_identity: SignedDocument
    qe_identity: QeIdentity
    qe_identity_chain: tuple[x509.Certificate, ...]
    root_crl: x509.CertificateRevocationList
    pck_crl: x509.CertificateRevocationList
    pck_crl_chain: tuple[x509.Certificate, ...]


def parse_collateral(data: bytes) -> Collateral:
    """Read collateral.

    ``tcb_info`` and ``qe_identity`` are either the signed value with its ``…_signature`` beside it, or Intel's whole
    reply, which has both. ``pck_crl_issuer_chain`` may be empty.

    Raises:
        MalformedError: it is something else.
    """
    document = Document.parse(data, "collateral")
    tcb_info = _signed(document, "tcb_info", "tcbInfo")
    qe_identity = _signed(document, "qe_identity", "enclaveIdentity")
    return Collateral(
        tcb_info,
        parse_tcb_info(tcb_info.body),
        parse_issuer_chain(document.text("tcb_info_issuer_chain").encode()),
        qe_identity,
        parse_qe_identity(qe_identity.body),
        parse_issuer_chain(document.text("qe_identity_issuer_chain").encode()),
        parse_crl(document.octets("root_ca_crl")),
        parse_crl(document.octets("pck_crl")),
        parse_issuer_chain(pck_chain.encode()) if (pck_chain := document.text(PCK_CHAIN)) else (),
    )


def _signed(document: Document, name: str, key: str) -> SignedDocument:
    text = document.text(name).encode()
    if document.has(f"{name}_signature"):
        return SignedDocument(text, document.octets(f"{name}_signature", 64))
    return split_reply(text, key)


def split_reply(reply: bytes, key: str) -> SignedDocument:
    """Take Intel's reply ``{"KEY":{…},"signature":"…"}`` apart without changing a byte of the signed value.

    Raises:
        MalformedError: the reply is laid out in another way.
    """
    before, between = f'{{"{key}":'.encode(), b',"signature":"'
    text = reply.strip()
    body, found, rest = text.removeprefix(before).rpartition(between)
    if not text.startswith(before) or not found or not rest.endswith(b'"}'):
        raise MalformedError(f"{key} reply", f'{{"{key}":…,"signature":"…"}}', "another layout")
    signature = Document.parse(b'{"signature":"' + rest, f"{key} reply").octets("signature", 64)
    return SignedDocument(body, signature)


def parse_tcb_info(body: bytes) -> TcbInfo:
    """Read the TCB info of TDX platforms.

    Raises:
        MalformedError: it is something else, such as that of SGX.
    """
    document = Document.parse(body, "TCB info")
    _expect(document, "TDX", TCB_INFO_VERSION, "TCB info")
    if document.number("tcbType") != TCB_TYPE:
        raise MalformedError("TCB info", f"TCB type {TCB_TYPE}", f"{document.number('tcbType')}")
    return TcbInfo(
        fmspc=document.octets("fmspc", 6),
        pceid=document.octets("pceId", 2),
        issued=document.time("issueDate"),
        next_update=document.time("nextUpdate"),
        evaluation_number=document.number("tcbEvaluationDataNumber"),
        module=_module(document.document("tdxModule"), ""),
        module_identities=tuple(
            _module(entry, entry.text("id")) for entry in document.documents("tdxModuleIdentities")
        ),
        levels=tuple(_platform_level(entry) for entry in document.documents("tcbLevels")),
    )


def parse_qe_identity(body: bytes) -> QeIdentity:
    """Read the identity of the quoting enclave for TDs.

    Raises:
        MalformedError: it is something else, such as the identity of the enclave for SGX.
    """
    document = Document.parse(body, "QE identity")
    _expect(document, "TD_QE", QE_IDENTITY_VERSION, "QE identity")
    return QeIdentity(
        issued=document.time("issueDate"),
        next_update=document.time("nextUpdate"),
        evaluation_number=document.number("tcbEvaluationDataNumber"),
        miscselect=int.from_bytes(document.octets("miscselect", 4), "big"),
        miscselect_mask=int.from_bytes(document.octets("miscselectMask", 4), "big"),
        attributes=document.octets("attributes", 16),
        attributes_mask=document.octets("attributesMask", 16),
        mrsigner=document.octets("mrsigner", 32),
        isvprodid=document.number("isvprodid"),
        levels=_svn_levels(document),
    )


def _expect(document: Document, name: str, version: int, what: str) -> None:
    found = (document.text("id"), document.number("version"))
    if found != (name, version):
        raise MalformedError(what, f"id {name} of version {version}", f"id {found[0]} of version {found[1]}")


def _module(document: Document, name: str) -> ModuleIdentity:
    return ModuleIdentity(
        name,
        mrsigner=document.octets("mrsigner", 48),
        attributes=document.octets("attributes", 8),
        attributes_mask=document.octets("attributesMask", 8),
        levels=_svn_levels(document),
    )


def _svn_levels(document: Document) -> tuple[SvnLevel, ...]:
    return tuple(
        SvnLevel(entry.document("tcb").number("isvsvn"), _level(entry, PART_STATUSES))
        for entry in document.documents("tcbLevels")
    )


def _platform_level(document: Document) -> PlatformLevel:
    tcb = document.document("tcb")
    return PlatformLevel(
        sgx=_components(tcb, "sgxtcbcomponents"),
        tdx=_components(tcb, "tdxtcbcomponents"),
        pcesvn=tcb.number("pcesvn"),
        level=_level(document),
    )


def _components(document: Document, name: str) -> tuple[int, ...]:
    found = tuple(entry.number("svn") for entry in document.documents(name))
    if len(found) != COMPONENTS:
        raise MalformedError(f"TCB info: {name}", f"{COMPONENTS} components", f"{len(found)}")
    if max(found) > LARGEST_SVN:
        raise MalformedError(f"TCB info: {name}", f"security versions up to {LARGEST_SVN}", f"{max(found)}")
    return found


def _level(document: Document, statuses: frozenset[TcbStatus] = frozenset(TcbStatus)) -> Level:
    status = document.text("tcbStatus")
    if status not in statuses:
        raise MalformedError("TCB level", "a published status", repr(status)[:80])
    return Level(TcbStatus(status), document.time("tcbDate"), document.texts("advisoryIDs"))
