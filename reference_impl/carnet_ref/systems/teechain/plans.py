"""Plans: what the name of a chain stands for: its members in line, who may vote, and the chain that it follows."""

from __future__ import annotations

from dataclasses import dataclass

from carnet_ref.crypto.primitives import SHA384_BYTES, sha384
from carnet_ref.marks import enforces
from carnet_ref.systems.teechain.errors import ChainError
from carnet_ref.wire import MalformedError, Reader, join, number, split, to_number, to_text

NONCE_BYTES = 32
FIRST = bytes(SHA384_BYTES)
"""What the first chain follows: no chain."""
_LABEL = b"carnet teechain plan"
_PLAN = "plan of a chain"


@dataclass(frozen=True, slots=True)
class Plan:
    """One chain, before it is opened.

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
        if len(self.nonce) != NONCE_BYTES or len(self.follows) != SHA384_BYTES:
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
        """The name of the chain: the digest of all that it stands for."""
        return sha384(self.encode())

    def ahead(self, member: str) -> tuple[str, ...]:
        """Return who comes before a member in the chain."""
        return self.members[: self.members.index(member)]

    @enforces("REQ-TAKE-07", "quorum")
    def has_quorum(self, voters: frozenset[str]) -> bool:
        """Whether these voters are enough. Any two such sets share a member: the recovery quorum, or more than half."""
        if self.recovery_quorum:
            return voters >= set(self.recovery_quorum)
        return 2 * len(voters & set(self.members)) > len(self.members)

    def encode(self) -> bytes:
        """Return the plan as bytes."""
        names = [each.encode() for each in (*self.members, *self.recovery_quorum)]
        return join(_LABEL, self.nonce, self.follows, number(len(self.members)), join(*names))

    @classmethod
    def decode(cls, data: bytes) -> Plan:
        """Return the plan in some bytes.

        Raises:
            ChainError: they are none.
        """
        try:
            label, nonce, follows, count, names = split(data, _PLAN, "label", "nonce", "follows", "count", "names")
            every = [to_text(each, _PLAN, "name") for each in fields(names, _PLAN)]
            members = to_number(count, _PLAN, "count")
        except MalformedError as error:
            raise ChainError(str(error)) from None
        if label != _LABEL:
            raise ChainError("no plan")
        return cls(nonce, follows, tuple(every[:members]), tuple(every[members:]))


def fields(data: bytes, what: str) -> list[bytes]:
    """Return all fields of a list of any length.

    Raises:
        MalformedError: one is cut short.
    """
    reader, found = Reader(data, what), list[bytes]()
    while reader.remaining:
        found.append(reader.take(reader.number(4, "length"), "field"))
    return found
