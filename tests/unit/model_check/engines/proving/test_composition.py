"""From answers to claims: a proof rests on all that it uses, however far away, and on nothing else."""

from __future__ import annotations

from carnet_check.engines.proving.composition import ClaimProof, Composition, SolverAnswer, SolverOutcome
from carnet_check.obligations import layers, obligations
from tests.unit.model_check.engines.induction import lessons

LESSON = lessons.draft().protocol()
HONEST = LESSON.threat("honest")
EVERY = layers(LESSON)
ASKED = [each for layer in EVERY for each in obligations(layer)]


def composed(claim: str, uses: dict[str, tuple[str, ...]], unknown: tuple[str, ...] = ()) -> ClaimProof:
    """Compose a claim where proofs of invariants use others, and where the first states of some are unknown."""
    answers = {
        each.id: SolverAnswer(each.id, SolverOutcome.PROVED, tuple(uses.get(each.invariant.name, ()))) for each in ASKED
    }
    for each in ASKED:
        if each.invariant.name in unknown and each.action is None:
            answers[each.id] = SolverAnswer(each.id, SolverOutcome.UNKNOWN, reason="nobody knows")
    return Composition(EVERY, ASKED, answers).claim(LESSON.claim(claim), HONEST)


CHAIN = {"no-blame": ("inv:quiet",), "quiet": ("inv:told_are_honest", "axiom:idle"), "told_are_honest": ("inv:quiet",)}
"""A claim of the threat model's layer, what it uses of the general one, and two that use each other."""


def test_a_claim_rests_on_what_its_lemmas_use() -> None:
    found = composed("no-blame", CHAIN)
    assert found.proved
    assert found.lemmas == ("quiet", "told_are_honest")
    assert found.axioms == ("idle",)


def test_a_claim_is_open_where_a_lemma_of_a_lemma_is() -> None:
    found = composed("no-blame", CHAIN, unknown=("told_are_honest",))
    assert (found.proved, found.missing) == (False, ("init/told_are_honest",))
    assert "nobody knows" in found.reason


def test_a_claim_does_not_rest_on_what_it_does_not_use() -> None:
    assert composed("no-blame", {}, unknown=("quiet", "told_are_honest")).proved
    assert composed("quiet", CHAIN, unknown=("no-blame", "secrecy")).proved


def test_claims_that_are_composed_together_do_not_share_what_is_open() -> None:
    assert not composed("quiet", CHAIN, unknown=("quiet",)).proved
    assert composed("secrecy", CHAIN, unknown=("quiet",)).proved
