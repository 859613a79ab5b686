"""Sorts, roles and symbols that the tests of the language share, and finite structures drawn at random."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from carnet_spec.language import *
from carnet_spec.language.terms import *


class Agent(Individual):
    """An agent."""


class Key(Individual, fresh=True):
    """A key."""


class Phase(Individual):
    """A phase."""

    START = member()
    MIDDLE = member()
    END = member()


PARTY = Role("party")
OTHER = Role("other")
ADVERSARY = Role("adversary", honest=False)

corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH)
enrolled = rigid_relation("enrolled", Agent)
backdoor = rigid_flag("backdoor")
home = rigid_function("home", Key, to=Agent)
boss = constant("boss", Agent)
phase = variable("phase", Phase, of=PARTY)
chosen = variable("chosen", Key, of=PARTY)
peer = variable("peer", Agent, of=PARTY)
ready = flag("ready", of=PARTY)
own = relation("own", Agent, Key, kind=Kind.STATE, of=PARTY)
theirs = relation("theirs", Agent, Key, kind=Kind.STATE, of=OTHER)
sent = relation("sent", Agent, Key, kind=Kind.MESSAGE)
owner = function("owner", Key, to=Agent, kind=Kind.GHOST)
seen = relation("seen", Agent, kind=Kind.GHOST)
knows = relation("knows", Agent, Key, kind=Kind.KNOWLEDGE)


def drafted(*parts: Callable[[Draft], object]) -> Draft:
    """Return a draft that holds what ``parts`` put into it, and is otherwise in order."""
    draft = Draft("test", "Test")
    draft.threat("any", "anyone may be corrupt")
    draft.initially(phase, Phase.START)
    for part in parts:
        part(draft)
    return draft


THING = Sort("Thing")
COLOUR = Sort("Colour", ("RED", "BLUE"))
SORTS = (THING, COLOUR)
TWIN = Symbol("twin", (THING,), THING, Kind.PUBLIC, mutable=True)
PAINT = Symbol("paint", (THING,), COLOUR, Kind.PUBLIC, mutable=True)
FIRST = Symbol("first", (), THING, Kind.PUBLIC, mutable=False)
LIKES = Symbol("likes", (THING, THING), BOOL, Kind.PUBLIC, mutable=True)
RAINY = Symbol("rainy", (), BOOL, Kind.PUBLIC, mutable=True)
SYMBOLS = (TWIN, PAINT, FIRST, LIKES, RAINY)

# Few names, primed ones among them, so that variables meet: that is what is tested.
VARIABLES = tuple(Var(name, sort) for sort in SORTS for name in ("x", "y", "x'", "x''"))


@dataclass(frozen=True)
class Structure:
    """A meaning for every symbol, over two or three things."""

    things: tuple[str, ...]
    tables: Mapping[str, Mapping[tuple[str, ...], str | bool]]

    def elements(self, sort: Sort) -> tuple[str, ...]:
        return sort.members or self.things


def value(term: Term, structure: Structure, meaning: Mapping[Var, str]) -> str | bool:  # one per term
    """Return what ``term`` means in ``structure``, where ``meaning`` gives the free variables."""
    match term:
        case Var():
            return meaning[term]
        case Member(_, name):
            return name
        case Truth(known):
            return known
        case Apply(symbol, args):
            row = tuple(str(value(arg, structure, meaning)) for arg in args)
            return structure.tables[symbol.name][row]
        case Equal(left, right):
            return value(left, structure, meaning) == value(right, structure, meaning)
        case Not(body):
            return not value(body, structure, meaning)
        case And(parts):
            return all(value(part, structure, meaning) for part in parts)
        case Or(parts):
            return any(value(part, structure, meaning) for part in parts)
        case Implies(premise, conclusion):
            return not value(premise, structure, meaning) or bool(value(conclusion, structure, meaning))
        case IfThenElse(test, then, otherwise):
            return value(then if value(test, structure, meaning) else otherwise, structure, meaning)
        case Forall(bound, body) | Exists(bound, body):
            rows = itertools.product(*(structure.elements(var.sort) for var in bound))
            truths = (value(body, structure, {**meaning, **dict(zip(bound, row, strict=True))}) for row in rows)
            return all(truths) if isinstance(term, Forall) else any(truths)


def _tables(things: tuple[str, ...]) -> st.SearchStrategy[Structure]:
    def table(symbol: Symbol) -> st.SearchStrategy[dict[tuple[str, ...], str | bool]]:
        rows = itertools.product(*(sort.members or things for sort in symbol.domain))
        values = st.booleans() if symbol.is_relation else st.sampled_from(symbol.result.members or things)
        return st.fixed_dictionaries(dict.fromkeys(rows, values))

    tables = st.fixed_dictionaries({symbol.name: table(symbol) for symbol in SYMBOLS})
    return tables.map(lambda drawn: Structure(things, drawn))


structures = st.sampled_from([("a", "b"), ("a", "b", "c")]).flatmap(_tables)
meanings = st.fixed_dictionaries({var: st.integers(0, 5) for var in VARIABLES})


def concrete(meaning: Mapping[Var, int], structure: Structure) -> dict[Var, str]:
    return {
        var: structure.elements(var.sort)[number % len(structure.elements(var.sort))] for var, number in meaning.items()
    }


def elements(sort: Sort) -> st.SearchStrategy[Term]:
    variables = st.sampled_from([var for var in VARIABLES if var.sort == sort])
    if sort == COLOUR:
        members = st.sampled_from([Member(COLOUR, name) for name in COLOUR.members or ()])
        return st.one_of(variables, members, elements(THING).map(lambda thing: Apply(PAINT, (thing,))))
    simple: st.SearchStrategy[Term] = st.one_of(variables, st.just(Apply(FIRST, ())))
    return st.recursive(simple, lambda inner: inner.map(lambda thing: Apply(TWIN, (thing,))), max_leaves=2)


def _joined(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    bound = st.lists(st.sampled_from(VARIABLES), min_size=1, max_size=2, unique=True).map(tuple)
    return st.one_of(
        inner.map(Not),
        parts.map(And),
        parts.map(Or),
        st.builds(Implies, inner, inner),
        st.builds(Forall, bound, inner),
        st.builds(Exists, bound, inner),
    )


_atoms: st.SearchStrategy[Term] = st.one_of(
    st.builds(lambda a, b: Apply(LIKES, (a, b)), elements(THING), elements(THING)),
    st.just(Apply(RAINY, ())),
    st.sampled_from(SORTS).flatmap(lambda sort: st.builds(Equal, elements(sort), elements(sort))),
)
formulas = st.recursive(_atoms, _joined, max_leaves=8)
replacements = st.dictionaries(st.sampled_from(VARIABLES), st.none(), min_size=1, max_size=3).flatmap(
    lambda chosen: st.fixed_dictionaries({var: elements(var.sort) for var in chosen})
)
