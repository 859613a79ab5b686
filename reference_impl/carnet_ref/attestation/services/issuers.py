"""Attestation services: how to recognise their tokens, who issues them, and which claims object to the evidence.

A service states what it found; the relying party decides whether that is enough. What the service itself objects to is
refused here: a negative overall result, measurements that differ, a policy of its customer that did not match. So are a
debug mode and a TCB status that `carnet attest` refuses in evidence, too, unless the policy allows them.

Source of the claims: NVIDIA Attestation SDK (73c032e), nv-attestation-sdk-cpp/src/claims.cpp and gpu/claims.cpp; Google
Cloud, "Attestation token claims" of Confidential Space and of Confidential VM; Intel Trust Authority, "Attestation
token"; Microsoft Azure Attestation, "Examples of an attestation token" and "TDX EAT profile", and, of virtual machines,
Azure/confidential-computing-cvm-guest-attestation, ``sampleAttestationToken.json``; RFC 9711, section 4.2.9.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation.intel.appraisal import DEFAULT_STATUSES
from carnet_ref.attestation.intel.collateral import TcbStatus
from carnet_ref.attestation.policies import (
    AppraisalPolicy,
    Flag,
    PointedValues,
    Words,
    policy_form,
    policy_key,
    require_key,
)

STEPS: Final = (
    "signature",
    "chain",
    "validity",
    "service",
    "issuer",
    "devices",
    "issued",
    "expiry",
    "nonce",
    "audience",
    "status",
    "compared",
)
DEFAULT_STEPS: Final = frozenset({"signature", "service", "issuer", "issued", "expiry", "status"})


@dataclass(frozen=True, slots=True)
class Policy(AppraisalPolicy):
    """The requirements on a result; each key has a description of its own."""

    require: frozenset[str] = require_key(STEPS)
    allow_debug: bool = policy_key(Flag(), False, "whether what a service says to be debugged is accepted")
    tcb_statuses: frozenset[TcbStatus] = policy_key(
        Words(tuple(TcbStatus)), DEFAULT_STATUSES, "the TCB statuses accepted, where a service states one"
    )
    claims: Mapping[str, tuple[object, ...]] = policy_key(
        PointedValues(), {}, "for claims by their JSON pointer in the statements, the values accepted"
    )


POLICY_FORM: Final = policy_form(
    Policy,
    default={"require": DEFAULT_STEPS},
    strict={"require": DEFAULT_STEPS | {"nonce", "compared"}, "tcb_statuses": frozenset({TcbStatus.UP_TO_DATE})},
    inventory={"require": DEFAULT_STEPS, "allow_debug": True, "tcb_statuses": frozenset(TcbStatus)},
)
Claims = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Service:
    """An attestation service: its short name, its full name, and how its tokens are recognised.

    ``issuers`` is what ``iss`` has to be where no other is named. ``algorithms`` are those that it signs by, and
    ``nonces`` where in its claims a nonce may stand. ``marks`` are names that only its claims have,
    and ``demanded`` those that they must have.
    """

    name: str
    title: str
    issuers: re.Pattern[str]
    algorithms: tuple[str, ...]
    nonces: tuple[tuple[str, ...], ...]
    marks: frozenset[str]
    demanded: tuple[str, ...] = ()


OVERALL: Final = "x-nvidia-overall-att-result"
NONCE: Final = "eat_nonce"
#: How claims of NVIDIA's service begin, and how those end that have to be true. No other of a device may be false.
NVIDIA, CHECKED = "x-nvidia-", ("-signature-verified", "-nonce-match", "-arch-check")
#: The claims about the certificates of a device itself.
OWN_CHAINS: Final = tuple((f"x-nvidia-{kind}-attestation-report-cert-chain",) for kind in ("gpu", "switch"))
#: Every service that is known. The owner of an instance of Azure Attestation decides its policy, so of those only the
#: shared ones, which are Microsoft's, are taken without being named: one for each region, with its name twice.
SERVICES: Final = (
    Service(
        "NVIDIA",
        "NVIDIA's remote attestation service (NRAS)",
        re.compile(r"https://nras\.attestation\.nvidia\.com"),
        ("ES384",),
        ((NONCE,),),
        frozenset({"x-nvidia-ver", OVERALL}),
        (OVERALL,),
    ),
    Service(
        "Google",
        "Google Cloud Attestation",
        re.compile(r"https://confidentialcomputing\.googleapis\.com"),
        ("RS256",),
        ((NONCE,),),
        frozenset({"google_service_accounts", "swname", "swversion"}),
    ),
    Service(
        "Intel",
        "Intel Trust Authority",
        re.compile(r"https://portal(\.eu)?\.trustauthority\.intel\.com"),
        ("PS384", "RS256"),
        ((NONCE,), ("verifier_nonce", "val"), ("tdx", "verifier_nonce", "val"), ("nvgpu", "verifier_nonce", "val")),
        frozenset({"verifier_instance_ids", "policy_ids_matched", "attester_type"}),
    ),
    Service(
        "Microsoft",
        "Microsoft Azure Attestation",
        re.compile(r"https://shared([a-z0-9]+)\.\1\.attest\.azure\.net"),
        ("RS256",),
        ((NONCE,), ("nonce",), ("x-ms-runtime", "client-payload", "nonce")),
        frozenset({"x-ms-ver", "x-ms-attestation-type", "x-ms-policy-hash"}),
    ),
)


def service_of(claims: Claims) -> Service | None:
    """Return the service that claims seem to come from: by their issuer, or else by the names of claims."""
    issuer = claims.get("iss")
    named = (each for each in SERVICES if isinstance(issuer, str) and each.issuers.fullmatch(issuer))
    return next(named, next((each for each in SERVICES if each.marks & set(claims)), None))


#: What the attester hands in to be repeated; the service says nothing about it.
HELD: Final = frozenset({"x-ms-runtime", "attester_runtime_data", "attester_held_data", "attester_user_data"})
#: How the names of claims end that say whether something is debugged.
DEBUG: Final = ("debuggable", "debug-enabled", "tdx_td_attributes_debug")
#: For the ends of names of claims, whether a value speaks against the evidence. Every ``dbgstat`` without debugging
#: begins with ``disabled`` (RFC 9711, section 4.2.9). A GPU whose ``cc_mode`` is not ``ON`` protects no more than one
#: that is debugged. NVIDIA's service decides by its overall result whether expired certificates of reference values
#: count.
SPEAKS_AGAINST: Final[Mapping[str, Callable[[object, Policy], bool]]] = {
    OVERALL: lambda value, _: value is not True,
    "x-nvidia-cert-status": lambda value, _: value not in ("valid", "expired"),
    "x-nvidia-cert-ocsp-status": lambda value, _: value != "good",
    "secboot": lambda value, _: value is False,
    "secureboot": lambda value, _: value is False,
    "measres": lambda value, _: value != "success",
    "policy_ids_unmatched": lambda value, _: value not in ([], None),
    "attester_tcb_status": lambda value, policy: value not in tuple(policy.tcb_statuses),
    "dbgstat": lambda value, policy: not policy.allow_debug and not str(value).startswith("disabled"),
    "cc_mode": lambda value, policy: not policy.allow_debug and value != "ON",
    "debuggersdisabled": lambda value, policy: not policy.allow_debug and value is not True,
    **dict.fromkeys(DEBUG, lambda value, policy: not policy.allow_debug and value is not False),
}


def walk(claims: Claims, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every claim with its path of names, except data that the attester supplied."""
    for name, value in claims.items():
        if name in HELD:
            continue
        yield (*above, name), value
        inner = {str(place): each for place, each in enumerate(value)} if isinstance(value, list) else value
        if isinstance(inner, dict):
            yield from walk(inner, (*above, name))


def objections(service: Service, claims: Claims, policy: Policy) -> Iterator[str]:
    """Yield the service's objections to the evidence, each in a few words."""
    yield from (f"{name} is missing" for name in service.demanded if name not in claims)
    for path, value in walk(claims):
        judged = any(judge(value, policy) for end, judge in SPEAKS_AGAINST.items() if path[-1].endswith(end))
        failed = value is False or (path[-1].endswith(CHECKED) and value is not True)
        failed |= path[-2:-1] in OWN_CHAINS and path[-1] == "x-nvidia-cert-status" and value != "valid"
        if judged or (failed and path[-1].startswith(NVIDIA)):
            yield f"{'.'.join(path)} is {ascii(value)[:60]}"
