"""What the lints about meaning complain about, and the like that they let pass: named rows for their tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from carnet_spec.language import (
    Draft,
    Formula,
    Step,
    exists,
    forall,
    implies,
    true,
    used,
)
from tests.unit.spec.language.lints.pieces import (
    DECLARED,
    Body,
    Part,
    act,
    ally,
    assume,
    axiom,
    claim,
    given,
    goal,
    learn,
    likes,
    nobodys,
    pass_on,
    posted,
    reads_known,
    rule,
    secret,
    seen_by,
    tagged,
    writes_theirs,
)
from tests.unit.spec.language.vocabulary import (
    ADVERSARY,
    OTHER,
    Agent,
    Key,
    Phase,
    boss,
    chosen,
    corrupt,
    enrolled,
    home,
    knows,
    own,
    owner,
    peer,
    phase,
    ready,
    seen,
    sent,
    theirs,
)


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


def _boss_seen() -> Formula:
    return seen(boss)


def _somebody() -> Formula:
    return exists(enrolled, Agent)


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


COMPLAINTS: dict[str, tuple[str, tuple[Part, ...], str]] = {
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
    "another role's state changed": ("own-writes", (act(writes_theirs),), "changes theirs, which another party"),
    "a neighbour's state changed": ("own-writes", (act(_writes_neighbours),), "changes own, which another party"),
    "a ghost in a message": ("ghosts", (act(_ghost_to_message),), "reads the ghost owner"),
    "a ghost in knowledge": ("ghosts", (act(_ghost_to_knowledge),), "reads the ghost used_key"),
    "a ghost who acts": ("ghosts", (act(_ghost_actor),), "guard 'actor': reads the ghost seen"),
    "a ghost that lets the honest act": ("ghosts", (act(given(lambda a, k: seen(a))),), "reads the ghost seen"),
    "an honest neighbour": (
        "honesty",
        (act(given(lambda a, k: own(a, k) & ~corrupt(a))),),
        "lets the party act only where corrupt says so of somebody else",
    ),
    "honest neighbours": (
        "honesty",
        (act(given(lambda a, k: forall(lambda x: ~corrupt(x), Agent))),),
        "corrupt says so",
    ),
    "an actor among the honest": (
        "honesty",
        (act(_acting_where(lambda a, b: ~corrupt(a) & ~corrupt(b))),),
        "guard 'actor': lets the party act only where corrupt says so",
    ),
    "a ghost as a fact of the world": (
        "ghost-worlds",
        (act(given(lambda a, k: seen(a)), by=ADVERSARY),),
        "makes the ghost seen decide",
    ),
    "state of nobody": ("kinds", (act(given(lambda a, k: nobodys(a))),), "say whose in 'of'"),
    "public, but changing": ("kinds", (act(given(lambda a, k: posted(a))),), "is public but changes"),
    "a variable of another's": ("scope", (act(_leaking),), "mentions a.1, which is no parameter"),
    "an each inside an argument": ("scope", (act(_nested_each),), "use it as an argument of its own"),
    "an unused parameter": ("unused", (act(_unused),), "parameter b is used by no guard or update"),
    "an axiom about what changes": ("axioms", (axiom(ready),), "reads ready, which changes"),
    "an axiom of no assumption": ("axioms", (axiom(true, "A9"),), "states assumption 'A9', which is not declared"),
    "a threat about what changes": ("axioms", (lambda d: d.threat("t", "T", law=ready),), "axiom t: law: reads ready"),
    "an initial value twice": ("initial", (lambda d: d.initially(phase, Phase.END),), "is given twice"),
    "an initial value that depends on another": (
        "initial",
        (lambda d: d.initially(seen, _is_ready),),
        "reads ready, which changes",
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
    "a removal that depends on a deduction": (
        "monotone",
        (rule(learn), act(_forgets_if_known)),
        "to remove facts",
    ),
    "a claim of a deduction": ("monotone", (rule(learn), claim(_known_before)), "claim peace: asks for knows"),
    "a goal against a deduction": (
        "monotone",
        (rule(learn), goal("x", lambda a, k: ~knows(a, k))),
        "asks that knows",
    ),
    "liveness of a deduction": ("monotone", (rule(learn), _always(knows(boss, chosen))), "liveness live: reads knows"),
    "a cycle of functions": ("stratified", (axiom(forall(lambda a: ally(a) != a, Agent)),), "Agent → Agent (function"),
    "a cycle of quantifiers": (
        "stratified",
        (axiom(forall(lambda a: exists(lambda b: likes(a, b), Agent), Agent)),),
        "Agent → Agent (a Agent for each Agent, in axiom a law)",
    ),
    "read and never written": (
        "written-before-read",
        (act(_ask_peer),),
        "is written (by nothing)",
    ),
}


PASSES: dict[str, tuple[str, tuple[Part, ...]]] = {
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
    "ghosts in claims and goals": (
        "ghosts",
        (claim(_boss_seen), goal("x", lambda a, k: seen(a))),
    ),
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
    "a denied forall-exists of a claim": (
        "stratified",
        (claim(_somebody),),
    ),
}
