"""What a relying party asks of a TD, as data.

A policy that asks for no step accepts nothing. Certificates, their validity and the signatures are checked whatever
the policy says, and so is every step that collateral was given for; a policy names the steps without which it will
not accept, and the values it accepts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation.documents import PREFIX, Document
from carnet_ref.attestation.intel.collateral import TcbStatus
from carnet_ref.wire import MalformedError

STEPS: Final = (
    "parse",
    "kind",
    "pck-chain",
    "validity",
    "qe-report-signature",
    "qe-report-binding",
    "quote-signature",
    "report-data",
    "debug",
    "attributes",
    "isolation",
    "measurements",
    "event-log",
    "collateral-signature",
    "fmspc",
    "collateral-validity",
    "revocation",
    "qe-identity",
    "tdx-module",
    "tcb-status",
    "policy",
)
DEFAULT_STEPS: Final = frozenset(
    {"pck-chain", "validity", "qe-report-signature", "qe-report-binding", "quote-signature", "debug", "qe-identity"}
)
DEFAULT_STATUSES: Final = frozenset(
    {
        TcbStatus.UP_TO_DATE,
        TcbStatus.SW_HARDENING_NEEDED,
        TcbStatus.CONFIGURATION_NEEDED,
        TcbStatus.CONFIGURATION_AND_SW_HARDENING_NEEDED,
    }
)
"""A platform that misses a security update is accepted only where a policy says so."""
REGISTERS: Final = ("mrtd", "mrseam", "rtmr0", "rtmr1", "rtmr2", "rtmr3", "mrservicetd")
REGISTER_BYTES: Final = 48
SIGNER_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Policy:
    """What is asked.

    Attributes:
        require: the steps that must have been taken and have held.
        allow_debug: whether a TD that its host may read is accepted.
        require_sept_ve_disable: whether a TD has to be ended, rather than told, when its host takes a page away; TDs
            of Azure are told, and their paravisor handles it.
        measurements: for each of ``REGISTERS`` that is asked for, the values accepted; empty: none is asked for.
        tcb_statuses: the TCB statuses accepted, where there is collateral to tell.
        rejected_advisories: the Intel advisories of which none may apply.
        minimum_evaluation_number: the lowest TCB evaluation data number accepted; ``None``: any.
        collateral_ttl: how many seconds ago the collateral may have been issued; ``None``: until its next update.
        quoting_enclave_signers: the MRSIGNER of quoting enclaves that are accepted beside Intel's, as platforms under a
            test root have them.
    """

    require: frozenset[str] = frozenset()
    allow_debug: bool = False
    require_sept_ve_disable: bool = True
    measurements: tuple[tuple[str, frozenset[bytes]], ...] = ()
    tcb_statuses: frozenset[TcbStatus] = DEFAULT_STATUSES
    rejected_advisories: frozenset[str] = frozenset()
    minimum_evaluation_number: int | None = None
    collateral_ttl: int | None = None
    quoting_enclave_signers: frozenset[bytes] = frozenset()


KEYS: Final = tuple(Policy.__dataclass_fields__)
DEFAULT_POLICY: Final = Policy(require=DEFAULT_STEPS)


def parse_policy(data: bytes) -> Policy:
    """Read a policy from a JSON object whose keys are the attributes of `Policy`; register values are hexadecimal.

    Raises MalformedError if it is something else.
    """
    document = Document.parse(data, "policy")
    _check_words("key", document.names(), KEYS)
    require = document.texts("require")
    _check_words("step", require, STEPS)
    statuses = document.texts("tcb_statuses") if document.has("tcb_statuses") else tuple(DEFAULT_STATUSES)
    _check_words("TCB status", statuses, tuple(TcbStatus))
    number, ttl = "minimum_evaluation_number", "collateral_ttl"
    return Policy(
        frozenset(require),
        document.flag("allow_debug", default=False),
        document.flag("require_sept_ve_disable", default=True),
        _measurements(document.document("measurements")) if document.has("measurements") else (),
        frozenset(TcbStatus(status) for status in statuses),
        frozenset(document.texts("rejected_advisories")),
        document.number(number) if document.has(number) else None,
        document.number(ttl) if document.has(ttl) else None,
        _values(document, "quoting_enclave_signers", SIGNER_BYTES),
    )


def _measurements(document: Document) -> tuple[tuple[str, frozenset[bytes]], ...]:
    _check_words("register", document.names(), REGISTERS)
    return tuple((name, _values(document, name, REGISTER_BYTES)) for name in document.names())


def _values(document: Document, name: str, size: int) -> frozenset[bytes]:
    texts = [text.removeprefix(PREFIX) for text in document.texts(name)]
    return frozenset(Document({name: text}, "policy").octets(name, size) for text in texts)


def _check_words(kind: str, words: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    wrong = next((word for word in words if word not in allowed), None)
    if wrong is not None:
        raise MalformedError("policy", f"a {kind} out of {', '.join(allowed)}", wrong[:100])
