"""Variants: the design choices that are compared, with what lies beneath each and what each claims."""

from __future__ import annotations

from carnet_spec.language.family import Profile, Variant
from carnet_spec.protocols.gpu_travelling.engines import EnginePerHolder
from carnet_spec.protocols.gpu_travelling.hardware import Hardware
from carnet_spec.protocols.gpu_travelling.leaking_engines import RetiredEngineLeaks
from carnet_spec.protocols.gpu_travelling.other_adversaries import KINDS, SCOPES, WITH_MORE
from carnet_spec.protocols.gpu_travelling.ratchets import Ratchet, ResetOut, WrappedUnderOld
from carnet_spec.protocols.gpu_travelling.retirement import RetireThenOpen
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.scopes import CONFINED, LEAKING, RECORDING

MAIN = ("engine-per-holder", "sealed-under-master")

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            "engine-per-holder", "each holder has a copy engine of its own, retired at return", label="needs firmware"
        ),
        Variant("sealed-under-master", "a fresh key each time, under the session master", label="needs firmware"),
        Variant(
            "retired-engine-leaks",
            "an engine per holder, whose key leaks while the engine is retired",
            label="needs firmware",
        ),
        Variant("none", "the link key never changes", without=("rotation-out", "rotation-in")),
        Variant("ratchet", "the public driver's rotation: HKDF of the previous key"),
        Variant("wrapped-under-old", "a fresh key, sent under the outgoing link key"),
        Variant("reset", "a new session before every journey, the stock ratchet on the way in"),
        Variant("rotate-out-only", "the deck read literally: rotate before travelling only", without=("rotation-in",)),
        Variant("check-before-rotate", "check memory, then rotate", without=("rotation-before-check",)),
        Variant(
            "fence-before-rotate",
            "fence, then rotate, and ask for no contexts; with the whole bundle lent",
            without=("rotation-before-fence", "no-context-left", "h2d-half-only"),
            hunts=(Profile("two rounds", {"rounds": 2, "corrupt_chunks": 1}, budget=1),),
        ),
        Variant("scrub-buffer-only", "scrub the dataset buffer alone", without=("scrub-workspace",)),
        Variant(
            "whole-bundle-lent",
            "lend both halves, keep d2h, and believe reports on the link",
            without=("h2d-half-only", "rotation-in-d2h", "session-acknowledgements"),
        ),
        Variant("launch-key-lent", "lend the launch key too", without=("launch-key-kept",)),
        Variant(
            "report-not-in-session",
            "take a report from outside the session",
            without=("report-in-session", "signer-is-responder"),
        ),
        Variant("intra-handshake-quote", "a quote not bound to the channel", without=("quote-bound-to-channel",)),
        Variant(
            "forked-orchestrator",
            "a holder takes any instance of the right code and manifest",
            without=("one-instance",),
        ),
        Variant(
            "kernel-answers",
            "the firmware's reports travel on the link, where code on the GPU can make them",
            without=("session-acknowledgements",),
        ),
        Variant(
            "kernel-orders",
            "orders travel on the link, where code on the GPU can submit them",
            without=("session-orders",),
        ),
        *WITH_MORE,
        Variant("plain-semaphores", "believe the plain scrub semaphore", without=("scrub-ack",)),
        Variant("reattach-after-reset", "re-attach silently after a reset", without=("fail-stop-on-reset",)),
        Variant("engine-reload", "copy engines can be loaded again in a session", without=("no-engine-reload",)),
        Variant("inner-key", "a one-time data key of holder and verified code, over the stock ratchet"),
        Variant("confined-holder", "hardware confines a holder to its buffer", label="needs hardware"),
        Variant("pcie-switch", "a switch for a MUX: several hosts reach the GPU at once", label="needs hardware"),
        Variant(
            "retire-then-open",
            "retiring an engine and opening the next are two orders, and the host may drop one",
            label="needs firmware",
        ),
        Variant(
            "backup-orchestrator",
            "a second instance takes over after a fail-stop (a pattern, without replication)",
            label="needs firmware",
        ),
        Variant(
            "hidden-address",
            "hide the model's address instead of comparing its digest",
            without=("model-read-back",),
            hunts=(
                Profile("one round", {"rounds": 1, "corrupt_chunks": 1}, budget=1),
                Profile("two short rounds", {"rounds": 2}, budget=1),
            ),
        ),
        Variant(
            "engine-per-holder-timed",
            "the same, with clock, leases and limits of keys",
            label="needs firmware",
            over=MAIN[0],
        ),
        Variant(
            "sealed-under-master-timed",
            "the same, with clock, leases and limits of keys",
            label="needs firmware",
            over=MAIN[1],
        ),
    )
}

MADE = {
    "confined-holder": CONFINED,
    "inner-key": RECORDING,
    "retired-engine-leaks": LEAKING,
    **SCOPES,
}
"""Where the claims of a variant are not made as usual."""
HARDWARE = {
    "confined-holder": Hardware(confined=True),
    "hidden-address": Hardware(hidden=True),
    "pcie-switch": Hardware(switched=True),
}
"""What lies beneath the variants that change it."""
SCHEDULES: dict[str, type[Schedule]] = {
    kind.name: kind for kind in (EnginePerHolder, RetiredEngineLeaks, Schedule, Ratchet, ResetOut, WrappedUnderOld)
}
"""Key schedules by name; ``none`` is a schedule with both rotations removed."""
_SCHEDULE_OF: dict[str, type[Schedule]] = {
    **SCHEDULES,
    "inner-key": Ratchet,
    "pcie-switch": EnginePerHolder,
    "backup-orchestrator": EnginePerHolder,
    "retire-then-open": RetireThenOpen,
    **KINDS,
}
"""What becomes of keys in the variants that do not build on ``sealed-under-master``."""


def schedule_of(variant: str) -> type[Schedule]:
    """Return the key schedule that a variant builds on."""
    return _SCHEDULE_OF.get(variant, Schedule)
