"""Lemma claims: what one has to have, how it is encoded, and what lints say of it."""

from dataclasses import replace

import pytest

from carnet_spec.language import *
from carnet_spec.language.decoding import decode
from carnet_spec.language.lints import lint
from carnet_spec.protocols.slalom import FAMILY
from tests.fixtures.parity import CALCULATION, COUNT, HYPOTHESES, claim
from tests.fixtures.parity import FAMILY as PARITY


@pytest.mark.parametrize(
    ("examinations", "hypotheses", "why"),
    [
        ((COUNT,), HYPOTHESES, "has one means to check it"),
        ((COUNT, COUNT), HYPOTHESES, "is examined by the same means twice"),
        ((COUNT, CALCULATION), HYPOTHESES[:1], "names fewer than two hypotheses"),
        ((COUNT, CALCULATION), (*HYPOTHESES, Hypothesis("third", "A third.")), "declare 'third' as a hypothesis"),
        ((replace(COUNT, needs=("first-even",)), CALCULATION), HYPOTHESES, "declare 'second-even' as a hypothesis"),
    ],
)
def test_what_falls_short_is_refused(
    examinations: tuple[Examination, ...], hypotheses: tuple[Hypothesis, ...], why: str
) -> None:
    with pytest.raises(SpecificationError, match=why):
        claim(*examinations, hypotheses=hypotheses)


def test_a_theorem_has_to_be_a_claim() -> None:
    draft = Draft("parity", "Parity")
    with pytest.raises(SpecificationError, match="rests on 'some', which is no claim"):
        draft.lemma_claim(replace(claim(COUNT, CALCULATION), theorems=("some",)))


@pytest.mark.parametrize("family", [FAMILY, PARITY], ids=lambda family: family.id)
def test_it_is_encoded_and_decoded_as_it_was(family: Family) -> None:
    protocol = family.protocol()
    again = decode(protocol.canonical_json)
    assert again == protocol
    with pytest.raises(SpecificationError, match="an encoding has only their words"):
        next(again.lemma_claims[0].examinations[0].cases(""))


def test_the_digest_knows_its_words() -> None:
    protocol = PARITY.protocol()
    (stated,) = protocol.lemma_claims
    other = replace(stated, sentence="It MUST be odd.")
    assert replace(protocol, lemma_claims=(other,)).digest != protocol.digest


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"sentence": " "}, "claims"),
        ({"requirement": ""}, "claims"),
        ({"under": ()}, "claims"),
        ({"source": ""}, "source"),
        ({"under": ("nobody",)}, "threats"),
        ({"hypotheses": (Hypothesis("first-even", ""), HYPOTHESES[1])}, "claims"),
    ],
)
def test_lints_see_it(change: dict[str, object], rule: str) -> None:
    protocol = PARITY.protocol()
    assert lint(protocol) == ()
    (stated,) = protocol.lemma_claims
    spoilt = replace(protocol, lemma_claims=(replace(stated, **change),))  # type: ignore[arg-type] # any field
    assert {each.rule for each in lint(spoilt)} == {rule}


def test_names_are_told_apart_from_those_of_claims() -> None:
    protocol = FAMILY.protocol()
    twin = replace(protocol.lemma_claims[0], name=protocol.claims[0].name)
    assert "names" in {each.rule for each in lint(replace(protocol, lemma_claims=(twin,)))}
