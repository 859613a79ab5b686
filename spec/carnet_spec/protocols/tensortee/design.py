"""The design put together: axioms, threat models, assumptions, defences and variants of TensorTEE."""

from __future__ import annotations

from itertools import pairwise

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.tensortee.claims import TEXT, THREATS, state_claims, state_goals, state_lemmas
from carnet_spec.protocols.tensortee.protocol import specify
from carnet_spec.protocols.tensortee.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- defences ----------------------------------------------------------------------------------------------------------
# The guards and updates that can be taken away one by one, to see what each is for.

DEFENCES = (
    ("npu-attested", "the CPU enclave shares a key with an NPU that it attested only"),
    ("job-key", "each job has a key of its own"),
    ("new-key", "a session that starts again has a new key, since its versions start again"),
    ("one-writer", "one side alone writes a tensor"),
    ("version-advances", "a pass takes the next version before its first line is written"),
    ("line-once", "a line is written once in a pass"),
    ("mac-tensor", "the MAC binds the tensor"),
    ("mac-line", "the MAC binds the place of each line"),
    ("mac-version", "the MAC binds the version"),
    ("mac-nonlinear", "the MACs of lines that are added up are no linear function of the lines"),
    ("table-protected", "an entry that leaves the table is under a counter tree"),
    ("whole-write", "a tensor is handed over when every line of the pass is written"),
    ("descriptor-sealed", "a descriptor is authenticated under the key"),
    ("descriptor-fresh", "a descriptor is taken only if its version is newer than the last"),
    ("settle-first", "a tensor that awaits its MAC is neither read again nor written"),
    ("one-fetch", "the line that is computed with is the line that is added to the MAC"),
    ("every-line", "a MAC is compared when every line has arrived"),
    ("mac-compared", "a tensor is verified only if its MAC is the same"),
    ("taint-passed-on", "a result awaits whatever it was computed from"),
    ("taint-kept", "a result that was in memory awaits what it awaited before"),
    ("verified-hand-over", "a result is handed over when it awaits nothing"),
    ("verified-release", "a result is given out when it awaits nothing"),
    ("fail-stop", "after a MAC that failed, nothing is handed over or given out"),
)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_ONE_IV = ("confidentiality", "iv-unique")
_UNVERIFIED = ("verified-export", "verified-hand-over")

FALLS: Falls = {
    "two-counters": dict.fromkeys((*_ONE_IV, "hand-over-agreement", "verified-hand-over"), THREATS),
    "predict-and-export": dict.fromkeys(_UNVERIFIED, THREATS),
    "own-mac-only": dict.fromkeys(_UNVERIFIED, THREATS),
    "verify-by-second-pass": dict.fromkeys(("tensor-agreement", *_UNVERIFIED), THREATS),
    "sum-of-tags": dict.fromkeys(("tensor-agreement", *_UNVERIFIED), THREATS),
    "bare-lines": dict.fromkeys(("line-agreement", "tensor-agreement", *_UNVERIFIED), THREATS),
    "spilled-table": dict.fromkeys((*_ONE_IV, "whole-hand-over", "no-rollback"), THREATS),
    MACHINE_KEY: {
        **dict.fromkeys(("confidentiality", "key-isolation"), THREATS),
        **dict.fromkeys(("line-agreement", "tensor-agreement", "hand-over-agreement", *_UNVERIFIED), THREATS[1:]),
    },
}
"""For each variant the claims that fall, and under which threat models."""

UNTRUE: dict[str, tuple[str, ...]] = {
    "two-counters": ("written_by_the_cpu", "written_by_the_npu", "inputs_were_handed_over", "handed_over_is_clean"),
    "predict-and-export": ("handed_over_is_clean",),
    "own-mac-only": ("spoilt_awaits", "handed_over_is_clean"),
    **dict.fromkeys(
        ("verify-by-second-pass", "sum-of-tags", "bare-lines"),
        ("matched_is_written", "spoilt_awaits", "handed_over_is_clean"),
    ),
    "spilled-table": ("written_by_the_cpu", "lines_of_the_cpu_are_filled"),
}
"""For each variant the lemmas that do not hold in it."""


# -- design ------------------------------------------------------------------------------------------------------------

ID = "tensortee"
TITLE = "TensorTEE: CPU and NPU protect memory by the tensor, and the NPU verifies after it computed"
BUILT_IN = ("A1", "A2", "A3", "A4", "A5", "A6")
"""Assumptions in the shape of the steps: what a MAC verifies for, what is out of reach, where a tensor ends."""


def tensortee(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of TensorTEE."""
    draft = Draft(ID, TITLE, variant)
    assumptions_from(draft, TEXT, BUILT_IN)
    StrictOrder("versions", Version, before, "A7").assume(draft, zero)
    draft.axiom(
        "the next version is larger",
        forall(lambda u, v: implies(follows(u, v), before(u, v)), Version, Version),
        assumption="A7",
    )
    alone = forall(lambda p: implies(corrupt(p), p == host), Agent)
    draft.threat("bus", "the adversary has host software, memory and link; all jobs follow the protocol", alone=alone)
    draft.threat("neighbour", "other jobs on the same CPU and NPU may be corrupt, too, and collude with the host")
    declare_defences(draft, DEFENCES)
    draft.initially(cpu_version, lambda k, t: zero)
    draft.initially(npu_version, lambda k, t: zero)
    specify(draft)
    state_claims(draft)
    state_lemmas(draft)
    state_goals(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)
    return draft


# -- instances ---------------------------------------------------------------------------------------------------------
# Finite instances of TensorTEE: who takes part, and how much is written.

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
"""For each size what it is, unless a profile or ``--set`` says otherwise, and what it counts."""


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

ABSTRACT = "the abstract of the paper, read literally"

_finding = Findings("bus", ABSTRACT)

FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=tensortee,
    instance=instance,
    variants=VARIANTS,
    main=MAIN,
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
    text=TEXT,
)
