"""A PCIe switch in the place of the MUX: every host on it reaches the GPU at any time, whatever was asked for.

Who controls the switch is the platform, which under *hypervisor* and *collusion* routes, records and resets anyway.
What is new is that the hosts of outsiders and of corrupt holders do so too, although the platform is honest. Routing is
exclusive no longer; keys alone say whose the GPU is.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.gpu_travelling.deductions import key_of
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    Agent,
    Data,
    Gpu,
    Key,
    Session,
    Slot,
    answered,
    confidential,
    corrupt,
    ends_at,
    foreign,
    forges_d2h,
    forges_h2d,
    genuine,
    holds_model,
    in_session,
    knows_d2h,
    knows_h2d,
    knows_master,
    learned,
    model_sent,
    model_uploaded,
    repeated,
    resident,
    sealed,
    stash,
    the_model,
    traffic,
)

_SWITCH = "deck, Outlook: hardware PCIe switches; Carnet (routing that is not exclusive)"


def specify_switch(draft: Draft) -> None:
    """Add what a host on the switch sees, beyond what it reaches."""
    _sees_ciphertexts(draft)
    _sees_repeated_ivs(draft)
    _sees_the_gpu(draft)


def _sees_ciphertexts(draft: Draft) -> None:
    @draft.rule(by=ADVERSARY, says="{x}, on the switch, decrypts {m}, which {a} sent under {k}.", source=_SWITCH)
    def tap_chunk(step: Step, x: Agent, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """Whatever crosses the switch is on record at every host."""
        step.given("recorded", corrupt(x) & sealed(a, k, v, m) & knows_h2d(x, k))
        step.insert(learned(x, m))

    @draft.rule(by=ADVERSARY, says="{x}, on the switch, decrypts traffic derived from {m} under {k}.", source=_SWITCH)
    def tap_traffic(step: Step, x: Agent, k: Key, m: Data) -> None:
        """So in the other direction."""
        step.given("recorded", corrupt(x) & traffic(k, m) & (knows_d2h(x, k) | forges_d2h(x, k)))
        step.insert(learned(x, m))

    @draft.rule(by=ADVERSARY, says="{x}, on the switch, decrypts the model that went up under {k}.", source=_SWITCH)
    def tap_upload(step: Step, x: Agent, k: Key, v: Slot) -> None:
        """So with the model on its way to the GPU."""
        step.given("recorded", corrupt(x) & model_uploaded(k, v) & knows_h2d(x, k))
        step.insert(learned(x, the_model))

    @draft.rule(by=ADVERSARY, says="{x}, on the switch, decrypts the model that went home under {k}.", source=_SWITCH)
    def tap_model(step: Step, x: Agent, k: Key) -> None:
        """And on its way home."""
        step.given("recorded", corrupt(x) & model_sent(k) & (knows_d2h(x, k) | forges_d2h(x, k)))
        step.insert(learned(x, the_model))


def _sees_repeated_ivs(draft: Draft) -> None:
    @draft.rule(by=ADVERSARY, says="Two chunks under {k} share IV {v}: {x}, on the switch, has both.", source=_SWITCH)
    def tap_pad(step: Step, x: Agent, a: Agent, b: Agent, k: Key, v: Slot, m: Data, n: Data) -> None:
        """An IV used twice is lost to whoever sees both messages."""
        step.given("recorded", corrupt(x) & sealed(a, k, v, m) & sealed(b, k, v, n) & (m != n))
        step.insert(learned(x, m), name="learn m")
        step.insert(learned(x, n), name="learn n")
        step.insert(forges_h2d(x, k))

    @draft.rule(by=ADVERSARY, says="Messages home under {k} share an IV: {x}, on the switch, forges.", source=_SWITCH)
    def tap_reply_pad(step: Step, x: Agent, k: Key, v: Slot) -> None:
        """So in the other direction."""
        step.given("recorded", corrupt(x) & repeated(k, v))
        step.insert(forges_d2h(x, k))


def _sees_the_gpu(draft: Draft) -> None:
    @draft.rule(by=ADVERSARY, says="{x}, on the switch, has the master of {s}, whose far end is {e}.", source=_SWITCH)
    def tap_master(step: Step, x: Agent, s: Session, e: Gpu) -> None:
        """A fake GPU, or one out of confidential mode, has no secrets from any host."""
        step.given("the session's far end", answered(s) & (ends_at(s) == e))
        step.given("not protected", corrupt(x) & (~genuine(e) | (in_session(e, s) & ~confidential(e))))
        step.insert(knows_master(x, s))

    @draft.rule(by=ADVERSARY, says="{x} derives {k} with the master of {s}.", source=_SWITCH)
    def tap_keys(step: Step, x: Agent, s: Session, k: Key) -> None:
        """And with the master every key of the session."""
        step.given("has the master", corrupt(x) & knows_master(x, s) & key_of(s, k))
        step.insert(knows_h2d(x, k))
        step.insert(knows_d2h(x, k))

    @draft.rule(by=ADVERSARY, says="{x}, on the switch, is sent {m} by code on {g}, or reads it there.", source=_SWITCH)
    def tap_memory(step: Step, x: Agent, g: Gpu, m: Data) -> None:
        """Foreign code writes to any host, and outside confidential mode any host reads."""
        there = resident(g, m) | stash(g, m) | (holds_model(g) & (m == the_model))
        step.given("open", corrupt(x) & genuine(g) & (foreign(g) | ~confidential(g)))
        step.given("there", there)
        step.insert(learned(x, m))
