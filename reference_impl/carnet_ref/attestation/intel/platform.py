"""The steps about a platform: is it known, not revoked, does Intel's enclave quote on it, and how up to date is it?

All but the enclave's identity need collateral.

Source: Intel SGX DCAP Quote Verification Library, `sgxAttestationVerifyQuote`; RFC 5280, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar

from cryptography import x509

from carnet_ref.attestation.appraisal import Checklist
from carnet_ref.attestation.intel.certificates import TCB_SIGNING, PckChain, p256_key
from carnet_ref.attestation.intel.collateral import Collateral, SignedDocument
from carnet_ref.attestation.intel.policy import Policy
from carnet_ref.attestation.intel.quote import EnclaveReport, TdxQuote
from carnet_ref.attestation.intel.signatures import verify_p256
from carnet_ref.attestation.intel.tcb import (
    TD_QUOTING_ENCLAVE,
    Level,
    NoMatchError,
    check_enclave,
    combined,
    module_level,
    platform_level,
    qe_level,
)
from carnet_ref.attestation.revocation_lists import crl_period
from carnet_ref.crypto.certificate_path import PathError, check_path, common_name, name, name_of, validity
from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.wire.reader import MalformedError

QE_IDENTITY: Final = "qe-identity"
PCS_API: Final = "Intel SGX and TDX Provisioning Certification Service API, version 4"
CRL: Final = "RFC 5280, section 5"
TIME: Final = "%Y-%m-%dT%H:%M:%SZ"

_Part = TypeVar("_Part")


def check_quoting_enclave(steps: Checklist, report: EnclaveReport, policy: Policy) -> None:
    """Insist that a report is of Intel's quoting enclave for TDs, or of one like it by a signer that the policy names.

    Raises:
        RefusedError: it is of another enclave.
    """
    named = report.mrsigner in policy.quoting_enclave_signers
    expected = replace(TD_QUOTING_ENCLAVE, mrsigner=report.mrsigner) if named else TD_QUOTING_ENCLAVE
    try:
        check_enclave(expected, report)
    except NoMatchError as error:
        steps.refuse(QE_IDENTITY, f"not Intel's quoting enclave for TDs: {error}", PCS_API)


@dataclass(frozen=True, slots=True)
class PlatformAppraisal:
    """One platform under appraisal: its certificates, what is published, and who asks when."""

    steps: Checklist
    collateral: Collateral
    chain: PckChain
    at: datetime
    policy: Policy
    anchors: Sequence[x509.Certificate]

    def level(self, quote: TdxQuote) -> Level:
        """Take the steps in order and return the TCB level of platform, TDX module and quoting enclave together.

        Raises:
            RefusedError: a step failed.
        """
        self._check_signatures()
        self._check_fmspc()
        self._check_validity()
        self._check_revocation()
        return self._matched(quote)

    def _check_signatures(self) -> None:
        """Insist that Intel published everything here, each document signed by the authority for it."""
        given = self.collateral
        try:
            self._check_document(given.signed_tcb_info, given.tcb_info_chain, "TCB info")
            self._check_document(given.signed_qe_identity, given.qe_identity_chain, "QE identity")
            self._check_crl(given.root_crl, self.chain.root)
            self._check_crl(given.pck_crl, self.chain.issuer)
            self._check_crl_chain(given.pck_crl_chain)
        except (PathError, AuthenticationError, MalformedError) as error:
            self.steps.refuse("collateral-signature", str(error), PCS_API)
        detail = "TCB info, QE identity and 2 revocation lists, each by its authority"
        self.steps.passed("collateral-signature", detail, PCS_API)

    def _check_document(self, document: SignedDocument, chain: Sequence[x509.Certificate], what: str) -> None:
        check_path(chain, self.anchors)
        if common_name(chain[0]) != TCB_SIGNING:
            raise PathError(f"the {what} is signed by {name(chain[0])}, not by {TCB_SIGNING!r}")
        verify_p256(p256_key(chain[0]), document.signature, document.body, f"the signature of the {what}")

    def _check_crl(self, crl: x509.CertificateRevocationList, issuer: x509.Certificate) -> None:
        """Insist that ``issuer`` signed the whole of its revocation list, and may (RFC 5280, section 6.3.3 (f))."""
        if crl.issuer != issuer.subject:
            raise PathError(f"the revocation list is by {name_of(crl.issuer)}, not by {name(issuer)}")
        if not issuer.extensions.get_extension_for_class(x509.KeyUsage).value.crl_sign:
            raise PathError(f"{name(issuer)} may not sign revocation lists")
        if any(extension.critical for extension in crl.extensions):
            raise PathError(f"the revocation list by {name(issuer)} has a critical extension, so it is partial")
        if not crl.is_signature_valid(p256_key(issuer)):
            raise AuthenticationError(f"the revocation list by {name(issuer)}")

    def _check_crl_chain(self, chain: Sequence[x509.Certificate]) -> None:
        """Insist that certificates beside the PCK revocation list, if any, are of its issuer and of the root."""
        if not chain:
            return
        if chain[0] != self.chain.issuer:
            raise PathError(f"the PCK revocation list comes with the certificate of {name(chain[0])}")
        other = next((each for each in chain[1:] if each not in self.anchors), None)
        if other is not None:
            raise PathError(f"the PCK revocation list comes with {name(other)}, which is no trust anchor")

    def _check_fmspc(self) -> None:
        """Insist that the TCB info is about platforms of this kind."""
        leaf, info = self.chain.leaf, self.collateral.tcb_info
        detail = f"FMSPC {leaf.fmspc.hex()}, PCEID {leaf.pceid.hex()}"
        otherwise = f"the quote's platform has {detail}; the collateral is for FMSPC {info.fmspc.hex()}, "
        otherwise += f"PCEID {info.pceid.hex()}"
        same = (leaf.fmspc, leaf.pceid) == (info.fmspc, info.pceid)
        self.steps.require(same, "fmspc", detail, otherwise, PCS_API)

    def _check_validity(self) -> None:
        """Insist that every piece of collateral is current, and as young as the policy wants."""
        given = self.collateral
        periods = {
            "TCB info": (given.tcb_info.issued, given.tcb_info.next_update),
            "QE identity": (given.qe_identity.issued, given.qe_identity.next_update),
            "TCB signing certificates": validity(given.tcb_info_chain),
            "QE identity signing certificates": validity(given.qe_identity_chain),
            "root revocation list": crl_period(given.root_crl),
            "PCK revocation list": crl_period(given.pck_crl),
        }
        for what, (start, end) in periods.items():
            if not start <= self.at <= end:
                found = f"{what}: valid from {start:{TIME}} to {end:{TIME}}, not at {self.at:{TIME}}"
                self.steps.refuse("collateral-validity", found, PCS_API)
        issued = min(given.tcb_info.issued, given.qe_identity.issued)
        age = int((self.at - issued).total_seconds())
        if self.policy.collateral_ttl is not None and age > self.policy.collateral_ttl:
            found = f"issued {age} s ago; accepted: {self.policy.collateral_ttl} s"
            self.steps.refuse("collateral-validity", found)
        until = min(end for _, end in periods.values())
        self.steps.passed("collateral-validity", f"issued {issued:{TIME}}, to be renewed by {until:{TIME}}", PCS_API)

    def _check_revocation(self) -> None:
        """Look up every signer of the quote and of the collateral in the list of its issuer."""
        given = self.collateral
        published = dict.fromkeys((*given.tcb_info_chain, *given.qe_identity_chain))
        signers = [self.chain.issuer, *(each for each in published if each not in self.anchors)]
        lists = [(self.chain.leaf.certificate, given.pck_crl), *((signer, given.root_crl) for signer in signers)]
        for certificate, crl in lists:
            if certificate.issuer != crl.issuer:
                unlisted = f"no revocation list of {name_of(certificate.issuer)}, which issued {name(certificate)}"
                self.steps.refuse("revocation", unlisted, CRL)
            entry = crl.get_revoked_certificate_by_serial_number(certificate.serial_number)
            if entry is not None:
                when = f"{entry.revocation_date_utc:{TIME}}"
                found = f"{name(certificate)} {certificate.serial_number:x} was revoked {when}"
                self.steps.refuse("revocation", found, CRL)
        self.steps.passed("revocation", f"none of {len(lists)} certificates is revoked", CRL)

    def _matched(self, quote: TdxQuote) -> Level:
        """Find the levels of the platform's parts, and judge them together by the policy.

        A report of TDX 1.5 has the versions at the start of the TD and those of now: the worse of both count.
        """
        given, report = self.collateral, quote.report
        check_quoting_enclave(self.steps, quote.signature.qe_report, self.policy)
        enclave = self._found(QE_IDENTITY, lambda: qe_level(given.qe_identity, quote.signature.qe_report))
        self.steps.passed(QE_IDENTITY, f"the published quoting enclave, {enclave.status}", PCS_API)
        now = report.tee_tcb_svn_2
        moments = [report] if now is None else [report, replace(report, tee_tcb_svn=now)]
        modules = self._found("tdx-module", lambda: [module_level(given.tcb_info, moment) for moment in moments])
        known = ", ".join(f"{module.status}" if module else "of TDX 1.0, which has no level" for module in modules)
        self.steps.passed("tdx-module", f"a published TDX module, {known}", PCS_API)
        tcb = self.chain.leaf.tcb
        levels = self._found("tcb-status", lambda: [platform_level(given.tcb_info, tcb, moment) for moment in moments])
        level = combined(*levels, *modules, enclave)
        problem = self._problem(level)
        advisories = f" ({', '.join(level.advisories)})" if level.advisories else ""
        self.steps.require(problem is None, "tcb-status", f"{level.status}{advisories}", f"{problem}", PCS_API)
        return level

    def _found(self, step: str, match: Callable[[], _Part]) -> _Part:
        try:
            return match()
        except NoMatchError as error:
            self.steps.refuse(step, str(error), PCS_API)

    def _problem(self, level: Level) -> str | None:
        """Return what the policy has against a level, if anything."""
        policy, given = self.policy, self.collateral
        if level.status not in policy.tcb_statuses:
            accepted = ", ".join(sorted(policy.tcb_statuses)) or "none"
            return f"the TCB status is {level.status} since {level.date:{TIME}}; accepted: {accepted}"
        rejected = sorted(policy.rejected_advisories.intersection(level.advisories))
        if rejected:
            return f"{', '.join(rejected)} applies, which the policy rejects"
        number = min(given.tcb_info.evaluation_number, given.qe_identity.evaluation_number)
        if policy.minimum_evaluation_number is not None and number < policy.minimum_evaluation_number:
            return f"the TCB evaluation data number is {number}; accepted: from {policy.minimum_evaluation_number}"
        return None
