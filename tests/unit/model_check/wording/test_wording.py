"""Words about a protocol: fit names of files, and who knows beside what is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.semantics import Interpreter
from carnet_check.wording import (
    MOST,
    as_file_name,
    attack_name,
    changes,
    file_name,
    is_file_name,
    knowers,
    knowledge_of,
)
from carnet_spec.language import Draft, Individual, Instance, Kind, Protocol, Role, Step, member, relation, true
from tests.fixtures.odd_texts import ODD


@pytest.mark.mends("M6")
def test_different_parts_never_share_a_name() -> None:
    parts = [(one, other) for one in ODD for other in (*ODD, "a.b", "b")] + [("a", "b"), ("a.b",), ("a", "b", "c")]
    names = [file_name(*each).casefold() for each in parts]
    assert len(set(names)) == len(set(parts))
    assert all(map(is_file_name, map(str, names)))


@pytest.mark.mends("M6")
@given(st.lists(st.text(max_size=40), min_size=1, max_size=4), st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_names_are_injective_and_stay_as_they_are(one: list[str], other: list[str]) -> None:
    assert (file_name(*one) == file_name(*other)) == (one == other)
    assert as_file_name(file_name(*one)) == file_name(*one)
    assert len(file_name(*one)) <= MOST


@pytest.mark.mends("M6")
def test_usual_names_are_the_names_of_files() -> None:
    assert attack_name("main", "collusion", "secrecy") == "main.collusion.secrecy"
    assert attack_name("main", "collusion", "secrecy", ["fence"]) == "main.without-fence.collusion.secrecy"
    assert attack_name("m", "t", "c", ["a", "b"]) != attack_name("m", "t", "c", ["a-b"])


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
    assert knowledge_of(protocol, after) == {"ann": [WHAT[order]]}
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
    assert knowledge_of(protocol, after) == {"zed": ["ann"]}
