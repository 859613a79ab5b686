"""Conceptual message wrappers: what is in each form, what is none, and that nothing in them is believed."""

import base64
import hashlib
import json
import random
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_command.errors import UsageError
from carnet_ref.attestation import appraise, wrappers
from carnet_ref.attestation.kinds import NVIDIA_EVIDENCE, QUOTE_DOCUMENT, SNP_DOCUMENT, LayerRole, kinds_of
from carnet_ref.attestation.wrappers import MOST_BYTES, MOST_MESSAGES, TAGS, Purpose, messages_in, parts_of
from tests.fixtures import ear_tokens
from tests.fixtures import nvidia_pki as pki
from tests.fixtures import tpm_quotes as tpm
from tests.fixtures.cbor_encoding import Tag, cbor
from tests.fixtures.nvidia_node import Member
from tests.fixtures.nvidia_pki import device
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, REPORT_DATA
from tests.fixtures.wrapped_evidence import GPU_DOCUMENTS
from tests.fuzz.test_parsers import mutated

TYPE = "application/vnd.example.rats-conceptual-msg"
TAG = 1668612070  #: The tag of content format 64999. Source: draft-ietf-rats-msg-wrap, "Examples".
MESSAGE = bytes.fromhex("2347da55")
COLLECTION_TAG = 1668547091
GIVEN: Mapping[str, Any] = {"at": NOW, "anchors": PLATFORM.anchors, "report_data": REPORT_DATA}
GPU = json.dumps(GPU_DOCUMENTS["one device"]([(pki.report(pki.world().device.leaf), pki.world().device.chain())]))


def url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def in_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def wrap(message: bytes) -> dict[str, bytes]:
    """Return a message in each form of a wrapper."""
    record = ["application/eat+cwt", url64(message), 4]
    return {
        "JSON record": in_json(record[:2]),
        "JSON record with a purpose": in_json(record),
        "JSON collection": in_json({"__cmwc_t": "tag:example.com,2024:x", "attester A": record}),
        "JSON collection in a collection": in_json({"a": {"b": record}}),
        "CBOR record": cbor([64999, message]),
        "CBOR record by a media type": cbor(["application/eat+cwt", message, 4]),
        "CBOR tag": cbor(Tag(TAG, message)),
        "CBOR collection": cbor({"__cmwc_t": "1.2.3", 0: [64999, message, 4]}),
        "CBOR collection of a tag": cbor({"a": Tag(TAG, message)}),
        "CBOR collection in a tag": cbor(Tag(COLLECTION_TAG, cbor({1: [0, message]}))),
        "CBOR record in hexadecimal": cbor([64999, message]).hex().encode(),
        "CBOR record in base64": base64.b64encode(cbor([64999, message])),
        "CBOR record of no definite length": b"\x9f" + cbor(64999) + cbor(message) + b"\xff",
        "JSON record in a CBOR record": cbor([TYPE, in_json(record)]),
    }


@pytest.mark.parametrize("form", wrap(QUOTE))
def test_evidence_is_appraised_out_of_every_form(form: str) -> None:
    (message,) = messages_in(wrap(QUOTE)[form])
    assert message.data == QUOTE
    for kind in (None, "tdx"):
        appraisal = appraise(wrap(QUOTE)[form], **GIVEN, kind=kind)
        assert (appraisal.accepted, appraisal.fresh) == (True, True)
        roles = [layer.role for layer in appraisal.layers]
        assert roles[:1] == [LayerRole.WRAPPER]
        assert appraisal.layers[-2].name == "a quote of an Intel TDX virtual machine"
    altered = appraise(wrap(QUOTE[:200] + b"\x01" + QUOTE[201:])[form], **GIVEN)
    assert (altered.accepted, altered.failed_step) == (False, "quote-signature")


def test_what_somebody_else_appraised_is_theirs_in_a_wrapper_too() -> None:
    result = ["application/eat+jwt", url64(ear_tokens.token())]
    assert appraise(in_json(result), at=NOW, key=ear_tokens.public_pem()).appraised_by == "a verifier 1"
    twice = appraise(in_json({"a": result, "b": result}), at=NOW, key=ear_tokens.public_pem())
    assert (twice.accepted, twice.appraised_by) == (True, "a verifier 1")
    evidence = ["application/eat+cwt", url64(QUOTE)]
    alone = appraise(in_json({"a": evidence, "b": evidence}), at=NOW, anchors=PLATFORM.anchors)
    assert (alone.accepted, alone.appraised_by) == (True, None)


def test_the_examples_of_the_draft_are_read() -> None:
    """Source: draft-ietf-rats-msg-wrap, "Examples"."""
    record, tag = cbor([64999, MESSAGE]), cbor(Tag(TAG, MESSAGE))
    assert (record.hex(), tag.hex()) == ("8219fde7442347da55", "da6374ffe6442347da55")
    for wrapper in (in_json([TYPE, "I0faVQ"]), record, tag):
        assert [each.data for each in messages_in(wrapper)] == [MESSAGE]
    (signed,) = messages_in(cbor(["application/rim+cose", bytes.fromhex("d28440a044d901f5a040"), 3]))
    assert signed.purpose == Purpose.REFERENCE_VALUES | Purpose.ENDORSEMENTS
    assert signed.wrappers == (
        "a CMW record in CBOR: application/rim+cose, meant as reference values and endorsements",
    )
    mixed = cbor({0: [64999, MESSAGE, 4], 1: Tag(TAG, MESSAGE), 2: ["application/eat+jwt", b"...", 8]})
    assert [each.purpose for each in messages_in(mixed)] == [Purpose.EVIDENCE, None, Purpose.ATTESTATION_RESULTS]
    (by_tag,) = messages_in(tag)
    assert by_tag.wrappers == ("a CMW tag in CBOR: CoAP content format 64999",)


QUOTED = {"quote": base64.b64encode(QUOTE).decode(), "cc_eventlog": None}
GUEST = {"init-data": {"format": "toml", "body": ""}}
SERVICE = {"tee": "tdx", "evidence": url64(in_json(QUOTED)), "runtime_data": {"raw": url64(REPORT_DATA)}}


def quoted(asked: bytes) -> dict[str, Any]:
    """Return the evidence of a TD that was asked with some bytes, filled up with zeros."""
    return {"quote": base64.b64encode(PLATFORM.td().quote(asked.ljust(64, b"\0"))).decode(), "cc_eventlog": None}


def guest(evidence: Any = QUOTED, **additional: Any) -> bytes:
    """Return a guest's request to a key broker of Confidential Containers."""
    several = {"primary_evidence": evidence, "additional_evidence": json.dumps(additional) if additional else ""}
    return in_json({**GUEST, "tee-evidence": several})


def service(**request: Any) -> bytes:
    """Return a request to an attestation service of Confidential Containers, with some of its members changed."""
    return in_json({"verification_requests": [SERVICE | request], "policy_ids": []})


REQUESTS: dict[str, bytes] = {
    "of a guest": guest(),
    "of an older guest": in_json({"tee-pubkey": {}, "tee-evidence": QUOTED}),
    "of one of the oldest guests": in_json({"tee-pubkey": {}, "tee-evidence": json.dumps(QUOTED)}),
    "of a broker": in_json({"verification_requests": [SERVICE], "policy_ids": ["default"]}),
    "of an older broker": in_json({**SERVICE, "policy_ids": []}),
    "of an answer": in_json({"id": 1, "result": QUOTED, "jsonrpc": "2.0"}),
    "of an answer with data": in_json({"data": QUOTED}),
    "of ratsd": in_json({"eat_profile": "", "eat_nonce": "", "cmw": url64(in_json(["a/b", url64(QUOTE)]))}),
}


@pytest.mark.parametrize("whose", REQUESTS)
def test_evidence_is_appraised_out_of_requests_and_what_they_say_of_it_is_not_believed(whose: str) -> None:
    appraisal = appraise(REQUESTS[whose], **GIVEN)
    assert (appraisal.accepted, appraisal.fresh) == (True, True)
    assert appraisal.layers[0].role is LayerRole.WRAPPER
    assert ("init data not compared" in appraisal.not_compared) is (whose == "of a guest")
    assert ("run-time data not compared" in appraisal.not_compared) is ("old" in whose and "guest" in whose)


RECORD = url64(in_json(["a/b", url64(QUOTE)]))
OTHER_TEES = {
    "snp": service(tee="snp"),
    "a kind that nothing here reads": service(tee="sample"),
    "snp, around another wrapper": service(tee="snp", evidence=RECORD),
    "snp, around a request of its own": service(tee="snp", evidence=url64(in_json(SERVICE))),
    "a device": guest(quoted(b""), nvidia=QUOTED),
}


@pytest.mark.parametrize("name", OTHER_TEES)
def test_evidence_of_another_tee_than_its_request_says_is_refused(name: str) -> None:
    for kind in (None, "tdx"):
        appraisal = appraise(OTHER_TEES[name], at=NOW, anchors=PLATFORM.anchors, kind=kind)
        assert (appraisal.accepted, appraisal.failed_step) == (False, "parse")
        assert "the request calls this evidence of" in appraisal.steps[-1].detail
    assert appraise(service(tee="tdx", evidence=RECORD), **GIVEN).accepted
    assert appraise(service(tee="a new one"), **GIVEN).accepted


HASHED = {
    "sha256": hashlib.sha256(b'{"a":[true,null],"b":{"\xc3\xa9":"\\n"},"c":-1}').digest(),
    "sha384": hashlib.sha384(b'{"a":[true,null],"b":{"\xc3\xa9":"\\n"},"c":-1}').digest(),
    "sha512": hashlib.sha512(b'{"a":[true,null],"b":{"\xc3\xa9":"\\n"},"c":-1}').digest(),
}
STRUCTURED = {"structured": {"c": -1, "b": {"\u00e9": "\n"}, "a": [True, None]}}


@pytest.mark.parametrize("algorithm", HASHED)
def test_evidence_was_asked_with_the_run_time_data_of_its_request(algorithm: str) -> None:
    """Written by hand as RFC 8785 wants it. Source: trustee, ``parse_runtime_data``."""
    evidence = url64(in_json(quoted(HASHED[algorithm])))
    request = {"runtime_data": STRUCTURED, "runtime_data_hash_algorithm": algorithm, "evidence": evidence}
    for kind in (None, "tdx"):
        appraisal = appraise(service(**request), at=NOW, anchors=PLATFORM.anchors, kind=kind)
        assert (appraisal.accepted, appraisal.fresh, appraisal.steps[-1].id) == (True, False, "request")
        other = {"structured": {**STRUCTURED["structured"], "c": 1}}
        altered = appraise(service(**{**request, "runtime_data": other}), at=NOW, anchors=PLATFORM.anchors, kind=kind)
        assert (altered.failed_step, altered.claims) == ("request", {})
    request["runtime_data_hash_algorithm"] = "sha1"
    assert not appraise(service(**request), at=NOW, anchors=PLATFORM.anchors).accepted


def test_run_time_data_as_bytes_is_what_evidence_was_asked_with() -> None:
    """It is cut or filled up with zeros. Source: trustee, ``regularize_data``."""
    raw: Mapping[bytes, bytes] = {b"": b"", b"nonce": b"nonce", bytes(range(80)): bytes(range(64))}
    for data, asked in raw.items():
        request = {"runtime_data": {"raw": url64(data)}, "evidence": url64(in_json(quoted(asked)))}
        appraisal = appraise(service(**request), at=NOW, anchors=PLATFORM.anchors)
        cut = len(data) > len(REPORT_DATA)
        assert (appraisal.accepted, "run-time data not compared" in appraisal.not_compared) == (True, cut)
        request["runtime_data"] = {"raw": url64(b"!" + data[1:])}
        assert appraise(service(**request), at=NOW, anchors=PLATFORM.anchors).failed_step == "request"
    twice = {"verification_requests": [SERVICE, SERVICE | {"runtime_data": {"raw": url64(b"other")}}]}
    assert appraise(in_json(twice), at=NOW, anchors=PLATFORM.anchors).failed_step == "tdx1.request"


@pytest.mark.parametrize("number", [0.5, 1 << 53])
def test_run_time_data_whose_form_readers_may_differ_in_is_not_compared(number: float) -> None:
    for structured in ({"a": number}, {"a": "\ud800"}):
        appraisal = appraise(service(runtime_data={"structured": structured}), **GIVEN)
        assert (appraisal.accepted, "run-time data not compared" in appraisal.not_compared) == (True, True)


@pytest.mark.parametrize("algorithm", HASHED)
def test_a_guest_asks_with_the_hash_of_its_key_and_of_the_evidence_of_its_devices(algorithm: str) -> None:
    """Which hash it is, the broker says. Source: trustee, ``backend.rs`` and ``intel_trust_authority/mod.rs``."""
    data = {"nonce": "n", "tee-pubkey": {"kty": "EC", "alg": "ES256"}}
    key = b'"nonce":"n","tee-pubkey":{"alg":"ES256","kty":"EC"}'
    forms: Mapping[bytes, Mapping[str, Any]] = {
        b'{"additional-evidence":"{}",%b}' % key: {"additional_evidence": "{}"},
        b"{%b}" % key: {},
    }
    for hashed, beside in forms.items():
        evidence = quoted(hashlib.new(algorithm, hashed).digest())
        parts = {"primary_evidence": evidence, **beside} if beside else evidence
        request: dict[str, Any] = {"runtime-data": data, "tee-evidence": parts}
        appraisal = appraise(in_json(request), at=NOW, anchors=PLATFORM.anchors)
        assert (appraisal.accepted, "run-time data not compared" in appraisal.not_compared) == (True, False)
        for changed in ({**data, "nonce": "m"}, {**data, "tee-pubkey": {}}):
            altered = appraise(in_json({**request, "runtime-data": changed}), at=NOW, anchors=PLATFORM.anchors)
            assert altered.failed_step == "request"
        request["runtime-data"] = {**data, "quote": ""}
        assert messages_in(in_json(request)) == ()


def test_what_a_guest_adds_is_appraised_too_and_not_said_to_be_of_its_machine() -> None:
    roots = {role: (*PLATFORM.anchors.of(role), *pki.world().anchors.of(role)) for role in pki.world().anchors.by_role}
    given: Any = {"at": pki.AT, "anchors": type(PLATFORM.anchors)({**PLATFORM.anchors.by_role, **roots})}
    report, certificates = pki.report(pki.world().device.leaf), pki.world().device.chain()
    devices = GPU_DOCUMENTS["Confidential Containers"]([(report, certificates)])
    appraisal = appraise(guest(nvidia=devices), **given)
    assert (appraisal.accepted, set(appraisal.claims)) == (True, {"tdx", "gpu"})
    assert "not shown to be of one machine" in appraisal.not_compared
    altered = GPU_DOCUMENTS["Confidential Containers"]([(report[:-1] + b"\0", certificates)])
    assert appraise(guest(nvidia=altered), **given).failed_step == "gpu.signature"
    others: tuple[dict[str, Any], ...] = ({"report_data": ""}, {"eat_nonce": ""}, {"keys": []})
    for other in others:
        assert appraise(guest(sample=other), **given).failed_step == "parse"
    alike = {"x" * 99 + "0": {"device_evidence_list": [1]}, "x" * 99 + "1": devices}
    assert not appraise(guest(**alike), **given).accepted
    alone = appraise(guest(nvidia=devices), **given, kind="tdx")
    assert "other messages of the wrapper not appraised" in alone.not_compared


def test_devices_of_a_node_were_asked_with_the_run_time_data_too() -> None:
    asked = hashlib.sha384(b'{"a":1}').digest()

    def devices(*nonces: bytes) -> str:
        several = [Member(device(pki.world().root), pki.OPAQUE, nonce[:32]).evidence() for nonce in nonces]
        every = [(each.report, each.chain or b"") for each in several]
        return url64(in_json(GPU_DOCUMENTS["Confidential Containers"](every)))

    for nonces, step in (((asked, asked), None), ((bytes(32),) * 2, "request")):
        request = {"tee": "nvidia", "evidence": devices(*nonces), "runtime_data": {"structured": {"a": 1}}}
        for kind, found in ((None, "gpu.request"), ("node", "request")):
            document = in_json({"verification_requests": [request]})
            appraisal = appraise(document, at=pki.AT, anchors=pki.world().anchors, kind=kind)
            assert appraisal.failed_step in (step, found if step else None)
            assert "run-time data not compared" not in appraisal.not_compared


@pytest.mark.parametrize("size", [48, 32, 64])
def test_a_tpm_was_asked_with_the_run_time_data_cut_or_filled_up(size: int) -> None:
    """Source: guest-components, ``attester/src/tpm/mod.rs``, before and after 79554cf8."""
    for hashed, step in ((hashlib.sha384(b'{"a":1}').digest(), None), (bytes(48), "request")):
        evidence = tpm.containers(hashed[:size].ljust(size, b"\0"))
        request = {"tee": "tpm", "evidence": url64(in_json(evidence)), "runtime_data": {"structured": {"a": 1}}}
        found = appraise(in_json({"verification_requests": [request]}), at=NOW, ak=tpm.pem(tpm.rsa_key()))
        assert found.failed_step == step, found.steps


NONE: dict[str, bytes] = {
    "a guest's request with something beside": in_json({**GUEST, "tee-evidence": QUOTED, "quote": ""}),
    "a guest's request without evidence": in_json({**GUEST, "tee-evidence": "evidence"}),
    "a guest's request with evidence of devices as objects": in_json(
        {"tee-evidence": {"primary_evidence": QUOTED, "additional_evidence": {"nvidia": {}}}}
    ),
    "a guest's request with broken evidence of devices": in_json(
        {"tee-evidence": {"primary_evidence": QUOTED, "additional_evidence": "{"}}
    ),
    "a guest's request with a list of devices": in_json(
        {"tee-evidence": {"primary_evidence": QUOTED, "additional_evidence": "[]"}}
    ),
    "a guest's request that says nothing of devices": in_json({"tee-evidence": {"primary_evidence": QUOTED}}),
    "a guest's request in CBOR": cbor({"tee-evidence": {"quote": QUOTE}}),
    "a broker's request in CBOR": cbor({"tee": "tdx", "evidence": url64(QUOTE)}),
    "evidence with the name of its platform": in_json({"platform": "snp", "evidence": QUOTED}),
    "a request to Intel Trust Authority": in_json({"tdx": {"quote": ""}}),
    "an answer with two pieces of evidence": in_json({"a": QUOTED, "b": QUOTED}),
    "an answer with evidence and a list": in_json({"a": QUOTED, "b": [QUOTED]}),
    "an answer with evidence and a long text": in_json({"a": QUOTED, "b": url64(QUOTE)}),
    "an answer with evidence and more, one deeper": in_json({"a": QUOTED, "b": {"c": QUOTED}}),
    "a guest's request with two keys": in_json(
        {"tee-pubkey": {}, "runtime-data": {"nonce": "", "tee-pubkey": {}}, "tee-evidence": QUOTED}
    ),
    "a guest's request with a list as text": in_json({**GUEST, "tee-evidence": json.dumps([QUOTED])}),
    "a guest's request with devices alone": in_json({"tee-evidence": {"additional_evidence": "{}", "quote": ""}}),
    "a guest's request with a third piece": in_json(
        {"tee-evidence": {"primary_evidence": QUOTED, "additional_evidence": "", "quote": ""}}
    ),
    "a broker's request without requests": in_json({"verification_requests": [], "policy_ids": ["default"]}),
    "a broker's request with evidence as policy": in_json({**SERVICE, "policy_ids": {"quote": ""}}),
    "claims with a wrapper and a nonce that is none": in_json({"cmw": url64(QUOTE), "eat_nonce": [url64(QUOTE)]}),
    "a broker's request with something beside": in_json({**SERVICE, "quote": ""}),
    "a broker's request in the other alphabet": in_json({**SERVICE, "evidence": "+/+/"}),
    "requests of a broker with something beside": in_json({"verification_requests": [SERVICE], "quote": ""}),
    "requests of a broker that are none": in_json({"verification_requests": [SERVICE, {}]}),
    "no request": in_json({"verification_requests": []}),
    "claims with a wrapper and something beside": in_json({"cmw": url64(QUOTE), "quote": ""}),
    "nothing": b"",
    "an empty array": b"[]",
    "an empty object": b"{}",
    "no message": in_json([TYPE]),
    "an empty message": in_json([TYPE, ""]),
    "four members": in_json([TYPE, "I0faVQ", 4, 4]),
    "no media type": in_json(["quote", "I0faVQ"]),
    "a number as type in JSON": in_json([64999, "I0faVQ"]),
    "padding": in_json([TYPE, "I0faVQ=="]),
    "the other alphabet": in_json([TYPE, "+/+/"]),
    "half a byte": in_json([TYPE, "A"]),
    "no purpose": in_json([TYPE, "I0faVQ", 0]),
    "an unknown purpose": in_json([TYPE, "I0faVQ", 32]),
    "true as a purpose": in_json([TYPE, "I0faVQ", True]),
    "a collection of nothing": in_json({"__cmwc_t": "tag:x"}),
    "a collection with something else": in_json({"a": [TYPE, "I0faVQ"], "b": 1}),
    "a collection whose type is no text": in_json({"__cmwc_t": 1, "a": [TYPE, "I0faVQ"]}),
    "an item that comes twice": b'{"a": ["a/b", "AAAA"], "a": ["a/b", "AAAA"]}',
    "text in CBOR": cbor([TYPE, "I0faVQ"]),
    "a content format that is too large": cbor([1 << 16, MESSAGE]),
    "a tag of something else": cbor(Tag(18, MESSAGE)),
    "a tag that stands for no content format": cbor(Tag(TAGS.start + 255, MESSAGE)),
    "a tag before the first": cbor(Tag(TAGS.start - 1, MESSAGE)),
    "bytes behind a record": cbor([64999, MESSAGE]) + b"\0",
    "a label that is bytes": cbor({b"a": [64999, MESSAGE]}),
    "too many": in_json({f"{number}": [TYPE, "AAAA"] for number in range(MOST_MESSAGES + 1)}),
}


@pytest.mark.parametrize("what", NONE)
def test_what_has_another_form_is_no_wrapper(what: str) -> None:
    assert messages_in(NONE[what]) == ()
    assert not appraise(NONE[what], at=NOW).accepted


def test_what_lies_inside_of_wrappers_is_small() -> None:
    """Each layer has to be read to find the next, so the bytes of all count."""
    inner = in_json({"a": ["a/b", url64(bytes(MOST_BYTES // 2))]})
    assert len(messages_in(inner)) == 1
    for large in (inner, in_json({"tee-evidence": {"quote": "A" * MOST_BYTES}})):
        deep = large if large is not inner else service(evidence=url64(inner))
        for kind in (None, "tdx"):
            appraisal = appraise(deep, **GIVEN, kind=kind)
            assert (appraisal.accepted, appraisal.failed_step) == (False, "parse")
            assert f"expected at most {MOST_BYTES} bytes inside" in appraisal.steps[-1].detail


def test_wrappers_may_be_inside_each_other_only_so_deep() -> None:
    deep = QUOTE
    for _ in range(20):
        deep = cbor([64999, deep])
    (message,) = messages_in(deep)
    assert message.data != QUOTE
    assert appraise(deep, **GIVEN).failed_step == "parse"
    nested: Any = ["a/b", url64(QUOTE)]
    for _ in range(20):
        nested = {"a": nested}
    assert messages_in(in_json(nested)) == ()


def test_a_collection_has_one_verdict_about_every_message() -> None:
    both = {"cvm": ["a/b", url64(QUOTE), 4], "gpu": ["a/b", url64(GPU.encode())]}
    roots = {role: (*PLATFORM.anchors.of(role), *pki.world().anchors.of(role)) for role in pki.world().anchors.by_role}
    anchors = type(PLATFORM.anchors)({**PLATFORM.anchors.by_role, **roots})
    appraisal = appraise(in_json(both), at=pki.AT, anchors=anchors)
    assert appraisal.accepted
    assert set(appraisal.claims) == {"tdx", "gpu"}
    assert "item 'cvm' of a CMW collection in JSON" in [layer.name for layer in appraisal.layers]
    twice = appraise(in_json(both | {"other": both["cvm"]}), at=pki.AT, anchors=anchors)
    assert set(twice.claims) == {"tdx0", "tdx1", "gpu"}
    altered = {**both, "gpu": ["a/b", url64(GPU.replace("A", "B", 9).encode())]}
    assert not appraise(in_json(altered), at=pki.AT, anchors=anchors).accepted


def test_nothing_beside_the_answer_of_a_kernel_is_passed_over() -> None:
    """Evidence of another kind in the same object is another kind of it."""
    kernel = {"provider": "tdx_guest", "outblob": url64(QUOTE)}
    assert kinds_of(in_json(kernel)) == (QUOTE_DOCUMENT,)
    assert kinds_of(in_json({**kernel, "attestation_report": ""})) == (QUOTE_DOCUMENT, SNP_DOCUMENT)
    machine = {"platform": "tdx", "evidence": {"quote": ""}}
    assert kinds_of(in_json({**machine, "attestation_report": ""})) == (QUOTE_DOCUMENT, SNP_DOCUMENT)
    assert kinds_of(in_json({**machine, "other": {"attestation_report": ""}})) == (QUOTE_DOCUMENT, SNP_DOCUMENT)
    assert kinds_of(in_json({**machine, "nvidia_gpu": {}})) == (QUOTE_DOCUMENT, NVIDIA_EVIDENCE)
    named = {"quote": "", "attestation_report": "", "serial_number": "", "cert_chain": ""}
    assert kinds_of(in_json(named)) == (SNP_DOCUMENT, QUOTE_DOCUMENT)


UNREAD: list[tuple[list[Any], str | None]] = [
    (["a/b", url64(b"something"), 4], "parse"),
    (["a/b", url64(b"something")], "parse"),
    (["a/b", url64(b"something"), 8], "parse"),
    (["a/b", url64(b"something"), 3], None),
    (["a/b", url64(b"\xef\xbb\xbf" + GPU.encode())], "parse"),
    (["a/b", url64(b"\x1f\x8b\x08" + bytes(20))], "parse"),
    (["a/b", url64(PLATFORM.collateral), 4], "parse"),
    (["a/b", url64(PLATFORM.collateral)], None),
]


@pytest.mark.parametrize(("other", "step"), UNREAD, ids=[f"{other[2:]} {step}" for other, step in UNREAD])
def test_a_message_that_no_format_reads_is_refused_unless_it_is_no_evidence(other: list[Any], step: str | None) -> None:
    collection = in_json({"cvm": ["a/b", url64(QUOTE), 4], "other": other})
    appraisal = appraise(collection, **GIVEN)
    assert appraisal.failed_step == step
    assert ("other messages of the wrapper not appraised" in appraisal.not_compared) is (step is None)
    alone = appraise(collection, **GIVEN, kind="tdx")
    assert (alone.accepted, alone.compared) == (True, False)
    assert alone.steps[0].detail == "other messages of the wrapper: 1, not read"


def test_one_format_reads_one_message() -> None:
    two = cbor({0: [64999, QUOTE], 1: [64999, QUOTE]})
    with pytest.raises(UsageError, match="2 messages for tdx"):
        appraise(two, **GIVEN, kind="tdx")
    assert appraise(two, **GIVEN).accepted
    other = appraise(two, at=NOW, kind="rim")
    assert (other.failed_step, other.steps[-1].detail.endswith("carnet attest tdx FILE")) == ("parse", True)


@pytest.mark.parametrize("inside", [0, 1])
def test_messages_are_counted_while_they_are_read(inside: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = in_json({f"{number}": [TYPE, "AAAA"] for number in range(20 * MOST_MESSAGES)})
    for _ in range(inside):
        data = in_json([TYPE, url64(data)])
    read: list[object] = []
    genuine = wrappers.Message

    def message(*parts: Any) -> wrappers.Message:
        read.append(parts)
        return genuine(*parts)

    monkeypatch.setattr(wrappers, "Message", message)
    assert messages_in(data) == ()
    assert len(read) == MOST_MESSAGES + 1


HEADER = in_json({"alg": "ES256", "cty": "application/cmw+json"})
SIGNED: dict[str, bytes] = {
    "compact": ".".join((url64(HEADER), url64(wrap(QUOTE)["JSON record"]), "AAAA")).encode(),
    "flattened": in_json({"payload": url64(wrap(QUOTE)["JSON record"]), "protected": "e30", "signature": "AAAA"}),
    "COSE": cbor([cbor({1: -7, 3: "application/cmw+cbor"}), {}, wrap(QUOTE)["CBOR record"], bytes(64)]),
    "tagged COSE": cbor(Tag(18, [cbor({1: -7, 3: "application/cmw+cbor"}), {}, wrap(QUOTE)["CBOR tag"], bytes(64)])),
}


@pytest.mark.parametrize("form", SIGNED)
def test_a_signed_wrapper_is_named_and_not_opened(form: str) -> None:
    appraisal = appraise(SIGNED[form], at=NOW)
    assert appraisal.failed_step == "parse"
    assert appraisal.steps[-1].detail == (
        "this is a signed conceptual message wrapper (CMW): Carnet knows nobody who signs wrappers; give what is in it"
    )


def test_without_the_library_a_wrapper_in_cbor_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(UsageError, match="evidence in CBOR needs the extra 'cbor'"):
        appraise(wrap(QUOTE)["CBOR record"], **GIVEN)
    assert appraise(wrap(QUOTE)["JSON record"], **GIVEN).accepted
    assert appraise(QUOTE, **GIVEN).accepted


def test_no_change_of_a_wrapper_alters_what_is_accepted() -> None:
    draw = random.Random(44)
    forms = list(wrap(QUOTE).values())
    for _ in range(1000):
        changed = mutated(draw.choice(forms), draw)
        try:
            appraisal = appraise(changed, **GIVEN)
        except UsageError:
            continue
        assert not appraisal.accepted or all(part.found.data == QUOTE for part in parts_of(changed) if part.wrappers)


@given(st.binary(max_size=200) | st.builds(lambda end: b"\x82\x19\xfd\xe7" + end, st.binary(max_size=20)))
def test_any_bytes_are_a_wrapper_or_none(data: bytes) -> None:
    assert all(part.layers for part in parts_of(data))
