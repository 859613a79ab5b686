"""Claims: what holds for any number of users, GPUs, keys, transfers, places and chunks."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.language.authoring import Claims
from carnet_spec.language.requirements import text_beside
from carnet_spec.protocols.fastrack.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("outsider", "collusion")
"""The threat models under which every claim is made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    claim = Claims(draft, TEXT, THREATS)
    _secrecy(claim)
    _agreement(claim)
    _once(claim)


def _secrecy(claim: Claims) -> None:
    @claim("confidentiality", "Fastrack, abstract: direct GPU TEE communication")
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @claim("key-isolation", "Fastrack, abstract: direct GPU TEE communication")
    def key_isolation(a: Agent, k: Key, g: Gpu, p: Agent) -> Formula:
        return implies(attested(a, k, g) & honest(a) & knows(p, k), p == a)

    @claim("gpu-genuine", "Carnet")
    def gpu_genuine(a: Agent, k: Key, g: Gpu, h: Gpu) -> Formula:
        one_end = holds(g, k) & implies(holds(h, k), h == g)
        return implies(attested(a, k, g) & honest(a), genuine(g) & confidential(g) & one_end)


def _agreement(claim: Claims) -> None:
    @claim("verified-release", "Fastrack, abstract: overlapping decryption with PCI-e transmission")
    def verified_release(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        return implies(attested(a, k, g) & honest(a) & released(g, k, x, i, b), sent(a, k, b))

    @claim("chunk-agreement", "Fastrack, abstract: parallelized authentication")
    def chunk_agreement(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        return implies(attested(a, k, g) & honest(a) & released(g, k, x, i, b), sealed(a, k, x, i, b))

    @claim("whole-transfer", "Carnet (truncation)")
    def whole_transfer(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        whole = (expected(g, k, x) == extent(k, x)) & implies(within(i, extent(k, x)), filled(g, k, x, i))
        return implies(attested(a, k, g) & honest(a) & done(g, k, x), whole)


def _once(claim: Claims) -> None:
    @claim("no-replay", "Carnet (a transfer sent again)")
    def no_replay(k: Key, x: Transfer) -> Formula:
        return ~again(k, x)

    @claim("iv-unique", "RFC 5116 section 3.1")
    def iv_unique(k: Key, x: Transfer, i: Position) -> Formula:
        return ~reused(k, x, i)

    @claim("answer-agreement", "Carnet (answers exchanged)")
    def answer_agreement(a: Agent, k: Key, x: Transfer) -> Formula:
        return implies(took(a, k, x) & honest(a), handed(k, x))


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


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
