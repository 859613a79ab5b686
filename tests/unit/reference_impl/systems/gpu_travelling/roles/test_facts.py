"""Facts come out of their checks alone, limits and ages are held to."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.attestation.simulated.authority import derived_key
from carnet_ref.crypto.primitives import AuthenticationError, sha384
from carnet_ref.keys import (
    Budget,
    H100KeySchedule,
    KeyExhaustedError,
    UsageLimits,
)
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.ablations.deployment import NO_LIMITS
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.systems.gpu_travelling.orders import (
    Fence,
    Fenced,
    MemoryRead,
    Report,
    Rotated,
    Saved,
    Scrub,
    Scrubbed,
    Start,
    Trained,
)
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence, prove_enrolment
from carnet_ref.systems.gpu_travelling.roles.facts import (
    EpochFact,
    Fact,
    ForgedFactError,
    GpuAttested,
    HolderEnrolled,
    KeyRotated,
    VersionFact,
)
from carnet_ref.systems.gpu_travelling.roles.links import Link, SessionKeys
from carnet_ref.systems.gpu_travelling.roles.messages import (
    Grant,
    Initiator,
    respond,
)
from carnet_ref.transport.frames import ProtocolError
from carnet_ref.wire import join
from tests.fixtures.worlds import ChainTrainer, FastAppraiser, FastDeployment, FastRequester, draws, world_of

EPOCH_KINDS = (*(kind for kind in EpochFact.__subclasses__() if kind is not VersionFact), *VersionFact.__subclasses__())
KINDS = (GpuAttested, HolderEnrolled, *EPOCH_KINDS)
CHECKS = Checks()
GRANT = Grant("s1", 1, 2, 3, 4, 5, 6, Budget(7, 8), b"key", b"mask")
LIMITS = UsageLimits.for_advantage()
SECRET = bytes(range(32))
LEAST = Start(b"")
CODE, MODEL, OTHER = (sha384(each) for each in (b"code", b"model", b"other"))


def link(limits: UsageLimits = LIMITS) -> Link:
    """Return the orchestrator's end of a session."""
    session = H100KeySchedule(SECRET)
    schedule = key_schedule("sealed-under-master", session)
    return Link("s1", schedule, SessionKeys.of(session), limits)


def reported(ours: Link, report: Report) -> bytes:
    """Return what the firmware says about the order that was given last."""
    assert ours.awaited is not None
    return orders.Sealed(SessionKeys.of(H100KeySchedule(SECRET)).reports).seal(ours.awaited, orders.encode(report))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nobody_makes_a_fact_but_its_check(kind: type[Fact]) -> None:
    about: tuple[object, ...] = ("s1", 0, MODEL) if issubclass(kind, VersionFact) else ("s1", 0)
    if not issubclass(kind, EpochFact):
        about = ("alice", b"channel") if kind is HolderEnrolled else ("s1",)
    with pytest.raises(ForgedFactError):
        kind(object(), *about)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda each: each.__name__)
def test_a_fact_is_not_copied(copied: Callable[[object], object]) -> None:
    with pytest.raises(ForgedFactError, match="KeyRotated is not copied"):
        copied(KeyRotated(facts._MINT, "s1", 1))


@pytest.mark.parametrize(("name", "value"), [("session", "s2"), ("epoch", 2), ("__class__", facts.MemoryVerified)])
def test_a_fact_stays_as_it_was_made(name: str, value: object) -> None:
    rotated = KeyRotated(facts._MINT, "s1", 1)
    with pytest.raises(ForgedFactError, match="KeyRotated stays as its check made it"):
        setattr(rotated, name, value)
    assert repr(rotated) == "KeyRotated(s1/1)"


SAW = ReceivedMessage("gpu", b"a report")


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-04", "gpu-travelling-REQ-SETUP-05", "gpu-travelling-REQ-SETUP-07")
def test_a_gpu_is_attested_by_evidence_that_was_accepted_and_by_nothing_else() -> None:
    session = FastRequester(draws("requester"))
    good = GpuEvidence(join(b"nonce", b"CONFIDENTIAL"), b"")
    attested, appraisal = facts.attested(session, good, b"nonce", FastAppraiser(frozenset()), CHECKS, SAW)
    assert (attested.session, appraisal.accepted) == (session.label, True)
    for report in (join(b"another", b"CONFIDENTIAL"), join(b"nonce", b"OPEN")):
        with pytest.raises(ProtocolError, match="is refused"):
            facts.attested(session, GpuEvidence(report, b""), b"nonce", FastAppraiser(frozenset()), CHECKS, SAW)
    session.responder_key = b"another device's key"
    with pytest.raises(ProtocolError, match="REQ-SETUP-07"):
        facts.attested(session, good, b"nonce", FastAppraiser(frozenset()), CHECKS, SAW)


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-11", "gpu-travelling-REQ-SETUP-12")
def test_a_holder_is_enrolled_by_its_key_in_its_channel_and_by_nothing_else() -> None:
    key, other = (derived_key(b"seed", name, ec.SECP384R1()) for name in ("alice", "anna"))
    _, channel = respond(Initiator(draws("holder")).hello, draws("orchestrator"))
    proof = prove_enrolment(key, channel.exporter)
    enrolled = facts.enrolled("alice", key.public_key(), proof, channel, CHECKS)
    assert (enrolled.holder, enrolled.channel) == ("alice", channel.name)
    _, another = respond(Initiator(draws("holder again")).hello, draws("orchestrator again"))
    wrong = ((other.public_key(), proof, channel), (key.public_key(), proof, another), (key.public_key(), b"", channel))
    for public, signature, where in wrong:
        with pytest.raises(ProtocolError, match="REQ-SETUP-12"):
            facts.enrolled("alice", public, signature, where, CHECKS)


def rotated(ours: Link, owner: str) -> KeyRotated:
    """Rotate, and return the fact."""
    ours.order(ours.draw(owner, draws(f"order for {owner}")))
    assert ours.pending is not None
    return facts.rotated(ours, reported(ours, Rotated(ours.pending.epoch, 1)), CHECKS)


def test_a_fact_about_another_session_is_of_no_use() -> None:
    ours = link()
    facts.require(GpuAttested(facts._MINT, "s1"), ours)
    for fact in (GpuAttested(facts._MINT, "s2"), KeyRotated(facts._MINT, "s2", 0)):
        with pytest.raises(ProtocolError, match="is not about session s1"):
            facts.require(fact, ours)


def test_a_fact_about_another_epoch_is_of_no_use() -> None:
    ours = link()
    first = rotated(ours, "alice")
    facts.require(first, ours)
    second = rotated(ours, "anna")
    assert (first.epoch, second.epoch) == (1, 2)
    facts.require(second, ours)
    with pytest.raises(ProtocolError, match=r"KeyRotated\(s1/1\) is not about session s1, epoch 2"):
        facts.require(first, ours)


@pytest.mark.parametrize("kind", EPOCH_KINDS, ids=lambda kind: kind.__name__)
def test_every_fact_about_an_epoch_is_of_no_use_in_the_next(kind: type[EpochFact]) -> None:
    ours = link()
    rotated(ours, "alice")
    more = (MODEL,) if issubclass(kind, VersionFact) else ()
    facts.require(kind(facts._MINT, "s1", 1, *more), ours)
    for epoch in (0, 2):
        with pytest.raises(ProtocolError):
            facts.require(kind(facts._MINT, "s1", epoch, *more), ours)


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-03")
def test_a_report_counts_on_the_order_that_it_is_about_and_once() -> None:
    ours = link()
    ours.order(Fence())
    fenced = reported(ours, Fenced())
    assert facts.fenced(ours, fenced, CHECKS).epoch == 0
    with pytest.raises(ProtocolError, match=r"a report on order 0 of epoch 0, which is not awaited \(REQ-SESSION-03\)"):
        facts.fenced(ours, fenced, CHECKS)
    ours.order(Scrub())
    with pytest.raises(ProtocolError, match="REQ-SESSION-03"):
        facts.fenced(ours, fenced, CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-03", "gpu-travelling-REQ-HOME-02")
def test_a_report_is_the_firmwares_and_nobody_elses() -> None:
    """Whoever has the link, in both directions, makes none."""
    ours = link()
    place, _ = ours.order(Fence())
    for half in (ours.keys.d2h, ours.keys.h2d, ours.launch_key, SessionKeys.of(H100KeySchedule(SECRET)).orders):
        with pytest.raises(AuthenticationError):
            facts.fenced(ours, orders.Sealed(half).seal(place, orders.encode(Fenced())), CHECKS)
    forged = reported(ours, Fenced())
    with pytest.raises(AuthenticationError):
        facts.fenced(ours, forged[:-1] + bytes([forged[-1] ^ 1]), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-01")
def test_orders_are_numbered_in_their_epochs() -> None:
    ours = link()
    numbers = [ours.order(Fence())[0] for _ in range(2)]
    rotated(ours, "alice")
    numbers.append(ours.order(Fence())[0])
    assert [(place.epoch, place.number) for place in numbers] == [(0, 0), (0, 1), (1, 1)]


@pytest.mark.verifies("gpu-travelling-REQ-KEY-05")
@pytest.mark.parametrize(("epoch", "live"), [(2, 1), (1, 2)], ids=["another epoch", "an engine too many"])
def test_a_report_of_a_rotation_has_to_say_the_right_thing(epoch: int, live: int) -> None:
    ours = link()
    ours.order(ours.draw("alice", draws("order")))
    with pytest.raises(ProtocolError):
        facts.rotated(ours, reported(ours, Rotated(epoch, live)), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-KEY-05")
@pytest.mark.parametrize("report", [Fenced(), Scrubbed(0)], ids=["a fence", "a scrub"])
def test_another_report_is_none_of_a_rotation(report: Report) -> None:
    ours = link()
    ours.order(ours.draw("alice", draws("order")))
    with pytest.raises(ProtocolError, match=rf"expected Rotated, found {type(report).__name__} \(REQ-KEY-05\)"):
        facts.rotated(ours, reported(ours, report), CHECKS)
    assert ours.keys.epoch == 0, "the link keeps its key"


@pytest.mark.verifies("gpu-travelling-REQ-SCRUB-03", "gpu-travelling-REQ-HOME-02")
def test_scrub_and_fence_are_not_each_other() -> None:
    ours = link()
    ours.order(Scrub())
    with pytest.raises(ProtocolError, match=r"expected Scrubbed, found Fenced \(REQ-SCRUB-03\)"):
        facts.scrubbed(ours, reported(ours, Fenced()), CHECKS)
    ours.order(Fence())
    with pytest.raises(ProtocolError, match=r"expected Fenced, found Scrubbed \(REQ-HOME-02\)"):
        facts.fenced(ours, reported(ours, Scrubbed(0)), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-SCRUB-02")
def test_bytes_that_are_left_after_a_scrub_are_noticed() -> None:
    ours = link()
    ours.order(Scrub())
    with pytest.raises(ProtocolError, match="7 bytes are left"):
        facts.scrubbed(ours, reported(ours, Scrubbed(7)), CHECKS)


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        (MemoryRead(CODE, MODEL, 3, 0), ""),
        pytest.param(
            MemoryRead(OTHER, MODEL, 3, 0), "REQ-HOME-04", marks=pytest.mark.verifies("gpu-travelling-REQ-HOME-04")
        ),
        pytest.param(
            MemoryRead(CODE, OTHER, 3, 0),
            "REQ-HOME-05",
            marks=pytest.mark.verifies("gpu-travelling-REQ-HOME-05", "gpu-travelling-REQ-MODEL-01"),
        ),
        pytest.param(
            MemoryRead(CODE, MODEL, 2, 0), "REQ-HOME-06", marks=pytest.mark.verifies("gpu-travelling-REQ-HOME-06")
        ),
        pytest.param(
            MemoryRead(CODE, MODEL, 3, 1), "REQ-HOME-07", marks=pytest.mark.verifies("gpu-travelling-REQ-HOME-07")
        ),
        (Fenced(), "REQ-HOME-04"),
    ],
    ids=["as it should be", "other code", "another model", "a message less", "a context left", "no read-back"],
)
def test_what_the_firmware_found_is_compared(found: Report, refused: str) -> None:
    ours = link()
    ours.order(orders.ReadBack(0))
    with pytest.raises(ProtocolError, match=refused) if refused else contextlib.nullcontext():
        facts.verified(ours, reported(ours, found), facts.Expected(CODE, MODEL, 3), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-02")
def test_the_latest_version_is_what_the_firmware_says() -> None:
    ours = link()
    ours.order(orders.Train())
    assert facts.trained(ours, reported(ours, Trained(MODEL)), CHECKS).digest == MODEL
    ours.order(orders.Train())
    with pytest.raises(ProtocolError, match="expected Trained, found Saved"):
        facts.trained(ours, reported(ours, Saved(MODEL)), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-03")
@pytest.mark.parametrize(
    ("came", "sent", "refused"),
    [
        (b"model", MODEL, ""),
        (b"other", MODEL, "not the one that the firmware sent"),
        (b"other", OTHER, "not the one last produced"),
        (b"model", OTHER, "not the one last produced"),
    ],
    ids=["as it should be", "another came", "another was sent", "another is said"],
)
def test_a_model_is_kept_if_it_is_the_latest_version(came: bytes, sent: bytes, refused: str) -> None:
    ours = link()
    ours.order(orders.Save())
    with pytest.raises(ProtocolError, match=rf"{refused} \(REQ-MODEL-03\)") if refused else contextlib.nullcontext():
        facts.saved(ours, reported(ours, Saved(sent)), came, MODEL, CHECKS)


def test_another_report_says_nothing_of_what_was_saved() -> None:
    ours = link()
    ours.order(orders.Save())
    with pytest.raises(ProtocolError, match="expected Saved, found Trained"):
        facts.saved(ours, reported(ours, Trained(MODEL)), b"model", MODEL, CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-KEY-07")
def test_a_key_is_used_to_its_limit_and_no_further() -> None:
    ours = link(limits=UsageLimits(2, 7))
    ours.seal(LEAST)
    ours.seal(LEAST)
    assert ours.lend() == Budget((1 << 28) // 16, 4)
    ours.count_borrowed(3, 16)
    ours.seal(LEAST)
    with pytest.raises(KeyExhaustedError):
        ours.seal(LEAST)
    free = link(NO_LIMITS)
    for _ in range(9):
        free.seal(LEAST)


@pytest.mark.verifies("gpu-travelling-REQ-IV-01", "gpu-travelling-REQ-IV-03")
def test_a_count_never_goes_back_and_an_iv_is_never_used_again() -> None:
    ours = link()
    slots = [ours.seal(LEAST)[0] for _ in range(2)]
    for count in (7, 3):
        ours.lend()
        ours.count_borrowed(count, 0)
    assert [*slots, ours.seal(LEAST)[0]] == [0, 1, 7]
    ours.lend()
    with pytest.raises(KeyExhaustedError):
        ours.count_borrowed(1 << 30, 0)


def test_old_evidence_opens_no_hand_over() -> None:
    deployment = FastDeployment(holder_names(1), 2, chunks=1, trainer=ChainTrainer())
    world, told = world_of(deployment)
    orchestrator = world.orchestrator
    terms = replace(orchestrator.job.terms, evidence_lasts=10.0)
    orchestrator.state = replace(orchestrator.state, job=replace(orchestrator.job, terms=terms))
    while orchestrator.job.progress.rounds < 1:
        world.step()
    world.now += 11.0
    world.tick()
    world.run()
    assert any("seconds old" in line for line in told)
    assert orchestrator.job.progress.rounds == 2
