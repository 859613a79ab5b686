"""A chain: its plan, signatures of members, sealed entries and logs, and the state of a member."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.systems.devices import point, refused_as, verify_under
from carnet_ref.systems.teechain.tee import ChainError, SealedStateError
from carnet_ref.wire import MalformedError, Reader, join, number, split, to_number, to_text

PLAN_NONCE_BYTES = 32
FIRST = bytes(primitives.SHA384_BYTES)  #: What the first chain follows: no chain.
_CHAIN_PLAN = b"carnet teechain plan"
_PLAN = "plan of a chain"


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one chain, before it is opened.

    Args:
        nonce: drawn once, so that no two chains have a name in common.
        follows: the name of the chain that it takes over from, or ``FIRST``.
        members: their names, in line; the first is the head.
        recovery_quorum: who all have to vote for a chain that takes this one over; if there are none, more than half
            of the members have to.
    """

    nonce: bytes
    follows: bytes
    members: tuple[str, ...]
    recovery_quorum: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.nonce) != PLAN_NONCE_BYTES or len(self.follows) != primitives.SHA384_BYTES:
            raise ChainError("a plan without a nonce, or without the chain that it follows")
        if not self.members or len(set(self.members)) != len(self.members):
            raise ChainError("a plan needs members, each once")
        if not set(self.recovery_quorum) <= set(self.members):
            raise ChainError("an heir that is no member")

    @property
    def head(self) -> str:
        """The primary."""
        return self.members[0]

    @property
    def tail(self) -> str:
        """The last member."""
        return self.members[-1]

    @property
    def name(self) -> bytes:
        """The name of the chain: the digest of its plan."""
        return primitives.sha384(self.encode())

    def ahead(self, member: str) -> tuple[str, ...]:
        """Return the members before ``member`` in the chain."""
        return self.members[: self.members.index(member)]

    @enforces("REQ-TAKE-07", "quorum")
    def has_quorum(self, voters: frozenset[str]) -> bool:
        """Whether the voters are a quorum: the recovery quorum, or more than half. Two quorums share a member."""
        if self.recovery_quorum:
            return voters >= set(self.recovery_quorum)
        return 2 * len(voters & set(self.members)) > len(self.members)

    def encode(self) -> bytes:
        """Return the encoded plan."""
        names = [each.encode() for each in (*self.members, *self.recovery_quorum)]
        return join(_CHAIN_PLAN, self.nonce, self.follows, number(len(self.members)), join(*names))

    @classmethod
    def decode(cls, data: bytes) -> Plan:
        """Return the plan in some bytes. Raises ChainError if they are malformed."""
        with refused_as(ChainError, MalformedError):
            label, nonce, follows, count, names = split(data, _PLAN, "label", "nonce", "follows", "count", "names")
            every = [to_text(each, _PLAN, "name") for each in fields(names, _PLAN)]
            members = to_number(count, _PLAN, "count")
        if label != _CHAIN_PLAN:
            raise ChainError("no plan")
        return cls(nonce, follows, tuple(every[:members]), tuple(every[members:]))


def fields(data: bytes, what: str) -> list[bytes]:
    """Return the fields of an encoded list. Raises MalformedError if one is cut short."""
    reader, found = Reader(data, what), list[bytes]()
    while reader.remaining:
        found.append(reader.take(reader.number(4, "length"), "field"))
    return found


UPDATE = b"update"
VOTE = b"vote"
_WORD = b"carnet teechain word"
_ENTRY = b"carnet teechain entry"
_LOG = b"carnet teechain log"
_ONCE = bytes(primitives.NONCE_BYTES)  #: The IV of a key that seals one message.


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry in a replica's log: its content, the head's signature, and the replica's state."""

    entry: bytes
    proposed: bytes
    version: int = 0


Log = dict[int, Logged]  #: The entries of one chain, by number.


def word(key: ec.EllipticCurvePrivateKey, chain: bytes, member: str, at: int, entry: bytes) -> bytes:
    """Return a member's signature that it logged an entry."""
    return primitives.sign_p384(key, _word(chain, member, at, entry))


def check_log_signature(point: bytes, signature: bytes, chain: bytes, member: str, at: int, entry: bytes) -> None:
    """Check a member's signature on an entry that it logged. Raises ChainError if it does not verify."""
    check_signature(point, signature, _word(chain, member, at, entry), f"the word of {member} on entry {at}")


def check_signature(point: bytes, signature: bytes, signed: bytes, what: str) -> None:
    """Check a signature under a listed key. Raises ChainError if it does not verify."""
    with refused_as(ChainError, primitives.AuthenticationError, ValueError):
        verify_under(point, signature, signed, what)


def _word(chain: bytes, member: str, at: int, entry: bytes) -> bytes:
    return join(_WORD, chain, member.encode(), number(at), primitives.sha384(entry))


@dataclass(frozen=True, slots=True)
class Update:
    """An entry on its way down the chain, with the signatures of all members that logged it."""

    chain: bytes
    at: int
    sealed: bytes
    words: tuple[tuple[str, bytes], ...]

    def encode(self) -> bytes:
        """Return the encoded update."""
        words = join(*(part for name, signature in self.words for part in (name.encode(), signature)))
        return join(UPDATE, self.chain, number(self.at), self.sealed, words)

    @classmethod
    def decode(cls, data: bytes) -> Update:
        """Return the update in some bytes. Raises ChainError if they are malformed."""
        with refused_as(ChainError, MalformedError):
            label, chain, at, sealed, words = split(data, "update", "label", "chain", "number", "entry", "words")
            parts = fields(words, "update")
            names = [to_text(each, "update", "name") for each in parts[::2]]
            counted = to_number(at, "update", "number")
        if label != UPDATE or len(parts) % 2:
            raise ChainError("no update")
        return cls(chain, counted, sealed, tuple(zip(names, parts[1::2], strict=True)))


@enforces("CLAIM-IV-UNIQUE")
def seal_entry(secret: bytes, chain: bytes, at: int, entry: bytes) -> bytes:
    """Seal an entry for the members of a chain; the IV is the entry's number, which is used once."""
    return primitives.AesGcm(_key(secret, _ENTRY, chain)).encrypt(_iv(at), entry, _bound(chain, at))


def open_entry(secret: bytes, update: Update) -> bytes:
    """Return the entry in an update. Raises ChainError if it is of another chain, or was altered."""
    try:
        key = primitives.AesGcm(_key(secret, _ENTRY, update.chain))
        return key.decrypt(_iv(update.at), update.sealed, _bound(update.chain, update.at))
    except primitives.AuthenticationError as error:
        raise ChainError(f"entry {update.at} does not open: {error}") from None


def seal_log(secret: bytes, label: bytes, log: Log) -> bytes:
    """Seal a log under a key derived for ``label``."""
    return primitives.AesGcm(_key(secret, _LOG, label)).encrypt(_ONCE, encode_log(log), label)


def open_log(secret: bytes, label: bytes, sealed: bytes) -> Log:
    """Return a log that was sealed for ``label``. Raises ChainError if it was not."""
    try:
        return decode_log(primitives.AesGcm(_key(secret, _LOG, label)).decrypt(_ONCE, sealed, label))
    except primitives.AuthenticationError as error:
        raise ChainError(f"the log does not open: {error}") from None


def encode_log(log: Log) -> bytes:
    """Return the encoded log."""
    rows = ((number(at), number(log[at].version), log[at].entry, log[at].proposed) for at in sorted(log))
    return join(*(part for row in rows for part in row))


def decode_log(data: bytes) -> Log:
    """Return the log in some bytes. Raises ChainError if they are malformed."""
    with refused_as(ChainError, MalformedError):
        parts = fields(data, "log")
        numbers = [to_number(each, "log", "number") for each in parts[::4]]
        versions = [to_number(each, "log", "version") for each in parts[1::4]]
    if len(parts) % 4:
        raise ChainError("no log")
    rows = zip(numbers, parts[2::4], parts[3::4], versions, strict=True)
    return {at: Logged(entry, proposed, version) for at, entry, proposed, version in rows}


def _key(secret: bytes, label: bytes, what: bytes) -> bytes:
    return primitives.hkdf_sha384(secret, what, label, primitives.KEY_BYTES)


def _iv(at: int) -> bytes:
    return at.to_bytes(primitives.NONCE_BYTES, "big")


def _bound(chain: bytes, at: int) -> bytes:
    return join(_ENTRY, chain, number(at))


_STATE = "sealed state"


@dataclass(slots=True)
class Seat:
    """A replica's membership in one chain."""

    plan: Plan  #: what the chain is.
    member: str  #: the replica's name in it.
    key: ec.EllipticCurvePrivateKey  #: its own key in this chain, which no other launch has.
    start: int  #: the number after which the chain starts.
    version: int = 0  #: counts the changes of this state.
    secret: bytes = b""  #: what entries are sealed under, once the head has sent it.
    roster: dict[str, bytes] = field(default_factory=dict)  #: the keys that the head listed.
    history: Log = field(default_factory=dict)  #: the entries of the chains before.
    log: Log = field(default_factory=dict)  #: the entries of this chain.
    voted: bytes = b""  #: the name of the chain that the replica froze this one for.

    @property
    def last(self) -> int:
        """The number of the last entry, or of the entry after which the chain starts."""
        return max(self.log, default=self.start)

    @property
    def point(self) -> bytes:
        """The public key."""
        return point(self.key)

    def listed_key(self, member: str) -> bytes:
        """Return the listed key of a member. Raises ChainError if it has none."""
        if member not in self.roster:
            raise ChainError(f"{member} is not on the list of the chain")
        return self.roster[member]

    def encode(self) -> bytes:
        """Return the encoded seat."""
        private = self.key.private_numbers().private_value.to_bytes(primitives.P384_BYTES, "big")
        roster = join(*(part for name, each in self.roster.items() for part in (name.encode(), each)))
        numbers = (number(self.start), number(self.version))
        logs = (encode_log(self.history), encode_log(self.log))
        return join(self.plan.encode(), self.member.encode(), private, *numbers, self.secret, roster, *logs, self.voted)

    @classmethod
    def decode(cls, data: bytes) -> Seat:
        """Return the seat in some bytes. Raises SealedStateError if they are malformed."""
        names = ("plan", "member", "key", "start", "version", "secret", "roster", "history", "log", "voted")
        with refused_as(SealedStateError, MalformedError, ChainError, ValueError):
            plan, member, private, start, version, secret, roster, history, log, voted = split(data, _STATE, *names)
            keys = fields(roster, _STATE)
            return cls(
                plan=Plan.decode(plan),
                member=to_text(member, _STATE, "member"),
                key=ec.derive_private_key(int.from_bytes(private, "big"), ec.SECP384R1()),
                start=to_number(start, _STATE, "start"),
                version=to_number(version, _STATE, "version"),
                secret=secret,
                roster=dict(zip((each.decode() for each in keys[::2]), keys[1::2], strict=True)),
                history=decode_log(history),
                log=decode_log(log),
                voted=voted,
            )


def draw_key(random: primitives.Random) -> ec.EllipticCurvePrivateKey:
    """Draw a key for one chain. Source: FIPS 186-5, A.2.1."""
    return ec.derive_private_key(int.from_bytes(random(64), "big") % (_ORDER - 1) + 1, ec.SECP384R1())


#: Source: NIST SP 800-186, section 3.2.1.4.
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973
