"""Facts come out of their checks alone, channels open each record once, limits and ages are held to."""

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
    Direction,
    H100KeySchedule,
    KeyExhaustedError,
    KeySchedule,
    KeyUsage,
    LinkKeys,
    Sealer,
    UsageLimits,
)
from carnet_ref.systems.gpu_travelling.device.commands import (
    Fence,
    Fenced,
    MemoryRead,
    Reply,
    Rotated,
    Scrubbed,
    encode,
)
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.keys.schedules import key_schedule
from carnet_ref.systems.gpu_travelling.parties.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.appraising import prove_enrolment
from carnet_ref.systems.gpu_travelling.roles.channel import Initiator, respond
from carnet_ref.systems.gpu_travelling.roles.channel_messages import (
    Answer,
    Decline,
    Grant,
    Hello,
    NoChannel,
    OrchestratorEvidence,
    Proof,
    Record,
    Return,
    encode_envelope,
    encode_message,
    parse_envelope,
    parse_message,
)
from carnet_ref.systems.gpu_travelling.roles.facts import (
    EpochFact,
    Fact,
    ForgedFactError,
    GpuAttested,
    HolderEnrolled,
    KeyRotated,
)
from carnet_ref.systems.gpu_travelling.roles.job import Progress
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.systems.gpu_travelling.roles.ports import GpuEvidence
from carnet_ref.systems.gpu_travelling.weakened import design
from carnet_ref.transport.frames import ProtocolError
from carnet_ref.wire.fields import join
from carnet_ref.wire.reader import MalformedError
from tests.fixtures.fast_parties import ChainTrainer, FastAppraiser, FastDeployment, FastRequester
from tests.fixtures.worlds import draws, world_of

KINDS = (GpuAttested, HolderEnrolled, *EpochFact.__subclasses__())
CHECKS = Checks()
GRANT = Grant(1, "s1", 2, 3, 4, 5, 6, Budget(7, 8), b"key", b"mask")
LIMITS = UsageLimits.for_advantage()


def link(off: frozenset[str] = frozenset(), limits: UsageLimits = LIMITS) -> tuple[Link, KeySchedule]:
    """Return the orchestrator's link, and the schedule at the other end."""
    ends = [key_schedule("sealed-under-master", H100KeySchedule(bytes(range(32)))) for _ in range(2)]
    return design.link(off)("s1", ends[0], b"launch", design.limits(limits, off)), ends[1]


def device(keys: LinkKeys) -> Sealer:
    return Sealer(keys.d2h, keys.ivs(Direction.D2H), KeyUsage())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nobody_makes_a_fact_but_its_check(kind: type[Fact]) -> None:
    about: tuple[object, ...] = ("s1", 0)
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


def test_a_gpu_is_attested_by_evidence_that_was_accepted_and_by_nothing_else() -> None:
    session = FastRequester(draws("requester"))
    good = GpuEvidence(join(b"nonce", b"CONFIDENTIAL"), b"")
    attested, appraisal = facts.attested(session, good, b"nonce", FastAppraiser(frozenset()), CHECKS)
    assert (attested.session, appraisal.accepted) == (session.label, True)
    for report in (join(b"another", b"CONFIDENTIAL"), join(b"nonce", b"OPEN")):
        with pytest.raises(ProtocolError, match="is refused"):
            facts.attested(session, GpuEvidence(report, b""), b"nonce", FastAppraiser(frozenset()), CHECKS)
    session.responder_key = b"another device's key"
    with pytest.raises(ProtocolError, match="REQ-SETUP-07"):
        facts.attested(session, good, b"nonce", FastAppraiser(frozenset()), CHECKS)


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


def rotated(ours: Link, gpu: KeySchedule, owner: str, inward: bool = False) -> KeyRotated:
    """Rotate both ends, and return the fact."""
    keys = gpu.follow(ours.draw(owner, draws(f"order for {owner}")))
    return facts.rotated(ours, device(keys).seal(encode(Rotated(keys.epoch, 1))), CHECKS)


def test_a_fact_about_another_session_is_of_no_use() -> None:
    ours, _ = link()
    facts.require(GpuAttested(facts._MINT, "s1"), ours)
    for fact in (GpuAttested(facts._MINT, "s2"), KeyRotated(facts._MINT, "s2", 0)):
        with pytest.raises(ProtocolError, match="is not about session s1"):
            facts.require(fact, ours)


def test_a_fact_about_another_epoch_is_of_no_use() -> None:
    ours, gpu = link()
    first = rotated(ours, gpu, "alice")
    facts.require(first, ours)
    second = rotated(ours, gpu, "anna")
    assert (first.epoch, second.epoch) == (1, 2)
    facts.require(second, ours)
    with pytest.raises(ProtocolError, match=r"KeyRotated\(s1/1\) is not about session s1, epoch 2"):
        facts.require(first, ours)


@pytest.mark.parametrize("kind", EpochFact.__subclasses__(), ids=lambda kind: kind.__name__)
def test_every_fact_about_an_epoch_is_of_no_use_in_the_next(kind: type[EpochFact]) -> None:
    ours, gpu = link()
    rotated(ours, gpu, "alice")
    facts.require(kind(facts._MINT, "s1", 1), ours)
    for epoch in (0, 2):
        with pytest.raises(ProtocolError):
            facts.require(kind(facts._MINT, "s1", epoch), ours)


def test_an_acknowledgement_counts_under_the_new_key_only() -> None:
    ours, gpu = link()
    old = device(gpu.keys)
    new = device(gpu.follow(ours.draw("alice", draws("order"))))
    good = new.seal(encode(Rotated(1, 1)))
    fact = facts.rotated(ours, good, CHECKS)
    assert (fact.session, fact.epoch) == ("s1", 1)
    again, gpu = link()
    gpu.follow(again.draw("alice", draws("order")))
    with pytest.raises(AuthenticationError):
        facts.rotated(again, old.seal(encode(Rotated(1, 1))), CHECKS)


@pytest.mark.parametrize(("epoch", "live"), [(2, 1), (1, 2)], ids=["another epoch", "an engine too many"])
def test_an_acknowledgement_has_to_say_the_right_thing(epoch: int, live: int) -> None:
    ours, gpu = link()
    new = device(gpu.follow(ours.draw("alice", draws("order"))))
    with pytest.raises(ProtocolError):
        facts.rotated(ours, new.seal(encode(Rotated(epoch, live))), CHECKS)


@pytest.mark.parametrize("reply", [Fenced(), Scrubbed(0)], ids=["a fence", "a scrub"])
def test_another_reply_under_the_new_key_acknowledges_no_rotation(reply: Reply) -> None:
    ours, gpu = link()
    new = device(gpu.follow(ours.draw("alice", draws("order"))))
    with pytest.raises(ProtocolError, match=rf"expected Rotated, found {type(reply).__name__} \(REQ-KEY-05\)"):
        facts.rotated(ours, new.seal(encode(reply)), CHECKS)
    assert ours.keys.epoch == 0, "the link keeps its key"


def test_scrub_and_fence_are_not_each_other() -> None:
    ours, gpu = link()
    with pytest.raises(ProtocolError, match=r"expected Scrubbed, found Fenced \(REQ-SCRUB-03\)"):
        facts.scrubbed(ours, device(gpu.keys).seal(encode(Fenced())), CHECKS)
    ours, gpu = link()
    with pytest.raises(ProtocolError, match=r"expected Fenced, found Scrubbed \(REQ-HOME-02\)"):
        facts.fenced(ours, device(gpu.keys).seal(encode(Scrubbed(0))), CHECKS)


def test_bytes_that_are_left_after_a_scrub_are_noticed() -> None:
    ours, gpu = link()
    with pytest.raises(ProtocolError, match="7 bytes are left"):
        facts.scrubbed(ours, device(gpu.keys).seal(encode(Scrubbed(7))), CHECKS)


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        (MemoryRead(b"code", b"model", 3), ""),
        (MemoryRead(b"other", b"model", 3), "REQ-HOME-04"),
        (MemoryRead(b"code", b"other", 3), "REQ-HOME-05"),
        (MemoryRead(b"code", b"model", 2), "REQ-HOME-06"),
        (Fenced(), "REQ-HOME-04"),
    ],
    ids=["as it should be", "other code", "another model", "a message less", "no read-back"],
)
def test_what_is_read_back_is_compared(found: Reply, refused: str) -> None:
    ours, gpu = link()
    expected, sealed = facts.Expected(sha384(b"code"), sha384(b"model"), 3), device(gpu.keys).seal(encode(found))
    with pytest.raises(ProtocolError, match=refused) if refused else contextlib.nullcontext():
        facts.verified(ours, sealed, expected, CHECKS)


def test_a_key_is_used_to_its_limit_and_no_further() -> None:
    ours, _ = link(limits=UsageLimits(2, 7))
    ours.seal(Fence())
    ours.seal(Fence())
    assert ours.lend() == Budget((1 << 28) // 16, 4)
    ours.count_borrowed(3, 16)
    ours.seal(Fence())
    with pytest.raises(KeyExhaustedError):
        ours.seal(Fence())
    free, _ = link(frozenset({"key-usage-limit"}), UsageLimits(2, 2))
    for _ in range(9):
        free.seal(Fence())


def test_a_count_never_goes_back_and_an_iv_is_never_used_again() -> None:
    ours, _ = link()
    slots = [ours.seal(Fence())[0] for _ in range(2)]
    for count in (7, 3):
        ours.lend()
        ours.count_borrowed(count, 0)
    assert [*slots, ours.seal(Fence())[0]] == [0, 1, 7]
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


def test_a_channel_opens_each_record_once_and_in_order() -> None:
    asking = Initiator(draws("holder"))
    share, theirs = respond(asking.hello, draws("orchestrator"))
    ours = asking.finish(share)
    assert ours.exporter == theirs.exporter
    first, second = ours.seal(b"one"), ours.seal(b"two")
    assert theirs.open(first) == b"one"
    with pytest.raises(AuthenticationError):
        theirs.open(first)
    other, _ = respond(asking.hello, draws("somebody else"))
    assert asking.finish(other).exporter != theirs.exporter
    assert second


ENVELOPES = (
    Hello(b"share", b"nonce"),
    Answer(b"share", b"to"),
    Record(b"channel", b"sealed"),
    NoChannel(),
    NoChannel(b"channel"),
)
MESSAGES = (
    OrchestratorEvidence(b"quote", "s1"),
    Proof(b"signature"),
    GRANT,
    Return("s1", 2, 3, 4),
    Decline("s1", 2, Budget(3, 4)),
)


@pytest.mark.parametrize("envelope", ENVELOPES, ids=repr)
def test_envelopes_survive_the_wire(envelope: Hello) -> None:
    data = encode_envelope(envelope)
    assert parse_envelope(data) == envelope
    with pytest.raises(MalformedError):
        parse_envelope(data + b"x")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_messages_survive_the_wire(message: Proof) -> None:
    data = encode_message(message)
    assert parse_message(data) == message
    with pytest.raises(MalformedError):
        parse_message(data[:-1])


@pytest.mark.parametrize("data", [b"", b"\x09", b"\xff\0\0\0\0"])
def test_what_is_no_message_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_envelope(data)
    with pytest.raises(MalformedError):
        parse_message(data)


def test_a_grant_shows_no_key_when_it_is_printed() -> None:
    assert "key" not in repr(GRANT).replace("keys", "").replace("h2d_key", "")


def test_progress_survives_the_journal() -> None:
    progress = Progress(2, (1.5, 0.5), 100, b"model")
    assert Progress.parse(progress.encode()) == progress
    with pytest.raises(MalformedError):
        Progress.parse(b"\x01\0\0\0x\0\0\0\0")
