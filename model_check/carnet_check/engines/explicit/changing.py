"""Which places ever change: those that the layout gave a field by the end of a search that leaves nothing out."""

from __future__ import annotations

from collections.abc import Callable

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Caps
from carnet_check.engines.interface import Observed
from carnet_check.exports.ground.conditions import Place
from carnet_check.semantics import Interpreter
from carnet_spec.language import Instance, Protocol


def observe(
    protocol: Protocol, instance: Instance, caps: Caps, watch: Callable[[int, int], None] | None
) -> Observed | None:
    """Visit every state, without reduction; return nothing if the search stops at ``caps``."""
    model = build(Interpreter(protocol, instance), (), (), reduce=False)
    bounds = Watch(max_states=caps.states, max_memory=caps.memory, max_seconds=caps.seconds, progress=watch)
    run = PackedSearch(model, bounds, enough=0, dominance=False)
    stopped_by = run.run()
    if stopped_by == "interrupt":
        raise KeyboardInterrupt
    if stopped_by is not None:
        return None
    tables = model.layout.tables.values()
    changed = (Place(table.symbol.name, row) for table in tables for row, place in table.places.items() if place.mask)
    return Observed(len(run.found), frozenset(changed))
