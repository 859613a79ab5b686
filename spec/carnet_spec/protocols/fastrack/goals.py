"""Goals: what must be reachable, or claims would be empty."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula
from carnet_spec.protocols.fastrack.vocabulary import (
    Agent,
    Block,
    Gpu,
    Key,
    Position,
    Transfer,
    arrived,
    attested,
    begun,
    confidential,
    corrupt,
    expected,
    failed,
    first,
    holds,
    honest,
    knows,
    opened,
    owner,
    released,
    sealed,
    staged,
    took,
    verified,
    within,
)


def state_goals(draft: Draft) -> None:
    """Add the goals to ``draft``."""
    _whole(draft)
    _hostile(draft)


def _whole(draft: Draft) -> None:
    @draft.goal(sentence="A chunk is verified while another one is still to come.")
    def overlap(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, j: Position) -> Formula:
        return attested(a, k, g) & verified(g, k, x, i) & ~arrived(g, k, x, j) & within(j, expected(g, k, x))

    @draft.goal(sentence="The second chunk is verified before the first arrives.")
    def out_of_order(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        return attested(a, k, g) & verified(g, k, x, i) & (i != first) & ~arrived(g, k, x, first)

    @draft.goal(sentence="A kernel reads a transfer of two chunks of an honest user.")
    def two_chunks(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> Formula:
        both = released(g, k, x, first, b) & released(g, k, x, i, c) & (i != first)
        return attested(a, k, g) & honest(a) & both

    @draft.goal(sentence="An honest user takes the answer to its transfer.")
    def answer_taken(a: Agent, k: Key, x: Transfer) -> Formula:
        return took(a, k, x) & honest(a)

    @draft.goal(sentence="A user seals two chunks of one transfer.")
    def two_sealed(a: Agent, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> Formula:
        return sealed(a, k, x, first, b) & sealed(a, k, x, i, c) & (i != first) & (b != c)


def _hostile(draft: Draft) -> None:
    @draft.goal(
        sentence="A chunk that the host changed arrives under an honest user's key, and the transfer is given up."
    )
    def given_up(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        return attested(a, k, g) & begun(a, k, x) & failed(g, k, x) & arrived(g, k, x, i)

    @draft.goal(sentence="What the host made is decrypted under an honest user's key, and waits for its tag.")
    def unverified(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        return attested(a, k, g) & staged(g, k, x, i, b) & corrupt(owner(b))

    @draft.goal(sentence="A corrupt user sends two chunks of its own to a genuine GPU.")
    def another_user(p: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> Formula:
        both = released(g, k, x, first, b) & released(g, k, x, i, c) & (i != first)
        return corrupt(p) & opened(p, k) & holds(g, k) & confidential(g) & both

    @draft.goal(sentence="A corrupt agent has the key of another one's exchange with a genuine GPU.")
    def pooled(p: Agent, q: Agent, k: Key, g: Gpu) -> Formula:
        return corrupt(p) & opened(p, k) & knows(q, k) & (p != q) & holds(g, k) & confidential(g)
