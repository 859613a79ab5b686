"""Tables: the state of a protocol, changed in place, with an index for every kind of look-up."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from carnet_check.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import InLine, Row

Rows = dict[Row, int]  #: Rows in the order in which they were inserted, each with its number in that order.
Undo = Callable[[], None]


class Column(Collection[str]):
    """The elements at one position of some rows; an element may come more than once."""

    __slots__ = ("at", "rows")

    def __init__(self, rows: Collection[Row], at: int) -> None:
        self.rows = rows
        self.at = at

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (row[self.at] for row in self.rows)

    def __contains__(self, element: object) -> bool:
        return any(row[self.at] == element for row in self.rows)


class Relation:
    """A relation: its rows, with indexes on the positions by which rows are looked up.

    ``following`` names a relation that never loses a row. If it is set, "every row of the followed relation so far" can
    be inserted at once: only the number of those rows is stored (:meth:`extend`).
    """

    def __init__(self, name: str, rows: Iterable[Row] = ()) -> None:
        self.name = name
        self.rows: Rows = {row: number for number, row in enumerate(rows)}
        self._indexes: dict[tuple[int, ...], dict[Row, Rows]] = {}
        self.following: Relation | None = None
        self.at = 0
        self.losses = 0
        """How often a row was taken away."""
        self.extent: dict[Row, int] = {}

    def index(self, positions: tuple[int, ...]) -> dict[Row, Rows]:
        """Return the rows by their elements at ``positions``; the index is updated when rows change."""
        if positions not in self._indexes:
            made: dict[Row, Rows] = {}
            for row in self.rows:
                made.setdefault(tuple(row[at] for at in positions), {})[row] = 0
            self._indexes[positions] = made
        return self._indexes[positions]

    def holds(self, row: Row) -> bool:
        """Whether the relation holds of ``row``."""
        if row in self.rows:
            return True
        followed = self.following
        if followed is None or not self.extent:
            return False
        extent = self.extent.get(self.beside(row), 0)
        number = followed.rows.get((row[self.at],))
        return number is not None and number < extent

    def beside(self, row: Row) -> Row:
        """Return ``row`` without the element that follows another relation."""
        return (*row[: self.at], *row[self.at + 1 :])

    def insert(self, row: Row) -> Undo | None:
        """Insert a row; return how to undo that, or None if the row was there."""
        if row in self.rows:
            return None
        self.rows[row] = len(self.rows)
        for positions, index in self._indexes.items():
            index.setdefault(tuple([row[at] for at in positions]), {})[row] = 0
        return lambda: self._drop(row)

    def remove(self, row: Row) -> Undo | None:
        """Remove a row; return how to undo that, or None if the row was not there."""
        if row not in self.rows:
            return None
        self._drop(row)

        def undo() -> None:
            self.insert(row)

        return undo

    def _drop(self, row: Row) -> None:
        self.losses += 1
        del self.rows[row]
        for positions, index in self._indexes.items():
            key = tuple([row[at] for at in positions])
            bucket = index[key]
            del bucket[row]
            if not bucket:
                del index[key]

    def extend(self, beside: Row, extent: int) -> Undo | None:
        """Make the relation hold of the first ``extent`` rows of the followed relation, each joined with ``beside``."""
        before = self.extent.get(beside, 0)
        if extent <= before:
            return None
        self.extent[beside] = extent
        return lambda: self._set_extent(beside, before)

    def forget(self, beside: Row) -> Undo | None:
        """Remove the rows that :meth:`extend` inserted for ``beside``."""
        before = self.extent.pop(beside, 0)
        return (lambda: self._set_extent(beside, before)) if before else None

    def _set_extent(self, beside: Row, extent: int) -> None:
        if extent:
            self.extent[beside] = extent
        else:
            self.extent.pop(beside, None)


class Line(Relation):
    """A rigid relation whose rows are the ordered pairs of a line; the pairs are computed, not stored."""

    def __init__(self, name: str, line: InLine) -> None:
        super().__init__(name)
        self.elements = line.elements
        self.rows = line  # type: ignore[assignment]  # read only, by membership, length and iteration, as rows are
        self._line = line

    def place(self, element: str) -> int:
        """Return how many elements come before ``element``."""
        return self._line.place(element)

    def index(self, positions: tuple[int, ...]) -> dict[Row, Rows]:
        """Return the pairs by their elements at ``positions``, computed on demand."""
        return _Pairs(self._line, positions)  # type: ignore[return-value]  # callers only use get()


class _Pairs:
    """The pairs of a line by the elements at some positions."""

    __slots__ = ("_line", "_positions")

    def __init__(self, line: InLine, positions: tuple[int, ...]) -> None:
        self._line = line
        self._positions = positions

    def get(self, key: Row, nothing: Collection[Row]) -> Collection[Row]:
        """Return the pairs with these elements."""
        del nothing
        match self._positions:
            case (0,):
                return self._line.beside(key[0], after=True)
            case (1,):
                return self._line.beside(key[0], after=False)
            case ():
                return self._line
        return (key,) if key in self._line else ()


class Function:
    """A function: the default value, and every other value by its arguments."""

    def __init__(self, name: str, values: Mapping[Row, str], default: str) -> None:
        self.name = name
        self.values = dict(values)
        self.default = default

    def assign(self, row: Row, value: str) -> Undo | None:
        """Set the value of the function at ``row``; return how to undo that, or None if it had this value."""
        before = self.values.get(row)
        if (self.default if before is None else before) == value:
            return None
        self.values[row] = value
        return lambda: self._restore(row, before)

    def _restore(self, row: Row, before: str | None) -> None:
        if before is None:
            del self.values[row]
        else:
            self.values[row] = before


Table = Relation | Function


# --------------------------------------------------------------------------------------------------
# The work that a trace may cost: counted in steps, so that the answer is the same on every machine.
#
# Every event of a trace brings an allowance of its own, and the trace one to begin with. Once they are spent, the
# answer is "undecided".

#: The initial allowance in steps: enough for the largest instance allowed, and some choices of missing arguments.
TO_BEGIN_WITH: Final = 9_000_000
PER_EVENT: Final = 2_400  #: The allowance of an event in steps: several times what an event of a recorded run costs.
MOST_WAYS: Final = 4_000  #: The most choices of missing arguments that are tried for one event.
MOST_KEPT: Final = 100_000  #: The most stored changes: those to undo, and those of moves still to try.

#: Steps for an element tried, one chosen, a first row, a rule evaluated again, a change made, an event judged.
#:
#: A step is some tenths of a microsecond.
CANDIDATE, CHOICE, ROW, RULE, CHANGE, MOVE = 3, 10, 10, 10, 20, 200


class AmbiguousTraceError(CarnetError):
    """The work allowed for a trace did not suffice to decide whether it is a run of the spec."""

    kind = "unknown"
    exit_code = ExitCode.UNKNOWN


class Work:
    """The steps that may still be spent on one trace."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = TO_BEGIN_WITH

    def add_event_allowance(self) -> None:
        """Allow the work of one more event."""
        self.left += PER_EVENT

    def spend(self, steps: int) -> None:
        """Count steps of work. Raises AmbiguousTraceError if fewer steps are left."""
        self.left -= steps
        if self.left < 0:
            raise AmbiguousTraceError(
                f"undecided after {TO_BEGIN_WITH:,} steps of work and {PER_EVENT:,} for each event: "
                "the trace leaves out too many arguments, or its sizes are too large"
            )
