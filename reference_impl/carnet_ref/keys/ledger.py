"""One end's account of its AES keys: each has one count, however many epochs use it.

A key is looked for on its copy engine, by a name that says nothing about it. A rotation either keeps the key of an
engine, and then its count goes on, or puts one there that was never used; no schedule goes back to a key that it left.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, conf_compute_key_rotation.c (use is counted for each key pair, and
cleared when the key changes).
"""

from __future__ import annotations

from dataclasses import dataclass

from carnet_ref.crypto.primitives import hkdf_expand_sha256
from carnet_ref.keys.h100 import Direction
from carnet_ref.keys.schedule import LinkKeys
from carnet_ref.keys.usage import UNLIMITED, KeyUsage, Standing, UsageLimits

_NAME_BYTES = 16


@dataclass(frozen=True, slots=True)
class KeyUse:
    """How much one AES key protected, as one end counts it; a key of no copy engine has no ``engine``."""

    engine: int | None
    way: str
    standing: Standing

    def to_json(self) -> dict[str, object]:
        """Return it as JSON values; what has no limit has none."""
        messages, most_messages, units, most_units = self.standing
        return {
            "engine": self.engine,
            "direction": self.way,
            "messages": messages,
            "most_messages": None if most_messages == UNLIMITED else most_messages,
            "units": units,
            "most_units": most_units,
            "within": self.standing.within,
        }


class KeyLedger:
    """How much the keys of one end of a session have protected, by all who used them.

    ``own`` are the counts of the session's own keys, which belong to no copy engine.
    """

    __slots__ = ("_accounts", "_limits", "_replaced", "own")

    def __init__(self, limits: UsageLimits) -> None:
        self._limits = limits
        self._accounts: dict[tuple[int, Direction], tuple[bytes, KeyUsage]] = {}
        self.own: dict[str, KeyUsage] = {}
        self._replaced: list[tuple[int, Direction, KeyUsage]] = []

    @property
    def uses(self) -> list[KeyUse]:
        """How much each key protected so far, those that were replaced first."""
        live = [(*place, usage) for place, (_, usage) in self._accounts.items()]
        links = [KeyUse(engine, way.value, usage.standing) for engine, way, usage in (*self._replaced, *live)]
        return [*links, *(KeyUse(None, what, usage.standing) for what, usage in self.own.items())]

    def usage(self, keys: LinkKeys, way: Direction) -> KeyUsage:
        """Return the count of the key of one direction; it begins with the key, and not with an epoch."""
        place, name = (keys.engine, way), key_name(keys.half(way))
        known, usage = self._accounts.get(place, (b"", None))
        if usage is None or known != name:
            if usage is not None:
                self._replaced.append((*place, usage))
            usage = KeyUsage(self._limits)
            self._accounts[place] = name, usage
        return usage

    def unused(self) -> KeyUsage:
        """Return the count of a key that is still to be made."""
        return KeyUsage(self._limits)


def key_name(key: bytes) -> bytes:
    """Return a name for a key: who does not have the key cannot tell the name from random bytes."""
    return hkdf_expand_sha256(key, b"carnet_key_name", _NAME_BYTES)
