"""Contradictory ground instances of an obligation's hypotheses, and their terms and formulas.

Terms and formulas are interned: equal ones have the same number.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

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

Env = tuple[int, ...]  #: Ground terms for bound variables, the innermost first.
Closure = tuple[Env, int]  #: A formula with terms for its bound variables.


class Node(NamedTuple):
    """A term or a formula: its kind, a name if it has one, and the numbers of its parts.

    A bound variable has its index as its part, an eigenvariable its number, and a constant formula 0 or 1.
    """

    kind: str
    name: str
    parts: tuple[int, ...]


class Fact(NamedTuple):
    """A formula and whether it holds. Atoms are ground and have no ``env``."""

    sign: bool
    env: Env
    formula: int


class TermBank:
    """The terms and formulas of one obligation, and those that a search adds."""

    def __init__(self, obligation: checker.Obligation) -> None:
        functions, members = obligation.functions.items(), obligation.members.items()
        self.functions = {str(name): (tuple(map(str, sorts)), str(result)) for name, (sorts, result) in functions}
        self.members = {str(name): str(sort) for name, sort in members}
        self.nodes: list[Node] = []
        self.eigens: list[str] = []  # the sort of each eigenvariable
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
        """Return the number of the node with this kind, name and parts; a new node gets the next number."""
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
        """Return the number of ``term`` with its bound variables replaced as ``env`` says."""
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
        """Return the key that orders ground terms: members first, small before large; contexts keep the order."""
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
        """Return the facts that the kernel adds when it assumes ``formula`` to be true or false, the newest first."""
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
        """Return the facts that each of the two branches of a split adds."""
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
        """Whether a fact is universally quantified: a true *for all* or a false *there is*."""
        return self.nodes[fact.formula].kind == (FORALL if fact.sign else EXISTS)

    def body(self, formula: int, binders: int = 1) -> int:
        """Return the subformula under the first ``binders`` binders of a formula."""
        for _ in range(binders):
            (formula,) = self.nodes[formula].parts
        return formula


# --------------------------------------------------------------------------------------------------
# Contradictory ground instances, found in rounds from models of the instances so far (model-based instantiation).
#
# If a model makes a general formula true and one of its instances false, that instance is added. When there is no
# model any more, the instances are reduced to those that the contradiction needs.

ROUNDS = 400  #: The most rounds, each with one model.
MOST_WAYS = 100  #: The most distinct ways in which a formula can be false that are considered.
AT_ONCE = 3  #: The most instances of one formula that a model adds.


@dataclass(frozen=True, slots=True)
class ProofNeeds:
    """What a proof needs: terms for the variables of general formulas, and terms for case splits."""

    instances: dict[Closure, list[Env]] = field(default_factory=dict)
    cases: list[int] = field(default_factory=list)


_Want = tuple[Closure, Env] | int  #: An instance of a closure at terms, or a term for a case split.


def proof_needs(grounding: Grounding, deadline: float = math.inf) -> ProofNeeds | None:
    """Return contradictory instances, or None if none are found until the process's CPU time reaches ``deadline``."""
    wants: dict[str, _Want] = {}
    switches: list[Any] = []
    for _ in range(ROUNDS):
        if time.process_time() > deadline:
            return None
        grounding.close()
        if grounding.solver.check(*switches) == grounding.z3.unsat:
            found = ProofNeeds()
            for want in (wants[name] for name in _smallest(grounding, switches)):
                if isinstance(want, int):
                    found.cases.append(want)
                else:
                    found.instances.setdefault(want[0], []).append(want[1])
            return found
        model = _Model(grounding, deadline)
        known = set(wants.values())
        fresh: list[_Want] = [want for want in model.instances() if want not in known]
        fresh = fresh or [term for term in model.outside() if term not in known]
        if not fresh and not grounding.deepen():
            return None
        for want in fresh:
            switch = grounding.z3.Bool(f"i!{len(switches)}", grounding.context)
            wants[str(switch)] = want
            switches.append(switch)
            grounding.solver.add(grounding.z3.Implies(switch, _meaning(grounding, want)))
    return None


def _meaning(grounding: Grounding, want: _Want) -> Any:
    """Return the Z3 formula of an instance or of a case split."""
    z3, bank = grounding.z3, grounding.bank
    if isinstance(want, int):
        members = bank.enumerations[bank.sort(want)]
        return z3.Or(*(grounding.term(want) == grounding.term(member) for member in members))
    (env, formula), terms = want
    proxy = grounding.proxies[env, formula]
    body = grounding.formula((*reversed(terms), *env), bank.body(formula, len(terms)))
    if bank.nodes[formula].kind == FORALL:
        return z3.Implies(proxy, body)
    return z3.Implies(z3.Not(proxy), z3.Not(body))


def _smallest(grounding: Grounding, switches: list[Any]) -> list[str]:
    """Return the names of a minimal set of switches (assumption literals) that contradict each other."""
    solver, unsat = grounding.solver, grounding.z3.unsat
    core = sorted(solver.unsat_core(), key=lambda switch: int(str(switch).partition("!")[2]))
    place = 0
    while place < len(core):
        fewer = core[:place] + core[place + 1 :]
        if solver.check(*fewer) == unsat:
            still = set(map(str, solver.unsat_core()))
            core = [switch for switch in fewer if str(switch) in still]
            place = 0 if len(core) < len(fewer) else place
        else:
            place += 1
    return [str(switch) for switch in core]


Values = tuple[int, ...]  #: The values of terms in a model, by number.
Scope = tuple[int | None, ...]  #: Terms for bound variables, as far as they have been chosen.


class _Matching(NamedTuple):
    """A search for terms for the first places of ``scope``, at which ``body`` has not the truth value ``wanted``."""

    scope: Scope
    sorts: list[str]
    body: int
    wanted: bool


class _Model:
    """A model of the instances so far; values are numbered."""

    def __init__(self, grounding: Grounding, deadline: float) -> None:
        self._deadline = deadline
        self._ground = grounding
        self._bank = grounding.bank
        self._model = grounding.solver.model()
        self._kept: list[Any] = []
        self._values: dict[int, int] = {}
        self._applied: dict[tuple[str, tuple[int, ...]], int] = {}
        self._true: dict[Closure, bool] = {
            closure: self._is_true(proxy) for closure, proxy in grounding.proxies.items()
        }
        self._of_value: dict[int, int] = {}
        self._usable: dict[int, int] = {}  # for values, the terms that variables are replaced by
        self._tables: dict[str, dict[Values, bool]] = {}
        self._representatives: dict[str, list[int]] = {}
        # Choose for every value of a sort the smallest term of it whose eigenvariables stand for something
        named, bank = self._ground.named, self._bank
        live = {
            eigen for closure, eigen in named.items() if self._true[closure] == (bank.nodes[closure[1]].kind == EXISTS)
        }
        live.update(bank.scope)
        for sort, terms in self._ground.pool.items():
            usable = sorted((term for term in terms if bank.eigens_in(term) <= live), key=bank.order)
            found: dict[int, int] = {}
            for term in usable:
                found.setdefault(self.value(term), term)
            self._representatives[sort] = list(found.values())
            self._usable.update(found)

    def _is_true(self, expression: Any) -> bool:
        return bool(self._ground.z3.is_true(self._model.eval(expression, model_completion=True)))

    def value(self, term: int) -> int:
        found = self._values.get(term)
        if found is None:
            found = self._values[term] = self._number_of(self._ground.expression(term))
            self._of_value.setdefault(found, term)
        return found

    # -- instances that the model violates ----------------------------------------------------------

    def instances(self) -> Iterator[tuple[Closure, Env]]:
        """Yield instances that are false although the general formula is true."""
        for closure, holds in list(self._true.items()):
            kind = self._bank.nodes[closure[1]].kind
            if holds == (kind == FORALL):
                found = _once(self._falsified(closure, self._sorts(closure[1]), kind == FORALL))
                yield from ((closure, terms) for _, terms in zip(range(AT_ONCE), found, strict=False))

    def outside(self) -> Iterator[int]:
        for sort, members in self._bank.enumerations.items():
            values = set(map(self.value, members))
            yield from (term for term in list(self._ground.pool.get(sort, ())) if self.value(term) not in values)

    def _sorts(self, formula: int) -> list[str]:
        kind, sorts = self._bank.nodes[formula].kind, []
        while self._bank.nodes[formula].kind == kind:
            sorts.append(self._bank.nodes[formula].name)
            formula = self._bank.body(formula)
        return sorts

    def _falsified(self, closure: Closure, sorts: list[str], wanted: bool) -> Iterator[Env]:
        env, formula = closure
        body = self._bank.body(formula, len(sorts))
        matching = _Matching((*[None] * len(sorts), *env), sorts, body, wanted)
        for asked in dict.fromkeys(self._choices_for(body, not wanted)):
            yield from self._matched(matching, sorted(asked, key=self._choices))

    def _choices(self, atom: int) -> int:
        """Return how many choices of terms an atom leaves if it has to be true."""
        kind, name, _ = self._bank.nodes[atom]
        return len(self._rows(name)) if kind == HOLDS else 0

    def _matched(self, matching: _Matching, asked: Sequence[int]) -> Iterator[Env]:
        """Yield terms that make the atoms ``asked`` true; a branch is left as soon as that is impossible."""
        scope, sorts, body, wanted = matching
        if time.process_time() > self._deadline or self._holds(scope, body) is wanted:
            return
        if asked:
            for extended in self._ways(scope, asked[0]):
                yield from self._matched(matching._replace(scope=extended), asked[1:])
            return
        open = [place for place in range(len(sorts)) if scope[place] is None]
        if not open:
            yield tuple(term for term in reversed(scope[: len(sorts)]) if term is not None)
            return
        for term in self._representatives.get(sorts[-1 - open[-1]], ()):
            filled = (*scope[: open[-1]], term, *scope[open[-1] + 1 :])
            yield from self._matched(matching._replace(scope=filled), ())

    def _choices_for(self, formula: int, sign: bool) -> list[tuple[int, ...]]:
        kind, _, parts = self._bank.nodes[formula]
        if kind == CONST:
            return [()] if bool(parts[0]) == sign else []
        if kind == NOT:
            return self._choices_for(parts[0], not sign)
        if kind not in {AND, OR, IMPLIES}:
            return [(formula,)] if kind in ATOMS and sign else [()]
        first, second = self._choices_for(parts[0], sign != (kind == IMPLIES)), self._choices_for(parts[1], sign)
        if (kind == AND) != sign:
            return list(dict.fromkeys(first + second))
        if len(first) * len(second) > MOST_WAYS:
            return first
        return [one + other for one in first for other in second]

    def _ways(self, scope: Scope, atom: int) -> Iterator[Scope]:
        """Yield each way to make an atom true, as a scope with terms for further variables."""
        kind, name, parts = self._bank.nodes[atom]
        if kind == HOLDS:
            rows = (self._extended(scope, parts, row) for row in self._rows(name))
            yield from (extended for extended in rows if extended is not None)
            return
        value = next((found for part in parts if (found := self._value_of(scope, part)) is not None), None)
        extended = scope if value is None else self._extended(scope, parts, (value, value))
        if extended is not None:
            yield extended

    def _rows(self, relation: str) -> list[Values]:
        return [row for row, holds in self._table(relation).items() if holds]

    def _table(self, relation: str) -> dict[Values, bool]:
        """Return the truth of a relation at the tuples that the formulas mention; it is false at all others."""
        if relation not in self._tables:
            atoms = self._ground.atoms.get(relation, {}).items()
            self._tables[relation] = {
                tuple(map(self.value, terms)): self._is_true(expression) for terms, expression in atoms
            }
        return self._tables[relation]

    def _extended(self, scope: Scope, parts: Env, row: Values) -> Scope | None:
        """Return a scope with terms for further variables that give ``parts`` the values ``row``, or None."""
        found = list(scope)
        for part, value in zip(parts, row, strict=True):
            node = self._bank.nodes[part]
            if node.kind == BOUND and found[node.parts[0]] is None:
                if value not in self._usable:
                    return None
                found[node.parts[0]] = self._usable[value]
            elif self._value_of(tuple(found), part) not in {None, value}:
                return None
        return tuple(found)

    # -- truth, as far as variables have terms ------------------------------------------------------

    def _holds(self, env: Scope, formula: int) -> bool | None:
        kind, name, parts = self._bank.nodes[formula]
        if kind == CONST:
            return bool(parts[0])
        if kind == EQUAL:
            left, right = (self._value_of(env, part) for part in parts)
            return None if left is None or right is None else left == right
        if kind == HOLDS:
            row = self._row(env, parts)
            return None if row is None else self._table(name).get(row, False)
        if kind in QUANTIFIERS:
            return None if None in env else self._true.get((tuple(term for term in env if term is not None), formula))
        return connective_value(kind, (partial(self._holds, env, part) for part in parts))

    def _value_of(self, env: Scope, term: int) -> int | None:
        kind, name, parts = self._bank.nodes[term]
        if kind == BOUND:
            stands = env[parts[0]]
            return None if stands is None else self.value(stands)
        if kind != APPLY or not parts:
            return self.value(term)
        row = self._row(env, parts)
        if row is None:
            return None
        if (name, row) not in self._applied:
            inside = tuple(self._of_value[value] for value in row)
            self._applied[name, row] = self.value(self._bank.number(APPLY, name, inside))
        return self._applied[name, row]

    def _row(self, env: Scope, terms: Env) -> Values | None:
        values = tuple(value for term in terms if (value := self._value_of(env, term)) is not None)
        return values if len(values) == len(terms) else None

    def _number_of(self, expression: Any) -> int:
        """Return the number of an expression's value; it identifies the value as long as the value is kept."""
        value = self._model.eval(expression, model_completion=True)
        self._kept.append(value)
        return int(value.get_id())


def _once(found: Iterator[Env]) -> Iterator[Env]:
    seen: set[Env] = set()
    for each in found:
        if each not in seen:
            seen.add(each)
            yield each


def connective_value(kind: str, parts: Iterator[Callable[[], bool | None]]) -> bool | None:
    """Return the truth value of a conjunction or disjunction; None if it is unknown. ``parts`` are evaluated lazily."""
    first = next(parts)()
    if kind == NOT:
        return None if first is None else not first
    if kind == CHOOSE:
        yes, no = parts
        if first is None:
            return None
        chosen = (yes, no)[not first]
        return chosen()
    if kind == IMPLIES:
        first = None if first is None else not first
    decided = kind != AND
    if first is decided:
        return decided
    second = next(parts)()
    return second if second is decided or first is not None else None


# -- An obligation without its quantifiers, in Z3 --------------------------------------------------
#
# A quantified formula, with terms for its free variables, is a proposition. If it is existential, its witness is an
# eigenvariable. Sorts are uninterpreted; of an enumeration Z3 knows only that its members are distinct.

DEEPEST = 3  #: The most nested function applications in a term that is made for instantiation.
DEEPEST_MET = 4  #: The same for terms that occur in formulas.


class Grounding:
    """A Z3 solver, with the expressions for terms and closures."""

    def __init__(self, bank: TermBank) -> None:
        import z3

        self.z3 = z3
        self.bank = bank
        self.context = z3.Context()
        self.solver = z3.SimpleSolver(ctx=self.context)
        self.pool: dict[str, dict[int, int]] = {}
        """The ground terms of each sort that variables are replaced by, with their depths."""
        self.proxies: dict[Closure, Any] = {}  # the proposition of each quantified closure
        self.named: dict[Closure, int] = {}  # the eigenvariable of each existential closure
        self.depth = 0  # the nesting depth up to which functions were applied to make further terms
        self.atoms: dict[str, dict[Env, Any]] = {}  # for each relation, the ground tuples in atoms
        self._sorts: dict[str, Any] = {}
        self._symbols: dict[str, Any] = {}
        self._terms: dict[int, Any] = {}
        self._depths: dict[int, int] = {}
        self._formulas: dict[Closure, Any] = {}
        for members in bank.enumerations.values():
            self.solver.add(z3.Distinct(*map(self.term, members)))
        for name, (domain, _) in bank.functions.items():
            if not domain:
                self.term(bank.number(APPLY, name))
        for term in bank.scope:
            self.term(term)
        for formula in bank.hypotheses:
            self.solver.add(self.formula(bank.scope, formula))

    # -- terms --------------------------------------------------------------------------------------

    def term(self, term: int) -> Any:
        """Return the expression of a ground term, and use the term for instantiation from now on."""
        if term not in self._terms:
            node = self.bank.nodes[term]
            inside = [self.term(part) for part in node.parts] if node.kind == APPLY else []
            self._terms[term] = self.applied(term, inside)
            depth = self._depths[term] = 1 + max(self._depths[part] for part in node.parts) if inside else 0
            if depth <= DEEPEST_MET:
                self.pool.setdefault(self.bank.sort(term), {})[term] = depth
        return self._terms[term]

    def expression(self, term: int) -> Any:
        """Return the expression of a ground term, without using the term for instantiation."""
        if term in self._terms:
            return self._terms[term]
        node = self.bank.nodes[term]
        return self.applied(term, list(map(self.expression, node.parts)) if node.kind == APPLY else [])

    def applied(self, term: int, inside: list[Any]) -> Any:
        """Return the symbol of a ground term, applied to the expressions ``inside``."""
        kind, name, parts = self.bank.nodes[term]
        if kind == APPLY:
            return self._symbol(name, *self.bank.functions[name])(*inside)
        label = f"m!{name}" if kind == MEMBER else f"e!{parts[0]}"
        return self.z3.Const(label, self._sort(self.bank.sort(term)))

    def _symbol(self, name: str, domain: tuple[str, ...], result: str) -> Any:
        if name not in self._symbols:
            self._symbols[name] = self.z3.Function(name, *map(self._sort, domain), self._sort(result))
        return self._symbols[name]

    def _sort(self, name: str) -> Any:
        if name not in self._sorts:
            make = self.z3.DeclareSort if name else lambda _, ctx: self.z3.BoolSort(ctx)
            self._sorts[name] = make(name, ctx=self.context)
        return self._sorts[name]

    def deepen(self) -> bool:
        """Increase the depth up to which functions are applied to terms; return whether that adds any terms."""
        before = self._count()
        while self.depth < DEEPEST and self._count() == before:
            self.depth += 1
            self.close()
        return self._count() > before

    def _count(self) -> int:
        return sum(map(len, self.pool.values()))

    def close(self) -> None:
        """Apply functions to terms, up to the current depth, until there are no new terms."""
        functions = [
            (name, domain)
            for name, (domain, result) in self.bank.functions.items()
            if domain and result not in self.bank.enumerations
        ]
        grown = True
        while grown:
            grown = False
            for name, domain in functions:
                shallow = [[t for t, deep in self.pool.get(sort, {}).items() if deep < self.depth] for sort in domain]
                for arguments in itertools.product(*shallow):
                    term = self.bank.number(APPLY, name, arguments)
                    if term not in self._terms:
                        self.term(term)
                        grown = True

    # -- formulas -----------------------------------------------------------------------------------

    def formula(self, env: Env, formula: int) -> Any:
        """Return a closure as a ground formula."""
        key = (env, formula)
        if key not in self._formulas:
            self._formulas[key] = self._z3_formula(env, formula)
        return self._formulas[key]

    def _z3_formula(self, env: Env, formula: int) -> Any:
        kind, name, parts = self.bank.nodes[formula]
        if kind == CONST:
            return self.z3.BoolVal(bool(parts[0]), self.context)
        if kind in ATOMS:
            grounded = [self.bank.ground(env, part) for part in parts]
            inside = [self.term(term) for term in grounded]
            if kind == EQUAL:
                return inside[0] == inside[1]
            atom = self._symbol(name, tuple(map(self.bank.sort, grounded)), "")(*inside)
            return self.atoms.setdefault(name, {}).setdefault(tuple(grounded), atom)
        if kind in QUANTIFIERS:
            return self._quantified(env, formula)
        join = {NOT: "Not", AND: "And", OR: "Or", IMPLIES: "Implies", CHOOSE: "If"}[kind]
        return getattr(self.z3, join)(*(self.formula(env, part) for part in parts))

    def _quantified(self, env: Env, formula: int) -> Any:
        proxy = self.z3.Bool(f"q!{len(self.proxies)}", self.context)
        self._formulas[env, formula] = self.proxies[env, formula] = proxy
        kind, sort, (body,) = self.bank.nodes[formula]
        eigen = self.named[env, formula] = self.bank.eigen(sort)
        self.term(eigen)
        inside = self.formula((eigen, *env), body)
        z3 = self.z3
        self.solver.add(z3.Implies(proxy, inside) if kind == EXISTS else z3.Implies(z3.Not(proxy), z3.Not(inside)))
        return proxy
