"""Ratchets, and what stands beside them: schedules in which a key that somebody had gives the next one away."""

from __future__ import annotations

from carnet_spec.language import (
    Draft,
    Formula,
    Kind,
    Step,
    implies,
    relation,
)
from carnet_spec.protocols.gpu_travelling.adversary import wipe
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    GPU,
    Agent,
    Data,
    Gpu,
    Key,
    Phase,
    Session,
    attested,
    buffer,
    corrupt,
    data_owner,
    dataset,
    enrolled,
    genuine,
    in_session,
    issued,
    key_session,
    knows_d2h,
    knows_h2d,
    link_h2d,
    orchestrator,
    owner,
    phase,
    platform,
    rotate_in_order,
    session,
    tenant,
    tenanted,
    traffic,
    workspace,
)

follows = relation(
    "follows", Key, Key, kind=Kind.TRUTH, says="the second key is derived from the first by a public step"
)
wrapped_under = relation("wrapped_under", Key, Key, kind=Kind.MESSAGE, says="the second key, sent under the first")


class Ratchet(Schedule):
    """The public driver's rotation: the next key is a public function of the last one."""

    name = "ratchet"
    keys_follow = True

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
    keys_follow = False
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
