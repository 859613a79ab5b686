"""Cone of influence: places that nothing reads need not be part of the state.

A place is relevant if an invariant, a goal or a guard reads it, or if it decides whether, where or what an update of
a relevant place writes. Two states that agree on the relevant places enable the same steps, which lead to states that
agree again, and both satisfy the same invariants and goals: agreement on relevant places is a bisimulation. So leaving
the others out loses no violation, no goal and no shortest trace; only states that differ in nothing else fall together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from carnet_check.engines.explicit.folding import Folding
from carnet_check.engines.explicit.layout import Pattern, matches
from carnet_check.engines.explicit.patterns import Domains, overlap, pattern_of, read_by_guards, read_by_update
from carnet_spec.language import Action, Row, Update


class Relevance:
    """Which places matter; all of them, unless told what is watched."""

    def __init__(self) -> None:
        self._patterns: dict[str, list[Pattern]] | None = None

    @staticmethod
    def of(
        watched: Iterable[tuple[str, Pattern]],
        actions: Sequence[Action],
        domains: Mapping[str, Domains],
        folding: Folding,
    ) -> Relevance:
        """Find what matters to the ``watched`` rows and to whether any step can be taken."""
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
        """Return the rows of a symbol that matter; none, where all of all symbols do."""
        return () if self._patterns is None else self._patterns.get(symbol, ())

    def of_place(self, symbol: str, row: Row) -> bool:
        """Whether one place matters."""
        return self._patterns is None or any(matches(pattern, row) for pattern in self._patterns.get(symbol, ()))

    def of_update(self, update: Update, domains: Domains, folding: Folding) -> bool:
        """Whether an update may write a place that matters."""
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
