"""What random protocols speak of: sorts, symbols and roles, under names that invite confusion."""

import functools
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

from carnet_spec.language import Individual, Kind, Role, Sort, Symbol, member
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import BOOL, Var

#: Joined with a number, a name with one of these endings makes another name of the same beginning.
ENDINGS = ("", "1", "2", "11", "12", "_1", "3", "4", "21", "5", "6", "13")
#: Names like those that tools make up, and words of the languages that tools write.
ODD = (
    "$on.update 0",
    "$any.x0.Party",
    "$par.x.Party",
    "c0",
    "e1",
    "x'",
    "k!0",
    "used_key1",
    "and",
    "lambda",
    "a b",
    "x.1",
    "$now.key",
    "",
)
VARIABLES = ("x", "y", "key", "key1", "each_party", "c0")
HONEST, THIEF = Role("party"), Role("thief", honest=False)

Scope = tuple[Var, ...]
Option = TypeVar("Option")


def draw_in(options: Sequence[Option]) -> st.SearchStrategy[Option]:
    """Draw one of some options."""
    return _sampled(tuple(options), tuple(map(type, options)))


@functools.lru_cache(10_000)
def _sampled(options: tuple[Option, ...], kinds: tuple[type, ...]) -> st.SearchStrategy[Option]:
    """Return the strategy, which Hypothesis looks at once; options of other ``kinds`` may be equal, as 0 and False."""
    return st.sampled_from(options)


@dataclass(frozen=True)
class Words:
    """The sorts and symbols of one protocol, and what is known about them beforehand."""

    sorts: tuple[Sort, ...]
    enumerations: tuple[Sort, ...]
    rigid: tuple[Symbol, ...]
    facts: tuple[Symbol, ...]  #: Relations that actions write.
    derived: tuple[Symbol, ...]  #: Relations that rules insert, so that nothing may deny them.
    places: tuple[Symbol, ...]  #: Functions and variables that actions write.
    unset: frozenset[Symbol]  #: Those of ``places`` that have no initial value.
    classes: dict[Sort, type[Individual]] = field(compare=False)

    @property
    def used(self) -> tuple[Symbol, ...]:
        """The relations that remember what was drawn."""
        return tuple(used_symbol(sort) for sort in self.sorts if sort.fresh)

    @property
    def ranges(self) -> tuple[Sort, ...]:
        """The sorts that quantifiers and parameters range over: those that something is said of."""
        spoken = {sort for symbol in self.symbols for sort in (*symbol.domain, symbol.result)}
        return tuple(sort for sort in self.sorts + self.enumerations if sort in spoken) or self.sorts

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Everything that formulas may read."""
        return self.rigid + self.facts + self.derived + self.places + self.used

    @property
    def relations(self) -> tuple[Symbol, ...]:
        """The symbols that are true or false."""
        return tuple(symbol for symbol in self.symbols if symbol.is_relation)

    @property
    def functions(self) -> tuple[Symbol, ...]:
        """The symbols that have a value."""
        return tuple(symbol for symbol in self.symbols if not symbol.is_relation)


def sort_class(sort: Sort) -> type[Individual]:
    """Return the class that a specification would declare ``sort`` by."""
    marks = {name: member() for name in sort.members or ()}
    made: type[Individual] = types.new_class(
        sort.name, (Individual,), {"fresh": sort.fresh} if sort.fresh else {}, lambda body: body.update(marks)
    )
    return made


@st.composite
def words(draw: st.DrawFn) -> Words:
    """Draw the vocabulary of a protocol."""
    names = draw(_names())
    parties = Sort("Party")
    sorts = [parties]
    if draw(st.integers(0, 9)) < 7:
        sorts.append(Sort(draw(draw_in(("Key", "Key1"))), None, draw(draw_in((True, True, False)))))
    enumerations = [Sort("Phase", ("IDLE", "BUSY", "DONE")[: draw(draw_in((2, 3)))])] if draw(st.booleans()) else []
    plain = [sort for sort in sorts if not sort.fresh]  # what is rigid may not tell apart what is drawn
    taken = iter(names)
    rigid = [draw(_rigid(next(taken), plain)) for _ in range(draw(draw_in((1, 2, 0, 3))))]
    facts = [draw(_fact(next(taken), sorts, enumerations)) for _ in range(draw(draw_in((2, 1, 3))))]
    derived = [draw(_fact(next(taken), sorts, [], Kind.KNOWLEDGE)) for _ in range(draw(draw_in((0, 0, 1, 2))))]
    places = [draw(_place(next(taken), sorts, enumerations)) for _ in range(draw(draw_in((0, 1, 0, 1, 2))))]
    unset = frozenset(place for place in places if draw(draw_in((True, False))))
    all_sorts = (*sorts, *enumerations)
    return Words(
        tuple(sorts),
        tuple(enumerations),
        tuple(rigid),
        tuple(facts),
        tuple(derived),
        tuple(places),
        unset,
        {sort: sort_class(sort) for sort in all_sorts},
    )


@st.composite
def _names(draw: st.DrawFn) -> list[str]:
    """Draw names in an order: everyday ones that begin alike, as elements do, or, once in a while, odd ones."""
    if draw(st.integers(0, 11)) == 11:
        return list(draw(st.permutations(ODD)))
    base = draw(draw_in(("key", "party", "a")))
    return [base + ending for ending in draw(st.permutations(ENDINGS))]


def _symbol(name: str, domain: Sequence[Sort], result: Sort, kind: Kind, mutable: bool = True) -> Symbol:
    role = HONEST if kind is Kind.STATE else None
    return Symbol(name, tuple(domain), result, kind, mutable, role)


@st.composite
def _rigid(draw: st.DrawFn, name: str, sorts: list[Sort]) -> Symbol:
    """Draw a rigid relation, constant or function; constants are what may coincide."""
    sort = draw(draw_in(sorts))
    shape = draw(draw_in(("truth", "constant", "relation", "constant", "function", "flag", "order")))
    if shape == "constant":
        return _symbol(name, (), sort, Kind.PUBLIC, mutable=False)
    if shape == "function":
        return _symbol(name, (sort,), draw(draw_in(sorts)), Kind.PUBLIC, mutable=False)
    if shape == "flag":
        return _symbol(name, (), BOOL, Kind.TRUTH, mutable=False)
    domain = (sort, sort) if shape == "order" else (sort,)
    return _symbol(name, domain, BOOL, Kind.TRUTH if shape == "truth" else Kind.PUBLIC, mutable=False)


@st.composite
def _fact(draw: st.DrawFn, name: str, sorts: list[Sort], enumerations: list[Sort], kind: Kind = Kind.STATE) -> Symbol:
    """Draw a relation that changes; two and three arguments of one sort are wanted."""
    last = sorts[-1]
    shapes = [(sorts[0],), (last,), (sorts[0], last), (sorts[0], sorts[0]), (), (last, last)]
    shapes += [(sorts[0], sorts[0], sorts[0]), (sorts[0], last, last)]
    shapes += [(sorts[0], enumeration) for enumeration in enumerations]
    return _symbol(name, draw(draw_in(shapes)), BOOL, kind)


@st.composite
def _place(draw: st.DrawFn, name: str, sorts: list[Sort], enumerations: list[Sort]) -> Symbol:
    """Draw a variable or a function that changes."""
    results = [*enumerations, *sorts]
    domain = draw(draw_in(((), (), (sorts[0],), (sorts[-1],))))
    return _symbol(name, domain, draw(draw_in(results)), Kind.STATE)
