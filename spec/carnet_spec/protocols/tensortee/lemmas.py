"""Lemmas: what makes the claims inductive, for any number of everything, whoever is corrupt.

The argument: nobody but an honest job has the key of its session, so whatever is under the key its enclaves wrote
(keys). A version is written by one side, once in each line, so it tells what a line says (versions). What the NPU
fetched either matches what was written in the version that it expects, or is never verified (loading); and whatever
that went into awaits it for ever (taint).
"""

from __future__ import annotations

from collections.abc import Callable

from carnet_spec.language import Draft, Formula, Invariant, implies, used
from carnet_spec.protocols.tensortee.vocabulary import *

State = Callable[[Callable[..., Formula]], Invariant]
"""What states a lemma."""


def state_lemmas(draft: Draft) -> None:
    """Add the lemmas to ``draft``.

    Where all jobs have one key, what rests on the key is true only while the other jobs are honest.
    """
    secret = draft.lemma if draft.variant != MACHINE_KEY else draft.lemma_under("bus")
    _keys(draft, secret)
    _versions(draft)
    _handing_over(draft, secret)
    _loading(draft, secret)
    _taint(draft, secret)


def _keys(draft: Draft, secret: State) -> None:
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


def _versions(draft: Draft) -> None:
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


def _handing_over(draft: Draft, secret: State) -> None:
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


def _loading(draft: Draft, secret: State) -> None:
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


def _taint(draft: Draft, secret: State) -> None:
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
