"""A seat: all that a replica keeps for one chain, and how it is sealed for its own later launches."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import P384_BYTES, Random
from carnet_ref.systems.teechain.errors import ChainError, SealedStateError
from carnet_ref.systems.teechain.plans import Plan, fields
from carnet_ref.systems.teechain.tee import point
from carnet_ref.systems.teechain.words import Log, decode_log, encode_log
from carnet_ref.wire import MalformedError, join, number, split, to_number, to_text

_STATE = "sealed state"


@dataclass(slots=True)
class Seat:
    """A replica's place in one chain.

    Attributes:
        plan: what the chain is.
        member: the replica's name in it.
        key: its own key in this chain, which no other launch has.
        start: the number after which the chain starts.
        version: counts the changes of this state.
        secret: what entries are sealed under, once the head has sent it.
        roster: the keys that the head listed.
        history: the entries of the chains before.
        log: the entries of this chain.
        voted: the name of the chain that the replica froze this one for.
    """

    plan: Plan
    member: str
    key: ec.EllipticCurvePrivateKey
    start: int
    version: int = 0
    secret: bytes = b""
    roster: dict[str, bytes] = field(default_factory=dict)
    history: Log = field(default_factory=dict)
    log: Log = field(default_factory=dict)
    voted: bytes = b""

    @property
    def last(self) -> int:
        """The number of the last entry, or the number after which the chain starts."""
        return max(self.log, default=self.start)

    @property
    def point(self) -> bytes:
        """The public half of the key."""
        return point(self.key)

    def listed(self, member: str) -> bytes:
        """Return the listed key of a member.

        Raises:
            ChainError: it has none.
        """
        if member not in self.roster:
            raise ChainError(f"{member} is not on the list of the chain")
        return self.roster[member]

    def encode(self) -> bytes:
        """Return the seat as bytes."""
        private = self.key.private_numbers().private_value.to_bytes(P384_BYTES, "big")
        roster = join(*(part for name, each in self.roster.items() for part in (name.encode(), each)))
        numbers = (number(self.start), number(self.version))
        logs = (encode_log(self.history), encode_log(self.log))
        return join(self.plan.encode(), self.member.encode(), private, *numbers, self.secret, roster, *logs, self.voted)

    @classmethod
    def decode(cls, data: bytes) -> Seat:
        """Return the seat in some bytes.

        Raises:
            SealedStateError: they are none.
        """
        names = ("plan", "member", "key", "start", "version", "secret", "roster", "history", "log", "voted")
        try:
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
        except (MalformedError, ChainError, ValueError) as error:
            raise SealedStateError(str(error)) from None


def draw_key(random: Random) -> ec.EllipticCurvePrivateKey:
    """Draw a key for one chain. Source: FIPS 186-5, A.2.1."""
    return ec.derive_private_key(int.from_bytes(random(64), "big") % (_ORDER - 1) + 1, ec.SECP384R1())


_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973
"""Source: NIST SP 800-186, section 3.2.1.4."""
