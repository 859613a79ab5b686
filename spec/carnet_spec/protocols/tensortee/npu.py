"""The NPU: it computes with lines that are not verified yet, and lets nothing out before the MAC of the tensor is."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step, forall, implies
from carnet_spec.protocols.tensortee.vocabulary import (
    ADVERSARY,
    NPU,
    Agent,
    Block,
    CacheLine,
    Key,
    Side,
    Tensor,
    Version,
    arrived,
    awaits,
    before,
    changed,
    descriptor,
    fetched,
    filled,
    follows,
    foul,
    halted,
    loaded,
    matched,
    npu_version,
    npu_wrote,
    owner,
    rolled,
    session,
    spoilt,
    stored,
    writer,
    wrote,
    zero,
)

_DIRECT = "TensorTEE, abstract: direct data transfer without re-encryption"
_PREDICTIVE = "TensorTEE, abstract: tensor-granularity MAC management with predictive execution"


def specify_npu(draft: Draft) -> None:
    """Add what the NPU enclave loads, computes and writes to ``draft``."""
    _load(draft)
    _fetch(draft)
    _verify(draft)
    _compute(draft)
    _write(draft)


def _begin_load(step: Step, key: Key, tensor: Tensor) -> None:
    """Begin with nothing fetched, and with everything to verify."""
    step.require("the last load is settled", ~awaits(key, tensor, tensor), defence="settle-first")
    step.remove(fetched(key, tensor, step.each(CacheLine), step.each(Block)))
    step.remove(arrived(key, tensor, step.each(CacheLine)))
    step.remove(matched(key, tensor, step.each(CacheLine)))
    step.remove(spoilt(key, tensor, tensor, step.each(CacheLine)), unless="settle-first", name="what was read is gone")
    step.insert(loaded(key, tensor))
    step.insert(awaits(key, tensor, tensor))


def _load(draft: Draft) -> None:
    @draft.action(
        by=NPU,
        says="The NPU begins to read {t} under {k}, which was handed over in version {v}.",
        message="cpu -> npu: descriptor of {t} under {k}",
        source=_DIRECT,
        enforces=("REQ-HAND-03", "REQ-LOAD-01"),
    )
    def load_handed(step: Step, a: Agent, k: Key, t: Tensor, v: Version) -> None:
        """The version comes from the descriptor, and from nothing that memory says."""
        step.require("own session", session(a, k))
        step.require("a descriptor", descriptor(k, t, v))
        step.require("of the other side's tensor", writer(t) == Side.CPU)
        step.require("newer than the last", before(npu_version(k, t), v), defence="descriptor-fresh")
        step.insert(rolled(k, t), when=before(v, npu_version(k, t)))
        step.set(npu_version(k, t), v)
        _begin_load(step, k, t)

    @draft.action(
        by=NPU,
        says="The NPU begins to read {t} under {k} again, in the version that it has.",
        source=_PREDICTIVE,
        enforces="REQ-LOAD-01",
    )
    def load_again(step: Step, k: Key, t: Tensor) -> None:
        """A result that it wrote, or a tensor that it read before: both were in memory meanwhile."""
        step.require("a version", npu_version(k, t) != zero)
        _begin_load(step, k, t)


def _fetch(draft: Draft) -> None:
    def begin(step: Step, key: Key, tensor: Tensor, line: CacheLine, block: Block) -> Formula:
        step.require("being read", awaits(key, tensor, tensor))
        step.require("not fetched yet", ~arrived(key, tensor, line), defence="one-fetch")
        step.remove(fetched(key, tensor, line, step.each(Block)), unless="one-fetch", name="overwrite")
        step.insert(arrived(key, tensor, line))
        step.insert(fetched(key, tensor, line, block))
        return wrote(key, tensor, line, npu_version(key, tensor), block)

    @draft.action(
        by=NPU,
        says="The NPU fetches {i} of {t} under {k}, decrypts it to {b}, and adds it to the MAC.",
        message="memory -> npu: {i} of {t}",
        source=_PREDICTIVE,
        enforces=("REQ-LOAD-02", "REQ-MAC-01"),
    )
    def fetch(
        step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, s: Tensor, j: CacheLine, w: Version, b: Block
    ) -> None:
        """Only the whole MAC is compared, and later: nobody knows yet that this line is right."""
        step.require("own session", session(a, k))
        step.given("a line that memory had", stored(k, s, j, w, b))
        step.require("MAC binds the tensor", s == t, defence="mac-tensor")
        step.require("MAC binds the line", j == i, defence="mac-line")
        step.require("MAC binds the version", w == npu_version(k, t), defence="mac-version")
        right = begin(step, k, t, i, b)
        step.insert(matched(k, t, i))
        step.insert(spoilt(k, t, t, i), when=~right)
        step.remove(spoilt(k, t, t, i), when=right, unless="one-fetch", name="what was wrong is gone")

    @draft.action(
        by=NPU,
        says="Memory gives something else as {i} of {t} under {k}, and the NPU decrypts it to {b}.",
        message="memory -> npu: other bytes for {i} of {t}",
        source="Carnet (memory that an adversary owns)",
        enforces="REQ-LOAD-02",
    )
    def fetch_other(step: Step, k: Key, t: Tensor, i: CacheLine, b: Block) -> None:
        """The NPU cannot tell, and computes with it; the MAC of the tensor will not verify."""
        step.given("bytes that memory makes", changed(k, b))
        begin(step, k, t, i, b)
        step.insert(spoilt(k, t, t, i))

    @draft.action(
        by=ADVERSARY,
        says="The same change in {i} and {j} of {t} under {k} cancels out in the MAC.",
        source="SP 800-38D section 6.4 (GHASH is linear)",
        cost=1,
        shortcut_of="mac-nonlinear",
    )
    def cancel(step: Step, k: Key, t: Tensor, i: CacheLine, j: CacheLine, b: Block, c: Block) -> None:
        """The XOR of tags that are linear in the ciphertext is linear, too."""
        step.given("two lines", arrived(k, t, i) & arrived(k, t, j) & (i != j))
        step.given("were there", stored(k, t, i, npu_version(k, t), b) & stored(k, t, j, npu_version(k, t), c))
        step.given("both changed", ~matched(k, t, i) & ~matched(k, t, j))
        step.insert(matched(k, t, i), name="one line")
        step.insert(matched(k, t, j), name="and the other")


def _verify(draft: Draft) -> None:
    @draft.action(
        by=NPU,
        says="The NPU compares the MAC of {t} under {k}, and it verifies.",
        source=_PREDICTIVE,
        enforces=("REQ-VERIFY-01", "REQ-VERIFY-02"),
    )
    def verify(step: Step, k: Key, t: Tensor) -> None:
        """What awaited this tensor awaits it no more; what it awaited itself, it awaits still."""
        step.require("being read", awaits(k, t, t))
        step.require("every line", forall(lambda i: arrived(k, t, i), CacheLine), defence="every-line")
        right = forall(lambda i: implies(arrived(k, t, i), matched(k, t, i)), CacheLine)
        step.require("the MAC is the same", right, defence="mac-compared")
        step.remove(awaits(k, step.each(Tensor), t))
        step.remove(awaits(k, t, step.each(Tensor)), unless="taint-kept", name="its MAC clears it")

    @draft.action(
        by=NPU,
        says="The MAC of {t} under {k} does not verify, and the NPU halts.",
        source="SP 800-38D section 7.2",
        enforces="REQ-VERIFY-03",
    )
    def halt(step: Step, k: Key, t: Tensor) -> None:
        """So it does when a line does not come."""
        step.require("being read", awaits(k, t, t))
        step.insert(halted(k))


def _compute(draft: Draft) -> None:
    @draft.action(
        by=NPU,
        says="The NPU computes {r} from what it has of {t} under {k}.",
        source=_PREDICTIVE,
        enforces="REQ-TAINT-01",
    )
    def compute(step: Step, a: Agent, k: Key, r: Tensor, t: Tensor) -> None:
        """Computation goes on with lines that are not verified; what comes of them awaits what they await."""
        step.require("own session", session(a, k))
        step.require("its tensor", writer(r) == Side.NPU)
        origin, place = step.each(Tensor), step.each(CacheLine)
        step.insert(awaits(k, r, origin), when=awaits(k, t, origin), defence="taint-passed-on")
        step.insert(spoilt(k, r, origin, place), when=spoilt(k, t, origin, place))


def _write(draft: Draft) -> None:
    @draft.action(
        by=NPU,
        says="The NPU begins to write version {w} of {t} under {k}.",
        source=_PREDICTIVE,
        enforces=("REQ-WRITE-01", "REQ-WRITE-02"),
    )
    def npu_begin(step: Step, a: Agent, k: Key, t: Tensor, w: Version) -> None:
        """What was read of the version before is of no use any more."""
        step.require("own session", session(a, k))
        step.require("its tensor", writer(t) == Side.NPU, defence="one-writer")
        step.require("the next version", follows(npu_version(k, t), w), defence="version-advances")
        step.require("not being read", ~awaits(k, t, t), defence="settle-first")
        step.insert(rolled(k, t), when=before(w, npu_version(k, t)))
        step.remove(npu_wrote(k, t, step.each(CacheLine)))
        step.remove(loaded(k, t))
        step.remove(fetched(k, t, step.each(CacheLine), step.each(Block)))
        step.remove(arrived(k, t, step.each(CacheLine)))
        step.remove(matched(k, t, step.each(CacheLine)))
        step.set(npu_version(k, t), w)

    @draft.action(
        by=NPU,
        says="The NPU writes {b} to {i} of {t} under {k}.",
        message="npu -> memory: {i} of {t} under {k}",
        source=_PREDICTIVE,
        enforces=("REQ-WRITE-01", "REQ-WRITE-03", "REQ-MAC-01"),
    )
    def npu_write(step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block) -> None:
        """A result may go to memory before what it was computed from is verified: it is encrypted there."""
        step.require("own session", session(a, k))
        step.require("its tensor", writer(t) == Side.NPU, defence="one-writer")
        step.require("a pass has begun", npu_version(k, t) != zero)
        step.require("own data", owner(b) == a)
        step.require("not written in this pass", ~npu_wrote(k, t, i), defence="line-once")
        step.insert(npu_wrote(k, t, i))
        step.insert(stored(k, t, i, npu_version(k, t), b))
        step.insert(wrote(k, t, i, npu_version(k, t), b))
        step.insert(filled(k, t, i, npu_version(k, t)))
        origin, place = step.each(Tensor), step.each(CacheLine)
        step.insert(foul(k, t, i, npu_version(k, t), origin, place), when=spoilt(k, t, origin, place))
