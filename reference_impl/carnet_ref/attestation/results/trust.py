"""What the steps of a format say about an attester, in the words of AR4SI: a vector of trustworthiness claims.

A claim is affirmed only by steps that were taken and held. A step that failed contradicts the claim that it belongs to.
About everything else no claim is made.

Source: draft-ietf-rats-ar4si, "Trustworthiness Claims" (names, values) and "Trustworthiness Tiers".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

HOUR: Final = 3600
"""For how many seconds a result may be relied on, where no policy says otherwise."""


class TrustClaim(StrEnum):
    """The trustworthiness claims, by their names in JSON."""

    INSTANCE_IDENTITY = "instance-identity"
    CONFIGURATION = "configuration"
    EXECUTABLES = "executables"
    FILE_SYSTEM = "file-system"
    HARDWARE = "hardware"
    RUNTIME_OPAQUE = "runtime-opaque"
    STORAGE_OPAQUE = "storage-opaque"
    SOURCED_DATA = "sourced-data"


class Tier(StrEnum):
    """How far an attester is to be trusted."""

    NONE = "none"
    AFFIRMING = "affirming"
    WARNING = "warning"
    CONTRAINDICATED = "contraindicated"


WORST_LAST: Final = tuple(Tier)
"""The tiers in the order of the numbers that stand for them; none is no claim, so any other is worse."""
NO_CLAIM: Final = 0
AFFIRMED: Final = 2
"""Recognised, genuine, approved or encrypted, as the claim has it."""
BOOTED: Final = 3
"""Of executables: only recognised ones were loaded while booting; nothing is said of later ones."""
VULNERABLE: Final = 32
"""Genuine, with known vulnerabilities."""
CONTRADICTED: Final = 96
UNRECOGNISED: Final = 97
NOT_VERIFIED: Final = 99
"""The cryptographic validation of the evidence failed."""


def tier_of(value: int) -> Tier:
    """Return the tier of a claim's value, from -128 to 127."""
    if -1 <= value <= 1:
        return Tier.NONE
    size = value if value > 0 else -value - 1  # -2 to -32 affirm without a standard's word, and so on
    if size < VULNERABLE:
        return Tier.AFFIRMING
    return Tier.WARNING if size < CONTRADICTED else Tier.CONTRAINDICATED


def worst(tiers: Any) -> Tier:
    """Return the worst of some tiers, and none where there are none."""
    return max(tiers, key=WORST_LAST.index, default=Tier.NONE)


@dataclass(frozen=True, slots=True)
class TrustRow:
    """How one claim comes about."""

    claim: TrustClaim
    """The claim."""
    needs: Mapping[str, int]
    """The steps that have to hold to affirm it, each with the claim's value where it failed."""
    also: Mapping[str, int] = field(default_factory=dict)
    """Steps that may only contradict it, as ``needs``."""
    affirmed: int = AFFIRMED
    """Its value where all steps that it needs held."""

    @property
    def failing(self) -> Mapping[str, int]:
        """Every step that may contradict the claim, with its value then."""
        return {**self.needs, **self.also}


def _nothing(_: Mapping[str, object]) -> Mapping[TrustClaim, int]:
    return {}


def _an_hour(_: Any) -> int:
    return HOUR


@dataclass(frozen=True, slots=True)
class ResultProfile:
    """How appraisals of a format become results."""

    rows: tuple[TrustRow, ...]
    """A row for each claim that can be made."""
    asked_with: str
    """The option that gives what the attester was asked with."""
    answered: str
    """The claim of an appraisal in which the attester says it, in hexadecimal."""
    noted: Callable[[Mapping[str, object]], Mapping[TrustClaim, int]] = _nothing
    """What claims of accepted evidence say against an attester although a policy allows it."""
    lasting: Callable[[Any], int] = _an_hour
    """For how many seconds a policy lets a result be relied on."""
    grouped: bool = False
    """Whether one appraisal is about several attesters, whose steps have their names and a dot before them."""

    def claims_of(self, step: str) -> dict[TrustClaim, int]:
        """Return the claim that a failed step contradicts, if it belongs to one, with its value."""
        return {row.claim: row.failing[step] for row in self.rows if step in row.failing}
