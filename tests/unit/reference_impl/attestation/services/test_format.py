"""What attestation services of others signed: whose it is, and every reason to refuse it."""

import base64
import json
import random
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from carnet_command.errors import UsageError
from carnet_ref.attestation.appraisal import Anchors, Appraisal, anchors_from_pem, default_anchors
from carnet_ref.attestation.formats import FORMATS, AppraisalContext, OptionValues, appraise_files
from carnet_ref.attestation.intel.collateral import TcbStatus
from carnet_ref.attestation.kinds import NRAS_TOKEN, known_kind
from carnet_ref.attestation.services.format import FORMAT
from carnet_ref.attestation.services.issuers import DEFAULT_STEPS, POLICY_FORM, Policy
from carnet_ref.wire import MalformedError
from tests.fixtures.ear_tokens import mac
from tests.fixtures.ear_tokens import token as ear_token
from tests.fixtures.nvidia_pki import pem as world_pem
from tests.fixtures.nvidia_pki import world
from tests.fixtures.service_tokens import (
    CLAIMS,
    EC_KEY,
    HEADERS,
    KEYS,
    NONCE,
    NOW,
    NVIDIA,
    OTHER_EC_KEY,
    OTHER_RSA_KEY,
    RSA_KEY,
    bundle,
    certified,
    jwk,
    key_set,
    pem,
    signed,
    token,
)

KEY_SET = key_set()
NO_ANCHORS = Anchors({})
ISSUER = {"NVIDIA": CLAIMS["NVIDIA"]["iss"], "Intel": CLAIMS["Intel"]["iss"]}
every_service = pytest.mark.parametrize("service", CLAIMS)


def appraised(
    data: bytes,
    key: bytes | None = KEY_SET,
    *,
    at: datetime = NOW + timedelta(minutes=30),
    policy: Policy = POLICY_FORM.default_policy,
    anchors: Anchors = NO_ANCHORS,
    **given: object,
) -> Appraisal:
    values: dict[str, Any] = {"key": key, "issuer": None, "audience": None, "nonce": None, **given}
    return appraise_files("result", [data], OptionValues(values), AppraisalContext(at, policy, anchors))


@every_service
def test_a_token_is_accepted_as_its_services_result_and_as_nobody_elses(service: str) -> None:
    appraisal = appraised(token(service), nonce=NONCE)
    assert appraisal.accepted, appraisal.steps[-1]
    assert appraisal.appraised_by == f"{service} ({CLAIMS[service]['iss']})"
    assert {"evidence not seen"} <= set(appraisal.not_compared)
    assert appraisal.claims["statements"] == CLAIMS[service]
    assert set(appraisal.claims) == {"service", "issuer", "issued", "expires", "nonce", "statements"}


@every_service
@pytest.mark.parametrize("which", ["set", "one JWK", "PEM"])
def test_keys_are_taken_in_each_form(service: str, which: str) -> None:
    key = KEYS[service]
    given = {"set": KEY_SET, "one JWK": json.dumps(jwk(key)).encode(), "PEM": pem(key)}[which]
    assert appraised(token(service), given).accepted
    other = OTHER_EC_KEY if isinstance(key, ec.EllipticCurvePrivateKey) else OTHER_RSA_KEY
    stranger = {"set": key_set(jwk(other)), "one JWK": json.dumps(jwk(other)).encode(), "PEM": pem(other)}[which]
    assert appraised(token(service), stranger).failed_step == "signature"


def test_nothing_is_accepted_without_a_key_and_the_key_is_what_is_missing() -> None:
    for data in (token("NVIDIA"), bundle()):
        appraisal = appraised(data, None, anchors=default_anchors())
        assert (appraisal.failed_step, appraisal.steps[-1].without, appraisal.appraised_by) == (
            "signature",
            ("key",),
            None,
        )


def test_a_bundle_is_accepted_with_what_is_said_of_each_device() -> None:
    appraisal = appraised(bundle(), nonce=NONCE)
    assert (appraisal.accepted, appraisal.not_compared) == (True, ("evidence not seen", "claims not compared"))
    statements = appraisal.claims["statements"]
    assert isinstance(statements, dict)
    assert [each["hwmodel"] for each in statements["submods"].values()] == ["GH100 A01 GSP BROM"] * 2


def test_the_token_about_all_without_the_others_says_that_they_are_not_shown() -> None:
    overall = json.loads(bundle())[0][1].encode()
    assert appraised(overall).not_compared == (
        "devices not shown",
        "evidence not seen",
        "not fresh",
        "claims not compared",
    )


SPLIT = json.loads(bundle())
OTHERS = json.loads(bundle(key=OTHER_EC_KEY))
TOOLS: dict[str, Any] = {
    "nvattest": {"detached_eat": SPLIT, "claims": [{"measres": "success"}], "result_code": 0, "result_message": "Ok"},
    "the Python SDK": [["JWT", "e30.e30.AAAA"], {"REMOTE_GPU_CLAIMS": SPLIT}],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_bundle_counts_the_same_in_what_nvidias_tools_write_around_it(tool: str) -> None:
    whole = json.dumps(TOOLS[tool]).encode()
    assert known_kind(whole) == NRAS_TOKEN
    appraisal = appraised(whole, nonce=NONCE)
    assert (appraisal.accepted, appraisal.steps[0].id) == (True, "document")
    assert appraisal.claims == appraised(bundle()).claims
    assert appraisal.appraised_by == appraised(bundle()).appraised_by
    strangers = whole.replace(SPLIT[1]["GPU-1"].encode(), OTHERS[1]["GPU-1"].encode())
    assert appraised(strangers).failed_step == "signature"


@pytest.mark.parametrize("code", [1, 28, -1, "0", False, None])
def test_what_nvidias_tool_calls_a_failure_is_refused(code: object) -> None:
    """As where the policy of who ran it is not met, which no token says. Source: attest.cpp, ``to_json``."""
    answer = {
        "detached_eat": SPLIT,
        "claims": [],
        "result_code": code,
        "result_message": "Relying party policy mismatch",
    }
    appraisal = appraised(json.dumps(answer).encode(), nonce=NONCE)
    assert (appraisal.accepted, appraisal.failed_step) == (False, "parse")
    assert "expected result_code 0" in appraisal.steps[-1].detail


@pytest.mark.parametrize(
    "around",
    [
        {"detached_eat": {}},
        {"detached_eat": [SPLIT[0]]},
        [["JWT", ""], {"REMOTE_GPU_CLAIMS": SPLIT, "REMOTE_SWITCH_CLAIMS": SPLIT}],
        [["JWT", ""], {"REMOTE_GPU_CLAIMS": SPLIT, "LOCAL_GPU_CLAIMS": SPLIT[0][1]}],
        [["JWT", ""], {"REMOTE_GPU_CLAIMS": [["JWT", ""], {"REMOTE_GPU_CLAIMS": SPLIT}]}],
    ],
)
def test_of_several_results_none_is_chosen(around: Any) -> None:
    assert appraised(json.dumps(around).encode()).failed_step == "parse"


def test_a_token_that_nobody_signed_is_said_to_be_so() -> None:
    header, claims, _ = SPLIT[0][1].split(".")
    unsigned = json.dumps({"detached_eat": [["JWT", f"{header}.{claims}."], SPLIT[1]]}).encode()
    assert "nobody stands for what it says" in appraised(unsigned).steps[-1].detail


BAD_BUNDLES: dict[str, tuple[Any, str]] = {
    "a device left out": ([SPLIT[0], {"GPU-0": SPLIT[1]["GPU-0"]}], "devices"),
    "a device more": ([SPLIT[0], {**SPLIT[1], "GPU-2": SPLIT[1]["GPU-1"]}], "devices"),
    "two devices changed about": ([SPLIT[0], {"GPU-0": SPLIT[1]["GPU-1"], "GPU-1": SPLIT[1]["GPU-0"]}], "devices"),
    "a device of another name": ([SPLIT[0], {"GPU-0": SPLIT[1]["GPU-0"], "GPU-2": SPLIT[1]["GPU-1"]}], "devices"),
    "a device of another bundle": ([SPLIT[0], {**SPLIT[1], "GPU-1": OTHERS[1]["GPU-1"]}], "signature"),
    "a stranger's token about all": ([OTHERS[0], SPLIT[1]], "signature"),
    "no devices as an object": ([SPLIT[0], list(SPLIT[1].values())], "parse"),
    "a device that is no text": ([SPLIT[0], {"GPU-0": 1}], "parse"),
    "a device with a space": ([SPLIT[0], {**SPLIT[1], "GPU-0": SPLIT[1]["GPU-0"] + " "}], "parse"),
    "no JWT": ([["CWT", SPLIT[0][1]], SPLIT[1]], "parse"),
    "a part more": ([*SPLIT, {}], "parse"),
    "too many devices": ([SPLIT[0], {f"GPU-{n}": SPLIT[1]["GPU-0"] for n in range(65)}], "parse"),
}


@pytest.mark.parametrize("name", BAD_BUNDLES)
def test_a_bundle_is_what_the_token_about_all_names(name: str) -> None:
    value, step = BAD_BUNDLES[name]
    appraisal = appraised(json.dumps(value).encode())
    assert (appraisal.failed_step or "accepted") == step, appraisal.steps[-1]


@pytest.mark.parametrize(
    ("devices", "overall", "step"),
    [
        ({"GPU-0": {"eat_nonce": "00" * 32}}, {}, "devices"),
        ({"GPU-0": {"iss": "https://example.com"}}, {}, "devices"),
        ({"GPU-0": {}}, {"submods/GPU-0": ["DIGEST", ["SHA-256", "00" * 32]]}, "devices"),
        ({"GPU-0": {}}, {"submods/GPU-0": ["DIGEST", ["SHA-1", "00" * 20]]}, "devices"),
        ({"GPU-0": {}}, {"submods/GPU-0": {}}, "devices"),
        ({"GPU-0": {}}, {"submods": ...}, "devices"),
        ({"GPU-0": {}}, {"submods": []}, "devices"),
        ({"GPU-0": {"measres": "fail"}}, {}, "status"),
        ({"GPU-0": {"measres": ["success"]}}, {}, "status"),
        ({"GPU-0": {"x-nvidia-gpu-attestation-report-signature-verified": False}}, {}, "status"),
        ({"GPU-0": {"x-nvidia-gpu-attestation-report-cert-chain-validated": False}}, {}, "status"),
        ({"GPU-0": {"x-nvidia-gpu-arch-check": None}}, {}, "status"),
        ({"GPU-0": {"secboot": False}}, {}, "status"),
        (
            {"GPU-0": {"x-nvidia-gpu-attestation-report-cert-chain": {"x-nvidia-cert-status": "expired"}}},
            {},
            "status",
        ),
        ({"GPU-0": {"x-nvidia-gpu-driver-rim-cert-chain": {"x-nvidia-cert-status": "revoked"}}}, {}, "status"),
        ({"GPU-0": {"x-nvidia-gpu-driver-rim-cert-chain": {"x-nvidia-cert-ocsp-status": "unknown"}}}, {}, "status"),
        ({"GPU-0": {"exp": int(NOW.timestamp()) + 60}}, {}, "expiry"),
        ({"GPU-0": {"exp": ...}}, {"exp": int(NOW.timestamp()) + 60}, "expiry"),
        ({"GPU-0": {"nbf": int(NOW.timestamp()) + 3000}}, {}, "issued"),
        ({"GPU-0": {"iat": "now"}}, {}, "claims"),
        ({"GPU-0": {"x-nvidia-switch-attestation-report-nonce-match": None}}, {}, "status"),
        ({"GPU-0": {}, "GPU-1": {"dbgstat": "enabled"}}, {}, "status"),
        ({"GPU-0": {"dbgstat": None}}, {}, "status"),
        ({"GPU-0": {}}, {"x-nvidia-overall-att-result": False}, "status"),
        ({"GPU-0": {}}, {"x-nvidia-overall-att-result": "true"}, "status"),
        ({"GPU-0": {}}, {"x-nvidia-overall-att-result": ...}, "status"),
        ({"GPU-0": {}}, {"iss": "https://nras.attestation-stg.nvidia.com"}, "issuer"),
    ],
)
def test_what_nvidia_signed_and_does_not_hold_is_refused(
    devices: Mapping[str, Any], overall: Mapping[str, Any], step: str
) -> None:
    assert appraised(bundle(devices, overall)).failed_step == step


@every_service
@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"iss": "https://example.com"}, "issuer"),
        ({"iss": None}, "issuer"),
        ({"iss": ["https://nras.attestation.nvidia.com"]}, "issuer"),
        ({"iss": ...}, "issuer"),
        ({"exp": int(NOW.timestamp()) + 60}, "expiry"),
        ({"exp": ...}, "claims"),
        ({"exp": 1e30}, "claims"),
        ({"exp": -0.5}, "claims"),
        ({"exp": int(NOW.timestamp()) + 1799.9}, "expiry"),
        ({"exp": "never"}, "claims"),
        ({"iat": True}, "claims"),
        ({"iat": -1}, "claims"),
        ({"iat": int(NOW.timestamp()) + 1861}, "issued"),
        ({"nbf": int(NOW.timestamp()) + 1861}, "issued"),
        ({"nbf": "now"}, "claims"),
    ],
)
def test_issuer_and_times_are_demanded(service: str, changes: Mapping[str, Any], step: str) -> None:
    assert appraised(token(service, changes)).failed_step == step


@pytest.mark.parametrize(
    ("service", "changes"),
    [
        ("Google", {"dbgstat": "enabled"}),
        ("Intel", {"tdx/tdx_is_debuggable": True}),
        ("Intel", {"tdx/tdx_is_debuggable": "no"}),
        ("Intel", {"sevsnp": {"sevsnp_is_debuggable": True}}),
        ("Google", {"submods/nvidia_gpu": {"cc_mode": "DEVTOOLS"}}),
        ("Google", {"submods/nvidia_gpu": {"cc_mode": "OFF"}}),
        ("Microsoft", {"x-ms-isolation-tee/x-ms-sevsnpvm-is-debuggable": True}),
        ("Microsoft", {"is-debuggable": True}),
        ("Microsoft", {"parts": [{"x-ms-sgx-is-debuggable": True}]}),
        ("Microsoft", {"x-ms-azurevm-kerneldebug-enabled": True}),
        ("Microsoft", {"x-ms-azurevm-bootdebug-enabled": True}),
        ("Microsoft", {"x-ms-azurevm-hypervisordebug-enabled": None}),
        ("Microsoft", {"x-ms-azurevm-debuggersdisabled": False}),
        ("NVIDIA", {"dbgstat": "enabled"}),
    ],
)
def test_what_is_debugged_is_refused_unless_the_policy_allows_it(service: str, changes: Mapping[str, Any]) -> None:
    appraisal = appraised(token(service, changes))
    assert (appraisal.failed_step, appraisal.steps[-1].detail.startswith(f"{service} says: ")) == ("status", True)
    assert appraised(token(service, changes), policy=Policy(DEFAULT_STEPS, allow_debug=True)).accepted


@pytest.mark.parametrize(
    ("service", "changes"),
    [
        ("Google", {"submods/nvidia_gpu": {"cc_mode": "ON"}}),
        ("Microsoft", {"x-ms-azurevm-debuggersdisabled": True, "secureboot": True}),
    ],
)
def test_what_is_said_to_be_protected_is_accepted(service: str, changes: Mapping[str, Any]) -> None:
    assert appraised(token(service, changes)).accepted


def test_a_machine_without_secure_boot_is_refused() -> None:
    assert appraised(token("Microsoft", {"secureboot": False})).failed_step == "status"


@pytest.mark.parametrize("status", [*TcbStatus, "unknown", ["UpToDate"], None])
@pytest.mark.parametrize(
    ("service", "claims"),
    [
        ("Intel", lambda status: {"tdx/attester_tcb_status": status}),
        ("Google", lambda status: {"tdx": [{"gcp_attester_tcb_status": status}]}),
    ],
)
def test_a_tcb_status_is_refused_as_in_evidence(
    service: str, claims: Callable[[object], Mapping[str, Any]], status: object
) -> None:
    made = token(service, claims(status))
    accepted = [each for each in POLICY_FORM.default_policy.tcb_statuses if each == status]
    assert appraised(made).failed_step == (None if accepted else "status")
    if isinstance(status, TcbStatus):
        assert appraised(made, policy=Policy(DEFAULT_STEPS, tcb_statuses=frozenset({status}))).accepted


@pytest.mark.parametrize(
    "changes",
    [
        {"policy_ids_unmatched": [{"id": "a policy", "version": "v1"}]},
        {"policy_ids_unmatched": "a policy"},
        {"nvgpu": {"x-nvidia-overall-att-result": False}},
    ],
)
def test_what_intels_service_refused_is_refused(changes: Mapping[str, Any]) -> None:
    assert appraised(token("Intel", changes)).failed_step == "status"


def test_what_the_attester_hands_in_is_not_what_the_service_says() -> None:
    """Its run-time data says that it is debugged, in the names of the service, and nobody believes it."""
    for service in ("Intel", "Microsoft"):
        assert appraised(token(service)).accepted
    appraisal = appraised(token("Microsoft", {"x-ms-runtime/is-debuggable": True}))
    assert appraisal.accepted


@every_service
@pytest.mark.parametrize(
    ("header", "step"),
    [
        ({"alg": "none"}, "signature"),
        ({"alg": "HS256"}, "signature"),
        ({"alg": "ES512"}, "signature"),
        ({"alg": "RS1"}, "signature"),
        ({"kid": "another key"}, "signature"),
        ({"crit": ["exp"]}, "parse"),
        ({"b64": False}, "parse"),
        ({"alg": 1}, "parse"),
    ],
)
def test_a_header_chooses_nothing(service: str, header: Mapping[str, Any], step: str) -> None:
    assert appraised(token(service, header=header)).failed_step == step


@pytest.mark.parametrize(
    ("service", "algorithm"),
    [("Google", "PS256"), ("Google", "RS512"), ("Microsoft", "PS384"), ("Intel", "RS384"), ("Intel", "PS512")],
)
def test_an_algorithm_that_the_service_does_not_sign_by_is_refused(service: str, algorithm: str) -> None:
    appraisal = appraised(token(service, header={"alg": algorithm}))
    assert appraisal.failed_step in {"service", "signature"}
    assert appraised(token("Intel", header={"alg": "RS256"})).accepted


def test_a_key_in_the_header_and_a_mac_by_a_public_key_are_nobodys() -> None:
    own = {"jwk": jwk(OTHER_EC_KEY, kid="a key")}
    assert appraised(token("NVIDIA", header=own)).accepted
    assert appraised(token("NVIDIA", header=own, key=OTHER_EC_KEY)).failed_step == "signature"
    for secret in (pem(EC_KEY), pem(EC_KEY).strip(), KEY_SET):
        first, _, payload = token("NVIDIA", header={"alg": "HS256"}).decode().partition(".")
        made = mac(f"{first}.{payload.partition('.')[0]}".encode(), secret)
        assert appraised(made, pem(EC_KEY)).failed_step == "signature"


def test_an_issuer_that_is_named_is_the_only_one_and_is_who_says_so() -> None:
    staging = "https://nras.attestation-stg.nvidia.com"
    appraisal = appraised(token("NVIDIA", {"iss": staging}), issuer=staging)
    assert (appraisal.accepted, appraisal.appraised_by) == (True, staging)
    assert appraised(token("NVIDIA"), issuer=staging).failed_step == "issuer"
    named = appraised(token("NVIDIA"), issuer=ISSUER["NVIDIA"])
    assert (named.accepted, named.appraised_by) == (True, f"NVIDIA ({ISSUER['NVIDIA']})")
    assert appraised(token("NVIDIA", {"iss": None}), issuer="None").failed_step == "issuer"


@pytest.mark.parametrize(
    "issuer",
    [
        "https://mine.eus.attest.azure.net",
        "https://sharedmine.eus.attest.azure.net",
        "https://sharedeus.eus.attest.azure.net.example.com",
        "https://sharedeus.eus.attest.azure.net/",
        "http://sharedeus.eus.attest.azure.net",
        "https://sharedeus.eus.attest.azure.net\n",
        "https://shared.example.com/.eus.attest.azure.net",
    ],
)
def test_an_instance_of_somebody_elses_is_taken_only_if_it_is_named(issuer: str) -> None:
    made = token("Microsoft", {"iss": issuer})
    assert appraised(made).failed_step == "issuer"
    assert appraised(made, issuer=issuer).appraised_by == issuer


def test_a_token_of_no_known_service_is_refused() -> None:
    someone = signed(HEADERS["Google"], {"iss": "https://accounts.example.com", "iat": 0, "exp": 1 << 33}, RSA_KEY)
    assert appraised(someone.encode(), issuer="https://accounts.example.com").failed_step == "service"
    for claims in (b"[]", b"{", b'{"iss":1,"iss":2}', b'{"x":' + b"[" * 50 + b"]" * 50 + b"}"):
        assert appraised(signed(HEADERS["NVIDIA"], claims, EC_KEY).encode()).failed_step == "claims"


NONCES = {
    "hexadecimal": NONCE.hex(),
    "base64": base64.b64encode(NONCE).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(NONCE).decode(),
    "without padding": base64.urlsafe_b64encode(NONCE).decode().rstrip("="),
}


@pytest.mark.parametrize("written", NONCES)
def test_a_nonce_is_found_however_it_is_written(written: str) -> None:
    made = token("Google", {"eat_nonce": NONCES[written]})
    assert appraised(made, nonce=NONCE).accepted
    assert appraised(made, nonce=bytes(32)).failed_step == "nonce"
    assert appraised(token("Google", {"eat_nonce": "thisIsAcustomNonce"}), nonce=b"thisIsAcustomNonce").accepted


@every_service
def test_a_time_may_have_a_fraction(service: str) -> None:
    made = token(service, {"exp": NOW.timestamp() + 3600.5, "iat": NOW.timestamp() + 0.5})
    assert appraised(made).claims["expires"] == "2026-01-01T01:00:00Z"


@every_service
def test_a_nonce_has_to_be_the_one_asked_with(service: str) -> None:
    assert "not fresh" in appraised(token(service)).not_compared
    assert "not fresh" not in appraised(token(service), nonce=NONCE).not_compared
    for wrong in (bytes(32), NONCE[:-1], b""):
        assert appraised(token(service), nonce=wrong).failed_step == "nonce"
    assert appraised(token("Intel", {"tdx/verifier_nonce": 7}), nonce=NONCE).failed_step == "nonce"
    assert appraised(token("Google", {"eat_nonce": None}), nonce=NONCE).failed_step == "nonce"


def test_an_audience_has_to_be_the_one_expected() -> None:
    made = token("Google")
    assert "audience not compared" in appraised(made).not_compared
    assert "audience not compared" not in appraised(token("NVIDIA")).not_compared
    assert appraised(made, audience="https://sts.googleapis.com").accepted
    assert appraised(token("Google", {"aud": ["x", "y"]}), audience="y").accepted
    for aud in ("https://sts.googleapis.com/", ["x"], None, {"https://example.com": 1}):
        assert appraised(token("Google", {"aud": aud}), audience="https://example.com").failed_step == "audience"


@every_service
def test_certificates_lead_to_a_root_that_is_given_or_count_for_nothing(service: str) -> None:
    key = OTHER_EC_KEY if service == "NVIDIA" else rsa.generate_private_key(65537, 3072)
    chain, root = certified(key)
    made = token(service, header={"x5c": chain}, key=key)
    anchors = anchors_from_pem(root)
    assert appraised(made, None, anchors=anchors).accepted
    assert appraised(made, pem(key), anchors=world().anchors).accepted, "a key that is given needs no root"
    assert appraised(token(service), anchors=anchors).accepted
    assert appraised(made, None, anchors=anchors, at=NOW + timedelta(days=3)).failed_step == "validity"
    assert appraised(made, None, anchors=anchors_from_pem(world_pem([world().root.certificate]))).failed_step == "chain"
    others, _ = certified(KEYS[service])
    assert appraised(token(service, header={"x5c": others}, key=key), None, anchors=anchors).failed_step == "signature"
    assert appraised(token(service), None, anchors=anchors).failed_step == "signature"
    assert appraised(token(service, header={"x5c": chain}), None, anchors=anchors).failed_step == "signature"


@pytest.mark.parametrize("x5c", [[], "x", [1], ["é"], ["AAAA"]])
def test_certificates_that_are_none_are_refused_where_they_count(x5c: object) -> None:
    _, root = certified(EC_KEY)
    made = token("NVIDIA", header={"x5c": x5c})
    assert appraised(made, None, anchors=anchors_from_pem(root)).failed_step in {"parse", "signature"}


def test_the_certificates_of_a_key_in_a_set_are_its_own() -> None:
    chain, _ = certified(EC_KEY)
    bare = key_set({"kty": "EC", "kid": "a key", "x5c": chain})
    assert appraised(token("NVIDIA"), bare).accepted
    assert appraised(token("NVIDIA"), key_set(jwk(OTHER_EC_KEY, x5c=chain))).failed_step == "parse"


@pytest.mark.parametrize(
    "keys",
    [
        [{"kty": "oct", "k": "AAAA"}],
        [jwk(EC_KEY, use="enc")],
        [jwk(EC_KEY, key_ops=["encrypt"])],
        [jwk(EC_KEY, d="AAAA")],
        [jwk(EC_KEY, alg="ES256")],
        [jwk(RSA_KEY, alg="RSA-OAEP")],
        [{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}],
        [jwk(rsa.generate_private_key(65537, 1024))],
        [jwk(ec.generate_private_key(ec.SECP521R1()))],
    ],
    ids=[
        "a secret",
        "for encryption",
        "for operations of encryption",
        "a private one",
        "another algorithm",
        "RSA for encryption",
        "Edwards",
        "small",
        "P-521",
    ],
)
def test_keys_that_sign_no_tokens_are_passed_over(keys: list[dict[str, Any]]) -> None:
    with pytest.raises(UsageError, match="no key that signs tokens"):
        appraised(token("NVIDIA"), key_set(*keys))
    assert appraised(token("NVIDIA"), key_set(*keys, jwk(EC_KEY))).accepted


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b'{"keys":{}}',
        b'{"keys":[1]}',
        b'{"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}]}',
        b'{"keys":[{"kty":"EC","crv":"P-384","x":"AAAA"}]}',
        b'{"keys":[{"kty":"RSA","n":"AA","e":"AQAB"}]}',
        b'{"keys":[{"kty":"RSA","n":1,"e":"AQAB"}]}',
        json.dumps({"keys": [jwk(EC_KEY, kid=1)]}).encode(),
        json.dumps({"keys": [jwk(EC_KEY)] * 65}).encode(),
        b'{"keys":[],"keys":[]}',
    ],
)
def test_a_set_of_another_form_is_refused(data: bytes) -> None:
    assert appraised(token("NVIDIA"), data).failed_step == "parse"


@pytest.mark.parametrize("data", [b"", b"no key", pem(ec.generate_private_key(ec.SECP521R1()))])
def test_a_key_of_no_use_is_bad_usage(data: bytes) -> None:
    with pytest.raises(UsageError, match="expected a public key"):
        appraised(token("NVIDIA"), data)


def test_of_several_keys_without_names_the_one_that_fits_counts() -> None:
    keys = key_set(jwk(OTHER_EC_KEY), jwk(OTHER_RSA_KEY), jwk(EC_KEY))
    assert appraised(token("NVIDIA"), keys).accepted
    named = key_set(jwk(OTHER_EC_KEY, kid="a key"), jwk(EC_KEY, kid="another"))
    assert appraised(token("NVIDIA"), named).failed_step == "signature"


@pytest.mark.parametrize(
    ("claims", "step"),
    [
        ({"/hwmodel": ["GCP_AMD_SEV", "GCP_INTEL_TDX"], "/submods/container/args/0": ["./run"]}, None),
        ({"/secboot": [True]}, None),
        ({"/a~1b/~0c": [[1]]}, None),
        ({"/a~1b/~0c": [[True]]}, "compared"),
        ({"/a~1b": [{"~c": [1.0]}]}, "compared"),
        ({"/secboot": [1]}, "compared"),
        ({"/oemid": [True, "11129", 11129.0]}, "compared"),
        ({"/hwmodel": []}, "compared"),
        ({"/hwmodel": ["GCP_AMD_SEV"]}, "compared"),
        ({"/nothing": [None]}, "compared"),
        ({"/submods/container/args/1": ["./run"]}, "compared"),
        ({"/submods/container/args/-": ["./run"]}, "compared"),
        ({"/hwmodel/0": ["G"]}, "compared"),
        ({"hwmodel": ["GCP_INTEL_TDX"]}, "no policy"),
        ({"/~2": []}, "no policy"),
        ({"/hwmodel": "GCP_INTEL_TDX"}, "no policy"),
        (["/hwmodel"], "no policy"),
    ],
)
def test_a_policy_names_values_of_claims(claims: object, step: str | None) -> None:
    data = json.dumps({"claims": claims}).encode()
    if step == "no policy":
        with pytest.raises(MalformedError, match="policy: claims"):
            POLICY_FORM.parse(data)
        return
    odd = {**CLAIMS["Google"], "a/b": {"~c": [1]}}
    made = signed(HEADERS["Google"], odd, RSA_KEY).encode()
    appraisal = appraised(made, policy=POLICY_FORM.parse(data))
    assert appraisal.failed_step == step
    assert "claims not compared" not in appraisal.not_compared


def test_a_strict_policy_wants_a_nonce_and_values_of_claims() -> None:
    strict = POLICY_FORM.parse(json.dumps({"preset": "strict", "claims": {"/hwmodel": ["GCP_INTEL_TDX"]}}).encode())
    assert appraised(token("Google"), policy=strict).failed_step == "policy"
    assert appraised(token("Google"), policy=strict, nonce=NONCE).accepted
    assert (
        appraised(token("Google"), policy=POLICY_FORM.parse(b'{"preset":"strict"}'), nonce=NONCE).failed_step
        == "policy"
    )
    assert appraised(token("Google"), policy=Policy()).failed_step == "policy"


def test_a_thousand_mutations_of_a_bundle_and_of_tokens_are_refused() -> None:
    draw = random.Random(4)
    whole = {"bundle": bundle(), **{service: token(service) for service in CLAIMS}}
    refused = 0
    for number in range(1000):
        data = whole[list(whole)[number % len(whole)]]
        place = draw.randrange(len(data))
        text = draw.choice([b"", bytes([draw.randrange(33, 127)]), data[place : place + 1] * 2])
        changed = data[:place] + text + data[place + 1 :]
        if changed == data or _same_json(changed, data):
            continue
        refused += 1
        assert not appraised(changed).accepted, changed
    assert refused > 900


def _same_json(changed: bytes, data: bytes) -> bool:
    try:
        return bool(json.loads(changed) == json.loads(data))
    except ValueError:
        return False


def test_a_result_of_a_verifier_is_no_token_of_a_service_and_has_its_own_command() -> None:
    for key in (None, KEY_SET):
        appraisal = appraised(ear_token(), key)
        assert (appraisal.failed_step, "carnet attest ear FILE" in appraisal.steps[-1].detail) == ("parse", True)
    assert FORMATS["result"].load() is FORMAT
    assert NVIDIA["iss"] == ISSUER["NVIDIA"]
