"""Replays: what is refused stops an attack where it is, and a claim falls by its bytes and by nothing else."""

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import pytest

from carnet_check.loading.families import load
from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.systems import replay_of
from carnet_ref.systems.ablation import without
from carnet_ref.systems.replaying import Attack, Replay
from carnet_spec.protocols.pipellm import FAMILY
from carnet_spec.protocols.sgx_lkl.design import oblivious
from carnet_spec.trace import TraceStep


class Refused(Exception):
    """What a party of this system raises."""


ERRORS = {"refuse": Refused("not that"), "open": AuthenticationError("the tag"), "look": KeyError("k1")}


def open_world(variant: str, off: frozenset[str], attack: Attack) -> list[str]:
    assert len(attack.steps) in (1, 2)
    return [variant, *sorted(off)]


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


def step(action: str, by: str, **args: str) -> dict[str, Any]:
    return {"action": action, "by": by, "args": args}


TENSOR = {"a": "alice", "k": "k1", "t": "weights1"}
EXCHANGED = step("answer_exchange", "gpu", g="gpu1", k="k1")
JOINED = step("join", "replica", r="backup1", c="origin", f="e0")
#: For each system a run that breaks nothing.
HARMLESS: dict[str, list[dict[str, Any]]] = {
    "fastrack": [step("open_exchange", "user", a="alice", k="k1"), EXCHANGED],
    "sgx-lkl": [step("plan", "holder", left_n="chunk1", right_n="chunk1")],
    "teechain": [step("found", "replica", p="primary", c="origin"), JOINED],
    "tensortee": [
        step("open_session", "cpu", a="alice", k="k1"),
        step("cpu_begin", "cpu", **TENSOR, w="v1"),
        step("cpu_write", "cpu", **TENSOR, i="line1", b="alice's 1"),
        step("cpu_hand_over", "cpu", **TENSOR),
        step("load_handed", "npu", **TENSOR, v="v1"),
    ],
    "verifiable-fl": [
        *(step("launch", "exclave", e=each, r="run") for each in ("provider", "trainer")),
        *(step("enlist", "auditor", r="run", e=each, x=each, q="run") for each in ("provider", "trainer")),
        step("perform", "exclave", e="provider", s="clean1"),
        step("perform", "exclave", e="trainer", s="train1"),
        *(step("accept", "auditor", r="run", s=each) for each in ("clean1", "train1")),
        *(step("end", "exclave", e=each, r="run") for each in ("provider", "trainer")),
        *(step("conclude", "auditor", r="run", e=each) for each in ("provider", "trainer")),
    ],
}
#: For each system a claim, a step that cannot be the first, and why.
STOPPED = {
    "fastrack": ("no-replay", EXCHANGED, "^k1$"),
    "pipellm": ("in-step", step("pad", "tenant", a="alice", k="k1", j="iv1"), "^k1$"),
    "ring-all-reduce": ("whole-sum", step("finish", "rank", g="rank1", i="iteration1"), "are missing"),
    "sgx-lkl": ("size", step("send_chunk", "holder", t="chunk1"), "^no dataset$"),
    "teechain": ("no-rollback", JOINED, "^refused by the chain: primary is no member of"),
    "tensortee": ("no-rollback", step("spill", "cpu", **TENSOR), "^k1$"),
    "verifiable-fl": ("step-taken", step("accept", "auditor", r="run", s="clean1"), "provider"),
}


def carried_out(id: str, claim: str, steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    replay = replay_of(id)
    assert replay is import_module(f"carnet_ref.systems.{id.replace('-', '_')}.exploits").replay_here
    assert replay is not None
    done: dict[str, Any] = replay({"variant": load(id).family.main[0], "removed": [], "claim": claim, "steps": steps})
    return done


@pytest.mark.parametrize("id", STOPPED)
def test_a_replay_says_where_it_stops(id: str) -> None:
    claim, first, why = STOPPED[id]
    stopped = carried_out(id, claim, [first])["stopped"]
    assert stopped["index"] == 0
    assert re.search(why, stopped["why"])


@pytest.mark.parametrize("id", HARMLESS)
def test_a_run_that_breaks_nothing_shows_nothing(id: str) -> None:
    for claim in import_module(f"carnet_ref.systems.{id.replace('-', '_')}.exploits").CLAIMS:
        outcome = carried_out(id, claim, HARMLESS[id])
        assert (outcome["reproduced"], outcome["stopped"]) == (False, None)


#: The defences without which a design has every step, and the steps that a replay takes by itself.
#:
#: TensorTEE's draft has every step, that of each defence's absence too.
BESIDE: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "fastrack": ((), {"decrypt"}),
    "teechain": (("launch-identity",), set()),
    "tensortee": ((), {"open_session"}),
    "verifiable-fl": (("key-in-hardware", "digest-inside"), set()),
}


@pytest.mark.parametrize("id", BESIDE)
def test_every_step_and_every_claim_has_its_bytes(id: str) -> None:
    exploits = f"carnet_ref.systems.{id.replace('-', '_')}.exploits"
    steps, (without, taken) = import_module(exploits), BESIDE[id]
    family, protocol = load(id).family, load(id).protocol("", without)
    whole = family.draft(family.main[0]) if id == "tensortee" else protocol
    assert {*steps.STEPS, *getattr(steps, "UNSEEN", ()), *taken} == {action.name for action in whole.actions}
    assert set(steps.CLAIMS) == {claim.name for claim in protocol.claims}


def test_every_step_and_every_claim_of_two_runs_has_its_bytes() -> None:
    steps, protocol = import_module("carnet_ref.systems.sgx_lkl.exploits"), load("sgx-lkl").protocol()
    taken = {action.name for action in protocol.actions if not action.name.startswith("compare_")}
    assert set(steps.STEPS) == taken
    assert set(steps.ABLE) == set(oblivious("fixed-shape").secretly_possible)
    assert set(steps.CLAIMS) == {claim.name for claim in protocol.claims}


def test_a_system_is_found_by_the_id_of_its_protocol_and_nothing_else_is() -> None:
    assert replay_of("gpu-travelling") is not None
    assert replay_of("sealed-letter") is None
    assert replay_of("../fastrack") is None
