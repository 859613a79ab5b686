"""The data that a session's keys can protect before renewal, and the attacker's advantage until then.

A session ends its use at the first of these: a holder's key, the orchestrator's key, or the session's own keys have no
room for another hand-over; or its keys together would give an attacker more than was asked for. Channel counters (64
bits) and message counters (32 bits) run out long after that.

A hand-over seals the data under a holder's key, one message of code towards the GPU and one of losses back under the
orchestrator's, and orders and reports under the session's own. A session brings the model to the GPU once and back
once: a new session is a reset, and a reset erases the GPU's memory.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from carnet_ref.crypto.bounds import Load
from carnet_ref.datapath.quantities import QuantityError, Size
from carnet_ref.keys import BLOCK_BYTES, CHUNK_BYTES, ENGINES, Budget, UsageLimits

FULL: Final = Budget.of([CHUNK_BYTES]).units
LONGEST: Final = CHUNK_BYTES // BLOCK_BYTES
HOLDERS: Final = ENGINES - 1
ORDERS_OF_A_HAND_OVER: Final = 8
#: Orders, or reports, of a hand-over at most, and how long one is; a test compares both with a run.
ORDER_BYTES: Final = 256
ORDER: Final = Budget.of([ORDER_BYTES]).units
RECORDS: Final = 1 << 16
#: Records that set a session up, each way, and what one takes with its header. Source: DSP0276 1.2.0, a sequence number
#: of two bytes, whose end is a hard stop.
RECORD: Final = Budget.of([1 << 16]).units + 1
MOST_HAND_OVERS: Final = 10**9


class Schedule(StrEnum):
    """The two designs whose claims are proved."""

    ENGINE_PER_HOLDER = "engine-per-holder"
    SEALED_UNDER_MASTER = "sealed-under-master"


class Target(StrEnum):
    """What limits the use of a session's keys."""

    DRIVER = "each key"
    SESSION = "a session's keys together"
    JOB = "all keys of the job together"


@dataclass(frozen=True, slots=True)
class KeyDemand:
    """A training job, for which keys are needed.

    Raises QuantityError if there is nothing to protect, or no engine for so many holders; KeyMaterialError if the
    driver has no limit for that advantage.
    """

    dataset: Size  #: all data of all holders.
    buffer: Size  #: what the GPU takes on one visit.
    holders: int  #: among how many the dataset is spread evenly.
    model: Size  #: the size of the model.
    exponent: int  #: the advantage that an attacker may have, 2^-exponent.

    def __post_init__(self) -> None:
        for name, size in (("dataset", self.dataset), ("buffer", self.buffer), ("model", self.model)):
            if size.octets == 0:
                raise QuantityError(f"the {name} is empty")
        if self.holders < 1:
            raise QuantityError(f"expected at least one holder, not {self.holders}")
        for name, units in (("buffer", self.visit), ("model", self.carried_model + FULL)):
            if units > self.limits.upper:
                raise QuantityError(f"a {name} of {units:,} work units, and a key protects {self.limits.upper:,}")

    @property
    def limits(self) -> UsageLimits:
        """The driver's limits for one key."""
        return UsageLimits.for_advantage(self.exponent)

    @property
    def visit(self) -> int:
        """The work units of one full buffer."""
        return _units(self.buffer)

    @property
    def carried_model(self) -> int:
        """The work units of moving the model one way."""
        return _units(self.model)

    @property
    def bytes_under_one_key(self) -> int:
        """The bytes that one key may protect under the driver's limit, in messages of 1 MiB."""
        return self.limits.upper // FULL * CHUNK_BYTES

    @property
    def hand_overs(self) -> int:
        """The number of visits for the dataset: each holder's share, divided into buffers."""
        share = -(-self.dataset.octets // self.holders)
        return self.holders * -(-share // self.buffer.octets)


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much data a session can carry."""

    schedule: Schedule
    target: Target
    hand_overs: int  #: how many before the session is renewed.
    sessions: int  #: how many sessions the whole dataset takes.
    ended_by: str  #: what is used up first.
    most: int  #: work units under the key that protects most.
    session: Fraction  #: what an attacker gains against a session's keys together.
    job: Fraction  #: what an attacker gains against the keys of all sessions together.


def capacity(demand: KeyDemand, schedule: Schedule, target: Target) -> Capacity | None:
    """Return the capacity of a session, or None if not even one hand-over is within the target.

    Raises QuantityError if there are more holders than engines, and the schedule gives each its own; or too many
    hand-overs.
    """
    if demand.hand_overs > MOST_HAND_OVERS:
        raise QuantityError(f"expected at most {MOST_HAND_OVERS:,} hand-overs, not {demand.hand_overs:,}")
    ends = room(demand, schedule) | {"the dataset": demand.hand_overs}
    first = min(ends, key=ends.__getitem__)
    fits = _most(_allowed(demand, schedule, target), demand.hand_overs, ends[first])
    if not fits:
        return None
    ended_by = first if fits == ends[first] else f"2^-{demand.exponent}"
    sessions = -(-demand.hand_overs // fits)
    load, job = session_load(demand, schedule, fits), job_load(demand, schedule, fits)
    return Capacity(schedule, target, fits, sessions, ended_by, load.most, load.integrity, job.integrity)


def _most(allowed: Callable[[int], bool], total: int, most: int) -> int:
    """Return the most hand-overs of a session that are allowed, or 0.

    Among those numbers that lead to equally many sessions, fewer hand-overs never make a bound larger.
    """
    while most > 0:
        sessions = -(-total // most)
        fewest = -(-total // sessions)
        if allowed(fewest):
            return fewest + bisect_left(range(fewest + 1, most + 1), True, key=lambda count: not allowed(count))
        most = fewest - 1
    return 0


def set_up_load() -> Load:
    """Return the load of the two keys of the SPDM session at its set-up, as an upper bound."""
    return Load(2 * RECORDS * RECORD, 2, RECORD, RECORDS * RECORD)


def session_load(demand: KeyDemand, schedule: Schedule, hand_overs: int) -> Load:
    """Return the load of all keys of one session with ``hand_overs`` hand-overs."""
    returns = 1 if schedule is Schedule.SEALED_UNDER_MASTER else hand_overs
    visits = 1 if schedule is Schedule.SEALED_UNDER_MASTER else -(-hand_overs // demand.holders)
    data, home = demand.visit * visits, demand.carried_model + returns * FULL
    epochs = demand.holders + 1 if schedule is Schedule.ENGINE_PER_HOLDER else 2 * hand_overs + 1
    own = hand_overs * ORDERS_OF_A_HAND_OVER * ORDER
    blocks = hand_overs * (demand.visit + 2 * FULL) + 2 * demand.carried_model + 2 * own
    return Load(blocks, 2 * (epochs + 1), LONGEST, max(data, home, own))


def job_load(demand: KeyDemand, schedule: Schedule, hand_overs: int) -> Load:
    """Return the load of the keys of all sessions with ``hand_overs`` hand-overs each."""
    sessions = -(-demand.hand_overs // hand_overs)
    one = session_load(demand, schedule, hand_overs)
    return Load(one.blocks * sessions, one.attempts * sessions, LONGEST, one.most)


def _allowed(demand: KeyDemand, schedule: Schedule, target: Target) -> Callable[[int], bool]:
    """Return whether so many hand-overs a session keep all keys that the target names within the advantage."""
    bound = Fraction(1, 2**demand.exponent)
    match target:
        case Target.DRIVER:
            return lambda count: True
        case Target.SESSION:
            return lambda count: session_load(demand, schedule, count).integrity <= bound
        case Target.JOB:
            return lambda count: job_load(demand, schedule, count).integrity <= bound


def room(demand: KeyDemand, schedule: Schedule) -> dict[str, int]:
    """Return the number of hand-overs for which each kind of key has room; a key that is due gets no other.

    Raises QuantityError if there are more holders than engines, and the schedule gives each its own.
    """
    limits = demand.limits
    own = {"the session's keys": limits.lower // (ORDERS_OF_A_HAND_OVER * ORDER)}
    if schedule is Schedule.SEALED_UNDER_MASTER:
        return own
    if demand.holders > HOLDERS:
        raise QuantityError(f"expected 1 to {HOLDERS} holders, which have an engine each, not {demand.holders}")
    of_a_holder = min(-(-limits.lower // demand.visit), limits.upper // demand.visit)
    at_home = (limits.lower - demand.carried_model) // FULL
    return {"holders' keys": demand.holders * of_a_holder, "the orchestrator's key": at_home} | own


def _units(size: Size) -> int:
    whole, rest = divmod(size.octets, CHUNK_BYTES)
    return whole * FULL + (Budget.of([rest]).units if rest else 0)
