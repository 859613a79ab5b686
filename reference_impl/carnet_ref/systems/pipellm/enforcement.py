"""The mark on steps that enforce the specification: ids of requirements and names of defences, as literal strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Marked = TypeVar("_Marked", bound=Callable[..., object])


def enforces(*cited: str) -> Callable[[_Marked], _Marked]:
    """Cite what a step enforces; whoever wants to know reads it in the source."""

    def unchanged(step: _Marked) -> _Marked:
        return step

    del cited
    return unchanged
