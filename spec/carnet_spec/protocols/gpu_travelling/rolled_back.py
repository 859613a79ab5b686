"""Rolled-back holders: the hypervisor restores an honest holder's VM to an earlier state, and its data changed since.

What the VM held in memory is as it was: it does not know that it accepted the grant, which counter values it used,
what it sent, nor that it gave the GPU back. Recorded messages bring it up to the grant again, and under the same key
the next chunk takes the same IV. A nonce of the holder's does not help, since the state that is restored may be one in
which the nonce is drawn already.

What helps is that somebody who is not rolled back knows which plaintext an IV was spent on. The holder states each
chunk on its channel before it encrypts it, and the orchestrator confirms one chunk for each counter value.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Kind, Step, false, forall, implies, relation
from carnet_spec.language.family import Profile
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.scopes import Scope
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    HOLDER,
    ORCHESTRATOR,
    Agent,
    Custody,
    Data,
    Key,
    Phase,
    Slot,
    accepted,
    before,
    corrupt,
    custody,
    data_owner,
    dataset,
    enrolled,
    finished,
    granted,
    interferes,
    phase,
    platform,
    sealed,
    spent,
    supplied,
)

withdrawn = relation(
    "withdrawn", Agent, Data, kind=Kind.STATE, of=HOLDER, says="the chunk is no longer in the holder's dataset"
)
stated = relation("stated", Agent, Key, Slot, Data, kind=Kind.MESSAGE, says="the holder says what it will encrypt")
pinned = relation(
    "pinned", Key, Slot, Data, kind=Kind.STATE, of=ORCHESTRATOR, says="that chunk was noted for the counter value"
)

confirmed = relation(
    "confirmed", Key, Slot, Data, kind=Kind.MESSAGE, says="the orchestrator tells the holder that it noted the chunk"
)

UNDER = ("hypervisor", "collusion")
"""The threat models in which somebody has the power to restore a VM."""

LOOKED_AT = ("outsider", *UNDER)
ROLLED_BACK = Scope(
    all=LOOKED_AT,
    everywhere=LOOKED_AT,
    past=(),
    keys=LOOKED_AT,
    model=("outsider", "hypervisor"),
    model_falls=("collusion",),
)
"""Where the claims are looked at."""

FALL = ("data-agreement", "handoff-agreement", "provenance", "participation")
"""The claims that a roll-back brings down, pins or not: the holder itself no longer knows what it did."""

HUNTS = (
    Profile("one chunk", {"rounds": 1, "chunks": 1, "corrupt": 0}, budget=1),
    Profile("a changed dataset", {"rounds": 1, "chunks": 2, "corrupt": 0}, budget=1),
    Profile("a corrupt holder", {"rounds": 1, "chunks": 1, "corrupt": 1}, budget=1),
)
"""Small sizes, and one with a chunk that can take the place of another."""


class RolledBack(Schedule):
    """A fresh key for every epoch; but holders can be rolled back."""

    name = "rolled-back-holder"

    def holders_remember(self) -> Formula:
        """Whether honest holders know what they did."""
        return false

    def in_order(self, sender: Agent, key: Key, earlier: Data) -> Formula:
        """Whether a chunk that comes before another is out of the way: it was sent, or is there no more."""
        return supplied(sender, key, earlier) | withdrawn(sender, earlier)

    def provisions(self, step: Step, sender: Agent, key: Key, at: Slot, data: Data) -> None:
        """Encrypt only what the orchestrator confirmed for that counter value."""
        step.require("still in the dataset", ~withdrawn(sender, data))
        step.require("confirmed", confirmed(key, at, data), defence="chunks-pinned")

    def rules(self, draft: Draft) -> None:
        """Add how datasets change, how a holder is rolled back, and how its chunks are pinned."""
        super().rules(draft)
        _change(draft)
        _roll_back(draft)
        _pin(draft)

    def lemmas(self, draft: Draft) -> None:
        """Add what was confirmed."""
        super().lemmas(draft)

        @draft.lemma
        def pinned_once(k: Key, v: Slot, m: Data, n: Data) -> Formula:
            """One chunk is confirmed for each counter value."""
            return implies(pinned(k, v, m) & pinned(k, v, n), m == n) & implies(confirmed(k, v, m), pinned(k, v, m))

        @draft.lemma
        def trained_on_returns() -> Formula:
            """Training starts after a return."""
            return implies(phase == Phase.TRAINING, custody == Custody.RETURNED)

        @draft.lemma
        def sent_as_pinned(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
            """What is sent was confirmed."""
            return implies(sealed(a, k, v, m), pinned(k, v, m))


def state_rolled_back(draft: Draft) -> None:
    """Say which claims fall."""
    for name in FALL:
        draft.expect(name, under=(), fails_under=UNDER)


def _change(draft: Draft) -> None:
    @draft.action(
        by=HOLDER,
        says="Holder {a} takes {m} out of its dataset.",
        source="Carnet (a rolled-back holder)",
    )
    def withdraw_chunk(step: Step, a: Agent, m: Data) -> None:
        """Data changes while a job runs; storage is outside of what is rolled back."""
        step.actor(a, ~corrupt(a))
        step.require("a holder's own", enrolled(a) & dataset(m) & (data_owner(m) == a))
        step.insert(withdrawn(a, m))


def _roll_back(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="The platform restores the VM of {a} to a state before it accepted the grant of {k}.",
        message="platform -> {a}: restored",
        source="Carnet (a rolled-back holder): memory of a VM is encrypted, and an old copy of it is as good",
        cost=1,
    )
    def roll_back(step: Step, a: Agent, p: Agent, k: Key, s: Slot) -> None:
        """What it sent is on record, and it knows nothing of it."""
        step.given("power over it", interferes & corrupt(platform) & ~corrupt(a) & accepted(a, p, k, s))
        step.remove(accepted(a, step.each(Agent), k, step.each(Slot)))
        step.remove(spent(a, k, step.each(Slot)))
        step.remove(supplied(a, k, step.each(Data)))
        step.remove(finished(a, k))


def _pin(draft: Draft) -> None:
    @draft.action(
        by=HOLDER,
        says="Holder {a} states that it will encrypt {m} under {k} with IV {v}.",
        message="{a} -> orchestrator: digest of {m} for IV {v} of {k}",
        source="Carnet (a rolled-back holder)",
        enforces="REQ-ROLLBACK-01",
    )
    def state_chunk(step: Step, a: Agent, p: Agent, k: Key, s: Slot, v: Slot, m: Data) -> None:
        """A digest says nothing of the data to anybody but the orchestrator, which sees the data anyway."""
        step.actor(a, ~corrupt(a))
        step.require("accepted grant", accepted(a, p, k, s))
        step.require("own data", dataset(m) & (data_owner(m) == a) & ~withdrawn(a, m))
        step.require("not sent yet", ~supplied(a, k, m) & ~finished(a, k))
        step.require("from the start", ~before(v, s) & ~spent(a, k, v))
        step.require("next IV", forall(lambda u: implies(before(u, v) & ~before(u, s), spent(a, k, u)), Slot))
        step.insert(stated(a, k, v, m))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator confirms {m} of {a} for IV {v} of {k}.",
        message="orchestrator -> {a}: {m} is confirmed for IV {v} of {k}",
        source="Carnet (a rolled-back holder)",
        enforces="REQ-ROLLBACK-01",
    )
    def pin_chunk(step: Step, a: Agent, k: Key, s: Slot, v: Slot, m: Data) -> None:
        """One for each counter value, for good."""
        step.require("granted", granted(a, k, s))
        step.require("stated", stated(a, k, v, m))
        step.require("the only one", forall(lambda n: ~pinned(k, v, n), Data))
        step.insert(pinned(k, v, m))
        step.insert(confirmed(k, v, m))
