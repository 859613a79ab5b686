"""The orchestrator's table is total, its steps take what it says they take, and lead where it says they lead."""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import get_type_hints

import pytest

from carnet_ref.keys import Budget
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import AwaitsReattachment, table_without
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles import orchestrator as table
from carnet_ref.systems.gpu_travelling.roles import states
from carnet_ref.systems.gpu_travelling.roles.messages import Decline, Return
from carnet_ref.systems.gpu_travelling.roles.orchestrator import SECURE, Failure
from carnet_ref.systems.gpu_travelling.roles.states import AwaitsAnswer, AwaitsReturn, OrchestratorState, Transition
from carnet_ref.transport.frames import Proceed, ProtocolError, Remark
from tests.fixtures.worlds import ChainTrainer, FastDeployment, TestWorld, draws, world_of

ABSTRACT = {OrchestratorState, AwaitsAnswer}
STATES = {
    each
    for each in vars(states).values()
    if isinstance(each, type) and issubclass(each, OrchestratorState) and each not in ABSTRACT
}
INPUTS = {each for each in vars(states).values() if isinstance(each, type) and issubclass(each, states.Input)} - {
    states.Input
}
PAIRS = [(state, event) for state in table.TABLE for event in table.COLUMNS]
EVENTS: tuple[states.Input, ...] = (
    states.SessionMessage(b"no message"),
    states.Reported(bytes(12)),
    states.LinkMessage(b"no message"),
    states.ReportOutside(b"no report"),
    states.Semaphore("Scrubbed"),
    states.Admitted("nobody"),
    states.Returned("nobody", Return("s0", 1, 1, 1)),
    states.Declined("nobody", Decline("s0", 1, Budget(1, 1))),
    states.TimePassed(),
    states.OwnTurn(),
)
Move = tuple[OrchestratorState, states.Input, OrchestratorState]


class Watched(table.Procedures):
    """The secure procedures, with everything that they took."""

    def __init__(self) -> None:
        super().__init__()
        self.moves: list[Move] = []

    def take(self, state: OrchestratorState, event: states.Input) -> Transition:
        after, effects = super().take(state, event)
        self.moves.append((state, event, after))
        return after, effects


def run(world: TestWorld, steps: int = 5_000) -> list[Move]:
    """Return what the orchestrator took in so many steps of a run."""
    world.orchestrator.procedures = watched = Watched()
    for _ in range(steps):
        if world.nodes["orchestrator"].ended is not None or not world.step():
            break
    return watched.moves


def fast(**more: object) -> FastDeployment:
    names = holder_names(2)
    return replace(FastDeployment(names, 3, chunks=2, chunk_bytes=16, trainer=ChainTrainer()), **more)  # type: ignore[arg-type]


def late_holders() -> list[Move]:
    """Return what is taken where holders come late, so that the orchestrator waits for one."""
    deployment = fast()
    world, _ = world_of(deployment)
    nodes = {name: world.nodes.pop(name) for name in deployment.holders}
    waited = run(world)
    for name in reversed(deployment.holders):
        holder = deployment.holder(name, draws(name))
        nodes[name].role = holder
        world.add(nodes[name], nodes[name].perform(holder.begin(0.0)))
    return [*waited, *run(world)]


def met(found: Iterable[Move]) -> Iterator[OrchestratorState]:
    for before, _, after in found:
        yield from (before, after)


@functools.cache
def moves() -> tuple[Move, ...]:
    """Return what was taken in a few runs, and from states in the middle of one."""
    found = [move for schedule in ("engine-per-holder", "reset", "ratchet") for move in run_of(schedule)]
    found += run(world_of(fast(key_messages=12, rounds=6))[0])
    found += late_holders()
    return (*found, *by_hand())


def run_of(schedule: str) -> list[Move]:
    return run(world_of(fast(schedule=schedule))[0])


def by_hand() -> Iterable[Move]:
    """Yield moves that honest runs do not make: leases that end, holders that start anew, decline or come late."""
    away = next(state for state in met(run(world_of(fast())[0])) if isinstance(state, AwaitsReturn))
    assert away.job.lent is not None
    job, session, epoch = away.job, away.job.live.session, away.job.lent.epoch
    often = replace(away, job=replace(job, evictions=job.terms.evictions))
    refusal = states.Declined(job.holder, Decline(session, epoch, Budget(9, 9)))
    wrong = states.Returned(job.holder, Return(session, epoch, 1 << 40, 1))
    for state in (away, often):
        over = replace(state, job=replace(state.job, now=state.job.deadline + 1))
        yield from (taken(over, states.TimePassed()), taken(state, states.Admitted(job.holder)), taken(state, wrong))
    for given in (refusal, *EVENTS[5:9]):
        yield taken(away, given)
    yield from (taken(replace(away, whole=False), refusal), taken(replace(away, whole=True), refusal))


def taken(state: OrchestratorState, event: states.Input) -> Move:
    return state, event, SECURE.take(state, event)[0]


# -- the table ------------------------------------------------------------------------------------


def test_the_table_has_every_state_and_every_input() -> None:
    assert set(table.TABLE) == STATES
    assert set(table.COLUMNS) == INPUTS == {type(event) for event in EVENTS}
    assert list(table.COLUMNS.values()) == [column.name for column in fields(table.Row)]


@pytest.mark.parametrize(("state", "event"), PAIRS, ids=lambda each: each.__name__)
def test_every_cell_names_a_step_that_takes_just_that_or_says_why_not(
    state: type[OrchestratorState], event: type[states.Input]
) -> None:
    match table.cell(table.TABLE, state, event):
        case table.Taken(by, to):
            hints = get_type_hints(by)
            assert issubclass(state, hints["state"])
            assert issubclass(event, hints["event"])
            assert getattr(table.Procedures, by.__name__) is by
            assert set(to) <= set(table.TABLE)
        case found:
            assert found in table.Unwanted


@pytest.mark.parametrize("off", [(), ("fence-ack",), ("rotation-ack", "scrub-ack", "report-in-session")], ids=str)
def test_the_table_of_a_weakened_design_believes_more_and_refuses_no_less(off: tuple[str, ...]) -> None:
    weak: table.Table = table_without(frozenset(off))
    assert set(weak) - set(table.TABLE) == {AwaitsReattachment}
    changed = [
        (state.__name__, table.COLUMNS[event])
        for state, event in PAIRS
        if table.cell(weak, state, event) != table.cell(table.TABLE, state, event)
    ]
    with_threat_model = {
        "report-in-session": [("AwaitsReport", "report")],
        "fence-ack": [("AwaitsFence", "turn")],
        "scrub-ack": [("AwaitsScrub", "semaphore")],
        "rotation-ack": [("AwaitsRotationOut", "turn"), ("AwaitsRotationIn", "turn")],
    }
    assert sorted(changed) == sorted(each for name in off for each in with_threat_model[name])


# -- what is taken as it says ---------------------------------------------------------------------


def test_runs_come_to_every_state_by_the_ways_of_the_table_and_no_others() -> None:
    assert {type(state) for state in met(moves())} == STATES - {states.Stopped}
    for before, event, after in moves():
        found = table.cell(table.TABLE, type(before), type(event))
        if isinstance(found, table.Taken):
            assert type(after) in (found.to or (type(before),)), f"{found.by.__name__}: {before} -> {after}"
        else:
            assert after is before
    gone = {(type(before), type(event), type(after)) for before, event, after in moves()}
    drawn = {
        (state, event, to) for state, event in PAIRS for to in getattr(table.cell(table.TABLE, state, event), "to", ())
    }
    assert {tuple(each.__name__ for each in way) for way in drawn - gone} == set()


def sample() -> dict[type[OrchestratorState], OrchestratorState]:
    found = {type(state): state for state in met(moves())}
    return {**found, states.Stopped: states.Stopped(found[states.Back].job)}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_what_no_step_takes_is_ignored_remarked_or_refused(event: states.Input) -> None:
    for kind, state in sample().items():
        match table.cell(table.TABLE, kind, type(event)):
            case table.Unwanted.IGNORED:
                assert SECURE.take(state, event) == (state, [])
            case table.Unwanted.REMARKED:
                assert SECURE.take(state, event) == (state, [Remark(event.left_aside)])
            case table.Unwanted.REFUSED:
                with pytest.raises(ProtocolError, match=f"{event.noun}, while the orchestrator {state}"):
                    SECURE.take(state, event)


# -- states are values ----------------------------------------------------------------------------


def test_a_state_and_its_job_cannot_be_changed() -> None:
    for state in sample().values():
        assert is_dataclass(state)
        with pytest.raises(FrozenInstanceError):
            state.job = state.job  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError):
            state.job.holder = "mallory"  # type: ignore[misc]


def test_a_step_that_fails_leaves_the_orchestrator_where_it_was() -> None:
    """What starts again afterwards starts from the job as it was before the step, with one more failure."""
    world, _ = world_of(fast())
    run(world, 60)
    orchestrator = world.orchestrator
    before = orchestrator.state
    with pytest.raises(Failure):
        orchestrator.procedures.take(before, states.SessionMessage(b"forged"))
    assert orchestrator.state is before
    after, effects = orchestrator.procedures.restart(before, "a test")
    assert (after.job.failures, before.job.failures) == (1, 0)
    assert after.job.progress == before.job.kept.progress, "what was not kept is done again"
    assert not any(isinstance(effect, Proceed) for effect in effects)
