"""Ring all-reduce between GPUs that trust nothing outside their packages: every hop is sealed and opened.

N ranks exchange a gradient of S bytes in 2(N − 1) sub-steps of S/N bytes: N − 1 that scatter and reduce, N − 1 that
gather. A bucket goes round on its own, so what each sub-step costs whatever its size is paid again for every bucket.

Source: arXiv 2501.11771, abstract and section on ring all-reduce.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from carnet_ref.datapath.quantities import QuantityError, Size, chunks_of
from carnet_ref.datapath.schedule import Costs, Schedule, ScheduleBuilder, Stage


@dataclass(frozen=True, slots=True)
class Ring:
    """The parameters of a ring all-reduce: the gradient, its buckets and the ranks.

    Raises QuantityError if fewer than two ranks, or no bucket.
    """

    ranks: int
    gradient: Size
    bucket: Size
    sealed: bool = True

    def __post_init__(self) -> None:
        if self.ranks < 2:
            raise QuantityError(f"a ring has at least two ranks, not {self.ranks}")
        chunks_of(self.gradient, self.bucket)

    @property
    def sub_steps(self) -> int:
        """The number of times that each rank sends, for each bucket."""
        return 2 * (self.ranks - 1)

    @property
    def buckets(self) -> tuple[Size, ...]:
        """The sizes of the buckets, in the order in which they become ready."""
        return chunks_of(self.gradient, self.bucket)


def piece_sizes(bucket: Size, ranks: int) -> tuple[Size, ...]:
    """Cut a bucket into one piece for each rank; the first ones are a byte larger where it does not divide."""
    whole, rest = divmod(bucket.octets, ranks)
    return tuple(Size(whole + (index < rest)) for index in range(ranks))


def piece_sent(rank: int, sub_step: int, ranks: int) -> int:
    """Return which piece ``rank`` sends in ``sub_step``: its own first, then what it received the step before."""
    return (rank - sub_step) % ranks if sub_step < ranks - 1 else (rank + 1 - (sub_step - (ranks - 1))) % ranks


def link(rank: int, ranks: int) -> str:
    """Return the name of the channel from ``rank`` to the next."""
    return f"rank {rank}>rank {(rank + 1) % ranks}"


def ring_all_reduce(ring: Ring, costs: Costs) -> Schedule:
    """Return the schedule of one iteration: buckets become ready as the backward pass goes on, and then go round.

    `Stage.COMPUTE` is charged for the bytes of each bucket on every rank. A chunk is numbered by bucket, sub-step and
    sending rank.
    """
    builder = ScheduleBuilder("ring all-reduce" if ring.sealed else "plain ring all-reduce")
    for index, bucket in enumerate(ring.buckets):
        seconds = costs.seconds(Stage.COMPUTE, bucket)
        ready: list[tuple[int, ...]] = [
            (builder.add(Stage.COMPUTE, f"rank {rank} GPU", seconds),) for rank in range(ring.ranks)
        ]
        pieces = piece_sizes(bucket, ring.ranks)
        for sub_step in range(ring.sub_steps):
            first = (index * ring.sub_steps + sub_step) * ring.ranks
            sizes = [pieces[piece_sent(rank, sub_step, ring.ranks)] for rank in range(ring.ranks)]
            sent = _all_hops(builder, ring, costs, sizes, ready, first)
            ready = [sent[rank - 1] for rank in range(ring.ranks)]
    return builder.done()


def hop_stages(ring: Ring) -> tuple[Stage, ...]:
    """Return the stages of one hop."""
    sealed = (Stage.GPU_ENCRYPT, Stage.PEER_LINK, Stage.GPU_VERIFY, Stage.GPU_DECRYPT)
    return sealed if ring.sealed else (Stage.PEER_LINK,)


def _all_hops(
    builder: ScheduleBuilder,
    ring: Ring,
    costs: Costs,
    sizes: Sequence[Size],
    ready: Sequence[tuple[int, ...]],
    first_chunk: int,
) -> list[tuple[int, ...]]:
    """Lay one sub-step, stage by stage for all ranks at once; return what the receiver of each waits for.

    A rank's cipher seals for the next rank before it opens what comes from the one before.
    """
    after = list(ready)
    for stage in hop_stages(ring):
        for rank, size in enumerate(sizes):
            channel = link(rank, ring.ranks)
            worker = rank if stage is Stage.GPU_ENCRYPT else (rank + 1) % ring.ranks
            resource = channel if stage is Stage.PEER_LINK else f"rank {worker} cipher"
            sealed_on = channel if ring.sealed else ""
            seconds = costs.seconds(stage, size)
            after[rank] = (builder.add(stage, resource, seconds, after[rank], first_chunk + rank, sealed_on, size),)
    return after
