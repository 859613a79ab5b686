"""Real nodes: eight GPUs of one machine, and eight with their four switches."""

import random
from pathlib import Path

import pytest

from carnet_ref.attestation.appraisal import Appraisal, default_anchors
from carnet_ref.attestation.nvidia.appraisal import DEFAULT_NODE_POLICY, NodePolicy
from carnet_ref.attestation.nvidia.node import appraise_node
from carnet_ref.attestation.nvidia.report import DeviceEvidence, device_evidence
from carnet_ref.wire import MalformedError
from tests.fixtures import nvidia_evidence as nvidia
from tests.fixtures.command_words import found as attest
from tests.fuzz.test_parsers import mutated

pytestmark = pytest.mark.skipif(nvidia.FOLDER is None, reason=nvidia.MISSING)
GPUS = nvidia.BUNDLES[0]
WHOLE = nvidia.BUNDLES[-1]
NONCE = bytes.fromhex("1234567890" * 6 + "1234")
FULL = NodePolicy(gpus=8, switches=4, require_links=True)


def appraised(
    devices: list[DeviceEvidence], policy: NodePolicy = DEFAULT_NODE_POLICY, nonce: bytes | None = None
) -> Appraisal:
    return appraise_node(devices, at=nvidia.RIM_OCSP_TIME, policy=policy, anchors=default_anchors(), nonce=nonce)


def devices(path: str) -> list[DeviceEvidence]:
    return list(device_evidence(nvidia.read(path)))


def test_eight_gpus_and_their_switches_are_one_node_that_names_its_links() -> None:
    found = appraised(devices(WHOLE), FULL, NONCE)
    assert found.accepted, found.steps[-1]
    assert (found.claims["gpus"], found.claims["switches"], found.claims["mode"]) == (8, 4, "PPCIE")
    assert "every GPU to the 4 switches, every switch to 8 GPUs" in {step.detail for step in found.steps}


@pytest.mark.mends("R402")
def test_eight_gpus_in_protected_pcie_mode_are_no_node_without_their_switches() -> None:
    assert appraised(devices(GPUS)).failed_step == "policy"
    found = appraised(devices(GPUS), NodePolicy(require_links=False))
    assert (found.accepted, "links not compared" in found.not_compared) == (True, True)
    assert appraised(devices(GPUS), FULL).failed_step == "count"


@pytest.mark.parametrize("left_out", range(12))
def test_no_device_can_be_left_out_of_a_node(left_out: int) -> None:
    some = devices(WHOLE)
    del some[left_out]
    assert appraised(some).failed_step == "links"
    assert appraised(some, FULL).failed_step == "count"


@pytest.mark.parametrize("lent", range(8))
def test_a_gpu_of_another_node_is_refused(lent: int) -> None:
    assert appraised([*devices(WHOLE), devices(GPUS)[lent]]).failed_step == "one-nonce"


@pytest.mark.parametrize("place", range(12))
def test_a_device_twice_is_refused(place: int) -> None:
    assert appraised([*devices(WHOLE), devices(WHOLE)[place]]).failed_step == "distinct"


def test_one_switch_shown_four_times_is_refused() -> None:
    gpu, switches = (devices(f"{nvidia.SHARED}/{name}.json") for name in ("multi_gpu_hopper", "multi_switch_ls10"))
    assert appraised([*gpu, *switches]).failed_step == "distinct"
    assert appraised([*gpu, switches[0]]).failed_step == "one-nonce"


def test_the_command_takes_a_node_from_several_files() -> None:
    shared = [
        str(Path(nvidia.FOLDER or "", f"{nvidia.SHARED}/{name}.json"))
        for name in ("multi_gpu_hopper", "hopper_evidence")
    ]
    shown = attest("node", *shared, "--at", f"{nvidia.RIM_OCSP_TIME:%Y-%m-%d}")
    assert shown["failed_step"] == "distinct"  # the second file is the first device of the first
    alone = attest("node", shared[0], "--at", f"{nvidia.RIM_OCSP_TIME:%Y-%m-%d}")
    assert (alone["failed_step"], "GPUs: 4, switches: 0" in alone["steps"][1]["detail"]) == ("policy", True)


def test_the_reference_values_of_another_version_are_refused() -> None:
    rims = [str(Path(nvidia.FOLDER or "", path)) for path in (nvidia.DRIVER_RIM, nvidia.VBIOS_RIM)]
    words = ["--rim", rims[0], "--rim", rims[1], "--at", f"{nvidia.RIM_OCSP_TIME:%Y-%m-%d}"]
    shown = attest("node", str(Path(nvidia.FOLDER or "", WHOLE)), *words)
    assert (shown["failed_step"], "550.90.07" in shown["steps"][-1]["detail"]) == ("gpu0.driver-rim", True)


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", [GPUS, WHOLE], ids=["GPUs", "GPUs and switches"])
def test_a_changed_node_is_refused_or_has_the_same_reports(path: str, count: int) -> None:
    data, draw = nvidia.read(path), random.Random(path)
    reports = {each.report for each in device_evidence(data)}
    accepted = 0
    for _ in range(count):
        try:
            found = list(device_evidence(mutated(data, draw)))
        except MalformedError:
            continue
        verdict = appraised(found)
        accepted += verdict.accepted
        if verdict.accepted:
            assert {each.report for each in found} == reports
    assert accepted < count
