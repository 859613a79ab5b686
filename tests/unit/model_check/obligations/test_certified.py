"""What the certified language lacks is refused, with the place; what protocols say in fact is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from carnet_check.obligations import layers
from carnet_spec.language import (
    Axiom,
    Effect,
    Family,
    Guard,
    GuardKind,
    Initial,
    Invariant,
    Protocol,
    Sort,
    SpecificationError,
)
from carnet_spec.language.terms import (
    BOOL,
    FALSE,
    TRUE,
    And,
    Apply,
    Equal,
    Forall,
    IfThenElse,
    Kind,
    Member,
    Not,
    Symbol,
    Term,
    Var,
)
from carnet_spec.protocols.gpu_travelling import FAMILY
from tests.fixtures import controls, toy, wide
from tests.systems import toy_protocol
from tests.unit.model_check.obligations.lending import lending
from tests.unit.model_check.small import Key, Party, Phase

PAIRED = Symbol("paired", (Key.sort, Key.sort), BOOL, Kind.STATE, mutable=True)
WRITTEN = lending().protocol()
LENDING = replace(WRITTEN, symbols=(*WRITTEN.symbols, PAIRED))
PARTY, KEY, PHASE = Party.sort, Key.sort, Phase.sort
SYMBOLS = {symbol.name: symbol for symbol in LENDING.symbols}
X, K = Var("x", PARTY), Var("k", KEY)
TO, BY = Var("to", PARTY), Var("by", PARTY)
SEEN, ALICE = Apply(SYMBOLS["seen"], (BY,)), Apply(SYMBOLS["alice"], ())
UNKNOWN = Symbol("unknown", (), BOOL, Kind.STATE, mutable=True)
MOON = Sort("Moon")


def _with_lemma(body: Term, *params: Var) -> Protocol:
    return replace(LENDING, lemmas=(Invariant("odd", params, body),))


def _with_axiom(formula: Term) -> Protocol:
    return replace(LENDING, axioms=(Axiom("odd", formula),))


def _with_guard(formula: Term, kind: GuardKind = GuardKind.REQUIRE) -> Protocol:
    action = LENDING.action("look")
    return replace(LENDING, actions=(replace(action, guards=(Guard("odd", formula, kind),)),))


def _with_update(name: str = "look", **changes: Any) -> Protocol:
    action = LENDING.action(name)
    (update,) = action.updates
    return replace(LENDING, actions=(replace(action, updates=(replace(update, **changes),)),))


def _with_initial(initial: Initial) -> Protocol:
    return replace(LENDING, initial=(initial,))


EACH = LENDING.action("end").updates[0].each
REFUSED: dict[str, tuple[Protocol, str]] = {
    "an equality between formulas": (_with_lemma(Equal(TRUE, FALSE)), "invariant odd has an equality between formulas"),
    "a choice between formulas": (_with_lemma(IfThenElse(TRUE, TRUE, FALSE)), "a choice between two formulas"),
    "a choice between terms": (
        _with_lemma(Apply(SYMBOLS["seen"], (IfThenElse(TRUE, ALICE, ALICE),))),
        "invariant odd has a choice between two terms",
    ),
    "a term as a formula": (_with_lemma(ALICE), "a Party in the place of a formula"),
    "a formula as a term": (_with_lemma(Apply(SYMBOLS["seen"], (TRUE,))), "a formula in the place of a term"),
    "a term of another sort": (_with_lemma(Apply(SYMBOLS["seen"], (K,)), K), "a Key in the place of a Party"),
    "an equality of two sorts": (_with_lemma(Equal(X, K), X, K), "a Key in the place of a Party"),
    "too few arguments": (_with_lemma(Apply(SYMBOLS["seen"], ())), "seen with 0 arguments in the place of 1"),
    "a variable that nothing binds": (_with_lemma(Apply(SYMBOLS["seen"], (X,))), "the variable x of sort Party"),
    "a variable that another hides": (
        _with_lemma(Forall((Var("x", KEY),), Apply(SYMBOLS["seen"], (X,))), X),
        "the variable x of sort Party, which is hidden",
    ),
    "a symbol that is not declared": (_with_lemma(Not(Apply(UNKNOWN, ()))), "the symbol unknown"),
    "a symbol that is declared differently": (
        _with_lemma(And((Apply(replace(SYMBOLS["seen"], mutable=False), (ALICE,)),))),
        "the symbol seen, which the protocol does not declare, or differently",
    ),
    "a sort that is not declared": (_with_lemma(Forall((Var("m", MOON),), TRUE)), "the sort Moon"),
    "a member that is none": (
        _with_lemma(Equal(Member(PHASE, "NIGHT"), Member(PHASE, "LATE"))),
        "NIGHT, which is no member of Phase",
    ),
    "an axiom about the state": (_with_axiom(Forall((BY,), SEEN)), "axiom 'odd' has seen, which steps change"),
    "a first value that reads the state": (
        _with_initial(Initial(SYMBOLS["known"], (BY,), SEEN)),
        "the first value of known has seen, which steps change",
    ),
    "a first value of what never changes": (
        _with_initial(Initial(SYMBOLS["corrupt"], (BY,), TRUE)),
        "a symbol that never changes",
    ),
    "a first value with other parameters": (_with_initial(Initial(SYMBOLS["seen"], (K,), TRUE)), "other parameters"),
    "a first value with one parameter twice": (
        _with_initial(Initial(SYMBOLS["held"], (Var("x", PARTY), Var("x", KEY)), TRUE)),
        "in the first value of held the parameter 'x' is there twice",
    ),
    "a guard about something else": (_with_guard(Apply(SYMBOLS["seen"], (X,))), "action look, guard 'odd'"),
    "a draw of no parameter": (
        _with_guard(Not(Apply(SYMBOLS["used_key"], (K,))), GuardKind.FRESH),
        "the variable k of sort Key",
    ),
    "an 'each' in two places": (
        _with_update(symbol=PAIRED, args=(K, K), each=(K,)),
        "action look, update 'insert seen' has 'each' k",
    ),
    "an 'each' in no place": (_with_update(each=(K,)), "has 'each' k"),
    "an 'each' that is a parameter": (_with_update(each=(BY,)), "has 'each' by"),
    "an 'each' within another place": (
        _with_update("end", args=(Apply(SYMBOLS["owner"], EACH), *EACH)),
        "the variable each_key of sort Key",
    ),
    "an update of what never changes": (_with_update(symbol=SYMBOLS["corrupt"]), "a change of corrupt"),
    "an update of another width": (_with_update(args=()), "other arguments than seen has"),
    "an insertion with a value": (_with_update(value=TRUE), "an effect that seen cannot have"),
    "an assignment to a relation": (_with_update(effect=Effect.ASSIGN), "an effect that seen cannot have"),
    "a sort with a dot": (replace(LENDING, sorts=(*LENDING.sorts, Sort("a.b"))), "cannot be called 'a.b'"),
    "a sort called Bool": (replace(LENDING, sorts=(*LENDING.sorts, Sort("Bool"))), "cannot be called 'Bool'"),
    "an enumeration of nothing": (replace(LENDING, sorts=(*LENDING.sorts, Sort("None", ()))), "without members"),
    "a sort twice": (replace(LENDING, sorts=(*LENDING.sorts, replace(KEY, fresh=False))), "sort 'Key' is there twice"),
    "a symbol twice": (
        replace(LENDING, symbols=(*LENDING.symbols, replace(SYMBOLS["seen"], says="else"))),
        "symbol 'seen' is there twice",
    ),
    "an axiom twice": (replace(LENDING, axioms=LENDING.axioms * 2), "axiom 'alice honest' is there twice"),
    "a lemma twice": (replace(LENDING, lemmas=LENDING.lemmas * 2), "invariant 'known_are_seen' is there twice"),
    "an action twice": (replace(LENDING, actions=LENDING.actions * 2), "action 'lend' is there twice"),
    "a parameter twice": (
        replace(LENDING, actions=(replace(LENDING.action("look"), params=(BY, BY)),)),
        "in action look the parameter 'by' is there twice",
    ),
    "a relation of formulas": (
        replace(LENDING, symbols=(*LENDING.symbols, Symbol("says", (BOOL,), BOOL, Kind.STATE, mutable=True))),
        "symbol says has the sort Bool",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_certified_language_lacks_is_refused_with_its_place(name: str) -> None:
    protocol, said = REFUSED[name]
    with pytest.raises(SpecificationError) as refused:
        layers(protocol)
    assert said in str(refused.value)


def test_the_protocol_that_the_refused_ones_are_made_of_is_certified() -> None:
    assert layers(LENDING)


@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main))
def test_what_is_verified_of_gpu_travelling_is_in_the_certified_language(variant: str) -> None:
    assert layers(FAMILY.protocol(variant))[0].claims


@pytest.mark.slow
@pytest.mark.parametrize("variant", FAMILY.variants)
def test_every_variant_of_gpu_travelling_is_in_the_certified_language(variant: str) -> None:
    assert layers(FAMILY.protocol(variant))[0].claims


TOYS = [(family, name) for family in (toy.FAMILY, wide.FAMILY, toy_protocol.FAMILY) for name in family.variants]


@pytest.mark.parametrize(("family", "variant"), TOYS, ids=lambda each: getattr(each, "id", each))
def test_every_toy_is_in_the_certified_language(family: Family, variant: str) -> None:
    assert layers(family.protocol(variant))


@pytest.mark.parametrize("name", ["sound", "wrong_claim", "unreachable_goal", "only_overhears"])
def test_a_control_is_wrong_in_what_it_claims_and_not_in_how_it_says_it(name: str) -> None:
    assert layers(getattr(controls, name)().protocol())
