"""Quotes of TPMs: genuine ones are accepted, each change is refused at its step, and no key is believed by itself."""

import base64
import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.attestation.amd.report import GuestPolicy
from carnet_ref.attestation.appraisal import Anchors, Appraisal, unparsable
from carnet_ref.attestation.formats import FORMATS, AppraisalContext, OptionKind, OptionValues, appraise_files
from carnet_ref.attestation.intel import appraisal as tdx
from carnet_ref.attestation.kinds import TPM_DOCUMENT, TPM_QUOTE, known_kind
from carnet_ref.attestation.policies import Preset
from carnet_ref.attestation.tpm.appraisal import DEFAULT_POLICY, POLICY_FORM, STEPS, Policy, parse_policy
from carnet_ref.wire import MalformedError
from tests.fixtures import simulated_quotes, simulated_snp
from tests.fixtures import tpm_quotes as tpm
from tests.fixtures.command_words import attest, found, written
from tests.fixtures.nvidia_pki import issue, pem
from tests.fixtures.simulated_snp import flipped
from tests.fixtures.tpm_quotes import (
    EVENTS,
    NONCE,
    NOW,
    REGISTERS,
    SHA1,
    SHA256,
    SHA384,
    log,
    quote,
    registers,
    selection,
    serialized,
    signature,
)

NOTHING = {option.name: () if option.kind is OptionKind.FILES else None for option in FORMATS["tpm"].load().options}
STRICT = Policy(
    require=frozenset({"ak", "signature", "nonce", "pcr-digest", "pcrs", "event-log"}),
    pcrs={4: frozenset({registers()[4]}), 10: frozenset({bytes(32), registers()[10]})},
)
MESSAGE = quote()
KEY = tpm.pem(tpm.rsa_key())
CERTIFICATES = pem(tpm.certificates())
FILES: dict[str, Any] = {"signature": signature(MESSAGE), "pcrs": serialized(registers()), "ak": KEY}
TD_POLICY = replace(DEFAULT_POLICY, tdx=replace(tdx.DEFAULT_POLICY, require=frozenset({"quote-signature"})))


def appraised(
    evidence: bytes | Mapping[str, Any],
    *,
    policy: Policy = DEFAULT_POLICY,
    at: Any = NOW,
    anchors: Anchors | None = None,
    **given: Any,
) -> Appraisal:
    data = evidence if isinstance(evidence, bytes) else json.dumps(evidence).encode()
    values = OptionValues({**NOTHING, **{name.replace("_", "-"): value for name, value in given.items()}})
    return appraise_files("tpm", [data], values, AppraisalContext(at, policy, anchors or tpm.anchors()))


def test_a_quote_with_everything_is_accepted_and_lacks_nothing() -> None:
    appraisal = appraised(MESSAGE, policy=STRICT, **{**FILES, "ak": CERTIFICATES}, nonce=NONCE, event_log=log())
    assert appraisal.accepted, appraisal.steps[-1]
    assert appraisal.not_compared == ()
    claims = appraisal.claims
    assert (claims["secure_boot"], claims["bank"], claims["reset_count"]) == (True, "SHA-256", 3)
    assert known_kind(MESSAGE) == TPM_QUOTE


def test_a_key_that_is_given_is_trusted_and_not_traced() -> None:
    appraisal = appraised(MESSAGE, **FILES)
    assert appraisal.accepted
    assert appraisal.not_compared[0] == "the AK is not traced to hardware"
    assert (
        appraised(MESSAGE, policy=replace(DEFAULT_POLICY, require=frozenset({"ak"})), **FILES).failed_step == "policy"
    )


def test_a_quote_without_values_says_what_it_lacks() -> None:
    appraisal = appraised(MESSAGE, signature=FILES["signature"], ak=KEY)
    assert appraisal.accepted
    assert {"measurements not compared", "event log not replayed"} <= set(appraisal.not_compared)
    assert appraised(MESSAGE, policy=STRICT, signature=FILES["signature"], ak=KEY).failed_step == "pcrs"
    assert appraised(MESSAGE, signature=FILES["signature"], ak=KEY, event_log=log()).failed_step == "event-log"


@pytest.mark.parametrize(
    ("scheme", "key"),
    [
        ("bare", tpm.rsa_key()),
        ("rsassa", tpm.rsa_key()),
        ("rsapss", tpm.rsa_key()),
        ("ecdsa", tpm.ec_key()),
        ("ecdsa", tpm.ec_key("secp384r1")),
    ],
    ids=["bare", "RSASSA", "RSAPSS", "ECDSA P-256", "ECDSA P-384"],
)
def test_each_scheme_is_verified_with_each_form_of_its_key(scheme: str, key: Any) -> None:
    message = quote(hash_name="sha384" if getattr(key, "curve", None) and key.curve.key_size == 384 else "sha256")
    area = tpm.public_area(key)
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for form in (tpm.pem(key), der, area, tpm.sized(area), base64.b64encode(area)):
        given: dict[str, Any] = {
            "signature": signature(message, key, scheme),
            "pcrs": serialized(registers()),
            "ak": form,
        }
        assert appraised(message, **given).accepted
        assert appraised(flipped(message, 300), **given).failed_step == "signature"


@pytest.mark.parametrize("bank", [SHA256, SHA384])
@pytest.mark.parametrize("form", [serialized, lambda values, _: b"".join(values.values())])
def test_values_are_read_in_both_forms_of_each_bank(bank: int, form: Any) -> None:
    message, values = quote(bank=bank), registers(bank)
    given: dict[str, Any] = {"signature": signature(message), "ak": KEY, "pcrs": form(values, bank), "event_log": log()}
    appraisal = appraised(message, **given)
    assert appraisal.accepted
    assert {step.id: step.ok for step in appraisal.steps}["event-log"]


# -- what is signed cannot be changed --------------------------------------------------------------------


def test_no_bit_of_a_quote_can_change() -> None:
    for bit in range(8 * len(MESSAGE)):
        assert appraised(flipped(MESSAGE, bit), **FILES).failed_step in {"parse", "signature"}


@pytest.mark.parametrize("name", ["signature", "pcrs", "evidence", "document"])
def test_a_thousand_changes_are_refused(name: str) -> None:
    draw = random.Random(45)
    whole = {"evidence": MESSAGE, "document": json.dumps(tpm.azure()).encode(), **FILES}
    usual = appraised(whole["document"]) if name == "document" else appraised(MESSAGE, **FILES)
    for _ in range(250):
        data = bytearray(whole[name])
        place = draw.randrange(len(data))
        match draw.randrange(3):
            case 0:
                data[place] ^= 1 << draw.randrange(8)
            case 1:
                del data[place]
            case _:
                data.insert(place, draw.randrange(256))
        if name in {"evidence", "document"}:
            changed = appraised(bytes(data), **({} if name == "document" else FILES))
        else:
            changed = appraised(MESSAGE, **{**FILES, name: bytes(data)})
        assert not changed.accepted or changed.claims == usual.claims, bytes(data)
        assert not changed.accepted or name not in {"evidence", "signature"}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another key": ({"ak": tpm.pem(tpm.rsa_key(1))}, "signature"),
    "a key of another kind": ({"ak": tpm.pem(tpm.ec_key())}, "signature"),
    "a key that is not restricted": ({"ak": tpm.public_area(tpm.rsa_key(), 0x40072)}, "parse"),
    "a key that can leave its TPM": ({"ak": tpm.public_area(tpm.rsa_key(), 0x50070)}, "parse"),
    "no key": ({"ak": None}, "ak"),
    "no known form of key": ({"ak": b"key"}, "parse"),
    "certificates of a stranger": ({"ak": pem([issue("x", None, ca=False, key=tpm.rsa_key()).certificate])}, "ak"),
    "the certificate alone": ({"ak": pem(tpm.certificates()[:1])}, "ak"),
    "another nonce": ({"nonce": b"another question"}, "nonce"),
    "no nonce": ({"nonce": b""}, "nonce"),
    "values of others": ({"pcrs": serialized({**registers(), 4: bytes(32)})}, "pcr-digest"),
    "too few values": ({"pcrs": serialized({4: bytes(32)})}, "parse"),
    "no values": ({"pcrs": b"values"}, "parse"),
    "another log": ({"event_log": log(EVENTS[:-1])}, "event-log"),
    "a log without what was measured into a register": (
        {"event_log": log([event for event in EVENTS if event[0] != 4])},
        "event-log",
    ),
    "a log without the locality": ({"event_log": log(EVENTS[1:])}, "event-log"),
    "a log of other registers": ({"event_log": log([(2, 4, b"x")])}, "event-log"),
    "a log of nothing": ({"event_log": log([])}, "event-log"),
    "a log without the bank": ({"event_log": log(banks=[SHA1])}, "event-log"),
    "no log": ({"event_log": b"\0log"}, "event-log"),
    "text as a log": ({"event_log": b"log"}, "parse"),
    "a log of register 24": ({"event_log": log([(24, 4, b"x")])}, "event-log"),
    "a signature of SHA-1": ({"signature": b"\0\x14\0\x04" + tpm.sized(bytes(256))}, "parse"),
    "a signature by HMAC": ({"signature": b"\0\x05\0\x0b" + bytes(32)}, "parse"),
    "a signature with more behind": ({"signature": FILES["signature"] + b"\0"}, "parse"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused_at_its_step(name: str) -> None:
    given, step = WRONG[name]
    assert appraised(MESSAGE, **{**FILES, **given}).failed_step == step


QUOTES: dict[str, bytes] = {
    "another magic": quote(magic=b"\xffTCF\x80\x18"),
    "another attestation": quote(magic=b"\xffTCG\x80\x17"),
    "safe as neither": quote(safe=2),
    "no registers": quote({}),
    "registers of SHA-1": quote(registers(SHA1), bank=SHA1),
    "registers of two banks": quote(selections=[selection(REGISTERS), selection(REGISTERS, SHA384)]),
    "a bank that nobody knows": quote(selections=[selection(REGISTERS, 0x27)]),
    "a register 24": quote(selections=[b"\0\x0b\4" + bytes(3) + b"\1"]),
    "17 selections": quote(selections=[selection([], SHA1)] * 17),
    "bytes behind": MESSAGE + b"\0",
    "half": MESSAGE[:60],
}


@pytest.mark.parametrize("name", QUOTES)
def test_what_is_no_quote_of_one_bank_is_refused_although_it_is_signed(name: str) -> None:
    assert appraised(QUOTES[name], **{**FILES, "signature": signature(QUOTES[name])}).failed_step == "parse"


def test_empty_selections_of_other_banks_are_passed_over() -> None:
    message = quote(selections=[selection([], SHA1), selection(REGISTERS)])
    assert appraised(message, **{**FILES, "signature": signature(message)}).accepted


def test_certificates_count_while_they_are_valid() -> None:
    given = {**FILES, "ak": CERTIFICATES}
    assert appraised(MESSAGE, **given).accepted
    assert appraised(MESSAGE, at=tpm.END + timedelta(days=1), **given).failed_step == "validity"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (tpm.variable("SecureBoot", b"\0"), False),
        (tpm.variable("SetupMode", b"\1"), None),
        (tpm.variable("SecureBoot", b"\2"), None),
    ],
)
def test_secure_boot_is_told_only_as_it_was_measured(event: bytes, said: bool | None) -> None:
    events = [(7, 0x80000001, event)]
    value = hashlib.sha256(bytes(32) + hashlib.sha256(event).digest()).digest()
    message = quote({7: value})
    given: dict[str, Any] = {"signature": signature(message), "ak": KEY, "pcrs": value, "event_log": log(events)}
    appraisal = appraised(message, **given)
    assert (appraisal.accepted, appraisal.claims["secure_boot"]) == (True, said)


OFF, ON = (tpm.variable("SecureBoot", value) for value in (b"\0", b"\1"))
LOADER = (7, 0x800000E0, b"who signed a loader")
LOGS: dict[str, tuple[list[tuple[int, int, bytes]], bool | None]] = {
    "on, and what follows": ([(7, 0x80000001, ON), LOADER], True),
    "of any type": ([(7, 0x80000002, OFF)], False),
    "extended again by what runs": ([(7, 0x80000001, OFF), (7, 0x80000001, ON)], None),
    "extended again, with the type of the first changed": ([(7, 0x80000002, OFF), (7, 0x80000001, ON)], None),
    "extended again with the same": ([(7, 0x80000001, ON), (7, 0x80000001, ON)], None),
    "extended late by what runs": ([LOADER, (7, 0x80000001, ON)], None),
}


@pytest.mark.parametrize("name", LOGS)
def test_secure_boot_is_what_the_firmware_measured_first(name: str) -> None:
    """Whoever runs later can extend the register with anything, and whoever writes the log chooses types of events."""
    events, said = LOGS[name]
    value = bytes(32)
    for _, _, data in events:
        value = hashlib.sha256(value + hashlib.sha256(data).digest()).digest()
    message = quote({7: value})
    given: dict[str, Any] = {"signature": signature(message), "ak": KEY, "pcrs": value, "event_log": log(events)}
    appraisal = appraised(message, **given)
    assert (appraisal.accepted, appraisal.claims["secure_boot"]) == (True, said)


def test_secure_boot_is_told_from_the_digest_and_not_from_the_data_beside_it() -> None:
    value = hashlib.sha256(bytes(32) + hashlib.sha256(OFF).digest()).digest()
    message, told = quote({7: value}), log([(7, 0x80000001, OFF)]).replace(OFF, ON)
    given: dict[str, Any] = {"signature": signature(message), "ak": KEY, "pcrs": value, "event_log": told}
    appraisal = appraised(message, **given)
    assert (appraisal.accepted, appraisal.claims["secure_boot"]) == (True, False)


def test_secure_boot_is_not_told_of_a_register_that_the_quote_is_not_over() -> None:
    values = registers(which=(0, 4))
    message = quote(values)
    given: dict[str, Any] = {"signature": signature(message), "ak": KEY, "pcrs": serialized(values)}
    appraisal = appraised(message, **given, event_log=log())
    assert (appraisal.accepted, appraisal.claims["secure_boot"]) == (True, None)


def test_values_of_registers_that_a_quote_is_not_over_are_refused_although_they_have_its_digest() -> None:
    document = tpm.google(banks=(SHA256,))
    values = document["quotes"][0]["pcrs"]["pcrs"]
    values["11"] = values.pop("10")
    assert appraised(document).failed_step == "pcr-digest"


# -- Azure -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_key_of_azures_virtual_tpm_is_traced_to_an_snp_report(wrapped: bool) -> None:
    document = tpm.azure()
    evidence = {"platform": "az-snp", "evidence": document} if wrapped else document
    appraisal = appraised(evidence, policy=replace(DEFAULT_POLICY, require=frozenset({"ak", "nonce"})), nonce=NONCE)
    assert appraisal.accepted, appraisal.steps[-1]
    assert {"snp.signature", "snp.runtime-data", "ak"} <= {step.id for step in appraisal.steps if step.ok}
    assert "not fresh" not in appraisal.not_compared
    assert "measurements not compared" in appraisal.not_compared


def test_the_key_of_azures_virtual_tpm_is_traced_to_a_tdx_quote() -> None:
    at = simulated_quotes.NOW
    appraisal = appraised(tpm.azure(tdx=True), policy=TD_POLICY, at=at, nonce=NONCE)
    assert appraisal.accepted, appraisal.steps[-1]
    assert {"tdx.quote-signature", "tdx.report-data", "ak"} <= {step.id for step in appraisal.steps if step.ok}


OTHER = tpm.rsa_key(1)
DEBUG = GuestPolicy(simulated_snp.chip().report(bytes(64)).policy.bits | 1 << 19)
AZURE: dict[str, tuple[dict[str, Any], str]] = {
    "a quote by another key": (tpm.azure(key=OTHER), "signature"),
    "run-time data that no report is over": (tpm.azure(bound=bytes(64)), "snp.runtime-data"),
    "run-time data of another, in TDX": (tpm.azure(tdx=True, bound=bytes(64)), "tdx.report-data"),
    "no key in the run-time data": (tpm.azure(runtime=tpm.runtime_data(kid="HCLEkPub")), "parse"),
    "two keys in the run-time data": (
        tpm.azure(runtime=tpm.runtime_data(further=[{"kid": "HCLAkPub", "kty": "RSA", "e": "AQAB", "n": "AA"}])),
        "parse",
    ),
    "run-time data that is no JSON": (tpm.azure(runtime=b"keys"), "parse"),
    "an exponent that is even": (tpm.azure(runtime=tpm.runtime_data().replace(b"AQAB", b"AQAA")), "parse"),
}


@pytest.mark.parametrize("name", AZURE)
def test_a_broken_chain_from_azures_quote_to_its_hardware_is_refused_where_it_breaks(name: str) -> None:
    document, step = AZURE[name]
    assert appraised(document, policy=TD_POLICY).failed_step == step


def test_the_machines_own_report_is_appraised_by_its_own_policy() -> None:
    document = tpm.azure()
    data = hashlib.sha256(tpm.runtime_data()).digest() + bytes(32)
    debug = simulated_snp.hcl(tpm.runtime_data(), report=simulated_snp.changed(report_data=data, policy=DEBUG))
    assert appraised({**document, "hcl_report": tpm.text64(debug)}).failed_step == "snp.debug"
    measured = parse_policy(
        json.dumps({"require": ["ak"], "snp": {"require": ["signature"], "measurements": []}}).encode()
    )
    assert appraised(document, policy=measured).failed_step == "snp.measurement"
    assert appraised(document, ak=tpm.pem(OTHER)).failed_step == "ak"
    assert appraised(document, ak=KEY).accepted


def test_presets_hold_the_machine_s_own_report_to_what_they_hold_the_quote_to() -> None:
    """A strict policy asks of it, too, whether it is revoked, measured and up to date; an inventory asks nothing."""
    document = tpm.azure()
    strict = appraised(document, policy=POLICY_FORM.preset(Preset.STRICT).policy, nonce=NONCE)
    assert strict.failed_step == "snp.policy"
    lacking = ("measurement (needs a key of the policy)", "minimum-tcb (needs", "revocation (needs --crl)")
    assert all(each in strict.steps[-1].detail for each in lacking), strict.steps[-1]
    measurement = simulated_snp.chip().report(bytes(64)).measurement.hex()
    own = {"measurements": [measurement], "minimum_tcb": {"Milan": {"snp": 1}}}
    named = parse_policy(json.dumps({"preset": "strict", "snp": own}).encode())
    left = appraised(document, policy=named, nonce=NONCE)
    assert (left.failed_step, left.steps[-1].detail) == (
        "snp.policy",
        "asked for and not taken: revocation (needs --crl)",
    )
    data = hashlib.sha256(tpm.runtime_data()).digest() + bytes(32)
    debug = simulated_snp.hcl(tpm.runtime_data(), report=simulated_snp.changed(report_data=data, policy=DEBUG))
    inventory = POLICY_FORM.preset(Preset.INVENTORY).policy
    accepted = appraised({**document, "hcl_report": tpm.text64(debug)}, policy=inventory)
    assert (accepted.accepted, accepted.not_compared[0]) == (True, "inventory only")


@pytest.mark.parametrize(
    "change",
    [
        {"message": "ff"},
        {"message": 1},
        {"signature": "zz"},
        {"pcrs": {}},
        {"pcrs": ["00"] * 25},
        {"pcrs": [256]},
        {"message": None},
    ],
)
def test_another_quote_in_azures_evidence_is_refused(change: dict[str, Any]) -> None:
    document = tpm.azure()
    assert appraised({**document, "tpm_quote": {**document["tpm_quote"], **change}}).failed_step == "parse"


# -- go-tpm-tools ----------------------------------------------------------------------------------------


def test_an_attestation_of_go_tpm_tools_is_read_with_its_log_and_certificates() -> None:
    appraisal = appraised(tpm.google(), policy=replace(STRICT, pcrs={4: frozenset({registers()[4]})}), nonce=NONCE)
    assert appraisal.accepted, appraisal.steps[-1]
    assert (appraisal.not_compared, appraisal.claims["secure_boot"]) == ((), True)
    renamed = {
        "ak_pub": "akPub",
        "event_log": "eventLog",
        "ak_cert": "akCert",
        "intermediate_certs": "intermediateCerts",
    }
    document = tpm.google()
    snake = {name: document[renamed.get(name, name)] for name in ("quotes", *renamed)}
    assert appraised(snake).accepted
    assert (known_kind(json.dumps(document).encode()), known_kind(json.dumps(snake).encode())) == (TPM_DOCUMENT,) * 2


def test_a_key_that_only_came_with_the_quote_is_refused_until_it_is_given() -> None:
    alone = tpm.google(certified=False)
    assert appraised(alone).failed_step == "ak"
    given = appraised(alone, ak=KEY)
    assert given.accepted
    assert given.not_compared[0] == "the AK is not traced to hardware"
    assert appraised(alone, ak=tpm.pem(OTHER)).failed_step == "ak"


def test_the_evidence_of_confidential_containers_is_read_and_its_key_is_not_believed() -> None:
    alone = tpm.containers()
    assert known_kind(json.dumps(alone).encode()) == TPM_DOCUMENT
    assert appraised(alone).failed_step == "ak"
    given = appraised(alone, ak=KEY, nonce=NONCE, policy=replace(DEFAULT_POLICY, pcrs={4: frozenset({registers()[4]})}))
    assert (given.accepted, given.fresh) == (True, True)
    assert appraised({**alone, "ak_public": "AAAA"}, ak=KEY).failed_step == "parse"
    assert appraised({**alone, "hcl_report": ""}, ak=KEY).failed_step == "parse"


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"message": tpm.text64(tpm.quote(nonce=b"another"))}, "signature"),
        ({"signature": tpm.text64(tpm.signature(b"another"))}, "signature"),
        ({"pcrs": ["00" * 32] * 24}, "pcr-digest"),
        ({"pcrs": ["00" * 32] * 25}, "parse"),
        ({"pcrs": {}}, "parse"),
        ({"message": "?"}, "parse"),
        ({"signature": []}, "parse"),
    ],
)
def test_another_quote_of_confidential_containers_is_refused(changes: dict[str, Any], step: str) -> None:
    assert appraised(tpm.containers(**changes), ak=KEY).failed_step == step


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"quotes": []}, "parse"),
        ({"quotes": [1]}, "parse"),
        ({"banks": (SHA1,)}, "parse"),
        ({"banks": (SHA256, SHA256)}, "parse"),
        ({"akPub": "AAAA"}, "parse"),
        ({"akPub": tpm.text64(tpm.public_area(OTHER))}, "ak"),
        ({"ak_pub": ""}, "parse"),
        ({"akCert": "AAAA"}, "parse"),
        ({"intermediateCerts": []}, "ak"),
        ({"intermediateCerts": 5}, "parse"),
        ({"intermediateCerts": "AAAA"}, "parse"),
        ({"eventLog": tpm.text64(log(EVENTS[:-1]))}, "event-log"),
        ({"eventLog": "?"}, "parse"),
    ],
)
def test_another_attestation_is_refused_at_its_step(changes: dict[str, Any], step: str) -> None:
    assert appraised(tpm.google(**changes)).failed_step == step


@pytest.mark.parametrize("further", [tpm.azure(), {"platform": "az-snp", "evidence": tpm.azure()}])
def test_no_quote_lets_a_document_off_the_report_of_another_form_in_it(further: dict[str, Any]) -> None:
    assert appraised(further).accepted
    assert appraised({**further, **tpm.google()}).failed_step == "parse"


def test_a_report_beside_the_quote_is_not_read_and_told() -> None:
    appraisal = appraised(tpm.google(tdxAttestation={"header": {}}))
    assert appraisal.accepted
    assert appraisal.not_compared[0] == "report of the machine not checked"


# -- policies and the command ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy", [{"pcr": {}}, {"require": ["x"]}, {"pcrs": {"24": []}}, {"snp": {"x": 1}}, {"tdx": 1}]
)
def test_what_is_no_policy_is_malformed(policy: Any) -> None:
    with pytest.raises(MalformedError):
        parse_policy(json.dumps(policy).encode())


def test_a_policy_may_ask_for_every_step() -> None:
    assert parse_policy(json.dumps({"require": STEPS}).encode()).require == frozenset(STEPS)
    assert unparsable("x").failed_step == "parse"


def test_the_command_reads_the_files_of_tpm2_tools(tmp_path: Path) -> None:
    made = {"quote": MESSAGE, **FILES, "log": log()}
    files = written(tmp_path, made)
    words = ["tpm", files["quote"], "--ak", files["ak"], "--pcrs", files["pcrs"], "--event-log", files["log"]]
    shown = found(*words, "--signature", files["signature"], "--nonce", NONCE.hex())
    assert shown["accepted"]
    assert "the AK is not traced to hardware" in shown["not_compared"]
    alone = attest(*words)
    assert (alone.exit_code, "a quote alone needs --signature" in alone.stderr) == (2, True)
    document = written(tmp_path, {"document": json.dumps(tpm.azure()).encode()})["document"]
    beside = found("tpm", document, "--signature", files["signature"])
    assert (beside["failed_step"], "a document that has its own" in beside["steps"][0]["detail"]) == ("parse", True)
