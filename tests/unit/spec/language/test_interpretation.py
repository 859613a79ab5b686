"""An interpretation reads the terms of one protocol in the words of another, or says at which line it cannot."""

from __future__ import annotations

import re

import pytest

from carnet_spec.language import (
    Formula,
    Individual,
    Kind,
    MisuseError,
    constant,
    exists,
    forall,
    implies,
    member,
    relation,
    rigid_flag,
    rigid_function,
    used,
)
from carnet_spec.language.composition import Interpretation
from carnet_spec.language.notation import show
from carnet_spec.language.terms import Forall, Var
from tests.unit.spec.language.vocabulary import Agent, Key, Phase, boss, corrupt, enrolled, home, knows, sent


class Person(Individual):
    """Somebody."""


class Lock(Individual, fresh=True):
    """A lock."""


class Hour(Individual):
    """When."""

    START = member()
    MIDDLE = member()
    END = member()


opens = relation("opens", Person, Lock, kind=Kind.STATE)
lives = rigid_function("lives", Lock, to=Person)
guard = constant("guard", Person)
alarm = rigid_flag("alarm")


def reading() -> Interpretation:
    return Interpretation("a house", sorts={Agent: Person, Key: Lock, Phase: Hour})


def test_a_formula_is_read_symbol_by_symbol() -> None:
    house = reading()
    house.renames(knows, opens)
    house.renames(boss, guard)
    house.renames(home, lives)

    @house.reads(corrupt)
    def corrupt_person(p: Person) -> Formula:
        """He opens some lock."""
        return exists(lambda k: opens(p, k), Lock)

    said = forall(lambda k: implies(knows(boss, k) & used(k), corrupt(home(k)) & (home(k) != boss)), Key)
    assert show(house.read(said.term)) == (
        "∀k: Lock. opens(guard, k) ∧ used_lock(k) → (∃k2: Lock. opens(lives(k), k2)) ∧ lives(k) ≠ guard"
    )


def test_what_never_changes_and_is_read_as_what_does_is_listed() -> None:
    house = reading()
    house.renames(knows, opens)
    house.renames(home, lives)

    @house.reads(enrolled)
    def enrolled_person(p: Person) -> Formula:
        return exists(lambda k: opens(p, k), Lock)

    said = forall(lambda a, k: enrolled(a) | knows(home(k), k), Agent, Key)
    assert [symbol.name for symbol in house.moving(said.term)] == ["enrolled"]


def test_variables_of_one_name_stay_two_where_their_sorts_become_one() -> None:
    one = Interpretation("all are locks", sorts={Agent: Lock, Key: Lock})
    same = relation("same", Lock, Lock, kind=Kind.STATE)
    one.renames(knows, same)
    agent, key = Var("x", Agent.sort), Var("x", Key.sort)
    read = one.read(Forall((agent, key), knows(Agent(agent), Key(key)).term))
    assert isinstance(read, Forall)
    assert len(set(read.bound)) == 2
    assert show(read) == "∀x x2: Lock. same(x, x2)"


def test_members_of_an_enumeration_go_by_name() -> None:
    with pytest.raises(MisuseError, match=r"reads the sort Phase as Person, which has other members"):
        Interpretation("a house", sorts={Phase: Person})
    with pytest.raises(MisuseError, match=r"reads the sort Agent as Hour, which has other members"):
        Interpretation("a house", sorts={Agent: Hour})


def test_another_arity_is_refused_with_its_line() -> None:
    house = reading()
    with pytest.raises(
        MisuseError, match=r"\(test_interpretation.py:\d+\) reads knows, which takes 2 arguments, with 1"
    ):

        @house.reads(knows)
        def one(p: Person) -> Formula:
            return alarm


def test_another_sort_is_refused_with_its_line() -> None:
    house = reading()
    with pytest.raises(
        MisuseError,
        match=r"\(test_interpretation.py:\d+\): argument 2 of knows is a Key, which is read as a Lock and not",
    ):

        @house.reads(knows)
        def swapped(p: Person, q: Person) -> Formula:
            return alarm


def test_another_result_is_refused() -> None:
    house = reading()
    with pytest.raises(MisuseError, match=r"home has to be a Person, not a Lock"):

        @house.reads(home)
        def itself(k: Lock) -> Lock:
            return k

    with pytest.raises(MisuseError, match=r"home has to be a Person, not a formula"):

        @house.reads(home)
        def wrong(k: Lock) -> Formula:
            return alarm

    with pytest.raises(MisuseError, match=r"corrupt has to be a formula, not a Person"):

        @house.reads(corrupt)
        def person(p: Person) -> Person:
            return p


def test_a_renaming_of_another_arity_is_refused() -> None:
    with pytest.raises(MisuseError, match="reads knows, which takes 2 arguments, with 1"):
        reading().renames(knows, lives)
    with pytest.raises(MisuseError, match="boss has to be a Person, not a formula"):
        reading().renames(boss, alarm)


def test_what_is_not_interpreted_is_named() -> None:
    house = reading()
    with pytest.raises(MisuseError, match="does not say what sent is"):
        house.read(forall(sent, Agent, Key).term)
    with pytest.raises(MisuseError, match="does not say what the sort Lock is"):
        house.read(forall(lambda k: opens(guard, k), Lock).term)


def test_a_symbol_is_read_once() -> None:
    house = reading()
    house.renames(knows, opens)
    with pytest.raises(MisuseError, match="says twice what knows is"):
        house.renames(knows, opens)


def test_only_a_symbol_is_interpreted() -> None:
    with pytest.raises(MisuseError, match=re.escape("an interpretation is of symbols, and the formula")):
        reading().renames(~alarm, alarm)
