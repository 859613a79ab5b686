"""What Intel publishes to judge a quote by: TCB info, the quoting enclave's identity, revocation lists.

Signatures of the two JSON documents are over the exact bytes of the value, so those bytes are kept as they came. What
is read is one JSON object with the fields of `QuoteCollateral` that collateral services hand out, or each reply of
Intel's service in a file of its own, told by what is in it. Nothing is checked here: a file that is put in the wrong
place, or that belongs to another platform, is refused by the appraisal.

How up to date a platform is: Intel's published levels are matched against what the platform says it runs.

Source: Intel SGX and TDX Provisioning Certification Service API, version 4: "Get TDX TCB Info" and "Enclave Identity"
(with the procedures for determining a TCB status), "Get PCK Cert CRL", "Get Root CA CRL"; the issuer chains are headers
of the replies, percent-encoded. Intel SGX DCAP Quote Verification Library, `sgx_ql_qve_collateral_t`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from cryptography import x509

from carnet_ref.attestation.appraisal import Difference
from carnet_ref.attestation.documents import PEM, Document, decode
from carnet_ref.attestation.intel.certificates import PCK_AUTHORITIES, TCB_SIGNING, PlatformTcb, parse_issuer_chain
from carnet_ref.attestation.intel.quote import EnclaveReport, TdReport
from carnet_ref.attestation.kinds import kind_of
from carnet_ref.attestation.revocation_lists import PEM_LIST, RevocationList, crl_in_pem, parse_crl
from carnet_ref.crypto.certificate_path import TIME, common_name, only_common_name
from carnet_ref.wire import MalformedError


class TcbStatus(StrEnum):
    """Intel's status of a TCB level.

    The last two are said of no level. They follow where a TD was started on a platform that was out of date, and which
    no longer is: what was loaded then goes on running until the TD is started anew.
    """

    UP_TO_DATE = "UpToDate"
    SW_HARDENING_NEEDED = "SWHardeningNeeded"
    CONFIGURATION_NEEDED = "ConfigurationNeeded"
    CONFIGURATION_AND_SW_HARDENING_NEEDED = "ConfigurationAndSWHardeningNeeded"
    OUT_OF_DATE = "OutOfDate"
    OUT_OF_DATE_CONFIGURATION_NEEDED = "OutOfDateConfigurationNeeded"
    REVOKED = "Revoked"
    TD_RELAUNCH_ADVISED = "TDRelaunchAdvised"
    TD_RELAUNCH_ADVISED_CONFIGURATION_NEEDED = "TDRelaunchAdvisedConfigurationNeeded"


DERIVED_STATUSES: Final = frozenset({TcbStatus.TD_RELAUNCH_ADVISED, TcbStatus.TD_RELAUNCH_ADVISED_CONFIGURATION_NEEDED})
PUBLISHED_STATUSES: Final = frozenset(TcbStatus) - DERIVED_STATUSES
OUT_OF_DATE_STATUSES: Final = frozenset({TcbStatus.OUT_OF_DATE, TcbStatus.OUT_OF_DATE_CONFIGURATION_NEEDED})
CONFIGURATION_STATUSES: Final = frozenset(
    {
        TcbStatus.CONFIGURATION_NEEDED,
        TcbStatus.CONFIGURATION_AND_SW_HARDENING_NEEDED,
        TcbStatus.OUT_OF_DATE_CONFIGURATION_NEEDED,
    }
)


class Level(NamedTuple):
    """A TCB level that a platform reaches: its status, date and advisories."""

    status: TcbStatus
    date: datetime
    advisories: tuple[str, ...]


class PlatformLevel(NamedTuple):
    """The security versions of a platform level: 16 for SGX, 16 for TDX, and that of the PCE."""

    sgx: tuple[int, ...]
    tdx: tuple[int, ...]
    pcesvn: int
    level: Level
    #: What Intel calls the components of ``SGX`` and of ``TDX``, each empty where it does not say.
    names: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def name(self, kind: str, index: int) -> str:
        """Return Intel's name of a component; empty if it has none."""
        return self.names[kind][index] if kind in self.names else ""


class SvnLevel(NamedTuple):
    """The security version of a level of a TDX module or an enclave."""

    isvsvn: int
    level: Level


class ModuleIdentity(NamedTuple):
    """The published signer and attributes of a TDX module; ``id`` is empty for TDX 1.0."""

    id: str
    mrsigner: bytes
    attributes: bytes
    attributes_mask: bytes
    levels: tuple[SvnLevel, ...]


class TcbInfo(NamedTuple):
    """Intel's TCB information about the platforms with one FMSPC."""

    fmspc: bytes
    pceid: bytes
    issued: datetime
    next_update: datetime
    evaluation_number: int
    module: ModuleIdentity
    module_identities: tuple[ModuleIdentity, ...]
    levels: tuple[PlatformLevel, ...]


@dataclass(frozen=True, slots=True)
class EnclaveIdentity:
    """The identity of an enclave in any version: its signer, product id and attributes."""

    miscselect: int
    miscselect_mask: int
    attributes: bytes
    attributes_mask: bytes
    mrsigner: bytes
    isvprodid: int


#: Intel's quoting enclave for TDs. The attributes have DEBUG (bit 1) unset, and leave open whether MODE64BIT is set.
#:
#: Source: Intel PCS API, version 4, "Enclave Identity" of TDX. The replies that Intel signed from 2023-06-08 (TCB
#: evaluation data number 15) to 2026-03-16 (number 18) are the same in all of this.
TD_QUOTING_ENCLAVE: Final = EnclaveIdentity(
    miscselect=0,
    miscselect_mask=0xFFFFFFFF,
    attributes=bytes.fromhex("11000000000000000000000000000000"),
    attributes_mask=bytes.fromhex("fbffffffffffffff0000000000000000"),
    mrsigner=bytes.fromhex("dc9e2a7c6f948f17474e34a7fc43ed030f7c1563f1babddf6340c82e0e54a8c5"),
    isvprodid=2,
)


@dataclass(frozen=True, slots=True)
class QeIdentity(EnclaveIdentity):
    """The published identity and levels of the quoting enclave for TDs."""

    issued: datetime
    next_update: datetime
    evaluation_number: int
    levels: tuple[SvnLevel, ...]


class NoMatchError(ValueError):
    """A platform, TDX module or enclave matches no published level or identity."""


def platform_level(info: TcbInfo, tcb: PlatformTcb, report: TdReport) -> Level:
    """Return the first, and so highest, level whose security versions the platform all reaches.

    The first two bytes of TEE_TCB_SVN are left to the identity of the TDX module where it has one (TDX 1.5).

    Raises NoMatchError if the platform reaches none.
    """
    for entry in info.levels:
        if _is_reached(entry, tcb, report):
            return entry.level
    raise NoMatchError("the platform reaches no published TCB level")


def _is_reached(entry: PlatformLevel, tcb: PlatformTcb, report: TdReport) -> bool:
    first = 2 if report.tee_tcb_svn[1] > 0 else 0
    return (
        _reaches(tcb.components, entry.sgx)
        and tcb.pcesvn >= entry.pcesvn
        and _reaches(tuple(report.tee_tcb_svn[first:]), entry.tdx[first:])
    )


def _reaches(versions: Sequence[int], needed: Sequence[int]) -> bool:
    return all(version >= least for version, least in zip(versions, needed, strict=True))


def module_level(info: TcbInfo, report: TdReport) -> Level | None:
    """Return the level of the TDX module that measured the TD; ``None`` for TDX 1.0, whose platform level covers it.

    Raises NoMatchError if the module's version, signer or attributes are none that Intel publishes.
    """
    isvsvn, version = report.tee_tcb_svn[0], report.tee_tcb_svn[1]
    if version == 0:
        _check_module(info.module, report)
        return None
    name = f"TDX_{version:02X}"
    identity = next((identity for identity in info.module_identities if identity.id.upper() == name), None)
    if identity is None:
        raise NoMatchError(f"no TDX module identity {name} is published")
    _check_module(identity, report)
    return _svn_level(identity.levels, isvsvn, f"TDX module {name}")


def module_shortfall(info: TcbInfo, report: TdReport, accepts: Accepts) -> tuple[Difference, ...]:
    """Return how far the TDX module is behind the lowest accepted level."""
    name = f"TDX_{report.tee_tcb_svn[1]:02X}"
    identity = next((identity for identity in info.module_identities if identity.id.upper() == name), None)
    if identity is None:
        return ()
    return svn_shortfall(identity.levels, report.tee_tcb_svn[0], f"TDX module {name}", accepts)


def _check_module(identity: ModuleIdentity, report: TdReport) -> None:
    if report.mrsignerseam != identity.mrsigner:
        raise NoMatchError(f"MRSIGNERSEAM is {report.mrsignerseam.hex()}, published {identity.mrsigner.hex()}")
    if _masked(report.seam_attributes, identity.attributes_mask) != identity.attributes:
        raise NoMatchError(f"SEAMATTRIBUTES are {report.seam_attributes.hex()}, published {identity.attributes.hex()}")


def check_enclave(identity: EnclaveIdentity, report: EnclaveReport) -> None:
    """Check that a report is from an enclave with this identity. Raises NoMatchError if it is not."""
    if report.miscselect & identity.miscselect_mask != identity.miscselect:
        raise NoMatchError(f"MISCSELECT is {report.miscselect:#x}, published {identity.miscselect:#x}")
    if _masked(report.attributes, identity.attributes_mask) != identity.attributes:
        raise NoMatchError(f"ATTRIBUTES are {report.attributes.hex()}, published {identity.attributes.hex()}")
    if report.mrsigner != identity.mrsigner:
        raise NoMatchError(f"MRSIGNER is {report.mrsigner.hex()}, published {identity.mrsigner.hex()}")
    if report.isvprodid != identity.isvprodid:
        raise NoMatchError(f"ISVPRODID is {report.isvprodid}, published {identity.isvprodid}")


def qe_level(identity: QeIdentity, report: EnclaveReport) -> Level:
    """Return the level of the quoting enclave.

    Raises NoMatchError if it is not the enclave that Intel publishes, or is older than every version published.
    """
    check_enclave(identity, report)
    return _svn_level(identity.levels, report.isvsvn, "quoting enclave")


def _svn_level(levels: Sequence[SvnLevel], isvsvn: int, what: str) -> Level:
    level = next((entry.level for entry in levels if isvsvn >= entry.isvsvn), None)
    if level is None:
        raise NoMatchError(f"the {what} of version {isvsvn} reaches no published TCB level")
    return level


Accepts = Callable[[Level], bool]  #: Says whether a policy accepts a level.


def platform_shortfall(info: TcbInfo, tcb: PlatformTcb, report: TdReport, accepts: Accepts) -> tuple[Difference, ...]:
    """Return each component that is behind the lowest accepted level; empty if a level is reached, or none accepted."""
    first = 2 if report.tee_tcb_svn[1] > 0 else 0
    reached = next((entry for entry in info.levels if _is_reached(entry, tcb, report)), None)
    asked = [entry for entry in info.levels if accepts(entry.level)]
    if not asked or (reached is not None and accepts(reached.level)):
        return ()
    wanted = asked[-1]
    versions = [("SGX", index, each, wanted.sgx[index]) for index, each in enumerate(tcb.components)]
    versions += [
        ("TDX", index, each, wanted.tdx[index]) for index, each in enumerate(report.tee_tcb_svn) if index >= first
    ]
    behind = [
        _behind(f"{kind} TCB component {index}", wanted.name(kind, index), (found, least), reached, wanted)
        for kind, index, found, least in versions
        if found < least
    ]
    if tcb.pcesvn < wanted.pcesvn:
        behind.append(_behind("PCESVN", "", (tcb.pcesvn, wanted.pcesvn), reached, wanted))
    return tuple(behind)


def svn_shortfall(levels: Sequence[SvnLevel], isvsvn: int, what: str, accepts: Accepts) -> tuple[Difference, ...]:
    """Return how far a TDX module or enclave is behind the lowest accepted level; empty if it reaches one."""
    reached = next((entry for entry in levels if isvsvn >= entry.isvsvn), None)
    asked = [entry for entry in levels if accepts(entry.level)]
    if not asked or isvsvn >= asked[-1].isvsvn:
        return ()
    return (_behind(f"version of the {what}", "", (isvsvn, asked[-1].isvsvn), reached, asked[-1]),)


def _behind(
    what: str,
    called: str,
    versions: tuple[int, int],
    reached: PlatformLevel | SvnLevel | None,
    asked: PlatformLevel | SvnLevel,
) -> Difference:
    found, least = versions
    got = "reaches no level" if reached is None else f"reached that of {_level_in_words(reached.level)}"
    return Difference(
        what + (f" ({called})" if called else ""),
        f"{found}",
        (f"from {least}",),
        f"the level of {_level_in_words(asked.level)}; it {got}",
        {
            "component": what,
            "name": called or None,
            "value": found,
            "minimum": least,
            "level_reached": None if reached is None else _level_parts(reached.level),
            "level_asked": _level_parts(asked.level),
        },
    )


def _level_in_words(level: Level) -> str:
    return f"{level.date:%Y-%m-%d}, {level.status}"


def _level_parts(level: Level) -> dict[str, str]:
    return {"status": level.status.value, "date": f"{level.date:{TIME}}"}


def _masked(value: bytes, mask: bytes) -> bytes:
    return bytes(a & b for a, b in zip(value, mask, strict=True))


def combined_level(platform: Level, *others: Level | None) -> Level:
    """Return the combined status of platform, TDX module and quoting enclave, with all advisories.

    A part that is out of date makes the whole so; a revoked part revokes it.
    """
    parts = [other for other in others if other is not None]
    statuses = {part.status for part in (platform, *parts)}
    status = platform.status
    if TcbStatus.REVOKED in statuses:
        status = TcbStatus.REVOKED
    elif statuses & OUT_OF_DATE_STATUSES:
        needs_configuration = bool(statuses & CONFIGURATION_STATUSES)
        status = TcbStatus.OUT_OF_DATE_CONFIGURATION_NEEDED if needs_configuration else TcbStatus.OUT_OF_DATE
    else:
        status = max(statuses, key=list(TcbStatus).index)
    advisories = dict.fromkeys(advisory for part in (platform, *parts) for advisory in part.advisories)
    return Level(status, min(part.date for part in (platform, *parts)), tuple(advisories))


def of_two_moments(launch: Level, current: Level) -> Level:
    """Return the combined level of a platform at the TD's launch and now.

    Where the platform was out of date and no longer is, the TD should be started anew. Else the worse of both counts.

    Source: Intel confidential-computing.tee.dcap.qvl, commit d12717e3, ``TDRelaunchCheck.cpp``, ``checkForRelaunch``,
    which looks at the level now for nothing else.
    """
    whole = combined_level(launch, current)
    if launch.status not in OUT_OF_DATE_STATUSES or current.status in {*OUT_OF_DATE_STATUSES, TcbStatus.REVOKED}:
        return whole
    needs_configuration = bool({launch.status, current.status} & CONFIGURATION_STATUSES)
    advised, needed = TcbStatus.TD_RELAUNCH_ADVISED, TcbStatus.TD_RELAUNCH_ADVISED_CONFIGURATION_NEEDED
    return whole._replace(status=needed if needs_configuration else advised)


LONGEST_NAME: Final = 100
COMPONENTS: Final = 16
LARGEST_SVN: Final = 255
TCB_INFO_VERSION: Final = 3
TCB_TYPE: Final = 0  #: How levels are compared: the one way there is so far.
#: What can be said of a TDX module or an enclave, which have no configuration.
PART_STATUSES: Final = frozenset({TcbStatus.UP_TO_DATE, TcbStatus.OUT_OF_DATE, TcbStatus.REVOKED})
QE_IDENTITY_VERSION: Final = 2
PCK_CHAIN: Final = "pck_crl_issuer_chain"
REMEMBERED: Final = 16  #: How many documents of collateral are remembered: one counts for every platform of its kind.


class SignedDocument(NamedTuple):
    """The exact bytes of a JSON value, with the raw signature over them."""

    body: bytes
    signature: bytes


class Collateral(NamedTuple):
    """The published collateral for one kind of platform.

    ``pck_crl_chain`` may be empty: quotes carry the certificate of who signs ``pck_crl``.
    """

    signed_tcb_info: SignedDocument
    tcb_info: TcbInfo
    tcb_info_chain: tuple[x509.Certificate, ...]
    signed_qe_identity: SignedDocument
    qe_identity: QeIdentity
    qe_identity_chain: tuple[x509.Certificate, ...]
    root_crl: RevocationList
    pck_crl: RevocationList
    pck_crl_chain: tuple[x509.Certificate, ...]


@lru_cache(REMEMBERED)
def parse_collateral(data: bytes) -> Collateral:
    """Read collateral.

    ``tcb_info`` and ``qe_identity`` are either the signed value with its ``…_signature`` beside it, or Intel's whole
    reply, which has both. ``pck_crl_issuer_chain`` may be empty.

    Raises MalformedError if it is something else.
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
    """Return value and signature of Intel's reply ``{"KEY":{…},"signature":"…"}``, without changing a byte.

    Raises MalformedError if the reply is laid out in another way.
    """
    before, between = f'{{"{key}":'.encode(), b',"signature":"'
    text = reply.strip()
    body, found, rest = text.removeprefix(before).rpartition(between)
    if not text.startswith(before) or not found or not rest.endswith(b'"}'):
        raise MalformedError(f"{key} reply", f'{{"{key}":…,"signature":"…"}}', "another layout")
    signature = Document.parse(b'{"signature":"' + rest, f"{key} reply").octets("signature", 64)
    return SignedDocument(body, signature)


def parse_tcb_info(body: bytes) -> TcbInfo:
    """Read the TCB info of TDX platforms. Raises MalformedError if it is something else, such as that of SGX."""
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

    Raises MalformedError if it is something else, such as the identity of the enclave for SGX.
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
        names={"SGX": _names(tcb, "sgxtcbcomponents"), "TDX": _names(tcb, "tdxtcbcomponents")},
    )


def _names(document: Document, name: str) -> tuple[str, ...]:
    """Return what Intel calls each component: its category and its type, as far as they are there."""
    words = [[entry.text(key) for key in ("category", "type") if entry.has(key)] for entry in document.documents(name)]
    return tuple(": ".join(filter(None, each))[:LONGEST_NAME] for each in words)


def _components(document: Document, name: str) -> tuple[int, ...]:
    found = tuple(entry.number("svn") for entry in document.documents(name))
    if len(found) != COMPONENTS:
        raise MalformedError(f"TCB info: {name}", f"{COMPONENTS} components", f"{len(found)}")
    if max(found) > LARGEST_SVN:
        raise MalformedError(f"TCB info: {name}", f"security versions up to {LARGEST_SVN}", f"{max(found)}")
    return found


def _level(document: Document, statuses: frozenset[TcbStatus] = PUBLISHED_STATUSES) -> Level:
    status = document.text("tcbStatus")
    if status not in statuses:
        raise MalformedError("TCB level", "a published status", repr(status)[:80])
    return Level(TcbStatus(status), document.time("tcbDate"), document.texts("advisoryIDs"))


WHAT: Final = "collateral"
EXPECTED: Final = "a reply of Intel's service: TCB info, QE identity, a revocation list or an issuer chain in PEM"
PERCENT_PEM: Final = b"-----BEGIN%20"
#: What has to be there, by its name in the JSON object; the chain of the PCK authority may be, since quotes have it.
PARTS: Final = {
    "tcb_info": "the TCB info",
    "qe_identity": "the identity of the quoting enclave",
    "tcb_info_issuer_chain": "the issuer chain of the TCB info and the identity",
    "root_ca_crl": "the revocation list of the root",
    "pck_crl": "the revocation list of the PCK authority",
}


def collateral_of(files: Sequence[bytes]) -> bytes:
    """Return collateral as one JSON object, out of one file that is such an object, or of one file for each part.

    A part may come twice if it is the same, byte for byte.

    Raises MalformedError if a file is something else, a part is missing, or two files differ about the same part.
    """
    if len(files) == 1 and files[0].lstrip()[:1] == b"{" and not _reply_kind(files[0]):
        return files[0]
    found: dict[str, str] = {}
    for data in files:
        name, text = _part(data)
        if found.setdefault(name, text) != text:
            raise MalformedError(WHAT, f"one file for {PARTS.get(name, 'the issuer chain of PCK lists')}", "two")
    missing = [what for name, what in PARTS.items() if name not in found]
    if missing:
        raise MalformedError(WHAT, ", ".join(PARTS.values()), f"{len(files)} files without {', '.join(missing)}")
    chains = {"qe_identity_issuer_chain": found["tcb_info_issuer_chain"], PCK_CHAIN: found.get(PCK_CHAIN, "")}
    return json.dumps({**found, **chains}).encode()


def _reply_kind(data: bytes) -> str | None:
    """Return which of Intel's two signed replies a JSON text is, if any."""
    document = Document.parse(data, WHAT)
    kinds = {"tcbInfo": "tcb_info", "enclaveIdentity": "qe_identity"}
    return next((name for key, name in kinds.items() if document.has(key)), None)


def _part(data: bytes) -> tuple[str, str]:
    """Return which part a file is, and what stands for it in the JSON object."""
    if data.lstrip()[:1] in (b"{", b"["):
        name = _reply_kind(data) if data.lstrip()[:1] == b"{" else None
        if name is None:
            raise MalformedError(WHAT, EXPECTED, kind_of(data))
        return name, data.decode()
    text = unquote_to_bytes(data.strip()) if data.lstrip().startswith(PERCENT_PEM) else data
    if text.lstrip().startswith(PEM_LIST):
        return _list(crl_in_pem(text))
    if text.lstrip().startswith(PEM):
        subject = common_name(parse_issuer_chain(text)[0])
        if subject != TCB_SIGNING and subject not in PCK_AUTHORITIES:
            raise MalformedError(WHAT, EXPECTED, f"certificates that begin with {subject!r}")
        return "tcb_info_issuer_chain" if subject == TCB_SIGNING else PCK_CHAIN, text.decode("ascii", "replace")
    der = decode(text, WHAT)
    if der[:1] != b"\x30":
        raise MalformedError(WHAT, EXPECTED, kind_of(data))
    return _list(der)


def _list(der: bytes) -> tuple[str, str]:
    issuer = only_common_name(parse_crl(der).issuer)
    return "pck_crl" if issuer in PCK_AUTHORITIES else "root_ca_crl", der.hex()
