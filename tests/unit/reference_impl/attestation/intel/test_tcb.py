"""TCB levels: the highest that every version reaches, and the worst of platform, module and enclave."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from carnet_ref.attestation.intel.certificates import PlatformTcb
from carnet_ref.attestation.intel.collateral import (
    Level,
    ModuleIdentity,
    NoMatchError,
    PlatformLevel,
    QeIdentity,
    SvnLevel,
    TcbInfo,
    TcbStatus,
    combined,
    module_level,
    platform_level,
    qe_level,
)
from carnet_ref.attestation.intel.quote import parse_quote
from tests.fixtures.simulated_quotes import NOW, QUOTE

S = TcbStatus
REPORT = replace(parse_quote(QUOTE).report, tee_tcb_svn=bytes((5, 1, 3)) + bytes(13))
REPORT_1_0 = replace(REPORT, tee_tcb_svn=bytes((5, 0, 3)) + bytes(13))
ENCLAVE = parse_quote(QUOTE).signature.qe_report
TCB = PlatformTcb((4,) * 16, 10)


def level(status: TcbStatus = S.UP_TO_DATE, *advisories: str, date: datetime = NOW) -> Level:
    return Level(status, date, advisories)


def platform(sgx: int, tdx: tuple[int, int, int], pcesvn: int, status: TcbStatus) -> PlatformLevel:
    return PlatformLevel((sgx,) * 16, (*tdx, *bytes(13)), pcesvn, level(status))


MODULE = ModuleIdentity("", bytes(48), bytes(8), b"\xff" * 8, ())
IDENTITY = replace(
    MODULE, id="TDX_01", levels=(SvnLevel(5, level(S.UP_TO_DATE)), SvnLevel(2, level(S.OUT_OF_DATE, "SA-1")))
)
INFO = TcbInfo(bytes(6), bytes(2), NOW, NOW, 1, MODULE, (IDENTITY,), ())


@pytest.mark.parametrize(
    ("first", "reached"),
    [
        (platform(4, (5, 0, 3), 10, S.UP_TO_DATE), True),
        (platform(3, (0, 0, 0), 9, S.UP_TO_DATE), True),
        (platform(5, (5, 0, 3), 10, S.UP_TO_DATE), False),
        (platform(4, (5, 0, 3), 11, S.UP_TO_DATE), False),
        (platform(4, (5, 0, 4), 10, S.UP_TO_DATE), False),
        (platform(4, (9, 0, 3), 10, S.UP_TO_DATE), True),
        (platform(4, (5, 9, 3), 10, S.UP_TO_DATE), True),
    ],
    ids=["equal", "above", "SGX version", "PCESVN", "TDX version", "module's SVN is its own", "module's version too"],
)
def test_a_platform_reaches_a_level_when_every_version_does(first: PlatformLevel, reached: bool) -> None:
    info = replace(INFO, levels=(first, platform(0, (0, 0, 0), 0, S.OUT_OF_DATE)))
    assert platform_level(info, TCB, REPORT).status == (S.UP_TO_DATE if reached else S.OUT_OF_DATE)


@pytest.mark.parametrize(("needed", "reached"), [((5, 0, 3), True), ((6, 0, 3), False), ((5, 1, 3), False)])
def test_with_tdx_1_0_all_tdx_versions_count(needed: tuple[int, int, int], reached: bool) -> None:
    info = replace(INFO, levels=(platform(4, needed, 10, S.UP_TO_DATE), platform(0, (0, 0, 0), 0, S.OUT_OF_DATE)))
    assert (platform_level(info, TCB, REPORT_1_0).status is S.UP_TO_DATE) == reached


def test_a_platform_below_every_level_matches_none() -> None:
    with pytest.raises(NoMatchError):
        platform_level(replace(INFO, levels=(platform(9, (0, 0, 0), 0, S.OUT_OF_DATE),)), TCB, REPORT)


@pytest.mark.parametrize(("svn", "status"), [(9, S.UP_TO_DATE), (5, S.UP_TO_DATE), (4, S.OUT_OF_DATE)])
def test_a_module_has_the_highest_level_that_it_reaches(svn: int, status: TcbStatus) -> None:
    report = replace(REPORT, tee_tcb_svn=bytes((svn, 1)) + bytes(14))
    found = module_level(INFO, report)
    assert found is not None
    assert found.status is status


def test_the_module_of_tdx_1_0_has_no_level_of_its_own() -> None:
    assert module_level(INFO, REPORT_1_0) is None


@pytest.mark.parametrize(
    "report",
    [
        replace(REPORT, tee_tcb_svn=bytes((5, 2)) + bytes(14)),
        replace(REPORT, tee_tcb_svn=bytes((1, 1)) + bytes(14)),
        replace(REPORT, mrsignerseam=b"x" * 48),
        replace(REPORT, seam_attributes=b"\1" + bytes(7)),
        replace(REPORT_1_0, mrsignerseam=b"x" * 48),
        replace(REPORT_1_0, seam_attributes=b"\1" + bytes(7)),
    ],
    ids=["other version", "old", "other signer", "attributes", "TDX 1.0, other signer", "TDX 1.0, attributes"],
)
def test_a_module_that_is_not_published_matches_nothing(report: object) -> None:
    with pytest.raises(NoMatchError):
        module_level(INFO, report)  # type: ignore[arg-type]  # the rows are reports


QE = QeIdentity(
    issued=NOW,
    next_update=NOW,
    evaluation_number=1,
    miscselect=0,
    miscselect_mask=0xFFFFFFFF,
    attributes=ENCLAVE.attributes,
    attributes_mask=b"\xff" * 16,
    mrsigner=ENCLAVE.mrsigner,
    isvprodid=ENCLAVE.isvprodid,
    levels=(SvnLevel(4, level(S.UP_TO_DATE)), SvnLevel(1, level(S.REVOKED))),
)


@pytest.mark.parametrize(("svn", "status"), [(5, S.UP_TO_DATE), (4, S.UP_TO_DATE), (3, S.REVOKED)])
def test_an_enclave_has_the_highest_level_that_it_reaches(svn: int, status: TcbStatus) -> None:
    assert qe_level(QE, replace(ENCLAVE, isvsvn=svn)).status is status


@pytest.mark.parametrize(
    "report",
    [
        replace(ENCLAVE, isvsvn=0),
        replace(ENCLAVE, miscselect=1),
        replace(ENCLAVE, attributes=b"\2" + ENCLAVE.attributes[1:]),
        replace(ENCLAVE, mrsigner=bytes(32)),
        replace(ENCLAVE, isvprodid=1),
    ],
    ids=["old", "MISCSELECT", "ATTRIBUTES", "MRSIGNER", "ISVPRODID"],
)
def test_an_enclave_that_is_not_published_matches_nothing(report: object) -> None:
    with pytest.raises(NoMatchError):
        qe_level(QE, report)  # type: ignore[arg-type]  # the rows are reports


def test_bits_outside_the_mask_do_not_count() -> None:
    masked = replace(QE, attributes=bytes(16), attributes_mask=bytes(16), miscselect_mask=0)
    assert qe_level(masked, replace(ENCLAVE, miscselect=7)).status is S.UP_TO_DATE


@pytest.mark.parametrize(
    ("platform_status", "other", "together"),
    [
        (S.UP_TO_DATE, S.UP_TO_DATE, S.UP_TO_DATE),
        (S.UP_TO_DATE, S.OUT_OF_DATE, S.OUT_OF_DATE),
        (S.SW_HARDENING_NEEDED, S.OUT_OF_DATE, S.OUT_OF_DATE),
        (S.CONFIGURATION_NEEDED, S.OUT_OF_DATE, S.OUT_OF_DATE_CONFIGURATION_NEEDED),
        (S.CONFIGURATION_AND_SW_HARDENING_NEEDED, S.OUT_OF_DATE, S.OUT_OF_DATE_CONFIGURATION_NEEDED),
        (S.OUT_OF_DATE, S.UP_TO_DATE, S.OUT_OF_DATE),
        (S.OUT_OF_DATE_CONFIGURATION_NEEDED, S.OUT_OF_DATE, S.OUT_OF_DATE_CONFIGURATION_NEEDED),
        (S.SW_HARDENING_NEEDED, S.UP_TO_DATE, S.SW_HARDENING_NEEDED),
        (S.UP_TO_DATE, S.REVOKED, S.REVOKED),
        (S.REVOKED, S.UP_TO_DATE, S.REVOKED),
        (S.OUT_OF_DATE, S.REVOKED, S.REVOKED),
    ],
)
def test_platform_and_parts_have_the_status_of_the_worst(
    platform_status: TcbStatus, other: TcbStatus, together: TcbStatus
) -> None:
    assert combined(level(platform_status), None, level(other)).status is together


def test_advisories_of_all_parts_are_kept_once_and_the_oldest_date_counts() -> None:
    older = datetime(2020, 1, 1, tzinfo=UTC)
    found = combined(level(S.UP_TO_DATE, "A", "B"), level(S.UP_TO_DATE, "B", "C", date=older), None)
    assert (found.advisories, found.date) == (("A", "B", "C"), older)
