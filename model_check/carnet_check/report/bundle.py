"""The evidence of a release: what was verified, over the digest of every file of the run, signed.

An in-toto Statement v1 with a test-result predicate, as canonical JSON (RFC 8785), in a DSSE envelope. The signature
covers the digests, so the run folder travels beside the envelope and no byte of either can change unnoticed.

Source: in-toto attestation framework, Statement v1 and test-result v0.1; DSSE v1.0.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carnet_check.errors import CarnetError, UsageError
from carnet_check.report.run_folder import Run

PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
EXTRA = "the extra 'bundle' (pip install 'carnet[bundle]')"


class BundleRefusedError(CarnetError):
    """The evidence does not say what it should, or is not signed by the key, or is about other files."""

    kind = "refused"
    exit_code = 1


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a bundle that was accepted says."""

    result: str
    passed: int
    warned: int
    failed: int
    files: int
    key_id: str


def sealed(run: Run, folder: Path, private_key: bytes) -> bytes:
    """Return the signed evidence of the run in ``folder``.

    Args:
        run: the run that was read from ``folder``.
        folder: its files, all of which are covered.
        private_key: PEM, unencrypted: Ed25519, ECDSA or RSA.

    Raises:
        UsageError: the key cannot be used, or the libraries are not installed.
    """
    dsse, rfc8785 = _library("securesystemslib.dsse"), _library("rfc8785")
    signer = _signer(private_key)
    envelope = dsse.Envelope(rfc8785.dumps(_statement(run, folder)), PAYLOAD, {})
    envelope.sign(signer)
    return bytes(rfc8785.dumps(envelope.to_dict()))


def checked(envelope: bytes, folder: Path, public_key: bytes) -> Evidence:
    """Return what the evidence says, after making sure that it is signed by ``public_key`` and is about ``folder``.

    Raises:
        BundleRefusedError: something is not as it was when it was signed.
        UsageError: the key cannot be used, or the libraries are not installed.
    """
    dsse, rfc8785 = _library("securesystemslib.dsse"), _library("rfc8785")
    key = _key(public_key)
    try:
        read = dsse.Envelope.from_dict(json.loads(envelope))
        canonical = rfc8785.dumps(read.to_dict())
    except Exception as error:  # whatever the parser says, this is no envelope
        raise BundleRefusedError(f"expected a DSSE envelope: {error}") from None
    if canonical != envelope:
        raise BundleRefusedError("the envelope is not written as it was when it was signed")
    try:
        read.verify([key], 1)
    except Exception as error:  # the library has several kinds of error for a signature that does not verify
        raise BundleRefusedError(f"the signature does not verify under this key: {error}") from None
    statement = _read(read.payload_type, read.payload)
    _compare(statement["subject"], folder)
    predicate = statement["predicate"]
    passed, warned, failed = (len(predicate[f"{word}Tests"]) for word in ("passed", "warned", "failed"))
    return Evidence(predicate["result"], passed, warned, failed, len(statement["subject"]), key.keyid)


# -- the statement --------------------------------------------------------------------------------


def _statement(run: Run, folder: Path) -> dict[str, Any]:
    protobuf = _library("google.protobuf.json_format")
    test_result = _library("in_toto_attestation.predicates.test_result.v0.test_result_pb2")
    descriptor = _library("in_toto_attestation.v1.resource_descriptor").ResourceDescriptor
    predicate = _predicate(run)
    protobuf.ParseDict(
        predicate, test_result.TestResult()
    )  # it is the predicate that its type promises, or this raises
    subjects = [descriptor(name=name, digest={"sha256": digest}).pb for name, digest in _digests(folder)]
    statement = _library("in_toto_attestation.v1.statement").Statement(subjects, PREDICATE, predicate)
    statement.validate()
    value: dict[str, Any] = protobuf.MessageToDict(statement.pb)
    return value


def _predicate(run: Run) -> dict[str, Any]:
    tests: dict[str, list[str]] = {"passed": [], "warned": [], "failed": []}
    for row in run.verdicts:
        word = "passed" if row["as_expected"] else "warned" if row["verdict"] == "UNKNOWN" else "failed"
        name = "/".join(row[part] for part in ("variant", "kind", "claim", "threat", "engine"))
        tests[word].append(f"{name}: {row['verdict']}")
    closing = run.run["run"]
    worst = next((word for word in ("failed", "warned") if tests[word]), "passed")
    return {
        "result": worst.upper(),
        "configuration": [
            {
                "name": f"specification of {run.spec['protocol']}, {variant}",
                "digest": {"sha256": digest},
                "annotations": {"rerun": closing["rerun"], **closing["versions"]},
            }
            for variant, digest in closing["spec_digests"].items()
        ],
        **{f"{word}Tests": names for word, names in tests.items()},
    }


def _read(payload_type: str, payload: bytes) -> Mapping[str, Any]:
    if payload_type != PAYLOAD:
        raise BundleRefusedError(f"expected a payload of type {PAYLOAD}, not {payload_type}")
    statement: dict[str, Any] = json.loads(payload)
    if (statement.get("_type"), statement.get("predicateType")) != (STATEMENT, PREDICATE):
        raise BundleRefusedError(f"expected {PREDICATE}, not {statement.get('predicateType')}")
    return statement


# -- the files ------------------------------------------------------------------------------------


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield file.relative_to(folder).as_posix(), hashlib.sha256(file.read_bytes()).hexdigest()


def _compare(subjects: list[Mapping[str, Any]], folder: Path) -> None:
    """Refuse files that changed, are missing, or were added."""
    signed = {subject["name"]: subject["digest"]["sha256"] for subject in subjects}
    found = dict(_digests(folder))
    for name in sorted(signed.keys() | found.keys()):
        if name not in found:
            raise BundleRefusedError(f"'{name}' was signed and is missing from '{folder}'")
        if name not in signed:
            raise BundleRefusedError(f"'{name}' is in '{folder}' and was not signed")
        if signed[name] != found[name]:
            raise BundleRefusedError(f"'{name}' has changed since it was signed")


# -- the keys -------------------------------------------------------------------------------------


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(f"an evidence bundle needs {EXTRA}") from None


def _signer(pem: bytes) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return _library("securesystemslib.signer").CryptoSigner(load_pem_private_key(pem, password=None))
    except CarnetError:
        raise
    except Exception as error:  # the libraries have a kind of error for each kind of unusable key
        raise UsageError(f"expected an unencrypted private key in PEM: {type(error).__name__}") from None


def _key(pem: bytes) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        return _library("securesystemslib.signer").SSlibKey.from_crypto(load_pem_public_key(pem))
    except CarnetError:
        raise
    except Exception as error:  # as above
        raise UsageError(f"expected a public key in PEM: {type(error).__name__}") from None
