"""Replays: what is refused stops an attack where it is, and a claim falls by its bytes and by nothing else."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.systems.ablation import without
from carnet_ref.systems.replaying import Attack, Replay
from carnet_spec.protocols.pipellm import FAMILY
from carnet_spec.trace import TraceStep


class Refused(Exception):
    """What a party of this system raises."""


ERRORS = {"refuse": Refused("not that"), "open": AuthenticationError("the tag"), "look": KeyError("k1")}


def open_world(variant: str, off: frozenset[str], attack: Attack) -> nullcontext[list[str]]:
    assert len(attack.steps) in (1, 2)
    return nullcontext([variant, *sorted(off)])


def take(world: list[str], step: TraceStep, ahead: Sequence[TraceStep]) -> None:
    if step.action in ERRORS and not ahead and "pad-first" not in world:
        raise ERRORS[step.action]
    if step.action == "break":
        raise ZeroDivisionError


def weak(world: list[str]) -> Iterator[str]:
    yield from (f"without {name}" for name in world[1:])


REPLAY = Replay(FAMILY, open_world, take, {"weak": weak}, (Refused,))


def said(*actions: str, variant: str = "no-padding", removed: Sequence[str] = ()) -> dict[str, Any]:
    steps = [{"action": action, "by": "", "args": {}} for action in actions]
    return REPLAY({"variant": variant, "removed": removed, "claim": "weak", "steps": steps})


def test_an_attack_is_carried_out_without_what_the_variant_lacks_and_with_everything() -> None:
    outcome = said("go", removed=("tag-checked",))
    assert (outcome["reproduced"], outcome["recovered"]) == (True, "without behind-anew")
    assert outcome["defended"] == {"reproduced": False, "recovered": "", "stopped": None}


WHY = {"refuse": "not that", "open": "the tag does not verify", "look": "k1"}


@pytest.mark.parametrize("action", WHY)
def test_what_is_refused_stops_the_attack_where_it_is(action: str) -> None:
    outcome = said("go", action)
    assert outcome["reproduced"]
    at = {"index": 1, "step": {"action": action, "by": "", "args": {}}, "why": WHY[action]}
    assert outcome["defended"] == {"reproduced": False, "recovered": "", "stopped": at}


def test_a_defect_of_a_replay_is_not_taken_for_a_refusal() -> None:
    with pytest.raises(ZeroDivisionError):
        said("break")


class Plain:
    def says(self) -> str:
        return "plain"


class Loud(Plain):
    def says(self) -> str:
        return f"loud {super().says()}"


class Slow(Plain):
    def says(self) -> str:
        return f"slow {super().says()}"


SAYS = {"": "plain", "a": "loud plain", "b": "slow plain", "ab": "loud slow plain", "c": "plain"}


@pytest.mark.parametrize("off", SAYS)
def test_a_party_leaves_out_what_is_off(off: str) -> None:
    assert without(Plain, {"a": Loud, "b": Slow}, frozenset(off))().says() == SAYS[off]
