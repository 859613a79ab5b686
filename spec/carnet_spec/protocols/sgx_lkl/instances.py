"""Finite instances: how many ticks there are, and what the application may ask for."""

from __future__ import annotations

from carnet_spec.language import InLine, Instance, Profile, Protocol, Row, Scale
from carnet_spec.protocols.sgx_lkl.variants import ON_DEMAND, SHUFFLED

DEFAULTS = {"chunks": 2, "ticks": 2, "host_calls": 2, "long_calls": 0}
"""Sizes by name, unless a profile or ``--set`` says otherwise."""

_TURNS = ("READ", "WRITE", "PACKET")


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: ticks for chunks and for frames, and messages that differ in everything.

    Messages ask for READ, WRITE and PACKET in turn, and ``long_calls`` more of them do not fit a frame.
    """
    size = {**DEFAULTS, **scale}
    ticks = tuple(f"tick{number}" for number in range(1, 1 + size["chunks"] + size["ticks"]))
    run = ticks[size["chunks"] :]
    calls = tuple(f"call{number}" for number in range(1, 1 + size["host_calls"]))
    longs = tuple(f"long{number}" for number in range(1, 1 + size["long_calls"]))
    turns = {tick: _TURNS[at % len(_TURNS)] for at, tick in enumerate((*run, *ticks[: size["chunks"]]))}
    aims = {call: _TURNS[at % len(_TURNS)] for at, call in enumerate((*calls, *longs))}
    own = {call: f"of {call}" for call in (*calls, *longs)}
    return Instance(
        elements={
            "Tick": ticks,
            "Message": ("dummy", *calls, *longs),
            "Size": ("bound", "tail", *own.values()),
            "Block": ("block", *own.values()),
            "Moment": ("edge", *own.values()),
        },
        relations={
            "before": InLine(ticks),
            "fits": frozenset((each,) for each in ("dummy", *calls)),
            "hostile": _fact(threat == "meddling"),
            "shuffled": _fact(protocol.variant == SHUFFLED),
            "filled": frozenset({("PACKET",)} if protocol.variant == ON_DEMAND else ()),
        },
        functions={
            "start": {(): ticks[0]},
            "manifest": {(): ticks[size["chunks"] - 1]},
            "deadline": {(): ticks[-1]},
            "bound": {(): "bound"},
            "tail": {(): "tail"},
            "edge": {(): "edge"},
            "dummy": {(): "dummy"},
            "turn": {(tick,): turn for tick, turn in turns.items()},
            "sweep": {(tick,): "block" for tick in ticks},
            "length": {("dummy",): "tail", **{(call,): each for call, each in own.items()}},
            "place": {("dummy",): "block", **{(call,): each for call, each in own.items()}},
            "effort": {("dummy",): "edge", **{(call,): each for call, each in own.items()}},
            "aim": {("dummy",): "READ", **{(call,): aim for call, aim in aims.items()}},
        },
        describes=_describe(size),
    )


def _fact(true: bool) -> frozenset[Row]:
    return frozenset({()} if true else ())


def _describe(size: dict[str, int]) -> str:
    counted = (
        (size["chunks"], "chunk"),
        (size["ticks"], "tick"),
        (size["host_calls"], "call"),
        (size["long_calls"], "long call"),
    )
    return ", ".join(f"{number} {what}{'s' if number > 1 else ''}" for number, what in counted if number)


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("tiny", {}, title="two chunks, and two ticks of a run"),
        Profile("ci", {"ticks": 3}, title="three ticks of a run"),
    )
}

HUNTS = (
    Profile("one tick", {"chunks": 1, "ticks": 1}, budget=1),
    Profile("two chunks", {"chunks": 2, "ticks": 1, "host_calls": 1}, budget=1),
    Profile("a long message", {"chunks": 1, "ticks": 1, "host_calls": 0, "long_calls": 1}, budget=1),
    Profile("two ticks", {"chunks": 1, "ticks": 2}, budget=1),
)
"""The sizes a search for an attack goes through."""
