"""Whole runs: rounds are trained, weaker designs conform too, and no platform or journal holds a secret."""

import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from carnet_check.conformance import conform
from carnet_ref.crypto import primitives as crypto
from carnet_ref.crypto.primitives import AesGcm, AesGcmSiv
from carnet_ref.journal import Journal
from carnet_ref.recorder import write_trace
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.transport.frames import Frame, FrameKind
from carnet_ref.transport.platform import Platform
from carnet_ref.transport.supervisor import Supervisor
from tests.fixtures.worlds import ChainTrainer, FastDeployment, draws, world_of

SCHEDULES = ("engine-per-holder", "sealed-under-master", "ratchet", "wrapped-under-old", "reset")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_completes_and_the_loss_falls(schedule: str) -> None:
    deployment = Deployment(holder_names(2), 4, schedule)
    world, told = world_of(deployment)
    world.run()
    progress = world.orchestrator.job.progress
    assert world.failure == ""
    assert progress.rounds == 4
    assert progress.losses[-1] < progress.losses[0]
    assert progress.provisioned == 4 * 3 * 2048
    assert not [line for line in told if "given up" in line]


def test_the_final_model_depends_on_nothing_but_data_and_order() -> None:
    models = []
    for schedule in ("engine-per-holder", "reset"):
        world, _ = world_of(Deployment(holder_names(2), 3, schedule))
        world.run()
        models.append(world.orchestrator.job.kept.model)
    assert models[0] == models[1]


@pytest.mark.verifies("gpu-travelling-CLAIM-CONFIDENTIALITY", "gpu-travelling-CLAIM-MODEL-CONFIDENTIALITY")
def test_the_platform_sees_no_plaintext_and_no_model() -> None:
    deployment = Deployment(holder_names(2), 2)
    frames: list[Frame] = []
    world, _ = world_of(deployment, Platform(ORCHESTRATOR, GPU, keep=frames.append))
    world.run()
    seen = b"".join(frame.body for frame in frames)
    for holder in deployment.holders:
        for chunk in deployment.dataset(holder):
            assert chunk[:32] not in seen
    assert world.orchestrator.job.kept.model[100:132] not in seen
    assert not Platform(ORCHESTRATOR, GPU).host_memory


DESIGNS = {
    "kernel-answers": ("session-acknowledgements",),
    "kernel-orders": ("session-orders",),
    "whole-bundle-lent": ("h2d-half-only", "rotation-in-d2h", "session-acknowledgements"),
    "no sequence": ("session-sequence",),
    "one channel": ("channel-counter",),
    "saved unseen": ("saved-digest",),
    "unheard": ("rotation-ack", "fence-ack", "scrub-ack"),
}


@pytest.mark.parametrize("off", DESIGNS.values(), ids=DESIGNS)
def test_an_honest_run_of_a_weaker_design_conforms(off: tuple[str, ...], tmp_path: Path) -> None:
    deployment = FastDeployment(
        holder_names(2), 3, chunks=2, chunk_bytes=16, trainer=ChainTrainer(), off=frozenset(off)
    )
    world, _ = world_of(deployment)
    paths: list[FrameKind] = []
    world.platform.keep = lambda frame: paths.append(frame.kind)
    world.run(10_000)
    assert (world.failure, world.orchestrator.job.failures) == ("", 0)
    write_trace(tmp_path / "trace", deployment.header(world.recorder.lines), world.recorder.lines)
    result = conform(tmp_path / "trace")
    assert result.conforms, result.divergence
    home = 4  # what each of three rounds logs, and the model at the end
    reports = 3 + 3 * 6 + 1  # fence, read-back, scrub; those, two rotations and training in each round; saving at last
    on_link = reports if "session-acknowledgements" in off else 0
    assert paths.count(FrameKind.D2H) == home + on_link


DEPLOYMENT = Deployment(holder_names(3), 9)  #: As many holders and rounds as ``carnet run`` has by default.
KEY = bytes(range(100, 132))
SIZE = 16  #: Bytes in a row that betray a secret, wherever in it they stand.
#: What a process of a run is, but that it tells every key that it makes a cipher of, and every frame it carries.
SPY = """
import os, sys
sys.argv[0] = "spied on"
from carnet_ref.crypto import primitives as crypto
sink = open(os.environ["SPIED_KEYS"], "a", buffering=1)
for kind in (crypto.AesGcm, crypto.AesGcmSiv):
    def init(self, key, original=kind.__init__):
        sink.write(bytes(key).hex() + "\\n")
        original(self, key)
    kind.__init__ = init
from carnet_ref.transport import frames, process
class Watching(process.Platform):
    def see(self, frame):
        super().see(frame)
        with open(os.environ["SEEN_FRAMES"], "ab") as seen:
            seen.write(frames.encode_frame(frame))
process.Platform = Watching
process.main()
"""


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the list of every key that a cipher is made of, and every secret that keys are derived from."""
    seen: list[bytes] = []

    def watch(kind: type[AesGcm | AesGcmSiv]) -> None:
        original = kind.__init__

        def init(self: Any, key: bytes) -> None:
            seen.append(bytes(key))
            original(self, key)

        monkeypatch.setattr(kind, "__init__", init)

    watch(AesGcm)
    watch(AesGcmSiv)
    original = crypto.hkdf_expand_sha256

    def expand(key: bytes, info: bytes, length: int = 32) -> bytes:
        seen.append(bytes(key))
        return original(key, info, length)

    for module in ("crypto.primitives", "keys"):
        monkeypatch.setattr(f"carnet_ref.{module}.hkdf_expand_sha256", expand)
    return seen


def windows(text: bytes) -> Iterator[bytes]:
    """Yield every part of a text that is as long as one that betrays a secret."""
    return (text[start : start + SIZE] for start in range(len(text) - SIZE + 1))


def betrayed(haystack: bytes, secrets: Iterable[bytes]) -> set[bytes]:
    """Return the parts of secrets that are found, as bytes or in hexadecimal."""
    sought = {part for secret in secrets for part in windows(secret)}
    digits = re.findall(rb"[0-9a-f]{32,}", haystack)
    read = [bytes.fromhex(run[at : len(run) - (len(run) - at) % 2].decode()) for run in digits for at in (0, 1)]
    return sought.intersection(itertools.chain(windows(haystack), *map(windows, read)))


def plaintexts(deployment: Deployment) -> list[bytes]:
    return [chunk for holder in deployment.holders for chunk in deployment.dataset(holder)]


@pytest.mark.parametrize("start", [0, 5, 2048 - SIZE])
def test_the_search_finds_what_is_there(start: int) -> None:
    """Sixteen bytes are enough, wherever they come from and wherever they are."""
    (first, *_) = plaintexts(DEPLOYMENT)
    part = first[start : start + SIZE]
    noise = bytes(range(256)) * 20
    for planted in (part, part.hex().encode()):
        assert betrayed(noise + planted + noise, [first]) == {part}
    assert not betrayed(noise + part[1:] + noise, [first])


@pytest.mark.parametrize("schedule", ["engine-per-holder", "sealed-under-master", "wrapped-under-old"])
def test_neither_platform_nor_journals_hold_a_secret(schedule: str, keys: list[bytes], tmp_path: Path) -> None:
    deployment = Deployment(DEPLOYMENT.holders, DEPLOYMENT.rounds, schedule)
    frames: list[Frame] = []
    world, _ = world_of(deployment, Platform(ORCHESTRATOR, GPU, keep=frames.append))
    for name in (ORCHESTRATOR, *deployment.holders):
        world.nodes[name].store = Journal(
            tmp_path / name, KEY, deployment.journal_owner(name), draws(f"journal of {name}")
        )
    world.run()
    raw = (Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    enrolment = [deployment.enrolment_key(name).private_bytes(*raw)[-80:] for name in deployment.holders]
    seen = b"".join(frame.body for frame in frames) + b"".join(world.platform.host_memory)
    on_disk = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    model = world.orchestrator.job.kept.model[8:2048]
    assert len(set(keys)) > 30
    assert len(seen) > 250_000
    assert len(on_disk) > 100_000
    for haystack in (seen, on_disk):
        assert not betrayed(haystack, [*plaintexts(deployment), *keys, *enrolment, model])


def test_processes_leave_neither_plaintext_nor_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is on disk after a run in processes: what the platform saw, traces and journals."""
    folder, spied = tmp_path / "run", tmp_path / "keys"
    folder.mkdir()
    monkeypatch.setenv("SPIED_KEYS", str(spied))
    monkeypatch.setenv("SEEN_FRAMES", str(folder / "seen"))
    supervisor = Supervisor(DEPLOYMENT, folder, lambda name: folder / f"{name}.journal", KEY)
    supervisor.program = (sys.executable, "-c", SPY)
    supervisor.run()
    left = {path.name: path.read_bytes() for path in folder.iterdir()}
    keys = {bytes.fromhex(line) for line in spied.read_text().split()}
    assert len(left["seen"]) > 250_000
    assert {"orchestrator.journal", "orchestrator.ndjson", *(f"{name}.journal" for name in DEPLOYMENT.holders)} <= set(
        left
    )
    assert KEY in keys
    assert len(keys) > 15
    everything = b"".join(left.values())
    assert not betrayed(everything, [*plaintexts(DEPLOYMENT), *keys])
    assert betrayed(everything + min(keys), keys)
