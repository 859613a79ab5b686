"""Terms, formulas and steps of the kernel, by words that tests read well with."""

from __future__ import annotations

from carnet_check.kernel.checker import Name, Node, Step

TRUE: Node = ("true", "", ())
FALSE: Node = ("false", "", ())


def bound(index: int) -> Node:
    return "bound", index, ()


def eigen(number: int) -> Node:
    return "eigen", number, ()


def member(name: str) -> Node:
    return "member", name, ()


def apply(function: str, *terms: Node) -> Node:
    return "apply", function, terms


def holds(relation: str, *terms: Node) -> Node:
    return "holds", relation, terms


def equal(left: Node, right: Node) -> Node:
    return "equal", "", (left, right)


def denied(body: Node) -> Node:
    return "not", "", (body,)


def both(left: Node, right: Node) -> Node:
    return "and", "", (left, right)


def either(left: Node, right: Node) -> Node:
    return "or", "", (left, right)


def implies(premise: Node, conclusion: Node) -> Node:
    return "implies", "", (premise, conclusion)


def choose(test: Node, yes: Node, no: Node) -> Node:
    return "choose", "", (test, yes, no)


def forall(sort: Name, body: Node) -> Node:
    return "forall", sort, (body,)


def exists(sort: Name, body: Node) -> Node:
    return "exists", sort, (body,)


def use(hypothesis: int) -> Step:
    return "use", (hypothesis,), (), ()


def instance(fact: int, *terms: Node) -> Step:
    return "instance", (fact,), terms, ()


def witness(fact: int) -> Step:
    return "witness", (fact,), (), ()


def split(fact: int) -> Step:
    return "split", (fact,), (), ()


def cases(term: Node) -> Step:
    return "cases", (), (term,), ()


def close(facts: tuple[int, ...], rewritings: tuple[tuple[int, bool], ...] = ()) -> Step:
    return "close", facts, (), rewritings
