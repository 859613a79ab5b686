"""Appraisal as a list of numbered steps, each with a verdict and a reason; nothing is accepted by default.

An appraisal procedure fills a `Checklist` and goes through its steps in a fixed order. The first step that fails
ends it, because what comes after rests on what came before. A step that was not asked for is listed with ``ok=None``.

Trust anchors are the certificates that a chain of evidence must end in, each with its name, fingerprint and source. The
defaults lie in ``anchors.json`` beside this module, one row for each certificate; roots made for tests are never among
them.

Source: RFC 9334 (RATS architecture), sections 3 and 8.
"""

from __future__ import annotations

import hmac
import json
import pkgutil
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final, NamedTuple, NoReturn

from cryptography import x509

from carnet_command.text import plural
from carnet_ref.attestation.documents import is_plain
from carnet_ref.attestation.kinds import Layer
from carnet_ref.attestation.policies import AppraisalPolicy, Preset
from carnet_ref.crypto.certificate_path import (
    TIME,
    PathError,
    fingerprint,
    is_authority,
    name,
    name_of,
    parse_pem_chain,
    validity,
)
from carnet_ref.wire import MalformedError


class AnchorRole(StrEnum):
    """The purpose for which a trust anchor is trusted."""

    NVIDIA_DEVICE = "nvidia-device-identity"
    NVIDIA_RIM = "nvidia-rim"
    INTEL_SGX = "intel-sgx"
    AMD_SEV = "amd-sev"
    AWS_NITRO = "aws-nitro"
    TPM_KEY = "tpm-attestation-key"
    #: Of attestation services; there is no default, since nobody's result counts without being asked for.
    RESULT_SIGNER = "result-signer"


class Anchors(NamedTuple):
    """The trusted certificates, by role."""

    by_role: Mapping[AnchorRole, tuple[x509.Certificate, ...]]

    def of(self, role: AnchorRole) -> tuple[x509.Certificate, ...]:
        """Return the trusted certificates for ``role``."""
        return self.by_role.get(role, ())


@cache
def default_anchors() -> Anchors:
    """Return the production roots of the vendors. Source: the ``source`` of each row of ``anchors.json``."""
    assert __package__ is not None
    return Anchors(_ProductionRoots(certificate_rows(__package__, "anchors.json")))


class _ProductionRoots(Mapping[AnchorRole, tuple[x509.Certificate, ...]]):
    """The certificates of a table by their roles; those of one role are read when they are asked for."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: dict[AnchorRole, list[Row]] = {}
        for row in rows:
            self._rows.setdefault(AnchorRole(row["role"]), []).append(row)
        self._read: dict[AnchorRole, tuple[x509.Certificate, ...]] = {}

    def __getitem__(self, role: AnchorRole) -> tuple[x509.Certificate, ...]:
        if role not in self._read:
            self._read[role] = tuple(map(certificate_of, self._rows[role]))
        return self._read[role]

    def __iter__(self) -> Iterator[AnchorRole]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


Row = Mapping[str, Any]  #: A public certificate with its name, fingerprint and source.


def certificate_rows(package: str, file: str) -> list[Row]:
    """Return the rows of a table of public certificates in a package. Source: the ``source`` of each row."""
    table = pkgutil.get_data(package, file)
    assert table is not None, f"{package} has no {file}"
    rows: list[Row] = json.loads(table)
    return rows


def certificate_of(row: Row) -> x509.Certificate:
    """Return the certificate that a row names."""
    (certificate,) = parse_pem_chain("\n".join(row["certificate"]).encode())
    assert fingerprint(certificate) == row["sha256"], f"{row['name']} is not the certificate that its row names"
    return certificate


def anchors_from_pem(data: bytes) -> Anchors:
    """Return anchors that replace the defaults: each certificate in ``data`` vouches for every role.

    Raises MalformedError if ``data`` is not PEM certificates of authorities; evidence, which has others in it, is none.
    """
    if not data.isascii():
        raise MalformedError("trust anchors", "PEM", "raw bytes")
    certificates = parse_pem_chain(data)
    other = next((certificate for certificate in certificates if not is_authority(certificate)), None)
    if other is not None:
        raise MalformedError("trust anchors", "certificates of authorities", f"that of {name(other)}")
    return Anchors(dict.fromkeys(AnchorRole, certificates))


NOT_FRESH: Final = "not fresh"
NO_REVOCATION: Final = "revocation not checked"
NO_FIRMWARE: Final = "firmware not compared"
NO_VTPM_QUOTE: Final = "vTPM quote not checked"
NO_GPU_EVIDENCE: Final = "GPU evidence not appraised"
OTHER_MESSAGES: Final = "other messages of the wrapper not appraised"
NOT_READ: Final = "what lies beside it not read"
#: What acceptances lack most often, in the same words for every format.
NOT_ONE: Final = "not shown to be of one machine"
#: The steps, by the last word of their ids, that compare the evidence with what the relying party asked with.
FRESHNESS_STEPS: Final = frozenset({"nonce", "report-data"})
#: The steps, by the last word of their ids, that compare what runs with reference values.
COMPARISON_STEPS: Final = frozenset({"measurement", "measurements", "pcrs"})
REQUEST: Final = "request"  #: The step that compares evidence with what lies beside it in a request or an answer.
INVENTORY: Final = "inventory"
INVENTORY_ONLY: Final = "inventory only"
#: The step, and what an acceptance by an inventory lacks: all that makes evidence something to rely on.
INVENTORY_DETAIL: Final = "the policy asks what the evidence is and who signed it, and nothing else"
X509_PATH: Final = "RFC 5280, section 6.1"
X509_TIME: Final = "RFC 5280, section 4.1.2.5"
POLICY: Final = "policy"  #: The option that a step lacks which nobody takes unless a policy asks.


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between found and expected values, as a reason for a refusal."""

    what: str  #: the thing, such as ``measurement 9`` or ``SGX TCB component 3``.
    found: str  #: its value.
    #: the values that are accepted; none where only the thing itself is to be named, as a revoked certificate.
    expected: tuple[str, ...] = ()
    origin: str = ""  #: whose values these are, such as a RIM or a TCB level, by version and date.
    details: Mapping[str, object] = field(default_factory=dict)  #: the same in parts, for programs, by names of JSON.

    def __str__(self) -> str:
        by = f", by {self.origin}" if self.origin else ""
        return f"{self.what}: found {self.found}; expected {' or '.join(self.expected)}{by}"


def of_certificate(certificate: x509.Certificate, found: str, *expected: str) -> Difference:
    """Return a difference about a certificate, which is named by subject and fingerprint."""
    named = {"subject": name_of(certificate.subject), "sha256": fingerprint(certificate)}
    return Difference(f"certificate {name(certificate)}", found, expected, "", named)


def of_path(error: Exception) -> tuple[Difference, ...]:
    """Return a difference about the certificate that a path error names, if it names one."""
    certificate = error.certificate if isinstance(error, PathError) else None
    return () if certificate is None else (of_certificate(certificate, str(error)),)


def out_of_time(certificates: Sequence[x509.Certificate], at: datetime) -> tuple[Difference, ...]:
    """Return a difference for each certificate that is not valid at ``at``."""
    periods = [(each, *validity([each])) for each in certificates]
    return tuple(
        of_certificate(each, f"valid from {start:{TIME}} to {end:{TIME}}", f"valid at {at:{TIME}}")
        for each, start, end in periods
        if not start <= at <= end
    )


@dataclass(frozen=True, slots=True)
class AppraisalStep:
    """A step of an appraisal: its id, result (None: not requested), reason and source.

    ``lacking`` is what an acceptance does not say because the step was not taken, in a few words. ``without`` are
    the options that may bring a step to another end if they, or more of them, are given: it was not taken for lack of
    them, or only as far as can be told without, or refused because something is missing. No other step may come to
    another end when more is given. ``differences`` are what refused it, one by one.
    """

    id: str
    ok: bool | None
    detail: str
    source: str = ""
    lacking: str = ""
    without: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()


class UnappraisedPart(NamedTuple):
    """A part of a document that is not appraised: its name, and what an acceptance lacks without it."""

    part: str
    lacking: str


def unread_members(document: Mapping[Any, object], known: Collection[str]) -> tuple[UnappraisedPart, ...]:
    """Return the part of a document that has its members beside those that are ``known``, if one may be evidence."""
    names = [ascii(name)[:40] for name, value in document.items() if name not in known and not is_plain(value)]
    return (UnappraisedPart(f"{', '.join(names)[:200]} beside it", NOT_READ),) if names else ()


class Requirement(StrEnum):
    """A requirement of a relying party on acceptances of any kind of evidence."""

    FRESH = "fresh"
    COMPARED = "compared"


@dataclass(frozen=True, slots=True)
class Appraisal:
    """The result of an appraisal: its steps in order and, if all held, the claims to rely on.

    ``layers`` say what the evidence is and what it lay in, from the outermost to the innermost.
    """

    steps: tuple[AppraisalStep, ...]
    claims: Mapping[str, object]
    #: The appraiser that signed the result; ``None`` where Carnet appraised the evidence itself.
    appraised_by: str | None = None
    layers: tuple[Layer, ...] = ()

    @property
    def failed_step(self) -> str | None:
        """The id of the step that refused the evidence, if one did."""
        return next((step.id for step in self.steps if step.ok is False), None)

    @property
    def accepted(self) -> bool:
        """Whether at least one step held and none refused."""
        return self.failed_step is None and any(step.ok for step in self.steps)

    @property
    def not_compared(self) -> tuple[str, ...]:
        """What an acceptance leaves open, because a step was not requested or had no input.

        Each is a few words, such as ``not fresh``; steps that lack the same have one between them. That it is an
        inventory comes first.
        """
        lacking = dict.fromkeys(step.lacking for step in self.steps if step.ok is None and step.lacking)
        return tuple(sorted(lacking, key=lambda words: words != INVENTORY_ONLY))

    @property
    def fresh(self) -> bool:
        """Whether the evidence is accepted and contains the relying party's nonce."""
        return self._shown_by(FRESHNESS_STEPS) and NOT_FRESH not in self.not_compared

    @property
    def compared(self) -> bool:
        """Whether the evidence is accepted, what runs was compared with reference values, and nothing is left open.

        Freshness is not counted here.
        """
        return self._shown_by(COMPARISON_STEPS) and set(self.not_compared) <= {NOT_FRESH}

    def _shown_by(self, steps: Set[str]) -> bool:
        return self.accepted and any(step.ok and step.id.rpartition(".")[2] in steps for step in self.steps)

    @property
    def missing(self) -> Mapping[str, tuple[str, ...]]:
        """The options that were not given, each with the steps that would use it.

        Where the evidence was refused, only what may bring the step that refused it to another end.
        """
        open_steps = {None} if self.failed_step is None else {False}
        waiting = [step for step in self.steps if step.ok in open_steps and step.without]
        options = dict.fromkeys(option for step in waiting for option in step.without)
        return {option: tuple(step.id for step in waiting if option in step.without) for option in options}

    def requiring(self, requirements: Set[Requirement]) -> Appraisal:
        """Return this appraisal with a further step that refuses it unless it meets all requirements."""
        if not requirements or not self.accepted:
            return self
        met = {Requirement.FRESH: self.fresh, Requirement.COMPARED: self.compared}
        unmet = sorted(each for each in requirements if not met[each])
        lacking = f": {', '.join(self.not_compared)}" if self.not_compared else ""
        detail = f"not {' and not '.join(unmet)}{lacking}" if unmet else f"{' and '.join(sorted(requirements))}"
        step = AppraisalStep("requirements", not unmet, detail, "", "", tuple(self.missing) if unmet else ())
        return replace(self, steps=(*self.steps, step), claims={} if unmet else self.claims)

    def agreeing_with(self, found: str, *said: str) -> Appraisal:
        """Return this appraisal, refused by a further step unless the evidence was asked with what lies beside it.

        ``found`` is what it was asked with, and ``said`` what that may be, each in hexadecimal.
        """
        if not self.accepted:
            return self
        same = any(hmac.compare_digest(found, each) for each in said)
        otherwise = f"it was asked with {found}, and what lies beside it says {' or '.join(said)}"
        detail = "it was asked with what lies beside it" if same else otherwise
        step = AppraisalStep(REQUEST, same, detail)
        return replace(self, steps=(*self.steps, step), claims=self.claims if same else {})

    def beside(self, *lacking: str) -> Appraisal:
        """Return this appraisal with a further step for each part of a request that is not compared with it."""
        steps = (AppraisalStep(REQUEST, None, "nobody signs it", "", words) for words in lacking)
        return replace(self, steps=(*self.steps, *steps)) if self.accepted else self

    def leaving_out(self, messages: int) -> Appraisal:
        """Return this appraisal with a first step about the other messages of a wrapper that were left out."""
        if not messages:
            return self
        detail = f"other messages of the wrapper: {messages}, not read"
        return replace(self, steps=(AppraisalStep("unwrapped", None, detail, "", OTHER_MESSAGES), *self.steps))

    def found_in(self, document: str | None, *unread: UnappraisedPart) -> Appraisal:
        """Return this appraisal with steps in front that name the document around the evidence.

        ``document`` is ``None`` where the evidence came alone; each ``unread`` part of the document counts for nothing
        here.
        """
        if document is None:
            return self
        steps = [AppraisalStep("document", True, f"found in {document}; nothing else in it is believed")]
        steps += [AppraisalStep("unread", None, f"{each.part}: not read", "", each.lacking) for each in unread]
        return replace(self, steps=(*steps, *self.steps))


class RefusedError(Exception):
    """Evidence is refused at a step."""

    def __init__(self, step: AppraisalStep) -> None:
        super().__init__(f"{step.id}: {step.detail}")
        self.step = step  #: the step, with the reason.


class Checklist:
    """The steps of an appraisal in progress."""

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: list[AppraisalStep] = []

    @property
    def held(self) -> frozenset[str]:
        """The ids of the steps that have held so far."""
        return frozenset(step.id for step in self._steps if step.ok)

    def passed(self, step: str, detail: str, source: str = "", *, without: tuple[str, ...] = ()) -> None:
        """Record that ``step`` held; more could be checked with the options ``without``."""
        self._steps.append(AppraisalStep(step, True, detail, source, "", without))

    def not_requested(self, step: str, without: str, source: str = "", *, lacking: str) -> None:
        """Record that ``step`` was not requested: its option ``without`` is missing."""
        self._steps.append(AppraisalStep(step, None, "not requested", source, lacking, (without,)))

    def left_out(
        self, step: str, why: str, source: str = "", *, lacking: str = "", without: tuple[str, ...] = ()
    ) -> None:
        """Record that ``step`` could not be taken, which a policy may refuse.

        The evidence has nothing for it, or it is ``without`` an option; ``lacking`` says what an acceptance lacks for
        it, if anything.
        """
        self._steps.append(AppraisalStep(step, None, why, source, lacking, without))

    def adopt(self, appraisal: Appraisal, prefix: str) -> None:
        """Add the steps of another appraisal, their ids prefixed by ``prefix`` and a dot, and refuse if it refused.

        Raises RefusedError if the other appraisal refused.
        """
        steps = [replace(step, id=f"{prefix}.{step.id}") for step in appraisal.steps]
        self._steps.extend(steps)
        refused = next((step for step in steps if step.ok is False), None)
        if refused is not None:
            raise RefusedError(refused)

    def refuse(
        self,
        step: str,
        detail: str,
        source: str = "",
        *,
        without: tuple[str, ...] = (),
        differences: Sequence[Difference] = (),
    ) -> NoReturn:
        """Record that ``step`` failed, and end the appraisal. Raises RefusedError always."""
        self._steps.append(AppraisalStep(step, False, detail, source, "", without, tuple(differences)))
        raise RefusedError(self._steps[-1])

    @contextmanager
    def refusing(
        self,
        step: str,
        errors: type[Exception] | tuple[type[Exception], ...],
        source: str = "",
        *,
        without: tuple[str, ...] = (),
    ) -> Iterator[None]:
        """Refuse at ``step`` if the body raises one of ``errors``. Raises RefusedError in its place."""
        try:
            yield
        except errors as error:
            self.refuse(step, str(error), source, without=without, differences=of_path(error))

    def require_taken(
        self, policy: AppraisalPolicy, also: Set[str] = frozenset(), *, without: tuple[str, ...] = ()
    ) -> None:
        """Refuse unless every step that the policy requires was taken, and it requires one; the step is ``policy``.

        Other steps are asked for ``also`` because of what was given; ``without`` an option, fewer than with it. An
        acceptance by an inventory says that it is one, before everything else that it lacks.
        """
        asked = policy.require
        if not asked:
            self.refuse("policy", "the policy asks for no step, so it accepts nothing")
        missing = sorted((asked | also) - {"policy"} - self.held)
        if missing:
            lacking = {step.id: step.without for step in self._steps if step.id in missing and step.without}
            shown = ", ".join(_with_need(step, lacking.get(step, ())) for step in missing)
            self.refuse("policy", f"asked for and not taken: {shown}", without=next(iter(lacking.values()), ()))
        if policy.preset is Preset.INVENTORY:
            self.left_out(INVENTORY, INVENTORY_DETAIL, lacking=INVENTORY_ONLY)
        self.passed("policy", f"every step asked for was taken: {', '.join(sorted(asked))}", without=without)

    def require(self, condition: bool, step: str, detail: str, otherwise: str, source: str = "") -> None:
        """Record that ``step`` held, with the reason ``detail``, or refuse with the reason ``otherwise``."""
        if not condition:
            self.refuse(step, otherwise, source)
        self.passed(step, detail, source)

    def require_valid(
        self, certificates: Sequence[x509.Certificate], at: datetime, *, without: tuple[str, ...] = ()
    ) -> None:
        """Record that all certificates are valid at ``at``, or refuse; the step is ``validity``."""
        start, end = validity(certificates)
        period = f"certificates valid from {start:{TIME}} to {end:{TIME}}"
        if not start <= at <= end:
            wrong = out_of_time(certificates, at)
            self.refuse("validity", f"{period}, not at {at:{TIME}}", X509_TIME, without=without, differences=wrong)
        self.passed("validity", period, X509_TIME, without=without)

    def conclude(self, claims: Mapping[str, object], appraised_by: str | None = None) -> Appraisal:
        """Return the appraisal, with claims only if it accepted; ``appraised_by`` names another appraiser."""
        refused = any(step.ok is False for step in self._steps)
        return Appraisal(tuple(self._steps), {} if refused else dict(claims), appraised_by)


def others(accepted: Collection[bytes]) -> str:
    """Return how many other values a policy accepts, in words."""
    return plural(len(accepted), "other") if accepted else "none"


def _with_need(step: str, without: tuple[str, ...]) -> str:
    """Return the id of a step that was not taken, with what has to be given for it, where that is known."""
    needs = ["a key of the policy" if option == POLICY else f"--{option}" for option in without]
    return f"{step} (needs {' or '.join(needs)})" if needs else step


def unparsable(detail: str) -> Appraisal:
    """Return the refusal of evidence that could be read but not parsed."""
    steps = Checklist()
    try:
        steps.refuse("parse", detail)
    except RefusedError:
        return steps.conclude({})
