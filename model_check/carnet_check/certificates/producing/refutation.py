"""The search for a refutation of an obligation: a tableau, pruned to the facts that close its branches.

The search is not trusted: the kernel checks each refutation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from carnet_check.certificates.producing import grounding as b
from carnet_check.certificates.producing.grounding import (
    Closure,
    Env,
    Fact,
    Grounding,
    ProofNeeds,
    TermBank,
    connective_value,
    proof_needs,
)
from carnet_check.kernel import checker
from carnet_check.kernel.checker import Obligation, Step

# --------------------------------------------------------------------------------------------------
# The end of a branch: a minimal set of contradictory facts, and the rewritings that show the contradiction.

MOST_REWRITINGS = 200


class NotFound(Exception):
    """The search for a refutation ended without one."""


@dataclass(frozen=True, slots=True)
class Close:
    """Contradictory facts, and the rewritings that show it: the place of each equation, and its direction."""

    facts: tuple[Fact, ...]
    rewritings: tuple[tuple[int, bool], ...]


def close_branch(bank: TermBank, facts: Iterable[Fact], contradiction: Sequence[Fact]) -> Close:
    """Return how contradictory facts close a branch; raise NotFound if no rewriting shows the contradiction."""
    equations = [fact for fact in facts if is_equation(bank, fact) and fact not in contradiction]
    needed = list(dict.fromkeys((*contradiction, *_fewest(bank, equations, contradiction))))
    rewritings: list[tuple[int, bool]] = []
    now = needed
    while not any(_is_contradictory(bank, fact) or fact._replace(sign=not fact.sign) in now for fact in now):
        if len(rewritings) == MOST_REWRITINGS:
            raise NotFound("rewriting does not end")
        found = min(_possible(bank, now), key=lambda each: each[0], default=None)
        if found is None:
            raise NotFound("rewriting shows no contradiction")
        _, place, backwards, now = found
        rewritings.append((place, backwards))
    return Close(tuple(needed), tuple(rewritings))


def is_equation(bank: TermBank, fact: Fact) -> bool:
    """Whether a fact says that two terms are equal."""
    return fact.sign and bank.nodes[fact.formula].kind == b.EQUAL


def _fewest(bank: TermBank, equations: list[Fact], contradiction: Sequence[Fact]) -> list[Fact]:
    """Return a minimal list of equations that still contradict; many are left out at a time at first."""
    size = len(equations)
    while size:
        place = 0
        while place < len(equations):
            fewer = equations[:place] + equations[place + size :]
            if Congruence(bank, (*contradiction, *fewer)).contradiction is not None:
                equations = fewer
            else:
                place += size
        size //= 2
    return equations


def _possible(bank: TermBank, facts: Sequence[Fact]) -> Iterator[tuple[tuple[object, ...], int, bool, list[Fact]]]:
    """Yield every rewriting from a larger term to a smaller one that changes a fact, with the rewritten facts."""
    for place, fact in enumerate(facts):
        if not is_equation(bank, fact):
            continue
        left, right = bank.nodes[fact.formula].parts
        backwards = bank.order(left) < bank.order(right)
        large, small = (right, left) if backwards else (left, right)
        changed = [x if at == place else _rewritten(bank, large, small, x) for at, x in enumerate(facts)]
        if changed != list(facts):
            yield (bank.order(large), place), place, backwards, changed


def _rewritten(bank: TermBank, large: int, small: int, fact: Fact) -> Fact:
    kind, name, parts = bank.nodes[fact.formula]
    if kind not in b.ATOMS:
        return fact
    changed = tuple(_replaced(bank, large, small, part) for part in parts)
    return fact if changed == parts else Fact(fact.sign, (), bank.number(kind, name, changed))


def _replaced(bank: TermBank, large: int, small: int, term: int) -> int:
    if term == large:
        return small
    kind, name, parts = bank.nodes[term]
    if kind != b.APPLY or not parts:
        return term
    return bank.number(kind, name, tuple(_replaced(bank, large, small, part) for part in parts))


def _is_contradictory(bank: TermBank, fact: Fact) -> bool:
    kind, _, parts = bank.nodes[fact.formula]
    if kind == b.CONST:
        return fact.sign != bool(parts[0])
    if kind != b.EQUAL:
        return False
    members = all(bank.nodes[part].kind == b.MEMBER for part in parts)
    return (parts[0] != parts[1]) and members if fact.sign else parts[0] == parts[1]


# --------------------------------------------------------------------------------------------------
# From contradictory instances to a refutation: a tree of facts, pruned to those that its leaves use.

MOST_BRANCHES = 20_000

# -- refutations ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UseHypothesis:
    """Add a hypothesis to the branch."""

    hypothesis: int
    rest: Tree


@dataclass(frozen=True, slots=True)
class Instantiate:
    """Instantiate a general fact at terms."""

    fact: Fact
    terms: Env
    rest: Tree


@dataclass(frozen=True, slots=True)
class IntroduceWitness:
    """Name the witness of an existential fact by an eigenvariable."""

    fact: Fact
    named: int
    rest: Tree


@dataclass(frozen=True, slots=True)
class Split:
    """Branch on the two ways in which a fact can hold."""

    fact: Fact
    first: Tree
    second: Tree


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """Branch on the members of an enumeration that a term can be equal to."""

    term: int
    each: tuple[Tree, ...]


Tree = UseHypothesis | Instantiate | IntroduceWitness | Split | CaseSplit | Close
_Need = Fact | int  #: A fact, or an eigenvariable that was introduced: what a step or a refutation depends on.
_Found = tuple[Tree, frozenset[_Need]]


@dataclass(frozen=True, slots=True)
class _Applied:
    """A step with one consequence: it needs ``parents`` and adds ``added``."""

    step: UseHypothesis | Instantiate | IntroduceWitness
    parents: frozenset[_Need]
    added: frozenset[_Need]


_NOTHING = Close((), ())  #: Placeholder for the rest of a tree that is not known yet.


class Search:
    """Looks for a refutation of the hypotheses of a bank."""

    def __init__(self, bank: TermBank, needed: ProofNeeds, named: dict[Closure, int]) -> None:
        self.bank = bank
        self.needed = needed
        self.named = named  # the eigenvariable of each existential closure
        self.branches = 0
        self.of_goal = set(bank.noted(True, bank.scope, bank.hypotheses[-1]))
        """The facts that come from the goal alone: they are split first, since every other fact serves few of them."""

    def refutation(self) -> Tree:
        """Return a refutation that uses the given instances only; raise NotFound if there is none."""
        branch = _Branch(self, {}, frozenset())
        for place, formula in enumerate(self.bank.hypotheses):
            branch.apply(UseHypothesis(place, _NOTHING), (), self.bank.noted(True, self.bank.scope, formula))
        tree, needs = branch.refuted()
        assert needs <= set(self.bank.scope), "a refutation rests on what nothing gives"
        return tree

    def refute(self, known: dict[_Need, None], added: Sequence[_Need], done: frozenset[_Need]) -> _Found:
        """Refute the branch with the facts ``known`` and ``added``."""
        self.branches += 1
        if self.branches > MOST_BRANCHES:
            raise NotFound("more branches than any refutation should have")
        branch = _Branch(self, known, done)
        branch.take(added)
        return branch.refuted()


class _Branch:
    """A branch of a refutation: its facts, and the steps taken so far."""

    def __init__(self, search: Search, known: dict[_Need, None], done: frozenset[_Need]) -> None:
        self.search = search
        self.bank = search.bank
        self.known: dict[_Need, None] = dict(known) or dict.fromkeys(self.bank.scope)
        self.done = done  # the facts and terms that the branch has split on
        self.todo: list[Fact] = []
        self.taken: list[_Applied] = []

    def take(self, needs: Iterable[_Need]) -> None:
        for each in needs:
            if each not in self.known:
                self.known[each] = None
                if isinstance(each, Fact):
                    self.todo.append(each)

    def apply(
        self, step: UseHypothesis | Instantiate | IntroduceWitness, parents: Iterable[_Need], added: Iterable[_Need]
    ) -> None:
        new = frozenset(each for each in added if each not in self.known)
        if new:
            self.taken.append(_Applied(step, frozenset(parents), new))
            self.take(each for each in added if each in new)

    def finished(self, tree: Tree, needs: frozenset[_Need]) -> _Found:
        for applied in reversed(self.taken):
            if needs & applied.added:
                tree, needs = replace(applied.step, rest=tree), (needs - applied.added) | applied.parents
        return tree, needs

    # -- steps with one consequence -----------------------------------------------------------------

    def expand(self) -> None:
        while self.todo or self._instantiate():
            while self.todo:
                self._quantified(self.todo.pop())

    def _quantified(self, fact: Fact) -> None:
        sign, env, formula = fact
        if self.bank.nodes[formula].kind not in b.QUANTIFIERS:
            return
        closure = (env, formula)
        if not self.bank.is_general(fact):
            if closure not in self.search.named:
                self.search.named[closure] = self.bank.eigen(self.bank.nodes[formula].name)
            named = self.search.named[closure]
            added = self.bank.noted(sign, (named, *env), self.bank.body(formula))
            self.apply(IntroduceWitness(fact, named, _NOTHING), (fact,), (named, *added))
            self._inherit(fact, added)

    def _inherit(self, fact: Fact, added: Iterable[Fact]) -> None:
        if fact in self.search.of_goal:
            self.search.of_goal.update(added)

    def _wanted(self) -> Iterator[tuple[Fact, Env]]:
        for fact in list(self.known):
            if isinstance(fact, Fact):
                wanted = self.search.needed.instances.get((fact.env, fact.formula), ())
                if wanted and self.bank.is_general(fact):
                    yield from ((fact, terms) for terms in wanted)

    def _instantiate(self) -> bool:
        for fact, terms in self._wanted():
            if all(map(self.is_named, terms)):
                self.instance(fact, terms)
        return bool(self.todo)

    def is_named(self, term: int) -> bool:
        return all(eigen in self.known for eigen in self.bank.eigens_in(term))

    def instance(self, fact: Fact, terms: Env) -> None:
        eigens = frozenset().union(*map(self.bank.eigens_in, terms))
        added = self.bank.noted(fact.sign, (*reversed(terms), *fact.env), self.bank.body(fact.formula, len(terms)))
        self.apply(Instantiate(fact, terms, _NOTHING), (fact, *eigens), added)

    # -- the rest -----------------------------------------------------------------------------------

    def refuted(self) -> _Found:
        while True:
            self.expand()
            facts = [fact for fact in self.known if isinstance(fact, Fact)]
            congruence = Congruence(self.bank, facts)
            if congruence.contradiction is not None:
                end = close_branch(self.bank, facts, congruence.contradiction)
                return self.finished(end, frozenset(end.facts))
            split = self._best_split(facts, congruence)
            if split is not None:
                return self.finished(*self._split(split, congruence))
            term = next((term for term in self.search.needed.cases if term not in self.done), None)
            if term is not None and self.is_named(term):
                return self.finished(*self._cases(term))
            if not self._with_other_terms():
                raise NotFound("a branch that nothing closes")

    def _best_split(self, facts: Iterable[Fact], congruence: Congruence) -> Fact | None:
        """Return the fact to split: preferably one of whose two ways is known to be false, then a short one."""
        best: tuple[tuple[int, bool, int], Fact] | None = None
        for fact in facts:
            if fact in self.done or self.bank.nodes[fact.formula].kind in (*b.ATOMS, *b.QUANTIFIERS, b.CONST):
                continue
            if congruence.follows(fact):
                continue
            truths = [[congruence.holds(each) for each in way] for way in self.bank.ways(fact)]
            open = sum(False not in way for way in truths)
            score = (open, open == 2 and fact not in self.search.of_goal, self._weight(fact.formula))
            if best is None or score < best[0]:
                best = (score, fact)
                if not score[0]:
                    break
        return best[1] if best else None

    def _weight(self, formula: int) -> int:
        kind, _, parts = self.bank.nodes[formula]
        return 1 + sum(map(self._weight, () if kind in (*b.ATOMS, b.CONST) else parts))

    def _split(self, fact: Fact, congruence: Congruence) -> _Found:
        """Refute both ways of a fact, one known to be false first; a refutation without the new facts is enough."""
        ways = self.bank.ways(fact)
        self._inherit(fact, (*ways[0], *ways[1]))
        order = sorted((0, 1), key=lambda way: all(congruence.holds(each) is not False for each in ways[way]))
        found: dict[int, _Found] = {}
        for way in order:
            new = frozenset(each for each in ways[way] if each not in self.known)
            tree, needs = self.search.refute(self.known, ways[way], self.done | {fact})
            if not needs & new:
                return tree, needs
            found[way] = (tree, needs - new)
        (first, one), (second, other) = found[0], found[1]
        return Split(fact, first, second), one | other | {fact}

    def _cases(self, term: int) -> _Found:
        trees: list[Tree] = []
        needs: frozenset[_Need] = frozenset(self.bank.eigens_in(term))
        for member in self.bank.enumerations[self.bank.sort(term)]:
            case = Fact(True, (), self.bank.number(b.EQUAL, "", (term, member)))
            tree, needed = self.search.refute(self.known, (case,), self.done | {term})
            if case not in needed:
                return tree, needed
            trees.append(tree)
            needs |= needed - {case}
        return CaseSplit(term, tuple(trees)), needs

    def _with_other_terms(self) -> bool:
        """Replace eigenvariables that the branch has not introduced by other terms, which serve as well."""
        for fact, terms in self._wanted():
            if not all(self.is_named(term) for term in terms):
                choices = [self._choices(term) for term in terms]
                for chosen in itertools.islice(itertools.product(*choices), 200):
                    self.instance(fact, chosen)
        return bool(self.todo)

    def _choices(self, term: int) -> list[int]:
        if self.is_named(term):
            return [term]
        sort = self.bank.sort(term)
        named = (each for each in self.known if not isinstance(each, Fact) and self.bank.sort(each) == sort)
        constants = (
            self.bank.number(b.APPLY, name)
            for name, (domain, result) in self.bank.functions.items()
            if not domain and result == sort
        )
        return [*named, *constants, *self.bank.enumerations.get(sort, ())]


# --------------------------------------------------------------------------------------------------
# Congruence closure: which terms are equal, which atoms the facts decide, and whether the facts contradict.


class Congruence:
    """The congruence closure of some facts. Facts that are no atoms are only compared by identity.

    ``contradiction`` has the facts that contradict each other modulo equality. It is empty if two members of an
    enumeration became equal, and ``None`` if there is no contradiction.
    """

    def __init__(self, bank: TermBank, facts: Iterable[Fact]) -> None:
        self._bank = bank
        self._leader: dict[int, int] = {}
        self._applied: dict[tuple[str, Env], int] = {}
        self._member: dict[int, int] = {}
        self._atoms: dict[tuple[str, Env], Fact] = {}
        self._closures: dict[Closure, Fact] = {}
        self.contradiction: tuple[Fact, ...] | None = None
        facts = list(facts)
        self._merge(facts)
        for term in self._leader:
            if self._bank.nodes[term].kind == b.MEMBER and self._member.setdefault(self._led(term), term) != term:
                self.contradiction = ()
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
        """Merge applications to equal arguments in one pass; return whether anything changed."""
        self._applied = {}
        joined_any = False
        for term in self._leader:
            kind, name, parts = self._bank.nodes[term]
            if kind == b.APPLY and parts:
                key = (name, tuple(map(self._led, parts)))
                joined_any |= self._join(self._applied.setdefault(key, term), term)
        return joined_any

    def representative(self, term: int) -> int:
        """Return the representative of the equivalence class of ``term``."""
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
        kind, name, parts = self._bank.nodes[fact.formula]
        if kind == b.CONST:
            if fact.sign != bool(parts[0]):
                self._contradict(fact)
        elif kind == b.HOLDS:
            before = self._atoms.setdefault((name, tuple(map(self._led, parts))), fact)
            if before.sign != fact.sign:
                self._contradict(before, fact)
        elif kind == b.EQUAL:
            left, right = map(self._led, parts)
            if not fact.sign and left == right:
                self._contradict(fact)
            if not fact.sign:
                self._atoms[b.EQUAL, (left, right)] = self._atoms[b.EQUAL, (right, left)] = fact
        else:
            before = self._closures.setdefault((fact.env, fact.formula), fact)
            if before.sign != fact.sign:
                self._contradict(before, fact)

    def _contradict(self, *facts: Fact) -> None:
        if self.contradiction is None:
            self.contradiction = facts

    # -- truth --------------------------------------------------------------------------------------

    def truth(self, env: Env, formula: int) -> bool | None:
        """Return the truth value of ``formula`` under ``env``, or None if the facts imply neither value."""
        known = self._closures.get((env, formula))
        return self._composed(env, formula) if known is None else known.sign

    def _composed(self, env: Env, formula: int) -> bool | None:
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
        return connective_value(kind, (partial(self.truth, env, part) for part in parts))

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
        """Return the truth value of ``fact``, or None if the facts imply neither value."""
        truth = self.truth(fact.env, fact.formula)
        return None if truth is None else truth == fact.sign

    def follows(self, fact: Fact) -> bool:
        """Whether ``fact`` follows from the truth values of its immediate subformulas."""
        return self._composed(fact.env, fact.formula) is fact.sign


# -- Finding a refutation of an obligation ---------------------------------------------------------


def find_refutation(obligation: Obligation, deadline: float = math.inf) -> list[Step]:
    """Return a refutation of an obligation.

    Raises NotFound if there is none, or the CPU time of the process, in seconds, reached ``deadline``.
    """
    bank = TermBank(obligation)
    grounding = Grounding(bank)
    wanted = proof_needs(grounding, deadline)
    if wanted is None:
        raise NotFound("no instances contradict each other")
    return list(steps_of(bank, Search(bank, wanted, grounding.named).refutation()))


# --------------------------------------------------------------------------------------------------
# From a tree to the steps that the kernel reads: facts are named by their places, eigenvariables are numbered in order.


class _At(NamedTuple):
    """The context of a subtree: the eigenvariables introduced so far, and the facts, the newest first."""

    named: tuple[int, ...]
    facts: tuple[Fact, ...]

    def with_facts(self, *new: Fact) -> _At:
        return self._replace(facts=new + self.facts)


def steps_of(bank: TermBank, tree: Tree) -> Iterator[Step]:
    """Yield the steps of a refutation in prefix order."""
    waiting: list[tuple[Tree, _At]] = [(tree, _At(bank.scope, ()))]
    while waiting:
        node, at = waiting.pop()
        step, rest = _step(bank, node, at)
        yield step
        waiting += reversed(rest)


def _step(bank: TermBank, node: Tree, at: _At) -> tuple[Step, list[tuple[Tree, _At]]]:
    """Return the step of a node, and its subtrees with their contexts."""
    match node:
        case UseHypothesis(hypothesis, rest):
            step: Step = ("use", (hypothesis,), (), ())
            return step, [(rest, at.with_facts(*bank.noted(True, bank.scope, bank.hypotheses[hypothesis])))]
        case Instantiate(fact, terms, rest):
            env, body = (*reversed(terms), *fact.env), bank.body(fact.formula, len(terms))
            step = ("instance", (at.facts.index(fact),), tuple(_term(bank, at, term) for term in terms), ())
            return step, [(rest, at.with_facts(*bank.noted(fact.sign, env, body)))]
        case IntroduceWitness(fact, named, rest):
            new = bank.noted(fact.sign, (named, *fact.env), bank.body(fact.formula))
            after = _At((*at.named, named), new + at.facts)
            return ("witness", (at.facts.index(fact),), (), ()), [(rest, after)]
        case Split(fact, first, second):
            one, other = bank.ways(fact)
            branches: list[tuple[Tree, _At]] = [(first, at.with_facts(*one)), (second, at.with_facts(*other))]
            return ("split", (at.facts.index(fact),), (), ()), branches
        case CaseSplit(term, each):
            members = bank.enumerations[bank.sort(term)]
            facts = [Fact(True, (), bank.number(b.EQUAL, "", (term, member))) for member in members]
            told = [(tree, at.with_facts(fact)) for tree, fact in zip(each, facts, strict=True)]
            return ("cases", (), (_term(bank, at, term),), ()), told
        case Close(facts, rewritings):
            return ("close", tuple(map(at.facts.index, facts)), (), rewritings), []


def _term(bank: TermBank, at: _At, term: int) -> checker.Node:
    kind, name, parts = bank.nodes[term]
    if kind == b.EIGEN:
        return kind, at.named.index(term), ()
    return kind, name, tuple(_term(bank, at, part) for part in parts)
