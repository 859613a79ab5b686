"""How up to date a platform is: Intel's published levels, matched against what the platform says it runs.

Source: Intel SGX and TDX Provisioning Certification Service API, version 4, "Get TDX TCB Info" and
"Enclave Identity" (the procedures for determining a TCB status).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from carnet_ref.attestation.intel.certificates import PlatformTcb
from carnet_ref.attestation.intel.quote import EnclaveReport, TdReport


class TcbStatus(StrEnum):
    """What Intel says of a TCB level."""

    UP_TO_DATE = "UpToDate"
    SW_HARDENING_NEEDED = "SWHardeningNeeded"
    CONFIGURATION_NEEDED = "ConfigurationNeeded"
    CONFIGURATION_AND_SW_HARDENING_NEEDED = "ConfigurationAndSWHardeningNeeded"
    OUT_OF_DATE = "OutOfDate"
    OUT_OF_DATE_CONFIGURATION_NEEDED = "OutOfDateConfigurationNeeded"
    REVOKED = "Revoked"


CONFIGURATION_STATUSES: Final = frozenset(
    {
        TcbStatus.CONFIGURATION_NEEDED,
        TcbStatus.CONFIGURATION_AND_SW_HARDENING_NEEDED,
        TcbStatus.OUT_OF_DATE_CONFIGURATION_NEEDED,
    }
)


@dataclass(frozen=True, slots=True)
class Level:
    """What holds of whoever reaches a TCB level."""

    status: TcbStatus
    date: datetime
    advisories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlatformLevel:
    """The security versions a platform needs for a level: 16 for SGX, 16 for TDX, and that of the PCE."""

    sgx: tuple[int, ...]
    tdx: tuple[int, ...]
    pcesvn: int
    level: Level


@dataclass(frozen=True, slots=True)
class SvnLevel:
    """The one security version that a TDX module or an enclave needs for a level."""

    isvsvn: int
    level: Level


@dataclass(frozen=True, slots=True)
class ModuleIdentity:
    """Who signed a TDX module and which attributes it may have: ``id`` is empty for the module of TDX 1.0."""

    id: str
    mrsigner: bytes
    attributes: bytes
    attributes_mask: bytes
    levels: tuple[SvnLevel, ...]


@dataclass(frozen=True, slots=True)
class TcbInfo:
    """What Intel publishes for the platforms of one FMSPC."""

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
    """Which enclave one is, of whatever version: who signed it, which product it is, and what it may do."""

    miscselect: int
    miscselect_mask: int
    attributes: bytes
    attributes_mask: bytes
    mrsigner: bytes
    isvprodid: int


TD_QUOTING_ENCLAVE: Final = EnclaveIdentity(
    miscselect=0,
    miscselect_mask=0xFFFFFFFF,
    attributes=bytes.fromhex("11000000000000000000000000000000"),
    attributes_mask=bytes.fromhex("fbffffffffffffff0000000000000000"),
    mrsigner=bytes.fromhex("dc9e2a7c6f948f17474e34a7fc43ed030f7c1563f1babddf6340c82e0e54a8c5"),
    isvprodid=2,
)
"""Intel's quoting enclave for TDs. The attributes have DEBUG (bit 1) unset, and leave open whether MODE64BIT is set.

Source: Intel PCS API, version 4, "Enclave Identity" of TDX. The replies that Intel signed from 2023-06-08 (TCB
evaluation data number 15) to 2026-03-16 (number 18) are the same in all of this.
"""


@dataclass(frozen=True, slots=True)
class QeIdentity(EnclaveIdentity):
    """What Intel publishes of the quoting enclave for TDs."""

    issued: datetime
    next_update: datetime
    evaluation_number: int
    levels: tuple[SvnLevel, ...]


class NoMatchError(ValueError):
    """A platform, a TDX module or an enclave that the published levels do not speak of."""


def platform_level(info: TcbInfo, tcb: PlatformTcb, report: TdReport) -> Level:
    """Return the first, which is the highest, level whose every security version the platform reaches.

    The first two TDX versions are left to the identity of the TDX module where the module has one (TDX 1.5).

    Raises:
        NoMatchError: the platform reaches none.
    """
    first = 2 if report.tee_tcb_svn[1] > 0 else 0
    for entry in info.levels:
        if (
            _reaches(tcb.components, entry.sgx)
            and tcb.pcesvn >= entry.pcesvn
            and _reaches(tuple(report.tee_tcb_svn[first:]), entry.tdx[first:])
        ):
            return entry.level
    raise NoMatchError("the platform reaches no published TCB level")


def _reaches(versions: Sequence[int], needed: Sequence[int]) -> bool:
    return all(version >= least for version, least in zip(versions, needed, strict=True))


def module_level(info: TcbInfo, report: TdReport) -> Level | None:
    """Return the level of the TDX module that measured the TD; ``None`` for TDX 1.0, whose platform level covers it.

    Raises:
        NoMatchError: the module's version, signer or attributes are none that Intel publishes.
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


def _check_module(identity: ModuleIdentity, report: TdReport) -> None:
    if report.mrsignerseam != identity.mrsigner:
        raise NoMatchError(f"MRSIGNERSEAM is {report.mrsignerseam.hex()}, published {identity.mrsigner.hex()}")
    if _masked(report.seam_attributes, identity.attributes_mask) != identity.attributes:
        raise NoMatchError(f"SEAMATTRIBUTES are {report.seam_attributes.hex()}, published {identity.attributes.hex()}")


def check_enclave(identity: EnclaveIdentity, report: EnclaveReport) -> None:
    """Insist that a report is of an enclave.

    Raises:
        NoMatchError: it is of another.
    """
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

    Raises:
        NoMatchError: it is not the enclave that Intel publishes, or is older than every version published.
    """
    check_enclave(identity, report)
    return _svn_level(identity.levels, report.isvsvn, "quoting enclave")


def _svn_level(levels: Sequence[SvnLevel], isvsvn: int, what: str) -> Level:
    level = next((entry.level for entry in levels if isvsvn >= entry.isvsvn), None)
    if level is None:
        raise NoMatchError(f"the {what} of version {isvsvn} reaches no published TCB level")
    return level


def _masked(value: bytes, mask: bytes) -> bytes:
    return bytes(a & b for a, b in zip(value, mask, strict=True))


def combined(platform: Level, *others: Level | None) -> Level:
    """Return the status of a platform together with its TDX module and quoting enclave, and all their advisories.

    A part that is out of date makes the whole so; a revoked part revokes it.
    """
    parts = [other for other in others if other is not None]
    statuses = {part.status for part in (platform, *parts)}
    out_of_date = {TcbStatus.OUT_OF_DATE, TcbStatus.OUT_OF_DATE_CONFIGURATION_NEEDED}
    status = platform.status
    if TcbStatus.REVOKED in statuses:
        status = TcbStatus.REVOKED
    elif statuses & out_of_date:
        needs_configuration = bool(statuses & CONFIGURATION_STATUSES)
        status = TcbStatus.OUT_OF_DATE_CONFIGURATION_NEEDED if needs_configuration else TcbStatus.OUT_OF_DATE
    else:
        status = max(statuses, key=list(TcbStatus).index)
    advisories = dict.fromkeys(advisory for part in (platform, *parts) for advisory in part.advisories)
    return Level(status, min(part.date for part in (platform, *parts)), tuple(advisories))
