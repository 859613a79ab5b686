"""The signed evidence of a release: the verdicts of a run, with a manifest of all its files.

The evidence is an in-toto Statement v1 with a test-result predicate, as canonical JSON (RFC 8785), in a DSSE envelope.
Its subjects are the manifest: the name, size and digest of every file. So the run folder can be stored beside the
envelope; no byte of either can change unnoticed, and no file can be added. (An ECDSA signature has a second valid form
of the same meaning.) The run is read from the same bytes that were compared with the manifest.

Source: in-toto attestation framework, Statement v1 and test-result v0.1; DSSE v1.0.
"""

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carnet_check.errors import CarnetError, UsageError
from carnet_check.report.run_folder import Files, Run, plain_name, snapshot, twins
from carnet_check.report.shapes import ShapeError, number, parse_json, record, rows, text, word
from carnet_command.exit_codes import ExitCode

PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
EXTRA = "the extra 'bundle' (pip install 'carnet[bundle]')"


class BundleRefusedError(CarnetError):
    """The evidence is malformed, not signed by the key, or about other files."""

    kind = "refused"
    exit_code = ExitCode.VIOLATED


@dataclass(frozen=True, slots=True)
class EvidenceBundle:
    """The content of an accepted bundle."""

    result: str
    passed: int
    warned: int
    failed: int
    files: int
    key_id: str


@dataclass(frozen=True, slots=True)
class AcceptedBundle:
    """The content of the evidence, and the files, as bytes, with which its manifest was compared."""

    evidence: EvidenceBundle
    files: Files


def sign_run(files: Files, run: Run, private_key: bytes) -> bytes:
    """Return the signed evidence of a run.

    Raises UsageError if the key cannot be used, or the libraries are not installed.

    Args:
        files: all files of the run's folder, as ``snapshot`` reads them; the manifest covers each.
        run: the run that was read from these files.
        private_key: PEM, unencrypted: Ed25519, ECDSA or RSA.
    """
    dsse, rfc8785 = _library("securesystemslib.dsse"), _library("rfc8785")
    signer = _signer(private_key)
    envelope = dsse.Envelope(rfc8785.dumps(_statement(run, files)), PAYLOAD, {})
    envelope.sign(signer)
    return bytes(rfc8785.dumps(envelope.to_dict()))


def check_bundle(envelope: bytes, folder: Path, public_key: bytes) -> AcceptedBundle:
    """Check that the evidence is signed by ``public_key`` and matches ``folder``; return its content and the files.

    The folder is read once; callers have to use the returned files and not read the folder again.

    Raises BundleRefusedError if the signature is not valid, or something changed after signing; UsageError if the key
    cannot be used, or the libraries are not installed.
    """
    dsse, rfc8785 = _library("securesystemslib.dsse"), _library("rfc8785")
    key = _key(public_key)
    try:
        read = dsse.Envelope.from_dict(json.loads(envelope))
        canonical = rfc8785.dumps(read.to_dict())
    except Exception as error:  # any error of the parser means that this is no envelope
        raise BundleRefusedError(f"expected a DSSE envelope: {error}") from None
    if canonical != envelope:
        raise BundleRefusedError("the envelope is not written as it was when it was signed")
    if len(read.signatures) != 1 or any(each.unrecognized_fields for each in read.signatures.values()):
        raise BundleRefusedError("expected one signature, and nothing beside it")
    try:
        read.verify([key], 1)
    except Exception as error:  # the library raises several classes of errors for an invalid signature
        raise BundleRefusedError(f"the signature does not verify under this key: {error}") from None
    statement = _read(read.payload_type, read.payload)
    try:
        files = snapshot(folder)
    except UsageError as error:
        raise BundleRefusedError(str(error)) from None
    _compare(_manifest(statement["subject"]), files, folder)
    predicate = statement["predicate"]
    passed, warned, failed = (len(predicate[f"{word}Tests"]) for word in OUTCOMES)
    return AcceptedBundle(EvidenceBundle(predicate["result"], passed, warned, failed, len(files), key.keyid), files)


def require_same_verdicts(found: AcceptedBundle, run: Run) -> None:
    """Check that the evidence has the same verdicts as the run that was read from the files it covers.

    Raises BundleRefusedError if the verdicts differ.
    """
    said, tests = found.evidence, _tests(run)
    if (said.passed, said.warned, said.failed) != tuple(len(tests[word]) for word in OUTCOMES):
        raise BundleRefusedError("the evidence counts other verdicts than the run that it covers")
    if said.result != _result(tests):
        raise BundleRefusedError(f"the evidence says {said.result}, and the run that it covers {_result(tests)}")


# -- the statement --------------------------------------------------------------------------------

OUTCOMES = ("passed", "warned", "failed")


def _statement(run: Run, files: Files) -> dict[str, Any]:
    protobuf = _library("google.protobuf.json_format")
    test_result = _library("in_toto_attestation.predicates.test_result.v0.test_result_pb2")
    descriptor = _library("in_toto_attestation.v1.resource_descriptor").ResourceDescriptor
    predicate = _predicate(run)
    protobuf.ParseDict(predicate, test_result.TestResult())  # raises if the predicate does not fit its type
    subjects = [
        descriptor(name=name, digest={"sha256": _digest(content)}, annotations={"size": len(content)}).pb
        for name, content in files.items()
    ]
    statement = _library("in_toto_attestation.v1.statement").Statement(subjects, PREDICATE, predicate)
    statement.validate()
    value: dict[str, Any] = protobuf.MessageToDict(statement.pb)
    return value


def _tests(run: Run) -> dict[str, list[str]]:
    """Return the names of the verdicts' subjects, grouped by passed, warned and failed."""
    tests: dict[str, list[str]] = {word: [] for word in OUTCOMES}
    for row in run.verdicts:
        word = "passed" if row["as_expected"] else "warned" if row["verdict"] == "UNKNOWN" else "failed"
        name = "/".join(row[part] for part in ("variant", "kind", "claim", "threat", "engine"))
        tests[word].append(f"{name}: {row['verdict']}")
    tests["warned"] += (f"--strict: {each}" for each in run.shortcomings)
    return tests


def _result(tests: Mapping[str, list[str]]) -> str:
    return next((word for word in ("failed", "warned") if tests[word]), "passed").upper()


def _predicate(run: Run) -> dict[str, Any]:
    tests = _tests(run)
    closing = run.run["run"]
    return {
        "result": _result(tests),
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


_STATEMENT = record(
    _type=text,
    predicateType=text,
    subject=rows(record(name=text, digest=record(sha256=text), annotations=record(size=number))),
    predicate=record(result=word("PASSED", "WARNED", "FAILED"), **{f"{each}Tests": rows(text) for each in OUTCOMES}),
)


def _read(payload_type: str, payload: bytes) -> Mapping[str, Any]:
    if payload_type != PAYLOAD:
        raise BundleRefusedError(f"expected a payload of type {PAYLOAD}, not {payload_type}")
    try:
        statement = parse_json(payload.decode())
        _STATEMENT(statement, "$")
    except (ShapeError, UnicodeDecodeError) as error:
        raise BundleRefusedError(f"expected an in-toto statement about a run: {error}") from None
    if (statement["_type"], statement["predicateType"]) != (STATEMENT, PREDICATE):
        raise BundleRefusedError(f"expected {PREDICATE}, not {statement['predicateType']}")
    return dict(statement)


# -- the files ------------------------------------------------------------------------------------

Manifest = Mapping[str, tuple[float, str]]  #: The size and the digest of each file, by its name.


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _manifest(subjects: list[Mapping[str, Any]]) -> Manifest:
    """Return the signed size and digest of each file; an ambiguous name, or one outside the folder, is refused."""
    names = [subject["name"] for subject in subjects]
    for name in names:
        if not plain_name(name):
            raise BundleRefusedError(f"the evidence names a file that has no plain name: {name!a}")
    same = twins(names)
    if same is not None:
        raise BundleRefusedError(f"the evidence names one file twice: {same[0]!a} and {same[1]!a}")
    return {subject["name"]: (subject["annotations"]["size"], subject["digest"]["sha256"]) for subject in subjects}


def _compare(signed: Manifest, found: Files, folder: Path) -> None:
    """Refuse files that changed, are missing, or were added."""
    for name in sorted(signed.keys() | found.keys()):
        if name not in found:
            raise BundleRefusedError(f"'{name}' was signed and is missing from '{folder}'")
        if name not in signed:
            raise BundleRefusedError(f"'{name}' is in '{folder}' and was not signed")
        if signed[name] != (len(found[name]), _digest(found[name])):
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
    except Exception as error:  # the libraries raise many classes of errors for unusable keys
        raise UsageError(f"expected an unencrypted private key in PEM: {type(error).__name__}") from None


def _key(pem: bytes) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        return _library("securesystemslib.signer").SSlibKey.from_crypto(load_pem_public_key(pem))
    except CarnetError:
        raise
    except Exception as error:  # as above
        raise UsageError(f"expected a public key in PEM: {type(error).__name__}") from None
