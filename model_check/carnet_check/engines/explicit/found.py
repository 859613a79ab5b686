"""What a search found so far, how it is kept when a level is complete, and how another search takes it over."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carnet_check.engines.checkpoints import Shelf
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import Model
from carnet_check.errors import UsageError

NOTED = (
    *("counted", "counted_for", "depth", "dominated", "expanded", "fired", "level_ends", "levels"),
    *("passed_over", "passed_over_for"),
)
"""What is noted as it is beside the states."""
_AT_ONCE = 1 << 12


class Found:
    """States in the order found, and what is known about all of them together.

    Attributes:
        states: the states, as long as they are kept as integers.
        found: the states, however they are kept.
        parents: for each the number of the one it was found from, as far as that is kept.
        seen: the states again, to be looked up.
        sightings: for each monitor that held somewhere the number of the first state in which it does.
        levels: where each level begins.
        level_ends: where the last one ends.
        depth: its number.
        expanded: how many states are expanded.
        fired: how often each action was taken.
        dominated: how many successors, and states of complete levels, were found at less cost; within a level it
            depends on the order in which they are found.
        passed_over: how many states are not expanded: at the end of their level they are dominated.
        passed_over_for: how many there are of those for which they would stand, if states stand for others.
        counted: of how many states it is counted for how many they stand, if they do.
        counted_for: and for how many these stand.
    """

    def __init__(self, model: Model, watch: Watch) -> None:
        self.model = model
        self.watch = watch
        self.states: list[int] = []
        self.found: Sequence[int] = self.states
        self.parents = array("Q")
        self.seen: set[int] = set()
        self.sightings: dict[int, int] = {}
        self.levels: list[int] = []
        self.level_ends = 1
        self.depth = 0
        self.expanded = 0
        self.fired = {step.action.name: 0 for step in model.steps}
        self.dominated = 0
        self.passed_over = 0
        self.passed_over_for = 0
        self.counted = 0
        self.counted_for = 0
        self._earlier = 0.0

    @property
    def seconds(self) -> float:
        """How long it took to find what was found, by this run and those that it goes on from."""
        return self._earlier + self.watch.seconds

    # -- keeping it --------------------------------------------------------------------------------

    def keep(self, shelf: Shelf) -> None:
        """Keep what was found since the last time.

        Raises:
            OSError: there is no room for it.
        """
        origins = self.parents[shelf.items("origins") :].tobytes()
        more = {"states": self._packed(shelf.items("states")), "origins": (self.parents.itemsize, [origins])}
        shelf.keep(self._notes(), more)

    def _packed(self, begin: int) -> tuple[int, Iterator[bytes]]:
        """Return how many bytes a state takes, and the states from ``begin`` on."""
        each = 1 + self.model.layout.bits // 8
        return each, (state.to_bytes(each, "little") for state in itertools.islice(self.states, begin, None))

    def _notes(self) -> dict[str, Any]:
        """Return what a search knows beside its states."""
        return {
            "fields": self.model.layout.fields,
            "bits": self.model.layout.bits,
            "rules": [rule.name for rule in self.model.saturation.rules if rule.fired],
            "sightings": [*self.sightings.items()],
            "seconds": self.seconds,
            **{name: getattr(self, name) for name in NOTED},
        }

    # -- taking it over ----------------------------------------------------------------------------

    def take(self, shelf: Shelf, notes: Mapping[str, Any]) -> None:
        """Take over what another search kept.

        Raises:
            UsageError: it is not what a search kept.
        """
        layout, saturation = self.model.layout, self.model.saturation
        try:
            layout.give_fields((name, tuple(row)) for name, row in notes["fields"])
            laid_out_alike = layout.bits == notes["bits"]
            self._take_states(shelf, notes)
            for name in NOTED:
                setattr(self, name, notes[name])
            for rule in saturation.rules:
                rule.fired = rule.name in notes["rules"]
            self.sightings = dict(notes["sightings"])
            self._earlier = notes["seconds"]
            begins_as_it_should = self.found[0] == saturation.start()
        except (LookupError, TypeError, ValueError) as error:
            raise UsageError(f"the checkpoint is broken: {type(error).__name__} {error}") from error
        if not laid_out_alike or not begins_as_it_should or self.level_ends != len(self.found):
            raise UsageError("the checkpoint is broken: its states are not those of a search")

    def _take_states(self, shelf: Shelf, notes: Mapping[str, Any]) -> None:
        for each, block in shelf.blocks("states", _AT_ONCE):
            self.states += [int.from_bytes(block[at : at + each], "little") for at in range(0, len(block), each)]
        self._take_origins(shelf)
        self.seen.update(self.states)

    def _take_origins(self, shelf: Shelf) -> None:
        for _, block in shelf.blocks("origins", _AT_ONCE):
            self.parents.frombytes(block)
