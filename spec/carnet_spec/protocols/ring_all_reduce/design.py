"""The design put together: axioms, threat models, assumptions, defences and variants of ring all-reduce."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, forall, implies
from carnet_spec.language.requirements import Level
from carnet_spec.protocols.ring_all_reduce.adversary import specify_adversary
from carnet_spec.protocols.ring_all_reduce.claims import state_claims
from carnet_spec.protocols.ring_all_reduce.defences import declare_defences
from carnet_spec.protocols.ring_all_reduce.goals import state_goals
from carnet_spec.protocols.ring_all_reduce.lemmas import state_lemmas
from carnet_spec.protocols.ring_all_reduce.readings import expect_falls
from carnet_spec.protocols.ring_all_reduce.reducing import specify_reducing
from carnet_spec.protocols.ring_all_reduce.setup import specify_setup
from carnet_spec.protocols.ring_all_reduce.text import TEXT
from carnet_spec.protocols.ring_all_reduce.variants import MAIN
from carnet_spec.protocols.ring_all_reduce.vocabulary import (
    Chunk,
    Endpoint,
    Phase,
    ahead,
    certified,
    first,
    follows,
    genuine,
    last,
    sound,
    turn,
)

ID = "ring-all-reduce"
TITLE = "Ring all-reduce among GPU TEEs: sums of gradients go round over links that nobody trusts"

BUILT_IN = ("A1", "A2", "A3", "A5")
"""Assumptions in the shape of the steps: what a tag verifies for, what is out of reach, what a place is."""


def ring_all_reduce(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of ring all-reduce."""
    draft = Draft(ID, TITLE, variant)
    _assume(draft)
    draft.threat(
        "links",
        "links, hosts and network are the adversary's, and every genuine GPU is a rank of the ring",
        no_other_gpu=forall(lambda n: implies(genuine(n), sound(n)), Endpoint),
    )
    draft.threat("tenants", "the adversary has GPUs of its own, too: out of confidential mode, or with other code")
    declare_defences(draft)
    specify_setup(draft)
    specify_reducing(draft)
    specify_adversary(draft)
    state_claims(draft)
    state_lemmas(draft)
    state_goals(draft)
    expect_falls(draft)
    return draft


def _assume(draft: Draft) -> None:
    for id, requirement in TEXT.requirements().items():
        if requirement.level is Level.ASSUMPTION:
            draft.assumption(id, requirement.sentence, built_in=id in BUILT_IN)
    draft.axiom("certificates tell", forall(lambda n: implies(certified(n), genuine(n)), Endpoint), assumption="A4")
    _ring(draft)
    _lines(draft)
    _turns(draft)


def _ring(draft: Draft) -> None:
    draft.axiom(
        "the ring is of ranks",
        forall(lambda g, h: implies(follows(g, h), sound(g) & sound(h) & (g != h)), *(Endpoint, Endpoint)),
        assumption="A6",
    )
    draft.axiom(
        "one rank after each",
        forall(lambda g, h, r: implies(follows(g, h) & follows(g, r), h == r), *(Endpoint, Endpoint, Endpoint)),
        assumption="A6",
    )
    draft.axiom(
        "one rank before each",
        forall(lambda g, h, r: implies(follows(g, r) & follows(h, r), g == h), *(Endpoint, Endpoint, Endpoint)),
        assumption="A6",
    )


def _lines(draft: Draft) -> None:
    chunk_and_three = (Chunk, Endpoint, Endpoint, Endpoint)
    draft.axiom("lines do not loop", forall(lambda c, r: ~ahead(c, r, r), *(Chunk, Endpoint)), assumption="A7")
    draft.axiom(
        "lines are ordered",
        forall(lambda c, r, s, t: implies(ahead(c, r, s) & ahead(c, s, t), ahead(c, r, t)), *chunk_and_three),
        assumption="A7",
    )
    draft.axiom(
        "lines have a start",
        forall(lambda c, r: implies(sound(r), ~ahead(c, r, first(c))), *(Chunk, Endpoint)),
        assumption="A7",
    )
    draft.axiom(
        "lines have an end",
        forall(lambda c, r: implies(sound(r), (r == last(c)) | ahead(c, r, last(c))), *(Chunk, Endpoint)),
        assumption="A7",
    )
    draft.axiom("lines follow the ring", forall(_in_line, *chunk_and_three[:3]), assumption="A7")
    draft.axiom("nobody is between neighbours", forall(_nobody_between, *chunk_and_three), assumption="A7")


def _in_line(c: Chunk, f: Endpoint, g: Endpoint) -> Formula:
    return implies(follows(f, g) & (first(c) != g), ahead(c, f, g))


def _nobody_between(c: Chunk, f: Endpoint, g: Endpoint, r: Endpoint) -> Formula:
    beyond = follows(f, g) & (first(c) != g) & ahead(c, r, g) & sound(r)
    return implies(beyond, (r == f) | ahead(c, r, f))


def _turns(draft: Draft) -> None:
    draft.axiom("one rank in a sub-step", forall(_one_rank, *(Phase, Chunk, Endpoint, Endpoint)), assumption="A7")
    draft.axiom("another sub-step in each phase", forall(_one_phase, *(Phase, Phase, Chunk, Endpoint)), assumption="A7")


def _one_rank(p: Phase, c: Chunk, g: Endpoint, h: Endpoint) -> Formula:
    return implies(sound(g) & sound(h) & (turn(p, c, g) == turn(p, c, h)), g == h)


def _one_phase(p: Phase, o: Phase, c: Chunk, g: Endpoint) -> Formula:
    return implies(sound(g) & (turn(p, c, g) == turn(o, c, g)), p == o)
