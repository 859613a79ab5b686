"""Readings: what the designs that lack something still give, and what of the argument they lose.

Every claim that is not named here holds in them, and is proved.
"""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.tensortee.claims import THREATS
from carnet_spec.protocols.tensortee.variants import MACHINE_KEY

_NEIGHBOUR = THREATS[1:]

FALLS: dict[str, dict[str, tuple[str, ...]]] = {
    "two-counters": {
        "confidentiality": THREATS,
        "iv-unique": THREATS,
        "hand-over-agreement": THREATS,
        "verified-hand-over": THREATS,
    },
    "predict-and-export": {"verified-export": THREATS, "verified-hand-over": THREATS},
    "own-mac-only": {"verified-export": THREATS, "verified-hand-over": THREATS},
    "verify-by-second-pass": {
        "tensor-agreement": THREATS,
        "verified-export": THREATS,
        "verified-hand-over": THREATS,
    },
    "sum-of-tags": {"tensor-agreement": THREATS, "verified-export": THREATS, "verified-hand-over": THREATS},
    "bare-lines": {
        "line-agreement": THREATS,
        "tensor-agreement": THREATS,
        "verified-export": THREATS,
        "verified-hand-over": THREATS,
    },
    "spilled-table": {
        "confidentiality": THREATS,
        "iv-unique": THREATS,
        "whole-hand-over": THREATS,
        "no-rollback": THREATS,
    },
    MACHINE_KEY: {
        "confidentiality": THREATS,
        "key-isolation": THREATS,
        "line-agreement": _NEIGHBOUR,
        "tensor-agreement": _NEIGHBOUR,
        "hand-over-agreement": _NEIGHBOUR,
        "verified-export": _NEIGHBOUR,
        "verified-hand-over": _NEIGHBOUR,
    },
}
"""For each variant the claims that fall, and under which threat models."""

UNTRUE: dict[str, tuple[str, ...]] = {
    "two-counters": ("written_by_the_cpu", "written_by_the_npu", "inputs_were_handed_over", "handed_over_is_clean"),
    "predict-and-export": ("handed_over_is_clean",),
    "own-mac-only": ("spoilt_awaits", "handed_over_is_clean"),
    "verify-by-second-pass": ("matched_is_written", "spoilt_awaits", "handed_over_is_clean"),
    "sum-of-tags": ("matched_is_written", "spoilt_awaits", "handed_over_is_clean"),
    "bare-lines": ("matched_is_written", "spoilt_awaits", "handed_over_is_clean"),
    "spilled-table": ("written_by_the_cpu", "lines_of_the_cpu_are_filled"),
}
"""For each variant the lemmas that do not hold in it."""


def expect_falls(draft: Draft) -> None:
    """Say which claims fall in the variant that is drafted, and take back the lemmas that do not hold."""
    for claim, fails in FALLS.get(draft.variant, {}).items():
        draft.expect(claim, under=tuple(threat for threat in THREATS if threat not in fails), fails_under=fails)
    draft.withdraw(*UNTRUE.get(draft.variant, ()))
