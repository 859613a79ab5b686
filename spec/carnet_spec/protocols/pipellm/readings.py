"""Readings: what the designs that lack something still give, and what of the argument they lose.

Every claim that is not named here holds in them, and is proved.
"""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.pipellm.claims import THREATS
from carnet_spec.protocols.pipellm.variants import FLUSHED, SHARED

_TWO_UNDER_ONE_IV = ("confidentiality", "iv-unique", "copy-agreement")
_OUT_OF_STEP = (*_TWO_UNDER_ONE_IV, "no-passed-iv", "counters-agree", "no-gap")

FALLS: dict[str, tuple[str, ...]] = {
    FLUSHED: (),
    SHARED: _TWO_UNDER_ONE_IV,
    "no-invalidation": ("copy-agreement",),
    "asynchronous-writes": ("copy-agreement",),
    "hits-first": ("order-kept", "no-gap"),
    "iv-of-a-miss": _OUT_OF_STEP,
    "free-nops": _OUT_OF_STEP,
    "no-padding": (*_TWO_UNDER_ONE_IV, "no-passed-iv", "in-step"),
    "iv-from-the-host": ("copy-agreement",),
    "old-key": (*_OUT_OF_STEP, "order-kept"),
}
"""For each variant the claims that fall, under every threat model."""

_PASSED = ("exposed_has_passed", "exposed_of_the_honest", "commands_fit")
_FOLLOWED = ("gone_has_passed", "commands_are_sent", "nothing_is_left_out", "nothing_was_left_out")

UNTRUE: dict[str, tuple[str, ...]] = {
    FLUSHED: (),
    SHARED: _PASSED,
    "no-invalidation": ("staged_is_current", "commands_fit"),
    "asynchronous-writes": ("pending_is_current", "commands_fit"),
    "hits-first": ("commands_in_order", "pending_comes_after_sent"),
    "iv-of-a-miss": (*_PASSED, *_FOLLOWED, "one_command"),
    "free-nops": (*_PASSED, *_FOLLOWED),
    "no-padding": _PASSED,
    "iv-from-the-host": (),
    "old-key": (*_PASSED, *_FOLLOWED, "commands_are_not_ahead", "one_command", "commands_in_order"),
}
"""For each variant the lemmas that do not hold in it."""


def expect_falls(draft: Draft) -> None:
    """Say which claims fall in the variant that is drafted, and take back the lemmas that do not hold."""
    for claim in FALLS.get(draft.variant, ()):
        draft.expect(claim, under=(), fails_under=THREATS)
    draft.withdraw(*UNTRUE.get(draft.variant, ()))
