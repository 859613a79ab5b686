"""The forms of evidence: recognised by what they are, and any bytes end in evidence or a typed error."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.documents import LARGEST, decode, decode_pem
from carnet_ref.attestation.nvidia.wrappers import device_evidence
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import report, world

REPORT = report(world().device.leaf)
CHAIN = world().device.chain()
BASE64 = base64.b64encode(REPORT).decode()
CHAIN_BASE64 = base64.b64encode(CHAIN).decode()


@pytest.mark.mends("E11")
@pytest.mark.parametrize(
    "data",
    [
        REPORT,
        REPORT.hex().encode(),
        b"0x" + REPORT.hex().encode(),
        REPORT.hex().upper().encode() + b"\n",
        BASE64.encode(),
        BASE64.encode() + b"\r\n",
        base64.urlsafe_b64encode(REPORT),
    ],
    ids=["raw", "hexadecimal", "0x", "upper case", "base64", "base64 with an end of line", "base64 for names"],
)
def test_a_report_is_found_in_each_form(data: bytes) -> None:
    (evidence,) = device_evidence(data)
    assert (evidence.report, evidence.chain) == (REPORT, None)


@pytest.mark.parametrize("text", [b"AAA", b"0xA", b"AA-+", b"A===", b"=AAA"])
def test_base64_has_its_padding_and_one_alphabet(text: bytes) -> None:
    with pytest.raises(MalformedError):
        decode(text, "evidence")


def test_padding_may_be_missing_where_a_field_is_known_to_be_base64() -> None:
    assert decode(b"AAA", "evidence", padded=False) == bytes(2)


@pytest.mark.parametrize("data", [CHAIN, CHAIN_BASE64.encode()])
def test_a_chain_is_found_in_pem_and_in_base64_of_pem(data: bytes) -> None:
    assert decode_pem(data, "chain") == CHAIN


def test_a_bundle_of_the_attestation_service_has_a_report_and_a_chain_for_each_device() -> None:
    bundle = [{"evidence": BASE64, "certificate": CHAIN_BASE64, "arch": "HOPPER"}] * 2
    found = device_evidence(json.dumps(bundle).encode())
    assert [(device.name, device.report, device.chain) for device in found] == [
        ("0", REPORT, CHAIN),
        ("1", REPORT, CHAIN),
    ]


def test_a_bundle_of_the_python_verifier_has_gpus_and_switches() -> None:
    certificates = [{"py/object": "OpenSSL.crypto.X509", "pem": CHAIN_BASE64}]
    gpu = {
        "AttestationReport": {"py/b64": BASE64},
        "CertificateChains": {"GpuAttestationCertificateChain": certificates},
    }
    switch = {"attestation_report": {"py/b64": BASE64}, "attestation_cert_chain": certificates}
    found = device_evidence(json.dumps({"gpus": [gpu], "nvswitches": [switch]}).encode())
    assert [(device.report, device.chain) for device in found] == [(REPORT, CHAIN)] * 2


WRONG: dict[str, Any] = {
    "no device": [],
    "an empty object": {},
    "no evidence": [{"certificate": CHAIN_BASE64}],
    "no certificate": [{"evidence": BASE64}],
    "evidence that is no text": [{"evidence": 1, "certificate": CHAIN_BASE64}],
    "evidence that is not ASCII": [{"evidence": "é", "certificate": CHAIN_BASE64}],
    "a certificate that is not PEM": [{"evidence": BASE64, "certificate": "AAAA"}],
    "a device that is no object": ["device"],
    "gpus that are no list": {"gpus": {}},
    "a gpu that is no object": {"gpus": [1]},
    "a gpu without its chain": {"gpus": [{"AttestationReport": {"py/b64": BASE64}}]},
}


@pytest.mark.parametrize("what", WRONG)
def test_another_bundle_is_a_typed_error(what: str) -> None:
    with pytest.raises(MalformedError):
        device_evidence(json.dumps(WRONG[what]).encode())


@pytest.mark.parametrize("key", ["evidence", "certificate"])
def test_a_bundle_that_says_something_twice_is_a_typed_error(key: str) -> None:
    """Another reader might take the first value, where this one would take the last."""
    bundle = json.dumps([{"evidence": BASE64, "certificate": CHAIN_BASE64}])
    assert device_evidence(bundle.encode())
    with pytest.raises(MalformedError, match="comes twice"):
        device_evidence(bundle.replace("[{", f'[{{"{key}": "AAAA", ').encode())


@pytest.mark.parametrize("data", [b"no form at all!", b"AAAA!", b"[", b"{", b"[" * 20_000, b"A" * (LARGEST + 1)])
def test_other_text_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        device_evidence(data)


@given(st.binary(max_size=200))
def test_raw_bytes_come_back_from_each_form(data: bytes) -> None:
    assert decode(data.hex().encode(), "evidence") == data
    encoded = base64.b64encode(data)
    assert decode(encoded, "evidence") in (data, bytes.fromhex(encoded.decode()) if _is_hex(encoded) else data)


def _is_hex(data: bytes) -> bool:
    return len(data) % 2 == 0 and all(byte in b"0123456789abcdefABCDEF" for byte in data)


@given(st.binary(max_size=200))
def test_any_bytes_are_evidence_or_a_typed_error(data: bytes) -> None:
    for read in (device_evidence, lambda given: decode_pem(given, "chain")):
        try:
            read(data)
        except MalformedError:
            continue


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["gpus", "nvswitches", "evidence"]), inner)
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_json_is_evidence_or_a_typed_error(value: Any) -> None:
    data = json.dumps(value).encode()
    try:
        device_evidence(data)
    except MalformedError:
        return
    assert data[:1] not in b"[{"
