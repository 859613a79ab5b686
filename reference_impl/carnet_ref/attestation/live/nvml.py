"""The reports of this machine's GPUs, asked for by NVML, the driver's management library.

The driver's own words (versions, identifiers, modes) are signed by nobody. They are kept to be compared with what the
reports say.

Source: NVML API Reference, "Confidential Computing"; ``pynvml``, NVIDIA's binding for Python.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

from carnet_ref.attestation.live.errors import AbsentError, CollectionError

EXTRA: Final = "the extra 'live' (pip install 'carnet[live]')"
_Value = TypeVar("_Value")
Nvml = Any
"""The module ``pynvml``, or what behaves like it."""


@dataclass(frozen=True, slots=True)
class StatedGpu:
    """What the driver says of one GPU."""

    uuid: str
    """Its name for the device."""
    vbios_version: str
    """The VBIOS version."""


@dataclass(frozen=True, slots=True)
class DriverWords:
    """What the driver says of the system."""

    version: str
    """Its own version."""
    devtools: bool
    """Whether developer tools may look into the GPUs."""
    gpus: tuple[StatedGpu, ...]
    """The GPUs, in its order."""


@dataclass(frozen=True, slots=True)
class CollectedGpu:
    """One GPU's answer."""

    report: bytes
    """The report, as the device made it."""
    chain: bytes
    """Its certificates in PEM, attestation key first."""


@dataclass(frozen=True, slots=True)
class CollectedGpus:
    """The answers of all GPUs, and the driver's words."""

    devices: tuple[CollectedGpu, ...]
    """At least one, in the driver's order."""
    driver: DriverWords
    """What the driver says, of as many GPUs."""


def this_nvml() -> Nvml:
    """Return NVIDIA's binding for Python.

    Raises:
        AbsentError: it is not installed.
    """
    try:
        import pynvml
    except ImportError:
        raise AbsentError(f"NVML's binding for Python is not installed: it needs {EXTRA}") from None
    return pynvml


def collect_gpus(nvml: Nvml, nonce: bytes) -> CollectedGpus:
    """Ask every GPU for a report over the nonce, 32 bytes.

    Raises:
        AbsentError: there is no NVML library, driver or GPU, or confidential computing is off.
        CollectionError: a GPU or the driver did not answer; then no evidence is taken from any.
    """
    with _initialised(nvml):
        count = _asked(nvml, "the number of GPUs", nvml.nvmlDeviceGetCount)
        if not count:
            raise AbsentError("no NVIDIA GPU")
        devtools = _devtools(nvml, count)
        driver = _asked(nvml, "the driver's version", nvml.nvmlSystemGetDriverVersion)
        found = [_gpu(nvml, index, nonce) for index in range(count)]
        words = DriverWords(driver, devtools, tuple(stated for stated, _ in found))
        return CollectedGpus(tuple(collected for _, collected in found), words)


@contextlib.contextmanager
def _initialised(nvml: Nvml) -> Iterator[None]:
    absent = {
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND: "no NVML library (libnvidia-ml.so.1)",
        nvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    }
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        if error.value in absent:
            raise AbsentError(absent[error.value]) from None
        _fail(nvml, "NVML", error.value)
    try:
        yield
    finally:
        with contextlib.suppress(nvml.NVMLError):  # what was collected does not depend on it
            nvml.nvmlShutdown()


def _devtools(nvml: Nvml, count: int) -> bool:
    """Return whether developer tools may look in, once it is clear that confidential computing is on.

    Protected PCIe is a mode of its own, in which the feature that the state names may be off.
    """
    try:
        state = nvml.nvmlSystemGetConfComputeState()
    except nvml.NVMLError as error:
        if error.value in _unknown_to_drivers(nvml):
            raise AbsentError("the GPUs or their driver know no confidential computing") from None
        _fail(nvml, "the state of confidential computing", error.value)
    protected = _multi_gpu_mode(nvml) == nvml.NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE
    if state.ccFeature == nvml.NVML_CC_SYSTEM_FEATURE_DISABLED and not protected:
        raise AbsentError(f"confidential computing is off on the GPUs that are here ({count})")
    return bool(state.devToolsMode != nvml.NVML_CC_SYSTEM_DEVTOOLS_MODE_OFF)


def _multi_gpu_mode(nvml: Nvml) -> int:
    """Return how GPUs are joined; drivers that do not know this setting have one GPU for each virtual machine.

    The binding returns the error code of this call, where it raises those of others.
    """
    settings = nvml.c_nvmlSystemConfComputeSettings_v1_t()
    try:
        code = nvml.nvmlSystemGetConfComputeSettings(ctypes.byref(settings))
    except nvml.NVMLError as error:
        code = error.value
    if code in _unknown_to_drivers(nvml):
        return int(nvml.NVML_CC_SYSTEM_MULTIGPU_NONE)
    if code != nvml.NVML_SUCCESS:
        _fail(nvml, "the settings of confidential computing", code)
    return int(settings.multiGpuMode)


def _unknown_to_drivers(nvml: Nvml) -> tuple[int, ...]:
    """Return the codes by which drivers and GPUs that are too old for a question answer it."""
    return (
        nvml.NVML_ERROR_NOT_SUPPORTED,
        nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    )


def _gpu(nvml: Nvml, index: int, nonce: bytes) -> tuple[StatedGpu, CollectedGpu]:
    name = f"GPU {index}"
    handle = _asked(nvml, name, lambda: nvml.nvmlDeviceGetHandleByIndex(index))
    uuid = _asked(nvml, f"the UUID of {name}", lambda: nvml.nvmlDeviceGetUUID(handle))
    name = f"{name} ({uuid})"
    vbios = _asked(nvml, f"the VBIOS version of {name}", lambda: nvml.nvmlDeviceGetVbiosVersion(handle))
    certificate = _asked(
        nvml, f"the certificates of {name}", lambda: nvml.nvmlDeviceGetConfComputeGpuCertificate(handle)
    )
    answer = _asked(
        nvml, f"the report of {name}", lambda: nvml.nvmlDeviceGetConfComputeGpuAttestationReport(handle, nonce)
    )
    report = _filled(answer.attestationReport, answer.attestationReportSize, f"the report of {name}")
    size = certificate.attestationCertChainSize
    chain = _filled(certificate.attestationCertChain, size, f"the certificates of {name}")
    return StatedGpu(uuid, vbios), CollectedGpu(report, chain)


def _filled(array: ctypes.Array[ctypes.c_uint8], size: int, what: str) -> bytes:
    """Return the part of an array that NVML says it filled."""
    if not 0 < size <= len(array):
        raise CollectionError(f"{what}: NVML says that it has {size} bytes, of at most {len(array)}")
    return bytes(array[:size])


def _asked(nvml: Nvml, what: str, ask: Callable[[], _Value]) -> _Value:
    try:
        return ask()
    except nvml.NVMLError as error:
        _fail(nvml, what, error.value)


def _fail(nvml: Nvml, what: str, code: int) -> NoReturn:
    raise CollectionError(f"{what}: {nvml.NVMLError(code)} (NVML error {code})") from None
