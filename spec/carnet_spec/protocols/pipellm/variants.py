"""Variants: PipeLLM, readings of it that would not be safe, and one that stages in shared memory and is."""

from __future__ import annotations

from carnet_spec.language.family import Variant

MAIN = ("private-guesses",)
FLUSHED = "flushed-guesses"
SHARED = "shared-staging"

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("private-guesses", "guesses stay in private memory until they are sent, and NOPs move the counter on"),
        Variant(
            FLUSHED,
            "guesses wait in shared memory, an IV encrypts once, and what was guessed wrong is sent to scratch memory",
            without=("private-staging",),
        ),
        Variant(SHARED, "guesses wait in shared memory, where they are sent from", without=("private-staging",)),
        Variant("no-invalidation", "a write leaves what was staged of the page", without=("write-invalidates",)),
        Variant("asynchronous-writes", "the application writes on while a copy is pending", without=("write-waits",)),
        Variant("hits-first", "a guess that was right overtakes copies that were not guessed", without=("in-order",)),
        Variant("iv-of-a-miss", "what is encrypted anew leaves its IV to a guess", without=("miss-advances",)),
        Variant("free-nops", "a NOP leaves its IV to what comes next", without=("pad-advances",)),
        Variant("no-padding", "a guess is sent whenever its page is asked for", without=("behind-anew", "pad-first")),
        Variant("iv-from-the-host", "the IV comes with the message", without=("implicit-counter",)),
        Variant("old-key", "a channel begins again at the first IV, with its old key", without=("new-key",)),
    )
}
