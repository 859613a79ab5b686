"""Hardware: what the machines beneath the protocol let an adversary reach, and what the variants change of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from carnet_spec.language import Formula, Kind, relation, true
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Gpu,
    Key,
    Session,
    corrupt,
    elsewhere,
    forges_h2d,
    interferes,
    key_session,
    knows_h2d,
    live_h2d,
    mux,
    platform,
)

located = relation("located", Agent, Session, kind=Kind.KNOWLEDGE, says="knows where the model lies in that session")


@dataclass(frozen=True, slots=True)
class Hardware:
    """What lies beneath a variant.

    Attributes:
        confined: the hardware limits a link key to the dataset buffer (the deck's outlook).
        switched: a PCIe switch takes the place of the MUX, and every host on it reaches the GPU at any time.
        hidden: the model lies at an address that the orchestrator draws anew in each session.
        leads_to: whether the bus leads to a VM that the agent runs.
    """

    confined: bool = False
    switched: bool = False
    hidden: bool = False
    leads_to: Callable[[Agent], Formula] = lambda x: mux == x

    def routes(self, x: Agent) -> Formula:
        """Whether what ``x`` puts on the bus gets to the GPU."""
        return true if self.switched else corrupt(platform) | self.leads_to(x)

    def locates(self, x: Agent, key: Key) -> Formula:
        """Whether ``x`` knows where the model lies in the key's session; today every holder does."""
        return located(x, key_session(key)) if self.hidden else true

    def taps(self) -> Formula:
        """Whether the adversary reads and writes what the bus, or a GPU out of confidential mode, lays open."""
        return true if self.switched else corrupt(platform)

    def holds(self, gpu: Gpu) -> Formula:
        """Whether the adversary may reset the GPU, boot it otherwise and talk to it."""
        return interferes if self.switched else interferes & (corrupt(platform) | elsewhere(gpu))

    def reaches(self, x: Agent, gpu: Gpu, key: Key) -> Formula:
        """Whether corrupt ``x`` reaches memory: it makes messages under the live key, and the bus leads there.

        What outsiders do to a GPU of their own, on another machine, is left out: nobody else ever uses it.
        """
        makes = knows_h2d(x, key) | forges_h2d(x, key)
        return interferes & corrupt(x) & makes & live_h2d(gpu, key) & ~elsewhere(gpu) & self.routes(x)


PLAIN = Hardware()
"""Today's hardware, as the deck uses it."""
