"""Policies are data; what they do not say is not accepted by accident."""

import json

import pytest

from carnet_ref.attestation.intel.collateral import TcbStatus
from carnet_ref.attestation.intel.policy import DEFAULT_STATUSES, KEYS, STEPS, Policy, parse_policy
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import PLATFORM, appraised


def test_a_policy_is_read_from_json() -> None:
    written = {
        "require": ["quote-signature", "tcb-status"],
        "allow_debug": True,
        "require_sept_ve_disable": False,
        "measurements": {"mrtd": ["00" * 48], "rtmr2": ["11" * 48, "0x" + "22" * 48]},
        "tcb_statuses": ["UpToDate"],
        "rejected_advisories": ["INTEL-SA-00837"],
        "minimum_evaluation_number": 17,
        "collateral_ttl": 86400,
        "quoting_enclave_signers": ["33" * 32],
    }
    assert parse_policy(json.dumps(written).encode()) == Policy(
        require=frozenset({"quote-signature", "tcb-status"}),
        allow_debug=True,
        require_sept_ve_disable=False,
        measurements=(("mrtd", frozenset({bytes(48)})), ("rtmr2", frozenset({b"\x11" * 48, b"\x22" * 48}))),
        tcb_statuses=frozenset({TcbStatus.UP_TO_DATE}),
        rejected_advisories=frozenset({"INTEL-SA-00837"}),
        minimum_evaluation_number=17,
        collateral_ttl=86400,
        quoting_enclave_signers=frozenset({b"\x33" * 32}),
    )


def test_an_empty_policy_asks_for_nothing_and_allows_no_debugging_and_no_revoked_platform() -> None:
    assert parse_policy(b"{}") == Policy()
    assert not Policy().allow_debug
    assert Policy().require_sept_ve_disable
    assert not DEFAULT_STATUSES & {status for status in TcbStatus if "OutOfDate" in status or "Revoked" in status}


def test_every_attribute_of_a_policy_is_a_key() -> None:
    assert set(KEYS) == set(Policy.__dataclass_fields__)


def test_an_empty_policy_accepts_nothing() -> None:
    assert appraised(policy=parse_policy(b"{}"), collateral=PLATFORM.collateral).failed_step == "policy"


def test_every_step_of_an_appraisal_can_be_asked_for_and_no_other() -> None:
    assert tuple(step.id for step in appraised(collateral=PLATFORM.collateral).steps) == STEPS


@pytest.mark.parametrize(
    "policy",
    [
        b"",
        b"[]",
        b'{"required": []}',
        b'{"require": ["everything"]}',
        b'{"require": "parse"}',
        b'{"allow_debug": 1}',
        b'{"require_sept_ve_disable": "no"}',
        b'{"measurements": []}',
        b'{"measurements": {"rtmr4": []}}',
        b'{"measurements": {"mrtd": ["00"]}}',
        b'{"measurements": {"mrtd": "00"}}',
        b'{"tcb_statuses": ["Fine"]}',
        b'{"collateral_ttl": "a day"}',
        b'{"quoting_enclave_signers": ["33"]}',
        b'{"quoting_enclave_signers": "' + b"33" * 32 + b'"}',
        b'{"minimum_evaluation_number": -1}',
        b'{"require": [], "require": ["parse"]}',
    ],
)
def test_a_policy_with_anything_unknown_is_malformed(policy: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_policy(policy)
