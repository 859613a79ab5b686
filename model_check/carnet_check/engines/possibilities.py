"""What may ever happen, in an instance of any size: what is asked, and of whom."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from carnet_check.cache import Answers
from carnet_spec.language import Action, Goal


class Possibilities(ABC):
    """What may ever happen in one protocol under one threat model; ``before`` are earlier answers, if some are kept."""

    before: Answers | None = None

    @abstractmethod
    def may(self, premise: Goal, taken: Sequence[Action] | None) -> bool:
        """Whether ``premise`` may hold when only the actions of ``taken`` are ever taken; unsure counts as yes.

        Without ``taken`` nothing is said about how symbols change.
        """

    @abstractmethod
    def answered(self, premise: Goal) -> bool:
        """Whether anybody knew when it was asked last whether ``premise`` may hold: if not, yes was a guess."""


class Unsure(Possibilities):
    """Nobody can tell what never happens, since what tells is not installed or not wanted: anything may."""

    def may(self, premise: Goal, taken: Sequence[Action] | None) -> bool:
        """Return that it may hold."""
        return True

    def answered(self, premise: Goal) -> bool:
        """Return that nobody knew."""
        return False
