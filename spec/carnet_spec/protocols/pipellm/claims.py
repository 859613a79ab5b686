"""Claims: what holds for any number of tenants, channels, pages, copies, messages and guesses."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.pipellm.text import sentence
from carnet_spec.protocols.pipellm.vocabulary import (
    Agent,
    Block,
    Copy,
    Iv,
    Key,
    asked,
    before,
    counter,
    dead,
    due,
    earlier,
    exposed,
    filled,
    honest,
    knows,
    landed,
    late,
    learnt,
    own,
    owner,
    placed,
)

THREATS = ("lone-host", "collusion")
"""The threat models under which every claim is made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    _secrecy(draft)
    _ivs(draft)
    _agreement(draft)


def _secrecy(draft: Draft) -> None:
    @draft.claim(
        name="confidentiality",
        sentence=sentence("CLAIM-CONFIDENTIALITY"),
        requirement="CLAIM-CONFIDENTIALITY",
        source="PipeLLM, abstract",
        under=THREATS,
    )
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @draft.claim(
        name="key-isolation",
        sentence=sentence("CLAIM-KEY-ISOLATION"),
        requirement="CLAIM-KEY-ISOLATION",
        source="NVIDIA H100, confidential mode",
        under=THREATS,
    )
    def key_isolation(a: Agent, p: Agent, k: Key) -> Formula:
        return implies(own(a, k) & knows(p, k), p == a)


def _ivs(draft: Draft) -> None:
    @draft.claim(
        name="iv-unique",
        sentence=sentence("CLAIM-IV-UNIQUE"),
        requirement="CLAIM-IV-UNIQUE",
        source="RFC 5116 section 3.1",
        under=THREATS,
    )
    def iv_unique(a: Agent, k: Key, i: Iv, b: Block, c: Block) -> Formula:
        return implies(own(a, k) & exposed(k, i, b) & exposed(k, i, c), b == c)

    @draft.claim(
        name="no-passed-iv",
        sentence=sentence("CLAIM-NO-PASSED-IV"),
        requirement="CLAIM-NO-PASSED-IV",
        source="PipeLLM, abstract: pipeline relinquishing",
        under=THREATS,
    )
    def no_passed_iv(k: Key, i: Iv) -> Formula:
        return ~late(k, i)

    @draft.claim(
        name="in-step",
        sentence=sentence("CLAIM-IN-STEP"),
        requirement="CLAIM-IN-STEP",
        source="PipeLLM, abstract: pipeline relinquishing",
        under=THREATS,
    )
    def in_step(k: Key, n: Iv, i: Iv) -> Formula:
        return implies(placed(k, n, i), n == i)

    @draft.claim(
        name="counters-agree",
        sentence=sentence("CLAIM-COUNTERS-AGREE"),
        requirement="CLAIM-COUNTERS-AGREE",
        source="Carnet",
        under=THREATS,
    )
    def counters_agree(a: Agent, k: Key) -> Formula:
        return implies(own(a, k) & ~dead(k), ~before(due(k), counter(k)))


def _agreement(draft: Draft) -> None:
    @draft.claim(
        name="copy-agreement",
        sentence=sentence("CLAIM-COPY-AGREEMENT"),
        requirement="CLAIM-COPY-AGREEMENT",
        source="PipeLLM, review: validation",
        under=THREATS,
    )
    def copy_agreement(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        return implies(own(a, k) & landed(k, n, r, b), asked(k, r, b))

    @draft.claim(
        name="order-kept",
        sentence=sentence("CLAIM-ORDER-KEPT"),
        requirement="CLAIM-ORDER-KEPT",
        source="Carnet",
        under=THREATS,
    )
    def order_kept(a: Agent, k: Key, n: Iv, m: Iv, r: Copy, s: Copy, b: Block, c: Block) -> Formula:
        both = landed(k, n, r, b) & landed(k, m, s, c) & before(n, m)
        return implies(own(a, k) & both, earlier(r, s))

    @draft.claim(
        name="no-gap",
        sentence=sentence("CLAIM-NO-GAP"),
        requirement="CLAIM-NO-GAP",
        source="Carnet",
        under=THREATS,
    )
    def no_gap(a: Agent, k: Key, m: Iv, r: Copy, s: Copy, b: Block, c: Block) -> Formula:
        both = asked(k, r, b) & landed(k, m, s, c) & earlier(r, s)
        return implies(own(a, k) & both, filled(k, r))
