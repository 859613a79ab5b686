"""Reference values in CoRIM: a token that is as published is accepted, and nothing else is because of them."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.attestation.appraisal import Anchors, Appraisal
from carnet_ref.attestation.cca.appraisal import DEFAULT_POLICY, Policy, parse_policy
from carnet_ref.attestation.corim import parse_corim
from carnet_ref.attestation.formats import AppraisalContext, NeedsOptionError, OptionValues, appraise_files
from carnet_ref.attestation.kinds import CORIM, kind_of
from carnet_ref.wire import MalformedError
from tests.fixtures import cca_tokens as cca
from tests.fixtures import corims
from tests.fixtures.cbor_encoding import Tag, cbor
from tests.fixtures.cca_tokens import COMPONENTS, EXTENSIBLE, IMPLEMENTATION, INITIAL, key, token
from tests.fixtures.command_words import attest, found, written
from tests.fixtures.corims import component, config, environment, manifest, of_platform, of_realm, signed, software
from tests.fixtures.nitro_documents import AT

BOTH = parse_policy(b'{"require": ["platform-references", "realm-references"]}')
DAY = timedelta(days=1)


def appraised(
    *manifests: bytes,
    data: bytes | None = None,
    policy: Policy = DEFAULT_POLICY,
    platform_key: bytes | None = cca.pem(),
    reference_key: bytes | None = None,
) -> Appraisal:
    given = {"platform-key": platform_key, "nonce": None, "reference": manifests, "reference-key": reference_key}
    against = AppraisalContext(AT, policy, Anchors({}))
    return appraise_files("cca", [token() if data is None else data], OptionValues(given), against)


def test_a_token_as_published_is_accepted_and_compared() -> None:
    appraisal = appraised(of_platform(), of_realm(), policy=BOTH)
    assert appraisal.accepted, appraisal.steps
    assert appraisal.not_compared == ("signer of reference values not checked", "not fresh")
    one = appraised(of_realm())
    assert (one.accepted, "platform not compared" in one.not_compared) == (True, True)
    assert appraised(of_realm(), policy=BOTH).failed_step == "policy"


@pytest.mark.parametrize("maker", [key("maker"), key("maker", 256)])
def test_a_signed_manifest_is_checked_by_the_key_that_is_given(maker: Any) -> None:
    made = signed(of_platform(), signer=maker)
    appraisal = appraised(made, reference_key=cca.pem(maker))
    assert appraisal.accepted, appraisal.steps
    assert "signer of reference values not checked" not in appraisal.not_compared
    assert appraised(made).not_compared[0] == "signer of reference values not checked"
    assert appraised(made, reference_key=cca.pem(key("stranger"))).failed_step == "references"
    assert appraised(of_platform(), reference_key=cca.pem(maker)).failed_step == "references"
    assert appraised(signed(of_platform()), of_realm(), reference_key=cca.pem(key("maker"))).failed_step == "references"
    assert appraised(reference_key=cca.pem(maker)).failed_step == "references"
    assert kind_of(made) == kind_of(of_platform()) == CORIM


@pytest.mark.parametrize(
    ("period", "step"),
    [
        ((AT - DAY, AT + DAY), None),
        ((AT, AT), None),
        ((AT - 2 * DAY, AT - DAY), "references"),
        ((AT + DAY, AT + 2 * DAY), "references"),
    ],
)
def test_a_manifest_counts_in_its_period_and_in_that_of_its_signature(period: Any, step: str | None) -> None:
    assert appraised(of_platform(period=period)).failed_step == step
    assert appraised(signed(of_platform(), period=period)).failed_step == step
    wide = (AT - 30 * DAY, AT + 30 * DAY)
    assert appraised(signed(of_platform(period=wide), period=period)).failed_step == step
    claims = {15: {1: "a maker", 5: int(period[0].timestamp()), 4: int(period[1].timestamp())}}
    assert appraised(signed(of_platform(period=wide), period=wide, header=claims)).failed_step == step


@pytest.mark.parametrize("claims", [{4: "late"}, {4: -1}, {5: True}, 1])
def test_claims_of_a_header_that_say_no_time_are_malformed(claims: Any) -> None:
    assert appraised(signed(of_platform(), header={15: claims})).failed_step == "parse"


def test_the_key_of_a_platform_is_found_in_a_manifest() -> None:
    found_key = appraised(manifest(keys=[corims.key_record()]), platform_key=None)
    assert found_key.accepted
    for records in ([corims.key_record(instance=b"\1" + bytes(32))], [corims.key_record(key("stranger"))]):
        other = manifest(keys=records)
        if records[0][0][1].value == cca.INSTANCE:
            assert appraised(other, platform_key=None).failed_step == "platform-signature"
        else:
            with pytest.raises(NeedsOptionError):
                appraised(other, platform_key=None)
    two = manifest(keys=[corims.key_record(), corims.key_record(key("stranger"))])
    assert appraised(two, platform_key=None).failed_step == "parse"
    assert appraised(manifest(keys=[corims.key_record(key("stranger"))])).accepted, "the key that was given counts"


OTHER_COMPONENTS = [{1: name, 2: value, 4: "1.0", 5: cca.SIGNER} for name, value in COMPONENTS.items()]
BL, RMM = software()[:2]
DIFFERENT: dict[str, bytes] = {
    "another implementation": manifest([[environment(bytes(32)), software()]]),
    "another instance": of_platform(instance=b"\1" + bytes(32)),
    "another digest": of_platform([component("BL", {2: [[1, bytes(32)]]}), RMM]),
    "a digest by another hash": of_platform([component("BL", {2: [[7, COMPONENTS["BL"]]]}), RMM]),
    "no digest": of_platform([{0: "cca.software-component", 1: {11: "BL", 13: [Tag(560, cca.SIGNER)]}}, RMM]),
    "another signer": of_platform([component("BL", {13: [Tag(560, bytes(32))]}), RMM]),
    "no signer": of_platform([{0: BL[0], 1: {number: each for number, each in BL[1].items() if number != 13}}, RMM]),
    "another name": of_platform([component("BL", {11: "BL2"}), RMM]),
    "another version": of_platform([component("BL", {0: {0: "1.1"}}), RMM]),
    "a component that is not published": of_platform([BL]),
    "a component that is not there": of_platform([BL, RMM, component("BL", {11: "BL3"})]),
    "another configuration": of_platform([BL, RMM, config(Tag(563, [b"\xd0", b"\xf0"]))]),
    "a configuration of another size": of_platform([BL, RMM, config(Tag(560, b"\xcf\xcf"))]),
    "a configuration with a name": of_platform([BL, RMM, {0: config()[0], 1: {**config()[1], 11: "x"}}]),
    "a configuration with a digest": of_platform([BL, RMM, {0: config()[0], 1: {**config()[1], 2: [[1, bytes(32)]]}}]),
    "a value of another kind": of_platform([BL, RMM, {0: "cca.other", 1: {2: [[1, bytes(32)]]}}]),
    "two records that fit together": manifest([[environment(), [BL]], [environment(), [RMM]]]),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_platform_that_is_not_as_published_is_refused(name: str) -> None:
    assert appraised(DIFFERENT[name]).failed_step == "platform-references"


@pytest.mark.parametrize(
    "values",
    [
        [BL, RMM],
        [*software(), config(Tag(560, b"\xcf"))],
        [component("BL", {2: [["sha-512", bytes(64)], ["sha-256", COMPONENTS["BL"]]]}), RMM],
        [{0: BL[0], 1: {2: BL[1][2], 13: BL[1][13]}}, RMM],
    ],
    ids=["without its configuration", "all bits of it", "several digests", "without names"],
)
def test_a_manifest_may_say_less_or_more_of_what_is_there(values: Any) -> None:
    assert appraised(of_platform(values)).accepted
    other = manifest([[environment(), [BL]], [environment(instance=cca.INSTANCE), values]])
    assert appraised(other).accepted, "one record that fits is enough"


REM = corims.realm_values()
OTHER_REALM: dict[str, bytes] = {
    "another initial measurement": of_realm(rim=bytes(32)),
    "no initial measurement": of_realm(REM[1:]),
    "an initial measurement that differs from its id": of_realm([corims.measured("cca.rim", bytes(32))]),
    "another extensible measurement": of_realm([REM[0], corims.measured("cca.rem0", EXTENSIBLE[1])]),
    "a fifth extensible measurement": of_realm([REM[0], corims.measured("cca.rem4", EXTENSIBLE[1])]),
    "another personalization value": of_realm([REM[0], {0: "cca.rpv", 1: {4: Tag(560, bytes(64))}}]),
    "a personalization value with a digest": of_realm([REM[0], {0: "cca.rpv", 1: {**REM[-1][1], 2: [[1, bytes(32)]]}}]),
    "an initial measurement with a name": of_realm([{0: "cca.rim", 1: {**REM[0][1], 11: ""}}]),
    "half of a personalization value": of_realm([REM[0], {0: "cca.rpv", 1: {4: Tag(563, [bytes(64), bytes(64)])}}]),
}


@pytest.mark.parametrize("name", OTHER_REALM)
def test_a_realm_that_is_not_as_published_is_refused(name: str) -> None:
    assert appraised(OTHER_REALM[name]).failed_step == "realm-references"


# -- what is not understood is refused, because it might be a condition ----------------------------------


def in_module(module: Any) -> bytes:
    return manifest(changes={1: [Tag(506, cbor(module))]})


MODULE = {1: {0: bytes(16)}, 4: {0: [[environment(), software()]]}}
WRONG: dict[str, bytes] = {
    "no bytes": b"",
    "another tag": of_platform(tag=500),
    "bytes behind": of_platform() + b"\0",
    "no profile": of_platform(changes={3: None}),
    "a profile as text": of_platform(profile=corims.PLATFORM),
    "another profile": of_platform(profile=Tag(32, "tag:arm.com,2025:psa#1.0.0")),
    "a tag that is no CoMID": manifest(changes={1: [Tag(505, b"")]}),
    "an unknown part": of_platform(changes={6: 1}),
    "no records": manifest(),
    "a CoMID that is no bytes": manifest(changes={1: [Tag(506, {})]}),
    "an unknown part of a CoMID": in_module({**MODULE, 5: 1}),
    "a record of three": in_module({**MODULE, 4: {0: [[environment(), software(), {}]]}}),
    "a record without values": in_module({**MODULE, 4: {0: [[environment(), []]]}}),
    "an environment with a vendor": manifest([[{0: {0: Tag(560, IMPLEMENTATION), 1: "ACME"}}, software()]]),
    "an environment with a group": manifest([[{**environment(), 2: Tag(560, b"x")}, software()]]),
    "a class by a UUID": manifest([[{0: {0: Tag(37, bytes(16))}}, software()]]),
    "a value with authorities": of_platform([{**BL, 2: [Tag(560, b"x")]}]),
    "a value with a security version": of_platform([component("BL", {1: 1})]),
    "a value with flags": of_platform([component("BL", {3: {0: True}})]),
    "a version with a scheme": of_platform([component("BL", {0: {0: "1.0", 1: 1}})]),
    "a value without a key": of_platform([{1: BL[1]}]),
    "a digest as the examples of a draft have it": of_platform([component("BL", {2: ["sha-256", COMPONENTS["BL"]]})]),
    "a digest by true": of_platform([component("BL", {2: [[True, COMPONENTS["BL"]]]})]),
    "a digest by SHA-1": of_platform([component("BL", {2: [["sha-1", bytes(20)]]})]),
    "a mask of another size": of_platform([config(Tag(563, [b"\0", b""]))]),
    "a raw value that is text": of_platform([config("x")]),
    "two keys of a platform": manifest(keys=[[environment(instance=cca.INSTANCE), [Tag(554, "x"), Tag(554, "x")]]]),
    "a key that is none": manifest(keys=[[environment(instance=cca.INSTANCE), [Tag(554, "x")]]]),
    "a time that is text": of_platform(changes={4: {1: Tag(1, "now")}}),
    "a time that is true": of_platform(changes={4: {1: Tag(1, True)}}),
    "a time after all years": of_platform(changes={4: {1: Tag(1, 1 << 60)}}),
    "a period without an end": of_platform(changes={4: {0: Tag(1, 0)}}),
    "another content type": signed(of_platform(), content_type="application/cbor"),
    "a critical parameter": signed(of_platform(), header={2: [8]}),
    "a payload of another kind": signed(cbor({})),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_understood_is_refused(name: str) -> None:
    assert appraised(WRONG[name]).failed_step == "parse"


def test_no_change_of_a_signed_manifest_is_accepted() -> None:
    draw, whole = random.Random(48), signed(of_platform())
    for _ in range(1000):
        changed = bytearray(whole)
        place = draw.randrange(len(changed))
        match draw.randrange(3):
            case 0:
                changed[place] ^= 1 << draw.randrange(8)
            case 1:
                del changed[place]
            case _:
                changed.insert(place, draw.randrange(256))
        if changed != whole:
            assert not appraised(bytes(changed), reference_key=cca.pem(key("maker"))).accepted, bytes(changed).hex()


def test_a_class_of_objects_beside_means_nothing() -> None:
    with pytest.raises(MalformedError, match="tag 560"):
        parse_corim(manifest([[{0: {0: Tag(111, b"\x2a")}}, software()]]))


def test_the_command_takes_manifests_and_a_folder_of_them(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    made = {"platform": signed(of_platform(), signer=key("maker")), "realm": signed(of_realm())}
    written(tmp_path / "manifests", made)
    files = written(tmp_path, {"token": token(), "key": cca.pem(), "maker": cca.pem(key("maker"))})
    words = ["cca", files["token"], "--platform-key", files["key"], "--reference", str(tmp_path / "manifests")]
    shown = found(*words, "--reference-key", files["maker"])
    assert (shown["accepted"], shown["not_compared"]) == (True, ["not fresh"])
    refused = attest("cca", files["token"], "--platform-key", files["key"], "--reference", files["token"])
    assert (refused.exit_code, "a manifest of reference values" in " ".join(refused.stdout.split())) == (1, True)
    assert INITIAL.hex() in str(shown["claims"])
