"""``carnet explore --checkpoint DIR``: whatever ended a run, the same command goes on from the last whole level."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from carnet_command.files import _beside
from tests.unit.model_check.command import FIXTURES, TOY, carnet

CUBE = f"{FIXTURES / 'wide.py'}"
COMMAND = [sys.executable, "-c", "from carnet_check.cli import main; main()"]
TOLD = ("states", "transitions", "depth", "complete", "violations")


def told(words: list[str], folder: Path, *more: str) -> tuple[int, dict[str, object], str]:
    """Explore with a checkpoint; return the code, what has to be the same however it is run, and what was logged."""
    ran = carnet("explore", *words, "--checkpoint", str(folder), "--json", *more)
    return ran.code, {name: ran.json[name] for name in TOLD if name in ran.json}, ran.err


SMALL = [TOY, "--engine", "explicit"]


def test_a_run_that_was_stopped_is_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "kept"
    whole = carnet("explore", *SMALL, "--json").json
    code, found, log = told(SMALL, folder, "--max-states", "40")
    assert (code, found["complete"], "going on" in log) == (3, False, False)
    code, found, log = told(SMALL, folder)
    assert (code, found) == (0, {name: whole[name] for name in TOLD})
    assert f"states in {folder}" in log.replace("\n", " ")
    assert told(SMALL, folder)[:2] == (0, found)
    shown = carnet("explore", *SMALL, "--checkpoint", str(folder)).out
    assert f"artefacts    {folder}" in shown


def test_a_run_that_was_killed_is_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    words = ["explore", CUBE, "--engine", "explicit", "--checkpoint", str(folder)]
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        end = time.monotonic() + 120
        while len([*folder.glob("*.states.*")]) < 4 and running.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        running.kill()
    assert running.returncode == -9
    heads = [json.loads(file.read_text().splitlines()[0]) for file in folder.glob("*.head")]
    more = str(1 + sum(items for head in heads for _, items, _ in head["series"]["states"]))
    code, found, log = told([CUBE, "--engine", "explicit"], folder, "--max-states", more)
    without = carnet("explore", CUBE, "--engine", "explicit", "--max-states", more, "--json").json
    assert (code, "going on from" in log) == (3, True)
    assert found == {name: without[name] for name in TOLD}


def test_a_disk_that_is_full_ends_a_run_and_the_next_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    ran = carnet("explore", *SMALL, "--checkpoint", str(folder), "--max-disk", "2000")
    assert (ran.code, "stopped by disk after" in ran.out) == (3, True)
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 4000
    whole = carnet("explore", *SMALL, "--json").json
    code, found, log = told(SMALL, folder, "--max-disk", "1MiB")
    assert (code, found, "going on from" in log) == (0, {name: whole[name] for name in TOLD}, True)


OTHERS = {
    "variant": [*SMALL, "--variant", "forgetful"],
    "threat model": [*SMALL, "--threat", "none"],
    "size": [*SMALL, "--moves", "1"],
    "engine": [TOY, "--engine", "native"],
    "reduction": [*SMALL, "--no-reduction"],
}


@pytest.mark.parametrize("what", OTHERS)
def test_the_checkpoint_of_another_search_is_refused(tmp_path: Path, what: str) -> None:
    if what == "engine":
        pytest.importorskip("numba", reason="needs Numba (the extra 'fast')")
    told(SMALL, tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    ran = carnet("explore", *OTHERS[what], "--checkpoint", str(tmp_path))
    assert (ran.code, f"of another {what}" in ran.err, len(ran.err.splitlines())) == (2, True, 1)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_broken_checkpoint_is_refused(tmp_path: Path) -> None:
    told(SMALL, tmp_path)
    states = next(tmp_path.glob("*.states.3"))
    states.write_bytes(states.read_bytes()[:-1])
    ran = carnet("explore", *SMALL, "--checkpoint", str(tmp_path), "--json")
    assert (ran.code, json.loads(ran.out)["error"]["kind"]) == (2, "usage")
    said = json.loads(ran.out)["error"]["message"]
    assert said == f"the checkpoint is broken: '{states}' ends in the middle of a state"


def test_what_a_killed_run_left_unfinished_is_removed_by_the_next(tmp_path: Path) -> None:
    told(SMALL, tmp_path)
    mine = tmp_path / ".notes.part"
    mine.touch()
    left = _beside(tmp_path / "states")
    left.write_bytes(b"some states")
    other = carnet("explore", *OTHERS["threat model"], "--checkpoint", str(tmp_path))
    assert (other.code, left.exists()) == (2, True)
    told(SMALL, tmp_path)
    assert (mine.exists(), left.exists()) == (True, False)


def test_a_folder_that_cannot_be_cleared_is_refused(tmp_path: Path) -> None:
    told(SMALL, tmp_path)
    _beside(tmp_path / "states").mkdir()
    ran = carnet("explore", *SMALL, "--checkpoint", str(tmp_path))
    assert (ran.code, "cannot clear the folder" in ran.err, len(ran.err.splitlines()[-1:])) == (2, True, 1)


def test_a_checkpoint_whose_head_is_gone_does_not_begin_again(tmp_path: Path) -> None:
    told(SMALL, tmp_path)
    (head,) = tmp_path.glob("*.head")
    head.unlink()
    ran = carnet("explore", *SMALL, "--checkpoint", str(tmp_path))
    assert (ran.code, "is of a search whose head is not there" in ran.err) == (2, True)


def test_what_cannot_go_together_is_refused(tmp_path: Path) -> None:
    ran = carnet("explore", TOY, "--max-disk", "1MiB")
    assert (ran.code, "--checkpoint" in ran.err) == (2, True)
    (tmp_path / "thesis.tex").write_text("dear")
    ran = carnet("explore", TOY, "--checkpoint", str(tmp_path))
    assert (ran.code, "a checkpoint or an empty folder" in ran.err) == (2, True)
    ran = carnet("explore", TOY, "--checkpoint", str(tmp_path / "thesis.tex"))
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)


def test_a_checkpoint_that_somebody_else_may_write_is_refused(tmp_path: Path) -> None:
    """Whoever may write there could make states up."""
    told(SMALL, tmp_path)
    tmp_path.chmod(0o777)
    ran = carnet("explore", *SMALL, "--checkpoint", str(tmp_path))
    assert (ran.code, "a checkpoint that nobody else may write to" in ran.err) == (2, True)
