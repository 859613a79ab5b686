"""Quotes, documents with a quote, and event logs: read whole or not at all, and replayed."""

import hashlib
import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.attestation import appraise
from carnet_ref.attestation.event_logs import LARGEST_LOG, NO_ACTION
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY, parse_policy
from carnet_ref.attestation.intel.event_log import MOST_EVENTS, parse_event_log, replay_rtmr
from carnet_ref.attestation.intel.evidence import QuoteEvidence, quote_evidence
from carnet_ref.attestation.intel.quote import LARGEST_QUOTE, PADDING_LIMIT, WrongKindError, parse_quote
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import (
    EXTENSION,
    NOW,
    PLATFORM,
    QUOTE,
    REPORT_DATA,
    appraised,
    edited,
    of_tdx_15,
    of_tdx_15_ex,
)
from tests.fixtures.wrapped_evidence import (
    EVENTS,
    QUOTE_DOCUMENTS,
    encoded,
    event_log,
    hashed,
    logged_rtmrs,
    quote_message,
    runtime_digest,
)
from tests.fuzz.test_parsers import mutated

BODY = QUOTE[48:632]
REST = QUOTE[632:]


def version_5(kind: int, size: int, body: bytes) -> bytes:
    head = edited(QUOTE[:48], 0, b"\5\0")
    return head + kind.to_bytes(2, "little") + size.to_bytes(4, "little") + body + REST


def test_a_quote_of_either_version_has_its_fields_where_they_are_specified() -> None:
    quote = parse_quote(QUOTE)
    assert (quote.version, quote.padding, quote.signed) == (4, 0, QUOTE[:632])
    assert quote.report.report_data == REPORT_DATA
    assert quote.report.attributes.sept_ve_disable
    assert not quote.report.attributes.debug
    assert quote.report.tee_tcb_svn_2 is None
    old = parse_quote(version_5(2, 584, BODY))
    new = parse_quote(version_5(3, 648, BODY + b"s" * 16 + b"m" * 48))
    assert (len(old.signed), len(new.signed)) == (54 + 584, 54 + 648)
    assert (new.report.tee_tcb_svn_2, new.report.mrservicetd) == (b"s" * 16, b"m" * 48)
    assert old.report.mrservicetd is None


def test_a_td_report_1_5_ex_has_its_fields_where_intels_headers_put_them() -> None:
    values = {name: bytes([place + 1]) * size for place, (name, size) in enumerate(EXTENSION.items())}
    quote = of_tdx_15_ex(b"m" * 48, **values)
    report = parse_quote(quote).report
    assert (len(parse_quote(quote).signed), report.mrservicetd, report.body) == (54 + 885, b"m" * 48, 4)
    found = {name: getattr(report.extension, name) for name in EXTENSION}
    assert found == values | {"vmid": 1}
    # Where Intel's header says that each field begins, from the start of the body
    places = dict(zip(EXTENSION, (648, 649, 681, 729, 777, 785, 801, 817, 829, 877), strict=True))
    for name, place in places.items():
        changed = parse_quote(edited(quote, 54 + place, b"\xee")).report.extension
        differing = [other for other in EXTENSION if getattr(changed, other) != getattr(report.extension, other)]
        assert differing == [name]


@pytest.mark.parametrize(
    ("key_type", "words"),
    [(0, "EPID"), (1, "reserved"), (3, "ECDSA P-384"), (4, "ML-DSA"), (5, "ML-DSA"), (7, "ML-DSA"), (65535, "ML-DSA")],
)
def test_an_attestation_key_of_another_type_is_refused_with_what_is_known_of_it(key_type: int, words: str) -> None:
    with pytest.raises(MalformedError, match=f"found {key_type}, .*{words}"):
        parse_quote(edited(QUOTE, 2, key_type.to_bytes(2, "little")))


@pytest.mark.parametrize(
    "quote",
    [edited(QUOTE, 0, b"\3\0\2\0\0\0\0\0"), edited(QUOTE, 4, b"\0\0\0\0"), version_5(1, 384, BODY[:384])],
    ids=["version 3", "version 4", "version 5"],
)
def test_a_quote_of_an_sgx_enclave_is_recognised_as_another_kind(quote: bytes) -> None:
    with pytest.raises(WrongKindError, match="SGX enclave"):
        parse_quote(quote)


@pytest.mark.parametrize(
    ("what", "quote"),
    [
        ("version", edited(QUOTE, 0, b"\6\0")),
        ("attestation key type", edited(QUOTE, 2, b"\3\0")),
        ("TEE type", edited(QUOTE, 4, b"\x82")),
        ("QE vendor id", edited(QUOTE, 12, b"\0")),
        ("body type", version_5(5, 584, BODY)),
        ("bytes of body", version_5(4, 648, BODY + bytes(64))),
        ("bytes of body", version_5(3, 584, BODY)),
        ("certification data type 6", edited(QUOTE, 636 + 128, b"\5\0")),
        ("certification data type 5", edited(QUOTE, 636 + 134 + 448 + 34, b"\6\0")),
        ("signature data", QUOTE[:-1]),
        ("nothing more", QUOTE[:632] + (len(REST) - 3).to_bytes(4, "little") + REST[4:] + b"\0"),
    ],
)
def test_a_quote_of_another_layout_is_malformed(what: str, quote: bytes) -> None:
    with pytest.raises(MalformedError, match=re.escape(what)) as error:
        parse_quote(quote)
    assert not isinstance(error.value, WrongKindError)


@pytest.mark.parametrize(("padding", "read"), [(bytes(PADDING_LIMIT), True), (bytes(PADDING_LIMIT + 1), False)])
def test_zeros_may_follow_up_to_the_limit(padding: bytes, read: bool) -> None:
    if read:
        assert parse_quote(QUOTE + padding).padding == PADDING_LIMIT
    else:
        with pytest.raises(MalformedError, match="padding"):
            parse_quote(QUOTE + padding)


def test_what_follows_a_quote_is_zero_and_nothing_follows_its_certificates() -> None:
    with pytest.raises(MalformedError, match="1 non-zero bytes"):
        parse_quote(QUOTE + b"\0\0\1\0")
    with pytest.raises(MalformedError, match="at most"):
        parse_quote(bytes(LARGEST_QUOTE + 1))
    size = int.from_bytes(REST[134:138], "little") + 1
    longer = (len(REST) - 3).to_bytes(4, "little") + REST[4:134] + size.to_bytes(4, "little") + REST[138:] + b"\0"
    with pytest.raises(MalformedError, match="QE report certification data"):
        parse_quote(QUOTE[:632] + longer)


LOGGED = PLATFORM.td(rtmrs=logged_rtmrs()).quote(REPORT_DATA)
ATTESTS = ("dstack Attest, version 0", "dstack Attest, version 1", "dstack Attest on Google")
WITH_A_LOG = ("dstack getquote", "attestation answer", *ATTESTS)
WITH_MORE = (
    *("Azure vTPM of bytes", "Azure vTPM of text", "Google", "Confidential Containers", "Google in camelCase"),
    *("Google's virtual machine", "Google's vTPM", "dstack Attest on Google"),
)


def read(document: Any) -> QuoteEvidence:
    return quote_evidence(json.dumps(document).encode())


@pytest.mark.mends("E3")
@pytest.mark.parametrize("name", QUOTE_DOCUMENTS)
def test_each_document_gives_its_quote_and_says_what_it_is(name: str) -> None:
    found = read(QUOTE_DOCUMENTS[name](QUOTE))
    assert found.quote == QUOTE
    assert found.found_in
    assert (found.event_log is not None) == (name in WITH_A_LOG)
    assert bool(found.unread) == (name in WITH_MORE)
    assert found.log_is_cut == (name in ATTESTS)


@pytest.mark.parametrize(
    "form", [bytes, lambda quote: quote.hex().encode(), lambda quote: b"0x" + quote.hex().encode()]
)
def test_a_quote_alone_was_found_in_nothing(form: Any) -> None:
    assert quote_evidence(form(QUOTE)) == QuoteEvidence(QUOTE)


@pytest.mark.mends("E13")
@pytest.mark.parametrize("name", WITH_A_LOG)
def test_the_log_beside_a_quote_is_replayed(name: str) -> None:
    found = read(QUOTE_DOCUMENTS[name](LOGGED))
    verdict = appraised(found.quote, event_log=found.event_log)
    assert verdict.accepted
    assert verdict.claims["runtime_events"] == [{"event": event, "payload": data.hex()} for event, data in EVENTS]
    other = read(QUOTE_DOCUMENTS[name](QUOTE))
    assert appraised(other.quote, event_log=other.event_log).failed_step == "event-log"


def test_a_name_that_a_digest_of_version_1_does_not_tell_from_the_payload_is_not_proved() -> None:
    """The digest covers the name, a colon and the payload, so the name may end at any colon of this text."""
    (genuine,) = parse_event_log(json.dumps(event_log(("key-provider", b'{"name":"kms"}'))[1:]).encode())
    (moved,) = parse_event_log(json.dumps(event_log(('key-provider:{"name"', b'"kms"}'))[1:]).encode())
    assert (genuine.name, moved.name) == ("key-provider", None)
    assert genuine.digest == moved.digest
    third = replay_rtmr([genuine])[3]
    quote = PLATFORM.td(rtmrs=(*logged_rtmrs()[:3], third)).quote(REPORT_DATA)
    verdict = appraised(quote, event_log=json.dumps(event_log(('key-provider:{"name"', b'"kms"}'))).encode())
    assert verdict.claims["runtime_events"] == [{"digest": genuine.digest.hex()}]
    (second,) = parse_event_log(json.dumps(event_log(("a:b", b"c"), version=2)[1:]).encode())
    assert second.name == "a:b"


def of_version_2(**changed: Any) -> bytes:
    *before, last = event_log(*EVENTS, digests=True, version=2)
    return json.dumps([*before, last | changed]).encode()


def test_events_of_version_2_have_digests_over_canonical_json() -> None:
    events = parse_event_log(of_version_2())
    assert [event.digest for event in events[1:]] == [runtime_digest(*each, version=2) for each in EVENTS]
    assert replay_rtmr(events) == logged_rtmrs(version=2)
    assert parse_event_log(of_version_2(digest="", preimage=None)) == events
    quote = PLATFORM.td(rtmrs=logged_rtmrs(version=2)).quote(REPORT_DATA)
    verdict = appraised(quote, event_log=of_version_2())
    assert verdict.claims["runtime_events"] == [{"event": name, "payload": data.hex()} for name, data in EVENTS]
    assert appraised(quote, event_log=json.dumps(event_log(*EVENTS)).encode()).failed_step == "event-log"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ('a "quote"', '"a \\"quote\\""'),
        ("a\\b", '"a\\\\b"'),
        ("\b\f\n\r\t\1\x1f", '"\\b\\f\\n\\r\\t\\u0001\\u001f"'),
        ("\x7f é 测试 🦀 \u2028", '"\x7f é 测试 🦀 \u2028"'),
        ("</script>", '"</script>"'),
    ],
)
def test_names_are_hashed_as_rfc_8785_writes_them(name: str, written: str) -> None:
    canonical = f'{{"name":{written},"payload":"0aff","type":134217729}}'.encode()
    listed = {"imr": 3, "event_type": 0x08000001, "digest": "", "event": name, "event_payload": "0AFF", "version": 2}
    (event,) = parse_event_log(json.dumps([listed]).encode())
    assert event.digest == hashlib.sha384(canonical).digest()


WRONG_VERSIONS: dict[str, dict[str, Any]] = {
    "a digest of version 1": {"digest": runtime_digest(*EVENTS[-1]).hex()},
    "a preimage of version 1": {"preimage": hashed(*EVENTS[-1]).hex()},
    "another preimage": {"preimage": "7b7d"},
    "a preimage that is no hexadecimal": {"preimage": "{}"},
    "a later version": {"version": 3},
    "version 0": {"version": 0},
    "a version as text": {"version": "2"},
    "another name": {"event": "system-readier"},
    "another payload": {"event_payload": "00"},
}


@pytest.mark.parametrize("what", WRONG_VERSIONS)
def test_an_event_of_version_2_that_is_not_whole_is_one_typed_error(what: str) -> None:
    with pytest.raises(MalformedError):
        parse_event_log(of_version_2(**WRONG_VERSIONS[what]))


CUT = json.dumps(event_log(*EVENTS)[1:]).encode()


def test_a_log_that_is_cut_is_replayed_into_rtmr3_and_does_not_make_the_step_hold() -> None:
    verdict = appraised(LOGGED, log_beside=CUT, log_is_cut=True)
    step = next(step for step in verdict.steps if step.id == "event-log")
    assert (verdict.accepted, step.ok, "event log not replayed" in verdict.not_compared) == (True, None, True)
    assert verdict.claims["runtime_events"] == [{"event": name, "payload": data.hex()} for name, data in EVENTS]
    asked = replace(DEFAULT_POLICY, require=DEFAULT_POLICY.require | {"event-log"})
    assert appraised(LOGGED, log_beside=CUT, log_is_cut=True, policy=asked).failed_step == "policy"
    whole = json.dumps(event_log(*EVENTS)).encode()
    assert appraised(LOGGED, log_beside=whole, log_is_cut=True, policy=asked).accepted
    assert appraised(LOGGED, event_log=whole, log_beside=CUT, log_is_cut=True, policy=asked).accepted


@pytest.mark.parametrize(
    ("beside", "given_log", "is_cut"),
    [
        (CUT, None, False),
        (json.dumps(event_log(*EVENTS[1:])).encode(), None, True),
        (json.dumps(event_log(*reversed(EVENTS))).encode(), None, True),
        (b"[]", None, True),
        (CUT, CUT, True),
    ],
)
def test_a_log_that_does_not_end_in_rtmr3_is_refused_even_if_it_is_cut(
    beside: bytes, given_log: bytes | None, is_cut: bool
) -> None:
    assert appraised(LOGGED, event_log=given_log, log_beside=beside, log_is_cut=is_cut).failed_step == "event-log"


WITH_GPUS: dict[str, Any] = {
    "Intel Trust Authority": {"tdx": {"quote": QUOTE.hex()}, "nvgpu": {"evidence_list": [{}]}},
    "an answer": {"intel_quote": QUOTE.hex(), "nvidia_payload": '{"evidence_list": []}'},
    "evidences": {"quote": QUOTE.hex(), "gpu_evidence": [{"evidence": "AA"}]},
    "Google": {"quote": {"tdxCcelQuote": {"tdQuote": encoded(QUOTE)}}, "deviceReports": [{"nvidiaReport": {}}]},
    "Google by its schema": {
        "vm_attestation_quote": {"tdx_ccel_quote": {"td_quote": encoded(QUOTE)}},
        "device_reports": [{}],
    },
    "Containers": {"quote": QUOTE.hex(), "cc_eventlog": None, "device_evidence_list": [{}]},
    "beside a platform": {"platform": "tdx", "evidence": {"quote": QUOTE.hex()}, "gpu": {"evidences": []}},
    "devices of a platform": {"platform": "gcp-tdx", "evidence": {"quote": QUOTE.hex()}, "nvidia_gpu": {"devices": []}},
    "inside a platform": {"platform": "tdx", "evidence": {"quote": QUOTE.hex(), "nvidia_payload": {"arch": "HOPPER"}}},
}


@pytest.mark.parametrize("name", WITH_GPUS)
def test_evidence_of_gpus_beside_a_quote_is_listed_as_not_appraised(name: str) -> None:
    found = read(WITH_GPUS[name])
    assert found.unread[-1].lacking == "GPU evidence not appraised"
    assert len(set(found.unread)) == len(found.unread)


LONG = "A" * 129
BESIDE: dict[str, tuple[dict[str, Any], str]] = {
    "a platform": ({"platform": "tdx", "evidence": {"quote": QUOTE.hex()}, "a": LONG}, "'a' beside it"),
    "a platform, as a list": ({"platform": "tdx", "evidence": {"quote": QUOTE.hex()}, "a": []}, "'a' beside it"),
    "Intel Trust Authority": ({"tdx": {"quote": QUOTE.hex()}, "sevsnp": {}}, "'sevsnp' beside it"),
    "inside Intel Trust Authority": ({"tdx": {"quote": QUOTE.hex(), "a": LONG}}, "'a' beside it"),
    "a kernel": ({"outblob": encoded(QUOTE), "provider": "tdx_guest", "a": LONG}, "'a' beside it"),
    "an auxiliary blob": ({"outblob": encoded(QUOTE), "provider": "tdx_guest", "auxblob": "AA"}, "the auxblob"),
    "a manifest": ({"outblob": encoded(QUOTE), "provider": "tdx_guest", "manifestblob": "AA"}, "the manifestblob"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_lies_beside_a_quote_and_may_be_evidence_is_listed_as_not_read(name: str) -> None:
    document, part = BESIDE[name]
    (unread,) = read(document).unread
    assert (unread.part.startswith(part), unread.lacking) == (True, "what lies beside it not read")
    short = json.loads(json.dumps(document).replace(LONG, "A" * 128).replace("[]", "1").replace("{}", "1"))
    assert (
        read(short | {blob: empty for blob, empty in (("auxblob", ""), ("manifestblob", None)) if blob in short}).unread
        == ()
    )


def test_a_quote_is_of_the_platform_that_is_named() -> None:
    azure = {"tpm_quote": {}, "hcl_report": "AA", "td_quote": encoded(QUOTE)}
    for platform in ("tdx", "gcp-tdx", "dstack"):
        assert read({"platform": platform, "evidence": {"quote": QUOTE.hex()}}).quote == QUOTE
        with pytest.raises(MalformedError, match=f"the evidence of the platform '{platform}'"):
            read({"platform": platform, "evidence": azure})
    assert read({"platform": "az-tdx", "evidence": azure}).quote == QUOTE
    for platform in ("snp", "az-tdx", "TDX"):
        with pytest.raises(MalformedError, match=f"the evidence of the platform '{platform}'"):
            read({"platform": platform, "evidence": {"quote": QUOTE.hex()}})


ASKED_FOR = [
    ({"verifier_nonce": {"val": "AQ==", "iat": "Ag==", "signature": ""}}, hashlib.sha512(b"\1\2").digest()),
    ({"verifier_nonce": {"val": "AQ==", "iat": "Ag=="}, "runtime_data": "Aw=="}, hashlib.sha512(b"\1\2\3").digest()),
    ({"runtime_data": "Aw=="}, hashlib.sha512(b"\3").digest()),
    ({"runtime_data": "Aw==", "user_data": "BA=="}, hashlib.sha256(b"\3").digest() + bytes(32)),
]


@pytest.mark.parametrize(("beside", "asked"), ASKED_FOR, ids=["nonce", "nonce and data", "data", "Azure's data"])
def test_a_request_to_intel_was_asked_with_its_nonce_and_data(beside: dict[str, Any], asked: bytes) -> None:
    """Source: Intel Trust Authority client for Python, ``tdx_adapter.py`` and ``azure_tdx_adapter.py``."""
    for report_data, step in ((asked, None), (asked[:-1] + b"!", "request")):
        quote = PLATFORM.td().quote(report_data)
        request = json.dumps({"tdx": {"quote": encoded(quote), **beside}}).encode()
        assert appraise(request, at=NOW, anchors=PLATFORM.anchors).failed_step == step


@pytest.mark.parametrize("odd", [{"verifier_nonce": []}, {"runtime_data": "+"}, {"runtime_data": {}}])
def test_a_request_to_intel_with_another_nonce_or_data_is_malformed(odd: dict[str, Any]) -> None:
    with pytest.raises(MalformedError, match="verifier_nonce"):
        read({"tdx": {"quote": QUOTE.hex(), **odd}})


@pytest.mark.parametrize("empty", [None, "", "{}", "[]", {}, []])
def test_no_evidence_of_gpus_is_not_listed(empty: Any) -> None:
    assert read({"intel_quote": QUOTE.hex(), "nvidia_payload": empty}).unread == ()


@pytest.mark.parametrize("version", [4, 5])
def test_a_quote_as_a_message_has_the_bytes_that_were_signed(version: int) -> None:
    quote = QUOTE if version == 4 else of_tdx_15(b"s" * 48)
    for padding in (b"", bytes(70)):
        assert read(quote_message(quote + padding)).quote == quote + padding


@pytest.mark.parametrize("log", [None, "", []])
def test_a_document_may_have_no_log(log: Any) -> None:
    assert read({"quote": QUOTE.hex(), "event_log": log}).event_log is None


def test_a_log_in_a_document_may_be_a_binary_one() -> None:
    assert read({"quote": QUOTE.hex(), "event_log": "0001"}).event_log == b"\0\1"


FOREIGN: dict[str, tuple[Any, str]] = {
    "SEV-SNP": ({"platform": "snp", "evidence": {"attestation_report": "AA"}}, "an AMD SEV-SNP report"),
    "Azure's SEV-SNP": (
        {"platform": "az-snp", "evidence": {"hcl_report": "AA", "vcek": "AA", "tpm_quote": {}}},
        "Azure's evidence of an AMD SEV-SNP virtual machine",
    ),
    "a token": ([["JWT", "e30"], {"GPU-0": "e30"}], "a token of NVIDIA's remote attestation service"),
    "devices": ([{"evidence": "AA", "certificate": "AA"}], "evidence of NVIDIA devices"),
    "an event log": (event_log(), "an event of an event log"),
    "two quotes": ({"quote": "00", "intel_quote": "00"}, "readers may differ"),
    "a quote that is a number": ({"quote": 1}, "the quote as text or as a list of bytes, found a JSON int"),
    "a quote of numbers too large": ({"quote": [256]}, "the quote as text or as a list of bytes"),
    "a quote that is no quote": ({"quote": "no quote at all!"}, "found other text"),
    "a report for a quote": ({"quote": ("11e0" + "00" * 40)}, "the report of an NVIDIA device"),
    "Google's of another kind": ({"vm_attestation_quote": {"tpm_quote": {}}}, "found a quote of a TPM"),
    "a log of another kind": ({"quote": QUOTE.hex(), "event_log": 1}, "event_log as a list or as text"),
    "answers of several machines": ({"model_attestations": [{"intel_quote": "00"}]}, "'model_attestations'"),
    "text": ("quote", "other text"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_anything_else_is_one_error_that_says_what_came(what: str) -> None:
    document, words = FOREIGN[what]
    with pytest.raises(MalformedError) as refused:
        read(document)
    assert words in str(refused.value)


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", QUOTE_DOCUMENTS)
def test_a_changed_document_is_refused_or_has_the_same_quote(name: str, count: int) -> None:
    data, draw = json.dumps(QUOTE_DOCUMENTS[name](LOGGED)).encode(), random.Random(f"{count} {name}")
    assert _accepted_as_before(data)
    assert sum(_accepted_as_before(mutated(data, draw)) for _ in range(count)) < count


def _is_told(claimed: dict[str, str], event: tuple[str, bytes]) -> bool:
    """Return whether an event is claimed as it was measured: with its name, or by its digest alone."""
    name, payload = event
    proved = {"event": name, "payload": payload.hex()}, {"digest": runtime_digest(name, payload).hex()}
    return claimed in proved


SIGNED = parse_quote(LOGGED)


def _accepted_as_before(data: bytes) -> bool:
    """Return whether changed evidence is accepted, which it may be only where everything signed is as it was."""
    try:
        found = quote_evidence(data)
    except MalformedError:
        return False
    verdict = appraised(found.quote, event_log=found.event_log)
    if verdict.accepted:
        quote = parse_quote(found.quote)
        assert (quote.signed, quote.signature) == (SIGNED.signed, SIGNED.signature)
        claimed: Any = verdict.claims["runtime_events"]
        assert claimed == [] or all(_is_told(*each) for each in zip(claimed, EVENTS, strict=True))
    return verdict.accepted


SHA1, SHA384 = 4, 12


def little_endian(value: int, width: int = 4) -> bytes:
    return value.to_bytes(width, "little")


def specification(algorithms: dict[int, int]) -> bytes:
    sizes = b"".join(little_endian(algorithm, 2) + little_endian(size, 2) for algorithm, size in algorithms.items())
    event = b"Spec ID Event03\0" + bytes(8) + little_endian(len(algorithms)) + sizes + b"\0"
    return little_endian(0) + little_endian(NO_ACTION) + bytes(20) + little_endian(len(event)) + event


def event(register: int, kind: int, data: bytes) -> bytes:
    digest = hashlib.sha384(data).digest()
    return (
        little_endian(register)
        + little_endian(kind)
        + little_endian(1)
        + little_endian(SHA384, 2)
        + digest
        + little_endian(len(data))
        + data
    )


HEADER = specification({SHA384: 48})
LOG = HEADER + event(1, 0x80000001, b"firmware") + event(2, 13, b"kernel") + event(1, 4, b"separator")


def extended(*measured: bytes) -> bytes:
    value = bytes(48)
    for data in measured:
        value = hashlib.sha384(value + hashlib.sha384(data).digest()).digest()
    return value


def test_registers_hold_what_was_measured_in_order_and_no_remarks() -> None:
    assert replay_rtmr(parse_event_log(LOG)) == (
        extended(b"firmware", b"separator"),
        extended(b"kernel"),
        bytes(48),
        bytes(48),
    )
    other = HEADER + event(1, 4, b"separator") + event(1, 0x80000001, b"firmware")
    assert replay_rtmr(parse_event_log(other))[0] != replay_rtmr(parse_event_log(LOG))[0]
    remarks = HEADER + event(1, NO_ACTION, b"a remark") + event(0, 13, b"the initial contents")
    assert replay_rtmr(parse_event_log(remarks)) == (bytes(48),) * 4


@pytest.mark.parametrize("rest", [b"", bytes(100), b"\xff" * 100])
def test_a_log_ends_where_its_buffer_is_unwritten(rest: bytes) -> None:
    assert parse_event_log(LOG + rest) == parse_event_log(LOG)


@pytest.mark.parametrize(
    "log",
    [
        b"",
        LOG[:40],
        LOG[:-1],
        LOG + b"\1",
        little_endian(0) + little_endian(4) + HEADER[8:],
        HEADER.replace(b"Spec ID Event03", b"Spec ID Event02"),
        specification({SHA1: 20}),
        specification({SHA384: 32}),
        specification(dict.fromkeys(range(17), 48)),
        HEADER + event(5, 13, b"no such register"),
        HEADER + little_endian(1) + little_endian(13) + little_endian(0) + little_endian(0),
        HEADER + little_endian(1) + little_endian(13) + little_endian(2),
        HEADER
        + little_endian(1)
        + little_endian(13)
        + little_endian(1)
        + little_endian(SHA1, 2)
        + bytes(20)
        + little_endian(0),
        bytes(LARGEST_LOG + 1),
    ],
)
def test_what_is_no_event_log_is_malformed(log: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_event_log(log)


def test_a_log_that_ends_in_other_registers_is_refused() -> None:
    quote = PLATFORM.td(rtmrs=replay_rtmr(parse_event_log(LOG))).quote(REPORT_DATA)
    assert appraised(quote, event_log=LOG).accepted
    assert appraised(quote, event_log=HEADER).failed_step == "event-log"
    assert appraised(quote, event_log=b"").failed_step == "parse"


MEASURED = bytes(range(48))
PARTIAL = json.dumps(event_log(("an event", b"data"))).encode()  #: A log with events of RTMR0 and RTMR3 alone.


@pytest.mark.parametrize(
    ("register", "covered"), [("rtmr0", True), ("rtmr1", False), ("rtmr2", False), ("rtmr3", True)]
)
def test_a_policy_leaves_a_register_without_events_to_measurements(register: str, covered: bool) -> None:
    """A register that the log has events of is compared with them all the same."""
    rtmrs, index = list(replay_rtmr(parse_event_log(PARTIAL))), int(register[-1])
    assert any(rtmrs[index]) is covered
    rtmrs[index] = MEASURED
    quote = PLATFORM.td(rtmrs=(rtmrs[0], rtmrs[1], rtmrs[2], rtmrs[3])).quote(REPORT_DATA)
    assert appraised(quote, event_log=PARTIAL).failed_step == "event-log"
    written = {"rtmrs_without_log": [register], "measurements": {register: [MEASURED.hex()]}}
    policy = parse_policy(json.dumps(written).encode())
    appraisal = appraised(quote, event_log=PARTIAL, policy=policy)
    assert appraisal.failed_step == ("event-log" if covered else None)
    if not covered:
        (step,) = [step for step in appraisal.steps if step.id == "event-log"]
        assert f"left to measurements: {register.upper()}" in step.detail
        assert register.upper() not in step.detail.partition(";")[0]
    rtmrs[index] = b"\1" * 48
    other = PLATFORM.td(rtmrs=(rtmrs[0], rtmrs[1], rtmrs[2], rtmrs[3])).quote(REPORT_DATA)
    assert appraised(other, event_log=PARTIAL, policy=policy).failed_step == "measurements"


def json_log(**changed: Any) -> bytes:
    """Return the log of dstack with fields of its last event changed."""
    log = event_log(*EVENTS, digests=True)
    log[-1] |= changed
    return json.dumps(log).encode()


@pytest.mark.mends("E13")
@pytest.mark.parametrize("digests", [True, False])
def test_the_list_of_dstack_is_replayed_with_or_without_the_digests_of_its_events(digests: bool) -> None:
    log = json.dumps(event_log(*EVENTS, digests=digests), indent=1).encode()
    assert replay_rtmr(parse_event_log(log)) == logged_rtmrs()
    assert [(event.name, event.data) for event in parse_event_log(log)[1:]] == list(EVENTS)


@pytest.mark.parametrize(
    "changed",
    [{"event": "system-broken", "digest": ""}, {"event_payload": "00", "digest": ""}, {"imr": 2}, {"event_type": 13}],
)
def test_a_changed_event_of_dstack_ends_in_other_registers(changed: dict[str, Any]) -> None:
    quote = PLATFORM.td(rtmrs=logged_rtmrs()).quote(REPORT_DATA)
    assert appraised(quote, event_log=json_log()).accepted
    assert replay_rtmr(parse_event_log(json_log())) == logged_rtmrs()
    if changed == {"event_type": 13}:  # the digest is then only stated, so its name proves nothing and is not claimed
        assert parse_event_log(json_log(**changed))[-1].name is None
        told: Any = appraised(quote, event_log=json_log(**changed)).claims["runtime_events"]
        assert told[-1] == {"digest": runtime_digest(*EVENTS[-1]).hex()}
    else:
        assert appraised(quote, event_log=json_log(**changed)).failed_step == "event-log"


@pytest.mark.parametrize(
    "log",
    [
        json_log(imr=4),
        json_log(imr=-1),
        json_log(imr="3"),
        json_log(event_type=1 << 32),
        json_log(digest=runtime_digest("another", b"").hex()),
        json_log(digest="00"),
        json_log(digest=None),
        json_log(event_type=13, digest=""),
        json_log(event_payload="0"),
        json_log(event=1),
        b"[1]",
        b"[",
        b'[{"imr": 0, "imr": 1}]',
        json.dumps([{}] * (MOST_EVENTS + 1)).encode(),
    ],
)
def test_another_list_is_malformed(log: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_event_log(log)
