"""Systems: what each protocol's implementation adds to the parts that all of them share."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

Replay = Callable[[Mapping[str, Any]], dict[str, Any]]


def replay_of(protocol: str) -> Replay | None:
    """Return what replays attacks on a protocol with real bytes, if there is a system of that name which can.

    It is ``replay_here`` in ``exploits`` of the system's package.
    """
    system = f"{__name__}.{protocol.replace('-', '_')}"
    if not protocol.replace("-", "_").isidentifier() or importlib.util.find_spec(system) is None:
        return None
    if importlib.util.find_spec(f"{system}.exploits") is None:
        return None
    replay: Replay = importlib.import_module(f"{system}.exploits").replay_here
    return replay
