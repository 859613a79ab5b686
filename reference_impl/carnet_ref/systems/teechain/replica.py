"""A replica: it joins chains, logs entries, counts before it sends, and hands its log to one next chain."""

from collections.abc import Callable

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import refused_as
from carnet_ref.systems.teechain.chain import (
    UPDATE,
    VOTE,
    Logged,
    Plan,
    Seat,
    Update,
    check_log_signature,
    check_signature,
    decode_log,
    draw_key,
    fields,
    open_entry,
    seal_log,
    word,
)
from carnet_ref.systems.teechain.tee import ChainError, Policy, Quote, QuoteError, SealedStateError, Tee
from carnet_ref.wire import MalformedError, join, number, split, to_number

CALL, ANSWER, WELCOME, ROSTER, FREEZE = b"call", b"answer", b"welcome", b"roster", b"freeze"
_LINK = b"carnet teechain link"
#: Keeps a sealed state for the chain of that name, beside the one before: a crash may leave the counter at either.
Store = Callable[[bytes, bytes], None]


class Replica:
    """One launch of the custody program on a platform.

    Args:
        name: what chains call it.
        tee: the platform below, which other launches share.
        policy: whom it takes quotes from.
        random: where keys come from.
        checks: what it insists on; a weakened design waives some.
        store: keeps the newest sealed state of a chain; without it, what a launch knows dies with it.
    """

    def __init__(
        self,
        name: str,
        tee: Tee,
        policy: Policy,
        random: primitives.Random,
        checks: Checks = EVERY,
        store: Store = lambda chain, sealed: None,
    ) -> None:
        self.name, self.tee, self.policy, self.random, self.checks = name, tee, policy, random, checks
        self._store = store
        self._seats: dict[bytes, Seat] = {}
        self._counted: dict[bytes, int] = {}
        self._links: dict[bytes, bytes] = {}

    def seat(self, chain: bytes) -> Seat:
        """Return the replica's seat in a chain. Raises ChainError if it is no member."""
        if chain not in self._seats:
            raise ChainError(f"{self.name} is no member of {chain.hex()[:16]}…")
        return self._seats[chain]

    def let_in(self, chain: bytes) -> Seat:
        """Return the replica's seat in a chain to which its head has welcomed it.

        Raises ChainError if it is no member, or has had no welcome.
        """
        seat = self.seat(chain)
        if not seat.secret:
            raise ChainError(f"{self.name} has had no welcome to {chain.hex()[:16]}…")
        return seat

    def take_seat(self, seat: Seat) -> None:
        """Store a new seat. Raises ChainError if the replica is a member already."""
        chain = seat.plan.name
        if chain in self._seats:
            raise ChainError(f"{self.name} is a member of {chain.hex()[:16]}… already")
        self._seats[chain] = seat

    def handle(self, message: bytes) -> bytes:
        """Return the answer to a message of another member; empty if none is due.

        Raises TeechainError if the message is refused; nothing has changed.
        """
        kind = _fields(message)[0]
        if kind == CALL:
            return self.join(message)
        if kind == UPDATE:
            return self.update(message)
        if kind == FREEZE:
            return self.freeze(message)
        if kind == WELCOME:
            self.welcome(message)
        elif kind == ROSTER:
            self.count(self.take_roster(message))
        else:
            raise ChainError(f"no message is called {kind[:16]!r}")
        return b""

    @enforces("REQ-SETUP-02", "REQ-SETUP-05", "head-quote")
    def join(self, call: bytes) -> bytes:
        """Join the chain of a head with an accepted quote, and answer with a quote.

        Raises QuoteError if the policy refuses the head's quote; ChainError if the replica is no member, or is one
        already.
        """
        plan, start, share = read_call(call, self.policy, self.checks)
        if self.name not in plan.members[1:]:
            raise ChainError(f"{self.name} is no backup of {plan.name.hex()[:16]}…")
        seat = Seat(plan, self.name, draw_key(self.random), start if self.checks.insist_on("floor-handed") else 0)
        seat.roster[plan.head] = read_said(call)[2]
        own = primitives.X25519Share(self.random(primitives.KEY_BYTES))
        self.take_seat(seat)
        self._links[plan.name] = link_key(own, share, plan.name, self.name)
        said = join(ANSWER, plan.name, self.name.encode(), seat.point, own.public)
        return join(ANSWER, plan.name, self.name.encode(), seat.point, own.public, self.tee.quote(said).encode())

    @enforces("REQ-SETUP-06", "floor-handed")
    def welcome(self, message: bytes) -> None:
        """Store the secret of a chain and the entries of earlier chains, from the head's welcome.

        Raises ChainError if they are not the head's, or not for this replica.
        """
        _, chain, sealed = _fields(message, 3)
        seat = self.seat(chain)
        if chain not in self._links:
            raise ChainError("the welcome was taken before")
        try:
            opened = primitives.AesGcm(self._links[chain]).decrypt(bytes(primitives.NONCE_BYTES), sealed, chain)
        except primitives.AuthenticationError as error:
            raise ChainError(f"the welcome does not open: {error}") from None
        secret, history = _fields(opened, 2)
        if self.checks.insist_on("floor-handed"):
            seat.history = decode_log(history)
        seat.secret = secret
        del self._links[chain]

    def take_roster(self, message: bytes) -> bytes:
        """Store the head's list of keys, and return the chain's name; listed keys never change.

        Raises ChainError if the head did not sign it.
        """
        _, chain, listed, signature = _fields(message, 4)
        seat = self.seat(chain)
        check_signature(seat.listed_key(seat.plan.head), signature, join(ROSTER, chain, listed), "the list")
        for name, point in _pairs(listed):
            seat.roster.setdefault(name, point)
        return chain

    def update(self, message: bytes) -> bytes:
        """Log an entry, count, and pass it on with the replica's signature; a logged entry is only passed on again.

        Raises ChainError if the entry is refused.
        """
        update = Update.decode(message)
        seat = self.let_in(update.chain)
        if update.at not in seat.log or seat.log[update.at].entry != open_entry(seat.secret, update):
            self.log(message)
        self.count(update.chain)
        return self.pass_on(message)

    @enforces("REQ-ISSUE-02", "REQ-ISSUE-03", "REQ-TAKE-02", "chain-order", "log-grows", "freeze")
    @enforces("LIVE-ENTRY-LOGGED")
    def log(self, message: bytes) -> None:
        """Log an entry that every earlier member has signed.

        Raises ChainError if a word is missing or wrong, the entry is no new one, or the chain is frozen here.
        """
        update = Update.decode(message)
        seat = self.let_in(update.chain)
        entry, words = open_entry(seat.secret, update), dict(update.words)
        asked = seat.plan.ahead(self.name) if self.checks.insist_on("chain-order") else (seat.plan.head,)
        for member in asked:
            check_log_signature(seat.listed_key(member), words.get(member, b""), update.chain, member, update.at, entry)
        self._insist_new(seat, update.at, "log-grows")
        self.keep(seat, update.at, entry, words[seat.plan.head])

    def keep(self, seat: Seat, at: int, entry: bytes, proposed: bytes) -> None:
        """Store an entry as the last one of the log."""
        seat.version += 1
        seat.log = {each: logged for each, logged in seat.log.items() if each < at}
        seat.log[at] = Logged(entry, proposed, seat.version)

    def _insist_new(self, seat: Seat, at: int, defence: str) -> None:
        if seat.voted and self.checks.insist_on("freeze"):
            raise ChainError(f"{self.name} froze the chain, and logs nothing more")
        if at <= seat.last and self.checks.insist_on(defence):
            raise ChainError(f"entry {at} does not come after {seat.last}")

    def insist_new(self, chain: bytes, at: int) -> None:
        """Check that a head may propose an entry with number ``at``.

        Raises ChainError if it comes no later than another, or the chain is frozen here.
        """
        self._insist_new(self.seat(chain), at, "issue-grows")

    @enforces("REQ-STORE-01", "increment-first")
    def count(self, chain: bytes) -> None:
        """Store the sealed state of a chain and increment its counter, which invalidates older sealed states.

        Raises ChainError if another launch of this replica has counted since, so this one counts no more.
        """
        version = self.seat(chain).version
        if self.tee.counter(chain) != self._counted.get(chain, 0) and self.checks.insist_on("counter-check"):
            raise ChainError(f"another launch of {self.name} counts in {chain.hex()[:16]}…")
        self._store(chain, self.sealed_state(chain))
        self.tee.advance(chain, version)
        self._counted[chain] = version

    @enforces("REQ-STORE-01", "LIVE-ENTRY-PASSED-ON", "increment-first")
    def pass_on(self, message: bytes) -> bytes:
        """Return an update with the replica's signature that it logged the entry.

        Raises ChainError if it did not, or has not counted it.
        """
        update = Update.decode(message)
        seat = self.let_in(update.chain)
        if update.at not in seat.log or seat.log[update.at].entry != open_entry(seat.secret, update):
            raise ChainError(f"entry {update.at} is not logged")
        self.insist_counted(seat, update.at)
        own = word(seat.key, update.chain, self.name, update.at, seat.log[update.at].entry)
        words = (*(each for each in update.words if each[0] != self.name), (self.name, own))
        return Update(update.chain, update.at, update.sealed, words).encode()

    def insist_counted(self, seat: Seat, at: int) -> None:
        """Check that this launch has counted the state with an entry, before it sends the entry.

        Raises ChainError if it did not.
        """
        counted = self._counted.get(seat.plan.name, 0)
        if counted < seat.log[at].version and self.checks.insist_on("increment-first"):
            raise ChainError(f"the counter was not incremented for entry {at}")

    @enforces("REQ-TAKE-01", "REQ-TAKE-03", "one-vote", "votes-for-members", "vote-bound")
    def freeze(self, message: bytes) -> bytes:
        """Freeze a chain for good, and hand its log to the head of the one next chain.

        Raises ChainError if the next chain follows none of its own, its head is not listed, or it voted for another.
        """
        _, encoded = _fields(message, 2)
        plan = Plan.decode(encoded)
        seat = self.let_in(plan.follows)
        if self.checks.insist_on("votes-for-members"):
            seat.listed_key(plan.head)
        if seat.voted not in {b"", plan.name} and self.checks.insist_on("one-vote"):
            raise ChainError(f"{self.name} froze the chain for {seat.voted.hex()[:16]}…")
        if not seat.voted:
            seat.version += 1
        seat.voted = plan.name
        self.count(plan.follows)
        label = join(VOTE, plan.follows, self.name.encode(), plan.name, number(seat.last))
        sealed = seal_log(seat.secret, label, seat.log)
        return join(VOTE, label, sealed, primitives.sign_p384(seat.key, join(label, sealed)))

    def sealed_state(self, chain: bytes) -> bytes:
        """Return the sealed state of a chain, for later launches."""
        return self.tee.seal(self.seat(chain).encode())

    @enforces("REQ-STORE-02", "counter-check", "launch-identity")
    def start_again(self, sealed: bytes) -> bytes:
        """Restore a chain from its sealed state, and return the chain's name.

        That is counted, too. So a second launch from the same state is refused, and whatever launch is still there
        counts nothing more. A state may have been stored and not counted, which is why the counter leaves one out.
        Raises SealedStateError if it is of another enclave, or not the state that the counter stands for.
        """
        seat = Seat.decode(self.tee.unseal(sealed))
        chain = seat.plan.name
        if seat.member != self.name:
            raise SealedStateError(f"it is that of {seat.member}")
        counted = self.tee.counter(chain)
        if seat.version != counted and self.checks.insist_on("counter-check"):
            raise SealedStateError(f"it is state {seat.version}, and the counter stands at {counted}")
        self._seats[chain], self._counted[chain] = seat, seat.version
        seat.version += 2
        self.count(chain)
        return chain


def read_call(call: bytes, policy: Policy, checks: Checks = EVERY) -> tuple[Plan, int, bytes]:
    """Return the plan, the start and the head's key share in a call.

    Raises QuoteError if the policy refuses the quote, or it is of another call; ChainError if the message is no call.
    """
    _, encoded, start, quoted = _fields(call, 4)
    plan, quote = Plan.decode(encoded), Quote.decode(quoted)
    if checks.insist_on("head-quote"):
        policy.check(quote)
    _, _, point, share = read_said(call)
    if quote.said != join(CALL, plan.name, start, point, share):
        raise QuoteError("it names another chain")
    if primitives.sha256(point) != plan.nonce:
        raise QuoteError("the chain was planned by another launch")
    with refused_as(ChainError, MalformedError):
        return plan, to_number(start, "call", "start"), share


def is_poll(message: bytes) -> bool:
    """Whether a message is a poll. Raises ChainError if it is malformed."""
    return _fields(message)[0] == FREEZE


def read_said(call: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Return the chain, the start, the key and the key share that the quote in a call commits to.

    Raises QuoteError if it speaks of something else.
    """
    quote = Quote.decode(_fields(call, 4)[3])
    with refused_as(QuoteError, MalformedError):
        label, chain, start, point, share = split(quote.said, "quote", "label", "chain", "start", "key", "share")
    if label != CALL:
        raise QuoteError("it is no head's")
    return chain, start, point, share


def link_key(own: primitives.X25519Share, share: bytes, chain: bytes, member: str) -> bytes:
    """Return the key of head and member for the welcome. Raises QuoteError if ``share`` is no key share."""
    with refused_as(QuoteError, primitives.KeyMaterialError):
        return primitives.hkdf_sha384(own.agree(share), chain, join(_LINK, member.encode()), primitives.KEY_BYTES)


def _pairs(listed: bytes) -> list[tuple[str, bytes]]:
    parts = _fields(listed)
    try:
        return list(zip((each.decode() for each in parts[::2]), parts[1::2], strict=True))
    except ValueError as error:
        raise ChainError(f"no list of keys: {error}") from None


def _fields(message: bytes, count: int | None = None) -> list[bytes]:
    """Return the fields of a message. Raises ChainError if it is cut short, or has more or fewer."""
    with refused_as(ChainError, MalformedError):
        parts = fields(message, "message")
    if not parts or count not in {None, len(parts)}:
        raise ChainError(f"a message of {len(parts)} fields")
    return parts
