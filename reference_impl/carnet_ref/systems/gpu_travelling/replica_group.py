"""A group of orchestrator instances: one in charge, and backups that log its custody and can take over.

What the one in charge has to remember counts once every backup has logged it, and only then it acts. If it stops, a
backup freezes the chain and goes on from the log; if it was not dead, the frozen chain acknowledges nothing more to it.
An instance that starts again may go on only from the state that its platform's counter stands for.

This module is also the platform's part: it keeps every state that an instance sealed, starts instances again, and
injects faults. Source: Teechain, abstract; deck, Outlook: backup orchestrator.
"""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.gpu_travelling.deployment import Deployment
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.teechain import tee
from carnet_ref.systems.teechain.chain import draw_key
from carnet_ref.systems.teechain.custody import CustodyLog, go_on, open_first_chain, take_over
from carnet_ref.systems.teechain.primary import Primary
from carnet_ref.systems.teechain.replica import Replica, is_poll
from carnet_ref.transport.node import Node
from carnet_ref.transport.supervisor import InProcessNetwork

MOMENTS_PER_ROUND = 8  #: Moments at which something may happen, in a round with one backup; with more there are more.


class Fault(Enum):
    """The faults that the platform may inject into instances."""

    KILL_HEAD = auto()  #: The instance in charge is killed.
    KILL_BACKUP = auto()  #: A backup is killed.
    ROLL_BACK_HEAD = auto()  #: The instance in charge is killed, and started from an older state than its last.
    ROLL_BACK_BACKUP = auto()  #: A backup is killed, and started from an older state than its last.
    FORK = auto()  #: A backup takes over while the instance in charge runs on.


@dataclass(slots=True)
class FaultInjection:
    """A number of faults, spread over a run; equal seeds give equal faults.

    Args:
        left: how many there are to be.
        rounds: how long the run is.
        seed: what decides when, and which.
        kinds: which there may be.
    """

    left: int = 0
    rounds: int = 1
    seed: int = 0
    kinds: tuple[Fault, ...] = tuple(Fault)
    random: random.Random = field(init=False)
    _wait: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._draw()

    def fault_due(self) -> Fault | None:
        """Return the fault that happens now, or None."""
        if not self.left:
            return None
        if self._wait:
            self._wait -= 1
            return None
        self.left -= 1
        self._draw()
        return self.random.choice(self.kinds)

    def _draw(self) -> None:
        most = 2 * self.rounds * MOMENTS_PER_ROUND // max(1, self.left)
        self._wait = self.random.randint(0, max(1, most))


_PROGRAM = sha384(b"carnet orchestrator")  #: The measurement of every instance.


class InstanceLostError(Exception):
    """The instance in charge has stopped or was replaced; its current action is not carried out."""


class GroupEndedError(CarnetError):
    """No instance can continue; nothing that was acknowledged is lost."""

    kind = "run"
    exit_code = ExitCode.UNKNOWN


@dataclass(slots=True)
class Tally:
    """The number of events of each kind in a run."""

    kills: int = 0
    take_overs: int = 0
    restarts: int = 0
    rollbacks_refused: int = 0
    forks_refused: int = 0

    def to_json(self) -> dict[str, int]:
        """Return the counts as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class ReplicaGroup:
    """The instances, and the log of the one in charge.

    Args:
        backups: how many instances there are beside the one in charge.
        random: where keys come from.
        faults: what the platform does to them.
        say: gets a line for people at every change.
        checks: what instances insist on of each other.
    """

    backups: int
    random: Random
    faults: FaultInjection = field(default_factory=FaultInjection)
    say: Callable[[str], None] = lambda _: None
    checks: Checks = EVERY
    tally: Tally = field(default_factory=Tally)
    log: CustodyLog = field(init=False)
    _replicas: dict[str, Replica] = field(init=False, default_factory=dict)
    _tees: dict[str, tee.Tee] = field(init=False)
    _states: dict[tuple[str, bytes], list[bytes]] = field(init=False)
    _policy: tee.Policy = field(init=False)
    #: Instances that were killed, and whether the platform tries an older state before the newest.
    _dead: dict[str, bool] = field(init=False, default_factory=dict)
    _acting: str = field(init=False, default="")
    #: Whether something may happen now: while the instance in charge logs, and not while the platform mends.
    _exposed: bool = field(init=False, default=False)
    #: The log of an instance that took over, while the one before does not know.
    taken_over: CustodyLog | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        vendor = draw_key(self.random)
        self._policy = tee.Policy(vendor.public_key(), _PROGRAM)
        self._states = defaultdict(list)
        identities = {name: draw_key(self.random) for name in self.names}
        self._tees = {
            name: tee.Tee(identity, tee.certify(vendor, identity), _PROGRAM, self.random)
            for name, identity in identities.items()
        }
        self._replicas = {name: self._launched(name) for name in self.names}
        first, *others = self.names
        primary = Primary(self._replicas[first], tuple(others), self._recovery_quorum(others))
        self._put_in_charge(open_first_chain(primary, self._deliver))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the instances."""
        return tuple(f"instance{number}" for number in range(1, self.backups + 2))

    def _recovery_quorum(self, others: list[str] | tuple[str, ...]) -> tuple[str, ...]:
        """Return who has to vote for a take-over: of one backup, that one; of more, more than half of all."""
        return tuple(others) if len(others) == 1 else ()

    # -- the instance in charge --------------------------------------------------------------------------------------

    def append(self, kind: str, payload: bytes) -> None:
        """Add an entry to the log of the instance in charge; return once every backup has logged it.

        Raises InstanceLostError if the instance was killed, or another is in charge.
        """
        self._exposed = True
        try:
            self._inject()
            self._until_logged(lambda: self.log.append(kind, payload))
            self._inject()
        finally:
            self._exposed = False

    def _until_logged(self, attempt: Callable[[], object]) -> None:
        """Try, and try again with backups that the platform started again."""
        while True:
            try:
                attempt()
                return
            except tee.SilentMemberError as silent:
                self._start_again(silent.member)
                attempt = self.log.resume
            except tee.ChainError as error:
                self.tally.forks_refused += self.taken_over is not None
                raise InstanceLostError(f"{self._acting} acts no more: {error}") from None

    def last(self, kind: str) -> bytes | None:
        """Return the last acknowledged entry of a kind, or None."""
        return self.log.last(kind)

    def all(self, kind: str) -> list[bytes]:
        """Return every acknowledged entry of a kind, in order."""
        return self.log.all(kind)

    # -- the platform ------------------------------------------------------------------------------------------------

    def succeed(self) -> None:
        """Put another instance in charge after a loss: the restarted one, or a backup.

        Raises GroupEndedError if no instance can go on.
        """
        forked, self.taken_over = self.taken_over, None
        if forked is not None:
            self._put_in_charge(forked)
        launched_since = self.log.primary.replica is not self._replicas[self._acting]
        if forked is None or launched_since or self._acting in self._dead:
            self._put_in_charge((self._again() if self.faults.random.random() < 0.5 else None) or self._next())
        self.say(f"{self._acting} is in charge, with {len(self.log)} entries")

    def _put_in_charge(self, log: CustodyLog) -> None:
        log.carry = self.carry
        self.log, self._acting = log, log.primary.replica.name

    def _again(self) -> CustodyLog | None:
        """Start the head again; its own chain has to acknowledge anew what it logged, and may be frozen."""
        head, chain = self.log.primary.plan.head, self.log.chain
        self._start_all()
        try:
            log = go_on(Primary.again(self._replicas[head], chain), self._deliver)
        except tee.TeechainError as error:
            self.say(f"{head} cannot go on: {error}")
            return None
        self.tally.restarts += 1
        return log

    def _next(self, unasked: frozenset[str] = frozenset()) -> CustodyLog:
        """Let a member of the chain that is not its head take over, with the logs of those who are alive alone.

        Only if too few are alive, the others are started again first, and vote.

        Args:
            unasked: who is alive and has no vote, since nobody tells it.
        """
        before = self.log.primary.plan
        if not before.has_quorum(frozenset(before.members) - self._dead.keys() - unasked):
            self._start_all()
        for successor in (name for name in before.members[1:] if name not in self._dead):
            others = tuple(name for name in self.names if name != successor)
            try:
                primary = Primary(self._replicas[successor], others, self._recovery_quorum(others), before)
                taken = take_over(primary, before, functools.partial(self._gather, unasked))
            except tee.TeechainError as error:
                self.say(f"{successor} cannot take over: {error}")
                continue
            self.tally.take_overs += 1
            return taken
        raise GroupEndedError("no instance of the orchestrator can go on; what was acknowledged is in sealed states")

    def _gather(self, unasked: frozenset[str], member: str, message: bytes) -> bytes:
        """Bring a message of a take-over: a dead instance has no vote, and is started again to join the next chain."""
        if is_poll(message) and member in unasked:
            raise ConnectionResetError(member)
        if member in self._dead and not is_poll(message):
            self._start_again(member)
        return self._deliver(member, message)

    def _start_all(self) -> None:
        for name in tuple(self._dead):
            self._start_again(name)

    def carry(self, member: str, message: bytes) -> bytes:
        """Deliver a message to a backup and return the answer, unless a fault happens."""
        self._inject()
        answer = self._deliver(member, message)
        self._inject()
        return answer

    def _deliver(self, member: str, message: bytes) -> bytes:
        if member in self._dead:
            raise ConnectionResetError(member)
        return self._replicas[member].handle(message)

    def _launched(self, name: str) -> Replica:
        def store(chain: bytes, sealed: bytes) -> None:
            self._states[name, chain].append(sealed)
            fault = self.faults.fault_due() if self._exposed else None
            if fault is Fault.FORK and self.taken_over is None:
                self._fork()
            elif fault not in (None, Fault.FORK):
                self._kill(name, older=fault in (Fault.ROLL_BACK_HEAD, Fault.ROLL_BACK_BACKUP))
                if name == self._acting:
                    raise InstanceLostError(f"{name} was killed")
                self.say(f"{name} was killed")
                raise ConnectionResetError(name)

        return Replica(name, self._tees[name], self._policy, self.random, self.checks, store)

    def _start_again(self, name: str) -> None:
        """Start an instance from the state that its counter stands for; before that, perhaps, from an older one."""
        older, exposed = self._dead.pop(name, False), self._exposed
        self._exposed = False
        self._replicas[name] = self._launched(name)
        for chain in [chain for owner, chain in self._states if owner == name]:
            *before, newest = self._states[name, chain]
            if older and chain == self.log.chain and before:
                if self._started(name, self.faults.random.choice(before)):
                    continue
                self.tally.rollbacks_refused += 1
            for state in (newest, *reversed(before)):  # the newest may have been stored and not counted
                if self._started(name, state):
                    break
        self._exposed = exposed

    def _started(self, name: str, state: bytes) -> bool:
        """Start an instance from a state, and return whether it goes on from it."""
        try:
            self._replicas[name].start_again(state)
        except tee.SealedStateError as error:
            self.say(f"{name}: {error}")
            return False
        return True

    def _inject(self) -> None:
        """Inject the fault of this moment, if there is one.

        Raises InstanceLostError if it happened to the instance in charge.
        """
        match self.faults.fault_due():
            case Fault.KILL_HEAD:
                self._kill_head(older=False)
            case Fault.ROLL_BACK_HEAD:
                self._kill_head(older=True)
            case Fault.KILL_BACKUP:
                self._kill_backup(older=False)
            case Fault.ROLL_BACK_BACKUP:
                self._kill_backup(older=True)
            case Fault.FORK if self.taken_over is None:
                self._fork()

    def _fork(self) -> None:
        """Let a backup take over, and tell the instance in charge nothing of it."""
        self.say(f"{self._acting} is taken over, and does not know")
        exposed, self._exposed = self._exposed, False
        self.taken_over = self._next(frozenset({self._acting}))
        self._exposed = exposed

    def _kill_head(self, *, older: bool) -> None:
        self._kill(self._acting, older=older)
        raise InstanceLostError(f"{self._acting} was killed")

    def _kill_backup(self, *, older: bool) -> None:
        name = self.faults.random.choice([each for each in self.names if each != self._acting])
        self._kill(name, older=older)
        self.say(f"{name} was killed")

    def _kill(self, name: str, *, older: bool) -> None:
        self.tally.kills += 1
        self._dead[name] = older


@dataclass(slots=True, kw_only=True)
class FailoverWorld(InProcessNetwork):
    """An in-process network whose orchestrator is a group of replicas."""

    deployment: Deployment
    group: ReplicaGroup
    random: Random = field(repr=False)

    def begin(self) -> None:
        """Start the first instance."""
        try:
            self._let_begin()
        except InstanceLostError as error:
            self._succeed(error)

    def run(self, limit: int = 1_000_000) -> None:
        """Run until the job is done, with whichever instance is in charge.

        Raises StuckError if it never is; GroupEndedError if no instance can go on.
        """
        while True:
            try:
                return InProcessNetwork.run(self, limit)
            except InstanceLostError as error:
                self._succeed(error)

    def _succeed(self, lost: InstanceLostError) -> None:
        """Put the next instance in charge, until one can begin."""
        while True:
            self.group.say(str(lost))
            self.group.succeed()
            try:
                return self._let_begin()
            except InstanceLostError as error:
                lost = error

    def _let_begin(self) -> None:
        orchestrator = self.deployment.orchestrator_from(self.group, self.random)
        node = Node(ORCHESTRATOR, orchestrator, self.recorder, self.group, self.group.say)
        self.add(node, node.perform(orchestrator.begin(self.now)))
