"""Candidates for lemmas, by shape: they are read off the steps, claims and lemmas of a protocol, never off names.

A candidate is a guess. Nothing is claimed of it before an engine has proved it.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

from carnet_check.suggestion.facts import Rule, Write, deductive_closure, match_pattern, rules_in, rules_of, writes_of
from carnet_spec.language import Invariant, Protocol, Sort, Symbol, Term
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.notation import unused_name
from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    Implies,
    Not,
    Or,
    Truth,
    Var,
    conjunction,
    conjuncts,
    disjunction,
    free_variables,
    negation,
    sort_of,
    substitute,
    subterms,
    symbols_of,
)

MOST_PARAMETERS = 7  #: A lemma about more elements is not tried.
MOST_CONTEXTS = 20  #: How many premises that claims and lemmas share are put before what is known of a write.
OFTEN = 4  #: A fact that changes is such a premise by itself if so many claims and lemmas have it.


class Shape(StrEnum):
    """The pattern by which a candidate was found."""

    WRITTEN = "what holds where it is written"
    OWNER = "who has it is its owner"
    ONE = "at most one"
    ORDER = "order"
    DRAWN = "drawn before it is used"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A formula that may be a lemma, and the pattern by which it was found."""

    invariant: Invariant
    shape: Shape


@dataclass(frozen=True, slots=True)
class _Clause:
    shape: Shape
    premises: tuple[Term, ...]
    conclusion: Term


class Reader:
    """Reads candidates off one protocol; equal formulas get equal names.

    Args:
        protocol: what is read.
        assumed: clauses that are taken to hold, beside those that are stated, to see what follows from them.
        numbers: the number of each formula that was guessed before, which its name has.
    """

    def __init__(self, protocol: Protocol, assumed: Iterable[Rule], numbers: dict[Term, int]) -> None:
        self._protocol = protocol
        self._numbers = numbers
        self._stated = [rule for each in protocol.invariants for rule in rules_of(each.body)]
        self._rules = (*rules_in(protocol), *assumed)
        self._contexts = tuple(_contexts(protocol, self._stated))
        self._orders = _orders(protocol)
        self._letters = _letters(protocol)
        self._initial = {each.symbol: each for each in protocol.initial}

    @cached_property
    def _writes(self) -> Mapping[Symbol, list[Write]]:
        found: dict[Symbol, list[Write]] = defaultdict(list)
        for write in writes_of(self._protocol, self._rules):
            found[write.subject.symbol].append(write)
        return found

    @cached_property
    def _stated_clauses(self) -> frozenset[Term]:
        return frozenset(self.canonical_form(rule.premises, rule.conclusion)[1] for rule in self._stated)

    def about(self, symbol: Symbol) -> list[Candidate]:
        """Return the candidates about a mutable relation or function, each formula once."""
        return self._candidates(self._clauses(symbol))

    def plain(self) -> list[Candidate]:
        """Return the candidates from steps alone: a fact implies what holds after every step that inserts it."""
        writes = (write for symbol, writes in self._writes.items() if symbol.is_relation for write in writes)
        return self._candidates(
            _Clause(Shape.WRITTEN, (write.subject,), fact) for write in writes for fact in _near(write)
        )

    def _candidates(self, clauses: Iterable[_Clause]) -> list[Candidate]:
        found: dict[Term, Candidate] = {}
        for clause in clauses:
            named = self._named(clause)
            if named is not None and named[1] not in found and named[1] not in self._stated_clauses:
                number = self._numbers.setdefault(named[1], len(self._numbers))
                found[named[1]] = Candidate(Invariant(f"guess-{number}", *named), clause.shape)
        return list(found.values())

    def _clauses(self, symbol: Symbol) -> Iterator[_Clause]:
        """Yield every guess about a symbol, some of them more than once."""
        for write in self._writes.get(symbol, ()):
            yield from self._written(write)
            yield from self._in_context(write)
            yield from self._instances(write)
            yield from self._weakened(write)
        if symbol.is_relation:
            yield from self._either(symbol)
            yield from self._at_most_one(symbol)
            yield from self._one_holder(symbol)
            yield from self._two_kinds(symbol)
            yield from self._ordered(symbol)
        yield from self._drawn(symbol)

    # -- what holds where it is written ------------------------------------------------------------

    def _written(self, write: Write) -> Iterator[_Clause]:
        """A fact, or a value that is not the first, implies what holds after each step that writes it."""
        head, own = self._head(write), free_variables(write.subject)
        facts = _simple(write)
        for fact in facts:
            further = free_variables(fact) - own
            if not further:
                yield _Clause(Shape.WRITTEN, head, fact)
                continue
            for link in facts:
                if link != fact and _is_atom(link) and further <= free_variables(link) and free_variables(link) & own:
                    yield _Clause(Shape.WRITTEN, (*head, link), fact)

    def _head(self, write: Write) -> tuple[Term, ...]:
        if write.subject.symbol.is_relation:
            return (write.subject,)
        first = self._first_value(write.subject)
        return (negation(Equal(write.subject, first)),) if first is not None else ()

    def _first_value(self, place: Apply) -> Term | None:
        given = self._initial.get(place.symbol)
        return None if given is None else substitute(given.value, dict(zip(given.params, place.args, strict=True)))

    def _in_context(self, write: Write) -> Iterator[_Clause]:
        """Under premises that other statements have, too, a fact implies what holds where it is written."""
        head, own = self._head(write), free_variables(write.subject)
        facts = _simple(write)
        for context in self._contexts:
            if context.says(write.subject.symbol):
                continue
            for values in context.bindings((*facts, write.subject), own):
                given = context.at(values)
                spoken = own.union(*map(free_variables, given))
                for fact in facts:
                    if free_variables(fact) <= spoken and fact not in given:
                        yield _Clause(Shape.WRITTEN, (*head, *given), fact)
                yield from self._owned(head, context, values, own)

    def _owned(
        self, head: tuple[Term, ...], context: _Context, values: Mapping[Var, Term], own: frozenset[Var]
    ) -> Iterator[_Clause]:
        """The elements that a context names are those that the fact is about."""
        for var, value in values.items():
            if isinstance(value, Var) and value in own and var not in context.hubs:
                apart = Var(f"{var.name} apart", var.sort)
                yield _Clause(Shape.OWNER, (*head, *context.at({**values, var: apart})), Equal(value, apart))

    def _instances(self, write: Write) -> Iterator[_Clause]:
        """What was required for all elements holds for each, and so does what follows from that."""
        head, own = self._head(write), free_variables(write.subject)
        for rule in (rule for fact in write.facts if isinstance(fact, Forall) for rule in rules_of(fact)):
            given = tuple(part for part in rule.premises)
            spoken = own.union(*map(free_variables, given))
            for fact in deductive_closure((*write.facts, *given), self._rules):
                if _is_simple(fact) and free_variables(fact) <= spoken and free_variables(fact) - own:
                    yield _Clause(Shape.WRITTEN, (*head, *given), fact)
            yield _Clause(Shape.WRITTEN, (*head, *given), rule.conclusion)

    def _weakened(self, write: Write) -> Iterator[_Clause]:
        """What holds where it is written may hold until the order goes on."""
        head, own = self._head(write), free_variables(write.subject)
        near = _near(write)
        for var, value in _values_of(near, own):
            for past in self._order(var, value):
                yield _Clause(Shape.ORDER, head, past)
                facts = [fact for fact in near if isinstance(fact, Apply) or fact == Equal(var, value)]
                for context in (each for each in self._contexts if each.is_condition):
                    for values in context.bindings((), own):
                        given = context.at(values)
                        yield _Clause(Shape.ORDER, (*head, *given), past)
                        yield from (_Clause(Shape.ORDER, (*head, *given), disjunction((f, past))) for f in facts)
                yield from (_Clause(Shape.ORDER, head, disjunction((fact, past))) for fact in facts)

    def _either(self, symbol: Symbol) -> Iterator[_Clause]:
        """Where two kinds of step write a fact, it implies what one requires, or what the other does."""
        for one, other in itertools.combinations(self._writes.get(symbol, ()), 2):
            if one.action != other.action:
                yield from self._one_or_other(one, other)

    def _one_or_other(self, one: Write, other: Write) -> Iterator[_Clause]:
        moved = dict(zip(other.subject.args, one.subject.args, strict=True))
        own = free_variables(one.subject)
        theirs = [substitute(fact, {var: moved[var] for var in free_variables(fact)}) for fact in _near(other)]
        ours = _near(one)
        for fact in ours:
            for alternative in theirs:
                if fact not in theirs and alternative not in ours and free_variables(fact) <= own:
                    yield _Clause(Shape.WRITTEN, (one.subject,), disjunction((fact, alternative)))

    # -- at most one, order, drawn -----------------------------------------------------------------

    def _at_most_one(self, symbol: Symbol) -> Iterator[_Clause]:
        """Two facts that agree in other places, or in one, agree in this one."""
        one = _applied(symbol, "")
        for place, shared in _agreements(symbol):
            other = _applied(symbol, " too", {at: one.args[at] for at in shared})
            same = Equal(one.args[place], other.args[place])
            yield _Clause(Shape.ONE, (one, other), same)
            if len(shared) == len(symbol.domain) - 1:
                for given in self._about(symbol, free_variables(one) & free_variables(other)):
                    yield _Clause(Shape.ONE, (one, other, *given), same)

    def _one_holder(self, symbol: Symbol) -> Iterator[_Clause]:
        """Facts of two kinds about the same that was drawn are about the same in another place, too."""
        one = _applied(symbol, "")
        drawn = [arg for arg in one.args if sort_of(arg).fresh]
        for other in (each for each in self._changing if each != symbol and drawn):
            there = _applied(other, " too")
            shared: dict[Var, Term] = {}
            for arg in drawn:
                like = next((each for each in free_variables(there) if each.sort == sort_of(arg)), None)
                shared |= {like: arg} if like is not None else {}
            if shared:
                fact = substitute(there, shared)
                for left, right in itertools.product(one.args, there.args):
                    if sort_of(left) == sort_of(right) and not sort_of(left).fresh:
                        yield _Clause(Shape.ONE, (one, fact), Equal(left, right))

    def _two_kinds(self, symbol: Symbol) -> Iterator[_Clause]:
        """Facts of two kinds about the same sorts, none of them drawn, agree in one place if they do in all others."""
        one = _applied(symbol, "")
        if len(one.args) < 2 or any(sort.fresh for sort in symbol.domain):
            return
        for other in (each for each in self._changing if each != symbol and each.domain == symbol.domain):
            for place, arg in enumerate(one.args):
                there = _applied(other, " too", {at: each for at, each in enumerate(one.args) if at != place})
                yield _Clause(Shape.ONE, (one, there), Equal(arg, there.args[place]))

    @property
    def _changing(self) -> list[Symbol]:
        return [each for each in self._protocol.symbols if each.mutable and each.is_relation]

    def _about(self, symbol: Symbol, own: frozenset[Var]) -> Iterator[tuple[Term, ...]]:
        """Yield each context that says nothing of a symbol itself, about some of these variables."""
        for context in self._contexts:
            if not context.says(symbol):
                yield from (context.at(values) for values in context.bindings((), own))

    def _ordered(self, symbol: Symbol) -> Iterator[_Clause]:
        """Facts about elements in line: two facts stand in this order, or one is before a value."""
        for sort in dict.fromkeys(symbol.domain):
            if (order := self._orders.get(sort)) is not None:
                yield from self._against_values(symbol, order)
                for other in (each for each in self._changing if sort in each.domain):
                    yield from self._between(symbol, other, order)

    def _against_values(self, symbol: Symbol, order: Symbol) -> Iterator[_Clause]:
        fact = _applied(symbol, "")
        for var in (var for var in fact.args if sort_of(var) == order.domain[0]):
            for value in self._values(order.domain[0], free_variables(fact)):
                for said in self._order(var, value):
                    yield _Clause(Shape.ORDER, (fact,), said)
                    for given in self._about(symbol, free_variables(fact)):
                        yield _Clause(Shape.ORDER, (fact, *given), said)

    def _values(self, sort: Sort, own: frozenset[Var]) -> Iterator[Term]:
        """Yield each function into ``sort`` that changes, at some of these variables."""
        for symbol in self._protocol.symbols:
            if symbol.mutable and symbol.result == sort:
                choices = [[var for var in own if var.sort == each] for each in symbol.domain]
                for args in itertools.product(*choices):
                    yield Apply(symbol, args)

    def _between(self, one: Symbol, other: Symbol, order: Symbol) -> Iterator[_Clause]:
        left = _applied(one, "")
        right = _sharing(other, left, order.domain[0])
        ends = [[arg for arg in each.args if sort_of(arg) == order.domain[0]] for each in (left, right)]
        for first, second in itertools.product(*ends):
            if first == second:
                continue
            yield _Clause(Shape.ORDER, (left, right), Apply(order, (first, second)))
            yield _Clause(Shape.ORDER, (left, right), negation(Apply(order, (second, first))))
            if one == other:
                yield from self._monotone(left, right, Apply(order, (first, second)))

    def _monotone(self, left: Apply, right: Apply, before: Term) -> Iterator[_Clause]:
        """What stands in one order stands in another."""
        apart = [(a, b) for a, b in zip(left.args, right.args, strict=True)]
        for a, b in apart:
            order = self._orders.get(sort_of(a))
            if order is None or Apply(order, (a, b)) == before:
                continue
            moved = {b: Var("further", sort_of(b))} if a == b and isinstance(b, Var) else {}
            there = substitute(right, moved)
            said = Apply(order, (a, substitute(b, moved)))
            yield _Clause(Shape.ORDER, (left, there, before), said)
            for given in self._about(left.symbol, free_variables(left) & free_variables(there)):
                yield _Clause(Shape.ORDER, (left, there, before, *given), said)

    def _order(self, left: Term, right: Term) -> Iterator[Term]:
        """Yield what an order may say of two terms."""
        order = self._orders.get(sort_of(left))
        if order is not None:
            yield Apply(order, (left, right))
            yield Or((Equal(left, right), Apply(order, (left, right))))
            yield negation(Apply(order, (right, left)))
            yield negation(Apply(order, (left, right)))

    def _drawn(self, symbol: Symbol) -> Iterator[_Clause]:
        """Nothing is said of an element before it is drawn, and what belongs to it has its first value."""
        place = _applied(symbol, "")
        for var in (var for var in place.args if sort_of(var).fresh):
            drawn = used_symbol(sort_of(var))
            if symbol == drawn or drawn not in self._protocol.symbols:
                continue
            used = Apply(drawn, (var,))
            if symbol.is_relation:
                yield _Clause(Shape.DRAWN, (place,), used)
            elif (first := self._first_value(place)) is not None:
                yield _Clause(Shape.DRAWN, (negation(used),), Equal(place, first))

    # -- as invariants -----------------------------------------------------------------------------

    def _named(self, clause: _Clause) -> tuple[tuple[Var, ...], Term] | None:
        """Return a clause with the variables that authors use, or nothing if it says nothing or too much."""
        premises = tuple(dict.fromkeys(part for each in clause.premises for part in conjuncts(each)))
        trivial = clause.conclusion in premises or any(negation(part) in premises for part in premises)
        if trivial or _is_trivial(clause.conclusion):
            return None
        params, body = self.canonical_form(premises, clause.conclusion)
        return None if len(params) > MOST_PARAMETERS else (params, body)

    def canonical_form(self, premises: tuple[Term, ...], conclusion: Term) -> tuple[tuple[Var, ...], Term]:
        """Return parameters and a formula that do not depend on the names of the variables."""
        ordered = tuple(sorted(premises, key=_weight))
        body = Implies(conjunction(ordered), conclusion) if ordered else conclusion
        free = free_variables(body)
        variables = dict.fromkeys(sub for sub in subterms(body) if isinstance(sub, Var) and sub in free)
        taken = {symbol.name for symbol in self._protocol.symbols}
        names: dict[Var, Term] = {}
        for var in variables:
            letters = self._letters.get(var.sort, [var.sort.name[0].lower()])
            name = next((each for each in letters if each not in taken), None) or unused_name(letters[0], taken)
            taken.add(name)
            names[var] = Var(name, var.sort)
        return tuple(each for each in names.values() if isinstance(each, Var)), substitute(body, names)


# -- what is read --------------------------------------------------------------------------------------


def _simple(write: Write) -> list[Term]:
    return [fact for fact in write.facts if _is_simple(fact) and fact != write.subject]


def _near(write: Write) -> list[Term]:
    return [fact for fact in _simple(write) if free_variables(fact) <= free_variables(write.subject)]


def _is_simple(fact: Term) -> bool:
    return not _is_trivial(fact) and not any(isinstance(sub, Forall | Exists) for sub in subterms(fact))


def _is_trivial(fact: Term) -> bool:
    match fact:
        case Equal(left, right):
            return left == right
        case Or(parts):
            return any(_is_trivial(part) or negation(part) in parts for part in parts)
        case Implies(premise, conclusion):
            return premise == conclusion or _is_trivial(conclusion)
        case _:
            return isinstance(fact, Truth)


def _is_atom(term: Term) -> bool:
    return isinstance(term, Apply) and term.symbol.is_relation


@lru_cache(maxsize=100_000)
def _weight(term: Term) -> tuple[bool, int, list[str]]:
    """Order premises: facts with many elements first, rigid facts last."""
    fact = isinstance(term, Apply) and term.symbol.mutable
    return not fact, -len(free_variables(term)), sorted(symbol.name for symbol in symbols_of(term))


def _applied(symbol: Symbol, mark: str, given: Mapping[int, Term] | None = None) -> Apply:
    """Return a symbol at variables of its own, but for the arguments that are given."""
    known = given or {}
    own = (Var(f"{sort.name} {place}{mark}", sort) for place, sort in enumerate(symbol.domain))
    return Apply(symbol, tuple(known.get(place, var) for place, var in enumerate(own)))


def _sharing(symbol: Symbol, left: Apply, apart: Sort) -> Apply:
    """Return a symbol at the arguments of another fact, sort by sort, but for elements of the sort ``apart``."""
    free = [arg for arg in left.args if sort_of(arg) != apart]
    args: list[Term] = []
    for place, sort in enumerate(symbol.domain):
        shared = next((arg for arg in free if sort_of(arg) == sort), None)
        args.append(Var(f"{sort.name} {place} too", sort) if shared is None else shared)
        free = [arg for arg in free if arg is not shared]
    return Apply(symbol, tuple(args))


def _agreements(symbol: Symbol) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield a place, and places in which two facts have to agree to agree there: all others, or one."""
    places = range(len(symbol.domain))
    for place in places:
        others = tuple(each for each in places if each != place)
        yield place, others
        if len(others) > 1:
            yield from ((place, (each,)) for each in others)


def _values_of(facts: Sequence[Term], own: frozenset[Var]) -> Iterator[tuple[Var, Term]]:
    """Yield each variable that a fact says is a value which changes, and the value."""
    for fact in facts:
        if isinstance(fact, Equal):
            for var, value in ((fact.left, fact.right), (fact.right, fact.left)):
                if isinstance(var, Var) and var in own and isinstance(value, Apply) and value.symbol.mutable:
                    yield var, value


def _orders(protocol: Protocol) -> dict[Sort, Symbol]:
    """Return for each sort a relation between its elements that never changes and is transitive by an axiom."""
    found: dict[Sort, Symbol] = {}
    for rule in (rule for axiom in protocol.axioms for rule in rules_of(axiom.formula)):
        match rule:
            case Rule((Apply(one, (a, b)), Apply(two, (c, d))), Apply(three, (e, f))) if one == two == three:
                if (b, a, d) == (c, e, f):
                    found.setdefault(one.domain[0], one)
    return found


def _letters(protocol: Protocol) -> dict[Sort, list[str]]:
    """Return what the parameters of each sort are called, most often first."""
    counted: dict[Sort, Counter[str]] = defaultdict(Counter)
    listed = [each.params for each in protocol.actions] + [each.params for each in protocol.invariants]
    for var in itertools.chain.from_iterable(listed):
        counted[var.sort][var.name] += 1
    return {sort: [name for name, _ in names.most_common()] for sort, names in counted.items()}


@dataclass(frozen=True, slots=True)
class _Context:
    """Premises that may stand before what is guessed."""

    parts: tuple[Term, ...]  #: the premises, over variables of their own.
    hubs: frozenset[Var]  #: the variables that all premises which change are about.

    @property
    def is_condition(self) -> bool:
        """Whether it is one fact about one element, which never changes."""
        return len(self.parts) == 1 and not _changes(self.parts[0]) and len(self.hubs) == 1

    def says(self, symbol: Symbol) -> bool:
        """Whether it speaks of ``symbol``."""
        return any(symbol in symbols_of(part) for part in self.parts)

    def at(self, values: Mapping[Var, Term]) -> tuple[Term, ...]:
        """Return the premises about these elements."""
        return tuple(substitute(part, values) for part in self.parts)

    def bindings(self, facts: Sequence[Term], own: frozenset[Var]) -> Iterator[dict[Var, Term]]:
        """Yield values for which it is about one of ``own`` alone, and then about facts as far as may be."""
        for hub in self.hubs:
            for var in (each for each in own if each.sort == hub.sort):
                values: dict[Var, Term] = {hub: var}
                yield values
                for part in self.parts:
                    found = (match_pattern(part, fact, values) for fact in facts)
                    values = next((each for each in found if each is not None), values)
                if len(values) > 1:
                    yield values


def _contexts(protocol: Protocol, stated: Iterable[Rule]) -> Iterator[_Context]:
    """Yield premises that may stand before what is guessed, most often met first.

    They are single facts that never change, and what the premises of a claim or lemma are, one of them left out.
    """
    counted: Counter[tuple[Term, ...]] = Counter()
    for rule in stated:
        literals = tuple(part for part in rule.premises if not isinstance(part, Or | And | Forall | Exists))
        counted.update(_numbered((part,)) for part in literals if _is_rigid_literal(part))
        for left_out in (*range(len(literals)), len(literals)):
            rest = literals[:left_out] + literals[left_out + 1 :]
            if len(rest) <= 3 and (len(rest) > 1 or any(map(_changes, rest))):
                counted[_numbered(tuple(sorted(rest, key=_weight)))] += 1
    for action in protocol.actions:
        guards = (part for guard in action.guards for part in conjuncts(guard.formula))
        counted.update(_numbered((part,)) for part in guards if _is_rigid_literal(part))
    often = (
        parts for parts, times in counted.most_common() if len(parts) > 1 or times >= OFTEN or not _changes(parts[0])
    )
    contexts = (_Context(parts, _hubs(parts)) for parts in often)
    yield from itertools.islice((each for each in contexts if each.hubs), MOST_CONTEXTS)


def _hubs(parts: Sequence[Term]) -> frozenset[Var]:
    changing = [part for part in parts if _changes(part)] or parts
    shared = frozenset.intersection(*(free_variables(part) for part in changing))
    return shared


def _changes(term: Term) -> bool:
    return any(symbol.mutable for symbol in symbols_of(term))


def _is_rigid_literal(term: Term) -> bool:
    body = term.body if isinstance(term, Not) else term
    return isinstance(body, Apply | Equal) and not _changes(term) and len(free_variables(term)) == 1


def _numbered(parts: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return formulas with variables called after the order in which they are met."""
    met = dict.fromkeys(sub for part in parts for sub in subterms(part) if isinstance(sub, Var))
    names: dict[Var, Term] = {var: Var(f"context {number}", var.sort) for number, var in enumerate(met)}
    return tuple(substitute(part, names) for part in parts)
