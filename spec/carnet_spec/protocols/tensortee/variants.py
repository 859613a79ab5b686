"""Variants: TensorTEE, and readings of its abstract that would not be safe."""

from __future__ import annotations

from carnet_spec.language.family import Variant

MAIN = ("tensor-granular",)
MACHINE_KEY = "machine-key"

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("tensor-granular", "one writer, whole tensors, and results that await what they were computed from"),
        Variant("two-counters", "each side counts versions of the same tensors itself", without=("one-writer",)),
        Variant("predict-and-export", "nothing waits for the MAC", without=("verified-release", "verified-hand-over")),
        Variant("own-mac-only", "a result that is verified itself counts as verified", without=("taint-kept",)),
        Variant("verify-by-second-pass", "the MAC is computed from a second read", without=("one-fetch",)),
        Variant("sum-of-tags", "the MAC of a tensor is the XOR of Carter-Wegman tags", without=("mac-nonlinear",)),
        Variant("bare-lines", "the MAC of a line says only what is in it", without=("mac-tensor", "mac-line")),
        Variant("spilled-table", "entries that have no room on-chip lie in memory", without=("table-protected",)),
        Variant(MACHINE_KEY, "CPU and NPU have one key for all jobs", without=("job-key",)),
    )
}
