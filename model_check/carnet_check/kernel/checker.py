"""The checker: obligations, refutations, and the check of a refutation, rule by rule as in Checker.v."""

# It searches nothing: it takes the steps of a refutation, and refuses one that no rule allows. Terms, formulas and
# steps are tuples:
#
#   ("bound", index, ())         ("true", "", ())             ("use", (hypothesis,), (), ())
#   ("eigen", number, ())        ("false", "", ())            ("instance", (fact,), terms, ())
#   ("member", name, ())         ("holds", relation, terms)   ("witness", (fact,), (), ())
#   ("apply", function, terms)   ("equal", "", (t, u))        ("split", (fact,), (), ())
#                                ("not", "", (f,))            ("cases", (), (term,), ())
#                                ("and", "", (f, g))          ("close", facts, (), equations)
#                                ("or", "", (f, g))
#                                ("implies", "", (f, g))      The newest fact has number 0. An equation is given by its
#                                ("choose", "", (c, f, g))    place among the chosen facts, and whether it is read from
#                                ("forall", sort, (f,))       right to left.
#                                ("exists", sort, (f,))
#
# The variable of the innermost binder has index 0; beyond all binders are the constants of the obligation.
# Eigenvariables are named elements: one for each constant, then one for each witness, in order.

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

_Any = TypeVar("_Any")
Name = str | int
Node = tuple[str, Name, tuple["Node", ...]]  #: A term or a formula: its kind, a name or a number, and its parts.
Env = tuple[Node, ...]  #: Closed terms for bound variables, the innermost first.
#: A formula with its environment, and whether it holds. Atoms are closed, and their environment is empty.
Fact = tuple[bool, Env, Node]
#: The sort of each eigenvariable, and the facts of the branch, the newest first.
State = tuple[tuple[Name, ...], tuple[Fact, ...]]
#: A rule and its arguments: a hypothesis or facts, terms, and equations (each a place, and whether backwards).
Step = tuple[str, tuple[int, ...], tuple[Node, ...], tuple[tuple[int, bool], ...]]
LARGEST = 20_000  #: The most symbols in an atom after rewriting: each rewriting can double a term.


class Refused(Exception):
    """A certificate is not accepted, or a text is malformed; the message says why."""


class Obligation(NamedTuple):
    """To refute: that elements of the sorts ``constants`` satisfy all hypotheses, of which one is the negated goal."""

    functions: Mapping[Name, tuple[tuple[Name, ...], Name]]
    enumerations: Mapping[Name, tuple[Name, ...]]
    members: Mapping[Name, Name]
    constants: tuple[Name, ...]
    hypotheses: tuple[Node, ...]


def check(obligation: Obligation, steps: Iterable[Step]) -> None:
    """Check a refutation, given in prefix order; raise :class:`Refused` unless it closes every branch."""
    waiting: list[State] = [(obligation.constants, ())]
    for step in steps:
        if not waiting:
            raise Refused("steps follow after every branch is closed")
        waiting += reversed(_branches(obligation, *waiting.pop(), step))
    if waiting:
        raise Refused(f"branches are left open: {len(waiting)}")


def _branches(obligation: Obligation, eigens: tuple[Name, ...], facts: tuple[Fact, ...], step: Step) -> list[State]:
    match step:
        case "use", (hypothesis,), (), ():
            scope: Env = tuple([("eigen", number, ()) for number in range(len(obligation.constants))])
            ways = [_facts(True, scope, _at(obligation.hypotheses, hypothesis))]
        case "instance", (place,), terms, ():
            x = _at(facts, place)
            for term in terms:
                sort, x = _opened(x, True, term)
                if sort != _sort(obligation, eigens, term):
                    raise Refused(f"expected a term of sort '{sort}', not {term}")
            ways = [_facts(*x) if terms else (x,)]
        case "witness", (place,), (), ():
            sort, x = _opened(_at(facts, place), False, ("eigen", len(eigens), ()))
            eigens, ways = (*eigens, sort), [_facts(*x)]
        case "split", (place,), (), ():
            ways = _ways(*_at(facts, place))
        case "cases", (), (term,), ():
            members = obligation.enumerations.get(_sort(obligation, eigens, term))
            if members is None:
                raise Refused(f"the sort of {term} is no enumeration")
            ways = [((True, (), ("equal", "", (term, ("member", name, ())))),) for name in members]
        case "close", places, (), rewritings:
            _close([_at(facts, place) for place in places], rewritings)
            ways = []
        case _:
            raise Refused(f"{step} is no step of a refutation")
    return [(eigens, new + facts) for new in ways]


def _at(listed: Sequence[_Any], place: int) -> _Any:
    if not 0 <= place < len(listed):
        raise Refused(f"expected a number below {len(listed)}, not {place}")
    return listed[place]


def _facts(sign: bool, env: Env, f: Node) -> tuple[Fact, ...]:
    match sign, f:
        case _, ("holds" | "equal", _, _):
            return ((sign, (), _ground(env, f)),)
        case _, ("not", _, (g,)):
            return _facts(not sign, env, g)
        case (True, ("and", _, (g, h))) | (False, ("or", _, (g, h))):
            return _facts(sign, env, h) + _facts(sign, env, g)
        case False, ("implies", _, (g, h)):
            return _facts(False, env, h) + _facts(True, env, g)
    return ((sign, env, f),)


def _ground(env: Env, node: Node) -> Node:
    kind, name, parts = node
    if kind == "bound" and isinstance(name, int):
        return _at(env, name)
    if kind == "eigen":
        raise Refused("an obligation that speaks of an eigenvariable")
    return kind, name, tuple([_ground(env, each) for each in parts])


def _sort(obligation: Obligation, eigens: Sequence[Name], term: Node) -> Name:
    match term:
        case "eigen", int(number), () if 0 <= number < len(eigens):
            return eigens[number]
        case "member", name, () if name in obligation.members:
            return obligation.members[name]
        case "apply", name, terms if name in obligation.functions:
            sorts, result = obligation.functions[name]
            if tuple([_sort(obligation, eigens, each) for each in terms]) == sorts:
                return result
    raise Refused(f"{term} is not built from what exists")


def _opened(x: Fact, general: bool, term: Node) -> tuple[Name, Fact]:
    sign, env, (kind, sort, parts) = x
    if kind != ("forall" if sign == general else "exists"):
        raise Refused(f"expected a fact of {'every' if general else 'some'} element")
    return sort, (sign, (term, *env), parts[0])


def _ways(sign: bool, env: Env, f: Node) -> list[tuple[Fact, ...]]:
    match sign, f:
        case (True, ("or", _, (g, h))) | (False, ("and", _, (g, h))):
            return [_facts(sign, env, g), _facts(sign, env, h) + _facts(not sign, env, g)]
        case True, ("implies", _, (g, h)):
            return [_facts(False, env, g), _facts(True, env, h) + _facts(True, env, g)]
        case _, ("choose", _, (c, g, h)):
            return [_facts(sign, env, g) + _facts(True, env, c), _facts(sign, env, h) + _facts(False, env, c)]
    raise Refused("a fact that can be in one way only")


def _close(facts: list[Fact], rewritings: Iterable[tuple[int, bool]]) -> None:
    for place, backwards in rewritings:
        sign, _, (kind, _, sides) = _at(facts, place)
        if not sign or kind != "equal":
            raise Refused("a rewriting by what is no equation")
        old, new = reversed(sides) if backwards else sides
        for at, (sign, env, f) in enumerate(facts):
            if at != place and f[0] in {"holds", "equal"}:
                facts[at] = sign, env, _replaced(old, new, f)
                if len(str(facts[at])) > LARGEST:
                    raise Refused(f"rewriting makes an atom of more than {LARGEST} characters")
    if not any(_absurd(sign, f) or (not sign, env, f) in facts for sign, env, f in facts):
        raise Refused("facts that do not contradict each other")


def _replaced(old: Node, new: Node, node: Node) -> Node:
    return new if node == old else (node[0], node[1], tuple([_replaced(old, new, each) for each in node[2]]))


def _absurd(sign: bool, f: Node) -> bool:
    match f:
        case "equal", _, (t, u):
            return t != u and t[0] == u[0] == "member" if sign else t == u
    return f[0] == ("false" if sign else "true")
