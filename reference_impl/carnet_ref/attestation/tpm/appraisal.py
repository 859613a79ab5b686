"""The appraisal of one quote of a TPM: evidence, a time and a policy in, numbered steps and claims out.

* A quote is only as trustworthy as its key. On Azure the key is in the run-time data, whose hash is in the machine's
  own report, so that report is appraised first, by its own policy. Elsewhere a certificate chain leads from the key to
  a trusted root, or the relying party gives the key itself. A key that only came with the quote is refused.
* The quote has the hash of registers. Their values, which come beside it, are accepted if they have that hash; only
  then a policy compares them, and a log is replayed to them.
* The qualifying data is the nonce that the TPM was asked with.

Source: TCG, Trusted Platform Module Library, part 1, revision 1.59, sections 11.4 (PCR) and 32 (attestation); TCG PC
Client Platform Firmware Profile 1.06, sections 3.3.4 and 10.4.5 (start of PCR0, StartupLocality).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from carnet_ref.attestation import tpm2
from carnet_ref.attestation.amd import appraisal as snp
from carnet_ref.attestation.appraisal import NOT_FRESH, X509_PATH, AnchorRole, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.event_logs import LoggedEvent, parse_agile_log
from carnet_ref.attestation.formats import AppraisalContext
from carnet_ref.attestation.intel import appraisal as tdx
from carnet_ref.attestation.pcrs import AcceptedPcrs, accepted_pcrs, check_pcrs, shown_pcrs
from carnet_ref.attestation.policies import AppraisalPolicy, PolicyOf, Preset, policy_form, policy_key, require_key
from carnet_ref.attestation.tpm.evidence import TpmEvidence
from carnet_ref.crypto.certificate_path import PathError, check_path, name
from carnet_ref.crypto.primitives import sha256
from carnet_ref.wire import MalformedError

STEPS: Final = ("parse", "ak", "validity", "signature", "nonce", "pcr-digest", "pcrs", "event-log", "policy")
DEFAULT_STEPS: Final = frozenset({"signature"})
VALUES: Final = frozenset(each.digest_size for each in tpm2.HASHES.values())
LIBRARY: Final = "TCG, TPM Library, part 1, section 32"
FIRMWARE: Final = "TCG, PC Client Platform Firmware Profile, section 10"
AZURE_KEYS: Final = "Microsoft, Azure confidential VM guest attestation design"
AZURE_AK: Final = "the key of the run-time data that the report is over, by the software that the report measures"
UNTRACED: Final = "the AK is not traced to hardware"
NO_LOG: Final = "event log not replayed"


#: Of a report from which a key comes. It is over the run-time data with the key, and the quote by the key is fresh.
SNP_FORM: Final = replace(
    snp.POLICY_FORM,
    strict={
        **snp.POLICY_FORM.strict,
        "require": snp.POLICY_FORM.strict["require"] - {"report-data"} | {"runtime-data"},
    },
)


@dataclass(frozen=True, slots=True)
class Policy(AppraisalPolicy):
    """The requirements on a quote and on the machine of its key; each key has a description of its own."""

    require: frozenset[str] = require_key(STEPS)
    pcrs: AcceptedPcrs = policy_key(
        accepted_pcrs(tpm2.PCRS, VALUES), {}, "for each register that is asked for, the values accepted"
    )
    snp: snp.Policy = policy_key(
        PolicyOf(SNP_FORM, "snp"), snp.DEFAULT_POLICY, "what is asked of the SNP report that the key comes from"
    )
    tdx: tdx.Policy = policy_key(
        PolicyOf(tdx.POLICY_FORM, "tdx"), tdx.DEFAULT_POLICY, "what is asked of the TDX quote that the key comes from"
    )


POLICY_FORM: Final = policy_form(
    Policy,
    default={"require": DEFAULT_STEPS},
    strict={
        "require": frozenset({"ak", "signature", "nonce", "pcr-digest", "pcrs", "event-log"}),
        "snp": SNP_FORM.preset(Preset.STRICT).policy,
        "tdx": tdx.POLICY_FORM.preset(Preset.STRICT).policy,
    },
    inventory={
        "require": DEFAULT_STEPS,
        "snp": SNP_FORM.preset(Preset.INVENTORY).policy,
        "tdx": tdx.POLICY_FORM.preset(Preset.INVENTORY).policy,
    },
)
DEFAULT_POLICY: Final = POLICY_FORM.default_policy
parse_policy: Final = POLICY_FORM.parse


@dataclass(frozen=True, slots=True)
class Beside:
    """The inputs beside evidence: the nonce, the key, event logs, and the machine's own collateral."""

    nonce: bytes | None = None
    key: tpm2.AttestationKey | None = None
    event_log: bytes | None = None
    crls: Sequence[bytes] = ()
    collateral: bytes | None = None


def appraise_tpm(evidence: TpmEvidence, beside: Beside, against: AppraisalContext[Policy]) -> Appraisal:
    """Appraise a quote with the inputs beside it."""
    steps, quote = Checklist(), evidence.quote
    registers = ", ".join(map(str, quote.selection.registers))
    steps.passed("parse", f"quote over the {tpm2.BANKS[quote.selection.bank]} registers {registers}", LIBRARY)
    try:
        report = _appraise_report(steps, evidence, beside, against)
        key = _check_key(steps, evidence, beside, against)
        genuine, scheme = tpm2.is_signed(key, evidence.signature, quote.message), evidence.signature.name
        shown, otherwise = f"{scheme} over {len(quote.message)} bytes", "the key above did not sign the quote"
        steps.require(genuine, "signature", shown, otherwise, LIBRARY)
        _check_nonce(steps, evidence, beside)
        _check_registers(steps, evidence, against.policy)
        secure_boot = _check_log(steps, evidence, beside)
        steps.require_taken(against.policy)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude(_claims(evidence, report, secure_boot))


def _appraise_report(
    steps: Checklist, evidence: TpmEvidence, beside: Beside, against: AppraisalContext[Policy]
) -> Mapping[str, object] | None:
    """Appraise the machine's own report, which has the hash of the run-time data with the key."""
    runtime_data = evidence.runtime_data
    match evidence.report:
        case None:
            return None
        case bytes() as quote:
            bound = sha256(runtime_data or b"").ljust(64, b"\0")
            appraisal = tdx.appraise_quote(
                quote,
                at=against.at,
                policy=against.policy.tdx,
                anchors=against.anchors,
                collateral=beside.collateral,
                report_data=bound,
            )
            steps.adopt(_as_part(appraisal), "tdx")
        case report:
            appraisal = snp.appraise_report(
                report, at=against.at, policy=against.policy.snp, anchors=against.anchors, crls=beside.crls
            )
            steps.adopt(_as_part(appraisal), "snp")
    return appraisal.claims


def _as_part(appraisal: Appraisal) -> Appraisal:
    """Return the machine's appraisal without its step about a nonce: the quote has the nonce."""
    return replace(
        appraisal, steps=tuple(each for each in appraisal.steps if each.ok is not None or each.id != "report-data")
    )


def _check_key(
    steps: Checklist, evidence: TpmEvidence, beside: Beside, against: AppraisalContext[Policy]
) -> tpm2.PublicKey:
    """Return the key that the quote is checked with, after the step about where the key comes from."""
    found, given = evidence.key, beside.key or tpm2.AttestationKey()
    certificates = given.certificates or found.certificates
    keys = [key for key in (given.public, found.public) if key is not None]
    if certificates:
        keys.insert(0, _check_certificates(steps, certificates, against))
    if not keys:
        steps.refuse("ak", "no attestation key is given, and none came with the quote", LIBRARY, without=("ak",))
    if any(key != keys[0] for key in keys):
        steps.refuse("ak", "the attestation keys that are given, certified and sent along are not the same", LIBRARY)
    if evidence.runtime_data is not None:
        steps.passed(
            "ak",
            AZURE_AK,
            AZURE_KEYS,
        )
    elif certificates:
        steps.passed("ak", f"the key of {name(certificates[0])}", X509_PATH, without=("ak",))
    elif given.public is not None:
        steps.left_out("ak", f"the key that was given; {UNTRACED}", LIBRARY, lacking=UNTRACED, without=("ak",))
    else:
        why = "the key only came with the quote, and nothing leads from it to hardware: give it, or its certificates"
        steps.refuse("ak", why, LIBRARY, without=("ak",))
    return keys[0]


def _check_certificates(
    steps: Checklist, certificates: Sequence[Any], against: AppraisalContext[Policy]
) -> tpm2.PublicKey:
    with steps.refusing("ak", (PathError, MalformedError), X509_PATH):
        anchor = check_path(certificates, against.anchors.of(AnchorRole.TPM_KEY), tpm_key=True)
        key = tpm2.accepted_key(certificates[0].public_key())
    steps.require_valid([*certificates, anchor], against.at)
    return key


def _check_nonce(steps: Checklist, evidence: TpmEvidence, beside: Beside) -> None:
    found = evidence.quote.qualifying_data
    if beside.nonce is None:
        steps.not_requested("nonce", "nonce", LIBRARY, lacking=NOT_FRESH)
        return
    otherwise = f"the TPM was asked with {found.hex() or 'nothing'}, not {beside.nonce.hex()}"
    steps.require(hmac.compare_digest(found, beside.nonce), "nonce", "as expected", otherwise, LIBRARY)


def _check_registers(steps: Checklist, evidence: TpmEvidence, policy: Policy) -> None:
    """Require that the values beside the quote are those of the quoted registers."""
    quote, values = evidence.quote, evidence.values
    if values is None:
        steps.left_out("pcr-digest", "no values of registers came with the quote", LIBRARY, without=("pcrs",))
        if policy.pcrs:
            steps.refuse(
                "pcrs", "the policy names registers, and their values did not come", LIBRARY, without=("pcrs",)
            )
        check_pcrs(steps, {}, {}, LIBRARY)
        return
    sizes = {len(value) for value in values.values()} - {tpm2.HASHES[quote.selection.bank].digest_size}
    expected = tpm2.digest(tpm2.HASHES[evidence.signature.hash], *(values[number] for number in sorted(values)))
    same = hmac.compare_digest(expected, quote.pcr_digest) and tuple(sorted(values)) == quote.selection.registers
    otherwise = "the values beside the quote are not those of the registers that it is over"
    steps.require(same and not sizes, "pcr-digest", f"values of {len(values)} registers", otherwise, LIBRARY)
    check_pcrs(steps, values, policy.pcrs, LIBRARY)


def _check_log(steps: Checklist, evidence: TpmEvidence, beside: Beside) -> bool | None:
    """Replay each log and compare the registers; return whether Secure Boot was on, or None if no log says so."""
    logs = [log for log in (beside.event_log, evidence.event_log) if log is not None]
    if not logs:
        steps.left_out("event-log", "no log was given", FIRMWARE, lacking=NO_LOG, without=("event-log",))
        return None
    if evidence.values is None:
        why = "a log was given, and no values of registers to compare it with"
        steps.refuse("event-log", why, FIRMWARE, without=("pcrs",))
    bank = evidence.quote.selection.bank
    found = [_replayed(steps, log, bank, evidence.values) for log in logs]
    covered = {number for replayed, _ in found for number in replayed}
    extended = [number for number, value in sorted(evidence.values.items()) if any(value)]
    hidden = [number for number in extended if number in tpm2.FIRMWARE_REGISTERS and number not in covered]
    if hidden:
        otherwise = f"PCR{hidden[0]} is {evidence.values[hidden[0]].hex()}, and no event of the log is about it"
        steps.refuse("event-log", otherwise, FIRMWARE)
    shown = ", ".join(f"PCR{number}" for number in sorted(found[0][0]))
    steps.passed("event-log", f"{len(found[0][1])} events lead to {shown}", FIRMWARE, without=("event-log",))
    replayed, events = found[0]
    return tpm2.secure_boot(events, bank) if tpm2.SECURE_BOOT_REGISTER in replayed else None


def _replayed(
    steps: Checklist, log: bytes, bank: int, values: Mapping[int, bytes]
) -> tuple[Mapping[int, bytes], tuple[LoggedEvent, ...]]:
    with steps.refusing("event-log", MalformedError, FIRMWARE):
        events = parse_agile_log(log, tpm2.PCRS).events
        replayed = tpm2.replay_pcrs(events, bank)
    common = replayed.keys() & values.keys()
    wrong = next((number for number in sorted(common) if replayed[number] != values[number]), None)
    if wrong is not None:
        otherwise = f"PCR{wrong} is {values[wrong].hex()}; the log leads to {replayed[wrong].hex()}"
        steps.refuse("event-log", otherwise, FIRMWARE)
    if not common:
        steps.refuse("event-log", "the log is about none of the registers that the quote is over", FIRMWARE)
    return {number: replayed[number] for number in common}, events


def _claims(evidence: TpmEvidence, report: Mapping[str, object] | None, boot: bool | None) -> Mapping[str, object]:
    quote = evidence.quote
    return {
        "tpm": "2.0",
        "bank": tpm2.BANKS[quote.selection.bank],
        "pcrs": None if evidence.values is None else shown_pcrs(evidence.values),
        "nonce": quote.qualifying_data.hex(),
        "clock": quote.clock,
        "reset_count": quote.reset_count,
        "restart_count": quote.restart_count,
        "clock_is_safe": quote.safe,
        "firmware_version": f"{quote.firmware_version:016x}",
        "secure_boot": boot,
        "report": None if report is None else dict(report),
    }
