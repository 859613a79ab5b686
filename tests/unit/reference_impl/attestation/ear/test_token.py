"""Signed tokens: who signed them, in which form alone they are taken, and what headers may not ask for."""

from __future__ import annotations

import base64
import json
import random
import string
import sys

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_command.errors import UsageError
from carnet_ref.attestation.ear import (
    LARGEST_TOKEN,
    SignatureError,
    VerificationKey,
    parse_claims,
    parse_token,
    signed_token,
    verify,
)
from carnet_ref.wire import MalformedError
from tests.fixtures.ear_tokens import (
    KEYS,
    OTHER,
    P256,
    P384,
    PUBLIC,
    RESULT,
    base64url,
    mac_token,
    public_pem,
    signature,
    signing_input,
    token,
)

ES256 = {"alg": "ES256", "typ": "eat+jwt"}
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ALPHABET = string.ascii_letters + string.digits + "-_."


def verified(data: bytes, key: VerificationKey = PUBLIC["ES256"]) -> bytes:
    """Return the payload of a token that the key signed."""
    read = parse_token(data)
    verify(read, key)
    return read.payload


@pytest.mark.parametrize("algorithm", KEYS)
def test_what_is_signed_verifies_with_the_public_key(algorithm: str) -> None:
    made = signed_token(RESULT, KEYS[algorithm]).encode()
    assert json.loads(verified(made, PUBLIC[algorithm])) == RESULT
    assert json.loads(verified(b"\n " + made + b"\r\n", PUBLIC[algorithm])) == RESULT


@pytest.mark.parametrize(("key", "algorithm"), [(P256, "ES256"), (P384, "ES384")])
def test_tokens_that_another_signer_made_verify(key: ec.EllipticCurvePrivateKey, algorithm: str) -> None:
    made = token(header={"alg": algorithm, "typ": "eat+jwt", "kid": "of another kind"}, key=key)
    assert json.loads(verified(made, PUBLIC[algorithm])) == RESULT


def test_a_token_names_its_algorithm_type_and_key() -> None:
    header = signed_token(RESULT, KEYS["ES256"]).split(".")[0]
    said = json.loads(base64.urlsafe_b64decode(header + "=="))
    assert (said["alg"], said["typ"], len(said["kid"]), len(said)) == ("ES256", "eat+jwt", 43, 3)


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "ES384", "ES512", "RS256", "es256", ""])
def test_the_algorithm_is_the_keys_own(algorithm: str) -> None:
    with pytest.raises(SignatureError, match=f"names the algorithm '{algorithm}'; a key of this kind signs by ES256"):
        verified(token(header={**ES256, "alg": algorithm}))


def raw(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


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
        mac_token(raw(P256)),
        signing_input().encode() + b"." + base64url(bytes(64)).encode(),
        signing_input().encode() + b"." + base64url(b"\xff" * 64).encode(),
        signing_input().encode() + b"." + base64url(signature(signing_input().encode(), P256)[:-1]).encode(),
        signing_input().encode() + b"." + base64url(signature(signing_input().encode(), P256) + b"\0").encode(),
        signing_input({**RESULT, "iat": 0}).encode() + b"." + token().rpartition(b".")[2],
        signing_input(header={**ES256, "kid": "x"}).encode() + b"." + token().rpartition(b".")[2],
    ],
)
def test_what_the_key_did_not_sign_by_its_own_algorithm_is_refused(made: bytes) -> None:
    with pytest.raises(SignatureError):
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
        parse_token(token(header=header))


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
        ("A" * (LARGEST_TOKEN + 1), f"at most {LARGEST_TOKEN} bytes"),
    ],
)
def test_another_form_is_refused(text: str, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        parse_token(text.encode())


def test_a_thousand_mutations_are_refused() -> None:
    chance = random.Random(20)
    made = signed_token(RESULT, KEYS["ES256"])
    for _ in range(1000):
        place, kind = chance.randrange(len(made)), chance.choice(["other", "gone", "more", "twice"])
        other = chance.choice([each for each in ALPHABET if each != made[place]])
        changed = {
            "other": made[:place] + other + made[place + 1 :],
            "gone": made[:place] + made[place + 1 :],
            "more": made[:place] + other + made[place:],
            "twice": made[: place + 1] + made[place:],
        }[kind]
        with pytest.raises((MalformedError, SignatureError)):
            verified(changed.encode())


def test_the_twin_of_a_signature_verifies_and_says_the_same() -> None:
    """Anybody can compute it, so the hash of a token is no identity."""
    first, _, last = token().rpartition(b".")
    both = signature(first, P256)
    twin = both[:32] + (ORDER - int.from_bytes(both[32:], "big")).to_bytes(32, "big")
    assert base64url(twin).encode() != last
    assert verified(first + b"." + base64url(twin).encode()) == verified(token())


def test_a_result_that_no_reader_takes_is_not_signed() -> None:
    with pytest.raises(UsageError, match=f"of at most {LARGEST_TOKEN}"):
        signed_token({"text": "x" * LARGEST_TOKEN}, KEYS["ES256"])
    with pytest.raises(ValueError, match="JSON"):
        signed_token({"number": float("nan")}, KEYS["ES256"])
    large = signed_token({"text": "x" * 90_000}, KEYS["ES256"]).encode()
    assert len(verified(large)) > 90_000


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    for act in (lambda: signed_token(RESULT, KEYS["ES256"]), lambda: verified(token())):
        with pytest.raises(UsageError, match=r"carnet\[ear\]"):
            act()


def test_what_was_verified_is_read() -> None:
    assert parse_claims(verified(token())).verifier == "a verifier 1"


def test_a_verifier_without_the_library_agrees() -> None:
    first, _, last = signed_token(RESULT, KEYS["ES256"]).rpartition(".")
    both = base64.urlsafe_b64decode(last + "==")
    r, s = (int.from_bytes(each, "big") for each in (both[:32], both[32:]))
    P256.public_key().verify(encode_dss_signature(r, s), first.encode(), ec.ECDSA(hashes.SHA256()))
