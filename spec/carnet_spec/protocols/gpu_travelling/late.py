"""Late corruption: a holder is compromised after its epoch, and what it still keeps is the adversary's from then on.

Up to then the holder is honest. What the adversary gets is what is left: link keys that were not erased, chunks that
are still in memory, the channel that grants arrive on, and the enrolment key. What it does afterwards is whatever it
likes: later grants are lent to the adversary, and returns say what the adversary wants.

A holder *erases* the link key when it gives the GPU back, together with what opens the grant that it came in, and may
erase a chunk at any time; a chunk that was erased is sent no more.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Kind, Step, exists, forall, implies, relation, used
from carnet_spec.protocols.gpu_travelling.engines import EnginePerHolder
from carnet_spec.protocols.gpu_travelling.lemmas.kept_back import kept_back_lemmas
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.scopes import Scope
from carnet_spec.protocols.gpu_travelling.text import sentence
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    HOLDER,
    Agent,
    Data,
    Key,
    Session,
    Slot,
    corrupt,
    data_owner,
    dataset,
    enrolled,
    enrolment_proof,
    finished,
    granted,
    honest_data,
    interferes,
    key_session,
    knows_h2d,
    learned,
    mux,
    offer,
    orchestrator,
    owner,
    past_keys_leak,
    returned,
    session,
    supplied,
    took_grant,
)

turned = relation("turned", Agent, kind=Kind.TRUTH, says="the holder was honest and is compromised by now")
erased = relation("erased", Agent, Key, kind=Kind.STATE, of=HOLDER, says="the holder erased the link key, for good")
wiped = relation("wiped", Agent, Data, kind=Kind.STATE, of=HOLDER, says="the holder erased the chunk, for good")
engine_lost = relation("engine_lost", Session, Agent, kind=Kind.GHOST, says="a turned holder had the engine's key")

UNDER = ("holder", "collusion")
"""The threat models in which holders turn; in the others every enrolled holder stays honest."""

LATE = Scope(all=UNDER, everywhere=UNDER, past=(), keys=UNDER, model=(), model_falls=())
"""What is claimed of holders that are honest to the end, while others turn."""


class Turning(Schedule):
    """A schedule whose holders may be compromised late: what that changes, whatever the keys are made of."""

    asked_at_return = ("REQ-LATE-01",)

    def faithful(self, agent: Agent) -> Formula:
        """Whether the agent is honest, and has been ever since."""
        return ~corrupt(agent) & ~turned(agent)

    def routed(self, to: Agent) -> Formula:
        """A turned holder's VM is the adversary's."""
        return super().routed(to) | turned(mux)

    def holders_turn(self) -> Formula:
        """Whether some holder turned."""
        return exists(turned, Agent)

    def provisions(self, step: Step, sender: Agent, key: Key, at: Slot, data: Data) -> None:
        """What was erased cannot be sent."""
        step.require("still there", ~wiped(sender, data))

    def gives_back(self, step: Step, sender: Agent, key: Key) -> None:
        """Erase the link key, and what opens the grant that it came in."""
        step.given("still honest", ~turned(sender))
        step.insert(erased(sender, key), defence="erase-after-return")

    def rules(self, draft: Draft) -> None:
        """Add how a holder erases its chunks, how it turns, and what the adversary has of it then."""
        super().rules(draft)
        _erase(draft)
        _turn(draft)
        self.hand_over(draft)
        _act_for_turned(draft)

    def hand_over(self, draft: Draft) -> None:
        """Hand the link keys that a turned holder keeps, or is lent from then on, to the adversary."""

        @draft.rule(
            by=ADVERSARY,
            says="{x} has {k}, which {a} was lent and has not erased.",
            source="Carnet (late corruption): what a holder keeps is found when it is compromised",
        )
        def find_link_key(step: Step, x: Agent, a: Agent, k: Key, v: Slot) -> None:
            """So with every key that it is lent later."""
            step.given("turned", corrupt(x) & turned(a))
            step.given("lent and kept", offer(orchestrator, a, k, v) & ~erased(a, k))
            step.insert(knows_h2d(x, k))
            self.record(step, a, k)

    def record(self, step: Step, holder: Agent, key: Key) -> None:
        """Record what else the key opens."""

    def sound(self, key: Key) -> Formula:
        """Whether the adversary never had the key from its owner."""
        return ~corrupt(owner(key)) & ~(turned(owner(key)) & ~erased(owner(key), key))

    def given_up(self, data: Data) -> Formula:
        """Whether the adversary may have the data from its owner: the chunk itself, or a key that it was sent under."""
        whose = data_owner(data)
        key_kept = exists(lambda k: supplied(whose, k, data) & ~erased(whose, k), Key)
        return turned(whose) & (~wiped(whose, data) | key_kept)

    def lemmas(self, draft: Draft) -> None:
        """Add what turned holders are."""
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
    @draft.action(
        by=HOLDER,
        says="Holder {a} erases {m}.",
        source="Carnet (late corruption)",
        enforces="REQ-LATE-02",
    )
    def erase_chunk(step: Step, a: Agent, m: Data) -> None:
        """What is not kept cannot be found."""
        step.actor(a, ~corrupt(a))
        step.given("still honest", ~turned(a))
        step.require("a holder's own", enrolled(a) & dataset(m) & (data_owner(m) == a))
        step.require("was sent, and is done with", exists(lambda k: supplied(a, k, m) & finished(a, k), Key))
        step.insert(wiped(a, m))


def _turn(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="{a} is compromised: all that it still keeps is the adversary's.",
        message="adversary -> {a}: compromised",
        source="Carnet (late corruption)",
        cost=1,
    )
    def turn(step: Step, a: Agent) -> None:
        """An honest holder falls, whenever the adversary likes."""
        step.given("honest until now", interferes & enrolled(a) & ~corrupt(a) & ~turned(a))
        step.insert(turned(a))

    @draft.rule(
        by=ADVERSARY,
        says="{x} finds {m}, which {a} still had.",
        source="Carnet (late corruption)",
    )
    def find_chunk(step: Step, x: Agent, a: Agent, m: Data) -> None:
        """What its owner has not erased."""
        step.given("turned", corrupt(x) & turned(a))
        step.given("kept", dataset(m) & (data_owner(m) == a) & ~wiped(a, m))
        step.insert(learned(x, m))


def _act_for_turned(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{a}, which is compromised, says that it used {n} counter values of {k}.",
        source="Carnet (late corruption)",
    )
    def turned_lies_about_count(step: Step, a: Agent, k: Key, v: Slot, n: Slot) -> None:
        """The channel is the adversary's, even where the link key is gone."""
        step.given("lent", turned(a) & offer(orchestrator, a, k, v))
        step.insert(returned(a, k, n))

    @draft.rule(
        by=ADVERSARY,
        says="{p} uses the enrolment key of {a}, which is compromised.",
        source="Carnet (late corruption)",
    )
    def turned_lends_enrolment(step: Step, a: Agent, p: Agent) -> None:
        """The enrolment key is one of the things that are kept."""
        step.given("turned", turned(a) & corrupt(p))
        step.insert(enrolment_proof(a, p))

    @draft.rule(
        by=ADVERSARY,
        says="{x} opens the grant of {k} to {a} again, with channel keys that {a} kept.",
        source="RFC 8446 section 7.2 (key update); Carnet (late corruption)",
        shortcut_of="channel-update",
    )
    def open_grant_again(step: Step, x: Agent, a: Agent, k: Key, v: Slot) -> None:
        """A key that was erased is found in the record of the message that it came in."""
        step.given("recorded", corrupt(x) & turned(a) & offer(orchestrator, a, k, v))
        step.insert(knows_h2d(x, k))


class LateCorruption(Turning):
    """A fresh key for every epoch: a holder that turns has no key of earlier epochs left."""

    name = "late-corruption"


class LateCorruptionOnEngine(Turning, EnginePerHolder):
    """An engine per holder: if a turned holder is lent its engine again, that opens what it sent in earlier epochs."""

    name = "late-corruption-engine"

    def record(self, step: Step, holder: Agent, key: Key) -> None:
        """The key bytes are those of every epoch of the engine."""
        step.insert(engine_lost(key_session(key), holder))

    def grants(self, step: Step, holder: Agent) -> None:
        """What is lent to a turned holder is the adversary's, with all that the engine's key opens."""
        step.insert(engine_lost(session, holder), when=turned(holder))

    def sound(self, key: Key) -> Formula:
        """Whether the adversary never had the bytes of the engine's key from its owner, in any epoch."""
        return ~corrupt(owner(key)) & ~engine_lost(key_session(key), owner(key))

    def given_up(self, data: Data) -> Formula:
        """Whether the adversary may have the chunk, or any link key that its owner was lent and did not erase."""
        whose = data_owner(data)
        return turned(whose) & (~wiped(whose, data) | ~_nothing_kept(whose))

    def lemmas(self, draft: Draft) -> None:
        """Add what it takes to lose an engine's key."""
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
    """Add what stays secret of a holder that is compromised late."""
    apart = not isinstance(schedule, EnginePerHolder)

    @draft.claim(
        name="late-secrecy",
        sentence=sentence("CLAIM-LATE-SECRECY"),
        requirement="CLAIM-LATE-SECRECY",
        source="Carnet (late corruption)",
        under=UNDER if apart else (),
        fails_under=() if apart else ("collusion",),
    )
    def late_secrecy(x: Agent, m: Data) -> Formula:
        whose = data_owner(m)
        all_over = forall(lambda k: implies(supplied(whose, k, m), finished(whose, k)), Key)
        gone = wiped(whose, m) & all_over
        return implies(_of_others(x, m) & gone, ~learned(x, m))

    @draft.claim(
        name="late-secrecy-unless-lent-again",
        sentence=sentence("CLAIM-LATE-SECRECY-UNLESS-LENT-AGAIN"),
        requirement="CLAIM-LATE-SECRECY-UNLESS-LENT-AGAIN",
        source="Carnet (late corruption, one engine's key bytes)",
        under=UNDER,
    )
    def late_secrecy_unless_lent_again(x: Agent, m: Data) -> Formula:
        whose = data_owner(m)
        all_over = forall(lambda k, v: implies(granted(whose, k, v), finished(whose, k)), Key, Slot)
        gone = wiped(whose, m) & all_over
        return implies(_of_others(x, m) & gone, ~learned(x, m))


def _of_others(agent: Agent, data: Data) -> Formula:
    """Whether it is an honest or turned holder's data, and neither its owner nor the orchestrator is meant."""
    own = (agent == data_owner(data)) | (agent == orchestrator)
    return honest_data(data) & ~own & ~past_keys_leak
