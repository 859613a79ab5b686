"""The head of a chain: it makes the plan, lists members, proposes entries, and takes over from the previous chain."""

from __future__ import annotations

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.systems.devices import point, refused_as
from carnet_ref.systems.teechain.chain import (
    FIRST,
    VOTE,
    Log,
    Plan,
    Seat,
    Update,
    check_log_signature,
    check_signature,
    draw_key,
    encode_log,
    open_entry,
    open_log,
    seal_entry,
    word,
)
from carnet_ref.systems.teechain.replica import ANSWER, CALL, FREEZE, ROSTER, WELCOME, Replica, link_key
from carnet_ref.systems.teechain.tee import ChainError, Quote, QuoteError
from carnet_ref.wire import MalformedError, join, number, split, to_number


class Primary:
    """A replica as the head, or future head, of one chain.

    The key that it draws for the chain is in the chain's plan, so no other launch can open it.

    Args:
        replica: whose launch it is.
        members: who comes after it in the chain, in line.
        recovery_quorum: who has to vote for the next chain; nobody in particular if there are none.
        follows: the plan of the chain that it takes over from.
    """

    def __init__(
        self,
        replica: Replica,
        members: tuple[str, ...],
        recovery_quorum: tuple[str, ...] = (),
        follows: Plan | None = None,
    ) -> None:
        self.replica, self._checks = replica, replica.checks
        self._key, self._share = draw_key(replica.random), primitives.X25519Share(replica.random(primitives.KEY_BYTES))
        before = FIRST if follows is None else follows.name
        self.plan = Plan(primitives.sha256(point(self._key)), before, (replica.name, *members), recovery_quorum)
        self._polled: dict[str, Log] = {}
        self._ends: dict[str, int] = {}
        self._acknowledged: set[int] = set()

    @classmethod
    def again(cls, replica: Replica, chain: bytes) -> Primary:
        """Return the head of a chain that a replica has restored; its entries have to be acknowledged again.

        Raises ChainError if it is not the head of such a chain.
        """
        seat = replica.seat(chain)
        if seat.plan.head != replica.name:
            raise ChainError(f"{replica.name} is not the head of {chain.hex()[:16]}…")
        primary = cls(replica, seat.plan.members[1:])
        primary.plan, primary._key = seat.plan, seat.key
        return primary

    @property
    def seat(self) -> Seat:
        """The replica's seat in the chain, once it is open."""
        return self.replica.seat(self.plan.name)

    @enforces("REQ-SETUP-01")
    def open_first(self, agreed: bytes) -> None:
        """Open the first chain, whose name ``agreed`` the holders agreed on.

        Raises ChainError if this is not it, or it is open.
        """
        if self.plan.name != agreed or self.plan.follows != FIRST:
            raise ChainError("this is not the first chain that was agreed on")
        self.open_after(0, {})

    def poll_request(self) -> bytes:
        """Return the message that asks a member of the previous chain for its vote."""
        return join(FREEZE, self.plan.encode())

    @enforces("REQ-TAKE-04", "REQ-TAKE-05", "LIVE-VOTE-POLLED", "from-the-chain", "vote-bound")
    def poll(self, vote: bytes) -> None:
        """Accept a vote for this chain, with the voter's log.

        Raises ChainError if the replica is no member of the chain before, or the vote is not by one, or not for this
        chain.
        """
        before = self.replica.seat(self.plan.follows)
        with refused_as(ChainError, MalformedError, UnicodeDecodeError):
            outer, label, sealed, signature = split(vote, "vote", "kind", "label", "log", "signature")
            kind, chain, named, voted_for, end = split(label, "vote", "kind", "chain", "member", "next", "number")
            ends, member = to_number(end, "vote", "number"), named.decode()
        if {outer, kind} != {VOTE} or chain != self.plan.follows:
            raise ChainError("no vote in the chain before this one")
        check_signature(before.listed_key(member), signature, join(label, sealed), f"the vote of {member}")
        if voted_for != self.plan.name and self._checks.insist_on("vote-bound"):
            raise ChainError(f"the vote of {member} is for {voted_for.hex()[:16]}…")
        log = open_log(before.secret, label, sealed)
        for at, logged in log.items():
            check_log_signature(
                before.listed_key(before.plan.head), logged.proposed, chain, before.plan.head, at, logged.entry
            )
        self._polled[member], self._ends[member] = log, ends

    @enforces("REQ-TAKE-06", "REQ-TAKE-07", "LIVE-CHAIN-OPENED", "quorum", "newest-log")
    def take_over(self) -> None:
        """Open the chain with the votes of a quorum, continuing the newest log among them.

        Raises ChainError if there is no quorum, or the chain is open.
        """
        before = self.replica.seat(self.plan.follows)
        if not before.plan.has_quorum(frozenset(self._polled)) and self._checks.insist_on("quorum"):
            raise ChainError(f"{len(self._polled)} votes are no quorum of {len(before.plan.members)} members")
        history, start = dict(before.history), before.start
        if self._checks.insist_on("newest-log"):
            for log in self._polled.values():
                history |= log
            start = max((start, *self._ends.values(), *history))
        self.open_after(start, history)

    def open_after(self, start: int, history: Log) -> None:
        """Open the chain after entry ``start``, without votes. Raises ChainError if it is open."""
        seat = Seat(self.plan, self.replica.name, self._key, start, history=history)
        seat.secret, seat.roster[seat.member] = self.replica.random(primitives.KEY_BYTES), seat.point
        self.replica.take_seat(seat)

    def call(self) -> bytes:
        """Return the call to the members: the plan, the start, and a quote that binds them and the key."""
        said = join(CALL, self.plan.name, number(self.seat.start), self.seat.point, self._share.public)
        return join(CALL, self.plan.encode(), number(self.seat.start), self.replica.tee.quote(said).encode())

    @enforces("REQ-SETUP-03", "REQ-SETUP-04", "quote-bound", "quote-certificate", "quote-measurement")
    def enlist(self, answer: bytes) -> bytes:
        """List the key of a member that answered, advance the counter, and return its welcome.

        Raises QuoteError if the replica's policy refuses its quote; ChainError if the answer is malformed, or its
        sender is no member or is listed already.
        """
        with refused_as(ChainError, MalformedError, UnicodeDecodeError):
            kind, chain, named, key, share, quoted = split(
                answer, "answer", "kind", "chain", "name", "key", "share", "quote"
            )
            member = named.decode()
        seat, quote = self.seat, Quote.decode(quoted)
        if kind != ANSWER or chain != self.plan.name or member not in self.plan.members:
            raise ChainError(f"{member} is no member of this chain")
        if member in seat.roster:
            raise ChainError(f"{member} is listed already")
        self.replica.policy.check(quote, self._checks)
        if quote.said != join(ANSWER, chain, named, key, share) and self._checks.insist_on("quote-bound"):
            raise QuoteError("it is for another key")
        link = link_key(self._share, share, chain, member)
        seat.roster[member] = key
        seat.version += 1
        if self._checks.insist_on("increment-first"):
            self.replica.count(chain)
        inside = join(seat.secret, encode_log(seat.history))
        return join(WELCOME, chain, primitives.AesGcm(link).encrypt(bytes(primitives.NONCE_BYTES), inside, chain))

    def roster(self) -> bytes:
        """Return the list of keys so far, signed by the head."""
        listed = join(*(part for name, key in self.seat.roster.items() for part in (name.encode(), key)))
        chain = self.plan.name
        return join(ROSTER, chain, listed, primitives.sign_p384(self._key, join(ROSTER, chain, listed)))

    @enforces("REQ-ISSUE-01", "issue-grows", "freeze")
    def log(self, entry: bytes, at: int | None = None) -> int:
        """Log an entry at the head, and return its number; nothing is sent yet.

        Raises ChainError if the number comes no later than another, or the chain is frozen here.
        """
        chosen = self.seat.last + 1 if at is None else at
        self.replica.insist_new(self.plan.name, chosen)
        proposed = word(self._key, self.plan.name, self.replica.name, chosen, entry)
        self.replica.keep(self.seat, chosen, entry, proposed)
        return chosen

    def pass_on(self, at: int) -> bytes:
        """Return the update with a logged and counted entry, for the next member.

        Raises ChainError if the entry is not logged, or not counted.
        """
        if at not in self.seat.log:
            raise ChainError(f"entry {at} is not logged")
        self.replica.insist_counted(self.seat, at)
        return self.sealed_entry(at)

    def sealed_entry(self, at: int) -> bytes:
        """Return the update for an entry without checking that it is counted."""
        seat, chain = self.seat, self.plan.name
        sealed = seal_entry(seat.secret, chain, at, seat.log[at].entry)
        return Update(chain, at, sealed, ((self.replica.name, seat.log[at].proposed),)).encode()

    def propose(self, entry: bytes) -> bytes:
        """Log and count an entry, and return the update for the next member.

        Raises ChainError if the chain is frozen here.
        """
        at = self.log(entry)
        self.replica.count(self.plan.name)
        return self.pass_on(at)

    @enforces("REQ-ISSUE-04", "LIVE-EPOCH-GRANTED", "every-member")
    def issue(self, update: bytes) -> int:
        """Accept the acknowledgement of the tail with the signatures of all members; only then does the entry count.

        Raises ChainError if a word is missing or wrong, or it is another entry than the head logged.
        """
        back, seat = Update.decode(update), self.seat
        if back.chain != self.plan.name or back.at not in seat.log:
            raise ChainError("the acknowledgement is of no entry of this chain")
        entry, words = open_entry(seat.secret, back), dict(back.words)
        if entry != seat.log[back.at].entry:
            raise ChainError(f"entry {back.at} is another one")
        self.replica.insist_counted(seat, back.at)
        asked = self.plan.members if self._checks.insist_on("every-member") else (self.plan.tail,)
        for member in asked:
            check_log_signature(seat.listed_key(member), words.get(member, b""), back.chain, member, back.at, entry)
        self._acknowledged.add(back.at)
        return back.at

    @property
    def acknowledged_entries(self) -> frozenset[int]:
        """The numbers of the entries that count."""
        return frozenset(self._acknowledged)
