"""Three ways to train on data that several holders own: send the data, send the model, or send the GPU.

Source: GPU Traveling (deck), "Existing Solutions", "Low Cost of Data Sharing", "How it works".
"""

from collections.abc import Sequence
from dataclasses import dataclass

from carnet_ref.datapath.quantities import QuantityError, Seconds, Size
from carnet_ref.datapath.schedule import Costs, Schedule, ScheduleBuilder, Stage, Station, Transfer, lay

HOLDER_CPU = "holder CPU"
ORCHESTRATOR_CPU = "orchestrator CPU"
NETWORK = "network"
COPIER = "bounce copier"
PCIE = "PCIe"
GPU_AUTH = "GPU authentication"
GPU_CIPHER = "GPU cipher"
GPU = "GPU"
CONTROL = "orchestrator"

TO_ORCHESTRATOR = "holder>orchestrator"
TO_GPU = "orchestrator>gpu"
FROM_GPU = "gpu>orchestrator"


def into_gpu(channel: str) -> tuple[Station, ...]:
    """Return the path of a sealed chunk in a confidential machine to plaintext in GPU memory."""
    return (
        Station(Stage.BOUNCE_COPY, COPIER, channel),
        Station(Stage.PCIE, PCIE, channel),
        Station(Stage.GPU_VERIFY, GPU_AUTH, channel),
        Station(Stage.GPU_DECRYPT, GPU_CIPHER, channel),
    )


CONVENTIONAL_PATH = (
    Station(Stage.HOLDER_ENCRYPT, HOLDER_CPU, TO_ORCHESTRATOR),
    Station(Stage.NETWORK, NETWORK, TO_ORCHESTRATOR),
    Station(Stage.CPU_DECRYPT, ORCHESTRATOR_CPU, TO_ORCHESTRATOR),
    Station(Stage.RE_ENCRYPT, ORCHESTRATOR_CPU, TO_GPU),
    *into_gpu(TO_GPU),
)


def conventional(transfer: Transfer, costs: Costs) -> Schedule:
    """Send a holder's dataset over the network to the orchestrator and from there to its GPU."""
    builder = ScheduleBuilder("conventional")
    begin = builder.in_series([(Stage.OVERHEAD, CONTROL, costs.seconds(Stage.OVERHEAD))])
    lay(builder, CONVENTIONAL_PATH, transfer, costs, begin)
    return builder.done()


def model_path(source: str, sink: str) -> tuple[Station, ...]:
    """Return the path of a model from the GPU of one confidential machine to the GPU of another."""
    out, between, into = f"{source} gpu>cpu", f"{source}>{sink}", f"{sink} cpu>gpu"
    return (
        Station(Stage.GPU_ENCRYPT, f"{source} GPU", out),
        Station(Stage.PCIE, f"{source} PCIe", out),
        Station(Stage.CPU_DECRYPT, f"{source} CPU", out),
        Station(Stage.RE_ENCRYPT, f"{source} CPU", between),
        Station(Stage.NETWORK, NETWORK, between),
        Station(Stage.CPU_DECRYPT, f"{sink} CPU", between),
        Station(Stage.RE_ENCRYPT, f"{sink} CPU", into),
        Station(Stage.PCIE, f"{sink} PCIe", into),
        Station(Stage.GPU_VERIFY, f"{sink} GPU authentication", into),
        Station(Stage.GPU_DECRYPT, f"{sink} GPU", into),
    )


UPLOAD_PATH = (Station(Stage.RE_ENCRYPT, ORCHESTRATOR_CPU, TO_GPU), *into_gpu(TO_GPU))
SAVE_PATH = (
    Station(Stage.GPU_ENCRYPT, GPU_CIPHER, FROM_GPU),
    Station(Stage.PCIE, PCIE, FROM_GPU),
    Station(Stage.CPU_DECRYPT, ORCHESTRATOR_CPU, FROM_GPU),
)


def model_moves(model: Transfer, costs: Costs) -> Schedule:
    """Bring the model to the GPU and back, as happens once in a session."""
    builder = ScheduleBuilder("model in and out")
    there = lay(builder, UPLOAD_PATH, model, costs)
    lay(builder, SAVE_PATH, model, costs, there, len(model.chunks))
    return builder.done()


def shared_model(model: Transfer, holders: int, rounds: int, costs: Costs) -> Schedule:
    """Leave the data where they are: send the model to each holder's own GPU and take gradients of its size back."""
    if holders < 1 or rounds < 1:
        raise QuantityError(f"sharing a model needs at least one holder and one round, not {holders} and {rounds}")
    builder = ScheduleBuilder("shared model")
    wait: tuple[int, ...] = ()
    chunk = 0
    for _ in range(rounds):
        for holder in range(holders):
            for path in (
                model_path("orchestrator", f"holder {holder}"),
                model_path(f"holder {holder}", "orchestrator"),
            ):
                wait = lay(builder, path, model, costs, wait[-1:], chunk)
                chunk += len(model.chunks)
    return builder.done()


@dataclass(frozen=True, slots=True)
class Journey:
    """The parameters of one round of GPU Travelling."""

    hand_overs: Sequence[Transfer]  #: what each holder provisions, in the order of the visits.
    scrubbed: Size  #: how much memory is cleared before the GPU leaves.
    attests: bool = True  #: whether a hand-over asks for fresh evidence.
    #: what goes to the GPU before the first visit and comes back after the last, once in a session; nothing where that
    #: is not looked at. No hand-over moves any of it.
    model: Transfer | None = None


def gpu_travelling(journey: Journey, costs: Costs) -> Schedule:
    """Send the GPU: rotate the key, switch the MUX, let the holder write its data once over PCIe, and come back.

    The order of a visit is that of the deck: hand-over, provisioning, return, training, epilogue (scrub and checks).
    """
    if not journey.hand_overs:
        raise QuantityError("a journey has at least one hand-over")
    builder = ScheduleBuilder("gpu travelling")
    wait: tuple[int, ...] = ()
    chunk = 0
    if journey.model is not None:
        wait = lay(builder, UPLOAD_PATH, journey.model, costs)
        chunk = len(journey.model.chunks)
    for visit, transfer in enumerate(journey.hand_overs):
        wait = _visit(builder, journey, visit, costs, wait, chunk)
        chunk += len(transfer.chunks)
    if journey.model is not None:
        lay(builder, SAVE_PATH, journey.model, costs, wait, chunk)
    return builder.done()


def _visit(
    builder: ScheduleBuilder, journey: Journey, visit: int, costs: Costs, after: tuple[int, ...], chunk: int
) -> tuple[int, ...]:
    """Lay one visit, whose data begin with number ``chunk``; the scrub clears what came from this holder."""
    transfer, channel = journey.hand_overs[visit], f"holder {visit}>gpu"
    leave = [(Stage.ATTESTATION, CONTROL, costs.seconds(Stage.ATTESTATION))] if journey.attests else []
    leave.append((Stage.OVERHEAD, CONTROL, costs.seconds(Stage.OVERHEAD)))
    away = builder.in_series([*leave, *_crossing(costs)], after)
    path = (Station(Stage.HOLDER_ENCRYPT, f"holder {visit} CPU", channel), *into_gpu(channel))
    filled = lay(builder, path, transfer, costs, away, chunk)
    train = (Stage.COMPUTE, GPU, costs.seconds(Stage.COMPUTE, transfer.total))
    trained = builder.in_series([*reversed(_crossing(costs)), train], filled)
    return (builder.add(Stage.SCRUB, GPU, costs.seconds(Stage.SCRUB, journey.scrubbed), trained, channel=channel),)


def _crossing(costs: Costs) -> list[tuple[Stage, str, Seconds]]:
    """Return the steps that move the GPU to another machine: a key of its own, then the switch."""
    return [
        (Stage.ROTATION, CONTROL, costs.seconds(Stage.ROTATION)),
        (Stage.MUX_SWITCH, CONTROL, costs.seconds(Stage.MUX_SWITCH)),
    ]
