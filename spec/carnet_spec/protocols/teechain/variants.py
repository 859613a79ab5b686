"""Variants: Teechain for custody, and readings of the published designs that would not be safe."""

from __future__ import annotations

from carnet_spec.language.family import Variant

MAIN = ("committee-chain",)
TAIL_ALONE = "tail-alone"

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("committee-chain", "every member passes an epoch on, a quorum of frozen members takes a chain over"),
        Variant(
            TAIL_ALONE, "the acknowledgement of the tail is enough, as in chain replication", without=("every-member",)
        ),
        Variant("any-survivor", "a backup that finds the primary silent takes over, by itself", without=("quorum",)),
        Variant("copied-out", "the state is read out, and the chain goes on", without=("freeze",)),
        Variant("sealed-storage", "a replica starts from any sealed state", without=("counter-check",)),
        Variant("uncounted", "a replica passes on first and counts later", without=("increment-first",)),
        Variant("kept-key", "a launch with an empty memory has the replica's key", without=("launch-identity",)),
        Variant("any-log", "the next chain starts from the log of any voter", without=("newest-log",)),
    )
}
