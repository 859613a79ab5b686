"""What is read in other words: compositions, interpretations, the theory of an order, and traces."""

import re
from pathlib import Path
from typing import Any

import pytest

from carnet_spec.language import *
from carnet_spec.language.composition import End, Interpretation
from carnet_spec.language.notation import show
from carnet_spec.language.terms import Forall, Var
from carnet_spec.language.tracing import SourceLocation
from carnet_spec.theories.linear_order import StrictOrder
from carnet_spec.trace import Trace, TraceError, TraceStep
from tests.fixtures.composed import DOOR, HOUSE, Guest, Visitor, composed, inside, invited, let_in, read, thief
from tests.unit.spec.language.vocabulary import Agent, Key, Phase, boss, corrupt, enrolled, home, knows, sent

READING = read()


def test_a_bond_has_the_terms_of_both_protocols_and_all_that_holds_of_the_other() -> None:
    (bond,) = composed("claim seen").build()
    (axiom,) = HOUSE.protocol().axioms
    assert bond.assumed["axiom no thieves"] is axiom.formula
    assert bond.premises["claim seen"] == DOOR.protocol().claim("seen").checked.formula
    assert [show(term) for term in bond.read.values()] == ["∀g: Visitor. let_in(g) → ¬masked(g)"]
    assert [symbol.name for symbol in bond.moving] == ["invited"]
    assert set(bond.hypotheses_by_threat["street"]) == {"axiom faces", "claim known", "claim seen", "lemma same_again"}
    (bond,) = composed("claim seen", under="riot").build()
    assert set(bond.hypotheses_by_threat["riot"]) == {"axiom faces", "claim seen", "lemma same_again"}


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
        composition.build()
    assert str(refused.value).startswith("entrance, bond 'nobody steals' (composed.py:")
    assert str(refused.value).endswith(said)


def test_what_is_gone_or_not_interpreted_is_refused() -> None:
    """As after a renaming: the old symbol is in no protocol any more."""
    with pytest.raises(SpecificationError, match="entrance: door has no threat model 'flood'; known: street, riot"):
        composed("claim seen", under="flood").build()
    gone = rigid_relation("asked_in", Guest)
    reading = Interpretation("a guest is a visitor", sorts={Guest: Visitor})
    reading.renames(gone, let_in)
    with pytest.raises(SpecificationError, match=r"house has no symbol asked_in \(test_composition.py:\d+\)"):
        composed("claim seen", reading=reading).build()
    with pytest.raises(SpecificationError, match=r"'a guest is a visitor' .*does not say what inside is"):
        composed("claim seen", assumes=("lemma who_is_inside",)).build()
    reading = read()
    reading.renames(inside, let_in)
    assert composed("claim seen", assumes=("lemma who_is_inside",), reading=reading).build()


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
        composed("claim seen", open_to=open_to).build()


def test_what_the_other_protocol_lacks_is_refused_or_glue_with_a_name_of_its_own() -> None:
    strange = relation("strange", Visitor, kind=Kind.GHOST)
    for glue in ((), (strange,)):
        reading = Interpretation("a guest is a visitor", sorts={Guest: Visitor}, glue=glue)
        reading.renames(invited, strange)
        reading.renames(thief, strange)
        composition = composed("claim seen", reading=reading)
        if glue:
            assert composition.build()
        else:
            with pytest.raises(SpecificationError, match=r"is read as what door lacks: strange"):
                composition.build()
    reading = Interpretation(
        "a guest is a visitor", sorts={Guest: Visitor}, glue=(relation("let_in", Guest, kind=Kind.GHOST),)
    )
    with pytest.raises(SpecificationError, match="glue has a name of door: let_in"):
        composed("claim seen", reading=reading).build()


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

    @house.defines(corrupt)
    def corrupt_person(p: Person) -> Formula:
        """He opens some lock."""
        return exists(lambda k: opens(p, k), Lock)

    said = forall(lambda k: implies(knows(boss, k) & used(k), corrupt(home(k)) & (home(k) != boss)), Key)
    assert show(house.translate(said.term)) == (
        "∀k: Lock. opens(guard, k) ∧ used_lock(k) → (∃k2: Lock. opens(lives(k), k2)) ∧ lives(k) ≠ guard"
    )


def test_what_never_changes_and_is_read_as_what_does_is_listed() -> None:
    house = reading()
    house.renames(knows, opens)
    house.renames(home, lives)

    @house.defines(enrolled)
    def enrolled_person(p: Person) -> Formula:
        return exists(lambda k: opens(p, k), Lock)

    said = forall(lambda a, k: enrolled(a) | knows(home(k), k), Agent, Key)
    assert [symbol.name for symbol in house.rigid_read_as_mutable(said.term)] == ["enrolled"]


def test_variables_of_one_name_stay_two_where_their_sorts_become_one() -> None:
    one = Interpretation("all are locks", sorts={Agent: Lock, Key: Lock})
    same = relation("same", Lock, Lock, kind=Kind.STATE)
    one.renames(knows, same)
    agent, key = Var("x", Agent.sort), Var("x", Key.sort)
    read = one.translate(Forall((agent, key), knows(Agent(agent), Key(key)).term))
    assert isinstance(read, Forall)
    assert len(set(read.bound)) == 2
    assert show(read) == "∀x x2: Lock. same(x, x2)"


def test_members_of_an_enumeration_go_by_name() -> None:
    with pytest.raises(MisuseError, match=r"reads the sort Phase as Person, which has other members"):
        Interpretation("a house", sorts={Phase: Person})
    with pytest.raises(MisuseError, match=r"reads the sort Agent as Hour, which has other members"):
        Interpretation("a house", sorts={Agent: Hour})


def test_another_arity_or_sort_is_refused_with_its_line() -> None:
    house = reading()
    with pytest.raises(MisuseError, match=r"\(test_composition.py:\d+\) reads knows, which takes 2 arguments, with 1"):

        @house.defines(knows)
        def one(p: Person) -> Formula:
            return alarm

    house = reading()
    with pytest.raises(
        MisuseError, match=r"\(test_composition.py:\d+\): argument 2 of knows is a Key, which is read as a Lock and not"
    ):

        @house.defines(knows)
        def swapped(p: Person, q: Person) -> Formula:
            return alarm

    house = reading()
    with pytest.raises(MisuseError, match=r"home has to be a Person, not a Lock"):

        @house.defines(home)
        def itself(k: Lock) -> Lock:
            return k

    with pytest.raises(MisuseError, match=r"home has to be a Person, not a formula"):

        @house.defines(home)
        def wrong(k: Lock) -> Formula:
            return alarm

    with pytest.raises(MisuseError, match=r"corrupt has to be a formula, not a Person"):

        @house.defines(corrupt)
        def person(p: Person) -> Person:
            return p

    with pytest.raises(MisuseError, match="reads knows, which takes 2 arguments, with 1"):
        reading().renames(knows, lives)
    with pytest.raises(MisuseError, match="boss has to be a Person, not a formula"):
        reading().renames(boss, alarm)


def test_every_symbol_is_read_once_and_nothing_else_is() -> None:
    house = reading()
    with pytest.raises(MisuseError, match="does not say what sent is"):
        house.translate(forall(sent, Agent, Key).term)
    with pytest.raises(MisuseError, match="does not say what the sort Lock is"):
        house.translate(forall(lambda k: opens(guard, k), Lock).term)
    house = reading()
    house.renames(knows, opens)
    with pytest.raises(MisuseError, match="says twice what knows is"):
        house.renames(knows, opens)
    with pytest.raises(MisuseError, match=re.escape("an interpretation is of symbols, and the formula")):
        reading().renames(~alarm, alarm)


class Tick(Individual):
    """A tick of a clock."""


class Clock(Individual):
    """A clock."""


before = rigid_relation("before", Tick, Tick, says="the first tick is the earlier one")
ahead = rigid_relation("ahead", Clock, Tick, Tick, says="by this clock the first tick is the earlier one")
start = constant("start", Tick, says="the first tick")


def test_a_linear_order_is_its_four_axioms() -> None:
    short, long = Draft("clock", "A clock"), Draft("clock", "A clock")
    StrictOrder("ticks", Tick, before, "A1").assume_linear(short, start)
    long.axiom("ticks do not loop", forall(lambda u: ~before(u, u), Tick), assumption="A1")
    long.axiom(
        "ticks are ordered",
        forall(lambda u, v, w: implies(before(u, v) & before(v, w), before(u, w)), Tick, Tick, Tick),
        assumption="A1",
    )
    long.axiom(
        "ticks are in line", forall(lambda u, v: before(u, v) | (u == v) | before(v, u), Tick, Tick), assumption="A1"
    )
    long.axiom("ticks have a start", forall(lambda u: ~before(u, start), Tick), assumption="A1")
    assert short.protocol() == long.protocol()


def test_a_strict_order_compares_what_it_likes_and_each_clock_may_have_its_own() -> None:
    short, long = Draft("clock", "A clock"), Draft("clock", "A clock")
    StrictOrder("time", Tick, ahead, "A1", each=(Clock,), names="ctuv", singular=True).assume(short)
    long.axiom("time does not loop", forall(lambda c, t: ~ahead(c, t, t), Clock, Tick), assumption="A1")
    long.axiom(
        "time is ordered",
        forall(lambda c, t, u, v: implies(ahead(c, t, u) & ahead(c, u, v), ahead(c, t, v)), Clock, Tick, Tick, Tick),
        assumption="A1",
    )
    assert short.protocol() == long.protocol()


def test_an_axiom_of_a_theory_is_said_where_the_theory_is_assumed() -> None:
    draft = Draft("clock", "A clock")
    StrictOrder("ticks", Tick, before, "A1").assume_linear(draft)
    places = {place for (kind, _), place in draft.stated_at.items() if kind == "axiom"}
    assert len(places) == 1
    (place,) = places
    assert isinstance(place, SourceLocation)
    assert place.file == str(Path(__file__))


STEPS = (TraceStep("lend", "owner", (("k", "k1"),)), TraceStep("read", "borrower"))


@pytest.mark.parametrize("loop", [None, 0, 1, 2])
def test_a_trace_is_read_back(loop: int | None) -> None:
    trace = Trace("toy", "main", (), "none", STEPS, loop)
    assert Trace.from_json(trace.to_json()) == trace
    assert ("loop" in trace.to_json()) is (loop is not None)


@pytest.mark.parametrize("loop", [3, -1, True, "1", None])
def test_a_lasso_that_begins_nowhere_is_refused(loop: Any) -> None:
    written = Trace("toy", "main", (), "none", STEPS).to_json()
    with pytest.raises(TraceError, match="'loop'"):
        Trace.from_json({**written, "loop": loop})
