"""Fresh values: when one unused element may stand for all of them.

A value that is drawn fresh was never used before, so the unused elements of its sort are as good as each other, as long
as nothing that happened tells them apart. An engine may then draw the least one and lose nothing: every run is, up to
the names of elements, one that draws them in order. That ends where a step gives a value back, since what was used
before may have left traces, and where the first state names elements of the sort.
"""

from __future__ import annotations

from carnet_spec.language.actions import Effect
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.instance import Instance
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import Sort


def distinguishable_fresh_sorts(protocol: Protocol, instance: Instance) -> frozenset[Sort]:
    """Return the fresh sorts whose unused elements may differ, so that a draw has to try each of them.

    A step gives an element of the sort back, or marks one as used that it does not draw; or the first values that
    ``instance`` names speak of the sort.
    """
    named = {sort for s in protocol.symbols if s.name in instance.first for sort in (*s.domain, s.result)}
    return frozenset(
        sort for sort in protocol.sorts if sort.fresh and (sort in named or _is_written_by_hand(protocol, sort))
    )


def _is_written_by_hand(protocol: Protocol, sort: Sort) -> bool:
    """Whether an update of the relation that remembers used elements is not that of a draw."""
    used = used_symbol(sort)
    return any(
        update.symbol == used and (update.effect is not Effect.INSERT or update.args[0] not in action.fresh)
        for action in protocol.actions
        for update in action.updates
    )
