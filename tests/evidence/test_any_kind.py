"""Real files of sixteen kinds: one command says what each is, whether it is good, and what is missing."""

import json

import pytest

from tests.evidence.test_documents import AZURE, DSTACK, real
from tests.fixtures import intel_evidence as intel
from tests.fixtures import nvidia_evidence as nvidia
from tests.fixtures import snp_evidence as snp
from tests.fixtures.command_words import attest

pytestmark = pytest.mark.skipif(intel.FOLDER is None, reason=intel.MISSING)
AT = "2026-06-01"
NRAS = f"{nvidia.UNIT}/sample_attestation_data/hopperClaimsv3_detached_eat.json"
FILES: list[tuple[str, int, list[str], str, list[str]]] = [
    # file; exit code, what is said of it, the step that refuses it, some of what is missing for more
    (
        nvidia.BUNDLES[0],
        1,
        ["a list of devices as NVIDIA's SDKs write it", "driver 590.12, VBIOS 96.00.A5.00.01", "GH100 gpu"],
        "policy",
        ["evidence"],
    ),
    (nvidia.BUNDLES[-1], 0, ["the objects of NVIDIA's Python verifier", "GH100 gpu"], "", ["rim", "ocsp", "nonce"]),
    (nvidia.DRIVER_RIM, 0, ["XML, such as NVIDIA's reference values", "driver 550.90.07", "GH100"], "", ["ocsp"]),
    (NRAS, 1, ["JSON", "a token of NVIDIA's remote attestation service (NRAS)"], "signature", ["key"]),
    (
        intel.CURRENT,
        0,
        ["raw bytes", "a quote of an Intel TDX virtual machine", "version 4, with a TD report 1.0"],
        "",
        ["report-data", "policy", "event-log", "collateral"],
    ),
    (intel.SGX, 1, ["a quote of an SGX enclave"], "parse", []),
    (f"{intel.DATA}/tdx_tdreport_live.bin", 1, ["a TDREPORT, which only its own machine can check"], "parse", []),
    (f"{intel.DATA}/tdx_ccel_live.bin", 1, ["an event log"], "parse", []),
    (intel.CURRENT_COLLATERAL, 1, ["Intel's collateral"], "parse", []),
    (f"{intel.DATA}/snp/test-report.bin", 2, ["an AMD SEV-SNP report"], "", ["chain"]),
    (snp.GENOA, 0, ["a document with an AMD SEV-SNP report", "EPYC Genoa"], "", ["crl", "policy", "report-data"]),
    (
        f"{intel.DATA}/az_snp/live-evidence.json",
        0,
        ["Azure's evidence of an AMD SEV-SNP virtual machine"],
        "",
        ["nonce"],
    ),
    (f"{intel.DATA}/az_snp/hcl-report.bin", 2, ["Azure's wrapping of an AMD SEV-SNP report (HCL)"], "", ["chain"]),
    (f"{intel.DATA}/az_snp/tpm-quote.msg", 2, ["a quote of a TPM"], "", ["signature"]),
    (DSTACK, 0, ["a document with a quote", "a getquote answer of dstack"], "", ["collateral"]),
    (AZURE, 1, ["Azure's evidence of a TDX virtual machine"], "tdx.isolation", []),
]


@pytest.mark.parametrize(("path", "code", "layers", "step", "missing"), FILES, ids=[row[0][-40:] for row in FILES])
def test_one_command_is_enough_for_a_real_file(
    path: str, code: int, layers: list[str], step: str, missing: list[str]
) -> None:
    result = attest(real(path), "--at", AT, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found.get("failed_step")) == (code, step or None)
    names = [layer["name"] for layer in found["layers"]]
    assert [each for each in layers if each not in names] == []
    assert set(missing) <= set(found["missing"])
    shown = " ".join(attest(real(path), "--at", AT).stdout.split())
    assert all(f"more {'EVIDENCE' if each == 'evidence' else f'--{each}'} for " in shown for each in missing)
