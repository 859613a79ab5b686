"""Key schedules: where the next link key comes from, and what follows from it for whoever held the last one.

Each schedule says three things: what an order to rotate gives away (deduction rules), what the GPU must do about the
key it leaves, and when a key counts as one the GPU no longer accepts.
"""

from __future__ import annotations

from carnet_spec.language import (
    Draft,
    Expression,
    Formula,
    Kind,
    Step,
    false,
    forall,
    function,
    implies,
    relation,
    true,
    used,
)
from carnet_spec.protocols.gpu_travelling.adversary import wipe
from carnet_spec.protocols.gpu_travelling.counters import next_free
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    GPU,
    ORCHESTRATOR,
    Agent,
    Data,
    Gpu,
    Key,
    Phase,
    Session,
    Slot,
    agreed,
    answered,
    attested,
    before,
    buffer,
    carried,
    corrupt,
    data_owner,
    dataset,
    ends_at,
    enrolled,
    exposed,
    first,
    forges_d2h,
    forges_h2d,
    genuine,
    honest_data,
    in_session,
    issued,
    key_exchange,
    key_session,
    knows_d2h,
    knows_h2d,
    learned,
    link_h2d,
    live_d2h,
    live_h2d,
    mux,
    orchestrated,
    orchestrator,
    owner,
    past_keys_leak,
    phase,
    placed,
    platform,
    protected,
    received,
    revealed,
    rotate_in_order,
    sealed,
    session,
    stale,
    stray,
    streamed,
    supplied,
    tenant,
    tenanted,
    traffic,
    workspace,
)

follows = relation(
    "follows", Key, Key, kind=Kind.TRUTH, says="the second key is derived from the first by a public step"
)
wrapped_under = relation("wrapped_under", Key, Key, kind=Kind.MESSAGE, says="the second key, sent under the first")
session_revealed = relation("session_revealed", Session, kind=Kind.TRUTH, says="the session's keys leaked, late")
channel_of = function(
    "channel_of", Key, to=Slot, kind=Kind.TRUTH, says="the channel counter that the epoch's IVs hold, on its engine"
)
channels = relation(
    "channels", Session, Agent, Slot, kind=Kind.STATE, of=ORCHESTRATOR, says="the engine's channel counter passed it"
)
protected_out = relation(
    "protected_out", Key, Slot, kind=Kind.TRUTH, says="the key protected that many messages to the GPU"
)
protected_home = relation(
    "protected_home", Key, Slot, kind=Kind.TRUTH, says="the key protected that many messages of the GPU's"
)
engine_out = relation(
    "engine_out", Session, Agent, Slot, kind=Kind.TRUTH, says="the engine's key protected that many messages to the GPU"
)
engine_home = relation(
    "engine_home", Session, Agent, Slot, kind=Kind.TRUTH, says="the engine's key protected that many of the GPU's"
)
use_out = relation("use_out", Key, Slot, Slot, kind=Kind.GHOST, says="the message's number under the key's bytes")
use_home = relation("use_home", Key, Slot, Slot, kind=Kind.GHOST, says="so for messages of the GPU's")
engine_use_out = relation(
    "engine_use_out", Session, Agent, Key, Slot, Slot, kind=Kind.GHOST, says="the message's number on the engine"
)
engine_use_home = relation(
    "engine_use_home", Session, Agent, Key, Slot, Slot, kind=Kind.GHOST, says="so for messages of the GPU's"
)
session_carried = relation(
    "session_carried", Session, Data, kind=Kind.GHOST, says="the data was sent under, or resident during, its epochs"
)


class Schedule:
    """A fresh key for every epoch, sent under the session master that only orchestrator and GPU hold."""

    name = "sealed-under-master"
    retirement: str | None = None
    """The defence that retires the key the GPU leaves, where that is not part of taking a new one."""
    asked_at_return: tuple[str, ...] = ()
    """What else is asked of a holder that gives the GPU back."""
    one_tenant = False
    """Whether a session is lent to one holder only."""

    def issue(self, step: Step, key: Key) -> None:
        """Record what ordering a rotation to ``key`` puts on the wire."""

    def open_channel(self, step: Step, home: Session, whose: Agent, key: Key, number: Slot) -> None:
        """Give the epoch the channel counter ``number``: under a key of its own, the first."""
        step.require("first channel", number == first)

    def gpu_rotates(self, step: Step, gpu: Gpu, key: Key) -> None:
        """Add what the GPU needs before it can take ``key``."""

    def rules(self, draft: Draft) -> None:
        """Add the deductions that the schedule allows, and how past keys leak."""
        self.reveal(draft)

    def reveal(self, draft: Draft) -> None:
        """Hand the adversary each link key that the GPU no longer accepts, in the threat model that says so."""

        @draft.action(
            by=ADVERSARY,
            says="{x} is given {k}, which {g} no longer accepts.",
            source="Carnet: threat model past-keys",
        )
        def reveal_past_key(step: Step, x: Agent, g: Gpu, k: Key) -> None:
            """The adversary gets every key whose epoch is over, but never the master."""
            step.given("past keys leak", past_keys_leak & corrupt(x))
            home = key_session(k)
            passed = in_session(g, home) & stale(g, k) & ~live_h2d(g, k) & ~live_d2h(g, k)
            over = answered(home) & (g == ends_at(home)) & ~in_session(g, home)
            step.given("no longer accepted", issued(k) & (passed | over))
            step.insert(knows_h2d(x, k))
            step.insert(knows_d2h(x, k))
            step.insert(revealed(k))
            lost = step.each(Data)
            step.insert(exposed(lost), when=carried(k, lost))

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas that only this schedule needs."""

        @draft.lemma
        def revealed_keys_were_accepted(g: Gpu, k: Key) -> Formula:
            """A revealed key is one the GPU will never accept again."""
            return implies(revealed(k), issued(k)) & implies(revealed(k) & in_session(g, key_session(k)), stale(g, k))

    def leaked(self, key: Key) -> Formula:
        """Whether the key was given to the adversary after its epoch."""
        return revealed(key)

    def secret(self, key: Key) -> Formula:
        """Whether nobody who is corrupt ever had a right to the key, nor was given it."""
        return self.sound(key) & ~self.leaked(key)

    def calm(self, of: Session) -> Formula:
        """Whether nobody who is corrupt can follow the keys of the session; where keys are independent, always."""
        return true

    def vouched(self, of: Session) -> Formula:
        """What the orchestrator knows of the far end of a session that it attested."""
        return protected(of)

    def told_truth(self) -> Formula:
        """Whether all that was ever reported inside attested sessions is true."""
        return true

    def agreed_on(self, instance: Agent) -> Formula:
        """Whether the instance is the one that the holders agreed on."""
        return agreed(instance)

    def holders_remember(self) -> Formula:
        """Whether honest holders know what they did."""
        return true

    def faithful(self, agent: Agent) -> Formula:
        """Whether the agent is honest, and has been ever since."""
        return ~corrupt(agent)

    def sound(self, key: Key) -> Formula:
        """Whether the adversary never had the key from its owner."""
        return self.faithful(owner(key))

    def given_up(self, data: Data) -> Formula:
        """Whether the adversary may have an honest holder's data for another reason than a past key."""
        return false

    def holders_turn(self) -> Formula:
        """Whether some holder that was honest is so no more."""
        return false

    def kept_back(self, data: Data) -> Formula:
        """Whether it is an honest holder's data, and the adversary has no such reason."""
        return honest_data(data) & ~self.given_up(data)

    def routed(self, to: Agent) -> Formula:
        """Whether the bus leads to a VM that ``to`` runs."""
        return mux == to

    def in_order(self, sender: Agent, key: Key, earlier: Data) -> Formula:
        """Whether a chunk that comes before another is out of the way: it was sent."""
        return supplied(sender, key, earlier)

    def grants(self, step: Step, holder: Agent) -> None:
        """Add what follows from lending the link to a holder."""

    def provisions(self, step: Step, sender: Agent, key: Key, at: Slot, data: Data) -> None:
        """Add what a holder looks at before it encrypts a chunk."""

    def gives_back(self, step: Step, sender: Agent, key: Key) -> None:
        """Add what a holder does with the key when it gives the GPU back."""

    def protects(self, key: Key, number: Slot, *, home: bool) -> Formula:
        """Say that the key's bytes protected a message of that number, in one direction: each epoch has its own."""
        return (protected_home if home else protected_out)(key, number)

    def protects_as(self, key: Key, value: Slot, number: Slot, *, home: bool) -> Formula:
        """Say that the message with that counter value was the number-th under the key's bytes."""
        return (use_home if home else use_out)(key, value, number)

    def within(self, limit: Slot, *, home: bool) -> Formula:
        """Whether all messages under the same key bytes have numbers of their own below the limit."""
        use = use_home if home else use_out
        return forall(
            lambda k, v, w, u: implies(use(k, v, u), before(u, limit)) & implies(use(k, v, u) & use(k, w, u), v == w),
            *(Key, Slot, Slot, Slot),
        )

    def counts_uses(self, *, home: bool) -> Formula:
        """Whether each use of a key's bytes is counted."""
        use, times = (use_home, protected_home) if home else (use_out, protected_out)
        return forall(lambda k, v, u: implies(use(k, v, u), times(k, u)), Key, Slot, Slot)

    def same_ivs(self, left: Key, right: Key) -> Formula:
        """Whether messages of both epochs with the same counter value share AES key and IV: each epoch has a key."""
        return left == right

    def carried(self, key: Key, data: Data) -> Formula:
        """Whether the data was sent under the key or resident during its epoch."""
        return carried(key, data)

    def carries(self, step: Step, key: Key, data: Expression, when: Formula | None = None) -> None:
        """Record that the epoch of ``key`` carries ``data``; it is exposed at once if the key leaked already."""
        step.insert(carried(key, data), when=when, name="carried")
        late = self.leaked(key) if when is None else self.leaked(key) & when
        step.insert(exposed(data), when=late, name="carried under a leaked key")


class EnginePerHolder(Schedule):
    """Each holder has a copy engine whose key is a branch of the master of its own; a new epoch is a new channel on it.

    The key bytes of an engine never change, so whoever knows one epoch of it knows them all. An engine that was given
    back must be retired, acknowledged in the session, until it is granted to the same holder again.
    """

    name = "engine-per-holder"
    retirement = "engine-retirement"

    def rules(self, draft: Draft) -> None:
        """Add the deduction that epochs of one engine share their key bytes."""

        def at_first(k: Key) -> Slot:
            return first

        draft.initially(channel_of, at_first)

        @draft.rule(
            by=ADVERSARY,
            says="{x}, who knows {j}, knows {k} of the same engine.",
            source="open-gpu-kernel-modules conf_compute_keystore_gh100.c: one key pair per engine and direction",
        )
        def same_engine_h2d(step: Step, x: Agent, j: Key, k: Key) -> None:
            """Key bytes belong to the engine; only the channel counter in the IV differs."""
            step.given("known", corrupt(x) & knows_h2d(x, j))
            step.given("same engine", self._same_engine(j, k))
            step.insert(knows_h2d(x, k))

        @draft.rule(
            by=ADVERSARY,
            says="{x}, who knows the d2h half of {j}, knows that of {k} of the same engine.",
            source="open-gpu-kernel-modules conf_compute_keystore_gh100.c: one key pair per engine and direction",
        )
        def same_engine_d2h(step: Step, x: Agent, j: Key, k: Key) -> None:
            """The same holds for the device-to-host half."""
            step.given("known", corrupt(x) & knows_d2h(x, j))
            step.given("same engine", self._same_engine(j, k))
            step.insert(knows_d2h(x, k))

        self._repeat_ivs(draft)
        self.reveal(draft)

    def open_channel(self, step: Step, home: Session, whose: Agent, key: Key, number: Slot) -> None:
        """Give the epoch a channel of its own on its engine: the channel counter is what keeps epochs apart."""
        free = next_free(lambda u: channels(home, whose, u), number)
        step.require("next channel", free, defence="channel-counter")
        step.insert(channels(home, whose, number))
        step.set(channel_of(key), number)

    def _repeat_ivs(self, draft: Draft) -> None:
        """Add what follows when two epochs of one engine have the same channel counter."""

        @draft.rule(
            by=ADVERSARY,
            says="{a} used IV {v} in epochs {j} and {k} of one engine: the platform has both chunks, and forges.",
            source="RFC 5116 section 5.1.1; SP 800-38D section 8 (one key pair per engine and direction)",
        )
        def engine_pad(step: Step, a: Agent, j: Key, k: Key, v: Slot, m: Data, n: Data) -> None:
            """The key bytes are the engine's, whatever the epoch."""
            step.given("recorded", corrupt(platform) & sealed(a, j, v, m) & sealed(a, k, v, n) & (m != n))
            step.given("same IV", self.same_ivs(j, k))
            step.insert(learned(platform, m), name="learn m")
            step.insert(learned(platform, n), name="learn n")
            step.insert(forges_h2d(platform, k))

        @draft.rule(
            by=ADVERSARY,
            says="Messages home in epochs {j} and {k} of one engine share the IV {v}: the platform forges under {k}.",
            source="RFC 5116 section 5.1.1; SP 800-38D section 8 (one key pair per engine and direction)",
        )
        def engine_reply_pad(step: Step, j: Key, k: Key, v: Slot) -> None:
            """The same in the other direction."""
            step.given("recorded", corrupt(platform) & streamed(j, v) & streamed(k, v) & (j != k))
            step.given("same IV", self.same_ivs(j, k))
            step.insert(forges_d2h(platform, k))

        @draft.action(
            by=GPU,
            says="{g} verifies {m}, which {a} sealed in the earlier epoch {j}, in epoch {k} of the same engine.",
            message="platform -> gpu: {m} sealed under {j}",
            source="Carnet (counter reuse under one engine)",
            shortcut_of="channel-counter",
        )
        def gpu_receive_again(step: Step, g: Gpu, a: Agent, j: Key, k: Key, v: Slot, m: Data) -> None:
            """Same key bytes, same channel counter, same message counter: the GPU cannot tell the epochs apart."""
            step.actor(g, genuine(g))
            step.require("live key", live_h2d(g, k))
            step.require("verifies", sealed(a, j, v, m))
            step.given("same bytes and IV", (j != k) & self.same_ivs(j, k))
            step.given("carried", corrupt(platform) | (mux == a))
            step.require("implicit IV", next_free(lambda u: received(g, k, u), v))
            step.insert(received(g, k, v))
            step.insert(buffer(g, m))
            step.insert(placed(g, v, m))
            step.insert(stray(j))

    def reveal(self, draft: Draft) -> None:
        """An engine key is past only when its session is, and then all are: until then the GPU would take it again."""

        @draft.action(
            by=ADVERSARY,
            says="The link keys of {s}, which is over, leak.",
            source="Carnet: threat model past-keys",
        )
        def reveal_session(step: Step, s: Session) -> None:
            """The engines' keys leak once their session is over, but never the master."""
            step.given("past keys leak", past_keys_leak)
            step.given("session over", answered(s) & ~in_session(ends_at(s), s))
            step.insert(session_revealed(s))
            lost = step.each(Data)
            step.insert(exposed(lost), when=session_carried(s, lost))

        @draft.rule(
            by=ADVERSARY,
            says="{x} is given {k} of {s}, which is over.",
            source="Carnet: threat model past-keys",
        )
        def take_past_key(step: Step, x: Agent, s: Session, k: Key) -> None:
            """Whoever is corrupt gets every key of the session that leaked."""
            step.given("leaked", corrupt(x) & session_revealed(s))
            step.given("its key", issued(k) & (key_session(k) == s))
            step.insert(knows_h2d(x, k))
            step.insert(knows_d2h(x, k))

    def lemmas(self, draft: Draft) -> None:
        """Add what a revealed session means."""
        self._channel_lemmas(draft)

        @draft.lemma
        def revealed_sessions_are_dead(s: Session, g: Gpu, m: Data) -> Formula:
            """A session's keys are revealed when it is over, and what it carried is exposed."""
            return implies(session_revealed(s), answered(s) & past_keys_leak & ~in_session(g, s)) & implies(
                session_revealed(s) & session_carried(s, m), exposed(m)
            )

        @draft.lemma
        def drawn_sessions_carry(s: Session, m: Data) -> Formula:
            """Only sessions that were drawn carry anything."""
            return implies(session_carried(s, m), used(s))

    def _channel_lemmas(self, draft: Draft) -> None:
        @draft.lemma
        def channels_are_counted(s: Session, a: Agent, k: Key, c: Slot) -> Formula:
            """Each epoch's channel is counted on its engine."""
            ours = issued(k) | key_exchange(key_session(k), k)
            return implies(ours, channels(key_session(k), owner(k), channel_of(k))) & implies(
                channels(s, a, c), used(s)
            )

        @draft.lemma
        def epochs_have_channels_of_their_own(j: Key, k: Key) -> Formula:
            """No two epochs of an engine have the same channel."""
            first_or_issued = (issued(j) | key_exchange(key_session(j), j)) & (
                issued(k) | key_exchange(key_session(k), k)
            )
            return implies(first_or_issued & self._one_engine(j, k) & (channel_of(j) == channel_of(k)), j == k)

    def protects(self, key: Key, number: Slot, *, home: bool) -> Formula:
        """Say that the engine's key bytes protected a message of that number, in one direction, in whatever epoch."""
        return (engine_home if home else engine_out)(key_session(key), owner(key), number)

    def protects_as(self, key: Key, value: Slot, number: Slot, *, home: bool) -> Formula:
        """Say that the message of that epoch and counter value was the number-th under the engine's key bytes."""
        return (engine_use_home if home else engine_use_out)(key_session(key), owner(key), key, value, number)

    def within(self, limit: Slot, *, home: bool) -> Formula:
        """Whether all messages of an engine, whatever their epochs, have numbers of their own below the limit."""
        use = engine_use_home if home else engine_use_out
        below = forall(
            lambda s, a, k, v, u: implies(use(s, a, k, v, u), before(u, limit)), *(Session, Agent, Key, Slot, Slot)
        )
        apart = forall(
            lambda s, a, j, k, v, w, u: implies(use(s, a, j, v, u) & use(s, a, k, w, u), (j == k) & (v == w)),
            *(Session, Agent, Key, Key, Slot, Slot, Slot),
        )
        return below & apart

    def counts_uses(self, *, home: bool) -> Formula:
        """Whether each use of an engine's key bytes is counted."""
        use, times = (engine_use_home, engine_home) if home else (engine_use_out, engine_out)
        return forall(
            lambda s, a, k, v, u: implies(use(s, a, k, v, u), times(s, a, u)), *(Session, Agent, Key, Slot, Slot)
        )

    def same_ivs(self, left: Key, right: Key) -> Formula:
        """Whether both epochs are on one engine, whose key bytes never change, with the same channel counter."""
        engine = self._one_engine(left, right) & orchestrated(key_session(left))
        return engine & (channel_of(left) == channel_of(right))

    def _one_engine(self, left: Key, right: Key) -> Formula:
        return (owner(left) == owner(right)) & (key_session(left) == key_session(right))

    def _same_engine(self, left: Key, right: Key) -> Formula:
        return issued(left) & issued(right) & (owner(left) == owner(right)) & (key_session(left) == key_session(right))

    def leaked(self, key: Key) -> Formula:
        """Whether the keys of its session were given to the adversary when it was over."""
        return session_revealed(key_session(key))

    def carried(self, key: Key, data: Data) -> Formula:
        """Whether the data was sent, or resident, in the key's session."""
        return session_carried(key_session(key), data)

    def carries(self, step: Step, key: Key, data: Expression, when: Formula | None = None) -> None:
        """Record that the session of ``key`` carries ``data``."""
        step.insert(session_carried(key_session(key), data), when=when, name="carried")
        late = self.leaked(key) if when is None else self.leaked(key) & when
        step.insert(exposed(data), when=late, name="carried under a leaked key")


class RetiredEngineLeaks(EnginePerHolder):
    """An engine per holder, whose key leaks already while its engine is retired: the GPU will take it again."""

    name = "retired-engine-leaks"

    def reveal(self, draft: Draft) -> None:
        """Each epoch's key leaks once the GPU no longer accepts it, as if every epoch had a key of its own."""
        Schedule.reveal(self, draft)

    def lemmas(self, draft: Draft) -> None:
        """Add what keeps epochs apart; what the same bytes open later cannot be kept."""
        self._channel_lemmas(draft)

    def leaked(self, key: Key) -> Formula:
        """Whether the key was given to the adversary after its epoch."""
        return revealed(key)

    def carried(self, key: Key, data: Data) -> Formula:
        """Whether the data was sent under the key or resident during its epoch."""
        return carried(key, data)

    def carries(self, step: Step, key: Key, data: Expression, when: Formula | None = None) -> None:
        """Record that the epoch of ``key`` carries ``data``."""
        Schedule.carries(self, step, key, data, when)


class Ratchet(Schedule):
    """The public driver's rotation: the next key is a public function of the last one."""

    name = "ratchet"

    def issue(self, step: Step, key: Key) -> None:
        """The new key follows from the link key."""
        step.insert(follows(link_h2d, key))

    def rules(self, draft: Draft) -> None:
        """Add the deduction that whoever knows a key computes the next."""

        @draft.rule(
            by=ADVERSARY,
            says="{x} computes {k} from {j}.",
            source="open-gpu-kernel-modules conf_compute_keystore_gh100.c: K(i+1) = HKDF-Expand(SHA-256(K(i)), label)",
        )
        def ratchet_h2d(step: Step, x: Agent, j: Key, k: Key) -> None:
            """Rotation is deterministic: no secret enters but the old key."""
            step.given("known", corrupt(x) & knows_h2d(x, j) & follows(j, k))
            step.insert(knows_h2d(x, k))

        @draft.rule(
            by=ADVERSARY,
            says="{x} computes the d2h half of {k} from that of {j}.",
            source="open-gpu-kernel-modules conf_compute_keystore_gh100.c",
        )
        def ratchet_d2h(step: Step, x: Agent, j: Key, k: Key) -> None:
            """The halves are ratcheted apart, each by its own label."""
            step.given("known", corrupt(x) & knows_d2h(x, j) & follows(j, k))
            step.insert(knows_d2h(x, k))

        self.reveal(draft)

    def lemmas(self, draft: Draft) -> None:
        """Add that derivation stays within a session."""
        super().lemmas(draft)

        @draft.lemma
        def keys_follow_in_sessions(j: Key, k: Key) -> Formula:
            """A key follows another of its own session."""
            return implies(follows(j, k), issued(j) & issued(k) & (key_session(j) == key_session(k)))


class ResetOut(Ratchet):
    """A new session and key exchange before every journey; on the way in the stock ratchet."""

    name = "reset"
    one_tenant = True

    def rules(self, draft: Draft) -> None:
        """Add the reset that comes before a second journey."""
        super().rules(draft)

        @draft.action(
            by=GPU,
            says="{g} is reset before it travels again.",
            message="orchestrator -> {g}: reset, the model is saved",
            source="Carnet: a new key exchange needs a reset; open-gpu-kernel-modules kernel_gsp_gh100.c",
            enforces="REQ-STOP-01",
        )
        def reset_before_travel(step: Step, g: Gpu) -> None:
            """A lent session is never lent again: fresh keys cost the model's residence."""
            step.actor(g, genuine(g))
            step.given("ordered", (phase == Phase.CLEAN) & tenanted(session) & in_session(g, session))
            wipe(step, g)

    def secret(self, key: Key) -> Formula:
        """Whether the one holder of the session is honest too, since it can compute what follows its own key."""
        return super().secret(key) & self.calm(key_session(key))

    def calm(self, of: Session) -> Formula:
        """Whether the session's one holder, if it was lent, is honest."""
        return implies(tenanted(of), ~corrupt(tenant(of)))

    def lemmas(self, draft: Draft) -> None:
        """Add that a session has one holder, and what follows from what stays in it."""
        super().lemmas(draft)

        @draft.lemma
        def tenants_are_holders(s: Session) -> Formula:
            """A session is lent to an enrolled holder."""
            return implies(tenanted(s), attested(s) & enrolled(tenant(s)))

        @draft.lemma
        def home_orders_come_after_the_journey(k: Key) -> Formula:
            """No order to rotate in is out before the session's one return."""
            away = (phase == Phase.ROTATING_OUT) | (phase == Phase.GRANTING) | (phase == Phase.AWAY)
            before_return = away | (phase == Phase.BACK)
            return implies(rotate_in_order(session, k), tenanted(session)) & implies(
                before_return, ~rotate_in_order(session, k)
            )

        @draft.lemma
        def one_tenant_per_session(k: Key) -> Formula:
            """A session's keys are the orchestrator's and its one holder's."""
            home = key_session(k)
            lent = tenanted(home) & (owner(k) == tenant(home))
            return implies(issued(k), (owner(k) == orchestrator) | lent)

        @draft.lemma
        def data_stays_with_its_session(g: Gpu, s: Session, m: Data) -> Formula:
            """Honest data is only where its owner is the session's one holder."""
            there = in_session(g, s) & (buffer(g, m) | workspace(g, m)) & dataset(m) & ~corrupt(data_owner(m))
            return implies(there, tenanted(s) & (tenant(s) == data_owner(m)))

        @draft.lemma
        def traffic_stays_with_its_session(k: Key, m: Data) -> Formula:
            """So with training traffic."""
            honest = traffic(k, m) & dataset(m) & ~corrupt(data_owner(m))
            return implies(honest, tenanted(key_session(k)) & (tenant(key_session(k)) == data_owner(m)))


class WrappedUnderOld(Schedule):
    """A fresh key, sent under the outgoing link key."""

    name = "wrapped-under-old"

    def issue(self, step: Step, key: Key) -> None:
        """The new key travels under the link key."""
        step.insert(wrapped_under(link_h2d, key))

    def rules(self, draft: Draft) -> None:
        """Add the deduction that whoever knows the old key unwraps the new one."""

        @draft.rule(
            by=ADVERSARY,
            says="The platform unwraps {k} with {j}.",
            source="Carnet: key transport under the outgoing key",
        )
        def unwrap(step: Step, j: Key, k: Key) -> None:
            """Rotation orders pass the platform, which records them."""
            step.given("recorded", corrupt(platform) & wrapped_under(j, k) & knows_h2d(platform, j))
            step.insert(knows_h2d(platform, k))
            step.insert(knows_d2h(platform, k))

        self.reveal(draft)


SCHEDULES: dict[str, type[Schedule]] = {
    kind.name: kind for kind in (EnginePerHolder, RetiredEngineLeaks, Schedule, Ratchet, ResetOut, WrappedUnderOld)
}
"""Key schedules by name; ``none`` is a schedule with both rotations removed."""
