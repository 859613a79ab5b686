"""A composition looks its formulas up in the protocols, and is refused where one is not there or does not hold."""

from __future__ import annotations

import pytest

from carnet_spec.language import Kind, SpecificationError, relation, rigid_relation
from carnet_spec.language.composition import End, Interpretation
from carnet_spec.language.notation import show
from tests.fixtures.composed import DOOR, HOUSE, Guest, Visitor, composed, inside, invited, let_in, read, thief

READING = read()


def test_a_bond_has_the_very_terms_of_both_protocols() -> None:
    (bond,) = composed("claim seen").built()
    (axiom,) = HOUSE.protocol().axioms
    assert bond.assumed["axiom no thieves"] is axiom.formula
    assert bond.premises["claim seen"] == DOOR.protocol().claim("seen").checked.formula
    assert [show(term) for term in bond.read.values()] == ["∀g: Visitor. let_in(g) → ¬masked(g)"]
    assert [symbol.name for symbol in bond.moving] == ["invited"]


def test_a_bond_knows_all_that_holds_of_the_other_protocol() -> None:
    (bond,) = composed("claim seen").built()
    assert set(bond.worlds["street"]) == {"axiom faces", "claim known", "claim seen", "lemma same_again"}
    (bond,) = composed("claim seen", under="riot").built()
    assert set(bond.worlds["riot"]) == {"axiom faces", "claim seen", "lemma same_again"}


REFUSED = {
    "no claim": (composed("claim unseen"), "no claim 'unseen'; did you mean 'seen'? known: known, seen"),
    "no lemma": (composed("lemma unseen"), "door has no lemma 'unseen'; known: same_again"),
    "no axiom": (composed("axiom unseen"), "door has no axiom 'unseen'; known: faces"),
    "no formula": (
        composed("claim seen", assumes=("assumption A2",)),
        "no axiom of house states the assumption 'A2'; known: A1",
    ),
    "no kind": (composed("seen"), "'seen' does not begin with one of: assumption, axiom, claim, lemma"),
    "nothing": (composed(), "names nothing of door"),
    "not under the threat model": (
        composed("claim known", under="riot"),
        "claim known of door, variant main does not hold under riot",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_there_is_refused_with_its_line(why: str) -> None:
    composition, said = REFUSED[why]
    with pytest.raises(SpecificationError) as refused:
        composition.built()
    assert str(refused.value).startswith("entrance, bond 'nobody steals' (composed.py:")
    assert str(refused.value).endswith(said)


def test_a_threat_model_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecificationError, match="entrance: door has no threat model 'flood'; known: street, riot"):
        composed("claim seen", under="flood").built()


@pytest.mark.parametrize(
    ("open_to", "why"),
    [
        ((), "entrance forgets what house assumes: A2"),
        (("A2", "A9"), "of house, no assumption or left open and bonded: \\['A9'\\]"),
        (("A2", "A1"), "of house, no assumption or left open and bonded: \\['A1'\\]"),
    ],
    ids=["forgotten", "unknown", "both"],
)
def test_every_assumption_is_bonded_or_left_open(open_to: tuple[str, ...], why: str) -> None:
    with pytest.raises(SpecificationError, match=why):
        composed("claim seen", open_to=open_to).built()


def test_a_symbol_that_is_gone_is_refused() -> None:
    """As after a renaming: the old symbol is in no protocol any more."""
    gone = rigid_relation("asked_in", Guest)
    reading = Interpretation("a guest is a visitor", sorts={Guest: Visitor})
    reading.renames(gone, let_in)
    with pytest.raises(SpecificationError, match=r"house has no symbol asked_in \(test_composition.py:\d+\)"):
        composed("claim seen", reading=reading).built()


def test_what_the_other_protocol_lacks_is_glue_or_refused() -> None:
    strange = relation("strange", Visitor, kind=Kind.GHOST)
    for glue in ((), (strange,)):
        reading = Interpretation("a guest is a visitor", sorts={Guest: Visitor}, glue=glue)
        reading.renames(invited, strange)
        reading.renames(thief, strange)
        composition = composed("claim seen", reading=reading)
        if glue:
            assert composition.built()
        else:
            with pytest.raises(SpecificationError, match=r"is read as what door lacks: strange"):
                composition.built()


def test_glue_takes_no_name_of_the_other_protocol() -> None:
    reading = Interpretation(
        "a guest is a visitor", sorts={Guest: Visitor}, glue=(relation("let_in", Guest, kind=Kind.GHOST),)
    )
    with pytest.raises(SpecificationError, match="glue has a name of door: let_in"):
        composed("claim seen", reading=reading).built()


def test_what_is_assumed_and_not_interpreted_is_refused() -> None:
    with pytest.raises(SpecificationError, match=r"'a guest is a visitor' .*does not say what inside is"):
        composed("claim seen", assumes=("lemma who_is_inside",)).built()
    reading = read()
    reading.renames(inside, let_in)
    assert composed("claim seen", assumes=("lemma who_is_inside",), reading=reading).built()


@pytest.mark.parametrize(
    ("name", "reading", "why"),
    [
        ("nobody steals", READING, "entrance: two bonds are called 'nobody steals'"),
        ("nobody lies", read(), "entrance, bond 'nobody lies' reads upper formulas otherwise than another bond"),
    ],
    ids=["name", "reading"],
)
def test_a_bond_has_a_name_of_its_own_and_reads_as_the_others(name: str, reading: Interpretation, why: str) -> None:
    found = composed("claim seen", reading=READING)
    with pytest.raises(SpecificationError, match=why):
        found.bond(name, of=End.UPPER, assumes=(), by=(), reading=reading, part_of=(), discharges="", leaves="")
