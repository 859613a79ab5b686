"""Project Wycheproof's vectors go through Carnet's own wrappers: what is valid passes, what is not is refused."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from carnet_ref.crypto import primitives

Case = dict[str, Any]
EVIDENCE = os.environ.get("CARNET_EVIDENCE")
pytestmark = pytest.mark.skipif(EVIDENCE is None, reason="CARNET_EVIDENCE names no folder")


def cases(name: str) -> Iterator[tuple[Case, Case]]:
    """Yield each vector of a file with its group."""
    assert EVIDENCE is not None
    path = Path(EVIDENCE, "15-wycheproof", "testvectors_v1", f"{name}_test.json")
    for group in json.loads(path.read_text())["testGroups"]:
        for case in group["tests"]:
            yield group, case


def raw(case: Case, name: str) -> bytes:
    return bytes.fromhex(case[name])


@pytest.mark.parametrize(
    ("name", "cipher", "total"), [("aes_gcm", primitives.AesGcm, 316), ("aes_gcm_siv", primitives.AesGcmSiv, 202)]
)
def test_aead(name: str, cipher: Callable[[bytes], primitives.AesGcm | primitives.AesGcmSiv], total: int) -> None:
    seen = 0
    for group, case in cases(name):
        seen += 1
        aead, iv, aad = cipher(raw(case, "key")), raw(case, "iv"), raw(case, "aad")
        sealed = raw(case, "ct") + raw(case, "tag")
        if group["ivSize"] != 96:
            with pytest.raises(primitives.KeyMaterialError, match="nonce"):
                aead.decrypt(iv, sealed, aad)
        elif case["result"] == "invalid":
            with pytest.raises(primitives.CryptoError):
                aead.decrypt(iv, sealed, aad)
        else:
            assert aead.decrypt(iv, sealed, aad) == raw(case, "msg")
            assert aead.encrypt(iv, raw(case, "msg"), aad) == sealed
    assert seen == total


def raw_signature(der: bytes) -> bytes:
    """Return r and s of a DER signature as 48 bytes each, or nothing where it has no such form."""
    try:
        r, s = decode_dss_signature(der)
        return r.to_bytes(48, "big") + s.to_bytes(48, "big")
    except (ValueError, OverflowError):
        return b""


def test_ecdsa_p384() -> None:
    verdicts = {"valid": 0, "invalid": 0}
    for group, case in cases("ecdsa_secp384r1_sha384"):
        point = bytes.fromhex(group["publicKey"]["uncompressed"])
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), point)
        try:
            primitives.verify_p384(key, raw_signature(raw(case, "sig")), raw(case, "msg"))
            verdict = "valid"
        except primitives.CryptoError:
            verdict = "invalid"
        assert verdict == case["result"], case["comment"]
        verdicts[verdict] += 1
    assert verdicts == {"valid": 194, "invalid": 310}


def hkdf_sha256(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return primitives.hkdf_expand_sha256(primitives.hkdf_extract_sha256(salt, secret), info, length)


@pytest.mark.parametrize(("name", "derive"), [("hkdf_sha256", hkdf_sha256), ("hkdf_sha384", primitives.hkdf_sha384)])
def test_hkdf(name: str, derive: Callable[[bytes, bytes, bytes, int], bytes]) -> None:
    for _, case in cases(name):
        arguments = raw(case, "ikm"), raw(case, "salt"), raw(case, "info"), case["size"]
        if case["result"] == "invalid":
            with pytest.raises(primitives.KeyMaterialError):
                derive(*arguments)
        else:
            assert derive(*arguments) == raw(case, "okm")


def test_hmac() -> None:
    for group, case in cases("hmac_sha384"):
        key, message, tag = raw(case, "key"), raw(case, "msg"), raw(case, "tag")
        whole = primitives.hmac_sha384(key, message)
        assert (whole[: len(tag)] == tag) is (case["result"] == "valid"), case["comment"]
        if group["tagSize"] == 384 and case["result"] == "valid":
            primitives.verify_hmac_sha384(key, message, tag)
        else:
            with pytest.raises(primitives.CryptoError):
                primitives.verify_hmac_sha384(key, message, tag)


def test_x25519() -> None:
    seen = 0
    for _, case in cases("x25519"):
        seen += 1
        share = primitives.X25519Share(raw(case, "private"))
        if any(raw(case, "shared")):
            assert share.agree(raw(case, "public")) == raw(case, "shared"), case["comment"]
        else:
            with pytest.raises(primitives.KeyMaterialError, match="low order"):
                share.agree(raw(case, "public"))
    assert seen == 518
