"""The steps about the guest: what it asked with, what its host may do to it, and what it was launched as."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.attestation.amd.policy import DEFAULT_POLICY, PROTECTING
from carnet_ref.attestation.amd.report import PLATFORM_BITS, POLICY_BITS, GuestPolicy, PlatformInfo
from carnet_ref.crypto.primitives import sha256
from tests.fixtures.simulated_snp import REPORT_DATA, appraised, changed, chip

ORDINARY = 0x3001F
BITS = {name: 1 << bit for bit, name in POLICY_BITS.items()}
PLATFORM = {name: 1 << bit for bit, name in PLATFORM_BITS.items()}
DIGEST, OTHER_DIGEST = b"\x11" * 48, b"\x22" * 48


def failed(report: bytes | None = None, **asked: Any) -> str | None:
    """Return the step that refuses a report under the default policy with other answers to some questions."""
    return appraised(report, policy=replace(DEFAULT_POLICY, **asked)).failed_step


@pytest.mark.parametrize(
    ("report_data", "step"), [(REPORT_DATA, None), (bytes(64), "report-data"), (b"", "report-data")]
)
def test_report_data_is_compared_where_it_is_known(report_data: bytes, step: str | None) -> None:
    assert appraised(report_data=report_data).failed_step == step


def test_a_report_is_over_the_hash_of_the_run_time_data_beside_it() -> None:
    runtime = b'{"keys":[]}'
    bound = changed(report_data=sha256(runtime) + bytes(32))
    appraisal = appraised(bound, runtime_data=runtime)
    assert (appraisal.accepted, appraisal.claims["runtime_data_sha256"]) == (True, sha256(runtime).hex())
    assert appraised(bound, runtime_data=runtime + b" ").failed_step == "runtime-data"
    longer = changed(report_data=sha256(runtime) + bytes(31) + b"\1")
    assert appraised(longer, runtime_data=runtime).failed_step == "runtime-data"


def test_a_debug_guest_is_refused_unless_the_policy_allows_it() -> None:
    debug = changed(policy=GuestPolicy(ORDINARY | BITS["DEBUG"]))
    assert failed(debug) == "debug"
    appraisal = appraised(debug, policy=replace(DEFAULT_POLICY, allow_debug=True))
    assert (appraisal.accepted, appraisal.claims["guest_policy"]) == (True, ["DEBUG", "SMT"])


@pytest.mark.parametrize(
    "fields",
    [
        {"policy": GuestPolicy(ORDINARY | BITS["MIGRATE_MA"])},
        {"migration_agent_report_id": b"\x33" * 32},
    ],
    ids=["may have one", "has one"],
)
def test_a_migration_agent_is_refused_unless_the_policy_allows_it(fields: dict[str, Any]) -> None:
    assert failed(changed(**fields)) == "migration"
    assert failed(changed(**fields), allow_migration_agent=True) is None


def test_a_guest_without_an_agent_has_its_report_id_all_ones_or_all_zeros() -> None:
    assert failed(changed(migration_agent_report_id=bytes(32))) is None


@pytest.mark.parametrize(("word", "option"), [("SMT", "allow_smt"), ("CXL_ALLOW", "allow_cxl")])
def test_what_opens_side_channels_is_for_the_policy_to_forbid(word: str, option: str) -> None:
    report = changed(policy=GuestPolicy(ORDINARY | BITS[word]))
    assert failed(report) is None
    assert failed(report, **{option: False}) == "guest-policy"
    without = changed(policy=GuestPolicy(ORDINARY & ~BITS[word]))
    assert failed(without, **{option: False}) is None


@pytest.mark.parametrize("bits", [ORDINARY | 1 << 26, ORDINARY | 1 << 63, ORDINARY & ~(1 << 17)])
def test_bits_of_the_guest_policy_that_mean_nothing_here_are_refused(bits: int) -> None:
    assert failed(changed(policy=GuestPolicy(bits))) == "guest-policy"


@pytest.mark.parametrize("word", PROTECTING)
def test_a_bit_that_protects_the_guest_can_be_asked_for(word: str) -> None:
    asked = frozenset({word})
    assert failed(required_guest_policy=asked) == "guest-policy"
    assert failed(changed(policy=GuestPolicy(ORDINARY | BITS[word])), required_guest_policy=asked) is None


@pytest.mark.parametrize("word", PLATFORM)
def test_a_bit_of_the_platform_can_be_asked_for(word: str) -> None:
    asked = frozenset({word})
    with_it = changed(platform=PlatformInfo(PLATFORM[word]))
    without = changed(platform=PlatformInfo(0xFF & ~PLATFORM[word]))
    assert failed(with_it, required_platform_info=asked) is None
    assert failed(without, required_platform_info=asked) == "platform-info"


@pytest.mark.parametrize(
    ("vmpl", "maximum", "step"),
    [(0, 0, None), (1, 0, "vmpl"), (3, 3, None), (4, 3, "vmpl"), (0xFFFFFFFF, 3, "vmpl")],
)
def test_a_report_is_asked_for_by_a_level_that_the_policy_accepts(vmpl: int, maximum: int, step: str | None) -> None:
    assert failed(changed(vmpl=vmpl), maximum_vmpl=maximum) == step


def test_a_report_that_the_host_asked_for_is_called_that() -> None:
    assert "the host" in appraised(changed(vmpl=0xFFFFFFFF)).steps[-1].detail


@pytest.mark.parametrize(("minimum", "step"), [(2, None), (3, "guest-svn"), (0, None)])
def test_a_guest_is_as_new_as_the_policy_asks(minimum: int, step: str | None) -> None:
    assert failed(minimum_guest_svn=minimum) == step


@pytest.mark.parametrize(
    ("step", "option", "value"),
    [
        ("measurement", "measurements", chip().report(REPORT_DATA).measurement),
        ("host-data", "host_data", chip().report(REPORT_DATA).host_data),
    ],
)
def test_a_guest_was_launched_as_the_policy_accepts(step: str, option: str, value: bytes) -> None:
    for accepted, refused_at in (({value, bytes(len(value))}, None), ({bytes(len(value))}, step), (set[bytes](), step)):
        asked: dict[str, Any] = {option: frozenset(accepted)}
        assert failed(**asked) == refused_at


def test_the_keys_of_the_guest_s_owner_are_those_that_the_policy_accepts() -> None:
    report = changed(id_key_digest=DIGEST, author_key_digest=OTHER_DIGEST, author_key_enabled=True)
    assert failed(report, id_key_digests=frozenset({DIGEST})) is None
    assert failed(report, author_key_digests=frozenset({OTHER_DIGEST})) is None
    assert failed(report, id_key_digests=frozenset({OTHER_DIGEST})) == "id-keys"
    assert failed(report, id_key_digests=frozenset({DIGEST}), author_key_digests=frozenset({DIGEST})) == "id-keys"
    claims = appraised(report).claims
    assert (claims["id_key_digest"], claims["author_key_digest"]) == (DIGEST.hex(), OTHER_DIGEST.hex())


def test_a_guest_without_keys_has_none_that_a_policy_accepts() -> None:
    assert failed(id_key_digests=frozenset({bytes(48)})) == "id-keys"
    assert failed(author_key_digests=frozenset({bytes(48)})) == "id-keys"
    not_enabled = changed(author_key_digest=DIGEST)
    assert failed(not_enabled, author_key_digests=frozenset({DIGEST})) == "id-keys"
