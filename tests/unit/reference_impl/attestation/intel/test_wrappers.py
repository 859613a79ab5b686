"""Documents with a quote: each known one is read, anything else is one error that names it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from carnet_ref.attestation.intel.format import QuoteEvidence, quote_evidence
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import PLATFORM, QUOTE, REPORT_DATA, appraised
from tests.fixtures.wrapped_evidence import EVENTS, QUOTE_DOCUMENTS, event_log, logged_rtmrs, runtime_digest
from tests.fuzz.test_parsers import mutated

LOGGED = PLATFORM.td(rtmrs=logged_rtmrs()).quote(REPORT_DATA)
WITH_A_LOG = ("dstack getquote", "attestation answer")
WITH_MORE = ("Azure vTPM of bytes", "Azure vTPM of text", "Google", "Confidential Containers")


def read(document: Any) -> QuoteEvidence:
    return quote_evidence(json.dumps(document).encode())


@pytest.mark.mends("E3")
@pytest.mark.parametrize("name", QUOTE_DOCUMENTS)
def test_each_document_gives_its_quote_and_says_what_it_is(name: str) -> None:
    found = read(QUOTE_DOCUMENTS[name](QUOTE))
    assert found.quote == QUOTE
    assert found.found_in
    assert (found.event_log is not None) == (name in WITH_A_LOG)
    assert (found.unread is not None) == (name in WITH_MORE)


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
    "Google's of another kind": ({"vm_attestation_quote": {"tpm_quote": {}}}, "expected a quote, or JSON"),
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


@pytest.mark.parametrize("name", QUOTE_DOCUMENTS)
def test_a_changed_document_is_refused_or_has_the_same_quote(name: str) -> None:
    data, draw = json.dumps(QUOTE_DOCUMENTS[name](LOGGED)).encode(), random.Random(name)
    assert _accepted_as_before(data)
    assert sum(_accepted_as_before(mutated(data, draw)) for _ in range(150)) < 150


@pytest.mark.slow
@pytest.mark.parametrize("name", QUOTE_DOCUMENTS)
def test_a_thousand_changed_documents_are_refused_or_have_the_same_quote(name: str) -> None:
    data, draw = json.dumps(QUOTE_DOCUMENTS[name](LOGGED)).encode(), random.Random(f"more {name}")
    assert sum(_accepted_as_before(mutated(data, draw)) for _ in range(1000)) < 1000


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
