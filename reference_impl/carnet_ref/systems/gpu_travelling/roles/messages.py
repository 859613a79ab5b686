"""The messages between the parties: the manifest of a job, channels with their messages, and session frames.

A channel between a holder and the orchestrator is HPKE to an ephemeral key, then records that both sides count. The
orchestrator is the sender; its records are HPKE's. The holder's go under a key and a nonce that are exported, and so is
what evidence is bound to. The handshake authenticates nobody: the orchestrator's quote and the holder's enrolment proof
are bound to the exporter afterwards, inside the channel, since a quote inside the handshake can be relayed.

Source: RFC 9180, sections 5.3 and 9.8; Sardar et al., Identity Crisis (post-handshake binding).
"""

from dataclasses import dataclass, field
from typing import Final

from carnet_ref.crypto import hpke
from carnet_ref.crypto.primitives import KEY_BYTES, NONCE_BYTES, Random, X25519Share, sha384
from carnet_ref.keys import Budget, LinkKeys
from carnet_ref.systems.gpu_travelling.codec import Codec
from carnet_ref.transport.frames import Send
from carnet_ref.wire import MalformedError, join


@dataclass(frozen=True, slots=True)
class Manifest:
    """The public description of a job: code, first model, holders, schedule."""

    code_digest: bytes
    model_digest: bytes
    holders: tuple[str, ...]
    schedule: str

    def encode(self) -> bytes:
        """Return the bytes that the orchestrator's quote commits to."""
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
    """The second message of a channel, in the clear: a key share, and the first message's share."""

    share: bytes
    to: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """A sealed message of a channel, with the channel's name."""

    channel: bytes
    sealed: bytes


@dataclass(frozen=True, slots=True)
class NoChannel:
    """The reply that a channel does not exist or was lost; without a name, that there is none at all.

    Believed for no more than to start again.
    """

    channel: bytes = b""


Envelope = Hello | Answer | Record | NoChannel


@dataclass(frozen=True, slots=True)
class OrchestratorEvidence:
    """The orchestrator's evidence, and the name of the GPU session that it is about."""

    evidence: bytes
    session: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A holder's signature over the channel's exporter with its enrolment key."""

    signature: bytes


@dataclass(frozen=True, slots=True)
class Grant:
    """The right to fill the dataset buffer: the host-to-device key, its first IV, and the address.

    ``budget`` is how much of the key the holder may use. ``d2h`` and ``launch`` are empty: those halves are never lent.
    """

    session: str
    round: int
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
        """Return the lent keys, for the holder's end of the link."""
        return LinkKeys(self.epoch, holder, self.engine, self.channel, self.h2d, self.d2h, self.mask)


@dataclass(frozen=True, slots=True)
class Return:
    """The return of the GPU: the epoch, the number of used messages, and the bytes in them."""

    session: str
    epoch: int
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Decline:
    """The refusal of a grant, because its key budget is too small for the holder's data."""

    session: str
    epoch: int
    needs: Budget


Message = OrchestratorEvidence | Proof | Grant | Return | Decline

_ENVELOPES: Final = Codec[Envelope]("channel message", {1: Hello, 2: Answer, 3: Record, 4: NoChannel})
encode_envelope, parse_envelope = _ENVELOPES.encode, _ENVELOPES.parse
_NAMES: Final = {OrchestratorEvidence: "evidence", Proof: "enrolment proof", Grant: "grant", Return: "return"}
_MESSAGES: Final = Codec[Message](
    "message",
    {1: OrchestratorEvidence, 2: Proof, 3: Grant, 4: Return, 5: Decline},
    {**_NAMES, Decline: "refusal of a grant"},
)
encode_message, parse_message = _MESSAGES.encode, _MESSAGES.parse
_INFO: Final = b"carnet channel 1"
EXPORTER_BYTES: Final = 48
NAME_BYTES: Final = 16


class Channel:
    """One end of an established channel; records are opened in order, each once.

    ``name`` is public, and the same at both ends: it tells the records of one channel from those of the one before.
    """

    def __init__(self, context: hpke.Context, handshake: bytes, initiator: bool) -> None:
        answers = hpke.Direction(context.export(b"key", KEY_BYTES), context.export(b"nonce", NONCE_BYTES))
        self._sealer, self._opener = (answers, context.messages) if initiator else (context.messages, answers)
        self.exporter = context.export(b"exporter", EXPORTER_BYTES)
        self.name = sha384(handshake)[:NAME_BYTES]

    def seal(self, message: bytes) -> bytes:
        """Return the next record."""
        return self._sealer.seal(message)

    def open(self, record: bytes) -> bytes:
        """Return the content of the next record. Raises AuthenticationError if ``record`` is another one."""
        return self._opener.open(record)


class Initiator:
    """The holder's part of the handshake."""

    def __init__(self, random: Random) -> None:
        self._share = X25519Share(random(KEY_BYTES))
        self.hello = self._share.public

    def finish(self, answer: bytes) -> Channel:
        """Return the channel established by the other end's answer. Raises KeyMaterialError if it is no key share."""
        return Channel(hpke.recipient(self._share, answer, _INFO), self.hello + answer, initiator=True)


def respond(hello: bytes, random: Random) -> tuple[bytes, Channel]:
    """Return the answer to a hello, and the channel. Raises KeyMaterialError if the hello is no key share."""
    answer, context = hpke.sender(hello, random(KEY_BYTES), _INFO)
    return answer, Channel(context, hello + answer, initiator=False)


ATTEMPTS: Final = 128  #: Attempts at a session are counted modulo this.
#: The label of the launch key. Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h.
LAUNCH_LABEL: Final = "cpu_sec2_hmac_user"


def add_tag(orders: bool, attempt: int, message: bytes) -> bytes:
    """Return the body of a session frame: whether it is an order or a report, its attempt, and the message.

    Attempts tell what is late from what is new; nothing but availability rests on them.
    """
    return bytes([attempt << 1 | orders]) + message


HANDSHAKE: Final = add_tag(False, 0, b"")  #: The tag of a session's own messages from somebody who counts no attempts.


def inside(frame: Send) -> bytes:
    """Return the message that a session frame carries, as both ends see it."""
    return split_tag(frame.body)[2]


def split_tag(body: bytes) -> tuple[bool, int, bytes]:
    """Return what `add_tag` put together. Raises MalformedError if there is nothing."""
    if not body:
        raise MalformedError("session frame", "a tag", "nothing")
    return bool(body[0] & 1), body[0] >> 1, body[1:]


def grant_digest(epoch: str, holder: str) -> bytes:
    """Return what stands for a grant where it is attested: whose epoch it is, and no key."""
    return sha384(join(b"carnet grant 1", epoch.encode("utf-8"), holder.encode("utf-8")))
