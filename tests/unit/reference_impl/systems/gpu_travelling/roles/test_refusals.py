"""A grant is accepted once, training ends with its result, and nothing is lent on facts about something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_ref.crypto.primitives import sha384
from carnet_ref.device import BASE, Region
from carnet_ref.keys import Budget, Direction, H100KeySchedule, KeyUsage, Sealer, UsageLimits
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.systems.gpu_travelling.orders import (
    Fenced,
    Logged,
    MemoryRead,
    Model,
    Order,
    Reply,
    Report,
    Save,
    Saved,
    Scrubbed,
    Sent,
    Train,
    Trained,
    encode_copy,
)
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.facts import BufferScrubbed, GpuAttested, HolderEnrolled
from carnet_ref.systems.gpu_travelling.roles.holder import AwaitsGrant, HolderPhase, Provides
from carnet_ref.systems.gpu_travelling.roles.job import Job
from carnet_ref.systems.gpu_travelling.roles.links import Link, SessionKeys
from carnet_ref.systems.gpu_travelling.roles.messages import Grant, Initiator, respond
from carnet_ref.systems.gpu_travelling.roles.orchestrator import SECURE
from carnet_ref.systems.gpu_travelling.roles.states import (
    Admitted,
    AwaitsHolder,
    AwaitsModel,
    AwaitsScrub,
    AwaitsTraining,
    Established,
    LinkMessage,
    Reported,
)
from carnet_ref.transport.frames import ProtocolError
from tests.fixtures.worlds import ChainTrainer, FastDeployment, draws

SECRET = bytes(range(32))
MODEL = sha384(b"model")
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
    attested = GpuAttested(facts._MINT, "s1")
    return replace(job, link=link, attested=attested, holder="alice", lent=link.keys), gpu


def reported(job: Job, order: Order, report: Report) -> Reported:
    """Return the firmware's report on an order, as it comes."""
    place, _ = job.order(order)
    reports = orders.Sealed(SessionKeys.of(H100KeySchedule(SECRET)).reports)
    return Reported(reports.seal(place, orders.encode(report)))


def home(gpu: Sealer, reply: Reply) -> LinkMessage:
    return LinkMessage(gpu.seal(encode_copy(reply)))


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-03")
@pytest.mark.parametrize(
    "report", [Fenced(), Scrubbed(0), MemoryRead(MODEL, MODEL, 1, 0)], ids=lambda each: type(each).__name__
)
def test_training_ends_with_its_report_and_with_no_other(report: Report) -> None:
    job, _ = at_home()
    with pytest.raises(ProtocolError, match=f"expected Trained, found {type(report).__name__}"):
        SECURE.take(AwaitsTraining(job, Established(), 0.5), reported(job, Train(), report))


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-02", "gpu-travelling-REQ-TRAIN-03")
def test_the_result_of_training_is_taken_and_no_model_moves() -> None:
    job, gpu = at_home()
    logged, _ = SECURE.take(AwaitsTraining(job, Established()), home(gpu, Logged(0.5)))
    after, _ = SECURE.take(logged, reported(job, Train(), Trained(MODEL)))
    assert isinstance(after, AwaitsScrub)
    assert (after.job.progress.rounds, after.job.progress.losses, after.job.progress.latest) == (1, (0.5,), MODEL)
    assert after.job.kept == job.kept
    (entry,) = after.job.books.ledger
    assert (entry.holder, entry.epoch, entry.parent) == ("alice", "s1/0", job.progress.digest)
    assert entry.model == MODEL.hex()


def test_what_training_sends_home_decides_nothing() -> None:
    """Neither is a report enough where nothing came, nor does anything but a log count as one."""
    job, gpu = at_home()
    with pytest.raises(ProtocolError, match="what it logged did not come"):
        SECURE.take(AwaitsTraining(job, Established()), reported(job, Train(), Trained(MODEL)))
    for reply in (Model(b"model"), Sent(b"log")):
        with pytest.raises(ProtocolError, match=f"expected what training logged, found {type(reply).__name__}"):
            SECURE.take(AwaitsTraining(job, Established()), home(gpu, reply))


def test_the_model_comes_home_after_the_last_round() -> None:
    job, gpu = at_home(rounds=1)
    asked, _ = SECURE.take(AwaitsTraining(job, Established(), 0.5), reported(job, Train(), Trained(MODEL)))
    assert isinstance(asked, AwaitsModel)
    came, _ = SECURE.take(asked, home(gpu, Model(b"model")))
    after, _ = SECURE.take(came, reported(job, Save(), Saved(MODEL)))
    assert isinstance(after, AwaitsScrub)
    assert (after.job.kept.model, after.job.kept.progress.latest) == (b"model", MODEL)


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-03")
def test_a_model_that_is_not_the_latest_is_not_kept() -> None:
    job, gpu = at_home(rounds=1)
    asked, _ = SECURE.take(AwaitsTraining(job, Established(), 0.5), reported(job, Train(), Trained(MODEL)))
    with pytest.raises(ProtocolError, match="expected the model, found Logged"):
        SECURE.take(asked, home(gpu, Logged(0.5)))
    came, _ = SECURE.take(asked, home(gpu, Model(b"an older one")))
    with pytest.raises(ProtocolError, match="REQ-MODEL-03"):
        SECURE.take(came, reported(job, Save(), Saved(sha384(b"an older one"))))
    with pytest.raises(ProtocolError, match="and did not come"):
        SECURE.take(asked, reported(job, Save(), Saved(MODEL)))


@pytest.mark.verifies("gpu-travelling-REQ-KEY-03")
@pytest.mark.parametrize(("session", "epoch"), [("s2", 0), ("s1", 1)], ids=["another session", "another epoch"])
def test_the_gpu_is_not_lent_on_a_scrub_of_another_session_or_epoch(session: str, epoch: int) -> None:
    job, _ = at_home()
    clean = BufferScrubbed(facts._MINT, session, epoch)
    refused = rf"BufferScrubbed\({session}/{epoch}\) is not about session s1, epoch 0"
    with pytest.raises(ProtocolError, match=refused):
        SECURE.lend(job, clean)
    with pytest.raises(ProtocolError, match=refused):
        SECURE.take(AwaitsHolder(job, clean), Admitted("alice"))


@pytest.mark.verifies("gpu-travelling-REQ-KEY-03")
def test_the_gpu_is_lent_on_a_scrub_of_this_epoch() -> None:
    job, _ = at_home()
    after, _ = SECURE.lend(job, BufferScrubbed(facts._MINT, "s1", 0))
    assert isinstance(after, AwaitsHolder), "alice has not proved who she is"


@pytest.mark.verifies("gpu-travelling-REQ-GRANT-01", "gpu-travelling-REQ-GRANT-02")
def test_a_grant_goes_to_the_holder_whose_key_it_lends_and_to_no_other() -> None:
    job, _ = at_home()
    grant = SECURE.granted(job, HolderEnrolled(facts._MINT, "alice", b"channel"), 0, Budget(9, 99))
    assert (grant.session, grant.epoch, grant.start, grant.h2d) == ("s1", 0, 0, job.live.keys.h2d)
    with pytest.raises(ProtocolError, match=r"HolderEnrolled\(anna, .*\) is not about alice \(REQ-GRANT-01\)"):
        SECURE.granted(job, HolderEnrolled(facts._MINT, "anna", b"channel"), 0, Budget(9, 99))
    with pytest.raises(ProtocolError, match=r"counting from 3 is not from 0, the next value \(REQ-GRANT-02\)"):
        SECURE.granted(job, HolderEnrolled(facts._MINT, "alice", b"channel"), 3, Budget(9, 99))
