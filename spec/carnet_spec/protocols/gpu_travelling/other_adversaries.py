"""Designs with a stronger adversary than the main ones: corruption over time, leaks, and resets."""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims
from carnet_spec.language.family import Profile, Variant
from carnet_spec.protocols.gpu_travelling.claims import ALL, Scope, leaving
from carnet_spec.protocols.gpu_travelling.engines import EnginePerHolder
from carnet_spec.protocols.gpu_travelling.lemmas.memory import kept_back_lemmas
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.setup import ENDORSEMENT_HUNTS, Endorsed
from carnet_spec.protocols.gpu_travelling.vocabulary import *

# -- late --------------------------------------------------------------------------------------------------------------
# A holder is compromised after its epoch, and what it still keeps is the adversary's from then on.
#
# Up to then the holder is honest. What the adversary gets is what is left: link keys that were not erased, chunks that
# are still in memory, the channel that grants arrive on, and the enrolment key. What it does afterwards is whatever it
# likes: later grants are lent to the adversary, and returns say what the adversary wants.
#
# A holder *erases* the link key when it gives the GPU back, together with what opens the grant that it came in, and may
# erase a chunk at any time; a chunk that was erased is sent no more.

turned = relation("turned", Agent, kind=Kind.TRUTH, says="the holder was honest and is compromised by now")
_holder_state = partial(relation, kind=Kind.STATE, of=HOLDER)
erased = _holder_state("erased", Agent, Key, says="the holder erased the link key, for good")
wiped = _holder_state("wiped", Agent, Data, says="the holder erased the chunk, for good")
engine_lost = relation("engine_lost", Session, Agent, kind=Kind.GHOST, says="a turned holder had the engine's key")

#: The threat models in which holders turn; in the others every enrolled holder stays honest.
UNDER_LATE = ("holder", "collusion")

#: What is claimed of holders that are honest to the end, while others turn.
LATE = Scope(all=UNDER_LATE, everywhere=UNDER_LATE, past=(), keys=UNDER_LATE, model=(), model_falls=())


class Turning(Schedule):
    """A schedule whose holders may be compromised after their epoch ("turn")."""

    asked_at_return = ("REQ-LATE-01",)

    def faithful(self, agent: Agent) -> Formula:
        """Whether the agent is honest and has not turned."""
        return ~corrupt(agent) & ~turned(agent)

    def is_routed_to(self, to: Agent) -> Formula:
        """Whether the bus leads to a VM of ``to``, or of the adversary, if ``to`` is a turned holder's."""
        return super().is_routed_to(to) | turned(mux)

    def holders_turn(self) -> Formula:
        """Whether some holder has turned."""
        return exists(turned, Agent)

    def provisions(self, step: Step, sender: Agent, key: Key, at: Slot, data: Data) -> None:
        """Require that a chunk was not erased before it is sent."""
        step.require("still there", ~wiped(sender, data))

    def gives_back(self, step: Step, sender: Agent, key: Key) -> None:
        """Erase the link key, and the key that opens its grant."""
        step.given("still honest", ~turned(sender))
        step.insert(erased(sender, key), defence="erase-after-return")

    def rules(self, draft: Draft) -> None:
        """Add how a holder erases its chunks, how it turns, and what the adversary then gets."""
        super().rules(draft)
        _erase(draft)
        _turn(draft)
        self.hand_over(draft)
        _act_for_turned(draft)

    def hand_over(self, draft: Draft) -> None:
        """Give the adversary the link keys that a turned holder has, or is lent later."""

        @draft.rule(ADVERSARY, "Carnet (late corruption): what a holder keeps is found when it is compromised")
        def find_link_key(step: Step, x: Agent, a: Agent, k: Key, v: Slot) -> None:
            """So with every key that it is lent later."""
            step.says("{x} has {k}, which {a} was lent and has not erased.")
            step.given("turned", corrupt(x) & turned(a))
            step.given("lent and kept", offer(orchestrator, a, k, v) & ~erased(a, k))
            step.insert(knows_h2d(x, k))
            self.record(step, a, k)

    def record(self, step: Step, holder: Agent, key: Key) -> None:
        """Record further data that the key opens."""

    def is_undisclosed(self, key: Key) -> Formula:
        """Whether the adversary never got the key from its owner."""
        return ~corrupt(owner(key)) & ~(turned(owner(key)) & ~erased(owner(key), key))

    def given_up(self, data: Data) -> Formula:
        """Whether the adversary may have got the data from its owner: the chunk, or a key that it was sent under."""
        whose = data_owner(data)
        key_kept = exists(lambda k: supplied(whose, k, data) & ~erased(whose, k), Key)
        return turned(whose) & (~wiped(whose, data) | key_kept)

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas about turned holders."""
        super().lemmas(draft)

        @draft.lemma
        def turned_were_holders(a: Agent) -> Formula:
            """Who turns was an honest holder."""
            return implies(turned(a), ~corrupt(a) & enrolled(a))

        kept_back_lemmas(draft, self)

        @draft.lemma
        def erased_when_done(a: Agent, k: Key) -> Formula:
            """A holder erases a link key when it is done with it."""
            return implies(finished(a, k), erased(a, k))

        @draft.lemma
        def erased_after_use(a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
            """What was erased had been granted to its owner, and to nobody else."""
            return implies(erased(a, k), took_grant(a, k) & ~corrupt(a)) & implies(
                erased(owner(k), k) & offer(orchestrator, p, k, v), p == owner(k)
            )


def _erase(draft: Draft) -> None:
    @draft.action(HOLDER, "Carnet (late corruption)", "REQ-LATE-02", actor=honest)
    def erase_chunk(step: Step, a: Agent, m: Data) -> None:
        """What is not kept cannot be found."""
        step.says("Holder {a} erases {m}.")
        step.given("still honest", ~turned(a))
        step.require("a holder's own", enrolled(a) & dataset(m) & (data_owner(m) == a))
        step.require("was sent, and is done with", exists(lambda k: supplied(a, k, m) & finished(a, k), Key))
        step.insert(wiped(a, m))


def _turn(draft: Draft) -> None:
    @draft.action(ADVERSARY, "Carnet (late corruption)", cost=1)
    def turn(step: Step, a: Agent) -> None:
        """An honest holder falls, whenever the adversary likes."""
        step.says("{a} is compromised: all that it still keeps is the adversary's.")
        step.message("adversary -> {a}: compromised")
        step.given("honest until now", interferes & enrolled(a) & ~corrupt(a) & ~turned(a))
        step.insert(turned(a))

    @draft.rule(ADVERSARY, "Carnet (late corruption)")
    def find_chunk(step: Step, x: Agent, a: Agent, m: Data) -> None:
        """What its owner has not erased."""
        step.says("{x} finds {m}, which {a} still had.")
        step.given("turned", corrupt(x) & turned(a))
        step.given("kept", dataset(m) & (data_owner(m) == a) & ~wiped(a, m))
        step.insert(learned(x, m))


def _act_for_turned(draft: Draft) -> None:
    rule = partial(draft.rule, ADVERSARY)

    @rule("Carnet (late corruption)")
    def turned_lies_about_count(step: Step, a: Agent, k: Key, v: Slot, n: Slot) -> None:
        """The channel is the adversary's, even where the link key is gone."""
        step.says("{a}, which is compromised, says that it used {n} counter values of {k}.")
        step.given("lent", turned(a) & offer(orchestrator, a, k, v))
        step.insert(returned(a, k, n))

    @rule("Carnet (late corruption)")
    def turned_lends_enrolment(step: Step, a: Agent, p: Agent) -> None:
        """The enrolment key is one of the things that are kept."""
        step.says("{p} uses the enrolment key of {a}, which is compromised.")
        step.given("turned", turned(a) & corrupt(p))
        step.insert(enrolment_proof(a, p))

    @rule("RFC 8446 section 7.2 (key update); Carnet (late corruption)", shortcut_of="channel-update")
    def open_grant_again(step: Step, x: Agent, a: Agent, k: Key, v: Slot) -> None:
        """A key that was erased is found in the record of the message that it came in."""
        step.says("{x} opens the grant of {k} to {a} again, with channel keys that {a} kept.")
        step.given("recorded", corrupt(x) & turned(a) & offer(orchestrator, a, k, v))
        step.insert(knows_h2d(x, k))


class LateCorruption(Turning):
    """A schedule with a fresh key for every epoch: a turned holder has no key of earlier epochs."""

    name = "late-corruption"


class LateCorruptionOnEngine(Turning, EnginePerHolder):
    """A schedule with an engine per holder: a turned holder that is lent its engine again can open earlier epochs."""

    name = "late-corruption-engine"

    def record(self, step: Step, holder: Agent, key: Key) -> None:
        """Record that the key opens the data of every epoch on its engine."""
        step.insert(engine_lost(key_session(key), holder))

    def grants(self, step: Step, holder: Agent) -> None:
        """Give the adversary the key that a turned holder is lent, and all data that the engine's key opens."""
        step.insert(engine_lost(session, holder), when=turned(holder))

    def is_undisclosed(self, key: Key) -> Formula:
        """Whether the adversary never got the engine's key bytes from their owner, in any epoch."""
        return ~corrupt(owner(key)) & ~engine_lost(key_session(key), owner(key))

    def given_up(self, data: Data) -> Formula:
        """Whether the adversary may have the chunk, or any link key that its owner was lent and did not erase."""
        whose = data_owner(data)
        return turned(whose) & (~wiped(whose, data) | ~_nothing_kept(whose))

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas about how an engine's key is lost."""
        super().lemmas(draft)

        @draft.lemma
        def engines_are_lost_by_turned_holders(s: Session, a: Agent) -> Formula:
            """Only a turned holder loses its engine's key."""
            return implies(engine_lost(s, a), turned(a) & used(s))

        @draft.lemma
        def engines_are_lost_with_a_key(m: Data) -> Formula:
            """And only with a key of its that it was lent and has not erased."""
            whose = data_owner(m)
            return implies(_nothing_kept(whose), forall(lambda s: ~engine_lost(s, whose), Session))

        @draft.lemma
        def grants_to_others_lose_engines(p: Agent, k: Key, v: Slot) -> Formula:
            """A grant that goes to a corrupt agent in an honest holder's name loses the engine's key."""
            theirs = offer(orchestrator, p, k, v) & corrupt(p) & ~corrupt(owner(k))
            return implies(theirs, engine_lost(key_session(k), owner(k)))


def _nothing_kept(holder: Agent) -> Formula:
    """Whether the holder erased every link key that it was ever lent."""
    return forall(lambda k, v: implies(granted(holder, k, v), erased(holder, k)), Key, Slot)


def state_late_claims(draft: Draft, schedule: Schedule) -> None:
    """Add the claims about the secrets of a holder that turns later."""
    claim = Claims(draft, TEXT, UNDER_LATE)
    apart = not isinstance(schedule, EnginePerHolder)

    @claim(
        "late-secrecy",
        "Carnet (late corruption)",
        under=UNDER_LATE if apart else (),
        fails_under=() if apart else ("collusion",),
    )
    def late_secrecy(x: Agent, m: Data) -> Formula:
        whose = data_owner(m)
        all_over = forall(lambda k: implies(supplied(whose, k, m), finished(whose, k)), Key)
        gone = wiped(whose, m) & all_over
        return implies(_of_others(x, m) & gone, ~learned(x, m))

    @claim("late-secrecy-unless-lent-again", "Carnet (late corruption, one engine's key bytes)")
    def late_secrecy_unless_lent_again(x: Agent, m: Data) -> Formula:
        whose = data_owner(m)
        all_over = forall(lambda k, v: implies(granted(whose, k, v), finished(whose, k)), Key, Slot)
        gone = wiped(whose, m) & all_over
        return implies(_of_others(x, m) & gone, ~learned(x, m))


def _of_others(agent: Agent, data: Data) -> Formula:
    """Whether it is an honest or turned holder's data, and neither its owner nor the orchestrator is meant."""
    own = (agent == data_owner(data)) | (agent == orchestrator)
    return honest_data(data) & ~own & ~past_keys_leak


# -- rolled back -------------------------------------------------------------------------------------------------------
# Rolled-back holders: the hypervisor restores an honest holder's VM to an earlier state, and its data changed since.
#
# What the VM held in memory is as it was: it does not know that it accepted the grant, which counter values it used,
# what it sent, nor that it gave the GPU back. Recorded messages bring it up to the grant again, and under the same key
# the next chunk takes the same IV. A nonce of the holder's does not help, since the state that is restored may be one
# in which the nonce is drawn already.
#
# What helps is that somebody who is not rolled back knows which plaintext an IV was spent on. The holder states each
# chunk on its channel before it encrypts it, and the orchestrator confirms one chunk for each counter value.

withdrawn = _holder_state("withdrawn", Agent, Data, says="the chunk is no longer in the holder's dataset")
stated = relation("stated", Agent, Key, Slot, Data, kind=Kind.MESSAGE, says="the holder says what it will encrypt")
pinned = relation(
    "pinned", Key, Slot, Data, kind=Kind.STATE, of=ORCHESTRATOR, says="that chunk was noted for the counter value"
)

confirmed = relation(
    "confirmed", Key, Slot, Data, kind=Kind.MESSAGE, says="the orchestrator tells the holder that it noted the chunk"
)

UNDER_ROLLBACK = ("hypervisor", "collusion")  #: The threat models in which somebody has the power to restore a VM.

LOOKED_AT = ("outsider", *UNDER_ROLLBACK)
#: Where the claims are looked at.
ROLLED_BACK = Scope(
    all=LOOKED_AT,
    everywhere=LOOKED_AT,
    past=(),
    keys=LOOKED_AT,
    model=("outsider", "hypervisor"),
    model_falls=("collusion",),
)

#: The claims that a roll-back brings down, pins or not: the holder itself no longer knows what it did.
FALL_ON_ROLLBACK = ("data-agreement", "handoff-agreement", "provenance", "participation")

#: Small sizes, and one with a chunk that can take the place of another.
ROLLBACK_HUNTS = (
    Profile("one chunk", {"rounds": 1, "chunks": 1, "corrupt": 0}, budget=1),
    Profile("a changed dataset", {"rounds": 1, "chunks": 2, "corrupt": 0}, budget=1),
    Profile("a corrupt holder", {"rounds": 1, "chunks": 1, "corrupt": 1}, budget=1),
)


class RolledBack(Schedule):
    """A schedule with a fresh key for every epoch, whose holders can be rolled back."""

    name = "rolled-back-holder"

    def holders_remember(self) -> Formula:
        """Whether honest holders remember what they did: not if they are rolled back."""
        return false

    def in_order(self, sender: Agent, key: Key, earlier: Data) -> Formula:
        """Whether a chunk before another one was sent, or no longer exists."""
        return supplied(sender, key, earlier) | withdrawn(sender, earlier)

    def provisions(self, step: Step, sender: Agent, key: Key, at: Slot, data: Data) -> None:
        """Require that the orchestrator confirmed the chunk for its counter value."""
        step.require("still in the dataset", ~withdrawn(sender, data))
        step.require("confirmed", confirmed(key, at, data), defence="chunks-pinned")

    def rules(self, draft: Draft) -> None:
        """Add how datasets change, how a holder is rolled back, and how its chunks are pinned."""
        super().rules(draft)
        _change(draft)
        _roll_back(draft)
        _pin(draft)

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas about confirmed chunks."""
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
    """Declare the expected violations."""
    for name in FALL_ON_ROLLBACK:
        draft.expect(name, under=(), fails_under=UNDER_ROLLBACK)


def _change(draft: Draft) -> None:
    @draft.action(HOLDER, "Carnet (a rolled-back holder)", actor=honest)
    def withdraw_chunk(step: Step, a: Agent, m: Data) -> None:
        """Data changes while a job runs; storage is outside of what is rolled back."""
        step.says("Holder {a} takes {m} out of its dataset.")
        step.require("a holder's own", enrolled(a) & dataset(m) & (data_owner(m) == a))
        step.insert(withdrawn(a, m))


def _roll_back(draft: Draft) -> None:
    @draft.action(
        ADVERSARY,
        "Carnet (a rolled-back holder): memory of a VM is encrypted, and an old copy of it is as good",
        cost=1,
    )
    def roll_back(step: Step, a: Agent, p: Agent, k: Key, s: Slot) -> None:
        """What it sent is on record, and it knows nothing of it."""
        step.says("The platform restores the VM of {a} to a state before it accepted the grant of {k}.")
        step.message("platform -> {a}: restored")
        step.given("power over it", interferes & corrupt(platform) & ~corrupt(a) & accepted(a, p, k, s))
        step.remove(accepted(a, step.each(Agent), k, step.each(Slot)), spent(a, k, step.each(Slot)))
        step.remove(supplied(a, k, step.each(Data)), finished(a, k))


def _pin(draft: Draft) -> None:
    @draft.action(HOLDER, "Carnet (a rolled-back holder)", "REQ-ROLLBACK-01", actor=honest)
    def state_chunk(step: Step, a: Agent, p: Agent, k: Key, s: Slot, v: Slot, m: Data) -> None:
        """A digest says nothing of the data to anybody but the orchestrator, which sees the data anyway."""
        step.says("Holder {a} states that it will encrypt {m} under {k} with IV {v}.")
        step.message("{a} -> orchestrator: digest of {m} for IV {v} of {k}")
        step.require("accepted grant", accepted(a, p, k, s))
        step.require("own data", dataset(m) & (data_owner(m) == a) & ~withdrawn(a, m))
        step.require("not sent yet", ~supplied(a, k, m) & ~finished(a, k))
        step.require("from the start", ~before(v, s) & ~spent(a, k, v))
        step.require("next IV", forall(lambda u: implies(before(u, v) & ~before(u, s), spent(a, k, u)), Slot))
        step.insert(stated(a, k, v, m))

    @draft.action(ORCHESTRATOR, "Carnet (a rolled-back holder)", "REQ-ROLLBACK-01")
    def pin_chunk(step: Step, a: Agent, k: Key, s: Slot, v: Slot, m: Data) -> None:
        """One for each counter value, for good."""
        step.says("The orchestrator confirms {m} of {a} for IV {v} of {k}.")
        step.message("orchestrator -> {a}: {m} is confirmed for IV {v} of {k}")
        step.require("granted", granted(a, k, s))
        step.require("stated", stated(a, k, v, m))
        step.require("the only one", forall(lambda n: ~pinned(k, v, n), Data))
        step.insert(pinned(k, v, m), confirmed(k, v, m))


# -- survivors ---------------------------------------------------------------------------------------------------------
# What survives a leaked device key: the orchestrator may attest a fake, or a GPU in any mode, that signs with it.
#
# The far end of a session is then whatever the adversary likes. A session is *betrayed* if its far end is not a genuine
# GPU in confidential mode; whether it is, nobody honest can tell. Claims about such sessions fall. What is proved here
# is what stands regardless, and what stands in every session that is not betrayed.

_SOURCE = "Carnet (a leaked device key)"


class LeakedDevice(Schedule):
    """A schedule with a fresh key for every epoch, where device keys may leak, so that reports prove less."""

    name = "leaked-device"

    def known_about_far_end(self, of: Session) -> Formula:
        """Return what the orchestrator knows about the far end of an attested session: nothing."""
        return true

    def told_truth(self) -> Formula:
        """Whether all reports inside attested sessions are true: a fake reports anything."""
        return false

    def is_secret(self, of: Session) -> Formula:
        """Whether the session is not betrayed."""
        return protected(of)

    def is_undisclosed(self, key: Key) -> Formula:
        """Whether the adversary never got the key, from its owner or from the GPU."""
        return super().is_undisclosed(key) & protected(key_session(key))

    def given_up(self, data: Data) -> Formula:
        """Whether the data was sent in a betrayed session."""
        return exists(lambda k: supplied(data_owner(data), k, data) & ~protected(key_session(k)), Key)

    def lemmas(self, draft: Draft) -> None:
        """Add the lemma that all data was sent in attested sessions."""
        super().lemmas(draft)
        kept_back_lemmas(draft, self)

    def rules(self, draft: Draft) -> None:
        """Add what a fake gives to its maker, whether or not the platform is corrupt."""
        super().rules(draft)
        _fakes_tell(draft)


UNDER = ("hypervisor", "collusion")  #: The threat models in which the platform can put another GPU into the slot.

#: What survives is claimed with an honest platform, too; the model is lost to the party that has the fake.
LEAKED = Scope(all=UNDER, everywhere=ALL, past=(), keys=ALL, model=(), model_falls=UNDER)

#: Sizes that have what the adversary needs: the leaked key, and a fake or the very GPU.
SURVIVOR_HUNTS = (
    Profile("a fake", {"rounds": 1, "fakes": 1, "leaks": 1}, budget=2),
    Profile("a GPU whose key leaked", {"rounds": 1, "leaks": 1, "corrupt_chunks": 1}, budget=3),
    Profile("two rounds with a fake", {"rounds": 2, "fakes": 1, "leaks": 1}, budget=2),
)

#: The claims that a leaked device key brings down; of the others, and of what is stated below, there is a proof.
FALL_WITH_A_LEAK = (
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


def state_claims_unless_betrayed(draft: Draft, schedule: Schedule) -> None:
    """Declare the expected violations, and add the claims about sessions that are not betrayed."""
    for name in FALL_WITH_A_LEAK:
        draft.expect(name, under=(), fails_under=UNDER)

    claim = Claims(draft, TEXT, ALL)

    @claim("confidentiality-unless-betrayed", _SOURCE)
    def confidentiality_unless_betrayed(x: Agent, m: Data) -> Formula:
        others = schedule.kept_back(m) & (x != data_owner(m)) & (x != orchestrator)
        return implies(others & ~past_keys_leak, ~learned(x, m))

    @claim("key-isolation-unless-betrayed", _SOURCE)
    def key_isolation_unless_betrayed(x: Agent, k: Key, g: Gpu) -> Formula:
        known = issued(k) & (knows_h2d(x, k) | knows_d2h(x, k)) & schedule.is_undisclosed(k) & ~past_keys_leak
        opens = issued(k) & (live_h2d(g, k) | live_d2h(g, k))
        return implies(known, (x == orchestrator) | (x == owner(k))) & implies(opens, g == ends_at(key_session(k)))

    @claim("gpu-genuine-unless-betrayed", _SOURCE)
    def gpu_genuine_unless_betrayed(g: Gpu, s: Session, m: Data) -> Formula:
        safe = genuine(g) & confidential(g) & occupied(g) & implies(in_session(g, s), protected(s) & attested(s))
        return implies(resident(g, m) & schedule.kept_back(m), safe & ~planted(g) & ~context(g))

    claim = Claims(draft, TEXT, ALL)

    @claim("hand-over-unless-betrayed", _SOURCE)
    def hand_over_unless_betrayed(g: Gpu, k: Key, x: Agent, m: Data) -> Formula:
        here = attested_live(g) & protected(session)
        clean = implies(here & leaving(schedule, g) & dataset(m), ~resident(g, m))
        owned = implies(made_by(k, x) & issued(k) & protected(key_session(k)), corrupt(x) & corrupt(owner(k)))
        return clean & owned

    @claim("training-unless-betrayed", _SOURCE)
    def training_unless_betrayed(g: Gpu, v: Slot, m: Data) -> Formula:
        begun = (phase == Phase.TRAINING) & attested_live(g) & protected(session)
        whose = owner(lent_key)
        sent = sealed(whose, lent_key, v, m)
        as_sent = implies(sent, placed(g, v, m)) & implies(placed(g, v, m), sent)
        nothing_else = implies(buffer(g, m), supplied(whose, lent_key, m))
        return implies(begun, ~planted(g) & ~context(g) & implies(~corrupt(whose), as_sent & nothing_else))


def _fakes_tell(draft: Draft) -> None:
    rule = partial(draft.rule, ADVERSARY)

    @rule("deck, Security Analysis: fake or malicious GPU")
    def fake_tells_master(step: Step, x: Agent, s: Session, e: Gpu) -> None:
        """A fake is built by somebody."""
        step.says("{x} has the master of {s} from the fake {e}, which is at its end.")
        step.given("at the end of it", corrupt(x) & answered(s) & (ends_at(s) == e) & ~genuine(e))
        step.insert(knows_master(x, s))

    @rule("deck, Security Analysis: fake or malicious GPU")
    def fake_tells_key(step: Step, x: Agent, k: Key) -> None:
        """It has every key of its session."""
        step.says("{x} has {k} from the fake at the end of its session.")
        step.given("at the end of it", corrupt(x) & _ends_at_fake(k))
        step.insert(knows_h2d(x, k), knows_d2h(x, k))

    @rule("deck, Security Analysis: fake or malicious GPU")
    def fake_tells_chunk(step: Step, x: Agent, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """It opens what is sent to it."""
        step.says("{x} has {m}, which {a} sent to a fake under {k}.")
        step.given("sent to it", corrupt(x) & sealed(a, k, v, m) & _ends_at_fake(k))
        step.insert(learned(x, m))

    @rule("deck, Security Analysis: fake or malicious GPU")
    def fake_tells_model(step: Step, x: Agent, k: Key, v: Slot) -> None:
        """So with the model."""
        step.says("{x} has the model, which was uploaded to a fake under {k}.")
        step.given("sent to it", corrupt(x) & model_uploaded(k, v) & _ends_at_fake(k))
        step.insert(learned(x, the_model))


def _ends_at_fake(key: Key) -> Formula:
    """Whether the key is of a session of the orchestrator's whose far end is a fake."""
    home = key_session(key)
    return (key_exchange(home, key) | issued(key)) & answered(home) & ~genuine(ends_at(home))


# -- other adversaries -------------------------------------------------------------------------------------------------

#: The variants, each with the adversary that an assumption of the main designs excludes.
WITH_MORE = (
    Variant(
        "leaked-device",
        "a device key has leaked, and nobody asks whether it is revoked",
        without=("revocation-check",),
        hunts=SURVIVOR_HUNTS,
    ),
    Variant(
        "leaked-device-timed",
        "the same, with clock, leases and limits of keys",
        without=("revocation-check",),
        over="leaked-device",
    ),
    Variant(
        "late-corruption",
        "holders are compromised after their epochs; a fresh key for every epoch",
        label="needs firmware",
    ),
    Variant(
        "late-corruption-engine",
        "holders are compromised after their epochs; an engine per holder",
        label="needs firmware",
    ),
    Variant(
        "rolled-back-holder",
        "holders can be rolled back, and have the orchestrator confirm what they encrypt",
        label="needs firmware",
        hunts=ROLLBACK_HUNTS,
    ),
    Variant(
        "endorsed-instance",
        "every holder endorses one instance, and takes grants only from the one that all endorsed",
        label="needs firmware",
        hunts=ENDORSEMENT_HUNTS,
    ),
)

#: What becomes of keys, parties and data in each.
KINDS: dict[str, type[Schedule]] = {
    "leaked-device": LeakedDevice,
    "late-corruption": LateCorruption,
    "late-corruption-engine": LateCorruptionOnEngine,
    "rolled-back-holder": RolledBack,
    "endorsed-instance": Endorsed,
}

#: Under which threat models the usual claims are made there.
SCOPES: dict[str, Scope] = {
    "leaked-device": LEAKED,
    "late-corruption": LATE,
    "late-corruption-engine": LATE,
    "rolled-back-holder": ROLLED_BACK,
}

#: The assumption that the steps of the main designs have built in, and those of the variant do not.
DONE_WITHOUT = {"late-corruption": "A2", "late-corruption-engine": "A2", "rolled-back-holder": "A15"}


def state_claims_of_variants(draft: Draft, schedule: Schedule) -> None:
    """Add the claims of these designs alone, and declare the expected violations of the others."""
    if isinstance(schedule, Turning):
        state_late_claims(draft, schedule)
    if isinstance(schedule, LeakedDevice):
        state_claims_unless_betrayed(draft, schedule)
    if isinstance(schedule, RolledBack):
        state_rolled_back(draft)
