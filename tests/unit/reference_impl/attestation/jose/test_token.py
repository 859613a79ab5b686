"""Signed tokens: who signed them, in which form alone they are taken, and what headers may not ask for."""

import base64
import json
import random
import string
import sys

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
from carnet_ref.attestation import ear, jose
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
    private_pem,
    public_pem,
    signature,
    signing_input,
    token,
)

ES256 = {"alg": "ES256", "typ": "eat+jwt"}
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ALPHABET = string.ascii_letters + string.digits + "-_."


def verified(data: bytes, key: jose.VerificationKey = PUBLIC["ES256"]) -> bytes:
    """Return the payload of a token that the key signed."""
    read = jose.parse_token(data)
    jose.verify(read, key)
    return read.payload


@pytest.mark.parametrize("algorithm", KEYS)
def test_what_is_signed_verifies_with_the_public_key(algorithm: str) -> None:
    made = jose.signed_token(RESULT, KEYS[algorithm]).encode()
    assert json.loads(verified(made, PUBLIC[algorithm])) == RESULT
    assert json.loads(verified(b"\n " + made + b"\r\n", PUBLIC[algorithm])) == RESULT


@pytest.mark.parametrize(("key", "algorithm"), [(P256, "ES256"), (P384, "ES384")])
def test_tokens_that_another_signer_made_verify_and_the_curve_decides_the_algorithm(
    key: ec.EllipticCurvePrivateKey, algorithm: str
) -> None:
    made = token(header={"alg": algorithm, "typ": "eat+jwt", "kid": "of another kind"}, key=key)
    assert json.loads(verified(made, PUBLIC[algorithm])) == RESULT
    assert jose.signing_key(private_pem(key)).algorithm == algorithm
    assert jose.verification_key(public_pem(key)).algorithms == (algorithm,)
    old = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    assert jose.signing_key(old).algorithm == algorithm


def test_no_key_that_a_header_brings_counts() -> None:
    """Its hints are passed over: a token by the key in its own header is one by a stranger."""
    numbers = OTHER.public_key().public_numbers()
    own = {"kty": "EC", "crv": "P-256", "x": base64url(numbers.x.to_bytes(32)), "y": base64url(numbers.y.to_bytes(32))}
    hints = {"jwk": own, "jku": "https://example.com/keys", "x5u": "https://example.com/chain", "cty": "x"}
    for header in ({**ES256, name: value} for name, value in hints.items()):
        assert json.loads(verified(token(header=header))) == RESULT
        with pytest.raises(jose.SignatureError, match="does not verify"):
            verified(token(header=header, key=OTHER))


def test_a_token_names_its_algorithm_type_and_key_and_is_read() -> None:
    header = jose.signed_token(RESULT, KEYS["ES256"]).split(".")[0]
    said = json.loads(base64.urlsafe_b64decode(header + "=="))
    assert (said["alg"], said["typ"], len(said["kid"]), len(said)) == ("ES256", "eat+jwt", 43, 3)
    assert ear.parse_claims(verified(token())).verifier == "a verifier 1"


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "ES384", "ES512", "RS256", "es256", ""])
def test_the_algorithm_is_the_keys_own(algorithm: str) -> None:
    with pytest.raises(
        jose.SignatureError, match=f"names the algorithm '{algorithm}'; a key of this kind signs by ES256"
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
    with pytest.raises(jose.SignatureError):
        verified(made)


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({**ES256, "crit": ["exp"]}, "only alg, typ, kid, .*found 'crit'"),
        ({**ES256, "crit": []}, "only alg, .* found 'crit'"),
        ({**ES256, "b64": False}, "found 'b64'"),
        ({**ES256, "JWK": {}}, "found 'JWK'"),
        ({**ES256, "zip": "DEF"}, "found 'zip'"),
        ({**ES256, "typ": None}, "typ to be text, found NoneType"),
        ({**ES256, "kid": 1}, "kid to be text"),
        ({**ES256, "alg": ["ES256"]}, "alg to be text"),
        ([], "a JSON object, found list"),
        (b"{", "a JSON object"),
        (b"\xff\xfe", "a JSON object"),
        (b'{"alg":"none","alg":"ES256","typ":"eat+jwt"}', "a name comes twice"),
        (b'{"alg":"ES256","typ":"eat+jwt","kid":"' + b"x" * (1 << 14) + b'"}', "at most 16384 bytes"),
        (b"[" * 400, "a JSON object"),
    ],
)
def test_a_header_that_asks_for_more_is_refused(header: object, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        jose.parse_token(token(header=header))


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
        (f"{FIRST}.{SECOND}.", "expected a signature, found none"),
        (f".{SECOND}.{THIRD}", "header: expected base64"),
        (f"{FIRST}=.{SECOND}.{THIRD}", "header: expected base64"),
        (f"{FIRST}.{SECOND}.{THIRD}==", "signature: expected base64"),
        (f"{FIRST}.{SECOND[:9]}\n{SECOND[9:]}.{THIRD}", "payload: expected base64"),
        (f"{FIRST}.{SECOND}.{THIRD[:-1]}B", "its one form"),
        (f"{FIRST}.{SECOND}.{'+' * 86}", "signature: expected base64"),
        (f"{FIRST}.{SECOND}.{'A' * 129}", "signature: expected"),
        (f"{FIRST}.{SECOND}.{'A' * 1368}", "at most 1024 bytes"),
        (f"{FIRST}.{SECOND}.é", "ASCII"),
        ("A" * (jose.LARGEST_TOKEN + 1), f"at most {jose.LARGEST_TOKEN} bytes"),
    ],
)
def test_another_form_is_refused(text: str, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        jose.parse_token(text.encode())


def test_a_thousand_mutations_are_refused() -> None:
    chance = random.Random(20)
    made = jose.signed_token(RESULT, KEYS["ES256"])
    for _ in range(1000):
        place, kind = chance.randrange(len(made)), chance.choice(["other", "gone", "more", "twice"])
        other = chance.choice([each for each in ALPHABET if each != made[place]])
        changed = {
            "other": made[:place] + other + made[place + 1 :],
            "gone": made[:place] + made[place + 1 :],
            "more": made[:place] + other + made[place:],
            "twice": made[: place + 1] + made[place:],
        }[kind]
        with pytest.raises((MalformedError, jose.SignatureError)):
            verified(changed.encode())


def test_the_twin_of_a_signature_verifies_and_says_the_same() -> None:
    """Anybody can compute it, so the hash of a token is no identity."""
    first, _, last = token().rpartition(b".")
    both = signature(first, P256)
    twin = both[:32] + (ORDER - int.from_bytes(both[32:], "big")).to_bytes(32, "big")
    assert base64url(twin).encode() != last
    assert verified(first + b"." + base64url(twin).encode()) == verified(token())


def test_a_result_that_no_reader_takes_is_not_signed() -> None:
    with pytest.raises(UsageError, match=f"of at most {jose.LARGEST_TOKEN}"):
        jose.signed_token({"text": "x" * jose.LARGEST_TOKEN}, KEYS["ES256"])
    with pytest.raises(ValueError, match="JSON"):
        jose.signed_token({"number": float("nan")}, KEYS["ES256"])
    assert len(verified(jose.signed_token({"text": "x" * 90_000}, KEYS["ES256"]).encode())) > 90_000


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    for act in (lambda: jose.signed_token(RESULT, KEYS["ES256"]), lambda: verified(token())):
        with pytest.raises(UsageError, match=r"carnet\[ear\]"):
            act()


def test_a_verifier_without_the_library_agrees() -> None:
    first, _, last = jose.signed_token(RESULT, KEYS["ES256"]).rpartition(".")
    both = base64.urlsafe_b64decode(last + "==")
    r, s = (int.from_bytes(each, "big") for each in (both[:32], both[32:]))
    P256.public_key().verify(encode_dss_signature(r, s), first.encode(), ec.ECDSA(hashes.SHA256()))


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
        jose.signing_key(pem)


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
        jose.verification_key(pem)
