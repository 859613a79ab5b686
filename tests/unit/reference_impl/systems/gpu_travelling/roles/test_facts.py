"""Facts come out of their checks alone, and nothing is lent, accepted or taken back on facts about something else."""

import contextlib
import copy
import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.attestation.simulated.authority import derived_key
from carnet_ref.crypto.primitives import AuthenticationError, sha384
from carnet_ref.device import BASE, Region
from carnet_ref.keys import Budget, Direction, H100KeySchedule, KeyExhaustedError, KeyUsage, Sealer, UsageLimits
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.ablations.deployment import NO_LIMITS, AblatedDeployment
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.systems.gpu_travelling.orders import Logged, Model, Reply, Sent, Start
from carnet_ref.systems.gpu_travelling.roles import facts, states
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence, prove_enrolment
from carnet_ref.systems.gpu_travelling.roles.holder import AwaitsGrant, HolderPhase, Provides
from carnet_ref.systems.gpu_travelling.roles.job import Job
from carnet_ref.systems.gpu_travelling.roles.links import Link, SessionKeys
from carnet_ref.systems.gpu_travelling.roles.messages import Grant, Initiator, Return, respond
from carnet_ref.systems.gpu_travelling.roles.orchestrator import SECURE, Orchestrator, Procedures
from carnet_ref.systems.gpu_travelling.roles.states import Admitted, LinkMessage, Reported, Returned
from carnet_ref.transport.frames import ProtocolError, Remark
from carnet_ref.wire import join
from tests.fixtures.worlds import ChainTrainer, FastDeployment, FastGpuVerifier, FastRequester, draws, world_of

EPOCH_KINDS = (
    *(kind for kind in facts.EpochFact.__subclasses__() if kind is not facts.VersionFact),
    *facts.VersionFact.__subclasses__(),
)
KINDS = (facts.GpuAttested, facts.HolderEnrolled, *EPOCH_KINDS)
CHECKS = Checks()
LIMITS = UsageLimits.for_advantage()
SECRET = bytes(range(32))
LEAST = Start(b"")
CODE, MODEL, OTHER = (sha384(each) for each in (b"code", b"model", b"other"))


def link(limits: UsageLimits = LIMITS) -> Link:
    """Return the orchestrator's end of a session."""
    session = H100KeySchedule(SECRET)
    return Link("s1", key_schedule("sealed-under-master", session), SessionKeys.of(session), limits)


def reported(ours: Link, report: orders.Report) -> bytes:
    """Return what the firmware says about the order that was given last."""
    assert ours.awaited is not None
    return orders.Sealed(SessionKeys.of(H100KeySchedule(SECRET)).reports).seal(ours.awaited, orders.encode(report))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nobody_makes_a_fact_but_its_check(kind: type[facts.Fact]) -> None:
    about: tuple[object, ...] = ("s1", 0, MODEL) if issubclass(kind, facts.VersionFact) else ("s1", 0)
    if not issubclass(kind, facts.EpochFact):
        about = ("alice", b"channel") if kind is facts.HolderEnrolled else ("s1",)
    with pytest.raises(facts.ForgedFactError):
        kind(object(), *about)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda each: each.__name__)
def test_a_fact_is_not_copied(copied: Callable[[object], object]) -> None:
    with pytest.raises(facts.ForgedFactError, match="KeyRotated is not copied"):
        copied(facts.KeyRotated(facts._MINT, "s1", 1))


@pytest.mark.parametrize(("name", "value"), [("session", "s2"), ("epoch", 2), ("__class__", facts.MemoryVerified)])
def test_a_fact_stays_as_it_was_made(name: str, value: object) -> None:
    rotated = facts.KeyRotated(facts._MINT, "s1", 1)
    with pytest.raises(facts.ForgedFactError, match="KeyRotated stays as its check made it"):
        setattr(rotated, name, value)
    assert repr(rotated) == "KeyRotated(s1/1)"


SAW = ReceivedMessage("gpu", b"a report")


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-04", "gpu-travelling-REQ-SETUP-05", "gpu-travelling-REQ-SETUP-07")
def test_a_gpu_is_attested_by_evidence_that_was_accepted_and_by_nothing_else() -> None:
    session = FastRequester(draws("requester"))
    good = GpuEvidence(join(b"nonce", b"CONFIDENTIAL"), b"")
    attested, appraisal = facts.establish_attestation(
        session, good, b"nonce", FastGpuVerifier(frozenset()), CHECKS, SAW
    )
    assert (attested.session, appraisal.accepted) == (session.label, True)
    for report in (join(b"another", b"CONFIDENTIAL"), join(b"nonce", b"OPEN")):
        with pytest.raises(ProtocolError, match="is refused"):
            facts.establish_attestation(
                session, GpuEvidence(report, b""), b"nonce", FastGpuVerifier(frozenset()), CHECKS, SAW
            )
    session.responder_key = b"another device's key"
    with pytest.raises(ProtocolError, match="REQ-SETUP-07"):
        facts.establish_attestation(session, good, b"nonce", FastGpuVerifier(frozenset()), CHECKS, SAW)


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-11", "gpu-travelling-REQ-SETUP-12")
def test_a_holder_is_enrolled_by_its_key_in_its_channel_and_by_nothing_else() -> None:
    key, other = (derived_key(b"seed", name, ec.SECP384R1()) for name in ("alice", "anna"))
    _, channel = respond(Initiator(draws("holder")).hello, draws("orchestrator"))
    proof = prove_enrolment(key, channel.exporter)
    enrolled = facts.establish_enrolment("alice", key.public_key(), proof, channel, CHECKS)
    assert (enrolled.holder, enrolled.channel) == ("alice", channel.name)
    _, another = respond(Initiator(draws("holder again")).hello, draws("orchestrator again"))
    wrong = ((other.public_key(), proof, channel), (key.public_key(), proof, another), (key.public_key(), b"", channel))
    for public, signature, where in wrong:
        with pytest.raises(ProtocolError, match="REQ-SETUP-12"):
            facts.establish_enrolment("alice", public, signature, where, CHECKS)


def rotated(ours: Link, owner: str) -> facts.KeyRotated:
    ours.order(ours.draw(owner, draws(f"order for {owner}")))
    assert ours.pending is not None
    return facts.establish_rotation(ours, reported(ours, orders.Rotated(ours.pending.epoch, 1)), CHECKS)


def test_a_fact_about_another_session_or_epoch_is_of_no_use() -> None:
    ours = link()
    facts.require(facts.GpuAttested(facts._MINT, "s1"), ours)
    for fact in (facts.GpuAttested(facts._MINT, "s2"), facts.KeyRotated(facts._MINT, "s2", 0)):
        with pytest.raises(ProtocolError, match="is not about session s1"):
            facts.require(fact, ours)
    first = rotated(ours, "alice")
    facts.require(first, ours)
    second = rotated(ours, "anna")
    assert (first.epoch, second.epoch) == (1, 2)
    facts.require(second, ours)
    with pytest.raises(ProtocolError, match=r"KeyRotated\(s1/1\) is not about session s1, epoch 2"):
        facts.require(first, ours)


@pytest.mark.parametrize("kind", EPOCH_KINDS, ids=lambda kind: kind.__name__)
def test_every_fact_about_an_epoch_is_of_no_use_in_the_next(kind: type[facts.EpochFact]) -> None:
    ours = link()
    rotated(ours, "alice")
    more = (MODEL,) if issubclass(kind, facts.VersionFact) else ()
    facts.require(kind(facts._MINT, "s1", 1, *more), ours)
    for epoch in (0, 2):
        with pytest.raises(ProtocolError):
            facts.require(kind(facts._MINT, "s1", epoch, *more), ours)


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-03")
def test_a_report_counts_on_the_order_that_it_is_about_and_once() -> None:
    ours = link()
    ours.order(orders.Fence())
    fenced = reported(ours, orders.Fenced())
    assert facts.establish_fence(ours, fenced, CHECKS).epoch == 0
    with pytest.raises(ProtocolError, match=r"a report on order 0 of epoch 0, which is not awaited \(REQ-SESSION-03\)"):
        facts.establish_fence(ours, fenced, CHECKS)
    ours.order(orders.Scrub())
    with pytest.raises(ProtocolError, match="REQ-SESSION-03"):
        facts.establish_fence(ours, fenced, CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-03", "gpu-travelling-REQ-HOME-02")
def test_a_report_is_the_firmwares_and_nobody_elses() -> None:
    """Whoever has the link, in both directions, makes none."""
    ours = link()
    place, _ = ours.order(orders.Fence())
    for half in (ours.keys.d2h, ours.keys.h2d, ours.launch_key, SessionKeys.of(H100KeySchedule(SECRET)).orders):
        with pytest.raises(AuthenticationError):
            facts.establish_fence(ours, orders.Sealed(half).seal(place, orders.encode(orders.Fenced())), CHECKS)
    forged = reported(ours, orders.Fenced())
    with pytest.raises(AuthenticationError):
        facts.establish_fence(ours, forged[:-1] + bytes([forged[-1] ^ 1]), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-01")
def test_orders_are_numbered_in_their_epochs() -> None:
    ours = link()
    numbers = [ours.order(orders.Fence())[0] for _ in range(2)]
    rotated(ours, "alice")
    numbers.append(ours.order(orders.Fence())[0])
    assert [(place.epoch, place.number) for place in numbers] == [(0, 0), (0, 1), (1, 1)]


@pytest.mark.verifies("gpu-travelling-REQ-KEY-05")
@pytest.mark.parametrize(("epoch", "live"), [(2, 1), (1, 2)], ids=["another epoch", "an engine too many"])
def test_a_report_of_a_rotation_has_to_say_the_right_thing(epoch: int, live: int) -> None:
    ours = link()
    ours.order(ours.draw("alice", draws("order")))
    with pytest.raises(ProtocolError):
        facts.establish_rotation(ours, reported(ours, orders.Rotated(epoch, live)), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-KEY-05")
@pytest.mark.parametrize("report", [orders.Fenced(), orders.Scrubbed(0)], ids=["a fence", "a scrub"])
def test_another_report_is_none_of_a_rotation(report: orders.Report) -> None:
    ours = link()
    ours.order(ours.draw("alice", draws("order")))
    with pytest.raises(ProtocolError, match=rf"expected Rotated, found {type(report).__name__} \(REQ-KEY-05\)"):
        facts.establish_rotation(ours, reported(ours, report), CHECKS)
    assert ours.keys.epoch == 0, "the link keeps its key"


@pytest.mark.verifies("gpu-travelling-REQ-SCRUB-03", "gpu-travelling-REQ-HOME-02")
def test_scrub_and_fence_are_not_each_other() -> None:
    ours = link()
    ours.order(orders.Scrub())
    with pytest.raises(ProtocolError, match=r"expected Scrubbed, found Fenced \(REQ-SCRUB-03\)"):
        facts.establish_scrub(ours, reported(ours, orders.Fenced()), CHECKS)
    ours.order(orders.Fence())
    with pytest.raises(ProtocolError, match=r"expected Fenced, found Scrubbed \(REQ-HOME-02\)"):
        facts.establish_fence(ours, reported(ours, orders.Scrubbed(0)), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-SCRUB-02")
def test_bytes_that_are_left_after_a_scrub_are_noticed() -> None:
    ours = link()
    ours.order(orders.Scrub())
    with pytest.raises(ProtocolError, match="7 bytes are left"):
        facts.establish_scrub(ours, reported(ours, orders.Scrubbed(7)), CHECKS)


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        (orders.MemoryRead(CODE, MODEL, 3, 0), ""),
        pytest.param(
            orders.MemoryRead(OTHER, MODEL, 3, 0),
            "REQ-HOME-04",
            marks=pytest.mark.verifies("gpu-travelling-REQ-HOME-04"),
        ),
        pytest.param(
            orders.MemoryRead(CODE, OTHER, 3, 0),
            "REQ-HOME-05",
            marks=pytest.mark.verifies("gpu-travelling-REQ-HOME-05", "gpu-travelling-REQ-MODEL-01"),
        ),
        pytest.param(
            orders.MemoryRead(CODE, MODEL, 2, 0),
            "REQ-HOME-06",
            marks=pytest.mark.verifies("gpu-travelling-REQ-HOME-06"),
        ),
        pytest.param(
            orders.MemoryRead(CODE, MODEL, 3, 1),
            "REQ-HOME-07",
            marks=pytest.mark.verifies("gpu-travelling-REQ-HOME-07"),
        ),
        (orders.Fenced(), "REQ-HOME-04"),
    ],
    ids=["as it should be", "other code", "another model", "a message less", "a context left", "no read-back"],
)
def test_what_the_firmware_found_is_compared(found: orders.Report, refused: str) -> None:
    ours = link()
    ours.order(orders.ReadBack(0))
    with pytest.raises(ProtocolError, match=refused) if refused else contextlib.nullcontext():
        facts.establish_memory(ours, reported(ours, found), facts.Expected(CODE, MODEL, 3), CHECKS)


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-02")
def test_the_latest_version_is_what_the_firmware_says() -> None:
    ours = link()
    ours.order(orders.Train())
    assert facts.establish_version(ours, reported(ours, orders.Trained(MODEL)), CHECKS).digest == MODEL
    ours.order(orders.Train())
    with pytest.raises(ProtocolError, match="expected Trained, found Saved"):
        facts.establish_version(ours, reported(ours, orders.Saved(MODEL)), CHECKS)


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
        facts.establish_saved_version(ours, reported(ours, orders.Saved(sent)), came, MODEL, CHECKS)


def test_another_report_says_nothing_of_what_was_saved() -> None:
    ours = link()
    ours.order(orders.Save())
    with pytest.raises(ProtocolError, match="expected Saved, found Trained"):
        facts.establish_saved_version(ours, reported(ours, orders.Trained(MODEL)), b"model", MODEL, CHECKS)


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


DEPLOYMENT = FastDeployment(holder_names(2), 2, chunks=1, chunk_bytes=16, trainer=ChainTrainer())


# -- a holder -------------------------------------------------------------------------------------


def waiting(accepted: tuple[str, ...] = ()) -> AwaitsGrant:
    """Return alice, who attested session s1 and was granted the epochs ``accepted`` before."""
    asking = Initiator(draws("holder"))
    share, _ = respond(asking.hello, draws("orchestrator"))
    holder = DEPLOYMENT.holder("alice", draws("alice"), accepted)
    return AwaitsGrant(holder.known, asking.finish(share), b"nonce", "s1")


def of_epoch(epoch: int) -> Grant:
    """Return a grant of this epoch that is large enough."""
    return Grant("s1", 0, epoch, 0, 0, 0, BASE[Region.BUFFER], Budget(9, 99), bytes(32), bytes(12))


def given_back(state: HolderPhase) -> HolderPhase:
    """Return the holder after it provided its data."""
    while isinstance(state, Provides):
        state, _ = state.on_proceed()
    return state


@pytest.mark.verifies("gpu-travelling-REQ-GRANT-05")
def test_a_second_grant_of_the_same_epoch_is_refused() -> None:
    first, _ = waiting().on_grant(of_epoch(1))
    state = given_back(first)
    assert isinstance(state, AwaitsGrant)
    with pytest.raises(ProtocolError, match=r"the grant of s1/1 was accepted before \(REQ-GRANT-05\)"):
        state.on_grant(of_epoch(1))
    assert isinstance(state.on_grant(of_epoch(2))[0], Provides)


@pytest.mark.verifies("gpu-travelling-REQ-GRANT-04")
@pytest.mark.parametrize("region", [each for each in Region if each is not Region.BUFFER])
def test_a_grant_to_write_anywhere_but_into_the_buffer_is_refused(region: Region) -> None:
    with pytest.raises(ProtocolError, match=r"which is not in the buffer \(REQ-GRANT-04\)"):
        waiting().on_grant(replace(of_epoch(1), address=BASE[region]))
    with pytest.raises(ProtocolError, match="REQ-GRANT-04"):
        waiting().on_grant(replace(of_epoch(1), address=BASE[Region.BUFFER] - 1))


def test_a_holder_that_has_the_gpu_goes_on_however_late_it_is() -> None:
    state, _ = waiting().on_grant(of_epoch(1))
    state.known.now = state.known.deadline + 1
    assert state.on_tick() == (state, [])


@pytest.mark.verifies("gpu-travelling-REQ-GRANT-05")
def test_a_holder_that_started_anew_refuses_a_grant_that_it_accepted_before() -> None:
    state = waiting(accepted=("s1/1",))
    with pytest.raises(ProtocolError, match="REQ-GRANT-05"):
        state.on_grant(of_epoch(1))
    assert isinstance(state.on_grant(of_epoch(2))[0], Provides)


# -- the orchestrator -----------------------------------------------------------------------------


def at_home(rounds: int = 2) -> tuple[Job, Sealer]:
    """Return a job with an attested GPU in session s1, epoch 0, and the GPU's end of the link."""
    session = H100KeySchedule(SECRET)
    schedule = key_schedule("engine-per-holder", session)
    link = Link("s1", schedule, SessionKeys.of(session), UsageLimits.for_advantage())
    job = replace(DEPLOYMENT, rounds=rounds).orchestrator(draws("orchestrator")).job
    gpu = Sealer(link.keys.d2h, link.keys.ivs(Direction.D2H), KeyUsage())
    attested = facts.GpuAttested(facts._MINT, "s1")
    return replace(job, link=link, attested=attested, holder="alice", lent=link.keys), gpu


def as_reported(job: Job, order: orders.Order, report: orders.Report) -> Reported:
    """Return the firmware's report on an order, as it comes."""
    place, _ = job.order(order)
    reports = orders.Sealed(SessionKeys.of(H100KeySchedule(SECRET)).reports)
    return Reported(reports.seal(place, orders.encode(report)))


def home(gpu: Sealer, reply: Reply) -> LinkMessage:
    return LinkMessage(gpu.seal(orders.encode_copy(reply)))


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-03")
@pytest.mark.parametrize(
    "report",
    [orders.Fenced(), orders.Scrubbed(0), orders.MemoryRead(MODEL, MODEL, 1, 0)],
    ids=lambda each: type(each).__name__,
)
def test_training_ends_with_its_report_and_with_no_other(report: orders.Report) -> None:
    job, _ = at_home()
    with pytest.raises(ProtocolError, match=f"expected Trained, found {type(report).__name__}"):
        SECURE.take(states.AwaitsTraining(job, states.Established(), 0.5), as_reported(job, orders.Train(), report))


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-02", "gpu-travelling-REQ-TRAIN-03")
def test_the_result_of_training_is_taken_and_no_model_moves() -> None:
    job, gpu = at_home()
    logged, _ = SECURE.take(states.AwaitsTraining(job, states.Established()), home(gpu, Logged(0.5)))
    after, _ = SECURE.take(logged, as_reported(job, orders.Train(), orders.Trained(MODEL)))
    assert isinstance(after, states.AwaitsScrub)
    assert (after.job.progress.rounds, after.job.progress.losses, after.job.progress.latest) == (1, (0.5,), MODEL)
    assert after.job.kept == job.kept
    (entry,) = after.job.books.ledger
    assert (entry.holder, entry.epoch, entry.parent) == ("alice", "s1/0", job.progress.digest)
    assert entry.model == MODEL.hex()


def test_what_training_sends_home_decides_nothing() -> None:
    """Neither is a report enough where nothing came, nor does anything but a log count as one."""
    job, gpu = at_home()
    with pytest.raises(ProtocolError, match="what it logged did not come"):
        SECURE.take(
            states.AwaitsTraining(job, states.Established()), as_reported(job, orders.Train(), orders.Trained(MODEL))
        )
    for reply in (Model(b"model"), Sent(b"log")):
        with pytest.raises(ProtocolError, match=f"expected what training logged, found {type(reply).__name__}"):
            SECURE.take(states.AwaitsTraining(job, states.Established()), home(gpu, reply))


def test_the_model_comes_home_after_the_last_round() -> None:
    job, gpu = at_home(rounds=1)
    asked, _ = SECURE.take(
        states.AwaitsTraining(job, states.Established(), 0.5), as_reported(job, orders.Train(), orders.Trained(MODEL))
    )
    assert isinstance(asked, states.AwaitsModel)
    came, _ = SECURE.take(asked, home(gpu, Model(b"model")))
    after, _ = SECURE.take(came, as_reported(job, orders.Save(), orders.Saved(MODEL)))
    assert isinstance(after, states.AwaitsScrub)
    assert (after.job.kept.model, after.job.kept.progress.latest) == (b"model", MODEL)


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-03")
def test_a_model_that_is_not_the_latest_is_not_kept() -> None:
    job, gpu = at_home(rounds=1)
    asked, _ = SECURE.take(
        states.AwaitsTraining(job, states.Established(), 0.5), as_reported(job, orders.Train(), orders.Trained(MODEL))
    )
    with pytest.raises(ProtocolError, match="expected the model, found Logged"):
        SECURE.take(asked, home(gpu, Logged(0.5)))
    came, _ = SECURE.take(asked, home(gpu, Model(b"an older one")))
    with pytest.raises(ProtocolError, match="REQ-MODEL-03"):
        SECURE.take(came, as_reported(job, orders.Save(), orders.Saved(sha384(b"an older one"))))
    with pytest.raises(ProtocolError, match="and did not come"):
        SECURE.take(asked, as_reported(job, orders.Save(), orders.Saved(MODEL)))


@pytest.mark.verifies("gpu-travelling-REQ-KEY-03")
@pytest.mark.parametrize(("session", "epoch"), [("s2", 0), ("s1", 1)], ids=["another session", "another epoch"])
def test_the_gpu_is_not_lent_on_a_scrub_of_another_session_or_epoch(session: str, epoch: int) -> None:
    job, _ = at_home()
    clean = facts.BufferScrubbed(facts._MINT, session, epoch)
    refused = rf"BufferScrubbed\({session}/{epoch}\) is not about session s1, epoch 0"
    with pytest.raises(ProtocolError, match=refused):
        SECURE.lend(job, clean)
    with pytest.raises(ProtocolError, match=refused):
        SECURE.take(states.AwaitsHolder(job, clean), Admitted("alice"))


@pytest.mark.verifies("gpu-travelling-REQ-KEY-03")
def test_the_gpu_is_lent_on_a_scrub_of_this_epoch() -> None:
    job, _ = at_home()
    after, _ = SECURE.lend(job, facts.BufferScrubbed(facts._MINT, "s1", 0))
    assert isinstance(after, states.AwaitsHolder), "alice has not proved who she is"


@pytest.mark.verifies("gpu-travelling-REQ-GRANT-01", "gpu-travelling-REQ-GRANT-02")
def test_a_grant_goes_to_the_holder_whose_key_it_lends_and_to_no_other() -> None:
    job, _ = at_home()
    grant = SECURE.make_grant(job, facts.HolderEnrolled(facts._MINT, "alice", b"channel"), 0, Budget(9, 99))
    assert (grant.session, grant.epoch, grant.start, grant.h2d) == ("s1", 0, 0, job.live.keys.h2d)
    with pytest.raises(ProtocolError, match=r"HolderEnrolled\(anna, .*\) is not about alice \(REQ-GRANT-01\)"):
        SECURE.make_grant(job, facts.HolderEnrolled(facts._MINT, "anna", b"channel"), 0, Budget(9, 99))
    with pytest.raises(ProtocolError, match=r"counting from 3 is not from 0, the next value \(REQ-GRANT-02\)"):
        SECURE.make_grant(job, facts.HolderEnrolled(facts._MINT, "alice", b"channel"), 3, Budget(9, 99))


class _Astray(Procedures):
    """Grants to somebody else than the key is of."""

    def addressee(self, job: Job) -> str:
        return next(name for name in job.admission.holders if name != job.holder)


class _Ahead(Procedures):
    """Hands over another counter value than the next one."""

    def first_slot(self, job: Job) -> int:
        return super().first_slot(job) + 1


class _TooLong(Procedures):
    """Lends for longer than the evidence lasts."""

    def cut_short(self, job: Job) -> float:
        return job.evidence_end + 1


@pytest.mark.parametrize(
    ("procedures", "told"),
    [
        (Procedures(), ""),
        pytest.param(_Astray(), "is not about", marks=pytest.mark.verifies("gpu-travelling-REQ-GRANT-01")),
        pytest.param(_Ahead(), "is not from", marks=pytest.mark.verifies("gpu-travelling-REQ-GRANT-02")),
        pytest.param(
            _TooLong(),
            "the lease ends 1 seconds after the GPU's evidence is too old",
            marks=pytest.mark.verifies("gpu-travelling-REQ-SETUP-13"),
        ),
    ],
    ids=["as it is", "another holder", "another value", "too long a lease"],
)
def test_a_grant_that_says_something_else_is_not_sent(procedures: Procedures, told: str) -> None:
    names = holder_names(2)
    world, remarks = world_of(FastDeployment(names, 2, chunks=1, chunk_bytes=16, trainer=ChainTrainer()))
    world.orchestrator.procedures = procedures
    for _ in range(2_000):
        if world.nodes["orchestrator"].ended is not None or not world.step():
            break
    assert world.taken("grant") == (0 if told else 2)
    assert any(told in remark for remark in remarks) or not told


def lent(*off: str) -> tuple[Orchestrator, states.AwaitsReturn, Return]:
    """Return the orchestrator while alice has the GPU, its state, and the return that is due."""
    world, _ = world_of(AblatedDeployment(holder_names(2), 1, chunk_bytes=256, off=frozenset(off)))
    while not isinstance(world.orchestrator.state, states.AwaitsReturn):
        assert world.step()
    state = world.orchestrator.state
    assert state.job.holder == "alice"
    assert state.job.lent is not None
    return world.orchestrator, state, Return(state.job.live.session, state.job.lent.epoch, 3, 768)


WRONG = {
    "by somebody else": lambda due: ("anna", due),
    "of another epoch": lambda due: ("alice", replace(due, epoch=due.epoch - 1)),
    "of another session": lambda due: ("alice", replace(due, session="s00000000")),
}


@pytest.mark.verifies("gpu-travelling-REQ-RETURN-02")
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_another_return_is_none(wrong: object) -> None:
    assert callable(wrong)
    orchestrator, state, due = lent()
    after, effects = orchestrator.procedures.take(state, Returned(*wrong(due)))
    assert after is state
    assert [type(effect) for effect in effects] == [Remark]
    assert isinstance(orchestrator.procedures.take(state, Returned("alice", due))[0], states.Back)


def test_without_the_check_anybody_gives_it_back() -> None:
    orchestrator, state, due = lent("return-authenticated")
    assert isinstance(orchestrator.procedures.take(state, Returned("anna", due))[0], states.Back)
