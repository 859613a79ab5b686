"""Drafts become protocols: what defences, layers, first values, fairness and families add, and what is refused."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carnet_spec.language import *
from carnet_spec.language import expressions
from carnet_spec.language.instance import MOST_MOVES
from carnet_spec.language.terms import Apply, Exists, Forall, Member, Not, Var, free_variables, subterms
from tests.fixtures import toy
from tests.unit.spec.language.vocabulary import *


def _castle() -> Draft:
    draft = drafted()
    draft.defence("moat", "a moat")
    draft.defence("wall", "a wall")

    @draft.action(by=PARTY, says="{a} gets {k}", source="slide 1", message="party -> {a}: {k}")
    def give(step: Step, a: Agent, k: Key) -> None:
        """Because it asked."""
        step.actor(boss, ~corrupt(boss))
        step.require("enrolled", enrolled(a), defence="moat")
        step.require("ready", ready)
        step.given("somehow", own(boss, k), unless="wall")
        step.fresh(k, defence="wall")
        step.insert(sent(a, k))
        step.set(owner(k), a, defence="moat")
        step.remove(own(step.each(Agent), k), unless="moat", name="forget")

    @draft.action(by=PARTY, says="over the bridge", source="slide 2", shortcut_of="moat")
    def walk_in(step: Step) -> None:
        step.insert(ready)

    @draft.rule(by=ADVERSARY, says="{a} learns {k}", source="slide 3")
    def learn(step: Step, a: Agent, k: Key) -> None:
        step.given("sent", sent(a, k))
        step.insert(knows(a, k))

    return draft


def _names(protocol: Protocol, action: str) -> tuple[list[str], list[str]]:
    found = protocol.action(action)
    return [guard.name for guard in found.guards], [update.name for update in found.updates]


def test_an_action_is_traced_once_and_whole() -> None:
    give = _castle().whole().action("give")
    assert give.params == (Var("a", Agent.sort), Var("k", Key.sort))
    assert [(guard.name, guard.kind) for guard in give.guards] == [
        ("actor", GuardKind.ACTOR),
        ("enrolled", GuardKind.REQUIRE),
        ("ready", GuardKind.REQUIRE),
        ("somehow", GuardKind.GIVEN),
        ("fresh k", GuardKind.FRESH),
    ]
    assert [(update.name, update.symbol.name, update.effect) for update in give.updates] == [
        ("use k", "used_key", Effect.INSERT),
        ("insert sent", "sent", Effect.INSERT),
        ("set owner", "owner", Effect.ASSIGN),
        ("forget", "own", Effect.REMOVE),
    ]
    assert give.fresh == (Var("k", Key.sort),)
    assert give.actor == boss.term
    assert give.why == "Because it asked."
    assert give.updates[-1].each == (Var("each_agent", Agent.sort),)


WITHOUT: dict[str, tuple[tuple[str, ...], list[str], list[str], list[str]]] = {
    "nothing": (
        (),
        ["actor", "enrolled", "ready", "fresh k"],
        ["use k", "insert sent", "set owner"],
        ["give", "learn"],
    ),
    "the moat": (
        ("moat",),
        ["actor", "ready", "fresh k"],
        ["use k", "insert sent", "forget"],
        ["give", "walk_in", "learn"],
    ),
    "the wall": (
        ("wall",),
        ["actor", "enrolled", "ready", "somehow"],
        ["use k", "insert sent", "set owner"],
        ["give", "learn"],
    ),
    "both, in any order": (
        ("wall", "moat", "wall"),
        ["actor", "ready", "somehow"],
        ["use k", "insert sent", "forget"],
        ["give", "walk_in", "learn"],
    ),
}


@pytest.mark.parametrize("row", WITHOUT)
def test_without_drops_what_is_tagged_and_enables_what_takes_its_place(row: str) -> None:
    without, guards, updates, actions = WITHOUT[row]
    protocol = _castle().protocol(without)
    assert _names(protocol, "give") == (guards, updates)
    assert [action.name for action in protocol.actions] == actions
    assert protocol.without == tuple(sorted(set(without)))


def test_the_whole_draft_is_not_changed_by_resolving_it() -> None:
    whole = _castle().whole()
    assert [action.name for action in whole.actions] == ["give", "walk_in", "learn"]
    assert _names(whole, "give")[1] == ["use k", "insert sent", "set owner", "forget"]
    draft = _castle()
    before = draft.protocol()
    draft.protocol(("moat", "wall"))
    assert draft.protocol() == before
    protocol = _castle().protocol()
    assert [symbol.name for symbol in protocol.symbols][:3] == ["corrupt", "boss", "enrolled"]
    assert {sort.name for sort in protocol.sorts} == {"Agent", "Key", "Phase"}


def test_a_variant_lacks_its_defences_and_may_lack_more() -> None:
    assert toy.FAMILY.protocol("forgetful").without == ("fresh-key",)
    assert toy.FAMILY.protocol("forgetful", ("return-checked",)).without == ("fresh-key", "return-checked")
    assert toy.FAMILY.protocol() == toy.FAMILY.protocol("main")
    with pytest.raises(SpecificationError, match="no variant 'best' in toy; known: main, forgetful"):
        toy.FAMILY.protocol("best")
    with pytest.raises(SpecificationError, match="no profile 'huge' in toy; known: tiny"):
        toy.FAMILY.profile("huge")


def test_helpers_with_quantifiers_do_not_capture() -> None:
    def _somebody_has(k: Key) -> Formula:
        """A helper whose variable has the name that its callers like to use, too."""
        return exists(lambda a: own(a, k), Agent)

    formula = forall(lambda k: exists(lambda a: own(a, k) & _somebody_has(k) & (a != boss), Agent), Key)
    bound = [var for term in subterms(formula.term) if isinstance(term, Forall | Exists) for var in term.bound]
    assert [var.name for var in bound] == ["k.1", "a.2", "a.3"]
    assert not free_variables(formula.term)

    def others_than(a: Agent) -> Formula:
        return forall(lambda b: implies(b != a, enrolled(b)), Agent)

    formula = exists(lambda b: others_than(b), Agent)  # noqa: PLW0108  # the parameter's name is the point
    match formula.term:
        case Exists((outer,), Forall((inner,), body)):
            assert outer != inner
            assert free_variables(body) == {outer, inner}
        case _:
            pytest.fail(f"unexpected {formula!r}")


def test_a_quantifier_takes_a_relation_as_it_is_and_leaves_its_depth() -> None:
    def fails(a: Agent) -> Formula:
        raise LookupError

    with pytest.raises(LookupError):
        forall(fails, Agent)
    match exists(lambda a: enrolled(a), Agent).term:  # noqa: PLW0108  # the parameter's name is the point
        case Exists((var,), _):
            assert var.name == "a.1"
    match exists(own, Agent, Key).term:
        case Exists((a, k), Apply(symbol, args)):
            assert (a.sort, k.sort, symbol, args) == (Agent.sort, Key.sort, own.symbol, (a, k))
        case other:
            pytest.fail(f"unexpected {other!r}")


def test_expressions_build_the_terms_they_show() -> None:
    assert (phase == Phase.START).term.right == Member(Phase.sort, "START")  # type: ignore[union-attr]
    assert (~(phase == Phase.START)).term == (phase != Phase.START).term
    assert (ready >> enrolled(boss)).term == implies(ready, enrolled(boss)).term
    assert (ready & true).term == ready.term
    assert (ready | ~true).term == ready.term
    assert used(chosen).term == Apply(used(chosen).term.symbol, (chosen.term,))  # type: ignore[union-attr]
    assert {boss: 1}[boss] == 1
    assert isinstance((~ready).term, Not)


def _journey() -> Draft:
    draft = drafted()

    @draft.action(by=PARTY, says="{k} is chosen", source="test")
    def choose(step: Step, k: Key) -> None:
        """Choose."""
        step.require("start", phase == Phase.START)
        step.set(chosen, k)

    return draft


def test_a_layer_adds_to_an_action_and_changes_nothing_of_it() -> None:
    draft = _journey()
    plain = draft.actions[0]

    @draft.superpose("choose", says="by {a}", source="more", enforces="REQ-1")
    def _(step: Step, k: Key, a: Agent) -> None:
        """With care."""
        step.require("known", enrolled(a))
        step.insert(own(a, k))

    (layered,) = draft.actions
    assert [param.name for param in layered.params] == ["k", "a"]
    assert layered.guards[: len(plain.guards)] == plain.guards
    assert layered.updates[: len(plain.updates)] == plain.updates
    assert [guard.name for guard in layered.guards] == ["start", "known"]
    assert (layered.says, layered.source, layered.why) == ("{k} is chosen by {a}", "test; more", "Choose. With care.")
    assert layered.enforces == ("REQ-1",)


def test_an_each_is_no_parameter() -> None:
    draft = Draft("every", "Everybody")

    @draft.action(by=PARTY, says="everybody gets {each_key}", source="test")
    def share(step: Step, each_key: Key, each_agent1: Agent) -> None:
        step.insert(own(step.each(Agent), step.each(Key)), name="all")
        step.insert(own(step.each(Agent), each_key), name="one")

    (action,) = draft.actions
    names = [var.name for var in action.params] + [var.name for update in action.updates for var in update.each]
    assert len(set(names)) == len(names) == 5


def test_an_each_of_a_layer_is_no_parameter_of_what_is_below() -> None:
    draft = Draft("every", "Everybody")

    @draft.action(by=PARTY, says="{each_agent} is seen", source="test")
    def look(step: Step, each_agent: Agent) -> None:
        step.insert(seen(each_agent))

    @draft.superpose("look")
    def _(step: Step, each_agent: Agent, k: Key) -> None:
        step.insert(own(step.each(Agent), k))

    assert {var.name for update in draft.actions[0].updates for var in update.each} == {"each_agent1"}


def test_a_new_parameter_has_a_name_of_its_own() -> None:
    draft = Draft("every", "Everybody")

    @draft.action(by=PARTY, says="all get {k}", source="test")
    def share(step: Step, k: Key) -> None:
        step.insert(own(step.each(Agent), k))

    with pytest.raises(SpecificationError, match=r"share: a parameter or .each. is called each_agent already"):

        @draft.superpose("share")
        def _(step: Step, each_agent: Agent) -> None:
            step.insert(seen(each_agent))

    with pytest.raises(SpecificationError, match=r"share: a parameter or .each. is called k already"):

        @draft.superpose("share")
        def _(step: Step, k: Agent) -> None:
            step.insert(seen(k))


@pytest.mark.mends("R464")
def test_costs_names_and_what_is_given_have_to_make_sense() -> None:
    draft = Draft("cheap", "Cheap")
    with pytest.raises(SpecificationError, match="gain: a cost counts active moves, and -1 is less than none"):

        @draft.action(by=PARTY, says="it is paid for", source="test", cost=-1)
        def gain(step: Step) -> None:
            step.set(phase, Phase.END)

    with pytest.raises(MisuseError, match="a step is named after its function, and the function <lambda> has no name"):
        drafted().action(by=PARTY, says="…", source="s")(lambda step: None)
    with pytest.raises(MisuseError, match="live says what is given of 'pass_on', which it does not name in 'fair'"):
        drafted().eventually("live", ready, ready, sentence="It comes.", given={"pass_on": {"a": boss}})


BAD_INSTANCES = {
    "a budget of more than a word": (Instance({"Agent": ("a",)}, budget=MOST_MOVES + 1), "a budget is between 0 and"),
    "a budget of less than none": (Instance({"Agent": ("a",)}, budget=-1), "a budget is between 0 and"),
    "no elements": (Instance({"Agent": ()}, {"enrolled": frozenset()}), "Agent is empty"),
    "an element twice": (Instance({"Agent": ("a", "b", "a")}), "names an element twice: a, b, a"),
    "an element twice in a pool": (
        Instance({"Agent": ("a", "b")}, pools={("look", "a"): ("a", "a")}),
        "the pool of look names an element twice: a, a",
    ),
    "a row that is no tuple": (Instance({"Agent": ("a",)}, {"enrolled": frozenset({"a"})}), "a row is a tuple"),  # type: ignore[arg-type]  # the mistake
}


@pytest.mark.parametrize("name", BAD_INSTANCES)
def test_an_instance_that_is_none_is_refused(name: str) -> None:
    instance, says = BAD_INSTANCES[name]
    draft = Draft("small", "Small")

    @draft.action(by=PARTY, says="{a} is seen", source="test")
    def look(step: Step, a: Agent) -> None:
        step.require("enrolled", enrolled(a))
        step.insert(seen(a))

    with pytest.raises(SpecificationError, match=says):
        instance.check(draft.protocol())


def test_a_layer_cannot_change_what_is_below_it() -> None:
    draft = _journey()
    with pytest.raises(SpecificationError, match="a layer cannot change chosen"):

        @draft.superpose("choose")
        def _(step: Step, k: Key) -> None:
            step.set(chosen, k, name="again")

    draft = _journey()

    @draft.superpose("choose")
    def _(step: Step, k: Key, a: Agent) -> None:
        step.insert(own(a, k))

    with pytest.raises(SpecificationError, match="forget: a layer cannot change chosen"):

        @draft.action(by=PARTY, says="{k} is forgotten", source="test")
        def forget(step: Step, k: Key) -> None:
            step.set(chosen, k)

    with pytest.raises(SpecificationError, match=r"no action 'chose' to add to; did you mean 'choose'\? known"):

        @_journey().superpose("chose")
        def _(step: Step) -> None: ...


def test_a_design_may_expect_another_verdict_of_a_claim() -> None:
    draft = drafted()
    draft.threat("near", "near")
    draft.threat("far", "far")

    @draft.claim(name="kept", sentence="It is kept.", requirement="CLAIM-KEPT", source="", under=("near", "far"))
    def _(a: Agent, k: Key) -> Formula:
        return implies(knows(a, k), sent(a, k))

    draft.eventually("comes", ready, ready, sentence="It comes.")
    draft.expect("kept", under=("near",), fails_under=("far",))
    (claim,), (live,) = draft.protocol().claims, draft.protocol().liveness
    assert (claim.sentence, claim.under, claim.fails_under) == ("It is kept.", ("near",), ("far",))
    assert live.fails_under == ()
    draft.expect("comes", under=("far",), fails_under=("near",))
    (live,) = draft.protocol().liveness
    assert (live.sentence, live.fails_under) == ("It comes.", ("near",))
    assert draft.protocol().claims == (claim,)
    with pytest.raises(SpecificationError, match="no claim 'lost'; known: kept"):
        draft.expect("lost", under=())


def test_layers_follow_what_they_are_over() -> None:
    variants = {
        "main": toy.FAMILY.variants["main"],
        "late": Variant("late", "with time", over="main"),
        "forgetful": toy.FAMILY.variants["forgetful"],
    }
    family = replace(toy.FAMILY, variants=variants)
    assert family.with_layers(("forgetful", "main")) == ("forgetful", "main", "late")
    assert family.with_layers(("late",)) == ("late",)


def no_function(value: object) -> Any:
    return value


def _kept(key: Key, keys: list[Individual]) -> Agent:
    keys.append(key)
    return boss


def _everybody(a: Agent, k: Key) -> Formula:
    return (a == boss) & ~used(k)


def _first_of(value: Callable[..., Any], what: Any = knows) -> object:
    return drafted(lambda draft: draft.initially(what, value)).protocol().initial[-1]


@pytest.mark.mends("R464", "R465")
def test_a_first_value_may_be_a_lambda_or_a_rigid_function() -> None:
    """``initially(level, first_level)``: a lambda around it says no more."""
    assert _first_of(lambda a, k: (a == boss) & ~used(k)) == _first_of(_everybody)
    assert _first_of(lambda k: boss, owner) == _first_of(_boss, owner)
    made_for = rigid_function("made_for", Key, to=Agent)
    first = _first_of(made_for, owner)
    assert isinstance(first, Initial)
    assert first.value == Apply(made_for.symbol, first.params)
    assert [param.sort.name for param in first.params] == ["Key"]
    with pytest.raises(MisuseError, match="owner takes Key, and its first value is given for Agent"):
        _first_of(rigid_function("friend", Agent, to=Agent), owner)
    seen: list[Individual] = []
    drafted(lambda draft: draft.initially(owner, lambda k: _kept(k, seen)))
    assert [(each.sort, each.sort.fresh) for each in seen] == [(Key.sort, True)]


def _boss(k: Key) -> Agent:
    return boss


def _turned(k: Key, a: Agent) -> Formula:
    return _everybody(a, k)


def _less(a: Agent) -> Formula:
    return a == boss


@pytest.mark.mends("R465")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (_turned, "knows takes Agent, Key, and its first value is given for Key, Agent"),
        (_less, "knows takes Agent, Key, and its first value is given for Agent"),
        (lambda a: a == boss, "knows takes Agent, Key, and its first value is given for Agent"),
        (lambda: true, "knows takes Agent, Key, and its first value is given for nothing"),
        (lambda a, k, more: true, "parameter 'more' of a lambda needs a sort"),
    ],
)
def test_a_first_value_of_other_sorts_is_refused(value: Callable[..., Any], said: str) -> None:
    with pytest.raises(MisuseError, match=said):
        _first_of(value)


STATED: dict[str, Callable[[Draft], object]] = {
    "a claim": lambda d: d.claim(name="c", sentence="…", requirement="R", source="s", under=("any",))(
        lambda agent: true
    ),
    "a lemma": lambda d: d.lemma_under("any")(lambda agent: true),
    "a goal": lambda d: d.goal(sentence="…")(lambda agent: true),
    "a step": lambda d: d.action(by=PARTY, says="…", source="s")(lambda step, agent: None),
}


@pytest.mark.mends("R464")
@pytest.mark.parametrize("what", STATED)
def test_elsewhere_it_is_told_what_to_write_with_a_sort_that_there_is(what: str) -> None:
    with pytest.raises(MisuseError) as refused:
        STATED[what](drafted())
    assert str(refused.value) in (
        "parameter 'agent' of a lambda needs a sort, which a lambda cannot say: write a function, "
        "'def name(agent: Agent, …)'",
        f"{what} is named after its function, and the function <lambda> has no name: write a 'def'",
    )


def _bare(key, agent) -> Formula:  # type: ignore[no-untyped-def] # the mistake
    return knows(agent, key)


@pytest.mark.mends("R464")
def test_the_sort_that_is_offered_is_one_of_the_module_and_alike() -> None:
    claim = drafted().claim(name="c", sentence="…", requirement="R", source="s", under=("any",))
    with pytest.raises(MisuseError, match=re.escape("parameter 'key' of _bare needs a sort: write 'key: Key'")):
        claim(_bare)
    scope: dict[str, Any] = {"true": true}
    exec("def alone(a): return true", scope)
    with pytest.raises(MisuseError, match=re.escape("'a: SORT', where the sort is declared with 'class SORT(Indi")):
        claim(scope["alone"])


@pytest.mark.mends("R464")
@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: forall(no_function(true), Agent), "a quantifier needs a function of its elements, as 'lambda x: …'"),
        (lambda: drafted().lemma(no_function("x")), "a lemma is named after its function, and 'x' has no name"),
        (
            lambda: drafted().claim(name="c", sentence="…", requirement="R", source="s", under=("any",))(
                no_function(true)
            ),
            "expected a function, not the formula 'true'",
        ),
    ],
)
def test_what_is_no_function_is_refused(ask: Callable[[], object], said: str) -> None:
    with pytest.raises(MisuseError, match=re.escape(said)):
        ask()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"fair": "pass_on"}, "live: 'fair' must be a tuple of names, not 'pass_on'"),
        ({"fair": ("pass_on",), "given": {"pass_on": {"a": "boss"}}}, "gives 'boss' for 'a' of pass_on, which is no"),
        ({"fair": ("pass_on",), "given": {"pass_on": {"a": ready}}}, "for 'a' of pass_on, which is no element"),
        ({"fair": ("pass_on",), "strong": "pass_on"}, "live: 'strong' must be a tuple of names, not 'pass_on'"),
        (
            {"fair": ("pass_on",), "strong": ("pas_on",)},
            "live is strongly fair to 'pas_on', which it does not name in 'fair'; did you mean 'pass_on'?",
        ),
        ({"each": Agent}, "live: 'each' must be a tuple of sorts, not the sort Agent"),
        ({"each": ("Agent",)}, "live: 'each': 'Agent' names a sort and is none: write the class of the sort"),
        ({"each": (Agent,)}, "live says nothing of each Agent: say it by functions"),
        ({"trigger": enrolled}, "live: enrolled without its arguments takes agent0, and the sorts in 'each' are: none"),
        (
            {"each": (Agent,), "response": lambda a, b: enrolled(a)},
            "live: the function <lambda> takes a, b, and the sorts in 'each' are: Agent",
        ),
        ({"each": (Agent,), "response": lambda a: a}, "live: then needs a formula, not a Agent"),
        (
            {"each": (Agent,), "trigger": enrolled, "fair": ("x",), "given": {"x": {"a": lambda: boss}}},
            "live: the function <lambda> takes none, and the sorts in 'each' are: Agent",
        ),
        (
            {"each": (Agent,), "trigger": enrolled, "fair": ("x",), "given": {"x": {"a": enrolled}}},
            "for 'a' of x, which is no element",
        ),
    ],
)
def test_what_is_fair_is_a_tuple_and_what_is_given_an_element(words: Any, why: str) -> None:
    with pytest.raises(MisuseError, match=re.escape(why)):
        drafted().eventually("live", **{"trigger": ready, "response": ready, "sentence": "It comes.", **words})


OUT_OF_ORDER = {
    "twice": (("a",), (("a", "x"), ("a", "x"))),
    "of what is not fair": (("a",), (("b", "x"),)),
    "in another order": (("a", "b"), (("b", "x"), ("a", "x"))),
}


@pytest.mark.parametrize("name", OUT_OF_ORDER)
def test_what_is_given_stands_once_and_in_order(name: str) -> None:
    fair, places = OUT_OF_ORDER[name]
    given = tuple(Given(action, parameter, boss.term) for action, parameter in places)
    with pytest.raises(SpecificationError, match="live gives a value twice, of what is not fair, or in another order"):
        Eventually("live", ready.term, ready.term, "It comes.", fair, given)


def test_strongly_fair_is_what_is_fair_in_its_order() -> None:
    for strong in (("a",), ("c", "b"), ("b", "b")):
        with pytest.raises(SpecificationError, match="live is strongly fair to what is not fair, or in another order"):
            Eventually("live", ready.term, ready.term, "It comes.", ("b", "c"), strong=strong)
    live = Eventually("live", ready.term, ready.term, "It comes.", ("a", "b", "c"), strong=("a", "c"))
    assert (live.fair_to(("c", "b")).strong, live.fair_to(("b",)).strong) == (("c",), ())


def test_a_property_may_be_one_for_each_element() -> None:
    draft = drafted()
    given: dict[str, Any] = {"x": {"a": lambda k, b: b, "k": lambda k, b: k, "c": boss}}
    draft.eventually(
        "live", own_of, ready, each=(Key, Agent), sentence="It comes.", fair=("x", "y"), strong=("x",), given=given
    )
    draft.eventually("named", enrolled, lambda who: ~enrolled(who), each=(Agent,), sentence="It comes.")
    live, named = draft.protocol().liveness
    k, b = live.params
    assert (k, b, live.strong) == (Var("k", Key.sort), Var("b", Agent.sort), ("x",))
    assert [(each.parameter, each.value) for each in live.given] == [("a", b), ("k", k), ("c", boss.term)]
    assert live.trigger == own_of(Key(k), Agent(b)).term
    assert [var.name for var in named.params] == ["who"]
    closed = live.at((chosen.term, boss.term))
    assert (closed.params, closed.trigger) == ((), own(boss, chosen).term)
    assert [each.value for each in closed.given] == [boss.term, chosen.term, boss.term]
    assert Key.sort in draft.protocol().sorts


def own_of(k: Key, b: Agent) -> Formula:
    return own(b, k)


class Light(Individual):
    """What a lamp shows."""

    RED = member()
    GREEN = member()


def test_a_sort_of_which_members_alone_are_named_is_declared() -> None:
    draft = drafted()

    @draft.lemma
    def lights_differ() -> Formula:
        return Light.RED != Light.GREEN

    assert Light.sort in draft.protocol().sorts


FAMILY = toy.FAMILY


def counting(built: list[str]) -> Family:
    def draft(variant: str) -> Draft:
        built.append(variant)
        return FAMILY.draft(variant)

    return replace(FAMILY, draft=draft)


def test_a_variant_is_built_once_and_from_its_own_draft() -> None:
    built: list[str] = []
    family = counting(built)
    first, second = family.protocol(), family.protocol(FAMILY.main[0])
    assert first is second
    assert first == FAMILY.protocol()
    assert built == [FAMILY.main[0]]
    counting(built).protocol()
    assert built == [FAMILY.main[0]] * 2


def test_what_lacks_a_defence_is_resolved_from_the_same_draft() -> None:
    built: list[str] = []
    family = counting(built)
    defence = family.protocol().defences[0].id
    first, second = (family.protocol(without=(defence,)) for _ in range(2))
    assert first == second
    assert first.without == (defence,)
    assert first != family.protocol()
    assert family.protocol().without == ()
    assert family.draft_of(FAMILY.main[0]) is family.draft_of(FAMILY.main[0])
    assert built == [FAMILY.main[0]]


def test_a_step_says_its_sentence_and_its_message_and_changes_several_facts() -> None:
    draft = drafted()

    @draft.action(PARTY, "a source", "REQ-1", "REQ-2")
    def send(step: Step, a: Agent, k: Key) -> None:
        step.says("{a} sends {k}.")
        step.message("{a} -> boss: {k}")
        step.insert(sent(a, k), seen(a), when=enrolled(a))

    (action,) = draft.actions
    assert (action.by, action.source, action.enforces) == (PARTY, "a source", ("REQ-1", "REQ-2"))
    assert (action.says, action.message) == ("{a} sends {k}.", "{a} -> boss: {k}")
    assert [(update.name, update.symbol) for update in action.updates] == [
        ("insert sent", sent.symbol),
        ("insert seen", seen.symbol),
    ]
    assert {update.when for update in action.updates} == {enrolled(Agent(action.params[0])).term}


def test_the_first_parameter_acts_where_the_decorator_says_of_whom() -> None:
    draft = drafted()

    @draft.action(PARTY, "a source", says="{a} has {k}", actor=enrolled)
    def have(step: Step, a: Agent, k: Key) -> None:
        step.insert(own(a, k))

    (action,) = draft.actions
    assert action.actor == action.params[0]
    assert [(guard.kind, guard.formula) for guard in action.guards] == [
        (GuardKind.ACTOR, enrolled(Agent(action.params[0])).term)
    ]


# -- parameters are read as Python's own signature has them --------------------------------------------------------


def _rest(a: Agent, *rest: Agent) -> None: ...


def _keyword(a: Agent, *, b: Agent) -> None: ...


def _more(a: Agent, **more: Agent) -> None: ...


def _builtin(a: int, b) -> None: ...  # type: ignore[no-untyped-def]  # one is not annotated


@functools.wraps(_keyword)
def _wrapped(*_: object) -> None: ...


@pytest.mark.parametrize(
    "function", [_rest, _keyword, _more, _builtin, _wrapped, lambda a, b: a], ids=lambda each: each.__name__
)
def test_parameters_are_those_of_the_signature(function: Callable[..., object]) -> None:
    signature = inspect.signature(function, eval_str=True)
    expected = [(name, each.annotation) for name, each in signature.parameters.items()]
    assert expressions._annotated(function) == expected
    assert list(expressions.parameter_names(function)) == [name for name, _ in expected]


def test_a_function_that_several_designs_share_is_called_again_for_the_first_alone() -> None:
    turns = itertools.count()

    def shared(a: Agent) -> Formula:
        next(turns)
        return enrolled(a)

    for _ in range(3):
        drafted().lemma(shared)
    assert next(turns) == 4

    def alternating(a: Agent) -> Formula:
        return enrolled(a) if next(turns) % 2 else corrupt(a)

    for _ in range(3):  # what was refused once is looked at again
        with pytest.raises(MisuseError, match="says two different things"):
            drafted().lemma(alternating)
