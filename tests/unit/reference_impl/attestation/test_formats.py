"""Evidence as it comes: its format and encoding, its name where it is something else, how long it takes to read."""

import base64
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from carnet_ref.attestation import kinds
from carnet_ref.attestation.appraisal import AnchorRole, anchors_from_pem, default_anchors
from carnet_ref.attestation.documents import LARGEST, decode, decode_pem
from carnet_ref.attestation.formats import FORMATS, RegisteredFormat, advice_on, readers
from carnet_ref.attestation.kinds import COMPANIONS, INTEL_QE_VENDOR, SNP_BYTES, kind_of, kinds_of, known_kind
from carnet_ref.attestation.nvidia import rim as nvidia_rim
from carnet_ref.attestation.nvidia.report import MOST_DEVICES, device_evidence
from carnet_ref.attestation.nvidia.rim import LIMITS, appraise_rim, parse_bounded
from carnet_ref.crypto.certificate_path import fingerprint, name
from carnet_ref.wire import MalformedError
from docs._ext.carnet_pages.listings import evidence_formats
from tests.fixtures import cca_tokens, corims, ear_tokens, nitro_documents, service_tokens, simulated_snp
from tests.fixtures.command_words import attest
from tests.fixtures.nvidia_pki import AT, ocsp_reply, pem, report, world
from tests.fixtures.simulated_quotes import PLATFORM, QUOTE
from tests.fixtures.slow_evidence import GOOD, RIMS, namespaces, nested, rim
from tests.repo.tracked import ROOT

SUMMARY = "Appraise a toy."
TOY = "a toy"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Register toys, and return where one can be written."""
    monkeypatch.setitem(FORMATS, "toy", RegisteredFormat("tests.fixtures.toy_evidence:FORMAT", SUMMARY, (TOY,)))
    return tmp_path / "a toy"


def test_a_registered_format_has_a_subcommand_a_policy_and_a_row_in_the_documentation(toy: Path) -> None:
    assert re.search(rf"^  toy +{re.escape(SUMMARY)}$", attest("--help").stdout, re.MULTILINE)
    shown = attest("toy", "--help").stdout
    assert "attest toy [OPTIONS] TOY" in shown
    for option in ("--nonce HEX", "--at TIME", "--policy FILE", "--trust-anchor FILE", "--json"):
        assert option in shown
    toy.write_text("genuine red")
    policy = toy.with_name("policy")
    policy.write_text('{"colour": "blue"}')
    result = attest("toy", str(toy), "--policy", str(policy))
    assert result.exit_code == 1
    assert "REFUSED at colour" in result.stdout
    page = evidence_formats()
    assert f"| `carnet attest toy` | {SUMMARY} |" in page
    assert "| `--nonce` | bytes in hexadecimal (2) | What the toy was asked with. |" in page
    for each, registered in FORMATS.items():
        assert f"## {each}" in page
        assert f"It reads {'; '.join(registered.kinds)}." in page
        assert all(f"`{option.flag}`" in page for option in registered.load().options)


@pytest.mark.parametrize(
    ("evidence", "words", "code", "step"),
    [
        ("genuine red", [], 0, None),
        ("genuine red", ["--nonce", "0102"], 0, None),
        ("copied red", [], 1, "made"),
        ("red", [], 1, "parse"),
    ],
)
def test_a_registered_format_is_appraised(toy: Path, evidence: str, words: list[str], code: int, step: str) -> None:
    toy.write_text(evidence)
    result = attest("toy", str(toy), *words, "--at", "2026-01-01T00:00:00Z", "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["failed_step"]) == (code, step)
    assert shown["rerun"].startswith(f"carnet attest toy '{toy}'")
    assert shown["claims"] == ({} if code else {"colour": "red"})


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--nonce", "01"], "--nonce wants 2 bytes, not 1"),
        (["--nonce", "x"], "--nonce wants hexadecimal digits"),
        (["--at", "noon"], "'noon' is no time"),
        (["--policy", "nowhere"], "cannot read 'nowhere'"),
    ],
)
def test_bad_usage_exits_2_with_one_line(toy: Path, words: list[str], why: str) -> None:
    toy.write_text("genuine red")
    result = attest("toy", str(toy), *words)
    assert result.exit_code == 2
    assert why in result.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_a_formats_own_help_is_what_its_command_says(name: str) -> None:
    said = " ".join(re.sub(r"-\n\s+", "-", attest(name, "--help").stdout).split())
    assert " ".join(FORMATS[name].load().help.split()) in said


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
    "a document with quotes of a TPM": b'{"quotes": [], "akPub": ""}',
    "an event log": bytes(32) + b"Spec ID Event03\0",
    "the document of an AWS Nitro enclave": nitro_documents.document(),
    "the document of an EC2 instance with NitroTPM": nitro_documents.document(nitro_documents.fields(tpm=True)),
    "a manifest of reference values (CoRIM)": corims.of_platform(),
    "the attestation token of an Arm CCA realm": cca_tokens.token(),
    "a COSE document of no known kind": b"\x84\x44\xa1\x01",
    "DER, such as a certificate": b"\x30\x82\x01\x00",
    "PEM, such as certificates": world().device.chain(),
    "a list of revoked certificates (CRL)": simulated_snp.amd().revocation_list().public_bytes(Encoding.DER),
    "an OCSP reply": ocsp_reply(world().device.path[1], world().device.path[0]),
    "a public key": ear_tokens.public_pem(),
    "XML, such as NVIDIA's reference values": world().rims()[0],
    "an attestation token (JWT)": b"eyJhbGciOiJFUzM4NCJ9.e30.AAAA\n",
    "a token of NVIDIA's remote attestation service (NRAS)": service_tokens.bundle(),
    "a token of Google Cloud Attestation, as Confidential Space has": service_tokens.token("Google"),
    "a token of Intel Trust Authority": service_tokens.token("Intel"),
    "a token of Microsoft Azure Attestation": service_tokens.token("Microsoft"),
    "a signed attestation result (EAR)": ear_tokens.token(),
    "other text": b"no evidence at all!",
    "nothing": b"",
    "5 bytes of no known kind": b"\0\1\2\3\xff",
    "broken JSON": b"{",
    "JSON in which a name comes twice in one object": b'{"exp": 1, "iss": {"exp": 1, "exp": 1}}',
    "text in UTF-16, or with a byte order mark": "{}".encode("utf-16"),
    "a compressed file": gzip.compress(QUOTE),
    "an event log of TCG 1.2, which has digests of SHA-1 alone": bytes(4) + b"\x08\0\0\0" + bytes(200),
    "a canonical event log (CEL)": bytes(4) + b"\x08" + bytes(8) + b"\x6c\0\0\0\1\4",
    "the claims of an attestation token, without its signature": b'{"exp": 1, "iss": "", "x-ms-runtime": {"keys": []}}',
    "an answer of NVIDIA's RIM service": b'{"id": "", "rim": "", "sha256": "", "rim_format": ""}',
    "the run-time data of an Azure virtual machine": b'{"keys": [], "vm-configuration": {}, "user-data": ""}',
    "the evidence of a Hygon CSV virtual machine": b'{"attestation_report": {}, "cert_chain": {}, "serial_number": []}',
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


def test_the_evidence_of_a_csv_virtual_machine_may_have_a_log_beside_it() -> None:
    named: dict[str, object] = {"attestation_report": {}, "cert_chain": {}, "serial_number": []}
    assert kind_of(json.dumps({**named, "cc_eventlog": "AA"}).encode()) == kinds.CSV


def test_what_pem_has_is_named_by_its_label() -> None:
    listed = simulated_snp.amd().revocation_list().public_bytes(Encoding.PEM)
    assert (kind_of(listed), kind_of(b"AMD's:\n" + listed)) == (kinds.REVOCATION_LIST,) * 2
    assert kind_of(world().device.chain() + listed) == kinds.CERTIFICATES


@pytest.mark.parametrize("kind", ["a quote of an SGX enclave", "an AMD SEV-SNP report"])
def test_text_of_raw_evidence_is_named_as_what_it_stands_for(kind: str) -> None:
    assert kind_of(KINDS[kind].hex().encode()) == kind


WORDS = {value for value in vars(kinds).values() if isinstance(value, str)}


def test_each_kind_of_evidence_is_read_by_a_format_or_goes_with_one() -> None:
    read = {kind for registered in FORMATS.values() for kind in registered.kinds}
    assert all(registered.kinds for registered in FORMATS.values())
    assert read <= WORDS
    assert not read & set(COMPANIONS)
    for named in re.findall(r"carnet attest (\w+)", " ".join(COMPANIONS.values())):
        assert named in FORMATS
    assert [advice_on(kind) for kind in ("other text", "broken JSON")] == ["", ""]
    assert readers("a document with evidence of NVIDIA devices") == ("gpu", "node")


OTHER_KINDS = [
    ("an AMD SEV-SNP report", "carnet attest snp FILE"),
    ("the report of an NVIDIA device", "carnet attest gpu FILE"),
    ("a quote of an Intel TDX virtual machine", "carnet attest tdx FILE"),
    ("XML, such as NVIDIA's reference values", "carnet attest rim FILE"),
    ("an attestation token (JWT)", "carnet attest ear FILE"),
    ("a signed attestation result (EAR)", "carnet attest ear FILE"),
    ("a token of NVIDIA's remote attestation service (NRAS)", "carnet attest result FILE"),
    ("a token of Intel Trust Authority", "carnet attest result FILE"),
    ("Intel's collateral", "it goes with a quote: carnet attest tdx QUOTE --collateral FILE"),
    ("a set of keys for tokens (JWKS)", "they go with a token"),
    ("text in UTF-16, or with a byte order mark", "save it as UTF-8 without a byte order mark"),
    ("a compressed file", "give what is in it"),
    ("an event log of TCG 1.2, which has digests of SHA-1 alone", "Carnet reads those that begin with"),
    ("an answer of NVIDIA's RIM service", "carnet attest rim FILE"),
    ("the run-time data of an Azure virtual machine", "give the evidence whose report is over its hash"),
    ("the evidence of a Hygon CSV virtual machine", "Carnet reads no evidence of Hygon's processors"),
    ("a quote of an SGX enclave", "Carnet reads quotes of TDX virtual machines alone"),
    ("a TDREPORT, which only its own machine can check", "ask the machine for a quote"),
    ("PEM, such as certificates", "a chain goes with a report"),
    ("the document of an AWS Nitro enclave", "carnet attest nitro FILE"),
    ("the attestation token of an Arm CCA realm", "carnet attest cca FILE"),
    ("a document with quotes of a TPM", "carnet attest tpm FILE"),
    ("a signed attestation result (EAR)", "carnet attest ear FILE"),
    ("a token of Intel Trust Authority", "carnet attest result FILE"),
]
#: What a command does not appraise and tells of by a step of its own.
OWN_STEP = {("tdx", "a quote of an SGX enclave")}


@pytest.mark.parametrize(
    ("command", "kind", "advice"),
    [
        pytest.param(command, kind, advice, id=f"{command}, {kind}")
        for command in FORMATS
        for kind, advice in OTHER_KINDS
        if kind not in FORMATS[command].kinds and (command, kind) not in OWN_STEP
    ],
)
def test_the_wrong_subcommand_says_which_is_right_before_anything_about_options(
    command: str, kind: str, advice: str, tmp_path: Path
) -> None:
    evidence = tmp_path / "evidence"
    evidence.write_bytes(KINDS[kind])
    result = attest(command, str(evidence), "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["failed_step"]) == (1, "parse")
    detail = shown["steps"][-1]["detail"]
    assert kind in detail
    assert advice in detail


def test_a_token_is_named_alone_too_and_of_the_older_profiles() -> None:
    assert kind_of(service_tokens.token("NVIDIA")) == "a token of NVIDIA's remote attestation service (NRAS)"
    assert kind_of(ear_tokens.token(ear_tokens.older(ear_tokens.RESULT))) == "a signed attestation result (EAR)"
    assert kind_of(b"eyJhbGciOiJFUzM4NCJ9.AAAAA.AAAA") == kind_of(b"eyJh.W10.") == "an attestation token (JWT)"


def test_a_document_with_evidence_of_two_kinds_is_of_both() -> None:
    document = {"quote": QUOTE.hex(), "evidence_list": []}
    both = ("a document with a quote", "a document with evidence of NVIDIA devices")
    assert kinds_of(json.dumps(document).encode()) == both
    parts = {"tdx": {"quote": QUOTE.hex()}, "nvgpu": {"evidence_list": []}}
    assert kinds_of(json.dumps(parts).encode()) == both


def test_what_a_format_needs_is_asked_for_where_the_evidence_is_its_own(tmp_path: Path) -> None:
    for command, kind in (("snp", "an AMD SEV-SNP report"), ("gpu", "the report of an NVIDIA device")):
        (tmp_path / "evidence").write_bytes(KINDS[kind])
        result = attest(command, str(tmp_path / "evidence"))
        assert (result.exit_code, result.stderr) == (2, "carnet: a report alone needs --chain\n")


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


def test_unknown_kinds_and_formats_have_no_name_and_a_known_field_needs_no_padding() -> None:
    assert decode(b"AAA", "evidence", padded=False) == bytes(2)
    assert known_kind(b"\0\1\2\3\xff") is None
    assert attest("toy", "a toy").exit_code == 2


@pytest.mark.parametrize("data", [CHAIN, CHAIN_BASE64.encode()])
def test_a_chain_is_found_in_pem_and_in_base64_of_pem(data: bytes) -> None:
    assert decode_pem(data, "chain") == CHAIN


def test_a_bundle_has_a_report_and_a_chain_for_each_of_a_bounded_number_of_devices() -> None:
    bundle = [{"evidence": BASE64, "certificate": CHAIN_BASE64, "arch": "HOPPER"}] * 2
    found = device_evidence(json.dumps(bundle).encode())
    assert [(device.name, device.report, device.chain) for device in found] == [
        ("0", REPORT, CHAIN),
        ("1", REPORT, CHAIN),
    ]
    certificates = [{"py/object": "OpenSSL.crypto.X509", "pem": CHAIN_BASE64}]
    gpu = {
        "AttestationReport": {"py/b64": BASE64},
        "CertificateChains": {"GpuAttestationCertificateChain": certificates},
    }
    switch = {"attestation_report": {"py/b64": BASE64}, "attestation_cert_chain": certificates}
    found = device_evidence(json.dumps({"gpus": [gpu], "nvswitches": [switch]}).encode())
    assert [(device.report, device.chain) for device in found] == [(REPORT, CHAIN)] * 2
    one = b'{"evidence":"AA==","certificate":"%s"}' % b"LS0tLS1CRUdJTiA="
    assert len(device_evidence(b"[" + b",".join([one] * MOST_DEVICES) + b"]")) == MOST_DEVICES
    for many in (b"[" + b",".join([one] * (MOST_DEVICES + 1)) + b"]", b'{"gpus":[%s0]}' % (b"0," * MOST_DEVICES)):
        with pytest.raises(MalformedError, match=f"at most {MOST_DEVICES} devices"):
            device_evidence(many)


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


ROWS = json.loads(resources.files("carnet_ref.attestation").joinpath("anchors.json").read_text("utf-8"))
PUBLISHED = {
    AnchorRole.INTEL_SGX: ["44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3"],
    AnchorRole.NVIDIA_DEVICE: ["102bf659d5419614c9d8e6aecebc80454eb26b1df6a769ac720b9a690b167b48"],
    AnchorRole.NVIDIA_RIM: ["12977b5115acb0381179279fffeb5a8c4d264971ebb32298023a465fa41df5d1"],
    AnchorRole.RESULT_SIGNER: [],
    AnchorRole.AMD_SEV: [
        "69d063b45344d26a2e94e1f4210de49ef555308287d4c174445c95639a540bcd",
        "4c6598d19c18719c5dfd4a7d335f674e5bfe1d8f800cea2cf270c10d103db2f1",
        "1f084161a44bb6d93778a904877d4819cafa5d05ef4193b2ded9dd9c73dd3f6a",
    ],
    AnchorRole.TPM_KEY: ["594759594b9b61524f6c8ef668f7177f7b9066bc0674f2f49fe9e052be78beb2"],
    AnchorRole.AWS_NITRO: ["641a0321a3e244efe456463195d606317ed7cdcc3c1756e09893f3c68f79bb5b"],
}


def test_each_default_anchor_has_a_source_none_is_of_tests_and_given_ones_replace_all() -> None:
    assert all({"role", "name", "sha256", "source", "certificate"} == set(row) for row in ROWS)
    assert all(row["source"].startswith("https://") for row in ROWS)
    names = [name(anchor) for role in AnchorRole for anchor in default_anchors().of(role)]
    assert not [each for each in names if "test" in each.lower() or "sim" in each.lower()]
    given = anchors_from_pem(pem([world().root.certificate]))
    assert all(given.of(role) == (world().root.certificate,) for role in AnchorRole)


@pytest.mark.parametrize("role", AnchorRole)
def test_the_defaults_are_the_roots_that_the_vendors_publish(role: AnchorRole) -> None:
    anchors = default_anchors().of(role)
    assert [fingerprint(anchor) for anchor in anchors] == PUBLISHED[role]
    names = [row["name"] for row in ROWS if row["role"] == role]
    assert names == [anchor.subject.rfc4514_string() for anchor in anchors]


@pytest.mark.parametrize(
    "data",
    [b"nothing", world().device.chain(), b"\xff" + pem([world().root.certificate]), QUOTE],
    ids=["no certificate", "a device's own chain", "raw bytes around a root", "a quote"],
)
def test_anything_but_certificates_of_authorities_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        anchors_from_pem(data)


SECONDS = 2.0  #: What a mebibyte of evidence may take: the requirement itself.
#: What keeps to every limit, and so is canonicalised, and refused because nobody signed it.
WITHIN = {
    "namespaces as many as may be",
    "attributes as many as may be",
    "text to be escaped",
    "references to characters",
    "a huge signature",
}


@pytest.mark.mends("M1")
def test_no_evidence_of_a_mebibyte_takes_long() -> None:
    """Measured in a process of its own, in seconds of its processor."""
    assert all(len(rim(name)) <= nvidia_rim.LARGEST for name in RIMS)
    ran = subprocess.run(
        (sys.executable, "-m", "tests.fixtures.slow_evidence"), cwd=ROOT, capture_output=True, check=True, timeout=90
    )
    slow = {name: seconds for name, seconds in json.loads(ran.stdout).items() if seconds > SECONDS}
    assert slow == {}


@pytest.mark.mends("M1")
@pytest.mark.parametrize("name", RIMS)
def test_what_is_beyond_a_limit_is_refused_before_it_is_canonicalised(name: str) -> None:
    appraisal = appraise_rim(rim(name), at=AT, anchors=world().anchors.of(AnchorRole.NVIDIA_RIM))
    assert appraisal.failed_step == ("signature" if name in WITHIN else "parse")


AT_LIMIT: dict[str, Callable[[int], str]] = {
    "elements": lambda count: "<e>" + "<e/>" * (count - 1) + "</e>",
    "levels of elements": lambda count: nested(count, 1),
    "attributes": lambda count: (
        "<e>" + _elements(count // 64, 64) + _elements(1 if count % 64 else 0, count % 64) + "</e>"
    ),
    "attributes of one element": lambda count: _elements(1, count),
    "namespace declarations": lambda count: f"<e{namespaces(count - 1)} xmlns='urn:x'/>",
    "characters in the value of an attribute": lambda count: f'<e a="{"x" * count}"/>',
    "comments and processing instructions": lambda count: (
        "<!--x-->" * (count // 2) + "<e><?a?>" + "</e>" + ("<!--y-->" * (count - count // 2 - 1))
    ),
}


def _elements(count: int, attributes: int) -> str:
    return ("<e" + "".join(f' a{number}=""' for number in range(attributes)) + "/>") * count


@pytest.mark.mends("M1")
@pytest.mark.parametrize("unit", LIMITS)
def test_each_limit_is_where_it_says(unit: str) -> None:
    made = AT_LIMIT[unit]
    assert isinstance(parse_bounded(made(LIMITS[unit]).encode(), "a test"), etree._Element)
    with pytest.raises(MalformedError, match=f"a test: expected at most {LIMITS[unit]} {unit}, found more"):
        parse_bounded(made(LIMITS[unit] + 1).encode(), "a test")


@pytest.mark.parametrize(
    "declaration", ["", "\ufeff", "<?xml version='1.0'?>", '<?xml version="1.0" encoding="UTF-8" standalone="no" ?>\n']
)
def test_utf_8_is_read_whether_it_is_declared_or_not(declaration: str) -> None:
    assert parse_bounded((declaration + "<é/>").encode(), "a test").tag == "é"


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe<\0e\0/\0>\0",
        b"<\0e\0/\0>\0",
        b"<?xml version='1.0' encoding='latin-1'?><e/>",
        b"<?xml version='1.1'?><e/>",
        b"<?xml encoding='utf-8'?><e/>",
        "<e>ö</e>".encode("latin-1"),
    ],
    ids=["UTF-16", "UTF-16 without a mark", "a declaration", "another version", "no version", "Latin-1"],
)
def test_no_other_encoding_is_read(data: bytes) -> None:
    with pytest.raises(MalformedError, match="UTF-8"):
        parse_bounded(data, "a test")


@pytest.mark.mends("M1")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<ds:X509Data>", "<ds:KeyValue/><ds:X509Data>", "X509Data in KeyInfo, found KeyValue, X509Data"),
        ("</ds:SignedInfo>", "<ds:Reference/></ds:SignedInfo>", "Reference in SignedInfo"),
        ("</ds:Signature>", "<ds:Object/></ds:Signature>", "KeyInfo in Signature"),
        ("</ds:Transforms>", "<ds:Transform/></ds:Transforms>", "at most 2 transforms"),
    ],
    ids=["a key", "a second reference", "an object", "a third transform"],
)
def test_a_signature_has_the_parts_of_a_genuine_one(old: str, new: str, said: str) -> None:
    document = GOOD.replace(old, new, 1).encode()
    appraisal = appraise_rim(document, at=AT, anchors=world().anchors.of(AnchorRole.NVIDIA_RIM))
    assert (appraisal.failed_step, said in appraisal.steps[-1].detail) == ("parse", True), appraisal.steps[-1]
