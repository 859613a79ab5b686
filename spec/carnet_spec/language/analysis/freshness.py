"""Fresh values: when one unused element may represent all of them.

A value that is drawn fresh was never used before. So the unused elements of its sort are interchangeable, as long as
no fact distinguishes them. An engine may then always draw the least one: every run is equal, up to the names of
elements, to one that draws them in order. This does not hold if a step makes a used value unused again, since earlier
uses may have left facts, or if the first state names elements of the sort.
"""

from carnet_spec.language.actions import Effect
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.instance import Instance
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import Sort


def distinguishable_fresh_sorts(protocol: Protocol, instance: Instance) -> frozenset[Sort]:
    """Return the fresh sorts whose unused elements may differ, so that a draw has to try each of them.

    For such a sort, a step makes an element unused again, or marks one as used without drawing it, or the first values
    of ``instance`` name its elements.
    """
    named = {sort for s in protocol.symbols if s.name in instance.first for sort in (*s.domain, s.result)}
    return frozenset(
        sort for sort in protocol.sorts if sort.fresh and (sort in named or _is_written_by_hand(protocol, sort))
    )


def _is_written_by_hand(protocol: Protocol, sort: Sort) -> bool:
    """Whether an action updates the relation of used elements other than by a draw."""
    used = used_symbol(sort)
    return any(
        update.symbol == used and (update.effect is not Effect.INSERT or update.args[0] not in action.fresh)
        for action in protocol.actions
        for update in action.updates
    )
