"""The custody log: an entry counts once every member has logged it, and a next primary continues the log.

The three calls of a journal are here, on a chain of replicas in place of a disk. ``take_over`` opens the next chain,
with the members that still answer. A holder takes only a grant that is meant for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from carnet_ref.crypto.primitives import sign_p384
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import refused_as
from carnet_ref.systems.teechain.chain import Plan, check_signature, fields
from carnet_ref.systems.teechain.primary import Primary
from carnet_ref.systems.teechain.replica import read_said
from carnet_ref.systems.teechain.tee import ChainError, Policy, Quote, QuoteError, SilentMemberError, TeechainError
from carnet_ref.wire import MalformedError, join, number, split, to_number

#: Carries a message to a member and returns its answer; raises ``ConnectionError`` if there is none.
Carry = Callable[[str, bytes], bytes]


@dataclass(slots=True)
class CustodyLog:
    """The log of one chain, at its head.

    An entry that no answer came to is pending: it stays logged, it does not count yet, and ``append`` sends it again
    before anything else. So an entry that was acknowledged comes after all entries before it.

    Args:
        primary: the head.
        carry: what brings messages to the members.
    """

    primary: Primary
    carry: Carry
    _pending: list[int] = field(default_factory=list)

    @property
    def chain(self) -> bytes:
        """The name of the chain."""
        return self.primary.plan.name

    def append(self, kind: str, payload: bytes) -> int:
        """Append an entry; return its number once every member has logged it.

        Raises SilentMemberError if a member does not answer; the entry is pending. Raises ChainError if the chain is
        frozen, or a member refuses; nothing that counts is lost.
        """
        self.resume()
        at = self.primary.log(join(kind.encode(), payload))
        self._pending.append(at)
        self.resume()
        return at

    def resume(self) -> None:
        """Send every pending entry again, in order.

        Raises SilentMemberError if a member does not answer; ChainError if a member refuses.
        """
        while self._pending:
            self.primary.replica.count(self.chain)
            update = self.primary.pass_on(self._pending[0])
            for member in self.primary.plan.members[1:]:
                update = ask(self.carry, member, update)
            self.primary.issue(update)
            del self._pending[0]

    def last(self, kind: str) -> bytes | None:
        """Return the last acknowledged entry of a kind, or None."""
        return next(iter(reversed(self.all(kind))), None)

    def all(self, kind: str) -> list[bytes]:
        """Return every acknowledged entry of a kind, in order."""
        return [payload for each, payload in self.entries() if each == kind]

    def entries(self) -> list[tuple[str, bytes]]:
        """Return all acknowledged entries, including those of earlier chains."""
        seat = self.primary.seat
        counting = {at: each for at, each in seat.log.items() if at in self.primary.acknowledged_entries}
        every = seat.history | counting
        return [_parted(every[at].entry) for at in sorted(every)]

    def __len__(self) -> int:
        """Return how many entries count."""
        return len(self.entries())


def open_first_chain(primary: Primary, carry: Carry) -> CustodyLog:
    """Open the first chain, let its members join, and return its log.

    Raises SilentMemberError if a member does not answer; TeechainError if an answer is refused.
    """
    primary.open_first(primary.plan.name)
    return let_members_join(primary, carry)


def take_over(primary: Primary, before: Plan, carry: Carry) -> CustodyLog:
    """Collect the votes of the previous chain's members, open the next chain, and return its log.

    Members that do not answer, or are not what they were, are passed over.

    Raises ChainError if no quorum voted; SilentMemberError if a member of the next chain does not answer; TeechainError
    if the answer of a member of the next chain is refused.
    """
    request = primary.poll_request()
    for member in before.members:
        try:
            own = member == primary.replica.name
            primary.poll(primary.replica.handle(request) if own else ask(carry, member, request))
        except TeechainError:
            continue
    primary.take_over()
    return let_members_join(primary, carry)


def go_on(primary: Primary, carry: Carry) -> CustodyLog:
    """Return the log of a chain whose head restarted from sealed state, once all entries are acknowledged again.

    Raises SilentMemberError if a member does not answer. Raises ChainError if a member refuses; the chain is frozen,
    perhaps.
    """
    log = CustodyLog(primary, carry, sorted(primary.seat.log))
    log.resume()
    return log


def let_members_join(primary: Primary, carry: Carry) -> CustodyLog:
    """Enlist the members of an open chain, send each the roster, and return the log of the chain.

    Raises SilentMemberError if a member does not answer; TeechainError if an answer is refused.
    """
    for member in primary.plan.members[1:]:
        welcome = primary.enlist(ask(carry, member, primary.call()))
        ask(carry, member, welcome)
    for member in primary.plan.members[1:]:
        ask(carry, member, primary.roster())
    primary.replica.count(primary.plan.name)
    return CustodyLog(primary, carry)


def ask(carry: Carry, member: str, message: bytes) -> bytes:
    """Return a member's answer. Raises SilentMemberError if there is none."""
    try:
        return carry(member, message)
    except ConnectionError:
        raise SilentMemberError(member) from None


def _parted(entry: bytes) -> tuple[str, bytes]:
    kind, payload = fields(entry, "entry")
    return kind.decode(), payload


_GRANT = b"carnet teechain grant"


def entry_for(holder: str) -> bytes:
    """Return the entry, of kind ``grant``, that gives an epoch to a holder."""
    return join(b"grant", holder.encode())


@enforces("REQ-ISSUE-04")
def grant(primary: Primary, at: int, holder: str) -> bytes:
    """Return the signed grant of an acknowledged entry, for the holder that it names.

    Raises ChainError if it does not count yet, or is for another holder.
    """
    if at not in primary.acknowledged_entries:
        raise ChainError(f"entry {at} does not count yet")
    if primary.seat.log[at].entry != entry_for(holder):
        raise ChainError(f"entry {at} is not for {holder}")
    return sign_grant(primary, at, holder)


def sign_grant(primary: Primary, at: int, holder: str) -> bytes:
    """Return a grant signed by the head, without checking that the entry is acknowledged."""
    body = join(_GRANT, primary.plan.name, number(at), holder.encode())
    return join(body, primary.call(), sign_p384(primary.seat.key, body))


@dataclass(frozen=True, slots=True)
class Holder:
    """A holder of custody, with its policy for quotes."""

    name: str
    policy: Policy
    checks: Checks = EVERY

    @enforces("REQ-HOLDER-01", "REQ-HOLDER-02", "LIVE-GRANT-TAKEN", "grant-holder", "holder-check")
    def take(self, granted: bytes) -> int:
        """Return the epoch of a valid grant for this holder.

        Raises QuoteError if the policy refuses the head's quote; ChainError if the head did not sign the grant, or it
        names another holder.
        """
        with refused_as(ChainError, MalformedError):
            body, call, signature = split(granted, "grant", "body", "call", "signature")
            label, chain, at, named = split(body, "grant", "label", "chain", "number", "holder")
            epoch = to_number(at, "grant", "number")
            said_chain, _, key, _ = read_said(call)
            quote = Quote.decode(split(call, "call", "kind", "plan", "start", "quote")[3])
        if self.checks.insist_on("holder-check"):
            self.policy.check(quote)
        if chain != said_chain or label != _GRANT:
            raise QuoteError("it is of another chain")
        check_signature(key, signature, body, "the grant")
        if named != self.name.encode() and self.checks.insist_on("grant-holder"):
            raise ChainError(f"the grant is for {named.decode(errors='replace')}")
        return epoch
