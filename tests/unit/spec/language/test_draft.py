"""Drafts become protocols: what defences take away and bring in, and what a layer may add."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_spec.language import (
    Draft,
    Effect,
    Formula,
    GuardKind,
    Instance,
    Protocol,
    SpecificationError,
    Step,
    Variant,
    exists,
    forall,
    implies,
    true,
    used,
)
from carnet_spec.language.instance import MOST_MOVES
from carnet_spec.language.terms import Apply, Exists, Forall, Member, Not, Var, free_variables, subterms
from tests.fixtures import toy
from tests.unit.spec.language.vocabulary import (
    ADVERSARY,
    PARTY,
    Agent,
    Key,
    Phase,
    boss,
    chosen,
    corrupt,
    drafted,
    enrolled,
    knows,
    own,
    owner,
    phase,
    ready,
    seen,
    sent,
)


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


def test_the_whole_draft_has_all_parts_side_by_side() -> None:
    whole = _castle().whole()
    assert [action.name for action in whole.actions] == ["give", "walk_in", "learn"]
    assert _names(whole, "give")[1] == ["use k", "insert sent", "set owner", "forget"]


def test_a_draft_is_not_changed_by_resolving_it() -> None:
    draft = _castle()
    before = draft.protocol()
    draft.protocol(("moat", "wall"))
    assert draft.protocol() == before


def test_a_variant_lacks_its_defences_and_may_lack_more() -> None:
    assert toy.FAMILY.protocol("forgetful").without == ("fresh-key",)
    assert toy.FAMILY.protocol("forgetful", ("return-checked",)).without == ("fresh-key", "return-checked")
    assert toy.FAMILY.protocol() == toy.FAMILY.protocol("main")
    with pytest.raises(SpecificationError, match="no variant 'best' in toy; known: main, forgetful"):
        toy.FAMILY.protocol("best")
    with pytest.raises(SpecificationError, match="no profile 'huge' in toy; known: tiny"):
        toy.FAMILY.profile("huge")


def test_symbols_and_sorts_are_those_that_occur_in_order() -> None:
    protocol = _castle().protocol()
    assert [symbol.name for symbol in protocol.symbols][:3] == ["corrupt", "boss", "enrolled"]
    assert {sort.name for sort in protocol.sorts} == {"Agent", "Key", "Phase"}


# -- quantifiers ----------------------------------------------------------------------------------


def _somebody_has(k: Key) -> Formula:
    """A helper whose variable has the name that its callers like to use, too."""
    return exists(lambda a: own(a, k), Agent)


def test_helpers_with_quantifiers_do_not_capture() -> None:
    formula = forall(lambda k: exists(lambda a: own(a, k) & _somebody_has(k) & (a != boss), Agent), Key)
    bound = [var for term in subterms(formula.term) if isinstance(term, Forall | Exists) for var in term.bound]
    assert [var.name for var in bound] == ["k.1", "a.2", "a.3"]
    assert not free_variables(formula.term)


def test_a_helper_that_is_handed_a_bound_variable_keeps_it_apart() -> None:
    def others_than(a: Agent) -> Formula:
        return forall(lambda b: implies(b != a, enrolled(b)), Agent)

    formula = exists(lambda b: others_than(b), Agent)  # noqa: PLW0108  # the parameter's name is the point
    match formula.term:
        case Exists((outer,), Forall((inner,), body)):
            assert outer != inner
            assert free_variables(body) == {outer, inner}
        case _:
            pytest.fail(f"unexpected {formula!r}")


def test_depth_is_left_when_a_body_raises() -> None:
    def fails(a: Agent) -> Formula:
        raise LookupError

    with pytest.raises(LookupError):
        forall(fails, Agent)
    match exists(lambda a: enrolled(a), Agent).term:  # noqa: PLW0108  # the parameter's name is the point
        case Exists((var,), _):
            assert var.name == "a.1"


def test_a_relation_can_be_quantified_as_it_is() -> None:
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


# -- layers ---------------------------------------------------------------------------------------


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


def test_a_cost_is_not_negative() -> None:
    draft = Draft("cheap", "Cheap")
    with pytest.raises(SpecificationError, match="gain: a cost counts active moves, and -1 is less than none"):

        @draft.action(by=PARTY, says="it is paid for", source="test", cost=-1)
        def gain(step: Step) -> None:
            step.set(phase, Phase.END)


BAD_INSTANCES = {
    "a budget of more than a word": (Instance({"Agent": ("a",)}, budget=MOST_MOVES + 1), "a budget is between 0 and"),
    "a budget of less than none": (Instance({"Agent": ("a",)}, budget=-1), "a budget is between 0 and"),
    "no elements": (Instance({"Agent": ()}, {"enrolled": frozenset()}), "Agent is empty"),
    "an element twice": (Instance({"Agent": ("a", "b", "a")}), "names an element twice: a, b, a"),
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


def test_an_action_of_a_layer_cannot_change_what_is_below_it() -> None:
    draft = _journey()

    @draft.superpose("choose")
    def _(step: Step, k: Key, a: Agent) -> None:
        step.insert(own(a, k))

    with pytest.raises(SpecificationError, match="forget: a layer cannot change chosen"):

        @draft.action(by=PARTY, says="{k} is forgotten", source="test")
        def forget(step: Step, k: Key) -> None:
            step.set(chosen, k)


def test_a_layer_adds_to_actions_that_exist() -> None:
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

    draft.expect("kept", under=("near",), fails_under=("far",))
    (claim,) = draft.protocol().claims
    assert (claim.sentence, claim.under, claim.fails_under) == ("It is kept.", ("near",), ("far",))
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
