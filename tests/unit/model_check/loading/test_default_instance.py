"""Protocols without instances of their own get one in which their axioms hold and something can happen."""

from __future__ import annotations

import pytest

from carnet_check.errors import UsageError
from carnet_check.loading.default_instance import default_instance
from carnet_check.semantics import Interpreter
from carnet_spec.language import (
    Draft,
    Formula,
    Individual,
    Kind,
    Protocol,
    Role,
    Step,
    constant,
    exists,
    forall,
    implies,
    relation,
    rigid_function,
    rigid_relation,
)


class Agent(Individual):
    """A party."""


class Note(Individual):
    """Something with an author."""


ROLE = Role("role")
boss = constant("boss", Agent)
clerk = constant("clerk", Agent)
corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH)
enrolled = rigid_relation("enrolled", Agent)
before = rigid_relation("before", Note, Note)
author = rigid_function("author", Note, to=Agent)
seen = relation("seen", Note, kind=Kind.STATE, of=ROLE)


def protocol(*axioms: Formula) -> Protocol:
    draft = Draft("office", "An office")
    draft.threat("one", "somebody is corrupt", somebody=exists(lambda a: corrupt(a) & ~corrupt(boss), Agent))
    draft.axiom("bosses are honest", ~corrupt(boss))
    draft.axiom("no clerk enrols", ~enrolled(clerk))
    draft.axiom("irreflexive", forall(lambda n: ~before(n, n), Note))
    draft.axiom("asymmetric", forall(lambda n, m: implies(before(n, m), ~before(m, n)), Note, Note))
    draft.axiom("authors are enrolled", forall(lambda n: enrolled(author(n)), Note))
    for number, axiom in enumerate(axioms):
        draft.axiom(f"further {number}", axiom)

    @draft.action(by=ROLE, says="{n} is seen", source="tests")
    def see(step: Step, n: Note) -> None:
        step.require("not before itself", ~before(n, n))
        step.insert(seen(n))

    return draft.protocol()


def test_the_axioms_hold() -> None:
    made = protocol()
    judge = Interpreter(made, default_instance(made, "one", {}))
    assert judge.axioms_hold() == []
    assert judge.violated(made.threat("one").axioms) == []


def test_constants_are_apart_and_two_elements_stand_beside_them() -> None:
    instance = default_instance(protocol(), "one", {})
    assert instance.elements == {"Agent": ("boss", "clerk", "agent1", "agent2"), "Note": ("note1", "note2")}
    assert instance.functions["boss"] == {(): "boss"}
    assert instance.functions["clerk"] == {(): "clerk"}


def test_a_constant_that_is_called_like_an_element_counts_once() -> None:
    draft = Draft("numbered", "A constant with a number")
    draft.axiom("there", enrolled(constant("agent1", Agent)))
    elements = default_instance(draft.protocol(), "", {}).elements["Agent"]
    assert elements == ("agent1", "agent2", "agent3")


def test_relations_are_as_interesting_as_the_axioms_allow() -> None:
    instance = default_instance(protocol(), "one", {})
    assert instance.relations["corrupt"] == {("agent2",)}
    assert instance.relations["enrolled"] == {("boss",), ("agent1",), ("agent2",)}
    assert instance.relations["before"] == {("note1", "note2")}
    assert set(instance.functions["author"].values()) == {"agent1", "agent2"}


def test_sizes_are_given_by_sort() -> None:
    instance = default_instance(protocol(), "one", {"Note": 3, "each": 1})
    assert {sort: len(names) for sort, names in instance.elements.items()} == {"Agent": 3, "Note": 3}
    assert instance.words == "3 Agent · 3 Note"


def test_a_size_that_satisfies_no_axiom_is_refused() -> None:
    impossible = exists(lambda a, b: (a != b) & (a != boss) & (b != boss), Agent, Agent)
    with pytest.raises(UsageError, match="no instance of 'office' with 2 Agent, 2 Note satisfies the axioms"):
        default_instance(protocol(impossible), "one", {"Agent": 2})


def test_an_unknown_size_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UsageError, match=r"no size .Desk.*Agent, Note"):
        default_instance(protocol(), "one", {"Desk": 2})
