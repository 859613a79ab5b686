"""Asking GPUs by NVML: what is taken from them, and how it ends where there is nothing to take."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pynvml
import pytest

from carnet_ref.attestation.live.sources import AbsentError, CollectionError, collect_gpus, this_nvml
from carnet_ref.attestation.nvidia.report import parse_report
from carnet_ref.attestation.simulated.gpu import CURRENT
from tests.fixtures.simulated_machine import NONCE, SimulatedNvml, SystemState, gpu

GPUS = [gpu(0), gpu(1)]
OFF = SystemState(feature=pynvml.NVML_CC_SYSTEM_FEATURE_DISABLED)
PPCIE = replace(OFF, multi_gpu=pynvml.NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE)


def test_every_gpu_is_asked_with_the_nonce() -> None:
    nvml = SimulatedNvml(GPUS)
    found = collect_gpus(nvml, NONCE)
    assert [parse_report(each.report).nonce for each in found.devices] == nvml.nonces == [NONCE, NONCE]
    assert [each.chain for each in found.devices] == [each.chain_pem for each in GPUS]
    assert [each.uuid for each in found.driver.gpus] == ["GPU-00000000", "GPU-00000001"]
    assert {each.vbios_version for each in found.driver.gpus} == {CURRENT.vbios}
    assert (found.driver.version, found.driver.devtools, nvml.users) == (CURRENT.driver, False, 0)


def test_a_driver_that_cannot_be_left_in_order_takes_nothing_away() -> None:
    failing = {"nvmlShutdown": pynvml.NVML_ERROR_GPU_IS_LOST}
    assert len(collect_gpus(SimulatedNvml(GPUS, failing=failing), NONCE).devices) == 2


def test_developer_tools_are_told() -> None:
    state = SystemState(devtools=pynvml.NVML_CC_SYSTEM_DEVTOOLS_MODE_ON)
    assert collect_gpus(SimulatedNvml(GPUS, state=state), NONCE).driver.devtools


@pytest.mark.parametrize(
    ("nvml", "why"),
    [
        (SimulatedNvml([]), "no NVIDIA GPU"),
        (SimulatedNvml(GPUS, state=OFF), r"confidential computing is off on the GPUs that are here \(2\)"),
        (SimulatedNvml(GPUS, failing={"nvmlInit": pynvml.NVML_ERROR_LIBRARY_NOT_FOUND}), "no NVML library"),
        (SimulatedNvml(GPUS, failing={"nvmlInit": pynvml.NVML_ERROR_DRIVER_NOT_LOADED}), "driver is not loaded"),
        *(
            (SimulatedNvml(GPUS, failing={"nvmlSystemGetConfComputeState": code}), "know no confidential computing")
            for code in (pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        ),
    ],
)
def test_what_is_not_here_is_said(nvml: SimulatedNvml, why: str) -> None:
    with pytest.raises(AbsentError, match=why):
        collect_gpus(nvml, NONCE)
    assert nvml.users == 0


REPORT = "nvmlDeviceGetConfComputeGpuAttestationReport"
FAILURES = [
    ("nvmlInit", pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "^NVML: RM has detected"),
    ("nvmlInit", pynvml.NVML_ERROR_NO_PERMISSION, "NVML: Insufficient Permissions"),
    ("nvmlDeviceGetCount", pynvml.NVML_ERROR_UNINITIALIZED, "the number of GPUs: Uninitialized"),
    ("nvmlSystemGetConfComputeState", pynvml.NVML_ERROR_UNKNOWN, "the state of confidential computing: Unknown Error"),
    ("nvmlSystemGetConfComputeSettings", pynvml.NVML_ERROR_UNKNOWN, "the settings of confidential computing"),
    ("nvmlSystemGetDriverVersion", pynvml.NVML_ERROR_INSUFFICIENT_SIZE, "the driver's version: Insufficient Size"),
    ("nvmlDeviceGetHandleByIndex", pynvml.NVML_ERROR_GPU_IS_LOST, "GPU 0: GPU is lost"),
    ("nvmlDeviceGetUUID", pynvml.NVML_ERROR_INSUFFICIENT_SIZE, "the UUID of GPU 0: Insufficient Size"),
    ("nvmlDeviceGetVbiosVersion", pynvml.NVML_ERROR_CORRUPTED_INFOROM, "VBIOS version of GPU 0 .GPU-00000000.: Corr"),
    ("nvmlDeviceGetConfComputeGpuCertificate", pynvml.NVML_ERROR_NOT_SUPPORTED, "certificates of GPU 0 .*Not Supp"),
    (REPORT, pynvml.NVML_ERROR_NOT_SUPPORTED, "the report of GPU 0 .GPU-00000000.: Not Supported .NVML error 3."),
    (REPORT, pynvml.NVML_ERROR_INSUFFICIENT_SIZE, "report of GPU 0 .*Insufficient Size"),
    (REPORT, pynvml.NVML_ERROR_GPU_IS_LOST, "report of GPU 0 .*GPU is lost .NVML error 15."),
    (REPORT, pynvml.NVML_ERROR_TIMEOUT, "report of GPU 0 .*Timeout"),
    (REPORT, 4711, "report of GPU 0 .*NVML error 4711"),
]


@pytest.mark.parametrize(("function", "code", "why"), FAILURES)
def test_a_call_that_fails_ends_it_in_one_line(function: str, code: int, why: str) -> None:
    nvml = SimulatedNvml(GPUS, failing={function: code})
    with pytest.raises(CollectionError, match=why) as error:
        collect_gpus(nvml, NONCE)
    assert nvml.users == 0, "NVML is shut down in any case"
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "code",
    [
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    ],
)
def test_drivers_that_know_no_settings_are_taken_by_their_state(code: int) -> None:
    failing = {"nvmlSystemGetConfComputeSettings": code}
    assert len(collect_gpus(SimulatedNvml(GPUS, failing=failing), NONCE).devices) == 2
    with pytest.raises(AbsentError, match="is off"):
        collect_gpus(SimulatedNvml(GPUS, failing=failing, state=PPCIE), NONCE)


def test_protected_pcie_counts_though_the_feature_is_off() -> None:
    assert len(collect_gpus(SimulatedNvml(GPUS, state=PPCIE), NONCE).devices) == 2


class Boastful(SimulatedNvml):
    """A driver that says it filled more or less than it could."""

    size = 0

    def nvmlDeviceGetConfComputeGpuAttestationReport(self, handle: int, nonce: bytes) -> Any:
        answer = super().nvmlDeviceGetConfComputeGpuAttestationReport(handle, nonce)
        answer.attestationReportSize = self.size
        return answer


@pytest.mark.parametrize("size", [0, pynvml.NVML_CC_GPU_ATTESTATION_REPORT_SIZE + 1, 0xFFFFFFFF])
def test_a_size_that_cannot_be_is_refused(size: int) -> None:
    nvml = Boastful(GPUS)
    nvml.size = size
    with pytest.raises(CollectionError, match=f"the report of GPU 0 .*: NVML says that it has {size} bytes"):
        collect_gpus(nvml, NONCE)


def test_the_simulation_answers_only_when_it_is_initialised() -> None:
    with pytest.raises(pynvml.NVMLError) as error:
        SimulatedNvml(GPUS).nvmlDeviceGetCount()
    assert error.value.value == pynvml.NVML_ERROR_UNINITIALIZED


def test_the_real_binding_is_used_and_finds_no_library_here() -> None:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        with pytest.raises((AbsentError, CollectionError)):
            collect_gpus(this_nvml(), NONCE)
    else:
        pynvml.nvmlShutdown()
        assert this_nvml() is pynvml


def test_without_the_binding_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(AbsentError, match=r"carnet\[live\]"):
        this_nvml()
