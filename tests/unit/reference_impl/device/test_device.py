"""The device does what the link tells it, forgets what it should, and opens nothing but the next message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from carnet_ref.crypto.primitives import sha384
from carnet_ref.device import BASE, CAPACITY, TRAINING_CODE, Memory, Mode, Region, parse_program
from carnet_ref.systems.ablation import without
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.ablations.gpu import DEVICES as DEVICE
from carnet_ref.systems.gpu_travelling.device import Device
from carnet_ref.systems.gpu_travelling.orders import (
    Fence,
    Fenced,
    Logged,
    MemoryRead,
    Model,
    Order,
    ReadBack,
    Reply,
    Report,
    Rotate,
    Rotated,
    Save,
    Saved,
    Scrub,
    Scrubbed,
    Sent,
    Start,
    Submit,
    Train,
    Trained,
    Upload,
    Write,
    encode_copy,
    parse_command,
    parse_order,
    parse_reply,
    parse_report,
)
from carnet_ref.training import Outcome
from carnet_ref.wire import MalformedError

DIGEST, OTHER = sha384(b"code"), sha384(b"model")
COMMANDS = (
    Write(BASE[Region.BUFFER], 1, b"data"),
    Start(b"copy buffer\n"),
    Upload(b"train\n", b"model"),
    Submit(orders.encode(Fence())),
)
REPLIES = (Logged(1.5), Model(b"model"), Sent(b"anything"))
ORDERS = (Rotate(b"a key"), Fence(), ReadBack(3), Train(), Save(), Scrub())
REPORTS = (Rotated(2, 1), Fenced(), MemoryRead(DIGEST, OTHER, 4, 1), Trained(OTHER), Saved(OTHER), Scrubbed(0))
SECRET = bytes(range(32))
IMPLANT = b"copy buffer\nwrite-out stash\ntrain\n"


@pytest.mark.parametrize(
    "said",
    [
        Write(0, 1, b"secret"),
        Upload(b"train\n", b"secret"),
        Model(b"secret"),
        Sent(b"secret"),
        Outcome(b"secret", 1.5, b"secret"),
    ],
    ids=lambda said: type(said).__name__,
)
def test_neither_data_nor_model_is_shown(said: object) -> None:
    assert "secret" not in repr(said)


class Counting:
    """A trainer that makes a model of how much data there was."""

    name: ClassVar[str] = "counting"
    hidden: ClassVar[int] = 0

    def first_model(self) -> bytes:
        return b"0"

    def train(self, model: bytes, data: bytes) -> Outcome:
        return Outcome(model + b"+" + str(len(data)).encode(), 0.5, b"derived from " + data)


@dataclass
class Host:
    """Plain host memory."""

    seen: list[bytes] = field(default_factory=list)

    def write(self, data: bytes) -> None:
        self.seen.append(data)


def device(host: Host | None = None, *off: str) -> Device:
    return without(Device, DEVICE, off)(Mode.CONFIDENTIAL, Counting(), (host or Host()).write)


def loaded(host: Host | None = None, *off: str) -> Device:
    gpu = device(host, *off)
    gpu.store(Upload(TRAINING_CODE, b"0"))
    gpu.store(Write(BASE[Region.BUFFER], 1, b"secret"))
    return gpu


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: type(each).__name__)
def test_commands_survive_the_wire(command: Write) -> None:
    assert parse_command(encode_copy(command)) == command


@pytest.mark.parametrize("reply", REPLIES, ids=lambda each: type(each).__name__)
def test_replies_survive_the_wire(reply: Reply) -> None:
    assert parse_reply(encode_copy(reply)) == reply


@pytest.mark.parametrize("order", ORDERS, ids=lambda each: type(each).__name__)
def test_orders_survive_the_session(order: Order) -> None:
    assert parse_order(orders.encode(order)) == order


@pytest.mark.parametrize("report", REPORTS, ids=lambda each: type(each).__name__)
def test_reports_survive_the_session(report: Report) -> None:
    assert parse_report(orders.encode(report)) == report


@pytest.mark.parametrize(
    "cut", [b"", b"\x00", b"\x99", encode_copy(Write(0, 1, b"data"))[:-1], encode_copy(Start(b"")) + b"x"]
)
def test_what_is_no_command_is_malformed(cut: bytes) -> None:
    for parsed in (parse_command, parse_reply, parse_order, parse_report):
        with pytest.raises(MalformedError):
            parsed(cut)


def test_a_report_has_whole_digests() -> None:
    with pytest.raises(MalformedError, match="a digest of 48 bytes"):
        parse_report(orders.encode(Trained(b"short")))


def test_training_leaves_a_model_and_a_residue() -> None:
    gpu = loaded()
    assert gpu.train() == Outcome(b"0+6", 0.5, b"derived from secret")
    assert gpu.memory.content(Region.WORKSPACE) == b"derived from secret"


@pytest.mark.verifies("gpu-travelling-REQ-SCRUB-01", "gpu-travelling-REQ-SCRUB-02", "gpu-travelling-REQ-TRAIN-02")
def test_a_scrub_clears_all_but_model_and_code() -> None:
    gpu = loaded()
    gpu.train()
    assert gpu.clear(Scrub()) == Scrubbed(0)
    assert not gpu.memory.content(Region.BUFFER) + gpu.memory.content(Region.WORKSPACE)
    assert gpu.model == b"0+6"
    assert gpu.memory.content(Region.CODE) == TRAINING_CODE


@pytest.mark.parametrize(
    ("off", "region"), [("scrub-buffer", Region.BUFFER), ("scrub-workspace", Region.WORKSPACE)], ids=str
)
def test_a_scrub_without_its_defence_leaves_something_behind(off: str, region: Region) -> None:
    gpu = loaded(None, off)
    gpu.train()
    gpu.clear(Scrub())
    assert b"secret" in gpu.memory.content(region)


def test_planted_code_hides_a_copy_and_writes_it_out_in_the_clear() -> None:
    host = Host()
    gpu = loaded(host)
    gpu.store(Write(BASE[Region.CODE], 0, IMPLANT))
    gpu.clear(Scrub())
    assert b"secret" in gpu.memory.content(Region.STASH)
    assert b"secret" in host.seen[0]


def test_planted_code_that_trains_goes_on_running() -> None:
    gpu = loaded()
    gpu.store(Write(BASE[Region.CODE], 0, IMPLANT))
    gpu.train()
    gpu.store(Upload(TRAINING_CODE, b""))
    assert gpu.contexts == 1


@pytest.mark.verifies("gpu-travelling-REQ-HOME-01")
def test_an_upload_overwrites_planted_code_and_a_fence_stops_contexts() -> None:
    host = Host()
    gpu = loaded(host)
    gpu.memory.clear(Region.BUFFER)
    gpu.store(Write(BASE[Region.CODE], 0, IMPLANT))
    gpu.store(Start(IMPLANT))
    assert gpu.contexts == 1
    assert gpu.clear(Fence()) == Fenced()
    gpu.store(Upload(TRAINING_CODE, b""))
    gpu.store(Write(BASE[Region.BUFFER], 1, b"secret"))
    assert gpu.contexts == 0
    assert not any(b"secret" in seen for seen in host.seen)
    assert gpu.model == b"0", "without a model in the upload, the one that is there stays"


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-04")
def test_digests_are_of_memory_as_it_is() -> None:
    gpu = loaded()
    assert gpu.read_back(3) == MemoryRead(sha384(TRAINING_CODE), sha384(b"0"), 3, 0)
    gpu.store(Write(BASE[Region.MODEL], 0, b"other"))
    assert gpu.read_back(3).model == sha384(b"other")


@pytest.mark.parametrize(
    "left", [Start(b"listen\n"), Write(BASE[Region.CODE], 0, b"train\nlisten\n")], ids=["kernel", "code"]
)
def test_code_that_listens_does_what_host_memory_says(left: Start | Write) -> None:
    gpu = loaded()
    gpu.store(left)
    assert [each.text for each in gpu.told(b"model 6f6c64\nsend 00ff\n")] == ["6f6c64", "00ff"]
    assert gpu.model == b"old"


@pytest.mark.verifies("gpu-travelling-REQ-HOME-07")
def test_the_report_on_memory_counts_what_runs_besides_the_firmware() -> None:
    gpu = loaded()
    gpu.store(Write(BASE[Region.CODE], 0, b"train\nlisten\n"))
    gpu.clear(Fence())
    assert gpu.read_back(0).contexts == 0
    gpu.told(b"start " + IMPLANT.hex().encode() + b"\n")
    gpu.store(Upload(TRAINING_CODE, b""))
    assert gpu.read_back(0) == MemoryRead(sha384(TRAINING_CODE), sha384(b"0"), 0, 1)


def test_nobody_else_looks_into_host_memory() -> None:
    gpu = loaded()
    gpu.store(Start(IMPLANT))
    assert gpu.told(b"model 6f6c64\n") == ()
    assert gpu.model == b"0"


def test_code_that_does_not_train_is_refused() -> None:
    gpu = loaded()
    gpu.memory.replace(Region.CODE, b"copy buffer\n")
    with pytest.raises(MalformedError):
        gpu.train()


@pytest.mark.parametrize(
    "code", [b"\xff", b"jump 7\n", b"copy nowhere\n", b"train hard\n", b"send bytes\n", b"listen 1\n"]
)
def test_what_spells_no_program_is_malformed(code: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_program(code)


@pytest.mark.parametrize(("address", "size"), [(CAPACITY - 1, 2), (5 * CAPACITY, 1), (1 << 60, 1)])
def test_writes_stay_inside_a_region(address: int, size: int) -> None:
    with pytest.raises(MalformedError):
        Memory().write(address, bytes(size))
