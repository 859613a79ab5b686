"""Random protocols by the thousand, in chunks that are each drawn from a seed, so that a run can be taken up again."""

from __future__ import annotations

import contextlib
import io
import multiprocessing.pool
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.campaign.examining import Examined, Tools, examined, explored
from tests.oracle.protocols import recipes
from tests.oracle.recipe import Recipe

CHUNK = 25  #: How many are drawn from one seed: what Hypothesis draws later is more and more like what it drew before.


@dataclass(frozen=True)
class Campaign:
    """What is run: from which seed, with which programs, and how often E is asked."""

    seed: int
    checker: Path
    exhaust: Path
    e_every: int = 1  #: Of so many chunks, E is asked about one.
    explorers_only: bool = False  #: Whether none but the explorers are asked.
    size: int = CHUNK
    shrinks: bool = True  #: Whether a small protocol is looked for where anything disagrees.

    def chunk(self, number: int) -> Chunk:
        """Put the protocols of one chunk through everything; where anything disagrees, find a small protocol for it."""
        found = Examined()
        with tempfile.TemporaryDirectory(prefix="carnet-campaign-") as folder:
            tools = Tools(self.checker, self.exhaust, Path(folder))

            def judged(recipe: Recipe) -> None:
                one = self._examined(recipe, number, tools)
                found.counts.update(one.counts)
                found.disagreements.extend(one.disagreements)

            self._drawn(number, judged)
            sys.stderr.writelines(f"{each}\n" for each in found.disagreements)
            shown = self._shrunk(number, tools) if self.shrinks and found.disagreements else ""
        counts = {what: count for what, count in sorted(found.counts.items()) if count}
        return Chunk(number, counts, tuple(map(str, found.disagreements)), shown)

    def _examined(self, recipe: Recipe, number: int, tools: Tools) -> Examined:
        if self.explorers_only:
            return explored(recipe)
        draw = random.Random(f"{self.seed}/{number}/{recipe!r}")
        return examined(recipe, tools, draw, with_e=number % self.e_every == 0)

    def _drawn(self, number: int, judged: Callable[[Recipe], None], *phases: Phase) -> None:
        drawn = settings(
            max_examples=self.size,
            derandomize=False,  # the seed says which are drawn
            database=None,
            deadline=None,
            phases=(Phase.generate, *phases),
            suppress_health_check=list(HealthCheck),
        )
        with by_seed_alone():
            seed(f"{self.seed}/{number}")(drawn(given(recipes())(judged)))()

    def _shrunk(self, number: int, tools: Tools) -> str:
        """Return the smallest protocol that Hypothesis finds with a disagreement, and that."""
        last = ""

        def agreed(recipe: Recipe) -> None:
            nonlocal last
            one = self._examined(recipe, number, tools)
            if one.disagreements:
                last = "\n".join((repr(recipe), *map(str, one.disagreements)))
                raise AssertionError(last)

        with contextlib.suppress(AssertionError, Flaky), contextlib.redirect_stdout(io.StringIO()):
            self._drawn(number, agreed, Phase.shrink)
        return last


@contextlib.contextmanager
def by_seed_alone() -> Iterator[None]:
    """Keep Hypothesis from drawing numbers and texts that it finds in the modules that happen to be loaded."""
    providers.CONSTANTS_CACHE.cache.clear()
    with patch.object(providers, "_get_local_constants", Constants):
        yield
    providers.CONSTANTS_CACHE.cache.clear()


@dataclass(frozen=True)
class Chunk:
    """What was counted in a chunk, and where anything disagrees, with a small protocol that shows it."""

    number: int
    counts: dict[str, int]
    disagreements: tuple[str, ...] = ()
    smallest: str = ""


def run(campaign: Campaign, protocols: int, jobs: int, first: int = 0) -> Iterator[Chunk]:
    """Yield chunks in order, beginning with the ``first``, until so many protocols were compared.

    A disagreement ends the run with the chunk that has it.
    """
    compared, number = 0, first
    with multiprocessing.Pool(jobs, maxtasksperchild=8) if jobs > 1 else contextlib.nullcontext() as pool:
        waiting: dict[int, multiprocessing.pool.AsyncResult[Chunk]] = {}
        while compared < protocols:
            if pool is None:
                chunk = campaign.chunk(number)
            else:
                ahead = (n for n in range(number, number + 2 * jobs) if n not in waiting)
                waiting |= {n: pool.apply_async(campaign.chunk, (n,)) for n in ahead}
                chunk = waiting.pop(number).get()
            yield chunk
            if chunk.disagreements:
                return
            compared += chunk.counts.get("protocols", 0)
            number += 1


def total(chunks: list[Chunk]) -> Counter[str]:
    found: Counter[str] = Counter()
    for chunk in chunks:
        found.update(chunk.counts)
    return found
