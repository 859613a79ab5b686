"""Attacks carried out with real bytes: what the record says comes out again, and is about attacks of the spec."""

import functools
import json
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from carnet_check.attacks import replaying
from carnet_check.attacks.replaying import restricted_protocol
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_ref.systems.gpu_travelling.ablations.deployment import AblatedDeployment
from carnet_ref.systems.gpu_travelling.exploits import honest, testbed
from carnet_ref.systems.gpu_travelling.exploits.attacker import Attacker
from carnet_ref.systems.gpu_travelling.exploits.honest import Names
from carnet_ref.systems.gpu_travelling.exploits.hostile import ACTIONS, Hostile, NotReplayableError
from carnet_ref.systems.gpu_travelling.exploits.replay import replay_here, replay_with
from carnet_ref.systems.replaying import Attack
from carnet_spec.language import Instance, Profile, Protocol
from carnet_spec.trace import Trace, TraceStep
from docs._ext.carnet_pages.carried_out import replayed
from docs._ext.carnet_pages.known_attacks import CATALOGUE, UNREPLAYED
from tests.fixtures.travelling import COLLUSION, FAMILY, SOURCE
from tests.fixtures.worlds import draws
from tests.unit.model_check.command import carnet

FILE = Path(__file__).parents[2] / "docs" / "results" / "replays" / "gpu-travelling.json"
ATTACKS: dict[str, dict[str, Any]] = {attack["id"]: attack for attack in json.loads(FILE.read_text("utf-8"))}
REPRODUCED = [id for id, attack in ATTACKS.items() if attack["replay"]["reproduced"]]
QUICK = (
    "finding-1",
    "finding-4",
    "finding-6",
    "finding-9",
    "finding-10",
    "finding-13",
    "finding-14",
    "finding-15",
    "finding-16",
    "finding-17",
    "finding-18",
    "variant-late-corruption-engine",
    "without-address-in-grant",
    "without-channel-counter",
    "without-code-reupload-code-read-back-data",
    "without-debug-check-data",
    "without-fresh-key",
    "without-gpu-implicit-iv",
    "without-lease",
    "without-no-context-left",
    "without-reference-values-data",
    "without-revocation-check-data",
    "without-wrapped-key-once",
)
#: Where a defence stops an attack at another step than in the specification: earlier, or at the chunk and no order.
#:
#: A report or an order that a kernel makes is refused where it arrives, a key that does not fit where it is tried, and
#: a model that was overwritten where its digest is compared: the specification has no such step then.
ELSEWHERE = {
    "without-gpu-certificate": "open_session",
    "without-gpu-certificate-data": "open_session",
    "without-gpu-implicit-iv": "gpu_receive",
    "finding-7": "fenced",
    "finding-13": "fenced",
    "finding-14": "exec_train",
    "finding-18": "verified",
    "variant-late-corruption-engine": "same_engine_h2d",
}
#: What a stronger adversary is for, and the attack that shows it.
ASKED = {
    "kernel-answers": "finding-13",
    "counter reuse under one engine": "without-channel-counter",
    "model rollback": "without-model-read-back-participation",
    "forked orchestrator": "finding-17",
    "leaked certified device key": "finding-16",
    "late-corrupted holder": "variant-late-corruption-engine",
}
#: Sizes that hold whatever an attack in the record names.
LARGE = {
    "holders": 1,
    "corrupt": 1,
    "fakes": 1,
    "leaks": 1,
    "instances": 1,
    "twins": 1,
    "chunks": 2,
    "rounds": 3,
    "sessions": 2,
    "own_sessions": 1,
    "own_keys": 1,
}


def test_the_record_is_rich_has_known_attacks_and_nothing_that_stays_abstract() -> None:
    defended = [id for id in REPRODUCED if not ATTACKS[id]["replay"]["defended"]["reproduced"]]
    assert defended == REPRODUCED
    assert {finding.id for finding in FAMILY.findings} <= set(REPRODUCED)
    assert len(REPRODUCED) >= 25
    assert sum(ATTACKS[id]["claim"] == "confidentiality" for id in REPRODUCED) >= 12
    assert all("bytes in a row" in ATTACKS[id]["replay"]["recovered"] for id in REPRODUCED if _is_theft(id))
    assert len({known.title for known in CATALOGUE}) == len(CATALOGUE) >= 25
    assert {known.replay for known in CATALOGUE} <= set(REPRODUCED)
    assert len({known.replay for known in CATALOGUE}) >= 25
    assert all(known.source for known in CATALOGUE)
    whole = [FAMILY.draft_of(name).whole() for name in FAMILY.variants]
    known = {*FAMILY.variants, *(defence.id for each in whole for defence in each.defences)}
    carried_out = {name for id in REPRODUCED for name in (ATTACKS[id]["variant"], *ATTACKS[id]["removed"])}
    assert {each.name for each in UNREPLAYED} <= known - carried_out
    assert all(each.why for each in UNREPLAYED)


@pytest.mark.parametrize("name", ASKED)
def test_a_stronger_adversary_has_replays_of_its_own(name: str) -> None:
    outcome = ATTACKS[ASKED[name]]["replay"]
    assert outcome["reproduced"]
    assert not outcome["defended"]["reproduced"]
    assert outcome["defended"]["stopped"]


def _refused(attack: dict[str, Any]) -> dict[str, Any] | None:
    """Return the step at which the specification with every defence refuses the steps of an attack."""
    protocol, instance = _design(replay_here.defended_variant(Attack.of(attack)), (), attack["threat"])
    judge, actions = Interpreter(protocol, instance), {action.name: action for action in protocol.actions}
    state = judge.start()
    for index, each in enumerate(attack["steps"]):
        step = TraceStep.from_json(each)
        try:
            state = judge.fire(state, actions[step.action], step.env)
        except (KeyError, NotEnabled):
            return {"index": index, "action": step.action}
    return None


@pytest.mark.parametrize("id", REPRODUCED)
def test_a_defence_stops_the_bytes_where_it_stops_the_specification(id: str) -> None:
    stopped = ATTACKS[id]["replay"]["defended"]["stopped"]
    if id in ELSEWHERE:
        assert stopped["action"] == ELSEWHERE[id]
    else:
        assert stopped == _refused(ATTACKS[id])


def test_an_attack_without_unrealisable_steps_is_an_attack_of_the_whole_design() -> None:
    """The narrowed protocol loses steps and gains guards, and nothing else."""
    protocol, _ = _design("engine-per-holder", ("rotation-before-fence", "no-context-left"))
    whole = {action.name: action for action in protocol.actions}
    limits = replay_here.realisable(list(whole))
    limited = {**limits, "known_plaintext_pad": {"v": "0"}}
    narrow = {action.name: action for action in restricted_protocol(protocol, limited).actions}
    assert set(whole) - set(narrow) == {name for name, arguments in limits.items() if arguments is None} & set(whole)
    assert {"rewire", "rotate_in"} <= set(whole) - set(narrow)
    for name, action in narrow.items():
        assert set(whole[name].guards) <= set(action.guards)
        assert action.updates == whole[name].updates
    added = set(narrow["known_plaintext_pad"].guards) - set(whole["known_plaintext_pad"].guards)
    assert [guard.name for guard in added] == ["only v"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_replays_another_attack_where_the_shortest_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one is replayed by the interpreter here, and by the implementation there."""
    replay: Any = replaying._replay("gpu-travelling")
    asked: list[Mapping[str, Any]] = []

    def not_the_first(attack: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(attack)
        return {**replay(attack), "reproduced": len(asked) > 1}

    monkeypatch.setattr(not_the_first, "realisable", replay.realisable, raising=False)
    monkeypatch.setattr(replaying, "_replay", lambda _: not_the_first)
    arguments = (
        "gpu-travelling",
        "--without",
        "rotation-before-fence,no-context-left",
        "--claim",
        "confidentiality",
        "--jobs",
        "1",
    )
    outcome = carnet("attack", *arguments, "--replay", "--json").json["replay"]
    assert outcome["steps"] == asked[1]["steps"]
    limits = replay.realisable([action.name for action in _design("engine-per-holder", ())[0].actions])
    left_out = {name for name, allowed in limits.items() if allowed is None}
    assert left_out
    assert left_out.isdisjoint(step["action"] for step in outcome["steps"])
    assert replay(asked[1])["reproduced"]
    protocol, instance = _design("engine-per-holder", ("rotation-before-fence", "no-context-left"))
    judge = Interpreter(protocol, instance)
    steps = tuple(TraceStep.from_json(step) for step in outcome["steps"])
    final = judge.replay(Trace(protocol.id, protocol.variant, protocol.without, COLLUSION, steps))[-1]
    assert not judge.holds(protocol.claim("confidentiality").checked.formula, final)


def _is_theft(id: str) -> bool:
    return bool(ATTACKS[id]["claim"] == "confidentiality")


@pytest.mark.parametrize("id", [id if id in QUICK else pytest.param(id, marks=pytest.mark.slow) for id in ATTACKS])
def test_what_the_record_says_comes_out_again(id: str) -> None:
    (again,) = replayed(replay_with(draws(id)), [ATTACKS[id]])
    assert again == ATTACKS[id]


@functools.cache
def _design(variant: str, removed: tuple[str, ...], threat: str = COLLUSION) -> tuple[Protocol, Instance]:
    protocol = SOURCE.protocol(variant, removed)
    return protocol, SOURCE.instance(protocol, threat, Profile("whatever is named", LARGE))


@pytest.mark.parametrize("id", ATTACKS)
def test_every_recorded_attack_breaks_its_claim_in_the_spec(id: str) -> None:
    attack = ATTACKS[id]
    threat = attack["threat"]
    protocol, instance = _design(attack["variant"], tuple(attack["removed"]), threat)
    judge = Interpreter(protocol, instance)
    steps = tuple(TraceStep.from_json(step) for step in attack["steps"])
    final = judge.replay(Trace(protocol.id, protocol.variant, protocol.without, threat, steps))[-1]
    assert not judge.holds(protocol.claim(attack["claim"]).checked.formula, final)


def test_steps_have_one_counterpart_each() -> None:
    """An honest step is a role's, an adversary's one operation; nothing is written for one attack."""
    for attack in ATTACKS.values():
        for step in attack["steps"]:
            name = step["action"]
            taken = name in honest.STEPS or name in honest.BY_THEMSELVES
            done = name in ACTIONS
            assert not (taken and done), name
            assert taken or done or not attack["replay"]["reproduced"], name


@pytest.mark.parametrize("action", ["quote", "impersonate", "has", "give", "_reset", "no such step"])
def test_a_step_that_is_called_like_code_has_no_counterpart(action: str) -> None:
    bed = testbed.Testbed(AblatedDeployment(("alice",), 1), draws(action))
    hostile = Hostile(bed, Names(), Attacker(bed))
    with pytest.raises(NotReplayableError, match=f"{action} has no counterpart"):
        hostile.do(TraceStep(action, "platform", ()))


def test_the_command_replays_by_the_entry_point_of_the_implementation() -> None:
    arguments = ("gpu-travelling", "--variant", "intra-handshake-quote", "--jobs", "1", "--replay", "--json")
    ran = carnet("attack", *arguments)
    assert ran.code == 1
    assert ran.json["replay"]["reproduced"]
    assert not ran.json["replay"]["defended"]["reproduced"]
    assert [entry.name for entry in entry_points(group="carnet.replay")] == ["any"]


VARIANT, OFF, CLAIM = "engine-per-holder", "no-context-left", "trains-verified"
#: Found by ``carnet attack gpu-travelling --without no-context-left --claim trains-verified``.
SCRIPT = """
adversary lend_enrolment a=mallory p=platform
orchestrator admit a=mallory p=platform
orchestrator open_session s=s1 k=h1 c=0
gpu answer_session g=gpu1 s=s1 k=h1
gpu give_report g=gpu1 s=s1 mode=CONFIDENTIAL
orchestrator accept_gpu q=gpu1 n=s1 mode=CONFIDENTIAL
orchestrator send_fence v=0
gpu exec_fence g=gpu1 k=h1 v=0
orchestrator fenced
orchestrator upload v=0
orchestrator send_read_back v=1
gpu exec_upload g=gpu1 k=h1 v=0
gpu exec_read_back g=gpu1 k=h1 v=1 c=h1 n=1
orchestrator verified
orchestrator send_scrub v=2
gpu exec_scrub g=gpu1 k=h1 v=2
orchestrator scrubbed
orchestrator rotate_out a=mallory k=k1 c=0
gpu gpu_rotate_out g=gpu1 s=s1 k=k1
orchestrator rotated_out
orchestrator grant a=mallory p=platform v=0 b=the_buffer
adversary keep_lent_key p=platform k=k1 v=0
adversary pool_h2d x=platform y=mallory k=k1
adversary lie_about_count a=mallory k=k1 n=0
adversary plant x=platform g=gpu1 k=k1
orchestrator take_back a=mallory n=0
orchestrator rotate_in k=b1 c=1
gpu gpu_rotate_in g=gpu1 s=s1 k=b1
orchestrator rotated_in
orchestrator send_fence v=1
gpu exec_fence g=gpu1 k=b1 v=1
adversary code_stays g=gpu1
orchestrator fenced
orchestrator upload v=0
orchestrator send_read_back v=2
gpu exec_upload g=gpu1 k=b1 v=0
gpu exec_read_back g=gpu1 k=b1 v=2 c=k1 n=0
orchestrator verified
orchestrator send_train v=3
"""


def _step(line: str) -> TraceStep:
    by, action, *args = line.split()
    named = (each.replace("_", " ").split("=") for each in args)
    return TraceStep(action, by, tuple((name, value) for name, value in named))


STEPS = [_step(line) for line in SCRIPT.split("\n") if line]
ATTACK: dict[str, Any] = {
    "variant": VARIANT,
    "removed": [OFF],
    "claim": CLAIM,
    "steps": [step.to_json() for step in STEPS],
}
SIZES = {"holders": 1, "corrupt": 1, "chunks": 1, "rounds": 1, "sessions": 1}


@pytest.mark.verifies("gpu-travelling-REQ-HOME-07")
def test_the_kernel_runs_while_training_begins_unless_the_report_speaks_of_it() -> None:
    outcome = replay_with(draws("contexts"))(ATTACK)
    assert outcome["reproduced"], outcome["stopped"]
    assert outcome["recovered"] == "1 foreign context runs while training begins"
    defended = outcome["defended"]
    assert (defended["reproduced"], defended["stopped"]["step"]["action"]) == (False, "verified")
    assert "expected no context besides the firmware, found 1 (REQ-HOME-07)" in defended["stopped"]["why"]


@pytest.mark.parametrize("off", [(OFF,), ()], ids=["without", "with"])
def test_the_specification_says_the_same(off: tuple[str, ...]) -> None:
    protocol = SOURCE.protocol(VARIANT, off)
    judge = Interpreter(protocol, SOURCE.instance(protocol, COLLUSION, Profile("one of each", SIZES)))
    actions, state = {action.name: action for action in protocol.actions}, judge.start()
    last = next(index for index in reversed(range(len(STEPS))) if STEPS[index].action == "verified")
    for step in STEPS[: None if off else last]:
        state = judge.fire(state, actions[step.action], step.env)
    if off:
        assert not judge.holds(protocol.claim(CLAIM).checked.formula, state)
    else:
        with pytest.raises(NotEnabled):
            judge.fire(state, actions["verified"], STEPS[last].env)
