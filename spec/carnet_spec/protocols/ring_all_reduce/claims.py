"""The claims, goals and lemmas of ring all-reduce, for any number of ranks, chunks, iterations, sub-steps and keys."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.ring_all_reduce.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("links", "tenants")  #: The threat models under which every claim is made.


def state_properties(draft: Draft) -> None:
    """Add claims, goals and lemmas to ``draft``, and say which of them fall in its variant."""
    claim = Claims(draft, TEXT, THREATS)

    @claim(
        "confidentiality", "DDP in GPU TEEs, abstract: any data communicated outside the GPU packages must be encrypted"
    )
    def confidentiality(n: Endpoint, v: Vector, i: Iteration, c: Chunk, r: Endpoint) -> Formula:
        return implies(learnt(n, v) & part(v, i, c, r), sound(n))

    @claim("hop-isolation", "Carnet")
    def hop_isolation(g: Endpoint, k: Key, h: Endpoint, n: Endpoint) -> Formula:
        return implies(outgoing(g, k, h) & knows(n, k), (n == g) | (n == h))

    @claim("neighbour-genuine", "DDP in GPU TEEs, abstract: only the GPU package is trusted")
    def neighbour_genuine(g: Endpoint, k: Key, h: Endpoint) -> Formula:
        sends = implies(outgoing(g, k, h), follows(g, h) & sound(h) & incoming(h, k, g))
        takes = implies(incoming(h, k, g), follows(g, h) & sound(g) & opened(g, k))
        return sends & takes

    @claim("partial-sum-agreement", "DDP in GPU TEEs, abstract: decryption and MAC authentication on the receiver")
    def partial_sum_agreement(f: Endpoint, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(took(g, i, c, v) & follows(f, g), sealed(f, i, Phase.REDUCE, c, v))

    @claim("sum-agreement", "DDP in GPU TEEs, abstract: decryption and MAC authentication on the receiver")
    def sum_agreement(f: Endpoint, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(copied(g, i, c, v) & follows(f, g), sealed(f, i, Phase.GATHER, c, v))

    @claim("whole-sum", "DDP in GPU TEEs, abstract: ring-all-reduce")
    def whole_sum(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint) -> Formula:
        return implies(finished(g, i), settled(g, i, c) & implies(total(g, i, c, v) & sound(r), part(v, i, c, r)))

    @claim("nothing-else", "Carnet (stale and forged partial sums)")
    def nothing_else(g: Endpoint, i: Iteration, c: Chunk, v: Vector, j: Iteration, d: Chunk, r: Endpoint) -> Formula:
        own = implies(part(v, j, d, r), (j == i) & (d == c) & sound(r))
        return implies(total(g, i, c, v), own & ~made(v))

    @claim("counted-once", "Carnet (a partial sum sent again)")
    def counted_once(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(total(g, i, c, v), ~doubled(v))

    @claim("same-sum", "DDP in GPU TEEs, abstract: ring-all-reduce")
    def same_sum(g: Endpoint, h: Endpoint, i: Iteration, c: Chunk, v: Vector, w: Vector) -> Formula:
        return implies(total(g, i, c, v) & total(h, i, c, w), v == w)

    @claim("iv-unique", "RFC 5116 section 3.1")
    def iv_unique(k: Key, i: Iteration, p: Phase, c: Chunk) -> Formula:
        return ~reused(k, i, p, c)

    @claim("alarm-heeded", "SP 800-38D section 7.2")
    def alarm_heeded(g: Endpoint) -> Formula:
        return ~unheeded(g)

    _goals(draft)
    _lemmas(draft)
    if draft.variant == MAIN:
        _progress(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_WRONG_SUMS = ("partial-sum-agreement", "sum-agreement", "nothing-else", "whole-sum", "same-sum")
_JOINED = ("neighbour-genuine", "hop-isolation", "confidentiality", *_WRONG_SUMS)

#: For each variant the claims that fall, and under which threat models.
FALLS: Falls = {
    "group-key": dict.fromkeys(("neighbour-genuine", "hop-isolation", "confidentiality", "iv-unique"), THREATS),
    "unattested": dict.fromkeys(_JOINED, THREATS),
    CERTIFICATE_ONLY: dict.fromkeys(_JOINED, THREATS[1:]),
    **dict.fromkeys(("any-iteration", "any-chunk", "bare-mac", "late-check"), dict.fromkeys(_WRONG_SUMS, THREATS)),
    "any-phase": dict.fromkeys(("partial-sum-agreement", "sum-agreement", "whole-sum", "same-sum"), THREATS),
    "goes-on": {"whole-sum": THREATS},
    "same-keys": dict.fromkeys(("confidentiality", "iv-unique", "same-sum"), THREATS),
}

_MIXED = ("sums_are_of_one_chunk", "nobody_is_missing", "sums_come_from_the_last")
_STRANGE = ("both_ends_of_a_hop", "hops_are_closed", "tags_tell_by_key", "contributions_are_under_hop_keys")

#: For each variant the lemmas that do not hold in it.
UNTRUE: dict[str, tuple[str, ...]] = {
    "group-key": (
        *("senders_opened", "both_ends_of_a_hop", "tags_tell_by_key"),
        *("ivs_are_spent", "who_knows", "one_iv_one_message"),
    ),
    "unattested": (*_STRANGE, "sums_are_clean", "nobody_is_missing", "sums_come_from_the_last"),
    **dict.fromkeys(("any-iteration", "any-chunk", "bare-mac"), _MIXED),
    "any-phase": _MIXED[1:],
    "late-check": ("sums_are_clean", *_MIXED),
    "goes-on": ("nobody_is_missing",),
    "same-keys": (
        *("contributions_are_remembered", "what_was_sealed", "ivs_are_spent"),
        *("one_iv_one_message", "contributions_are_under_hop_keys", "sums_come_from_the_last"),
    ),
}


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def _goals(draft: Draft) -> None:

    @draft.goal(sentence="Two ranks finish an iteration.")
    def iteration_finished(g: Endpoint, h: Endpoint, i: Iteration) -> Formula:
        return finished(g, i) & finished(h, i) & (g != h)

    @draft.goal(sentence="A rank has a sum with the contributions of two ranks, and got it from another one.")
    def sum_of_two(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint, s: Endpoint) -> Formula:
        return copied(g, i, c, v) & part(v, i, c, r) & part(v, i, c, s) & (r != s)

    @draft.goal(sentence="A rank adds to a partial sum that another rank began.")
    def partial_sum_added(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint) -> Formula:
        return took(g, i, c, v) & part(v, i, c, r) & (r != g)

    @draft.goal(sentence="One rank has the sum of a chunk, and another one still waits for it.")
    def on_its_way(g: Endpoint, h: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return total(g, i, c, v) & sound(h) & ~settled(h, i, c)

    @draft.goal(sentence="Both hops of a rank are attested.")
    def in_the_ring(g: Endpoint, f: Endpoint, h: Endpoint, j: Key, k: Key) -> Formula:
        return incoming(g, j, f) & outgoing(g, k, h)

    @draft.goal(sentence="A rank raises the alarm while the sum of a chunk goes round.")
    def alarm_raised(g: Endpoint, h: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return alarmed(g) & took(h, i, c, v)

    @draft.goal(sentence="Bytes that the adversary made arrive under a key of the ring.")
    def changed_on_the_link(g: Endpoint, k: Key, h: Endpoint, v: Vector) -> Formula:
        return outgoing(g, k, h) & altered(k, v) & made(v)

    @draft.goal(sentence="The adversary answers the exchange of a rank, and has a report that names it.")
    def fake_neighbour(g: Endpoint, n: Endpoint, k: Key, m: Mode, h: Endpoint) -> Formula:
        return opened(g, k) & answered(k) & exposed(k) & knows(n, k) & report(n, k, m, Code.TRAINER, h) & ~sound(n)

    @draft.goal(sentence="The adversary learns a vector of its own, and no rank takes it.")
    def own_vector(n: Endpoint, v: Vector) -> Formula:
        return learnt(n, v) & ~sound(n) & made(v)


# -- lemmas ------------------------------------------------------------------------------------------------------------
# What makes the claims inductive, for any number of everything, whoever else is on the network.
#
# The argument: the adversary is at no end of a key that a rank sends or takes under, so whatever is under such a key, a
# rank sealed (keys, messages). A message says where it belongs, and its key who sent it, so what a rank adds is the
# partial sum of the rank before it. In that are the contributions of all ranks up to there in the line of the chunk,
# each once, and nothing else; at the last rank that is all of them, and the others take copies (sums).


def _lemmas(draft: Draft) -> None:
    """Add the lemmas to ``draft``.

    Where a certificate is enough, what rests on the hops is true only while every genuine GPU is of the ring.
    """
    secure = draft.lemma_under("links") if draft.variant == CERTIFICATE_ONLY else draft.lemma

    # Keys.

    @draft.lemma
    def what_is_used(k: Key, n: Endpoint, m: Mode, q: Code, h: Endpoint) -> Formula:
        """Nothing is said of a key before it is drawn, and nobody answers before somebody asks."""
        said = opened(n, k) | knows(n, k) | exposed(k) | asked(k) | report(n, k, m, q, h)
        return (said >> used(k)) & (answered(k) >> asked(k)) & (ends(n, k) >> answered(k))

    @draft.lemma
    def who_is_at_an_end(g: Endpoint, h: Endpoint, k: Key) -> Formula:
        """Ranks open and answer exchanges; one rank opened each, and one answered it."""
        ranks = (opened(g, k) | ends(g, k)) >> sound(g)
        opening = implies(opened(g, k) & opened(h, k), g == h)
        return ranks & opening & implies(ends(g, k) & ends(h, k), g == h)

    @draft.lemma
    def who_is_exposed(g: Endpoint, h: Endpoint, k: Key) -> Formula:
        """The adversary is at one end if it opened the exchange or answered it first."""
        return implies(opened(g, k) & exposed(k), answered(k)) & implies(opened(g, k) & ends(h, k), ~exposed(k))

    @draft.lemma
    def who_knows(n: Endpoint, k: Key) -> Formula:
        """Two ranks know a key that the adversary is at no end of."""
        return implies(knows(n, k) & ~exposed(k), opened(n, k) | ends(n, k))

    @draft.lemma
    def who_else_knows(n: Endpoint, k: Key) -> Formula:
        """Nobody but ranks knows a key that the adversary is at no end of."""
        return implies(knows(n, k) & ~sound(n), exposed(k))

    @draft.lemma
    def reports_are_true(n: Endpoint, k: Key, m: Mode, q: Code, h: Endpoint) -> Formula:
        """A rank reports on its own exchanges and its own place, and a genuine GPU on what it is."""
        own = implies(report(n, k, m, q, h) & sound(n), (h == n) & (opened(n, k) | ends(n, k)))
        mode = implies(report(n, k, m, q, h) & genuine(n) & (m == Mode.CONFIDENTIAL), closed(n))
        code = implies(report(n, k, m, q, h) & genuine(n) & (q == Code.TRAINER), trains(n))
        return own & mode & code

    # Hops.

    @draft.lemma
    def senders_opened(g: Endpoint, k: Key, h: Endpoint) -> Formula:
        """A rank that sends opened the exchange, and one that takes answered it."""
        return implies(outgoing(g, k, h), opened(g, k) & answered(k)) & implies(incoming(h, k, g), ends(h, k))

    @draft.lemma
    def hops_are_of_the_ring(g: Endpoint, k: Key, h: Endpoint) -> Formula:
        """A rank sends to the next one, and takes from the one before."""
        return implies(outgoing(g, k, h) | incoming(h, k, g), follows(g, h))

    @secure
    def both_ends_of_a_hop(g: Endpoint, k: Key, h: Endpoint) -> Formula:
        """Each end of a hop knows the other."""
        takes = implies(incoming(h, k, g), opened(g, k)) & implies(opened(g, k) & ends(h, k), incoming(h, k, g))
        return takes & implies(outgoing(g, k, h), incoming(h, k, g))

    @secure
    def hops_are_closed(g: Endpoint, k: Key, h: Endpoint) -> Formula:
        """The adversary is at no end of a hop, and both ends are ranks."""
        there = sound(g) & sound(h) & answered(k) & ~exposed(k)
        return implies(outgoing(g, k, h) | incoming(h, k, g), there)

    # Messages.

    @draft.lemma
    def what_is_under_a_key(k: Key, i: Iteration, p: Phase, t: SubStep, c: Chunk, v: Vector) -> Formula:
        """Nothing is under a key before it is answered, or the adversary has it."""
        there = ciphertext(k, v) | tag(k, i, p, t, c, v) | ivs(k, i, p, c)
        chunk = implies(tag(k, i, p, t, c, v) | masked(k, i, p, c, v), ciphertext(k, v))
        return chunk & (there >> (answered(k) | exposed(k)))

    @secure
    def tags_tell_by_step(g: Endpoint, k: Key, i: Iteration, p: Phase, t: SubStep, c: Chunk, v: Vector) -> Formula:
        """A tag says what a rank sealed: the sub-step says which rank."""
        told = tag(k, i, p, t, c, v) & ~exposed(k) & sound(g) & (t == turn(p, c, g))
        return implies(told, sealed(g, i, p, c, v))

    @secure
    def tags_tell_by_key(
        f: Endpoint, g: Endpoint, k: Key, i: Iteration, p: Phase, t: SubStep, c: Chunk, v: Vector
    ) -> Formula:
        """A tag says what a rank sealed: the key says which rank."""
        return implies(incoming(g, k, f) & tag(k, i, p, t, c, v), sealed(f, i, p, c, v) & (t == turn(p, c, f)))

    @draft.lemma
    def what_was_sealed(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        """Partial sums are sealed in one phase, and sums in the other."""
        partly = implies(sealed(g, i, Phase.REDUCE, c, v), partial(g, i, c, v))
        return partly & implies(sealed(g, i, Phase.GATHER, c, v), total(g, i, c, v))

    # Ivs.

    @draft.lemma
    def ivs_are_spent(g: Endpoint, k: Key, i: Iteration, p: Phase, c: Chunk) -> Formula:
        """A rank remembers what it sealed."""
        return implies(ivs(k, i, p, c) & opened(g, k), spent(g, k, i, p, c))

    @draft.lemma
    def one_iv_one_message(k: Key, i: Iteration, p: Phase, c: Chunk, v: Vector, w: Vector) -> Formula:
        """One vector was sealed with an IV."""
        return implies(masked(k, i, p, c, v), ivs(k, i, p, c) & implies(masked(k, i, p, c, w), v == w))

    # What is in sums.

    @draft.lemma
    def what_is_drawn(v: Vector, g: Endpoint, k: Key, i: Iteration, p: Phase, c: Chunk) -> Formula:
        """Nothing is said of a vector before it is drawn."""
        said = part(v, i, c, g) | made(v) | doubled(v) | partial(g, i, c, v) | total(g, i, c, v) | sealed(g, i, p, c, v)
        return (said | learnt(g, v) | ciphertext(k, v) | altered(k, v)) >> used(v)

    @draft.lemma
    def one_partial_sum(g: Endpoint, i: Iteration, c: Chunk, v: Vector, w: Vector) -> Formula:
        """A rank has one partial sum of a chunk, with its own contribution."""
        one = implies(partial(g, i, c, v) & partial(g, i, c, w), v == w)
        return one & implies(partial(g, i, c, v), added(g, i, c) & sound(g))

    @secure
    def sums_are_clean(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        """Nothing that the adversary made is in a sum."""
        return implies(_partly(g, i, c, v) | _wholly(g, i, c, v), ~made(v))

    @secure
    def sums_are_of_one_chunk(
        g: Endpoint, i: Iteration, c: Chunk, v: Vector, j: Iteration, d: Chunk, r: Endpoint
    ) -> Formula:
        """In a sum are contributions to its chunk in its iteration only."""
        return implies((_partly(g, i, c, v) | _wholly(g, i, c, v)) & part(v, j, d, r), (j == i) & (d == c))

    @secure
    def nobody_is_missing(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint) -> Formula:
        """In a partial sum are the contributions of all ranks up to there, and in a sum those of all ranks."""
        partly = implies(_partly(g, i, c, v) & sound(r) & upto(c, r, g), part(v, i, c, r))
        return partly & implies(_wholly(g, i, c, v) & sound(r), part(v, i, c, r))

    @secure
    def nobody_is_early(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint) -> Formula:
        """In a partial sum is no contribution of a rank that comes later."""
        return implies(_partly(g, i, c, v) & part(v, i, c, r), upto(c, r, g))

    @secure
    def sums_come_from_the_last(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        """What a rank takes to be the whole sum is what the last rank of the chunk has."""
        return implies(total(g, i, c, v), partial(last(c), i, c, v))

    @draft.lemma
    def sums_are_settled(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        """A rank that has a sum has settled the chunk."""
        return implies(total(g, i, c, v), settled(g, i, c) & sound(g))

    @draft.lemma
    def contributions_are_remembered(v: Vector, i: Iteration, c: Chunk, r: Endpoint) -> Formula:
        """A rank remembers that it made its contribution."""
        return implies(part(v, i, c, r), added(r, i, c))

    @draft.lemma
    def contributions_are_of_ranks(v: Vector, i: Iteration, c: Chunk, r: Endpoint) -> Formula:
        """Ranks contribute, and nobody else."""
        return implies(part(v, i, c, r), sound(r))

    @draft.lemma
    def nobody_is_in_twice(v: Vector) -> Formula:
        """No vector has a contribution in it twice."""
        return ~doubled(v)

    @secure
    def contributions_are_under_hop_keys(k: Key, v: Vector, i: Iteration, c: Chunk, r: Endpoint) -> Formula:
        """No contribution is in what was sealed under a key that the adversary has."""
        return implies(ciphertext(k, v) & part(v, i, c, r), answered(k) & ~exposed(k))


# -- progress ----------------------------------------------------------------------------------------------------------
# What happens in the end, if ranks go on as they can and links let through what was sent. Whoever has a link can keep
# everything back for ever: then the alarm is what happens.
#
# The argument: a rank that begins sums does so. What a rank has added to, the next one adds to, and so on along the
# line of the chunk, up to the last. What that one has, the next one takes, round the ring. So every rank has every sum.


def _progress(draft: Draft) -> None:
    """Add what happens in the end to ``draft``, and the lemmas that it rests on."""
    _what_is_there(draft)
    promise = Promises(draft, TEXT)
    promise(
        "sum-begun",
        lambda g, i, c: sound(g) & (first(c) == g),
        lambda g, i, c: added(g, i, c) | alarmed(g) | _all_drawn(),
        each=(Endpoint, Iteration, Chunk),
        given={"contribute": {"g": lambda g, i, c: g, "i": lambda g, i, c: i, "c": lambda g, i, c: c}},
    )
    hop = {
        "sender": {"g": lambda f, g, i, c: f, "h": lambda f, g, i, c: g},
        "receiver": {"g": lambda f, g, i, c: g, "f": lambda f, g, i, c: f},
        "chunk": {"i": lambda f, g, i, c: i, "c": lambda f, g, i, c: c},
    }
    sending, taking = hop["sender"] | hop["chunk"], hop["receiver"] | hop["chunk"]
    promise(
        "partial-sum-passed-on",
        lambda f, g, i, c: _attested(f, g) & added(f, i, c) & (first(c) != g),
        lambda f, g, i, c: added(g, i, c) | alarmed(f) | alarmed(g) | _all_drawn(),
        each=(Endpoint, Endpoint, Iteration, Chunk),
        given={"send_partial": sending, "add": taking},
    )
    promise(
        "sum-passed-on",
        lambda f, g, i, c: _attested(f, g) & settled(f, i, c) & (last(c) != g),
        lambda f, g, i, c: settled(g, i, c) | alarmed(f) | alarmed(g),
        each=(Endpoint, Endpoint, Iteration, Chunk),
        given={"send_total": sending, "gather": taking},
    )
    promise(
        "finished",
        lambda g, i: sound(g) & forall(lambda c: settled(g, i, c), Chunk),
        lambda g, i: finished(g, i) | alarmed(g),
        each=(Endpoint, Iteration),
        given={"finish": {"g": lambda g, i: g, "i": lambda g, i: i}},
    )
    promise(
        "rank-ends",
        lambda g, i: sound(g),
        lambda g, i: finished(g, i) | alarmed(g),
        each=(Endpoint, Iteration),
        given={"raise_alarm": {"g": lambda g, i: g}},
    )


def _attested(f: Endpoint, g: Endpoint) -> Formula:
    """Whether the hop between two ranks is attested at both ends."""
    return exists(lambda k: outgoing(f, k, g), Key)


def _all_drawn() -> Formula:
    """Whether no vector is left that was never drawn: then nobody can make a new one."""
    return ~exists(lambda v: ~used(v), Vector)


def _what_is_there(draft: Draft) -> None:

    @draft.lemma
    def who_added_has_a_partial(g: Endpoint, i: Iteration, c: Chunk) -> Formula:
        """Where the mark is that a rank added, there is its partial sum."""
        return implies(added(g, i, c), exists(lambda v: partial(g, i, c, v), Vector))

    @draft.lemma
    def who_settled_has_a_sum(g: Endpoint, i: Iteration, c: Chunk) -> Formula:
        """Where the mark is that a chunk is settled, there is its sum."""
        return implies(settled(g, i, c), exists(lambda v: total(g, i, c, v), Vector))

    @draft.lemma
    def the_last_settles_by_adding(i: Iteration, c: Chunk) -> Formula:
        """At the last rank of a chunk, what is added is settled."""
        return (settled(last(c), i, c) >> added(last(c), i, c)) & (added(last(c), i, c) >> settled(last(c), i, c))

    @draft.lemma
    def sent_partial_sums_are_there(g: Endpoint, k: Key, i: Iteration, c: Chunk, v: Vector) -> Formula:
        """A rank that sealed a chunk in reduce-scatter added to it, and its partial sum is on the link."""
        there = tag(k, i, Phase.REDUCE, turn(Phase.REDUCE, c, g), c, v)
        return implies(spent(g, k, i, Phase.REDUCE, c), added(g, i, c) & implies(partial(g, i, c, v), there))

    @draft.lemma
    def sent_sums_are_there(g: Endpoint, k: Key, i: Iteration, c: Chunk, v: Vector) -> Formula:
        """A rank that sealed a chunk in all-gather has its sum, which is on the link."""
        there = tag(k, i, Phase.GATHER, turn(Phase.GATHER, c, g), c, v)
        return implies(spent(g, k, i, Phase.GATHER, c), settled(g, i, c) & implies(total(g, i, c, v), there))


# -- words -------------------------------------------------------------------------------------------------------------


def _partly(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
    """Whether the rank has, or had when it sealed it, this partial sum."""
    return partial(g, i, c, v) | sealed(g, i, Phase.REDUCE, c, v)


def _wholly(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
    """Whether the rank has, or had when it sealed it, this sum."""
    return total(g, i, c, v) | sealed(g, i, Phase.GATHER, c, v)
