"""The steps of PipeLLM: requests, speculative encryption, decryption by the GPU, and the adversary's moves."""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.pipellm.vocabulary import *
from carnet_spec.theories.dolev_yao import DolevYao


def specify(draft: Draft) -> None:
    """Add the initial state and all steps to ``draft``."""
    draft.initially(due, lambda k: start)
    draft.initially(counter, lambda k: start)
    draft.initially(latest, lambda k: none)
    draft.initially(content, lambda p: zeros)

    _application(draft)
    _runtime(draft)
    _gpu(draft)
    _adversary(draft)


# -- application -------------------------------------------------------------------------------------------------------
# It opens a channel, writes its pages, and asks for copies to the GPU.


def _application(draft: Draft) -> None:
    draft.defence("own-key", "each channel has a key of its own, of one tenant and the GPU")
    draft.defence("new-key", "a channel that begins again has a new key")
    draft.defence("write-waits", "a page is not written while a copy of it is pending")
    draft.defence("write-invalidates", "a write drops what was staged of the page")

    by_tenant = partial(draft.action, TENANT, actor=honest)

    @by_tenant("NVIDIA H100, confidential mode", "REQ-KEY-01", "REQ-KEY-02")
    def open_channel(step: Step, a: Agent, k: Key) -> None:
        """Both counters begin at the start, and the key is as new as they are."""
        step.says("{a} opens the channel {k} to the GPU.")
        step.message("{a} -> host: session with the GPU, key {k}")
        step.fresh(k)
        step.insert(opened(a, k), knows(a, k), session(k))

    @draft.action(GPU, "Carnet (one key for two tenants)", shortcut_of="own-key")
    def share_key(step: Step, a: Agent, q: Agent, k: Key) -> None:
        step.says("{q} is given a channel under {k}, the key that {a} has.")
        step.message("gpu -> {q}: session with key {k}")
        step.given("of another", opened(a, k) & (a != q))
        step.insert(knows(q, k))

    @by_tenant("Carnet (a counter that begins again)", shortcut_of="new-key")
    def restart(step: Step, a: Agent, k: Key) -> None:
        step.says("{a} begins the channel {k} again, with its old key.")
        step.require("own channel", opened(a, k))
        step.require("used before", due(k) != start)
        step.set(due(k), start)

    @by_tenant("PipeLLM, review: validation", "REQ-WRITE-01", "REQ-WRITE-02")
    def write(step: Step, a: Agent, p: Page, b: Block) -> None:
        """The page is write-protected while a ciphertext of it is staged, so the runtime sees the write first."""
        step.says("The application of {a} writes {b} to {p}.")
        step.require("own page", home(p) == a)
        step.require("own data", owner(b) == a)
        idle = forall(lambda k, r: implies(pending(k, r), source(k, r) != p), Key, Copy)
        step.require("no copy of it is pending", idle, defence="write-waits")
        step.set(content(p), b)
        stale = staged(step.each(Key), step.each(Iv), p, step.each(Block))
        step.remove(stale, defence="write-invalidates", name="drop what was staged of it")

    @by_tenant("PipeLLM, abstract", "REQ-ORDER-01")
    def ask(step: Step, a: Agent, k: Key, r: Copy, p: Page) -> None:
        """Copies are numbered in the order in which they are asked for."""
        step.says("The application of {a} asks for {r}, of {p}, on {k}.")
        step.require("own channel", opened(a, k))
        step.require("own page", home(p) == a)
        step.require("the next number", earlier(latest(k), r))
        step.set(latest(k), r)
        step.set(source(k, r), p)
        step.insert(pending(k, r), asked(k, r, content(p)))


# -- runtime -----------------------------------------------------------------------------------------------------------
# It encrypts ahead what it guesses, and sends hits, misses and NOPs, each under the IV that is due.

_SPECULATION = "PipeLLM, abstract: speculative pipelined encryption"
_RELINQUISHING = "PipeLLM, abstract: pipeline relinquishing"


def _runtime(draft: Draft) -> None:
    """Add speculation and what is sent to ``draft``.

    Where guesses are flushed, an IV under which something was encrypted ahead encrypts nothing else.
    """
    draft.defence("private-staging", "what is encrypted ahead stays in private memory until it is sent")
    draft.defence("in-order", "copies are sent in the order in which they are asked for")
    draft.defence("page-checked", "what was staged is sent only if its page is asked for")
    draft.defence("behind-anew", "what was staged under an IV that has passed is not sent")
    draft.defence("pad-first", "what was staged under an IV to come is not sent before the counter is there")
    draft.defence("miss-advances", "what is encrypted anew takes an IV")
    draft.defence("pad-advances", "a NOP takes an IV")
    draft.defence("pad-discarded", "a NOP goes to scratch memory")

    by_tenant = partial(draft.action, TENANT, actor=honest)
    once = draft.variant == FLUSHED

    @by_tenant(_SPECULATION, "REQ-STAGE-01")
    def speculate(step: Step, a: Agent, k: Key, i: Iv, p: Page) -> None:
        """Any predictor may guess any page for any IV to come, and several pages for one."""
        step.says("The runtime of {a} guesses {p} for {i}, and encrypts it ahead under {k}.")
        step.message("{a} -> {a}: ciphertext under {k}, for later")
        step.require("own channel", opened(a, k))
        step.require("own page", home(p) == a)
        step.require("not passed", ~before(i, due(k)))
        if once:
            step.require("encrypts nothing yet", ~spent(k, i), defence="encrypt-once")
            step.insert(spent(k, i))
        step.insert(staged(k, i, p, content(p)))
        step.insert(exposed(k, i, content(p)), unless="private-staging", name="stage in shared memory")

    @by_tenant(_SPECULATION, "REQ-SEND-01", "REQ-SEND-02", "REQ-SEND-03", "REQ-ORDER-01")
    def hit(step: Step, a: Agent, k: Key, r: Copy, q: Page, i: Iv, b: Block, j: Iv) -> None:
        """The ciphertext goes to shared memory only now, when its page is asked for and its IV is due."""
        step.says("The runtime of {a} sends what it staged of {q} under {i} as {r} on {k}.")
        step.message("{a} -> host: ciphertext under {k}, for {r}")
        step.require("own channel", opened(a, k))
        step.require("asked for", pending(k, r))
        step.require("the first that is pending", _first(k, r), defence="in-order")
        step.require("staged", staged(k, i, q, b))
        step.require("the page that is asked for", q == source(k, r), defence="page-checked")
        step.require("not behind", ~before(i, due(k)), defence="behind-anew")
        step.require("not ahead", ~before(due(k), i), defence="pad-first")
        step.require("the counter goes on", follows(due(k), j))
        step.insert(exposed(k, i, b), guessed(k, r), command(k, due(k), r))
        _take(step, k, i)
        step.insert(served(k, r))
        step.set(place(k, r), due(k))
        step.remove(pending(k, r))
        step.set(due(k), j)

    @by_tenant(_RELINQUISHING, "REQ-SEND-02", "REQ-SEND-04", "REQ-ORDER-01")
    def miss(step: Step, a: Agent, k: Key, r: Copy, j: Iv) -> None:
        """Whatever was staged under this IV is sent no more: nobody ever sees it."""
        step.says("The runtime of {a} encrypts {r} anew, and sends it on {k}.")
        step.message("{a} -> host: ciphertext under {k}, for {r}")
        step.require("own channel", opened(a, k))
        step.require("asked for", pending(k, r))
        step.require("the first that is pending", _first(k, r), defence="in-order")
        step.require("the counter goes on", follows(due(k), j))
        if once:
            step.require("encrypts nothing yet", ~spent(k, due(k)), defence="encrypt-once")
        step.insert(exposed(k, due(k), content(source(k, r))), command(k, due(k), r))
        _take(step, k, due(k))
        step.insert(served(k, r))
        step.set(place(k, r), due(k))
        step.remove(pending(k, r))
        step.set(due(k), j, defence="miss-advances")

    if draft.variant == AHEAD:
        _pad_ahead(draft)
    else:
        _pad(draft, once=once)
    if once:
        _flush(draft)


def _pad(draft: Draft, *, once: bool) -> None:
    @draft.action(TENANT, _RELINQUISHING, "REQ-SEND-04", "REQ-PAD-01", actor=honest)
    def pad(step: Step, a: Agent, k: Key, j: Iv) -> None:
        """A copy of a byte to scratch memory: it costs an IV, and does nothing else."""
        step.says("The runtime of {a} sends a NOP on {k}.")
        step.message("{a} -> host: NOP under {k}")
        step.require("own channel", opened(a, k))
        step.require("the counter goes on", follows(due(k), j))
        if once:
            step.require("encrypts nothing yet", ~spent(k, due(k)), defence="encrypt-once")
        step.insert(exposed(k, due(k), zeros))
        step.insert(scratch(k, due(k)), defence="pad-discarded")
        over = command(k, due(k), latest(k))
        step.insert(over, when=latest(k) != none, unless="pad-discarded", name="copy over the last copy")
        _take(step, k, due(k))
        step.set(due(k), j, defence="pad-advances")


def _pad_ahead(draft: Draft) -> None:
    @draft.action(TENANT, "PipeLLM, pipellm.cpp", "REQ-SEND-04", "REQ-PAD-02", actor=honest)
    def pad(step: Step, a: Agent, k: Key, r: Copy, j: Iv) -> None:
        """A copy of a byte to where the next copy goes: it costs an IV, and that copy will overwrite it."""
        step.says("The runtime of {a} sends a NOP on {k}, to where {r} goes.")
        step.message("{a} -> host: NOP under {k}, ahead of {r}")
        step.require("own channel", opened(a, k))
        step.require("asked for", pending(k, r))
        step.require("the first that is pending", _first(k, r), defence="in-order")
        step.require("the counter goes on", follows(due(k), j))
        step.insert(exposed(k, due(k), zeros), scratch(k, due(k)), ahead(k, due(k), r))
        _take(step, k, due(k))
        step.set(due(k), j, defence="pad-advances")


def _first(key: Key, copy: Copy) -> Formula:
    """Whether no pending copy was asked for before this one."""
    return forall(lambda r: implies(pending(key, r), ~earlier(r, copy)), Copy)


def _take(step: Step, key: Key, iv: Iv) -> None:
    """Note that the message of this number was encrypted under the IV."""
    step.insert(placed(key, due(key), iv))
    step.insert(late(key, iv), when=gone(key, iv))
    step.insert(gone(key, due(key)))


def _flush(draft: Draft) -> None:
    @draft.action(TENANT, "Carnet (a guess that is flushed)", "REQ-FLUSH-01", "REQ-SEND-04", actor=honest)
    def flush(step: Step, a: Agent, k: Key, b: Block, j: Iv) -> None:
        """A whole block travels for nothing, and no IV is used twice."""
        step.says("The runtime of {a} sends the guess that is due on {k}, {b}, to scratch memory.")
        step.message("{a} -> host: a wrong guess under {k}, as a NOP")
        step.require("own channel", opened(a, k))
        step.require("encrypted ahead", exposed(k, due(k), b))
        step.require("the counter goes on", follows(due(k), j))
        step.insert(scratch(k, due(k)))
        _take(step, k, due(k))
        step.set(due(k), j)


# -- gpu ---------------------------------------------------------------------------------------------------------------
# It decrypts under its own counter, where the command of the same number says.

_COUNTER = "PipeLLM, abstract: speculative pipelined encryption"


def _gpu(draft: Draft) -> None:
    draft.defence("implicit-counter", "the GPU decrypts under its own counter, whatever the host says")
    draft.defence("tag-checked", "the GPU verifies the tag")
    draft.defence("command-counted", "the GPU takes the command of the same number")
    draft.defence("fail-closed", "a message that does not verify ends the channel")
    if draft.variant == AHEAD:
        _read_ahead(draft)

    by_gpu = partial(draft.action, GPU)

    @by_gpu(_COUNTER, "REQ-RECEIVE-01", "REQ-RECEIVE-02", "REQ-RECEIVE-03", "REQ-RECEIVE-04")
    def decrypt(step: Step, k: Key, i: Iv, b: Block, m: Iv, r: Copy, j: Iv) -> None:
        """The host chooses the bytes; which IV they have to be under, it cannot choose."""
        step.says("The GPU decrypts {b} on {k}, from bytes under {i}, to where {r} goes.")
        step.message("host -> gpu: ciphertext under {k}")
        step.given("bytes in shared memory", exposed(k, i, b) | changed(k, b))
        step.require("a command", command(k, m, r))
        step.require("not ended", ~dead(k), defence="fail-closed")
        step.require("under the own counter", i == counter(k), defence="implicit-counter")
        step.require("the tag verifies", exposed(k, i, b), defence="tag-checked")
        step.require("the command of this number", m == counter(k), defence="command-counted")
        step.require("the counter goes on", follows(counter(k), j))
        step.insert(landed(k, counter(k), r, b), filled(k, r))
        step.set(counter(k), j)

    @by_gpu("PipeLLM, abstract: pipeline relinquishing", "REQ-RECEIVE-01")
    def discard(step: Step, k: Key, b: Block, j: Iv) -> None:
        """Only the counter remembers it."""
        step.says("The GPU decrypts a NOP on {k}, and discards it.")
        step.message("host -> gpu: NOP under {k}")
        step.require("the tag verifies", exposed(k, counter(k), b))
        step.require("a NOP", scratch(k, counter(k)))
        step.require("not ended", ~dead(k), defence="fail-closed")
        step.require("the counter goes on", follows(counter(k), j))
        step.set(counter(k), j)

    @by_gpu("SP 800-38D section 7.2", "REQ-RECEIVE-04")
    def refuse(step: Step, k: Key, j: Iv) -> None:
        """The host can send such bytes at any time. The worst is that the counter goes on with them."""
        step.says("Bytes on {k} do not verify under the counter of the GPU, which ends the channel.")
        step.message("host -> gpu: other bytes under {k}")
        step.require("a channel", session(k))
        step.require("not ended", ~dead(k), defence="fail-closed")
        step.require("the counter goes on", follows(counter(k), j))
        step.insert(dead(k))
        step.set(counter(k), j)


def _read_ahead(draft: Draft) -> None:
    draft.defence("stream-order", "a kernel that reads where a copy goes comes after the copy, on its stream")

    @draft.action(GPU, "Carnet (a NOP that is read)", "REQ-PAD-02", shortcut_of="stream-order")
    def read_nop(step: Step, k: Key, b: Block, r: Copy, j: Iv) -> None:
        """A kernel on another stream does not wait for the copy."""
        step.says("The GPU decrypts a NOP on {k} to where {r} goes, and a kernel on another stream reads {b} there.")
        step.message("host -> gpu: NOP under {k}, ahead of {r}")
        step.require("the tag verifies", exposed(k, counter(k), b))
        step.require("a NOP ahead of it", ahead(k, counter(k), r))
        step.require("not ended", ~dead(k), defence="fail-closed")
        step.require("the counter goes on", follows(counter(k), j))
        step.insert(landed(k, counter(k), r, b))
        step.set(counter(k), j)


# -- adversary ---------------------------------------------------------------------------------------------------------
# The host, which sees and changes shared memory, and tenants that collude with it.


def _adversary(draft: Draft) -> None:
    rule = partial(draft.rule, ADVERSARY)

    @draft.action(ADVERSARY, "Carnet (other tenants)", cost=1)
    def open_own(step: Step, p: Agent, k: Key) -> None:
        step.says("{p} opens a channel of its own, {k}.")
        step.message("{p} -> gpu: session with key {k}")
        step.given("corrupt", corrupt(p))
        step.fresh(k)
        step.insert(opened(p, k), knows(p, k), session(k))

    @rule("Carnet (who has the key encrypts)")
    def forge(step: Step, p: Agent, k: Key, i: Iv, b: Block) -> None:
        step.says("{p} encrypts {b} under {k} and {i}.")
        step.given("has the key", corrupt(p) & knows(p, k))
        step.given("has the data", corrupt(owner(b)) | learnt(p, b))
        step.insert(exposed(k, i, b))

    @rule("Carnet (who has the key commands)")
    def forge_command(step: Step, p: Agent, k: Key, i: Iv, r: Copy) -> None:
        step.says("{p} commands on {k} what message {i} is: {r}, or a NOP.")
        step.given("has the key", corrupt(p) & knows(p, k))
        step.insert(command(k, i, r), scratch(k, i))
        if draft.variant == AHEAD:
            step.insert(ahead(k, i, r))

    @rule("SP 800-38D section 7.1 (counter mode)")
    def change(step: Step, p: Agent, k: Key, i: Iv, c: Block, b: Block) -> None:
        """A bit that is changed in the ciphertext is changed in the plaintext; the tag does not come with it."""
        step.says("{p} changes bytes under {k}, and they decrypt to {b}.")
        step.given("a ciphertext", corrupt(p) & exposed(k, i, c))
        step.given("what the adversary wants", corrupt(owner(b)))
        step.insert(changed(k, b))

    colluders = DolevYao(draft, ADVERSARY, Agent, corrupt, "Carnet (colluders pool what they know)")
    colluders.pool(knows, "pqk", "the key {k}", name="pool")

    @rule("PipeLLM, abstract")
    def read(step: Step, p: Agent, k: Key, i: Iv, b: Block) -> None:
        """Whoever has the key, corrupt or not, the tenant included."""
        step.says("{p} decrypts {b}, which is in shared memory under {k}.")
        step.given("has the key", knows(p, k))
        step.given("a ciphertext", exposed(k, i, b))
        step.insert(learnt(p, b))

    @rule("SP 800-38D appendix A")
    def read_two(step: Step, p: Agent, k: Key, i: Iv, b: Block, c: Block) -> None:
        """The sum of two ciphertexts under one key stream is the sum of the plaintexts."""
        step.says("{p} sees two ciphertexts under one IV, of {b} and of {c}, and reads both.")
        step.given("corrupt", corrupt(p))
        step.given("one IV", exposed(k, i, b) & exposed(k, i, c) & (b != c))
        step.insert(learnt(p, b))
