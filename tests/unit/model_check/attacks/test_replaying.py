"""What is said of a replay: where each of its two runs stopped, and what that shows."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_check.attacks.replaying import describe_replay
from carnet_spec.protocols.gpu_travelling import FAMILY

PROTOCOL = FAMILY.protocol()
STEPS = [{"action": name} for name in ("pool_data", "send_fence", "pool_h2d", "exec_fence", "fenced")]
"""Attacks number the second, the fourth and the fifth of these; the others are deductions of the adversary."""


def _described(outcome: dict[str, Any]) -> str:
    return " ".join(" ".join(describe_replay(outcome, PROTOCOL, STEPS)).split())


def _stopped(index: int | None) -> dict[str, Any]:
    at = None if index is None else {"index": index, "step": STEPS[index], "why": "refused"}
    return {"reproduced": False, "recovered": "", "stopped": at}


@pytest.mark.parametrize(
    ("attacked", "defended", "said"),
    [
        (4, 4, "with every defence on, it stops at the same step, so that shows nothing of the defence: refused"),
        (4, 3, "with every defence on, stopped at step 2, exec_fence: refused"),
        (4, 2, "with every defence on, stopped after step 1, pool_h2d: refused"),
        (4, 0, "with every defence on, stopped before step 1, pool_data: refused"),
        (None, None, "with every defence on, every step is taken, and the claim holds"),
    ],
    ids=["at the same step", "earlier", "at a deduction", "at a deduction before every step", "nowhere"],
)
def test_a_run_that_stops_where_the_attacked_one_does_is_not_stopped_by_a_defence(
    attacked: int | None, defended: int | None, said: str
) -> None:
    lines = _described({**_stopped(attacked), "defended": _stopped(defended)})
    assert lines.startswith("replay not reproduced: ")
    assert lines.endswith(f"defended {said}")


@pytest.mark.mends("N17")
def test_a_defence_stops_what_was_reproduced_without_it() -> None:
    outcome = {"reproduced": True, "recovered": "a key", "stopped": None, "defended": _stopped(4)}
    assert _described(outcome).endswith("defended with every defence on, stopped at step 3, fenced: refused")


def test_another_attack_is_counted_as_its_steps_are_numbered() -> None:
    outcome = {"reproduced": True, "recovered": "a key", "stopped": None, "steps": STEPS, "defended": _stopped(4)}
    assert "by another attack of 3 steps: a key" in _described(outcome)
