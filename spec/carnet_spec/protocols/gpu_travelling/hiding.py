"""A hidden address: the model lies where only orchestrator and firmware know, drawn anew in each session.

Who wants to put a certain version in the model's place has to know the place. There are three ways around it. Code on
the GPU sees the addresses that it computes with, and tells whoever it works for. A holder that can have all of memory
written out sees where the weights are, since nothing else there looks like them. And nobody needs to know a place that
is only to be spoilt: the engine writes where it is told, so a writer overwrites everything beside its own buffer.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.gpu_travelling.adversary import WHOLE_GPU
from carnet_spec.protocols.gpu_travelling.hardware import Hardware, located
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    Agent,
    Gpu,
    Key,
    Session,
    corrupt,
    foreign,
    holds_model,
    in_session,
    key_session,
    made_by,
    memory_version,
    platform,
    rubble,
)


def specify_hiding(draft: Draft, hardware: Hardware) -> None:
    """Add how the address is found out, and what needs none."""
    _find_out(draft, hardware)
    _overwrite(draft, hardware)


GIVEN_UP = ("trains-verified", "model-integrity", "provenance")
"""What is claimed of the model: with a corrupt holder it falls, and without one nothing is proved of it here."""


def give_up_the_model(draft: Draft) -> None:
    """Say which claims fall to a corrupt holder, who overwrites what it cannot find, and with them what led to them."""
    for name in GIVEN_UP:
        draft.expect(name, under=(), fails_under=("holder", "collusion", "past-keys"))
    draft.expect("participation", under=(), fails_under=("holder", "collusion"))
    draft.withdraw("latest_is_in_memory", "what_training_made", "secured_is_kept")


def _find_out(draft: Draft, hardware: Hardware) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="Code on {g} tells the platform where the model lies in {s}.",
        message="{g} -> platform: the model's address",
        source=f"{WHOLE_GPU}; Carnet (a hidden address)",
    )
    def code_locates(step: Step, g: Gpu, s: Session) -> None:
        """Code computes with addresses, and writes what it finds to plain host memory."""
        step.given("runs", corrupt(platform) & foreign(g) & holds_model(g) & in_session(g, s))
        step.insert(located(platform, s))

    @draft.action(
        by=ADVERSARY,
        says="{x} has all memory of {g} written out under {k}, and sees where the model lies.",
        message="{g} -> {x}: all of memory, read under {k}",
        source=f"{WHOLE_GPU}; Carnet (a hidden address)",
        cost=1,
    )
    def sweep(step: Step, x: Agent, g: Gpu, k: Key) -> None:
        """Nothing else in memory looks like the weights."""
        step.given("access", hardware.reaches(x, g, k) & holds_model(g))
        step.insert(located(x, key_session(k)))
        step.insert(made_by(k, x))

    @draft.rule(by=ADVERSARY, says="{x} tells {y} where the model lies in {s}.", source="deck, Collusion")
    def pool_address(step: Step, x: Agent, y: Agent, s: Session) -> None:
        """Corrupt agents share what they know."""
        step.given("collude", corrupt(x) & corrupt(y) & located(x, s))
        step.insert(located(y, s))


def _overwrite(draft: Draft, hardware: Hardware) -> None:
    @draft.action(
        by=ADVERSARY,
        says="{x} overwrites all memory of {g} beside its buffer, wherever the model lies, under {k}.",
        message="{x} -> {g}: noise over everything, under {k}",
        source=f"{WHOLE_GPU}; Carnet (a hidden address)",
        cost=1,
    )
    def overwrite(step: Step, x: Agent, g: Gpu, k: Key) -> None:
        """Rubble needs no address."""
        step.given("access", hardware.reaches(x, g, k))
        step.set(memory_version(g), rubble)
        step.insert(made_by(k, x))
