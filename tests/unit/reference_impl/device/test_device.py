"""The device does what the link and the session tell it, once and in their place, and forgets what it should."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from carnet_ref.crypto.primitives import AuthenticationError, sha384
from carnet_ref.device import BASE, CAPACITY, TRAINING_CODE, CopyEngines, Memory, Mode, Region, parse_program
from carnet_ref.keys import Direction, H100KeySchedule, KeyExhaustedError, KeyUsage, LinkKeys, Sealer, UsageLimits
from carnet_ref.systems.ablation import without
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.ablations.deployment import AblatedDeployment
from carnet_ref.systems.gpu_travelling.ablations.gpu import DEVICES as DEVICE
from carnet_ref.systems.gpu_travelling.ablations.gpu import ENGINES
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout
from carnet_ref.systems.gpu_travelling.device import Device, Firmware
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.training import TrainingResult
from carnet_ref.transport.frames import FrameKind, ProtocolError
from carnet_ref.wire import MalformedError
from tests.fixtures.worlds import draws

DIGEST, OTHER = sha384(b"code"), sha384(b"model")
COMMANDS = (
    orders.Write(BASE[Region.BUFFER], 1, b"data"),
    orders.Start(b"copy buffer\n"),
    orders.Upload(b"train\n", b"model"),
    orders.Submit(orders.encode(orders.Fence())),
)
REPLIES = (orders.Logged(1.5), orders.Model(b"model"), orders.Sent(b"anything"))
ORDERS = (orders.Rotate(b"a key"), orders.Fence(), orders.ReadBack(3), orders.Train(), orders.Save(), orders.Scrub())
REPORTS = (
    orders.Rotated(2, 1),
    orders.Fenced(),
    orders.MemoryRead(DIGEST, OTHER, 4, 1),
    orders.Trained(OTHER),
    orders.Saved(OTHER),
    orders.Scrubbed(0),
)
SECRET = bytes(range(32))
IMPLANT = b"copy buffer\nwrite-out stash\ntrain\n"


@pytest.mark.parametrize(
    "said",
    [
        orders.Write(0, 1, b"secret"),
        orders.Upload(b"train\n", b"secret"),
        orders.Model(b"secret"),
        orders.Sent(b"secret"),
        TrainingResult(b"secret", 1.5, b"secret"),
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

    def train(self, model: bytes, data: bytes) -> TrainingResult:
        return TrainingResult(model + b"+" + str(len(data)).encode(), 0.5, b"derived from " + data)


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
    gpu.store(orders.Upload(TRAINING_CODE, b"0"))
    gpu.store(orders.Write(BASE[Region.BUFFER], 1, b"secret"))
    return gpu


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: type(each).__name__)
def test_commands_survive_the_wire(command: orders.Write) -> None:
    assert orders.parse_command(orders.encode_copy(command)) == command


@pytest.mark.parametrize("reply", REPLIES, ids=lambda each: type(each).__name__)
def test_replies_survive_the_wire(reply: orders.Reply) -> None:
    assert orders.parse_reply(orders.encode_copy(reply)) == reply


@pytest.mark.parametrize("order", ORDERS, ids=lambda each: type(each).__name__)
def test_orders_survive_the_session(order: orders.Order) -> None:
    assert orders.parse_order(orders.encode(order)) == order


@pytest.mark.parametrize("report", REPORTS, ids=lambda each: type(each).__name__)
def test_reports_survive_the_session(report: orders.Report) -> None:
    assert orders.parse_report(orders.encode(report)) == report


@pytest.mark.parametrize(
    "cut",
    [
        b"",
        b"\x00",
        b"\x99",
        orders.encode_copy(orders.Write(0, 1, b"data"))[:-1],
        orders.encode_copy(orders.Start(b"")) + b"x",
    ],
)
def test_what_is_no_command_is_malformed(cut: bytes) -> None:
    for parsed in (orders.parse_command, orders.parse_reply, orders.parse_order, orders.parse_report):
        with pytest.raises(MalformedError):
            parsed(cut)


def test_a_report_has_whole_digests_and_code_that_does_not_train_is_refused() -> None:
    with pytest.raises(MalformedError, match="a digest of 48 bytes"):
        orders.parse_report(orders.encode(orders.Trained(b"short")))
    gpu = loaded()
    gpu.memory.replace(Region.CODE, b"copy buffer\n")
    with pytest.raises(MalformedError):
        gpu.train()


def test_training_leaves_a_model_and_a_residue() -> None:
    gpu = loaded()
    assert gpu.train() == TrainingResult(b"0+6", 0.5, b"derived from secret")
    assert gpu.memory.content(Region.WORKSPACE) == b"derived from secret"


@pytest.mark.verifies("gpu-travelling-REQ-SCRUB-01", "gpu-travelling-REQ-SCRUB-02", "gpu-travelling-REQ-TRAIN-02")
def test_a_scrub_clears_all_but_model_and_code() -> None:
    gpu = loaded()
    gpu.train()
    assert gpu.clear(orders.Scrub()) == orders.Scrubbed(0)
    assert not gpu.memory.content(Region.BUFFER) + gpu.memory.content(Region.WORKSPACE)
    assert gpu.model == b"0+6"
    assert gpu.memory.content(Region.CODE) == TRAINING_CODE


@pytest.mark.parametrize(
    ("off", "region"), [("scrub-buffer", Region.BUFFER), ("scrub-workspace", Region.WORKSPACE)], ids=str
)
def test_a_scrub_without_its_defence_leaves_something_behind(off: str, region: Region) -> None:
    gpu = loaded(None, off)
    gpu.train()
    gpu.clear(orders.Scrub())
    assert b"secret" in gpu.memory.content(region)


def test_planted_code_writes_a_copy_out_goes_on_running_and_hears_nothing_unless_it_listens() -> None:
    host = Host()
    gpu = loaded(host)
    gpu.store(orders.Write(BASE[Region.CODE], 0, IMPLANT))
    gpu.clear(orders.Scrub())
    assert b"secret" in gpu.memory.content(Region.STASH)
    assert b"secret" in host.seen[0]
    gpu = loaded()
    gpu.store(orders.Write(BASE[Region.CODE], 0, IMPLANT))
    gpu.train()
    gpu.store(orders.Upload(TRAINING_CODE, b""))
    assert gpu.contexts == 1
    gpu = loaded()
    gpu.store(orders.Start(IMPLANT))
    assert gpu.execute_command(b"model 6f6c64\n") == ()
    assert gpu.model == b"0"


@pytest.mark.verifies("gpu-travelling-REQ-HOME-01")
def test_an_upload_overwrites_planted_code_and_a_fence_stops_contexts() -> None:
    host = Host()
    gpu = loaded(host)
    gpu.memory.clear(Region.BUFFER)
    gpu.store(orders.Write(BASE[Region.CODE], 0, IMPLANT))
    gpu.store(orders.Start(IMPLANT))
    assert gpu.contexts == 1
    assert gpu.clear(orders.Fence()) == orders.Fenced()
    gpu.store(orders.Upload(TRAINING_CODE, b""))
    gpu.store(orders.Write(BASE[Region.BUFFER], 1, b"secret"))
    assert gpu.contexts == 0
    assert not any(b"secret" in seen for seen in host.seen)
    assert gpu.model == b"0", "without a model in the upload, the one that is there stays"


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-04")
def test_digests_are_of_memory_as_it_is() -> None:
    gpu = loaded()
    assert gpu.read_back(3) == orders.MemoryRead(sha384(TRAINING_CODE), sha384(b"0"), 3, 0)
    gpu.store(orders.Write(BASE[Region.MODEL], 0, b"other"))
    assert gpu.read_back(3).model == sha384(b"other")


@pytest.mark.parametrize(
    "left",
    [orders.Start(b"listen\n"), orders.Write(BASE[Region.CODE], 0, b"train\nlisten\n")],
    ids=["kernel", "code"],
)
def test_code_that_listens_does_what_host_memory_says(left: orders.Start | orders.Write) -> None:
    gpu = loaded()
    gpu.store(left)
    assert [each.text for each in gpu.execute_command(b"model 6f6c64\nsend 00ff\n")] == ["6f6c64", "00ff"]
    assert gpu.model == b"old"


@pytest.mark.verifies("gpu-travelling-REQ-HOME-07")
def test_the_report_on_memory_counts_what_runs_besides_the_firmware() -> None:
    gpu = loaded()
    gpu.store(orders.Write(BASE[Region.CODE], 0, b"train\nlisten\n"))
    gpu.clear(orders.Fence())
    assert gpu.read_back(0).contexts == 0
    gpu.execute_command(b"start " + IMPLANT.hex().encode() + b"\n")
    gpu.store(orders.Upload(TRAINING_CODE, b""))
    assert gpu.read_back(0) == orders.MemoryRead(sha384(TRAINING_CODE), sha384(b"0"), 0, 1)


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


def firmware(*off: str) -> tuple[Firmware, orders.Sealed, orders.Sealed]:
    """Return the firmware of a session, and the orchestrator's ends: for orders and for reports."""
    session = H100KeySchedule(SECRET)
    ce = CopyEngines(key_schedule("engine-per-holder", session), UsageLimits.for_advantage())
    gpu = Firmware(session, ce, ChecksWithout(frozenset(off)))
    return (gpu, orders.Sealed(session.key(orders.ORDERS_LABEL)), orders.Sealed(session.key(orders.REPORTS_LABEL)))


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-01")
def test_orders_are_opened_where_they_were_made_for_and_nowhere_else() -> None:
    gpu, host, _ = firmware()
    sealed = host.seal(orders.Place(0, 0), orders.encode(orders.Fence()))
    assert gpu.open(sealed) == (orders.Place(0, 0), orders.Fence())
    for wrong in (orders.Place(0, 1), orders.Place(1, 0)):
        with pytest.raises(AuthenticationError):
            gpu.open(orders.with_place(wrong, orders.split_place(sealed)[1]))
    with pytest.raises(MalformedError):
        gpu.open(sealed[:11])


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-02")
def test_orders_are_carried_out_in_their_sequence_each_once() -> None:
    gpu, _, _ = firmware()
    gpu.take(orders.Place(0, 0), orders.Fence())
    for wrong in (0, 2):
        with pytest.raises(ProtocolError, match=rf"order {wrong} of epoch 0, and number 1 has .* \(REQ-SESSION-02\)"):
            gpu.take(orders.Place(0, wrong), orders.Scrub())
    gpu.take(orders.Place(0, 1), orders.Scrub())
    loose, _, _ = firmware("session-sequence")
    for number in (0, 0, 5):
        loose.take(orders.Place(0, number), orders.Fence())


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-02")
def test_orders_are_about_a_live_epoch() -> None:
    gpu, _, _ = firmware("session-sequence")
    with pytest.raises(ProtocolError, match=r"order 0 of epoch 1, which is not live \(REQ-SESSION-02\)"):
        gpu.take(orders.Place(1, 0), orders.Fence())
    gpu.take(orders.Place(1, 0), orders.Rotate(b""))


def test_a_rotation_is_the_first_order_of_its_epoch() -> None:
    gpu, _, _ = firmware()
    with pytest.raises(ProtocolError, match="REQ-SESSION-02"):
        gpu.take(orders.Place(1, 1), orders.Rotate(b""))
    gpu.take(orders.Place(1, 0), orders.Rotate(b""))
    assert gpu.heard[1] == 1


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-01")
def test_an_order_on_the_link_is_refused_and_followed_only_where_nothing_forbids_it() -> None:
    gpu, _, _ = firmware()
    with pytest.raises(ProtocolError, match=r"an order came through the link \(REQ-SESSION-01\)"):
        gpu.refuse_outside_session(orders.encode(orders.Fence()))
    weak, _, _ = firmware("session-orders")
    assert weak.refuse_outside_session(orders.encode(orders.Fence())) == (orders.Place(0, 0), orders.Fence())


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-03")
def test_a_report_has_the_place_of_its_order() -> None:
    gpu, _, host = firmware()
    kind, sealed = gpu.report(orders.Place(0, 3), orders.Scrubbed(0))
    assert kind is FrameKind.SESSION
    assert host.open(sealed) == (orders.Place(0, 3), orders.encode(orders.Scrubbed(0)))


def engines(name: str = "sealed-under-master", *off: str) -> tuple[CopyEngines, list[LinkKeys], list[bytes]]:
    """Return engines, the keys of three epochs, and the two orders between them."""
    host = key_schedule(name, H100KeySchedule(bytes(range(32))))
    draws = iter(range(1, 100))
    keys, orders = [host.keys], []
    for owner in ("alice", "orchestrator"):
        orders.append(host.order(owner, lambda size: bytes([next(draws)]) * size))
        keys.append(host.follow(orders[-1]))
    gpu = key_schedule(name, H100KeySchedule(bytes(range(32))), checks=ChecksWithout(frozenset(off)))
    return without(CopyEngines, ENGINES, off)(gpu, UsageLimits.for_advantage()), keys, orders


def sealer(keys: LinkKeys, used: int = 0) -> Sealer:
    return Sealer(keys.h2d, keys.ivs(Direction.H2D, used), KeyUsage())


@pytest.mark.verifies("gpu-travelling-REQ-IV-02")
def test_the_engine_opens_the_next_message_only() -> None:
    ce, keys, _ = engines()
    host = sealer(keys[0])
    first, second = host.seal(b"one"), host.seal(b"two")
    assert ce.open(0, first, 0).plaintext == b"one"
    opened = ce.open(0, second, 1)
    assert (opened.keys.epoch, opened.slot, ce.received_count(0)) == (0, 1, 2)
    with pytest.raises(AuthenticationError):
        ce.open(0, second, 1)


def test_an_engine_that_lacks_a_defence_takes_messages_keys_and_orders_again() -> None:
    ce, keys, _ = engines("sealed-under-master", "gpu-implicit-iv")
    sealed = sealer(keys[0]).seal(b"one")
    assert [ce.open(0, sealed, 0).plaintext for _ in range(2)] == [b"one", b"one"]
    ce, keys, orders = engines("engine-per-holder", "engine-retirement")
    for order in orders:
        ce.accept(order)
    assert ce.open(keys[1].engine, sealer(keys[1]).seal(b"late write"), 0).plaintext == b"late write"
    ce, keys, orders = engines("engine-per-holder", "epochs-increase", "wrapped-key-once")
    assert [ce.accept(orders[0]) for _ in range(2)] == [keys[1]] * 2
    with pytest.raises(ValueError, match="no-such-thing"):
        AblatedDeployment((), 1, off=frozenset({"no-such-thing"}))


@pytest.mark.verifies("gpu-travelling-REQ-KEY-04")
@pytest.mark.parametrize("schedule", ["sealed-under-master", "engine-per-holder", "ratchet"])
def test_a_rotation_retires_the_key_it_leaves(schedule: str) -> None:
    ce, keys, orders = engines(schedule)
    assert ce.accept(orders[0]) == keys[1]
    with pytest.raises(AuthenticationError):
        ce.open(keys[0].engine, sealer(keys[0]).seal(b"late"), 0)


@pytest.mark.parametrize(("off", "lives"), [("rotation-in-h2d", "h2d"), ("rotation-in-d2h", "d2h")])
def test_half_a_rotation_in_leaves_the_holders_half_alive(off: str, lives: str) -> None:
    ce, keys, orders = engines("sealed-under-master", off)
    for order in orders:
        ce.accept(order)
    if lives == "h2d":
        assert ce.open(0, sealer(keys[1]).seal(b"late write"), 0).keys.epoch == 1
        assert ce.seal(b"").keys.epoch == 2
    else:
        assert ce.seal(b"").keys.epoch == 1


@pytest.mark.verifies("gpu-travelling-REQ-KEY-04")
def test_orders_are_followed_once_and_in_order() -> None:
    ce, _, orders = engines()
    ce.accept(orders[0])
    with pytest.raises(ProtocolError, match="REQ-KEY-04"):
        ce.accept(orders[0])


def test_counters_restart_and_engines_reload_only_where_their_defence_is_off() -> None:
    ce, keys, _ = engines()
    with pytest.raises(PermissionError):
        ce.restart_counters()
    with pytest.raises(PermissionError):
        ce.reload(keys[0])
    weak, keys, orders = engines("sealed-under-master", "atomic-rotation", "no-engine-reload")
    weak.open(0, sealer(keys[0]).seal(b"one"), 0)
    weak.restart_counters()
    assert weak.received_count(0) == 0
    weak.accept(orders[0])
    weak.reload(keys[0])
    assert weak.open(0, sealer(keys[0]).seal(b"again"), 0).keys.epoch == 0


def limited_engines(messages: int) -> tuple[CopyEngines, LinkKeys]:
    schedule = key_schedule("engine-per-holder", H100KeySchedule(bytes(range(32))))
    return CopyEngines(schedule, UsageLimits.for_messages(messages)), schedule.keys


@pytest.mark.verifies("gpu-travelling-REQ-KEY-07")
@pytest.mark.mends("H5")
def test_the_device_opens_and_seals_no_more_under_a_key_than_its_limit() -> None:
    """Whoever used the key, and whatever they counted."""
    ce, keys = limited_engines(3)
    host = sealer(keys)
    for _ in range(3):
        ce.open(0, host.seal(b"data"), 0)
        ce.seal(b"a reply")
    with pytest.raises(KeyExhaustedError):
        ce.open(0, host.seal(b"data"), 0)
    with pytest.raises(KeyExhaustedError):
        ce.seal(b"a reply")


@pytest.mark.mends("H5")
def test_the_device_goes_on_counting_when_a_key_comes_back() -> None:
    host = key_schedule("engine-per-holder", H100KeySchedule(bytes(range(32))))
    ce, _ = limited_engines(3)
    draw, sender = draws("orders"), sealer(host.keys)
    for owner in ("alice", "orchestrator", "alice"):
        order = host.order(owner, draw)
        ce.accept(order)
        sender = sealer(host.follow(order))
        ce.open(host.keys.engine, sender.seal(b"one"), 0)
    ce.open(host.keys.engine, sender.seal(b"two"), 0)
    with pytest.raises(KeyExhaustedError):
        ce.open(host.keys.engine, sender.seal(b"three"), 0)


def test_an_order_that_changes_nothing_restarts_no_counter() -> None:
    schedule = key_schedule("none", H100KeySchedule(bytes(range(32))))
    ce = CopyEngines(schedule, UsageLimits.for_advantage())
    host = sealer(schedule.keys)
    ce.open(0, host.seal(b"one"), 0)
    ce.accept(b"")
    assert ce.open(0, host.seal(b"two"), 0).slot == 1
