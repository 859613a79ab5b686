"""The steps about an SNP guest: what it asked with, what its host may do to it, and what it was launched as."""

from __future__ import annotations

import hmac
from typing import Final

from carnet_ref.attestation.amd.policy import Policy
from carnet_ref.attestation.amd.report import CXL_ALLOW, DEBUG, MIGRATE_MA, SMT, SnpReport
from carnet_ref.attestation.appraisal import NOT_FRESH, POLICY, Checklist
from carnet_ref.crypto.primitives import sha256

REPORT: Final = "AMD 56860, table 23"
GUEST_POLICY: Final = "AMD 56860, table 9"
NO_MEASUREMENT: Final = "measurements not compared"
NO_POLICY: Final = "guest not compared with a policy"
HCL_FORMAT: Final = "Microsoft, Azure confidential VM guest attestation design"
NO_AGENT: Final = bytes([0xFF]) * 32
"""The report id of a migration agent where a guest has none."""
OF_THE_HOST: Final = 0xFFFFFFFF
"""The privilege level in a report that the host asked for, and not the guest."""


def check_guest(
    steps: Checklist, report: SnpReport, policy: Policy, report_data: bytes | None, runtime_data: bytes | None
) -> None:
    """Take the steps about what the guest is, which the report now proves.

    Args:
        steps: where to record them.
        report: what the firmware signed.
        policy: what is asked.
        report_data: the 64 bytes that the guest should have asked with, if they are known.
        runtime_data: what came with the report and should be bound to it, if anything.

    Raises:
        RefusedError: a step failed.
    """
    _check_binding(steps, report, report_data, runtime_data)
    _check_powers_of_the_host(steps, report, policy)
    _check_vmpl(steps, report, policy)
    _check_platform_info(steps, report, policy)
    _check_launch(steps, report, policy)


def _check_binding(steps: Checklist, report: SnpReport, report_data: bytes | None, runtime_data: bytes | None) -> None:
    if report_data is None:
        steps.not_requested("report-data", "report-data", REPORT, lacking=NOT_FRESH)
    else:
        otherwise = f"the guest asked with {report.report_data.hex()}, not {report_data.hex()}"
        same = hmac.compare_digest(report.report_data, report_data)
        steps.require(same, "report-data", "the 64 bytes expected", otherwise, REPORT)
    if runtime_data is None:
        steps.left_out("runtime-data", "no run-time data came with the report", HCL_FORMAT)
        return
    bound = sha256(runtime_data).ljust(len(report.report_data), b"\0")
    otherwise = f"the report is over {report.report_data.hex()}, the run-time data has the hash {bound[:32].hex()}"
    same = hmac.compare_digest(report.report_data, bound)
    steps.require(same, "runtime-data", "the report is over the hash of the run-time data", otherwise, HCL_FORMAT)


def _check_powers_of_the_host(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    """Insist that the guest's policy lets the host do no more than the relying party accepts."""
    words = report.policy.words
    debug = DEBUG in words
    allowed = "a debug guest, which the policy allows" if debug else "the host may not read the guest"
    otherwise = "DEBUG is set: the host may read and change the guest"
    steps.require(policy.allow_debug or not debug, "debug", allowed, otherwise, GUEST_POLICY)
    agent = report.migration_agent_report_id
    movable = MIGRATE_MA in words or agent not in (NO_AGENT, bytes(len(NO_AGENT)))
    allowed = "a migration agent, which the policy allows" if movable else "no migration agent may take the guest away"
    otherwise = f"MIGRATE_MA is set, or the guest has an agent: {agent.hex()}"
    steps.require(policy.allow_migration_agent or not movable, "migration", allowed, otherwise, GUEST_POLICY)
    problem = _policy_problem(report, policy)
    shown = ", ".join(sorted(words)) or "no bit set"
    steps.require(problem is None, "guest-policy", shown, f"{problem}", GUEST_POLICY)


def _policy_problem(report: SnpReport, policy: Policy) -> str | None:
    words = report.policy.words
    if report.policy.unknown:
        return f"bits of the guest's policy are not as reserved: {', '.join(map(str, report.policy.unknown))}"
    for word, allowed in ((SMT, policy.allow_smt), (CXL_ALLOW, policy.allow_cxl)):
        if word in words and not allowed:
            return f"{word} is set, which the policy does not allow"
    missing = sorted(policy.required_guest_policy - words)
    return f"not set: {', '.join(missing)}" if missing else None


def _check_vmpl(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    level, most = report.vmpl, policy.maximum_vmpl
    who = "the host" if level == OF_THE_HOST else f"VMPL {level}"
    otherwise = f"asked for by {who}; accepted: VMPL 0 to {most}"
    steps.require(level <= most, "vmpl", f"asked for by {who}", otherwise, REPORT)


def _check_platform_info(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    if not policy.required_platform_info:
        steps.not_requested("platform-info", POLICY, REPORT, lacking=NO_POLICY)
        return
    missing = sorted(policy.required_platform_info - report.platform.words)
    shown = ", ".join(sorted(policy.required_platform_info))
    steps.require(not missing, "platform-info", f"set: {shown}", f"not set: {', '.join(missing)}", REPORT)


def _check_launch(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    """Hold the guest to the version, measurement, host data and keys that the policy accepts."""
    oldest = policy.minimum_guest_svn
    if oldest is None:
        steps.not_requested("guest-svn", POLICY, REPORT, lacking=NO_POLICY)
    else:
        otherwise = f"the guest's security version is {report.guest_svn}; accepted: from {oldest}"
        steps.require(report.guest_svn >= oldest, "guest-svn", f"{report.guest_svn}", otherwise, REPORT)
    _check_among(steps, "measurement", report.measurement, policy.measurements, NO_MEASUREMENT)
    _check_among(steps, "host-data", report.host_data, policy.host_data, NO_POLICY)
    _check_keys(steps, report, policy)


def _check_among(steps: Checklist, step: str, value: bytes, accepted: frozenset[bytes] | None, lacking: str) -> None:
    if accepted is None:
        steps.not_requested(step, POLICY, REPORT, lacking=lacking)
        return
    otherwise = f"{value.hex()}, which is none of the {len(accepted)} accepted"
    steps.require(value in accepted, step, value.hex(), otherwise, REPORT)


def _check_keys(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    """Insist on who signed the guest's identity block, and on who signed that key."""
    asked = {
        "identity key": (report.id_key_digest, policy.id_key_digests),
        "author key": (report.author_key_digest if report.author_key_enabled else None, policy.author_key_digests),
    }
    wanted = {key: (digest, accepted) for key, (digest, accepted) in asked.items() if accepted is not None}
    if not wanted:
        steps.not_requested("id-keys", POLICY, REPORT, lacking=NO_POLICY)
        return
    for key, (digest, accepted) in wanted.items():
        if digest is None or not any(digest):
            steps.refuse("id-keys", f"the guest was launched without an {key}", REPORT)
        if digest not in accepted:
            steps.refuse("id-keys", f"the {key} is {digest.hex()}, none of the {len(accepted)} accepted", REPORT)
    steps.passed("id-keys", f"accepted: {', '.join(wanted)}", REPORT)
