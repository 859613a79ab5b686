"""Variants: ring all-reduce among GPU TEEs, and readings of the paper's abstract that would not be safe."""

from __future__ import annotations

from carnet_spec.language.family import Variant

MAIN = ("attested-hops",)
CERTIFICATE_ONLY = "certificate-only"

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            "attested-hops", "a key for each hop from an attested exchange, and messages that say where they belong"
        ),
        Variant("group-key", "one key for the whole ring, which each rank hands on to the next", without=("hop-key",)),
        Variant(
            "unattested",
            "ranks agree on keys, and nobody asks what is at the other end",
            without=("report-bound", "gpu-certificate", "mode-check", "code-check"),
        ),
        Variant(
            CERTIFICATE_ONLY,
            "a certificate is enough: any GPU of the vendor may join",
            without=("mode-check", "code-check"),
        ),
        Variant("any-iteration", "a tag does not bind the iteration", without=("bound-iteration",)),
        Variant("any-phase", "a tag binds neither the phase nor the sub-step", without=("bound-phase", "bound-step")),
        Variant("any-chunk", "a tag binds the sub-step and not the chunk", without=("bound-chunk",)),
        Variant(
            "bare-mac",
            "a MAC of each message, which says nothing of where it belongs",
            without=("bound-iteration", "bound-phase", "bound-step", "bound-chunk"),
        ),
        Variant("late-check", "ranks add what arrives, and look at tags afterwards", without=("verify-first",)),
        Variant("goes-on", "a rank whose message fails goes on with its own contribution", without=("wait-for-sum",)),
        Variant("same-keys", "a job that begins again from a checkpoint keeps its keys", without=("iteration-once",)),
    )
}
