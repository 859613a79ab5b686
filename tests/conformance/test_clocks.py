"""Instants in checked traces: comparisons are made again, whatever a role says that came of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from carnet_check.conformance import conform
from carnet_check.conformance.checks import Clock
from carnet_check.errors import UsageError
from carnet_ref.systems.gpu_travelling.parties.deployment import Deployment, holder_names
from tests.fixtures.checked import Event, events, logged_again, with_deductions, write_checked
from tests.fixtures.rounds import header, honest
from tests.fixtures.travelling import FAMILY, SOURCE
from tests.fixtures.worlds import world_of

VARIANT = FAMILY.main[0]
LAYERED = [SOURCE.protocol(name) for name in FAMILY.with_layers([VARIANT])]
FIRST = header(variant=VARIANT, threat="")
RUN = events(with_deductions(honest(2)), LAYERED)
LATE = 2_000_000
"""After everything in the run, and after the end of every lease and of all evidence."""


def _why(path: Path, run: Sequence[Event]) -> str:
    """Return why a trace of these events, recorded so, does not conform, or nothing."""
    found = conform(write_checked(path / "trace", FIRST, logged_again(run, FIRST))).divergence
    return "" if found is None else found.why


def _last(action: str) -> int:
    return max(number for number, event in enumerate(RUN) if event.get("action") == action)


def _with(action: str, **at: float | None) -> list[Event]:
    """Return the run with other instants in the last step of a kind; ``None`` leaves one out."""
    last = _last(action)
    found = {name: instant for name, instant in (RUN[last]["at"] | at).items() if instant is not None}
    return [*RUN[:last], RUN[last] | {"at": found}, *RUN[last + 1 :]]


def test_what_is_followed_is_what_the_layer_says_of_instants() -> None:
    """Read off the spec: what carries a defence or says how the clock runs, and nothing of keys and phases."""
    (clock,) = Clock.of(LAYERED[0], LAYERED)
    assert {action.name: [guard.name for guard in action.guards] for action in clock.protocol.actions} == {
        "open_session": ["time passes"],
        "accept_gpu": ["time passes"],
        "rotate_out": ["time passes", "age at the order"],
        "grant": ["time passes", "age at use", "a lease within it"],
        "take_back": ["time passes", "within the lease"],
        "evict": ["time passes"],
        "read_clock": ["time has passed"],
    }
    assert {each.name for each in clock.protocol.sorts} == {"Instant"}


def test_a_design_without_a_clock_has_none() -> None:
    assert Clock.of(LAYERED[0], LAYERED[:1]) == ()


def test_instants_as_they_are_conform(tmp_path: Path) -> None:
    assert not _why(tmp_path, RUN)


GRANTED = RUN[_last("grant")]["at"]["now"]


@pytest.mark.parametrize(
    ("run", "guard"),
    [
        (_with("grant", end=LATE), "a lease within it"),
        (_with("grant", now=LATE, end=LATE), "age at use"),
        (_with("grant", end=GRANTED), "within the lease"),
        (_with("rotate_out", now=LATE), "age at the order"),
        (_with("take_back", now=LATE), "within the lease"),
        (_with("take_back", now=GRANTED - 1), "time passes"),
        (_with("accept_gpu", now=-1), "time passes"),
    ],
    ids=["lease too long", "granted late", "lease too short", "ordered late", "returned late", "before", "negative"],
)
def test_a_comparison_that_fails_is_noticed_though_the_role_says_that_it_holds(
    tmp_path: Path, run: list[Event], guard: str
) -> None:
    """Every check is recorded as made, and as holding; only the numbers say otherwise."""
    assert f"'{guard}'" in _why(tmp_path, run)


def test_a_comparison_that_a_design_lacks_is_not_made() -> None:
    """A trace of a weaker design is judged by what that one says of instants."""
    weaker = SOURCE.protocol(LAYERED[-1].variant, ("lease",))
    (clock,) = Clock.of(LAYERED[0], [LAYERED[0], weaker])
    assert [guard.name for guard in clock.protocol.action("take_back").guards] == ["time passes"]


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (_with("grant", end=None), "expected the instants of the event to be now, end, found now"),
        (_with("take_back", now=None), "to be now, found none"),
        (_with("grant", then=1), "to be now, end, found now, end, then"),
    ],
    ids=["missing", "all missing", "unknown"],
)
def test_each_step_gives_the_instants_that_the_layer_asks_for(tmp_path: Path, run: list[Event], told: str) -> None:
    assert told in _why(tmp_path, run)


@pytest.mark.parametrize("instant", ["1", True, None, float("nan"), float("inf")], ids=str)
def test_an_instant_is_a_number(tmp_path: Path, instant: object) -> None:
    at = _last("grant")
    odd = [*RUN[:at], RUN[at] | {"at": {"now": instant, "end": 1}}, *RUN[at + 1 :]]
    with pytest.raises(UsageError, match="expected 'now' to be a number of seconds"):
        conform(write_checked(tmp_path / "trace", FIRST, odd, {"end": {}, "header": ""}))


def test_a_recorded_run_says_when_it_was(tmp_path: Path) -> None:
    """Real roles: their instants conform, and a return that is moved behind its lease does not."""
    deployment = Deployment(holder_names(2), 2, chunk_bytes=64)
    world, _ = world_of(deployment)
    world.run(20_000)
    assert not world.failure
    first = deployment.header(world.recorder.lines)
    run: list[Event] = [json.loads(line) for line in world.recorder.lines]
    assert conform(write_checked(tmp_path / "trace", first, run)).conforms
    ends = next(event["at"]["end"] for event in run if event.get("action") == "grant")
    at = next(number for number, event in enumerate(run) if event.get("action") == "take_back")
    late = logged_again([*run[:at], run[at] | {"at": {"now": ends + 0.001}}, *run[at + 1 :]], first)
    found = conform(write_checked(tmp_path / "late", first, late)).divergence
    assert found is not None
    assert "'within the lease'" in found.why
