"""Readings: what the designs that lack something still give, and what of the argument they lose.

Every claim that is not named here holds in them, and is proved.
"""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.pipellm.claims import THREATS

FALLS: dict[str, tuple[str, ...]] = {}
"""For each variant the claims that fall, under every threat model."""

UNTRUE: dict[str, tuple[str, ...]] = {}
"""For each variant the lemmas that do not hold in it."""


def expect_falls(draft: Draft) -> None:
    """Say which claims fall in the variant that is drafted, and take back the lemmas that do not hold."""
    for claim in FALLS.get(draft.variant, ()):
        draft.expect(claim, under=(), fails_under=THREATS)
    draft.withdraw(*UNTRUE.get(draft.variant, ()))
