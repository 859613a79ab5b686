"""Statements and envelopes are those of the in-toto and DSSE libraries, and whatever else comes is refused."""

import base64
import json
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope as LibraryEnvelope

from carnet_ref.systems.verifiable_fl.statements import (
    LARGEST_ENVELOPE,
    Artifact,
    Input,
    StepStatement,
    encode_envelope,
    envelope_digest,
    pae,
    parse_envelope,
    parse_statement,
)
from carnet_ref.wire import MalformedError
from tests.fixtures.attested_graphs import recorded

D, P = "ab" * 48, "cd" * 32
STEP = StepStatement(
    "gpu", "train", P, "s1/2", D, (Input("model", D), Input("data", D, P)), (Artifact("model", D),), 3, P
)
LINE = encode_envelope(STEP.encode(), "key", b"signature")


def test_a_statement_is_read_as_it_was_written() -> None:
    assert parse_statement(STEP.encode()) == STEP
    envelope = parse_envelope(LINE)
    assert (envelope.statement, envelope.keyid, envelope.signature) == (STEP, "key", b"signature")
    assert envelope.digest == envelope_digest(LINE)


def test_what_is_signed_is_what_the_library_of_dsse_signs() -> None:
    for line in (LINE, *recorded(1).lines):
        library = LibraryEnvelope.from_dict(json.loads(line))
        assert library.pae() == pae(parse_envelope(line).payload)


def test_every_payload_is_a_statement_of_the_library_of_in_toto() -> None:
    for line in recorded(1).lines:
        value = json.loads(parse_envelope(line).payload)
        library = Statement.copy_from_pb(ParseDict(value, statement_pb2.Statement()))
        library.validate()
        ParseDict(value["predicate"], provenance_pb2.Provenance())  # it is the predicate that its type promises
        assert MessageToDict(library.pb).keys() == value.keys()


def changed(*path: str | int, to: object) -> bytes:
    """Return the payload with another value at a place; ``...`` leaves the place out."""
    value = json.loads(STEP.encode())
    place: Any = value
    for step in path[:-1]:
        place = place[step]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return json.dumps(value).encode()


DEFINITION = ("predicate", "buildDefinition")


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b'{"_type": 1, "_type": 1}',
        b"[" * 100_000,
        changed("_type", to="https://in-toto.io/Statement/v0.1"),
        changed("predicateType", to="https://slsa.dev/provenance/v0.2"),
        changed("subject", to=[]),
        changed("subject", to=...),
        changed("subject", 0, "digest", to={"sha256": D}),
        changed("subject", 0, "digest", "sha384", to=D.upper()),
        changed("subject", 0, "name", to="code"),
        changed("subject", 0, "more", to=1),
        changed("subject", to=[{"name": "model", "digest": {"sha384": D}}] * 2),
        changed(*DEFINITION, "resolvedDependencies", to=[]),
        changed(*DEFINITION, "resolvedDependencies", 0, "name", to="model"),
        changed(*DEFINITION, "resolvedDependencies", 0, "annotations", to={"proof": P}),
        changed(*DEFINITION, "resolvedDependencies", 2, "annotations", "proof", to="x"),
        changed(*DEFINITION, "internalParameters", "number", to=-1),
        changed(*DEFINITION, "internalParameters", "number", to=True),
        changed(*DEFINITION, "internalParameters", "number", to=1.5),
        changed(*DEFINITION, "internalParameters", "predecessor", to=...),
        changed(*DEFINITION, "externalParameters", "run", to=D),
        changed(*DEFINITION, "externalParameters", "epoch", to="\n"),
        changed(*DEFINITION, "buildType", to="urn:carnet:step:"),
        changed("predicate", "runDetails", "builder", "id", to="gpu"),
    ],
)
def test_a_payload_that_is_no_statement_is_refused(payload: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_statement(payload)


def envelope(**fields: object) -> bytes:
    return json.dumps({**json.loads(LINE), **fields}).encode()


@pytest.mark.parametrize(
    "line",
    [
        *(LINE[:cut] for cut in range(0, len(LINE), 37)),
        envelope(payloadType="text/plain"),
        envelope(payload="!"),
        envelope(payload=base64.b64encode(b"{}").decode()),
        envelope(signatures=[]),
        envelope(signatures=[{"keyid": "a", "sig": ""}] * 2),
        envelope(signatures=[{"keyid": "", "sig": ""}]),
        envelope(more=1),
        b" " * (LARGEST_ENVELOPE + 1),
    ],
)
def test_a_line_that_is_no_envelope_is_refused(line: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_envelope(line)
