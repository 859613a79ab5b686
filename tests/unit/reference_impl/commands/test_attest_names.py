"""Names in evidence are shown, and act on no terminal: not in text, not in JSON, whatever is in them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.cli import main
from carnet_ref.attestation.appraisal import Appraisal, AppraisalStep
from carnet_ref.commands.appraisals import show
from tests.fixtures.nvidia_pki import (
    AT,
    FIRMWARE_ID,
    Authority,
    Device,
    dice,
    issue,
    ocsp_reply,
    pem,
    report,
    rim_xml,
    sign_rim,
    world,
)

W = world()
WHEN = f"{AT:%Y-%m-%dT%H:%M:%SZ}"
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


def attest(kind: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["attest", kind, *words])


def check_shown(result: Result) -> None:
    assert result.exit_code in (0, 1), result.output
    assert all(character.isprintable() or character == "\n" for character in result.stdout + result.stderr)


def a_device(name: str, issuer: Authority | None = None) -> Device:
    """Return a device whose every certificate has a name of somebody's choosing."""
    path = [issuer or W.root]
    for place in range(3):
        path.append(issue(f"{name} {place}", path[-1]))
    path.append(issue(f"{name} leaf", path[-1], ca=False, extensions=[(dice(FIRMWARE_ID), False)]))
    return Device(tuple(path))


def usual(folder: Path, device: Device) -> list[str]:
    (folder / "report").write_bytes(report(device.leaf))
    (folder / "chain").write_bytes(device.chain())
    (folder / "roots").write_bytes(pem([W.root.certificate, W.rim_root.certificate]))
    return [
        f"{folder}/report",
        "--chain",
        f"{folder}/chain",
        "--trust-anchor",
        f"{folder}/roots",
        "--at",
        WHEN,
    ]


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
    stranger = issue("Stranger", None, subject=whole)
    words = usual(tmp_path, a_device("GH100", stranger))
    assert "no trust anchor" in _refused(words)
    (tmp_path / "roots").write_bytes(pem([stranger.certificate, W.rim_root.certificate]))
    (tmp_path / "reply").write_bytes(base64.b64encode(ocsp_reply(W.device.path[1], W.root)))
    assert "about no certificate" in _refused([*words, "--ocsp", f"{tmp_path}/reply"])
    (tmp_path / "rim").write_bytes(sign_rim(rim_xml("1.0\u202e\x9b", {9: [bytes(48)]}), issue(name, None, ca=False)))
    assert "no trust anchor" in _refused([*words, "--rim", f"{tmp_path}/rim"])
    (tmp_path / "rim").write_bytes(sign_rim(rim_xml("1.0\u202e\x9b", {9: [bytes(48)]}), W.rim_signer))
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
            show(appraisal, AT, ["carnet", word], as_json)
        shown = out.getvalue().decode("utf-8")
        assert all(character.isprintable() or character == "\n" for character in shown)
        if as_json:
            found = json.loads(shown)
            assert (found["claims"], found["steps"][0]["detail"]) == (claims, detail)
