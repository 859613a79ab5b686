"""Attestation services, each with what its tokens look like, who issues them, and what in them speaks against evidence.

A service says what it found; whether that is enough is for the relying party. Its own refusals are refusals here: an
overall result that is negative, measurements that differ, a policy of its customer that did not match. So are a debug
mode and a TCB status that `carnet attest` refuses in evidence, too, unless the policy allows them.

Source of the claims: NVIDIA Attestation SDK (73c032e), nv-attestation-sdk-cpp/src/claims.cpp and gpu/claims.cpp; Google
Cloud, "Attestation token claims" of Confidential Space and of Confidential VM; Intel Trust Authority, "Attestation
token"; Microsoft Azure Attestation, "Examples of an attestation token" and "TDX EAT profile"; RFC 9711, section 4.2.9.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation.intel.collateral import TcbStatus

DEFAULT_STATUSES: Final = frozenset(
    {
        TcbStatus.UP_TO_DATE,
        TcbStatus.SW_HARDENING_NEEDED,
        TcbStatus.CONFIGURATION_NEEDED,
        TcbStatus.CONFIGURATION_AND_SW_HARDENING_NEEDED,
    }
)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a result has to say.

    Attributes:
        require: the steps that have to be taken and hold.
        allow_debug: whether what a service says to be debugged is accepted.
        tcb_statuses: the TCB statuses accepted, where a service states one.
    """

    require: frozenset[str] = frozenset({"signature", "issuer", "issued", "expiry", "status"})
    allow_debug: bool = False
    tcb_statuses: frozenset[TcbStatus] = DEFAULT_STATUSES


Claims = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Service:
    """An attestation service: who says so in short, what it is, and how its tokens are told from others.

    ``issuers`` is what ``iss`` has to be where no other is named. ``algorithms`` are those that it signs by, and
    ``nonces`` where in its claims a nonce may stand. ``marks`` are names that only its claims have.
    """

    name: str
    title: str
    issuers: re.Pattern[str]
    algorithms: tuple[str, ...]
    nonces: tuple[tuple[str, ...], ...]
    marks: frozenset[str]
    refused: Callable[[Claims], Iterator[str]]
    """Yields what the service itself refused."""


OVERALL: Final = "x-nvidia-overall-att-result"
MEASUREMENTS: Final = "measres"
UNMATCHED: Final = "policy_ids_unmatched"
NONCE: Final = "eat_nonce"


def _refused_by_nvidia(claims: Claims) -> Iterator[str]:
    if claims.get(OVERALL) is not True:
        yield f"{OVERALL} is {_shown(claims.get(OVERALL))}"
    for path, value in walk(claims):
        if path[-1] == MEASUREMENTS and value != "success":
            yield f"{'.'.join(path)} is {_shown(value)}"


def _refused_by_intel(claims: Claims) -> Iterator[str]:
    yield from _unmatched(claims)
    for path, value in walk(claims):
        if path[-1] == OVERALL and value is not True:
            yield f"{'.'.join(path)} is {_shown(value)}"


def _unmatched(claims: Claims) -> Iterator[str]:
    if claims.get(UNMATCHED, []) not in ([], None):
        yield f"{UNMATCHED} is not empty"


def _nothing(claims: Claims) -> Iterator[str]:
    """Yield nothing: the service issues no token about evidence that it refused."""
    del claims
    yield from ()


SERVICES: Final = (
    Service(
        "NVIDIA",
        "NVIDIA's remote attestation service (NRAS)",
        re.compile(r"https://nras\.attestation\.nvidia\.com"),
        ("ES384",),
        ((NONCE,),),
        frozenset({"x-nvidia-ver", OVERALL}),
        _refused_by_nvidia,
    ),
    Service(
        "Google",
        "Google Cloud Attestation",
        re.compile(r"https://confidentialcomputing\.googleapis\.com"),
        ("RS256",),
        ((NONCE,),),
        frozenset({"google_service_accounts", "swname", "swversion"}),
        _nothing,
    ),
    Service(
        "Intel",
        "Intel Trust Authority",
        re.compile(r"https://portal(\.eu)?\.trustauthority\.intel\.com"),
        ("PS384", "RS256"),
        ((NONCE,), ("verifier_nonce", "val"), ("tdx", "verifier_nonce", "val"), ("nvgpu", "verifier_nonce", "val")),
        frozenset({"verifier_instance_ids", "policy_ids_matched", UNMATCHED, "attester_type"}),
        _refused_by_intel,
    ),
    Service(
        "Microsoft",
        "Microsoft Azure Attestation",
        re.compile(r"https://shared[a-z0-9]+\.[a-z0-9]+\.attest\.azure\.net"),
        ("RS256",),
        ((NONCE,), ("nonce",), ("x-ms-runtime", "client-payload", "nonce")),
        frozenset({"x-ms-ver", "x-ms-attestation-type", "x-ms-policy-hash"}),
        _nothing,
    ),
)
"""Every service that is known. Whoever has an instance of Azure Attestation decides its policy, so of those only the
shared ones, which are Microsoft's, are taken without being named."""


def service_of(claims: Claims) -> Service | None:
    """Return the service that seems to have made claims: by the issuer that they name, or else by other names."""
    issuer = claims.get("iss")
    named = (each for each in SERVICES if isinstance(issuer, str) and each.issuers.fullmatch(issuer))
    return next(named, next((each for each in SERVICES if each.marks & set(claims)), None))


HELD: Final = frozenset({"x-ms-runtime", "attester_runtime_data", "attester_held_data", "attester_user_data"})
"""What the attester hands in to be repeated; the service says nothing about it."""
DEBUG: Final = frozenset(
    {
        "is-debuggable",
        "sgx_is_debuggable",
        "tdx_is_debuggable",
        "tdx_td_attributes_debug",
        "x-ms-sgx-is-debuggable",
        "x-ms-sevsnpvm-is-debuggable",
    }
)
DEBUG_STATUS: Final = "dbgstat"
DISABLED: Final = "disabled"
"""How every value begins that says that there is no debugging. Source: RFC 9711, section 4.2.9."""
TCB_STATUS: Final = "attester_tcb_status"


def walk(claims: Claims, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every claim with the names that lead to it, but for what the attester handed in."""
    for name, value in claims.items():
        if name in HELD:
            continue
        yield (*above, name), value
        inner = {str(place): each for place, each in enumerate(value)} if isinstance(value, list) else value
        if isinstance(inner, dict):
            yield from walk(inner, (*above, name))


def objections(service: Service, claims: Claims, policy: Policy) -> Iterator[str]:
    """Yield what in claims speaks against the evidence, in a few words each."""
    yield from service.refused(claims)
    for path, value in walk(claims):
        where, name = ".".join(path), path[-1]
        debugged = name in DEBUG and value is not False
        debugged |= name == DEBUG_STATUS and not str(value).startswith(DISABLED)
        if debugged and not policy.allow_debug:
            yield f"{where} is {_shown(value)}"
        if name == TCB_STATUS and value not in tuple(policy.tcb_statuses):
            yield f"{where} is {_shown(value)}"


def _shown(value: object) -> str:
    return "missing" if value is None else ascii(value)[:60]
