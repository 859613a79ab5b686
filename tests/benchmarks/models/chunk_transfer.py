"""A transfer in chunks that arrive in any order or not at all, under keys that are retired, past one who copies.

A sender keeps a window of chunks on their way, a receiver takes them as they come and says how far it is, and after a
break the sender goes on under a new key. A thief copies what is on its way, and deduces what it can when an old key
gets out.
"""

from itertools import pairwise

from carnet_spec import language
from carnet_spec.theories.linear_order import StrictOrder


class Chunk(language.Individual):
    """A place in the data; chunks stand in line, and the last one is empty and ends it."""


class Key(language.Individual, fresh=True):
    """A key of the transfer."""


class Mode(language.Individual):
    """What the sender is doing."""

    CLOSED = language.member()
    SENDING = language.member()
    DONE = language.member()


SENDER = language.Role("sender")
RECEIVER = language.Role("receiver")
NETWORK = language.Role("network", honest=False)
THIEF = language.Role("thief", honest=False)

before = language.rigid_relation("before", Chunk, Chunk, says="the first chunk comes before the second")
follows = language.rigid_relation("follows", Chunk, Chunk, says="the second chunk is the next one")
window = language.rigid_relation("window", Chunk, Chunk, says="while the first is waited for, the second may be sent")
start = language.constant("start", Chunk, says="the first chunk")
end = language.constant("end", Chunk, says="the empty chunk at the end")

mode = language.variable("mode", Mode, of=SENDER, says="what the sender is doing")
base = language.variable("base", Chunk, of=SENDER, says="the first chunk that it does not know to have arrived")
live = language.relation("live", Key, kind=language.Kind.STATE, of=SENDER, says="it sends under the key")
flying = language.relation("flying", Chunk, Key, kind=language.Kind.MESSAGE, says="the chunk is on its way")
reached = language.relation(
    "reached", Chunk, kind=language.Kind.MESSAGE, says="word is on its way that it waits for it"
)
got = language.relation("got", Chunk, kind=language.Kind.STATE, of=RECEIVER, says="it has the chunk")
waits = language.variable("waits", Chunk, of=RECEIVER, says="the first chunk that it has not passed on")
copied = language.relation("copied", Chunk, Key, kind=language.Kind.KNOWLEDGE, says="the thief has it under the key")
out = language.relation("out", Key, kind=language.Kind.KNOWLEDGE, says="the key got out")
read = language.relation("read", Chunk, kind=language.Kind.KNOWLEDGE, says="the thief has read the chunk")
prefix = language.relation("prefix", Chunk, kind=language.Kind.KNOWLEDGE, says="it has read all before the chunk")

IN_LINE = StrictOrder("chunks", Chunk, before, "A1")


def draft(variant: str = "main") -> language.Draft:
    chunks = language.Draft("chunk-transfer", "A transfer in chunks", variant)
    chunks.assumption("A1", "Chunks are numbered in line.")
    IN_LINE.assume_linear(chunks, first=start)
    chunks.axiom(
        "the next chunk is later",
        language.forall(lambda one, other: language.implies(follows(one, other), before(one, other)), Chunk, Chunk),
        assumption="A1",
    )
    chunks.axiom(
        "none between",
        language.forall(
            lambda one, other, third: language.implies(follows(one, other) & before(one, third), ~before(third, other)),
            *(Chunk, Chunk, Chunk),
        ),
        assumption="A1",
    )
    chunks.axiom("none follows the end", language.forall(lambda one: ~before(end, one), Chunk), assumption="A1")
    chunks.threat("old-keys", "keys get out once they are retired")
    chunks.defence("retire", "A key that got out is not sent under.")
    chunks.initially(mode, Mode.CLOSED)
    chunks.initially(base, start)
    chunks.initially(waits, start)
    _sending(chunks)
    _receiving(chunks)
    _stealing(chunks)
    _claims(chunks)
    return chunks


def _sending(chunks: language.Draft) -> None:
    @chunks.action(SENDER, "benchmark", says="The sender goes on under {key}.")
    def connect(step: language.Step, key: Key) -> None:
        step.require("closed", mode == Mode.CLOSED)
        step.fresh(key)
        step.remove(live(step.each(Key)))
        step.insert(live(key))
        step.set(mode, Mode.SENDING)

    @chunks.action(SENDER, "benchmark", says="{c} is sent under {key}.", message="sender -> receiver: {c}")
    def send(step: language.Step, c: Chunk, key: Key) -> None:
        step.require("sending", (mode == Mode.SENDING) & live(key))
        step.require("in the window", window(base, c) & ~flying(c, key))
        step.insert(flying(c, key))

    @chunks.action(SENDER, "benchmark", says="The sender hears that {c} is waited for.")
    def hear(step: language.Step, c: Chunk) -> None:
        step.require("news", reached(c) & before(base, c) & (mode == Mode.SENDING))
        step.set(base, c)

    @chunks.action(SENDER, "benchmark", says="The sender is done.")
    def finish(step: language.Step) -> None:
        step.require("all arrived", (mode == Mode.SENDING) & (base == end))
        step.set(mode, Mode.DONE)
        step.remove(live(step.each(Key)))

    @chunks.action(NETWORK, "benchmark", says="The transfer breaks.", cost=1)
    def cut(step: language.Step) -> None:
        step.given("going on", mode == Mode.SENDING)
        step.set(mode, Mode.CLOSED)
        step.remove(live(step.each(Key)), flying(step.each(Chunk), step.each(Key)))


def _receiving(chunks: language.Draft) -> None:
    @chunks.action(RECEIVER, "benchmark", says="{c} arrives.")
    def arrive(step: language.Step, c: Chunk, key: Key) -> None:
        step.given("on its way", flying(c, key))
        step.remove(flying(c, key))
        step.insert(got(c))

    @chunks.action(RECEIVER, "benchmark", says="{c} is passed on.")
    def pass_on(step: language.Step, c: Chunk, following: Chunk) -> None:
        step.require("next", (waits == c) & got(c) & follows(c, following))
        step.set(waits, following)

    @chunks.action(RECEIVER, "benchmark", says="{c} is waited for.", message="receiver -> sender: {c}")
    def tell(step: language.Step, c: Chunk) -> None:
        step.require("waited for", (waits == c) & (c != start))
        step.insert(reached(c))

    @chunks.action(NETWORK, "benchmark", says="{c} is lost.")
    def lose(step: language.Step, c: Chunk, key: Key) -> None:
        step.given("on its way", flying(c, key))
        step.remove(flying(c, key))


def _stealing(chunks: language.Draft) -> None:
    @chunks.action(THIEF, "benchmark", says="The thief copies {c}.", cost=1)
    def copy(step: language.Step, c: Chunk, key: Key) -> None:
        step.given("on its way", flying(c, key) & ~copied(c, key))
        step.insert(copied(c, key))

    @chunks.action(THIEF, "benchmark", says="{key} gets out.", cost=1)
    def leak(step: language.Step, key: Key) -> None:
        step.given("retired", language.used(key) & ~out(key))
        step.given("not in use", ~live(key), defence="retire")
        step.insert(out(key))

    @chunks.rule(THIEF, "benchmark", says="The thief reads {c}.")
    def decrypt(step: language.Step, c: Chunk, key: Key) -> None:
        step.given("key and copy", out(key) & copied(c, key))
        step.insert(read(c))

    @chunks.rule(THIEF, "benchmark", says="The thief has all before {following}.")
    def join(step: language.Step, c: Chunk, following: Chunk) -> None:
        step.given("one more", follows(c, following) & read(c) & ((c == start) | prefix(c)))
        step.insert(prefix(following))


def _claims(chunks: language.Draft) -> None:
    @chunks.claim(
        name="in-order",
        sentence="Whatever comes before the chunk that is waited for has arrived.",
        requirement="R1",
        source="benchmark",
        under=("old-keys",),
    )
    def in_order(c: Chunk) -> language.Formula:
        return language.implies(before(c, waits), got(c))

    @chunks.claim(
        name="not-ahead",
        sentence="The sender never believes that more arrived than did.",
        requirement="R2",
        source="benchmark",
        under=("old-keys",),
    )
    def not_ahead(c: Chunk) -> language.Formula:
        return ~before(waits, base) & language.implies(reached(c), ~before(waits, c))

    @chunks.claim(
        name="safe-under-live-keys",
        sentence="Nothing is read that was copied under the key in use alone.",
        requirement="R3",
        source="benchmark",
        under=("old-keys",),
    )
    def safe_under_live_keys(c: Chunk) -> language.Formula:
        return language.implies(read(c), language.exists(lambda key: copied(c, key) & out(key) & ~live(key), Key))

    @chunks.lemma
    def what_gets_out_is_retired(key: Key) -> language.Formula:
        """A key that is out or in use was used, and no key is both."""
        return language.implies(out(key) | live(key), language.used(key)) & ~(out(key) & live(key))

    @chunks.goal(sentence="All arrives, and the thief has all of it.")
    def all_read() -> language.Formula:
        return (mode == Mode.DONE) & prefix(end)

    @chunks.goal(sentence="All arrives under a second key, and the thief has the key before and a copy.")
    def kept_from_the_thief(c: Chunk, old: Key, new: Key) -> language.Formula:
        return (waits == end) & copied(c, new) & live(new) & out(old) & (old != new)


def instance(_protocol: language.Protocol, _threat: str, scale: language.Scale) -> language.Instance:
    """Put chunks in line, with an empty one at the end."""
    line = (*(f"chunk{number}" for number in range(scale["chunks"])), "end")
    ahead = ((one, other) for at, one in enumerate(line) for other in line[at : at + scale["window"]] if other != "end")
    return language.Instance(
        elements={"Chunk": line, "Key": tuple(f"key{number}" for number in range(scale["keys"]))},
        relations={
            "before": language.InLine(line),
            "follows": frozenset(pairwise(line)),
            "window": frozenset(ahead),
        },
        functions={"start": {(): line[0]}, "end": {(): line[-1]}},
    )


FAMILY = language.Family(
    id="chunk-transfer",
    title="A transfer in chunks",
    draft=draft,
    instance=instance,
    profiles={
        "tiny": language.Profile("tiny", {"chunks": 2, "keys": 2, "window": 2}),
        "narrow": language.Profile("narrow", {"chunks": 5, "keys": 2, "window": 4}),
    },
)
