"""Where obligations are answered: in how many processes, on which machines, and what is remembered of earlier answers.

Several runs can share the work: each takes the obligations and searches that fall to it, and leaves the answers in one
cache. Such a shard establishes no claim; the run that finds all answers there does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from carnet_check import cache
from carnet_check.cache import Answers
from carnet_command.workers import MEMORY, PATIENCE, Pool, WorkerPool

Part = TypeVar("Part")


class Listener(Protocol):
    """Is told how far a task is."""

    def status(self, text: str) -> None:
        """Take note of what goes on now; replaces what was said before."""

    def line(self, text: str) -> None:
        """Take note of what was just established."""


class Silent:
    """Listens, and says nothing."""

    def status(self, text: str) -> None:
        """Say nothing."""

    def line(self, text: str) -> None:
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of ``of`` parts of the work, counted from 1. Every piece of work is in exactly one."""

    number: int
    of: int

    def owns(self, name: str) -> bool:
        """Whether the piece of work called ``name`` is in this part: its digest says so, in every run alike."""
        return int(hashlib.sha256(name.encode()).hexdigest(), 16) % self.of == self.number - 1

    def share(self, parts: Sequence[Part]) -> list[Part]:
        """Return every ``of``-th of the parts, which are few and have a fixed order."""
        return list(parts[self.number - 1 :: self.of])

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class Portion:
    """What became of one part of the work: how much there was of it, and what is left open or went wrong."""

    engine: str
    work: str
    """What is counted: obligations or explorations."""
    done: int
    of: int
    """How many there are in all parts together, as far as this one can tell."""
    open: Mapping[str, str] = field(default_factory=dict)
    """Why something has no answer, by its name; the run that joins the parts asks again."""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runner:
    """How the work of a run is done.

    Attributes:
        jobs: how many worker processes there may be.
        cluster: the address of the Ray cluster that answers obligations; without one, this machine does.
        folder: where answers are kept and looked up, if anywhere.
        shard: the part of the work to do, if not all of it.
    """

    jobs: int = 1
    cluster: str = ""
    folder: Path | None = None
    shard: Shard | None = None

    def pool(self, version: Callable[[], str], *, patience: float | None = None, memory: int = MEMORY) -> Pool:
        """Return workers for obligations; ``version`` says who answers, and says the same wherever they are."""
        patience = PATIENCE if patience is None else patience
        if self.cluster:
            from carnet_check.engines.cluster import RayPool

            return RayPool(self.cluster, version, patience=patience, memory=memory)
        return WorkerPool(self.jobs, patience=patience, memory=memory)

    def answers(self, *who: str) -> Answers | None:
        """Return the earlier answers of a solver or search, which ``who`` names with its version and settings."""
        return Answers(self.folder, (*who, cache.code())) if self.folder is not None else None


HERE = Runner()
"""One process of this machine, nothing remembered and nothing left out."""
