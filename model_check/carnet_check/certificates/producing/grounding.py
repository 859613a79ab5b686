"""What is known of an obligation without its quantifiers, as Z3 sees it.

A quantified formula with terms for its variables is a proposition; if it claims that something exists, it brings an
eigenvariable for that. Sorts are uninterpreted, and of an enumeration it is only said that its members differ.
"""

from __future__ import annotations

import itertools
from typing import Any

from carnet_check.certificates.producing import bank as b
from carnet_check.certificates.producing.bank import Bank, Closure, Env

DEEPEST = 3
"""The most functions around anything in a term that is made to instantiate with."""
DEEPEST_MET = 4
"""The same for terms that formulas bring."""


class Grounding:
    """A solver, and what stands in it for terms and closures."""

    def __init__(self, bank: Bank) -> None:
        import z3

        self.z3 = z3
        self.bank = bank
        self.context = z3.Context()
        self.solver = z3.SimpleSolver(ctx=self.context)
        self.pool: dict[str, dict[int, int]] = {}
        """The ground terms of each sort that variables are replaced by, with their depths."""
        self.proxies: dict[Closure, Any] = {}
        """The proposition of each quantified closure."""
        self.named: dict[Closure, int] = {}
        """The eigenvariable of each."""
        self.depth = 0
        """How deep terms are that are there only because functions can be applied."""
        self.atoms: dict[str, dict[Env, Any]] = {}
        """For each relation, the terms that something is said of."""
        self._sorts: dict[str, Any] = {}
        self._symbols: dict[str, Any] = {}
        self._terms: dict[int, Any] = {}
        self._depths: dict[int, int] = {}
        self._formulas: dict[Closure, Any] = {}
        for members in bank.enumerations.values():
            self.solver.add(z3.Distinct(*map(self.term, members)))
        for name, (domain, _) in bank.functions.items():
            if not domain:
                self.term(bank.number(b.APPLY, name))
        for term in bank.scope:
            self.term(term)
        for formula in bank.hypotheses:
            self.solver.add(self.formula(bank.scope, formula))

    # -- terms --------------------------------------------------------------------------------------

    def term(self, term: int) -> Any:
        """Return a ground term, which becomes one that variables are replaced by."""
        if term not in self._terms:
            node = self.bank.nodes[term]
            inside = [self.term(part) for part in node.parts] if node.kind == b.APPLY else []
            self._terms[term] = self.applied(term, inside)
            depth = self._depths[term] = 1 + max(self._depths[part] for part in node.parts) if inside else 0
            if depth <= DEEPEST_MET:
                self.pool.setdefault(self.bank.sort(term), {})[term] = depth
        return self._terms[term]

    def expression(self, term: int) -> Any:
        """Return a ground term; variables are not replaced by it for that."""
        if term in self._terms:
            return self._terms[term]
        node = self.bank.nodes[term]
        return self.applied(term, list(map(self.expression, node.parts)) if node.kind == b.APPLY else [])

    def applied(self, term: int, inside: list[Any]) -> Any:
        """Return the symbol of a ground term, applied to ``inside``."""
        kind, name, parts = self.bank.nodes[term]
        if kind == b.APPLY:
            return self._symbol(name, *self.bank.functions[name])(*inside)
        label = f"m!{name}" if kind == b.MEMBER else f"e!{parts[0]}"
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
        """Apply functions to terms from now on, or to deeper ones than before; say whether that adds any terms."""
        before = self._count()
        while self.depth < DEEPEST and self._count() == before:
            self.depth += 1
            self.close()
        return self._count() > before

    def _count(self) -> int:
        return sum(map(len, self.pool.values()))

    def close(self) -> None:
        """Apply functions to terms, up to the depth, until there are no new terms."""
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
                    term = self.bank.number(b.APPLY, name, arguments)
                    if term not in self._terms:
                        self.term(term)
                        grown = True

    # -- formulas -----------------------------------------------------------------------------------

    def formula(self, env: Env, formula: int) -> Any:
        """Return a closure as a ground formula."""
        key = (env, formula)
        if key not in self._formulas:
            self._formulas[key] = self._made(env, formula)
        return self._formulas[key]

    def _made(self, env: Env, formula: int) -> Any:
        kind, name, parts = self.bank.nodes[formula]
        if kind == b.CONST:
            return self.z3.BoolVal(bool(parts[0]), self.context)
        if kind in b.ATOMS:
            grounded = [self.bank.ground(env, part) for part in parts]
            inside = [self.term(term) for term in grounded]
            if kind == b.EQUAL:
                return inside[0] == inside[1]
            atom = self._symbol(name, tuple(map(self.bank.sort, grounded)), "")(*inside)
            return self.atoms.setdefault(name, {}).setdefault(tuple(grounded), atom)
        if kind in b.QUANTIFIERS:
            return self._quantified(env, formula)
        join = {b.NOT: "Not", b.AND: "And", b.OR: "Or", b.IMPLIES: "Implies", b.CHOOSE: "If"}[kind]
        return getattr(self.z3, join)(*(self.formula(env, part) for part in parts))

    def _quantified(self, env: Env, formula: int) -> Any:
        proxy = self.z3.Bool(f"q!{len(self.proxies)}", self.context)
        self._formulas[env, formula] = self.proxies[env, formula] = proxy
        kind, sort, (body,) = self.bank.nodes[formula]
        eigen = self.named[env, formula] = self.bank.eigen(sort)
        self.term(eigen)
        inside = self.formula((eigen, *env), body)
        z3 = self.z3
        self.solver.add(z3.Implies(proxy, inside) if kind == b.EXISTS else z3.Implies(z3.Not(proxy), z3.Not(inside)))
        return proxy
