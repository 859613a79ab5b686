"""The steps of Fastrack: key exchange, sealing, verification and release of chunks, and the adversary's moves."""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.fastrack.vocabulary import *
from carnet_spec.theories.dolev_yao import DolevYao


def specify(draft: Draft) -> None:
    """Add the initial state and all steps to ``draft``."""
    draft.initially(confidential, lambda g: closed(g))
    draft.initially(extent, lambda k, x: first)
    draft.initially(expected, lambda g, k, x: first)

    _setup(draft)
    _sending(draft)
    _receiving(draft)
    _adversary(draft)


# -- setup -------------------------------------------------------------------------------------------------------------
# A user and a GPU agree on a key, which the CPU TEE between them does not learn, and on code.

_DIRECT = "Fastrack, abstract: direct GPU TEE communication"


def _setup(draft: Draft) -> None:
    draft.defence("direct-key", "the key is the user's and the GPU's; the CPU TEE is no end of it")
    draft.defence("report-bound", "the user takes a report for its own key exchange only")
    draft.defence("gpu-certificate", "the user checks the certificate chain of the report's signer")
    draft.defence("mode-check", "the user takes a report only of confidential mode")
    draft.defence("kernel-named", "only code that the user named runs on the user's data")

    by_user = partial(draft.action, USER, actor=honest)
    by_gpu = partial(draft.action, GPU, actor=genuine)

    @by_user(_DIRECT, "REQ-SETUP-01")
    def open_exchange(step: Step, a: Agent, k: Key) -> None:
        """The CPU TEE forwards the exchange as it forwards everything: it is part of the network."""
        step.says("{a} opens the key exchange {k}.")
        step.message("{a} -> cpu: key exchange {k}, for a GPU")
        step.fresh(k)
        step.insert(opened(a, k), knows(a, k), asked(k))

    @by_gpu("DSP0274, MEASUREMENTS", "REQ-SETUP-02")
    def answer_exchange(step: Step, g: Gpu, k: Key) -> None:
        """A genuine GPU answers everybody, and says in which mode it is."""
        step.says("{g} answers the key exchange {k}, with a report of its mode.")
        step.message("{g} -> cpu: report that names {k}")
        step.require("asked", asked(k))
        step.given("first answer", ~answered(k))
        step.insert(answered(k), holds(g, k))
        step.insert(report(g, k, Mode.CONFIDENTIAL), when=confidential(g), name="report confidential mode")
        step.insert(report(g, k, Mode.OPEN), when=~confidential(g), name="report open mode")

    @by_user(_DIRECT, "REQ-SETUP-01", "REQ-SETUP-03", "REQ-SETUP-04", "REQ-SETUP-05")
    def take_report(step: Step, a: Agent, k: Key, g: Gpu, j: Key, m: Mode, c: Code) -> None:
        """Send nothing under a key before it is known where it ends."""
        step.says("{a} takes the report of {g} for {k}, and names {c} as the code to run.")
        step.message("{a} -> {g}: under {k}, code {c}")
        step.require("own exchange", opened(a, k))
        step.require("answered", answered(k))
        step.require("a report", report(g, j, m))
        step.require("names this exchange", j == k, defence="report-bound")
        step.require("certificate", certified(g), defence="gpu-certificate")
        step.require("confidential mode", m == Mode.CONFIDENTIAL, defence="mode-check")
        step.require("reviewed code", vetted(c))
        step.insert(attested(a, k, g), named(k, c))
        step.insert(knows(cpu, k), unless="direct-key", name="the CPU TEE is an end of the key")

    @by_gpu("Carnet (the CPU TEE launches a kernel)", "REQ-KERNEL-01")
    def launch(step: Step, g: Gpu, k: Key, c: Code) -> None:
        """Whoever submits work decides nothing: the CPU TEE is no longer trusted with the data."""
        step.says("{g} runs {c}, which somebody submitted, on the data under {k}.")
        step.message("cpu -> {g}: launch {c} on the data under {k}")
        step.require("own key", holds(g, k))
        step.require("named by the user", named(k, c), defence="kernel-named")
        step.insert(runs(g, k, c))


# -- sending -----------------------------------------------------------------------------------------------------------
# A user cuts a transfer into chunks, which any number of workers seal in any order.

_PARALLEL = "Fastrack, abstract: parallelized authentication"


def _sending(draft: Draft) -> None:
    draft.defence("transfer-fresh", "the user uses the number of a transfer once under a key")
    draft.defence("chunk-once", "one worker seals a chunk for each place")

    by_user = partial(draft.action, USER, actor=honest)

    @by_user("RFC 5116 section 3.1", "REQ-SEND-01")
    def begin(step: Step, a: Agent, k: Key, g: Gpu, x: Transfer, n: Position) -> None:
        """The IV is made of the transfer and the place, so a number that comes back brings its IVs back."""
        step.says("{a} begins transfer {x} under {k}, up to place {n}.")
        step.require("attested", attested(a, k, g))
        step.require("number not used", ~begun(a, k, x), defence="transfer-fresh")
        step.remove(spent(a, k, x, step.each(Position)), unless="transfer-fresh", name="begin anew")
        step.insert(begun(a, k, x))
        step.set(extent(k, x), n)

    @by_user(_PARALLEL, "REQ-SEND-02", "REQ-SEND-03")
    def seal(step: Step, a: Agent, k: Key, x: Transfer, i: Position, b: Block) -> None:
        """The tag says where the chunk belongs, so that the CPU TEE may forward chunks in any order."""
        step.says("A worker of {a} seals {b} for place {i} of transfer {x} under {k}.")
        step.message("{a} -> cpu: chunk {i} of transfer {x} under {k}")
        step.require("begun", begun(a, k, x))
        step.require("a place of it", within(i, extent(k, x)))
        step.require("own data", owner(b) == a)
        step.require("place not sealed", ~spent(a, k, x, i), defence="chunk-once")
        step.insert(spent(a, k, x, i), ciphertext(k, b), masked(k, x, i, b))
        step.insert(tag(k, x, i, extent(k, x), Mark.MORE, b), when=i != extent(k, x), name="tag one of more")
        step.insert(tag(k, x, i, extent(k, x), Mark.LAST, b), when=i == extent(k, x), name="tag the last")
        step.insert(sealed(a, k, x, i, b), sent(a, k, b))
        step.insert(reused(k, x, i), when=ivs(k, x, i))
        step.insert(ivs(k, x, i))

    @by_user("Carnet (answers exchanged)", "REQ-ANSWER-01")
    def take_answer(step: Step, a: Agent, k: Key, x: Transfer, y: Transfer) -> None:
        """Who gets an answer knows that the whole transfer arrived."""
        step.says("{a} takes the answer to {y} under {k} as the one to {x}.")
        step.require("begun", begun(a, k, x))
        step.require("an answer", answer(k, y))
        step.require("about this transfer", y == x, defence="answer-bound")
        step.insert(took(a, k, x))


# -- receiving ---------------------------------------------------------------------------------------------------------
# The GPU decrypts chunks as they arrive, and no kernel reads them before all have been verified.

_OVERLAP = "Fastrack, abstract: overlapping decryption with PCI-e transmission"


def _receiving(draft: Draft) -> None:
    draft.defence("tag-transfer", "the tag binds the transfer")
    draft.defence("tag-place", "the tag binds the place of the chunk")
    draft.defence("tag-number", "the tag binds the number of chunks")
    draft.defence("tag-last", "the tag binds whether the chunk is the last")
    draft.defence("transfer-once", "the GPU begins a transfer once")
    draft.defence("one-fetch", "the GPU copies a chunk once, and verifies and decrypts that copy")
    draft.defence("private-staging", "the GPU decrypts into memory that no kernel reads")
    draft.defence("verify-first", "nothing is released before every tag has been verified")
    draft.defence("whole-transfer", "nothing is released before every chunk has arrived")
    draft.defence("answer-bound", "the user takes an answer for the transfer that it names only")

    by_gpu = partial(draft.action, GPU, actor=genuine)

    @by_gpu(_OVERLAP, "REQ-RECEIVE-01")
    def start(step: Step, g: Gpu, k: Key, x: Transfer, n: Position) -> None:
        """What the host says of the length is not authenticated: only tags tell."""
        step.says("{g} is told of transfer {x} under {k}, up to place {n}, and makes room for it.")
        step.message("cpu -> {g}: transfer {x} under {k}, up to place {n}")
        step.require("own key", holds(g, k))
        step.require("not begun before", ~started(g, k, x), defence="transfer-once")
        step.remove(done(g, k, x), unless="transfer-once", name="begin anew")
        step.insert(started(g, k, x))
        step.set(expected(g, k, x), n)

    @by_gpu(_OVERLAP, "REQ-RECEIVE-02", "REQ-RECEIVE-03")
    def decrypt(step: Step, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> None:
        """Decryption does not wait for the tag; what it gives is nothing yet, and the host chose the chunk."""
        step.says("A chunk arrives at place {i} of transfer {x} under {k}, and {g} decrypts it to {b}.")
        step.message("cpu -> {g}: a chunk for place {i} of transfer {x}")
        step.given("some bytes", ciphertext(k, b) | changed(k, b))
        step.require("begun", started(g, k, x))
        step.require("a place of it", within(i, expected(g, k, x)))
        step.require("under way", ~done(g, k, x) & ~failed(g, k, x))
        step.require("nothing there yet", ~arrived(g, k, x, i), defence="one-fetch")
        step.remove(staged(g, k, x, i, step.each(Block)), unless="one-fetch", name="overwrite")
        step.insert(arrived(g, k, x, i), staged(g, k, x, i, b))
        step.insert(released(g, k, x, i, b), unless="private-staging", name="decrypt in place")

    @by_gpu(_PARALLEL, "REQ-RECEIVE-04")
    def verify(
        step: Step, g: Gpu, k: Key, x: Transfer, i: Position, b: Block, y: Transfer, j: Position, n: Position, m: Mark
    ) -> None:
        """Each chunk is verified by itself, in any order, by any worker."""
        step.says("{g} verifies the tag of place {i} of transfer {x} under {k}.")
        step.require("staged", staged(g, k, x, i, b))
        step.require("under way", ~done(g, k, x) & ~failed(g, k, x))
        step.require("a tag", tag(k, y, j, n, m, b))
        step.require("binds the transfer", y == x, defence="tag-transfer")
        step.require("binds the place", j == i, defence="tag-place")
        step.require("binds the number", n == expected(g, k, x), defence="tag-number")
        step.require("binds the last", _marked(m, i, expected(g, k, x)), defence="tag-last")
        step.insert(verified(g, k, x, i))

    @by_gpu(_OVERLAP, "REQ-RECEIVE-05", "REQ-RECEIVE-06")
    def release(step: Step, g: Gpu, k: Key, x: Transfer) -> None:
        """All at once: a kernel that has begun cannot be told afterwards that a tag failed."""
        step.says("{g} lets kernels read transfer {x} under {k}.")
        step.require("begun", started(g, k, x))
        step.require("under way", ~done(g, k, x) & ~failed(g, k, x))
        whole = forall(lambda i: implies(within(i, expected(g, k, x)), arrived(g, k, x, i)), Position)
        step.require("all arrived", whole, defence="whole-transfer")
        tags = forall(lambda i: implies(arrived(g, k, x, i), verified(g, k, x, i)), Position)
        step.require("all verified", tags, defence="verify-first")
        place, block, gap = step.each(Position), step.each(Block), step.each(Position)
        step.insert(released(g, k, x, place, block), when=staged(g, k, x, place, block))
        step.insert(filled(g, k, x, gap), when=arrived(g, k, x, gap))
        step.insert(done(g, k, x))
        step.insert(again(k, x), when=handed(k, x))
        step.insert(handed(k, x))

    @by_gpu("SP 800-38D section 7.2", "REQ-RECEIVE-05")
    def give_up(step: Step, g: Gpu, k: Key, x: Transfer) -> None:
        """A tag that fails, or a chunk that does not come, ends the transfer: nothing of it is released."""
        step.says("{g} gives transfer {x} under {k} up, and clears what was staged.")
        step.require("begun", started(g, k, x))
        step.require("under way", ~done(g, k, x) & ~failed(g, k, x))
        step.remove(staged(g, k, x, step.each(Position), step.each(Block)), name="clear")
        step.insert(failed(g, k, x))

    @by_gpu("Carnet", "REQ-ANSWER-01")
    def send_answer(step: Step, g: Gpu, k: Key, x: Transfer) -> None:
        """Only what kernels were given as a whole is answered."""
        step.says("{g} answers transfer {x} under {k}.")
        step.message("{g} -> cpu: answer to transfer {x} under {k}")
        step.require("done", done(g, k, x))
        step.insert(answer(k, x))


def _marked(mark: Mark, place: Position, last: Position) -> Formula:
    return ((mark == Mark.LAST) & (place == last)) | ((mark == Mark.MORE) & (place != last))


# -- adversary ---------------------------------------------------------------------------------------------------------
# Host, network, other users, GPUs of its own, and the CPU TEE where that is corrupt.


def _adversary(draft: Draft) -> None:
    by_adversary = partial(draft.action, ADVERSARY)
    rule = partial(draft.rule, ADVERSARY)

    @by_adversary("Carnet (other users)", cost=1)
    def open_own(step: Step, p: Agent, k: Key) -> None:
        step.says("{p} opens a key exchange of its own, {k}.")
        step.message("{p} -> cpu: key exchange {k}, for a GPU")
        step.given("corrupt", corrupt(p))
        step.fresh(k)
        step.insert(opened(p, k), knows(p, k), asked(k))

    @by_adversary("nvtrust cc_admin.py (fake GPU)", cost=1)
    def answer_as_gpu(step: Step, p: Agent, g: Gpu, k: Key, m: Mode) -> None:
        """Who answers a key exchange has its key; it can sign only for GPUs that no vendor made."""
        step.says("{p} answers the key exchange {k} itself, with a report of {g} that it made.")
        step.message("{p} -> cpu: answer to {k}")
        step.given("corrupt", corrupt(p))
        step.given("a fake", ~genuine(g))
        step.given("asked", asked(k))
        step.given("first answer", ~answered(k))
        step.insert(answered(k), knows(p, k), exposed(k), report(g, k, m))

    @rule("Carnet (who has the key seals)")
    def forge(step: Step, p: Agent, k: Key, x: Transfer, i: Position, n: Position, m: Mark, b: Block) -> None:
        step.says("{p} seals {b} under {k} as it likes: transfer {x}, place {i} of {n}, {m}.")
        step.given("has the key", corrupt(p) & knows(p, k))
        step.given("has the data", corrupt(owner(b)) | learnt(p, b))
        step.insert(ciphertext(k, b), tag(k, x, i, n, m, b))

    @rule("SP 800-38D section 7.1 (counter mode)")
    def change(step: Step, p: Agent, k: Key, b: Block) -> None:
        """A bit that is changed in the ciphertext is changed in the plaintext; the tag does not come with it."""
        step.says("{p} changes bytes under {k}, and they decrypt to {b}.")
        step.given("corrupt", corrupt(p) & asked(k))
        step.given("what the adversary wants", corrupt(owner(b)))
        step.insert(changed(k, b))

    @rule("Carnet (who has the key names code)")
    def name_code(step: Step, p: Agent, k: Key, c: Code) -> None:
        step.says("{p} names {c} as code to run under {k}.")
        step.given("has the key", corrupt(p) & knows(p, k))
        step.insert(named(k, c))

    @rule("Carnet (who has the key answers)")
    def forge_answer(step: Step, p: Agent, k: Key, x: Transfer) -> None:
        step.says("{p} makes an answer to transfer {x} under {k}.")
        step.given("has the key", corrupt(p) & knows(p, k))
        step.insert(answer(k, x))

    @rule("nvtrust cc_admin.py (open mode)")
    def read_open_gpu(step: Step, p: Agent, g: Gpu, k: Key) -> None:
        step.says("{p} reads {k} in the memory of {g}, which is not in confidential mode.")
        step.given("corrupt", corrupt(p))
        step.given("open", holds(g, k) & ~confidential(g))
        step.insert(knows(p, k), exposed(k))

    colluders = DolevYao(draft, ADVERSARY, Agent, corrupt, "Carnet (colluders pool what they know)")
    colluders.pool(knows, "pqk", "the key {k}", name="pool")

    @rule("Fastrack, abstract: redundant CPU re-encryption")
    def open_chunk(step: Step, p: Agent, k: Key, b: Block) -> None:
        """Whoever has the key, corrupt or not: data that the CPU TEE decrypts is in the CPU TEE."""
        step.says("{p} opens a chunk under {k} and reads {b}.")
        step.given("has the key", knows(p, k))
        step.given("a chunk", ciphertext(k, b))
        step.insert(learnt(p, b))

    @rule("SP 800-38D appendix A")
    def read_two(step: Step, p: Agent, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> None:
        """The sum of two ciphertexts under one key stream is the sum of the plaintexts."""
        step.says("{p} sees two chunks under one IV, {b} and {c}, and reads both.")
        step.given("corrupt", corrupt(p))
        step.given("one IV", masked(k, x, i, b) & masked(k, x, i, c) & (b != c))
        step.insert(learnt(p, b))

    @rule("Carnet (the CPU TEE launches a kernel)")
    def copied_out(step: Step, p: Agent, g: Gpu, k: Key, c: Code, x: Transfer, i: Position, b: Block) -> None:
        step.says("{c} on {g} writes {b} where {p} reads it.")
        step.given("corrupt", corrupt(p))
        step.given("reads the data", runs(g, k, c) & leaks(c) & released(g, k, x, i, b))
        step.insert(learnt(p, b))
