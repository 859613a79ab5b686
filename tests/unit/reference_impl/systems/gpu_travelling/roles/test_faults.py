"""Faults put into the implementation on purpose: each is caught by a role's own check or by conformance."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.conformance import conform
from carnet_ref.device import CopyEngines, Region
from carnet_ref.keys import Direction, KeyUsage, LinkKeys, Opener
from carnet_ref.recorder import write_trace
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.device import Device
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier
from carnet_ref.systems.gpu_travelling.orders import Model, Place
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.facts import BufferScrubbed, ContextsFenced, KeyRotated, MemoryVerified
from carnet_ref.systems.gpu_travelling.roles.gpu import InSession
from carnet_ref.systems.gpu_travelling.roles.holder import Provides
from carnet_ref.systems.gpu_travelling.roles.job import Custody, Job
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.systems.gpu_travelling.roles.messages import Grant
from carnet_ref.systems.gpu_travelling.roles.orchestrator import Procedures
from carnet_ref.systems.gpu_travelling.roles.states import AwaitsReport, AwaitsReturn, HomeStep, Returned, Transition
from carnet_ref.transport.frames import Note
from tests.fixtures.worlds import TestWorld, world_of

DEPLOYMENT = Deployment(holder_names(2), 3, "engine-per-holder", chunk_bytes=256)
SHOWN = Path(__file__).parents[6] / "docs" / "results" / "faults.csv"
Fault = Callable[[pytest.MonkeyPatch], None]
FAULTS: dict[str, Fault] = {}


def fault(plant: Fault) -> Fault:
    """Add a fault to the list."""
    FAULTS[plant.__name__.replace("_", " ")] = plant
    return plant


def steps_home_by(patch: pytest.MonkeyPatch, change: Callable[[list[HomeStep]], Iterable[HomeStep]]) -> None:
    """Have the orchestrator go through the steps at home as ``change`` says."""
    original = Procedures.steps_home
    patch.setattr(Procedures, "steps_home", lambda self, first: tuple(change(list(original(self, first)))))


def without(name: str) -> Callable[[list[HomeStep]], Iterable[HomeStep]]:
    return lambda steps: [step for step in steps if step.__name__ != name]


def reordered(*names: str) -> Callable[[list[HomeStep]], Iterable[HomeStep]]:
    return lambda steps: sorted(steps, key=lambda step: names.index(step.__name__))


@fault
def scrub_leaves_the_buffer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Device, "scrub", lambda self: self.memory.clear(Region.WORKSPACE))


@fault
def scrub_leaves_the_workspace(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Device, "scrub", lambda self: self.memory.clear(Region.BUFFER))


@fault
def scrub_is_not_ordered(patch: pytest.MonkeyPatch) -> None:
    def skip(self: Procedures, job: Job) -> Transition:
        return self.lend(job, BufferScrubbed(facts._MINT, job.live.session, job.live.keys.epoch))

    patch.setattr(Procedures, "scrub", skip)


@fault
def the_old_engine_stays_alive(patch: pytest.MonkeyPatch) -> None:
    def install(self: CopyEngines, keys: LinkKeys) -> None:
        self._load(keys)
        self.send_under(keys)

    patch.setattr(CopyEngines, "install", install)


@fault
def the_gpu_keeps_the_old_reply_key(patch: pytest.MonkeyPatch) -> None:
    def install(self: CopyEngines, keys: LinkKeys) -> None:
        self.receive_under(keys)

    patch.setattr(CopyEngines, "install", install)


@fault
def the_gpu_restarts_its_counter(patch: pytest.MonkeyPatch) -> None:
    def opened(self: CopyEngines, engine: int, ciphertext: bytes, claimed: int) -> Any:
        receiving = self._receiving[engine]
        receiving.opener = Opener(receiving.keys.h2d, receiving.keys.ivs(Direction.H2D), KeyUsage())
        return original(self, engine, ciphertext, claimed)

    original = CopyEngines.open
    patch.setattr(CopyEngines, "open", opened)


@fault
def a_holder_uses_an_iv_twice(patch: pytest.MonkeyPatch) -> None:
    def on_proceed(self: Provides) -> Transition:
        self.link.count_from_start()
        return original(self)  # type: ignore[return-value]

    original = Provides.on_proceed
    patch.setattr(Provides, "on_proceed", on_proceed)


@fault
def the_orchestrator_numbers_two_orders_alike(patch: pytest.MonkeyPatch) -> None:
    def order(self: Link, order: Any) -> tuple[Place, bytes]:
        self._told.clear()
        return original(self, order)

    original = Link.order
    patch.setattr(Link, "order", order)


@fault
def the_model_is_saved_and_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    def send_home(self: InSession, reply: Any) -> Any:
        return original(self, Model(b"another model") if isinstance(reply, Model) else reply)

    original = InSession._send_home
    patch.setattr(InSession, "_send_home", send_home)


@fault
def the_gpu_takes_orders_in_any_sequence(patch: pytest.MonkeyPatch) -> None:
    """An order is repeated by whoever carries it."""

    def on_session(self: InSession, orders: bool, message: bytes) -> Any:
        state, effects = original(self, orders, message)
        if not orders or self.firmware.open(message)[0].number != 2:
            return state, effects
        self.firmware.heard[self.firmware.open(message)[0].epoch] = 2
        return state, [*effects, *original(self, orders, message)[1]]

    original = InSession.on_session
    patch.setattr(InSession, "on_session", on_session)


@fault
def the_grant_counts_from_too_far(patch: pytest.MonkeyPatch) -> None:
    original = Procedures.make_grant
    patch.setattr(Procedures, "make_grant", lambda *args: replace(original(*args), start=1))


@fault
def the_whole_bundle_is_lent(patch: pytest.MonkeyPatch) -> None:
    def granted(self: Procedures, job: Job, *args: Any) -> Grant:
        return replace(original(self, job, *args), d2h=job.live.keys.d2h)

    original = Procedures.make_grant
    patch.setattr(Procedures, "make_grant", granted)


@fault
def the_launch_key_is_lent(patch: pytest.MonkeyPatch) -> None:
    def granted(self: Procedures, job: Job, *args: Any) -> Grant:
        return replace(original(self, job, *args), launch=job.live.launch_key)

    original = Procedures.make_grant
    patch.setattr(Procedures, "make_grant", granted)


@fault
def the_grant_goes_to_the_wrong_holder(patch: pytest.MonkeyPatch) -> None:
    def grant(self: Procedures, job: Job, rotated: KeyRotated) -> Transition:
        other = next(name for name in job.terms.holders if name != job.holder)
        state, effects = original(self, replace(job, holder=other), rotated)
        return replace(state, job=replace(state.job, holder=job.holder)), effects

    original = Procedures.grant
    patch.setattr(Procedures, "grant", grant)


@fault
def memory_is_checked_before_the_rotation(patch: pytest.MonkeyPatch) -> None:
    steps_home_by(patch, reordered("fence", "upload", "read_back", "rotate_in"))


@fault
def contexts_are_fenced_before_the_rotation(patch: pytest.MonkeyPatch) -> None:
    steps_home_by(patch, reordered("fence", "rotate_in", "upload", "read_back"))


@fault
def nothing_rotates_at_return(patch: pytest.MonkeyPatch) -> None:
    steps_home_by(patch, without("rotate_in"))


@fault
def contexts_are_not_fenced(patch: pytest.MonkeyPatch) -> None:
    steps_home_by(patch, without("fence"))


@fault
def the_code_is_not_uploaded_again(patch: pytest.MonkeyPatch) -> None:
    steps_home_by(patch, without("upload"))


@fault
def nothing_is_read_back(patch: pytest.MonkeyPatch) -> None:
    steps_home_by(patch, without("read_back"))


@fault
def an_acknowledgement_of_a_rotation_is_not_awaited(patch: pytest.MonkeyPatch) -> None:
    def order_rotation(self: Procedures, job: Job, attested: Any) -> Transition:
        state, effects = original(self, job, attested)
        link = state.job.live
        link.take()
        after, more = self.go_out(state.job, KeyRotated(facts._MINT, link.session, link.keys.epoch))
        return after, [*effects, *more]

    original = Procedures.order_rotation
    patch.setattr(Procedures, "order_rotation", order_rotation)


@fault
def the_report_answers_another_nonce(patch: pytest.MonkeyPatch) -> None:
    def begun(self: AwaitsReport, job: Job, nonce: bytes) -> None:
        waits(self, job, bytes(32))

    waits = AwaitsReport.__init__
    patch.setattr(GpuVerifier, "expected_nonce", lambda self, nonce: None)
    patch.setattr(AwaitsReport, "__init__", begun)


@fault
def a_chunk_is_recorded_as_another(patch: pytest.MonkeyPatch) -> None:
    def on_proceed(self: Provides) -> Any:
        state, effects = original(self)
        notes = [at for at, effect in enumerate(effects) if isinstance(effect, Note)]
        if notes and self.sent == 1:
            taken = effects[notes[0]]
            assert isinstance(taken, Note)
            args = tuple((name, value.replace("chunk 1", "chunk 2")) for name, value in taken.step.args)
            effects[notes[0]] = replace(taken, step=replace(taken.step, args=args))
        return state, effects

    original = Provides.on_proceed
    patch.setattr(Provides, "on_proceed", on_proceed)


@fault
def a_chunk_is_counted_and_not_sent(patch: pytest.MonkeyPatch) -> None:
    def on_proceed(self: Provides) -> Any:
        state, effects = original(self)
        return state, effects if self.sent != 3 or len(effects) < 4 else [*effects[:2], effects[3]]

    original = Provides.on_proceed
    patch.setattr(Provides, "on_proceed", on_proceed)


@fault
def what_an_evicted_holder_left_is_trained_on(patch: pytest.MonkeyPatch) -> None:
    def take_back(self: Procedures, state: AwaitsReturn, event: Returned) -> Transition:
        after, effects = self.evict(state.job, "the lease is over")
        return replace(after, job=replace(after.job, custody=Custody.RETURNED, count=event.given.count)), effects

    patch.setattr(Procedures, "take_back", take_back)


@fault
def a_verified_fact_is_made_without_a_check(patch: pytest.MonkeyPatch) -> None:
    def verified(link: Link, sealed: bytes, expected: Any, checks: Any) -> MemoryVerified:
        return MemoryVerified(object(), link.session, link.keys.epoch)

    patch.setattr(facts, "establish_memory", verified)


@fault
def a_fact_of_another_session_is_used(patch: pytest.MonkeyPatch) -> None:
    def fenced(link: Link, sealed: bytes, checks: Any) -> ContextsFenced:
        original(link, sealed, checks)
        return ContextsFenced(facts._MINT, "another session", 0)

    original = facts.establish_fence
    patch.setattr(facts, "establish_fence", fenced)


SELF, TRACE = "noticed", "does not conform"
#: What catches each fault: a role's own check, or conformance, and what it says.
CAUGHT = {
    "scrub leaves the buffer": (SELF, "bytes are left after the scrub"),
    "scrub leaves the workspace": (SELF, "bytes are left after the scrub"),
    "scrub is not ordered": (TRACE, "rotate_out: the check 'phase'"),
    "the old engine stays alive": (SELF, "2 copy engines take traffic after a rotation"),
    "the gpu keeps the old reply key": (SELF, "orchestrator: session given up: AES-GCM tag does not verify"),
    "the gpu restarts its counter": (SELF, "gpu1 failed: AES-GCM tag does not verify"),
    "a holder uses an iv twice": (SELF, "gpu1 failed: AES-GCM tag does not verify"),
    "the orchestrator numbers two orders alike": (SELF, "and number 1 has to come next (REQ-SESSION-02)"),
    "the model is saved and not looked at": (SELF, "is not the one that the firmware sent (REQ-MODEL-03)"),
    "the gpu takes orders in any sequence": (SELF, "which is not awaited (REQ-SESSION-03)"),
    "the grant counts from too far": (SELF, "gpu1 failed: AES-GCM tag does not verify"),
    "the whole bundle is lent": (SELF, "a grant of more than the host-to-device half"),
    "the launch key is lent": (SELF, "a grant of more than the host-to-device half"),
    "the grant goes to the wrong holder": (TRACE, "grant: the check 'addressee'"),
    "memory is checked before the rotation": (SELF, "the GPU received 4 messages, the holder sent 3"),
    "contexts are fenced before the rotation": (SELF, "is not about session"),
    "nothing rotates at return": (SELF, "the GPU received 4 messages, the holder sent 3"),
    "contexts are not fenced": (SELF, "nothing is done at home before fence and check"),
    "the code is not uploaded again": (SELF, "code in GPU memory is not the orchestrator's"),
    "nothing is read back": (SELF, "nothing is done at home before fence and check"),
    "an acknowledgement of a rotation is not awaited": (SELF, "while the orchestrator awaits return"),
    "the report answers another nonce": (SELF, "the GPU's report is refused: not taken: nonce (REQ-SETUP-04)"),
    "a chunk is recorded as another": (TRACE, "provision: the check 'in order'"),
    "a chunk is counted and not sent": (SELF, "the GPU received 2 messages, the holder sent 3"),
    "what an evicted holder left is trained on": (TRACE, "send_train: the check 'returned'"),
    "a verified fact is made without a check": ("refused", "MemoryVerified comes out of its check"),
    "a fact of another session is used": (SELF, "is not about session"),
}


def verdict(world: TestWorld, told: list[str], folder: Path) -> str:
    """Return how a run went wrong; nothing, if nothing did."""
    try:
        world.run(20_000)
    except facts.ForgedFactError as error:
        return f"refused: {error}"
    complaints = [line for line in told if "given up" in line or "failed" in line]
    if complaints:
        return f"noticed: {complaints[0]}"
    write_trace(folder / "trace", DEPLOYMENT.header(world.recorder.lines), world.recorder.lines)
    divergence = conform(folder / "trace").divergence
    return "" if divergence is None else f"does not conform: {divergence}"


@pytest.fixture
def judged(tmp_path: Path) -> Callable[[], str]:
    def judge() -> str:
        world, told = world_of(DEPLOYMENT)
        return verdict(world, told, tmp_path)

    return judge


def test_without_a_fault_nothing_is_caught_and_there_are_many(judged: Callable[[], str]) -> None:
    assert judged() == ""
    assert set(FAULTS) == set(CAUGHT)
    assert len(FAULTS) >= 15
    assert {by for by, _ in CAUGHT.values()} >= {SELF, TRACE}


def test_the_documentation_lists_them() -> None:
    """Both are written by hand, and say the same."""
    by = {SELF: "a role", TRACE: "conformance", "refused": "a fact"}
    with SHOWN.open(encoding="utf-8", newline="") as file:
        shown = list(csv.reader(file))
    assert shown[0] == ["fault", "caught by", "which says"]
    assert all(said.endswith("'") for caught, said in CAUGHT.values() if caught == TRACE), "a guard is named whole"
    assert shown[1:] == [[name, by[caught], said] for name, (caught, said) in CAUGHT.items()]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught(name: str, judged: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What catches it is the check that is there for it, and says so."""
    FAULTS[name](monkeypatch)
    by, said = CAUGHT[name]
    found = judged()
    assert found.startswith(by)
    assert said in found
