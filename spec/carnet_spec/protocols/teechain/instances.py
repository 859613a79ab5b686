"""Finite instances of Teechain for custody: who is in the chains, who is broken, and how many epochs there are."""

from __future__ import annotations

from itertools import combinations

from carnet_spec.language import InLine, Instance, Profile, Protocol, Row, Scale, all_sizes
from carnet_spec.language.authoring import by_name, counted, numbered, unary

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
"""Sizes by name, unless a profile or ``--set`` says otherwise."""


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
    backups = numbered("backup", size["backups"])
    outside = (("broken",) if threat == "broken" else ()) + _outsider(size["outsider"])
    chains = _chains(size, backups, outside)
    replicas = tuple(dict.fromkeys(("primary", *backups, *outside, *chains.get("foreign", ())[:1])))
    quorums = {"voters": chains["origin"] if size["majority"] else _voter(backups, outside)}
    quorums |= {name: chains[name][-1:] for name in ("rival",) if size["third"]}
    quorums |= {name: chains[name][:1] for name in ("foreign",) if size["foreign"]}
    epochs = numbered("e", 1 + size["epochs"], start=0)
    follows = frozenset((_AFTER.get(chain, "origin"), chain) for chain in chains if chain != "origin")
    return Instance(
        elements={
            "Replica": replicas,
            "Chain": tuple(chains),
            "Quorum": tuple(quorums),
            "Epoch": epochs,
            "Holder": numbered("holder", size["holders"]),
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
        describes=counted(
            (size["backups"], "backup"),
            (1 if size["outsider"] else 0, "outsider"),
            (1 + size["rivals"] + size["third"], "next chain"),
            (2 if size["foreign"] else 0, "foreign chain"),
            (size["epochs"], "epoch"),
            (size["holders"], "holder"),
        ),
    )


_AFTER = {"third": "rival", "after": "foreign"}
"""The chains that follow another one than the first."""


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


PROFILES = by_name(
    Profile("tiny", {"rivals": 1, "foreign": 1}, title="a primary and a backup, one epoch"),
    Profile("epochs", {"epochs": 2}, title="a primary and a backup, two epochs"),
    Profile("backups", {"backups": 2, "holders": 1, "majority": 1}, title="two backups, and every member votes"),
)

HUNTS = (
    Profile("one backup", {}),
    Profile("a rival", {"rivals": 1, "holders": 1}),
    Profile("a foreign chain", {"foreign": 1, "holders": 1}),
    Profile("a fake", {"outsider": 1, "holders": 1}, budget=2),
    Profile("another program", {"outsider": 2, "holders": 1}, budget=2),
    Profile("a third chain", {"rivals": 1, "third": 1, "holders": 1}, budget=1),
    Profile("two epochs", {"epochs": 2, "holders": 1}, budget=1),
    Profile("two backups", {"backups": 2, "holders": 1}, budget=0),
)
"""The sizes a search for an attack goes through."""
