"""What the lints complain about without which a verdict would be wrong or empty: named rows, as in ``lint_rows``."""

from __future__ import annotations

from carnet_spec.language import Draft, Individual, Kind, Step, constant, flag, relation
from tests.unit.spec.language.lints.pieces import Part, act, claim, given, learn, pass_on, rule, secret
from tests.unit.spec.language.vocabulary import (
    ADVERSARY,
    PARTY,
    Agent,
    Key,
    Phase,
    boss,
    chosen,
    enrolled,
    knows,
    own,
    owner,
    phase,
    ready,
    theirs,
)

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


def _draws(step: Step, k: Key) -> None:
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


def _ready_once_known(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(ready, when=knows(a, k))


def _theirs_once_ready(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(theirs(a, k), when=ready)


def _known_if_unknown(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(knows(a, k), when=~knows(boss, k))


def _known_if_known(step: Step, a: Agent, k: Key) -> None:
    step.given("own", own(a, k))
    step.insert(knows(a, k), when=knows(boss, k))


COMPLAINTS: dict[str, tuple[str, tuple[Part, ...], str]] = {
    "a claim under nothing": ("judged", (claim(secret, under=()),), "nobody judges it"),
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
        (act(_draws), _given("k", chosen)),
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

PASSES: dict[str, tuple[str, tuple[Part, ...]]] = {
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
