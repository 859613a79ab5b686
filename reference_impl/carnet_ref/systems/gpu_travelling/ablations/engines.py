"""Copy engines that a weaker design leaves open: old keys stay live, counters go back, and senders are believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from carnet_ref.device import CopyEngines, Opened
from carnet_ref.keys import LinkKeys
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR


class NeverRetires(CopyEngines):
    """Engines that were left go on taking traffic."""

    __slots__ = ()

    def retire(self) -> None:
        """Leave every engine as it is."""


class KeepsReceiving(CopyEngines):
    """A rotation at return leaves the holder's half to the device as it is."""

    __slots__ = ()

    def receive_under(self, keys: LinkKeys) -> None:
        """Take new keys only when the GPU travels, and at first."""
        if keys.owner != ORCHESTRATOR or not self.live:
            super().receive_under(keys)


class KeepsSending(CopyEngines):
    """A rotation at return leaves the half from the device as it was lent."""

    __slots__ = ()

    def send_under(self, keys: LinkKeys) -> None:
        """Take new keys only when the GPU travels, and at first."""
        if keys.owner != ORCHESTRATOR or keys.epoch == 0:
            super().send_under(keys)


class BelievesCounters(CopyEngines):
    """Messages are opened at the counter value that their sender claims."""

    __slots__ = ()

    def open(self, engine: int, ciphertext: bytes, claimed: int) -> Opened:
        """Decrypt at the claimed counter value."""
        receiving = self._live(engine)
        receiving.opener = self._opener(receiving.keys, claimed)
        return super().open(engine, ciphertext, claimed)


class RestartsCounters(CopyEngines):
    """Half a rotation is possible: counters restart, and the keys stay."""

    __slots__ = ()

    def restart_counters(self) -> None:
        """Start every counter again under the same keys."""
        for receiving in list(self._receiving.values()):
            self._load(receiving.keys)
        self._sealer = self._sealer_of(self._sending)


class Reloads(CopyEngines):
    """An engine can be loaded again with a key that it left."""

    __slots__ = ()

    def reload(self, keys: LinkKeys) -> None:
        """Take traffic under ``keys`` again, and under no others."""
        self._receiving.clear()
        self._load(keys)
        self._sending, self._sealer = keys, self._sealer_of(keys)


ALTERNATIVES: Final[Mapping[str, type[CopyEngines]]] = {
    "engine-retirement": NeverRetires,
    "rotation-in-h2d": KeepsReceiving,
    "rotation-in-d2h": KeepsSending,
    "gpu-implicit-iv": BelievesCounters,
    "atomic-rotation": RestartsCounters,
    "no-engine-reload": Reloads,
}
"""What copy engines do without each defence."""
