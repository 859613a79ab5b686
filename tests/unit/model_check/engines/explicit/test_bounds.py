"""The memory a search may hold is shared among the workers of a campaign, and no worker under its share stops."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from carnet_check.engines.explicit import bounds
from carnet_check.engines.explicit.bounds import Watch, resident_bytes
from carnet_check.engines.exploration import Caps
from carnet_command.interrupts import stoppable

MEBIBYTE = 1 << 20
HOLDS = "import sys; held = bytearray(int(sys.argv[1])); print('ready', flush=True); sys.stdin.read()"


def _watch(max_memory: int, workers: int) -> Watch:
    return Watch(Caps(memory=max_memory, workers=workers))


def test_a_search_alone_stops_beyond_its_memory() -> None:
    assert _watch(resident_bytes() // 2, 1).exceeded(0) == "memory"
    assert _watch(resident_bytes() * 2, 1).exceeded(0) is None


def test_a_search_stops_although_its_interrupt_was_swallowed() -> None:
    with stoppable():
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            _watch(resident_bytes() * 2, 1).exceeded(0)


def test_a_worker_under_its_share_goes_on_whatever_the_others_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_resident_in_siblings", lambda: 1 << 60)
    assert _watch(resident_bytes() * 3, 2).exceeded(0) is None


def test_a_worker_over_its_share_goes_on_while_the_others_leave_room(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = resident_bytes() * 3 // 2
    monkeypatch.setattr(bounds, "_resident_in_siblings", lambda: 0)
    assert _watch(memory, 2).exceeded(0) is None
    monkeypatch.setattr(bounds, "_resident_in_siblings", lambda: memory)
    assert _watch(memory, 2).exceeded(0) == "memory"


def test_what_siblings_hold_is_counted() -> None:
    """A sibling of ours is started by a child of ours that asks on our behalf."""
    script = (
        "import subprocess, sys\n"
        f"holder = subprocess.Popen([sys.executable, '-c', {HOLDS!r}, '{64 * MEBIBYTE}'],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "holder.stdout.readline()\n"
        "ask = 'from carnet_check.engines.explicit.bounds import _resident_in_siblings as held; print(held())'\n"
        "print(subprocess.run([sys.executable, '-c', ask], capture_output=True, text=True, check=True).stdout)\n"
        "holder.communicate()\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert int(told) >= 64 * MEBIBYTE


def test_what_is_no_part_of_a_search_counts_for_none_of_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    watch = Watch(Caps(seconds=6.0))
    now = 107.0
    assert watch.exceeded(1) == "time"
    watch.leave_out(4.0)
    assert (watch.exceeded(1), watch.seconds) == (None, 3.0)
