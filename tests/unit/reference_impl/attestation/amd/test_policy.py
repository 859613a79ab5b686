"""Policies are data; what they do not say is not accepted by accident."""

from __future__ import annotations

import json

import pytest

from carnet_ref.attestation.amd.policy import DEFAULT_POLICY, DEFAULT_STEPS, KEYS, STEPS, Policy, parse_policy
from carnet_ref.attestation.amd.report import Product
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_snp import appraised

EVERYTHING = {
    "require": ["signature", "measurement"],
    "allow_debug": True,
    "allow_migration_agent": True,
    "allow_smt": False,
    "allow_cxl": False,
    "allow_masked_chip_id": True,
    "required_guest_policy": ["SINGLE_SOCKET", "CIPHERTEXT_HIDING_DRAM"],
    "required_platform_info": ["ECC_EN", "ALIAS_CHECK_COMPLETE"],
    "maximum_vmpl": 0,
    "minimum_guest_svn": 3,
    "minimum_tcb": {"Milan": {"snp": 24, "microcode": 219}, "Turin": {"fmc": 1}},
    "minimum_launch_tcb": {"Genoa": {}},
    "measurements": ["00" * 48, "11" * 48],
    "host_data": ["22" * 32],
    "id_key_digests": ["33" * 48],
    "author_key_digests": [],
}


def test_a_policy_is_read_from_json() -> None:
    assert tuple(EVERYTHING) == KEYS
    assert parse_policy(json.dumps(EVERYTHING).encode()) == Policy(
        require=frozenset({"signature", "measurement"}),
        allow_debug=True,
        allow_migration_agent=True,
        allow_smt=False,
        allow_cxl=False,
        allow_masked_chip_id=True,
        required_guest_policy=frozenset({"SINGLE_SOCKET", "CIPHERTEXT_HIDING_DRAM"}),
        required_platform_info=frozenset({"ECC_EN", "ALIAS_CHECK_COMPLETE"}),
        maximum_vmpl=0,
        minimum_guest_svn=3,
        minimum_tcb={Product.MILAN: {"snp": 24, "microcode": 219}, Product.TURIN: {"fmc": 1}},
        minimum_launch_tcb={Product.GENOA: {}},
        measurements=frozenset({bytes(48), b"\x11" * 48}),
        host_data=frozenset({b"\x22" * 32}),
        id_key_digests=frozenset({b"\x33" * 48}),
        author_key_digests=frozenset(),
    )


def test_an_empty_policy_asks_for_nothing_and_allows_the_host_nothing_more() -> None:
    assert parse_policy(b"{}") == Policy()
    assert not any((Policy().allow_debug, Policy().allow_migration_agent, Policy().allow_masked_chip_id))


def test_an_empty_policy_accepts_nothing() -> None:
    assert appraised(policy=parse_policy(b"{}")).failed_step == "policy"


def test_every_step_of_an_appraisal_can_be_asked_for_and_no_other() -> None:
    assert tuple(step.id for step in appraised().steps) == STEPS


def test_the_default_policy_asks_for_what_every_genuine_report_can_show() -> None:
    assert Policy(require=DEFAULT_STEPS) == DEFAULT_POLICY
    assert {step.id for step in appraised().steps if step.ok} - {"parse", "policy"} == DEFAULT_STEPS | {"chip-id"}


@pytest.mark.parametrize(
    "policy",
    [
        b"",
        b"[]",
        b'{"required": []}',
        b'{"require": ["everything"]}',
        b'{"require": "parse"}',
        b'{"require": [], "require": ["parse"]}',
        b'{"allow_debug": 1}',
        b'{"allow_smt": "no"}',
        b'{"required_guest_policy": ["DEBUG"]}',
        b'{"required_guest_policy": ["SMT"]}',
        b'{"required_platform_info": ["ECC"]}',
        b'{"required_platform_info": "ECC_EN"}',
        b'{"maximum_vmpl": 4}',
        b'{"maximum_vmpl": -1}',
        b'{"minimum_guest_svn": "3"}',
        b'{"minimum_tcb": []}',
        b'{"minimum_tcb": {"snp": 3}}',
        b'{"minimum_tcb": {"Naples": {}}}',
        b'{"minimum_tcb": {"Milan": {"fmc": 1}}}',
        b'{"minimum_tcb": {"Milan": {"snp": -1}}}',
        b'{"minimum_tcb": {"Milan": 3}}',
        b'{"measurements": ["00"]}',
        b'{"measurements": "00"}',
        b'{"host_data": ["%s"]}' % (b"00" * 48),
        b'{"id_key_digests": [1]}',
    ],
)
def test_a_policy_with_anything_unknown_is_malformed(policy: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_policy(policy)
