"""What the lints about names and words complain about, and the like that they let pass: named rows for their tests."""

from __future__ import annotations

from carnet_spec.language import (
    Formula,
    Step,
    implies,
    true,
    used,
)
from tests.unit.spec.language.lints.pieces import (
    DECLARED,
    Part,
    act,
    assume,
    axiom,
    claim,
    goal,
    pass_on,
    reads_known,
    rule,
    secret,
    tagged,
)
from tests.unit.spec.language.vocabulary import (
    ADVERSARY,
    Agent,
    Key,
    own,
    ready,
)


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


COMPLAINTS: dict[str, tuple[str, tuple[Part, ...], str]] = {
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
    "a claim under an unknown threat": ("threats", (claim(secret, under=("war",)),), "'war' that is not declared"),
    "a lemma under an unknown threat": ("threats", (_lemma_under("war"),), "write one of any"),
}


PASSES: dict[str, tuple[str, tuple[Part, ...]]] = {
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
