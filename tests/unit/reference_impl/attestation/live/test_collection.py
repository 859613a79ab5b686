"""Collecting on one machine: one nonce for all, a binding of GPUs to the virtual machine, and what is not here."""

import errno
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pynvml
import pytest

from carnet_command.errors import UsageError
from carnet_command.exit_codes import ExitCode
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.live.appraisal import AppraisalTerms, appraise_collection
from carnet_ref.attestation.live.collection import (
    LARGEST,
    LARGEST_BLOB,
    ROOT,
    STATEMENTS,
    AbsentError,
    Collection,
    CollectionError,
    TsmFolder,
    collect,
    collect_gpus,
    collect_vm,
    parse_driver_statement,
    prepare_folder,
    read_collection,
    report_data,
    this_machine,
    this_nvml,
    write_collection,
)
from carnet_ref.attestation.nvidia.report import device_evidence, parse_report
from carnet_ref.attestation.simulated.gpu import CURRENT
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_machine import (
    NO_NVML,
    NONCE,
    NOW,
    Deaf,
    Rival,
    SimulatedNvml,
    SimulatedTsm,
    SystemState,
    anchors,
    gpu,
    machine,
    quote,
    snp_report,
    td,
)


def test_everything_is_asked_with_one_nonce(tmp_path: Path) -> None:
    nvml, tsm = SimulatedNvml([gpu(0), gpu(1)]), td(tmp_path)
    found = collect(machine(nvml, tsm), NONCE)
    assert [(part.kind, part.file) for part in found.parts] == [("node", "gpus.json"), ("tdx", "tdx.bin")]
    reports = [each.report for each in device_evidence(found.parts[0].evidence)]
    assert found.driver is not None
    assert reports == [nvml.report(place, NONCE) for place in range(2)]
    assert (len(found.driver.gpus), found.kinds) == (2, ("node", "tdx"))
    assert (found.parts[0].asked, found.parts[1].asked) == ({"nonce": NONCE}, {"report-data": tsm.asked[0]})
    assert tsm.asked == [report_data(NONCE, reports)]
    assert not found.absent


def test_the_report_data_begins_with_the_nonce_and_commits_to_every_report_in_its_place() -> None:
    reports = [b"one", b"two"]
    asked = report_data(NONCE, reports)
    others = [[b"two", b"one"], [b"one"], [b"onetwo"], [b"on", b"etwo"], [b"one", b"two", b""], []]
    assert (len(asked), asked[:32]) == (64, NONCE)
    assert asked not in [report_data(NONCE, other) for other in others]
    assert report_data(NONCE, []) == NONCE + bytes(32)


def test_gpus_alone_are_evidence_and_certificates_of_the_host_come_with_a_report(tmp_path: Path) -> None:
    found = collect(machine(SimulatedNvml([gpu()]), TsmFolder(tmp_path / "nowhere")), NONCE)
    assert ([part.kind for part in found.parts], list(found.absent)) == (["node"], ["vm"])
    found = collect(machine(None, SimulatedTsm(tmp_path, "sev_guest", snp_report)), NONCE)
    (part,) = found.parts
    assert (part.kind, part.chain, part.asked) == ("snp", snp_report(bytes(64))[1], {"report-data": NONCE + bytes(32)})
    assert found.absent == {"gpus": NO_NVML}


def test_a_provider_that_is_not_known_is_told(tmp_path: Path) -> None:
    tsm = SimulatedTsm(tmp_path, "arm_cca_guest", quote)
    found = collect(machine(SimulatedNvml([gpu()]), tsm), NONCE)
    assert found.absent == {"vm": "reports of the provider 'arm_cca_guest' are not appraised"}
    with pytest.raises(CollectionError, match=r"no evidence on this machine.*arm_cca_guest"):
        collect(machine(None, tsm), NONCE)


def test_nothing_at_all_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CollectionError) as error:
        collect(machine(None, TsmFolder(tmp_path / "nowhere")), NONCE)
    assert str(error.value) == (
        f"no evidence on this machine. GPUs: {NO_NVML}. Virtual machine: no configfs-tsm ({tmp_path / 'nowhere'})"
    )
    assert error.value.exit_code is ExitCode.UNKNOWN


def test_a_part_that_does_not_answer_is_not_left_out(tmp_path: Path) -> None:
    lost = {"nvmlDeviceGetConfComputeGpuAttestationReport": pynvml.NVML_ERROR_GPU_IS_LOST}
    tsm = td(tmp_path)
    with pytest.raises(CollectionError, match="GPU is lost"):
        collect(machine(SimulatedNvml([gpu()], failing=lost), tsm), NONCE)
    assert not tsm.asked
    busy = SimulatedTsm(tmp_path, "tdx_guest", quote, failing={"outblob": errno.EBUSY})
    with pytest.raises(CollectionError, match="try again"):
        collect(machine(SimulatedNvml([gpu()]), busy), NONCE)


def test_this_machine_is_asked_where_the_kernel_and_the_driver_are() -> None:
    here = this_machine()
    assert (here.nvml, here.tsm.path) == (this_nvml, ROOT)


def appraised(collection: Collection) -> Appraisal:
    return appraise_collection(collection, AppraisalTerms(NOW, anchors(), {}, {}, itself=False))


@pytest.fixture
def tsm(tmp_path: Path) -> Path:
    (tmp_path / "tsm").mkdir()
    return tmp_path / "tsm"


@pytest.fixture
def folder(tmp_path: Path, tsm: Path) -> Path:
    """Keep the evidence of a machine with two GPUs and a TD."""
    return written(tmp_path / "kept", collect(machine(SimulatedNvml([gpu(0), gpu(1)]), td(tsm)), NONCE))


def written(folder: Path, collection: Collection) -> Path:
    prepare_folder(folder)
    write_collection(collection, folder, NOW)
    return folder


def test_what_was_kept_is_what_was_collected(tmp_path: Path, tsm: Path) -> None:
    nobody = TsmFolder(tmp_path / "nowhere")
    hosts = [
        machine(SimulatedNvml([gpu(0), gpu(1)]), td(tsm)),
        machine(None, SimulatedTsm(tsm, "sev_guest", snp_report)),
        machine(SimulatedNvml([gpu(0)]), nobody),
    ]
    for number, host in enumerate(hosts):
        collection = collect(host, NONCE)
        again = read_collection(written(tmp_path / f"{number}", collection), NONCE)
        assert (again.parts, again.driver, again.nonce) == (collection.parts, collection.driver, NONCE)
        assert list(again.absent) == list(collection.absent)
        assert appraised(again).accepted
        assert "appraised by the machine itself" not in appraised(again).not_compared


def test_files_are_for_their_owner_and_the_nonce_is_that_of_whoever_reads(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"gpus.json", "tdx.bin", STATEMENTS}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    said = json.loads((folder / STATEMENTS).read_text())
    assert (said["nonce"], said["absent"], len(said["driver"]["gpus"])) == (NONCE.hex(), {}, 2)
    assert appraised(read_collection(folder, bytes(32))).failed_step == "node.gpu0.nonce"
    (folder / STATEMENTS).write_text(json.dumps({**json.loads((folder / STATEMENTS).read_text()), "nonce": "00" * 32}))
    assert appraised(read_collection(folder, NONCE)).accepted


def test_reports_of_other_gpus_or_none_do_not_fit_the_quote(folder: Path, tmp_path: Path, tsm: Path) -> None:
    other = written(tmp_path / "other", collect(machine(SimulatedNvml([gpu(2), gpu(3)]), td(tsm)), NONCE))
    (folder / "gpus.json").write_bytes((other / "gpus.json").read_bytes())
    assert appraised(read_collection(folder, NONCE)).failed_step == "tdx.report-data"
    (folder / "gpus.json").unlink()
    assert appraised(read_collection(folder, NONCE)).failed_step == "tdx.report-data"


def test_what_was_taken_out_is_told(folder: Path) -> None:
    (folder / "tdx.bin").unlink()
    found = appraised(read_collection(folder, NONCE))
    assert found.accepted
    assert "virtual machine not appraised" in found.not_compared
    assert next(step.detail for step in found.steps if step.id == "vm") == "it is not in the folder"


def rewritten(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        (folder / name).write_text(json.dumps(change(json.loads((folder / name).read_text()))))

    return act


def both(folder: Path) -> None:
    (folder / "snp.bin").write_bytes(b"x")


def neither(folder: Path) -> None:
    for name in ("gpus.json", "tdx.bin"):
        (folder / name).unlink()


def endless(folder: Path) -> None:
    (folder / "tdx.bin").write_bytes(bytes(LARGEST + 1))


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (rewritten("gpus.json", lambda devices: devices[:1]), "expected 2 GPUs, as the driver counted, found 1"),
        (rewritten("gpus.json", lambda devices: [*devices, devices[0]]), "expected 2 GPUs.*found 3"),
        (rewritten("gpus.json", lambda devices: {}), "GPU evidence"),
        (
            rewritten("gpus.json", lambda devices: [{**each, "certificate": ""} for each in devices]),
            "certificate chain",
        ),
        (rewritten(STATEMENTS, lambda words: []), "expected a JSON object"),
        (rewritten(STATEMENTS, lambda words: {**words, "driver": None}), "driver: expected an object"),
        (
            rewritten(STATEMENTS, lambda words: {"driver": {"version": 1, "devtools": False}}),
            "version: expected a string",
        ),
        (both, "the evidence of one virtual machine, found tdx and snp"),
        (neither, "gpus.json, or the evidence of a virtual machine, found neither"),
        (endless, f"at most {LARGEST} bytes of tdx.bin"),
    ],
)
def test_a_folder_that_is_wrong_is_malformed(folder: Path, act: Callable[[Path], None], why: str) -> None:
    act(folder)
    with pytest.raises(MalformedError, match=why):
        read_collection(folder, NONCE)


def test_a_report_without_certificates_is_refused(tmp_path: Path, tsm: Path) -> None:
    folder = written(tmp_path / "kept", collect(machine(SimulatedNvml([gpu(0)]), td(tsm)), NONCE))
    (folder / "gpus.json").write_bytes(SimulatedNvml([gpu(0)]).report(0, NONCE))
    assert appraised(read_collection(folder, NONCE)).failed_step == "node.parse"


def test_a_folder_of_something_else_is_a_usage_error(tmp_path: Path, folder: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UsageError, match=r"has no collected.json: it is no folder of --out"):
            read_collection(path, NONCE)
    (folder / "tdx.bin").unlink()
    (folder / "tdx.bin").mkdir()
    with pytest.raises(UsageError, match=r"cannot read '.*/tdx.bin'"):
        read_collection(folder, NONCE)


def test_a_folder_that_is_full_or_cannot_be_made_is_not_written_to(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not empty"):
        prepare_folder(folder)
    for path in (folder / STATEMENTS, tmp_path / "no" / "where"):
        with pytest.raises(UsageError, match="cannot keep evidence in"):
            prepare_folder(path)
    with pytest.raises(UsageError, match=r"cannot keep evidence in .*exists"):
        write_collection(read_collection(folder, NONCE), folder, NOW)


def test_the_drivers_words_are_read_as_they_are() -> None:
    words = {"driver": {"version": "1", "devtools": True, "gpus": [{"uuid": "u", "vbios_version": "v"}]}}
    found = parse_driver_statement(json.dumps(words).encode())
    assert (found.version, found.devtools, found.gpus[0].uuid, found.gpus[0].vbios_version) == ("1", True, "u", "v")
    assert quote(bytes(64))[1] is None


ASKED = bytes(range(64))


def answer(report_data: bytes) -> tuple[bytes, bytes | None]:
    return b"report of " + report_data, None


def tsm_folder(path: Path, kind: type[SimulatedTsm] = SimulatedTsm, **given: Any) -> SimulatedTsm:
    return kind(path, "tdx_guest", answer, **given)


def test_a_report_is_made_over_what_was_written_and_the_entry_goes_away(tmp_path: Path) -> None:
    tsm = tsm_folder(tmp_path)
    found = collect_vm(tsm, ASKED)
    assert (found.provider, found.report, found.auxiliary) == ("tdx_guest", b"report of " + ASKED, None)
    assert (tsm.asked, tsm.removed, list(tmp_path.iterdir())) == ([ASKED], 1, [])


@pytest.mark.parametrize(("given", "taken"), [(b"certificates", b"certificates"), (b"", None)])
def test_what_comes_along_is_taken_unless_it_is_empty(tmp_path: Path, given: bytes, taken: bytes | None) -> None:
    tsm = SimulatedTsm(tmp_path, "sev_guest", lambda _: (b"report", given))
    assert collect_vm(tsm, ASKED).auxiliary == taken


def test_entries_have_names_of_their_own(tmp_path: Path) -> None:
    names: set[str] = set()

    class Naming(SimulatedTsm):
        def create(self, entry: str) -> None:
            names.add(entry)
            super().create(entry)

    for _ in range(2):
        collect_vm(tsm_folder(tmp_path, Naming), ASKED)
    assert len(names) == 2


@pytest.mark.parametrize(("floor", "levels"), [(None, []), (0, []), (2, [b"2"])])
def test_a_guest_asks_with_the_highest_privilege_that_it_has(
    tmp_path: Path, floor: int | None, levels: list[bytes]
) -> None:
    tsm = tsm_folder(tmp_path, floor=floor)
    assert collect_vm(tsm, ASKED).report == b"report of " + ASKED
    assert tsm.levels == levels


@pytest.mark.parametrize("kind", [Rival, Deaf])
def test_a_stale_generation_is_noticed(tmp_path: Path, kind: type[SimulatedTsm]) -> None:
    tsm = tsm_folder(tmp_path, kind)
    with pytest.raises(CollectionError, match=r"its generation is [02], not 1: .* another process"):
        collect_vm(tsm, ASKED)
    assert (tsm.removed, list(tmp_path.iterdir())) == (1, [])


def test_every_write_is_counted_no_report_is_endless_and_the_first_error_is_told(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="its generation is 3, not 2"):
        collect_vm(tsm_folder(tmp_path, Rival, floor=1), ASKED)
    tsm = SimulatedTsm(tmp_path, "tdx_guest", lambda _: (bytes(LARGEST_BLOB + 1), None))
    with pytest.raises(CollectionError, match="outblob has more than 1048576 bytes"):
        collect_vm(tsm, ASKED)
    with pytest.raises(CollectionError, match=r"outblob: .*EIO"):
        collect_vm(tsm_folder(tmp_path, failing={"outblob": errno.EIO, "remove": errno.EBUSY}), ASKED)


def test_an_entry_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inblob").write_bytes(b"of somebody else")
    with pytest.raises(CollectionError, match=r"taken: file exists \(EEXIST\): another process may use this entry"):
        collect_vm(tsm_folder(tmp_path), ASKED, "taken")
    assert (tmp_path / "taken" / "inblob").read_bytes() == b"of somebody else"


@pytest.mark.parametrize(
    ("step", "code", "why"),
    [
        ("create", errno.EACCES, r"EACCES\): configfs is for root"),
        ("create", errno.EPERM, r"EPERM\): configfs is for root"),
        ("create", errno.ENOMEM, "ENOMEM"),
        ("provider", errno.ENOENT, r"provider: no such file or directory \(ENOENT\)"),
        ("generation", errno.EIO, "generation: .*EIO"),
        ("inblob", errno.EACCES, r"inblob: permission denied \(EACCES\)"),
        ("inblob", errno.EBUSY, "inblob: .*EBUSY"),
        ("outblob", errno.EBUSY, r"outblob: .*\(EBUSY\): the platform makes another report; try again"),
        ("outblob", errno.ENXIO, r"outblob: no such device or address \(ENXIO\)"),
        ("outblob", errno.ENOTTY, "outblob: .*ENOTTY"),
        ("outblob", errno.EINVAL, "outblob: .*EINVAL"),
        ("outblob", errno.ETIMEDOUT, "the host's quoting service does not answer"),
        ("auxblob", errno.EIO, "auxblob: .*EIO"),
        ("remove", errno.EBUSY, "EBUSY"),
    ],
)
def test_an_error_of_the_kernel_ends_it_in_one_line(tmp_path: Path, step: str, code: int, why: str) -> None:
    tsm = tsm_folder(tmp_path, failing={step: code})
    with pytest.raises(CollectionError, match=why) as error:
        collect_vm(tsm, ASKED)
    assert "\n" not in str(error.value)
    assert bool(list(tmp_path.iterdir())) == (step == "remove"), "the entry is removed in any case"


def test_an_interruption_removes_the_entry(tmp_path: Path) -> None:
    def interrupted(_: bytes) -> tuple[bytes, bytes | None]:
        raise KeyboardInterrupt

    tsm = SimulatedTsm(tmp_path, "tdx_guest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect_vm(tsm, ASKED)
    assert (tsm.removed, list(tmp_path.iterdir())) == (1, [])


def test_without_the_folder_or_a_provider_nothing_is_here(tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match=r"no configfs-tsm .*/nowhere"):
        collect_vm(TsmFolder(tmp_path / "nowhere"), ASKED)
    with pytest.raises(AbsentError, match="has no provider"):
        collect_vm(tsm_folder(tmp_path, failing={"create": errno.ENXIO}), ASKED)
    assert Path("/sys/kernel/config/tsm/report") == TsmFolder().path == ROOT


@pytest.mark.parametrize(("attribute", "text"), [("generation", "none\n"), ("generation", ""), ("provider", "\xff")])
def test_an_attribute_that_is_none_is_refused(tmp_path: Path, attribute: str, text: str) -> None:
    class Odd(SimulatedTsm):
        def create(self, entry: str) -> None:
            super().create(entry)
            (tmp_path / entry / attribute).write_bytes(text.encode("latin-1"))

    with pytest.raises(CollectionError, match=f"{attribute} is no"):
        collect_vm(tsm_folder(tmp_path, Odd), ASKED)


def test_a_write_that_is_cut_short_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda *_: 63)
    (tmp_path / "inblob").touch()
    with pytest.raises(OSError, match="only a part of inblob"):
        TsmFolder(tmp_path.parent).write(tmp_path.name, "inblob", ASKED)


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


def test_developer_tools_and_protected_pcie_are_told() -> None:
    state = SystemState(devtools=pynvml.NVML_CC_SYSTEM_DEVTOOLS_MODE_ON)
    assert collect_gpus(SimulatedNvml(GPUS, state=state), NONCE).driver.devtools
    assert len(collect_gpus(SimulatedNvml(GPUS, state=PPCIE), NONCE).devices) == 2
    failing = {"nvmlShutdown": pynvml.NVML_ERROR_GPU_IS_LOST}
    assert len(collect_gpus(SimulatedNvml(GPUS, failing=failing), NONCE).devices) == 2
    with pytest.raises(pynvml.NVMLError) as error:
        SimulatedNvml(GPUS).nvmlDeviceGetCount()
    assert error.value.value == pynvml.NVML_ERROR_UNINITIALIZED


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
