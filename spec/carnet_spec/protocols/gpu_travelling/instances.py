"""The finite instances of GPU Travelling: parties, sizes, and the order in which attack searches enlarge them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from itertools import combinations

from carnet_spec.language import *
from carnet_spec.language.authoring import HONEST, amounts_in_words, by_name, fact, first_names, numbered_names, unary

#: Sizes by name, unless a profile or ``--set`` says otherwise.
DEFAULTS = {
    "holders": 1,
    "corrupt": 1,
    "gpus": 1,
    "fakes": 0,
    "leaks": 0,
    "elsewhere": 0,
    "instances": 0,
    "twins": 0,
    "chunks": 1,
    "slots": 6,
    "corrupt_chunks": 0,
    "extras": 0,
    "rounds": 1,
    "sessions": 1,
    "own_sessions": 0,
    "own_keys": 0,
    "instants": 3,
    "limit": 2,
}
#: The sizes that only say how many keys and sessions may be drawn, and how far counters go.
FRESH_SIZES = frozenset({"rounds", "sessions", "slots"})

#: The steps that open a channel: no engine has more than one at first, and one in each round.
_OPENING_CHANNELS = (
    *("open_session", "reattach", "take_over"),
    *("rotate_out", "rotate_in", "rotate_late", "rotate_after_fence"),
)

_OF_A_CORRUPT_PLATFORM = {"fakes": 1, "instances": 1, "twins": 1}
#: What there is at least where ``extras`` is 1, as far as every state can be visited, the adversary's moves unlimited.
#:
#: That is what a threat model allows the adversary beside; and where it allows least, two chunks, which have an order.
#: A layer has none of it, because what a layer adds reads none of it.
_BESIDE: Mapping[str, Mapping[str, int]] = {
    "outsider": {"chunks": 2},
    "holder": {"corrupt_chunks": 1},
    "hypervisor": _OF_A_CORRUPT_PLATFORM,
    "collusion": _OF_A_CORRUPT_PLATFORM,
}

_CORRUPT = ("mallory", "milo", "maria", "marcus")


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes under one threat model.

    ``holders`` are honest and ``corrupt`` are corrupt enrolled holders (under ``outsider`` and ``hypervisor`` the
    corrupt ones take part as outsiders); ``gpus`` genuine and ``fakes`` fake GPUs, ``leaks`` genuine ones that are
    nowhere and whose device keys leaked, and were revoked since; ``elsewhere`` genuine ones that outsiders own (one at
    least under ``outsider``, or nobody could do anything); ``instances`` are orchestrator instances that outsiders
    started with inputs of their own, ``twins`` those that somebody started on the same manifest; ``chunks`` per honest
    and ``corrupt_chunks`` per corrupt holder; with ``extras`` there is what the threat model allows beside (see
    ``_BESIDE``); ``slots`` counter values under a key, at least one more than chunks, and numbers of an epoch's
    orders; ``rounds`` hand-overs; ``sessions`` the orchestrator may open; ``own_sessions`` and ``own_keys`` the
    adversary may draw. Where there is a clock it shows ``instants``, and each key protects ``limit`` messages in
    either direction.
    """
    timed = any(sort.name == "Instant" for sort in protocol.sorts)
    size = _sizes(scale, threat, timed=timed)
    parties = _Parties.of(size, threat)
    slots = tuple(f"{n}" for n in range(max(size["slots"], size["chunks"] + 1, size["limit"] + 1)))
    keys, pools = _keys(size)
    places = slots[: size["chunks"] + size["corrupt_chunks"]]
    pools |= dict.fromkeys((("write_buffer", "v"), ("code_writes", "v")), places)
    pools |= dict.fromkeys(((action, "c") for action in _OPENING_CHANNELS), slots[: 1 + size["rounds"]])
    instants = numbered_names("instant ", size["instants"])
    versions = ("version 0", *(f"version {n}" for n in range(1, 1 + size["rounds"])), "rubble")
    owners: dict[Row, str] = {(chunk,): holder for holder, owned in parties.chunks.items() for chunk in owned}
    return Instance(
        elements={
            "Agent": parties.agents,
            "Gpu": (*parties.genuine, *parties.outside, *parties.fakes, *parties.leaked),
            "Session": numbered_names("s", size["sessions"] + size["own_sessions"]),
            "Key": keys,
            "Data": (*parties.datasets, "the model"),
            "Slot": slots,
            "Version": versions,
            "Share": numbered_names("z", size["rounds"] + size["own_keys"]),
            "Address": ("the buffer", "elsewhere"),
            "Instant": instants,
        },
        relations=_relations(parties, slots, threat)
        | ({"earlier": frozenset(combinations(instants, 2))} if timed else {})
        | ({"first_seen": _to_orchestrator(parties.honest)} if protocol.variant == "endorsed-instance" else {}),
        functions={
            "orchestrator": {(): "orchestrator"},
            "platform": {(): "platform"},
            "the_model": {(): "the model"},
            "the_buffer": {(): "the buffer"},
            "first_version": {(): versions[0]},
            "rubble": {(): versions[-1]},
            "first": {(): slots[0]},
            "data_owner": owners | {("the model",): "orchestrator"},
            **({"limit": {(): slots[size["limit"]]}, "power_on": {(): instants[0]}} if timed else {}),
        },
        pools=pools,
        describes=_describe(size, _rogues_enrolled(threat), timed=timed),
    )


def judged_under(actions: Collection[str]) -> str:
    """Return the threat model that a recorded run with these actions is judged under.

    A GPU loses its session under each of them; only where the platform is corrupt does an adversary reset one.
    """
    return "hypervisor" if "reset" in actions else "outsider"


def _sizes(scale: Scale, threat: str, *, timed: bool) -> dict[str, int]:
    size = all_sizes(scale, DEFAULTS, "gpu-travelling")
    if size["extras"] and not timed:
        size |= {name: max(least, size[name]) for name, least in _BESIDE.get(threat, {}).items()}
    if threat == "outsider":
        size |= {name: max(1, size[name]) for name in ("elsewhere", "own_sessions")}
    return size


def _rogues_enrolled(threat: str) -> bool:
    return threat not in ("outsider", "hypervisor")


@dataclass(frozen=True)
class _Parties:
    """Who and what takes part: agents and GPUs by what they are, and each holder's chunks."""

    honest: Row
    rogue: Row
    strays: Row
    twins: Row
    enrolled: Row
    corrupt: Row
    genuine: Row
    outside: Row
    fakes: Row
    leaked: Row
    chunks: Mapping[str, Row]

    @classmethod
    def of(cls, size: Mapping[str, int], threat: str) -> _Parties:
        """Name everybody, and say who is corrupt under ``threat``."""
        honest = first_names(HONEST, "holder", size["holders"])
        rogue = first_names(_CORRUPT, "rogue", size["corrupt"])
        strays = numbered_names("instance", size["instances"], start=2)
        twins = numbered_names("twin", size["twins"], start=2)
        chunks = {holder: _chunks(holder, size["chunks"]) for holder in honest}
        if _rogues_enrolled(threat):
            chunks |= {each: _chunks(each, size["corrupt_chunks"]) for each in rogue}
        platform_corrupt = threat not in ("outsider", "holder")
        return cls(
            honest=honest,
            rogue=rogue,
            strays=strays,
            twins=twins,
            enrolled=(*honest, *(rogue if _rogues_enrolled(threat) else ())),
            corrupt=(*(("platform",) if platform_corrupt else ()), *rogue, *strays),
            genuine=numbered_names("gpu", size["gpus"]),
            outside=numbered_names("gpu", size["elsewhere"], start=1 + size["gpus"]),
            fakes=numbered_names("fake", size["fakes"]),
            leaked=numbered_names("sold", size["leaks"]),
            chunks=chunks,
        )

    @property
    def agents(self) -> Row:
        """Every agent."""
        return ("orchestrator", "platform", *self.honest, *self.rogue, *self.strays, *self.twins)

    @property
    def datasets(self) -> Row:
        """Every holder's chunks."""
        return tuple(chunk for owned in self.chunks.values() for chunk in owned)


def _relations(parties: _Parties, slots: Row, threat: str) -> dict[str, Set[Row]]:
    return {
        "corrupt": unary(parties.corrupt),
        "enrolled": unary(parties.enrolled),
        "measured": unary(("orchestrator", *parties.strays, *parties.twins)),
        "job_manifest": unary(("orchestrator", *parties.twins)),
        "agreed": unary(each for each in parties.agents if each not in parties.twins),
        "genuine": unary((*parties.genuine, *parties.outside, *parties.leaked)),
        "certified": unary((*parties.genuine, *parties.outside, *parties.leaked)),
        "leaked": unary(parties.leaked),
        "revoked": unary(parties.leaked),
        "elsewhere": unary(parties.outside),
        "installed": unary(parties.genuine[:1]),
        "dataset": unary(parties.datasets),
        "before": InLine(slots),
        "precedes": frozenset(pair for owned in parties.chunks.values() for pair in combinations(owned, 2)),
        "interferes": fact(threat != "recording"),
        "past_keys_leak": fact(threat == "past-keys"),
        "some_holder_corrupt": fact(_rogues_enrolled(threat) and bool(parties.rogue)),
    }


def _chunks(holder: str, count: int) -> Row:
    return numbered_names(f"{holder}'s chunk ", count)


def _to_orchestrator(holders: Row) -> frozenset[Row]:
    return frozenset((each, "orchestrator") for each in holders)


def _keys(size: dict[str, int]) -> tuple[Row, dict[tuple[str, str], Row]]:
    """Name the keys, and say which step may draw which: that is what bounds rounds and sessions."""
    home = numbered_names("h", size["sessions"])
    out = numbered_names("k", size["rounds"])
    back = numbered_names("b", size["rounds"])
    own = numbered_names("x", size["own_sessions"])
    offered = numbered_names("y", size["own_keys"])
    sessions = numbered_names("s", size["sessions"])
    own_sessions = numbered_names("s", size["own_sessions"], start=1 + size["sessions"])
    pools: dict[tuple[str, str], Row] = {
        ("rotate_out", "k"): out,
        ("open_own_session", "k"): own,
        ("open_own_session", "s"): own_sessions,
        ("offer_own_key", "k"): offered,
        ("second_instance_grants", "k"): offered,
    }
    for action in ("open_session", "reattach", "take_over"):
        pools[action, "k"] = home
        pools[action, "s"] = sessions
    for action in ("rotate_in", "rotate_late", "rotate_after_fence"):
        pools[action, "k"] = back
    return (*home, *out, *back, *own, *offered), pools


def _describe(size: dict[str, int], enrolled_corrupt: bool, *, timed: bool) -> str:
    """Name the sizes, without those that are zero."""
    parts = amounts_in_words(
        (size["holders"], "honest holder"),
        (size["corrupt"], "corrupt holder" if enrolled_corrupt else "outsider"),
        (size["gpus"], "GPU"),
        (size["elsewhere"], "outsiders' GPU"),
        (size["fakes"], "fake GPU"),
        (size["leaks"], "leaked device key"),
        (size["instances"], "stray orchestrator instance"),
        (size["twins"], "second orchestrator instance"),
        (size["chunks"], "chunk"),
        (size["rounds"], "round"),
        (size["sessions"], "session"),
        (size["instants"] if timed else 0, "instant"),
    )
    return f"{parts}, at most {size['limit']} messages to a key" if timed else parts


PROFILES = by_name(
    Profile("tiny", {"holders": 1, "corrupt": 1, "rounds": 1, "extras": 1}, title="one round, the whole adversary"),
    Profile(
        "directed",
        {"holders": 2, "corrupt": 0, "rounds": 3, "chunks": 0},
        budget=0,
        title="honest parties without data, three rounds",
    ),
    Profile(
        "hostile",
        {"fakes": 1, "leaks": 1, "instances": 1, "twins": 1, "own_sessions": 1, "own_keys": 1, "corrupt_chunks": 1},
        budget=2,
        title="one round, everything an adversary can have, two active moves",
    ),
    Profile(
        "open-mode",
        {"chunks": 0, "rounds": 0, "own_sessions": 1, "corrupt_chunks": 1},
        budget=3,
        title="no hand-over, and what a platform does with the GPU by itself, in three active moves",
    ),
    Profile(
        "afterwards",
        {"corrupt": 0, "rounds": 2},
        budget=0,
        title="two rounds, and what recorded messages tell whoever is given past keys",
    ),
    Profile(
        "ci",
        {
            "holders": 1,
            "corrupt": 1,
            "gpus": 2,
            "fakes": 1,
            "instances": 1,
            "chunks": 2,
            "rounds": 2,
            "own_sessions": 1,
            "own_keys": 1,
            "corrupt_chunks": 1,
        },
        budget=1,
        title="two rounds, two genuine GPUs and a fake, one active adversary move",
    ),
)

#: The sizes a search for an attack goes through; most attacks need one round and one move, some wait for the next.
HUNTS = (
    Profile("one round", {"rounds": 1, "corrupt_chunks": 1}, budget=1),
    Profile(
        "setup",
        {"rounds": 1, "gpus": 1, "fakes": 1, "leaks": 1, "instances": 1, "twins": 1, "own_keys": 1, "own_sessions": 1},
        budget=3,
    ),
    Profile("two rounds", {"rounds": 2, "chunks": 2, "corrupt_chunks": 1}, budget=1),
    Profile("two sessions", {"rounds": 1, "sessions": 2}, budget=2),
    Profile("three rounds", {"rounds": 3, "corrupt_chunks": 1}, budget=1),
)
