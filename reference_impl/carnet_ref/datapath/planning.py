"""Capacity planning: what an epoch costs when the data travel, when the model does, and when the GPU does.

Figures that nobody has published are intervals, so every time has a cheapest, a nominal and a dearest value.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from carnet_ref.datapath.key_budget import HOLDERS, KeyDemand, room
from carnet_ref.datapath.key_budget import Schedule as KeySchedule
from carnet_ref.datapath.quantities import NO_BYTES, Duration, QuantityError, Rate, Seconds, Size
from carnet_ref.datapath.schedule import Edge, Transfer, makespan, sourced_costs
from carnet_ref.datapath.schedules.sharing import Journey, conventional, gpu_travelling, model_moves, shared_model
from carnet_ref.datapath.tables.gpu_travelling import fit as deck_fit
from carnet_ref.keys import BLOCK_BYTES, UsageLimits

MESSAGE = Size(2**20)
MOST_CHUNKS = 80 * 10**9 // MESSAGE.octets  #: What one H100 holds, in messages. Source: vendor figure, 80 GB.

MOST_HOLDERS = 1_000_000
MOST_ROUNDS = 1_000_000_000
FULL_PATH = 64
EDGES: tuple[Edge, Edge, Edge] = ("low", "nominal", "high")

_Seconds = Callable[["Demand", Edge], Seconds]


@dataclass(frozen=True, slots=True)
class Demand:
    """A training job, and the network and lease with which it has to be done.

    Raises QuantityError if something is zero, more than there can be of it, or a buffer would take more chunks than are
    simulated.
    """

    dataset: Size  #: all data of all holders, visited once in an epoch.
    buffer: Size  #: what the GPU takes on one visit.
    holders: int  #: among how many the dataset is spread evenly.
    network: Rate  #: the link between machines.
    lease: Duration  #: how long a holder may keep the GPU.
    model: Size  #: the size of the model, and of its gradients.
    rounds: int  #: how often the model is exchanged in an epoch when it is shared instead.

    def __post_init__(self) -> None:
        if self.holders < 1 or self.rounds < 1:
            raise QuantityError(f"expected at least one holder and one round, not {self.holders} and {self.rounds}")
        if self.holders > MOST_HOLDERS or self.rounds > MOST_ROUNDS:
            raise QuantityError(f"expected at most {MOST_HOLDERS:,} holders and {MOST_ROUNDS:,} rounds")
        for name, size in (("dataset", self.dataset), ("buffer", self.buffer), ("model", self.model)):
            if size.octets == 0:
                raise QuantityError(f"the {name} is empty")
        for name, size in (("buffer", self.buffer), ("model", self.model)):
            if size.octets > MOST_CHUNKS * MESSAGE.octets:
                raise QuantityError(f"a {name} of {size} is more than {MOST_CHUNKS} chunks of {MESSAGE}")

    @property
    def hand_overs(self) -> int:
        """The number of visits in an epoch: each holder's share, divided into buffers."""
        share = -(-self.dataset.octets // self.holders)
        return self.holders * -(-share // self.buffer.octets)


@dataclass(frozen=True, slots=True)
class Span:
    """A duration as three values: the cheapest, the nominal and the dearest."""

    low: Duration
    nominal: Duration
    high: Duration

    def times(self, count: int, what: str) -> Span:
        """Return the duration of ``count`` repetitions; ``what`` names them in errors.

        Raises QuantityError if that is longer than any duration may be.
        """
        return Span.of((each * count for each in self._seconds), what)

    def and_then(self, other: Span, what: str) -> Span:
        """Return the sum of two durations; ``what`` names it in errors.

        Raises QuantityError if that is longer than any duration may be.
        """
        return Span.of((one + more for one, more in zip(self._seconds, other._seconds, strict=True)), what)

    @classmethod
    def of(cls, seconds: Iterable[Seconds], what: str) -> Span:
        """Return the span of the low, the nominal and the high duration; ``what`` names it in errors.

        Raises QuantityError if it is longer than any duration may be.
        """
        try:
            return cls(*map(Duration, seconds))
        except QuantityError as error:
            raise QuantityError(f"{what} takes too long: {error}") from None

    @property
    def _seconds(self) -> tuple[Seconds, Seconds, Seconds]:
        return self.low.seconds, self.nominal.seconds, self.high.seconds


@dataclass(frozen=True, slots=True)
class TransferPlan:
    """The cost of an epoch, for each way of moving data."""

    hand_overs: int  #: visits of the GPU.
    visit: Span  #: one visit, data in and scrub included, training not.
    sessions: int  #: how many at least, for a session's keys have room for so many hand-overs only.
    model_moves: Span  #: the model to the GPU and back, once in a session; no hand-over moves it.
    travelling: Span  #: all visits, and the model's moves.
    conventional: Span  #: sending the dataset instead.
    shared_model: Span  #: sending the model instead, to GPUs that every holder has.
    rotations_for_visits: int  #: rotations that travelling makes anyway: out and home.
    rotations_for_limit: int  #: rotations that the key limit would force on one key for the whole dataset.
    lease_holds: bool  #: whether a visit ends within the lease even at its dearest.
    #: the largest buffer whose visit ends within the lease, at nominal costs; empty if there is none.
    largest_buffer: Size
    break_even: Size  #: the buffer from which on travelling beats sending the data, at nominal costs.
    #: what travelling saves in an epoch with the unattributed times that the deck's table shows.
    deck_saved_seconds: Seconds


def rotations_forced(volume: Size, limits: UsageLimits | None = None) -> int:
    """Return how often the key has to be rotated while ``volume`` goes through in messages of 1 MiB.

    A message counts for its blocks of 16 bytes and one more.
    """
    upper = (limits or UsageLimits.for_advantage()).upper
    units_per_message = MESSAGE.octets // BLOCK_BYTES + 1
    messages = -(-volume.octets // MESSAGE.octets)
    messages_per_key = upper // units_per_message
    return -(-messages // messages_per_key) - 1


def plan(demand: Demand) -> TransferPlan:
    """Return what an epoch of ``demand`` takes.

    Raises QuantityError if even the cheapest visit outlasts the lease, so no epoch is possible; or one takes centuries.
    """
    visit = _span(demand, _visit_seconds, "a visit")
    if visit.low > demand.lease:
        raise QuantityError(f"a visit with {demand.buffer} takes at least {visit.low}, longer than {demand.lease}")
    transfers = -(-demand.dataset.octets // demand.buffer.octets)
    # A session lasts as long as the driver's limits of keys allow: with an engine for each holder, if there are as many
    keys = KeyDemand(demand.dataset, demand.buffer, demand.holders, demand.model, exponent=60)
    design = KeySchedule.ENGINE_PER_HOLDER if demand.holders <= HOLDERS else KeySchedule.SEALED_UNDER_MASTER
    sessions = -(-demand.hand_overs // min(room(keys, design).values()))
    moves = _span(demand, _model_seconds, "moving the model")
    epoch = "an epoch of GPU Travelling"
    return TransferPlan(
        hand_overs=demand.hand_overs,
        visit=visit,
        sessions=sessions,
        model_moves=moves,
        travelling=visit.times(demand.hand_overs, epoch).and_then(moves.times(sessions, epoch), epoch),
        conventional=_span(demand, _conventional_seconds, "sending a buffer").times(transfers, "sending the data"),
        shared_model=_span(demand, _shared_seconds, "sending the model once").times(
            demand.rounds * demand.holders, "sending the model"
        ),
        rotations_for_visits=2 * demand.hand_overs,
        rotations_for_limit=rotations_forced(demand.dataset),
        lease_holds=visit.high <= demand.lease,
        largest_buffer=largest_buffer(demand.lease),
        break_even=break_even_buffer(demand.network),
        deck_saved_seconds=transfers * deck_fit().seconds_saved(demand.buffer, demand.network, scaled=False),
    )


def break_even_buffer(network: Rate) -> Size:
    """Return the buffer at which a visit takes as long as sending its data, at nominal costs.

    Once the path is full both are linear in whole chunks, so two sizes of each decide. There is always such a buffer,
    for on the way through the orchestrator one CPU decrypts and encrypts what the holder only encrypts.
    """
    costs = sourced_costs(network)
    full, longer = (Transfer(MESSAGE * count, MESSAGE) for count in (FULL_PATH, 2 * FULL_PATH))
    visit = [makespan(gpu_travelling(Journey([one], scrubbed=one.total), costs)) for one in (full, longer)]
    sent = [makespan(conventional(one, costs)) for one in (full, longer)]
    gained = ((sent[1] - sent[0]) - (visit[1] - visit[0])) / FULL_PATH
    return MESSAGE * max(1, math.ceil(FULL_PATH + (visit[0] - sent[0]) / gained))


def largest_buffer(lease: Duration) -> Size:
    """Return the largest buffer that a GPU has room for and whose visit ends within ``lease``, at nominal costs.

    It is empty when no visit does. Once the path is full a visit is linear in whole chunks, so two sizes decide.
    """
    few, full, longer = (_visit(MESSAGE * count, "nominal") for count in (1, FULL_PATH, 2 * FULL_PATH))
    if lease.seconds < few:
        return NO_BYTES
    if lease.seconds < full:
        counts = range(1, FULL_PATH)
        return MESSAGE * (bisect_right(counts, lease.seconds, key=lambda count: _visit(MESSAGE * count, "nominal")))
    more = math.floor((lease.seconds - full) * FULL_PATH / (longer - full))
    return MESSAGE * min(FULL_PATH + more, MOST_CHUNKS)


def _span(demand: Demand, seconds: _Seconds, what: str) -> Span:
    return Span.of((seconds(demand, edge) for edge in EDGES), what)


def _visit_seconds(demand: Demand, edge: Edge) -> Seconds:
    share = -(-demand.dataset.octets // demand.holders)
    return _visit(Size(min(demand.buffer.octets, share)), edge)


def _visit(buffer: Size, edge: Edge) -> Seconds:
    """Return the time of one visit with ``buffer``; no network is in its way."""
    journey = Journey([Transfer(buffer, MESSAGE)], scrubbed=buffer)
    return makespan(gpu_travelling(journey, sourced_costs(Rate(1.0), edge)))


def _model_seconds(demand: Demand, edge: Edge) -> Seconds:
    """Return the time of one upload and one way back; no network is in their way."""
    return makespan(model_moves(Transfer(demand.model, MESSAGE), sourced_costs(Rate(1.0), edge)))


def _conventional_seconds(demand: Demand, edge: Edge) -> Seconds:
    buffer = Size(min(demand.buffer.octets, demand.dataset.octets))
    return makespan(conventional(Transfer(buffer, MESSAGE), sourced_costs(demand.network, edge)))


def _shared_seconds(demand: Demand, edge: Edge) -> Seconds:
    """Return the time of one exchange with one holder; exchanges follow one another."""
    return makespan(shared_model(Transfer(demand.model, MESSAGE), 1, 1, sourced_costs(demand.network, edge)))
