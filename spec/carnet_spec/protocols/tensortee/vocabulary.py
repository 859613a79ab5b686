"""The vocabulary of TensorTEE: sorts, parties, symbols of the state, and designs.

A *key* stands for a session of one job, too: the CPU enclave and the NPU enclave of the job share it. A *tensor* is
written by one side and read by both. Its *version* is the number of the pass in which it was written. A *line* is a
place in a tensor, so a tensor and a line make an address. What the NPU has read of a tensor is *fetched*. While the MAC
of the tensor has not been compared, the tensor, and whatever was computed from it, *awaits* that.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import by_name

# -- sorts -------------------------------------------------------------------------------------------------------------


class Agent(Individual):
    """A party that can know things: the owners of jobs, and the host."""


class Key(Individual, fresh=True):
    """The key of one session of a job, and the session itself."""


class Tensor(Individual):
    """A tensor; under another key it is another tensor."""


class CacheLine(Individual):
    """A place in a tensor, of the size of a cache line."""


class Version(Individual):
    """The number of a pass in which a tensor is written."""


class Block(Individual):
    """What a line says: some of somebody's data."""


class Side(Individual):
    """The two enclaves of a job."""

    CPU = member()
    NPU = member()


# -- parties -----------------------------------------------------------------------------------------------------------

CPU = Role("cpu")
NPU = Role("npu")
ADVERSARY = Role("adversary", honest=False)

host = constant("host", Agent, says="whoever runs the host software, and has the memory and the link")

corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH, says="the agent does what the adversary wants")
owner = rigid_function("owner", Block, to=Agent, says="whose data it is")
writer = rigid_function("writer", Tensor, to=Side, says="the side that writes the tensor")
before = rigid_relation("before", Version, Version, says="the first version comes before the second")
follows = rigid_relation("follows", Version, Version, says="the second version is the one after the first")
zero = constant("zero", Version, says="the version of a tensor that was never written")

# -- a session ---------------------------------------------------------------------------------------------------------

_message = partial(relation, kind=Kind.MESSAGE)
session = _message("session", Agent, Key, says="the CPU enclave of the job and the NPU agreed on the key")

# -- the CPU's state ---------------------------------------------------------------------------------------------------

cpu_version = function(
    "cpu_version", Key, Tensor, to=Version, kind=Kind.STATE, of=CPU, says="the version in the CPU's table"
)
cpu_wrote = relation(
    "cpu_wrote", Key, Tensor, CacheLine, kind=Kind.STATE, of=CPU, says="the CPU wrote the line in this pass"
)
took = relation(
    "took",
    *(Key, Tensor, CacheLine, Version, Block),
    kind=Kind.STATE,
    of=CPU,
    says="the CPU read the line in that version of the tensor",
)

# -- the NPU's state ---------------------------------------------------------------------------------------------------

npu_version = function(
    "npu_version", Key, Tensor, to=Version, kind=Kind.STATE, of=NPU, says="the version in the NPU's table"
)
_npu_state = partial(relation, kind=Kind.STATE, of=NPU)
npu_wrote = _npu_state("npu_wrote", Key, Tensor, CacheLine, says="the NPU wrote the line in this pass")
loaded = _npu_state("loaded", Key, Tensor, says="the NPU reads the tensor, or has read it")
fetched = _npu_state("fetched", Key, Tensor, CacheLine, Block, says="what the line decrypted to")
arrived = _npu_state("arrived", Key, Tensor, CacheLine, says="the line was fetched")
matched = _npu_state("matched", Key, Tensor, CacheLine, says="the line adds to the MAC what the written one did")
awaits = _npu_state(
    "awaits",
    *(Key, Tensor, Tensor),
    says="the first tensor has in it what was read of the second, whose MAC was not compared yet",
)
halted = _npu_state("halted", Key, says="the MAC of a tensor did not verify")

# -- messages ----------------------------------------------------------------------------------------------------------

stored = _message(
    "stored",
    *(Key, Tensor, CacheLine, Version, Block),
    says="memory had, under that address and version, a ciphertext of the block and its MAC",
)
changed = _message("changed", Key, Block, says="changed bytes decrypt to this under the key")
descriptor = _message(
    "descriptor", Key, Tensor, Version, says="under the key: the tensor is there to be read, in this version"
)
spilled = _message("spilled", Key, Tensor, Version, says="an entry of the CPU's table that was moved to memory")
released = _message("released", Key, Tensor, says="the NPU gave the tensor out of the enclaves")

# -- knowledge ---------------------------------------------------------------------------------------------------------

knows = relation("knows", Agent, Key, kind=Kind.KNOWLEDGE, says="the agent can use the key")
learnt = relation("learnt", Agent, Block, kind=Kind.KNOWLEDGE, says="the agent learnt the data")

# -- history -----------------------------------------------------------------------------------------------------------

_history = partial(relation, kind=Kind.GHOST)
wrote = _history(
    "wrote",
    *(Key, Tensor, CacheLine, Version, Block),
    says="an enclave wrote the block to the line in that version of the tensor",
)
filled = _history("filled", Key, Tensor, CacheLine, Version, says="the line was written in that version of the tensor")
handed = _history("handed", Key, Tensor, Version, says="its writer handed the tensor over in that version")
spoilt = _history(
    "spoilt",
    *(Key, Tensor, Tensor, CacheLine),
    says="the first tensor has in it what was read in that line of the second, and was not written there",
)
foul = _history(
    "foul",
    *(Key, Tensor, CacheLine, Version, Tensor, CacheLine),
    says="the line was written in that version when its tensor was spoilt by that line of the other tensor",
)
escaped = _history(
    "escaped",
    *(Key, Tensor, Tensor, CacheLine),
    says="the tensor was given out when it was spoilt by that line of the other tensor",
)
rolled = _history("rolled", Key, Tensor, says="a table went back to a version that it had passed")
late = _history("late", Key, says="something was given out or handed over after a MAC failed")


# -- words -------------------------------------------------------------------------------------------------------------


def honest(job: Agent) -> Formula:
    """Whether the enclaves of a job follow the protocol; the host has none."""
    return ~corrupt(job) & (job != host)


def verified(key: Key, tensor: Tensor) -> Formula:
    """Whether the NPU has read the tensor and its MAC verified."""
    return loaded(key, tensor) & ~awaits(key, tensor, tensor)


# -- designs -----------------------------------------------------------------------------------------------------------
# TensorTEE, and readings of its abstract that would not be safe.

MACHINE_KEY = "machine-key"

VARIANTS = by_name(
    Variant("tensor-granular", "one writer, whole tensors, and results that await what they were computed from"),
    Variant("two-counters", "each side counts versions of the same tensors itself", without=("one-writer",)),
    Variant("predict-and-export", "nothing waits for the MAC", without=("verified-release", "verified-hand-over")),
    Variant("own-mac-only", "a result that is verified itself counts as verified", without=("taint-kept",)),
    Variant("verify-by-second-pass", "the MAC is computed from a second read", without=("one-fetch",)),
    Variant("sum-of-tags", "the MAC of a tensor is the XOR of Carter-Wegman tags", without=("mac-nonlinear",)),
    Variant("bare-lines", "the MAC of a line says only what is in it", without=("mac-tensor", "mac-line")),
    Variant("spilled-table", "entries that have no room on-chip lie in memory", without=("table-protected",)),
    Variant(MACHINE_KEY, "CPU and NPU have one key for all jobs", without=("job-key",)),
)
