"""Claims: what holds for any number of tenants, channels, pages, copies, messages and guesses."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.language.authoring import Claims
from carnet_spec.language.requirements import text_beside
from carnet_spec.protocols.pipellm.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("lone-host", "collusion")
"""The threat models under which every claim is made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    claim = Claims(draft, TEXT, THREATS)
    _secrecy(claim)
    _ivs(claim)
    _agreement(claim)


def _secrecy(claim: Claims) -> None:
    @claim("confidentiality", "PipeLLM, abstract")
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @claim("key-isolation", "NVIDIA H100, confidential mode")
    def key_isolation(a: Agent, p: Agent, k: Key) -> Formula:
        return implies(own(a, k) & knows(p, k), p == a)


def _ivs(claim: Claims) -> None:
    @claim("iv-unique", "RFC 5116 section 3.1")
    def iv_unique(a: Agent, k: Key, i: Iv, b: Block, c: Block) -> Formula:
        return implies(own(a, k) & exposed(k, i, b) & exposed(k, i, c), b == c)

    @claim("no-passed-iv", "PipeLLM, abstract: pipeline relinquishing")
    def no_passed_iv(k: Key, i: Iv) -> Formula:
        return ~late(k, i)

    @claim("in-step", "PipeLLM, abstract: pipeline relinquishing")
    def in_step(k: Key, n: Iv, i: Iv) -> Formula:
        return implies(placed(k, n, i), n == i)

    @claim("counters-agree", "Carnet")
    def counters_agree(a: Agent, k: Key) -> Formula:
        return implies(own(a, k) & ~dead(k), ~before(due(k), counter(k)))


def _agreement(claim: Claims) -> None:
    @claim("copy-agreement", "PipeLLM, review: validation")
    def copy_agreement(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        return implies(own(a, k) & landed(k, n, r, b), asked(k, r, b))

    @claim("order-kept", "Carnet")
    def order_kept(a: Agent, k: Key, n: Iv, m: Iv, r: Copy, s: Copy, b: Block, c: Block) -> Formula:
        both = landed(k, n, r, b) & landed(k, m, s, c) & before(n, m)
        return implies(own(a, k) & both, earlier(r, s))

    @claim("no-gap", "Carnet")
    def no_gap(a: Agent, k: Key, m: Iv, r: Copy, s: Copy, b: Block, c: Block) -> Formula:
        both = asked(k, r, b) & landed(k, m, s, c) & earlier(r, s)
        return implies(own(a, k) & both, filled(k, r))


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


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
