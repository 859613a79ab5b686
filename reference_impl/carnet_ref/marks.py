"""The mark on a step that is itself what the specification asks for; the documentation reads it from the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Step = TypeVar("_Step", bound=Callable[..., object])


def enforces(*ids: str) -> Callable[[_Step], _Step]:
    """Mark a step that is itself what these requirements ask for and, named after them, these defences.

    Args:
        ids: literal strings, since the source is parsed and not run.
    """
    del ids

    def marked(step: _Step) -> _Step:
        return step

    return marked
