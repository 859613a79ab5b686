"""Pieces of protocols that break one rule each, or none: what the rows of lints are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from carnet_spec.language import (
    Draft,
    Formula,
    Kind,
    Step,
    implies,
    relation,
    rigid_function,
    rigid_relation,
)
from tests.unit.spec.language.vocabulary import (
    ADVERSARY,
    PARTY,
    Agent,
    Key,
    enrolled,
    knows,
    own,
    sent,
    theirs,
)

Body = Callable[..., None]


Part = Callable[[Draft], object]


def act(body: Body, **options: Any) -> Part:
    """An action, in order but for what ``options`` say."""
    in_order: dict[str, Any] = {
        "by": PARTY,
        "says": "it happens",
        "source": "slide 1",
        "message": "party -> all: it",
    } | options
    return lambda draft: draft.action(**in_order)(body)


def rule(body: Body, **options: Any) -> Part:
    """A rule, in order but for what ``options`` say."""
    in_order: dict[str, Any] = {"by": ADVERSARY, "says": "it is learned", "source": "slide 2"} | options
    return lambda draft: draft.rule(**in_order)(body)


def claim(body: Callable[..., Formula], **options: Any) -> Part:
    """A claim, in order but for what ``options`` say."""
    in_order: dict[str, Any] = {
        "name": "peace",
        "sentence": "Nothing happens.",
        "requirement": "REQ-1",
        "source": "slide 3",
        "under": ("any",),
    } | options
    return lambda draft: draft.claim(**in_order)(body)


def pass_on(step: Step, a: Agent, k: Key) -> None:
    """An action that breaks no rule."""
    step.require("known", own(a, k) & enrolled(a))
    step.insert(sent(a, k))


def learn(step: Step, a: Agent, k: Key) -> None:
    """A rule that breaks no rule."""
    step.given("sent", sent(a, k))
    step.insert(knows(a, k))


def secret(a: Agent, k: Key) -> Formula:
    """A claim that breaks no rule."""
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
