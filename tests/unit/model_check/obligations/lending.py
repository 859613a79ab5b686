"""Steps of every kind, small enough that what has to hold before them can be worked out by hand."""

from carnet_check.exports.smtlib import text
from carnet_check.obligations import Layer, Obligation, layers, obligations
from carnet_spec.language import Draft, Formula, Kind, Protocol, Step, forall, function, implies, relation, used
from tests.unit.model_check.small import HOLDER, Key, Party, Phase, alice, corrupt, drafted, known, phase, seen

owner = function("owner", Key, to=Party, kind=Kind.GHOST)
held = relation("held", Party, Key, kind=Kind.STATE, of=HOLDER)


def lend(step: Step, to: Party, key: Key) -> None:
    """Hand out a key of its own."""
    step.require("early", phase == Phase.EARLY)
    step.fresh(key)
    step.set(owner(key), to)
    step.insert(held(to, key), when=~corrupt(to))
    step.set(phase, Phase.LATE)


def lend_to_alice(step: Step, to: Party, key: Key) -> None:
    """Hand out a key of its own, and look at nothing that a holder cannot know."""
    step.require("early", phase == Phase.EARLY)
    step.fresh(key)
    step.set(owner(key), to)
    step.insert(held(to, key), when=to == alice)
    step.set(phase, Phase.LATE)


def end(step: Step, by: Party) -> None:
    """Take everything back that one party holds."""
    step.remove(held(by, step.each(Key)))


def look(step: Step, by: Party) -> None:
    """Remember who came."""
    step.insert(seen(by))


def lending() -> Draft:
    """Return a draft with two threat models, under one of which more is claimed; a holder sees who is corrupt."""
    return _with_claims(drafted(lend, end, look))


def sound_lending() -> Draft:
    """Return the same without what makes verdicts mean nothing."""
    return _with_claims(drafted(lend_to_alice, end, look))


def _with_claims(draft: Draft) -> Draft:
    draft.axiom("alice honest", ~corrupt(alice))
    draft.threat("one", "only alice is honest", others=forall(lambda x: implies(x != alice, corrupt(x)), Party))
    draft.threat("any", "anyone may be corrupt")
    draft.initially(phase, Phase.EARLY)

    @draft.claim(name="owned", sentence="It holds.", requirement="R-1", source="tests", under=("one", "any"))
    def owned(by: Party, key: Key) -> Formula:
        return implies(held(by, key), owner(key) == by)

    @draft.claim(name="a/lone", sentence="It holds.", requirement="R-1", source="tests", under=("one",))
    def alone(by: Party, key: Key) -> Formula:
        return implies(held(by, key), by == alice)

    @draft.lemma
    def known_are_seen(by: Party) -> Formula:
        return implies(known(by), seen(by))

    @draft.lemma
    def held_are_used(by: Party, key: Key) -> Formula:
        return implies(held(by, key), used(key))

    return draft


def only_layer(protocol: Protocol) -> Layer:
    (layer,) = layers(protocol)
    return layer


def obligation(protocol: Protocol, id: str) -> Obligation:
    return {each.id: each for layer in layers(protocol) for each in obligations(layer)}[id]


def said(formula: str) -> str:
    """Take out what a name says beside itself, so that formulas fit into a line."""
    for word in ("now.", ".1", "rigid.", "sort.", ".Party", ".Key", "enum.Phase.", "v.", "par."):
        formula = formula.replace(word, "")
    return formula


def goal(protocol: Protocol, id: str) -> str:
    negated = text(obligation(protocol, id).goal.formula)
    assert negated.startswith("(not ")
    return said(negated.removeprefix("(not ")[:-1])
