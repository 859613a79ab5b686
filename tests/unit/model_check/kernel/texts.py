"""Texts of obligations and certificates, and terms built of them."""

from collections.abc import Sequence

from carnet_check.kernel.checker import Name, Node, Step

NAMES = ("rigid.eve", "rigid.mother", "enum.Phase.DAY", "enum.Phase.NIGHT")
SYMBOLS = (
    "(declare-sort sort.Person 0)",
    "(declare-datatypes ((sort.Phase 0)) (((enum.Phase.DAY) (enum.Phase.NIGHT))))",
    "(declare-const par.x.Person sort.Person)",
    "(declare-fun rigid.eve () sort.Person)",
    "(declare-fun rigid.mother (sort.Person) sort.Person)",
    "(declare-fun now.phase () sort.Phase)",
    "(declare-fun now.old (sort.Person) Bool)",
    "(declare-fun |now.it rains| () Bool)",
)
ALL_OLD = "(forall ((v.p.Person sort.Person)) (now.old v.p.Person))"
SOME_YOUNG = "(not (now.old (rigid.mother par.x.Person)))"


def obligation(*formulas: str, declared: Sequence[str] = SYMBOLS) -> str:
    """Return the text of an obligation with these hypotheses, the last of which is the goal."""
    names = [*(f"h {place}" for place in range(len(formulas) - 1)), "goal"]
    head = ("(set-option :produce-unsat-cores true)", "(set-logic ALL)", *declared)
    asserted = (f"(assert (! {formula} :named |{name}|))" for formula, name in zip(formulas, names, strict=True))
    return "\n".join((*head, *asserted, "(check-sat)", "(get-unsat-core)", ""))


PROVED = obligation(ALL_OLD, SOME_YOUNG)
CERTIFICATE = "u 0 i 0 1 f1 e0 u 1 x 2 0 1 0"


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
