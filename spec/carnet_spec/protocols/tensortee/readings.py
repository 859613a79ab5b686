"""Readings: what the designs that lack something still give, and what of the argument they lose.

Every claim that is not named here holds in them, and is proved.
"""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.tensortee.claims import THREATS

_NEIGHBOUR = THREATS[1:]

FALLS: dict[str, dict[str, tuple[str, ...]]] = {}
"""For each variant the claims that fall, and under which threat models."""

UNTRUE: dict[str, tuple[str, ...]] = {}
"""For each variant the lemmas that do not hold in it."""


def expect_falls(draft: Draft) -> None:
    """Say which claims fall in the variant that is drafted, and take back the lemmas that do not hold."""
    for claim, fails in FALLS.get(draft.variant, {}).items():
        draft.expect(claim, under=tuple(threat for threat in THREATS if threat not in fails), fails_under=fails)
    draft.withdraw(*UNTRUE.get(draft.variant, ()))
