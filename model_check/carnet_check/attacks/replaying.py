"""Replaying attacks on an implementation, where one is installed that knows how.

An implementation offers a function in the entry-point group ``carnet.replay``, under the protocol's id. It takes what
``carnet attack --json`` prints, carries the steps out with real bytes, first on the design that was attacked and then
with every defence on, and says what came of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

GROUP = "carnet.replay"


def replayed(attack: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what came of carrying an attack out; nothing if no implementation of its protocol is installed."""
    for entry in entry_points(group=GROUP):
        if entry.name == attack["protocol"]:
            outcome: dict[str, Any] = entry.load()(attack)
            return outcome
    return None


def told(outcome: Mapping[str, Any] | None) -> Iterator[str]:
    """Tell what came of a replay."""
    from carnet_check.report.closing import wrapped

    if outcome is None:
        yield "replay       no implementation of this protocol is installed"
        return
    if outcome["reproduced"]:
        yield from wrapped("replay", f"reproduced with real bytes: {outcome['recovered']}")
    else:
        yield from wrapped("replay", f"not reproduced: {_where(outcome['stopped'])}")
    defended = outcome["defended"]
    if defended["reproduced"]:
        yield from wrapped("defended", f"reproduced all the same: {defended['recovered']}")
    else:
        yield from wrapped("defended", f"with every defence on, {_where(defended['stopped'])}")


def _where(stopped: Mapping[str, Any] | None) -> str:
    if stopped is None:
        return "every step is taken, and the claim holds"
    return f"stopped at step {stopped['index'] + 1}, {stopped['step']['action']}: {stopped['why']}"
