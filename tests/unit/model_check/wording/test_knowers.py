"""Who knows is told apart from what is known, whichever of the two a relation names first."""

from __future__ import annotations

import pytest

from carnet_check.semantics import Interpreter
from carnet_check.wording import changes, knowers, known
from carnet_spec.language import Draft, Individual, Instance, Kind, Protocol, Role, Step, member, relation, true


class Person(Individual):
    """Somebody."""


class Secret(Individual, fresh=True):
    """Something to know."""


class Way(Individual):
    """How it came."""

    MAIL = member()
    VOICE = member()


class Courier(Individual):
    """Somebody who carries letters."""


SPY = Role("spy", honest=False)
ORDERS = {
    "who first": relation("hears", Person, Secret, kind=Kind.KNOWLEDGE),
    "what first": relation("is_heard", Secret, Person, kind=Kind.KNOWLEDGE),
    "in the middle": relation("hears_by", Way, Person, Secret, kind=Kind.KNOWLEDGE),
}
WHAT = {"who first": "s1", "what first": "s1", "in the middle": "MAIL, s1"}
ELEMENTS = {"Person": ("ann", "bob"), "Secret": ("s1",)}


def _protocol(order: str, *, acts: bool) -> Protocol:
    draft, hears = Draft("spies", "Spies"), ORDERS[order]

    def listen(step: Step, who: Person, what: Secret) -> None:
        if acts:
            step.actor(who, true)
        terms = {"who first": (who, what), "what first": (what, who), "in the middle": (Way.MAIL, who, what)}
        step.insert(hears(*terms[order]))

    draft.action(by=SPY, says="{who} hears {what}", source="x")(listen)
    return draft.protocol()


@pytest.mark.mends("P4")
@pytest.mark.parametrize("acts", [True, False], ids=["who acts is said", "who acts is not said"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_one_who_knows_is_named(order: str, acts: bool) -> None:
    protocol = _protocol(order, acts=acts)
    instance = Instance(ELEMENTS)
    judge = Interpreter(protocol, instance)
    before = judge.initial()
    after = judge.step(before, protocol.action("listen"), {"who": "ann", "what": "s1"})
    assert known(protocol, after) == {"ann": [WHAT[order]]}
    assert [change.where for change in changes(protocol, before, after)] == ["ann"]
    assert knowers(protocol, instance, ["ann", "s1"]) == ["ann"]


def test_what_a_role_does_says_who_knows() -> None:
    """A courier acts and a person does not: then the courier is the one who knows."""
    draft = Draft("couriers", "Couriers")
    carries = relation("carries", Person, Courier, kind=Kind.KNOWLEDGE)

    @draft.action(by=SPY, says="{who} meets {whom}", source="x")
    def meet(step: Step, who: Courier, whom: Person) -> None:
        step.actor(who, true)
        step.insert(carries(whom, who))

    protocol = draft.protocol()
    judge = Interpreter(protocol, Instance({"Person": ("ann",), "Courier": ("zed",)}))
    after = judge.step(judge.initial(), protocol.action("meet"), {"who": "zed", "whom": "ann"})
    assert known(protocol, after) == {"zed": ["ann"]}
