"""Terms and formulas by number, so that what a search compares all the time is compared at once.

Equal terms have equal numbers, and so have equal formulas.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from carnet_check.kernel import checker

BOUND: Final = "bound"
EIGEN: Final = "eigen"
MEMBER: Final = "member"
APPLY: Final = "apply"
CONST: Final = "const"
HOLDS: Final = "holds"
EQUAL: Final = "equal"
NOT: Final = "not"
AND: Final = "and"
OR: Final = "or"
IMPLIES: Final = "implies"
CHOOSE: Final = "choose"
FORALL: Final = "forall"
EXISTS: Final = "exists"
ATOMS: Final = (HOLDS, EQUAL)
QUANTIFIERS: Final = (FORALL, EXISTS)

Env = tuple[int, ...]
"""Ground terms for bound variables, the innermost first."""
Closure = tuple[Env, int]
"""A formula with terms for its bound variables."""


class Node(NamedTuple):
    """A term or a formula: its kind, a name if it has one, and the numbers of its parts.

    The part of a bound variable is its index, of an eigenvariable its number, of a constant formula 0 or 1.
    """

    kind: str
    name: str
    parts: tuple[int, ...]


class Fact(NamedTuple):
    """Whether a formula holds. Atoms are ground and have no ``env``."""

    sign: bool
    env: Env
    formula: int


class Bank:
    """The terms and formulas of one obligation, and those that a search adds."""

    def __init__(self, obligation: checker.Obligation) -> None:
        functions, members = obligation.functions.items(), obligation.members.items()
        self.functions = {str(name): (tuple(map(str, sorts)), str(result)) for name, (sorts, result) in functions}
        self.members = {str(name): str(sort) for name, sort in members}
        self.nodes: list[Node] = []
        self.eigens: list[str] = []
        """The sort of each eigenvariable."""
        self._numbers: dict[Node, int] = {}
        self._eigens_in: dict[int, frozenset[int]] = {}
        self._order: dict[int, tuple[object, ...]] = {}
        self.scope: Env = tuple(self.eigen(str(sort)) for sort in obligation.constants)
        listed = obligation.enumerations.items()
        self.enumerations = {
            str(sort): tuple(self.number(MEMBER, str(name)) for name in names) for sort, names in listed
        }
        self.hypotheses = tuple(map(self.node, obligation.hypotheses))

    # -- numbers ------------------------------------------------------------------------------------

    def number(self, kind: str, name: str = "", parts: tuple[int, ...] = ()) -> int:
        """Return the number of a node."""
        node = Node(kind, name, parts)
        found = self._numbers.get(node)
        if found is None:
            found = self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return found

    def eigen(self, sort: str) -> int:
        """Return a new eigenvariable."""
        self.eigens.append(sort)
        return self.number(EIGEN, "", (len(self.eigens) - 1,))

    def node(self, node: checker.Node) -> int:
        """Return the number of a term or a formula."""
        kind, name, parts = node
        if kind in {"true", "false"}:
            return self.number(CONST, "", (int(kind == "true"),))
        if isinstance(name, int):
            return self.number(kind, "", (name,))
        return self.number(kind, name, tuple(map(self.node, parts)))

    # -- terms --------------------------------------------------------------------------------------

    def ground(self, env: Env, term: int) -> int:
        """Return a term with its bound variables replaced."""
        kind, name, parts = self.nodes[term]
        if kind == BOUND:
            return env[parts[0]]
        if kind == APPLY and parts:
            return self.number(APPLY, name, tuple(self.ground(env, part) for part in parts))
        return term

    def sort(self, term: int) -> str:
        """Return the sort of a ground term."""
        kind, name, parts = self.nodes[term]
        if kind == EIGEN:
            return self.eigens[parts[0]]
        return self.members[name] if kind == MEMBER else self.functions[name][1]

    def eigens_in(self, term: int) -> frozenset[int]:
        """Return the eigenvariables in a ground term, as terms."""
        found = self._eigens_in.get(term)
        if found is None:
            node = self.nodes[term]
            inside = node.parts if node.kind == APPLY else ()
            own = frozenset((term,)) if node.kind == EIGEN else frozenset()
            found = self._eigens_in[term] = own.union(*map(self.eigens_in, inside))
        return found

    def order(self, term: int) -> tuple[object, ...]:
        """Return what ground terms are ordered by: members first, small before large; contexts keep the order."""
        found = self._order.get(term)
        if found is None:
            kind, name, parts = self.nodes[term]
            inside = [self.order(part) for part in parts] if kind == APPLY else []
            size = sum((int(str(each[0])) for each in inside), 0 if kind == MEMBER else 1)
            rank = (0, str(parts[0])) if kind == EIGEN else (1, name)
            found = self._order[term] = (size, *rank, *inside)
        return found

    # -- facts --------------------------------------------------------------------------------------

    def noted(self, sign: bool, env: Env, formula: int) -> tuple[Fact, ...]:
        """Take note of a formula as the kernel does, the newest fact first."""
        kind, name, parts = self.nodes[formula]
        if kind in ATOMS:
            return (Fact(sign, (), self.number(kind, name, tuple(self.ground(env, part) for part in parts))),)
        if kind == NOT:
            return self.noted(not sign, env, parts[0])
        if (kind, sign) in {(AND, True), (OR, False)}:
            return self.noted(sign, env, parts[1]) + self.noted(sign, env, parts[0])
        if kind == IMPLIES and not sign:
            return self.noted(False, env, parts[1]) + self.noted(True, env, parts[0])
        return (Fact(sign, env, formula),)

    def ways(self, fact: Fact) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
        """Return what either branch of a split takes note of."""
        sign, env, formula = fact
        kind, _, parts = self.nodes[formula]
        if kind == CHOOSE:
            test, yes, no = parts
            return (
                self.noted(sign, env, yes) + self.noted(True, env, test),
                self.noted(sign, env, no) + self.noted(False, env, test),
            )
        first, second = parts
        left = not sign if kind == IMPLIES else sign
        return self.noted(left, env, first), self.noted(sign, env, second) + self.noted(not left, env, first)

    def is_general(self, fact: Fact) -> bool:
        """Whether a fact speaks of all elements of a sort."""
        return self.nodes[fact.formula].kind == (FORALL if fact.sign else EXISTS)

    def body(self, formula: int, binders: int = 1) -> int:
        """Return what stands under so many binders of a formula."""
        for _ in range(binders):
            (formula,) = self.nodes[formula].parts
        return formula
