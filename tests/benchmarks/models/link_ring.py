"""A link whose key goes round a ring of parties, is rotated, and is to be of no use to those who are revoked.

An owner lends a link to one party after another. The offer of a key may be lost, a party that took one may stand down,
the owner passes over whom it cannot use, and an authority revokes parties and lets them back in. Who is revoked betrays
the keys that it kept.
"""

from carnet_spec import language


class Party(language.Individual):
    """May hold the link; parties stand in a ring."""


class Key(language.Individual, fresh=True):
    """A key of the link."""


class Stage(language.Individual):
    """How far a party is with the link."""

    IDLE = language.member()
    TAKING = language.member()
    HOLDING = language.member()
    HANDING = language.member()


OWNER = language.Role("owner")
PARTY = language.Role("party")
NETWORK = language.Role("network", honest=False)
TRAITOR = language.Role("traitor", honest=False)

first = language.constant("first", Party, says="the party that holds the link first")
after = language.rigid_function("after", Party, to=Party, says="the next party on the ring")

watched = language.rigid_relation("watched", Party, says="the authority may find a reason to revoke the party")

holder = language.variable("holder", Party, of=OWNER, says="whom the link is lent to")
candidate = language.variable("candidate", Party, of=OWNER, says="who is to hold it next")
opens = language.relation("opens", Key, kind=language.Kind.STATE, of=OWNER, says="it is the key of the link")
told = language.relation("told", Party, kind=language.Kind.STATE, of=OWNER, says="was sent the key of the link")
stale = language.flag("stale", of=OWNER, says="somebody who is revoked may have the key")
revoked = language.relation("revoked", Party, kind=language.Kind.MESSAGE, says="the authority says so")
offered = language.relation("offered", Party, Key, kind=language.Kind.MESSAGE, says="the key is on its way")
stage = language.function("stage", Party, to=Stage, kind=language.Kind.MESSAGE, says="as everybody can see")
kept = language.relation("kept", Party, Key, kind=language.Kind.STATE, of=PARTY, says="the party has the key")
spoken = language.relation("spoken", Key, kind=language.Kind.MESSAGE, says="something was said under the key")
exposed = language.relation("exposed", Key, kind=language.Kind.TRUTH, says="the key was betrayed")


def draft(variant: str = "main") -> language.Draft:
    ring = language.Draft("link-ring", "A key that goes round", variant)
    ring.threat("betrayal", "who is revoked betrays what it kept")
    ring.defence("mark-stale", "A key that somebody has who is revoked is not lent any more.")
    ring.initially(holder, first)
    ring.initially(candidate, first)
    ring.initially(stage, lambda _party: Stage.IDLE)
    _of_the_owner(ring)
    _of_the_parties(ring)
    _of_others(ring)
    _claims(ring)
    return ring


def _of_the_owner(ring: language.Draft) -> None:
    @ring.action(by=OWNER, says="The link begins with {key}.", source="benchmark")
    def begin(step: language.Step, key: Key) -> None:
        step.require("nothing yet", stage(holder) == Stage.IDLE)
        step.fresh(key)
        step.insert(opens(key))
        step.insert(told(holder), kept(holder, key))
        step.set(stage(holder), Stage.HOLDING)
        step.set(candidate, after(holder))

    @ring.action(by=OWNER, says="The key becomes {key}.", source="benchmark")
    def rotate(step: language.Step, key: Key) -> None:
        step.require("in one hand", stage(holder) == Stage.HOLDING)
        step.fresh(key)
        step.remove(opens(step.each(Key)), told(step.each(Party)), stale)
        step.insert(opens(key), told(holder), kept(holder, key))

    @ring.action(by=OWNER, says="{to} is offered {key}.", message="owner -> {to}: {key}", source="benchmark")
    def offer(step: language.Step, to: Party, key: Key) -> None:
        step.require("in one hand", stage(holder) == Stage.HOLDING)
        step.require("next", (candidate == to) & (holder != to) & ~revoked(to))
        step.require("a key that nobody betrays", opens(key) & ~stale)
        step.remove(offered(step.each(Party), step.each(Key)))
        step.insert(offered(to, key))
        step.insert(told(to))
        step.set(stage(holder), Stage.HANDING)

    @ring.action(by=OWNER, says="The holder may speak under {key}.", source="benchmark")
    def open_up(step: language.Step, key: Key) -> None:
        step.require("in one hand", stage(holder) == Stage.HOLDING)
        step.require("a key that nobody betrays", opens(key) & ~stale & ~spoken(key))
        step.insert(spoken(key))

    @ring.action(by=OWNER, says="The candidate is passed over.", source="benchmark")
    def pass_over(step: language.Step) -> None:
        step.require("in one hand", stage(holder) == Stage.HOLDING)
        step.require("of no use", revoked(candidate) | (candidate == holder))
        step.set(candidate, after(candidate))

    @ring.action(by=OWNER, says="The owner takes its offer back.", source="benchmark")
    def withdraw(step: language.Step) -> None:
        step.require("offered", stage(holder) == Stage.HANDING)
        step.set(stage(holder), Stage.HOLDING)

    @ring.action(by=OWNER, says="{to} holds the link.", source="benchmark")
    def complete(step: language.Step, to: Party) -> None:
        step.require("both are ready", (stage(holder) == Stage.HANDING) & (stage(to) == Stage.TAKING))
        step.require("whom it was offered to", (candidate == to) & (holder != to) & ~revoked(to) & ~stale)
        step.set(stage(holder), Stage.IDLE)
        step.set(stage(to), Stage.HOLDING, name="lend")
        step.set(holder, to)
        step.set(candidate, after(to))

    @ring.action(by=OWNER, says="{who} is revoked.", source="benchmark")
    def revoke(step: language.Step, who: Party) -> None:
        step.require("another", watched(who) & (holder != who) & ~revoked(who))
        step.require("somebody is left", language.exists(lambda x: (x != who) & (x != holder) & ~revoked(x), Party))
        step.insert(revoked(who))
        step.insert(stale, when=told(who), defence="mark-stale")


def _of_the_parties(ring: language.Draft) -> None:
    @ring.action(by=PARTY, says="{me} takes {key}.", source="benchmark")
    def take(step: language.Step, me: Party, key: Key) -> None:
        step.given("arrives", offered(me, key))
        step.require("free", stage(me) == Stage.IDLE)
        step.set(stage(me), Stage.TAKING)
        step.remove(kept(me, step.each(Key)))
        step.insert(kept(me, key))
        step.remove(offered(me, key))

    @ring.action(by=PARTY, says="{me} stands down.", source="benchmark")
    def stand_down(step: language.Step, me: Party) -> None:
        step.require("waits", stage(me) == Stage.TAKING)
        step.set(stage(me), Stage.IDLE)

    @ring.action(by=PARTY, says="{me} forgets every key.", source="benchmark")
    def forget(step: language.Step, me: Party) -> None:
        step.require("free", stage(me) == Stage.IDLE)
        step.require("something", language.exists(lambda key: kept(me, key), Key))
        step.remove(kept(me, step.each(Key)))

    @ring.action(by=PARTY, says="{who} is let back in.", source="benchmark")
    def readmit(step: language.Step, who: Party) -> None:
        step.require("out", revoked(who))
        step.require("clean", language.forall(lambda key: ~kept(who, key), Key))
        step.remove(revoked(who))


def _of_others(ring: language.Draft) -> None:
    @ring.action(by=NETWORK, says="The offer of {key} to {to} is lost.", source="benchmark")
    def lose(step: language.Step, to: Party, key: Key) -> None:
        step.given("on its way", offered(to, key))
        step.remove(offered(to, key))

    @ring.action(by=TRAITOR, says="{who} betrays {key}.", source="benchmark", cost=1)
    def betray(step: language.Step, who: Party, key: Key) -> None:
        step.given("has it", revoked(who) & kept(who, key) & ~exposed(key))
        step.insert(exposed(key))


def _claims(ring: language.Draft) -> None:
    @ring.claim(
        name="in-one-hand",
        sentence="One party holds the link.",
        requirement="R1",
        source="benchmark",
        under=("betrayal",),
    )
    def in_one_hand(x: Party) -> language.Formula:
        return language.implies((stage(x) == Stage.HOLDING) | (stage(x) == Stage.HANDING), x == holder)

    @ring.claim(
        name="not-to-traitors",
        sentence="Who holds the link is not revoked.",
        requirement="R2",
        source="benchmark",
        under=("betrayal",),
    )
    def not_to_traitors(x: Party) -> language.Formula:
        return language.implies(revoked(x), (x != holder) & (stage(x) != Stage.HOLDING))

    @ring.claim(
        name="betrayed-is-stale",
        sentence="A key that was betrayed opens the link only until it is rotated, and is not lent.",
        requirement="R3",
        source="benchmark",
        under=("betrayal",),
    )
    def betrayed_is_stale(key: Key) -> language.Formula:
        return language.implies(exposed(key) & opens(key), stale)

    @ring.lemma
    def keys_are_used(x: Party, key: Key) -> language.Formula:
        """Whatever was done with a key, it was drawn before."""
        return language.implies(opens(key) | exposed(key) | offered(x, key) | kept(x, key), language.used(key))

    @ring.lemma
    def who_has_it_was_told(x: Party, key: Key) -> language.Formula:
        """Who has the key of the link was told; where somebody who is revoked was, the key is stale."""
        has = language.implies(opens(key) & (offered(x, key) | kept(x, key)), told(x))
        return has & language.implies(told(x) & revoked(x), stale)

    @ring.goal(sentence="Another party holds the link, by a key that was not the first one.")
    def goes_round(x: Party, old: Key, new: Key) -> language.Formula:
        return (
            (stage(x) == Stage.HOLDING) & (x != first) & language.used(old) & (new != old) & opens(new) & kept(x, new)
        )

    @ring.goal(sentence="What was said under a key that has been rotated is read.")
    def read_later(key: Key) -> language.Formula:
        return spoken(key) & exposed(key) & ~opens(key)

    @ring.goal(sentence="The link is lent again after a key was betrayed.")
    def recovers(key: Key) -> language.Formula:
        return exposed(key) & ~stale & (stage(holder) == Stage.HANDING)


def instance(_protocol: language.Protocol, _threat: str, scale: language.Scale) -> language.Instance:
    """Put parties into a ring."""
    parties = tuple(f"party{number}" for number in range(scale["parties"]))
    keys = tuple(f"key{number}" for number in range(scale["keys"]))
    return language.Instance(
        elements={"Party": parties, "Key": keys},
        relations={"watched": frozenset((party,) for party in parties[len(parties) - scale["watched"] :])},
        functions={
            "first": {(): parties[0]},
            "after": {(one,): other for one, other in zip(parties, (*parties[1:], parties[0]), strict=True)},
        },
    )


FAMILY = language.Family(
    id="link-ring",
    title="A key that goes round",
    draft=draft,
    instance=instance,
    profiles={
        "tiny": language.Profile("tiny", {"parties": 3, "keys": 2, "watched": 1}),
        "narrow": language.Profile("narrow", {"parties": 5, "keys": 2, "watched": 5}),
    },
)
