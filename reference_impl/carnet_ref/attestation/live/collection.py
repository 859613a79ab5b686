"""Collecting on this machine, and keeping what was collected, so that it can be appraised elsewhere.

GPUs are asked first, with the nonce, by NVML, the driver's management library. The driver's own words (versions,
identifiers, modes) are signed by nobody. They are kept to be compared with what the reports say.

The virtual machine is asked afterwards, with report data that begins with the nonce and ends with a hash of the GPUs'
reports (`report_data`). So its quote says which reports its own software held, and evidence of two machines cannot be
put together. Without GPUs the report data is the nonce and zeros. `carnet_ref.attestation.composite` binds more: a
channel, a job, an instance. None of these exists here. Of Linux's configfs-tsm, a caller makes a folder of its own, an
entry. The kernel fills it with attributes. What the report should be bound to is written to ``inblob``; reading
``outblob`` then makes the report. The entry's ``generation`` counts writes, so that nobody takes a report for its own
that another process asked for.

What is kept is a folder with one file for each part. The reader supplies the nonce. What the evidence should have
been asked with is worked out anew from the nonce and from the GPUs' reports; nothing that the folder says about that is
believed.

Source: NVML API Reference, "Confidential Computing"; ``pynvml``, NVIDIA's binding for Python; Linux,
Documentation/ABI/testing/configfs-tsm, and drivers/virt/coco/tsm.c: the result of a write to ``inblob`` is lost when
the file is closed, so only ``generation`` tells whether the kernel took it.
"""

import base64
import contextlib
import ctypes
import errno
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from carnet_command.errors import CarnetError, UsageError
from carnet_command.exit_codes import ExitCode
from carnet_command.files import create_durably, failing_as, read_plain, reason
from carnet_ref.attestation.documents import Document
from carnet_ref.attestation.nvidia.report import DeviceEvidence, device_evidence
from carnet_ref.crypto.primitives import sha256
from carnet_ref.wire import MalformedError, join


class AbsentError(Exception):
    """Evidence or its source is absent from this machine; the text says what is missing."""


class CollectionError(CarnetError):
    """Evidence could not be collected: there is none, or its source failed."""

    kind = "unknown"
    exit_code = ExitCode.UNKNOWN


EXTRA: Final = "the extra 'live' (pip install 'carnet[live]')"
_Value = TypeVar("_Value")
Nvml = Any  #: The module ``pynvml``, or what behaves like it.


@dataclass(frozen=True, slots=True)
class GpuStatement:
    """The driver's unsigned statement about one GPU: its name, and the VBIOS version."""

    uuid: str
    vbios_version: str


@dataclass(frozen=True, slots=True)
class DriverStatement:
    """The driver's unsigned statements: its version, whether developer tools are enabled, and the GPUs, in order."""

    version: str
    devtools: bool
    gpus: tuple[GpuStatement, ...]


@dataclass(frozen=True, slots=True)
class CollectedGpu:
    """The raw report of one GPU, with its certificates in PEM, attestation key first."""

    report: bytes
    chain: bytes


@dataclass(frozen=True, slots=True)
class CollectedGpus:
    """The reports of all GPUs, in the driver's order, with the driver's statements."""

    devices: tuple[CollectedGpu, ...]
    driver: DriverStatement


def this_nvml() -> Nvml:
    """Return NVIDIA's binding for Python. Raises AbsentError if it is not installed."""
    try:
        import pynvml
    except ImportError:
        raise AbsentError(f"NVML's binding for Python is not installed: it needs {EXTRA}") from None
    return pynvml


def collect_gpus(nvml: Nvml, nonce: bytes) -> CollectedGpus:
    """Ask every GPU for a report over the nonce, 32 bytes.

    Raises AbsentError if there is no NVML library, driver or GPU, or confidential computing is off. Raises
    CollectionError if a GPU or the driver did not answer; then no evidence is taken from any.
    """
    with _initialised(nvml):
        count = _query(nvml, "the number of GPUs", nvml.nvmlDeviceGetCount)
        if not count:
            raise AbsentError("no NVIDIA GPU")
        # Whether developer tools may look in counts once it is clear that confidential computing is on. Protected PCIe
        # is a mode of its own, in which the feature that the state names may be off.
        try:
            state = nvml.nvmlSystemGetConfComputeState()
        except nvml.NVMLError as error:
            if error.value in _unknown_to_drivers(nvml):
                raise AbsentError("the GPUs or their driver know no confidential computing") from None
            _fail(nvml, "the state of confidential computing", error.value)
        protected = _multi_gpu_mode(nvml) == nvml.NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE
        if state.ccFeature == nvml.NVML_CC_SYSTEM_FEATURE_DISABLED and not protected:
            raise AbsentError(f"confidential computing is off on the GPUs that are here ({count})")
        devtools = bool(state.devToolsMode != nvml.NVML_CC_SYSTEM_DEVTOOLS_MODE_OFF)
        driver = _query(nvml, "the driver's version", nvml.nvmlSystemGetDriverVersion)
        found = [_gpu(nvml, index, nonce) for index in range(count)]
        words = DriverStatement(driver, devtools, tuple(stated for stated, _ in found))
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


def _gpu(nvml: Nvml, index: int, nonce: bytes) -> tuple[GpuStatement, CollectedGpu]:
    name = f"GPU {index}"
    handle = _query(nvml, name, lambda: nvml.nvmlDeviceGetHandleByIndex(index))
    uuid = _query(nvml, f"the UUID of {name}", lambda: nvml.nvmlDeviceGetUUID(handle))
    name = f"{name} ({uuid})"
    vbios = _query(nvml, f"the VBIOS version of {name}", lambda: nvml.nvmlDeviceGetVbiosVersion(handle))
    certificate = _query(
        nvml, f"the certificates of {name}", lambda: nvml.nvmlDeviceGetConfComputeGpuCertificate(handle)
    )
    answer = _query(
        nvml, f"the report of {name}", lambda: nvml.nvmlDeviceGetConfComputeGpuAttestationReport(handle, nonce)
    )
    report = _filled(answer.attestationReport, answer.attestationReportSize, f"the report of {name}")
    size = certificate.attestationCertChainSize
    chain = _filled(certificate.attestationCertChain, size, f"the certificates of {name}")
    return GpuStatement(uuid, vbios), CollectedGpu(report, chain)


def _filled(array: ctypes.Array[ctypes.c_uint8], size: int, what: str) -> bytes:
    """Return the part of an array that NVML says it filled."""
    if not 0 < size <= len(array):
        raise CollectionError(f"{what}: NVML says that it has {size} bytes, of at most {len(array)}")
    return bytes(array[:size])


def _query(nvml: Nvml, what: str, ask: Callable[[], _Value]) -> _Value:
    try:
        return ask()
    except nvml.NVMLError as error:
        _fail(nvml, what, error.value)


def _fail(nvml: Nvml, what: str, code: int) -> NoReturn:
    raise CollectionError(f"{what}: {nvml.NVMLError(code)} (NVML error {code})") from None


ROOT: Final = Path("/sys/kernel/config/tsm/report")
LARGEST_BLOB: Final = 1 << 20  #: More than any quote or table of certificates; in bytes.
LARGEST_TEXT: Final = 256
REPORT_DATA_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class CollectedVm:
    """The kernel's report for one nonce."""

    provider: str  #: The kernel's name for the format of the report, such as ``tdx_guest`` or ``sev_guest``.
    report: bytes  #: The quote or report.
    #: What the platform gave along: for SEV-SNP a table of certificates; ``None`` where it gave nothing.
    auxiliary: bytes | None


class TsmFolder:
    """The configfs-tsm folder, in which the kernel makes an entry per caller; every method raises ``OSError``."""

    def __init__(self, path: Path = ROOT) -> None:
        self.path = path

    def create(self, entry: str) -> None:
        """Create an entry, which must not exist."""
        (self.path / entry).mkdir()

    def remove(self, entry: str) -> None:
        """Remove an entry with its attributes."""
        (self.path / entry).rmdir()

    def write(self, entry: str, attribute: str, data: bytes) -> None:
        """Write a whole attribute with one call, as the kernel requires."""
        descriptor = os.open(self.path / entry / attribute, os.O_WRONLY | os.O_CLOEXEC)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.EIO, f"only a part of {attribute} was written")
        finally:
            os.close(descriptor)

    def read(self, entry: str, attribute: str, most: int) -> bytes:
        """Return an attribute of at most so many bytes."""
        data = read_plain(self.path / entry / attribute, most)
        if len(data) > most:
            raise OSError(errno.EFBIG, f"{attribute} has more than {most} bytes")
        return data


def collect_vm(folder: TsmFolder, report_data: bytes, entry: str | None = None) -> CollectedVm:
    """Request a quote or report for 64 bytes of report data, in an entry that is removed afterwards.

    Raises AbsentError if the machine has no configfs-tsm, or is no confidential virtual machine that it knows;
    CollectionError if it has, and no report came, or one that another process may have asked for.
    """
    assert len(report_data) == REPORT_DATA_BYTES, "report data has 64 bytes"
    name = entry or f"carnet-{secrets.token_hex(8)}"
    try:
        with _tsm_entry(folder, name):
            return _collected(folder, name, report_data)
    except OSError as error:
        raise CollectionError(f"{_place(error, folder.path / name)}: {_advice(error)}") from None


@contextlib.contextmanager
def _tsm_entry(folder: TsmFolder, name: str) -> Iterator[None]:
    try:
        folder.create(name)
    except FileNotFoundError:
        raise AbsentError(f"no configfs-tsm ({folder.path})") from None
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise AbsentError(f"configfs-tsm ({folder.path}) has no provider") from None
        raise
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # the first error says more than that the entry is still there
            folder.remove(name)
        raise
    folder.remove(name)


def _collected(folder: TsmFolder, name: str, report_data: bytes) -> CollectedVm:
    provider = _text(folder, name, "provider")
    before = _number(folder, name, "generation")
    folder.write(name, "inblob", report_data)
    writes = 1 + _raise_privilege_level(folder, name)
    report = folder.read(name, "outblob", LARGEST_BLOB)
    auxiliary = _if_there(folder, name, "auxblob")
    after = _number(folder, name, "generation")
    if after != before + writes:
        stale = f"its generation is {after}, not {before + writes}"
        raise CollectionError(
            f"{folder.path / name}: {stale}: the kernel did not take what was written, or another process wrote, too"
        )
    return CollectedVm(provider, report, auxiliary or None)


def _raise_privilege_level(folder: TsmFolder, name: str) -> int:
    """Ask for the highest privilege that this guest has, where that is not the highest of all; return the writes.

    A guest under a paravisor may not ask as level 0, which is what the kernel asks as if nobody says otherwise.
    """
    try:
        floor = _number(folder, name, "privlevel_floor")
    except FileNotFoundError:
        return 0
    if not floor:
        return 0
    folder.write(name, "privlevel", b"%d" % floor)
    return 1


def _if_there(folder: TsmFolder, name: str, attribute: str) -> bytes | None:
    try:
        return folder.read(name, attribute, LARGEST_BLOB)
    except FileNotFoundError:
        return None


def _number(folder: TsmFolder, name: str, attribute: str) -> int:
    text = _text(folder, name, attribute)
    if not text.isdecimal():
        raise OSError(errno.EIO, f"{attribute} is no number")
    return int(text)


def _text(folder: TsmFolder, name: str, attribute: str) -> str:
    data = folder.read(name, attribute, LARGEST_TEXT)
    try:
        return data.decode("ascii").strip()
    except UnicodeDecodeError:
        raise OSError(errno.EIO, f"{attribute} is no text") from None


def _place(error: OSError, entry: Path) -> Path:
    """Return the attribute that an error is about, or else the entry."""
    return Path(error.filename) if error.filename else entry


def _advice(error: OSError) -> str:
    """Say why the kernel refused, and what to do about what callers most often meet."""
    hints = {
        errno.EACCES: ": configfs is for root",
        errno.EPERM: ": configfs is for root",
        errno.EEXIST: ": another process may use this entry",
        errno.EBUSY: ": the platform makes another report; try again",
        errno.ETIMEDOUT: ": the host's quoting service does not answer",
    }
    code = errno.errorcode.get(error.errno or 0)
    return reason(error) + (f" ({code})" if code else "") + hints.get(error.errno or 0, "")


NONCE_BYTES: Final = 32
NODE: Final = "node"  #: The format of evidence of GPUs.
GPUS_FILE: Final = "gpus.json"
VM_FILE: Final = "{}.bin"  #: What files of evidence are called.
#: The format of evidence for each provider of configfs-tsm.
PROVIDERS: Final = {"tdx_guest": "tdx", "sev_guest": "snp"}
KINDS: Final = (NODE, *PROVIDERS.values())  #: What can be collected, by the names of formats.
PROVIDED: Final = ("nonce", "report-data")  #: Options of formats whose values come from what was asked.
_BINDING: Final = b"carnet live binding 1\0"


@dataclass(frozen=True, slots=True)
class Machine:
    """The sources of evidence: a function that returns the NVML binding, and configfs-tsm."""

    nvml: Callable[[], Nvml]
    tsm: TsmFolder


def this_machine() -> Machine:
    """Return the sources of evidence on this machine."""
    return Machine(this_nvml, TsmFolder())


@dataclass(frozen=True, slots=True)
class Part:
    """Evidence of the format ``kind``, as a ``file`` that its subcommand of ``carnet attest`` reads."""

    kind: str
    file: str
    evidence: bytes
    asked: Mapping[str, bytes]  #: What it was asked with, by the option that says so.
    chain: bytes | None = None  #: Certificates that came apart from it; ``None`` where it has its own, or none came.


@dataclass(frozen=True, slots=True)
class Collection:
    """Evidence collected with one 32-byte nonce, and the reasons for absent parts."""

    nonce: bytes
    driver: DriverStatement | None  #: What the driver says of the GPUs; ``None`` where there are none.
    parts: tuple[Part, ...]
    absent: Mapping[str, str]  #: Why there is no evidence of ``gpus`` or of the ``vm``.

    @property
    def kinds(self) -> tuple[str, ...]:
        """The formats of the parts, by name."""
        return tuple(part.kind for part in self.parts)


def collect(machine: Machine, nonce: bytes) -> Collection:
    """Collect all evidence that this machine can give.

    Raises CollectionError if there is none, or something that is there did not answer; then nothing is appraised.
    """
    absent: dict[str, str] = {}
    gpus, vm = None, None
    try:
        gpus = collect_gpus(machine.nvml(), nonce)
    except AbsentError as error:
        absent["gpus"] = str(error)
    reports = [gpu.report for gpu in gpus.devices] if gpus else []
    try:
        vm = collect_vm(machine.tsm, report_data(nonce, reports))
    except AbsentError as error:
        absent["vm"] = str(error)
    if vm is not None and vm.provider not in PROVIDERS:
        absent["vm"] = f"reports of the provider {vm.provider!r} are not appraised"
        vm = None
    if gpus is None and vm is None:
        raise CollectionError(f"no evidence on this machine. GPUs: {absent['gpus']}. Virtual machine: {absent['vm']}")
    return assemble(nonce, gpus, vm, absent)


def assemble(nonce: bytes, gpus: CollectedGpus | None, vm: CollectedVm | None, absent: Mapping[str, str]) -> Collection:
    """Return collected evidence as parts that can be appraised."""
    parts = []
    if gpus is not None:  # written as NVIDIA's SDKs do, which `carnet attest node` reads
        document = json.dumps([_entry(gpu) for gpu in gpus.devices])
        parts.append(Part(NODE, GPUS_FILE, document.encode(), {"nonce": nonce}))
    if vm is not None:
        kind, asked = PROVIDERS[vm.provider], report_data(nonce, [gpu.report for gpu in gpus.devices] if gpus else [])
        parts.append(Part(kind, VM_FILE.format(kind), vm.report, {"report-data": asked}, vm.auxiliary))
    return Collection(nonce, None if gpus is None else gpus.driver, tuple(parts), absent)


def report_data(nonce: bytes, gpu_reports: Sequence[bytes]) -> bytes:
    """Return the 64 bytes of report data for the virtual machine: the nonce, and a hash of the GPUs' reports."""
    assert len(nonce) == NONCE_BYTES, "a nonce has 32 bytes"
    commitment = sha256(_BINDING + join(*gpu_reports)) if gpu_reports else bytes(32)
    return nonce + commitment


def _entry(gpu: CollectedGpu) -> dict[str, str]:
    return {
        "evidence": base64.b64encode(gpu.report).decode(),
        "certificate": base64.b64encode(gpu.chain).decode(),
    }


STATEMENTS: Final = "collected.json"  #: What is not evidence: the nonce, and what the driver and the kernel say.
WHAT: Final = "collected evidence"
CHAIN: Final = "{}-chain.bin"
LARGEST: Final = 16 * LARGEST_BLOB
NOT_IN_FOLDER: Final = "it is not in the folder"


def prepare_folder(folder: Path) -> None:
    """Create the folder before anything is collected; an empty existing one is accepted.

    Raises UsageError if something is in it, or it cannot be made.
    """
    with failing_as(f"cannot keep evidence in '{folder}'"):
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"'{folder}' is not empty: evidence is kept in a folder of its own")


def write_collection(collection: Collection, folder: Path, at: datetime) -> None:
    """Write every part. Raises UsageError if a file could not be written."""
    files = {part.file: part.evidence for part in collection.parts}
    files |= {CHAIN.format(part.kind): part.chain for part in collection.parts if part.chain is not None}
    files[STATEMENTS] = json.dumps(_words(collection, at), indent=2).encode()
    with failing_as(f"cannot keep evidence in '{folder}'"):
        for name, data in files.items():
            create_durably(folder / name, data)


def _words(collection: Collection, at: datetime) -> dict[str, object]:
    driver = None if collection.driver is None else asdict(collection.driver)
    return {"nonce": collection.nonce.hex(), "at": at.isoformat(), "driver": driver, "absent": dict(collection.absent)}


def read_collection(folder: Path, nonce: bytes) -> Collection:
    """Return the evidence in a folder, to be appraised with ``nonce``.

    Raises MalformedError if a file is none of those that `write_collection` writes, or two of them contradict each
    other; UsageError if there is no such folder, or a file cannot be read.
    """
    words = _file(folder, STATEMENTS)
    if words is None:
        raise UsageError(f"'{folder}' has no {STATEMENTS}: it is no folder of --out")
    document = _file(folder, GPUS_FILE)
    gpus = None if document is None else _gpus(parse_driver_statement(words), device_evidence(document))
    reports = {kind: _file(folder, VM_FILE.format(kind)) for kind in PROVIDERS.values()}
    found = [kind for kind, report in reports.items() if report is not None]
    if len(found) > 1:
        raise MalformedError(WHAT, "the evidence of one virtual machine", " and ".join(found))
    vms = [
        CollectedVm(provider, report, _file(folder, CHAIN.format(kind)))
        for provider, kind in PROVIDERS.items()
        if (report := reports[kind]) is not None
    ]
    vm = next(iter(vms), None)
    if gpus is None and vm is None:
        raise MalformedError(WHAT, f"{GPUS_FILE}, or the evidence of a virtual machine", "neither")
    absent = {what: NOT_IN_FOLDER for what, part in (("gpus", gpus), ("vm", vm)) if part is None}
    return assemble(nonce, gpus, vm, absent)


def parse_driver_statement(data: bytes) -> DriverStatement:
    """Parse the driver's statements from ``STATEMENTS``. Raises MalformedError if they are malformed."""
    driver = Document.parse(data, WHAT).document("driver")
    gpus = tuple(GpuStatement(each.text("uuid"), each.text("vbios_version")) for each in driver.documents("gpus"))
    return DriverStatement(driver.text("version"), driver.flag("devtools"), gpus)


def _gpus(driver: DriverStatement, devices: Sequence[DeviceEvidence]) -> CollectedGpus:
    if len(driver.gpus) != len(devices):
        raise MalformedError(WHAT, f"{len(driver.gpus)} GPUs, as the driver counted", f"{len(devices)}")
    return CollectedGpus(tuple(CollectedGpu(each.report, each.chain or b"") for each in devices), driver)


def _file(folder: Path, name: str) -> bytes | None:
    """Return what is in a file of the folder; ``None`` where there is none."""
    try:
        data = read_plain(folder / name, LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read '{folder / name}': {reason(error)}") from None
    if len(data) > LARGEST:
        raise MalformedError(WHAT, f"at most {LARGEST} bytes of {name}", "more")
    return data
