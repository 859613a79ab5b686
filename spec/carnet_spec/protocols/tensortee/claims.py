"""The claims, goals and lemmas of TensorTEE, for any number of jobs, sessions, tensors, lines, versions and blocks."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.tensortee.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("bus", "neighbour")  #: The threat models under which every claim is made.


def state_properties(draft: Draft) -> None:
    """Add claims, goals and lemmas to ``draft``, and say which of them fall in its variant."""
    claim = Claims(draft, TEXT, THREATS)

    @claim("confidentiality", "TensorTEE, abstract: data confidentiality")
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @claim("key-isolation", "Carnet")
    def key_isolation(a: Agent, k: Key, p: Agent) -> Formula:
        return implies(session(a, k) & knows(p, k), p == a)

    @claim("iv-unique", "SP 800-38D section 8")
    def iv_unique(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block, c: Block) -> Formula:
        return implies(wrote(k, t, i, v, b) & wrote(k, t, i, v, c), b == c)

    @claim("line-agreement", "TensorTEE, abstract: integrity during computing")
    def line_agreement(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        return implies(took(k, t, i, v, b), wrote(k, t, i, v, b))

    @claim("tensor-agreement", "TensorTEE, abstract: tensor-granularity MAC management")
    def tensor_agreement(k: Key, t: Tensor, i: CacheLine, b: Block) -> Formula:
        read = verified(k, t) & fetched(k, t, i, b)
        return implies(read, wrote(k, t, i, npu_version(k, t), b))

    @claim("whole-tensor", "Carnet (a line that never came)")
    def whole_tensor(k: Key, t: Tensor, i: CacheLine) -> Formula:
        return implies(verified(k, t), arrived(k, t, i))

    @claim("hand-over-agreement", "TensorTEE, abstract: direct data transfer without re-encryption")
    def hand_over_agreement(a: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        by_npu = implies((writer(t) == Side.CPU) & loaded(k, t), handed(k, t, npu_version(k, t)))
        by_cpu = implies((writer(t) == Side.NPU) & took(k, t, i, v, b), handed(k, t, v))
        return implies(session(a, k), by_npu & by_cpu)

    @claim("whole-hand-over", "Carnet (a line that is written after the hand-over)")
    def whole_hand_over(k: Key, t: Tensor, v: Version, i: CacheLine) -> Formula:
        return implies(handed(k, t, v), filled(k, t, i, v))

    @claim("no-rollback", "Gueron, Memory Encryption Engine, section 2")
    def no_rollback(k: Key, t: Tensor) -> Formula:
        return ~rolled(k, t)

    @claim("verified-export", "Carnet, after TensorTEE, abstract: predictive execution")
    def verified_export(k: Key, r: Tensor, t: Tensor, i: CacheLine) -> Formula:
        return ~escaped(k, r, t, i)

    @claim("verified-hand-over", "Carnet, after TensorTEE, abstract: predictive execution")
    def verified_hand_over(
        a: Agent, k: Key, r: Tensor, i: CacheLine, v: Version, b: Block, t: Tensor, j: CacheLine
    ) -> Formula:
        return implies(session(a, k) & took(k, r, i, v, b), ~foul(k, r, i, v, t, j))

    @claim("failure-heeded", "SP 800-38D section 7.2")
    def failure_heeded(k: Key) -> Formula:
        return ~late(k)

    _goals(draft)
    _lemmas(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_ONE_IV = ("confidentiality", "iv-unique")
_UNVERIFIED = ("verified-export", "verified-hand-over")

#: For each variant the claims that fall, and under which threat models.
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

#: For each variant the lemmas that do not hold in it.
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


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def _goals(draft: Draft) -> None:

    @draft.goal(sentence="The NPU reads a tensor of the CPU's, and its MAC verifies.")
    def tensor_read(a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block) -> Formula:
        return session(a, k) & (writer(t) == Side.CPU) & verified(k, t) & fetched(k, t, i, b)

    @draft.goal(sentence="The CPU reads a line of a result that the NPU handed over.")
    def result_taken(a: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        return session(a, k) & (writer(t) == Side.NPU) & took(k, t, i, v, b)

    @draft.goal(sentence="The NPU has verified a tensor of the CPU's, and the CPU reads a result of the NPU's.")
    def there_and_back(a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block, r: Tensor, v: Version) -> Formula:
        there = verified(k, t) & (writer(t) == Side.CPU)
        return session(a, k) & there & took(k, r, i, v, b) & (writer(r) == Side.NPU)

    @draft.goal(sentence="The NPU gives out a result that it computed from a tensor that is verified.")
    def result_released(a: Agent, k: Key, r: Tensor, t: Tensor) -> Formula:
        return session(a, k) & released(k, r) & verified(k, t) & (writer(t) == Side.CPU)

    @draft.goal(sentence="A result was computed from a tensor of which a line is still to come.")
    def ahead(k: Key, r: Tensor, t: Tensor, i: CacheLine, j: CacheLine) -> Formula:
        return awaits(k, r, t) & (r != t) & arrived(k, t, i) & ~arrived(k, t, j)

    @draft.goal(sentence="A result was written, read back and verified, and still awaits what it was computed from.")
    def waits_on(k: Key, r: Tensor, t: Tensor) -> Formula:
        return verified(k, r) & awaits(k, r, t)

    @draft.goal(sentence="The NPU computed with a line that memory changed.")
    def spoilt_result(a: Agent, k: Key, r: Tensor, t: Tensor, i: CacheLine) -> Formula:
        return session(a, k) & spoilt(k, r, t, i) & (r != t)

    @draft.goal(sentence="What was computed with a changed line is in memory.")
    def foul_result(k: Key, r: Tensor, i: CacheLine, v: Version, t: Tensor, j: CacheLine) -> Formula:
        return foul(k, r, i, v, t, j) & (r != t)

    @draft.goal(sentence="A MAC does not verify, and the NPU halts.")
    def mac_fails(k: Key, t: Tensor, i: CacheLine) -> Formula:
        return halted(k) & loaded(k, t) & arrived(k, t, i) & ~matched(k, t, i)

    @draft.goal(sentence="The adversary has a line in memory under a key of its own, and reads it.")
    def another_job(p: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        return corrupt(p) & knows(p, k) & stored(k, t, i, v, b) & corrupt(owner(b)) & learnt(p, b)

    @draft.goal(sentence="Two colluders have the key of a session of their own.")
    def pooled(p: Agent, q: Agent, k: Key) -> Formula:
        return corrupt(p) & corrupt(q) & (p != q) & knows(p, k) & knows(q, k)


# -- lemmas ------------------------------------------------------------------------------------------------------------
# What makes the claims inductive, for any number of everything, whoever is corrupt.
#
# The argument: nobody but an honest job has the key of its session, so whatever is under the key its enclaves wrote
# (keys). A version is written by one side, once in each line, so it tells what a line says (versions). What the NPU
# fetched either matches what was written in the version that it expects, or is never verified (loading); and whatever
# that went into awaits it for ever (taint).


def _lemmas(draft: Draft) -> None:
    """Add the lemmas to ``draft``.

    Where all jobs have one key, what rests on the key is true only while the other jobs are honest.
    """
    secret = draft.lemma if draft.variant != MACHINE_KEY else draft.lemma_under("bus")

    # Keys.

    @draft.lemma
    def what_is_used(k: Key, p: Agent, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        """Nothing is under a key before it is drawn."""
        there = session(p, k) | knows(p, k) | stored(k, t, i, v, b) | descriptor(k, t, v) | spilled(k, t, v)
        return implies(there | took(k, t, i, v, b) | loaded(k, t), used(k))

    @draft.lemma
    def tables_are_empty(k: Key, t: Tensor) -> Formula:
        """No version is in a table before the key is drawn."""
        return implies(~used(k), (cpu_version(k, t) == zero) & (npu_version(k, t) == zero))

    @draft.lemma
    def one_job(a: Agent, b: Agent, k: Key) -> Formula:
        """A session is of one job, which follows the protocol and has its key."""
        return implies(session(a, k), honest(a) & knows(a, k) & implies(session(b, k), a == b))

    @secret
    def no_corrupt_agent_has_the_key(a: Agent, k: Key, p: Agent) -> Formula:
        """Nobody who is corrupt has an honest job's key."""
        return implies(session(a, k) & knows(p, k), ~corrupt(p))

    @secret
    def lines_were_written(a: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        """What memory had under an honest job's key, its enclaves wrote."""
        return implies(session(a, k) & stored(k, t, i, v, b), wrote(k, t, i, v, b))

    @draft.lemma
    def honest_data_is_under_own_keys(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        """Honest data is under its owner's keys only."""
        return implies(stored(k, t, i, v, b) & honest(owner(b)), session(owner(b), k))

    # Versions.

    @draft.lemma
    def written_by_the_cpu(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        """What was written in a tensor of the CPU's, the CPU wrote in an earlier pass or in this one."""
        known = before(v, cpu_version(k, t)) | ((v == cpu_version(k, t)) & cpu_wrote(k, t, i))
        return implies(wrote(k, t, i, v, b) & (writer(t) == Side.CPU), known & (v != zero))

    @draft.lemma
    def written_by_the_npu(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        """What was written in a tensor of the NPU's, the NPU wrote in an earlier pass or in this one."""
        known = before(v, npu_version(k, t)) | ((v == npu_version(k, t)) & npu_wrote(k, t, i))
        return implies(wrote(k, t, i, v, b) & (writer(t) == Side.NPU), known & (v != zero))

    # Handing over.

    @secret
    def descriptors_are_true(a: Agent, k: Key, t: Tensor, v: Version) -> Formula:
        """A descriptor under an honest job's key is of a tensor that was handed over."""
        return implies(session(a, k) & descriptor(k, t, v), handed(k, t, v))

    @draft.lemma
    def lines_of_the_cpu_are_filled(k: Key, t: Tensor, i: CacheLine) -> Formula:
        """The CPU knows which lines it wrote in a pass."""
        return implies(cpu_wrote(k, t, i) & (writer(t) == Side.CPU), filled(k, t, i, cpu_version(k, t)))

    @draft.lemma
    def lines_of_the_npu_are_filled(k: Key, t: Tensor, i: CacheLine) -> Formula:
        """The NPU knows which lines it wrote in a pass."""
        return implies(npu_wrote(k, t, i) & (writer(t) == Side.NPU), filled(k, t, i, npu_version(k, t)))

    @draft.lemma
    def results_are_whole(k: Key, t: Tensor, v: Version, i: CacheLine) -> Formula:
        """A result that was handed over is written no more in that version."""
        written = before(v, npu_version(k, t)) | ((v == npu_version(k, t)) & npu_wrote(k, t, i))
        return implies(handed(k, t, v) & (writer(t) == Side.NPU), written)

    @secret
    def versions_were_handed_over(a: Agent, k: Key, t: Tensor) -> Formula:
        """The CPU has the version of a result from a hand-over."""
        told = (cpu_version(k, t) == zero) | handed(k, t, cpu_version(k, t))
        return implies(session(a, k) & (writer(t) == Side.NPU), told)

    @draft.lemma
    def inputs_were_handed_over(k: Key, t: Tensor) -> Formula:
        """The NPU has the version of a tensor of the CPU's only from a descriptor."""
        told = (npu_version(k, t) == zero) | handed(k, t, npu_version(k, t))
        return implies(writer(t) == Side.CPU, told)

    @secret
    def entries_were_handed_over(a: Agent, k: Key, t: Tensor, v: Version) -> Formula:
        """An entry that was moved to memory has such a version, too."""
        return implies(session(a, k) & spilled(k, t, v) & (writer(t) == Side.NPU), handed(k, t, v))

    @draft.lemma
    def handed_over_is_clean(k: Key, r: Tensor, i: CacheLine, v: Version, t: Tensor, j: CacheLine) -> Formula:
        """Nothing foul is in a result that was handed over."""
        return implies(foul(k, r, i, v, t, j), ~handed(k, r, v) & (writer(r) == Side.NPU))

    # Loading.

    @draft.lemma
    def fetched_is_arrived(k: Key, t: Tensor, i: CacheLine, b: Block, c: Block) -> Formula:
        """A line has at most one content, which arrived."""
        there = fetched(k, t, i, b)
        return implies(there, arrived(k, t, i)) & implies(there & fetched(k, t, i, c), b == c)

    @draft.lemma
    def arrived_is_loaded(k: Key, t: Tensor, i: CacheLine) -> Formula:
        """Lines arrive in tensors that are being read."""
        return implies(arrived(k, t, i), loaded(k, t)) & implies(matched(k, t, i), arrived(k, t, i))

    @secret
    def matched_is_written(k: Key, t: Tensor, i: CacheLine, b: Block) -> Formula:
        """A line that matches was written there, in the version that is expected."""
        right = wrote(k, t, i, npu_version(k, t), b)
        return implies(matched(k, t, i) & fetched(k, t, i, b), right)

    @draft.lemma
    def verified_is_matched(k: Key, t: Tensor, i: CacheLine) -> Formula:
        """In a tensor that verified, every line matches."""
        return implies(verified(k, t), matched(k, t, i))

    # Taint.

    @draft.lemma
    def awaited_is_loaded(k: Key, r: Tensor, t: Tensor) -> Formula:
        """What is awaited is a tensor that is being read."""
        return implies(awaits(k, r, t), awaits(k, t, t) & loaded(k, t))

    @secret
    def spoilt_awaits(k: Key, r: Tensor, t: Tensor, i: CacheLine) -> Formula:
        """What a wrong line went into awaits its tensor, which does not verify."""
        wrong = arrived(k, t, i) & ~matched(k, t, i)
        return implies(spoilt(k, r, t, i), awaits(k, r, t) & wrong)

    @draft.lemma
    def foul_is_spoilt(k: Key, r: Tensor, i: CacheLine, v: Version, t: Tensor, j: CacheLine) -> Formula:
        """What is foul in memory is spoilt in the NPU."""
        return implies(foul(k, r, i, v, t, j), spoilt(k, r, t, j))
