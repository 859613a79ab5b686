"""The orchestrator's job as a value: settings, books, admitted holders, and what it knows while it runs.

A job is a value: a step of the orchestrator makes a new one, and a step that fails leaves the old one as it was. What a
job refers to, and what counts for itself, are the ends of connections: session, link and channels (`Admission`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, TypeGuard

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.crypto.primitives import SHA384_BYTES, Random, sha384
from carnet_ref.device import TRAINING_CODE
from carnet_ref.keys import Budget, KeyUsageRecord, LinkKeys, UsageLimits
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.names import GPU
from carnet_ref.systems.gpu_travelling.orders import Command, Order, Place
from carnet_ref.systems.gpu_travelling.roles import facts, messages
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence, GpuEvidenceVerifier, Quoter, Requester
from carnet_ref.systems.gpu_travelling.roles.facts import GpuAttested, HolderEnrolled
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.training import Trainer
from carnet_ref.transport.frames import FrameKind, ProtocolError, RoleEffect, Send
from carnet_ref.wire import MalformedError, join, split


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a job: rounds trained, their losses, the bytes provided, and the latest version.

    ``latest`` is the SHA-384 of the model that the last round ended with.
    """

    rounds: int
    losses: tuple[float, ...]
    provisioned: int
    latest: bytes

    @property
    def digest(self) -> str:
        """The digest of the latest version, in hexadecimal."""
        return self.latest.hex()

    def further(self, loss: float, provided: int, latest: bytes) -> Progress:
        """Return the progress after one more round."""
        return Progress(self.rounds + 1, (*self.losses, loss), self.provisioned + provided, latest)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The version that was brought home, and the progress at that time.

    ``returns`` says how many epochs were taken back until then: what they brought is in it, or was recorded as lost.
    """

    progress: Progress
    model: bytes = field(repr=False)
    returns: int = 0

    @classmethod
    def first(cls, model: bytes) -> Checkpoint:
        """Return the checkpoint before any training."""
        return cls(Progress(0, (), 0, sha384(model)), model)

    def encode(self) -> bytes:
        """Return the bytes for the journal."""
        progress = self.progress
        numbers = {
            "rounds": progress.rounds,
            "losses": progress.losses,
            "provisioned": progress.provisioned,
            "latest": progress.digest,
            "returns": self.returns,
        }
        return join(json.dumps(numbers).encode("ascii"), self.model)

    @classmethod
    def parse(cls, data: bytes) -> Checkpoint:
        """Return an encoded checkpoint. Raises MalformedError if ``data`` is malformed."""
        numbers, model = split(data, "what is kept", "numbers", "model")
        try:
            said = json.loads(numbers)
            counts = [said[name] for name in ("rounds", "provisioned", "returns")]
            losses, latest = tuple(map(float, said["losses"])), bytes.fromhex(said["latest"])
            if any(type(count) is not int or count < 0 for count in counts) or len(latest) != SHA384_BYTES:
                raise ValueError("no counts, or no digest")
            if not isinstance(said["losses"], list) or len(losses) != counts[0]:
                raise ValueError("another number of losses than of rounds")
            return cls(Progress(counts[0], losses, counts[1], latest), model, counts[2])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise MalformedError("what is kept", "rounds, losses, bytes and a digest", repr(numbers[:40])) from error


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the ledger: the holder and epoch of a training, and the versions before and after."""

    holder: str
    epoch: str
    parent: str
    model: str

    def encode(self) -> bytes:
        """Return the bytes for the journal."""
        return json.dumps(self.to_json()).encode("ascii")

    def to_json(self) -> dict[str, str]:
        """Return the fields as JSON values."""
        return {"holder": self.holder, "epoch": self.epoch, "parent": self.parent, "model": self.model}

    @classmethod
    def parse(cls, data: bytes) -> Entry:
        """Return an encoded entry. Raises MalformedError if ``data`` is malformed."""
        try:
            said = json.loads(data)
            fields = [said[name] for name in ("holder", "epoch", "parent", "model")]
            if not all(isinstance(each, str) for each in fields):
                raise ValueError("a field that is no text")
            return cls(*fields)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MalformedError("ledger", "holder, epoch, parent and model", repr(data[:40])) from error


@dataclass(frozen=True, slots=True)
class Books:
    """The ledger, the epochs returned since the last checkpoint, and the lost epochs.

    ``returns`` counts every epoch that was ever taken back.
    """

    ledger: tuple[Entry, ...] = ()
    unsecured: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    returns: int = 0

    @classmethod
    def of(cls, ledger: Iterable[bytes], returned: Iterable[bytes], lost: Iterable[bytes], kept: Checkpoint) -> Books:
        """Return the books recorded in a journal. Raises MalformedError if no orchestrator wrote the entries."""
        epochs = [each.decode("utf-8", "replace") for each in returned]
        gone = tuple(each.decode("utf-8", "replace") for each in lost)
        since = tuple(epoch for epoch in epochs[kept.returns :] if epoch not in gone)
        return cls(tuple(map(Entry.parse, ledger)), since, gone, len(epochs))

    def with_return(self, epoch: str) -> Books:
        """Return the books after the return of an epoch."""
        return replace(self, unsecured=(*self.unsecured, epoch), returns=self.returns + 1)

    def with_entry(self, entry: Entry) -> Books:
        """Return the books with one more ledger entry."""
        return replace(self, ledger=(*self.ledger, entry))

    def after_checkpoint(self) -> Books:
        """Return the books after a checkpoint."""
        return replace(self, unsecured=())

    def given_up(self) -> Books:
        """Return the books after the loss of a session: epochs since the last checkpoint are lost."""
        return replace(self, unsecured=(), lost=(*self.lost, *self.unsecured))


EMPTY_BOOKS: Final = Books()  #: The books of a job that was never begun.


#: Makes evidence for a channel, from its exporter and the holder's nonce.
Attest = Callable[[bytes, bytes], messages.OrchestratorEvidence]


@dataclass(slots=True)
class _Applicant:
    channel: messages.Channel
    nonce: bytes
    enrolled: HolderEnrolled | None = None


@dataclass(slots=True)
class Admission:
    """The orchestrator's channels; a new channel replaces the old one once the holder authenticated in it."""

    keys: Mapping[str, EllipticCurvePublicKey]
    random: Random
    checks: Checks
    _admitted: dict[str, _Applicant] = field(default_factory=dict)
    _applying: dict[str, _Applicant] = field(default_factory=dict)

    def enrolment(self, holder: str) -> HolderEnrolled | None:
        """Return the fact that the holder is at the end of its channel, or None."""
        applicant = self._admitted.get(holder)
        return applicant.enrolled if applicant else None

    @property
    def holders(self) -> tuple[str, ...]:
        """The admitted holders, in the order of admission."""
        return tuple(self._admitted)

    def answer(self, holder: str, hello: messages.Hello, attest: Attest | None) -> list[RoleEffect]:
        """Answer a hello and, if there is an attested GPU, send evidence.

        Raises ProtocolError if nobody of that name is enrolled; KeyMaterialError if the hello is no key share.
        """
        if holder not in self.keys:
            raise ProtocolError(f"nobody called {holder!r} is enrolled")
        share, channel = messages.respond(hello.share, self.random)
        applicant = self._applying[holder] = _Applicant(channel, hello.nonce)
        return [_send(holder, messages.Answer(share, hello.share)), *self._show(holder, applicant, attest)]

    def show_all(self, attest: Attest) -> list[RoleEffect]:
        """Send evidence in every channel."""
        applicants = [*self._admitted.items(), *self._applying.items()]
        return [effect for holder, applicant in applicants for effect in self._show(holder, applicant, attest)]

    def take(self, holder: str, record: messages.Record) -> messages.Message | None:
        """Return the message in a record; the first enrolment proof admits the holder, and gives None.

        Raises ProtocolError if there is no such channel, or the proof is refused; AuthenticationError if it is not the
        next record of the channel; MalformedError if it holds no message.
        """
        applying = self._applying.get(holder)
        applicant = next((each for each in (applying, self._admitted.get(holder)) if _is_in(each, record)), None)
        if applicant is None:
            raise ProtocolError(f"{holder!r} is in no such channel")
        message = messages.parse_message(applicant.channel.open(record.sealed))
        if not isinstance(message, messages.Proof) or applicant is not applying:
            return message
        signature, channel = message.signature, applicant.channel
        applicant.enrolled = facts.establish_enrolment(holder, self.keys[holder], signature, channel, self.checks)
        self._admitted.pop(holder, None)
        self._admitted[holder] = self._applying.pop(holder)
        return None

    def send(self, holder: str, message: messages.Message) -> Send:
        """Return the frame that carries ``message`` to an admitted holder."""
        return _in_channel(holder, self._admitted[holder].channel, message)

    def forget(self, holder: str, record: messages.Record) -> list[RoleEffect]:
        """Close the channel of a record, and reply that it is closed."""
        for applicants in (self._applying, self._admitted):
            if _is_in(applicants.get(holder), record):
                del applicants[holder]
        return [_send(holder, messages.NoChannel(record.channel))]

    def invite(self) -> list[RoleEffect]:
        """Close every channel, and tell the holders, so that they ask for new ones."""
        self._applying.clear()
        self._admitted.clear()
        return [_send(holder, messages.NoChannel()) for holder in self.keys]

    def _show(self, holder: str, applicant: _Applicant, attest: Attest | None) -> list[RoleEffect]:
        if attest is None:
            return []
        evidence = attest(applicant.channel.exporter, applicant.nonce)
        return [_in_channel(holder, applicant.channel, evidence)]


def _is_in(applicant: _Applicant | None, record: messages.Record) -> TypeGuard[_Applicant]:
    return applicant is not None and applicant.channel.name == record.channel


def _in_channel(holder: str, channel: messages.Channel, message: messages.Message) -> Send:
    return _send(holder, messages.Record(channel.name, channel.seal(messages.encode_message(message))))


def _send(holder: str, envelope: messages.Envelope) -> Send:
    return Send(holder, FrameKind.CHANNEL, messages.encode_envelope(envelope))


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a job.

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

    def manifest(self, trainer: Trainer) -> messages.Manifest:
        """Return the manifest, which every holder has to know."""
        digests = sha384(TRAINING_CODE), sha384(trainer.first_model())
        return messages.Manifest(*digests, self.holders, self.schedule)


@dataclass(frozen=True, slots=True)
class Tools:
    """The orchestrator's collaborators: randomness, sessions, appraisals, quotes, and the first model."""

    random: Random
    requester: Callable[[], Requester]
    verifier: GpuEvidenceVerifier
    quoter: Quoter
    trainer: Trainer


class Custody(Enum):
    """How the last custody ended."""

    NONE = "none"
    RETURNED = "returned"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True)
class Job:
    """The orchestrator's knowledge while it runs.

    ``lendings`` counts the hand-overs that were begun in the session. ``needs`` is what each holder's last turn took of
    its key, or would have. ``used`` is how much the keys of earlier sessions protected. ``furthest`` is the round that
    was ever reached, and ``opened`` the sessions that were. ``appraisal`` is the last one of a GPU. ``evidence_begin``
    is when its session was opened, in which the nonce is drawn that the evidence answers, and ``evidence_end`` when
    that is too old, or something that it rests on runs out.
    """

    terms: Terms
    tools: Tools
    kept: Checkpoint
    progress: Progress
    admission: Admission
    manifest: bytes
    books: Books = field(default_factory=Books)
    needs: Mapping[str, Budget] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()
    used: list[KeyUsageRecord] = field(default_factory=list)
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
        """The link. Raises ProtocolError if there is none."""
        if self.link is None:
            raise ProtocolError("there is no session with a GPU")
        return self.link

    @property
    def evidence_age(self) -> float:
        """Seconds since the opening of the session in which the GPU's evidence was requested."""
        return self.now - self.evidence_begin

    @property
    def evidence_lasts(self) -> float:
        """Seconds for which the GPU's evidence is used, from the opening of its session."""
        return self.evidence_end - self.evidence_begin

    @property
    def evidence_is_old(self) -> bool:
        """Whether the GPU's evidence is too old."""
        return self.now > self.evidence_end

    @property
    def evidence_is_due(self) -> bool:
        """Whether half of the evidence's time is over, so that the model comes home and a session follows."""
        return 2 * self.evidence_age > self.evidence_lasts

    @property
    def age_of_evidence(self) -> str:
        """The age of the GPU's evidence, in words."""
        age, lasts = self.evidence_age, self.evidence_lasts
        return f"the GPU's evidence is {age:.0f} seconds old, and lasts {lasts:.0f}"

    def load(self, command: Command) -> tuple[int, Send]:
        """Return a counter value, and the frame that carries ``command`` over the link under it."""
        slot, body = self.live.seal(command)
        return slot, Send(GPU, FrameKind.H2D, body)

    def order(self, order: Order) -> tuple[Place, Send]:
        """Return the place of an order, and the frame that carries it to the firmware."""
        place, sealed = self.live.order(order)
        return place, Send(GPU, FrameKind.SESSION, messages.add_tag(True, self.attempt, sealed))

    def handshake(self, message: bytes) -> Send:
        """Return the frame that carries a message of the session."""
        return Send(GPU, FrameKind.SESSION, messages.add_tag(False, self.attempt, message))

    def waiting(self, seconds: float) -> Job:
        """Return the job with the next answer due within ``seconds``."""
        return replace(self, deadline=self.now + seconds)

    def without_session(self) -> Job:
        """Return the job without everything that belongs to a session with a GPU."""
        if self.link is not None:
            self.used.extend(self.link.uses)
        return replace(self, session=None, link=None, attested=None, evidence=None, lent=None)

    @property
    def next_holder(self) -> str:
        """The holder whose turn is next."""
        return self.terms.holders[self.progress.rounds % len(self.terms.holders)]
