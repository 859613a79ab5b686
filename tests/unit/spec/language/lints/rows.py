"""What the lints complain about, and the like that they let pass: named rows of small pieces of protocols."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from carnet_spec.language import *
from tests.unit.spec.language.vocabulary import *

Body = Callable[..., None]


Part = Callable[[Draft], object]


def act(body: Body, **options: Any) -> Part:
    in_order: dict[str, Any] = {
        "by": PARTY,
        "says": "it happens",
        "source": "slide 1",
        "message": "party -> all: it",
    } | options
    return lambda draft: draft.action(**in_order)(body)


def rule(body: Body, **options: Any) -> Part:
    in_order: dict[str, Any] = {"by": ADVERSARY, "says": "it is learned", "source": "slide 2"} | options
    return lambda draft: draft.rule(**in_order)(body)


def claim(body: Callable[..., Formula], **options: Any) -> Part:
    in_order: dict[str, Any] = {
        "name": "peace",
        "sentence": "Nothing happens.",
        "requirement": "REQ-1",
        "source": "slide 3",
        "under": ("any",),
    } | options
    return lambda draft: draft.claim(**in_order)(body)


def pass_on(step: Step, a: Agent, k: Key) -> None:
    step.require("known", own(a, k) & enrolled(a))
    step.insert(sent(a, k))


def learn(step: Step, a: Agent, k: Key) -> None:
    step.given("sent", sent(a, k))
    step.insert(knows(a, k))


def secret(a: Agent, k: Key) -> Formula:
    return implies(knows(a, k), enrolled(a))


def given(formula: Callable[[Agent, Key], Formula]) -> Body:
    def body(step: Step, a: Agent, k: Key) -> None:
        step.require("own", own(a, k))
        step.given("it", formula(a, k))

    return body


def writes_theirs(step: Step, a: Agent, k: Key) -> None:
    step.require("own", own(a, k))
    step.insert(theirs(a, k))


def tagged(defence: str) -> Body:
    def body(step: Step, a: Agent, k: Key) -> None:
        step.require("known", own(a, k), defence=defence)
        step.insert(sent(a, k))

    return body


def reads_known(step: Step, a: Agent, k: Key) -> None:
    step.given("known", knows(a, k))
    step.insert(sent(a, k))


def declares(*ids: str) -> Part:
    def declare(draft: Draft) -> None:
        for id in ids:
            draft.defence(id, f"a {id}")

    return declare


def axiom(formula: Formula, assumption: str = "") -> Part:
    return lambda draft: draft.axiom("a law", formula, assumption=assumption)


def assume(draft: Draft) -> None:
    draft.assumption("A1", "The law holds.")


def goal(sentence: str, formula: Callable[[Agent, Key], Formula] = own) -> Part:
    def holds(a: Agent, k: Key) -> Formula:
        return formula(a, k)

    return lambda draft: draft.goal(sentence=sentence)(holds)


seen_by = relation("seen_by", Agent, kind=Kind.STATE, of=PARTY)


nobodys = relation("nobodys", Agent, kind=Kind.STATE)


posted = relation("posted", Agent, kind=Kind.PUBLIC)


ally = rigid_function("ally", Agent, to=Agent)


likes = rigid_relation("likes", Agent, Agent)


DECLARED = declares("moat")


def _requires(formula: Callable[[Agent, Key], Formula]) -> Body:
    def body(step: Step, a: Agent, k: Key) -> None:
        step.require("own", own(a, k))
        step.require("it", formula(a, k))

    return body


def _inserts(fact: Callable[[Agent, Key], Formula], when: Callable[[Agent, Key], Formula]) -> Body:
    def body(step: Step, a: Agent, k: Key) -> None:
        step.require("own", own(a, k))
        step.insert(fact(a, k), when=when(a, k))

    return body


def _acting(formula: Callable[[Agent, Agent, Key], Formula]) -> Body:
    def body(step: Step, a: Agent, b: Agent, k: Key) -> None:
        step.actor(a, ~corrupt(a))
        step.require("it", formula(a, b, k))

    return body


def _fresh(step: Step, k: Key) -> None:
    step.fresh(k)
    step.insert(sent(boss, k))


def _ghost_to_ghost(step: Step, a: Agent, k: Key) -> None:
    step.require("own", own(a, k))
    step.insert(seen(a), when=owner(k) == a)


def _ghost_to_message(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(sent(owner(k), k))


def _ghost_to_knowledge(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(knows(a, k), when=used(k))


def _ghost_actor(step: Step, a: Agent) -> None:
    step.actor(a, ~seen(a))
    step.remove(ready)


def _writes_neighbours(step: Step, a: Agent, b: Agent, k: Key) -> None:
    step.actor(a, ~corrupt(a))
    step.require("own", own(a, k))
    step.insert(own(b, k))


def _unless(step: Step, a: Agent, k: Key) -> None:
    step.require("known", own(a, k))
    step.insert(sent(a, k), unless="moat")


def _leaking(step: Step) -> None:
    """Use a variable that a quantifier left behind."""
    left: list[Agent] = []

    def keep(a: Agent) -> Formula:
        left.append(a)
        return enrolled(a)

    step.require("some", exists(keep, Agent))
    step.require("it", enrolled(left[0]))


def _nested_each(step: Step) -> None:
    step.require("ready", ready)
    every: Any = step.each(Key)
    step.insert(sent(owner(every), chosen))


def _each_in_condition(step: Step) -> None:
    step.require("ready", ready)
    every: Any = step.each(Key)
    step.insert(sent(boss, every), when=own(boss, every))


def _nothing_unused(step: Step, a: Agent, k: Key) -> None:
    step.require("own", own(a, k))


def _unused(step: Step, a: Agent, b: Agent, k: Key) -> None:
    step.require("own", own(a, k))


def _relearns(step: Step, a: Agent, k: Key) -> None:
    step.given("not yet", sent(a, k) & ~knows(a, k))
    step.insert(knows(a, k))


def _draws(step: Step, a: Agent, k: Key) -> None:
    step.fresh(k)
    step.insert(knows(a, k))


def _forgets_unless_known(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.remove(knows(a, k), when=~knows(boss, k))


def _forgets_if_known(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.remove(knows(a, k), when=knows(boss, k))


def _known_before(a: Agent, k: Key) -> Formula:
    return implies(sent(a, k), knows(a, k))


def _ready_once_known(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(ready, when=knows(a, k))


def _ask_peer(step: Step, a: Agent) -> None:
    step.require("peer", peer == a)
    step.remove(ready)


def _costly(draft: Draft) -> None:
    """Give the last rule a cost, which the decorator does not allow."""
    actions: list[Any] = draft.__dict__["_actions"]
    actions[-1] = replace(actions[-1], cost=1)


def _is_ready(a: Agent) -> Formula:
    return ready


def _is_enrolled(a: Agent) -> Formula:
    return enrolled(a)


def _always(formula: Formula) -> Part:
    return lambda draft: draft.eventually("live", formula, ready, sentence="It comes.")


def _acting_where(honest: Callable[[Agent, Agent], Formula]) -> Body:
    def body(step: Step, a: Agent, b: Agent, k: Key) -> None:
        step.actor(a, honest(a, b))
        step.require("own", own(a, k))

    return body


ABOUT_MEANING: dict[str, tuple[str, tuple[Part, ...], str]] = {
    "a check of the truth": (
        "visibility",
        (act(_requires(lambda a, k: ~corrupt(a))),),
        "party cannot see corrupt (truth): read a message or own state",
    ),
    "a check of knowledge": ("visibility", (act(_requires(knows)),), "cannot see knows (knowledge)"),
    "a check of another's state": ("visibility", (act(_requires(theirs)),), "cannot see theirs (state of other)"),
    "a check of a ghost": ("visibility", (act(_requires(lambda a, k: seen(a))),), "cannot see seen (ghost)"),
    "a message that depends on the truth": (
        "visibility",
        (act(_inserts(sent, lambda a, k: corrupt(a))),),
        "update 'insert sent': party cannot see corrupt",
    ),
    "a neighbour's state": (
        "own-state",
        (act(_acting(lambda a, b, k: own(a, k) & own(b, k))),),
        "its first argument must be the agent that step.actor names",
    ),
    "anybody's state": (
        "own-state",
        (act(_acting(lambda a, b, k: exists(lambda x: own(x, k) & enrolled(a) & enrolled(b), Agent))),),
        "reads own of an agent other than the actor",
    ),
    "another role's state changed": ("own-writes", (act(writes_theirs),), "changes theirs, the state of another party"),
    "a neighbour's state changed": (
        "own-writes",
        (act(_writes_neighbours),),
        "changes own, the state of another",
    ),
    "a ghost in a message": ("ghosts", (act(_ghost_to_message),), "reads the ghost owner"),
    "a ghost in knowledge": ("ghosts", (act(_ghost_to_knowledge),), "reads the ghost used_key"),
    "a ghost who acts": ("ghosts", (act(_ghost_actor),), "guard 'actor': reads the ghost seen"),
    "a ghost that lets the honest act": ("ghosts", (act(given(lambda a, k: seen(a))),), "reads the ghost seen"),
    "an honest neighbour": (
        "honesty",
        (act(given(lambda a, k: own(a, k) & ~corrupt(a))),),
        "lets the party act only if corrupt holds of somebody else",
    ),
    "honest neighbours": (
        "honesty",
        (act(given(lambda a, k: forall(lambda x: ~corrupt(x), Agent))),),
        "corrupt holds of somebody else",
    ),
    "an actor among the honest": (
        "honesty",
        (act(_acting_where(lambda a, b: ~corrupt(a) & ~corrupt(b))),),
        "guard 'actor': lets the party act only if corrupt holds",
    ),
    "a ghost as a fact of the world": (
        "ghost-worlds",
        (act(given(lambda a, k: seen(a)), by=ADVERSARY),),
        "lets the ghost seen decide",
    ),
    "state of nobody": ("kinds", (act(given(lambda a, k: nobodys(a))),), "name the role in 'of'"),
    "public, but changing": ("kinds", (act(given(lambda a, k: posted(a))),), "is public but mutable"),
    "a variable of another's": ("scope", (act(_leaking),), "mentions a.1, which is no parameter"),
    "an each inside an argument": ("scope", (act(_nested_each),), "use it as an argument of its own"),
    "an unused parameter": ("unused", (act(_unused),), "parameter b is used by no guard or update"),
    "an axiom about what changes": ("axioms", (axiom(ready),), "reads ready, which is mutable"),
    "an axiom of no assumption": ("axioms", (axiom(true, "A9"),), "states assumption 'A9', which is not declared"),
    "a threat about what changes": ("axioms", (lambda d: d.threat("t", "T", law=ready),), "axiom t: law: reads ready"),
    "an initial value twice": ("initial", (lambda d: d.initially(phase, Phase.END),), "is given twice"),
    "an initial value that depends on another": (
        "initial",
        (lambda d: d.initially(seen, _is_ready),),
        "reads ready, which is mutable",
    ),
    "an initial value of what never changes": (
        "initial",
        (lambda d: d.initially(enrolled, _is_enrolled),),
        "write an axiom",
    ),
    "fresh ones told apart": ("interchangeable", (act(_requires(lambda a, k: home(k) == a)),), "elements of Key"),
    "a costly rule": ("insert-only", (rule(learn), _costly), "a rule is free"),
    "an unknown tag": ("defences", (act(tagged("wall")),), "names a defence 'wall' that is not declared"),
    "an unknown unless": ("defences", (act(_unless),), "names a defence 'moat' that is not declared"),
    "an unknown shortcut": ("defences", (act(pass_on, shortcut_of="wall"),), "'wall' that is not declared"),
    "an idle defence": ("idle-defences", (DECLARED, act(pass_on)), "is tagged nowhere"),
    "a guard that denies a deduction": (
        "monotone",
        (rule(learn), act(given(lambda a, k: ~knows(a, k)))),
        "reads knows, which rules add to, negatively",
    ),
    "a rule that denies its own result": ("monotone", (rule(_relearns),), "rule _relearns, guard 'not yet'"),
    "a rule that draws": ("monotone", (rule(_draws),), "reads used_key"),
    "a change that depends on a deduction": (
        "monotone",
        (rule(learn), act(_ready_once_known), act(_requires(lambda a, k: ~ready))),
        "reads ready, which rules add to, negatively",
    ),
    "a removal that depends on a deduction": ("monotone", (rule(learn), act(_forgets_if_known)), "to remove facts"),
    "a claim of a deduction": ("monotone", (rule(learn), claim(_known_before)), "claim peace: asks for knows"),
    "a goal against a deduction": ("monotone", (rule(learn), goal("x", lambda a, k: ~knows(a, k))), "asks that knows"),
    "liveness of a deduction": ("monotone", (rule(learn), _always(knows(boss, chosen))), "liveness live: reads knows"),
    "a cycle of functions": ("stratified", (axiom(forall(lambda a: ally(a) != a, Agent)),), "Agent → Agent (function"),
    "a cycle of quantifiers": (
        "stratified",
        (axiom(forall(lambda a: exists(lambda b: likes(a, b), Agent), Agent)),),
        "Agent → Agent (a Agent for each Agent, in axiom a law)",
    ),
    "read and never written": ("written-before-read", (act(_ask_peer),), "is written (by nothing)"),
}


MEANING_PASSES: dict[str, tuple[str, tuple[Part, ...]]] = {
    "evidence and own state": ("visibility", (act(_requires(lambda a, k: sent(a, k) & enrolled(a) & ready)),)),
    "a fact of the world": ("visibility", (act(given(lambda a, k: corrupt(a) & theirs(a, k) & knows(a, k))),)),
    "a fresh value": ("visibility", (act(_fresh),)),
    "an adversary who sees all": ("visibility", (act(_requires(lambda a, k: corrupt(a)), by=ADVERSARY),)),
    "knowledge that depends on the truth": ("visibility", (act(_inserts(knows, lambda a, k: corrupt(a))),)),
    "the actor's own state": ("own-state", (act(_acting(lambda a, b, k: own(a, k) & enrolled(b))),)),
    "no actor": ("own-state", (act(_requires(lambda a, k: own(boss, k))),)),
    "a neighbour's message": ("own-state", (act(_acting(lambda a, b, k: sent(b, k) & own(a, k))),)),
    "own state changed": ("own-writes", (act(_inserts(own, lambda a, k: ready)),)),
    "another role's change": ("own-writes", (act(writes_theirs, by=OTHER),)),
    "an adversary's change": ("own-writes", (act(writes_theirs, by=ADVERSARY),)),
    "a ghost for a ghost": ("ghosts", (act(_ghost_to_ghost),)),
    "ghosts in claims and goals": ("ghosts", (claim(lambda: seen(boss)), goal("x", lambda a, k: seen(a)))),
    "a ghost that says what is new": ("ghosts", (act(_fresh),)),
    "elements that only steps tell apart": ("interchangeable", (act(_fresh), axiom(enrolled(boss)))),
    "an honest actor": ("honesty", (act(_acting_where(lambda a, b: ~corrupt(a) & enrolled(b))),)),
    "what anybody may do": ("honesty", (act(given(lambda a, k: corrupt(a) | own(a, k))),)),
    "an adversary among the corrupt": ("honesty", (act(given(lambda a, k: corrupt(a)), by=ADVERSARY),)),
    "no ghost": ("ghost-worlds", (act(given(lambda a, k: corrupt(a))), act(_fresh))),
    "state of somebody": ("kinds", (act(given(lambda a, k: seen_by(a))),)),
    "an each with a condition": ("scope", (act(_each_in_condition),)),
    "parameters": ("scope", (act(pass_on), rule(learn), claim(secret))),
    "parameters that are used": ("unused", (act(_nothing_unused),)),
    "an assumption": ("axioms", (assume, axiom(~corrupt(boss), "A1"), lambda d: d.threat("t", "T", law=true))),
    "an initial value": ("initial", (lambda d: d.initially(seen, _is_enrolled),)),
    "a free rule": ("insert-only", (rule(learn),)),
    "a known tag": ("defences", (DECLARED, act(tagged("moat")), act(_unless))),
    "a tagged guard": ("idle-defences", (DECLARED, act(tagged("moat")))),
    "a part in its place": ("idle-defences", (DECLARED, act(_unless))),
    "a shortcut": ("idle-defences", (DECLARED, act(pass_on, shortcut_of="moat"))),
    "deductions that help": ("monotone", (rule(learn), act(reads_known), claim(secret), goal("x", knows))),
    "a deduction taken back": ("monotone", (rule(learn), act(_forgets_unless_known))),
    "a lemma of a deduction": ("monotone", (rule(learn), lambda d: d.lemma(_known_before))),
    "functions one way": ("stratified", (act(given(lambda a, k: owner(k) == a)),)),
    "phases in a circle": ("stratified", (axiom(forall(lambda p: exists(lambda q: p != q, Phase), Phase)),)),
    "an exists under no forall": (
        "stratified",
        (axiom(exists(lambda a: forall(lambda b: likes(a, b), Agent), Agent)),),
    ),
    "a denied forall-exists of a claim": ("stratified", (claim(lambda: exists(enrolled, Agent)),)),
}


def _plain(step: Step) -> None:
    step.require("ready", ready)
    step.remove(ready)


def _named(name: str) -> Part:
    def state(a: Agent, k: Key) -> Formula:
        return implies(own(a, k), used(k))

    state.__name__ = name
    return lambda draft: draft.lemma(state)


def _lemma_under(threat: str) -> Part:
    def limited(a: Agent, k: Key) -> Formula:
        return implies(own(a, k), used(k))

    return lambda draft: draft.lemma_under(threat)(limited)


ABOUT_WORDS: dict[str, tuple[str, tuple[Part, ...], str]] = {
    "two claims of a name": (
        "names",
        (claim(secret), claim(secret)),
        "two claims, lemmas or liveness properties are called 'peace'",
    ),
    "a lemma named like a claim": (
        "names",
        (claim(secret), _named("peace")),
        "two claims, lemmas or liveness properties",
    ),
    "two axioms of a name": ("names", (axiom(true), axiom(true)), "two axioms are called 'a law'"),
    "two threat models of an id": ("names", (lambda d: d.threat("any", "again"),), "two threat models"),
    "two defences of an id": ("names", (DECLARED, DECLARED, act(tagged("moat"))), "two defences"),
    "two assumptions of an id": ("names", (assume, assume), "two assumptions are called 'A1'"),
    "two goals of a name": ("names", (goal("x"), goal("y")), "two goals are called 'holds'"),
    "a threat model that cannot be read aloud": ("spelling", (lambda d: d.threat(" a\nb", "odd"),), "' a\\nb'"),
    "a claim that cannot be read aloud": ("spelling", (claim(secret, name="a\nb"),), "claim 'a\\nb'"),
    "no sentence": ("sentence", (act(pass_on, says=" "),), "say in 'says' what happens"),
    "no sentence for a goal": ("sentence", (goal(""),), "has no sentence"),
    "a place for no parameter": ("places", (act(pass_on, says="{a} sends {it}"),), "place {it}, but the parameters"),
    "an open place": ("places", (act(pass_on, says="{a sends"),), "cannot be filled in"),
    "no source": ("source", (act(pass_on, source=""),), "has no source"),
    "no source for a claim": ("source", (claim(secret, source=""),), "has no source"),
    "a message without an arrow": ("message", (act(pass_on, message=""),), "message='sender -> receiver: text'"),
    "an arrow without a text": ("message", (act(pass_on, message="a -> b"),), "must read"),
    "an arrow with a strange place": ("places", (act(pass_on, message="{x} -> b: c"),), "has a place {x}"),
    "a claim without a sentence": ("claims", (claim(secret, sentence=""),), "has no sentence"),
    "a claim without a requirement": ("claims", (claim(secret, requirement=""),), "has no requirement"),
    "a claim under nothing": ("claims", (claim(secret, under=()),), "claimed under no threat model"),
    "a claim both ways": ("judged", (claim(secret, fails_under=("any",)),), "choose one"),
    "a property that fails under an unknown threat": (
        "threats",
        (lambda d: d.eventually("live", ready, ready, sentence="It comes.", fails_under=("war",)),),
        "liveness live: names a threat model 'war' that is not declared",
    ),
    "a claim under an unknown threat": ("threats", (claim(secret, under=("war",)),), "'war' that is not declared"),
    "a lemma under an unknown threat": ("threats", (_lemma_under("war"),), "write one of any"),
}


WORDS_PASS: dict[str, tuple[str, tuple[Part, ...]]] = {
    "names of their own": ("names", (claim(secret), claim(secret, name="quiet"), _named("calm"), goal("x"))),
    "sentences": ("sentence", (act(pass_on, says="{a} sends {k}."), goal("A key is kept."))),
    "sentences with places": ("places", (act(pass_on, says="{a} sends {k}, {{really}}", message="{a} -> all: {k}"),)),
    "sources": ("source", (act(pass_on), claim(secret))),
    "an arrow": ("message", (act(pass_on, message="{a} -> all: {k}"),)),
    "an arrow that nobody needs": ("message", (act(_plain),)),
    "no message, no arrow": ("message", (act(_plain, message=""),)),
    "an adversary without an arrow": ("message", (act(pass_on, by=ADVERSARY, message=""),)),
    "a rule without an arrow": ("message", (rule(reads_known),)),
    "a claim": ("claims", (claim(secret), claim(secret, name="b", under=(), fails_under=("any",)))),
    "known threats": ("threats", (claim(secret, fails_under=("any",), under=()), _lemma_under("any"))),
}


at = relation("at", Agent, kind=Kind.STATE, of=PARTY)


def _live(*fair: str) -> Part:
    return lambda draft: draft.eventually("live", ready, ready, sentence="It comes.", fair=fair)


def _given(parameter: str, value: Individual) -> Part:
    def state(draft: Draft) -> None:
        (action,) = draft.protocol().actions
        said = {action.name: {parameter: value}}
        draft.eventually("live", ready, ready, sentence="It comes.", fair=(action.name,), given=said)

    return state


def _pass_on_otherwise(draft: Draft) -> None:
    def body(step: Step, a: Agent, k: Key) -> None:
        pass_on(step, a, k)

    body.__name__ = "pass_on otherwise"
    act(body)(draft)


def _chooses(step: Step, k: Key) -> None:
    step.fresh(k)
    step.set(chosen, k)


def _odd_constant(draft: Draft) -> None:
    draft.axiom("odd", constant("the boss", Agent) == boss)


def _moves(step: Step, a: Agent, b: Agent) -> None:
    step.remove(at(a))
    step.insert(at(b))


def _moves_elsewhere(step: Step, a: Agent, b: Agent) -> None:
    step.require("another", a != b)
    _moves(step, a, b)


def _moves_one_of_two(step: Step, a: Agent, b: Agent) -> None:
    step.remove(at(a), when=ready)
    step.insert(at(b), when=~ready)


def _sweeps_first(step: Step, b: Agent) -> None:
    step.remove(at(step.each(Agent)), name="sweep")
    step.insert(at(b))


def _sweeps_last(step: Step, b: Agent) -> None:
    step.insert(at(b))
    step.remove(at(step.each(Agent)), name="sweep")


def _two_values(step: Step, k: Key, a: Agent) -> None:
    step.set(owner(k), a)
    step.set(owner(k), boss, name="again")


def _two_drawn(step: Step, k: Key, j: Key, a: Agent) -> None:
    step.fresh(k)
    step.fresh(j)
    step.set(owner(k), a)
    step.set(owner(j), boss, name="the other")


def _two_phases(step: Step, a: Agent) -> None:
    step.insert(at(a), when=phase == Phase.START)
    step.remove(at(a), when=phase == Phase.END)


def _theirs_once_ready(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(theirs(a, k), when=ready)


def _known_if_unknown(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(knows(a, k), when=~knows(boss, k))


def _known_if_known(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(knows(a, k), when=knows(boss, k))


ABOUT_VERDICTS: dict[str, tuple[str, tuple[Part, ...], str]] = {
    "a claim under nothing": ("judged", (claim(secret, under=()),), "no engine checks it"),
    "fairness of what does not exist": ("fairness", (act(pass_on), _live("pass_by")), "'pass_by', which is no action"),
    "fairness of an adversary": (
        "fairness",
        (act(pass_on, by=ADVERSARY, message=""), _live("pass_on")),
        "'pass_on', taken by adversary, who need not follow the protocol",
    ),
    "fairness given something that is chosen nowhere": (
        "fairness",
        (act(pass_on), _given("b", boss)),
        "says what 'b' of pass_on is, which is no parameter of it that somebody chooses: write one of a, k",
    ),
    "fairness given what is drawn fresh": (
        "fairness",
        (act(_chooses), _given("k", chosen)),
        "'k' of _chooses is, which",
    ),
    "fairness given another sort": (
        "fairness",
        (act(pass_on), _given("k", boss)),
        "says that 'k' of pass_on, of sort Key, is of sort Agent: name one of its own",
    ),
    "fairness asked for twice": ("fairness", (act(pass_on), _live("pass_on", "pass_on")), "of 'pass_on' twice"),
    "an action of two words": ("spelling", (_pass_on_otherwise,), "action 'pass_on otherwise'"),
    "a property named like a claim": (
        "names",
        (claim(secret), lambda d: d.eventually("peace", ready, ready, sentence="It comes.")),
        "are called 'peace'",
    ),
    "a symbol of two words": ("spelling", (_odd_constant,), "symbol 'the boss'"),
    "a symbol like a switch": (
        "spelling",
        (lambda d: d.axiom("odd", flag("$on.insert paid", of=PARTY)),),
        "symbol '$on.insert paid'",
    ),
    "a move that may stay": ("conflicts", (act(_moves),), "may undo what update 'remove at' makes of at"),
    "a sweep after": ("conflicts", (act(_sweeps_last),), "update 'sweep'"),
    "two values": ("conflicts", (act(_two_values),), "makes of owner"),
    "a deduced fact inserted for want of another": (
        "monotone",
        (rule(learn), act(_known_if_unknown)),
        "update 'insert knows': reads knows, which rules add to, negatively",
    ),
    "a change that depends on a change that depends on a deduction": (
        "monotone",
        (rule(learn), act(_theirs_once_ready), act(_ready_once_known), act(given(lambda a, k: ~theirs(a, k)))),
        "reads theirs, which rules add to, negatively",
    ),
}

VERDICTS_PASS: dict[str, tuple[str, tuple[Part, ...]]] = {
    "a claim that is to fall": ("judged", (claim(secret, under=(), fails_under=("any",)),)),
    "fairness of an action": ("fairness", (act(pass_on), _live("pass_on"))),
    "fairness of some steps of an action": ("fairness", (act(pass_on), _given("k", chosen))),
    "words": ("spelling", (act(pass_on), lambda d: d.axiom("even", enrolled(boss)))),
    "a move elsewhere": ("conflicts", (act(_moves_elsewhere),)),
    "one of two changes": ("conflicts", (act(_moves_one_of_two),)),
    "a sweep before": ("conflicts", (act(_sweeps_first),)),
    "drawn values differ": ("conflicts", (act(_two_drawn),)),
    "two phases": ("conflicts", (act(_two_phases),)),
    "a deduced fact inserted because of another": ("monotone", (rule(learn), act(_known_if_known))),
}
