"""Finite instances of PipeLLM: who takes part, and how much is sent."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from carnet_spec.language import InLine, Instance, Profile, Protocol, Row, Scale, all_sizes

DEFAULTS = {
    "tenants": 1,
    "tenant_keys": 1,
    "own_keys": 0,
    "sent_messages": 2,
    "tenant_pages": 1,
    "copies": 2,
    "tenant_blocks": 2,
    "host_blocks": 0,
}
"""Sizes by name, unless a profile or ``--set`` says otherwise."""
FRESH_SIZES = frozenset({"tenant_keys"})
"""The sizes that only say how many keys may be drawn."""

_HONEST = ("alice", "anna", "anton", "agnes")


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest tenants, the host, and a tenant who may collude with it.

    A channel has one IV more than messages, since the counter goes on after the last; nothing is guessed for that one.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    tenants = (*_HONEST[: size["tenants"]], *_numbered("tenant", 1 + len(_HONEST), size["tenants"] - len(_HONEST)))
    others = ("mallory",) if threat == "collusion" else ()
    blocks = {tenant: tuple(f"{tenant}'s {n}" for n in range(1, 1 + size["tenant_blocks"])) for tenant in tenants}
    blocks["host"] = (*_numbered("host's ", 1, size["host_blocks"]), "zeros")
    pages = {tenant: tuple(f"{tenant}'s page {n}" for n in range(1, 1 + size["tenant_pages"])) for tenant in tenants}
    ivs = _numbered("iv", 0, size["sent_messages"] + 1)
    copies = _numbered("copy", 0, size["copies"] + 1)
    own, hers = _numbered("k", 1, size["tenant_keys"]), _numbered("m", 1, size["own_keys"])
    return Instance(
        elements={
            "Agent": (*tenants, "host", *others),
            "Key": (*own, *hers),
            "Iv": ivs,
            "Page": tuple(page for each in pages.values() for page in each),
            "Copy": copies,
            "Block": tuple(block for each in blocks.values() for block in each),
        },
        relations={
            "corrupt": _unary(("host", *others)),
            "before": InLine(ivs),
            "follows": frozenset(pairwise(ivs)),
            "earlier": InLine(copies),
        },
        functions={
            "host": {(): "host"},
            "zeros": {(): "zeros"},
            "start": {(): ivs[0]},
            "none": {(): copies[0]},
            "owner": {(block,): agent for agent, each in blocks.items() for block in each},
            "home": {(page,): agent for agent, each in pages.items() for page in each},
        },
        pools={
            ("open_channel", "k"): own,
            ("open_own", "k"): hers,
            ("open_own", "p"): others or ("host",),
            ("speculate", "i"): ivs[:-1],
        },
        describes=_describe(size),
    )


def _numbered(what: str, start: int, count: int) -> Row:
    return tuple(f"{what}{number}" for number in range(start, start + max(0, count)))


def _unary(names: Iterable[str]) -> frozenset[Row]:
    return frozenset((name,) for name in names)


_COUNTED = (
    ("tenants", "honest tenant"),
    ("tenant_keys", "channel"),
    ("own_keys", "channel of the adversary's"),
    ("sent_messages", "message to a channel"),
    ("tenant_pages", "page to a tenant"),
    ("copies", "copy to a channel"),
    ("tenant_blocks", "block to a tenant"),
    ("host_blocks", "block to the host"),
)


def _describe(size: dict[str, int]) -> str:
    return ", ".join(_some(size[of], what) for of, what in _COUNTED if size[of])


def _some(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    head, *rest = what.split(" ")
    noun = 1 if head == "honest" else 0
    words = [head, *rest]
    words[noun] = "copies" if words[noun] == "copy" else f"{words[noun]}s"
    return f"{number} {' '.join(words)}"


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("tiny", {"tenant_pages": 2, "own_keys": 1, "tenant_blocks": 1}, title="two messages, of two pages"),
        Profile("ci", {"sent_messages": 3, "tenant_blocks": 1}, title="three messages of one page"),
    )
}

HUNTS = (
    Profile("one block", {"tenant_blocks": 1}, budget=1),
    Profile("one page", {}, budget=1),
    Profile("two pages", {"tenant_pages": 2, "tenant_blocks": 1}, budget=1),
    Profile("three messages", {"sent_messages": 3, "copies": 3}, budget=1),
    Profile("the adversary's own", {"tenant_keys": 0, "own_keys": 1}),
)
"""The sizes a search for an attack goes through."""
