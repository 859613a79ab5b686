"""Kinds of evidence are told by their first bytes or names, and nothing is taken for another kind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.kinds import INTEL_QE_VENDOR, SNP_BYTES, kind_of, known_kind
from tests.fixtures.nvidia_pki import report, world
from tests.fixtures.simulated_quotes import PLATFORM, QUOTE

SNP = bytearray(SNP_BYTES)
SNP[0], SNP[0x34] = 3, 1
SGX = b"\3\0\2\0" + bytes(8) + INTEL_QE_VENDOR + bytes(400)
KINDS: dict[str, bytes] = {
    "a quote of an Intel TDX virtual machine": QUOTE,
    "a quote of an SGX enclave": SGX,
    "an AMD SEV-SNP report": bytes(SNP),
    "Azure's wrapping of an AMD SEV-SNP report (HCL)": b"HCLA" + bytes(28) + bytes(SNP),
    "Azure's wrapping of a report (HCL)": b"HCLA" + bytes(2000),
    "a TDREPORT, which only its own machine can check": b"\x81\0\0\0" + bytes(1020),
    "the report of an NVIDIA device": report(world().device.leaf),
    "a quote of a TPM": b"\xffTCG" + bytes(100),
    "an event log": bytes(32) + b"Spec ID Event03\0",
    "a COSE document, such as that of an AWS Nitro enclave": b"\x84\x44\xa1\x01",
    "DER, such as a certificate": b"\x30\x82\x01\x00",
    "PEM, such as certificates": world().device.chain(),
    "XML, such as NVIDIA's reference values": world().rims()[0],
    "an attestation token (JWT)": b"eyJhbGciOiJFUzM4NCJ9.e30.AAAA\n",
    "other text": b"no evidence at all!",
    "nothing": b"",
    "5 bytes of no known kind": b"\0\1\2\3\xff",
    "broken JSON": b"{",
    "Intel's collateral": PLATFORM.collateral,
    "a set of keys for tokens (JWKS)": b'{"keys": []}',
    "a list that begins with an event of an event log": b'[{"imr": 0, "digest": ""}]',
    "a list of objects with 'a'": b'[{"a": 1}]',
    "another list": b"[[]]",
    "an object with 'a', 'b', 'c', 'd', …": b'{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}',
}


@pytest.mark.mends("E8")
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_named(kind: str) -> None:
    assert kind_of(KINDS[kind]) == kind


@pytest.mark.parametrize("kind", ["a quote of an SGX enclave", "an AMD SEV-SNP report"])
def test_text_of_raw_evidence_is_named_as_what_it_stands_for(kind: str) -> None:
    assert kind_of(KINDS[kind].hex().encode()) == kind


def test_what_is_of_no_kind_has_no_name() -> None:
    assert known_kind(b"\0\1\2\3\xff") is None


@given(st.binary(max_size=300))
def test_any_bytes_have_words(data: bytes) -> None:
    assert kind_of(data).isprintable()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=6,
)


@given(VALUES)
def test_any_json_has_words(value: Any) -> None:
    assert kind_of(json.dumps(value).encode()).isprintable()
