"""Finite instances of TensorTEE: who takes part, and how much is written."""

from __future__ import annotations

from itertools import pairwise

from carnet_spec.language import InLine, Instance, Profile, Protocol, Scale, all_sizes
from carnet_spec.language.authoring import HONEST, by_name, counted, named, numbered, unary

DEFAULTS = {
    "honest_jobs": 1,
    "job_keys": 1,
    "own_keys": 0,
    "cpu_tensors": 1,
    "npu_tensors": 1,
    "tensor_lines": 1,
    "passes": 1,
    "job_blocks": 1,
}
"""Sizes by name, unless a profile or ``--set`` says otherwise."""
FRESH_SIZES = frozenset({"job_keys"})
"""The sizes that only say how many keys may be drawn."""


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest jobs, the host, and another job that may collude with it.

    The CPU writes weights, and the NPU writes gradients.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    jobs = named(HONEST, "job", size["honest_jobs"])
    others = ("mallory",) if threat == "neighbour" else ()
    blocks = {job: numbered(f"{job}'s ", size["job_blocks"]) for job in jobs}
    blocks["host"] = ("host's",)
    weights, gradients = numbered("weights", size["cpu_tensors"]), numbered("gradients", size["npu_tensors"])
    versions = numbered("v", 1 + size["passes"], start=0)
    own, hers = numbered("k", size["job_keys"]), numbered("m", size["own_keys"])
    return Instance(
        elements={
            "Agent": (*jobs, "host", *others),
            "Key": (*own, *hers),
            "Tensor": (*weights, *gradients),
            "CacheLine": numbered("line", size["tensor_lines"]),
            "Version": versions,
            "Block": tuple(block for each in blocks.values() for block in each),
        },
        relations={
            "corrupt": unary(("host", *others)),
            "before": InLine(versions),
            "follows": frozenset(pairwise(versions)),
        },
        functions={
            "host": {(): "host"},
            "zero": {(): versions[0]},
            "owner": {(block,): agent for agent, each in blocks.items() for block in each},
            "writer": {**{(each,): "CPU" for each in weights}, **{(each,): "NPU" for each in gradients}},
        },
        pools={("open_session", "k"): own, ("open_own", "k"): hers, ("open_own", "p"): others or ("host",)},
        describes=counted(
            (size["honest_jobs"], "honest job"),
            (size["job_keys"], "session"),
            (size["own_keys"], "session of the adversary's"),
            (size["cpu_tensors"], "tensor of the CPU's"),
            (size["npu_tensors"], "tensor of the NPU's"),
            (size["tensor_lines"], "line to a tensor"),
            (size["passes"], "pass"),
            (size["job_blocks"], "block to a job"),
        ),
    )


PROFILES = by_name(
    Profile("tiny", {"own_keys": 1, "tensor_lines": 2}, title="one pass of two lines"),
    Profile("passes", {"passes": 2}, title="two passes of one line"),
    Profile("ci", {"job_blocks": 2}, title="one pass of one line, with two blocks"),
)

HUNTS = (
    Profile("one line", {}, budget=1),
    Profile("two blocks", {"job_blocks": 2}, budget=1),
    Profile("two lines", {"tensor_lines": 2}, budget=1),
    Profile("two passes", {"passes": 2}, budget=1),
    Profile("two jobs", {"honest_jobs": 2}, budget=1),
    Profile("two tensors", {"cpu_tensors": 2, "npu_tensors": 0}, budget=1),
    Profile("two passes of two blocks", {"passes": 2, "job_blocks": 2}, budget=1),
    Profile("two lines of two blocks", {"tensor_lines": 2, "job_blocks": 2}, budget=1),
    Profile("the adversary's own", {"job_keys": 0, "own_keys": 1}),
)
"""The sizes a search for an attack goes through."""
