"""The orchestrator's job: what it was set up with, and what it knows while it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.device.programs import TRAINING_CODE
from carnet_ref.keys import LinkKeys, UsageLimits
from carnet_ref.systems.gpu_travelling.defences import ALL, Defences
from carnet_ref.systems.gpu_travelling.device.commands import Command
from carnet_ref.systems.gpu_travelling.names import GPU
from carnet_ref.systems.gpu_travelling.roles.admission import Reception
from carnet_ref.systems.gpu_travelling.roles.channel_messages import Decline, Manifest, Return
from carnet_ref.systems.gpu_travelling.roles.facts import GpuAttested
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.systems.gpu_travelling.roles.ports import GpuAppraiser, GpuEvidence, Quoter, Requester
from carnet_ref.training import Trainer
from carnet_ref.transport.frames import Effect, Kind, ProtocolError, Remark, Send
from carnet_ref.wire.fields import join, split
from carnet_ref.wire.reader import MalformedError


@dataclass(frozen=True, slots=True)
class Terms:
    """What the job is.

    ``rounds`` hand-overs go to ``holders`` in turn. A holder keeps the GPU for ``lease`` seconds at most, any other
    answer is waited for ``patience`` seconds, a holder that was evicted ``evictions`` times in a row is given up, and
    so is a GPU after ``sessions`` failed ones. Evidence opens no hand-over after ``evidence_lasts`` seconds.
    """

    holders: tuple[str, ...]
    rounds: int
    schedule: str
    enrolled: Mapping[str, EllipticCurvePublicKey]
    lease: float = 60.0
    patience: float = 30.0
    evictions: int = 3
    sessions: int = 8
    evidence_lasts: float = 3600.0
    limits: UsageLimits = field(default_factory=UsageLimits.for_advantage)
    defences: Defences = ALL

    def manifest(self, trainer: Trainer) -> Manifest:
        """Return what every holder has to know of the job."""
        digests = sha384(TRAINING_CODE), sha384(trainer.first_model())
        return Manifest(*digests, self.holders, self.schedule)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the job is: rounds trained, the loss of each, the bytes that holders provided, and the model."""

    rounds: int
    losses: tuple[float, ...]
    provisioned: int
    model: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """The SHA-384 of the model, in hexadecimal."""
        return sha384(self.model).hex()

    def encode(self) -> bytes:
        """Return the bytes for the journal."""
        numbers = {"rounds": self.rounds, "losses": self.losses, "provisioned": self.provisioned}
        return join(json.dumps(numbers).encode("ascii"), self.model)

    @classmethod
    def parse(cls, data: bytes) -> Progress:
        """Return what `encode` wrote.

        Raises:
            MalformedError: it wrote something else.
        """
        numbers, model = split(data, "progress", "numbers", "model")
        try:
            fields = json.loads(numbers)
            return cls(fields["rounds"], tuple(fields["losses"]), fields["provisioned"], model)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MalformedError("progress", "rounds, losses and bytes", repr(numbers[:40])) from error


@dataclass(frozen=True, slots=True)
class Tools:
    """What the orchestrator cannot make itself: randomness, sessions, appraisals, quotes, a first model, the link."""

    random: Random
    requester: Callable[[], Requester]
    appraiser: GpuAppraiser
    quoter: Quoter
    trainer: Trainer
    link: type[Link] = Link


class Custody(Enum):
    """How the last custody ended."""

    NONE = "none"
    RETURNED = "returned"
    EVICTED = "evicted"


@dataclass(slots=True)
class Job:
    """What the orchestrator knows while it runs.

    ``lendings`` counts the hand-overs that were begun in the session.
    ``redo`` takes up again what the orchestrator was doing when a session died; nothing does so while failed sessions
    are never continued.
    """

    terms: Terms
    tools: Tools
    progress: Progress
    reception: Reception
    manifest: bytes
    session: Requester | None = None
    link: Link | None = None
    attested: GpuAttested | None = None
    evidence: GpuEvidence | None = None
    attested_at: float = 0.0
    attempt: int = 0
    custody: Custody = Custody.NONE
    holder: str = ""
    lent: LinkKeys | None = None
    count: int = 0
    returned_bytes: int = 0
    lendings: int = 0
    failures: int = 0
    evictions: int = 0
    now: float = 0.0
    deadline: float = 0.0
    redo: Callable[[], Transition] | None = None

    @property
    def live(self) -> Link:
        """The link.

        Raises:
            ProtocolError: there is none.
        """
        if self.link is None:
            raise ProtocolError("there is no session with a GPU")
        return self.link

    def order(self, command: Command) -> tuple[int, Send]:
        """Return the counter value and the frame that carries ``command`` through the link."""
        slot, body = self.live.seal(command)
        return slot, Send(GPU, Kind.H2D, body)

    def command(self, message: bytes) -> Send:
        """Return the frame that carries ``message`` inside the session.

        Raises:
            ProtocolError: there is no session.
        """
        if self.session is None:
            raise ProtocolError("there is no session with a GPU")
        return Send(GPU, Kind.SESSION, tagged(True, self.attempt, self.session.seal(message)))

    def handshake(self, message: bytes) -> Send:
        """Return the frame that carries a message of the session's own."""
        return Send(GPU, Kind.SESSION, tagged(False, self.attempt, message))

    def wait(self, seconds: float) -> None:
        """Expect the next answer within ``seconds`` from now."""
        self.deadline = self.now + seconds


class State:
    """One state of the orchestrator; a subclass handles what it awaits, and anything else is an error or ignored."""

    __slots__ = ("job",)

    def __init__(self, job: Job) -> None:
        self.job = job

    def on_session(self, message: bytes) -> Transition:
        """Take a message of the session."""
        raise ProtocolError(f"a session message, while the orchestrator {self}")

    def on_link(self, sealed: bytes) -> Transition:
        """Take a message from a copy engine."""
        raise ProtocolError(f"a message from a copy engine, while the orchestrator {self}")

    def on_report_outside(self, body: bytes) -> Transition:
        """Take notice of a report that nobody asked for."""
        return self, []

    def on_semaphore(self, name: str) -> Transition:
        """Take notice of a plain semaphore: it proves nothing."""
        return self, []

    def on_return(self, holder: str, given: Return) -> Transition:
        """Take a return when nothing is lent: it is late, and means nothing."""
        return self, [Remark(f"{holder} returned what it does not have")]

    def on_decline(self, holder: str, said: Decline) -> Transition:
        """Take the refusal of a grant when nothing is lent: it is late, and means nothing."""
        return self, [Remark(f"{holder} declined what it does not have")]

    def on_admitted(self, holder: str) -> Transition:
        """Take notice of a holder that can be granted to."""
        return self, []

    def on_tick(self) -> Transition:
        """Take notice of time.

        Raises:
            ProtocolError: the answer that is awaited is lost.
        """
        if self.job.now > self.job.deadline:
            raise ProtocolError(f"no answer in time, while the orchestrator {self}")
        return self, []

    def on_proceed(self) -> Transition:
        """Go on where nothing is awaited."""
        return self, []

    def __str__(self) -> str:
        return _WORDS.sub(lambda found: " " + found[0].lower(), type(self).__name__).strip()


Transition = tuple[State, list[Effect]]

ATTEMPTS = 128


def tagged(orders: bool, attempt: int, message: bytes) -> bytes:
    """Return the body of a session frame: whether it is an order, the attempt it belongs to, and the message.

    Attempts tell what is late from what is new; nothing but availability rests on them.
    """
    return bytes([attempt << 1 | orders]) + message


HANDSHAKE = tagged(False, 0, b"")
"""The tag of a session's own messages from somebody who counts no attempts."""


def untagged(body: bytes) -> tuple[bool, int, bytes]:
    """Return what `tagged` put together.

    Raises:
        MalformedError: there is nothing.
    """
    if not body:
        raise MalformedError("session frame", "a tag", "nothing")
    return bool(body[0] & 1), body[0] >> 1, body[1:]


LAUNCH_LABEL = "cpu_sec2_hmac_user"
"""The label of the launch key. Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h."""

_WORDS = re.compile("[A-Z]")
