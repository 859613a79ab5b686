"""The replay of abstract attacks on a system, step by step, with an audit of the broken claim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from carnet_ref.crypto.primitives import CryptoError
from carnet_spec.language import Family
from carnet_spec.trace import TraceStep

W = TypeVar("W")
Claims = Mapping[str, Callable[[W], Iterator[str]]]  #: What shows in a world, in bytes, that a claim is violated.
Env = Mapping[str, str]  #: The arguments of a step, by the names of its parameters.


@dataclass(frozen=True)
class InWorld(Generic[W]):
    """Base class for collections of methods, named after actions or claims, that act on a world or observe it."""

    world: W


def by_name(kind: type[InWorld[W]], *, hyphens: bool = False) -> dict[str, Callable[..., Any]]:
    """Return the public methods of a class as functions of a world, by the specification's names for them."""

    def in_world(method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda world, *args: method(kind(world), *args)

    public = {name: method for name, method in vars(kind).items() if not name.startswith("_")}
    return {name.replace("_", "-") if hyphens else name: in_world(method) for name, method in public.items()}


def number_in(name: str) -> int:
    """Return the number at the end of an element's name."""
    return int(name.lstrip("abcdefghijklmnopqrstuvwxyz "))


def taking(
    steps: Mapping[str, Callable[..., object]], unseen: Collection[str] = ()
) -> Callable[[Any, TraceStep, Sequence[TraceStep]], None]:
    """Return a function that takes a step by its action; for actions in ``unseen`` it does nothing."""

    def take(world: Any, step: TraceStep, ahead: Sequence[TraceStep]) -> None:
        del ahead
        if step.action not in unseen:
            steps[step.action](world, step.env)

    return take


@dataclass(frozen=True, slots=True)
class Attack:
    """An abstract attack: a design, a claim, the steps that break it, and the instance that it was found in."""

    variant: str
    removed: tuple[str, ...]
    claim: str
    steps: tuple[TraceStep, ...]
    instance: str = ""

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Attack:
        """Return the attack that ``carnet attack --json`` describes."""
        steps = tuple(TraceStep.from_json(step) for step in value["steps"])
        return cls(value["variant"], tuple(value["removed"]), value["claim"], steps, value.get("instance", ""))


@dataclass(frozen=True, slots=True)
class Replay(Generic[W]):
    """The replay of attacks on one system."""

    family: Family  #: the protocol, whose variants say which defences they lack.
    #: makes the world of a variant in which some defences are off, for an attack.
    world: Callable[[str, frozenset[str], Attack], W]
    #: takes a step, given those that follow; whatever it cannot take is a refusal or a ``LookupError``.
    take: Callable[[W, TraceStep, Sequence[TraceStep]], None]
    claims: Claims[W]  #: what shows that a claim is violated.
    refusals: tuple[type[Exception], ...]  #: what the parties of the system raise.

    def __call__(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Replay what ``carnet attack --json`` found, with the design's defences off and then with all of them on."""
        attack = Attack.of(value)
        off = frozenset((*self.family.variants[attack.variant].without, *attack.removed))
        designs = ((attack.variant, off), (self.defended_variant(attack), frozenset[str]()))
        worlds = (self.world(variant, lacking, attack) for variant, lacking in designs)
        attacked, defended = (self.carried_out(world, attack) for world in worlds)
        return {**attacked, "defended": defended}

    def carried_out(self, world: W, attack: Attack) -> dict[str, Any]:
        """Take the steps in a world; return the evidence that the claim is violated, or where it stopped."""
        refusals: tuple[type[Exception], ...] = (*self.refusals, CryptoError, LookupError)
        for index, step in enumerate(attack.steps):
            try:
                self.take(world, step, attack.steps[index + 1 :])
            except refusals as error:
                place, missing = self.missing(world, index, step)
                at = {"index": place, "step": missing.to_json(), "why": _why(error)}
                return {"reproduced": False, "recovered": "", "stopped": at}
        found = next(self.claims[attack.claim](world), "") if attack.claim in self.claims else ""
        return {"reproduced": bool(found), "recovered": found, "stopped": None}

    def defended_variant(self, attack: Attack) -> str:
        """Return the variant in which the attack is tried with every defence on."""
        return attack.variant

    def missing(self, world: W, index: int, step: TraceStep) -> tuple[int, TraceStep]:
        """Return the step that is to blame for a stop at ``step``, with its position; by default that step."""
        del world
        return index, step


def _why(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
