"""Firmware services: what each variant asks of the GPU, and what the public driver has of it.

*Shown*: the public driver performs it or calls it. *Hidden*: the driver has a part of it, and closed firmware would
have to do the rest. *Lacking*: the driver neither performs it nor calls it.

The driver is open-gpu-kernel-modules, release 595.45.04, cited by file; DEMY is arXiv 2507.02770. Nothing here was
tried on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable

from carnet_spec.language.family import Service
from carnet_spec.protocols.gpu_travelling.engines import EnginePerHolder
from carnet_spec.protocols.gpu_travelling.ratchets import Ratchet
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.variants import VARIANTS, schedule_of

SHOWN, HIDDEN, LACKING = "shown", "hidden", "lacking"
_IN_SESSION = "session-acknowledgements"


def _any(schedule: type[Schedule]) -> bool:
    return True


def _engines(schedule: type[Schedule]) -> bool:
    return issubclass(schedule, EnginePerHolder)


def _ratchets(schedule: type[Schedule]) -> bool:
    return issubclass(schedule, Ratchet)


def _fresh(schedule: type[Schedule]) -> bool:
    return not _engines(schedule) and not _ratchets(schedule)


def _service(
    id: str,
    title: str,
    available: str,
    where: str,
    *,
    schedules: Callable[[type[Schedule]], bool] = _any,
    unless: tuple[str, ...] = (),
    variants: tuple[str, ...] = tuple(VARIANTS),
) -> Service:
    """Describe a service that the variants on ``schedules`` need, but for those that lack a defence of ``unless``."""
    needed_by = (
        name
        for name in variants
        if schedules(schedule_of(VARIANTS[name].over or name)) and not {*VARIANTS[name].without} & {*unless}
    )
    return Service(id, title, available, where, frozenset(needed_by))


SERVICES = (
    _service("session", "a session, and a signed report inside it", SHOWN, "spdm.c"),
    _service(
        "lent-key",
        "raw link keys, for user mode to pass on",
        SHOWN,
        "kernel_channel.c (GET_KMB); cc_drv.h: both directions come in one bundle",
    ),
    _service("implicit-iv", "copies decrypted at the engine's own next IV", SHOWN, "uvm_hopper_ce.c"),
    _service(
        "engine-keys",
        "an engine with a key pair of its own, whose channels have counters of their own",
        SHOWN,
        "conf_compute_keystore_gh100.c; kernel_channel.c",
        schedules=_engines,
    ),
    _service(
        "ratchet",
        "a rotation that derives the next key from the last",
        SHOWN,
        "conf_compute_keystore_gh100.c; conf_compute_key_rotation.c: past a threshold, or at the kernel's request",
        schedules=_ratchets,
    ),
    _service(
        "engine-retirement",
        "an engine's channels retired, and that reported",
        HIDDEN,
        "conf_compute_key_rotation.c: channels are disabled as a part of a rotation; no retirement by itself",
        schedules=_engines,
        unless=("engine-retirement",),
    ),
    _service(
        "orders",
        "orders that name an epoch and a number, carried out in order, each once",
        HIDDEN,
        "message_queue_cpu.c: requests are encrypted; the queue is not, so they are reordered and omitted (DEMY)",
        unless=("session-orders",),
    ),
    _service(
        "fence",
        "every resident context stopped",
        HIDDEN,
        "conf_compute_key_rotation.c: channels that do not idle are killed; nothing reports that none is left",
        unless=("fence",),
    ),
    _service(
        "counter",
        "the receive counter of an epoch, reported",
        HIDDEN,
        "uvm_hopper_ce.c: the engine has the counter, and nothing asks for it",
        unless=("received-count", _IN_SESSION),
    ),
    _service(
        "key-limit",
        "an engine that stops at the limit of its key",
        HIDDEN,
        "conf_compute_key_rotation.c: the driver counts and disables channels; what an engine refuses is not shown",
    ),
    _service(
        "rotation-report",
        "a rotation reported inside the session, with its epoch",
        HIDDEN,
        "conf_compute_gh100.c: the reply to ROTATE_KEYS comes inside the session, and names no epoch",
        unless=(_IN_SESSION, "rotation-out"),
    ),
    _service(
        "whole-scrub",
        "a scrub of all memory but code and model",
        HIDDEN,
        "mem_scrub.c scrubs memory that is freed",
        unless=("scrub-workspace",),
    ),
    _service(
        "copies",
        "a holder's copies submitted, to the address that the holder names",
        HIDDEN,
        "cc_keystore.h: launching work needs a channel and a key of its own, which are not lent",
    ),
    _service(
        "fresh-key",
        "a fresh link key, taken once, in the order of epochs",
        LACKING,
        "conf_compute_keystore_gh100.c derives each key from the last",
        schedules=_fresh,
        unless=("rotation-out",),
    ),
    _service(
        "reports",
        "fence and scrub reported inside the session, with epoch and number",
        LACKING,
        "mem_scrub.c: the completion semaphore is in unprotected memory (DEMY)",
        unless=(_IN_SESSION,),
    ),
    _service(
        "digests",
        "digests of code and model as they are in memory, after training and on the way home",
        LACKING,
        "no file: the driver measures firmware, not the memory of a job",
        unless=(_IN_SESSION,),
    ),
    _service(
        "contexts-left",
        "that nothing else runs, reported with the digests",
        LACKING,
        "no file: nothing reports which contexts are left, at the instant of a digest or at any other",
        unless=(_IN_SESSION, "no-context-left"),
    ),
    _service(
        "debug-flag",
        "a debug flag in the report",
        LACKING,
        "no file: no report seen so far states a device mode; debug firmware has no reference value",
        unless=("debug-check",),
    ),
    _service(
        "confinement",
        "a link key that reaches the dataset buffer only",
        LACKING,
        "no file: the deck hopes for it (Outlook)",
        variants=("confined-holder",),
    ),
)
"""What is asked of the GPU, in the order of what is known of it."""
