"""What an author writes wrongly is refused, and the error says what to write instead."""

import importlib
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_spec.language import *
from carnet_spec.language import authoring
from carnet_spec.language.decoding import decode
from carnet_spec.language.expressions import parameters
from carnet_spec.language.requirements import Level, NormativeText, Requirement, references_of, text_beside
from carnet_spec.language.statements import Assumption, Axiom, Claim, Defence, Eventually, Goal, Invariant, Threat
from carnet_spec.language.terms import TRUE, Var
from carnet_spec.protocols.registry import OWN
from tests.fixtures import toy
from tests.unit.spec.language.vocabulary import *

anything: Any = None  #: Types would catch most of these mistakes; the tests make them all the same.


FORMULAS: dict[str, tuple[Callable[[], object], str]] = {
    "and": (lambda: ready and enrolled(boss), "write & for 'and'"),
    "or": (lambda: ready or enrolled(boss), "| for 'or'"),
    "not": (lambda: not ready, "~ for 'not'"),
    "if": (lambda: 1 if phase == Phase.START else 2, "implies(a, b) for 'if'"),
    "chained comparison": (lambda: boss == peer == boss, "(a == b) & (b == c)"),
    "in an element": (lambda: boss in anything_of(peer), "write the relation applied to its arguments"),
    "in a relation": (lambda: boss in anything_of(enrolled), "apply enrolled to its arguments"),
    "iteration": (lambda: list(anything_of(boss)), "quantify with forall(...)"),
    "truth of a relation": (lambda: bool(enrolled), "enrolled must be applied"),
    "no parentheses": (lambda: anything_of(phase) == Phase.START & ready, "put the comparison in parentheses"),
    "no parentheses, other side": (lambda: ready & anything_of(boss), "& needs a formula, not a Agent: compare it"),
    "bare implication, right of and": (lambda: ready & backdoor >> ready, "put the implication in parentheses"),
    "bare implication, left of and": (lambda: ready >> backdoor & ready, "put the implication in parentheses"),
    "bare implication, right of or": (lambda: ready | backdoor >> ready, "put the implication in parentheses"),
    "bare implication, left of or": (lambda: ready >> (backdoor) | ready, "put the implication in parentheses"),
    "bare implications": (lambda: ready >> backdoor >> ready, "put the implication in parentheses"),
    "negated element": (lambda: ~boss, "write a != b"),
    "compared formulas": (lambda: ready == enrolled(boss), "write implies(a, b) & implies(b, a)"),
    "compared sorts": (lambda: boss == chosen, "compares a Agent with a Key"),
    "compared with a string": (lambda: phase == "START", "needs two elements of Phase, not 'START'"),
    "compared with a symbol": (lambda: boss == owner, "apply owner to its arguments"),
    "symbol compared": (lambda: owner == boss, "apply owner to its arguments"),
    "different sorts": (lambda: boss != chosen, "!= compares a Agent with a Key"),
    "wrong sort": (lambda: sent(chosen, boss), "argument 1 of sent must be a Agent, not a Key"),
    "wrong second sort": (lambda: sent(boss, boss), "argument 2 of sent must be a Key, not a Agent"),
    "wrong arity": (lambda: sent(boss), "sent takes 2 arguments, not 1"),
    "string argument": (lambda: enrolled(anything_of("boss")), "must be a Agent, not 'boss'"),
    "symbol as argument": (lambda: enrolled(anything_of(owner)), "argument 1 of enrolled must be a Agent"),
    "role as argument": (lambda: enrolled(anything_of(PARTY)), f"must be a Agent, not the role '{PARTY.name}'"),
    "class as argument": (lambda: enrolled(anything_of(Agent)), "must be a Agent, not the sort Agent"),
    "formula as argument": (lambda: enrolled(enrolled(boss)), "must be a Agent, not a Bool"),
    "relation not applied, left": (lambda: enrolled & ready, "apply enrolled to its arguments first"),
    "relation not applied, right": (lambda: ready | anything_of(enrolled), "apply enrolled to its arguments"),
    "relation not applied, negated": (lambda: ~enrolled, "apply enrolled to its arguments first"),
    "relation not applied, implied": (lambda: implies(ready, anything_of(enrolled)), "apply enrolled"),
    "relation not applied, all_of": (lambda: all_of(ready, anything_of(enrolled)), "apply enrolled"),
    "relation not applied, any_of": (lambda: any_of(anything_of(enrolled), ready), "apply enrolled"),
    "Python truth": (lambda: ready & anything_of(True), "write true or false from the language"),
    "quantified truth": (lambda: forall(lambda _: anything_of(True), Agent), "write true or false"),
    "a relation of numbers": (lambda: relation("bad", anything_of(int), kind=Kind.STATE), "the class int is no sort"),
    "a relation of a name": (lambda: relation("bad", anything_of("Key"), kind=Kind.STATE), "'Key' names a sort"),
    "a function to numbers": (lambda: function("bad", Key, to=anything_of(int), kind=Kind.STATE), "bad: the class int"),
    "a constant of no sort": (lambda: constant("bad", anything_of(boss)), "bad: the Agent 'boss' is no sort"),
    "a variable of every sort": (lambda: variable("bad", Individual, of=PARTY), "declare one, as in 'class Key("),
    "a kind that is text": (
        lambda: relation("bad", Agent, kind=anything_of("state")),
        "bad: 'kind' takes a Kind, as Kind.STATE, not 'state'",
    ),
    "a role that is text": (lambda: flag("bad", of=anything_of("party")), "bad: 'of' takes the Role whose state it is"),
    "a threat model that is no tuple": (
        lambda: Claim("c", None, "", "", "", anything_of("any")),
        "claim c: 'under' takes a tuple of strings, not 'any': write ('any',)",
    ),
    "a lasso under a threat model that is no tuple": (
        lambda: drafted().eventually("live", ready, ready, sentence="…", fails_under=anything_of("any")),
        "live: 'fails_under' takes a tuple of strings, not 'any'",
    ),
    "a claim without a name": (
        lambda: Claim(anything_of(3), None, "", "", "", ()),
        "the name of a claim is a string, not 3",
    ),
    "a pool of two parameters": (
        lambda: Instance({}, pools=anything_of({("a", "b", "c"): ()})),
        "a pool is of an action and one of its parameters",
    ),
    "a line with an element twice": (lambda: InLine(("a", "b", "a")), "a line names an element twice: a, b, a"),
    "a quantifier over numbers": (lambda: forall(lambda _: ready, anything_of(int)), "the class int is no sort"),
    "an axiom that is no formula": (lambda: drafted().axiom("a", anything_of(enrolled)), "axiom a needs a formula"),
    "a threat of no formula": (
        lambda: drafted().threat("t", "T", x=anything_of(3)),
        "axiom t: x needs a formula, not 3",
    ),
    "too few sorts": (lambda: forall(lambda a, b: own(b, a), Agent), "over 1 sorts needs a body with as many"),
    "no sorts": (lambda: forall(lambda: ready), "over 0 sorts"),
    "used of no fresh sort": (lambda: used(boss), "declare it with fresh=True"),
}


def anything_of(value: object) -> Any:
    return value


def test_an_implication_in_parentheses_is_read_as_it_is_written() -> None:
    to, back = implies(ready, backdoor), implies(backdoor, ready)
    named = ready >> backdoor
    chain = ready
    for _ in range(2):
        chain = chain >> backdoor
    for read, written in (
        (ready & (ready >> backdoor), all_of(ready, to)),
        ((ready >> backdoor) & ready, all_of(to, ready)),
        ((ready >> backdoor) | (backdoor >> ready), any_of(to, back)),
        (ready | (ready >> backdoor), any_of(ready, to)),
        ((ready & backdoor) >> ready, implies(all_of(ready, backdoor), ready)),
        (ready >> (backdoor >> ready), implies(ready, back)),
        ((ready >> backdoor) >> ready, implies(to, ready)),
        (~ready >> backdoor, implies(~ready, backdoor)),
        (named & ready, all_of(to, ready)),
        (ready & named, all_of(ready, to)),
        (chain, implies(to, backdoor)),
    ):
        assert read.term == written.term


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_that_cannot_be_traced_says_what_to_write(name: str) -> None:
    write, instead = FORMULAS[name]
    with pytest.raises(MisuseError, match=re.escape(instead)):
        write()


def _body(body: Callable[..., None], sorts: tuple[type[Individual], ...]) -> Callable[..., None]:
    """Return a body; the parameters of a lambda, which has no annotations, are of these sorts."""
    if sorts:
        body.__annotations__ = dict(zip(list(inspect.signature(body).parameters)[1:], sorts, strict=True))
    body.__name__ = body.__name__.replace("<lambda>", "step")
    return body


def _action(body: Callable[..., None], *sorts: type[Individual]) -> Callable[[], object]:
    return lambda: Draft("d", "D").action(by=PARTY, says="x", source="y")(_body(body, sorts))


def _rule(body: Callable[..., None], *sorts: type[Individual]) -> Callable[[], object]:
    return lambda: Draft("d", "D").rule(by=ADVERSARY, says="x", source="y")(_body(body, sorts))


def _its_phase(k: Key) -> Phase:
    return phase


def _no(a: Agent) -> Any:
    return False


def _unannotated(step: Step, a) -> None:  # type: ignore[no-untyped-def]
    step.require("it", enrolled(a))


def _annotated_int(step: Step, a: int) -> None:
    step.require("it", enrolled(anything_of(a)))


def _annotated_base(step: Step, a: Individual) -> None:
    step.require("it", enrolled(a))


def _two_guards(step: Step, a: Agent) -> None:
    step.require("it", enrolled(a))
    step.require("it", ready)


def _two_updates(step: Step, a: Agent, k: Key) -> None:
    step.insert(sent(a, k))
    step.insert(sent(a, chosen))


def _fresh_twice(step: Step, k: Key) -> None:
    step.fresh(k)
    step.fresh(k)


def _two_sentences(step: Step) -> None:
    step.says("this")
    step.says("that")


def _two_messages(step: Step) -> None:
    step.message("boss -> boss: this")
    step.message("boss -> boss: that")


def _each_twice(step: Step) -> None:
    every = anything_of(step.each(Agent))
    step.remove(anything_of(own)(every, chosen))
    pair = anything_of(step.each(Key))
    step.remove(anything_of(pairs)(pair, pair), name="both")


pairs = relation("pairs", Key, Key, kind=Kind.MESSAGE)

STEPS: dict[str, tuple[Callable[[], object], str]] = {
    "unannotated parameter": (_action(_unannotated), "parameter 'a' of _unannotated needs a sort: write 'a: Agent'"),
    "parameter of a Python type": (_action(_annotated_int), "parameter 'a' of _annotated_int needs a sort"),
    "parameter of no sort": (_action(_annotated_base), "parameter 'a' of _annotated_base needs a sort"),
    "relation not applied": (
        _action(lambda step, a: step.require("it", anything_of(enrolled)), Agent),
        "guard 'it' needs a formula: apply enrolled",
    ),
    "comparison decided while tracing": (
        _action(lambda step, a: step.require("it", anything_of(a is boss)), Agent),
        "write true or false from the language",
    ),
    "element as a guard": (
        _action(lambda step, a: step.given("it", anything_of(a)), Agent),
        "guard 'it' needs a formula, not a Agent: compare it",
    ),
    "two guards of one name": (_action(_two_guards), "two guards are called 'it': give one a name of its own"),
    "two updates of one name": (_action(_two_updates), "two updates are called 'insert sent': give one a name"),
    "fresh constant": (_action(lambda step: step.fresh(chosen)), "fresh needs a parameter of the action"),
    "fresh element of a plain sort": (_action(lambda step, a: step.fresh(a), Agent), "Agent has no fresh elements"),
    "fresh twice": (_action(_fresh_twice), "two guards are called 'fresh k'"),
    "set of a rigid function": (_action(lambda step, a, k: step.set(home(k), a), Agent, Key), "home never changes"),
    "insert into a rigid relation": (
        _action(lambda step, a: step.insert(enrolled(a)), Agent),
        "enrolled never changes",
    ),
    "set of a relation": (
        _action(lambda step, a, k: step.set(sent(a, k), chosen), Agent, Key),
        "set needs a variable or a function",
    ),
    "set to another sort": (_action(lambda step, a: step.set(chosen, a), Agent), "chosen holds a Key"),
    "set to a string": (_action(lambda step: step.set(phase, anything_of("END"))), "phase holds a Phase, not 'END'"),
    "insert of nothing": (_action(lambda step: step.insert()), "insert needs a relation applied to arguments"),
    "two sentences": (_action(_two_sentences), "a step is one sentence, and it says '"),
    "two messages": (_action(_two_messages), "a step has one message, and sends 'boss -> boss: this' already"),
    "insert of a comparison": (
        _action(lambda step, a: step.insert(a == boss), Agent),
        "insert needs a relation applied to arguments",
    ),
    "insert of a bare relation": (
        _action(lambda step, a: step.insert(anything_of(sent)), Agent),
        "insert needs a relation applied to arguments",
    ),
    "condition not applied": (
        _action(lambda step, a, k: step.insert(sent(a, k), when=anything_of(enrolled)), Agent, Key),
        "'when' needs a formula: apply enrolled",
    ),
    "each used twice": (_action(_each_twice), "an 'each' stands for one argument of pairs only"),
    "require in a rule": (_rule(lambda step, a, k: step.require("it", sent(a, k)), Agent, Key), "write given('it', …)"),
    "remove in a rule": (
        _rule(lambda step, a, k: step.remove(knows(a, k)), Agent, Key),
        "a deduction only inserts; what removes facts is an action",
    ),
    "set in a rule": (_rule(lambda step, k: step.set(chosen, k), Key), "a deduction only inserts"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_cannot_be_taken_says_what_to_write(name: str) -> None:
    write, instead = STEPS[name]
    with pytest.raises(MisuseError, match=re.escape(instead)):
        write()


def test_an_update_may_be_named_to_tell_it_from_another() -> None:
    def body(step: Step, a: Agent, k: Key) -> None:
        step.insert(sent(a, k))
        step.insert(sent(a, chosen), name="again")

    action = Draft("d", "D").action(by=PARTY, says="x", source="y")(body)
    assert [update.name for update in action.updates] == ["insert sent", "again"]


def test_two_actions_or_symbols_of_one_name_are_refused() -> None:
    draft = drafted()

    def step_of(step: Step) -> None:
        step.given("it", ready)

    draft.action(by=PARTY, says="x", source="y")(step_of)
    with pytest.raises(SpecificationError, match="two actions are called 'step_of'"):
        draft.rule(by=PARTY, says="x", source="y")(step_of)
    again = relation("sent", Key, Key, kind=Kind.MESSAGE)

    def both(step: Step, a: Agent, k: Key) -> None:
        step.require("one", sent(a, k))
        step.require("other", again(k, k))

    draft = drafted()
    draft.action(by=PARTY, says="x", source="y")(both)
    with pytest.raises(SpecificationError, match="declared twice with different meaning: sent"):
        draft.protocol()


def test_what_has_to_be_a_formula_or_a_member_says_so() -> None:
    def holds(a: Agent) -> Any:
        return a is boss

    with pytest.raises(MisuseError, match="the body of holds needs a formula"):
        drafted().lemma(holds)

    class Plain:
        FIRST = anything_of(member())

    with pytest.raises(MisuseError, match="which Plain is not"):
        anything_of(Plain).FIRST  # noqa: B018  # reading it is the mistake
    with pytest.raises(MisuseError, match="a quantifier needs a formula, not a Agent"):
        exists(anything_of, Agent)


DRAFTS: dict[str, tuple[Callable[[Draft], object], str]] = {
    "unknown defence": (lambda d: d.protocol(("walls",)), "no defence 'walls' in test; known: moat, clock"),
    "unknown action": (lambda d: d.protocol().action("dig"), "no action 'dig'; known: none"),
    "unknown claim": (lambda d: d.protocol().claim("peace"), "no claim 'peace'; known: none"),
    "unknown threat": (lambda d: d.protocol().threat("war"), "no threat model 'war' in test; known: any"),
    "an action of a name": (
        lambda d: d.action(by="lender", says="", source="")(lambda _: None),  # type: ignore[arg-type] # no role
        "by= takes the Role that acts, not 'lender'",
    ),
    "initial value of a relation": (
        lambda d: d.initially(sent, anything_of(boss)),
        "initially takes a variable and its value, or a relation or function and a Python one",
    ),
    "initial value of a relation, plain": (
        lambda d: d.initially(sent, True),  # type: ignore[arg-type] # no function
        "initially takes a variable and its value, or a relation or function and a Python one",
    ),
    "initial value of another sort": (lambda d: d.initially(phase, boss), "phase holds a Phase, not the Agent 'boss'"),
    "initial value of another sort, computed": (
        lambda d: d.initially(owner, _its_phase),
        "owner holds a Agent, not the Phase 'phase'",
    ),
    "initial value of Python's": (lambda d: d.initially(seen, _no), "seen holds a Bool, not False"),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_an_unknown_name_says_which_are_known(name: str) -> None:
    ask, answer = DRAFTS[name]
    draft = drafted()
    draft.defence("moat", "a moat")
    draft.defence("clock", "a clock")
    with pytest.raises(SpecificationError, match=re.escape(answer)):
        ask(draft)


def test_parameters_are_variables_of_their_sorts() -> None:
    def action(step: Step, a: Agent, key: Key) -> None:
        """Do nothing."""

    agent, key = parameters(action, skip=1)
    assert (type(agent), agent.term) == (Agent, Var("a", Agent.sort))
    assert (type(key), key.term) == (Key, Var("key", Key.sort))


def test_a_design_may_take_back_a_lemma_that_does_not_hold_in_it() -> None:
    draft = drafted()

    @draft.lemma
    def sent_is_known(a: Agent, k: Key) -> Formula:
        return implies(sent(a, k), knows(a, k))

    @draft.lemma
    def known_is_sent(a: Agent, k: Key) -> Formula:
        return implies(knows(a, k), sent(a, k))

    draft.withdraw("known_is_sent")
    assert [lemma.name for lemma in draft.protocol().lemmas] == ["sent_is_known"]
    with pytest.raises(SpecificationError, match="no lemma 'known_is_sent' to take back"):
        draft.withdraw("known_is_sent")


NAMED: dict[str, Callable[[str], object]] = {
    "a threat model": lambda name: Threat(name, "T", ()),
    "a claim or lemma": lambda name: Invariant(name, (), TRUE),
    "a claim": lambda name: Claim(name, None, "", "", "", ()),
    "an axiom": lambda name: Axiom(name, TRUE),
    "an assumption": lambda name: Assumption(name, ""),
    "a defence": lambda name: Defence(name, ""),
    "a goal": lambda name: Goal(name, (), TRUE, ""),
    "a liveness property": lambda name: Eventually(name, TRUE, TRUE, ""),
    "an action": lambda name: replace(toy.FAMILY.protocol().actions[0], name=name),
    "a protocol": lambda name: replace(toy.FAMILY.protocol(), id=name),
    "a variant": lambda name: replace(toy.FAMILY.protocol(), variant=name),
}


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
@pytest.mark.parametrize("what", NAMED)
def test_nothing_has_a_blank_name(what: str, name: str) -> None:
    with pytest.raises(SpecificationError, match=f"^{what}.* has a blank name, {re.escape(repr(name))}"):
        NAMED[what](name)
    NAMED[what]("said")


def _under(*threats: str) -> Draft:
    draft = drafted()

    @draft.claim(name="peace", sentence="x", requirement="R", source="x", under=threats)
    def _(a: Agent, k: Key) -> Formula:
        return implies(own(a, k), used(k))

    return draft


def _lemma_under(*threats: str) -> Draft:
    draft = drafted()

    @draft.lemma_under(*threats)
    def peace(a: Agent, k: Key) -> Formula:
        return implies(own(a, k), used(k))

    return draft


@pytest.mark.parametrize("stated", [_under, _lemma_under])
def test_a_threat_model_that_nobody_declares_is_refused_where_it_is_named(stated: Callable[..., Draft]) -> None:
    said = r"peace \(test_misuse.py:\d+\) names .* 'anyy' .*; did you mean 'any'\? known: any"
    with pytest.raises(SpecificationError, match=said):
        stated("any", "anyy").protocol()
    stated("any").protocol()


def test_a_protocol_may_declare_no_threat_model() -> None:
    draft = Draft("open", "Open")

    @draft.claim(name="peace", sentence="x", requirement="R", source="x", under=("anybody",))
    def _(a: Agent, k: Key) -> Formula:
        return implies(own(a, k), used(k))

    assert draft.protocol().claim("peace").under == ("anybody",)


@pytest.mark.parametrize("id", ["", "somebody else"])
def test_hostile_json_with_such_names_is_not_read(id: str) -> None:
    content = json.loads(toy.FAMILY.protocol().canonical_json)
    content["claims"][0]["under"] = [id]
    with pytest.raises(SpecificationError, match="names a threat model"):
        decode(json.dumps(content, sort_keys=True, separators=(",", ":")))


def test_hostile_json_with_a_blank_threat_model_is_not_read() -> None:
    content = json.loads(toy.FAMILY.protocol().canonical_json)
    content["threats"][0]["id"] = ""
    with pytest.raises(SpecificationError, match="a threat model has a blank name"):
        decode(json.dumps(content, sort_keys=True, separators=(",", ":")))


TEXT = NormativeText(
    "**CLAIM-NO-REPLAY** Nothing is done twice. (Source: Carnet)\n\n"
    "**A1** Tags cannot be forged. (Source: convention)\n\n**A2** Counters do not wrap. (Source: convention)\n"
)
THREATS = ("watching", "meddling")


class Thing(Individual):
    """A thing."""


again = relation("again", Thing, kind=Kind.GHOST, says="it was done twice")


def _draft(variant: str = "main") -> Draft:
    draft = Draft("replay", "Replay", variant)
    for threat in THREATS:
        draft.threat(threat, "an adversary")
    claim = authoring.Claims(draft, TEXT, THREATS)

    @claim("no-replay", "a book")
    def no_replay(x: Thing) -> Formula:
        return ~again(x)

    @draft.lemma
    def never_again(x: Thing) -> Formula:
        """Nothing is done twice."""
        return ~again(x)

    return draft


def test_a_claim_says_what_its_requirement_says() -> None:
    (claim,) = _draft().protocol().claims
    assert (claim.name, claim.requirement, claim.sentence) == ("no-replay", "CLAIM-NO-REPLAY", "Nothing is done twice.")
    assert (claim.source, claim.under, claim.fails_under) == ("a book", THREATS, ())
    draft = Draft("replay", "Replay")

    @authoring.Claims(draft, TEXT, THREATS)("no-replay", "a book", under=(), fails_under=("watching",))
    def no_replay(x: Thing) -> Formula:
        return ~again(x)

    assert (no_replay.under, no_replay.fails_under) == ((), ("watching",))
    with pytest.raises(SpecificationError, match="CLAIM-REPLAY"):
        authoring.Claims(Draft("replay", "Replay"), TEXT, THREATS)("replay", "a book")


def test_what_falls_in_a_variant_is_expected_there_alone() -> None:
    falls, untrue = {"loose": {"no-replay": THREATS[1:]}}, {"loose": ("never_again",)}
    main, loose = _draft(), _draft("loose")
    for draft in (main, loose):
        authoring.expect_falls(draft, THREATS, falls, untrue)
    assert [(claim.under, claim.fails_under) for claim in main.protocol().claims] == [(THREATS, ())]
    assert [(claim.under, claim.fails_under) for claim in loose.protocol().claims] == [(THREATS[:1], THREATS[1:])]
    assert [lemma.name for lemma in main.protocol().lemmas] == ["never_again"]
    assert loose.protocol().lemmas == ()


def test_assumptions_and_defences_are_declared_in_order() -> None:
    draft = Draft("replay", "Replay")
    authoring.assumptions_from(draft, TEXT, built_in=("A2",))
    draft.defence("counter", "steps are counted")
    draft.defence("clock", "steps are timed", base="timed")
    protocol = draft.protocol()
    assert [(each.id, each.built_in) for each in protocol.assumptions] == [("A1", False), ("A2", True)]
    assert [(each.id, each.base) for each in protocol.defences] == [("counter", ""), ("clock", "timed")]


def test_names_of_instances_variants_and_profiles() -> None:
    assert authoring.numbered_names("k", 2) == ("k1", "k2")
    assert authoring.numbered_names("v", 2, start=0) == ("v0", "v1")
    assert authoring.numbered_names("k", 0) == ()
    assert authoring.first_names(authoring.HONEST, "user", 2) == authoring.HONEST[:2]
    assert authoring.first_names(authoring.HONEST, "user", 6) == (*authoring.HONEST, "user5", "user6")
    assert authoring.unary(("a", "b")) == {("a",), ("b",)}
    assert list(authoring.fact(True)) == [()]
    assert not authoring.fact(False)
    assert list(authoring.by_name(Variant("main", "as written"), Variant("loose", "without"))) == ["main", "loose"]
    assert authoring.by_name(Profile("tiny", {}))["tiny"].scale == {}


@pytest.mark.parametrize(
    ("number", "what", "words"),
    [
        (1, "GPU", "1 GPU"),
        (2, "honest user", "2 honest users"),
        (2, "key of the adversary's", "2 keys of the adversary's"),
        (2, "copy to a channel", "2 copies to a channel"),
        (2, "pass", "2 passes"),
        (0, "fake", ""),
    ],
)
def test_amounts_in_words(number: int, what: str, words: str) -> None:
    assert authoring.amounts_in_words((number, what)) == words


def test_amounts_are_joined_without_those_that_are_zero() -> None:
    assert authoring.amounts_in_words((1, "key"), (0, "fake"), (3, "chunk")) == "1 key, 3 chunks"


REQUIREMENTS = """# Keys

Introduction, with **bold** words and **MUST**.

**REQ-KEY-01** The orchestrator MUST make a new key
for every hand-over (always). (Source: deck, Epilogue)

* **REQ-KEY-02** A holder SHOULD check it. (Source: deck (slide 3); FACTS 5.3)
* **A1** Ciphers are ideal. (Source: convention)
* **A2** *Slow* clocks: they drift. (Source: convention)
* **A3** *Clocks that run.* Clocks run: always. (Source: convention)

**CLAIM-SECRECY** Nobody learns it. (Source: deck)

**ASM-CLOCK-1** Clocks MUST be monotone. (Source: RFC 1)
"""


def test_sentences_are_read_with_their_sources_and_levels() -> None:
    assert list(NormativeText(REQUIREMENTS).requirements().values()) == [
        Requirement(
            "REQ-KEY-01",
            "The orchestrator MUST make a new key for every hand-over (always).",
            "deck, Epilogue",
            Level.MUST,
        ),
        Requirement("REQ-KEY-02", "A holder SHOULD check it.", "deck (slide 3); FACTS 5.3", Level.SHOULD),
        Requirement("A1", "Ciphers are ideal.", "convention", Level.ASSUMPTION),
        Requirement("A2", "*Slow* clocks: they drift.", "convention", Level.ASSUMPTION),
        Requirement("A3", "Clocks run: always.", "convention", Level.ASSUMPTION, "Clocks that run"),
        Requirement("CLAIM-SECRECY", "Nobody learns it.", "deck", Level.MUST),
        Requirement("ASM-CLOCK-1", "Clocks MUST be monotone.", "RFC 1", Level.ASSUMPTION),
    ]
    short = {id: each.short for id, each in NormativeText(REQUIREMENTS).requirements().items() if id[0] == "A"}
    assert short == {
        "A1": "Ciphers are ideal",
        "A2": "*Slow* clocks",
        "A3": "Clocks that run",
        "ASM-CLOCK-1": "Clocks MUST be monotone",
    }
    assert NormativeText(REQUIREMENTS).title == "Keys"
    assert NormativeText("no heading").title == ""


MISTAKES: dict[str, tuple[str, str]] = {
    "no source": ("**REQ-1** It MUST.", "keys.md: REQ-1 must end with its source, as in '(Source: deck"),
    "a source in the middle": ("**REQ-1** It (Source: x) MUST.", "must end with its source"),
    "nothing binding": ("**REQ-1** It may. (Source: x)", "REQ-1 says neither MUST nor SHOULD"),
    "a binding part of a word": ("**REQ-1** MUSTARD. (Source: x)", "says neither MUST nor SHOULD"),
    "nobody obliged": ("**REQ-1** No holder MUST look. (Source: x)", "REQ-1 says that nobody must"),
    "nobody obliged on a condition": ("**REQ-1** When lent, nobody MUST look. (Source: x)", "nobody must"),
    "given twice": (
        "**REQ-1** It MUST. (Source: x)\n\n**REQ-1** It MUST. (Source: x)",
        "keys.md: REQ-1 is given twice: renumber one",
    ),
}


@pytest.mark.parametrize("row", MISTAKES)
def test_a_mistake_in_the_text_says_what_to_do(row: str) -> None:
    text, says = MISTAKES[row]
    with pytest.raises(SpecificationError, match=re.escape(says)):
        NormativeText(text, "keys.md").requirements()


def test_the_text_lies_beside_the_protocol(tmp_path: Path) -> None:
    protocol = tmp_path / "vault" / "protocol.py"
    protocol.parent.mkdir()
    assert text_beside(str(protocol)) == NormativeText()
    protocol.with_name("requirements.md").write_text(REQUIREMENTS)
    assert text_beside(str(protocol)) == NormativeText(REQUIREMENTS, "vault/requirements.md")
    protocol.with_name("requirements.md").write_bytes(b"\xff")
    with pytest.raises(SpecificationError, match=re.escape("vault/requirements.md cannot be read")):
        text_beside(str(protocol))


def test_an_id_means_what_its_own_protocol_says() -> None:
    one = NormativeText("**REQ-1** A MUST. (Source: x)")
    other = NormativeText("**REQ-1** B MUST. (Source: y)\n\n**A7** C. (Source: z)")
    assert (one.requirements()["REQ-1"].source, other.requirements()["REQ-1"].source) == ("x", "y")
    assert "A7" not in one.requirements()


def test_references_are_collected_from_actions_claims_and_assumptions() -> None:
    assert references_of(toy.FAMILY.protocol()) == {
        "REQ-TOY-1": ("lend",),
        "REQ-TOY-2": ("secrecy",),
        "REQ-TOY-3": ("punctual",),
        "A1": ("A1",),
    }


def _families() -> list[Family]:
    addresses = (address.partition(":") for address in OWN.values())
    return [getattr(importlib.import_module(module), attribute) for module, _, attribute in addresses]


def _references(family: Family) -> dict[str, set[str]]:
    """Collect who refers to which id, in any variant of a protocol."""
    found: dict[str, set[str]] = {}
    for variant in family.variants:
        for id, names in references_of(family.draft_of(variant).whole()).items():
            found.setdefault(id, set()).update(names)
    return found


@pytest.mark.parametrize("family", _families(), ids=lambda family: family.id)
def test_the_text_has_the_ids_that_are_referred_to_and_no_others(family: Family) -> None:
    known, references = family.text.requirements(), _references(family)
    assert family.text.title
    assert {id: names for id, names in references.items() if id not in known} == {}
    assert sorted(set(known) - set(references)) == []


@pytest.mark.parametrize("family", _families(), ids=lambda family: family.id)
def test_an_assumption_says_the_same_in_the_text_and_in_the_protocol(family: Family) -> None:
    known = family.text.requirements()
    said = {assumption.id: assumption.sentence for assumption in family.protocol().assumptions}
    assert said == {id: known[id].sentence for id in said}


def test_a_finding_has_what_its_table_has_unless_it_says_another_thing() -> None:
    finding = authoring.Findings("collusion", "the paper")
    assert finding(1, "loose", "secrecy")("it leaks") == Finding(
        "finding-1", "it leaks", "collusion", "secrecy", "loose", about="the paper"
    )
    other = finding(2, "", "secrecy", threat="outsider", about="the code", without=("lock",))("it leaks")
    assert other == Finding("finding-2", "it leaks", "outsider", "secrecy", "", ("lock",), "the code")


def test_sizes_have_defaults_and_words() -> None:
    sizes = {"users": (1, "user"), "fakes": (0, "fake")}
    size = authoring.sizes_for({"fakes": 2}, sizes, "a protocol")
    assert size == {"users": 1, "fakes": 2}
    assert authoring.sizes_in_words(size, sizes) == "1 user, 2 fakes"
    with pytest.raises(SpecificationError, match="no size 'user' in a protocol"):
        authoring.sizes_for({"user": 2}, sizes, "a protocol")
