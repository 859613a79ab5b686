"""The appraisal of what was collected: accepted, or refused at the step of the part that is wrong."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pynvml
import pytest

from carnet_command.errors import UsageError
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.formats import Value
from carnet_ref.attestation.intel.appraisal import Policy as TdxPolicy
from carnet_ref.attestation.live.appraisal import AppraisalTerms, appraise_collection
from carnet_ref.attestation.live.collection import Collection, Machine, TsmFolder, collect
from carnet_ref.attestation.nvidia.appraisal import DEFAULT_NODE_POLICY, Firmware, NodePolicy, Policy
from carnet_ref.attestation.simulated.gpu import CURRENT, SimulatedGpu, SimulatedVendor
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from tests.fixtures.simulated_machine import (
    NO_NVML,
    NONCE,
    NOW,
    PLATFORM,
    SINCE,
    VENDOR,
    SimulatedNvml,
    SimulatedTsm,
    SystemState,
    amd,
    anchors,
    certificate_table,
    gpu,
    machine,
    quote,
    snp_report,
    td,
)

DEVTOOLS = SystemState(devtools=pynvml.NVML_CC_SYSTEM_DEVTOOLS_MODE_ON)
NOBODY = "no such folder"


def appraised(
    collection: Collection, policies: Mapping[str, object] | None = None, given: Mapping[str, Value] | None = None
) -> Appraisal:
    return appraise_collection(collection, AppraisalTerms(NOW, anchors(), policies or {}, given or {}))


def collected(host: Machine) -> Collection:
    return collect(host, NONCE)


def of(nvml: SimulatedNvml | None, tsm: TsmFolder) -> Appraisal:
    return appraised(collected(machine(nvml, tsm)))


def test_gpus_and_a_td_are_accepted_together(tmp_path: Path) -> None:
    found = of(SimulatedNvml([gpu(0), gpu(1)]), td(tmp_path))
    ids = [step.id for step in found.steps if step.ok]
    assert (found.accepted, ids[0], ids[-1]) == (True, "collected", "binding")
    assert {"node.gpu0.nonce", "node.gpu1.nonce", "node.distinct", "driver", "tdx.report-data"} <= set(ids)
    assert found.claims["nonce"] == NONCE.hex()
    assert found.claims["node"]["gpus"] == 2  # type: ignore[index]
    assert found.claims["tdx"]["report_data"].startswith(NONCE.hex())  # type: ignore[index]
    assert found.not_compared[:2] == ("appraised by the machine itself", "switches not appraised")
    assert "not fresh" not in found.not_compared


def test_an_snp_guest_is_accepted_with_the_certificates_of_its_host_or_given_ones(tmp_path: Path) -> None:
    found = of(None, SimulatedTsm(tmp_path, "sev_guest", snp_report))
    assert (found.accepted, found.failed_step) == (True, None)
    assert found.not_compared[:2] == ("appraised by the machine itself", "GPUs not appraised")
    assert next(step.detail for step in found.steps if step.id == "gpus") == NO_NVML

    def report(asked: bytes) -> tuple[bytes, bytes]:
        return snp_report(asked)[0], b"no certificates"

    alone = collected(machine(None, SimulatedTsm(tmp_path, "sev_guest", report)))
    assert appraised(alone).failed_step == "snp.parse"
    assert appraised(alone, given={"chain": snp_report(bytes(64))[1]}).accepted
    tsm = SimulatedTsm(tmp_path, "sev_guest", lambda asked: (snp_report(asked)[0], None))
    with pytest.raises(UsageError, match="a report alone needs --chain"):
        of(None, tsm)


def test_gpus_alone_are_accepted_and_bound_to_no_virtual_machine() -> None:
    found = of(SimulatedNvml([gpu()]), TsmFolder(Path(NOBODY)))
    assert (found.accepted, "binding" in {step.id for step in found.steps}) == (True, False)
    assert "virtual machine not appraised" in found.not_compared
    debugged = collected(machine(SimulatedNvml([gpu()], state=DEVTOOLS), TsmFolder(Path(NOBODY))))
    allowing = replace(DEFAULT_NODE_POLICY, device=replace(DEFAULT_NODE_POLICY.device, allow_debug=True))
    assert appraised(debugged, {"node": allowing}).accepted


class Echo(SimulatedNvml):
    """A GPU that answers another nonce."""

    def report(self, handle: int, nonce: bytes) -> bytes:
        return super().report(handle, bytes(32))


class Twin(SimulatedNvml):
    """A machine whose second GPU answers with the report of the first, under certificates of its own."""

    def report(self, handle: int, nonce: bytes) -> bytes:
        return super().report(0, nonce)


STRANGER = SimulatedGpu(b"gpu", SINCE, vendor=SimulatedVendor(b"another", SINCE))
TWO = [gpu(0), gpu(1)]
OLD = Firmware("535.00", CURRENT.vbios)
OTHER_VBIOS = Firmware(CURRENT.driver, "96.00.00.00.01")


@pytest.mark.parametrize(
    ("nvml", "step"),
    [
        (Echo(TWO), "node.gpu0.nonce"),
        (Twin(TWO), "node.gpu1.signature"),
        (SimulatedNvml([gpu(0), gpu(0)]), "node.distinct"),
        (SimulatedNvml([STRANGER]), "node.gpu0.chain"),
        (SimulatedNvml(TWO, stated=OLD), "driver"),
        (SimulatedNvml(TWO, stated=OTHER_VBIOS), "driver"),
        (SimulatedNvml(TWO, state=DEVTOOLS), "driver"),
    ],
)
def test_gpus_that_are_wrong_are_refused(tmp_path: Path, nvml: SimulatedNvml, step: str) -> None:
    found = of(nvml, td(tmp_path))
    assert (found.accepted, found.failed_step, found.claims) == (False, step, {})


@pytest.mark.parametrize(
    ("provider", "reporting", "step"),
    [
        ("tdx_guest", lambda _: quote(bytes(64)), "tdx.report-data"),
        ("tdx_guest", lambda asked: (SimulatedPlatform(b"another", SINCE).td().quote(asked), None), "tdx.pck-chain"),
        ("tdx_guest", lambda asked: (PLATFORM.td(debug=True).quote(asked), None), "tdx.debug"),
        ("tdx_guest", lambda _: (b"", None), "tdx.parse"),
        ("tdx_guest", snp_report, "tdx.parse"),
        ("sev_guest", lambda _: snp_report(bytes(64)), "snp.report-data"),
        ("sev_guest", lambda asked: (quote(asked)[0], b"x"), "snp.parse"),
        ("sev_guest", lambda asked: (snp_report(asked)[0], snp_report(asked)[1][:-1]), "snp.parse"),
    ],
)
def test_a_virtual_machine_that_is_wrong_is_refused(
    tmp_path: Path, provider: str, reporting: object, step: str
) -> None:
    tsm = SimulatedTsm(tmp_path, provider, reporting)  # type: ignore[arg-type]
    found = of(None, tsm)
    assert (found.accepted, found.failed_step) == (False, step)


def test_evidence_of_two_machines_does_not_go_together(tmp_path: Path) -> None:
    one = collected(machine(SimulatedNvml([gpu(0)]), td(tmp_path)))
    other = collected(machine(SimulatedNvml([gpu(1)]), td(tmp_path)))
    swapped = replace(one, parts=(one.parts[0], replace(other.parts[1], asked=one.parts[1].asked)))
    assert appraised(one).accepted
    assert appraised(swapped).failed_step == "tdx.report-data"


@pytest.mark.parametrize(
    ("policies", "step"),
    [
        ({"snp": object()}, "expected"),
        ({"node": NodePolicy(gpus=2)}, "node.count"),
        ({"node": NodePolicy(device=Policy(require=frozenset({"revocation"})))}, "node.gpu0.policy"),
        ({"node": NodePolicy(device=Policy())}, "node.gpu0.policy"),
        ({"tdx": TdxPolicy(require=frozenset({"tcb-status"}))}, "tdx.policy"),
    ],
)
def test_policies_are_asked_of_their_evidence(tmp_path: Path, policies: Mapping[str, object], step: str) -> None:
    found = collected(machine(SimulatedNvml([gpu()]), td(tmp_path)))
    assert appraised(found, policies).failed_step == step


def test_a_policy_asks_for_evidence_that_is_not_here(tmp_path: Path) -> None:
    found = collected(machine(None, td(tmp_path)))
    refused = appraised(found, {"node": DEFAULT_NODE_POLICY})
    assert (refused.failed_step, refused.steps[-1].detail) == (
        "expected",
        "a policy asks for evidence of the format node, and there is none",
    )


def test_reference_values_and_collateral_are_used(tmp_path: Path) -> None:
    rims = VENDOR.reference_values()
    replies = VENDOR.answers(gpu().certificates, since=NOW)
    found = collected(machine(SimulatedNvml([gpu()]), td(tmp_path)))
    full = appraised(found, given={"rim": rims, "ocsp": replies, "collateral": (PLATFORM.issue_collateral(SINCE),)})
    held = {step.id for step in full.steps if step.ok}
    assert full.accepted
    assert {"node.gpu0.measurements", "node.gpu0.revocation", "tdx.tcb-status", "tdx.revocation"} <= held


def test_the_report_of_another_processor_does_not_pass(tmp_path: Path) -> None:
    other = amd().chip(b"another chip")
    tsm = SimulatedTsm(tmp_path, "sev_guest", lambda asked: (other.sign(other.report(asked)), certificate_table()))
    assert of(None, tsm).failed_step == "snp.signature"
