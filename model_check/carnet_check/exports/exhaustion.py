"""Writer of an exhausted instance for the program of ``model_check/coq``: its structure, limits, claims and bit layout.

Who trusts what the program says of an instance trusts what is written here of the structure, of the limits and of the
claims. How states are written as bits is a guess: the program refuses a wrong one.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from carnet_check.exports.coq_data import encode_value, numbers, word
from carnet_check.exports.systems import Name, Named, System
from carnet_spec.language import Instance, Protocol, Row, Sort, SpecificationError, Symbol

WORD = 60  #: How many bits a word of a state has.
#: What a function that has no value has for one; of a protocol without sorts of its own, a thing of no sort.
NOBODY = "1"
Bit = int
#: A symbol, a row, and the value that a function has there; nothing, for a relation.
Fact = tuple[str, Row, str | None]
#: What is known of a fact: "Never", "Always", "Open", or ("Exactly", bit) or ("AtMost", bit).
Status = str | tuple[str, Bit]


@dataclass(frozen=True, slots=True)
class Field:
    """The position of a value's number in a packed state, and the bit of each value, if each has one."""

    shift: int
    width: int
    bits: tuple[Bit | None, ...]


@dataclass(frozen=True, slots=True)
class States:
    """The packed states that were visited, and how to decode them."""

    known: Mapping[Fact, Status]  #: what is known of each fact that is not of the kind that its symbol has by default.
    usual: Mapping[str, str]  #: for a symbol, what is known of all its other facts.
    fields: tuple[Field, ...]  #: where a packed state has what.
    #: for a function without a first value in the protocol, the rows whose first value was used.
    matters: Mapping[str, tuple[Row, ...]]
    rows: int  #: how many states there are.
    bytes_each: int  #: how many bytes a packed state has.
    start: int  #: the row of the first state.
    #: the packed states as a table, column by column, a byte wide, the highest byte first.
    columns: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Visited:
    """The states of an instance, and the names of the invariants that are false in one of them."""

    states: States
    fallen: frozenset[str]


class _Words:
    """Numbers for what an instance speaks of."""

    def __init__(self, system: System, protocol: Protocol, instance: Instance) -> None:
        self.number = numbers(system)
        self._things = {
            (sort.name, element): place
            for place, (sort, element) in enumerate(
                ((sort, element) for sort in protocol.sorts if sort.members is None for element in instance.of(sort)), 1
            )
        }

    def sort(self, sort: Sort) -> str:
        return str(self.number[Name("sort", sort.name)])

    def symbol(self, name: str) -> str:
        return str(self.number[Name("symbol", name)])

    def thing(self, sort: Sort, element: str) -> str:
        if sort.members is None:
            return str(self._things[sort.name, element])
        return f"(Named {self.number[Name('member', f'{sort.name}.{element}')]})"

    def elements(self, sort: Sort, elements: Row) -> str:
        return _list(self.thing(sort, element) for element in elements)

    def row(self, sorts: Sequence[Sort], row: Row) -> str:
        return _list(self.thing(sort, element) for sort, element in zip(sorts, row, strict=True))

    def value(self, symbol: Symbol, row: Row, value: str) -> str:
        return f"({self.row(symbol.domain, row)} {self.thing(symbol.result, value)})"


def instance_text(
    system: System, protocol: Protocol, instance: Instance, threat: str, claims: Sequence[str], states: States
) -> str:
    """Return the text of an instance for the program: everything but the states.

    Raises SpecificationError if the instance has a budget, which the theorem does not cover.
    """
    require_no_budget(instance)
    words = _Words(system, protocol, instance)
    stated: dict[str, Named] = {each.name: each for layer in system.layers for each in layer.claims}
    formulas = _list(encode_value(stated[system.stated[claim][0]].value, words.number) for claim in claims)
    parts = (
        _instance(words, protocol, instance),
        _limits(words, protocol, instance, states),
        f"(Threat {_list(encode_value(axiom.value, words.number) for axiom in system.threats.get(threat, ()))})",
        f"(Claims {_list(word(claim) for claim in claims)} {formulas})",
        f"(Known {_list(_fact_lines(words, protocol, states))})",
        f"(Fields {_list(_field(each) for each in states.fields)})",
        f"(Rules {_list(str(place) for place, action in enumerate(protocol.actions) if action.deduction)})",
        f"(States {states.rows} {states.bytes_each} {states.start})",
    )
    return "".join(f"{part}\n" for part in parts)


def require_no_budget(instance: Instance) -> None:
    """Refuse an instance with a budget, of which the certificate would say more than was explored.

    Raises SpecificationError if it has a budget.
    """
    if instance.budget is not None:
        raise SpecificationError("the instance bounds the adversary's moves, and no certificate speaks of that")


def _list(parts: Iterable[str]) -> str:
    return f"({' '.join(parts)})"


def _instance(words: _Words, protocol: Protocol, instance: Instance) -> str:
    own = [sort for sort in protocol.sorts if sort.members is None]
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    things = _list(f"({words.sort(sort)} {words.elements(sort, instance.of(sort))})" for sort in own)
    facts = _list(
        f"({words.symbol(each.name)} {_list(words.row(each.domain, row) for row in rows)})"
        for each in rigid
        if each.is_relation
        for rows in (instance.relations.get(each.name, ()),)
    )
    values = _list(_table(words, each, instance.functions[each.name]) for each in rigid if not each.is_relation)
    somebody = words.thing(own[0], instance.of(own[0])[0]) if own else NOBODY
    return f"(Instance {things} {facts} {values} {somebody})"


def _table(words: _Words, symbol: Symbol, table: Mapping[Row, str]) -> str:
    return f"({words.symbol(symbol.name)} {_list(words.value(symbol, row, value) for row, value in table.items())})"


def _limits(words: _Words, protocol: Protocol, instance: Instance, states: States) -> str:
    pools = [
        f"({number} {place} {words.elements(var.sort, pool)})"
        for number, action in enumerate(protocol.actions)
        for place, var in enumerate(action.params)
        if (pool := instance.pools.get((action.name, var.name))) is not None
    ]
    starting = []
    for symbol in protocol.symbols:
        if symbol.name in states.matters:
            given, otherwise = instance.first.get(symbol.name, {}), instance.of(symbol.result)[0]
            first = {row: given.get(row, otherwise) for row in states.matters[symbol.name]}
            starting.append(_table(words, symbol, first))
    return f"(Limits {_list(pools)} {_list(starting)})"


def _fact_lines(words: _Words, protocol: Protocol, states: States) -> Iterator[str]:
    facts: dict[str, list[tuple[Row, str | None, Status]]] = {}
    for (name, row, value), status in states.known.items():
        facts.setdefault(name, []).append((row, value, status))
    for symbol in protocol.symbols:
        if symbol.mutable:
            told = _list(_fact(words, symbol, *fact) for fact in facts.get(symbol.name, ()))
            yield f"({words.symbol(symbol.name)} {states.usual[symbol.name]} {told})"


def _fact(words: _Words, symbol: Symbol, row: Row, value: str | None, status: Status) -> str:
    of = "None" if value is None else words.thing(symbol.result, value)
    return f"({words.row(symbol.domain, row)} {of} {_status(status)})"


def _status(status: Status) -> str:
    if isinstance(status, str):
        return status
    kind, bit = status
    return f"({kind} {bit // WORD} {bit % WORD})"


def _field(each: Field) -> str:
    bits = ("None" if bit is None else f"({bit // WORD} {bit % WORD})" for bit in each.bits)
    return f"({each.shift} {each.width} {_list(bits)})"


def all_rows(symbol: Symbol, instance: Instance) -> Iterator[Row]:
    """Yield every row of arguments of a symbol."""
    return itertools.product(*(instance.of(sort) for sort in symbol.domain))
