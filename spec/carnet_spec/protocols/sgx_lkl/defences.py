"""Defences: the guards and updates that can be taken away one by one, to see what each is for."""

from __future__ import annotations

from carnet_spec.language import Draft

DEFENCES = (
    ("pad-frames", "every frame is padded to one size"),
    ("cut-to-frames", "what is longer than a frame is cut"),
    ("dummy-calls", "where there is nothing to say, a dummy leaves"),
    ("fixed-order", "what a frame asks for, the schedule says"),
    ("constant-rate", "a frame leaves at the end of its tick, whenever it was ready"),
    ("fixed-scan", "blocks are swept in a fixed order, whichever is needed"),
    ("fresh-iv", "every frame has an IV of its own"),
    ("retry-alike", "a dummy that was refused is sent again, as a call is"),
    ("check-dummies", "the answer to a dummy is verified as every answer is"),
    ("verify-answer", "the application takes an answer only if it verifies"),
    ("fixed-end", "a run ends at its deadline"),
    ("uniform-status", "the status tells what the host did, and nothing of the application"),
    ("pad-result", "the result is padded to one size"),
    ("fill-chunks", "chunks are sent up to the manifest's bound, with filler after the data"),
    ("fixed-hand-over", "the hand-over is over when the manifest says"),
    ("pad-chunks", "every chunk is padded to one size"),
)


def declare_defences(draft: Draft) -> None:
    """Declare every defence."""
    for id, title in DEFENCES:
        draft.defence(id, title)
