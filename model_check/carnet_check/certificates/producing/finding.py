"""Finding a refutation of an obligation. What is found is for the kernel to judge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from carnet_check.certificates.producing import bank as b
from carnet_check.certificates.producing.bank import Bank, Fact
from carnet_check.certificates.producing.instances import Grounding, needed
from carnet_check.certificates.producing.tableau import (
    Branched,
    Closed,
    Instantiated,
    NotFound,
    Search,
    Told,
    Tree,
    Used,
    Witnessed,
)
from carnet_check.kernel import checker
from carnet_check.kernel.checker import Obligation, Step


def found(obligation: Obligation, deadline: float = math.inf) -> list[Step]:
    """Return a refutation; give up when the process has had so much CPU time.

    Raises:
        NotFound: the search ended without one.
    """
    bank = Bank(obligation)
    grounding = Grounding(bank)
    wanted = needed(grounding, deadline)
    if wanted is None:
        raise NotFound("no instances contradict each other")
    return list(steps_of(bank, Search(bank, wanted, grounding.named).refutation()))


# --------------------------------------------------------------------------------------------------
# From a refutation by name to the steps that the kernel follows: facts by their places, eigenvariables in order.


class _At(NamedTuple):
    """Where in a refutation a tree stands: the eigenvariables named so far, and the facts, the newest first."""

    named: tuple[int, ...]
    facts: tuple[Fact, ...]

    def with_facts(self, *new: Fact) -> _At:
        """Return the place after further facts."""
        return self._replace(facts=new + self.facts)


def steps_of(bank: Bank, tree: Tree) -> Iterator[Step]:
    """Yield the steps of a refutation in prefix order."""
    waiting: list[tuple[Tree, _At]] = [(tree, _At(bank.scope, ()))]
    while waiting:
        node, at = waiting.pop()
        step, rest = _step(bank, node, at)
        yield step
        waiting += reversed(rest)


def _step(bank: Bank, node: Tree, at: _At) -> tuple[Step, list[tuple[Tree, _At]]]:
    """Return a step, and what follows it with the places where that stands."""
    match node:
        case Used(hypothesis, rest):
            step: Step = ("use", (hypothesis,), (), ())
            return step, [(rest, at.with_facts(*bank.noted(True, bank.scope, bank.hypotheses[hypothesis])))]
        case Instantiated(fact, terms, rest):
            env, body = (*reversed(terms), *fact.env), bank.body(fact.formula, len(terms))
            step = ("instance", (at.facts.index(fact),), tuple(_term(bank, at, term) for term in terms), ())
            return step, [(rest, at.with_facts(*bank.noted(fact.sign, env, body)))]
        case Witnessed(fact, named, rest):
            new = bank.noted(fact.sign, (named, *fact.env), bank.body(fact.formula))
            after = _At((*at.named, named), new + at.facts)
            return ("witness", (at.facts.index(fact),), (), ()), [(rest, after)]
        case Branched(fact, first, second):
            one, other = bank.ways(fact)
            branches: list[tuple[Tree, _At]] = [(first, at.with_facts(*one)), (second, at.with_facts(*other))]
            return ("split", (at.facts.index(fact),), (), ()), branches
        case Told(term, each):
            members = bank.enumerations[bank.sort(term)]
            facts = [Fact(True, (), bank.number(b.EQUAL, "", (term, member))) for member in members]
            told = [(tree, at.with_facts(fact)) for tree, fact in zip(each, facts, strict=True)]
            return ("cases", (), (_term(bank, at, term),), ()), told
        case Closed(facts, rewritings):
            return ("close", tuple(map(at.facts.index, facts)), (), rewritings), []


def _term(bank: Bank, at: _At, term: int) -> checker.Node:
    kind, name, parts = bank.nodes[term]
    if kind == b.EIGEN:
        return kind, at.named.index(term), ()
    return kind, name, tuple(_term(bank, at, part) for part in parts)
