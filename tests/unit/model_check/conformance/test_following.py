"""Following a trace by hand: what is deduced again, what is chosen, and what is taken back."""

from __future__ import annotations

from collections.abc import Sequence

from carnet_check.conformance import Divergence, Follower, Machine
from carnet_spec import trace
from carnet_spec.language import Draft, Instance, Kind, Step, function
from tests.unit.model_check.small import HOLDER, Key, Party, Phase, drafted, known, paired, seen

INSTANCE = Instance({"Party": ("p1", "p2", "p3"), "Key": ("k1", "k2")})
mark = function("mark", Party, to=Phase, kind=Kind.STATE, of=HOLDER)


def _followed(draft: Draft, *steps: tuple[str, Sequence[tuple[str, str]]]) -> list[Divergence | None]:
    follower = Follower(Machine(draft.protocol(), INSTANCE))
    return [follower.take(trace.TraceStep(name, "holder", tuple(args))) for name, args in steps]


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def forget(step: Step, a: Party) -> None:
    step.remove(known(a))


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))


def use(step: Step, a: Party) -> None:
    step.given("known", known(a))
    step.insert(seen(a))


def test_what_is_taken_away_is_deduced_again() -> None:
    one = (("a", "p1"),)
    found = _followed(drafted(see, forget, use, rules=(learn,)), ("see", one), ("forget", one), ("use", one))
    assert found == [None, None, None]


def draw_two(step: Step, one: Key, other: Key) -> None:
    step.fresh(one)
    step.fresh(other)
    step.insert(paired(one, other))


def test_one_step_draws_no_value_twice() -> None:
    (found,) = _followed(drafted(draw_two), ("draw_two", (("one", "k1"), ("other", "k1"))))
    assert found is not None
    assert found.why == "draw_two: values that are drawn fresh together have to differ"
    assert _followed(drafted(draw_two), ("draw_two", (("one", "k1"), ("other", "k2")))) == [None]


def choose(step: Step, a: Party) -> None:
    step.require("early", mark(a) == Phase.EARLY)
    step.set(mark(a), Phase.LATE)


def confirm(step: Step, a: Party) -> None:
    step.require("late", mark(a) == Phase.LATE)
    step.insert(seen(a))


def deny(step: Step, a: Party) -> None:
    step.require("early", mark(a) == Phase.EARLY)
    step.insert(seen(a))


def _early(a: Party) -> Phase:
    return Phase.EARLY


def _choosing() -> Draft:
    draft = drafted(choose, confirm, deny)
    draft.initially(mark, _early)
    return draft


def test_what_a_trace_leaves_out_is_chosen_so_that_the_rest_fits() -> None:
    for party in INSTANCE.elements["Party"]:
        assert _followed(_choosing(), ("choose", ()), ("confirm", (("a", party),))) == [None, None]


def test_a_choice_that_did_not_fit_leaves_nothing_behind() -> None:
    others = [("deny", (("a", party),)) for party in ("p1", "p2")]
    assert _followed(_choosing(), ("choose", ()), ("confirm", (("a", "p3"),)), *others) == [None] * 4
    *_, found = _followed(_choosing(), ("choose", ()), ("confirm", (("a", "p3"),)), ("deny", (("a", "p3"),)))
    assert found is not None
    assert found.index == 2
