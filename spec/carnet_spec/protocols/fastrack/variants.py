"""Variants: Fastrack, the protocol that it improves on, and readings of its abstract that would not be safe."""

from __future__ import annotations

from carnet_spec.language.family import Variant

MAIN = ("direct-channel",)
THROUGH_THE_CPU = "through-the-cpu"

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            "direct-channel", "a direct key, chunks that say where they belong, release of whole verified transfers"
        ),
        Variant(
            THROUGH_THE_CPU, "the stock protocol: the CPU TEE decrypts, and encrypts again", without=("direct-key",)
        ),
        Variant(
            "independent-tags",
            "each chunk has a tag of its own, which says nothing of where it belongs",
            without=("tag-transfer", "tag-place", "tag-number", "tag-last"),
        ),
        Variant("no-length", "a tag binds transfer and place only", without=("tag-number", "tag-last")),
        Variant("prefix-start", "kernels start on the chunks that are there and verified", without=("whole-transfer",)),
        Variant("decrypt-in-place", "overlapped decryption writes where kernels read", without=("private-staging",)),
        Variant("two-fetches", "tag and plaintext are computed from two reads of host memory", without=("one-fetch",)),
        Variant("cpu-launches", "the CPU TEE chooses what runs, as its driver does today", without=("kernel-named",)),
    )
}
