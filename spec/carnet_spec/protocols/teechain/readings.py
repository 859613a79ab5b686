"""Readings: what the designs that lack something still give, and what of the argument they lose.

Every claim that is not named here holds in them, and is proved.
"""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.teechain.claims import THREATS
from carnet_spec.protocols.teechain.variants import TAIL_ALONE

_TWICE = ("epoch-once", "one-holder", "fail-over-after", "no-late-grant")
"""What falls as soon as the next chain starts too early."""
_ROLLED_BACK = (*_TWICE, "nothing-lost", "no-rollback", "iv-unique")
"""What falls as well if a replica forgets what it passed on."""

FALLS: dict[str, dict[str, tuple[str, ...]]] = {
    TAIL_ALONE: dict.fromkeys((*_TWICE, "nothing-lost"), THREATS[1:]),
    "any-survivor": dict.fromkeys((*_TWICE, "one-successor"), THREATS),
    "copied-out": dict.fromkeys((*_TWICE, "frozen-silent"), THREATS),
    "sealed-storage": dict.fromkeys((*_ROLLED_BACK, "frozen-silent", "one-successor"), THREATS),
    "kept-key": dict.fromkeys((*_ROLLED_BACK, "frozen-silent", "one-successor"), THREATS),
    "uncounted": dict.fromkeys(_ROLLED_BACK, THREATS),
    "any-log": dict.fromkeys(_TWICE, THREATS),
}
"""For each variant the claims that fall, and under which threat models."""

_FORGOTTEN = ("what_is_passed_on", "down_the_chain", "what_is_granted")
_THAWED = (
    *("the_counter_is_behind", "a_freeze_is_counted", "a_vote_freezes", "a_vote_tells_the_end", "one_vote"),
    *("who_is_polled", "polled_for_one_chain", "past_the_polled", "who_ousted", "ousted_for_what_opened"),
    *("ousted_up_to_the_bar", "opened_in_line", "past_the_bar"),
)

UNTRUE: dict[str, tuple[str, ...]] = {
    "any-survivor": (
        *("opened_in_line", "past_the_bar", "who_ousted", "ousted_for_what_opened", "ousted_up_to_the_bar"),
    ),
    "copied-out": ("a_vote_tells_the_end", "a_freeze_is_counted", "past_the_polled", "ousted_up_to_the_bar"),
    "sealed-storage": (*_FORGOTTEN, *_THAWED),
    "kept-key": (*_FORGOTTEN, *_THAWED),
    "uncounted": _FORGOTTEN,
    "any-log": ("past_the_polled", "past_the_bar", "ousted_up_to_the_bar"),
}
"""For each variant the lemmas that do not hold in it."""


def expect_falls(draft: Draft) -> None:
    """Say which claims fall in the variant that is drafted, and take back the lemmas that do not hold."""
    for claim, fails in FALLS.get(draft.variant, {}).items():
        draft.expect(claim, under=tuple(threat for threat in THREATS if threat not in fails), fails_under=fails)
    draft.withdraw(*UNTRUE.get(draft.variant, ()))
