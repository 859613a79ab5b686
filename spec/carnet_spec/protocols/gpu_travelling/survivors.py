"""What survives a leaked device key: the orchestrator may attest a fake, or a GPU in any mode, that signs with it.

The far end of a session is then whatever the adversary likes. A session is *betrayed* if its far end is not a genuine
GPU in confidential mode; whether it is, nobody honest can tell. Claims about such sessions fall. What is proved here is
what stands regardless, and what stands in every session that is not betrayed.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step, exists, false, implies, true
from carnet_spec.language.family import Profile
from carnet_spec.protocols.gpu_travelling.claims import leaving
from carnet_spec.protocols.gpu_travelling.lemmas.kept_back import kept_back_lemmas
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.scopes import ALL, Scope
from carnet_spec.protocols.gpu_travelling.text import sentence
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    Agent,
    Data,
    Gpu,
    Key,
    Phase,
    Session,
    Slot,
    answered,
    attested,
    attested_live,
    buffer,
    confidential,
    context,
    corrupt,
    data_owner,
    dataset,
    ends_at,
    genuine,
    in_session,
    issued,
    key_exchange,
    key_session,
    knows_d2h,
    knows_h2d,
    knows_master,
    learned,
    lent_key,
    live_d2h,
    live_h2d,
    made_by,
    model_uploaded,
    occupied,
    orchestrator,
    owner,
    past_keys_leak,
    phase,
    placed,
    planted,
    protected,
    resident,
    sealed,
    session,
    supplied,
    the_model,
)

_SOURCE = "Carnet (a leaked device key)"


class LeakedDevice(Schedule):
    """A fresh key for every epoch; but what a session's report proves, it proves only if no device key leaked."""

    name = "leaked-device"

    def vouched(self, of: Session) -> Formula:
        """What the orchestrator knows of the far end of a session that it attested: nothing."""
        return true

    def told_truth(self) -> Formula:
        """Whether all that was ever reported inside attested sessions is true: a fake reports what it likes."""
        return false

    def calm(self, of: Session) -> Formula:
        """Whether the session is not betrayed."""
        return protected(of)

    def sound(self, key: Key) -> Formula:
        """Whether the adversary never had the key, from its owner or from the GPU."""
        return super().sound(key) & protected(key_session(key))

    def given_up(self, data: Data) -> Formula:
        """Whether the data was sent in a session that is betrayed."""
        return exists(lambda k: supplied(data_owner(data), k, data) & ~protected(key_session(k)), Key)

    def lemmas(self, draft: Draft) -> None:
        """Add that whatever was sent, was sent in a session that was attested."""
        super().lemmas(draft)
        kept_back_lemmas(draft, self)

    def rules(self, draft: Draft) -> None:
        """Add what a fake gives to whoever made it, whether or not the platform is corrupt."""
        super().rules(draft)
        _fakes_tell(draft)


UNDER = ("hypervisor", "collusion")
"""The threat models in which the platform can put another GPU into the slot."""

LEAKED = Scope(all=UNDER, everywhere=ALL, past=(), keys=ALL, model=(), model_falls=UNDER)
"""What survives is claimed with an honest platform, too; the model is lost to the party that has the fake."""

HUNTS = (
    Profile("a fake", {"rounds": 1, "fakes": 1, "leaks": 1}, budget=2),
    Profile("a GPU whose key leaked", {"rounds": 1, "leaks": 1, "corrupt_chunks": 1}, budget=3),
    Profile("two rounds with a fake", {"rounds": 2, "fakes": 1, "leaks": 1}, budget=2),
)
"""Sizes that have what the adversary needs: the leaked key, and a fake or the very GPU."""

FALL = (
    "confidentiality",
    "model-confidentiality",
    "no-replay",
    "clean-handoff",
    "no-implant",
    "trains-verified",
    "gpu-genuine",
    "data-agreement",
    "single-custody",
    "model-integrity",
    "provenance",
    "participation",
    "no-silent-reset",
)
"""The claims that a leaked device key brings down; of the others, and of what is stated below, there is a proof."""


def state_survivors(draft: Draft, schedule: Schedule) -> None:
    """Say which claims fall, and add what holds in every session that is not betrayed."""
    for name in FALL:
        draft.expect(name, under=(), fails_under=UNDER)
    _kept_secret(draft, schedule)
    _in_honest_sessions(draft, schedule)


def _kept_secret(draft: Draft, schedule: Schedule) -> None:
    @draft.claim(
        name="confidentiality-unless-betrayed",
        sentence=sentence("CLAIM-CONFIDENTIALITY-UNLESS-BETRAYED"),
        requirement="CLAIM-CONFIDENTIALITY-UNLESS-BETRAYED",
        source=_SOURCE,
        under=ALL,
    )
    def confidentiality_unless_betrayed(x: Agent, m: Data) -> Formula:
        others = schedule.kept_back(m) & (x != data_owner(m)) & (x != orchestrator)
        return implies(others & ~past_keys_leak, ~learned(x, m))

    @draft.claim(
        name="key-isolation-unless-betrayed",
        sentence=sentence("CLAIM-KEY-ISOLATION-UNLESS-BETRAYED"),
        requirement="CLAIM-KEY-ISOLATION-UNLESS-BETRAYED",
        source=_SOURCE,
        under=ALL,
    )
    def key_isolation_unless_betrayed(x: Agent, k: Key, g: Gpu) -> Formula:
        known = issued(k) & (knows_h2d(x, k) | knows_d2h(x, k)) & schedule.sound(k) & ~past_keys_leak
        opens = issued(k) & (live_h2d(g, k) | live_d2h(g, k))
        return implies(known, (x == orchestrator) | (x == owner(k))) & implies(opens, g == ends_at(key_session(k)))

    @draft.claim(
        name="gpu-genuine-unless-betrayed",
        sentence=sentence("CLAIM-GPU-GENUINE-UNLESS-BETRAYED"),
        requirement="CLAIM-GPU-GENUINE-UNLESS-BETRAYED",
        source=_SOURCE,
        under=ALL,
    )
    def gpu_genuine_unless_betrayed(g: Gpu, s: Session, m: Data) -> Formula:
        safe = genuine(g) & confidential(g) & occupied(g) & implies(in_session(g, s), protected(s) & attested(s))
        return implies(resident(g, m) & schedule.kept_back(m), safe & ~planted(g) & ~context(g))


def _in_honest_sessions(draft: Draft, schedule: Schedule) -> None:
    @draft.claim(
        name="hand-over-unless-betrayed",
        sentence=sentence("CLAIM-HAND-OVER-UNLESS-BETRAYED"),
        requirement="CLAIM-HAND-OVER-UNLESS-BETRAYED",
        source=_SOURCE,
        under=ALL,
    )
    def hand_over_unless_betrayed(g: Gpu, k: Key, x: Agent, m: Data) -> Formula:
        here = attested_live(g) & protected(session)
        clean = implies(here & leaving(schedule, g) & dataset(m), ~resident(g, m))
        owned = implies(made_by(k, x) & issued(k) & protected(key_session(k)), corrupt(x) & corrupt(owner(k)))
        return clean & owned

    @draft.claim(
        name="training-unless-betrayed",
        sentence=sentence("CLAIM-TRAINING-UNLESS-BETRAYED"),
        requirement="CLAIM-TRAINING-UNLESS-BETRAYED",
        source=_SOURCE,
        under=ALL,
    )
    def training_unless_betrayed(g: Gpu, v: Slot, m: Data) -> Formula:
        begun = (phase == Phase.TRAINING) & attested_live(g) & protected(session)
        whose = owner(lent_key)
        sent = sealed(whose, lent_key, v, m)
        as_sent = implies(sent, placed(g, v, m)) & implies(placed(g, v, m), sent)
        nothing_else = implies(buffer(g, m), supplied(whose, lent_key, m))
        return implies(begun, ~planted(g) & ~context(g) & implies(~corrupt(whose), as_sent & nothing_else))


def _fakes_tell(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{x} has the master of {s} from the fake {e}, which is at its end.",
        source="deck, Security Analysis: fake or malicious GPU",
    )
    def fake_tells_master(step: Step, x: Agent, s: Session, e: Gpu) -> None:
        """A fake is built by somebody."""
        step.given("at the end of it", corrupt(x) & answered(s) & (ends_at(s) == e) & ~genuine(e))
        step.insert(knows_master(x, s))

    @draft.rule(
        by=ADVERSARY,
        says="{x} has {k} from the fake at the end of its session.",
        source="deck, Security Analysis: fake or malicious GPU",
    )
    def fake_tells_key(step: Step, x: Agent, k: Key) -> None:
        """It has every key of its session."""
        step.given("at the end of it", corrupt(x) & _ends_at_fake(k))
        step.insert(knows_h2d(x, k))
        step.insert(knows_d2h(x, k))

    @draft.rule(
        by=ADVERSARY,
        says="{x} has {m}, which {a} sent to a fake under {k}.",
        source="deck, Security Analysis: fake or malicious GPU",
    )
    def fake_tells_chunk(step: Step, x: Agent, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """It opens what is sent to it."""
        step.given("sent to it", corrupt(x) & sealed(a, k, v, m) & _ends_at_fake(k))
        step.insert(learned(x, m))

    @draft.rule(
        by=ADVERSARY,
        says="{x} has the model, which was uploaded to a fake under {k}.",
        source="deck, Security Analysis: fake or malicious GPU",
    )
    def fake_tells_model(step: Step, x: Agent, k: Key, v: Slot) -> None:
        """So with the model."""
        step.given("sent to it", corrupt(x) & model_uploaded(k, v) & _ends_at_fake(k))
        step.insert(learned(x, the_model))


def _ends_at_fake(key: Key) -> Formula:
    """Whether the key is of a session of the orchestrator's whose far end is a fake."""
    home = key_session(key)
    return (key_exchange(home, key) | issued(key)) & answered(home) & ~genuine(ends_at(home))
