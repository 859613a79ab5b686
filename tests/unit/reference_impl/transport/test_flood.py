"""A run among processes goes on while strangers connect in thousands and send frames of megabytes to its platform."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MEBIBYTE = 1 << 20
FLOOD = """
import os, resource, socket, sys, threading, time

parent = os.getppid()
port, idle, frames = map(int, sys.argv[1:])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
LENGTH, BODY = (1 << 24).to_bytes(4, "little"), memoryview(bytes(1 << 24))

def connected():
    while os.getppid() == parent:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except OSError:
            time.sleep(0.1)
    sys.exit()

def send_a_frame():
    try:
        with connected() as stranger:
            stranger.sendall(LENGTH)
            stranger.sendall(BODY)
    except OSError:
        pass

def closed(stranger):
    stranger.setblocking(False)
    try:
        return stranger.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True

standing = []
while True:
    senders = [threading.Thread(target=send_a_frame, daemon=True) for _ in range(frames)]
    for sender in senders:
        sender.start()
    standing += [connected() for _ in range(idle - len(standing))]
    for sender in senders:
        sender.join()
    print(len(standing), flush=True)
    time.sleep(1)
    for stranger in [each for each in standing if closed(each)]:
        standing.remove(stranger)
        stranger.close()
"""
"""Holds idle connections open, and sends frames of 16 MiB; what is closed is opened again a second later, for ever."""

RUN = """
import json, os, resource, signal, subprocess, sys
from pathlib import Path
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.transport.frames import PLATFORM
from carnet_ref.transport.supervisor import Supervisor

flood, folder, counts = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

class Flooded(Supervisor):
    def _start(self, name):
        super()._start(name)
        if name == PLATFORM:
            command = [sys.executable, "-c", flood, str(self.port), *counts]
            self.flood = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self.standing = int(self.flood.stdout.readline())

def remark(text):
    said.append(text)
    if "round 1 of" in text:
        os.kill(supervisor.children["alice"].process.pid, signal.SIGKILL)

said = []
deployment = Deployment(holder_names(2), 3, chunk_bytes=512, lease=10.0, patience=10.0)
supervisor = Flooded(deployment, folder, lambda name: folder / f"{name}.journal", bytes(32), remark=remark)
try:
    model = supervisor.run()["model"]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps({"model": model, "peak": peak, "said": said, "standing": supervisor.standing,
                      "started": supervisor.started}))
finally:
    supervisor.flood.kill()
    supervisor.flood.wait()
"""
"""A run, begun while the flood stands; a holder is killed on the way, and has to get in again."""


def flooded(folder: Path, idle: int, frames: int) -> dict[str, object]:
    """Return what is said of a run under a flood; ``peak`` is the largest resident size of any of its processes."""
    ran = subprocess.run(
        [sys.executable, "-P", "-c", RUN, FLOOD, str(folder), str(idle), str(frames)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert isinstance(told, dict)
    return told


@pytest.mark.mends("H3")
@pytest.mark.timeout(100)
def test_a_run_finishes_under_a_flood_of_strangers_and_takes_little_memory(tmp_path: Path) -> None:
    told = flooded(tmp_path, idle=2000, frames=120)
    assert told["standing"] == 2000
    assert len(str(told["model"])) == 96
    assert int(str(told["peak"])) * 1024 < 200 * MEBIBYTE
    assert told["started"] == {"platform": 1, "orchestrator": 1, "alice": 2, "anna": 1}
    said = told["said"]
    assert isinstance(said, list)
    assert len([line for line in said if "turned away" in line]) < 20
