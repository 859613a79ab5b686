"""Attestation results: relied on only with the verifier's key, for the nonce asked with, and for a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from carnet_ref.attestation.appraisal import Appraisal, Step
from carnet_ref.attestation.results import AFFIRMING, CONTRAINDICATED, ResultError, read_result, signed_result
from tests.fixtures.nvidia_pki import AT, NONCE

KEY = ECKey.generate_key("P-384")
GOOD = Appraisal((Step("signature", True, "holds"),), {"product": "GH100"})
BAD = Appraisal((Step("signature", False, "does not verify"),), {})
TTL = 600


def made(**changes: Any) -> str:
    given: dict[str, Any] = {"issuer": "verifier", "nonce": NONCE, "at": AT, "ttl": TTL, "key": KEY, **changes}
    return signed_result({"gpu": GOOD, "cvm": BAD}, **given)


def read(token: str, **changes: Any) -> Any:
    given: dict[str, Any] = {"issuer": "verifier", "nonce": NONCE, "at": AT, "key": KEY, **changes}
    return read_result(token, **given)


def test_a_result_says_what_each_appraisal_found() -> None:
    claims = read(made())
    gpu, cvm = claims["submods"]["gpu"], claims["submods"]["cvm"]
    assert (gpu["ear_status"], cvm["ear_status"]) == (AFFIRMING, CONTRAINDICATED)
    assert gpu["carnet_claims"] == {"product": "GH100"}
    assert cvm["carnet_steps"] == [{"id": "signature", "ok": False, "detail": "does not verify"}]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": ECKey.generate_key("P-384")}, "no result signed"),
        ({"nonce": bytes(32)}, "eat_nonce"),
        ({"issuer": "another"}, "iss"),
        ({"at": AT - timedelta(seconds=1)}, "counts from"),
        ({"at": AT + timedelta(seconds=TTL)}, "counts from"),
    ],
)
def test_a_result_is_not_relied_on_otherwise(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ResultError, match=reason):
        read(made(), **changes)


def test_a_result_counts_until_its_last_second() -> None:
    assert read(made(), at=AT + timedelta(seconds=TTL - 1))["iss"] == "verifier"


@pytest.mark.parametrize("token", ["", "a.b.c", "no token", made()[:-4], made().replace(".", "", 1)])
def test_a_damaged_token_is_no_result(token: str) -> None:
    with pytest.raises(ResultError):
        read(token)


def test_a_token_of_another_algorithm_is_no_result() -> None:
    for algorithm in ("HS384", "ES256"):
        key = OctKey.generate_key(384) if algorithm == "HS384" else ECKey.generate_key("P-256")
        token = jwt.encode({"alg": algorithm}, {"iss": "verifier"}, key, algorithms=[algorithm])
        with pytest.raises(ResultError):
            read(token)


def test_a_token_of_another_profile_is_no_result() -> None:
    token = jwt.encode({"alg": "ES384"}, {"iss": "verifier"}, KEY, algorithms=["ES384"])
    with pytest.raises(ResultError, match="eat_profile"):
        read(token)
