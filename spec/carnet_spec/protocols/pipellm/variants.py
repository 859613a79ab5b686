"""Variants: PipeLLM, and readings of it that would not be safe."""

from __future__ import annotations

from carnet_spec.language.family import Variant

MAIN = ("private-staging",)

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("private-staging", "guesses stay in private memory until they are sent; a NOP for each IV that is free"),
        Variant("shared-staging", "guesses wait in shared memory, where they are sent from", without=("private-staging",)),
        Variant("no-invalidation", "a write leaves what was staged of the page", without=("write-invalidates",)),
        Variant("asynchronous-writes", "the application writes on while a copy is pending", without=("write-waits",)),
        Variant("hits-first", "a hit overtakes copies that were not guessed", without=("in-order",)),
        Variant("iv-of-a-miss", "what is encrypted anew leaves its IV to the guess", without=("miss-advances",)),
        Variant("free-nops", "a NOP is thought to cost no IV", without=("pad-advances",)),
        Variant("no-padding", "a guess is sent whenever its page is asked for", without=("behind-anew", "pad-first")),
        Variant("iv-from-the-host", "the IV comes with the message", without=("implicit-counter",)),
        Variant("old-key", "after an error the channel begins again, with its old key", without=("new-key",)),
    )
}
