"""Defences: the guards and updates that can be taken away one by one, to see what each is for."""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.pipellm.variants import FLUSHED

DEFENCES = (
    ("own-key", "each channel has a key of its own, of one tenant and the GPU"),
    ("new-key", "a channel that begins again has a new key"),
    ("write-waits", "a page is not written while a copy of it is pending"),
    ("write-invalidates", "a write drops what was staged of the page"),
    ("private-staging", "what is encrypted ahead stays in private memory until it is sent"),
    ("in-order", "copies are sent in the order in which they are asked for"),
    ("page-checked", "what was staged is sent only if its page is asked for"),
    ("behind-anew", "what was staged under an IV that has passed is not sent"),
    ("pad-first", "what was staged under an IV to come is not sent before the counter is there"),
    ("miss-advances", "what is encrypted anew takes an IV"),
    ("pad-advances", "a NOP takes an IV"),
    ("pad-discarded", "a NOP goes to scratch memory"),
    ("implicit-counter", "the GPU decrypts under its own counter, whatever the host says"),
    ("tag-checked", "the GPU verifies the tag"),
    ("command-counted", "the GPU takes the command of the same number"),
    ("fail-closed", "a message that does not verify ends the channel"),
)


def declare_defences(draft: Draft) -> None:
    """Declare every defence."""
    for id, title in DEFENCES:
        draft.defence(id, title)
    if draft.variant == FLUSHED:
        draft.defence("encrypt-once", "an IV under which something was encrypted ahead encrypts nothing else")
