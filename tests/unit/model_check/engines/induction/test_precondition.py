"""Weakest preconditions by hand: where arguments and updates go, in order."""

from __future__ import annotations

from carnet_check.engines.induction import prove
from carnet_check.engines.induction.obligations import after_updates, at_start
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Formula, Instance, Step
from carnet_spec.language.notation import show
from tests.unit.model_check.small import Party, ahead, alice, before, bob, claimed, drafted, first, second


def _ahead_at_first(a: Party, b: Party) -> Formula:
    return before(a, b)


def meet(step: Step, a: Party, b: Party) -> None:
    step.require("ahead", ahead(a, b))
    step.insert(ahead(a, b))


def test_an_initial_value_takes_its_arguments_in_their_order() -> None:
    draft = drafted(meet)
    draft.initially(ahead, _ahead_at_first)
    protocol = draft.protocol()
    start = at_start(protocol.initial, protocol.symbols)
    assert show(start(ahead(alice, bob).term)) == "before(alice, bob)"
    assert show(start(ahead(bob, alice).term)) == "before(bob, alice)"


def test_what_holds_at_first_is_proved_of_these_arguments_and_no_others() -> None:
    draft = drafted(meet)
    draft.axiom("one way", before(alice, bob) & ~before(bob, alice))
    draft.initially(ahead, _ahead_at_first)
    protocol = claimed(draft, forth=lambda: ahead(alice, bob), back=lambda: ahead(bob, alice))
    proof = prove(protocol, jobs=1)
    assert [proof.claim(name).proved for name in ("forth", "back")] == [True, False]


def turn(step: Step) -> None:
    step.insert(first)
    step.remove(first, when=second, name="last")
    step.insert(second, when=first)


def test_the_last_update_of_a_symbol_counts_and_all_read_the_state_before() -> None:
    protocol = drafted(turn).protocol()
    after = after_updates(protocol.action("turn").updates)
    judge = Interpreter(protocol, Instance({}))
    for one, other in ((False, False), (False, True), (True, False), (True, True)):
        state = State({"first": _flag(one), "second": _flag(other)}, {})
        assert judge.holds(after(first.term), state) is (not other)
        assert judge.holds(after(second.term), state) is (one or other)


def _flag(holds: bool) -> frozenset[tuple[str, ...]]:
    return frozenset({()} if holds else ())
