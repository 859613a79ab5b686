"""Planted code that starts a kernel between the fence and the upload: what the firmware's report says of contexts."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_check.semantics import Interpreter, NotEnabled
from carnet_ref.systems.gpu_travelling.exploits.replay import replay_with
from carnet_spec.language import Profile
from carnet_spec.trace import TraceStep
from tests.fixtures.travelling import COLLUSION, SOURCE
from tests.fixtures.worlds import draws

VARIANT, OFF, CLAIM = "engine-per-holder", "no-context-left", "trains-verified"
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
"""Found by ``carnet attack gpu-travelling --without no-context-left --claim trains-verified``."""


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
