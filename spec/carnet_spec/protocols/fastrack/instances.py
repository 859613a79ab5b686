"""Finite instances of Fastrack: who takes part, and how much is sent."""

from __future__ import annotations

from collections.abc import Iterable

from carnet_spec.language import InLine, Instance, Profile, Protocol, Row, Scale, all_sizes

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

_HONEST = ("alice", "anna", "anton", "agnes")


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest users, the CPU TEE, and one agent who is whoever else is corrupt.

    Under ``collusion`` the CPU TEE is corrupt, too. ``fakes`` are GPUs that no vendor made, and ``open_gpus`` are
    genuine GPUs out of confidential mode.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    users = (*_HONEST[: size["users"]], *_numbered("user", 1 + len(_HONEST), size["users"] - len(_HONEST)))
    gpus, fakes, plain = (_numbered(name, 1, size[of]) for name, of in _GPUS)
    blocks = {user: tuple(f"{user}'s {n}" for n in range(1, 1 + size["user_blocks"])) for user in users}
    blocks["mallory"] = ("mallory's",)
    places = _numbered("place", 1, size["chunks"])
    own, hers = _numbered("k", 1, size["user_keys"]), _numbered("m", 1, size["own_keys"])
    return Instance(
        elements={
            "Agent": (*users, "cpu", "mallory"),
            "Gpu": (*gpus, *fakes, *plain),
            "Key": (*own, *hers),
            "Transfer": _numbered("transfer", 1, size["transfers"]),
            "Position": places,
            "Block": tuple(block for each in blocks.values() for block in each),
            "Code": ("kernel", "copier"),
        },
        relations={
            "corrupt": _unary(("mallory", *(("cpu",) if threat == "collusion" else ()))),
            "genuine": _unary((*gpus, *plain)),
            "certified": _unary((*gpus, *plain)),
            "closed": _unary((*gpus, *fakes)),
            "vetted": _unary(("kernel",)),
            "leaks": _unary(("copier",)),
            "before": InLine(places),
        },
        functions={
            "cpu": {(): "cpu"},
            "first": {(): places[0]},
            "owner": {(block,): agent for agent, each in blocks.items() for block in each},
        },
        pools={("open_exchange", "k"): own, ("open_own", "k"): hers},
        describes=_describe(size),
    )


_GPUS = (("gpu", "gpus"), ("fake", "fakes"), ("open", "open_gpus"))


def _numbered(what: str, start: int, count: int) -> Row:
    return tuple(f"{what}{number}" for number in range(start, start + max(0, count)))


def _unary(names: Iterable[str]) -> frozenset[Row]:
    return frozenset((name,) for name in names)


def _describe(size: dict[str, int]) -> str:
    counted = (
        (size["users"], "honest user"),
        (size["gpus"], "GPU"),
        (size["fakes"], "fake GPU"),
        (size["open_gpus"], "open GPU"),
        (size["user_keys"], "key"),
        (size["own_keys"], "key of the adversary's"),
        (size["transfers"], "transfer"),
        (size["chunks"], "place"),
        (size["user_blocks"], "block to a user"),
    )
    return ", ".join(_some(number, what) for number, what in counted if number)


def _some(number: int, what: str) -> str:
    head, _, rest = what.partition(" of ")
    head, _, to = head.partition(" to ")
    plural = "s" if number > 1 and not head.endswith("GPU") else "s" if number > 1 else ""
    return f"{number} {head}{plural}" + (f" of {rest}" if rest else "") + (f" to {to}" if to else "")


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "tiny",
            {"fakes": 1, "open_gpus": 1, "own_keys": 1},
            title="one transfer of one or two chunks",
        ),
        Profile(
            "transfers",
            {"fakes": 1, "own_keys": 1, "transfers": 2, "chunks": 1},
            title="two short transfers",
        ),
        Profile("ci", {"chunks": 3}, title="one transfer of up to three chunks"),
    )
}

HUNTS = (
    Profile("one chunk", {"fakes": 1, "open_gpus": 1, "own_keys": 1, "chunks": 1, "user_blocks": 1}, budget=2),
    Profile("two chunks", {"own_keys": 1}, budget=1),
    Profile("two transfers", {"transfers": 2, "chunks": 1}, budget=1),
    Profile("the adversary's own", {"user_keys": 0, "own_keys": 1}),
    Profile("three chunks", {"chunks": 3, "user_blocks": 3}, budget=1),
)
"""The sizes a search for an attack goes through."""
