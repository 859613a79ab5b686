"""Collecting on one machine: one nonce for all, a binding of GPUs to the virtual machine, and what is not here."""

from __future__ import annotations

import errno
from pathlib import Path

import pynvml
import pytest

from carnet_command.exit_codes import ExitCode
from carnet_ref.attestation.live.collection import collect, report_data, this_machine
from carnet_ref.attestation.live.sources import ROOT, CollectionError, TsmFolder, this_nvml
from carnet_ref.attestation.nvidia.wrappers import device_evidence
from tests.fixtures.simulated_machine import (
    NO_NVML,
    NONCE,
    SimulatedNvml,
    SimulatedTsm,
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


def test_certificates_of_the_host_come_with_a_report(tmp_path: Path) -> None:
    found = collect(machine(None, SimulatedTsm(tmp_path, "sev_guest", snp_report)), NONCE)
    (part,) = found.parts
    assert (part.kind, part.chain, part.asked) == ("snp", snp_report(bytes(64))[1], {"report-data": NONCE + bytes(32)})
    assert found.absent == {"gpus": NO_NVML}


def test_gpus_alone_are_evidence(tmp_path: Path) -> None:
    found = collect(machine(SimulatedNvml([gpu()]), TsmFolder(tmp_path / "nowhere")), NONCE)
    assert ([part.kind for part in found.parts], list(found.absent)) == (["node"], ["vm"])


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
