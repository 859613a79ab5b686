"""``carnet attest`` on the documents that services deliver: what each is, and what an acceptance does not say."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.appraisal import AnchorRole, Appraisal, AppraisalStep
from carnet_ref.commands.attest import show
from tests.fixtures import nvidia_pki as pki
from tests.fixtures.command_words import attest, found
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, REPORT_DATA
from tests.fixtures.wrapped_evidence import GPU_DOCUMENTS, QUOTE_DOCUMENTS, logged_rtmrs

W = pki.world()
DEVICE = (pki.report(W.device.leaf), W.device.chain())
LOGGED = PLATFORM.td(rtmrs=logged_rtmrs()).quote(REPORT_DATA)


def gpu(folder: Path, document: Any, *further: str) -> list[str]:
    (folder / "evidence").write_text(json.dumps(document))
    (folder / "roots").write_bytes(pki.pem([W.root.certificate, W.rim_root.certificate]))
    roots = ["--trust-anchor", f"{folder}/roots", "--at", f"{pki.AT:%Y-%m-%dT%H:%M:%SZ}"]
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


def test_parts_that_are_not_read_or_compared_are_listed_unless_it_is_refused(tmp_path: Path) -> None:
    shown = found(*tdx(tmp_path, json.dumps(QUOTE_DOCUMENTS["Azure vTPM of bytes"](QUOTE)).encode()))
    assert shown["steps"][1]["id"] == "unread"
    assert shown["not_compared"][0] == "vTPM quote not checked"
    (tmp_path / "collateral").write_bytes(PLATFORM.collateral)
    words = ["--collateral", f"{tmp_path}/collateral", "--report-data", REPORT_DATA.hex()]
    shown = found(*tdx(tmp_path, QUOTE, *words))
    assert shown["not_compared"] == ["measurements not compared", "event log not replayed"]
    result = attest(*tdx(tmp_path, QUOTE, "--report-data", "00" * 64))
    assert result.stdout.splitlines()[-2] == "REFUSED at report-data"


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
    return ["--nonce", "0x" + pki.NONCE.hex(), *(word for option in options for word in option)]


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


WHEN = f"{pki.AT:%Y-%m-%dT%H:%M:%SZ}"
HOSTILE = {
    "escape": "\x1b]0;owned\x07\x1b[2J",
    "C1": "\x9b2J",
    "lines": "x\nACCEPTED\r\n",
    "override": "\u202edetpecca\u202c",
    "delete": "\x7f\x7f",
    "zero width": "a\u200bb\ufeff",
    "tag characters": "\U000e0041",
}
ANY = st.text(st.characters())
CLAIMS = st.dictionaries(
    st.sampled_from(["product", "mode", "advisories"]), st.none() | st.booleans() | ANY | st.lists(ANY)
)


def check_shown(result: Result) -> None:
    assert result.exit_code in (0, 1), result.output
    assert all(character.isprintable() or character == "\n" for character in result.stdout + result.stderr)


def a_device(name: str, issuer: pki.Authority | None = None) -> pki.Device:
    """Return a device whose every certificate has a name of somebody's choosing."""
    path = [issuer or W.root]
    for place in range(3):
        path.append(pki.issue(f"{name} {place}", path[-1]))
    path.append(pki.issue(f"{name} leaf", path[-1], ca=False, extensions=[(pki.dice(pki.FIRMWARE_ID), False)]))
    return pki.Device(tuple(path))


def usual(folder: Path, device: pki.Device) -> list[str]:
    (folder / "report").write_bytes(pki.report(device.leaf))
    (folder / "chain").write_bytes(device.chain())
    (folder / "roots").write_bytes(pki.pem([W.root.certificate, W.rim_root.certificate]))
    return [f"{folder}/report", "--chain", f"{folder}/chain", "--trust-anchor", f"{folder}/roots", "--at", WHEN]


@pytest.mark.mends("M5")
@pytest.mark.parametrize("name", HOSTILE.values(), ids=list(HOSTILE))
def test_names_of_an_accepted_device_are_escaped(name: str, tmp_path: Path) -> None:
    words = usual(tmp_path, a_device(name))
    accepted = attest("gpu", *words)
    check_shown(accepted)
    assert [line.split(",")[0] for line in accepted.stdout.splitlines() if line.startswith("ACCEPTED")] == ["ACCEPTED"]
    given = attest("gpu", *words, "--json")
    check_shown(given)
    assert given.stdout.isascii()
    assert json.loads(given.stdout)["claims"]["product"] == f"{name} leaf".split()[0]


@pytest.mark.mends("M5")
@pytest.mark.parametrize("name", HOSTILE.values(), ids=list(HOSTILE))
def test_names_of_refused_evidence_are_escaped(name: str, tmp_path: Path) -> None:
    """Issuers without a common name, signers and versions of RIMs: each where it is refused."""
    whole = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, name)])
    stranger = pki.issue("Stranger", None, subject=whole)
    words = usual(tmp_path, a_device("GH100", stranger))
    assert "no trust anchor" in _refused(words)
    (tmp_path / "roots").write_bytes(pki.pem([stranger.certificate, W.rim_root.certificate]))
    (tmp_path / "reply").write_bytes(base64.b64encode(pki.ocsp_reply(W.device.path[1], W.root)))
    assert "about no certificate" in _refused([*words, "--ocsp", f"{tmp_path}/reply"])
    (tmp_path / "rim").write_bytes(
        pki.sign_rim(pki.rim_xml("1.0\u202e\x9b", {9: [bytes(48)]}), pki.issue(name, None, ca=False))
    )
    assert "no trust anchor" in _refused([*words, "--rim", f"{tmp_path}/rim"])
    (tmp_path / "rim").write_bytes(pki.sign_rim(pki.rim_xml("1.0\u202e\x9b", {9: [bytes(48)]}), W.rim_signer))
    assert r"1.0\u202e\x9b" in _refused([*words, "--rim", f"{tmp_path}/rim"])


def _refused(words: list[str]) -> str:
    result = attest("gpu", *words)
    check_shown(result)
    check_shown(attest("gpu", *words, "--json"))
    assert result.exit_code == 1
    return " ".join(result.stdout.split())


@pytest.mark.mends("M5")
@pytest.mark.parametrize("name", ["\x1b[2J", "\udcff", "\u202e", "two\nlines"], ids=ascii)
def test_names_of_files_are_escaped(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"no report!")
    for kind in ("gpu", "tdx"):
        for words in ([f"{tmp_path}/{name}"], [f"{tmp_path}/{name}", "--json"]):
            check_shown(attest(kind, *words))
        missing = attest(kind, f"{tmp_path}/{name} missing")
        assert (missing.exit_code, missing.stderr.strip().isprintable()) == (2, True)


@pytest.mark.mends("M5")
def test_what_cannot_be_parsed_is_escaped(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x9b\u202e"
    documents: Mapping[str, bytes] = {
        "JSON": json.dumps([{"evidence": hostile, "certificate": hostile}]).encode(),
        "keys": json.dumps({hostile: 1, "gpus": [{hostile: hostile}]}).encode(),
        "half a character": b'{"gpus": "\\ud800"}',
        "XML": f"<{hostile}/>".encode(),
    }
    words = usual(tmp_path, W.device)
    for data in documents.values():
        (tmp_path / "given").write_bytes(data)
        _refused([f"{tmp_path}/given", "--chain", f"{tmp_path}/chain"])
        _refused([*words, "--rim", f"{tmp_path}/given"])


@pytest.mark.mends("M5")
@given(detail=ANY, source=ANY, ok=st.sampled_from([True, False, None]), claims=CLAIMS, word=ANY)
def test_any_text_is_shown_and_any_json_is_valid(
    detail: str, source: str, ok: bool | None, claims: dict[str, object], word: str
) -> None:
    appraisal = Appraisal((AppraisalStep("parse", ok, detail, source),), claims)
    for as_json in (False, True):
        with CliRunner().isolation() as (out, _, _):
            show(appraisal, pki.AT, ["carnet", word], as_json)
        shown = out.getvalue().decode("utf-8")
        assert all(character.isprintable() or character == "\n" for character in shown)
        if as_json:
            found = json.loads(shown)
            assert (found["claims"], found["steps"][0]["detail"]) == (claims, detail)
