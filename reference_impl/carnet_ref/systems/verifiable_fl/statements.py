"""The statements of a training run: in-toto Statements in DSSE envelopes, one JSON line each, signed by exclaves.

A statement says what one exclave did: which code ran, what it read and gave, by digest, in which run and epoch, and
which statement of the same exclave came before. What a step read from another step comes with its *proof*, the digest
of that step's envelope, signature included; what comes without one is a *source*, which nobody attests.

The predicate is SLSA's provenance, whose builder is the exclave. An envelope has one signature.

Source: in-toto attestation framework, Statement v1; SLSA provenance v1; DSSE v1.0, protocol.md (PAE).
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from carnet_ref.crypto.primitives import sha256, sha384
from carnet_ref.wire import MalformedError, bounded_json

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://slsa.dev/provenance/v1"
PAYLOAD: Final = "application/vnd.in-toto+json"
STEP: Final = "urn:carnet:step:"
EXCLAVE: Final = "urn:carnet:exclave:"
CODE: Final = "code"  #: The name of the dependency that is the step's code.
END: Final = "end"  #: The task of the last statement of an exclave.
LOG: Final = "log"  #: What the last statement is about: everything before it.
NO_PREDECESSOR: Final = "0" * 64
SHA256_DIGITS: Final = 64
SHA384_DIGITS: Final = 96
LARGEST_ENVELOPE: Final = 1 << 20  #: Bytes of a line at most.
MOST_TEXT: Final = 200  #: Characters of a name at most.


@dataclass(frozen=True, slots=True)
class Artifact:
    """An output of a step: its name, and the SHA-384 of its bytes in hexadecimal."""

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a step; ``proof`` is the SHA-256 of the envelope it comes from, empty for a source."""

    name: str
    digest: str
    proof: str = ""


@dataclass(frozen=True, slots=True)
class StepStatement:
    """An exclave's statement about one step."""

    by: str  #: the name of the exclave.
    task: str  #: what was done, such as ``train``.
    run: str  #: the run that the exclave was launched for, 32 bytes in hexadecimal.
    epoch: str  #: the epoch of custody that the step belongs to.
    code: str  #: the SHA-384 of the code that ran.
    reads: tuple[Input, ...]  #: what it read.
    gives: tuple[Artifact, ...]  #: what it gave.
    number: int  #: how many statements the exclave made before.
    predecessor: str  #: the SHA-256 of the envelope of the last of those.

    def encode(self) -> bytes:
        """Return the statement as JSON."""
        inputs = [
            {"name": each.name, "digest": {"sha384": each.digest}, "annotations": {"proof": each.proof}}
            if each.proof
            else {"name": each.name, "digest": {"sha384": each.digest}}
            for each in self.reads
        ]
        definition = {
            "buildType": STEP + self.task,
            "externalParameters": {"run": self.run, "epoch": self.epoch},
            "internalParameters": {"number": self.number, "predecessor": self.predecessor},
            "resolvedDependencies": [{"name": CODE, "digest": {"sha384": self.code}}, *inputs],
        }
        statement = {
            "_type": STATEMENT,
            "subject": [{"name": each.name, "digest": {"sha384": each.digest}} for each in self.gives],
            "predicateType": PREDICATE,
            "predicate": {"buildDefinition": definition, "runDetails": {"builder": {"id": EXCLAVE + self.by}}},
        }
        return json.dumps(statement, separators=(",", ":")).encode("ascii")


def last_statement(by: str, run: str, number: int, predecessor: str) -> StepStatement:
    """Return the statement that ends a log: it has no inputs, and its output is the log so far."""
    log = Artifact(LOG, sha384(bytes.fromhex(predecessor)).hex())
    return StepStatement(by, END, run, END, sha384(END.encode("ascii")).hex(), (), (log,), number, predecessor)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A signed statement."""

    payload: bytes = field(repr=False)  #: the bytes that were signed.
    keyid: str  #: names the key, or the exclave whose quotes are the signatures.
    signature: bytes = field(repr=False)  #: made over `pae` of the payload.
    statement: StepStatement  #: what the payload says.
    digest: str  #: the SHA-256 of the line, which a proof names.


def pae(payload: bytes) -> bytes:
    """Return the pre-authentication encoding of a payload, which is signed.

    Source: DSSE v1.0, protocol.md, "Signature Definition".
    """
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode("ascii"), len(payload), payload)


def encode_envelope(payload: bytes, keyid: str, signature: bytes) -> bytes:
    """Return an envelope as one JSON line, without line end."""
    signatures = [{"keyid": keyid, "sig": _base64(signature)}]
    fields = {"payload": _base64(payload), "payloadType": PAYLOAD, "signatures": signatures}
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


def envelope_digest(line: bytes) -> str:
    """Return the digest by which proofs name an envelope."""
    return sha256(line).hex()


def parse_envelope(line: bytes) -> Envelope:
    """Return the envelope in a line, unverified. Raises MalformedError if it is malformed."""
    said = bounded_json(line, "envelope", LARGEST_ENVELOPE)
    fields = _fields(said, "envelope", "payload", "payloadType", "signatures")
    if fields["payloadType"] != PAYLOAD:
        raise MalformedError("envelope", f"a payload of type {PAYLOAD}", _excerpt(fields["payloadType"]))
    signatures = _list(fields["signatures"], "signatures")
    if len(signatures) != 1:
        raise MalformedError("envelope", "one signature", str(len(signatures)))
    signature = _fields(signatures[0], "signature", "keyid", "sig")
    payload = _octets(fields["payload"], "payload")
    keyid, octets = _text(signature["keyid"], "keyid"), _octets(signature["sig"], "sig")
    return Envelope(payload, keyid, octets, parse_statement(payload), envelope_digest(line))


def parse_statement(payload: bytes) -> StepStatement:
    """Return the statement in a payload. Raises MalformedError if it is no statement about a step."""
    said = bounded_json(payload, "statement", LARGEST_ENVELOPE)
    statement = _fields(said, "statement", "_type", "subject", "predicateType", "predicate")
    kinds = statement["_type"], statement["predicateType"]
    if kinds != (STATEMENT, PREDICATE):
        raise MalformedError("statement", f"{STATEMENT} with {PREDICATE}", _excerpt(kinds))
    predicate = _fields(statement["predicate"], "predicate", "buildDefinition", "runDetails")
    names = ("buildType", "externalParameters", "internalParameters", "resolvedDependencies")
    definition = _fields(predicate["buildDefinition"], "buildDefinition", *names)
    builder = _fields(_fields(predicate["runDetails"], "runDetails", "builder")["builder"], "builder", "id")
    outside = _fields(definition["externalParameters"], "externalParameters", "run", "epoch")
    inside = _fields(definition["internalParameters"], "internalParameters", "number", "predecessor")
    code, *inputs = _inputs(definition["resolvedDependencies"])
    gives = tuple(Artifact(each.name, each.digest) for each in _descriptors(statement["subject"], "subject"))
    if not gives or CODE in {each.name for each in inputs} | {each.name for each in gives}:
        raise MalformedError("statement", f"something that the step gives, and one {CODE}", _excerpt(gives))
    return StepStatement(
        _after(EXCLAVE, builder["id"], "builder"),
        _after(STEP, definition["buildType"], "buildType"),
        _digits(outside["run"], "run", SHA256_DIGITS),
        _text(outside["epoch"], "epoch"),
        code.digest,
        tuple(inputs),
        gives,
        _number(inside["number"]),
        _digits(inside["predecessor"], "predecessor", SHA256_DIGITS),
    )


def _inputs(value: Any) -> tuple[Input, ...]:
    found = _descriptors(value, "resolvedDependencies")
    if not found or (found[0].name, found[0].proof) != (CODE, ""):
        raise MalformedError("resolvedDependencies", f"{CODE} first", _excerpt(value))
    return found


def _descriptors(value: Any, what: str) -> tuple[Input, ...]:
    """Return resource descriptors; no two of them have one name."""
    found = tuple(_descriptor(each, what) for each in _list(value, what))
    if len({each.name for each in found}) < len(found):
        raise MalformedError(what, "each name once", _excerpt([each.name for each in found]))
    return found


def _descriptor(value: Any, what: str) -> Input:
    proved = what == "resolvedDependencies" and isinstance(value, dict) and "annotations" in value
    fields = _fields(value, what, "name", "digest", *(("annotations",) if proved else ()))
    digest = _digits(_fields(fields["digest"], "digest", "sha384")["sha384"], "sha384", SHA384_DIGITS)
    proof = ""
    if proved:
        proof = _digits(_fields(fields["annotations"], "annotations", "proof")["proof"], "proof", SHA256_DIGITS)
    return Input(_text(fields["name"], "name"), digest, proof)


# -- JSON from outside ---------------------------------------------------------------------------------------------


def _fields(value: object, what: str, *names: str) -> Mapping[str, Any]:
    """Return an object that has these fields and no other one."""
    if not isinstance(value, dict) or value.keys() != frozenset(names):
        raise MalformedError(what, f"an object of {', '.join(names)}", _excerpt(value))
    return value


def _list(value: object, what: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise MalformedError(what, "a list", _excerpt(value))
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MOST_TEXT or not value.isascii() or not value.isprintable():
        raise MalformedError(what, f"up to {MOST_TEXT} printable characters", _excerpt(value))
    return value


def _after(start: str, value: object, what: str) -> str:
    text = _text(value, what)
    if not text.startswith(start) or text == start:
        raise MalformedError(what, f"{start}…", _excerpt(value))
    return text.removeprefix(start)


def _digits(value: object, what: str, count: int) -> str:
    text = _text(value, what)
    if len(text) != count or text.strip("0123456789abcdef"):
        raise MalformedError(what, f"{count} hexadecimal digits", _excerpt(value))
    return text


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise MalformedError("number", "a count", _excerpt(value))
    return value


def _octets(value: object, what: str) -> bytes:
    try:
        return base64.b64decode(value if isinstance(value, str) else "-", validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(what, "base64", _excerpt(value)) from None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _excerpt(value: object) -> str:
    return ascii(value)[:80]
