"""The evidence bundle: signed, about these very files, and refused as soon as one byte is another."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_check.errors import UsageError
from carnet_check.report.bundle import BundleRefusedError, EvidenceBundle, check_bundle
from carnet_check.report.run_folder import read_run
from tests.unit.model_check.command import TOY, carnet, control
from tests.unit.model_check.report.signing import PRIVATE, PUBLIC, pems, seal


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "run"
    carnet("verify", TOY, "--engine", "explicit", "--out", str(folder))
    return folder


@pytest.fixture(scope="module")
def envelope(run: Path) -> bytes:
    return seal(run)


def test_a_bundle_is_accepted_and_says_what_the_run_said(run: Path, envelope: bytes) -> None:
    evidence = check_bundle(envelope, run, PUBLIC).evidence
    assert evidence == EvidenceBundle("PASSED", 2, 0, 0, 5, evidence.key_id)


def test_the_statement_is_an_in_toto_test_result_in_canonical_json(run: Path, envelope: bytes) -> None:
    import rfc8785

    payload = base64.b64decode(json.loads(envelope)["payload"])
    statement = json.loads(payload)
    assert payload == rfc8785.dumps(statement)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert {each["name"] for each in statement["subject"]} >= {"verdicts.jsonl", "spec.json", "run.json"}
    (configuration,) = statement["predicate"]["configuration"]
    assert configuration["digest"]["sha256"] == read_run(run).spec["variants"][0]["digest"]


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_a_changed_byte_of_the_envelope_is_refused(run: Path, envelope: bytes, place: int, flip: int) -> None:
    place %= len(envelope)
    changed = envelope[:place] + bytes([envelope[place] ^ flip]) + envelope[place + 1 :]
    with pytest.raises(BundleRefusedError):
        check_bundle(changed, run, PUBLIC)


def test_an_envelope_that_merely_reads_the_same_is_refused(run: Path, envelope: bytes) -> None:
    spaced = envelope.replace(b'","', b'", "', 1)
    assert json.loads(spaced) == json.loads(envelope)
    signature = json.loads(envelope)["signatures"][0]["sig"]
    twin = signature[:-3] + chr(ord(signature[-3]) + 1) + "=="  # differs in bits that base64 leaves unused
    assert base64.b64decode(twin) == base64.b64decode(signature)
    for same in (spaced, envelope.replace(signature.encode(), twin.encode())):
        with pytest.raises(BundleRefusedError, match="not written as it was"):
            check_bundle(same, run, PUBLIC)


def test_a_changed_byte_of_any_file_is_refused(run: Path, envelope: bytes, tmp_path: Path) -> None:
    for file in [path.relative_to(run) for path in run.rglob("*") if path.is_file()]:
        copy = tmp_path / "run"
        shutil.copytree(run, copy)
        content = (copy / file).read_bytes()
        (copy / file).write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
        with pytest.raises(BundleRefusedError, match=f"'{file}' has changed"):
            check_bundle(envelope, copy, PUBLIC)
        shutil.rmtree(copy)


def test_a_missing_or_added_file_is_refused(run: Path, envelope: bytes, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    (copy / "note.txt").write_text("more")
    with pytest.raises(BundleRefusedError, match=r"'note\.txt' is in .* and was not signed"):
        check_bundle(envelope, copy, PUBLIC)
    (copy / "note.txt").unlink()
    (copy / "timings.jsonl").unlink()
    with pytest.raises(BundleRefusedError, match=r"'timings\.jsonl' was signed and is missing"):
        check_bundle(envelope, copy, PUBLIC)


def test_another_key_is_refused(run: Path, envelope: bytes) -> None:
    _, other = pems(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)))
    with pytest.raises(BundleRefusedError, match="does not verify under this key"):
        check_bundle(envelope, run, other)


def test_an_elliptic_curve_key_will_do(run: Path) -> None:
    private, public = pems(ec.derive_private_key(7, ec.SECP384R1()))
    assert check_bundle(seal(run, private), run, public).evidence.result == "PASSED"


@pytest.mark.parametrize("pem", [b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", PUBLIC])
def test_what_is_no_key_is_said_to_be_none_and_not_shown(run: Path, pem: bytes) -> None:
    with pytest.raises(UsageError, match="expected an unencrypted private key in PEM") as refused:
        seal(run, pem)
    assert "AAAA" not in str(refused.value)


def test_the_command_signs_and_checks(run: Path, tmp_path: Path) -> None:
    private, public, bundle = tmp_path / "key.pem", tmp_path / "key.pub", tmp_path / "evidence.json"
    private.write_bytes(PRIVATE)
    public.write_bytes(PUBLIC)
    assert carnet("report", str(run), "--bundle", str(bundle), "--key", str(private)).code == 0
    ran = carnet("report", str(run), "--check-bundle", str(bundle), "--key", str(public), "--json")
    assert (ran.code, ran.json["evidence"]["result"]) == (0, "PASSED")
    bundle.write_bytes(bundle.read_bytes().replace(b"payload", b"paylaod", 1))
    ran = carnet("report", str(run), "--check-bundle", str(bundle), "--key", str(public), "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (1, "refused")


def test_a_bundle_inside_the_run_is_refused_before_it_is_written(run: Path, tmp_path: Path) -> None:
    private = tmp_path / "key.pem"
    private.write_bytes(PRIVATE)
    ran = carnet("report", str(run), "--bundle", str(run / "evidence.json"), "--key", str(private))
    assert ran.code == 2
    assert not (run / "evidence.json").exists()


def test_a_violated_claim_makes_the_result_failed(tmp_path: Path) -> None:
    carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(tmp_path))
    evidence = check_bundle(seal(tmp_path), tmp_path, PUBLIC).evidence
    assert (evidence.result, evidence.passed, evidence.failed) == ("FAILED", 1, 1)
