"""Evidence in a folder: kept as it was collected, and appraised elsewhere with the nonce of whoever reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carnet_command.errors import UsageError
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.live.appraisal import Terms, appraise_collection
from carnet_ref.attestation.live.collection import (
    LARGEST,
    WORDS,
    Collection,
    collect,
    keep,
    kept,
    parse_driver_words,
    prepare,
)
from carnet_ref.attestation.live.sources import TsmFolder
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_machine import (
    NONCE,
    NOW,
    SimulatedNvml,
    SimulatedTsm,
    anchors,
    gpu,
    machine,
    quote,
    snp_report,
    td,
)


def appraised(collection: Collection) -> Appraisal:
    return appraise_collection(collection, Terms(NOW, anchors(), {}, {}, itself=False))


@pytest.fixture
def tsm(tmp_path: Path) -> Path:
    (tmp_path / "tsm").mkdir()
    return tmp_path / "tsm"


@pytest.fixture
def folder(tmp_path: Path, tsm: Path) -> Path:
    """Keep the evidence of a machine with two GPUs and a TD."""
    return written(tmp_path / "kept", collect(machine(SimulatedNvml([gpu(0), gpu(1)]), td(tsm)), NONCE))


def written(folder: Path, collection: Collection) -> Path:
    prepare(folder)
    keep(collection, folder, NOW)
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
        again = kept(written(tmp_path / f"{number}", collection), NONCE)
        assert (again.parts, again.driver, again.nonce) == (collection.parts, collection.driver, NONCE)
        assert list(again.absent) == list(collection.absent)
        assert appraised(again).accepted
        assert "appraised by the machine itself" not in appraised(again).not_compared


def test_files_are_for_their_owner_and_have_their_names(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"gpus.json", "tdx.bin", WORDS}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    said = json.loads((folder / WORDS).read_text())
    assert (said["nonce"], said["absent"], len(said["driver"]["gpus"])) == (NONCE.hex(), {}, 2)


def test_the_nonce_is_that_of_whoever_reads(folder: Path) -> None:
    refused = appraised(kept(folder, bytes(32)))
    assert refused.failed_step == "node.gpu0.nonce"
    (folder / WORDS).write_text(json.dumps({**json.loads((folder / WORDS).read_text()), "nonce": "00" * 32}))
    assert appraised(kept(folder, NONCE)).accepted


def test_reports_of_other_gpus_or_none_do_not_fit_the_quote(folder: Path, tmp_path: Path, tsm: Path) -> None:
    other = written(tmp_path / "other", collect(machine(SimulatedNvml([gpu(2), gpu(3)]), td(tsm)), NONCE))
    (folder / "gpus.json").write_bytes((other / "gpus.json").read_bytes())
    assert appraised(kept(folder, NONCE)).failed_step == "tdx.report-data"
    (folder / "gpus.json").unlink()
    assert appraised(kept(folder, NONCE)).failed_step == "tdx.report-data"


def test_what_was_taken_out_is_told(folder: Path) -> None:
    (folder / "tdx.bin").unlink()
    found = appraised(kept(folder, NONCE))
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
        (rewritten(WORDS, lambda words: []), "expected a JSON object"),
        (rewritten(WORDS, lambda words: {**words, "driver": None}), "driver: expected an object"),
        (rewritten(WORDS, lambda words: {"driver": {"version": 1, "devtools": False}}), "version: expected a string"),
        (both, "the evidence of one virtual machine, found tdx and snp"),
        (neither, "gpus.json, or the evidence of a virtual machine, found neither"),
        (endless, f"at most {LARGEST} bytes of tdx.bin"),
    ],
)
def test_a_folder_that_is_wrong_is_malformed(folder: Path, act: Callable[[Path], None], why: str) -> None:
    act(folder)
    with pytest.raises(MalformedError, match=why):
        kept(folder, NONCE)


def test_a_report_without_certificates_is_refused(tmp_path: Path, tsm: Path) -> None:
    folder = written(tmp_path / "kept", collect(machine(SimulatedNvml([gpu(0)]), td(tsm)), NONCE))
    (folder / "gpus.json").write_bytes(SimulatedNvml([gpu(0)]).report(0, NONCE))
    assert appraised(kept(folder, NONCE)).failed_step == "node.parse"


def test_a_folder_of_something_else_is_a_usage_error(tmp_path: Path, folder: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UsageError, match=r"has no collected.json: it is no folder of --out"):
            kept(path, NONCE)
    (folder / "tdx.bin").unlink()
    (folder / "tdx.bin").mkdir()
    with pytest.raises(UsageError, match=r"cannot read '.*/tdx.bin'"):
        kept(folder, NONCE)


def test_a_folder_that_is_full_or_cannot_be_made_is_not_written_to(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not empty"):
        prepare(folder)
    for path in (folder / WORDS, tmp_path / "no" / "where"):
        with pytest.raises(UsageError, match="cannot keep evidence in"):
            prepare(path)
    with pytest.raises(UsageError, match=r"cannot keep evidence in .*exists"):
        keep(kept(folder, NONCE), folder, NOW)


def test_the_drivers_words_are_read_as_they_are() -> None:
    words = {"driver": {"version": "1", "devtools": True, "gpus": [{"uuid": "u", "vbios_version": "v"}]}}
    found = parse_driver_words(json.dumps(words).encode())
    assert (found.version, found.devtools, found.gpus[0].uuid, found.gpus[0].vbios_version) == ("1", True, "u", "v")
    assert quote(bytes(64))[1] is None
