"""A counterexample to induction is the interpreter's word: what the prover alone believes is never shown."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from carnet_check.engines.induction import explain_cti, obligations
from carnet_check.engines.induction.counterexample import Structure, confirmed
from carnet_check.engines.induction.obligations import Obligation, after_updates
from carnet_check.errors import EngineDisagreement
from carnet_check.made import Purpose, stand_in, switch
from carnet_spec.language import Effect, Formula, Individual, Protocol, Row, Step, Symbol, Term, Update, forall
from carnet_spec.language.terms import TRUE, Apply, Var
from tests.unit.model_check.small import (
    Key,
    Party,
    alice,
    claimed,
    corrupt,
    drafted,
    first,
    paired,
    second,
    seen,
    third,
)

PROVER = importlib.import_module("carnet_check.engines.induction.obligations")


def turn(step: Step) -> None:
    """Light the second lamp if the first is lit; put the third out, whatever it was told before."""
    step.insert(second, when=first)
    step.insert(third)
    step.remove(third, name="put out")


LAMPS = claimed(drafted(turn), unlit=lambda: ~first, dark=lambda: ~second, out=lambda: ~third)

MISTAKES: dict[str, tuple[str, Callable[[list[Update]], list[Update]]]] = {
    "conditions are forgotten": ("dark", lambda listed: [replace(update, when=TRUE) for update in listed]),
    "updates apply backwards": ("out", lambda listed: listed[::-1]),
    "the last update is lost": ("out", lambda listed: listed[:-1]),
    "a removal inserts": (
        "out",
        lambda listed: [replace(u, effect=Effect.INSERT) if u.effect is Effect.REMOVE else u for u in listed],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_weakest_precondition_is_found_out(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim, spoilt = MISTAKES[mistake]

    def wrong(updates: Iterable[Update], *, switches: bool = False) -> Callable[[Term], Term]:
        return after_updates(spoilt(list(updates)), switches=switches)

    assert explain_cti(LAMPS, f"step/turn/{claim}").endswith("no counterexample found")
    monkeypatch.setattr(PROVER, "after_updates", wrong)
    with pytest.raises(EngineDisagreement, match=f"step/turn/{claim}: .*: the invariant holds after all"):
        explain_cti(LAMPS, f"step/turn/{claim}")


def test_a_wrong_first_state_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROVER, "at_start", lambda _initial, _symbols: lambda formula: formula)
    with pytest.raises(EngineDisagreement, match=r"init/dark: .*: the invariant holds after all"):
        explain_cti(LAMPS, "init/dark")


# -- structures written by hand --------------------------------------------------------------------


def see(step: Step, a: Party) -> None:
    step.require("honest", ~corrupt(a))
    step.insert(seen(a))


def _unseen(a: Party) -> Formula:
    return ~seen(a)


def _seeing() -> Protocol:
    draft = drafted(see)
    draft.axiom("alice honest", ~corrupt(alice))
    draft.threat("none", "nobody is corrupt", nobody=forall(lambda x: ~corrupt(x), Party))
    return claimed(draft, unseen=_unseen)


def _obligation(protocol: Protocol, id: str, threat: str = "") -> Obligation:
    listed = obligations(protocol, protocol.threat(threat) if threat else None)
    return next(each for each in listed if each.id == id)


def _symbol(term: Individual | Formula) -> Symbol:
    assert isinstance(term.term, Apply)
    return term.term.symbol


def _structure(
    seen_at: Iterable[Row] = (), corrupt_at: Iterable[Row] = (), step_of: str = "p2", fails_for: str = "p2"
) -> Structure:
    a = Var("a", Party.sort)
    return Structure(
        elements={"Party": ("p1", "p2", "p3")},
        relations={seen.symbol: frozenset(seen_at), corrupt.symbol: frozenset(corrupt_at)},
        functions={
            _symbol(alice): {(): "p1"},
            stand_in(Purpose.PARAMETER, a).symbol: {(): step_of},
            stand_in(Purpose.SKOLEM, a).symbol: {(): fails_for},
        },
    )


def test_what_the_interpreter_confirms_is_shown_as_it_went_on() -> None:
    found = confirmed(_obligation(_seeing(), "step/see/unseen"), _structure(corrupt_at=[("p3",)]))
    assert found.before.relations[seen.symbol] == frozenset()
    assert found.after.relations[seen.symbol] == {("p2",)}
    assert found.after.relations[corrupt.symbol] == {("p3",)}
    assert found.text().endswith("fails      ¬seen(a)")


REFUSED: dict[str, tuple[Structure, str, str]] = {
    "a guard does not hold": (
        _structure(corrupt_at=[("p2",)]),
        "",
        r"does not take the step: see\(a=p2\) is not enabled: 'honest' does not hold",
    ),
    "an axiom does not hold": (_structure(corrupt_at=[("p1",)]), "", "axioms do not hold: alice honest"),
    "the threat model does not hold": (
        _structure(corrupt_at=[("p3",)]),
        "none",
        "axioms do not hold: none: nobody",
    ),
    "an invariant does not hold before": (
        _structure(seen_at=[("p3",)]),
        "",
        "unseen does not hold before the step",
    ),
    "the invariant fails of others than it is said to": (_structure(fails_for="p1"), "", "holds after all"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_interpreter_does_not_confirm_is_an_error(name: str) -> None:
    found, threat, message = REFUSED[name]
    with pytest.raises(EngineDisagreement, match=f"step/see/unseen: .*{message}"):
        confirmed(_obligation(_seeing(), "step/see/unseen", threat), found)


def draw_two(step: Step, one: Key, other: Key) -> None:
    step.fresh(one)
    step.fresh(other)
    step.insert(paired(one, other))


def _unpaired(one: Key, other: Key) -> Formula:
    return ~paired(one, other)


@pytest.mark.parametrize(("other", "refused"), [("k1", True), ("k2", False)])
def test_values_that_are_drawn_together_have_to_differ(other: str, refused: bool) -> None:
    obligation = _obligation(claimed(drafted(draw_two), unpaired=_unpaired), "step/draw_two/unpaired")
    chosen = {Var("one", Key.sort): "k1", Var("other", Key.sort): other}
    made: dict[Symbol, dict[Row, str]] = {
        stand_in(purpose, var).symbol: {(): at} for purpose in Purpose for var, at in chosen.items()
    }
    found = Structure({"Key": ("k1", "k2")}, {}, made)
    if refused:
        with pytest.raises(EngineDisagreement, match="'fresh values differ' does not hold"):
            confirmed(obligation, found)
    else:
        assert confirmed(obligation, found).obligation is obligation


def light(step: Step) -> None:
    step.insert(second, defence="careless")


def test_an_update_of_a_defence_is_made_whatever_its_switch_says() -> None:
    """Switches are the prover's own: the interpreter never sees one."""
    draft = drafted(light)
    draft.defence("careless", "The lamp is lit.")
    protocol = claimed(draft, dark=lambda: ~second)
    (update,) = protocol.action("light").updates
    dark = frozenset[Row]()
    found = Structure({}, {switch(update).symbol: dark, _symbol(second): dark}, {})
    assert confirmed(_obligation(protocol, "step/light/dark"), found).after.relations[_symbol(second)] == {()}
    shown = explain_cti(protocol, "step/light/dark")
    assert "+second" in shown
    assert "$" not in shown
