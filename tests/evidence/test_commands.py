"""``carnet attest`` on files as real machines and their tools write them: every form, and roots of one's own."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_check.cli import main
from carnet_ref.attestation.appraisal import AnchorRole, default_anchors
from carnet_ref.attestation.nvidia.report import device_evidence
from tests.fixtures import intel_evidence as intel
from tests.fixtures import nvidia_evidence as nvidia

pytestmark = pytest.mark.skipif(intel.FOLDER is None, reason=intel.MISSING)
H100 = f"{nvidia.TESTDATA}/test_raw_gpu_attestation_report.dat"
H100_CHAIN = f"{nvidia.TESTDATA}/test_gpu_attestation_certificate_chain.dat"
FORMS = {"raw": bytes, "hexadecimal": lambda data: data.hex().encode(), "base64": base64.encodebytes}


def real(path: str) -> str:
    assert intel.FOLDER is not None
    return str(Path(intel.FOLDER, path))


def attest(kind: str, *words: str) -> tuple[int, Any]:
    """Return the exit code and the JSON of ``carnet attest``."""
    result = CliRunner().invoke(main, ["attest", kind, *words, "--json"])
    return result.exit_code, json.loads(result.stdout)


def accepted(kind: str, *words: str) -> bool:
    code, found = attest(kind, *words)
    assert code == (0 if found["accepted"] else 1)
    return bool(found["accepted"])


@pytest.fixture
def forms(tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Write a real report and a real quote in each form, and return the paths."""
    given = {"gpu": nvidia.read(H100), "tdx": intel.read_quote(intel.CURRENT)}
    for name, form in FORMS.items():
        for kind, data in given.items():
            (tmp_path / f"{kind}-{name}").write_bytes(form(data))
    return {name: (str(tmp_path / f"gpu-{name}"), str(tmp_path / f"tdx-{name}")) for name in FORMS}


@pytest.mark.parametrize("form", FORMS)
def test_a_real_report_and_a_real_quote_are_accepted_in_each_form(forms: dict[str, tuple[str, str]], form: str) -> None:
    report, quote = forms[form]
    assert accepted("gpu", report, "--chain", real(H100_CHAIN), "--at", "2025-08-21T12:00:00Z")
    collateral = real(intel.CURRENT_COLLATERAL)
    assert accepted("tdx", quote, "--collateral", collateral, "--at", f"{intel.CURRENT_TIME:%Y-%m-%d}")


@pytest.mark.parametrize("case", [*intel.genuine()] if intel.FOLDER else [], ids=lambda case: case.name)
def test_every_genuine_quote_is_accepted_as_its_file_lies_there(case: intel.Case, tmp_path: Path) -> None:
    measurements = {name: [value.hex() for value in values] for name, values in case.policy.measurements}
    policy = {"require": sorted(case.policy.require), "measurements": measurements}
    (tmp_path / "policy").write_text(json.dumps(policy))
    words = [real(case.quote), "--at", case.at.isoformat(), "--policy", f"{tmp_path}/policy"]
    words += ["--collateral", real(case.collateral)] if case.collateral else []
    words += ["--event-log", real(case.event_log)] if case.event_log else []
    assert accepted("tdx", *words)


@pytest.mark.parametrize("bundle", nvidia.BUNDLES if nvidia.FOLDER else [], ids=lambda path: path.rpartition("/")[2])
def test_every_device_of_every_bundle_is_accepted(bundle: str) -> None:
    for place in range(len(device_evidence(nvidia.read(bundle)))):
        assert accepted("gpu", real(bundle), "--device", str(place), "--at", f"{nvidia.RIM_OCSP_TIME:%Y-%m-%d}")


def test_the_h100_with_everything_there_is_about_it_matches_33_of_33() -> None:
    given = [("--rim", path) for path in (nvidia.DRIVER_RIM, nvidia.VBIOS_RIM)]
    given += [("--ocsp", path) for path in nvidia.OCSP_REPLIES]
    words = [word for option, path in given for word in (option, real(path))]
    report, chain = (real(f"{nvidia.SAMPLES}/{name}.txt") for name in ("hopperAttestationReport", "hopperCertChain"))
    code, found = attest("gpu", report, "--chain", chain, *words, "--at", "2025-08-21T12:00:00Z")
    assert code == 0
    assert {"33 of 33 match"} <= {step["detail"] for step in found["steps"]}


@pytest.mark.parametrize("role", [AnchorRole.INTEL_SGX, AnchorRole.NVIDIA_DEVICE])
def test_a_given_root_replaces_every_default(tmp_path: Path, role: AnchorRole) -> None:
    (root,) = default_anchors().of(role)
    path = tmp_path / "root.pem"
    path.write_bytes(root.public_bytes(Encoding.PEM))
    anchor = ["--trust-anchor", str(path)]
    quote = [real(intel.CURRENT), "--at", f"{intel.CURRENT_TIME:%Y-%m-%d}"]
    report = [real(H100), "--chain", real(H100_CHAIN), "--at", f"{nvidia.OCSP_TIME:%Y-%m-%d}"]
    assert accepted("tdx", *quote, *anchor) == (role is AnchorRole.INTEL_SGX)
    assert accepted("gpu", *report, *anchor) == (role is AnchorRole.NVIDIA_DEVICE)


@pytest.mark.parametrize("path", [intel.CURRENT, intel.CURRENT_COLLATERAL, H100, H100_CHAIN])
def test_evidence_is_no_list_of_trust_anchors(path: str) -> None:
    """A quote carries certificates, a chain has the device's own: neither may vouch for itself."""
    code, found = attest("tdx", real(intel.CURRENT), "--trust-anchor", real(path))
    assert (code, found["error"]["kind"]) == (2, "usage")


@pytest.mark.parametrize(
    "path",
    [
        f"{intel.DATA}/snp/live-evidence-genoa.json",
        f"{intel.DATA}/nvidia_gpu/nras_gpu_x5c_chain.json",
        f"{nvidia.UNIT}/sample_attestation_data/hopperClaimsv3_detached_eat.json",
        intel.CURRENT_COLLATERAL,
    ],
)
@pytest.mark.parametrize("kind", ["gpu", "tdx"])
def test_json_of_another_kind_is_refused_at_parse(kind: str, path: str) -> None:
    code, found = attest(kind, real(path))
    assert (code, found["failed_step"]) == (1, "parse")
