"""The family of SGX-LKL: one run, and the product of two runs."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.sgx_lkl.claims import TEXT, state_properties, state_properties_of_one
from carnet_spec.protocols.sgx_lkl.protocol import specify
from carnet_spec.protocols.sgx_lkl.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- design ------------------------------------------------------------------------------------------------------------

ID = "sgx-lkl"
TITLE = "SGX-LKL: what the host sees of an enclave does not depend on its data"
#: What each run chooses for itself: data, calls, what a frame carries, and the result.
OWN = {"plan": ("n",), "call": ("m",), "emit": ("m",), "finish": ("m",)}


def oblivious(variant: str) -> TwoRuns:
    """Draft two runs of the named variant, which differ in their data."""
    runs = TwoRuns(one_run(variant), secret=(extent,), own=OWN)
    state_properties(runs)
    return runs


def one_run(variant: str) -> Draft:
    """Draft one run of the named variant."""
    draft = Draft(ID, TITLE, variant)
    # In the shape of the steps are: what encryption hides, what a tick is, and what both runs have in common.
    assumptions_from(draft, TEXT, built_in=("A1", "A2", "A3", "A4"))
    StrictOrder("ticks", Tick, before, "A5").assume_linear(draft, start)
    draft.axiom("the run comes after the hand-over", before(manifest, deadline), assumption="A5")
    draft.axiom("a dummy fits", fits(dummy), assumption="A6")
    draft.axiom("where blocks are", shuffled if draft.variant == SHUFFLED else ~shuffled, assumption="A7")
    disk = ~filled(Operation.READ) & ~filled(Operation.WRITE)
    network = filled(Operation.PACKET)
    draft.axiom("which turns are filled", disk & (network if draft.variant == ON_DEMAND else ~network), assumption="A7")
    draft.threat("watching", "the host serves every call, and watches", serves=~hostile)
    draft.threat("meddling", "the host also refuses calls, and makes answers up")
    draft.defence("pad-frames", "every frame is padded to one size")
    draft.defence("cut-to-frames", "what is longer than a frame is cut")
    draft.defence("dummy-calls", "where there is nothing to say, a dummy leaves")
    draft.defence("fixed-order", "what a frame asks for, the schedule says")
    draft.defence("constant-rate", "a frame leaves at the end of its tick, whenever it was ready")
    draft.defence("fixed-scan", "blocks are swept in a fixed order, whichever is needed")
    draft.defence("fresh-iv", "every frame has an IV of its own")
    draft.defence("retry-alike", "a dummy that was refused is sent again, as a call is")
    draft.defence("check-dummies", "the answer to a dummy is verified as every answer is")
    draft.defence("verify-answer", "the application takes an answer only if it verifies")
    draft.defence("fixed-end", "a run ends at its deadline")
    draft.defence("uniform-status", "the status tells what the host did, and nothing of the application")
    draft.defence("pad-result", "the result is padded to one size")
    draft.defence("fill-chunks", "chunks are sent up to the manifest's bound, with filler after the data")
    draft.defence("fixed-hand-over", "the hand-over is over when the manifest says")
    draft.defence("pad-chunks", "every chunk is padded to one size")
    specify(draft)
    state_properties_of_one(draft)
    return draft


# -- instances ---------------------------------------------------------------------------------------------------------
# Finite instances: how many ticks there are, and what the application may ask for.

#: For each size what it is, unless a profile or ``--set`` says otherwise, and what it counts.
SIZES = {
    "chunks": (2, "chunk"),
    "ticks": (2, "tick"),
    "host_calls": (2, "call"),
    "long_calls": (0, "long call"),
}

_TURNS = ("READ", "WRITE", "PACKET")


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: ticks for chunks and for frames, and calls that differ in everything.

    What calls ask for, and which blocks they are about, is in the order in which ticks are for it. ``long_calls`` more
    of them do not fit a frame.
    """
    size = sizes_for(scale, SIZES, protocol.id)
    chunks, run = numbered_names("chunk", size["chunks"]), numbered_names("tick", size["ticks"])
    calls, longs = numbered_names("call", size["host_calls"]), numbered_names("long", size["long_calls"])
    ticks, own = (*chunks, *run), {call: f"of {call}" for call in (*calls, *longs)}
    blocks = numbered_names("block", max(1, size["host_calls"]))
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
        describes=sizes_in_words(size, SIZES),
    )


def _in_turn(names: Row, values: Row) -> dict[Row, str]:
    """Give each name the next of the values, again and again."""
    return {(name,): values[at % len(values)] for at, name in enumerate(names)}


# -- family ------------------------------------------------------------------------------------------------------------
# What "oblivious" needs, which the abstract of the paper does not say.
# Each is an attack on a reading of the abstract, or on a hand-over that nobody pads. The paper itself may exclude it.

HAND_OVER = "a hand-over of GPU Travelling that nobody pads"

_finding = Findings("watching", "the abstract of the paper, read literally")

#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.TEE,
        "enclave",
        Visibility.CLEAR,
        "the data of the holder that it works for",
        trusted_for="showing nothing of what it computes inside a tick",
        assumed_in=("A2",),
    ),
    PartyView(
        PartyKind.HOST,
        "host",
        Visibility.SHAPE,
        "frames of one size, at fixed ticks, about the same blocks",
        limited_by=(
            "size",
            "count",
            "order",
            "time",
            "address",
            "revisits",
            "equality",
            "refusal",
            "end",
            "error",
            "result",
            "hand-over-count",
            "hand-over-end",
            "hand-over-size",
        ),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=oblivious,
    instance=instance,
    variants=VARIANTS,
    profiles=by_name(
        Profile("tiny", {}, title="two chunks, and two ticks of a run"),
        Profile("ci", {"ticks": 3}, title="three ticks of a run"),
    ),
    hunts=(
        Profile("one tick", {"chunks": 1, "ticks": 1}, budget=1),
        Profile("two chunks", {"chunks": 2, "ticks": 1, "host_calls": 1}, budget=1),
        Profile("a long message", {"chunks": 1, "ticks": 1, "host_calls": 0, "long_calls": 1}, budget=1),
        Profile("two ticks", {"chunks": 1, "ticks": 2}, budget=1),
    ),
    findings=(
        _finding(1, SHUFFLED, "revisits")(
            "blocks in an order that nobody knows: the host still sees which are fetched again"
        ),
        _finding(2, ON_DEMAND, "count")(
            "a constant bit rate of the network alone: whether the disk is asked tells of the workload"
        ),
        _finding(3, "protected-only", "size")("encryption hides what is said, and not how much of it"),
        _finding(4, "early-end", "end")("how long a run takes tells what it worked on"),
        _finding(5, "needed-retry", "refusal", threat="meddling")(
            "the host refuses a call, and sees by the retry that it was none of the dummies"
        ),
        _finding(6, "calls-checked", "error", threat="meddling")(
            "the host spoils an answer, and sees by the error that it was read"
        ),
        _finding(7, "bare-hand-over", "hand-over-count", about=HAND_OVER)(
            "the number of chunks tells how much data the holder has"
        ),
        _finding(8, "bare-hand-over", "hand-over-size", about=HAND_OVER)(
            "the last chunk tells how much data the holder has, to the byte"
        ),
    ),
    default_threat="meddling",
    round_goal="whole-run",
    views=VIEWS,
    text=TEXT,
)
