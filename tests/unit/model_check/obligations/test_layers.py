"""Which obligations there are, with which hypotheses, and what the certified language lacks."""

from dataclasses import replace
from typing import Any

import pytest

from carnet_check.exports.smtlib import text
from carnet_check.exports.systems import system
from carnet_check.obligations import layers, obligations
from carnet_spec.language import *
from carnet_spec.language.terms import *
from carnet_spec.protocols.gpu_travelling import FAMILY
from tests.fixtures import controls, toy, wide
from tests.systems import toy_protocol
from tests.unit.model_check.obligations.lending import goal, held, lending, obligation, only_layer, owner, said
from tests.unit.model_check.small import Key, Party, Phase, alice, before, claimed, current, drafted, last, seen

home = rigid_function("home", Key, to=Party)
LENDING = lending().protocol()
GENERAL, ONE = layers(LENDING)


def test_what_holds_under_every_threat_model_is_proved_first_and_known_where_more_is_claimed() -> None:
    assert GENERAL.threat is None
    assert (GENERAL.known, [each.name for each in GENERAL.claims]) == ((), ["owned", "known_are_seen", "held_are_used"])
    assert ONE.threat == LENDING.threat("one")
    assert (ONE.known, [each.name for each in ONE.claims]) == (GENERAL.claims, ["a/lone"])


def test_what_holds_or_falls_under_one_threat_model_is_proved_there() -> None:
    def nobody_seen() -> Formula:
        return ~seen(alice)

    draft = lending()
    draft.expect("owned", under=("one", "any"), fails_under=("any",))
    general, one = layers(draft.protocol())
    assert [each.name for each in general.claims] == ["known_are_seen", "held_are_used"]
    assert [each.name for each in one.claims] == ["owned", "a/lone"]
    draft = lending()
    draft.lemma_under("any")(nobody_seen)
    general, one, any = layers(draft.protocol())
    assert "nobody_seen" not in {each.name for each in (*general.claims, *one.claims)}
    assert next(each.id for each in obligations(any)) == "any:init/nobody_seen"


def test_without_axioms_of_threat_models_everything_is_in_one_layer() -> None:
    protocol = claimed(drafted(), it=lambda: seen(alice))
    assert [each.name for each in only_layer(protocol).claims] == ["it"]
    draft = drafted()
    draft.threat("open", "anybody")
    assert [each.threat for each in layers(claimed(draft, it=lambda: seen(alice)))] == [None]


class Light(Individual):
    """What a lamp shows."""

    RED = member()
    GREEN = member()


def test_a_sort_of_which_members_alone_are_named_has_its_obligations() -> None:
    """Both readers of the certified language find it in what they read."""
    protocol = claimed(drafted(), it=lambda: Light.RED != Light.GREEN)
    assert [each.name for each in only_layer(protocol).claims] == ["it"]
    (layer,) = system(protocol.canonical_json).layers
    assert [claim.name for claim in layer.claims] == ["it"]


def test_obligations_are_those_of_coq_in_its_order() -> None:
    assert [(each.id, each.skipped) for each in obligations(GENERAL)] == [
        ("init/owned", False),
        ("init/known_are_seen", False),
        ("init/held_are_used", False),
        ("step/lend/owned", False),
        ("step/lend/known_are_seen", True),
        ("step/lend/held_are_used", False),
        ("step/end/owned", False),
        ("step/end/known_are_seen", True),
        ("step/end/held_are_used", False),
        ("step/look/owned", True),
        ("step/look/known_are_seen", False),
        ("step/look/held_are_used", True),
    ]
    assert [(each.id, each.skipped) for each in obligations(ONE)] == [
        ("one:init/a%2Flone", False),
        ("one:step/lend/a%2Flone", False),
        ("one:step/end/a%2Flone", False),
        ("one:step/look/a%2Flone", True),
    ]


def test_a_step_has_its_hypotheses_by_name_and_in_order() -> None:
    assert [each.name for each in obligation(LENDING, "one:step/lend/a%2Flone").hypotheses] == [
        *("sort:Key", "sort:Party", "axiom:alice honest", "threat:one: others"),
        *(
            "inv:owned",
            "inv:known_are_seen",
            "inv:held_are_used",
            "inv:a/lone",
            "guard:early",
            "guard:fresh key",
            "goal",
        ),
    ]


def test_the_first_state_has_no_invariants_to_start_from() -> None:
    assert [each.name for each in obligation(LENDING, "one:init/a%2Flone").hypotheses] == [
        *("sort:Key", "sort:Party", "axiom:alice honest", "threat:one: others", "goal")
    ]
    assert obligation(LENDING, "init/owned").constants == ()


def test_all_parameters_are_constants_even_those_that_nothing_reads() -> None:
    def act(step: Step, by: Party, idle: Key) -> None:
        step.insert(seen(by))

    protocol = claimed(drafted(act), it=lambda: seen(alice))
    constants = [each.symbol for each in obligation(protocol, "step/act/it").constants]
    assert [(each.name, each.result) for each in constants] == [
        ("$par.by.Party", Party.sort),
        ("$par.idle.Key", Key.sort),
    ]


def test_a_pair_with_nothing_to_do_is_one_obligation_whatever_the_action() -> None:
    lend, end = (each for each in obligations(GENERAL) if each.skipped and "known_are_seen" in each.id)
    assert lend.constants == ()
    assert [each.name for each in lend.hypotheses] == ["inv:known_are_seen", "goal"]
    assert lend.hypotheses == end.hypotheses
    assert lend.hypotheses[1].formula == Not(lend.hypotheses[0].formula)


def test_what_is_said_of_sorts_parameters_and_first_values() -> None:
    formulas = {each.name: said(text(each.formula)) for each in obligation(LENDING, "step/lend/owned").hypotheses}
    assert formulas["sort:Key"] == "(exists ((x Key)) true)"
    assert formulas["axiom:alice honest"] == "(not (corrupt alice))"
    assert formulas["inv:owned"] == ("(forall ((by Party)) (forall ((key Key)) (=> (held by key) (= (owner key) by))))")
    assert formulas["guard:early"] == "(= phase EARLY)"
    assert formulas["guard:fresh key"] == "(not (used_key key))"
    assert goal(LENDING, "init/owned") == ("(forall ((by Party)) (forall ((key Key)) (=> false (= (owner key) by))))")


def test_what_one_step_draws_differs_where_it_is_of_one_sort() -> None:
    def draw(step: Step, a: Key, b: Key, idle: Key, c: Key) -> None:
        step.fresh(b)
        step.fresh(a)
        step.fresh(c)

    protocol = claimed(drafted(draw), it=lambda: forall(lambda k: ~used(k), Key))
    asked = obligation(protocol, "step/draw/it").hypotheses
    assert [(each.name, said(text(each.formula))) for each in asked if each.name.startswith("fresh:")] == [
        ("fresh:b,a", "(not (= b a))"),
        ("fresh:b,c", "(not (= b c))"),
        ("fresh:a,c", "(not (= a c))"),
    ]


def test_first_values_are_put_in_at_the_arguments() -> None:
    def everything_of(x: Party, k: Key) -> Formula:
        return exists(lambda p: before(p, x) & (home(k) == x), Party)

    def of_home(k: Key) -> Party:
        return home(k)

    draft = drafted()
    draft.initially(held, everything_of)
    draft.initially(owner, of_home)
    claim = forall(lambda p: held(p, current) & (owner(current) == last), Party)
    assert goal(claimed(draft, it=lambda: claim), "init/it") == (
        "(forall ((p Party)) (and"
        " (exists ((|p'| Party)) (and (before |p'| p) (= (home current) p)))"
        " (= (home current) last)))"
    )


def test_a_real_protocol_has_its_threat_models_as_layers() -> None:
    protocol = FAMILY.protocol()
    general, *further = layers(protocol)
    named = [layer.threat.id for layer in further if layer.threat]
    assert general.threat is None
    assert named == [threat.id for threat in protocol.threats if threat.id in named] != []
    ids = [each.id for layer in (general, *further) for each in obligations(layer)]
    pairs = sum(len(layer.claims) for layer in (general, *further)) * (1 + len(protocol.actions))
    assert len(set(ids)) == len(ids) == pairs


def test_the_axioms_of_the_only_threat_model_may_be_used_for_everything() -> None:
    draft = drafted()
    draft.threat("closed", "nobody but alice", others=forall(lambda x: x == alice, Party))
    protocol = claimed(draft, it=lambda: seen(alice))
    general, closed = layers(protocol)
    assert (general.threat, general.claims, closed.known) == (None, (), ())
    assert [each.name for each in closed.claims] == ["it"]
    assert [each.name for each in closed.all_axioms if each.name.startswith("threat:")] == ["threat:closed: others"]
    read = system(protocol.canonical_json).layers
    assert [(each.threat, [claim.name for claim in each.claims]) for each in read] == [("", []), ("closed", ["it"])]


def test_no_axioms_are_used_for_what_is_claimed_under_several_threat_models() -> None:
    draft = drafted()
    draft.threat("closed", "nobody but alice", others=forall(lambda x: x == alice, Party))
    draft.threat("open", "anybody")
    protocol = claimed(draft, it=lambda: seen(alice))
    assert [(each.threat, [claim.name for claim in each.claims]) for each in layers(protocol)] == [(None, ["it"])]
    assert [(each.threat, each.axioms) for each in system(protocol.canonical_json).layers] == [("", ())]


PAIRED = Symbol("paired", (Key.sort, Key.sort), BOOL, Kind.STATE, mutable=True)
WRITTEN = lending().protocol()
WIDER = replace(WRITTEN, symbols=(*WRITTEN.symbols, PAIRED))
PARTY, KEY, PHASE = Party.sort, Key.sort, Phase.sort
SYMBOLS = {symbol.name: symbol for symbol in WIDER.symbols}
X, K = Var("x", PARTY), Var("k", KEY)
TO, BY = Var("to", PARTY), Var("by", PARTY)
SEEN, ALICE = Apply(SYMBOLS["seen"], (BY,)), Apply(SYMBOLS["alice"], ())
UNKNOWN = Symbol("unknown", (), BOOL, Kind.STATE, mutable=True)
MOON = Sort("Moon")


def _with_lemma(body: Term, *params: Var) -> Protocol:
    return replace(WIDER, lemmas=(Invariant("odd", params, body),))


def _with_axiom(formula: Term) -> Protocol:
    return replace(WIDER, axioms=(Axiom("odd", formula),))


def _with_guard(formula: Term, kind: GuardKind = GuardKind.REQUIRE) -> Protocol:
    action = WIDER.action("look")
    return replace(WIDER, actions=(replace(action, guards=(Guard("odd", formula, kind),)),))


def _with_update(name: str = "look", **changes: Any) -> Protocol:
    action = WIDER.action(name)
    (update,) = action.updates
    return replace(WIDER, actions=(replace(action, updates=(replace(update, **changes),)),))


def _with_initial(initial: Initial) -> Protocol:
    return replace(WIDER, initial=(initial,))


EACH = WIDER.action("end").updates[0].each
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
    "a sort with a dot": (replace(WIDER, sorts=(*WIDER.sorts, Sort("a.b"))), "cannot be called 'a.b'"),
    "a sort called Bool": (replace(WIDER, sorts=(*WIDER.sorts, Sort("Bool"))), "cannot be called 'Bool'"),
    "an enumeration of nothing": (replace(WIDER, sorts=(*WIDER.sorts, Sort("None", ()))), "without members"),
    "a sort twice": (replace(WIDER, sorts=(*WIDER.sorts, replace(KEY, fresh=False))), "sort 'Key' is there twice"),
    "a symbol twice": (
        replace(WIDER, symbols=(*WIDER.symbols, replace(SYMBOLS["seen"], says="else"))),
        "symbol 'seen' is there twice",
    ),
    "an axiom twice": (replace(WIDER, axioms=WIDER.axioms * 2), "axiom 'alice honest' is there twice"),
    "a lemma twice": (replace(WIDER, lemmas=WIDER.lemmas * 2), "invariant 'known_are_seen' is there twice"),
    "an action twice": (replace(WIDER, actions=WIDER.actions * 2), "action 'lend' is there twice"),
    "a parameter twice": (
        replace(WIDER, actions=(replace(WIDER.action("look"), params=(BY, BY)),)),
        "in action look the parameter 'by' is there twice",
    ),
    "a relation of formulas": (
        replace(WIDER, symbols=(*WIDER.symbols, Symbol("says", (BOOL,), BOOL, Kind.STATE, mutable=True))),
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
    assert layers(WIDER)


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
