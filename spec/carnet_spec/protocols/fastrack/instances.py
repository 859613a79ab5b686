"""Finite instances of Fastrack: who takes part, and how much is sent."""

from __future__ import annotations

from carnet_spec.language import InLine, Instance, Profile, Protocol, Scale, all_sizes
from carnet_spec.language.authoring import HONEST, by_name, counted, named, numbered, unary

DEFAULTS = {
    "users": 1,
    "gpus": 1,
    "fakes": 0,
    "open_gpus": 0,
    "user_keys": 1,
    "own_keys": 0,
    "transfers": 1,
    "chunks": 2,
    "user_blocks": 2,
}
"""Sizes by name, unless a profile or ``--set`` says otherwise."""
FRESH_SIZES = frozenset({"user_keys"})
"""The sizes that only say how many keys may be drawn."""


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest users, the CPU TEE, and one agent who is whoever else is corrupt.

    Under ``collusion`` the CPU TEE is corrupt, too. ``fakes`` are GPUs that no vendor made, and ``open_gpus`` are
    genuine GPUs out of confidential mode.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    users = named(HONEST, "user", size["users"])
    gpus, fakes, plain = (
        numbered("gpu", size["gpus"]),
        numbered("fake", size["fakes"]),
        numbered("open", size["open_gpus"]),
    )
    blocks = {user: numbered(f"{user}'s ", size["user_blocks"]) for user in users}
    blocks["mallory"] = ("mallory's",)
    places = numbered("place", size["chunks"])
    own, hers = numbered("k", size["user_keys"]), numbered("m", size["own_keys"])
    return Instance(
        elements={
            "Agent": (*users, "cpu", "mallory"),
            "Gpu": (*gpus, *fakes, *plain),
            "Key": (*own, *hers),
            "Transfer": numbered("transfer", size["transfers"]),
            "Position": places,
            "Block": tuple(block for each in blocks.values() for block in each),
            "Code": ("kernel", "copier"),
        },
        relations={
            "corrupt": unary(("mallory", *(("cpu",) if threat == "collusion" else ()))),
            "genuine": unary((*gpus, *plain)),
            "certified": unary((*gpus, *plain)),
            "closed": unary((*gpus, *fakes)),
            "vetted": unary(("kernel",)),
            "leaks": unary(("copier",)),
            "before": InLine(places),
        },
        functions={
            "cpu": {(): "cpu"},
            "first": {(): places[0]},
            "owner": {(block,): agent for agent, each in blocks.items() for block in each},
        },
        pools={("open_exchange", "k"): own, ("open_own", "k"): hers},
        describes=counted(
            (size["users"], "honest user"),
            (size["gpus"], "GPU"),
            (size["fakes"], "fake GPU"),
            (size["open_gpus"], "open GPU"),
            (size["user_keys"], "key"),
            (size["own_keys"], "key of the adversary's"),
            (size["transfers"], "transfer"),
            (size["chunks"], "place"),
            (size["user_blocks"], "block to a user"),
        ),
    )


PROFILES = by_name(
    Profile("tiny", {"fakes": 1, "open_gpus": 1, "own_keys": 1}, title="one transfer of one or two chunks"),
    Profile("transfers", {"fakes": 1, "own_keys": 1, "transfers": 2, "chunks": 1}, title="two short transfers"),
    Profile("ci", {"chunks": 3}, title="one transfer of up to three chunks"),
)

HUNTS = (
    Profile("one chunk", {"fakes": 1, "open_gpus": 1, "own_keys": 1, "chunks": 1, "user_blocks": 1}, budget=2),
    Profile("two chunks", {"own_keys": 1}, budget=1),
    Profile("two transfers", {"transfers": 2, "chunks": 1}, budget=1),
    Profile("the adversary's own", {"user_keys": 0, "own_keys": 1}),
    Profile("three chunks", {"chunks": 3, "user_blocks": 3}, budget=1),
)
"""The sizes a search for an attack goes through."""
