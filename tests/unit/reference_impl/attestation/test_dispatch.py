"""The function that relying parties call, and what it says of acceptances of any kind."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from carnet_command.errors import UsageError
from carnet_ref.attestation import appraise
from carnet_ref.attestation.appraisal import (
    COMPARISON_STEPS,
    FRESHNESS_STEPS,
    NOT_FRESH,
    Anchors,
    Appraisal,
    AppraisalStep,
    Requirement,
)
from carnet_ref.attestation.formats import FORMATS, NeedsOptionError, OptionKind
from carnet_ref.attestation.results import TrustClaim
from carnet_ref.commands.attest import octets_given
from tests.fixtures import nvidia_pki as pki
from tests.fixtures import tpm_quotes
from tests.fixtures.dstack_envelopes import in_packs, in_scale
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, REPORT_DATA
from tests.fixtures.simulated_snp import NOW as SNP_NOW
from tests.fixtures.simulated_snp import amd, chain, der, endorsement, signed
from tests.fixtures.wrapped_evidence import GPU_DOCUMENTS, url_safe

GPU = json.dumps(GPU_DOCUMENTS["one device"]([(pki.report(pki.world().device.leaf), pki.world().device.chain())]))
QUOTE_GIVEN: Mapping[str, Any] = {"at": NOW, "anchors": PLATFORM.anchors}


@pytest.mark.parametrize("document", [QUOTE, QUOTE.hex().encode(), json.dumps({"quote": QUOTE.hex()}).encode()])
def test_evidence_is_appraised_by_the_format_that_reads_it(document: bytes) -> None:
    appraisal = appraise(document, **QUOTE_GIVEN, report_data=REPORT_DATA, collateral=[PLATFORM.collateral])
    assert (appraisal.accepted, appraisal.fresh, appraisal.claims["tee"]) == (True, True, "TDX")
    assert appraisal == appraise(
        document, **QUOTE_GIVEN, kind="tdx", report_data=REPORT_DATA, collateral=[PLATFORM.collateral]
    )


def test_other_formats_take_their_own_options() -> None:
    report = appraise(signed(), at=SNP_NOW, anchors=amd().anchors, chain=chain())
    assert (report.accepted, report.missing["report-data"]) == (True, ("report-data",))
    device = appraise(GPU.encode(), at=pki.AT, anchors=pki.world().anchors, nonce=pki.NONCE, rim=pki.world().rims())
    assert (device.accepted, device.fresh) == (True, True)


def test_what_is_no_evidence_is_refused_and_named() -> None:
    appraisal = appraise(PLATFORM.collateral, **QUOTE_GIVEN)
    assert (appraisal.failed_step, appraisal.claims) == ("parse", {})
    assert "it goes with a quote" in appraisal.steps[-1].detail
    assert appraise(QUOTE[:-1], **QUOTE_GIVEN).failed_step == "parse"
    assert appraise(QUOTE, **QUOTE_GIVEN, kind="snp").steps[-1].detail.endswith("carnet attest tdx FILE")


def test_a_policy_is_json_or_its_keys() -> None:
    for policy in ({"require": ["revocation"]}, b'{"require": ["revocation"]}'):
        assert appraise(QUOTE, **QUOTE_GIVEN, policy=policy).failed_step == "policy"
    assert appraise(QUOTE, **QUOTE_GIVEN, policy="inventory").not_compared[0] == "inventory only"
    assert not appraise(QUOTE, **QUOTE_GIVEN, policy="strict").accepted
    with pytest.raises(UsageError, match="no policy for tdx"):
        appraise(QUOTE, **QUOTE_GIVEN, policy="strictest")
    with pytest.raises(UsageError, match="no policy for tdx"):
        appraise(QUOTE, **QUOTE_GIVEN, policy={"requires": []})
    with pytest.raises(UsageError, match="rim has no policy"):
        appraise(pki.world().rims()[0], at=pki.AT, policy={})


WRONG: list[tuple[Mapping[str, Any], str]] = [
    ({"kind": "td"}, "there is no format 'td'"),
    ({"kind": "tdx", "chain": b""}, "tdx has no option 'chain'; it has collateral, report_data, event_log"),
    ({"nonce": b""}, "tdx has no option 'nonce'"),
    ({"report_data": bytes(63)}, "report_data has to be bytes of 64 bytes"),
    ({"report_data": "00" * 64}, "report_data has to be bytes"),
    ({"collateral": b"{}"}, "collateral has to be a list of bytes"),
    ({"collateral": ["{}"]}, "collateral has to be a list of bytes"),
]


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (name, option.name)
        for name, form in FORMATS.items()
        for option in form.load().options
        if option.kind is OptionKind.HEX
    ],
)
def test_nothing_is_no_value_to_compare_with(kind: str, option: str) -> None:
    """A variable that was never set would otherwise make evidence fresh that was asked for with nothing."""
    nothing: Mapping[str, Any] = {option.replace("-", "_"): b""}
    with pytest.raises(UsageError, match=f"{option.replace('-', '_')} has to be bytes"):
        appraise(QUOTE, at=NOW, kind=kind, **nothing)
    with pytest.raises(UsageError, match=f"--{option} wants"):
        octets_given(
            f"--{option}", "", next(each.length for each in FORMATS[kind].load().options if each.name == option)
        )


@pytest.mark.parametrize(("given", "why"), WRONG, ids=[why for _, why in WRONG])
def test_what_is_given_has_the_declared_type(given: Mapping[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        appraise(QUOTE, **QUOTE_GIVEN, **given)


def test_what_is_needed_is_named_and_a_time_has_a_zone() -> None:
    with pytest.raises(NeedsOptionError) as needed:
        appraise(signed(), at=SNP_NOW)
    assert needed.value.option == "chain"
    with pytest.raises(ValueError, match="time zone"):
        appraise(QUOTE, at=datetime(2026, 1, 1))  # this is what is refused
    with pytest.raises(ValueError, match="new"):
        appraise(QUOTE, **QUOTE_GIVEN, require=["new"])
    for device in (True, -1, b"0"):
        with pytest.raises(UsageError, match="device has to be a number from 0"):
            appraise(GPU.encode(), at=pki.AT, device=device)


def test_the_time_that_is_passed_in_counts() -> None:
    assert appraise(QUOTE, anchors=PLATFORM.anchors, at=NOW - timedelta(days=9000)).failed_step == "validity"


# -- several pieces of evidence --------------------------------------------------------------------------


def collection(*messages: bytes) -> bytes:
    """Return a wrapper of messages, which nobody signs."""
    return json.dumps({f"item {place}": ["a/b", url_safe(each)] for place, each in enumerate(messages)}).encode()


EVERY_ROOT = Anchors({**pki.world().anchors.by_role, **PLATFORM.anchors.by_role})
UNREAD_GPU = json.dumps({"tdx": {"quote": base64.b64encode(QUOTE).decode()}, "nvgpu": [1]}).encode()


@pytest.mark.parametrize("document", [collection(QUOTE, GPU.encode()), collection(QUOTE, QUOTE)])
def test_evidence_that_lies_together_is_not_said_to_be_of_one_machine(document: bytes) -> None:
    appraisal = appraise(document, at=NOW, anchors=EVERY_ROOT)
    assert (appraisal.accepted, appraisal.compared) == (True, False)
    assert "not shown to be of one machine" in appraisal.not_compared
    assert "not shown to be of one machine" not in appraise(QUOTE, **QUOTE_GIVEN).not_compared


def test_what_lies_beside_a_quote_unread_is_not_made_up_for_by_another_message() -> None:
    for document in (UNREAD_GPU, collection(UNREAD_GPU), collection(UNREAD_GPU, GPU.encode())):
        appraisal = appraise(document, at=NOW, anchors=EVERY_ROOT)
        assert appraisal.accepted
        assert "GPU evidence not appraised" in appraisal.not_compared


# -- which format reads a document -----------------------------------------------------------------------


VTPM: dict[str, Any] = tpm_quotes.azure()
AZURE: Mapping[str, Any] = {"at": tpm_quotes.NOW, "anchors": tpm_quotes.anchors()}


def azure(**changes: Any) -> bytes:
    """Return Azure's evidence with some parts of its vTPM quote changed."""
    return json.dumps({**VTPM, "tpm_quote": {**VTPM["tpm_quote"], **changes}}).encode()


def test_nothing_lets_evidence_off_a_part_that_a_format_appraises() -> None:
    assert appraise(azure(), **AZURE).accepted
    signature = bytearray.fromhex(VTPM["tpm_quote"]["signature"])
    signature[-1] ^= 1
    assert appraise(azure(signature=signature.hex()), **AZURE).failed_step == "signature"
    assert appraise(azure(message="no quote"), **AZURE).failed_step == "parse"
    with pytest.raises(UsageError, match="tpm has no option 'report_data'"):
        appraise(azure(signature=signature.hex()), **AZURE, report_data=bytes(64))


def test_a_document_without_the_quote_of_its_vtpm_is_read_by_the_format_of_its_machine() -> None:
    alone = {name: part for name, part in VTPM.items() if name != "tpm_quote"}
    appraisal = appraise(json.dumps(alone).encode(), **AZURE, kind="snp")
    assert (appraisal.accepted, appraisal.not_compared[0]) == (True, "vTPM quote not checked")
    assert appraise(json.dumps(alone).encode(), **AZURE) == appraisal


def test_an_envelope_is_read_by_the_format_of_what_is_in_it() -> None:
    for altered in (in_scale(QUOTE, report_data=bytes(64)), in_packs(QUOTE, report_data=bytes(64))):
        for whole in (altered, json.dumps({"attestation": altered.hex()}).encode()):
            assert appraise(whole, **QUOTE_GIVEN).failed_step == "request"
            assert appraise(whole, **QUOTE_GIVEN, kind="tdx").failed_step == "request"
    answer = {"quote": QUOTE.hex(), "event_log": "", "report_data": bytes(64).hex()}
    assert appraise(json.dumps(answer).encode(), **QUOTE_GIVEN).failed_step == "request"
    for report_data in (QUOTE[568:632].hex(), "no hexadecimal " * 8 + "12345678", "00"):
        assert appraise(json.dumps(answer | {"report_data": report_data}).encode(), **QUOTE_GIVEN).accepted
    twice = appraise(collection(in_scale(QUOTE), in_packs(QUOTE)), **QUOTE_GIVEN)
    assert [step.id for step in twice.steps if "request" in step.id] == ["tdx0.request", "tdx1.request"]
    quote = appraise(in_scale(QUOTE), **QUOTE_GIVEN)
    assert (quote.accepted, quote.claims["tee"]) == (True, "TDX")
    given: Mapping[str, Any] = {"at": SNP_NOW, "anchors": amd().anchors, "chain": chain()}
    report = appraise(in_scale(signed(), platform=3, certificates=[der(endorsement())]), **given)
    envelope = in_scale(signed(), platform=3, certificates=[der(endorsement())], report_data=bytes(64))
    assert appraise(envelope, **given).failed_step == "request"
    assert (report.accepted, report.claims["tee"]) == (True, "SEV-SNP")


# -- accepted, and fresh, and compared -------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if each.load().results is not None])
def test_every_format_has_a_step_that_shows_freshness_and_one_that_compares_what_runs(name: str) -> None:
    profile = FORMATS[name].load().results
    assert profile is not None
    compared = {step for row in profile.rows if row.claim is TrustClaim.EXECUTABLES for step in row.needs}
    assert profile.asked_with in FRESHNESS_STEPS
    assert compared & COMPARISON_STEPS


def steps(**held: bool | None) -> tuple[AppraisalStep, ...]:
    """Return steps: those that were not taken lack what their id says, and a nonce lacks freshness."""
    lacking = {"nonce": NOT_FRESH}
    ids = {name: name.replace("_", ".") for name in held}
    return tuple(
        AppraisalStep(ids[name], ok, "why", lacking="" if ok else lacking.get(name, f"{name} not checked"))
        for name, ok in held.items()
    )


HOLDS: list[tuple[dict[str, bool | None], tuple[bool, bool, bool]]] = [
    # steps; accepted, fresh, compared
    ({"nonce": True, "measurements": True}, (True, True, True)),
    ({"gpu0_nonce": True, "gpu0_measurements": True}, (True, True, True)),
    ({"nonce": None, "measurements": True}, (True, False, True)),
    ({"nonce": True, "measurements": None}, (True, True, False)),
    ({"nonce": True, "measurements": True, "revocation": None}, (True, True, False)),
    ({"nonce": True, "measurements": True, "chain": False}, (False, False, False)),
    ({"signature": True}, (True, False, False)),
    ({"nonce": True, "other_nonce": None}, (True, True, False)),
    ({}, (False, False, False)),
]


@pytest.mark.parametrize(("held", "expected"), HOLDS, ids=[repr(held) for held, _ in HOLDS])
def test_fresh_and_compared_are_shown_by_steps(held: dict[str, bool | None], expected: tuple[bool, bool, bool]) -> None:
    appraisal = Appraisal(steps(**held), {"a": 1})
    assert (appraisal.accepted, appraisal.fresh, appraisal.compared) == expected
    for requirement, met in zip(Requirement, expected[1:], strict=True):
        required = appraisal.requiring(frozenset({requirement}))
        assert required.accepted is (met and appraisal.accepted)
        assert required.failed_step == ("requirements" if appraisal.accepted and not met else appraisal.failed_step)
        assert bool(required.claims) is required.accepted or not appraisal.accepted
    assert appraisal.requiring(frozenset()) is appraisal
