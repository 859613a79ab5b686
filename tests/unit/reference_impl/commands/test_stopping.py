"""``carnet run`` and ``carnet sweep`` end when they are told to, with all that they started and without a trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from carnet_check.cli import main
from carnet_check.conformance.recorded import check_extent
from carnet_ref.systems.gpu_travelling.commands.run import MOST_HOLDERS, MOST_ROUNDS
from carnet_ref.systems.gpu_travelling.commands.running import MOST_PROCESSES
from carnet_ref.systems.gpu_travelling.deployment import Deployment
from carnet_spec.protocols.gpu_travelling.instances import FRESH_SIZES

CARNET = (sys.executable, "-c", "from carnet_check.cli import main; main()")
ENDLESS = {
    "run": (("run", "--rounds", "100000"), 1),
    "run in processes": (("run", "--rounds", "100000", "--processes"), 6),
    "sweep": (("sweep", "--configurations", "200000", "--jobs", "2", "--out", "outcomes.csv"), 3),
}
"""Commands that would go on for long, and how many processes they are, once all of them work."""
LEFT = {"run": "the run is not over, and nothing of it is kept", "sweep": "the work is not finished"}


def in_session(session: int) -> list[int]:
    """Return the processes of a session that live."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, belongs = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(belongs) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.mends("N9")
@pytest.mark.mends("L3")
@pytest.mark.parametrize(
    ("command", "given", "send"),
    [
        ("run", signal.SIGHUP, os.killpg),
        ("run in processes", signal.SIGHUP, os.killpg),
        ("run in processes", signal.SIGTERM, os.kill),
        ("sweep", signal.SIGINT, os.killpg),
        ("sweep", signal.SIGTERM, os.kill),
        ("sweep", signal.SIGHUP, os.killpg),
    ],
)
def test_a_command_that_is_stopped_leaves_nothing(
    command: str, given: signal.Signals, send: Callable[[int, int], None], tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    words, processes = ENDLESS[command]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        (*CARNET, *words), cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as started:
        stream = started.stderr if command == "sweep" else started.stdout
        assert stream is not None
        next(line for line in stream if "round 2 of" in line or "timing" in line)
        while len(in_session(started.pid)) < processes:
            time.sleep(0.01)
        told_at = time.monotonic()
        send(started.pid, given)
        send(started.pid, given)
        told, said = started.communicate(timeout=60)
    assert started.returncode == 130, said
    assert time.monotonic() - told_at < 20
    assert said.splitlines()[-1:] == [f"carnet: interrupted: {LEFT[command.split(maxsplit=1)[0]]}"]
    assert "Traceback" not in told + said
    while in_session(started.pid):  # the last ones end when they see that their parent has
        assert time.monotonic() - told_at < 20
        time.sleep(0.01)
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


@pytest.mark.mends("L9")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--holders", "1000000"), f"1000000 is not in the range 1<=x<={MOST_HOLDERS}"),
        (("--holders", "1000000", "--key-schedule", "ratchet"), f"1000000 is not in the range 1<=x<={MOST_HOLDERS}"),
        (("--rounds", "1000000000"), f"1000000000 is not in the range 1<=x<={MOST_ROUNDS}"),
        (
            ("--holders", str(MOST_PROCESSES + 1), "--key-schedule", "ratchet", "--processes"),
            f"at most {MOST_PROCESSES} holders in processes of their own, not {MOST_PROCESSES + 1}",
        ),
    ],
)
def test_a_run_that_would_never_end_is_refused_at_once(words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(main, ["run", *words])
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_trace_of_the_largest_run_can_be_judged() -> None:
    holders = tuple(f"holder {number}" for number in range(MOST_HOLDERS))
    check_extent(Deployment(holders, MOST_ROUNDS).header(), FRESH_SIZES)


@pytest.mark.slow
@pytest.mark.mends("L9")
@pytest.mark.timeout(300)
def test_a_run_of_as_many_holders_as_may_be_ends() -> None:
    words = ["--holders", str(MOST_HOLDERS), "--rounds", "2", "--key-schedule", "ratchet"]
    assert CliRunner().invoke(main, ["run", *words]).exit_code == 0
