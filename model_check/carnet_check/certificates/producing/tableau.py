"""From the instances that contradict each other to a refutation: a tree of facts, pruned to what its ends use."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from carnet_check.certificates.producing import bank as b
from carnet_check.certificates.producing.bank import Bank, Closure, Env, Fact
from carnet_check.certificates.producing.closing import Closed, NotFound, closed
from carnet_check.certificates.producing.congruence import Congruence
from carnet_check.certificates.producing.instances import Needed

MOST_BRANCHES = 20_000

# -- refutations ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Used:
    """A hypothesis is taken note of."""

    hypothesis: int
    rest: Tree


@dataclass(frozen=True, slots=True)
class Instantiated:
    """A general fact is taken at terms."""

    fact: Fact
    terms: Env
    rest: Tree


@dataclass(frozen=True, slots=True)
class Witnessed:
    """An element of which a fact says that it exists is called by an eigenvariable."""

    fact: Fact
    named: int
    rest: Tree


@dataclass(frozen=True, slots=True)
class Branched:
    """A fact can be in two ways."""

    fact: Fact
    first: Tree
    second: Tree


@dataclass(frozen=True, slots=True)
class Told:
    """A term is one of the members of an enumeration."""

    term: int
    each: tuple[Tree, ...]


Tree = Used | Instantiated | Witnessed | Branched | Told | Closed
_Need = Fact | int
"""What a refutation needs: facts, and eigenvariables that have been named."""
_Found = tuple[Tree, frozenset[_Need]]


@dataclass(frozen=True, slots=True)
class _Applied:
    """A step with one consequence: it needs ``parents`` and adds ``added``."""

    step: Used | Instantiated | Witnessed
    parents: frozenset[_Need]
    added: frozenset[_Need]

    def before(self, rest: Tree) -> Tree:
        """Return the step, with ``rest`` after it."""
        match self.step:
            case Used(hypothesis):
                return Used(hypothesis, rest)
            case Instantiated(fact, terms):
                return Instantiated(fact, terms, rest)
            case Witnessed(fact, named):
                return Witnessed(fact, named, rest)


_NOTHING = Closed((), ())
"""Stands for what comes after a step while that is not known."""


class Search:
    """Looks for a refutation of the hypotheses of a bank."""

    def __init__(self, bank: Bank, needed: Needed, named: dict[Closure, int]) -> None:
        self.bank = bank
        self.needed = needed
        self.named = named
        """The eigenvariable of each closure that claims that something exists."""
        self.branches = 0
        self.of_goal = set(bank.noted(True, bank.scope, bank.hypotheses[-1]))
        """The facts that come from the goal alone: they are split first, since every other fact serves few of them."""

    def refutation(self) -> Tree:
        """Return a refutation.

        Raises:
            NotFound: there is none with the instances that are needed.
        """
        branch = _Branch(self, {}, frozenset())
        for place, formula in enumerate(self.bank.hypotheses):
            branch.apply(Used(place, _NOTHING), (), self.bank.noted(True, self.bank.scope, formula))
        tree, needs = branch.refuted()
        assert needs <= set(self.bank.scope), "a refutation rests on what nothing gives"
        return tree

    def refute(self, known: dict[_Need, None], added: Sequence[_Need], done: frozenset[_Need]) -> _Found:
        """Refute a branch that has further facts."""
        self.branches += 1
        if self.branches > MOST_BRANCHES:
            raise NotFound("more branches than any refutation should have")
        branch = _Branch(self, known, done)
        branch.take(added)
        return branch.refuted()


class _Branch:
    """A branch of a refutation: what it knows, and the steps that it has taken."""

    def __init__(self, search: Search, known: dict[_Need, None], done: frozenset[_Need]) -> None:
        self.search = search
        self.bank = search.bank
        self.known: dict[_Need, None] = dict(known) or dict.fromkeys(self.bank.scope)
        self.done = done
        """The facts that were split and the terms whose cases were told apart."""
        self.todo: list[Fact] = []
        self.taken: list[_Applied] = []

    def take(self, needs: Iterable[_Need]) -> None:
        """Take note of facts and names."""
        for each in needs:
            if each not in self.known:
                self.known[each] = None
                if isinstance(each, Fact):
                    self.todo.append(each)

    def apply(self, step: Used | Instantiated | Witnessed, parents: Iterable[_Need], added: Iterable[_Need]) -> None:
        """Take a step, if it adds anything."""
        new = frozenset(each for each in added if each not in self.known)
        if new:
            self.taken.append(_Applied(step, frozenset(parents), new))
            self.take(each for each in added if each in new)

    def finished(self, tree: Tree, needs: frozenset[_Need]) -> _Found:
        """Return a refutation with those of the steps before it that it needs."""
        for applied in reversed(self.taken):
            if needs & applied.added:
                tree, needs = applied.before(tree), (needs - applied.added) | applied.parents
        return tree, needs

    # -- steps with one consequence -----------------------------------------------------------------

    def expand(self) -> None:
        """Take every step with one consequence."""
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
            self.apply(Witnessed(fact, named, _NOTHING), (fact,), (named, *added))
            self._inherit(fact, added)

    def _inherit(self, fact: Fact, added: Iterable[Fact]) -> None:
        """What comes from a fact of the goal alone is one, too."""
        if fact in self.search.of_goal:
            self.search.of_goal.update(added)

    def _wanted(self) -> Iterator[tuple[Fact, Env]]:
        """Yield the general facts of the branch with the terms that they are needed at."""
        for fact in list(self.known):
            if isinstance(fact, Fact):
                wanted = self.search.needed.instances.get((fact.env, fact.formula), ())
                if wanted and self.bank.is_general(fact):
                    yield from ((fact, terms) for terms in wanted)

    def _instantiate(self) -> bool:
        for fact, terms in self._wanted():
            if all(self.is_named(term) for term in terms):
                self.instance(fact, terms)
        return bool(self.todo)

    def is_named(self, term: int) -> bool:
        """Whether the branch has named everything in a term."""
        return all(eigen in self.known for eigen in self.bank.eigens_in(term))

    def instance(self, fact: Fact, terms: Env) -> None:
        """Take a general fact at terms."""
        eigens = frozenset().union(*map(self.bank.eigens_in, terms))
        added = self.bank.noted(fact.sign, (*reversed(terms), *fact.env), self.bank.body(fact.formula, len(terms)))
        self.apply(Instantiated(fact, terms, _NOTHING), (fact, *eigens), added)

    # -- the rest -----------------------------------------------------------------------------------

    def refuted(self) -> _Found:
        """Return a refutation of this branch, and what it needs."""
        while True:
            self.expand()
            facts = [fact for fact in self.known if isinstance(fact, Fact)]
            congruence = Congruence(self.bank, facts)
            if congruence.contradiction is not None:
                end = closed(self.bank, facts, congruence.contradiction)
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
        """Return the fact to split: one way is known to be false, if possible, and it is short."""
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
        """Refute both ways, one that is known to be false first; a way that needs nothing new is enough."""
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
        return Branched(fact, first, second), one | other | {fact}

    def _cases(self, term: int) -> _Found:
        """Refute that a term is any of the members of its enumeration."""
        trees: list[Tree] = []
        needs: frozenset[_Need] = frozenset(self.bank.eigens_in(term))
        for member in self.bank.enumerations[self.bank.sort(term)]:
            case = Fact(True, (), self.bank.number(b.EQUAL, "", (term, member)))
            tree, needed = self.search.refute(self.known, (case,), self.done | {term})
            if case not in needed:
                return tree, needed
            trees.append(tree)
            needs |= needed - {case}
        return Told(term, tuple(trees)), needs

    def _with_other_terms(self) -> bool:
        """Replace eigenvariables that nothing is known of here by something else, which does as well."""
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
