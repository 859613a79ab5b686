"""Forms of evidence: the report is found in each, and what is something else is called by its name."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from carnet_ref.attestation.amd.evidence import AZURE, CONTAINER, HCL, JSON, VTPM, SnpEvidence, parse_evidence
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, gpu_request
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import QUOTE
from tests.fixtures.simulated_snp import NOW, RUNTIME, chain, changed, endorsement, hcl, pem, signed

REPORT = signed()


def document(platform: str = "snp", **evidence: Any) -> bytes:
    return json.dumps({"platform": platform, "evidence": evidence}).encode()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize(
    "data",
    [REPORT, REPORT.hex().encode(), b" 0x" + REPORT.hex().encode() + b"\n", base64.encodebytes(REPORT)],
    ids=["raw", "hexadecimal", "0x", "base64"],
)
def test_a_report_alone_is_read_in_every_form(data: bytes) -> None:
    assert parse_evidence(data) == SnpEvidence(REPORT)


def test_json_has_a_report_and_its_key() -> None:
    data = document(attestation_report=text(REPORT), cert_chain={"vcek": text(chain())})
    assert parse_evidence(data) == SnpEvidence(REPORT, chain(), found_in=JSON)
    alone = SnpEvidence(REPORT, found_in=JSON)
    assert parse_evidence(document(attestation_report=text(REPORT))) == alone
    assert parse_evidence(document(attestation_report=text(REPORT), cert_chain={})) == alone


def test_azures_document_has_a_report_and_what_it_is_bound_to() -> None:
    found = SnpEvidence(REPORT, None, RUNTIME, HCL, CONTAINER, VTPM)
    assert parse_evidence(hcl()) == found
    assert parse_evidence(hcl(behind=b"")) == found
    assert parse_evidence(base64.b64encode(hcl())) == found


def test_azures_json_has_the_document_and_a_key_in_the_alphabet_of_urls() -> None:
    data = document("az-snp", version=1, tpm_quote={}, hcl_report=url_text(hcl()), vcek=url_text(chain()))
    assert parse_evidence(data) == SnpEvidence(REPORT, chain(), RUNTIME, HCL, AZURE, VTPM)


GPU = SimulatedGpu(b"a gpu", NOW).report(gpu_request(bytes(32)))
NAMED = {
    "Intel TDX or SGX": QUOTE,
    "an NVIDIA device": GPU,
    "a quote of a TPM": b"\xffTCG\x80\x18" + bytes(100),
    "a certificate": chain(),
    "PEM": pem(endorsement()),
    "Intel TDX": hcl(kind=4),
    "a report of kind 3": hcl(kind=3),
    "'tdx'": document("tdx", quote=text(QUOTE)),
    "'az-tdx'": document("az-tdx", hcl_report=text(hcl(kind=4))),
    "other text": b"no report at all",
}


@pytest.mark.parametrize("name", NAMED)
def test_evidence_of_another_kind_is_called_by_its_name(name: str) -> None:
    with pytest.raises(MalformedError, match=f"found .*{name}"):
        parse_evidence(NAMED[name])


def test_another_kind_is_named_inside_json_as_well() -> None:
    with pytest.raises(MalformedError, match="a quote of Intel TDX or SGX"):
        parse_evidence(document(attestation_report=text(QUOTE)))


def test_a_report_is_a_report_whatever_the_guest_asked_with() -> None:
    """The guest chooses the report data; bytes of another kind of evidence in it make the report no other evidence."""
    report = changed(report_data=(b"\xffTCG\x80\x18" * 11)[:64])
    assert parse_evidence(report) == SnpEvidence(report)


def _changed(place: int, value: bytes) -> bytes:
    whole = hcl()
    return whole[:place] + value + whole[place + len(value) :]


MALFORMED = {
    "another version": _changed(4, b"\2"),
    "another size": _changed(8, b"\0"),
    "another request": _changed(12, b"\3"),
    "a status": _changed(16, b"\1"),
    "a reserved byte": _changed(31, b"\1"),
    "another size of the run-time data": _changed(32 + 1184, b"\0"),
    "another version of the run-time data": _changed(32 + 1184 + 4, b"\2"),
    "another hash": hcl(algorithm=2),
    "a longer length": _changed(32 + 1184 + 16, b"\xff\xff\xff\xff"),
    "something behind": hcl(behind=b"\1"),
    "cut short": hcl(behind=b"")[:-1],
    "a header alone": hcl()[:40],
    "JSON of nothing": b"{}",
    "JSON without evidence": b'{"platform": "snp"}',
    "JSON without a report": document(),
    "JSON with a number for a report": document(attestation_report=5),
    "JSON with the fields of a report": document(attestation_report={"version": 2}),
    "JSON with a report that is no base64": document(attestation_report="!"),
    "JSON with characters": document(attestation_report="é"),
    "JSON with a list of certificates": document(attestation_report=text(REPORT), cert_chain=[]),
    "JSON of Azure without a key": document("az-snp", hcl_report=text(hcl())),
    "JSON of Azure with a report alone": document("az-snp", hcl_report=text(REPORT), vcek=text(chain())),
    "JSON with a name twice": b'{"platform": "snp", "platform": "snp"}',
    "JSON that is cut short": document(attestation_report=text(REPORT))[:-1],
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_none_of_them_is_one_typed_error(what: str) -> None:
    with pytest.raises(MalformedError):
        parse_evidence(MALFORMED[what])
