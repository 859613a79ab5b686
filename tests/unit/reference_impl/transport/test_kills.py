"""Whoever is killed, wherever: the run comes to the same model, or stops and says so, and the trace conforms."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.transport.frames import PLATFORM
from tests.fixtures.killing import Aftermath, Blow, run_with
from tests.fixtures.worlds import world_of

LONG = Deployment(holder_names(3), 6, chunks=33, chunk_bytes=96, lease=5.0, patience=5.0)
SHORT = Deployment(holder_names(2), 2, chunks=2, chunk_bytes=512, lease=5.0, patience=5.0)


def points(deployment: Deployment, folder: Path) -> tuple[Aftermath, list[tuple[str, int]]]:
    """Return an undisturbed run, and every point at which somebody wrote to a journal in it."""
    folder.mkdir()
    calm = run_with(None, deployment, folder)
    return calm, [(name, entry) for name, entries in calm.journals.items() for entry in range(1, entries + 1)]


@pytest.mark.parametrize(
    "blow",
    [
        Blow(ORCHESTRATOR, 4, (ORCHESTRATOR,)),
        Blow("alice", 3, ("alice",)),
        Blow(ORCHESTRATOR, 3, (PLATFORM,)),
    ],
    ids=str,
)
def test_a_kill_changes_nothing_but_time(blow: Blow, tmp_path: Path) -> None:
    calm, _ = world_of(SHORT)
    calm.run()
    struck = run_with(blow, SHORT, tmp_path)
    assert struck.fell
    assert struck.conforms, struck.divergence
    assert struck.model == calm.orchestrator.job.progress.digest, struck.stopped


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_kills_at_every_journalled_point(tmp_path: Path) -> None:
    calm, everywhere = points(LONG, tmp_path / "calm")
    assert len(everywhere) >= 200
    blows = [Blow(who, entry, (who,)) for who, entry in everywhere]
    blows += [Blow(who, entry, (PLATFORM,)) for who, entry in everywhere[::6]]
    pairs = [(PLATFORM,), (ORCHESTRATOR,)]
    doubles = [Blow(who, entry, (who, *pairs[entry % 2])) for who, entry in everywhere[:: len(everywhere) // 60]]
    doubles = [blow for blow in doubles if len(set(blow.victims)) == 2]
    assert len(doubles) >= 50
    outcomes = []
    for number, blow in enumerate([*blows, *doubles]):
        folder = tmp_path / str(number)
        folder.mkdir()
        struck = run_with(blow, LONG, folder)
        outcomes.append({"blow": str(blow), "same": struck.model == calm.model, **_plain(struck)})
        if log := os.environ.get("CARNET_KILL_LOG"):
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcomes[-1]) + "\n")
    assert not [each for each in outcomes if not each["conforms"]]
    own = outcomes[: len(everywhere)]
    assert len([each for each in own if each["same"]]) >= 0.9 * len(own)
    assert not [each for each in outcomes if not each["same"] and not each["stopped"]]


def _plain(struck: Aftermath) -> dict[str, object]:
    return {"fell": struck.fell, "conforms": struck.conforms, "stopped": struck.stopped, "why": struck.divergence}
