"""Random walks through one instance: what is asked of them, and what they covered.

A walk begins in the first state and takes steps that change the state, each as likely as any other that could be taken
there. Nothing is drawn that the seed does not decide. Decided in docs/adr/0035-a-sample-of-walks.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from carnet_command.text import counted

DEFAULT_DEPTH = 100
DEFAULT_SEED = 0
MOST_SEED = (1 << 64) - 1
"""What seeds are made of: 64 bits."""


@dataclass(frozen=True, slots=True)
class Walks:
    """How many walks to take, of how many steps at most, and what they are drawn from."""

    number: int
    depth: int = DEFAULT_DEPTH
    seed: int = DEFAULT_SEED

    @property
    def described(self) -> str:
        """The walks in words, the seed apart."""
        return f"{counted(self.number, 'random walk')} of at most {counted(self.depth, 'step')}"


@dataclass(frozen=True, slots=True)
class GuardSeen:
    """How a guard of an action was seen, in any state that a walk left and for any arguments that the instance allows.

    Attributes:
        held: for some arguments it held.
        failed: for some arguments it did not.
        alone: for some arguments it was the only guard of its action that did not.
        decided: the instance alone decides it, whatever the state.
    """

    held: bool = False
    failed: bool = False
    alone: bool = False
    decided: bool = False

    def joined(self, other: GuardSeen) -> GuardSeen:
        """Return how it was seen here or there."""
        return GuardSeen(
            self.held or other.held,
            self.failed or other.failed,
            self.alone or other.alone,
            self.decided and other.decided,
        )


@dataclass(frozen=True, slots=True)
class ActionSeen:
    """How often walks took an action, whether it could be taken in a state that they left, and how its guards did.

    Guards that only draw an unused element are not among them.
    """

    taken: int = 0
    enabled: bool = False
    guards: Mapping[str, GuardSeen] = field(default_factory=dict)

    def joined(self, other: ActionSeen) -> ActionSeen:
        """Return how it was seen here or there."""
        guards = {
            name: seen.joined(other.guards[name]) if name in other.guards else seen
            for name, seen in self.guards.items()
        }
        return ActionSeen(self.taken + other.taken, self.enabled or other.enabled, guards)


@dataclass(frozen=True, slots=True)
class Walked:
    """What walks covered.

    Attributes:
        walks: how many came to their end.
        steps: how many steps all of them took.
        stuck: how many ended early, because no step would have changed the state.
        actions: for each action that is no deduction, how it was seen.
    """

    walks: int = 0
    steps: int = 0
    stuck: int = 0
    actions: Mapping[str, ActionSeen] = field(default_factory=dict)

    @property
    def idle(self) -> tuple[str, ...]:
        """The actions that no walk took."""
        return tuple(name for name, seen in self.actions.items() if not seen.taken)

    @property
    def guards(self) -> Iterator[tuple[str, str, GuardSeen]]:
        """Every guard with its action, in the protocol's order, and how it was seen."""
        for action, seen in self.actions.items():
            for guard, each in seen.guards.items():
                yield action, guard, each

    @staticmethod
    def together(every: Iterable[Walked]) -> Walked:
        """Return what walks in several instances covered."""
        total = Walked()
        for each in every:
            total = Walked(
                total.walks + each.walks,
                total.steps + each.steps,
                total.stuck + each.stuck,
                {**total.actions, **{name: total._seen(name, seen) for name, seen in each.actions.items()}},
            )
        return total

    def _seen(self, name: str, more: ActionSeen) -> ActionSeen:
        return self.actions[name].joined(more) if name in self.actions else more
