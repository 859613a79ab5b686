"""Key schedules: the origin of the next link key, and what the last holder can deduce about it.

Each schedule says three things: what an order to rotate gives away (deduction rules), what the GPU must do about the
key it leaves, and when a key counts as one the GPU no longer accepts.
"""

from collections.abc import Callable
from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.gpu_travelling.adversary import wipe
from carnet_spec.protocols.gpu_travelling.vocabulary import *

_hidden = partial(relation, kind=Kind.TRUTH)
protected_out = _hidden("protected_out", Key, Slot, says="the key protected that many messages to the GPU")
protected_home = _hidden("protected_home", Key, Slot, says="the key protected that many messages of the GPU's")
use_out = relation("use_out", Key, Slot, Slot, kind=Kind.GHOST, says="the message's number under the key's bytes")
use_home = relation("use_home", Key, Slot, Slot, kind=Kind.GHOST, says="so for messages of the GPU's")


class Schedule:
    """The schedule with fresh keys, sent under the session master, which only orchestrator and GPU have."""

    name = "sealed-under-master"
    #: The defence that retires the key the GPU leaves, where that is not part of taking a new one.
    retirement: str | None = None
    splits = False  #: Whether the key that the GPU leaves is retired by an order of its own, before the next is taken.
    keys_follow = False  #: Whether a holder's key opens later epochs of honest owners, so that no key is secret.
    asked_at_return: tuple[str, ...] = ()  #: What else is asked of a holder that gives the GPU back.
    one_tenant = False  #: Whether a session is lent to one holder only.

    def issue(self, step: Step, key: Key) -> None:
        """Add the effects of an order to rotate to ``key`` on what is on the wire."""

    def open_channel(self, step: Step, home: Session, whose: Agent, key: Key, number: Slot) -> None:
        """Give the epoch its channel counter: the first, since its key is new."""
        step.require("first channel", number == first)

    def gpu_rotates(self, step: Step, gpu: Gpu, key: Key) -> None:
        """Add the GPU's requirements for using ``key``."""

    def rules(self, draft: Draft) -> None:
        """Add the deductions that the schedule permits, and the leak of past keys."""
        self.reveal(draft)

    def reveal(self, draft: Draft) -> None:
        """Add the leak of each link key that the GPU no longer accepts, in the threat model with such leaks."""

        @draft.action(ADVERSARY, "Carnet: threat model past-keys")
        def reveal_past_key(step: Step, x: Agent, g: Gpu, k: Key) -> None:
            """The adversary gets every key whose epoch is over, but never the master."""
            step.says("{x} is given {k}, which {g} no longer accepts.")
            step.given("past keys leak", past_keys_leak & corrupt(x))
            home = key_session(k)
            passed = in_session(g, home) & stale(g, k) & ~live_h2d(g, k) & ~live_d2h(g, k)
            over = answered(home) & (g == ends_at(home)) & ~in_session(g, home)
            step.given("no longer accepted", issued(k) & (passed | over))
            step.insert(knows_h2d(x, k), knows_d2h(x, k), revealed(k))
            lost = step.each(Data)
            step.insert(exposed(lost), when=carried(k, lost))

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas that only this schedule needs."""

        @draft.lemma
        def revealed_keys_were_accepted(g: Gpu, k: Key) -> Formula:
            """A revealed key is one the GPU will never accept again."""
            return implies(revealed(k), issued(k)) & implies(revealed(k) & in_session(g, key_session(k)), stale(g, k))

        @draft.lemma
        def keys_carry_what_was_sent(k: Key, m: Data) -> Formula:
            """Nothing honest counts as carried but what was sent under the key, in either direction."""
            sent = supplied(data_owner(m), k, m) | traffic(k, m)
            return implies(carried(k, m) & self.kept_back(m) & self.holders_remember(), sent)

    def has_leaked(self, key: Key) -> Formula:
        """Whether the key leaked to the adversary after its epoch."""
        return revealed(key)

    def secret(self, key: Key) -> Formula:
        """Whether no corrupt agent was ever entitled to the key, or was given it."""
        return self.is_undisclosed(key) & ~self.has_leaked(key)

    def is_secret(self, of: Session) -> Formula:
        """Whether no corrupt agent can derive the session's keys; always true for independent keys."""
        return true

    def known_about_far_end(self, of: Session) -> Formula:
        """Return what the orchestrator knows about the far end of an attested session."""
        return protected(of)

    def told_truth(self) -> Formula:
        """Whether all reports inside attested sessions are true."""
        return true

    def agreed_on(self, instance: Agent) -> Formula:
        """Whether the instance is the one that the holders agreed on."""
        return agreed(instance)

    def holders_remember(self) -> Formula:
        """Whether honest holders remember what they did, which fails if they are rolled back."""
        return true

    def faithful(self, agent: Agent) -> Formula:
        """Whether the agent is honest and was never compromised."""
        return ~corrupt(agent)

    def is_undisclosed(self, key: Key) -> Formula:
        """Whether the adversary never got the key from its owner."""
        return self.faithful(owner(key))

    def given_up(self, data: Data) -> Formula:
        """Whether the adversary may have an honest holder's data other than by a past key."""
        return false

    def holders_turn(self) -> Formula:
        """Whether some formerly honest holder is compromised."""
        return false

    def kept_back(self, data: Data) -> Formula:
        """Whether the data is an honest holder's and the adversary can have it in no way, past keys included."""
        return honest_data(data) & ~self.given_up(data) & ~exposed(data)

    def is_routed_to(self, to: Agent) -> Formula:
        """Whether the bus leads to a VM that ``to`` runs."""
        return mux == to

    def in_order(self, sender: Agent, key: Key, earlier: Data) -> Formula:
        """Whether ``earlier``, a chunk before the next one, has been sent."""
        return supplied(sender, key, earlier)

    def grants(self, step: Step, holder: Agent) -> None:
        """Add the effects of lending the link to a holder."""

    def provisions(self, step: Step, sender: Agent, key: Key, at: Slot, data: Data) -> None:
        """Add a holder's requirements before it encrypts a chunk."""

    def gives_back(self, step: Step, sender: Agent, key: Key) -> None:
        """Add what a holder does with the key when it returns the GPU."""

    def protects(self, key: Key, number: Slot, *, home: bool) -> Formula:
        """Return the fact that the key's bytes protected message ``number``, in one direction."""
        return (protected_home if home else protected_out)(key, number)

    def protects_as(self, key: Key, value: Slot, number: Slot, *, home: bool) -> Formula:
        """Return the fact that the message at counter ``value`` was message ``number`` under the key's bytes."""
        return (use_home if home else use_out)(key, value, number)

    def within(self, limit: Slot, *, home: bool) -> Formula:
        """Whether all messages under the same key bytes have different numbers below the limit."""
        use = use_home if home else use_out
        return forall(
            lambda k, v, w, u: implies(use(k, v, u), before(u, limit)) & implies(use(k, v, u) & use(k, w, u), v == w),
            *(Key, Slot, Slot, Slot),
        )

    def counts_uses(self, *, home: bool) -> Formula:
        """Whether each use of a key's bytes is counted."""
        use, times = (use_home, protected_home) if home else (use_out, protected_out)
        return forall(lambda k, v, u: implies(use(k, v, u), times(k, u)), Key, Slot, Slot)

    def accounts_for_uses(self, protected: Callable[[Key, Slot], Formula], *, home: bool) -> Formula:
        """Whether the uses of a key are the messages that were ``protected`` with it, numbered without gaps."""
        use, times = (use_home, protected_home) if home else (use_out, protected_out)
        numbered = forall(lambda k, u, w: implies(times(k, u) & before(w, u), times(k, w)), *(Key, Slot, Slot))
        of_messages = forall(lambda k, v, u: implies(use(k, v, u), protected(k, v)), *(Key, Slot, Slot))
        return numbered & of_messages

    def same_ivs(self, left: Key, right: Key) -> Formula:
        """Whether messages of both epochs with equal counter values share AES key and IV: keys are unique here."""
        return left == right

    def is_sent_under(self, key: Key, data: Data) -> Formula:
        """Whether the data was sent under the key, or is part of what training sent home."""
        return carried(key, data)

    def is_exposed(self, data: Data) -> Formula:
        """Whether an epoch that carried the data has a key that was given to the adversary."""
        return exists(lambda k: carried(k, data) & self.has_leaked(k), Key)

    def carries(self, step: Step, key: Key, data: Expression, when: Formula | None = None) -> None:
        """Record that the epoch of ``key`` carries ``data``; it is exposed at once if the key leaked already."""
        step.insert(carried(key, data), when=when, name="carried")
        late = self.has_leaked(key) if when is None else self.has_leaked(key) & when
        step.insert(exposed(data), when=late, name="carried under a leaked key")


# -- ratchets ----------------------------------------------------------------------------------------------------------
# Ratchets, and what stands beside them: schedules in which a key that somebody had gives the next one away.

follows = _hidden("follows", Key, Key, says="the second key is derived from the first by a public step")
wrapped_under = relation("wrapped_under", Key, Key, kind=Kind.MESSAGE, says="the second key, sent under the first")


class Ratchet(Schedule):
    """The public driver's schedule: the next key is a public function of the last one."""

    name = "ratchet"
    keys_follow = True

    def issue(self, step: Step, key: Key) -> None:
        """Record that the new key follows from the link key."""
        step.insert(follows(link_h2d, key))

    def rules(self, draft: Draft) -> None:
        """Add the deduction of the next key from a known one."""

        @draft.rule(
            ADVERSARY,
            "open-gpu-kernel-modules conf_compute_keystore_gh100.c: K(i+1) = HKDF-Expand(SHA-256(K(i)), label)",
        )
        def ratchet_h2d(step: Step, x: Agent, j: Key, k: Key) -> None:
            """Rotation is deterministic: no secret enters but the old key."""
            step.says("{x} computes {k} from {j}.")
            step.given("known", corrupt(x) & knows_h2d(x, j) & follows(j, k))
            step.insert(knows_h2d(x, k))

        @draft.rule(ADVERSARY, "open-gpu-kernel-modules conf_compute_keystore_gh100.c")
        def ratchet_d2h(step: Step, x: Agent, j: Key, k: Key) -> None:
            """The halves are ratcheted apart, each by its own label."""
            step.says("{x} computes the d2h half of {k} from that of {j}.")
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
    """A schedule with a new session before every hand-over, and the driver's ratchet at return."""

    name = "reset"
    keys_follow = False
    one_tenant = True

    def rules(self, draft: Draft) -> None:
        """Add the reset that comes before a second journey."""
        super().rules(draft)

        @draft.action(
            GPU,
            "Carnet: a new key exchange needs a reset; open-gpu-kernel-modules kernel_gsp_gh100.c",
            "REQ-STOP-01",
            actor=genuine,
        )
        def reset_before_travel(step: Step, g: Gpu) -> None:
            """A lent session is never lent again: fresh keys cost the model's residence."""
            step.says("{g} is reset before it travels again.")
            step.message("orchestrator -> {g}: reset, the model is saved")
            step.given("ordered", (phase == Phase.CLEAN) & tenanted(session) & in_session(g, session))
            wipe(step, g)

    def secret(self, key: Key) -> Formula:
        """Whether the key's owner and the session's only holder, who can derive it, are honest."""
        return super().secret(key) & self.is_secret(key_session(key))

    def is_secret(self, of: Session) -> Formula:
        """Whether the session's only holder, if it was lent, is honest."""
        return implies(tenanted(of), ~corrupt(tenant(of)))

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas about sessions with only one holder."""
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
    """A schedule with fresh keys, each sent under the outgoing link key."""

    name = "wrapped-under-old"

    def issue(self, step: Step, key: Key) -> None:
        """Record that the new key is sent under the link key."""
        step.insert(wrapped_under(link_h2d, key))

    def rules(self, draft: Draft) -> None:
        """Add the deduction of the new key from the old one."""

        @draft.rule(ADVERSARY, "Carnet: key transport under the outgoing key")
        def unwrap(step: Step, j: Key, k: Key) -> None:
            """Rotation orders pass the platform, which records them."""
            step.says("The platform unwraps {k} with {j}.")
            step.given("recorded", corrupt(platform) & wrapped_under(j, k) & knows_h2d(platform, j))
            step.insert(knows_h2d(platform, k), knows_d2h(platform, k))

        self.reveal(draft)
