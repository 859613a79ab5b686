"""Lints about names and words: names are unique and pronounceable, and everything has its sentence and source."""

import re
import string
from collections.abc import Iterator

from carnet_spec.language.actions import Action, Effect
from carnet_spec.language.lints.common import Findings, at, duplicates, one_of
from carnet_spec.language.naming import did_you_mean
from carnet_spec.language.protocol import Protocol, terms_of_action
from carnet_spec.language.statements import Given
from carnet_spec.language.terms import Kind, sort_of, variables_in

_WORD = re.compile(r"[^\W\d][\w-]*")


def labels(protocol: Protocol) -> Findings:
    """Every guard and update has a name, unique in its action: mutants, cores and diagrams use it."""
    for action in protocol.actions:
        guards, updates = [g.name for g in action.guards], [u.name for u in action.updates]
        for what, labels_of in (("guards", guards), ("updates", updates)):
            for name in duplicates(labels_of):
                yield at(action), f"two {what} are called '{name}': give one a name of its own"
        if not all((*guards, *updates)):
            yield at(action), "a guard or update has no name: give it one a reviewer understands"


def names(protocol: Protocol) -> Findings:
    """No two parts of one kind have the same name."""
    threat_axioms = (axiom for threat in protocol.threats for axiom in threat.axioms)
    spaces = {
        "actions": [action.name for action in protocol.actions],
        "claims, lemmas or liveness properties": [
            *(claim.name for claim in protocol.claims),
            *(lemma.name for lemma in protocol.lemmas),
            *(claim.name for claim in protocol.lemma_claims),
            *(live.name for live in protocol.liveness),
        ],
        "goals": [goal.name for goal in protocol.goals],
        "axioms": [axiom.name for axiom in (*protocol.axioms, *threat_axioms)],
        "threat models": [threat.id for threat in protocol.threats],
        "defences": [defence.id for defence in protocol.defences],
        "assumptions": [assumption.id for assumption in protocol.assumptions],
        "symbols": [symbol.name for symbol in protocol.symbols],
        "sorts": [sort.name for sort in protocol.sorts],
        **{f"members of {sort.name}": list(sort.members or ()) for sort in protocol.sorts},
        **{f"parameters of {action.name}": [var.name for var in action.params] for action in protocol.actions},
        **{f"parameters of {each.name}": [var.name for var in each.params] for each in protocol.invariants},
        **{f"parameters of {goal.name}": [var.name for var in goal.params] for goal in protocol.goals},
        **{f"parameters of {live.name}": [var.name for var in live.params] for live in protocol.liveness},
    }
    for what, names in spaces.items():
        for name in duplicates(names):
            yield protocol.id, f"two {what} are called '{name}': rename one"


def spelling(protocol: Protocol) -> Findings:
    """Names in traces and formulas are words, so that they cannot clash with names that engines generate."""
    terms = [term for action in protocol.actions for term in terms_of_action(action)]
    terms += [invariant.body for invariant in protocol.invariants] + [goal.body for goal in protocol.goals]
    terms += [axiom.formula for axiom in (*protocol.axioms, *(a for t in protocol.threats for a in t.axioms))]
    terms += [initial.value for initial in protocol.initial]
    terms += [term for live in protocol.liveness for term in live.terms]
    bound = {var.name for term in terms for var in variables_in(term)}
    called = {
        "action": {action.name for action in protocol.actions},
        "symbol": {symbol.name for symbol in protocol.symbols},
        "sort": {sort.name for sort in protocol.sorts},
        "member": {member for sort in protocol.sorts for member in sort.members or ()},
        "variable": {name.rpartition(".")[0] if re.search(r"\.\d+$", name) else name for name in bound},
    }
    stated = {
        "threat model": [threat.id for threat in protocol.threats],
        "claim": [claim.name for claim in protocol.claims] + [claim.name for claim in protocol.lemma_claims],
        "lemma": [lemma.name for lemma in protocol.lemmas],
        "liveness": [live.name for live in protocol.liveness],
    }
    for what, each in stated.items():
        for name in each:
            if not name.isprintable() or name != name.strip():
                yield f"{what} {name!r}", "has a name that cannot be read aloud: use letters, digits, - and _"
    for goal in protocol.goals:
        if goal.name.startswith("$"):
            yield f"goal {goal.name}", "has a name that begins like what engines name: let it begin with a letter"
    for what, found in called.items():
        for name in sorted(found):
            if not _WORD.fullmatch(name):
                yield f"{what} {name!r}", "has a name that is no word: use letters, digits, - and _, a letter first"


def sentence(protocol: Protocol) -> Findings:
    """Every action has a sentence."""
    for action in protocol.actions:
        if not action.says.strip():
            yield at(action), "has no sentence: say in 'says' what happens, with {parameter} places"
    for goal in protocol.goals:
        if not goal.sentence.strip():
            yield f"goal {goal.name}", "has no sentence: say what is reached"


def places(protocol: Protocol) -> Findings:
    """The sentence and message of an action have places for its own parameters only."""
    for action in protocol.actions:
        yield from _places(action, "says", action.says)
        yield from _places(action, "message", action.message)


def _places(action: Action, what: str, text: str) -> Findings:
    known = {param.name for param in action.params}
    try:
        places = {place for _, place, _, _ in string.Formatter().parse(text) if place is not None}
    except ValueError as error:
        yield at(action), f"'{what}' cannot be filled in ({error}): write places as {{parameter}}"
        return
    for place in sorted(places - known):
        names = ", ".join(sorted(known)) or "none"
        asked = did_you_mean(place, known)
        yield at(action), f"'{what}' has a place {{{place}}}, but the parameters are: {names}{asked and '; ' + asked}"


def source(protocol: Protocol) -> Findings:
    """Every action and claim names its source."""
    for action in protocol.actions:
        if not action.source.strip():
            yield at(action), "has no source: name the slide, section, clause or file it follows"
    claimed = [(f"claim {claim.name}", claim.source) for claim in protocol.claims]
    claimed += [(f"lemma claim {claim.name}", claim.source) for claim in protocol.lemma_claims]
    for where, text in claimed:
        if not text.strip():
            yield where, "has no source: name what it is claimed after"


def message(protocol: Protocol) -> Findings:
    """Every action that sends a message has an arrow for diagrams."""
    for action in protocol.actions:
        sends = any(update.symbol.kind is Kind.MESSAGE and update.effect is Effect.INSERT for update in action.updates)
        if action.message:
            if not re.fullmatch(r"[^:>]+ -> [^:>]+: .+", action.message):
                yield at(action), "'message' must read 'sender -> receiver: text'"
        elif sends and action.by.honest and not action.deduction:
            yield at(action), "sends a message: say so in message='sender -> receiver: text'"


def judged(protocol: Protocol) -> Findings:
    """Every claim is made under some threat model, if any are declared, and expected to fail under others only."""
    for claim in protocol.claims:
        where = f"claim {claim.name}"
        if protocol.threats and not claim.under and not claim.fails_under:
            yield where, "is claimed under no threat model, so no engine checks it: name some in 'under'"
        for id in sorted({*claim.under} & {*claim.fails_under}):
            yield where, f"is both claimed and expected to fail under {id}: choose one"


def fairness(protocol: Protocol) -> Findings:
    """Fairness is required only of actions of honest parties, with values that fit their parameters."""
    known = {action.name: action for action in protocol.actions}
    for live in protocol.liveness:
        where = f"liveness {live.name}"
        for name in duplicates(live.fair):
            yield where, f"asks for fairness of '{name}' twice: name it once"
        for name in live.fair:
            if name not in known:
                yield where, f"asks for fairness of '{name}', which is no action: {one_of(known, name)}"
            elif not known[name].by.honest:
                yield (
                    where,
                    f"asks for fairness of '{name}', taken by {known[name].by.name}, who need not follow the protocol: "
                    "name steps of honest parties",
                )
        for given in live.given:
            if given.action in known:
                yield from ((where, why) for why in _misgiven(known[given.action], given))


def _misgiven(action: Action, given: Given) -> Iterator[str]:
    """Say what is wrong with what a parameter is said to be where an action is taken fairly."""
    sorts = {var.name: var.sort for var in action.params if var not in action.fresh}
    if given.parameter not in sorts:
        yield (
            f"says what '{given.parameter}' of {action.name} is, which is no parameter of it that somebody chooses: "
            f"{one_of(sorts, given.parameter)}"
        )
    elif sort_of(given.value) != sorts[given.parameter]:
        yield (
            f"says that '{given.parameter}' of {action.name}, of sort {sorts[given.parameter].name}, is of sort "
            f"{sort_of(given.value).name}: name one of its own"
        )


def claims(protocol: Protocol) -> Findings:
    """Every claim has a sentence, a requirement and threat models."""
    for claim in protocol.claims:
        where = f"claim {claim.name}"
        if not claim.sentence.strip():
            yield where, "has no sentence: say in words what is claimed"
        if not claim.requirement.strip():
            yield where, "has no requirement: name the id of the sentence that it states"
        if protocol.threats and not claim.under and not claim.fails_under:
            yield where, "is claimed under no threat model: name some in 'under'"
    for lemma_claim in protocol.lemma_claims:
        where = f"lemma claim {lemma_claim.name}"
        if not all(
            text.strip() for text in (lemma_claim.sentence, *(each.sentence for each in lemma_claim.hypotheses))
        ):
            yield where, "or a hypothesis of it has no sentence: say in words what is claimed"
        if not lemma_claim.requirement.strip():
            yield where, "has no requirement: name the id of the sentence that it states"
        if not lemma_claim.under:
            yield where, "is claimed under no threat model: name some in 'under'"
    if not protocol.threats:
        yield from _undeclared(protocol)


def threats(protocol: Protocol) -> Findings:
    """Every threat model that is named is declared, if any are."""
    if protocol.threats:
        yield from _undeclared(protocol)


def _undeclared(protocol: Protocol) -> Findings:
    known = [threat.id for threat in protocol.threats]
    for what, name, id in protocol.undeclared_threats:
        yield f"{what} {name}", f"names a threat model '{id}' that is not declared: {one_of(known, id)}"
