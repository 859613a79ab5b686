"""A grant is accepted once, training ends with its result, and nothing is lent on facts about something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_ref.keys import Budget, Direction, H100KeySchedule, KeyUsage, Sealer, UsageLimits
from carnet_ref.systems.gpu_travelling.device.commands import Fenced, MemoryRead, Reply, Scrubbed, Trained, encode
from carnet_ref.systems.gpu_travelling.keys.schedules import key_schedule
from carnet_ref.systems.gpu_travelling.parties.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.channel import Initiator, respond
from carnet_ref.systems.gpu_travelling.roles.channel_messages import Grant
from carnet_ref.systems.gpu_travelling.roles.facts import BufferScrubbed, GpuAttested, HolderEnrolled
from carnet_ref.systems.gpu_travelling.roles.holder import AwaitsGrant, HolderPhase, Provides
from carnet_ref.systems.gpu_travelling.roles.inputs import Admitted, LinkMessage
from carnet_ref.systems.gpu_travelling.roles.job import Job
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.systems.gpu_travelling.roles.orchestrator import SECURE
from carnet_ref.systems.gpu_travelling.roles.states import AwaitsHolder, AwaitsScrub, AwaitsTraining, Established
from carnet_ref.transport.frames import ProtocolError
from tests.fixtures.fast_parties import ChainTrainer, FastDeployment
from tests.fixtures.worlds import draws

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
    return Grant(0, "s1", epoch, 0, 0, 0, 0, Budget(9, 99), bytes(32), bytes(12))


def given_back(state: HolderPhase) -> HolderPhase:
    """Return the holder after it provided its data."""
    while isinstance(state, Provides):
        state, _ = state.on_proceed()
    return state


def test_a_second_grant_of_the_same_epoch_is_refused() -> None:
    first, _ = waiting().on_grant(of_epoch(1))
    state = given_back(first)
    assert isinstance(state, AwaitsGrant)
    with pytest.raises(ProtocolError, match=r"the grant of s1/1 was accepted before \(REQ-GRANT-05\)"):
        state.on_grant(of_epoch(1))
    assert isinstance(state.on_grant(of_epoch(2))[0], Provides)


def test_a_holder_that_started_anew_refuses_a_grant_that_it_accepted_before() -> None:
    state = waiting(accepted=("s1/1",))
    with pytest.raises(ProtocolError, match="REQ-GRANT-05"):
        state.on_grant(of_epoch(1))
    assert isinstance(state.on_grant(of_epoch(2))[0], Provides)


# -- the orchestrator -----------------------------------------------------------------------------


def at_home() -> tuple[Job, Sealer]:
    """Return a job with an attested GPU in session s1, epoch 0, and the GPU's end of the link."""
    schedule = key_schedule("engine-per-holder", H100KeySchedule(bytes(range(32))))
    link = Link("s1", schedule, b"launch", UsageLimits.for_advantage())
    job = DEPLOYMENT.orchestrator(draws("orchestrator")).job
    gpu = Sealer(link.keys.d2h, link.keys.ivs(Direction.D2H), KeyUsage())
    return replace(job, link=link, attested=GpuAttested(facts._MINT, "s1"), holder="alice"), gpu


@pytest.mark.parametrize(
    "reply", [Fenced(), Scrubbed(0), MemoryRead(b"code", b"model", 1)], ids=lambda each: type(each).__name__
)
def test_training_ends_with_its_result_and_with_no_other_reply(reply: Reply) -> None:
    job, gpu = at_home()
    message = LinkMessage(gpu.seal(encode(reply)))
    with pytest.raises(ProtocolError, match=f"expected the result of training, found {type(reply).__name__}"):
        SECURE.take(AwaitsTraining(job, Established()), message)


def test_the_result_of_training_is_taken() -> None:
    job, gpu = at_home()
    message = LinkMessage(gpu.seal(encode(Trained(0.5, b"model"))))
    after, _ = SECURE.take(AwaitsTraining(job, Established()), message)
    assert isinstance(after, AwaitsScrub)
    assert (after.job.progress.rounds, after.job.progress.model) == (1, b"model")


@pytest.mark.parametrize(("session", "epoch"), [("s2", 0), ("s1", 1)], ids=["another session", "another epoch"])
def test_the_gpu_is_not_lent_on_a_scrub_of_another_session_or_epoch(session: str, epoch: int) -> None:
    job, _ = at_home()
    clean = BufferScrubbed(facts._MINT, session, epoch)
    refused = rf"BufferScrubbed\({session}/{epoch}\) is not about session s1, epoch 0"
    with pytest.raises(ProtocolError, match=refused):
        SECURE.lend(job, clean)
    with pytest.raises(ProtocolError, match=refused):
        SECURE.take(AwaitsHolder(job, clean), Admitted("alice"))


def test_the_gpu_is_lent_on_a_scrub_of_this_epoch() -> None:
    job, _ = at_home()
    after, _ = SECURE.lend(job, BufferScrubbed(facts._MINT, "s1", 0))
    assert isinstance(after, AwaitsHolder), "alice has not proved who she is"


def test_a_grant_goes_to_the_holder_whose_key_it_lends_and_to_no_other() -> None:
    job, _ = at_home()
    grant = SECURE.granted(job, HolderEnrolled(facts._MINT, "alice", b"channel"), 3, Budget(9, 99))
    assert (grant.session, grant.epoch, grant.start, grant.h2d) == ("s1", 0, 3, job.live.keys.h2d)
    with pytest.raises(ProtocolError, match=r"HolderEnrolled\(anna, .*\) is not about alice \(REQ-GRANT-01\)"):
        SECURE.granted(job, HolderEnrolled(facts._MINT, "anna", b"channel"), 3, Budget(9, 99))
