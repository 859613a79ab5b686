"""Readings: what the designs that lack something still give, and what of the argument they lose.

Every claim that is not named here holds in them, and is proved.
"""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.ring_all_reduce.claims import THREATS
from carnet_spec.protocols.ring_all_reduce.variants import CERTIFICATE_ONLY

_TENANTS = THREATS[1:]
_WRONG_SUMS = ("partial-sum-agreement", "sum-agreement", "nothing-else", "whole-sum", "same-sum")
_JOINED = ("neighbour-genuine", "hop-isolation", "confidentiality", *_WRONG_SUMS)

FALLS: dict[str, dict[str, tuple[str, ...]]] = {
    "group-key": dict.fromkeys(("neighbour-genuine", "hop-isolation", "confidentiality", "iv-unique"), THREATS),
    "unattested": dict.fromkeys(_JOINED, THREATS),
    CERTIFICATE_ONLY: dict.fromkeys(_JOINED, _TENANTS),
    "any-iteration": dict.fromkeys(_WRONG_SUMS, THREATS),
    "any-phase": dict.fromkeys(("partial-sum-agreement", "sum-agreement", "whole-sum", "same-sum"), THREATS),
    "any-chunk": dict.fromkeys(_WRONG_SUMS, THREATS),
    "bare-mac": dict.fromkeys(_WRONG_SUMS, THREATS),
    "late-check": dict.fromkeys(_WRONG_SUMS, THREATS),
    "goes-on": {"whole-sum": THREATS},
    "same-keys": dict.fromkeys(("confidentiality", "iv-unique", "same-sum"), THREATS),
}
"""For each variant the claims that fall, and under which threat models."""

_MIXED = ("sums_are_of_one_chunk", "nobody_is_missing", "sums_come_from_the_last")
_STRANGE = ("both_ends_of_a_hop", "hops_are_closed", "tags_tell_by_key", "contributions_are_under_hop_keys")

UNTRUE: dict[str, tuple[str, ...]] = {
    "group-key": (
        *("senders_opened", "both_ends_of_a_hop", "tags_tell_by_key"),
        *("ivs_are_spent", "who_knows", "one_iv_one_message"),
    ),
    "unattested": (*_STRANGE, "sums_are_clean", "nobody_is_missing", "sums_come_from_the_last"),
    "any-iteration": _MIXED,
    "any-phase": _MIXED[1:],
    "any-chunk": _MIXED,
    "bare-mac": _MIXED,
    "late-check": ("sums_are_clean", *_MIXED),
    "goes-on": ("nobody_is_missing",),
    "same-keys": (
        *("contributions_are_remembered", "what_was_sealed", "ivs_are_spent"),
        *("one_iv_one_message", "contributions_are_under_hop_keys", "sums_come_from_the_last"),
    ),
}
"""For each variant the lemmas that do not hold in it."""


def expect_falls(draft: Draft) -> None:
    """Say which claims fall in the variant that is drafted, and take back the lemmas that do not hold."""
    for claim, fails in FALLS.get(draft.variant, {}).items():
        draft.expect(claim, under=tuple(threat for threat in THREATS if threat not in fails), fails_under=fails)
    draft.withdraw(*UNTRUE.get(draft.variant, ()))
