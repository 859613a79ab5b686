"""One process of a run: reads what it is to be on standard input, is it until it is done, and says what came of it.

The parent keeps standard input open; when it closes, the process ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from carnet_command.errors import CarnetError
from carnet_ref.journal.store import Journal
from carnet_ref.platform.bus import Platform
from carnet_ref.recorder import Recorder, resumed
from carnet_ref.systems.gpu_travelling.defences import Defences
from carnet_ref.systems.gpu_travelling.parties.deployment import Deployment
from carnet_ref.systems.gpu_travelling.roles.orchestrator import Orchestrator
from carnet_ref.training.choice import trainer_named
from carnet_ref.transport.frames import GPU, ORCHESTRATOR, PLATFORM
from carnet_ref.transport.greeting import key_of_party
from carnet_ref.transport.node import Node
from carnet_ref.transport.party import Way, take_part
from carnet_ref.transport.relay import Hub, listen
from carnet_ref.transport.tally import Tally


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a process is told to be.

    ``folder`` takes the trace, and what the platform counts; ``journal`` and ``key`` are those of a party. ``token`` is
    the key of a party's greeting; the platform's is the run's, from which it makes the key of every party.
    """

    name: str
    port: int
    deployment: Mapping[str, Any]
    folder: str
    trainer: str
    journal: str = ""
    key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    def made(self) -> Deployment:
        """Return the deployment."""
        named = {
            "holders": tuple(self.deployment["holders"]),
            "defences": Defences(frozenset(self.deployment["defences"])),
        }
        return Deployment(**{**self.deployment, **named}, trainer=trainer_named(self.trainer))


def main() -> None:
    """Be what standard input says, and exit with 0, 2 (it cannot) or 3 (it gave up)."""
    assignment = Assignment(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        run = _platform if assignment.name == PLATFORM else _party
        outcome = asyncio.run(run(assignment))
    except CarnetError as error:
        _refuse(error)
    _say(outcome)
    sys.exit(3 if outcome.get("failure") else 0)


def _refuse(error: CarnetError) -> NoReturn:
    _say({"failure": str(error), "exit": error.exit_code})
    sys.exit(2)


def _failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """End the process for what nobody awaits either: a platform's connections are tasks of their own."""
    error = context.get("exception")
    if isinstance(error, CarnetError):
        _refuse(error)
    loop.default_exception_handler(context)


async def _platform(assignment: Assignment) -> dict[str, Any]:
    asyncio.get_running_loop().set_exception_handler(_failed)
    deployment, folder = assignment.made(), Path(assignment.folder)
    token, names = bytes.fromhex(assignment.token), (ORCHESTRATOR, *deployment.holders)
    clock = resumed(_trace(folder, PLATFORM))
    with _trace(folder, PLATFORM).open("a", encoding="utf-8") as sink, Tally(folder) as tally:
        recorder = Recorder(sink, max(clock, tally.clock))
        platform = Platform(messages=tally.messages, octets=tally.octets)
        platform.keep = lambda _: tally.note(platform.messages, platform.octets, recorder.clock)
        gpu = Node(GPU, deployment.gpu(secrets.token_bytes), recorder, remark=_remark)
        keys = {name: key_of_party(token, name) for name in names}
        hub = Hub(platform, gpu, recorder, keys, secrets.token_bytes, _remark, deployment.largest_frame)
        with listen(assignment.port) as listening:
            _say({"port": listening.getsockname()[1]})
            await hub.serve(listening)
    return {}


async def _party(assignment: Assignment) -> dict[str, Any]:
    deployment, name = assignment.made(), assignment.name
    journal = Journal(
        Path(assignment.journal), bytes.fromhex(assignment.key), deployment.owner(name), secrets.token_bytes
    )
    path = _trace(Path(assignment.folder), name)
    clock = resumed(path)
    way = Way(assignment.port, bytes.fromhex(assignment.token), secrets.token_bytes, deployment.largest_frame)
    with path.open("a", encoding="utf-8") as sink:
        recorder = Recorder(sink, clock)
        if name == ORCHESTRATOR:
            role = deployment.orchestrator_from(journal, secrets.token_bytes)
            node = Node(name, role, recorder, journal, _remark)
            ended = await take_part(node, node.perform(role.begin(time.monotonic())), way)
            return {**_outcome(role), "failure": ended.failure}
        holder = deployment.holder_from(journal, name, secrets.token_bytes)
        node = Node(name, holder, recorder, journal, _remark)
        ended = await take_part(node, node.perform(holder.begin(time.monotonic())), way)
        return {"failure": ended.failure}


def _outcome(role: Orchestrator) -> dict[str, Any]:
    progress = role.job.progress
    return {"losses": progress.losses, "provisioned": progress.provisioned, "model": progress.digest}


def _trace(folder: Path, name: str) -> Path:
    return folder / f"{name}.ndjson"


def _say(fields: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def _remark(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
