"""Variants: the interface with a fixed shape, and readings of "oblivious" that would not be enough."""

from __future__ import annotations

from carnet_spec.language.family import Variant

MAIN = ("fixed-shape",)
SHUFFLED = "shuffled-blocks"
ON_DEMAND = "disk-on-demand"

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("fixed-shape", "one frame for each tick, alike in all but its content"),
        Variant(SHUFFLED, "blocks are shuffled once, and each is fetched when it is needed", without=("fixed-scan",)),
        Variant(ON_DEMAND, "dummies keep the network busy; the disk is asked on demand", without=("dummy-calls",)),
        Variant(
            "protected-only",
            "content is encrypted, and nothing else is hidden",
            without=("pad-frames", "dummy-calls", "fixed-order", "constant-rate", "fixed-scan"),
        ),
        Variant("early-end", "a run ends when nothing waits", without=("fixed-end",)),
        Variant("needed-retry", "what was refused is sent again only if it was a call", without=("retry-alike",)),
        Variant("calls-checked", "answers to dummies are thrown away unread", without=("check-dummies",)),
        Variant(
            "bare-hand-over",
            "a hand-over has as many chunks as the holder has data",
            without=("fill-chunks", "fixed-hand-over", "pad-chunks"),
        ),
    )
}


def has(variant: str, *defences: str) -> bool:
    """Whether a variant has all these defences."""
    return not set(defences) & set(VARIANTS[variant].without)
