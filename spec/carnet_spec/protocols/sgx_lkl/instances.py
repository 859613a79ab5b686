"""Finite instances: how many ticks there are, and what the application may ask for."""

from __future__ import annotations

from carnet_spec.language import InLine, Instance, Profile, Protocol, Row, Scale, all_sizes
from carnet_spec.language.authoring import by_name, counted, fact, numbered
from carnet_spec.protocols.sgx_lkl.vocabulary import *

DEFAULTS = {"chunks": 2, "ticks": 2, "host_calls": 2, "long_calls": 0}
"""Sizes by name, unless a profile or ``--set`` says otherwise."""

_TURNS = ("READ", "WRITE", "PACKET")


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: ticks for chunks and for frames, and calls that differ in everything.

    What calls ask for, and which blocks they are about, is in the order in which ticks are for it. ``long_calls`` more
    of them do not fit a frame.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    chunks, run = numbered("chunk", size["chunks"]), numbered("tick", size["ticks"])
    calls, longs = numbered("call", size["host_calls"]), numbered("long", size["long_calls"])
    ticks, own = (*chunks, *run), {call: f"of {call}" for call in (*calls, *longs)}
    blocks = numbered("block", max(1, size["host_calls"]))
    return Instance(
        elements={
            "Tick": ticks,
            "Message": ("dummy", *calls, *longs),
            "Size": ("bound", "tail", *own.values()),
            "Block": ("spare", *blocks),
            "Moment": ("edge", *own.values()),
        },
        relations={
            "before": InLine(ticks),
            "fits": frozenset((each,) for each in ("dummy", *calls)),
            "hostile": fact(threat == "meddling"),
            "shuffled": fact(protocol.variant == SHUFFLED),
            "filled": frozenset({("PACKET",)} if protocol.variant == ON_DEMAND else ()),
        },
        functions={
            "start": {(): ticks[0]},
            "manifest": {(): chunks[-1]},
            "deadline": {(): run[-1]},
            "bound": {(): "bound"},
            "tail": {(): "tail"},
            "edge": {(): "edge"},
            "dummy": {(): "dummy"},
            "turn": _in_turn((*run, *chunks), _TURNS),
            "sweep": _in_turn((*run, *chunks), blocks),
            "length": {("dummy",): "tail", **{(call,): each for call, each in own.items()}},
            "effort": {("dummy",): "edge", **{(call,): each for call, each in own.items()}},
            "aim": {("dummy",): "PACKET", **_in_turn(calls, _TURNS), **_in_turn(longs, _TURNS)},
            "place": {("dummy",): "spare", **_in_turn(calls, blocks), **_in_turn(longs, blocks)},
        },
        describes=counted(
            (size["chunks"], "chunk"),
            (size["ticks"], "tick"),
            (size["host_calls"], "call"),
            (size["long_calls"], "long call"),
        ),
    )


def _in_turn(names: Row, values: Row) -> dict[Row, str]:
    """Give each name the next of the values, again and again."""
    return {(name,): values[at % len(values)] for at, name in enumerate(names)}


PROFILES = by_name(
    Profile("tiny", {}, title="two chunks, and two ticks of a run"),
    Profile("ci", {"ticks": 3}, title="three ticks of a run"),
)

HUNTS = (
    Profile("one tick", {"chunks": 1, "ticks": 1}, budget=1),
    Profile("two chunks", {"chunks": 2, "ticks": 1, "host_calls": 1}, budget=1),
    Profile("a long message", {"chunks": 1, "ticks": 1, "host_calls": 0, "long_calls": 1}, budget=1),
    Profile("two ticks", {"chunks": 1, "ticks": 2}, budget=1),
)
"""The sizes a search for an attack goes through."""
