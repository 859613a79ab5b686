"""Which obligations there are, in which order, and with which hypotheses."""

from __future__ import annotations

from carnet_check.exports.smtlib import text
from carnet_check.exports.systems import system
from carnet_check.obligations import layers, obligations
from carnet_spec.language import Formula, Individual, Step, exists, forall, member, rigid_function, used
from carnet_spec.language.terms import Not
from carnet_spec.protocols.gpu_travelling import FAMILY
from tests.unit.model_check.obligations.lending import goal, held, lending, obligation, only_layer, owner, said
from tests.unit.model_check.small import Key, Party, alice, before, claimed, current, drafted, last, seen

home = rigid_function("home", Key, to=Party)
LENDING = lending().protocol()
GENERAL, ONE = layers(LENDING)


# -- layers ----------------------------------------------------------------------------------------


def test_what_holds_under_every_threat_model_is_proved_first_and_known_where_more_is_claimed() -> None:
    assert GENERAL.threat is None
    assert (GENERAL.known, [each.name for each in GENERAL.claims]) == ((), ["owned", "known_are_seen", "held_are_used"])
    assert ONE.threat == LENDING.threat("one")
    assert (ONE.known, [each.name for each in ONE.claims]) == (GENERAL.claims, ["a/lone"])


def test_a_claim_that_is_expected_to_fall_is_not_proved_there() -> None:
    draft = lending()
    draft.expect("owned", under=("one", "any"), fails_under=("any",))
    general, one = layers(draft.protocol())
    assert [each.name for each in general.claims] == ["known_are_seen", "held_are_used"]
    assert [each.name for each in one.claims] == ["owned", "a/lone"]


def test_a_lemma_for_one_threat_model_is_proved_there() -> None:
    draft = lending()
    draft.lemma_under("any")(nobody_seen)
    general, one, any = layers(draft.protocol())
    assert "nobody_seen" not in {each.name for each in (*general.claims, *one.claims)}
    assert next(each.id for each in obligations(any)) == "any:init/nobody_seen"


def nobody_seen() -> Formula:
    return ~seen(alice)


def test_without_threat_models_everything_is_in_one_layer() -> None:
    protocol = claimed(drafted(), it=lambda: seen(alice))
    assert [each.name for each in only_layer(protocol).claims] == ["it"]


class Light(Individual):
    """What a lamp shows."""

    RED = member()
    GREEN = member()


def test_a_sort_of_which_members_alone_are_named_has_its_obligations() -> None:
    """Both readers of the certified language find it in what they read."""
    protocol = claimed(drafted(), it=lambda: Light.RED != Light.GREEN)
    assert [each.name for each in only_layer(protocol).claims] == ["it"]
    (layer,) = system(protocol.encoded).layers
    assert [claim.name for claim in layer.claims] == ["it"]


# -- obligations -----------------------------------------------------------------------------------


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


def test_what_is_said_of_sorts_and_parameters() -> None:
    formulas = {each.name: said(text(each.formula)) for each in obligation(LENDING, "step/lend/owned").hypotheses}
    assert formulas["sort:Key"] == "(exists ((x Key)) true)"
    assert formulas["axiom:alice honest"] == "(not (corrupt alice))"
    assert formulas["inv:owned"] == ("(forall ((by Party)) (forall ((key Key)) (=> (held by key) (= (owner key) by))))")
    assert formulas["guard:early"] == "(= phase EARLY)"
    assert formulas["guard:fresh key"] == "(not (used_key key))"


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


# -- the first state -------------------------------------------------------------------------------


def test_a_relation_without_a_first_value_is_empty_and_a_function_without_one_is_anything() -> None:
    assert goal(LENDING, "init/owned") == ("(forall ((by Party)) (forall ((key Key)) (=> false (= (owner key) by))))")


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
