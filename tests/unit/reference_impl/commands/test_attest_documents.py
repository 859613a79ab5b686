"""``carnet attest`` on the documents that services deliver: what each is, and what an acceptance does not say."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_check.cli import main
from carnet_ref.attestation.anchors import AnchorRole
from tests.fixtures.nvidia_pki import AT, NONCE, pem, report, world
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, REPORT_DATA
from tests.fixtures.wrapped_evidence import GPU_DOCUMENTS, QUOTE_DOCUMENTS, logged_rtmrs

W = world()
DEVICE = (report(W.device.leaf), W.device.chain())
LOGGED = PLATFORM.td(rtmrs=logged_rtmrs()).quote(REPORT_DATA)


def attest(*words: str) -> Result:
    return CliRunner().invoke(main, ["attest", *words])


def found(*words: str) -> Any:
    return json.loads(attest(*words, "--json").stdout)


def gpu(folder: Path, document: Any, *further: str) -> list[str]:
    (folder / "evidence").write_text(json.dumps(document))
    (folder / "roots").write_bytes(pem([W.root.certificate, W.rim_root.certificate]))
    roots = ["--trust-anchor", f"{folder}/roots", "--at", f"{AT:%Y-%m-%dT%H:%M:%SZ}"]
    return ["gpu", f"{folder}/evidence", *roots, *further]


def tdx(folder: Path, evidence: bytes, *further: str) -> list[str]:
    (root,) = PLATFORM.anchors.of(AnchorRole.INTEL_SGX)
    (folder / "evidence").write_bytes(evidence)
    (folder / "root").write_bytes(root.public_bytes(Encoding.PEM))
    roots = ["--trust-anchor", f"{folder}/root", "--at", f"{NOW:%Y-%m-%dT%H:%M:%SZ}"]
    return ["tdx", f"{folder}/evidence", *roots, *further]


@pytest.mark.parametrize("name", GPU_DOCUMENTS)
def test_the_first_step_names_the_document_that_a_report_was_found_in(name: str, tmp_path: Path) -> None:
    shown = found(*gpu(tmp_path, GPU_DOCUMENTS[name]([DEVICE])))
    assert shown["accepted"]
    assert (shown["steps"][0]["id"], shown["steps"][0]["ok"]) == ("document", True)
    assert "found in " in shown["steps"][0]["detail"]


@pytest.mark.parametrize("name", ["dstack getquote", "attestation answer"])
def test_the_log_in_a_document_is_replayed_without_being_asked_for(name: str, tmp_path: Path) -> None:
    shown = found(*tdx(tmp_path, json.dumps(QUOTE_DOCUMENTS[name](LOGGED)).encode()))
    assert {step["id"]: step["ok"] for step in shown["steps"]}["event-log"]
    other = found(*tdx(tmp_path, json.dumps(QUOTE_DOCUMENTS[name](QUOTE)).encode()))
    assert other["failed_step"] == "event-log"


@pytest.mark.parametrize("name", QUOTE_DOCUMENTS)
def test_the_first_step_names_the_document_that_a_quote_was_found_in(name: str, tmp_path: Path) -> None:
    shown = found(*tdx(tmp_path, json.dumps(QUOTE_DOCUMENTS[name](LOGGED)).encode()))
    assert shown["accepted"]
    assert (shown["steps"][0]["id"], shown["steps"][0]["ok"]) == ("document", True)


def test_the_document_is_named_when_the_evidence_in_it_is_refused(tmp_path: Path) -> None:
    changed = (DEVICE[0][:-1] + b"\0", DEVICE[1])
    result = attest(*gpu(tmp_path, GPU_DOCUMENTS["service request"]([changed])))
    assert result.exit_code == 1
    assert "a request to NVIDIA's remote attestation service" in " ".join(result.stdout.split())


def test_parts_of_a_document_that_are_not_read_are_listed(tmp_path: Path) -> None:
    shown = found(*tdx(tmp_path, json.dumps(QUOTE_DOCUMENTS["Azure vTPM of bytes"](QUOTE)).encode()))
    assert shown["steps"][1]["id"] == "unread"
    assert shown["not_compared"][0] == "vTPM quote not checked"


@pytest.mark.mends("R403")
@pytest.mark.parametrize(
    ("quote", "log", "step"), [(LOGGED, None, None), (LOGGED, "[]", "event-log"), (QUOTE, "[]", "event-log")]
)
def test_a_log_in_a_document_and_one_that_is_given_have_to_hold_both(
    quote: bytes, log: str | None, step: str | None, tmp_path: Path
) -> None:
    """The log in the documents here ends in the registers of ``LOGGED``, and an empty one in those of ``QUOTE``."""
    document = QUOTE_DOCUMENTS["dstack getquote"](quote)
    (tmp_path / "log").write_text(document["event_log"] if log is None else log)
    words = tdx(tmp_path, json.dumps(document).encode(), "--event-log", f"{tmp_path}/log")
    assert found(*words)["failed_step"] == step


def last_line(result: Result) -> str:
    """Return what stands before the command that does it again, as one line."""
    return " ".join(result.stdout[result.stdout.index("\nACCEPTED") : result.stdout.index("\nrerun")].split())


@pytest.mark.mends("E4")
def test_a_bare_acceptance_of_a_report_says_what_was_not_compared(tmp_path: Path) -> None:
    words = gpu(tmp_path, GPU_DOCUMENTS["one device"]([DEVICE]))
    lacking = ["revocation not checked", "not fresh", "firmware not compared", "mode not compared"]
    assert last_line(attest(*words)) == ", ".join(["ACCEPTED", *lacking])
    assert found(*words)["not_compared"] == lacking


def everything_but(folder: Path, left_out: str = "") -> list[str]:
    """Write all that can be given about the device, and return the words for it, but for one file."""
    given = {f"ocsp{place}": ("--ocsp", base64.b64encode(reply)) for place, reply in enumerate(W.replies())}
    given["signer"] = ("--ocsp", base64.b64encode(*W.rim_replies()))
    given |= {kind: ("--rim", rim) for kind, rim in zip(("driver", "vbios"), W.rims(), strict=True)}
    for name, (_, data) in given.items():
        (folder / name).write_bytes(data)
    options = [(option, f"{folder}/{name}") for name, (option, _) in given.items() if name != left_out]
    return ["--nonce", "0x" + NONCE.hex(), *(word for option in options for word in option)]


@pytest.mark.mends("E4")
@pytest.mark.mends("E11")
@pytest.mark.parametrize(
    ("left_out", "lacking"),
    [
        ("", []),
        ("driver", ["driver not compared"]),
        ("vbios", ["VBIOS not compared"]),
        ("signer", ["revocation of RIM signers not checked"]),
    ],
)
def test_a_part_that_was_not_given_is_named_by_itself(left_out: str, lacking: list[str], tmp_path: Path) -> None:
    words = everything_but(tmp_path, left_out)
    shown = found(*gpu(tmp_path, GPU_DOCUMENTS["one device"]([DEVICE]), *words))
    assert shown["accepted"]
    assert shown["not_compared"] == [*lacking, "mode not compared"]


@pytest.mark.mends("E4")
def test_a_bare_acceptance_of_a_quote_says_what_was_not_compared(tmp_path: Path) -> None:
    lacking = [
        "not fresh",
        "measurements not compared",
        "event log not replayed",
        "TCB status not checked",
        "revocation not checked",
    ]
    assert last_line(attest(*tdx(tmp_path, QUOTE))) == ", ".join(["ACCEPTED", *lacking])
    assert found(*tdx(tmp_path, QUOTE))["not_compared"] == lacking


def test_collateral_and_report_data_leave_less_to_be_said(tmp_path: Path) -> None:
    (tmp_path / "collateral").write_bytes(PLATFORM.collateral)
    words = ["--collateral", f"{tmp_path}/collateral", "--report-data", REPORT_DATA.hex()]
    shown = found(*tdx(tmp_path, QUOTE, *words))
    assert shown["not_compared"] == ["measurements not compared", "event log not replayed"]


def test_a_refusal_says_no_more_than_where(tmp_path: Path) -> None:
    result = attest(*tdx(tmp_path, QUOTE, "--report-data", "00" * 64))
    assert result.stdout.splitlines()[-2] == "REFUSED at report-data"
