"""What the prover makes is nobody else's: no symbol of a specification equals it, whatever that one is called."""

from __future__ import annotations

from dataclasses import fields

from carnet_check.exports.smtlib import symbol_name
from carnet_check.made import Made, Purpose, stand_in, switch
from carnet_spec.language import Step, Symbol
from carnet_spec.language.terms import Var
from tests.unit.model_check.small import Key, Party, drafted, first, second

A = Var("a", Party.sort)


def light(step: Step) -> None:
    step.insert(first, defence="d")
    step.insert(second, name="other", defence="d")


def test_a_made_symbol_equals_no_symbol_of_its_name() -> None:
    made = stand_in(Purpose.PARAMETER, A).symbol
    assert isinstance(made, Made)
    shared = {each.name: getattr(made, each.name) for each in fields(Symbol)}
    twin = Symbol(**shared)
    assert twin.name == made.name
    assert twin != made
    assert made != twin
    assert len({twin, made}) == 2
    assert symbol_name(twin) != symbol_name(made)


def test_what_stands_for_one_variable_is_the_same_each_time_and_rigid() -> None:
    assert stand_in(Purpose.PARAMETER, A) == stand_in(Purpose.PARAMETER, Var("a", Party.sort))
    symbol = stand_in(Purpose.SKOLEM, A).symbol
    assert (symbol.domain, symbol.result, symbol.mutable) == ((), Party.sort, False)


def test_purposes_names_and_sorts_tell_what_is_made_apart() -> None:
    variables = [A, Var("b", Party.sort), Var("a", Key.sort)]
    purposes = (Purpose.PARAMETER, Purpose.SKOLEM)
    made = [stand_in(purpose, var).symbol for purpose in purposes for var in variables]
    assert len({symbol_name(symbol) for symbol in made}) == len(set(made)) == 6


def test_each_update_has_a_switch_of_its_own() -> None:
    one, other = drafted(light).protocol().action("light").updates
    assert switch(one) != switch(other)
    assert switch(one).symbol.is_relation
    assert switch(one) == switch(one)


def test_made_symbols_are_shown_as_no_name_of_a_specification_is_written() -> None:
    assert stand_in(Purpose.PARAMETER, A).symbol.name.startswith("$")
