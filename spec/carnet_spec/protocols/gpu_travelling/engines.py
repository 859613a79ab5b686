"""Copy engines: each holder has an engine with its own key, and an epoch is a channel on that engine."""

from collections.abc import Callable
from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *

_hidden = partial(relation, kind=Kind.TRUTH)
session_revealed = _hidden("session_revealed", Session, says="the session's keys leaked, late")
channel_of = function(
    "channel_of", Key, to=Slot, kind=Kind.TRUTH, says="the channel counter that the epoch's IVs hold, on its engine"
)
channels = relation(
    "channels", Session, Agent, Slot, kind=Kind.STATE, of=ORCHESTRATOR, says="the engine's channel counter passed it"
)
engine_out = _hidden(
    "engine_out", Session, Agent, Slot, says="the engine's key protected that many messages to the GPU"
)
engine_home = _hidden("engine_home", Session, Agent, Slot, says="the engine's key protected that many of the GPU's")
_history = partial(relation, kind=Kind.GHOST)
engine_use_out = _history("engine_use_out", Session, Agent, Key, Slot, Slot, says="the message's number on the engine")
engine_use_home = _history("engine_use_home", Session, Agent, Key, Slot, Slot, says="so for messages of the GPU's")
session_carried = _history("session_carried", Session, Data, says="the data, or what derives from it, was sent in it")


class EnginePerHolder(Schedule):
    """The schedule with a copy engine per holder, whose key is a branch of the master; an epoch is a channel on it.

    The key bytes of an engine never change, so whoever knows one epoch of it knows them all. An engine that was given
    back must be retired, acknowledged in the session, until it is granted to the same holder again.
    """

    name = "engine-per-holder"
    retirement = "engine-retirement"

    def rules(self, draft: Draft) -> None:
        """Add the deduction that the epochs of one engine share their key bytes."""
        draft.initially(channel_of, lambda k: first)

        @draft.rule(
            ADVERSARY, "open-gpu-kernel-modules conf_compute_keystore_gh100.c: one key pair per engine and direction"
        )
        def same_engine_h2d(step: Step, x: Agent, j: Key, k: Key) -> None:
            """Key bytes belong to the engine; only the channel counter in the IV differs."""
            step.says("{x}, who knows {j}, knows {k} of the same engine.")
            step.given("known", corrupt(x) & knows_h2d(x, j))
            step.given("same engine", self._same_engine(j, k))
            step.insert(knows_h2d(x, k))

        @draft.rule(
            ADVERSARY, "open-gpu-kernel-modules conf_compute_keystore_gh100.c: one key pair per engine and direction"
        )
        def same_engine_d2h(step: Step, x: Agent, j: Key, k: Key) -> None:
            """The same holds for the device-to-host half."""
            step.says("{x}, who knows the d2h half of {j}, knows that of {k} of the same engine.")
            step.given("known", corrupt(x) & knows_d2h(x, j))
            step.given("same engine", self._same_engine(j, k))
            step.insert(knows_d2h(x, k))

        self._spread_forgery(draft)
        self._repeat_ivs(draft)
        self.reveal(draft)

    def _spread_forgery(self, draft: Draft) -> None:
        """Add that an authentication key is the engine's, too: it forges in every epoch, in either direction."""
        self._spread_forgery_one_way(draft, forges_h2d, "h2d")
        self._spread_forgery_one_way(draft, forges_d2h, "d2h")

    def _spread_forgery_one_way(self, draft: Draft, forges: Relation, what: str) -> None:
        def same_engine(step: Step, x: Agent, j: Key, k: Key) -> None:
            """The authentication key follows from the key bytes, and no IV enters it."""
            step.given("forges", corrupt(x) & forges(x, j))
            step.given("same engine", self._same_engine(j, k))
            step.insert(forges(x, k))

        same_engine.__name__ = f"same_engine_forges_{what}"
        draft.rule(
            by=ADVERSARY,
            says=f"{{x}}, who forges {what} messages of {{j}}, forges those of {{k}} of the same engine.",
            source="SP 800-38D section 8: the hash key is that of the block cipher; one key pair per engine",
        )(same_engine)

    def open_channel(self, step: Step, home: Session, whose: Agent, key: Key, number: Slot) -> None:
        """Give the epoch a new channel counter on its engine, which separates it from other epochs."""
        free = next_free(lambda u: channels(home, whose, u), number)
        step.require("next channel", free, defence="channel-counter")
        step.insert(channels(home, whose, number))
        step.set(channel_of(key), number)

    def _repeat_ivs(self, draft: Draft) -> None:
        """Add what follows when two epochs of one engine have the same channel counter."""

        @draft.rule(ADVERSARY, "RFC 5116 section 5.1.1; SP 800-38D section 8 (one key pair per engine and direction)")
        def engine_pad(step: Step, a: Agent, j: Key, k: Key, v: Slot, m: Data, n: Data) -> None:
            """The key bytes are the engine's, whatever the epoch."""
            step.says("{a} used IV {v} in epochs {j} and {k} of one engine: the platform has both chunks, and forges.")
            step.given("recorded", corrupt(platform) & sealed(a, j, v, m) & sealed(a, k, v, n) & (m != n))
            step.given("same IV", self.same_ivs(j, k))
            step.insert(learned(platform, m), name="learn m")
            step.insert(learned(platform, n), name="learn n")
            step.insert(forges_h2d(platform, k))

        @draft.rule(ADVERSARY, "RFC 5116 section 5.1.1; SP 800-38D section 8 (one key pair per engine and direction)")
        def engine_plaintext_pad(step: Step, a: Agent, j: Key, k: Key, v: Slot, m: Data) -> None:
            """The code that is uploaded is no secret, in whatever epoch."""
            step.says("A chunk of {a} in epoch {j} and an upload in epoch {k} of one engine share the IV {v}.")
            step.given("recorded", corrupt(platform) & sealed(a, j, v, m) & uploaded(k, v))
            step.given("same IV", self.same_ivs(j, k))
            step.insert(learned(platform, m), forges_h2d(platform, k))

        @draft.rule(ADVERSARY, "RFC 5116 section 5.1.1; SP 800-38D section 8 (one key pair per engine and direction)")
        def engine_upload_pad(step: Step, j: Key, k: Key, v: Slot) -> None:
            """So do two uploads."""
            step.says("Uploads in epochs {j} and {k} of one engine share the IV {v}: the platform forges under {k}.")
            step.given("recorded", corrupt(platform) & uploaded(j, v) & uploaded(k, v) & (j != k))
            step.given("same IV", self.same_ivs(j, k))
            step.insert(forges_h2d(platform, k))

        @draft.rule(ADVERSARY, "RFC 5116 section 5.1.1; SP 800-38D section 8 (one key pair per engine and direction)")
        def engine_upload_opened(step: Step, j: Key, k: Key, v: Slot) -> None:
            """The second is the code, which is no secret."""
            step.says("Uploads in epochs {j} and {k} of one engine share the IV {v}: the platform has the model.")
            step.given("recorded", corrupt(platform) & model_uploaded(j, v) & uploaded(k, v) & (j != k))
            step.given("same IV", self.same_ivs(j, k))
            step.insert(learned(platform, the_model))

        @draft.rule(ADVERSARY, "RFC 5116 section 5.1.1; SP 800-38D section 8 (one key pair per engine and direction)")
        def engine_reply_pad(step: Step, j: Key, k: Key, v: Slot) -> None:
            """The same in the other direction."""
            step.says(
                "Messages home in epochs {j} and {k} of one engine share the IV {v}: the platform forges under {k}."
            )
            step.given("recorded", corrupt(platform) & streamed(j, v) & streamed(k, v) & (j != k))
            step.given("same IV", self.same_ivs(j, k))
            step.insert(forges_d2h(platform, k))

        @draft.action(GPU, "Carnet (counter reuse under one engine)", shortcut_of="channel-counter", actor=genuine)
        def gpu_receive_again(step: Step, g: Gpu, a: Agent, j: Key, k: Key, v: Slot, m: Data) -> None:
            """Same key bytes, same channel counter, same message counter: the GPU cannot tell the epochs apart."""
            step.says("{g} verifies {m}, which {a} sealed in the earlier epoch {j}, in epoch {k} of the same engine.")
            step.message("platform -> gpu: {m} sealed under {j}")
            step.require("live key", live_h2d(g, k))
            step.require("verifies", sealed(a, j, v, m))
            same_counter = self._one_engine(j, k) & (channel_of(j) == channel_of(k))
            step.given("same bytes and IV", (j != k) & same_counter)
            step.given("carried", corrupt(platform) | (mux == a))
            step.require("implicit IV", next_free(lambda u: received(g, k, u), v))
            step.insert(received(g, k, v), buffer(g, m), placed(g, v, m), stray(j))

    def reveal(self, draft: Draft) -> None:
        """Add the leak of engine keys after their session; before that the GPU would accept them again."""

        @draft.action(ADVERSARY, "Carnet: threat model past-keys")
        def reveal_session(step: Step, s: Session) -> None:
            """The engines' keys leak once their session is over, but never the master."""
            step.says("The link keys of {s}, which is over, leak.")
            step.given("past keys leak", past_keys_leak)
            step.given("session over", answered(s) & ~in_session(ends_at(s), s))
            step.insert(session_revealed(s))
            lost = step.each(Data)
            step.insert(exposed(lost), when=session_carried(s, lost))

        @draft.rule(ADVERSARY, "Carnet: threat model past-keys")
        def take_past_key(step: Step, x: Agent, s: Session, k: Key) -> None:
            """Whoever is corrupt gets every key of the session that leaked."""
            step.says("{x} is given {k} of {s}, which is over.")
            step.given("leaked", corrupt(x) & session_revealed(s))
            step.given("its key", issued(k) & (key_session(k) == s))
            step.insert(knows_h2d(x, k), knows_d2h(x, k))

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas about revealed sessions."""
        self._channel_lemmas(draft)

        @draft.lemma
        def revealed_sessions_are_dead(s: Session, g: Gpu, m: Data) -> Formula:
            """A session's keys are revealed when it is over, and what it carried is exposed."""
            return implies(session_revealed(s), answered(s) & past_keys_leak & ~in_session(g, s)) & implies(
                session_revealed(s) & session_carried(s, m), exposed(m)
            )

        @draft.lemma
        def drawn_sessions_carry(s: Session, m: Data) -> Formula:
            """Only sessions that were drawn carry anything, and nothing honest but what was sent in them."""
            honest = self.kept_back(m) & ~self.holders_turn()
            return implies(session_carried(s, m), used(s) & implies(honest, sent_in(s, m)))

    def _channel_lemmas(self, draft: Draft) -> None:
        @draft.lemma
        def channels_are_counted(s: Session, a: Agent, k: Key, c: Slot) -> Formula:
            """Each epoch's channel is counted on its engine."""
            ours = issued(k) | key_exchange(key_session(k), k)
            return implies(ours, channels(key_session(k), owner(k), channel_of(k))) & implies(
                channels(s, a, c), used(s)
            )

        @draft.lemma
        def channels_have_no_gaps(s: Session, a: Agent, b: Slot, c: Slot) -> Formula:
            """The channels of an engine are taken in their order."""
            return implies(channels(s, a, c) & before(b, c), channels(s, a, b))

        @draft.lemma
        def epochs_have_channels_of_their_own(j: Key, k: Key) -> Formula:
            """No two epochs of an engine have the same channel."""
            first_or_issued = (issued(j) | key_exchange(key_session(j), j)) & (
                issued(k) | key_exchange(key_session(k), k)
            )
            return implies(first_or_issued & self._one_engine(j, k) & (channel_of(j) == channel_of(k)), j == k)

    def protects(self, key: Key, number: Slot, *, home: bool) -> Formula:
        """Return the fact that the engine's key bytes protected message ``number`` in one direction, in any epoch."""
        return (engine_home if home else engine_out)(key_session(key), owner(key), number)

    def protects_as(self, key: Key, value: Slot, number: Slot, *, home: bool) -> Formula:
        """Return the fact that the epoch's message at counter ``value`` was message ``number`` of the engine."""
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

    def accounts_for_uses(self, protected: Callable[[Key, Slot], Formula], *, home: bool) -> Formula:
        """Whether the uses of an engine's key bytes are what was ``protected`` with them, numbered without gaps."""
        use, times = (engine_use_home, engine_home) if home else (engine_use_out, engine_out)
        numbered = forall(
            lambda s, a, u, w: implies(times(s, a, u) & before(w, u), times(s, a, w)), *(Session, Agent, Slot, Slot)
        )
        of_messages = forall(
            lambda s, a, k, v, u: implies(
                use(s, a, k, v, u), protected(k, v) & (key_session(k) == s) & (owner(k) == a) & used(k)
            ),
            *(Session, Agent, Key, Slot, Slot),
        )
        return numbered & of_messages

    def same_ivs(self, left: Key, right: Key) -> Formula:
        """Whether both epochs are on one engine, whose key bytes never change, with the same channel counter."""
        engine = self._one_engine(left, right) & orchestrated(key_session(left))
        return engine & (channel_of(left) == channel_of(right))

    def _one_engine(self, left: Key, right: Key) -> Formula:
        return (owner(left) == owner(right)) & (key_session(left) == key_session(right))

    def _same_engine(self, left: Key, right: Key) -> Formula:
        return issued(left) & issued(right) & (owner(left) == owner(right)) & (key_session(left) == key_session(right))

    def has_leaked(self, key: Key) -> Formula:
        """Whether the keys of its session were given to the adversary when it was over."""
        return session_revealed(key_session(key))

    def is_sent_under(self, key: Key, data: Data) -> Formula:
        """Whether the data was sent in the key's session, or went home in what training sent."""
        return session_carried(key_session(key), data)

    def is_exposed(self, data: Data) -> Formula:
        """Whether a session that carried the data has keys that were given to the adversary."""
        return exists(lambda s: session_carried(s, data) & session_revealed(s), Session)

    def carries(self, step: Step, key: Key, data: Expression, when: Formula | None = None) -> None:
        """Record that the session of ``key`` carries ``data``."""
        step.insert(session_carried(key_session(key), data), when=when, name="carried")
        late = self.has_leaked(key) if when is None else self.has_leaked(key) & when
        step.insert(exposed(data), when=late, name="carried under a leaked key")


# -- retirement --------------------------------------------------------------------------------------------------------
# Retiring an engine and opening the next as two orders, of which the host may drop one.
#
# The main variant has one order for both, which firmware carries out whole (A16, A18). Here each is an order of its
# own. The firmware opens no engine before the one in use is retired (*retire-before-open*). So a host that drops either
# half stops the journey: without the retirement the opening is refused, and without the opening nothing is
# acknowledged.


class RetireThenOpen(EnginePerHolder):
    """A schedule with an engine per holder, which a separate order retires before the next one opens."""

    name = "retire-then-open"
    splits = True

    def gpu_rotates(self, step: Step, gpu: Gpu, key: Key) -> None:
        """Require that the previous engine is retired before the GPU opens an engine."""
        idle = forall(lambda j: ~live_h2d(gpu, j) & ~live_d2h(gpu, j), Key)
        step.require("engine retired", idle, defence="retire-before-open")

    def rules(self, draft: Draft) -> None:
        """Add the order to retire an engine, which the host may drop."""
        super().rules(draft)

        @draft.action(
            GPU, "Carnet (half of an order dropped); DEMY (arXiv 2507.02770): requests can be omitted", actor=genuine
        )
        def gpu_retire(step: Step, g: Gpu, s: Session, k: Key) -> None:
            """Between the two orders no engine is open at all."""
            step.says("{g} retires the engine in use, to open the one of {k}.")
            step.message("orchestrator -> {g}: retire, then open {k}")
            step.require("own session", in_session(g, s))
            step.require("ordered", rotate_out_order(s, k) | rotate_in_order(s, k))
            step.require("not accepted before", ~stale(g, k))
            step.remove(live_h2d(g, step.each(Key)), name="retire h2d")
            step.remove(live_d2h(g, step.each(Key)), name="retire d2h")


# -- leaking engines ---------------------------------------------------------------------------------------------------
# Engines whose keys leak early: an engine per holder, and each epoch's key is given away once it is over.


class RetiredEngineLeaks(EnginePerHolder):
    """A schedule with an engine per holder, whose key leaks while its engine is retired."""

    name = "retired-engine-leaks"

    def reveal(self, draft: Draft) -> None:
        """Add the leak of each epoch's key as soon as the GPU no longer accepts it."""
        Schedule.reveal(self, draft)

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas that separate epochs."""
        self._channel_lemmas(draft)

    def has_leaked(self, key: Key) -> Formula:
        """Whether the key was given to the adversary after its epoch."""
        return revealed(key)

    def is_sent_under(self, key: Key, data: Data) -> Formula:
        """Whether the data was sent under the key, or went home in what training sent."""
        return carried(key, data)

    def carries(self, step: Step, key: Key, data: Expression, when: Formula | None = None) -> None:
        """Record that the epoch of ``key`` carries ``data``."""
        Schedule.carries(self, step, key, data, when)

    def is_exposed(self, data: Data) -> Formula:
        """Whether an epoch that carried the data has a key that was given to the adversary."""
        return Schedule.is_exposed(self, data)
