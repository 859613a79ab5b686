"""CCA tokens: genuine ones are accepted, and each change is refused at the step that is about it."""

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.attestation.appraisal import Anchors, Appraisal
from carnet_ref.attestation.cca.appraisal import DEFAULT_POLICY, Policy, parse_policy
from carnet_ref.attestation.formats import AppraisalContext, OptionValues, appraise_files
from carnet_ref.attestation.kinds import CCA_TOKEN, known_kind
from carnet_ref.wire import MalformedError
from tests.fixtures import cca_tokens as cca
from tests.fixtures.cbor_encoding import Tag, cbor, sign1
from tests.fixtures.cca_tokens import COMPONENTS, EXTENSIBLE, INITIAL, NONCE, SIGNER, key, token
from tests.fixtures.command_words import attest, found, written
from tests.fixtures.nitro_documents import AT
from tests.fixtures.service_tokens import jwk, key_set

POLICY = {
    "require": ["nonce", "platform", "components", "realm", "extensible-measurements"],
    "implementation_ids": [cca.IMPLEMENTATION.hex()],
    "instance_ids": [cca.INSTANCE.hex()],
    "components": [value.hex() for value in COMPONENTS.values()],
    "signer_ids": [SIGNER.hex()],
    "initial_measurements": [INITIAL.hex()],
    "personalization_values": [cca.PERSONALIZATION.hex()],
    "extensible_measurements": {"0": [EXTENSIBLE[0].hex()], "3": [EXTENSIBLE[3].hex(), "00" * 32]},
}
STRICT = parse_policy(json.dumps(POLICY).encode())


def appraised(
    data: bytes, *, policy: Policy = DEFAULT_POLICY, nonce: bytes | None = None, platform_key: bytes | None = None
) -> Appraisal:
    key = cca.pem() if platform_key is None else platform_key
    given = OptionValues({"platform-key": key, "nonce": nonce, "reference": (), "reference-key": None})
    return appraise_files("cca", [data], given, AppraisalContext(AT, policy, Anchors({})))


GENUINE = {
    "measurements of the size of registers": token(realm={44238: b"\x43" * 64, 44239: [bytes(64)] * 4}),
    "the later profile": token(),
    "a collection of messages": token(messages=True),
    "the first profile": token(legacy=True),
    "a realm's key on P-256": token(bits=256),
    "a realm's key on P-521": token(bits=521),
    "a realm's key by SHA-256": token(realm={44240: "sha-256"}),
    "a claim of tomorrow": token(realm={44242: 7}, platform={2403: "x"}),
    "a realm with a policy of memory": token(realm={44241: "private"}),
    "no service": token(platform={2400: None}),
}


@pytest.mark.parametrize("name", GENUINE)
def test_a_genuine_token_is_accepted_and_says_what_it_lacks(name: str) -> None:
    appraisal = appraised(GENUINE[name])
    assert appraisal.accepted, appraisal.steps
    assert appraisal.not_compared == ("not fresh", "platform not compared", "measurements not compared")
    assert appraisal.claims["unknown_claims"] == (["2403", "44242"] if name == "a claim of tomorrow" else [])
    assert known_kind(GENUINE[name]) == CCA_TOKEN


@pytest.mark.parametrize("data", [token(), token(messages=True), token(legacy=True)])
def test_everything_that_is_asked_is_compared(data: bytes) -> None:
    appraisal = appraised(data, policy=STRICT, nonce=NONCE)
    assert appraisal.accepted, appraisal.steps
    assert appraisal.not_compared == ()


def test_a_platforms_key_may_be_a_json_web_key() -> None:
    own, other = json.dumps(jwk(key("platform"))).encode(), json.dumps(jwk(key("realm"))).encode()
    assert appraised(token(), platform_key=own).accepted
    assert appraised(token(), platform_key=other).failed_step == "platform-signature"
    both = key_set(jwk(key("platform"), kid="a"), jwk(key("realm"), kid="b"))
    assert appraised(token(), platform_key=both).failed_step == "parse"


@pytest.mark.parametrize("form", [bytes.hex, lambda data: base64.encodebytes(data).decode()])
def test_text_of_a_token_is_read(form: Any) -> None:
    assert appraised(form(token()).encode()).accepted


SIGNED = [
    NONCE,
    cca.PERSONALIZATION,
    INITIAL,
    *EXTENSIBLE,
    cca.IMPLEMENTATION,
    cca.INSTANCE,
    *COMPONENTS.values(),
    SIGNER,
]


@pytest.mark.parametrize("value", SIGNED, ids=range(len(SIGNED)))
def test_a_signed_value_that_changes_is_refused_as_not_signed(value: bytes) -> None:
    whole = token()
    place = whole.index(value) + len(value) - 1
    refused = appraised(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]).failed_step
    assert refused in {"platform-signature", "realm-signature"}


def test_no_change_of_a_few_bytes_is_accepted() -> None:
    draw = random.Random(47)
    for whole in (token(), token(legacy=True)):
        for _ in range(500):
            changed = bytearray(whole)
            for _ in range(draw.randint(1, 3)):
                place = draw.randrange(len(changed))
                match draw.randrange(3):
                    case 0:
                        changed[place] ^= 1 << draw.randrange(8)
                    case 1:
                        del changed[place]
                    case _:
                        changed.insert(place, draw.randrange(256))
            if changed != whole:
                assert not appraised(bytes(changed)).accepted, bytes(changed).hex()


PLATFORM = sign1(key("platform"), cbor(cca.platform_claims(bytes(32))))
REALM = sign1(key("realm"), cbor(cca.realm_claims(cca.cose_key(key("realm")))))
UNTAGGED = sign1(key("platform"), cbor(cca.platform_claims(bytes(32))), tagged=False)
WRONG: dict[str, tuple[bytes, str]] = {
    "no bytes": (b"", "parse"),
    "another tag": (cbor(Tag(398, {44234: PLATFORM, 44241: REALM})), "parse"),
    "no tag": (cbor({44234: PLATFORM, 44241: REALM}), "parse"),
    "bytes behind": (token() + b"\0", "parse"),
    "no realm": (cbor(Tag(399, {44234: PLATFORM})), "parse"),
    "a third part": (cca.collection(PLATFORM, REALM, more={1: b""}), "parse"),
    "an untagged signature": (cca.collection(UNTAGGED, REALM), "parse"),
    "messages of another type": (cbor(Tag(907, {44234: [264, PLATFORM], 44241: [264, REALM]})), "parse"),
    "messages with an indicator": (cbor(Tag(907, {44234: [263, PLATFORM, 2], 44241: [263, REALM]})), "parse"),
    "messages of nothing": (cbor(Tag(907, {44234: [], 44241: [263, REALM]})), "parse"),
    "a message that is text": (cbor(Tag(907, {44234: [263, "x"], 44241: [263, REALM]})), "parse"),
    "another platform": (token(platform_signer=key("stranger")), "platform-signature"),
    "a platform on another curve": (token(platform_signer=key("small", 256)), "platform-signature"),
    "another realm's signature": (token(realm_signer=key("stranger")), "realm-signature"),
    "a realm's signature on another curve": (token(realm_signer=key("small", 256)), "realm-signature"),
    "a key that the platform does not know": (token(challenge=bytes(64)), "binding"),
    "a key by half of its hash": (token(challenge=bytes(32)), "binding"),
    "debug": (token(platform={2395: 0x4000}), "lifecycle"),
    "recoverable debug": (token(platform={2395: 0x5001}), "lifecycle"),
    "a platform that is not provisioned": (token(platform={2395: 0x2000}), "lifecycle"),
    "an unknown state": (token(platform={2395: 0x00FF}), "lifecycle"),
    "a decommissioned platform": (token(platform={2395: 0x6000}), "lifecycle"),
    "no state": (token(platform={2395: 0x3103}), "parse"),
    "a state of 24 bits": (token(platform={2395: 0x13000}), "parse"),
    "a negative state": (token(platform={2395: -1}), "parse"),
    "another profile": (token(platform={265: "tag:arm.com,2023:cca_platform#2.0.0"}), "parse"),
    "another realm profile": (token(realm={265: "tag:arm.com,2023:realm#2.0.0"}), "parse"),
    "an instance id of another kind": (token(platform={256: b"\2" + bytes(32)}), "parse"),
    "a short implementation id": (token(platform={2396: bytes(31)}), "parse"),
    "no components": (token(platform={2399: []}), "parse"),
    "65 components": (token(platform={2399: [{2: bytes(32), 5: bytes(32)}] * 65}), "parse"),
    "a component without a signer": (token(platform={2399: [{2: bytes(32)}]}), "parse"),
    "a component of another size": (token(platform={2399: [{2: bytes(48), 5: bytes(32)}]}), "parse"),
    "a component by MD5": (token(platform={2399: [{2: bytes(16), 5: bytes(32), 6: "md5"}]}), "parse"),
    "a component that is text": (token(platform={2399: ["x"]}), "parse"),
    "a short nonce": (token(realm={10: bytes(32)}), "parse"),
    "several nonces": (token(realm={10: [NONCE, NONCE]}), "parse"),
    "three extensible measurements": (token(realm={44239: [bytes(32)] * 3}), "parse"),
    "extensible measurements of another size": (token(realm={44239: [bytes(48)] * 4}), "parse"),
    "extensible measurements of another size than the first": (token(realm={44239: [bytes(64)] * 4}), "parse"),
    "an initial measurement of another size": (token(realm={44238: bytes(48), 44239: [bytes(48)] * 4}), "parse"),
    "measurements by SHA-1": (token(realm={44236: "sha-1"}), "parse"),
    "a key hash that nobody knows": (token(realm={44240: "sha-224"}), "parse"),
    "a realm's key as a point, in the later profile": (token(encoded_key=cca.point(key("realm"))), "parse"),
    "a COSE_Key in the first profile": (token(legacy=True, encoded_key=cca.cose_key(key("realm"))), "parse"),
    "a realm's key that is no point": (token(encoded_key=cca.cose_key(key("realm"), {-3: bytes(48)})), "parse"),
    "a realm's key that is compressed": (token(encoded_key=cca.cose_key(key("realm"), {-3: True})), "parse"),
    "a realm's key for signing by EdDSA": (token(encoded_key=cca.cose_key(key("realm"), {1: 1})), "parse"),
    **{f"without {name}": (token(without=[name]), "parse") for name in (10, 2396, 256, 2401, 2395, 2399, 2402)},
    **{f"without {name}": (token(without=[name]), "parse") for name in (44235, 44236, 44238, 44239)},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_token_against_the_rules_is_refused_at_its_step(name: str) -> None:
    data, step = WRONG[name]
    assert appraised(data).failed_step == step


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"implementation_ids": ["00" * 32]}, "platform"),
        ({"instance_ids": []}, "platform"),
        ({"components": [COMPONENTS["BL"].hex()]}, "components"),
        ({"signer_ids": ["00" * 32]}, "components"),
        ({"initial_measurements": ["00" * 32]}, "realm"),
        ({"personalization_values": ["00" * 64]}, "realm"),
        ({"extensible_measurements": {"3": [EXTENSIBLE[0].hex()]}}, "extensible-measurements"),
        ({"implementation_ids": None, "instance_ids": None}, "policy"),
        ({"require": []}, "policy"),
    ],
)
def test_a_genuine_token_that_is_not_as_expected_is_refused(changes: dict[str, Any], step: str) -> None:
    policy = parse_policy(json.dumps({**POLICY, **changes}).encode())
    assert appraised(token(), policy=policy, nonce=NONCE).failed_step == step


def test_another_nonce_is_refused_and_a_debug_platform_only_accepted_where_a_policy_says_so() -> None:
    assert appraised(token(), nonce=bytes(64)).failed_step == "nonce"
    policy = parse_policy(b'{"allow_debug": true}')
    assert appraised(token(platform={2395: 0x5000}), policy=policy).claims["debug"] is True
    assert appraised(token(platform={2395: 0x6000}), policy=policy).failed_step == "lifecycle"


@pytest.mark.parametrize("platform_key", [b"key", cca.pem()[:-40], b""])
def test_what_is_no_platform_key_is_refused(platform_key: bytes) -> None:
    assert appraised(token(), platform_key=platform_key).failed_step == "parse"


@pytest.mark.parametrize("policy", [{"components": ["00"]}, {"extensible_measurements": {"4": []}}, {"rim": []}])
def test_what_is_no_policy_is_malformed(policy: Any) -> None:
    with pytest.raises(MalformedError):
        parse_policy(json.dumps(policy).encode())


def test_the_command_needs_the_platforms_key(tmp_path: Path) -> None:
    files = written(tmp_path, {"token": token(), "key": cca.pem(), "policy": json.dumps(POLICY).encode()})
    words = ["cca", files["token"], "--platform-key", files["key"], "--policy", files["policy"]]
    assert found(*words, "--nonce", NONCE.hex())["accepted"]
    described = [(each["layer"], each["name"]) for each in found(*words[1:], "--nonce", NONCE.hex())["layers"]]
    assert ("product", f"implementation {cca.IMPLEMENTATION.hex()}") in described
    alone = attest("cca", files["token"])
    assert (alone.exit_code, "there is no public root of such keys" in alone.stderr) == (2, True)
