"""What is said of a replay: where each of its two runs stopped, and what that shows."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_check.attacks.replaying import describe_replay


def _stopped(index: int | None) -> dict[str, Any]:
    at = None if index is None else {"index": index, "step": {"action": "fenced"}, "why": "refused"}
    return {"reproduced": False, "recovered": "", "stopped": at}


@pytest.mark.parametrize(
    ("attacked", "defended", "said"),
    [
        (4, 4, "with every defence on, it stops at the same step, so that shows nothing of the defence: refused"),
        (4, 2, "with every defence on, stopped at step 3, fenced: refused"),
        (None, None, "with every defence on, every step is taken, and the claim holds"),
    ],
    ids=["at the same step", "earlier", "nowhere"],
)
def test_a_run_that_stops_where_the_attacked_one_does_is_not_stopped_by_a_defence(
    attacked: int | None, defended: int | None, said: str
) -> None:
    lines = " ".join(" ".join(describe_replay({**_stopped(attacked), "defended": _stopped(defended)})).split())
    assert lines.startswith("replay not reproduced: ")
    assert lines.endswith(f"defended {said}")


@pytest.mark.mends("N17")
def test_a_defence_stops_what_was_reproduced_without_it() -> None:
    outcome = {"reproduced": True, "recovered": "a key", "stopped": None, "defended": _stopped(4)}
    assert (
        list(describe_replay(outcome))[-1] == "defended     with every defence on, stopped at step 5, fenced: refused"
    )
