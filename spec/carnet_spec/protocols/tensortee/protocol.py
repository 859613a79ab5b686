"""The steps of TensorTEE: sessions, reads and writes of CPU and NPU, exports, and the adversary's moves."""

from functools import partial
from typing import NamedTuple

from carnet_spec.language import *
from carnet_spec.protocols.tensortee.vocabulary import *
from carnet_spec.theories.dolev_yao import DolevYao


def specify(draft: Draft) -> None:
    """Add the initial state and all steps to ``draft``."""
    draft.initially(cpu_version, lambda k, t: zero)
    draft.initially(npu_version, lambda k, t: zero)

    _setup(draft)
    _cpu(draft)
    _npu(draft)
    _exporting(draft)
    _adversary(draft)


# -- both sides --------------------------------------------------------------------------------------------------------
# CPU and NPU write, hand over and take tensors in the same way, each with a table of its own.


class _Enclave(NamedTuple):
    side: Side
    other: Side
    version: Function[Version]
    written: Relation

    def next_version(self, step: Step, k: Key, t: Tensor, w: Version) -> None:
        """Go on to the next version of a tensor of its own."""
        step.require("its tensor", writer(t) == self.side, defence="one-writer")
        step.require("the next version", follows(self.version(k, t), w), defence="version-advances")

    def write(self, step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block) -> None:
        """Write a line in the pass that has begun."""
        now = self.version(k, t)
        step.require("its tensor", writer(t) == self.side, defence="one-writer")
        step.require("a pass has begun", now != zero)
        step.require("own data", owner(b) == a)
        step.require("not written in this pass", ~self.written(k, t, i), defence="line-once")
        step.insert(self.written(k, t, i), stored(k, t, i, now, b), wrote(k, t, i, now, b), filled(k, t, i, now))

    def hand_over(self, step: Step, k: Key, t: Tensor) -> None:
        """Hand over a tensor of its own, as it lies in memory."""
        step.require("its tensor", writer(t) == self.side)
        step.require("whole", forall(lambda i: self.written(k, t, i), CacheLine), defence="whole-write")
        step.insert(descriptor(k, t, self.version(k, t)), handed(k, t, self.version(k, t)))

    def take(self, step: Step, k: Key, t: Tensor, v: Version) -> None:
        """Take the descriptor of a tensor of the other side."""
        step.require("a descriptor", descriptor(k, t, v))
        step.require("of the other side's tensor", writer(t) == self.other)
        step.require("newer than the last", before(self.version(k, t), v), defence="descriptor-fresh")
        step.insert(rolled(k, t), when=before(v, self.version(k, t)))
        step.set(self.version(k, t), v)


_ON_CPU = _Enclave(Side.CPU, Side.NPU, cpu_version, cpu_wrote)
_ON_NPU = _Enclave(Side.NPU, Side.CPU, npu_version, npu_wrote)


def _act_for(step: Step, job: Agent, key: Key) -> None:
    step.actor(job, honest(job))
    step.require("own session", session(job, key))


_Address = tuple[Tensor, CacheLine, Version]


def _binds(step: Step, found: _Address, expected: _Address) -> None:
    """Compare the MAC of a line: it says where and in which version the line was written."""
    step.require("MAC binds the tensor", found[0] == expected[0], defence="mac-tensor")
    step.require("MAC binds the line", found[1] == expected[1], defence="mac-line")
    step.require("MAC binds the version", found[2] == expected[2], defence="mac-version")


# -- setup -------------------------------------------------------------------------------------------------------------
# The CPU enclave of a job attests an NPU, and both share a key for one session.

_UNIFIED = "TensorTEE, abstract: unified granularity"


def _setup(draft: Draft) -> None:
    draft.defence("npu-attested", "the CPU enclave shares a key with an NPU that it attested only")
    draft.defence("job-key", "each job has a key of its own")
    draft.defence("new-key", "a session that starts again has a new key, since its versions start again")

    by_cpu = partial(draft.action, CPU)

    @by_cpu(_UNIFIED, "REQ-KEY-01", "REQ-KEY-02", "REQ-KEY-03")
    def open_session(step: Step, a: Agent, k: Key) -> None:
        """Both sides encrypt memory with the one key, so that a tensor moves as it is."""
        step.says("The CPU enclave of {a} attests the NPU, and both share the key {k}.")
        step.message("cpu -> npu: session with key {k}")
        step.actor(a, honest(a))
        step.fresh(k)
        step.insert(session(a, k), knows(a, k))
        other = step.each(Agent)
        step.insert(knows(other, k), when=other != host, unless="job-key", name="one key for all jobs of the machine")

    @draft.action(ADVERSARY, "Carnet (a fake NPU)", cost=1, shortcut_of="npu-attested")
    def answer_as_npu(step: Step, p: Agent, a: Agent, k: Key) -> None:
        step.says("{p} answers as the NPU of {a}, and shares {k}.")
        step.message("{p} -> cpu: session with key {k}")
        step.given("corrupt", corrupt(p))
        step.given("a session", session(a, k))
        step.insert(knows(p, k))

    @by_cpu("SP 800-38D section 8", shortcut_of="new-key")
    def start_again(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """The same happens where a version number is as large as it can be and wraps."""
        step.says("The CPU enclave of {a} starts again under {k}, and forgets the version of {t}.")
        _act_for(step, a, k)
        step.set(cpu_version(k, t), zero)
        step.remove(cpu_wrote(k, t, step.each(CacheLine)))


# -- cpu ---------------------------------------------------------------------------------------------------------------
# It writes tensors in passes, keeps their versions in its table, and verifies each line that it reads.

_DETECTED = "TensorTEE, abstract: detecting and maintaining tensor structures on-chip"
_DIRECT = "TensorTEE, abstract: direct data transfer without re-encryption"


def _cpu(draft: Draft) -> None:
    draft.defence("one-writer", "one side alone writes a tensor")
    draft.defence("version-advances", "a pass takes the next version before its first line is written")
    draft.defence("line-once", "a line is written once in a pass")
    draft.defence("mac-tensor", "the MAC binds the tensor")
    draft.defence("mac-line", "the MAC binds the place of each line")
    draft.defence("mac-version", "the MAC binds the version")
    draft.defence("mac-nonlinear", "the MACs of lines that are added up are no linear function of the lines")
    draft.defence("table-protected", "an entry that leaves the table is under a counter tree")
    draft.defence("whole-write", "a tensor is handed over when every line of the pass is written")
    draft.defence("descriptor-sealed", "a descriptor is authenticated under the key")
    draft.defence("descriptor-fresh", "a descriptor is taken only if its version is newer than the last")

    by_cpu = partial(draft.action, CPU)

    @by_cpu(_DETECTED, "REQ-WRITE-01", "REQ-WRITE-02")
    def cpu_begin(step: Step, a: Agent, k: Key, t: Tensor, w: Version) -> None:
        """One number for the whole tensor: it goes on before the first line is written."""
        step.says("The CPU begins to write version {w} of {t} under {k}.")
        _act_for(step, a, k)
        _ON_CPU.next_version(step, k, t, w)
        step.insert(rolled(k, t), when=before(w, cpu_version(k, t)))
        step.remove(cpu_wrote(k, t, step.each(CacheLine)))
        step.set(cpu_version(k, t), w)

    @by_cpu(_DETECTED, "REQ-WRITE-01", "REQ-WRITE-03", "REQ-MAC-01")
    def cpu_write(step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block) -> None:
        """The IV is made of the address and the version, so a second write in one pass would use it again."""
        step.says("The CPU writes {b} to {i} of {t} under {k}.")
        step.message("cpu -> memory: {i} of {t} under {k}")
        _act_for(step, a, k)
        _ON_CPU.write(step, a, k, t, i, b)

    @by_cpu(_DIRECT, "REQ-HAND-01", "REQ-HAND-02")
    def cpu_hand_over(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """The lines are copied as they are; what says which version they are goes over the trusted channel."""
        step.says("The CPU hands {t} over under {k}, as it lies in memory.")
        step.message("cpu -> npu: descriptor of {t} under {k}")
        _act_for(step, a, k)
        _ON_CPU.hand_over(step, k, t)

    @by_cpu(_DIRECT, "REQ-HAND-03")
    def cpu_take(step: Step, a: Agent, k: Key, t: Tensor, v: Version) -> None:
        """The version that the table has tells an old descriptor from a new one."""
        step.says("The CPU takes the descriptor of {t} in version {v} under {k}.")
        step.message("npu -> cpu: descriptor of {t} under {k}")
        _act_for(step, a, k)
        _ON_CPU.take(step, k, t, v)

    @by_cpu("Carnet (an entry that has no room on-chip)", "REQ-TABLE-01")
    def spill(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """A tensor that was written has an entry."""
        step.says("The CPU moves the entry of {t} under {k} from its table to memory.")
        step.message("cpu -> memory: entry of {t}")
        _act_for(step, a, k)
        step.require("an entry", cpu_version(k, t) != zero)
        step.insert(spilled(k, t, cpu_version(k, t)))

    @by_cpu("Carnet (an entry that has no room on-chip)", "REQ-TABLE-01")
    def refill(step: Step, a: Agent, k: Key, t: Tensor, v: Version) -> None:
        """What was moved out is under a counter tree, whose root is on-chip, or it is worth nothing."""
        step.says("The CPU takes the entry of {t} under {k} back, with version {v}.")
        step.message("memory -> cpu: entry of {t}")
        _act_for(step, a, k)
        step.require("an entry in memory", spilled(k, t, v))
        step.require("the one that the tree vouches for", v == cpu_version(k, t), defence="table-protected")
        step.insert(rolled(k, t), when=before(v, cpu_version(k, t)))
        step.set(cpu_version(k, t), v)

    @by_cpu("Gueron, Memory Encryption Engine, section 3", "REQ-READ-01", "REQ-MAC-01")
    def cpu_read(
        step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, s: Tensor, j: CacheLine, w: Version, b: Block
    ) -> None:
        """The CPU waits for the MAC of each line; memory may give any line that it ever had."""
        step.says("The CPU reads {b} in {i} of {t} under {k}.")
        step.message("memory -> cpu: {i} of {t}")
        _act_for(step, a, k)
        step.given("a line that memory had", stored(k, s, j, w, b))
        _binds(step, (s, j, w), (t, i, cpu_version(k, t)))
        step.insert(took(k, t, i, cpu_version(k, t), b))


# -- npu ---------------------------------------------------------------------------------------------------------------
# It computes with lines that are not verified yet, and lets nothing out before the MAC of the tensor is.

_PREDICTIVE = "TensorTEE, abstract: tensor-granularity MAC management with predictive execution"


def _npu(draft: Draft) -> None:
    draft.defence("settle-first", "a tensor that awaits its MAC is neither read again nor written")
    draft.defence("one-fetch", "the line that is computed with is the line that is added to the MAC")
    draft.defence("every-line", "a MAC is compared when every line has arrived")
    draft.defence("mac-compared", "a tensor is verified only if its MAC is the same")
    draft.defence("taint-passed-on", "a result awaits whatever it was computed from")
    draft.defence("taint-kept", "a result that was in memory awaits what it awaited before")

    by_npu = partial(draft.action, NPU)

    @by_npu(_DIRECT, "REQ-HAND-03", "REQ-LOAD-01")
    def load_handed(step: Step, a: Agent, k: Key, t: Tensor, v: Version) -> None:
        """The version comes from the descriptor, and from nothing that memory says."""
        step.says("The NPU begins to read {t} under {k}, which was handed over in version {v}.")
        step.message("cpu -> npu: descriptor of {t} under {k}")
        step.require("own session", session(a, k))
        _ON_NPU.take(step, k, t, v)
        _begin_load(step, k, t)

    @by_npu(_PREDICTIVE, "REQ-LOAD-01")
    def load_again(step: Step, k: Key, t: Tensor) -> None:
        """A result that it wrote, or a tensor that it read before: both were in memory meanwhile."""
        step.says("The NPU begins to read {t} under {k} again, in the version that it has.")
        step.require("a version", npu_version(k, t) != zero)
        _begin_load(step, k, t)

    def begin(step: Step, key: Key, tensor: Tensor, line: CacheLine, block: Block) -> Formula:
        step.require("being read", awaits(key, tensor, tensor))
        step.require("not fetched yet", ~arrived(key, tensor, line), defence="one-fetch")
        step.remove(fetched(key, tensor, line, step.each(Block)), unless="one-fetch", name="overwrite")
        step.insert(arrived(key, tensor, line), fetched(key, tensor, line, block))
        return wrote(key, tensor, line, npu_version(key, tensor), block)

    @by_npu(_PREDICTIVE, "REQ-LOAD-02", "REQ-MAC-01")
    def fetch(
        step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, s: Tensor, j: CacheLine, w: Version, b: Block
    ) -> None:
        """Only the whole MAC is compared, and later: nobody knows yet that this line is right."""
        step.says("The NPU fetches {i} of {t} under {k}, decrypts it to {b}, and adds it to the MAC.")
        step.message("memory -> npu: {i} of {t}")
        step.require("own session", session(a, k))
        step.given("a line that memory had", stored(k, s, j, w, b))
        _binds(step, (s, j, w), (t, i, npu_version(k, t)))
        right = begin(step, k, t, i, b)
        step.insert(matched(k, t, i))
        step.insert(spoilt(k, t, t, i), when=~right)
        step.remove(spoilt(k, t, t, i), when=right, unless="one-fetch", name="what was wrong is gone")

    @by_npu("Carnet (memory that an adversary owns)", "REQ-LOAD-02")
    def fetch_other(step: Step, k: Key, t: Tensor, i: CacheLine, b: Block) -> None:
        """The NPU cannot tell, and computes with it; the MAC of the tensor will not verify."""
        step.says("Memory gives something else as {i} of {t} under {k}, and the NPU decrypts it to {b}.")
        step.message("memory -> npu: other bytes for {i} of {t}")
        step.given("bytes that memory makes", changed(k, b))
        begin(step, k, t, i, b)
        step.insert(spoilt(k, t, t, i))

    @draft.action(ADVERSARY, "SP 800-38D section 6.4 (GHASH is linear)", cost=1, shortcut_of="mac-nonlinear")
    def cancel(step: Step, k: Key, t: Tensor, i: CacheLine, j: CacheLine, b: Block, c: Block) -> None:
        """The XOR of tags that are linear in the ciphertext is linear, too."""
        step.says("The same change in {i} and {j} of {t} under {k} cancels out in the MAC.")
        step.given("two lines", arrived(k, t, i) & arrived(k, t, j) & (i != j))
        step.given("were there", stored(k, t, i, npu_version(k, t), b) & stored(k, t, j, npu_version(k, t), c))
        step.given("both changed", ~matched(k, t, i) & ~matched(k, t, j))
        step.insert(matched(k, t, i), name="one line")
        step.insert(matched(k, t, j), name="and the other")

    @by_npu(_PREDICTIVE, "REQ-VERIFY-01", "REQ-VERIFY-02")
    def verify(step: Step, k: Key, t: Tensor) -> None:
        """What awaited this tensor awaits it no more; what it awaited itself, it awaits still."""
        step.says("The NPU compares the MAC of {t} under {k}, and it verifies.")
        step.require("being read", awaits(k, t, t))
        step.require("every line", forall(lambda i: arrived(k, t, i), CacheLine), defence="every-line")
        right = forall(lambda i: implies(arrived(k, t, i), matched(k, t, i)), CacheLine)
        step.require("the MAC is the same", right, defence="mac-compared")
        step.remove(awaits(k, step.each(Tensor), t))
        step.remove(awaits(k, t, step.each(Tensor)), unless="taint-kept", name="its MAC clears it")

    @by_npu("SP 800-38D section 7.2", "REQ-VERIFY-03")
    def halt(step: Step, k: Key, t: Tensor) -> None:
        """So it does when a line does not come."""
        step.says("The MAC of {t} under {k} does not verify, and the NPU halts.")
        step.require("being read", awaits(k, t, t))
        step.insert(halted(k))

    @by_npu(_PREDICTIVE, "REQ-TAINT-01")
    def compute(step: Step, a: Agent, k: Key, r: Tensor, t: Tensor) -> None:
        """Computation goes on with lines that are not verified; what comes of them awaits what they await."""
        step.says("The NPU computes {r} from what it has of {t} under {k}.")
        step.require("own session", session(a, k))
        step.require("its tensor", writer(r) == Side.NPU)
        origin, place = step.each(Tensor), step.each(CacheLine)
        step.insert(awaits(k, r, origin), when=awaits(k, t, origin), defence="taint-passed-on")
        step.insert(spoilt(k, r, origin, place), when=spoilt(k, t, origin, place))

    @by_npu(_PREDICTIVE, "REQ-WRITE-01", "REQ-WRITE-02")
    def npu_begin(step: Step, a: Agent, k: Key, t: Tensor, w: Version) -> None:
        """What was read of the version before is of no use any more."""
        step.says("The NPU begins to write version {w} of {t} under {k}.")
        step.require("own session", session(a, k))
        _ON_NPU.next_version(step, k, t, w)
        step.require("not being read", ~awaits(k, t, t), defence="settle-first")
        step.insert(rolled(k, t), when=before(w, npu_version(k, t)))
        step.remove(npu_wrote(k, t, step.each(CacheLine)), loaded(k, t))
        step.remove(fetched(k, t, step.each(CacheLine), step.each(Block)), arrived(k, t, step.each(CacheLine)))
        step.remove(matched(k, t, step.each(CacheLine)))
        step.set(npu_version(k, t), w)

    @by_npu(_PREDICTIVE, "REQ-WRITE-01", "REQ-WRITE-03", "REQ-MAC-01")
    def npu_write(step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block) -> None:
        """A result may go to memory before what it was computed from is verified: it is encrypted there."""
        step.says("The NPU writes {b} to {i} of {t} under {k}.")
        step.message("npu -> memory: {i} of {t} under {k}")
        step.require("own session", session(a, k))
        _ON_NPU.write(step, a, k, t, i, b)
        origin, place = step.each(Tensor), step.each(CacheLine)
        step.insert(foul(k, t, i, npu_version(k, t), origin, place), when=spoilt(k, t, origin, place))


def _begin_load(step: Step, key: Key, tensor: Tensor) -> None:
    """Begin with nothing fetched, and with everything to verify."""
    step.require("the last load is settled", ~awaits(key, tensor, tensor), defence="settle-first")
    step.remove(fetched(key, tensor, step.each(CacheLine), step.each(Block)))
    step.remove(arrived(key, tensor, step.each(CacheLine)), matched(key, tensor, step.each(CacheLine)))
    step.remove(spoilt(key, tensor, tensor, step.each(CacheLine)), unless="settle-first", name="what was read is gone")
    step.insert(loaded(key, tensor), awaits(key, tensor, tensor))


# -- exporting ---------------------------------------------------------------------------------------------------------
# Results that the NPU hands over to the CPU, or gives out of the enclaves.

_EXPORT = "Carnet, after TensorTEE, abstract: predictive execution"


def _exporting(draft: Draft) -> None:
    draft.defence("verified-hand-over", "a result is handed over when it awaits nothing")
    draft.defence("verified-release", "a result is given out when it awaits nothing")
    draft.defence("fail-stop", "after a MAC that failed, nothing is handed over or given out")

    by_npu = partial(draft.action, NPU)

    @by_npu(_DIRECT, "REQ-HAND-01", "REQ-HAND-02", "REQ-EXPORT-01", "REQ-VERIFY-03")
    def npu_hand_over(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """For the CPU a descriptor means that everything in the tensor is verified."""
        step.says("The NPU hands {t} over under {k}, as it lies in memory.")
        step.message("npu -> cpu: descriptor of {t} under {k}")
        step.require("own session", session(a, k))
        _ON_NPU.hand_over(step, k, t)
        step.require("awaits nothing", _settled(k, t), defence="verified-hand-over")
        step.require("no MAC failed", ~halted(k), defence="fail-stop")
        step.insert(late(k), when=halted(k))

    @by_npu(_EXPORT, "REQ-EXPORT-01", "REQ-VERIFY-03")
    def release(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """Whatever can be seen outside is a release: a result, an answer, a choice that shows. Which, the job says."""
        step.says("The NPU gives {t} of {a} out of the enclaves.")
        step.message("npu -> memory: {t}, as plaintext")
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


# -- adversary ---------------------------------------------------------------------------------------------------------
# Memory, link and host software, and other jobs on the same machine.


def _adversary(draft: Draft) -> None:
    by_adversary = partial(draft.action, ADVERSARY)
    rule = partial(draft.rule, ADVERSARY)

    @by_adversary("Carnet (other jobs)", cost=1)
    def open_own(step: Step, p: Agent, k: Key) -> None:
        """Whatever the NPU does under this key, whoever has the key can do as well."""
        step.says("{p} opens a session of its own, {k}.")
        step.message("{p} -> npu: session with key {k}")
        step.given("corrupt", corrupt(p))
        step.fresh(k)
        step.insert(knows(p, k))

    @by_adversary("Carnet (a descriptor in plain memory)", cost=1, shortcut_of="descriptor-sealed")
    def make_up(step: Step, p: Agent, a: Agent, k: Key, t: Tensor, v: Version) -> None:
        step.says("{p} makes up a descriptor of {t} in version {v} for the session {k}.")
        step.message("{p} -> cpu: descriptor of {t}")
        step.given("corrupt", corrupt(p))
        step.given("a session", session(a, k))
        step.insert(descriptor(k, t, v))

    @rule("Carnet (who has the key encrypts)")
    def forge(step: Step, p: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> None:
        step.says("{p} makes a line of {b} under {k} as it likes: {i} of {t}, version {v}.")
        step.given("has the key", corrupt(p) & knows(p, k))
        step.given("has the data", corrupt(owner(b)) | learnt(p, b))
        step.insert(stored(k, t, i, v, b))

    @rule("Carnet (who has the key hands over)")
    def forge_descriptor(step: Step, p: Agent, k: Key, t: Tensor, v: Version) -> None:
        step.says("{p} makes a descriptor of {t} in version {v} under {k}.")
        step.given("has the key", corrupt(p) & knows(p, k))
        step.insert(descriptor(k, t, v))

    @rule("SP 800-38D section 7.1 (counter mode)")
    def change(step: Step, a: Agent, k: Key, b: Block) -> None:
        """Replayed and spliced lines decrypt to something else, too; what they decrypt to is of the same use."""
        step.says("Memory has changed bytes under {k}, and they decrypt to {b}.")
        step.given("a session", session(a, k))
        step.given("what the adversary wants", corrupt(owner(b)))
        step.insert(changed(k, b))

    colluders = DolevYao(draft, ADVERSARY, Agent, corrupt, "Carnet (colluders pool what they know)")
    colluders.pool(knows, "pqk", "the key {k}", name="pool")

    @rule("TensorTEE, abstract: data confidentiality")
    def read(step: Step, p: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> None:
        """Whoever has the key, corrupt or not, the owner included."""
        step.says("{p} decrypts a line under {k} and reads {b}.")
        step.given("has the key", knows(p, k))
        step.given("a ciphertext", stored(k, t, i, v, b))
        step.insert(learnt(p, b))

    @rule("SP 800-38D appendix A")
    def read_two(step: Step, p: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block, c: Block) -> None:
        """The sum of two ciphertexts under one key stream is the sum of the plaintexts."""
        step.says("{p} sees two ciphertexts under one address and version, of {b} and of {c}, and reads both.")
        step.given("corrupt", corrupt(p))
        step.given("one IV", stored(k, t, i, v, b) & stored(k, t, i, v, c) & (b != c))
        step.insert(learnt(p, b))
