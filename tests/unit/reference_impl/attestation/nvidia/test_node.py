"""A whole node: every device by itself, and what one report cannot show of all together."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.nvidia.appraisal import (
    DEFAULT_NODE_POLICY,
    DEFAULT_POLICY,
    NodePolicy,
    Policy,
    parse_node_policy,
)
from carnet_ref.attestation.nvidia.node import appraise_node
from carnet_ref.attestation.nvidia.report import DeviceEvidence, Mode
from carnet_ref.wire import MalformedError
from tests.fixtures import nvidia_pki as pki
from tests.fixtures.nvidia_node import GPUS, SWITCHES, Member, ends, evidence, gpu, identifier, links, members, switch
from tests.fixtures.nvidia_pki import device

W = pki.world()
CHIPS = ("GB202", "GB203")
NODE = members()
FULL = NodePolicy(gpus=GPUS, switches=SWITCHES, require_links=True)


def appraised(node: list[Member], policy: NodePolicy = DEFAULT_NODE_POLICY, **given: Any) -> Appraisal:
    return appraise_node(evidence(node), at=pki.AT, policy=policy, anchors=W.anchors, **given)


def with_(place: int, member: Member) -> list[Member]:
    return [*NODE[:place], member, *NODE[place + 1 :]]


@pytest.mark.mends("E7")
def test_a_node_is_accepted_with_every_device_by_its_name_in_any_order() -> None:
    found = appraised(NODE, FULL, nonce=pki.NONCE)
    held = {step.id for step in found.steps if step.ok}
    assert found.accepted
    assert {f"gpu{place}.nonce" for place in range(GPUS)} | {
        f"switch{place}.nonce" for place in range(SWITCHES)
    } <= held
    assert {"parse", "count", "distinct", "kinds", "one-nonce", "one-driver", "one-mode", "links", "policy"} <= held
    assert (found.claims["gpus"], found.claims["switches"], found.claims["mode"]) == (GPUS, SWITCHES, "PPCIE")
    devices: Any = found.claims["devices"]
    assert [each["name"] for each in devices] == ["gpu0", "gpu1", "gpu2", "gpu3", "switch0", "switch1"]
    assert len({each["ueid"] for each in devices}) == GPUS + SWITCHES
    assert appraised([*reversed(NODE)], FULL).accepted
    assert appraised(NODE).not_compared == (
        "number of devices not compared",
        "revocation not checked",
        "not fresh",
        "firmware not compared",
        "mode not compared",
        "firmware id not stated",
    )


def forged() -> Member:
    """Return a GPU whose leaf another key signs for."""
    known = gpu()
    path = known.device.path
    return replace(known, device=pki.Device((*path[:-1], replace(path[-1], key=device(W.root).leaf.key))))


def same_key() -> list[Member]:
    """Return a node in which two certificates are of one key."""
    first = NODE[0].device
    return with_(1, replace(NODE[1], device=pki.Device((*first.path[:-1], _certified_anew(first)))))


def _certified_anew(known: pki.Device) -> pki.Authority:
    extensions = [(pki.dice(pki.FIRMWARE_ID), False)]
    return pki.issue("GH100 A01 GSP FMC LF", known.path[-2], ca=False, extensions=extensions, key=known.leaf.key)


REFUSED: dict[str, tuple[str, str, Callable[[], list[Member]]]] = {
    "a device twice": ("distinct", "gpu4 and gpu0 are one device", lambda: [*NODE, NODE[0]]),
    "a key twice": ("distinct", "gpu1 and gpu0 are one device", same_key),
    "another nonce": ("one-nonce", "differ in their nonce", lambda: with_(2, replace(NODE[2], nonce=bytes(32)))),
    "another nonce of a switch": ("one-nonce", "differ", lambda: with_(5, replace(NODE[5], nonce=bytes(32)))),
    "another driver": ("one-driver", "550.90.07, 550.90.08", lambda: with_(1, NODE[1].saying(field3=b"550.90.08\0"))),
    "another mode": ("one-mode", "PPCIE, none", lambda: with_(1, NODE[1].saying(field21=b"\x55"))),
    "a signature of somebody else": ("gpu3.signature", "does not verify", lambda: with_(3, forged())),
    "no GPU": ("count", "a node has a GPU; give the evidence of its GPUs, too", lambda: NODE[GPUS:]),
    "a GPU that passes for a switch": (
        "kinds",
        "switch0 is a GH100 and states no driver",
        lambda: with_(3, NODE[3].saying(field3=None)),
    ),
    "GPUs that name other switches": (
        "links",
        "the GPUs differ in which switches",
        lambda: with_(0, NODE[0].saying(field22=links(1))),
    ),
    "a GPU without links among others": (
        "links",
        "the GPUs differ in which switches",
        lambda: with_(0, NODE[0].saying(field22=None)),
    ),
    "a switch that is not here": ("links", "which shows no evidence", lambda: NODE[:-1]),
    "a switch too many": ("links", "is linked to none of the GPUs", lambda: [*NODE, switch(SWITCHES)]),
    "two switches of one name": (
        "links",
        "the same identifier",
        lambda: with_(5, NODE[5].saying(field22=identifier("switch", 0)[::-1])),
    ),
    "a switch with its name the wrong way round": (
        "links",
        "which shows no evidence",
        lambda: with_(5, NODE[5].saying(field22=identifier("switch", 1))),
    ),
    "a switch without a name": (
        "links",
        "does not state its identifier",
        lambda: with_(5, NODE[5].saying(field22=None)),
    ),
    "a switch that is linked to fewer GPUs": (
        "links",
        "the switches differ in which GPUs",
        lambda: with_(5, NODE[5].saying(field26=ends(GPUS - 1))),
    ),
    "a GPU that shows no evidence": ("links", "linked to 4 GPUs, and 3 show evidence", lambda: NODE[1:]),
    "a switch that names no GPUs": ("links", "does not say which GPUs", lambda: with_(5, NODE[5].saying(field26=None))),
    "links of half an identifier": ("links", "are no list of", lambda: with_(0, NODE[0].saying(field22=bytes(12)))),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_at_its_step(what: str) -> None:
    step, reason, node = REFUSED[what]
    found = appraised(node())
    assert (found.failed_step, reason in found.steps[-1].detail) == (step, True), found.steps[-1]
    assert not found.claims


@pytest.mark.parametrize(
    ("policy", "step"),
    [
        (replace(FULL, gpus=GPUS + 1), "count"),
        (replace(FULL, switches=0), "count"),
        (replace(FULL, device=Policy()), "gpu0.policy"),
        (NodePolicy(device=Policy(require=frozenset({"nonce"}))), "gpu0.policy"),
        (NodePolicy(device=Policy(require=frozenset({"signature"}), products=frozenset({"GH100"}))), "switch0.policy"),
        (NodePolicy(device=Policy(require=frozenset({"signature"}), modes=frozenset({Mode.SINGLE_GPU}))), "gpu0.mode"),
        (NodePolicy(device=Policy(require=frozenset({"firmware-id"}), modes=frozenset({Mode.PROTECTED_PCIE}))), None),
    ],
)
def test_a_policy_is_asked_of_each_device_and_of_all(policy: NodePolicy, step: str | None) -> None:
    assert appraised(NODE, policy).failed_step == step


ANOTHER_MODE = {"field21": b"\x55"}
NOT_ASKED = NodePolicy(require_links=False)


@pytest.mark.mends("R402")
@pytest.mark.parametrize("changes", [{}, {"field22": None}], ids=["named switches", "no names"])
def test_a_node_is_not_accepted_without_its_switches_in_protected_mode_unless_the_policy_says(
    changes: dict[str, bytes | None],
) -> None:
    found = appraised([member.saying(**changes) for member in NODE[:GPUS]])
    assert (found.failed_step, "which GPUs in the mode PPCIE need" in found.steps[-1].detail) == ("policy", True)
    protected = [member.saying(**changes) for member in NODE[:GPUS]]
    others = [member.saying(**ANOTHER_MODE) for member in protected]
    for found in (appraised(others), appraised(protected, NOT_ASKED)):
        assert (found.accepted, "links not compared" in found.not_compared) == (True, True)
    assert appraised(others, NodePolicy(require_links=True)).failed_step == "policy"
    alone = appraised(protected[:1])
    assert (alone.accepted, "links not compared" in alone.not_compared) == (True, True)
    assert appraised(protected[:1], NodePolicy(require_links=True)).failed_step == "policy"


def test_reference_values_and_replies_are_given_once_for_the_node_and_none_may_be_missing() -> None:
    replies = [reply for member in NODE for reply in member.replies()]
    found = appraised(NODE, nonce=pki.NONCE, rims=W.rims(), ocsp=[*replies, *W.rim_replies()])
    held = {step.id for step in found.steps if step.ok}
    assert found.accepted, found.steps[-1]
    assert {f"gpu{place}.{step}" for place in range(GPUS) for step in ("measurements", "rim-revocation")} <= held
    assert {f"switch{place}.revocation" for place in range(SWITCHES)} <= held
    assert appraised(NODE, ocsp=replies[:-1]).failed_step == "switch1.revocation"


def test_a_device_of_another_version_is_held_to_reference_values_of_that_version() -> None:
    driver, vbios = W.rims()
    golden = {index: [pki.measurement(index)] for index in pki.DRIVER_INDICES}
    newer = pki.sign_rim(pki.rim_xml("550.90.08", golden), W.rim_signer, W.rim_root)
    node = [member.saying(field3=b"550.90.08\0") for member in NODE[:GPUS]]
    assert appraised(node, rims=(driver, vbios)).failed_step == "gpu0.driver-rim"
    assert appraised(node, NOT_ASKED, rims=(driver, newer, vbios)).accepted
    again = pki.sign_rim(pki.rim_xml("550.90.08", golden | {0: [bytes(48)]}), W.rim_signer, W.rim_root)
    assert appraised(node, rims=(newer, again)).failed_step == "gpu0.parse"


def test_a_node_of_blackwell_is_held_to_reference_values_for_the_chip_that_its_reports_name() -> None:
    golden = {index: [pki.measurement(index)] for index in pki.DRIVER_INDICES}
    rims = {chip: pki.sign_rim(pki.rim_xml(pki.DRIVER, golden, chip), W.rim_signer, W.rim_root) for chip in CHIPS}
    gpus = [gpu(device(W.root, product="GB20X")).saying(field35=b"GB202\0") for _ in range(2)]
    mixed = [gpus[0], gpus[1].saying(field35=b"GB203\0")]
    assert appraised(gpus, NOT_ASKED, rims=[rims["GB202"]]).accepted
    assert appraised(mixed, NOT_ASKED, rims=[rims["GB202"], rims["GB203"]]).accepted
    assert appraised(gpus, NOT_ASKED, rims=[rims["GB203"]]).failed_step == "rims"
    assert appraised(gpus, NOT_ASKED, rims=[rims["GB202"], rims["GB203"]]).failed_step == "rims"


def test_what_is_about_no_device_and_a_device_under_another_root_are_refused() -> None:
    stranger = pki.sign_rim(pki.rim_xml("1", {0: [pki.measurement(0)]}, "GB100"), W.rim_signer, W.rim_root)
    assert appraised(NODE, rims=[stranger]).failed_step == "rims"
    assert appraised(NODE, ocsp=gpu().replies()).failed_step == "revocation"
    other = replace(NODE[1], device=device(pki.issue("Another Device Identity CA", None)))
    assert appraised(with_(1, other)).failed_step == "gpu1.chain"
    assert appraised(with_(1, other), ocsp=other.replies()).failed_step == "gpu1.chain"


@pytest.mark.parametrize("given", [{"rims": [b"<no/>"]}, {"ocsp": [b"none"]}])
def test_what_cannot_be_read_is_refused_at_parse(given: dict[str, Any]) -> None:
    assert appraised(NODE, **given).failed_step == "parse"


@pytest.mark.parametrize(
    "device",
    [
        DeviceEvidence("", b"", NODE[0].device.chain()),
        DeviceEvidence("", NODE[0].evidence().report, b""),
        DeviceEvidence("", NODE[0].evidence().report, None),
    ],
)
def test_a_device_that_cannot_be_read_is_refused_at_parse(device: DeviceEvidence) -> None:
    found = appraise_node([*evidence(NODE), device], at=pki.AT, policy=DEFAULT_NODE_POLICY, anchors=W.anchors)
    assert (found.failed_step, "device 6" in found.steps[-1].detail) == ("parse", True)


def test_a_policy_is_read_from_json() -> None:
    written = {"require": ["signature"], "minimum_driver": "550", "gpus": 8, "switches": 4, "require_links": True}
    device = Policy(require=DEFAULT_POLICY.require | {"signature"}, minimum_driver="550")
    assert parse_node_policy(json.dumps(written).encode()) == NodePolicy(device, 8, 4, require_links=True)
    assert parse_node_policy(b"{}") == NodePolicy(Policy(), require_links=None)
    assert parse_node_policy(b'{"require_links": false}') == NodePolicy(DEFAULT_POLICY, require_links=False)


@pytest.mark.parametrize(
    "policy",
    [
        b"",
        b"[]",
        b'{"gpus": 0}',
        b'{"gpus": true}',
        b'{"switches": -1}',
        b'{"switches": "4"}',
        b'{"require_links": 1}',
        b'{"links": true}',
        b'{"require": ["links"]}',
        b'{"gpus": 1, "gpus": 2}',
    ],
)
def test_a_policy_with_anything_unknown_is_malformed(policy: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_node_policy(policy)
