"""The search for claims that depend on an assumption, by attacks in instances that violate only its axioms.

The instances are those of attack searches, with one or two rigid facts changed. If no claim is violated in them, that
establishes nothing.
"""

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from carnet_check.engines.exploration import Caps, Exploration, Search
from carnet_check.engines.exploring.searches import moves, search_in
from carnet_check.engines.interface import Explores
from carnet_check.errors import EngineError
from carnet_check.loading.families import Source
from carnet_check.semantics import Interpreter
from carnet_spec.language import Axiom, Instance, Profile, Protocol, Row, Symbol, Threat
from carnet_spec.language.terms import symbols_of

CAPS = Caps(states=15_000)  #: The limit of the search in one instance.
MOST_CHANGES = 400  #: The most changes of one fact, and the most of two facts, that are tried.
MOST_INSTANCES = 3  #: The most instances of one size that are searched under one threat model.


@dataclass(frozen=True, slots=True)
class Fall:
    """A claim that is violated without an assumption: the threat model, the instance, and the number of steps."""

    claim: str
    threat: str
    changed: str
    steps: int


def falls_without(
    explorer: Explores, source: Source, protocol: Protocol, assumption: str, claims: Collection[str]
) -> Iterator[Fall]:
    """Yield those of ``claims`` that are violated without an assumption, by a trace that the interpreter replayed.

    Raises EngineError if the interpreter does not reproduce a trace.

    Args:
        explorer: the engine that searches for traces.
        source: gives the instances.
        protocol: the design, with all assumptions.
        assumption: the id of the assumption; the axioms that state it are left out.
        claims: the names of proved claims.
    """
    dropped = [axiom for axiom in protocol.axioms if axiom.states == assumption]
    weaker = replace(protocol, axioms=tuple(axiom for axiom in protocol.axioms if axiom not in dropped))
    standing = list(claims)
    default = source.family.default_threat
    for threat in sorted(protocol.threats, key=lambda each: each.id != default):
        for size in source.family.sizes_to_hunt(protocol.variant)[: 2 if threat.id == default else 1]:
            made = [name for name in standing if threat.id in protocol.claim(name).under]
            for instance, changed in _instances(source, weaker, threat, size, dropped) if made else ():
                asked = [name for name in made if name in standing]
                found = _searched(explorer, source, weaker, threat, size, instance, asked)
                for name, trace in found.violations.items():
                    standing.remove(name)
                    yield Fall(name, threat.id, changed, moves(protocol, trace))


def _searched(
    explorer: Explores,
    source: Source,
    protocol: Protocol,
    threat: Threat,
    size: Profile,
    instance: Instance,
    claims: Sequence[str],
) -> Exploration:
    task = Search(source.reference, protocol.variant, (), threat.id, size, tuple(claims), sought=True, caps=CAPS)
    found = search_in(explorer, task, protocol, instance)
    if found.problems:
        raise EngineError("; ".join(found.problems))
    return found


def _instances(
    source: Source, protocol: Protocol, threat: Threat, size: Profile, dropped: Sequence[Axiom]
) -> Iterator[tuple[Instance, str]]:
    """Yield instances of a size, at most two changes from the family's, that violate only axioms of ``dropped``.

    Only facts of symbols in the dropped axioms are changed.
    """
    own = source.instance(protocol, threat.id, size)
    spoken = {symbol for axiom in dropped for symbol in symbols_of(axiom.formula)}
    singles = [*itertools.islice(_changes(own, sorted(spoken, key=lambda each: each.name)), MOST_CHANGES)]
    pairs = itertools.islice(itertools.combinations(singles, 2), MOST_CHANGES)
    found = 0
    for changes in itertools.chain([()], ((each,) for each in singles), pairs):
        changed = own
        for change in changes:
            changed = change.made_in(changed)
        judge = Interpreter(protocol, changed)
        if judge.violated_axioms(dropped) and not judge.violated_axioms((*protocol.axioms, *threat.axioms)):
            found += 1
            yield changed, " and ".join(each.says for each in changes) or "nothing"
        if found == MOST_INSTANCES:
            return


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of one rigid symbol at one row: a new value of a function, or, without a value, a negated relation."""

    symbol: str
    row: Row
    value: str = ""
    holds: bool = False

    @property
    def says(self) -> str:
        """The change in words."""
        place = f"{self.symbol}({', '.join(self.row)})" if self.row else self.symbol
        return f"{place} = {self.value}" if self.value else place if self.holds else f"not {place}"

    def made_in(self, instance: Instance) -> Instance:
        """Return the instance with the change."""
        if self.value:
            table = {**instance.functions[self.symbol], self.row: self.value}
            return replace(instance, functions={**instance.functions, self.symbol: table})
        rows = frozenset(instance.relations.get(self.symbol, frozenset()))
        rows = rows | {self.row} if self.holds else rows - {self.row}
        return replace(instance, relations={**instance.relations, self.symbol: rows})


def _changes(instance: Instance, rigid: Sequence[Symbol]) -> Iterator[_Change]:
    """Yield every change of one fact, those of constants and of unary relations first."""
    for symbol in sorted(rigid, key=lambda each: (len(each.domain), each.name)):
        for row in itertools.product(*(instance.of(sort) for sort in symbol.domain)):
            if symbol.is_relation:
                yield _Change(symbol.name, row, holds=row not in instance.relations.get(symbol.name, frozenset()))
            else:
                now = instance.functions[symbol.name][row]
                yield from (_Change(symbol.name, row, value) for value in instance.of(symbol.result) if value != now)
