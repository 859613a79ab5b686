"""A plain clone meets reality too: NVIDIA's sample report and signed RIMs, out of the wheel of its own verifier."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from carnet_ref.attestation.appraisal import AnchorRole, Appraisal, default_anchors
from carnet_ref.attestation.documents import decode
from carnet_ref.attestation.nvidia.appraisal import DEFAULT_POLICY, appraise_gpu
from carnet_ref.attestation.nvidia.report import parse_report
from carnet_ref.attestation.nvidia.rim import appraise_rim, parse_rim
from tests.fixtures.nvidia_pki import world
from tests.fixtures.own_environment import UnavailableError, samples

AT = datetime(2025, 8, 21, 12, tzinfo=UTC)
DEVICE = "478176379286082186618948445787393647364802107249"
RIM_SUFFIX = ".swidtag"


@pytest.fixture(scope="module")
def wheel() -> Mapping[str, bytes]:
    try:
        return samples()
    except UnavailableError as error:
        pytest.skip(str(error))


def appraised(wheel: Mapping[str, bytes], report: bytes | None = None, **changes: object) -> Appraisal:
    given = decode(wheel["hopperAttestationReport.txt"], "report") if report is None else report
    anchors = world().anchors if changes.get("test_roots") else default_anchors()
    rims = changes.get("rims", ())
    assert isinstance(rims, tuple)
    chain = wheel["hopperCertChain.txt"]
    return appraise_gpu(given, chain, at=AT, policy=DEFAULT_POLICY, anchors=anchors, rims=rims)


def test_nvidias_sample_report_is_accepted_under_its_own_root_and_reference_values(wheel: Mapping[str, bytes]) -> None:
    appraisal = appraised(wheel)
    assert appraisal.accepted
    assert (appraisal.claims["ueid"], appraisal.claims["driver_version"]) == (DEVICE, "550.90.07")
    assert appraised(wheel, test_roots=True).failed_step == "chain"
    appraisal = appraised(wheel, rims=(wheel["g520_0200_885_960074000D_PROD.swidtag"],))
    assert (appraisal.failed_step, appraisal.steps[-1].detail.startswith("version")) == ("vbios-rim", True)
    report = parse_report(decode(wheel["hopperAttestationReport.txt"], "report"))
    assert replace(report, opaque=()).driver_version is None
    assert (report.vbios_version, len(report.measurements), report.nvdec0_disabled) == ("96.00.9F.00.01", 64, True)


def test_changed_bytes_are_refused(wheel: Mapping[str, bytes]) -> None:
    report = decode(wheel["hopperAttestationReport.txt"], "report")
    for place in range(0, len(report), 101):
        changed = report[:place] + bytes([report[place] ^ 1]) + report[place + 1 :]
        assert appraised(wheel, changed).failed_step in {"parse", "signature"}
    assert appraised(wheel, report + b"\n").failed_step == "parse"
    assert appraised(wheel, report[:-1]).failed_step == "parse"


def test_every_rim_in_it_is_signed_by_nvidia(wheel: Mapping[str, bytes]) -> None:
    rims = {name: data for name, data in wheel.items() if name.endswith(RIM_SUFFIX)}
    root = default_anchors().of(AnchorRole.NVIDIA_RIM)
    for data in rims.values():
        signer = parse_rim(data).certificates[0]
        assert appraise_rim(data, at=signer.not_valid_before_utc, anchors=root).accepted
        late = signer.not_valid_after_utc + timedelta(seconds=1)
        assert appraise_rim(data, at=late, anchors=root).failed_step == "validity"
        changed = data.replace(b'active="True"', b'active="False"', 1)
        assert appraise_rim(changed, at=signer.not_valid_before_utc, anchors=root).failed_step == "signature"
    assert len(rims) > 20
