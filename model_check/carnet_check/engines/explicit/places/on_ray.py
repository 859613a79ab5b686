"""Places on the machines of a Ray cluster, one for each of its processors.

A place has to be what it would be here, by the same code. One that is lost takes what it owned along, so the search
ends there and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from carnet_check.cache import code
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.places.owner import Fields, Owner
from carnet_check.engines.explicit.places.search import LostPlaceError
from carnet_check.engines.runner import joined
from carnet_check.errors import UsageError
from carnet_command.worker import STARTING

BEGINNING = 2 * STARTING
"""Seconds that the cluster has to begin on all its processors."""


class OnRay:
    """Places of a Ray cluster.

    Args:
        address: where it is.

    Raises:
        UsageError: Ray is not installed, or there is no cluster.
    """

    def __init__(self, address: str) -> None:
        self._ray = joined(address)
        self._keepers: list[Any] = []

    def begin(self, again: Callable[[], Model], dominance: bool) -> int:
        """Make an owner on each processor.

        Raises:
            UsageError: the cluster has other code.
            LostPlaceError: a processor stays busy with something else.
        """
        number = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        made = self._ray.remote(num_cpus=1, max_restarts=0)(Keeper)
        self._keepers = [made.remote(again, number, dominance) for _ in range(number)]
        for there in self._asked([keeper.code.remote() for keeper in self._keepers], BEGINNING):
            if there != code():
                raise UsageError(f"expected the cluster to have Carnet's code {code()[:16]}, and it has {there[:16]}")
        return number

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """Call a method of all at the same time.

        Raises:
            LostPlaceError: one is lost.
        """
        calls = zip(self._keepers, *arguments, strict=True)
        return self._asked([keeper.call.remote(method, *each) for keeper, *each in calls])

    def lay_out_anew(self, fields: Fields) -> None:
        """Lay states out anew.

        Raises:
            LostPlaceError: one is lost.
        """
        self._asked([keeper.lay_out_anew.remote(fields) for keeper in self._keepers])

    def held(self) -> int:
        """Return the bytes that all hold.

        Raises:
            LostPlaceError: one is lost.
        """
        return sum(self.each("memory"))

    def _asked(self, calls: Sequence[Any], patience: float | None = None) -> list[Any]:
        errors = self._ray.exceptions
        try:
            return list(self._ray.get(calls, timeout=patience))
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            raise LostPlaceError(f"the cluster lost a worker: {type(error).__name__}") from None


class Keeper:
    """What Ray runs: an owner that can be replaced by one with another layout."""

    def __init__(self, again: Callable[[], Model], places: int, dominance: bool) -> None:
        self._again = again
        self._owner = Owner(again(), places, dominance=dominance)

    def code(self) -> str:
        """Return which code answers here."""
        return code()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the owner."""
        return getattr(self._owner, method)(*arguments)

    def lay_out_anew(self, fields: Fields) -> None:
        """Lay states out anew."""
        self._owner = self._owner.laid_out_anew(self._again(), fields)
