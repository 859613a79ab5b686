"""What orchestrator and holders say to each other: the manifest of the job, and the messages inside a channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from carnet_ref.crypto.primitives import sha384
from carnet_ref.keys import Budget, LinkKeys
from carnet_ref.wire import MalformedError, join, number, split, to_number, to_text


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a holder has to know of a job before it sends anything: code, first model, holders, schedule."""

    code_digest: bytes
    model_digest: bytes
    holders: tuple[str, ...]
    schedule: str

    def encode(self) -> bytes:
        """Return the bytes that the orchestrator's quote binds."""
        holders = join(*(name.encode("utf-8") for name in self.holders))
        return join(self.code_digest, self.model_digest, holders, self.schedule.encode("utf-8"))

    def digest(self) -> bytes:
        """Return the SHA-384 of the manifest."""
        return sha384(self.encode())


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a channel, in the clear: a key share, and a nonce for the orchestrator's evidence."""

    share: bytes
    nonce: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The second message of a channel, in the clear: a key share, and the one that it answers."""

    share: bytes
    to: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """A sealed message of a channel, and the name of the channel: who is not in it lets the record pass."""

    channel: bytes
    sealed: bytes


@dataclass(frozen=True, slots=True)
class NoChannel:
    """There is no such channel, or it is lost; with no name, there is none at all.

    Believed for no more than to start again.
    """

    channel: bytes = b""


Envelope = Hello | Answer | Record | NoChannel


@dataclass(frozen=True, slots=True)
class OrchestratorEvidence:
    """The orchestrator's evidence, and the session of the GPU that it speaks for."""

    evidence: bytes
    session: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A holder's signature, with its enrolment key, over the channel's exporter."""

    signature: bytes


@dataclass(frozen=True, slots=True)
class Grant:
    """The right to fill the dataset buffer: the encrypt half of the link key, where its IVs start, where to write.

    ``budget`` is how much of the key the holder may use. ``d2h`` and ``launch`` are empty: those halves are never lent.
    """

    round: int
    session: str
    epoch: int
    engine: int
    channel: int
    start: int
    address: int
    budget: Budget
    h2d: bytes = field(repr=False)
    mask: bytes
    d2h: bytes = field(default=b"", repr=False)
    launch: bytes = field(default=b"", repr=False)

    def keys(self, holder: str) -> LinkKeys:
        """Return what the grant lends, for the holder's end of the link."""
        return LinkKeys(self.epoch, holder, self.engine, self.channel, self.h2d, self.d2h, self.mask)


@dataclass(frozen=True, slots=True)
class Return:
    """The GPU is given back: the epoch, the count of messages used from the first on, and the bytes they held."""

    session: str
    epoch: int
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Decline:
    """The grant is not taken: what the holder has to send needs more of the key than the grant allows."""

    session: str
    epoch: int
    needs: Budget


Message = OrchestratorEvidence | Proof | Grant | Return | Decline

_ENVELOPES: Final = {Hello: 1, Answer: 2, Record: 3, NoChannel: 4}
_MESSAGES: Final = {OrchestratorEvidence: 1, Proof: 2, Grant: 3, Return: 4, Decline: 5}


def encode_envelope(envelope: Envelope) -> bytes:
    """Return the bytes of a channel's outer message."""
    parts: tuple[bytes, ...] = ()
    match envelope:
        case Hello(first, second) | Answer(first, second):
            parts = (first, second)
        case Record(channel, sealed):
            parts = (channel, sealed)
        case NoChannel(channel):
            parts = (channel,)
    return bytes([_ENVELOPES[type(envelope)]]) + join(*parts)


def parse_envelope(data: bytes) -> Envelope:
    """Return the outer message that ``data`` encodes.

    Raises:
        MalformedError: it encodes none.
    """
    what, body = "channel message", data[1:]
    match data[:1]:
        case b"\x01":
            share, nonce = split(body, what, "share", "nonce")
            return Hello(share, nonce)
        case b"\x02":
            share, to = split(body, what, "share", "share answered")
            return Answer(share, to)
        case b"\x03":
            channel, sealed = split(body, what, "channel", "record")
            return Record(channel, sealed)
        case b"\x04":
            (channel,) = split(body, what, "channel")
            return NoChannel(channel)
    raise MalformedError(what, "a known kind", data[:1].hex() or "nothing", 0)


def encode_message(message: Message) -> bytes:
    """Return the bytes of a message inside a channel."""
    body = b""
    match message:
        case OrchestratorEvidence(evidence, session):
            body = join(evidence, session.encode("utf-8"))
        case Proof(signature):
            body = join(signature)
        case Grant():
            body = _grant_body(message)
        case Return(session, epoch, count, size):
            body = join(session.encode("utf-8"), number(epoch), number(count), number(size))
        case Decline(session, epoch, needs):
            body = join(session.encode("utf-8"), number(epoch), number(needs.messages), number(needs.units))
    return bytes([_MESSAGES[type(message)]]) + body


def parse_message(data: bytes) -> Message:
    """Return the message inside a channel that ``data`` encodes.

    Raises:
        MalformedError: it encodes none.
    """
    body = data[1:]
    match data[:1]:
        case b"\x01":
            evidence, session = split(body, "evidence", "evidence", "session")
            return OrchestratorEvidence(evidence, to_text(session, "evidence", "session"))
        case b"\x02":
            (signature,) = split(body, "enrolment proof", "signature")
            return Proof(signature)
        case b"\x03":
            return _grant(body)
        case b"\x04":
            about, (epoch, count, size) = _numbered(body, "return", "epoch", "count", "size")
            return Return(about, epoch, count, size)
        case b"\x05":
            about, (epoch, messages, units) = _numbered(body, "refusal of a grant", "epoch", "messages", "units")
            return Decline(about, epoch, Budget(messages, units))
    raise MalformedError("message", "a known kind", data[:1].hex() or "nothing", 0)


def _numbered(body: bytes, what: str, *names: str) -> tuple[str, list[int]]:
    """Return the session that a message names, and the numbers that follow it."""
    session, *rest = split(body, what, "session", *names)
    numbers = [to_number(part, what, name) for part, name in zip(rest, names, strict=True)]
    return to_text(session, what, "session"), numbers


def _grant_body(grant: Grant) -> bytes:
    where = (grant.round, grant.epoch, grant.engine, grant.channel, grant.start, grant.address)
    numbers = (*where, grant.budget.messages, grant.budget.units)
    keys = (grant.h2d, grant.mask, grant.d2h, grant.launch)
    return join(grant.session.encode("utf-8"), *map(number, numbers), *keys)


def _grant(body: bytes) -> Grant:
    names = ("round", "epoch", "engine", "channel", "start", "address", "messages", "units")
    session, *rest = split(body, "grant", "session", *names, "h2d", "mask", "d2h", "launch")
    numbers = [to_number(part, "grant", name) for name, part in zip(names, rest[: len(names)], strict=True)]
    turn, epoch, engine, channel, start, address, messages, units = numbers
    h2d, mask, d2h, launch = rest[len(names) :]
    where = to_text(session, "grant", "session")
    budget = Budget(messages, units)
    return Grant(turn, where, epoch, engine, channel, start, address, budget, h2d, mask, d2h, launch)
