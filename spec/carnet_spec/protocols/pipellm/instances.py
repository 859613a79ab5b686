"""Finite instances of PipeLLM: who takes part, and how much is sent."""

from __future__ import annotations

from itertools import pairwise

from carnet_spec.language import InLine, Instance, Profile, Protocol, Scale, all_sizes
from carnet_spec.language.authoring import HONEST, by_name, counted, named, numbered, unary

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


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest tenants, the host, and a tenant who may collude with it.

    A channel has one IV more than messages, since the counter goes on after the last; nothing is guessed for that one.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    tenants = named(HONEST, "tenant", size["tenants"])
    others = ("mallory",) if threat == "collusion" else ()
    blocks = {tenant: numbered(f"{tenant}'s ", size["tenant_blocks"]) for tenant in tenants}
    blocks["host"] = (*numbered("host's ", size["host_blocks"]), "zeros")
    pages = {tenant: numbered(f"{tenant}'s page ", size["tenant_pages"]) for tenant in tenants}
    ivs = numbered("iv", size["sent_messages"] + 1, start=0)
    copies = numbered("copy", size["copies"] + 1, start=0)
    own, hers = numbered("k", size["tenant_keys"]), numbered("m", size["own_keys"])
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
            "corrupt": unary(("host", *others)),
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
        describes=counted(
            (size["tenants"], "honest tenant"),
            (size["tenant_keys"], "channel"),
            (size["own_keys"], "channel of the adversary's"),
            (size["sent_messages"], "message to a channel"),
            (size["tenant_pages"], "page to a tenant"),
            (size["copies"], "copy to a channel"),
            (size["tenant_blocks"], "block to a tenant"),
            (size["host_blocks"], "block to the host"),
        ),
    )


PROFILES = by_name(
    Profile("tiny", {"tenant_pages": 2, "own_keys": 1, "tenant_blocks": 1}, title="two messages, of two pages"),
    Profile("ci", {"sent_messages": 3, "tenant_blocks": 1}, title="three messages of one page"),
)

HUNTS = (
    Profile("one block", {"tenant_blocks": 1}, budget=1),
    Profile("one page", {}, budget=1),
    Profile("two pages", {"tenant_pages": 2, "tenant_blocks": 1}, budget=1),
    Profile("three messages", {"sent_messages": 3, "copies": 3}, budget=1),
    Profile("the adversary's own", {"tenant_keys": 0, "own_keys": 1}),
)
"""The sizes a search for an attack goes through."""
