"""Signed tokens: who signed them, in which form alone they are taken, and what headers may not ask for."""

import base64
import json
import random
import string
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from carnet_command.errors import UsageError
from carnet_ref.attestation import ear
from carnet_ref.attestation.results import EXTENSION, Tier, TrustClaim
from carnet_ref.wire import MalformedError
from tests.fixtures.ear_tokens import (
    ENCODED_NONCE,
    KEYS,
    NOW,
    OTHER,
    P256,
    P384,
    PUBLIC,
    RESULT,
    base64url,
    mac_token,
    private_pem,
    public_pem,
    result,
    signature,
    signing_input,
    token,
)

ES256 = {"alg": "ES256", "typ": "eat+jwt"}
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ALPHABET = string.ascii_letters + string.digits + "-_."


def verified(data: bytes, key: ear.VerificationKey = PUBLIC["ES256"]) -> bytes:
    """Return the payload of a token that the key signed."""
    read = ear.parse_token(data)
    ear.verify(read, key)
    return read.payload


@pytest.mark.parametrize("algorithm", KEYS)
def test_what_is_signed_verifies_with_the_public_key(algorithm: str) -> None:
    made = ear.signed_token(RESULT, KEYS[algorithm]).encode()
    assert json.loads(verified(made, PUBLIC[algorithm])) == RESULT
    assert json.loads(verified(b"\n " + made + b"\r\n", PUBLIC[algorithm])) == RESULT


@pytest.mark.parametrize(("key", "algorithm"), [(P256, "ES256"), (P384, "ES384")])
def test_tokens_that_another_signer_made_verify_and_the_curve_decides_the_algorithm(
    key: ec.EllipticCurvePrivateKey, algorithm: str
) -> None:
    made = token(header={"alg": algorithm, "typ": "eat+jwt", "kid": "of another kind"}, key=key)
    assert json.loads(verified(made, PUBLIC[algorithm])) == RESULT
    assert ear.signing_key(private_pem(key)).algorithm == algorithm
    assert ear.verification_key(public_pem(key)).algorithm == algorithm
    old = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    assert ear.signing_key(old).algorithm == algorithm


def test_a_token_names_its_algorithm_type_and_key_and_is_read() -> None:
    header = ear.signed_token(RESULT, KEYS["ES256"]).split(".")[0]
    said = json.loads(base64.urlsafe_b64decode(header + "=="))
    assert (said["alg"], said["typ"], len(said["kid"]), len(said)) == ("ES256", "eat+jwt", 43, 3)
    assert ear.parse_claims(verified(token())).verifier == "a verifier 1"


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "ES384", "ES512", "RS256", "es256", ""])
def test_the_algorithm_is_the_keys_own(algorithm: str) -> None:
    with pytest.raises(
        ear.SignatureError, match=f"names the algorithm '{algorithm}'; a key of this kind signs by ES256"
    ):
        verified(token(header={**ES256, "alg": algorithm}))


@pytest.mark.parametrize(
    "made",
    [
        token(key=OTHER),
        token(header={**ES256, "alg": "none"}),
        token(header={**ES256, "alg": "None"}),
        token(header={**ES256, "alg": "ES384"}),
        token(header={**ES256, "alg": "ES512"}),
        token(header={**ES256, "alg": "RS256"}),
        token(header={"typ": "eat+jwt"}),
        token(header={**ES256, "alg": "ES384"}, key=P384),
        mac_token(public_pem()),
        mac_token(public_pem().strip()),
        mac_token(P256.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)),
        signing_input().encode() + b"." + base64url(bytes(64)).encode(),
        signing_input().encode() + b"." + base64url(b"\xff" * 64).encode(),
        signing_input().encode() + b"." + base64url(signature(signing_input().encode(), P256)[:-1]).encode(),
        signing_input().encode() + b"." + base64url(signature(signing_input().encode(), P256) + b"\0").encode(),
        signing_input({**RESULT, "iat": 0}).encode() + b"." + token().rpartition(b".")[2],
        signing_input(header={**ES256, "kid": "x"}).encode() + b"." + token().rpartition(b".")[2],
    ],
)
def test_what_the_key_did_not_sign_by_its_own_algorithm_is_refused(made: bytes) -> None:
    with pytest.raises(ear.SignatureError):
        verified(made)


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({**ES256, "crit": ["exp"]}, "only alg, typ, kid, found 'crit'"),
        ({**ES256, "crit": []}, "found 'crit'"),
        ({**ES256, "b64": False}, "found 'b64'"),
        ({**ES256, "jwk": {}}, "found 'jwk'"),
        ({**ES256, "jku": "https://example.com"}, "found 'jku'"),
        ({**ES256, "x5c": []}, "found 'x5c'"),
        ({**ES256, "zip": "DEF"}, "found 'zip'"),
        ({"alg": "ES256"}, "the type eat.jwt, found None"),
        ({**ES256, "typ": "JWT"}, "found 'JWT'"),
        ({**ES256, "kid": 1}, "kid to be text"),
        ({**ES256, "alg": ["ES256"]}, "alg to be text"),
        ([], "a JSON object, found list"),
        (b"{", "a JSON object"),
        (b"\xff\xfe", "a JSON object"),
        (b'{"alg":"none","alg":"ES256","typ":"eat+jwt"}', "a name comes twice"),
        (b'{"alg":"ES256","typ":"eat+jwt","kid":"' + b"x" * 512 + b'"}', "at most 512 bytes"),
        (b"[" * 400, "a JSON object"),
    ],
)
def test_a_header_that_asks_for_more_is_refused(header: object, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        ear.parse_token(token(header=header))


GOOD = token().decode()
FIRST, SECOND, THIRD = GOOD.split(".")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "1 parts"),
        ("token", "1 parts"),
        (f"{FIRST}.{SECOND}", "2 parts"),
        (f"{GOOD}.", "4 parts"),
        (f"{FIRST}..{THIRD}", "payload: expected base64"),
        (f"{FIRST}.{SECOND}.", "signature: expected base64"),
        (f".{SECOND}.{THIRD}", "header: expected base64"),
        (f"{FIRST}=.{SECOND}.{THIRD}", "header: expected base64"),
        (f"{FIRST}.{SECOND}.{THIRD}==", "signature: expected base64"),
        (f"{FIRST}.{SECOND[:9]}\n{SECOND[9:]}.{THIRD}", "payload: expected base64"),
        (f"{FIRST}.{SECOND}.{THIRD[:-1]}B", "its one form"),
        (f"{FIRST}.{SECOND}.{'+' * 86}", "signature: expected base64"),
        (f"{FIRST}.{SECOND}.{'A' * 129}", "signature: expected"),
        (f"{FIRST}.{SECOND}.{'A' * 130}", "at most 96 bytes"),
        (f"{FIRST}.{SECOND}.é", "ASCII"),
        ("A" * (ear.LARGEST_TOKEN + 1), f"at most {ear.LARGEST_TOKEN} bytes"),
    ],
)
def test_another_form_is_refused(text: str, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        ear.parse_token(text.encode())


def test_a_thousand_mutations_are_refused() -> None:
    chance = random.Random(20)
    made = ear.signed_token(RESULT, KEYS["ES256"])
    for _ in range(1000):
        place, kind = chance.randrange(len(made)), chance.choice(["other", "gone", "more", "twice"])
        other = chance.choice([each for each in ALPHABET if each != made[place]])
        changed = {
            "other": made[:place] + other + made[place + 1 :],
            "gone": made[:place] + made[place + 1 :],
            "more": made[:place] + other + made[place:],
            "twice": made[: place + 1] + made[place:],
        }[kind]
        with pytest.raises((MalformedError, ear.SignatureError)):
            verified(changed.encode())


def test_the_twin_of_a_signature_verifies_and_says_the_same() -> None:
    """Anybody can compute it, so the hash of a token is no identity."""
    first, _, last = token().rpartition(b".")
    both = signature(first, P256)
    twin = both[:32] + (ORDER - int.from_bytes(both[32:], "big")).to_bytes(32, "big")
    assert base64url(twin).encode() != last
    assert verified(first + b"." + base64url(twin).encode()) == verified(token())


def test_a_result_that_no_reader_takes_is_not_signed() -> None:
    with pytest.raises(UsageError, match=f"of at most {ear.LARGEST_TOKEN}"):
        ear.signed_token({"text": "x" * ear.LARGEST_TOKEN}, KEYS["ES256"])
    with pytest.raises(ValueError, match="JSON"):
        ear.signed_token({"number": float("nan")}, KEYS["ES256"])
    assert len(verified(ear.signed_token({"text": "x" * 90_000}, KEYS["ES256"]).encode())) > 90_000


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    for act in (lambda: ear.signed_token(RESULT, KEYS["ES256"]), lambda: verified(token())):
        with pytest.raises(UsageError, match=r"carnet\[ear\]"):
            act()


def test_a_verifier_without_the_library_agrees() -> None:
    first, _, last = ear.signed_token(RESULT, KEYS["ES256"]).rpartition(".")
    both = base64.urlsafe_b64decode(last + "==")
    r, s = (int.from_bytes(each, "big") for each in (both[:32], both[32:]))
    P256.public_key().verify(encode_dss_signature(r, s), first.encode(), ec.ECDSA(hashes.SHA256()))


GPU0: Mapping[str, Any] = RESULT["submods"]["gpu0"]


def with_gpu0(**changes: Any) -> dict[str, Any]:
    changed = {name: value for name, value in {**GPU0, **changes}.items() if value is not ...}
    return result(submods={"gpu0": changed})


def nested(depth: int) -> dict[str, Any]:
    inner: Any = 0
    for _ in range(depth):
        inner = [inner]
    return result(further=inner)


def encoded(claims: object) -> bytes:
    return claims if isinstance(claims, bytes) else json.dumps(claims).encode()


def test_a_result_is_read() -> None:
    found = ear.parse_claims(encoded(RESULT))
    assert (found.issued, found.expires, found.verifier) == (NOW, NOW + timedelta(hours=1), "a verifier 1")
    assert (found.stated, found.tier, found.nonce) == (Tier.WARNING, Tier.WARNING, ENCODED_NONCE)
    one, other = found.submodules
    assert (one.name, one.tier, one.policies, one.told) == ("gpu0", Tier.AFFIRMING, ("a policy",), {})
    assert one.vector == {TrustClaim.HARDWARE: 2, TrustClaim.EXECUTABLES: 3}
    assert (other.nonce, other.told["not_compared"]) == (None, ["not fresh"])


def test_what_may_be_left_out_is_times_have_an_end_and_a_tier_may_be_worse() -> None:
    found = ear.parse_claims(encoded(result(exp=..., ear_status=..., eat_nonce=..., further={"x": [1.5, None]})))
    assert (found.expires, found.stated, found.nonce, found.tier) == (None, None, None, Tier.WARNING)
    (bare,) = ear.parse_claims(encoded(result(submods={"x": {"ear_status": "none", "more": 1}}))).submodules
    assert (bare.vector, bare.policies, bare.told) == ({}, (), {})
    found = ear.parse_claims(encoded(result(iat=0, exp=ear.LATEST)))
    assert (found.issued.year, found.expires) == (1970, datetime(9999, 12, 31, tzinfo=UTC))
    assert ear.parse_claims(encoded(result(ear_status="contraindicated"))).tier is Tier.CONTRAINDICATED
    assert ear.parse_claims(encoded(result(ear_status="none"))).tier is Tier.NONE
    assert ear.parse_claims(encoded(with_gpu0(ear_status="warning"))).submodules[0].tier is Tier.WARNING
    assert ear.parse_claims(encoded(nested(ear.DEEPEST - 2))).tier is Tier.WARNING


BAD: list[tuple[object, str]] = [
    (b"", "expected JSON"),
    (b"\xff", "expected JSON"),
    (b"[]", "claims: expected an object, found list"),
    (b'{"iat":1,"iat":2}', "a name comes twice"),
    (b'{"submods":{"a":{},"a":{}}}', "a name comes twice"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"iat":' + b"9" * 5000 + b"}", "expected JSON"),
    (b" " * (ear.LARGEST_TOKEN + 1), f"at most {ear.LARGEST_TOKEN} bytes"),
    (nested(ear.DEEPEST), f"at most {ear.DEEPEST} objects and lists"),
    (result(eat_profile=...), "eat_profile: expected the profile tag:.*, found None"),
    (result(eat_profile="tag:github.com,2023:veraison/ear"), "eat_profile"),
    (result(iat=...), "iat: expected whole seconds since 1970, found None"),
    (result(iat=1.5), "iat: .*found 1.5"),
    (result(iat=float("nan")), "a number that is none, or too large"),
    (result(further=float("-inf")), "a number that is none, or too large"),
    (b'{"further":1e999}', "a number that is none, or too large"),
    (result(iat=True), "iat: .*found True"),
    (result(iat="2026"), "iat"),
    (result(iat=-1), "iat"),
    (result(iat=10**18), "iat"),
    (result(exp=None), "exp"),
    (result(exp=2.0), "exp"),
    (result(exp=ear.LATEST + 1), "exp"),
    (result(ear_verifier_id=...), "ear_verifier_id: expected an object, found None"),
    (result(ear_verifier_id={"developer": "x"}), "ear_verifier_id.build: expected text"),
    (result(ear_verifier_id={"developer": 1, "build": "x"}), "ear_verifier_id.developer: expected text, found 1"),
    (result(ear_status="good"), "ear_status: expected one of none, affirming, warning, contraindicated, found 'good'"),
    (result(ear_status=["affirming"]), "ear_status: .*found list"),
    (result(ear_status="affirming"), "ear_status: expected no better tier than warning, found"),
    (result(eat_nonce="short"), "eat_nonce: expected from 8 to 88 characters"),
    (result(eat_nonce="x" * 89), "eat_nonce"),
    (result(eat_nonce=[ENCODED_NONCE] * 2), "eat_nonce: expected text, found list"),
    (result(submods=...), "submods: expected an object"),
    (result(submods=[]), "submods: expected an object, found list"),
    (result(submods={}), f"submods: expected from 1 to {ear.MOST_SUBMODULES} attesters, found 0"),
    (result(submods={f"{n}": dict(GPU0) for n in range(ear.MOST_SUBMODULES + 1)}), "submods: expected from 1 to"),
    (result(submods={"gpu0": "affirming"}), r"submods\['gpu0'\]: expected an object"),
    (with_gpu0(ear_status=...), "gpu0.*ear_status: expected one of"),
    (with_gpu0(ear_status=2), "gpu0.*ear_status: .*found 2"),
    (with_gpu0(ear_trustworthiness_vector={}), "vector: expected a claim, found 'none'"),
    (with_gpu0(ear_trustworthiness_vector=[2]), "vector: expected an object"),
    (with_gpu0(ear_trustworthiness_vector={"software": 2}), "vector: expected claims out of .*found 'software'"),
    (with_gpu0(ear_trustworthiness_vector={"hardware": 128}), "hardware: expected a number from -128 to 127"),
    (with_gpu0(ear_trustworthiness_vector={"hardware": 2.0}), "hardware: .*found 2.0"),
    (with_gpu0(ear_trustworthiness_vector={"hardware": True}), "hardware: .*found True"),
    (with_gpu0(ear_trustworthiness_vector={"hardware": 96}), "ear_status: expected no better tier than contraind"),
    (with_gpu0(ear_trustworthiness_vector={"hardware": 2, "executables": 33}), "no better tier than warning"),
    (with_gpu0(ear_trustworthiness_vector={"hardware": -97}), "no better tier than contraindicated"),
    (with_gpu0(ear_appraisal_policy_ids="a"), "policy_ids: expected a list"),
    (with_gpu0(ear_appraisal_policy_ids=[1]), "policy_ids: expected text"),
    (with_gpu0(eat_nonce=7), r"gpu0'\].eat_nonce: expected text"),
    (with_gpu0(**{EXTENSION: "told"}), f"{EXTENSION}: expected an object"),
]


@pytest.mark.parametrize(("claims", "why"), BAD, ids=[why[:40] for _, why in BAD])
def test_what_breaks_a_demand_is_refused(claims: object, why: str) -> None:
    with pytest.raises(MalformedError, match=why) as error:
        ear.parse_claims(encoded(claims))
    assert len(str(error.value)) < 400


P521 = ec.generate_private_key(ec.SECP521R1())
RSA = rsa.generate_private_key(65537, 2048)
EDWARDS = ed25519.Ed25519PrivateKey.generate()
Keys = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def private(key: Keys) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public(key: Keys) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        (b"", "expected a private key in PEM"),
        (b"no key", "expected a private key in PEM"),
        (public_pem(), "expected a private key in PEM"),
        (private(P521), "not on secp521r1"),
        (private(RSA), "not .*RSAPrivateKey"),
        (private(EDWARDS), "not .*Ed25519PrivateKey"),
        (P256.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")), "encrypted"),
        (private_pem().replace(b"A", b"B", 3), "expected"),
    ],
)
def test_what_signs_no_tokens_is_refused(pem: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        ear.signing_key(pem)


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        (b"", "expected a public key in PEM"),
        (private_pem(), "expected a public key in PEM"),
        (public(P521), "not on secp521r1"),
        (public(RSA), "not .*RSAPublicKey"),
        (public(EDWARDS), "not .*Ed25519PublicKey"),
    ],
)
def test_what_verifies_no_tokens_is_refused(pem: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        ear.verification_key(pem)
