"""Readings: what the designs that lack something still give, and what of the argument they lose.

Every claim that is not named here holds in them, and is proved.
"""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.fastrack.claims import THREATS
from carnet_spec.protocols.fastrack.variants import THROUGH_THE_CPU

_COLLUSION = THREATS[1:]

FALLS: dict[str, dict[str, tuple[str, ...]]] = {
    THROUGH_THE_CPU: {
        "confidentiality": THREATS,
        "key-isolation": THREATS,
        "verified-release": _COLLUSION,
        "chunk-agreement": _COLLUSION,
        "whole-transfer": _COLLUSION,
        "answer-agreement": _COLLUSION,
    },
    "independent-tags": {"chunk-agreement": THREATS, "whole-transfer": THREATS},
    "no-length": {"whole-transfer": THREATS},
    "prefix-start": {"whole-transfer": THREATS},
    "decrypt-in-place": {"verified-release": THREATS, "chunk-agreement": THREATS},
    "two-fetches": {"verified-release": THREATS, "chunk-agreement": THREATS},
    "cpu-launches": {"confidentiality": THREATS},
}
"""For each variant the claims that fall, and under which threat models."""

UNTRUE: dict[str, tuple[str, ...]] = {
    "independent-tags": ("verified_is_sealed", "verified_last_is_last"),
    "no-length": ("verified_last_is_last",),
    "prefix-start": ("done_is_whole",),
    "decrypt-in-place": ("released_stays",),
    "two-fetches": ("verified_is_sealed", "verified_is_under_the_key"),
    "cpu-launches": ("named_code_runs",),
}
"""For each variant the lemmas that do not hold in it."""


def expect_falls(draft: Draft) -> None:
    """Say which claims fall in the variant that is drafted, and take back the lemmas that do not hold."""
    for claim, fails in FALLS.get(draft.variant, {}).items():
        draft.expect(claim, under=tuple(threat for threat in THREATS if threat not in fails), fails_under=fails)
    draft.withdraw(*UNTRUE.get(draft.variant, ()))
