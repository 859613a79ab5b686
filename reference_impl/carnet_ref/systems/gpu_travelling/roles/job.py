"""The orchestrator's job: what it was set up with, and what it knows while it runs.

A job is a value: a step of the orchestrator makes a new one, and a step that fails leaves the old one as it was. What a
job refers to, and what counts for itself, are the ends of connections: session, link and channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.device import TRAINING_CODE
from carnet_ref.keys import Budget, KeyUse, LinkKeys, UsageLimits
from carnet_ref.systems.gpu_travelling.device.commands import Command
from carnet_ref.systems.gpu_travelling.device.orders import Order, Place
from carnet_ref.systems.gpu_travelling.names import GPU
from carnet_ref.systems.gpu_travelling.roles.admission import Admission
from carnet_ref.systems.gpu_travelling.roles.books import Books, Kept, Progress
from carnet_ref.systems.gpu_travelling.roles.channel_messages import Manifest
from carnet_ref.systems.gpu_travelling.roles.facts import GpuAttested
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.systems.gpu_travelling.roles.ports import GpuAppraiser, GpuEvidence, Quoter, Requester
from carnet_ref.systems.gpu_travelling.roles.session_frames import tagged
from carnet_ref.training import Trainer
from carnet_ref.transport.frames import FrameKind, ProtocolError, Send


@dataclass(frozen=True, slots=True)
class Terms:
    """What the job is.

    ``rounds`` hand-overs go to ``holders`` in turn. A holder keeps the GPU for ``lease`` seconds at most, any other
    answer is waited for ``patience`` seconds, a job with more than ``evictions`` evictions in a row is given up, and so
    is one with more than ``sessions`` that failed. Evidence of a GPU is used for ``evidence_lasts`` seconds. The model
    comes home after every ``save_every`` rounds, if that is not 0, and no link key protects more than ``limits`` say.
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
    save_every: int = 0
    limits: UsageLimits = field(default_factory=UsageLimits.for_advantage)

    def manifest(self, trainer: Trainer) -> Manifest:
        """Return what every holder has to know of the job."""
        digests = sha384(TRAINING_CODE), sha384(trainer.first_model())
        return Manifest(*digests, self.holders, self.schedule)


@dataclass(frozen=True, slots=True)
class Tools:
    """What the orchestrator cannot make itself: randomness, sessions, appraisals, quotes, and the first model."""

    random: Random
    requester: Callable[[], Requester]
    appraiser: GpuAppraiser
    quoter: Quoter
    trainer: Trainer


class Custody(Enum):
    """How the last custody ended."""

    NONE = "none"
    RETURNED = "returned"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True)
class Job:
    """What the orchestrator knows while it runs.

    ``lendings`` counts the hand-overs that were begun in the session. ``needs`` is what each holder's last turn took of
    its key, or would have. ``used`` is how much the keys of earlier sessions protected. ``furthest`` is the round that
    was ever reached, and ``opened`` the sessions that were. ``appraisal`` is the last one of a GPU. ``evidence_begin``
    is when its session was opened, in which the nonce is drawn that the evidence answers, and ``evidence_end`` when
    that is too old, or something that it rests on runs out.
    """

    terms: Terms
    tools: Tools
    kept: Kept
    progress: Progress
    admission: Admission
    manifest: bytes
    books: Books = field(default_factory=Books)
    needs: Mapping[str, Budget] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()
    used: list[KeyUse] = field(default_factory=list)
    session: Requester | None = None
    link: Link | None = None
    attested: GpuAttested | None = None
    evidence: GpuEvidence | None = None
    appraisal: Appraisal | None = None
    evidence_begin: float = 0.0
    evidence_end: float = 0.0
    attempt: int = 0
    custody: Custody = Custody.NONE
    holder: str = ""
    lent: LinkKeys | None = None
    count: int = 0
    returned_bytes: int = 0
    lendings: int = 0
    failures: int = 0
    evictions: int = 0
    furthest: int = 0
    now: float = 0.0
    deadline: float = 0.0

    @property
    def live(self) -> Link:
        """The link.

        Raises:
            ProtocolError: there is none.
        """
        if self.link is None:
            raise ProtocolError("there is no session with a GPU")
        return self.link

    @property
    def evidence_age(self) -> float:
        """Seconds since the session was opened in which the GPU's evidence was asked for."""
        return self.now - self.evidence_begin

    @property
    def evidence_lasts(self) -> float:
        """Seconds for which that evidence is used: by its age, or by what it rests on if that ends before."""
        return self.evidence_end - self.evidence_begin

    @property
    def evidence_is_old(self) -> bool:
        """Whether the GPU's evidence is older than it may be."""
        return self.now > self.evidence_end

    @property
    def evidence_is_due(self) -> bool:
        """Whether the GPU's evidence has half of its time behind it: the model comes home then, and a session after."""
        return 2 * self.evidence_age > self.evidence_lasts

    @property
    def age_of_evidence(self) -> str:
        """How old the GPU's evidence is, in words."""
        age, lasts = self.evidence_age, self.evidence_lasts
        return f"the GPU's evidence is {age:.0f} seconds old, and lasts {lasts:.0f}"

    def load(self, command: Command) -> tuple[int, Send]:
        """Return the counter value and the frame that carries ``command`` through the link."""
        slot, body = self.live.seal(command)
        return slot, Send(GPU, FrameKind.H2D, body)

    def order(self, order: Order) -> tuple[Place, Send]:
        """Return the place of an order, and the frame that carries it to the firmware, inside the session."""
        place, sealed = self.live.order(order)
        return place, Send(GPU, FrameKind.SESSION, tagged(True, self.attempt, sealed))

    def handshake(self, message: bytes) -> Send:
        """Return the frame that carries a message of the session's own."""
        return Send(GPU, FrameKind.SESSION, tagged(False, self.attempt, message))

    def waiting(self, seconds: float) -> Job:
        """Return the job, with the next answer expected within ``seconds`` from now."""
        return replace(self, deadline=self.now + seconds)

    def without_session(self) -> Job:
        """Return the job, with everything forgotten that belongs to a session with a GPU."""
        if self.link is not None:
            self.used.extend(self.link.uses)
        return replace(self, session=None, link=None, attested=None, evidence=None, lent=None)

    @property
    def next_holder(self) -> str:
        """The holder whose turn the next one is."""
        return self.terms.holders[self.progress.rounds % len(self.terms.holders)]
