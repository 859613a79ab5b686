"""What leaves: results that the NPU hands over to the CPU, or gives out of the enclaves."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step, forall
from carnet_spec.protocols.tensortee.vocabulary import (
    NPU,
    Agent,
    CacheLine,
    Key,
    Side,
    Tensor,
    awaits,
    descriptor,
    escaped,
    halted,
    handed,
    late,
    npu_version,
    npu_wrote,
    released,
    session,
    spoilt,
    writer,
)

_DIRECT = "TensorTEE, abstract: direct data transfer without re-encryption"
_EXPORT = "Carnet, after TensorTEE, abstract: predictive execution"


def specify_exporting(draft: Draft) -> None:
    """Add hand-over and release of results to ``draft``."""

    @draft.action(
        by=NPU,
        says="The NPU hands {t} over under {k}, as it lies in memory.",
        message="npu -> cpu: descriptor of {t} under {k}",
        source=_DIRECT,
        enforces=("REQ-HAND-01", "REQ-HAND-02", "REQ-EXPORT-01", "REQ-VERIFY-03"),
    )
    def npu_hand_over(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """For the CPU a descriptor means that everything in the tensor is verified."""
        step.require("own session", session(a, k))
        step.require("its tensor", writer(t) == Side.NPU)
        step.require("whole", forall(lambda i: npu_wrote(k, t, i), CacheLine), defence="whole-write")
        step.require("awaits nothing", _settled(k, t), defence="verified-hand-over")
        step.require("no MAC failed", ~halted(k), defence="fail-stop")
        step.insert(descriptor(k, t, npu_version(k, t)))
        step.insert(handed(k, t, npu_version(k, t)))
        step.insert(late(k), when=halted(k))

    @draft.action(
        by=NPU,
        says="The NPU gives {t} of {a} out of the enclaves.",
        message="npu -> memory: {t}, as plaintext",
        source=_EXPORT,
        enforces=("REQ-EXPORT-01", "REQ-VERIFY-03"),
    )
    def release(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """Whatever can be seen outside is a release: a result, an answer, a choice that shows. Which, the job says."""
        step.require("own session", session(a, k))
        step.require("its tensor", writer(t) == Side.NPU)
        step.require("awaits nothing", _settled(k, t), defence="verified-release")
        step.require("no MAC failed", ~halted(k), defence="fail-stop")
        origin, place = step.each(Tensor), step.each(CacheLine)
        step.insert(escaped(k, t, origin, place), when=spoilt(k, t, origin, place))
        step.insert(released(k, t))
        step.insert(late(k), when=halted(k))


def _settled(key: Key, tensor: Tensor) -> Formula:
    """Whether everything that the tensor was computed from is verified."""
    return forall(lambda x: ~awaits(key, tensor, x), Tensor)
