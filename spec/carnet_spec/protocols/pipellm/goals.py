"""Goals: what must be reachable, or claims would be empty."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula
from carnet_spec.protocols.pipellm.variants import FLUSHED
from carnet_spec.protocols.pipellm.vocabulary import (
    Agent,
    Block,
    Copy,
    Iv,
    Key,
    Page,
    before,
    command,
    corrupt,
    counter,
    dead,
    due,
    exposed,
    gone,
    guessed,
    knows,
    landed,
    learnt,
    opened,
    own,
    pending,
    placed,
    scratch,
    source,
    spent,
    staged,
    start,
    zeros,
)


def state_goals(draft: Draft) -> None:
    """Add the goals to ``draft``."""
    _whole(draft)
    _guesses(draft)
    _wrong_guesses(draft)
    _hostile(draft)


def _whole(draft: Draft) -> None:
    @draft.goal(sentence="A block that was encrypted ahead reaches the GPU, after a NOP.")
    def hit_after_a_nop(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        nop = scratch(k, start) & placed(k, start, start)
        hit = guessed(k, r) & landed(k, n, r, b) & placed(k, n, n) & gone(k, n)
        return own(a, k) & nop & hit & (b != zeros)

    @draft.goal(sentence="A block that was encrypted anew reaches the GPU.")
    def miss(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        sent = landed(k, n, r, b) & placed(k, n, n) & gone(k, n)
        return own(a, k) & sent & ~guessed(k, r) & (b != zeros)

    @draft.goal(sentence="Two copies reach the GPU, of two blocks.")
    def two_copies(a: Agent, k: Key, n: Iv, m: Iv, r: Copy, s: Copy, b: Block, c: Block) -> Formula:
        both = landed(k, n, r, b) & landed(k, m, s, c) & before(n, m)
        return own(a, k) & both & (b != c)

    @draft.goal(sentence="Two messages are on their way.")
    def in_flight(a: Agent, k: Key, n: Iv, r: Copy) -> Formula:
        return own(a, k) & command(k, n, r) & before(counter(k), n)


def _guesses(draft: Draft) -> None:
    @draft.goal(sentence="A page that reached the GPU is written, and encrypted ahead again.")
    def written_again(a: Agent, k: Key, i: Iv, j: Iv, r: Copy, b: Block, c: Block) -> Formula:
        return own(a, k) & landed(k, i, r, b) & staged(k, j, source(k, r), c) & (b != c) & (j != i)


def _wrong_guesses(draft: Draft) -> None:
    if draft.variant == FLUSHED:

        @draft.goal(sentence="A guess is flushed, and a copy follows it.")
        def flushed(a: Agent, k: Key, i: Iv, r: Copy, b: Block, n: Iv) -> Formula:
            return own(a, k) & spent(k, i) & scratch(k, i) & landed(k, n, r, b) & before(i, n)

        return

    @draft.goal(sentence="Two pages are encrypted ahead under one IV, and a copy is pending.")
    def two_guesses(a: Agent, k: Key, i: Iv, p: Page, q: Page, r: Copy, b: Block, c: Block) -> Formula:
        return own(a, k) & staged(k, i, p, b) & staged(k, i, q, c) & (b != c) & pending(k, r)

    @draft.goal(sentence="A guess is behind: another block was sent under its IV.")
    def behind(a: Agent, k: Key, i: Iv, p: Page, b: Block, c: Block) -> Formula:
        return own(a, k) & staged(k, i, p, b) & exposed(k, i, c) & (b != c) & before(i, due(k))


def _hostile(draft: Draft) -> None:
    @draft.goal(sentence="The host changes bytes on an honest tenant's channel, which ends.")
    def ended(a: Agent, k: Key, i: Iv, b: Block) -> Formula:
        return own(a, k) & dead(k) & exposed(k, i, b)

    @draft.goal(sentence="A corrupt tenant sends what it likes on a channel of its own.")
    def another_tenant(p: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        return corrupt(p) & opened(p, k) & landed(k, n, r, b) & learnt(p, b)

    @draft.goal(sentence="A corrupt agent has the key of another one's channel.")
    def pooled(p: Agent, q: Agent, k: Key) -> Formula:
        return corrupt(p) & opened(p, k) & knows(q, k) & (p != q)
