"""What ground atoms say together: which terms are equal, which other atoms are decided, and whether they contradict."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from carnet_check.certificates.producing import bank as b
from carnet_check.certificates.producing.bank import Bank, Closure, Env, Fact
from carnet_check.certificates.producing.instances import joined


class Congruence:
    """The closure of some facts under equality. Facts that are no atoms take part by name alone.

    ``contradiction`` has the facts that contradict each other when equals are equal, or nothing at all if two members
    of an enumeration became equal; without a contradiction it is ``None``.
    """

    def __init__(self, bank: Bank, facts: Iterable[Fact]) -> None:
        self._bank = bank
        self._leader: dict[int, int] = {}
        self._applied: dict[tuple[str, Env], int] = {}
        self._member: dict[int, int] = {}
        self._atoms: dict[tuple[str, Env], Fact] = {}
        self._closures: dict[Closure, Fact] = {}
        self.contradiction: tuple[Fact, ...] | None = None
        facts = list(facts)
        self._merge(facts)
        self._find_members()
        for fact in facts:
            self._take(fact)

    # -- equality -----------------------------------------------------------------------------------

    def _merge(self, facts: Iterable[Fact]) -> None:
        for sign, _, formula in facts:
            kind, _, parts = self._bank.nodes[formula]
            if kind in b.ATOMS:
                for part in parts:
                    self._add(part)
                if kind == b.EQUAL and sign:
                    self._join(*parts)
        while self._congruent():
            pass

    def _add(self, term: int) -> None:
        if term not in self._leader:
            kind, _, parts = self._bank.nodes[term]
            for part in parts if kind == b.APPLY else ():
                self._add(part)
            self._leader[term] = term

    def _join(self, one: int, other: int) -> bool:
        one, other = self._led(one), self._led(other)
        if one != other:
            self._leader[max(one, other)] = min(one, other)
        return one != other

    def _led(self, term: int) -> int:
        while (leader := self._leader[term]) != term:
            term = leader
        return term

    def _congruent(self) -> bool:
        """Join applications to equal arguments once, and say whether anything changed."""
        self._applied = {}
        joined_any = False
        for term in self._leader:
            kind, name, parts = self._bank.nodes[term]
            if kind == b.APPLY and parts:
                key = (name, tuple(map(self._led, parts)))
                joined_any |= self._join(self._applied.setdefault(key, term), term)
        return joined_any

    def _find_members(self) -> None:
        for term in self._leader:
            if self._bank.nodes[term].kind == b.MEMBER and self._member.setdefault(self._led(term), term) != term:
                self.contradiction = ()

    def representative(self, term: int) -> int:
        """Return the term that stands for everything equal to ``term``."""
        if term in self._leader:
            return self._led(term)
        kind, name, parts = self._bank.nodes[term]
        if kind != b.APPLY or not parts:
            return term
        inside = tuple(map(self.representative, parts))
        known = self._applied.get((name, inside))
        return self._bank.number(kind, name, inside) if known is None else self._led(known)

    # -- facts --------------------------------------------------------------------------------------

    def _take(self, fact: Fact) -> None:
        """Take note of a fact, and of a contradiction with an earlier one."""
        kind, name, parts = self._bank.nodes[fact.formula]
        if kind == b.CONST:
            if fact.sign != bool(parts[0]):
                self._contradict(fact)
        elif kind == b.HOLDS:
            before = self._atoms.setdefault((name, tuple(map(self._led, parts))), fact)
            if before.sign != fact.sign:
                self._contradict(before, fact)
        elif kind == b.EQUAL:
            self._distinguish(fact, *map(self._led, parts))
        else:
            before = self._closures.setdefault((fact.env, fact.formula), fact)
            if before.sign != fact.sign:
                self._contradict(before, fact)

    def _distinguish(self, fact: Fact, left: int, right: int) -> None:
        if fact.sign:
            return
        if left == right:
            self._contradict(fact)
        self._atoms[b.EQUAL, (left, right)] = self._atoms[b.EQUAL, (right, left)] = fact

    def _contradict(self, *facts: Fact) -> None:
        if self.contradiction is None:
            self.contradiction = facts

    # -- truth --------------------------------------------------------------------------------------

    def truth(self, env: Env, formula: int) -> bool | None:
        """Return whether a closure holds, if the facts decide it."""
        known = self._closures.get((env, formula))
        return self._composed(env, formula) if known is None else known.sign

    def _composed(self, env: Env, formula: int) -> bool | None:
        """Return what the parts of a closure decide."""
        kind, name, parts = self._bank.nodes[formula]
        if kind == b.CONST:
            return bool(parts[0])
        if kind == b.HOLDS:
            found = self._atoms.get((name, tuple(self._representative_at(env, part) for part in parts)))
            return None if found is None else found.sign
        if kind == b.EQUAL:
            return self._equal(*(self._representative_at(env, part) for part in parts))
        if kind in b.QUANTIFIERS:
            return None
        return joined(kind, (partial(self.truth, env, part) for part in parts))

    def _representative_at(self, env: Env, term: int) -> int:
        return self.representative(self._bank.ground(env, term))

    def _equal(self, left: int, right: int) -> bool | None:
        if left == right:
            return True
        if (b.EQUAL, (left, right)) in self._atoms:
            return False
        members = [self._member.get(side, side) for side in (left, right)]
        differ = all(self._bank.nodes[member].kind == b.MEMBER for member in members) and members[0] != members[1]
        return False if differ else None

    def holds(self, fact: Fact) -> bool | None:
        """Return whether a fact is one, if the others decide it."""
        truth = self.truth(fact.env, fact.formula)
        return None if truth is None else truth == fact.sign

    def follows(self, fact: Fact) -> bool:
        """Whether the parts of a fact say it already."""
        return self._composed(fact.env, fact.formula) is fact.sign
