"""The theory of an order says what the axioms written by hand say, and names the place of the draft that assumes it."""

from pathlib import Path

from carnet_spec.language import Draft, Individual, constant, forall, implies, rigid_relation
from carnet_spec.language.tracing import Place
from carnet_spec.theories.linear_order import StrictOrder


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
    assert isinstance(place, Place)
    assert place.file == str(Path(__file__))
