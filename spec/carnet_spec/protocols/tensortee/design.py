"""The family of TensorTEE: axioms, threat models, instances and findings."""

from itertools import pairwise

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.tensortee.claims import TEXT, state_properties
from carnet_spec.protocols.tensortee.protocol import specify
from carnet_spec.protocols.tensortee.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- design ------------------------------------------------------------------------------------------------------------

ID = "tensortee"
TITLE = "TensorTEE: CPU and NPU protect memory by the tensor, and the NPU verifies after it computed"


def tensortee(variant: str) -> Draft:
    """Draft the named variant of TensorTEE."""
    draft = Draft(ID, TITLE, variant)
    # In the shape of the steps are: what a MAC verifies for, what is out of reach, where a tensor ends.
    assumptions_from(draft, TEXT, built_in=("A1", "A2", "A3", "A4", "A5", "A6"))
    StrictOrder("versions", Version, before, "A7").assume(draft, zero)
    draft.axiom(
        "the next version is larger",
        forall(lambda u, v: implies(follows(u, v), before(u, v)), Version, Version),
        assumption="A7",
    )
    alone = forall(lambda p: implies(corrupt(p), p == host), Agent)
    draft.threat("bus", "the adversary has host software, memory and link; all jobs follow the protocol", alone=alone)
    draft.threat("neighbour", "other jobs on the same CPU and NPU may be corrupt, too, and collude with the host")
    specify(draft)
    state_properties(draft)
    return draft


# -- instances ---------------------------------------------------------------------------------------------------------
# Finite instances of TensorTEE: who takes part, and how much is written.

#: For each size what it is, unless a profile or ``--set`` says otherwise, and what it counts.
SIZES = {
    "honest_jobs": (1, "honest job"),
    "job_keys": (1, "session"),
    "own_keys": (0, "session of the adversary's"),
    "cpu_tensors": (1, "tensor of the CPU's"),
    "npu_tensors": (1, "tensor of the NPU's"),
    "tensor_lines": (1, "line to a tensor"),
    "passes": (1, "pass"),
    "job_blocks": (1, "block to a job"),
}


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest jobs, the host, and another job that may collude with it.

    The CPU writes weights, and the NPU writes gradients.
    """
    size = sizes_for(scale, SIZES, protocol.id)
    jobs = first_names(HONEST, "job", size["honest_jobs"])
    others = ("mallory",) if threat == "neighbour" else ()
    blocks = {job: numbered_names(f"{job}'s ", size["job_blocks"]) for job in jobs}
    blocks["host"] = ("host's",)
    weights = numbered_names("weights", size["cpu_tensors"])
    gradients = numbered_names("gradients", size["npu_tensors"])
    versions = numbered_names("v", 1 + size["passes"], start=0)
    own, hers = numbered_names("k", size["job_keys"]), numbered_names("m", size["own_keys"])
    return Instance(
        elements={
            "Agent": (*jobs, "host", *others),
            "Key": (*own, *hers),
            "Tensor": (*weights, *gradients),
            "CacheLine": numbered_names("line", size["tensor_lines"]),
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
        describes=sizes_in_words(size, SIZES),
    )


# -- family ------------------------------------------------------------------------------------------------------------
# What tensor granularity and delayed verification need, which the abstract of the paper does not say.
# Each is an attack on a reading of the abstract. The paper itself may exclude it.

_finding = Findings("bus", "the abstract of the paper, read literally")

#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.OTHERS,
        "other jobs",
        Visibility.HIDDEN,
        "what lies in memory that they share with the host",
        limited_by=("confidentiality", "key-isolation"),
    ),
    PartyView(
        PartyKind.TEE,
        "enclave on the CPU",
        Visibility.CLEAR,
        "the lines that it computes with",
        trusted_for="keys, tables and lines that stay on the chip",
        assumed_in=("A3", "A4"),
    ),
    PartyView(
        PartyKind.ACCELERATOR,
        "enclave on the NPU",
        Visibility.CLEAR,
        "the tensors that it computes with",
        trusted_for="keys and tables that stay on the chip, and knowing what each result was made from",
        assumed_in=("A3", "A6"),
    ),
    PartyView(
        PartyKind.HOST,
        "host, memory and bus",
        Visibility.HIDDEN,
        "lines in memory, their addresses and when they are written",
        limited_by=("confidentiality", "iv-unique"),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=tensortee,
    instance=instance,
    variants=VARIANTS,
    profiles=by_name(
        Profile("tiny", {"own_keys": 1, "tensor_lines": 2}, title="one pass of two lines"),
        Profile("passes", {"passes": 2}, title="two passes of one line"),
        Profile("ci", {"job_blocks": 2}, title="one pass of one line, with two blocks"),
    ),
    hunts=(
        Profile("one line", {}, budget=1),
        Profile("two blocks", {"job_blocks": 2}, budget=1),
        Profile("two lines", {"tensor_lines": 2}, budget=1),
        Profile("two passes", {"passes": 2}, budget=1),
        Profile("two jobs", {"honest_jobs": 2}, budget=1),
        Profile("two tensors", {"cpu_tensors": 2, "npu_tensors": 0}, budget=1),
        Profile("two passes of two blocks", {"passes": 2, "job_blocks": 2}, budget=1),
        Profile("two lines of two blocks", {"tensor_lines": 2, "job_blocks": 2}, budget=1),
        Profile("the adversary's own", {"job_keys": 0, "own_keys": 1}),
    ),
    findings=(
        _finding(1, "two-counters", "confidentiality")(
            "one scheme and one key on both sides: CPU and NPU write one tensor in one version, under one IV"
        ),
        _finding(2, "predict-and-export", "verified-export")(
            "computation runs ahead of the MAC, and so does what it exports"
        ),
        _finding(3, "own-mac-only", "verified-export")(
            "a result of unverified data goes through memory, and its own MAC verifies"
        ),
        _finding(4, "verify-by-second-pass", "verified-export")(
            "the delayed MAC is computed from a second read: what was verified is not what was computed with"
        ),
        _finding(5, "sum-of-tags", "tensor-agreement")(
            "line tags that are linear are summed up to a tensor's MAC: the same change in two lines cancels"
        ),
        _finding(6, "bare-lines", "tensor-agreement")(
            "lines that are authenticated without their address change places"
        ),
        _finding(7, "spilled-table", "iv-unique")(
            "the table of versions overflows to memory, and memory gives an old entry back"
        ),
        _finding(8, "machine-key", "confidentiality", threat="neighbour")(
            "both enclaves use the machine's key: another job on the machine has it, too"
        ),
    ),
    default_threat="neighbour",
    fresh_sizes=frozenset({"job_keys"}),
    round_goal="there-and-back",
    views=VIEWS,
    text=TEXT,
)
