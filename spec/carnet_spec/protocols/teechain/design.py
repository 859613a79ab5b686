"""The family of Teechain for custody: axioms, threat models, instances and findings."""

from functools import partial
from itertools import combinations

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.teechain.claims import TEXT, state_properties
from carnet_spec.protocols.teechain.protocol import specify
from carnet_spec.protocols.teechain.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- design ------------------------------------------------------------------------------------------------------------

ID = "teechain"
TITLE = "Teechain for custody: a log in a chain of replicas, which freezes before another chain goes on"


def teechain(variant: str) -> Draft:
    """Draft the named variant of Teechain for custody."""
    draft = Draft(ID, TITLE, variant)
    # In the shape of the steps are: what a signature says, who is broken, what a counter does.
    assumptions_from(draft, TEXT, built_in=("A1", "A2", "A3"))
    _assume(draft)
    draft.threat(
        "platform",
        "the platform owns network and storage, and kills and launches enclaves; TEEs hold",
        tees_hold=forall(lambda r: implies(credible(r), sound(r)), Replica),
    )
    draft.threat("broken", "TEEs of backups may be broken, too, as far as quorums allow")
    specify(draft)
    state_properties(draft)
    return draft


def _assume(draft: Draft) -> None:
    StrictOrder("epochs", Epoch, before, "A4").assume_linear(draft, zero)

    two, three = (Chain,) * 2, (Chain,) * 3
    axiom = partial(draft.axiom, assumption="A5")
    axiom("a head is a member", forall(lambda c: belongs(c, head(c)), Chain))
    to_the_tail = forall(lambda c, r: implies(belongs(c, r), (r == tail(c)) | ahead(c, r, tail(c))), Chain, Replica)
    axiom("all are before the tail", to_the_tail)
    axiom("none is before the head", forall(lambda c, r: ~ahead(c, r, head(c)), Chain, Replica))
    from_the_head = forall(lambda c, r: implies(belongs(c, r), (r == head(c)) | ahead(c, head(c), r)), Chain, Replica)
    axiom("the head is before all", from_the_head)
    axiom("a tail is a member", forall(lambda c: belongs(c, tail(c)), Chain))
    axiom("chains do not loop", forall(lambda c: ~earlier(c, c), Chain))
    axiom("none is before the first", forall(lambda c: ~earlier(c, origin), Chain))
    axiom("chains are ordered", forall(lambda a, b, c: implies(earlier(a, b) & earlier(b, c), earlier(a, c)), *three))
    axiom("one step is a step", forall(lambda b, c: implies(follows(b, c), earlier(b, c)), *two))
    in_one_step = forall(lambda a, b, c: implies(earlier(a, c) & follows(b, c), (a == b) | earlier(a, b)), *three)
    axiom("one chain is next before", in_one_step)

    axiom = partial(draft.axiom, assumption="A6")
    members = forall(lambda c, q, r: implies(quorum(c, q) & within(q, r), belongs(c, r)), Chain, Quorum, Replica)
    axiom("a quorum is of members", members)

    def in_both(c: Chain, q: Quorum, s: Quorum) -> Formula:
        return implies(quorum(c, q) & quorum(c, s), within(q, meet(q, s)) & within(s, meet(q, s)))

    axiom("quorums meet", forall(in_both, Chain, Quorum, Quorum))
    axiom = partial(draft.axiom, assumption="A7")
    axiom("heads hold", forall(lambda c: implies(credible(head(c)), sound(head(c))), Chain))
    axiom("quorums hold", forall(lambda q, s: implies(credible(meet(q, s)), sound(meet(q, s))), Quorum, Quorum))


# -- instances ---------------------------------------------------------------------------------------------------------
# Finite instances of Teechain for custody: who is in the chains, who is broken, and how many epochs there are.

#: Sizes by name, unless a profile or ``--set`` says otherwise.
DEFAULTS = {
    "epochs": 1,
    "holders": 2,
    "backups": 1,
    "outsider": 0,
    "foreign": 0,
    "rivals": 0,
    "third": 0,
    "majority": 0,
}


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes.

    The first chain is the primary and ``backups``, in line. The next one is the first backup's, which is by itself, and
    a rival of it is the primary's, with the first backup, who has a ``third`` one after that. An ``outsider`` is a
    replica that no vendor certified (1), or one that runs something else (2), at the end of the first chain; under
    ``broken`` one is there that is certified and runs the custody program, and is broken. A ``foreign`` chain is that
    of an outsider, and another one of the first backup follows it. The one quorum of the first chain is its last backup
    or outsider, or with ``majority`` every member.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    backups = numbered_names("backup", size["backups"])
    outside = (("broken",) if threat == "broken" else ()) + _outsider(size["outsider"])
    chains = _chains(size, backups, outside)
    replicas = tuple(dict.fromkeys(("primary", *backups, *outside, *chains.get("foreign", ())[:1])))
    quorums = {"voters": chains["origin"] if size["majority"] else _voter(backups, outside)}
    quorums |= {name: chains[name][-1:] for name in ("rival",) if size["third"]}
    quorums |= {name: chains[name][:1] for name in ("foreign",) if size["foreign"]}
    epochs = numbered_names("e", 1 + size["epochs"], start=0)
    follows = frozenset((_AFTER.get(chain, "origin"), chain) for chain in chains if chain != "origin")
    return Instance(
        elements={
            "Replica": replicas,
            "Chain": tuple(chains),
            "Quorum": tuple(quorums),
            "Epoch": epochs,
            "Holder": numbered_names("holder", size["holders"]),
        },
        relations={
            "sound": unary(("primary", *backups)),
            "certified": unary(each for each in replicas if each != "fake"),
            "measured": unary(each for each in replicas if each != "other"),
            "belongs": frozenset((chain, each) for chain, line in chains.items() for each in line),
            "ahead": frozenset((chain, *pair) for chain, line in chains.items() for pair in combinations(line, 2)),
            "follows": follows,
            "earlier": follows | frozenset(("origin", chain) for chain in _AFTER if chain in chains),
            "quorum": frozenset(("origin" if name == "voters" else name, name) for name in quorums),
            "within": frozenset((name, each) for name, line in quorums.items() for each in line),
            "before": InLine(epochs),
        },
        functions={
            "origin": {(): "origin"},
            "zero": {(): epochs[0]},
            "head": {(chain,): line[0] for chain, line in chains.items()},
            "tail": {(chain,): line[-1] for chain, line in chains.items()},
            "meet": {(one, two): quorums[one][0] for one in quorums for two in quorums},
        },
        describes=amounts_in_words(
            (size["backups"], "backup"),
            (1 if size["outsider"] else 0, "outsider"),
            (1 + size["rivals"] + size["third"], "next chain"),
            (2 if size["foreign"] else 0, "foreign chain"),
            (size["epochs"], "epoch"),
            (size["holders"], "holder"),
        ),
    )


_AFTER = {"third": "rival", "after": "foreign"}  #: The chains that follow another one than the first.


def _outsider(kind: int) -> Row:
    return (("fake",), ("other",))[kind - 1] if kind else ()


def _chains(size: dict[str, int], backups: Row, outside: Row) -> dict[str, Row]:
    chains: dict[str, Row] = {"origin": ("primary", *backups, *outside), "next": backups[:1]}
    if size["rivals"]:
        chains["rival"] = ("primary", *backups[:1])
    if size["third"]:
        chains["third"] = backups[:1]
    if size["foreign"]:
        chains["foreign"] = (*_outsider(size["foreign"]), *backups[:1])
        chains["after"] = backups[:1]
    return chains


def _voter(backups: Row, outside: Row) -> Row:
    return tuple(each for each in (*backups, *outside) if each != "broken")[-1:]


# -- family ------------------------------------------------------------------------------------------------------------
# What a custody log needs beside replication, and what the published designs say of it.
# Each is an attack on a reading of an abstract, carried over to custody. The papers settle on a blockchain, or may
# exclude it otherwise.

TEECHAIN = "Teechain's abstract, carried over to custody"
TEECHAN = "Teechan's counters, carried over to custody"

_finding = Findings("platform", TEECHAIN)

#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.OTHERS,
        "holders",
        Visibility.RESULT,
        "grants that are made to them",
    ),
    PartyView(
        PartyKind.TEE,
        "replicas",
        Visibility.CLEAR,
        "the log of custody",
        trusted_for="a primary that holds, and with it a member that any two quorums share",
        assumed_in=("A6", "A7"),
    ),
    PartyView(
        PartyKind.HOST,
        "platform, network and storage",
        Visibility.HIDDEN,
        "entries that replicas send each other, and when",
        limited_by=("log-secret",),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=teechain,
    instance=instance,
    variants=VARIANTS,
    profiles=by_name(
        Profile("tiny", {"rivals": 1, "foreign": 1}, title="a primary and a backup, one epoch"),
        Profile("epochs", {"epochs": 2}, title="a primary and a backup, two epochs"),
        Profile("backups", {"backups": 2, "holders": 1, "majority": 1}, title="two backups, and every member votes"),
    ),
    hunts=(
        Profile("one backup", {}),
        Profile("a rival", {"rivals": 1, "holders": 1}),
        Profile("a foreign chain", {"foreign": 1, "holders": 1}),
        Profile("a fake", {"outsider": 1, "holders": 1}, budget=2),
        Profile("another program", {"outsider": 2, "holders": 1}, budget=2),
        Profile("a third chain", {"rivals": 1, "third": 1, "holders": 1}, budget=1),
        Profile("two epochs", {"epochs": 2, "holders": 1}, budget=1),
        Profile("two backups", {"backups": 2, "holders": 1}, budget=0),
    ),
    findings=(
        _finding(1, "any-survivor", "epoch-once")(
            "replicated state and no blockchain to settle on: a backup finds the primary silent, and both go on"
        ),
        _finding(2, "copied-out", "epoch-once")(
            "a state that is read out without a freeze: what is granted afterwards is granted again"
        ),
        _finding(3, "tail-alone", "epoch-once", threat="broken")(
            "the acknowledgement of the tail is enough, and one broken TEE is the tail: an epoch is granted twice"
        ),
        _finding(4, "sealed-storage", "no-rollback", about=TEECHAN)(
            "sealed storage in place of a counter: the platform brings an old state back"
        ),
        _finding(5, "uncounted", "nothing-lost", about=TEECHAN)(
            "the counter is incremented after the message: what was acknowledged is not there any more"
        ),
        _finding(6, "kept-key", "nothing-lost")(
            "a replica that restarts with its key and without its log is counted as it was"
        ),
        _finding(7, "any-log", "epoch-once")("the next primary goes on from its own log, which is not the newest"),
    ),
    default_threat="platform",
    round_goal="custody-taken",
    views=VIEWS,
    text=TEXT,
)
