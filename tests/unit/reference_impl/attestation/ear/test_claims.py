"""The claims of attestation results: what the profiles demand of them, and what older profiles call them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from carnet_ref.attestation import ear
from carnet_ref.attestation.jose import DEEPEST, LARGEST_TOKEN, LATEST
from carnet_ref.attestation.results import EXTENSION, EarProfile, Tier, TrustClaim
from carnet_ref.wire import MalformedError
from tests.fixtures.ear_tokens import (
    ENCODED_NONCE,
    NOW,
    RESULT,
    older,
    result,
)

GPU0: Mapping[str, Any] = RESULT["submods"]["gpu0"]


def with_gpu0(**changes: Any) -> dict[str, Any]:
    changed = {name: value for name, value in {**GPU0, **changes}.items() if value is not ...}
    return result(submods={"gpu0": changed})


def with_older(**changes: Any) -> dict[str, Any]:
    """Return a result of Veraison's profile with some claims of its attester changed or, by ``...``, left out."""
    found = older(result(submods={"gpu0": dict(GPU0)}))
    changed = {**found["submods"]["gpu0"], **changes}
    return {**found, "submods": {"gpu0": {name: value for name, value in changed.items() if value is not ...}}}


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


@pytest.mark.parametrize("profile", [each for each in EarProfile if each is not EarProfile.DRAFT])
def test_a_result_of_an_older_profile_says_the_same_by_its_own_names(profile: EarProfile) -> None:
    found = ear.parse_claims(encoded(older(RESULT, profile)))
    same = ear.parse_claims(encoded(RESULT))
    assert (found.profile, replace(found, profile=EarProfile.DRAFT)) == (profile, same)
    with_point = {**older(RESULT, profile), "iat": 1.767225600e9, "nbf": 1767225601}
    assert ear.parse_claims(encoded(with_point)) == replace(found, begins=NOW + timedelta(seconds=1))


def test_what_a_verifier_says_besides_is_kept_under_its_own_names() -> None:
    besides = {"ear.veraison.annotated-evidence": {"sgx": {"tcb_status": "OutOfDate"}}, "ear_status": "affirming"}
    (found,) = ear.parse_claims(encoded(with_older(**{"ear.status": "warning"}, **besides))).submodules
    assert (found.tier, found.others) == (Tier.WARNING, besides)


def test_what_may_be_left_out_is_times_have_an_end_and_a_tier_may_be_worse() -> None:
    found = ear.parse_claims(encoded(result(exp=..., ear_status=..., eat_nonce=..., further={"x": [1.5, None]})))
    assert (found.expires, found.stated, found.nonce, found.tier) == (None, None, None, Tier.WARNING)
    (bare,) = ear.parse_claims(encoded(result(submods={"x": {"ear_status": "none", "more": 1}}))).submodules
    assert (bare.vector, bare.policies, bare.told) == ({}, (), {})
    found = ear.parse_claims(encoded(result(iat=0, exp=LATEST)))
    assert (found.issued.year, found.expires) == (1970, datetime(9999, 12, 31, tzinfo=UTC))
    assert ear.parse_claims(encoded(result(ear_status="contraindicated"))).tier is Tier.CONTRAINDICATED
    assert ear.parse_claims(encoded(result(ear_status="none"))).tier is Tier.NONE
    assert ear.parse_claims(encoded(with_gpu0(ear_status="warning"))).submodules[0].tier is Tier.WARNING
    assert ear.parse_claims(encoded(nested(DEEPEST - 2))).tier is Tier.WARNING


BAD: list[tuple[object, str]] = [
    (b"", "expected JSON"),
    (b"\xff", "expected JSON"),
    (b"[]", "claims: expected an object, found list"),
    (b'{"iat":1,"iat":2}', "a name comes twice"),
    (b'{"submods":{"a":{},"a":{}}}', "a name comes twice"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"iat":' + b"9" * 5000 + b"}", "expected JSON"),
    (b" " * (LARGEST_TOKEN + 1), f"at most {LARGEST_TOKEN} bytes"),
    (nested(DEEPEST), f"at most {DEEPEST} objects and lists"),
    (result(eat_profile=...), "eat_profile: expected the profile tag:.*, found None"),
    (result(eat_profile="tag:ietf.org,2026:rats/ear#04"), "eat_profile: expected the profile .*, found 'tag:ietf.org"),
    (result(eat_profile=["tag:ietf.org,2026:rats/ear#03"]), "eat_profile: .*found list"),
    (result(eat_profile=EarProfile.VERAISON), "ear.verifier-id: expected an object, found None"),
    ({**older(RESULT), "eat_profile": EarProfile.DRAFT}, "ear_verifier_id: expected an object, found None"),
    (result(nbf=1.0), "nbf: expected whole seconds"),
    ({**older(RESULT), "iat": 1.5}, "iat: .*found 1.5"),
    ({**older(RESULT), "nbf": "1"}, "nbf: .*found '1'"),
    (with_older(**{"ear.status": "good"}), r"submods\['gpu0'\].ear.status: expected one of .*found 'good'"),
    (with_older(**{"ear.status": ...}), "ear.status: expected one of .*found None"),
    (with_older(**{"ear.appraisal-policy-id": ["a"]}), "ear.appraisal-policy-id: expected text, found list"),
    (with_older(**{"ear.trustworthiness-vector": {"hardware": 96}}), "no better tier than contraindicated"),
    (with_older(**{"ear.carnet.appraisal": "told"}), "ear.carnet.appraisal: expected an object"),
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
    (result(exp=LATEST + 1), "exp"),
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
