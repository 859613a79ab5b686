"""What ``carnet verify`` says of a drawn protocol, asked as the command asks, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self
from unittest.mock import patch

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring import explorer as exploring
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.induction import counterexample
from carnet_check.engines.induction.engine import Induction
from carnet_check.engines.interface import Engine, Explores
from carnet_check.errors import CarnetError
from carnet_check.loading import default_instance as made
from carnet_check.loading import families, scope
from carnet_check.loading.default_instance import default_instance, elements_of
from carnet_check.loading.families import Source
from carnet_check.verification import campaign as running
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, planned
from carnet_spec.language import Family, Profile, Protocol, Scale, SpecificationError
from tests.oracle.evaluate import Sizes
from tests.oracle.recipe import Recipe

RLIMIT = 400_000
"""The solver's budget for one question: a random protocol may be undecidable, and UNKNOWN is no wrong verdict."""
BOTH: tuple[Engine, ...] = (Induction(rlimit=RLIMIT), EXPLICIT)


class Refused(Exception):  # an outcome, not an error
    """The specification was refused, in one line that says why."""


def family(recipe: Recipe, sizes: Sizes) -> Family:
    """Wrap the recipe as the checker wraps a draft that comes without instances, at ``sizes``."""
    return Family(
        id="random",
        title="Random",
        draft=recipe.draft,
        instance=default_instance,
        variants=recipe.variants,
        main=tuple(name for name in recipe.variants if name != "layer"),
        profiles={"tiny": Profile("tiny", sizes)},
    )


def verdicts(asked: Family, engines: tuple[Engine, ...] = BOTH) -> CampaignOutcome:
    """Verify the family with these engines, exploring instances of profile ``tiny``.

    Raises:
        Refused: the specification is not well formed, or has no instance of these sizes.
    """
    source = Source(asked.id, asked, asked.id)
    with here(source):
        try:
            return running.verify(replace(planned(Request(source)), engines=engines))
        except (SpecificationError, CarnetError) as error:
            if "in the registry" in str(error):
                raise RuntimeError("a process was asked about a protocol that it cannot load") from error
            raise Refused(str(error)) from error


def _elements_of(protocol: Protocol, scale: Scale) -> dict[str, tuple[str, ...]]:
    """Return elements at the sizes of what the protocol speaks of; others would be refused."""
    return elements_of(protocol, {sort.name: scale[sort.name] for sort in protocol.sorts if sort.name in scale})


@contextlib.contextmanager
def here(source: Source) -> Iterator[None]:
    """Explore in this process what is not registered anywhere."""
    with (
        patch.object(exploring, "run_all", _run_all),
        patch.object(counterexample, "WorkerPool", _NoPool),
        patch.object(families, "load", lambda _reference: source),
        patch.object(scope, "elements_of", _elements_of),
        patch.object(made, "elements_of", _elements_of),
    ):
        yield


class _NoPool:
    """Does in this process what a pool of workers would do."""

    def __init__(self, _jobs: int) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, work: Callable[[Any], Iterator[Any]], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield each task with everything that its work says."""
        yield from ((task, said) for task in tasks for said in work(task))


def _run_all(
    explorer: Explores, tasks: Sequence[Search], _jobs: int, _progress: Callable[[object], None], _before: object = None
) -> Iterator[tuple[Search, Coverage]]:
    for task in tasks:
        try:
            yield task, search(explorer, task)
        except Exception as error:  # what a worker process would have sent back
            yield task, exploring.failed(task, error)
