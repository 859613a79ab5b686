"""States of any width, words of any number of values, and questions to any depth: compiled code counts them all."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carnet_check.engines.checkpoints import Checkpoint
from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.native import compiling, model_code, search
from carnet_check.engines.native.compiling import compiler
from carnet_check.engines.native.lowering import DEEPEST
from carnet_check.engines.native.machine import Machine
from carnet_check.engines.native.search import NativeSearch
from carnet_spec.language import *
from carnet_spec.language.terms import BOOL, TRUE, And, Apply, Equal, Exists, Forall, Implies, Member, Not, Var
from tests.fixtures.protocols import protocol_of

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
ANYONE = Role("anyone")
LAMP, STREET = Sort("Lamp"), Sort("Street")
COLOUR = Sort("Colour", tuple(f"C{number}" for number in range(600)))
FIRST, OTHER = (Member(COLOUR, name) for name in ("C0", "C599"))
X, Y, Z, W = Var("x", LAMP), Var("y", LAMP), Var("z", STREET), Var("w", STREET)
NEXT = Symbol("next", (LAMP, LAMP), BOOL, Kind.PUBLIC, mutable=False)
LAST = Symbol("last", (LAMP,), BOOL, Kind.PUBLIC, mutable=False)
LIT = Symbol("lit", (LAMP,), BOOL, Kind.STATE, mutable=True)
SWEPT = Symbol("swept", (STREET,), BOOL, Kind.STATE, mutable=True)
SHADE = Symbol("shade", (LAMP,), COLOUR, Kind.STATE, mutable=True)
TOLD = Symbol("told", (LAMP, LAMP), BOOL, Kind.STATE, mutable=True)
BY = Symbol("by", (LAMP, STREET), BOOL, Kind.STATE, mutable=True)
AFTER = Symbol("after", (STREET, STREET), BOOL, Kind.PUBLIC, mutable=False)
BEGUN = Symbol("begun", (), BOOL, Kind.STATE, mutable=True)


@pytest.fixture(autouse=True)
def _quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiling.FOLDER, str(tmp_path / "code"))
    monkeypatch.setattr(compiling, "OPTIONS", ("-O0", *compiling.OPTIONS[1:]))


def act(name: str, guards: Sequence[Term], *updates: Update, params: Sequence[Var] = ()) -> Action:
    asked = tuple(Guard(f"guard {number}", guard) for number, guard in enumerate(guards))
    return Action(name, ANYONE, tuple(params), asked, updates, name, "tests")


def writes(effect: Effect, symbol: Symbol, *args: Term, each: Sequence[Var] = (), value: Term | None = None) -> Update:
    return Update(f"{effect.name} {symbol.name}", symbol, effect, args, value, TRUE, tuple(each))


def insert(symbol: Symbol, *args: Term, each: Sequence[Var] = ()) -> Update:
    return writes(Effect.INSERT, symbol, *args, each=each)


def protocol(*actions: Action, symbols: Sequence[Symbol]) -> Protocol:
    return protocol_of(
        "lamps",
        actions=actions,
        initial=tuple(Initial(each, (X,), FIRST) for each in symbols if each == SHADE),
        sorts=(LAMP, STREET, COLOUR),
        symbols=tuple(symbols),
    )


def lamps(number: int, streets: int = 1, budget: int | None = None) -> Instance:
    names = tuple(f"l{each}" for each in range(number))
    return Instance(
        elements={"Lamp": names, "Street": tuple(f"s{each}" for each in range(streets))},
        relations={"next": frozenset(itertools.pairwise(names)), "last": frozenset({(names[-1],)})},
        functions={},
        budget=budget,
    )


def counted(found: Exploration) -> tuple[object, ...]:
    falls = {name: len(trace.steps) for name, trace in found.violations.items()}
    return (found.states, found.represented, found.transitions, found.depth, found.stopped_by, found.fired, falls)


def agree(
    asked: Protocol, instance: Instance, claim: Invariant, *, hand_over_at: int = 1, symmetry: bool = True
) -> Exploration:
    """Require that compiled code finds what the explicit search finds; return that."""
    expected, found = (
        explore(asked, instance, invariants=[claim], packed=packed, stop_at_first=False, symmetry=symmetry)
        for packed in (PackedSearch, functools.partial(NativeSearch, hand_over_at=hand_over_at))
    )
    assert counted(found) == counted(expected)
    return expected


def test_states_have_more_words_than_a_word_has_bits() -> None:
    """Each lamp has ten bits, of which six are in a word; the lamps of the last words change as the others do."""
    here, there = Apply(SHADE, (X,)), Apply(SHADE, (Y,))
    paint = writes(Effect.ASSIGN, SHADE, Y, value=OTHER)
    begin = act("begin", [Not(Apply(BEGUN, ()))], insert(BEGUN), params=())
    first_one = Not(Exists((X,), Apply(NEXT, (X, Y))))
    open_ = act("open", [Apply(BEGUN, ()), first_one, Equal(there, FIRST)], paint, params=(Y,))
    go = act("go", [Apply(NEXT, (X, Y)), Equal(here, OTHER), Equal(there, FIRST)], paint, params=(X, Y))
    claim = Invariant("the last is as it was", (X,), Implies(Apply(LAST, (X,)), Equal(here, FIRST)))
    found = agree(protocol(begin, open_, go, symbols=(NEXT, LAST, SHADE, BEGUN)), lamps(400), claim)
    assert (found.states, len(found.violations["the last is as it was"].steps)) == (402, 401)


def test_a_state_whose_first_word_has_all_bits_has_another_that_stands_for_it() -> None:
    """Eight lamps that are alike, and each was told of each: 64 facts about several of them, side by side."""
    known = Apply(TOLD, (X, Y))
    everybody = Forall((X, Y), known)
    tell = act("tell", [], insert(TOLD, X, Y, each=(X, Y)))
    forget = act("forget", [known, Not(Equal(X, Y)), everybody], writes(Effect.REMOVE, TOLD, X, Y), params=(X, Y))
    light = act("light", [everybody, Not(Apply(BEGUN, ()))], insert(BEGUN))
    claim = Invariant("not all", (), Not(And((Apply(BEGUN, ()), everybody))))
    found = agree(protocol(tell, forget, light, symbols=(TOLD, BEGUN)), lamps(8), claim)
    assert (found.represented, list(found.violations)) == (1 + 2 + 2 * 56, ["not all"])


def sweepers() -> tuple[Protocol, Instance, Invariant]:
    """Return a protocol in which each lamp sweeps all streets, for nothing or at a cost, and then tells others."""
    streets = tuple(f"s{number}" for number in range(22))
    in_turn = Forall((W,), Implies(Apply(AFTER, (W, Z)), Apply(BY, (X, W))))
    unswept: list[Term] = [Not(Apply(BY, (X, Z))), in_turn]
    pay = replace(act("pay", unswept, insert(BY, X, Z), params=(X, Z)), cost=1)
    sweep = act("sweep", unswept, insert(BY, X, Z), params=(X, Z))
    told: list[Term] = [Forall((Z,), Apply(BY, (X, Z))), Not(Apply(TOLD, (X, Y))), Not(Equal(X, Y))]
    tell = act("tell", told, insert(TOLD, X, Y), params=(X, Y))
    claim = Invariant("nobody is told", (X, Y), Not(Apply(TOLD, (X, Y))))
    lined = replace(lamps(3, budget=2), relations={"after": frozenset(itertools.pairwise(streets))})
    instance = replace(lined, elements={**lined.elements, "Street": streets})
    return protocol(pay, sweep, tell, symbols=(AFTER, BY, TOLD)), instance, claim


def test_what_a_state_says_of_alike_elements_is_in_several_words() -> None:
    """Most of what is found is passed over."""
    found = agree(*sweepers())
    assert found.reduction["bits"] > 64
    assert found.reduction["states_dominated"]
    assert found.represented > 4 * found.states


def test_a_place_of_alike_elements_gets_a_bit_beyond_the_words_of_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks ahead, so states have one word when Python finds the first that needs two."""
    monkeypatch.setattr(search, "LOOKED_AHEAD", 0)
    found = agree(*sweepers())
    assert found.reduction["bits"] > 64


@pytest.mark.parametrize(("hand_over_at", "compiled"), [(42, True), (44, False)])
def test_states_that_stand_for_others_count_twice_before_they_are_handed_over(
    hand_over_at: int, compiled: bool
) -> None:
    """Of twenty lamps that are alike, any number is lit: 21 states, of which one waits."""
    light = act("light", [Not(Apply(LIT, (X,)))], insert(LIT, X), params=(X,))
    searches: list[NativeSearch] = []

    def packed(*given: Any, **named: Any) -> NativeSearch:
        searches.append(NativeSearch(*given, **named, hand_over_at=hand_over_at))
        return searches[-1]

    found = explore(protocol(light, symbols=(LIT,)), lamps(20), invariants=(), packed=packed)
    assert (found.states, found.represented) == (21, 1 << 20)
    assert [isinstance(each.found, Machine) for each in searches] == [compiled]


def test_a_rule_has_the_number_of_what_is_looked_for_as_its_name() -> None:
    given = And((Apply(BEGUN, ()), Apply(LIT, (X,))))
    rule = replace(act("0", [given], insert(TOLD, X, X), params=(X,)), deduction=True)
    begin = act("begin", [], insert(BEGUN))
    claim = Invariant("never begun", (), Not(Apply(BEGUN, ())))
    found = agree(protocol(begin, rule, symbols=(BEGUN, LIT, TOLD)), lamps(1), claim)
    assert list(found.violations) == ["never begun"]


def test_what_only_a_conclusion_shows_is_seen() -> None:
    """The step writes nothing that the claim reads; what is deduced after it is all that does."""
    begin = act("begin", [], insert(BEGUN))
    rule = replace(act("see", [Apply(BEGUN, ())], insert(LIT, X), params=(X,)), deduction=True)
    claim = Invariant("nothing is lit", (X,), Not(Apply(LIT, (X,))))
    found = agree(protocol(begin, rule, symbols=(BEGUN, LIT)), lamps(1), claim)
    assert list(found.violations) == ["nothing is lit"]


def test_places_are_asked_about_after_and_within_each_other_and_nothing_is_nested_so_deep() -> None:
    """Each step asks about a lamp of its own, and the last ones about all of them; nor are calls."""
    lit = [Apply(LIT, (each,)) for each in (X, Y)]
    begin = act("begin", [Not(Exists((X,), Apply(NEXT, (X, Y))))], insert(LIT, Y), params=(Y,))
    go = act("go", [Apply(NEXT, (X, Y)), lit[0], Not(lit[1])], insert(LIT, Y), params=(X, Y))
    end = act("end", [Forall((X,), lit[0]), Not(Apply(SWEPT, (Z,)))], insert(SWEPT, Z), params=(Z,))
    claim = Invariant("some street is not swept", (), Not(Forall((Z,), Apply(SWEPT, (Z,)))))
    asked, most = protocol(begin, go, end, symbols=(NEXT, LIT, SWEPT)), sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + DEEPEST + 150)
    try:
        found = agree(asked, lamps(350, streets=3), claim, symmetry=False)
    finally:
        sys.setrecursionlimit(most)
    assert (found.states, len(found.violations)) == (350 + 8, 1)


# -- a word has more values than rows have codes for, which are few where much may be spent -------------

MUCH = 1 << 40  #: A budget that leaves six bits for the code of a word where a row has four words.


def lights() -> tuple[Protocol, Invariant]:
    """Return a protocol in which lamps are lit in any order, or else one street is swept."""
    dark, unswept = Forall((Y,), Not(Apply(LIT, (Y,)))), Not(Apply(BEGUN, ()))
    light = act("light", [Not(Apply(LIT, (X,))), unswept], insert(LIT, X), params=(X,))
    sweep = act("sweep", [dark, unswept], insert(SWEPT, Z), insert(BEGUN), params=(Z,))
    begun = Implies(Apply(SWEPT, (Z,)), Apply(BEGUN, ()))
    claim = Invariant("lit", (X, Z), And((begun, Implies(Apply(LAST, (X,)), dark))))
    return protocol(light, sweep, symbols=(LIT, SWEPT, LAST, BEGUN)), claim


def test_states_that_are_handed_over_have_more_values_in_a_word_than_rows_have_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "LOOKED_AHEAD", 100)
    asked, claim = lights()
    found = agree(asked, lamps(7, streets=190, budget=MUCH), claim, hand_over_at=300, symmetry=False)
    assert found.states == 128 + 190


def test_states_that_get_more_words_have_more_values_in_a_word_than_their_new_rows_have_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Streets are swept after all. Until then a state has one word, which is kept as it is; later it has three."""
    monkeypatch.setattr(search, "LOOKED_AHEAD", 0)
    monkeypatch.setattr(search, "MOST_HERE", 1)
    unswept = Not(Apply(BEGUN, ()))
    light = act("light", [Not(Apply(LIT, (X,)))], insert(LIT, X), params=(X,))
    sweep = act("sweep", [Forall((X,), Apply(LIT, (X,))), unswept], insert(SWEPT, Z), insert(BEGUN), params=(Z,))
    claim = Invariant("not swept", (Z,), Not(Apply(SWEPT, (Z,))))
    asked = protocol(light, sweep, symbols=(LIT, SWEPT, BEGUN))
    found = agree(asked, lamps(8, streets=120, budget=MUCH), claim, symmetry=False)
    assert found.states == 256 + 120


def test_a_search_goes_on_from_more_values_in_a_word_than_rows_have_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LOOKED_AHEAD", 100)
    asked, claim = lights()
    more = functools.partial(
        explore,
        asked,
        lamps(7, streets=190, budget=MUCH),
        invariants=[claim],
        stop_at_first=False,
        symmetry=False,
        packed=functools.partial(NativeSearch, hand_over_at=1),
    )
    (tmp_path / "kept").mkdir()
    first = more(saved=Checkpoint(tmp_path / "kept").for_instance("it"), caps=Caps(states=250))
    found = more(saved=Checkpoint(tmp_path / "kept").for_instance("it"))
    assert (first.stopped_by, counted(found)) == ("states", counted(more(packed=PackedSearch)))


def test_states_have_the_same_order_however_often_a_word_has_no_room_for_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which part meets such a value first depends on threads, so in that round no part goes on."""
    monkeypatch.setattr(search, "LOOKED_AHEAD", 8)
    unswept, lit = Forall((Z,), Not(Apply(SWEPT, (Z,)))), [Apply(LIT, (each,)) for each in (X, Y)]
    light = act("light", [Not(Apply(LIT, (X,))), unswept], insert(LIT, X), params=(X,))
    sweep = act("sweep", [Apply(NEXT, (X, Y)), *lit, unswept], insert(SWEPT, Z), params=(X, Y, Z))
    asked = functools.partial(
        explore,
        protocol(light, sweep, symbols=(LIT, SWEPT, NEXT)),
        lamps(6, streets=90),
        invariants=[Invariant("unswept", (), unswept)],
        stop_at_first=False,
        symmetry=False,
    )
    orders = []
    for values in (2, 1 << 16):
        monkeypatch.setattr(model_code, "VALUES", values)
        monkeypatch.setenv(compiling.FOLDER, str(tmp_path / str(values)))
        searches: list[NativeSearch] = []

        def packed(*given: Any, searches: list[NativeSearch] = searches, **named: Any) -> NativeSearch:
            searches.append(NativeSearch(*given, **named, hand_over_at=1))
            return searches[-1]

        found = asked(packed=packed)
        (states,) = (each._machine for each in searches)
        assert states is not None
        counts = map(int, states._told[:, 0])
        order = [states._words_of(part, np.arange(count, dtype=np.uint64)) for part, count in enumerate(counts)]
        orders.append((counted(found), [words.tolist() for words in order]))
    assert orders[0] == orders[1]
    assert orders[0][0] == counted(asked(packed=PackedSearch))
