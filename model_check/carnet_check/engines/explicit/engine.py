"""The explicit engine: every state of small instances, by a generated successor function."""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.explorer import PackedExplorer, PackedWalker
from carnet_check.engines.explicit.layout import Place
from carnet_check.engines.explicit.model import Model, build
from carnet_check.engines.explicit.places import Places, PlacesSearch, RayPlaces
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Caps, Walks
from carnet_check.engines.interface import ListsStates, Observed, Observes, OnCluster, Samples
from carnet_check.exports.exhaustion import Bit, Fact, Field, States, Status, Visited, all_rows
from carnet_check.exports.ground import conditions
from carnet_check.semantics import Interpreter
from carnet_spec.language import Goal, Instance, Invariant, Protocol, Row


@dataclass(frozen=True)
class Explicit(PackedExplorer, ListsStates, Observes, Samples, OnCluster):
    """Explores in Python, in this process or in ``places``, and can return the states that it visited."""

    name: ClassVar = "explicit"
    purpose: ClassVar = "every state of small instances, and the shortest attack where a claim is violated"
    places: Places | None = None

    def on_cluster(self, address: str) -> Self:
        """Return the same engine; its searches move to a Ray cluster, but liveness is decided in this process.

        Raises UsageError if there is no cluster at this address.
        """
        return replace(self, places=RayPlaces(address))

    def searches_by(self) -> Callable[..., PackedSearch]:
        """Return the constructor of searches."""
        return self.packed if self.places is None else functools.partial(PlacesSearch, places=self.places)

    def visit_states(
        self, protocol: Protocol, instance: Instance, invariants: Sequence[Invariant], goals: Sequence[Goal]
    ) -> Visited:
        """Run the compiled search to its end, and return the visited states."""
        return visit(protocol, instance, invariants, goals)

    def observe(
        self, protocol: Protocol, instance: Instance, caps: Caps, watch: Callable[[int, int], None] | None = None
    ) -> Observed | None:
        """Run the compiled search, and read the changing places off its layout."""
        return observe(protocol, instance, caps, watch)

    def random_walker(self, walks: Walks) -> ExplicitWalker:
        """Return the walker in Python."""
        return ExplicitWalker(walks)


@dataclass(frozen=True)
class ExplicitWalker(PackedWalker):
    """Takes random walks in Python."""

    name: ClassVar = Explicit.name
    purpose: ClassVar = "random walks through instances of any size"


EXPLICIT = Explicit()


# --------------------------------------------------------------------------------------------------
# The places that ever change: those with a field in the layout at the end of a search without reductions.


def observe(
    protocol: Protocol, instance: Instance, caps: Caps, watch: Callable[[int, int], None] | None
) -> Observed | None:
    """Visit every state, without reduction; return None if the search stops at ``caps``."""
    model = build(Interpreter(protocol, instance), (), (), reduce=False)
    run = PackedSearch(model, Watch(replace(caps, workers=1), watch), enough=0, dominance=False)
    stopped_by = run.run()
    if stopped_by == "interrupt":
        raise KeyboardInterrupt
    if stopped_by is not None:
        return None
    tables = model.layout.tables.values()
    changed = (
        conditions.Place(table.symbol.name, row)
        for table in tables
        for row, place in table.places.items()
        if place.mask
    )
    return Observed(len(run.found), frozenset(changed))


# --------------------------------------------------------------------------------------------------
# The visited states in the form of a certificate: their bits, and the meaning of each bit.
#
# The value of a place that nothing reads is unknown. A fact that a rule inserts holds only if its bit says so, but need
# not hold then: the stored states are saturated, the reachable ones need not be. All other places are exact.


def visit(protocol: Protocol, instance: Instance, invariants: Sequence[Invariant], goals: Sequence[Goal]) -> Visited:
    """Visit every state that a search for these invariants and goals visits, trying every unused element.

    If one unused element represented all, draws of the others would lead out of the visited states.
    """
    model = build(Interpreter(protocol, instance), invariants, goals, reduce=True, every_draw=True)
    run = PackedSearch(model, Watch(), enough=0, dominance=True)
    if run.run() is not None:
        raise KeyboardInterrupt
    sighted = (model.monitors[number] for number in run.sightings)
    fallen = frozenset(monitor.name for monitor in sighted if not monitor.is_goal)
    return Visited(_Described(protocol, instance, model).states(run.found), fallen)


def _columns(states: Sequence[int], size: int) -> bytes:
    """Write states as a table, column by column: neighbouring states mostly agree, so this compresses well."""
    rows = b"".join(state.to_bytes(size, "big") for state in states)
    return b"".join(rows[column::size] for column in range(size))


class _Described:
    def __init__(self, protocol: Protocol, instance: Instance, model: Model) -> None:
        self._protocol = protocol
        self._instance = instance
        self._model = model
        self._bits = 0
        self._known: dict[Fact, Status] = {}
        self._fields: list[Field] = []
        self._inserted = {
            update.symbol.name for action in protocol.actions if action.deduction for update in action.updates
        }

    def states(self, found: Sequence[int]) -> States:
        usual = {}
        for name, table in self._model.layout.tables.items():
            unread = sum(not self._model.relevance.of_place(name, row) for row in table.places)
            usual[name] = "Open" if unread * 2 > len(table.places) else "Never"
            for row, place in table.places.items():
                self._tell(name, row, place, usual[name])
        size = max(1, (self._model.layout.bits + 7) // 8)
        rows = sorted(found)
        return States(
            known=self._known,
            usual=usual,
            fields=tuple(self._fields),
            matters=dict(self._matters()),
            rows=len(rows),
            bytes_each=size,
            start=bisect_left(rows, found[0]),
            columns=_columns(rows, size),
        )

    def _tell(self, name: str, row: Row, place: Place, usual: str) -> None:
        relation = place.symbol.is_relation
        if not self._model.relevance.of_place(name, row):
            told: list[Status] = ["Open"] * len(place.values)
        elif not place.mask:
            told = ["Always", *["Never"] * (len(place.values) - 1)]
        else:
            told = list(self._field(name, place))
        for value, status in zip(place.values, told, strict=True):
            if relation and value is False:
                continue
            if status != usual:
                self._known[name, row, None if relation else str(value)] = status

    def _field(self, name: str, place: Place) -> Iterator[Status]:
        """Yield a status for each value of a place; for a relation, only for the value that it holds."""
        kind = "AtMost" if name in self._inserted else "Exactly"
        bits: list[Bit | None] = []
        for value in place.values:
            if value is False:
                bits.append(None)
                yield "Never"
            else:
                bits.append(self._bits)
                yield (kind, self._bits)
                self._bits += 1
        width = place.mask.bit_length() - place.shift
        self._fields.append(Field(place.shift, width, tuple(bits)))

    def _matters(self) -> Iterator[tuple[str, tuple[Row, ...]]]:
        given = {initial.symbol.name for initial in self._protocol.initial}
        for symbol in self._protocol.symbols:
            if symbol.mutable and not symbol.is_relation and symbol.name not in given:
                rows = all_rows(symbol, self._instance)
                yield symbol.name, tuple(row for row in rows if self._model.relevance.of_place(symbol.name, row))
