"""Nitro documents: genuine ones are accepted, and each change is refused at the step that is about it."""

import base64
import json
import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_command.errors import UsageError
from carnet_ref.attestation import appraise
from carnet_ref.attestation.appraisal import Anchors, Appraisal, default_anchors, unparsable
from carnet_ref.attestation.kinds import NITRO_DOCUMENT, NITROTPM_DOCUMENT, kind_of
from carnet_ref.attestation.nitro.appraisal import (
    DEFAULT_POLICY,
    STEPS,
    AskedWith,
    Policy,
    appraise_document,
    parse_policy,
)
from carnet_ref.attestation.nitro.document import parse_document
from carnet_ref.wire import MalformedError
from tests.fixtures import nitro_documents as nitro
from tests.fixtures.cbor_encoding import Raw, Tag, cbor, indefinite, sign1
from tests.fixtures.command_words import attest, found, written
from tests.fixtures.dstack_envelopes import in_packs, in_scale
from tests.fixtures.nitro_documents import AT, MADE, NONCE, PUBLIC_KEY, USER_DATA, der, document, fields, path, register
from tests.fixtures.nvidia_pki import issue

UNASKED = AskedWith()
ASKED = AskedWith(NONCE, USER_DATA, PUBLIC_KEY)
STRICT = Policy(
    require=frozenset(STEPS) - {"revocation"},
    pcrs={0: frozenset({register(0)}), 4: frozenset({bytes(48), register(4)})},
    maximum_age=3600,
)


def appraised(
    data: bytes,
    *,
    policy: Policy = DEFAULT_POLICY,
    asked: AskedWith = UNASKED,
    at: Any = AT,
    anchors: Anchors | None = None,
) -> Appraisal:
    try:
        parsed = parse_document(data)
    except MalformedError as error:
        return unparsable(str(error))
    return appraise_document(parsed, at=at, policy=policy, anchors=anchors or nitro.anchors(), asked=asked)


GENUINE = {
    "untagged": document(),
    "tagged": document(tagged=True),
    "a map with its length": sign1(path()[-1].key, cbor(fields())),
    "optional fields as null": document(fields({"public_key": None, "nonce": None, "user_data": None})),
    "no optional fields": document(fields(without=["public_key", "user_data", "nonce"])),
    "registers of 32 bytes": document(fields({"pcrs": dict.fromkeys(range(3), b"\x01" * 32)})),
    "an instance": document(fields(tpm=True)),
}


@pytest.mark.parametrize("name", GENUINE)
def test_a_genuine_document_is_accepted_and_says_what_it_lacks(name: str) -> None:
    appraisal = appraised(GENUINE[name])
    assert appraisal.accepted, appraisal.steps
    assert appraisal.not_compared == ("revocation not checked", "measurements not compared", "not fresh")
    assert appraisal.claims["tee"] == ("AWS NitroTPM" if name == "an instance" else "AWS Nitro Enclave")
    assert kind_of(GENUINE[name]) == (NITROTPM_DOCUMENT if name == "an instance" else NITRO_DOCUMENT)


def test_everything_that_is_asked_is_compared() -> None:
    appraisal = appraised(document(), policy=STRICT, asked=ASKED)
    assert appraisal.accepted, appraisal.steps
    assert appraisal.not_compared == ("revocation not checked",)
    assert appraisal.claims["made_at"] == "2026-03-01T12:00:00Z"
    registers = appraisal.claims["pcrs"]
    assert isinstance(registers, Mapping)
    assert registers["0"] == register(0).hex()


@pytest.mark.parametrize("form", [bytes.hex, lambda data: base64.encodebytes(data).decode()])
def test_text_of_a_document_is_read(form: Any) -> None:
    assert appraised(form(document()).encode()).accepted


def test_the_root_that_comes_with_carnet_is_that_of_aws() -> None:
    assert appraised(document(), anchors=default_anchors()).failed_step == "chain"


# -- what is signed cannot be changed ------------------------------------------------------------------


def leaves(value: Any) -> list[bytes]:
    """Return each value of a document as its bytes in CBOR."""
    match value:
        case Mapping():
            return [each for inner in value.values() for each in leaves(inner)]
        case list():
            return [each for inner in value for each in leaves(inner)]
    return [cbor(value)]


@pytest.mark.parametrize("name", fields())
def test_a_signed_field_that_changes_is_refused_as_not_signed(name: str) -> None:
    """Certificates that change have another signature, or cannot be read, before the document's is looked at."""
    whole = document()
    for value in leaves(fields()[name]):
        place = whole.index(value) + len(value) - 1
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        refused = appraised(changed)
        expected = {"chain", "parse"} if name in {"certificate", "cabundle"} else {"signature", "parse", "timestamp"}
        assert refused.failed_step in expected, (name, refused.steps)


def test_no_change_of_a_few_bytes_is_accepted() -> None:
    draw, whole = random.Random(44), document()
    for _ in range(1000):
        changed = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(changed))
            match draw.randrange(3):
                case 0:
                    changed[place] ^= 1 << draw.randrange(8)
                case 1:
                    del changed[place]
                case _:
                    changed.insert(place, draw.randrange(256))
        if bytes(changed)[: len(whole)] != whole:
            assert not appraised(bytes(changed)).accepted, bytes(changed).hex()


def in_json(envelope: bytes) -> bytes:
    """Return what dstack's guest agent answers."""
    return json.dumps({"attestation": envelope.hex()}).encode()


@pytest.mark.parametrize("form", [in_scale, in_packs, lambda *given, **more: in_json(in_scale(*given, **more))])
@pytest.mark.parametrize("platform", [2, 4])
def test_a_document_counts_in_an_envelope_of_dstack_as_alone(form: Any, platform: int) -> None:
    asked = document(fields({"user_data": bytes(64)}))
    appraisal = appraise(form(asked, (), platform), at=AT, anchors=nitro.anchors(), nonce=NONCE)
    assert (appraisal.accepted, appraisal.fresh, appraisal.steps[0].id) == (True, True, "document")
    assert appraisal.claims == appraised(asked).claims
    for changed, report_data in (
        (asked, bytes(63) + b"!"),
        (document(fields({"user_data": None})), bytes(64)),
        (document(), bytes(64)),
    ):
        whole = form(changed, (), platform, report_data=report_data)
        assert appraise(whole, at=AT, anchors=nitro.anchors()).failed_step == "request"
    altered = bytearray(document())
    altered[-1] ^= 1
    assert appraise(form(bytes(altered), (), platform), at=AT, anchors=nitro.anchors()).failed_step == "signature"
    other = appraise(form(document(), (), 0), at=AT, anchors=nitro.anchors(), kind="nitro")
    assert (other.failed_step, "the evidence of the platform tdx" in other.steps[-1].detail) == ("parse", True)


def test_bytes_behind_a_document_are_not_believed_and_said(tmp_path: Path) -> None:
    files = written(tmp_path, {"document": document() + b"\x04app-id", "root": nitro.root_pem()})
    shown = found("nitro", files["document"], "--trust-anchor", files["root"], "--at", AT.isoformat())
    assert shown["accepted"]
    assert shown["not_compared"][0] == "bytes behind the document not read"
    assert appraised(cbor(Raw(document() + b"\0"))).accepted, "the parser itself counts them"


# -- documents that are signed, and not by the rules ---------------------------------------------------


STRANGER = issue("stranger", None)
SHORT = issue("short", path()[-2], ca=False, key=ec.generate_private_key(ec.SECP256R1()), start=MADE, end=AT)
OTHER_ORDER = [der(each) for each in (path()[0], path()[2], path()[1], path()[3])]
WRONG: dict[str, tuple[bytes, str]] = {
    "no bytes": (b"", "parse"),
    "text": (b"no document!", "parse"),
    "another COSE": (cbor(Tag(98, [b"", {}, b"", []])), "parse"),
    "three parts": (cbor([cbor({1: -35}), {}, b""]), "parse"),
    "an unprotected header": (document(unprotected={4: b"key"}), "parse"),
    "another algorithm": (document(header={1: -7}), "parse"),
    "no algorithm": (document(header={}), "parse"),
    "a critical header": (document(header={1: -35, 2: [42], 42: 1}), "parse"),
    "a content type": (document(header={1: -35, 3: 60}), "parse"),
    "a tag of its own": (sign1(path()[-1].key, cbor(Tag(0, "2026-03-01T12:00:00Z"))), "parse"),
    "external data": (document(aad=b"more"), "signature"),
    "another signer": (document(key=issue("other", None).key), "signature"),
    "a field that nobody knows": (document(fields({"more": b""})), "parse"),
    "both kinds of registers": (document(fields({"nitrotpm_pcrs": {0: bytes(48)}})), "parse"),
    "a field that comes twice": (
        sign1(path()[-1].key, indefinite(fields())[:-1] + cbor("nonce") + cbor(b"x") + b"\xff", tagged=False),
        "parse",
    ),
    "bytes behind the payload": (sign1(path()[-1].key, cbor(fields()) + b"\0", tagged=False), "parse"),
    "an empty module": (document(fields({"module_id": ""})), "parse"),
    "a module of bytes": (document(fields({"module_id": b"i"})), "parse"),
    "another digest": (document(fields({"digest": "SHA256"})), "parse"),
    "no time": (document(fields({"timestamp": 0})), "parse"),
    "a time before 1970": (document(fields({"timestamp": -1})), "parse"),
    "a time that is no moment": (document(fields({"timestamp": 1 << 63})), "parse"),
    "a time that is true": (document(fields({"timestamp": True})), "parse"),
    "no registers": (document(fields({"pcrs": {}})), "parse"),
    "33 registers": (document(fields({"pcrs": dict.fromkeys(range(33), bytes(48))})), "parse"),
    "a register 32": (document(fields({"pcrs": {32: bytes(48)}})), "parse"),
    "a register by name": (document(fields({"pcrs": {"0": bytes(48)}})), "parse"),
    "a register of 20 bytes": (document(fields({"pcrs": {0: bytes(20)}})), "parse"),
    "a register of text": (document(fields({"pcrs": {0: "0" * 48}})), "parse"),
    "an empty certificate": (document(fields({"certificate": b""})), "parse"),
    "no certificate": (document(fields({"certificate": None})), "parse"),
    "an empty bundle": (document(fields({"cabundle": []})), "parse"),
    "a bundle of text": (document(fields({"cabundle": ["x"]})), "parse"),
    "a long certificate": (document(fields({"cabundle": [bytes(1025)]})), "parse"),
    "an empty key": (document(fields({"public_key": b""})), "parse"),
    "a long nonce": (document(fields({"nonce": bytes(513)})), "parse"),
    "long user data": (document(fields({"user_data": bytes(513)})), "parse"),
    "user data of text": (document(fields({"user_data": "x"})), "parse"),
    **{f"without {name}": (document(fields(without=[name])), "parse") for name in [*fields()][:6]},
    "a bundle in another order": (document(fields({"cabundle": OTHER_ORDER})), "chain"),
    "a bundle without an authority": (document(fields({"cabundle": [der(each) for each in path()[:-2]]})), "chain"),
    "another root": (document(fields({"cabundle": [der(STRANGER), *map(der, path()[1:-1])]})), "chain"),
    "an authority as the signer": (
        document(fields({"certificate": der(path()[-2]), "cabundle": [*map(der, path()[:-2])]}), key=path()[-2].key),
        "chain",
    ),
    "a stranger alone": (
        document(fields({"certificate": der(STRANGER), "cabundle": [der(STRANGER)]}), key=STRANGER.key),
        "chain",
    ),
    "a signer on another curve": (document(fields({"certificate": der(SHORT)})), "signature"),
    "made an hour after it is appraised": (
        document(fields({"timestamp": int((MADE + timedelta(hours=2)).timestamp() * 1000)})),
        "timestamp",
    ),
    "made before its certificates": (document(fields({"timestamp": 1})), "timestamp"),
    "made after its certificates": (
        document(fields({"timestamp": int((MADE + timedelta(hours=4)).timestamp() * 1000)})),
        "timestamp",
    ),
    "an enclave in debug mode": (document(fields({"pcrs": dict.fromkeys(range(16), bytes(48))})), "debug"),
    "an enclave without its application": (document(fields({"pcrs": {0: register(0), 1: register(1)}})), "debug"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_document_against_the_rules_is_refused_at_its_step(name: str) -> None:
    data, step = WRONG[name]
    assert appraised(data).failed_step == step


@pytest.mark.parametrize(
    ("further", "step"),
    [
        ({"at": MADE + timedelta(hours=3)}, "validity"),
        ({"at": MADE - timedelta(minutes=1)}, "validity"),
        ({"asked": replace(ASKED, nonce=bytes(20))}, "nonce"),
        ({"asked": replace(ASKED, nonce=NONCE[:-1])}, "nonce"),
        ({"asked": replace(ASKED, user_data=b"")}, "user-data"),
        ({"asked": replace(ASKED, public_key=b"x")}, "public-key"),
        ({"policy": replace(STRICT, maximum_age=60)}, "timestamp"),
        ({"policy": replace(STRICT, maximum_age=60), "at": MADE - timedelta(seconds=1)}, "timestamp"),
        ({"policy": replace(STRICT, pcrs={0: frozenset({register(1)})})}, "pcrs"),
        ({"policy": replace(STRICT, pcrs={20: frozenset({bytes(48)})})}, "pcrs"),
        ({"policy": replace(STRICT, pcrs={0: frozenset()})}, "pcrs"),
        ({"policy": STRICT, "asked": AskedWith()}, "policy"),
        ({"policy": Policy()}, "policy"),
        ({"policy": replace(STRICT, require=frozenset({"revocation"}))}, "policy"),
    ],
)
def test_a_genuine_document_that_is_not_as_expected_is_refused(further: dict[str, Any], step: str) -> None:
    assert appraised(document(), **{"policy": STRICT, "asked": ASKED, **further}).failed_step == step


def test_a_document_without_a_nonce_answers_no_question() -> None:
    assert appraised(document(fields({"nonce": None})), asked=ASKED).failed_step == "nonce"


def test_debug_mode_is_accepted_where_a_policy_says_so_and_told() -> None:
    debugged = document(fields({"pcrs": dict.fromkeys(range(16), bytes(48))}))
    appraisal = appraised(debugged, policy=replace(DEFAULT_POLICY, allow_debug=True))
    assert (appraisal.accepted, appraisal.claims["debug"]) == (True, True)


# -- policies and the command --------------------------------------------------------------------------


def test_a_policy_is_read_as_it_is_written() -> None:
    asked = {"require": ["pcrs"], "pcrs": {"0": [f"0x{register(0).hex()}"], "31": []}, "maximum_age": 9}
    policy = parse_policy(json.dumps({**asked, "allow_debug": True}).encode())
    expected = {0: frozenset({register(0)}), 31: frozenset[bytes]()}
    assert policy == Policy(DEFAULT_POLICY.require | {"pcrs"}, True, expected, 9)


@pytest.mark.parametrize(
    "policy",
    [
        [],
        {"pcr": {}},
        {"require": ["rtmr"]},
        {"pcrs": {"32": []}},
        {"pcrs": {"00": []}},
        {"pcrs": {"0": ["00"]}},
        {"pcrs": {"0": "00"}},
        {"pcrs": []},
        {"maximum_age": -1},
        {"allow_debug": 1},
    ],
)
def test_what_is_no_policy_is_malformed(policy: Any) -> None:
    with pytest.raises(MalformedError):
        parse_policy(json.dumps(policy).encode())


def test_the_command_reads_documents_policies_and_keys(tmp_path: Path) -> None:
    policy = json.dumps({"require": ["nonce", "pcrs"], "pcrs": {"0": [register(0).hex()]}}).encode()
    made = {"document": document(), "root": nitro.root_pem(), "key": PUBLIC_KEY, "policy": policy}
    files = written(tmp_path, made)
    words = ["nitro", files["document"], "--trust-anchor", files["root"], "--at", AT.isoformat()]
    words += ["--policy", files["policy"], "--public-key", files["key"], "--user-data", USER_DATA.hex()]
    assert found(*words, "--nonce", NONCE.hex())["accepted"]
    assert found(*words, "--nonce", "00")["failed_step"] == "nonce"


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(UsageError, match=r"carnet\[cbor\]"):
        parse_document(document())
    result = attest("nitro", written(tmp_path, {"document": document()})["document"])
    assert (result.exit_code, "carnet[cbor]" in result.stderr) == (2, True)
