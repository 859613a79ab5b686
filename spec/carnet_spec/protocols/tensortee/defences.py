"""Defences: the guards and updates that can be taken away one by one, to see what each is for."""

from __future__ import annotations

from carnet_spec.language import Draft

DEFENCES = (
    ("npu-attested", "the CPU enclave shares a key with an NPU that it attested only"),
    ("job-key", "each job has a key of its own"),
    ("new-key", "a session that starts again has a new key, since its versions start again"),
    ("one-writer", "one side alone writes a tensor"),
    ("version-advances", "a pass takes the next version before its first line is written"),
    ("line-once", "a line is written once in a pass"),
    ("mac-tensor", "the MAC binds the tensor"),
    ("mac-line", "the MAC binds the place of each line"),
    ("mac-version", "the MAC binds the version"),
    ("mac-nonlinear", "the MACs of lines that are added up are no linear function of the lines"),
    ("table-protected", "an entry that leaves the table is under a counter tree"),
    ("whole-write", "a tensor is handed over when every line of the pass is written"),
    ("descriptor-sealed", "a descriptor is authenticated under the key"),
    ("descriptor-fresh", "a descriptor is taken only if its version is newer than the last"),
    ("settle-first", "a tensor that awaits its MAC is neither read again nor written"),
    ("one-fetch", "the line that is computed with is the line that is added to the MAC"),
    ("every-line", "a MAC is compared when every line has arrived"),
    ("mac-compared", "a tensor is verified only if its MAC is the same"),
    ("taint-passed-on", "a result awaits whatever it was computed from"),
    ("taint-kept", "a result that was in memory awaits what it awaited before"),
    ("verified-hand-over", "a result is handed over when it awaits nothing"),
    ("verified-release", "a result is given out when it awaits nothing"),
    ("fail-stop", "after a MAC that failed, nothing is handed over or given out"),
)


def declare_defences(draft: Draft) -> None:
    """Declare every defence."""
    for id, title in DEFENCES:
        draft.defence(id, title)
