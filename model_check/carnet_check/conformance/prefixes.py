"""Whether everything before an element of a line is in a relation: asked of counters, whose rows only become more.

What was found to be there is remembered, and not looked at again as long as the relation loses no row: so a counter
that grows with the trace is looked at once at each of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from carnet_check.conformance.tables import Line, Relation, Table
from carnet_check.conformance.work import CANDIDATE, Work
from carnet_spec.language import Row
from carnet_spec.language.terms import Apply, Implies, Term, Var, free_variables

Frame = list[str]


@dataclass(frozen=True, slots=True)
class Prefix:
    """That ``table`` holds, at the position ``at`` of a row, of every element that comes before another in ``line``."""

    line: Line
    limit: Term
    table: Relation
    args: tuple[Term, ...]
    at: int


def prefix_in(bound: Sequence[Var], body: Term, tables: Mapping[str, Table]) -> Prefix | None:
    """Return what a formula that begins with *for all* says of the elements before another, if it says just that."""
    match tuple(bound), body:
        case (Var() as var,), Implies(Apply(before, (first, limit)), Apply(held, args)) if first == var:
            line, table = tables.get(before.name), tables.get(held.name)
            places = [at for at, arg in enumerate(args) if var in free_variables(arg)]
            plain = isinstance(table, Relation) and not isinstance(table, Line) and table.following is None
            alone = len(places) == 1 and args[places[0]] == var and var not in free_variables(limit)
            if isinstance(line, Line) and isinstance(table, Relation) and plain and alone:
                return Prefix(line, limit, table, args, places[0])
    return None


@dataclass(slots=True)
class Filled:
    """Answers whether a prefix is whole, for the arguments beside its element that it is asked about."""

    prefix: Prefix
    limit: Callable[[Frame], str]
    row: Callable[[Frame], Row]
    """The row, with any element at the position that stands for all of them."""
    work: Work
    _known: dict[Row, int] = field(default_factory=dict)
    _losses: int = 0

    def __call__(self, frame: Frame) -> bool:
        """Return whether the relation holds of everything before the limit."""
        prefix, line = self.prefix, self.prefix.line
        if self._losses != prefix.table.losses:
            self._known.clear()
            self._losses = prefix.table.losses
        row, end = self.row(frame), line.place(self.limit(frame))
        before, after = row[: prefix.at], row[prefix.at + 1 :]
        beside = before + after
        found = self._known.get(beside, 0)
        while found < end and (*before, line.elements[found], *after) in prefix.table.rows:
            self.work.spend(CANDIDATE)
            found += 1
        self._known[beside] = found
        return found >= end
