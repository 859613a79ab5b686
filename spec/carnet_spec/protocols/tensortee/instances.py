"""Finite instances of TensorTEE: who takes part, and how much is written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from carnet_spec.language import InLine, Instance, Profile, Protocol, Row, Scale, all_sizes

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

_HONEST = ("alice", "anna", "anton", "agnes")


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest jobs, the host, and another job that may collude with it.

    The CPU writes weights, and the NPU writes gradients.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    jobs = (*_HONEST[: size["honest_jobs"]], *_numbered("job", 1 + len(_HONEST), size["honest_jobs"] - len(_HONEST)))
    others = ("mallory",) if threat == "neighbour" else ()
    blocks = {job: tuple(f"{job}'s {n}" for n in range(1, 1 + size["job_blocks"])) for job in jobs}
    blocks["host"] = ("host's",)
    weights, gradients = _numbered("weights", 1, size["cpu_tensors"]), _numbered("gradients", 1, size["npu_tensors"])
    versions = tuple(f"v{number}" for number in range(size["passes"] + 1))
    own, hers = _numbered("k", 1, size["job_keys"]), _numbered("m", 1, size["own_keys"])
    return Instance(
        elements={
            "Agent": (*jobs, "host", *others),
            "Key": (*own, *hers),
            "Tensor": (*weights, *gradients),
            "CacheLine": _numbered("line", 1, size["tensor_lines"]),
            "Version": versions,
            "Block": tuple(block for each in blocks.values() for block in each),
        },
        relations={
            "corrupt": _unary(("host", *others)),
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
        describes=_describe(size),
    )


def _numbered(what: str, start: int, count: int) -> Row:
    return tuple(f"{what}{number}" for number in range(start, start + max(0, count)))


def _unary(names: Iterable[str]) -> frozenset[Row]:
    return frozenset((name,) for name in names)


_COUNTED = (
    ("honest_jobs", "honest job", "honest jobs"),
    ("job_keys", "session", "sessions"),
    ("own_keys", "session of the adversary's", "sessions of the adversary's"),
    ("cpu_tensors", "tensor of the CPU's", "tensors of the CPU's"),
    ("npu_tensors", "tensor of the NPU's", "tensors of the NPU's"),
    ("tensor_lines", "line to a tensor", "lines to a tensor"),
    ("passes", "pass", "passes"),
    ("job_blocks", "block to a job", "blocks to a job"),
)


def _describe(size: dict[str, int]) -> str:
    return ", ".join(f"{size[of]} {one if size[of] == 1 else many}" for of, one, many in _COUNTED if size[of])


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("tiny", {"own_keys": 1, "tensor_lines": 2}, title="one pass of two lines"),
        Profile("passes", {"passes": 2}, title="two passes of one line"),
        Profile("ci", {"job_blocks": 2}, title="one pass of one line, with two blocks"),
    )
}

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
