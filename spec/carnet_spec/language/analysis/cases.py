"""The cases of an action: which of its terms denote one fixed argument, and what it writes and makes true there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from carnet_spec.language.actions import Action, Effect, Update
from carnet_spec.language.analysis.reads import Row
from carnet_spec.language.protocol import terms_of_action
from carnet_spec.language.terms import TRUE, And, Apply, Equal, Sort, Symbol, Term, Var, free_variables, subterms

Written = frozenset[str]
"""Names of symbols that must have been written."""
Fact = tuple[str, int]
"""A relation that holds, and where among its arguments the fixed one stands, or one of these two."""
ANYWHERE = -1
AS_VALUE = -2
"""A variable, or a function somewhere, that has the fixed argument as its value."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One action, where the terms ``rows`` denote the fixed argument and no others do."""

    action: Action
    rows: frozenset[Row]
    writes: Written = frozenset()
    """What it must write, at the fixed argument."""
    makes: tuple[Fact, ...] = ()
    """What it may make true."""

    def outside(self, bound: tuple[Var, ...]) -> Case:
        """Forget the rows that mention variables which are bound here."""
        own = {row for row in self.rows if any(free_variables(term) & set(bound) for term in row)}
        return replace(self, rows=self.rows - own)

    def changes(self, update: Update, start: int, width: int) -> bool | None:
        """Whether ``update`` is made at the fixed argument, from ``start`` on; ``None`` if it may be."""
        args = update.args[start : start + width]
        every = [arg in update.each for arg in args]
        if all(every) or args in self.rows:
            return True
        return None if any(every) else False


class Cases:
    """The cases of actions, for a fixed argument of the sorts ``domain`` (none: variables are followed).

    ``tracked`` are the names of the functions of this domain that are followed.
    """

    def __init__(self, domain: tuple[Sort, ...], tracked: Written) -> None:
        self.domain = domain
        self.tracked = tracked

    def of(self, action: Action) -> Iterator[Case]:
        """Fix each argument in turn; where phases change, fix several at once."""
        if not self.domain:
            yield self._case(action, frozenset([()]))
            return
        applied = [
            (sub.symbol, sub.args)
            for term in terms_of_action(action)
            for sub in subterms(term)
            if isinstance(sub, Apply)
        ]
        applied += [(update.symbol, update.args) for update in action.updates]
        rows = dict.fromkeys(row for symbol, args in applied for _, row in self.windows(symbol, args))
        if len(self.domain) == 1:
            values = (update.value for update in action.updates if update.symbol.result == self.domain[0])
            rows.update(dict.fromkeys((value,) for value in values if value is not None))
        moved = dict.fromkeys(
            update.args
            for update in action.updates
            if update.symbol.domain == self.domain and update.symbol.result.is_enumeration
        )
        same = _equated(action)
        several = [chosen for size in range(2, len(moved) + 1) for chosen in itertools.combinations(moved, size)]
        together = dict.fromkeys(
            frozenset().union(*(same(row) for row in chosen)) for chosen in [*((row,) for row in rows), *several]
        )
        yield from (self._case(action, case) for case in (frozenset[Row](), *together))

    def windows(self, symbol: Symbol, args: Row) -> Iterator[tuple[int, Row]]:
        """Yield where in ``args`` the fixed argument may stand, and what stands there."""
        width = len(self.domain)
        for start in range(len(args) - width + 1):
            if symbol.domain[start : start + width] == self.domain:
                yield start, args[start : start + width]

    def _case(self, action: Action, rows: frozenset[Row]) -> Case:
        case = Case(action, rows)
        width = len(self.domain)
        writes: list[str] = []
        makes: list[Fact] = []
        for update in action.updates:
            name = update.symbol.name
            if name in self.tracked and update.when == TRUE and case.changes(update, 0, width) is True:
                writes.append(name)
            if (update.value,) in rows:
                makes.append((name, AS_VALUE))
            if update.effect is Effect.INSERT:
                windows = (start for start, _ in self.windows(update.symbol, update.args))
                makes.append((name, ANYWHERE))
                makes += [(name, start) for start in windows if case.changes(update, start, width) is not False]
        return replace(case, writes=frozenset(writes), makes=tuple(makes))


def _equated(action: Action) -> Callable[[Row], frozenset[Row]]:
    """Return what finds all terms that the guards of ``action`` say are equal to a given one."""
    classes: list[set[Term]] = []
    for guard in action.guards:
        parts = guard.formula.parts if isinstance(guard.formula, And) else (guard.formula,)
        for part in parts:
            if isinstance(part, Equal):
                joined = {part.left, part.right}
                for other in [each for each in classes if each & joined]:
                    classes.remove(other)
                    joined |= other
                classes.append(joined)

    def same(row: Row) -> frozenset[Row]:
        if len(row) != 1:
            return frozenset([row])
        return frozenset((term,) for term in next((each for each in classes if row[0] in each), set(row)))

    return same
