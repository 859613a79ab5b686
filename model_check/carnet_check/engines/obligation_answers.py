"""What engines that prove say: of single obligations, of single steps, and of what happens in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from carnet_spec.language import Action
from carnet_spec.language.terms import Term

FRAME = "frame"
"""Of a step that leaves what an invariant says as it is: induction proves all these by one argument."""


@dataclass(frozen=True, slots=True)
class ObligationAnswer:
    """What an engine says of one obligation of one variant.

    Attributes:
        layer: the id of the threat model in whose layer it is, or nothing.
        obligation: its id, the same for all engines.
        outcome: ``proved``, ``refuted`` or ``unknown``, or ``frame`` where the engine has nothing to prove: the step
            leaves what the invariant says as it is.
        digest: of the first text that was asked, where engines share the text.
        reason: why it is unknown.
        core: names of hypotheses that suffice, where the engine says so.
    """

    layer: str
    obligation: str
    outcome: str
    digest: str = ""
    seconds: float = 0.0
    reason: str = ""
    core: tuple[str, ...] = ()

    @property
    def invariant(self) -> str:
        """The name of the invariant that the obligation is about."""
        return self.obligation.rpartition("/")[2].replace("%2F", "/").replace("%25", "%")


class StepProofs(ABC):
    """What is proved of single steps, from the axioms and the invariants of one protocol under one threat model."""

    @abstractmethod
    def kept(self, action: Action, invariants: Collection[str], first: str = "") -> Iterator[ObligationAnswer]:
        """Answer whether ``action`` keeps each of some invariants.

        Args:
            action: any action over the protocol's symbols, one that the protocol does not have too.
            invariants: the names of the invariants.
            first: a hypothesis; what is likely to need it comes first.
        """

    @abstractmethod
    def every(self, invariants: Collection[str], first: str = "") -> Iterator[ObligationAnswer]:
        """Answer every obligation of some invariants, those of the first state included, as :meth:`kept` does."""

    @abstractmethod
    def follows(self, given: Mapping[str, Term], goal: Term) -> ObligationAnswer:
        """Answer whether ``goal`` holds wherever the axioms, the invariants and what is ``given`` hold."""


@dataclass(frozen=True, slots=True)
class LivenessAnswer:
    """Whether a liveness property is proved: by whose fairness, from which axioms and lemmas, or why it is not."""

    fair: tuple[str, ...] = ()
    axioms: frozenset[str] = frozenset()
    lemmas: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def proved(self) -> bool:
        """Whether it is proved."""
        return bool(self.fair)
