"""The steps of one run of SGX-LKL: the hand-over, calls of the application, the end, and moves of the host."""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.sgx_lkl.vocabulary import *


def specify(draft: Draft) -> None:
    """Add the initial state and all steps to ``draft``."""
    draft.initially(phase, Phase.PLANNED)
    draft.initially(now, start)
    draft.initially(extent, start)
    draft.initially(status, Ending.NONE)
    draft.initially(result_size, bound)
    draft.initially(chunk_size, lambda t: bound)
    draft.initially(size, lambda t: bound)
    draft.initially(moment, lambda t: edge)
    draft.initially(operation, lambda t: turn(t))
    draft.initially(address, lambda t: sweep(t))
    draft.initially(carried, lambda t: dummy)

    _hand_over(draft)
    _calls(draft)
    _end(draft)
    _host(draft)


# -- handing over ------------------------------------------------------------------------------------------------------
# The hand-over: a holder sends its dataset in chunks, as many as the manifest says, however many it has.

_HAND_OVER = "Carnet (the shape of a hand-over)"


def _hand_over(draft: Draft) -> None:
    by_holder = partial(draft.action, HOLDER)

    @by_holder(_HAND_OVER, "REQ-HAND-OVER-01")
    def plan(step: Step, n: Tick) -> None:
        """A holder whose data does not fit the manifest's bound takes no part."""
        step.says("The holder has data up to {n}.")
        step.require("at first", phase == Phase.PLANNED)
        step.require("within the manifest", within(n, manifest))
        step.set(extent, n)
        step.set(phase, Phase.LOADING)

    @by_holder(_HAND_OVER, "REQ-HAND-OVER-01", "REQ-HAND-OVER-02")
    def send_chunk(step: Step, t: Tick) -> None:
        """Where there is no data left, a chunk is filler."""
        step.says("The holder sends the chunk of {t}.")
        step.message("holder -> host: a chunk, in {t}")
        step.require("loading", phase == Phase.LOADING)
        step.require("its tick", now == t)
        step.require("not yet", ~chunk(t))
        step.require("up to the manifest's bound", within(t, manifest))
        step.require("data left", within(t, extent), unless="fill-chunks")
        step.insert(twice(t), when=chunk(t))
        step.insert(chunk(t))
        step.set(chunk_size(t), bound, defence="pad-chunks", name="a whole chunk")
        step.set(chunk_size(t), bound, when=t != extent, unless="pad-chunks", name="a full chunk")
        step.set(chunk_size(t), tail, when=t == extent, unless="pad-chunks", name="what is left")

    @by_holder(_HAND_OVER, "REQ-HAND-OVER-03")
    def begin_run(step: Step, t: Tick) -> None:
        """When the hand-over is over, the manifest says."""
        step.says("The hand-over is over, and the application begins in {t}.")
        step.message("holder -> host: the hand-over is over")
        step.require("loading", phase == Phase.LOADING)
        step.require("its tick", now == t)
        step.require("the manifest's bound has passed", before(manifest, t), defence="fixed-hand-over")
        step.require("the data has passed", before(extent, t), unless="fixed-hand-over")
        step.set(phase, Phase.RUNNING)


# -- calling -----------------------------------------------------------------------------------------------------------
# The application asks for what it likes, and in every tick one frame leaves, alike in all but its content.

_OBLIVIOUS = "SGX-LKL, abstract: host operations independent of the workload"
_DUMMIES = "SGX-LKL, abstract: dummy packets for constant bit rates"


def _calls(draft: Draft) -> None:
    by_enclave = partial(draft.action, ENCLAVE)

    @by_enclave(_OBLIVIOUS, "REQ-SIZE-02")
    def call(step: Step, m: Message) -> None:
        """The library OS keeps the call, and cuts what is longer than a frame."""
        step.says("The application asks for {m}.")
        step.require("running", phase == Phase.RUNNING)
        step.require("fits a frame", fits(m), defence="cut-to-frames")
        step.insert(waiting(m), when=m != dummy)

    @by_enclave(
        _DUMMIES,
        "REQ-SIZE-01",
        "REQ-COUNT-01",
        "REQ-COUNT-02",
        "REQ-ORDER-01",
        "REQ-TIME-01",
        "REQ-ADDRESS-01",
        "REQ-CONTENT-01",
    )
    def emit(step: Step, t: Tick, m: Message) -> None:
        """What the tick is for decides what leaves; only the content depends on what the application waits for."""
        step.says("A frame leaves in {t}; it carries {m}.")
        step.message("enclave -> host: a frame, in {t}")
        step.require("running", phase == Phase.RUNNING)
        step.require("its tick", now == t)
        step.require("no frame yet", ~frame(t))
        step.require("what waits, or a dummy", waiting(m) | (m == dummy))
        step.require("not on its way", ~underway(m))
        step.require("something to say", (m != dummy) | filled(turn(t)), unless="dummy-calls")
        step.require("its turn", (m == dummy) | (aim(m) == turn(t)), defence="fixed-order")
        step.require("its block", (m == dummy) | (place(m) == sweep(t)), defence="fixed-scan")
        step.insert(twice(t), when=frame(t))
        step.insert(frame(t))
        step.set(carried(t), m)
        step.insert(underway(m), when=m != dummy)
        _show(step, t, m)


def _show(step: Step, t: Tick, m: Message) -> None:
    """Say what the host sees of the frame that carries ``m``."""
    step.set(size(t), bound, when=fits(m), defence="pad-frames", name="pad")
    step.set(size(t), length(m), when=~fits(m), defence="pad-frames", name="longer than a frame")
    step.set(size(t), length(m), unless="pad-frames", name="show the length")
    step.set(operation(t), turn(t), defence="fixed-order", name="show the turn")
    step.set(operation(t), aim(m), unless="fixed-order", name="show the call")
    step.set(moment(t), edge, defence="constant-rate", name="leave at the end of the tick")
    step.set(moment(t), effort(m), unless="constant-rate", name="leave when ready")
    step.set(address(t), sweep(t), defence="fixed-scan", name="show the block whose turn it is")
    step.set(address(t), place(m), when=~shuffled, unless="fixed-scan", name="show the block")
    seen, same, equal = step.each(Tick), step.each(Tick), step.each(Tick)
    swept, needed = sweep(seen) == sweep(t), place(carried(same)) == place(m)
    step.insert(revisit(t, seen), when=frame(seen) & swept, defence="fixed-scan", name="come back in the scan")
    step.insert(revisit(t, same), when=frame(same) & needed, unless="fixed-scan", name="come back on demand")
    step.insert(alike(t, t), name="a frame is equal to itself")
    step.insert(alike(t, equal), when=frame(equal) & (carried(equal) == m), unless="fresh-iv")


# -- ending ------------------------------------------------------------------------------------------------------------
# At the deadline, with a status that tells what the host did and a result of one size.


def _end(draft: Draft) -> None:

    @draft.action(ENCLAVE, "Carnet (how long a run takes)", "REQ-END-01", "REQ-END-02", "REQ-END-03")
    def finish(step: Step, t: Tick, m: Message) -> None:
        """A grant ends when the manifest says, whether or not the application is done."""
        step.says("The run ends in {t}; its result is {m}.")
        step.message("enclave -> host: the end, with a result")
        step.require("running", phase == Phase.RUNNING)
        step.require("its tick", now == t)
        step.require("at the deadline", t == deadline, defence="fixed-end")
        step.require("nothing waits", forall(lambda n: ~waiting(n), Message), unless="fixed-end")
        step.require("a result that fits", fits(m))
        step.insert(twice(t), when=phase == Phase.OVER)
        step.set(phase, Phase.OVER)
        step.set(status, Ending.FAILED, when=failed, defence="uniform-status", name="tell what the host did")
        step.set(status, Ending.DONE, when=~failed, defence="uniform-status", name="tell that the host served")
        left = exists(waiting, Message)
        step.set(status, Ending.FAILED, when=left, unless="uniform-status", name="tell that calls wait")
        step.set(status, Ending.DONE, when=~left, unless="uniform-status", name="tell that no call waits")
        step.set(result_size, bound, defence="pad-result", name="pad the result")
        step.set(result_size, length(m), unless="pad-result", name="show the length of the result")


# -- host --------------------------------------------------------------------------------------------------------------
# Gives ticks and answers frames; where it is hostile, it also refuses, and makes answers up.


def _host(draft: Draft) -> None:
    by_adversary = partial(draft.action, ADVERSARY)

    @draft.action(HOST, "Carnet (the host schedules)")
    def advance(step: Step, t: Tick, u: Tick) -> None:
        """When the enclave runs, the host decides; it may leave ticks out."""
        step.says("The host gives {u}, after {t}.")
        step.require("now", now == t)
        step.require("later", before(t, u))
        step.set(now, u)

    @draft.action(ENCLAVE, "SGX-LKL, abstract: encrypts and integrity-protects all data")
    def serve(step: Step, t: Tick) -> None:
        """The application has what it waited for."""
        step.says("The host serves the frame of {t}, and the enclave takes the answer.")
        step.message("host -> enclave: the answer to the frame of {t}")
        step.require("a frame", frame(t) & ~answered(t))
        step.insert(answered(t))
        step.remove(waiting(carried(t)), underway(carried(t)))

    @by_adversary("Carnet (retry)", "REQ-REFUSAL-01", cost=1)
    def refuse(step: Step, t: Tick) -> None:
        """The frame is sealed again and sent again, which only a call needs."""
        step.says("The host refuses the frame of {t}.")
        step.message("host -> enclave: an error, for the frame of {t}")
        step.given("hostile", hostile)
        step.given("a frame", frame(t) & ~answered(t))
        step.insert(resent(t), defence="retry-alike", name="send it again")
        step.insert(resent(t), when=carried(t) != dummy, unless="retry-alike", name="send a call again")

    @by_adversary("Checkoway and Shacham, ASPLOS 2013, Iago attacks", "REQ-ERROR-01", "REQ-ERROR-02", cost=1)
    def spoil(step: Step, t: Tick) -> None:
        """What a dummy is answered is verified as everything is."""
        step.says("The host makes up an answer to the frame of {t}.")
        step.message("host -> enclave: made up, for the frame of {t}")
        step.given("hostile", hostile)
        step.given("a frame", frame(t) & ~answered(t))
        step.insert(answered(t))
        step.remove(underway(carried(t)))
        step.insert(failed, defence="check-dummies", name="note the failure")
        step.insert(failed, when=carried(t) != dummy, unless="check-dummies", name="note the failure of a call")
        step.insert(misled(t), when=carried(t) != dummy, unless="verify-answer")
