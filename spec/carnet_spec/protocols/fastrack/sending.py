"""Sending: a user cuts a transfer into chunks, which any number of workers seal in any order."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.fastrack.vocabulary import (
    USER,
    Agent,
    Block,
    Gpu,
    Key,
    Mark,
    Position,
    Transfer,
    answer,
    attested,
    begun,
    ciphertext,
    extent,
    honest,
    ivs,
    masked,
    owner,
    reused,
    sealed,
    sent,
    spent,
    tag,
    took,
    within,
)

_PARALLEL = "Fastrack, abstract: parallelized authentication"


def specify_sending(draft: Draft) -> None:
    """Add what users send and take to ``draft``."""
    _begin(draft)
    _seal(draft)
    _take(draft)


def _begin(draft: Draft) -> None:
    @draft.action(
        by=USER,
        says="{a} begins transfer {x} under {k}, up to place {n}.",
        source="RFC 5116 section 3.1",
        enforces="REQ-SEND-01",
    )
    def begin(step: Step, a: Agent, k: Key, g: Gpu, x: Transfer, n: Position) -> None:
        """The IV is made of the transfer and the place, so a number that comes back brings its IVs back."""
        step.actor(a, honest(a))
        step.require("attested", attested(a, k, g))
        step.require("number not used", ~begun(a, k, x), defence="transfer-fresh")
        step.remove(spent(a, k, x, step.each(Position)), unless="transfer-fresh", name="begin anew")
        step.insert(begun(a, k, x))
        step.set(extent(k, x), n)


def _seal(draft: Draft) -> None:
    @draft.action(
        by=USER,
        says="A worker of {a} seals {b} for place {i} of transfer {x} under {k}.",
        message="{a} -> cpu: chunk {i} of transfer {x} under {k}",
        source=_PARALLEL,
        enforces=("REQ-SEND-02", "REQ-SEND-03"),
    )
    def seal(step: Step, a: Agent, k: Key, x: Transfer, i: Position, b: Block) -> None:
        """The tag says where the chunk belongs, so that the CPU TEE may forward chunks in any order."""
        step.actor(a, honest(a))
        step.require("begun", begun(a, k, x))
        step.require("a place of it", within(i, extent(k, x)))
        step.require("own data", owner(b) == a)
        step.require("place not sealed", ~spent(a, k, x, i), defence="chunk-once")
        step.insert(spent(a, k, x, i))
        step.insert(ciphertext(k, b))
        step.insert(masked(k, x, i, b))
        step.insert(tag(k, x, i, extent(k, x), Mark.MORE, b), when=i != extent(k, x), name="tag one of more")
        step.insert(tag(k, x, i, extent(k, x), Mark.LAST, b), when=i == extent(k, x), name="tag the last")
        step.insert(sealed(a, k, x, i, b))
        step.insert(sent(a, k, b))
        step.insert(reused(k, x, i), when=ivs(k, x, i))
        step.insert(ivs(k, x, i))


def _take(draft: Draft) -> None:
    @draft.action(
        by=USER,
        says="{a} takes the answer to {y} under {k} as the one to {x}.",
        source="Carnet (answers exchanged)",
        enforces="REQ-ANSWER-01",
    )
    def take_answer(step: Step, a: Agent, k: Key, x: Transfer, y: Transfer) -> None:
        """Who gets an answer knows that the whole transfer arrived."""
        step.actor(a, honest(a))
        step.require("begun", begun(a, k, x))
        step.require("an answer", answer(k, y))
        step.require("about this transfer", y == x, defence="answer-bound")
        step.insert(took(a, k, x))
