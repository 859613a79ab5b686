"""Layout: a state as one Python integer, with bits only for places that ever changed.

A **place** is one mutable symbol at one row. It gets a field of bits when a step first gives it another value than in
the first state; until then it is a constant. A field holds the number of the place's value, and number 0 is the value
in the first state. So the first state is 0, and a state keeps its integer when fields are added later.

Readers of places register patterns of rows, and are notified of every new field. An answer that was computed for some
value of the bits read so far stays valid, since it was computed for states in which all new bits are 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol as Shape

from carnet_check.semantics import State
from carnet_spec.language import Action, GuardKind, Instance, Protocol, Row, Symbol, Term, Update, terms
from carnet_spec.language.analysis.polarity import signed_parts
from carnet_spec.language.expressions import used_symbol

WORD = 64  #: The bits of a machine word; no field crosses the boundary of two words.

Value = str | bool  #: The value of a place: an element of a sort, or whether a relation holds there.

Pattern = tuple[frozenset[str] | None, ...]  #: For each argument, the elements that it may be; None allows any.


def matches(pattern: Pattern, row: Row) -> bool:
    """Whether a row matches the pattern."""
    return all(allowed is None or element in allowed for allowed, element in zip(pattern, row, strict=True))


@dataclass(eq=False, slots=True)
class Place:
    """One mutable symbol at one row; ``mask`` is 0 as long as it has no field."""

    symbol: Symbol
    row: Row
    values: tuple[Value, ...]
    shift: int = 0
    mask: int = 0
    #: Callbacks for when the place gets a field: writing its first value is a change from then on.
    unclear: dict[Callable[[], None], None] = field(default_factory=dict)

    def bits(self, value: Value) -> int:
        """Return the bits of the field for a value."""
        return self.values.index(value) << self.shift


class Table:
    """One symbol, in the form that generated code reads."""

    def __init__(self, symbol: Symbol, places: dict[Row, Place]) -> None:
        self.symbol = symbol
        self.places = places
        self.masks = dict.fromkeys(places, 0)  # the bits of each place
        self.first = frozenset(row for row, place in places.items() if place.values[0] is True)
        """The rows for which a relation holds in the first state."""
        self.elements = {row: {0: place.values[0]} for row, place in places.items()}
        """The value of each place, by its field in place."""
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def index(self, known: tuple[int, ...]) -> dict[Row, list[Row]]:
        """Map the elements at the ``known`` positions to the elements at the other positions of possible rows."""
        if known not in self._indexes:
            self._indexes[known] = {}
            for row, mask in self.masks.items():
                if mask or row in self.first:
                    _enter(self._indexes[known], known, row)
        return self._indexes[known]

    def widen(self, place: Place) -> None:
        """Update the table after a place got a field."""
        self.masks[place.row] = place.mask
        self.elements[place.row] = {number << place.shift: value for number, value in enumerate(place.values)}
        if place.row not in self.first:
            for known, index in self._indexes.items():
                _enter(index, known, place.row)


def _enter(index: dict[Row, list[Row]], known: tuple[int, ...], row: Row) -> None:
    key = tuple(row[position] for position in known)
    rest = tuple(element for position, element in enumerate(row) if position not in known)
    index.setdefault(key, []).append(rest)


class Grouping(Shape):
    """Decides which places get their fields together."""

    def orbit(self, place: Place) -> Sequence[Place]:
        """Return the places that get their fields together with ``place``, itself included."""

    def take(self, orbit: Sequence[Place]) -> None:
        """Update the grouping after the places of an orbit got their fields."""


class Layout:
    """All places of a protocol on an instance; ``start`` is the first state before any deduction."""

    def __init__(self, protocol: Protocol, instance: Instance, start: State) -> None:
        self.instance = instance
        self.tables = {
            symbol.name: Table(symbol, _places(symbol, instance, start))
            for symbol in protocol.symbols
            if symbol.mutable
        }
        budget = instance.budget
        self.spent = 0 if budget is None else (1 << budget.bit_length()) - 1
        """The lowest bits count what the adversary has spent."""
        self.bits = self.spent.bit_length()
        self.grouping: Grouping | None = None  #: decides which places get their fields together; by default each alone.
        self._fields: list[Place] = []
        self._readers: dict[str, list[tuple[Pattern, Callable[[int], None]]]] = {}

    @property
    def fields(self) -> list[tuple[str, Row]]:
        """The places with a field, in the order in which they got it; this order determines the encoding of states."""
        return [(place.symbol.name, place.row) for place in self._fields]

    def give_fields(self, fields: Iterable[tuple[str, Row]]) -> None:
        """Give places their fields in the order of another layout of the same instance.

        Raises LookupError if a place does not exist.
        """
        for name, row in fields:
            place = self.tables[name].places[row]
            if not place.mask:
                self._give_fields(place)

    def on_growth(self, symbol: str, pattern: Pattern, tell: Callable[[int], None]) -> None:
        """Call ``tell`` with the mask of every place matching the pattern that has a field, now and later."""
        self._readers.setdefault(symbol, []).append((pattern, tell))
        for place in self._fields:
            if place.symbol.name == symbol and matches(pattern, place.row):
                tell(place.mask)

    def masks_for(self, writes: Iterable[tuple[Place, Value]], forget: Callable[[], None]) -> tuple[int, int]:
        """Return masks such that ``(s | first) ^ second`` is ``s`` after the writes, giving places fields.

        ``forget`` is called when a place that was written with its first value gets a field: the masks then lack it.
        """
        touched = cleared = 0
        for place, value in writes:
            number = place.values.index(value)
            if not place.mask:
                if not number:
                    place.unclear[forget] = None
                    continue
                self._give_fields(place)
            touched |= place.mask
            cleared |= place.mask & ~(number << place.shift)
        return touched, cleared

    def encode(self, state: State) -> int:
        """Return the integer of a state; places without a field are ignored."""
        packed = state.spent if self.spent else 0
        for place in self._fields:
            name = place.symbol.name
            held: Value = (
                place.row in state.relations[name] if place.symbol.is_relation else state.functions[name][place.row]
            )
            packed |= place.bits(held)
        return packed

    def _give_fields(self, place: Place) -> None:
        orbit = (place,) if self.grouping is None else self.grouping.orbit(place)
        for each in orbit:
            self._give_field(each)
        if self.grouping is not None:
            self.grouping.take(orbit)

    def _give_field(self, place: Place) -> None:
        width = (len(place.values) - 1).bit_length()
        self.bits += WORD - self.bits % WORD if self.bits % WORD + width > WORD else 0
        place.shift = self.bits
        place.mask = ((1 << width) - 1) << place.shift
        self.bits += width
        self._fields.append(place)
        self.tables[place.symbol.name].widen(place)
        for pattern, tell in self._readers.get(place.symbol.name, ()):
            if matches(pattern, place.row):
                tell(place.mask)
        for forget in place.unclear:
            forget()
        place.unclear.clear()


def _places(symbol: Symbol, instance: Instance, start: State) -> dict[Row, Place]:
    places = {}
    for row in itertools.product(*(instance.of(sort) for sort in symbol.domain)):
        if symbol.is_relation:
            first = row in start.relations[symbol.name]
            values: Sequence[Value] = (first, not first)
        else:
            at = start.functions[symbol.name][row]
            values = (at, *(element for element in instance.of(symbol.result) if element != at))
        places[row] = Place(symbol, row, tuple(values))
    return places


# -- Folding: partial evaluation of formulas with the rigid facts of an instance -------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """A formula and the truth value that it must have."""

    term: Term
    wanted: bool
    needs: frozenset[str]


def conditions_in(term: Term, wanted: bool = True) -> list[Condition]:
    """Split a formula (or its negation) into conditions that must all be met."""
    return [
        Condition(part, sign, frozenset(var.name for var in terms.free_variables(part)))
        for part, sign in signed_parts(term, wanted)
    ]


class Folding:
    """Replaces closed rigid terms by their values; an element is written as a member of its sort."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def term(self, term: Term) -> Term:
        """Fold a term."""
        if isinstance(term, terms.Var | terms.Member | terms.Truth):
            return term
        folded = terms.rebuild(term, self.term)
        match folded:
            case terms.Apply(symbol, args) if not symbol.mutable:
                return self._rigid(symbol, args)
            case terms.Equal(terms.Member(_, left), terms.Member(_, right)):
                return terms.Truth(left == right)
            case terms.Equal(left, right) if left == right:
                return terms.TRUE
            case terms.Not(body):
                return terms.negation(body)
            case terms.And(parts):
                return terms.conjunction(parts)
            case terms.Or(parts):
                return terms.disjunction(parts)
            case terms.Implies(premise, conclusion) if terms.TRUE in (premise, conclusion) or terms.FALSE in (
                premise,
                conclusion,
            ):
                return terms.disjunction((terms.negation(premise), conclusion))
            case terms.IfThenElse(terms.Truth(value), then, otherwise):
                return then if value else otherwise
            case terms.Forall(bound, terms.Truth(value)):
                return terms.Truth(value or self._is_empty(bound))
            case terms.Exists(bound, terms.Truth(value)):
                return terms.Truth(value and not self._is_empty(bound))
            case _:
                return folded

    def action(self, action: Action) -> Action:
        """Fold the guards and updates of an action."""
        return replace(
            action,
            guards=tuple(replace(guard, formula=self.term(guard.formula)) for guard in action.guards),
            updates=tuple(
                replace(
                    update,
                    args=tuple(self.term(arg) for arg in update.args),
                    value=None if update.value is None else self.term(update.value),
                    when=self.term(update.when),
                )
                for update in action.updates
            ),
        )

    def domain(self, var: terms.Var, pool: Row, tests: Sequence[Condition]) -> Row:
        """Return the elements of the pool that satisfy all conditions on this variable alone."""
        decided = [test for test in tests if test.needs == {var.name} and not reads_mutable_symbol(test.term)]
        return tuple(
            element
            for element in pool
            if all(
                self.term(terms.substitute(test.term, {var: terms.Member(var.sort, element)}))
                != terms.Truth(not test.wanted)
                for test in decided
            )
        )

    def domains(self, variables: Sequence[terms.Var], tests: Sequence[Condition]) -> dict[str, Row]:
        """Return the possible elements of variables that range over their sorts."""
        return {var.name: self.domain(var, self.instance.of(var.sort), tests) for var in variables}

    def _rigid(self, symbol: Symbol, args: tuple[Term, ...]) -> Term:
        row = tuple(arg.name for arg in args if isinstance(arg, terms.Member))
        if len(row) < len(args):
            return terms.Apply(symbol, args)
        if symbol.is_relation:
            return terms.Truth(row in self.instance.relations.get(symbol.name, frozenset()))
        return terms.Member(symbol.result, self.instance.functions[symbol.name][row])

    def _is_empty(self, bound: Sequence[terms.Var]) -> bool:
        return any(not self.instance.of(var.sort) for var in bound)


def reads_mutable_symbol(term: Term) -> bool:
    """Whether a term reads a mutable symbol."""
    return any(symbol.mutable for symbol in terms.symbols_of(term))


# --------------------------------------------------------------------------------------------------
# Patterns: the places that a formula may read and an update may write, for all values of variables.

Domains = Mapping[str, Row]  #: The possible elements of each variable.

Read = tuple[str, Pattern]  #: The name of a mutable symbol, and the pattern of the rows that are read.


def read_by(term: Term, domains: Domains, folding: Folding) -> Iterator[Read]:
    """Yield the places that a term reads."""
    match term:
        case terms.Exists(bound, body):
            domains = {**domains, **folding.domains(bound, conditions_in(body, True))}
        case terms.Forall(bound, body):
            domains = {**domains, **folding.domains(bound, conditions_in(body, False))}
        case terms.Apply(symbol, args) if symbol.mutable:
            yield symbol.name, pattern_of(args, domains, folding.instance)
    for child in terms.children(term):
        yield from read_by(child, domains, folding)


def read_by_guards(action: Action, domains: Domains, folding: Folding) -> Iterator[Read]:
    """Yield the places that decide whether an action is enabled."""
    for guard in action.guards:
        if guard.kind is not GuardKind.FRESH:
            yield from read_by(guard.formula, domains, folding)
    for var in action.fresh:
        yield used_symbol(var.sort).name, (frozenset(domains[var.name]),)


def read_by_update(update: Update, domains: Domains, folding: Folding) -> Iterator[Read]:
    """Yield the places that decide whether, where and what an update writes."""
    for term in (*update.args, update.when, *([] if update.value is None else [update.value])):
        yield from read_by(term, domains, folding)


def pattern_of(args: Iterable[Term], domains: Domains, instance: Instance) -> Pattern:
    """Return the pattern of the possible values of arguments."""
    return tuple(_elements(arg, domains, instance) for arg in args)


def overlap(one: Pattern, other: Pattern) -> bool:
    """Whether some row may match both patterns."""
    pairs = zip(one, other, strict=True)
    return all(left is None or right is None or not left.isdisjoint(right) for left, right in pairs)


def _elements(term: Term, domains: Domains, instance: Instance) -> frozenset[str] | None:
    match term:
        case terms.Var(name, sort):
            known = domains.get(name)
            return None if known is None or known == instance.of(sort) else frozenset(known)
        case terms.Member(_, name):
            return frozenset((name,))
        case _:
            return None


# -- Cone of influence: places that nothing reads need not be part of the state --------------------
#
# A place is relevant if an invariant, a goal or a guard reads it, or if it decides whether, where or what an update of
# a relevant place writes. Two states that agree on the relevant places enable the same steps, which lead to states
# that agree again, and both satisfy the same invariants and goals: agreement on relevant places is a bisimulation. So
# leaving the others out loses no violation, no goal and no shortest trace; it only merges states that agree on all
# relevant places.


class Relevance:
    """The relevant places; without watched rows, all of them."""

    def __init__(self) -> None:
        self._patterns: dict[str, list[Pattern]] | None = None
        self._places: dict[str, dict[Row, Place]] = {}

    @staticmethod
    def of(
        watched: Iterable[tuple[str, Pattern]],
        actions: Sequence[Action],
        domains: Mapping[str, Domains],
        folding: Folding,
    ) -> Relevance:
        """Compute the places that matter to the ``watched`` rows and to the enabledness of steps."""
        found = Relevance()
        found._patterns = {}
        found._add(watched)
        for action in actions:
            found._add(read_by_guards(action, domains[action.name], folding))
        waiting = [(update, domains[action.name]) for action in actions for update in action.updates]
        matter = True
        while matter:
            matter = False
            for update, known in list(waiting):
                if found.of_update(update, known, folding):
                    waiting.remove((update, known))
                    found._add(read_by_update(update, known, folding))
                    matter = True
        return found

    def patterns(self, symbol: str) -> Sequence[Pattern]:
        """Return the relevant rows of a symbol; empty if all places of all symbols are relevant."""
        return () if self._patterns is None else self._patterns.get(symbol, ())

    def of_place(self, symbol: str, row: Row) -> bool:
        """Whether one place is relevant."""
        return self._patterns is None or any(matches(pattern, row) for pattern in self._patterns.get(symbol, ()))

    def places(self, table: Table) -> Mapping[Row, Place]:
        """Return the relevant places of a symbol by their rows; ``table`` has all of them."""
        name = table.symbol.name
        if name not in self._places:
            self._places[name] = {row: place for row, place in table.places.items() if self.of_place(name, row)}
        return self._places[name]

    def of_update(self, update: Update, domains: Domains, folding: Folding) -> bool:
        """Whether an update may write a relevant place."""
        if self._patterns is None:
            return True
        written = pattern_of(update.args, domains, folding.instance)
        return any(overlap(written, pattern) for pattern in self._patterns.get(update.symbol.name, ()))

    def _add(self, reads: Iterable[tuple[str, Pattern]]) -> None:
        assert self._patterns is not None
        for symbol, pattern in reads:
            known = self._patterns.setdefault(symbol, [])
            if pattern not in known:
                known.append(pattern)
