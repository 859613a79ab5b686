"""The steps of ring all-reduce: keys for the hops, partial sums round the ring, and the adversary's moves."""

import functools

from carnet_spec.language import *
from carnet_spec.protocols.ring_all_reduce.vocabulary import *
from carnet_spec.theories.dolev_yao import DolevYao


def specify(draft: Draft) -> None:
    """Add all steps to ``draft``."""
    _setup(draft)
    _reducing(draft)
    _adversary(draft)


# -- setup -------------------------------------------------------------------------------------------------------------
# Each rank and the next one agree on a key for the hop between them, and each takes the other's report.

_HOP = "DDP in GPU TEEs, abstract: only the GPU package is trusted"
_CHECKS = ("REQ-SETUP-03", "REQ-SETUP-04", "REQ-SETUP-05", "REQ-SETUP-06", "REQ-SETUP-07")


def _setup(draft: Draft) -> None:
    draft.defence("hop-key", "each hop has a key of its own; no rank uses the key of one hop for another")
    draft.defence("report-bound", "a rank takes a report for its own key exchange only")
    draft.defence("gpu-certificate", "a rank checks the certificate chain of the report's signer")
    draft.defence("mode-check", "a rank takes a report only of confidential mode")
    draft.defence("code-check", "a rank takes a report only of the trainer of its job")
    draft.defence("neighbour-check", "a rank takes a report only of its neighbour's place in the ring")

    by_rank = functools.partial(draft.action, RANK, actor=sound)

    @by_rank(_HOP, "REQ-SETUP-01", "REQ-SETUP-02")
    def open_hop(step: Step, g: Endpoint, k: Key) -> None:
        """The report speaks for the one who sends; the next rank has to know whose partial sums it will add."""
        step.says("{g} opens the key exchange {k} for its next hop, with a report.")
        step.message("{g} -> network: key exchange {k}, and a report that names it")
        step.fresh(k)
        step.insert(opened(g, k), knows(g, k), asked(k), report(g, k, Mode.CONFIDENTIAL, Code.TRAINER, g))

    @by_rank(_HOP, "REQ-SETUP-02", *_CHECKS)
    def answer_hop(step: Step, h: Endpoint, k: Key, g: Endpoint, n: Endpoint, j: Key, m: Mode, q: Code) -> None:
        """Whoever opened the exchange wants to be added to."""
        step.says("{h} takes the report of {n} for {k}, as that of {g} before it, and answers with its own.")
        step.message("{h} -> {g}: answer to {k}, and a report that names it")
        step.require("asked", asked(k))
        step.given("first answer", ~answered(k))
        _check(step, k, g, n, j, m, q)
        step.require("place before", follows(g, h), defence="neighbour-check")
        step.insert(answered(k), ends(h, k), knows(h, k), incoming(h, k, g))
        step.insert(report(h, k, Mode.CONFIDENTIAL, Code.TRAINER, h))

    @by_rank(_HOP, *_CHECKS)
    def confirm_hop(step: Step, g: Endpoint, k: Key, h: Endpoint, n: Endpoint, j: Key, m: Mode, q: Code) -> None:
        """Send nothing under a key before it is known where it ends."""
        step.says("{g} takes the report of {n} for {k}, as that of {h} after it.")
        step.require("own exchange", opened(g, k))
        step.require("answered", answered(k))
        _check(step, k, h, n, j, m, q)
        step.require("place after", follows(g, h), defence="neighbour-check")
        step.insert(outgoing(g, k, h))

    @by_rank("Carnet (one key for the whole ring)", shortcut_of="hop-key")
    def hand_on(step: Step, g: Endpoint, k: Key, f: Endpoint, h: Endpoint) -> None:
        """The ranks trust each other, so a group key looks as good as one for each hop."""
        step.says("{g} hands the key {k} on to {h}, and uses it for the hop between them, too.")
        step.message("{g} -> {h}: the key {k}, sealed for {h}")
        step.require("has the key", incoming(g, k, f))
        step.require("the next rank", follows(g, h))
        step.insert(outgoing(g, k, h), incoming(h, k, g), knows(h, k))


def _check(step: Step, k: Key, place: Endpoint, n: Endpoint, j: Key, m: Mode, q: Code) -> None:
    step.require("a report", report(n, j, m, q, place))
    step.require("names this exchange", j == k, defence="report-bound")
    step.require("certificate", certified(n), defence="gpu-certificate")
    step.require("confidential mode", m == Mode.CONFIDENTIAL, defence="mode-check")
    step.require("the trainer", q == Code.TRAINER, defence="code-check")


# -- reducing ----------------------------------------------------------------------------------------------------------
# Reduce-scatter and all-gather: partial sums go round the ring, and then the whole sums do.

_RING = "DDP in GPU TEEs, abstract: ring-all-reduce"
_MAC = "DDP in GPU TEEs, abstract: encryption and MAC generation from the sender"
_CHECK = "DDP in GPU TEEs, abstract: decryption and MAC authentication on the receiver"


_Label = tuple[Iteration, Phase, SubStep, Chunk]  #: What the tag of a message says of it.


def _reducing(draft: Draft) -> None:
    draft.defence("iteration-once", "a rank uses the number of an iteration once under its keys")
    draft.defence("seal-once", "a rank seals a chunk once in each phase of an iteration")
    draft.defence("verify-first", "a rank adds or takes nothing before its tag has verified")
    draft.defence("bound-iteration", "the tag binds the iteration")
    draft.defence("bound-phase", "the tag binds the phase")
    draft.defence("bound-step", "the tag binds the sub-step")
    draft.defence("bound-chunk", "the tag binds the chunk")
    draft.defence("add-once", "a rank adds a partial sum once for each chunk of an iteration")
    draft.defence("wait-for-sum", "a rank passes nothing on in place of a partial sum that it did not get")
    draft.defence("whole-iteration", "a rank finishes only when it has the sum of every chunk")
    draft.defence("alarm-final", "a rank that raised the alarm takes no further part")

    by_rank = functools.partial(draft.action, RANK, actor=sound)

    @by_rank(_RING, "REQ-REDUCE-01", "REQ-SEND-03", "REQ-ALARM-02")
    def contribute(step: Step, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> None:
        """Every chunk begins at one rank, and its sum is whole at the rank before that one."""
        step.says("{g} begins the sum of {c} in iteration {i} with its own contribution, {v}.")
        _takes_part(step, g)
        step.require("begins here", first(c) == g)
        step.require("not yet added", ~added(g, i, c), defence="add-once")
        step.fresh(v)
        step.remove(partial(g, i, c, step.each(Vector)), unless="add-once", name="begin anew")
        step.insert(part(v, i, c, g))
        _keep(step, g, i, c, v)

    @by_rank(_MAC, "REQ-SEND-01", "REQ-SEND-02", "REQ-ALARM-02")
    def send_partial(step: Step, g: Endpoint, k: Key, h: Endpoint, i: Iteration, c: Chunk, v: Vector) -> None:
        """The last rank of the chunk has the whole sum, and sends no partial one."""
        step.says("{g} seals its partial sum of {c} in iteration {i}, {v}, for {h}.")
        step.message("{g} -> {h}: partial sum of {c} in iteration {i}, under {k}")
        _takes_part(step, g)
        step.require("attested next rank", outgoing(g, k, h))
        step.require("has the partial sum", partial(g, i, c, v))
        step.require("not the last", last(c) != g)
        _seal(step, g, k, i, Phase.REDUCE, c, v)

    @by_rank(_MAC, "REQ-SEND-01", "REQ-SEND-02", "REQ-ALARM-02")
    def send_total(step: Step, g: Endpoint, k: Key, h: Endpoint, i: Iteration, c: Chunk, v: Vector) -> None:
        """Where the sum came from, it does not go back."""
        step.says("{g} seals the sum of {c} in iteration {i}, {v}, for {h}.")
        step.message("{g} -> {h}: sum of {c} in iteration {i}, under {k}")
        _takes_part(step, g)
        step.require("attested next rank", outgoing(g, k, h))
        step.require("has the sum", total(g, i, c, v))
        step.require("not back to the last", last(c) != h)
        _seal(step, g, k, i, Phase.GATHER, c, v)

    @by_rank(_CHECK, "REQ-REDUCE-02", "REQ-REDUCE-03", "REQ-REDUCE-04", "REQ-SEND-03", "REQ-ALARM-02")
    def add(
        step: Step,
        g: Endpoint,
        k: Key,
        f: Endpoint,
        i: Iteration,
        c: Chunk,
        v: Vector,
        w: Vector,
        j: Iteration,
        o: Phase,
        t: SubStep,
        d: Chunk,
    ) -> None:
        """What is added cannot be taken out again, so it is verified first."""
        step.says(
            "{g} adds its own contribution to {v}, the partial sum of {c} in iteration {i} from {f}: that is {w}."
        )
        _takes_part(step, g)
        _verify(step, g, k, f, (i, Phase.REDUCE, c), v, (j, o, t, d))
        step.require("does not begin here", first(c) != g)
        step.require("not yet added", ~added(g, i, c), defence="add-once")
        step.fresh(w)
        step.remove(partial(g, i, c, step.each(Vector)), unless="add-once", name="add again")
        other, piece, whose = step.each(Iteration), step.each(Chunk), step.each(Endpoint)
        step.insert(part(w, other, piece, whose), when=part(v, other, piece, whose), name="what was added before")
        step.insert(part(w, i, c, g), name="its own contribution")
        step.insert(doubled(w), when=doubled(v) | part(v, i, c, g) | added(g, i, c))
        step.insert(made(w), when=made(v))
        step.insert(took(g, i, c, v))
        _keep(step, g, i, c, w)

    @by_rank("Carnet (a rank that goes on after a failed tag)", shortcut_of="wait-for-sum")
    def go_on_alone(step: Step, g: Endpoint, i: Iteration, c: Chunk, w: Vector) -> None:
        """A training step with fewer gradients is a training step all the same."""
        step.says("{g} got no partial sum of {c} in iteration {i}, and goes on with its own contribution, {w}.")
        _takes_part(step, g)
        step.require("does not begin here", first(c) != g)
        step.require("not yet added", ~added(g, i, c))
        step.fresh(w)
        step.insert(part(w, i, c, g))
        _keep(step, g, i, c, w)

    @by_rank(_CHECK, "REQ-GATHER-01", "REQ-ALARM-02")
    def gather(
        step: Step,
        g: Endpoint,
        k: Key,
        f: Endpoint,
        i: Iteration,
        c: Chunk,
        v: Vector,
        j: Iteration,
        o: Phase,
        t: SubStep,
        d: Chunk,
    ) -> None:
        """In all-gather nothing is added: who gets a sum keeps it and passes it on."""
        step.says("{g} takes {v} from {f} as the sum of {c} in iteration {i}.")
        _takes_part(step, g)
        _verify(step, g, k, f, (i, Phase.GATHER, c), v, (j, o, t, d))
        step.require("not the last", last(c) != g)
        step.require("no sum yet", ~settled(g, i, c))
        step.insert(total(g, i, c, v), settled(g, i, c), copied(g, i, c, v))

    @by_rank(_RING, "REQ-GATHER-02", "REQ-ALARM-02")
    def finish(step: Step, g: Endpoint, i: Iteration) -> None:
        """Only now does the optimiser use the sums."""
        step.says("{g} finishes iteration {i}.")
        _takes_part(step, g)
        step.require("every sum", forall(lambda c: settled(g, i, c), Chunk), defence="whole-iteration")
        step.insert(finished(g, i))

    @by_rank("SP 800-38D section 7.2", "REQ-ALARM-01")
    def raise_alarm(step: Step, g: Endpoint) -> None:
        """Nobody can tell a message that was changed from one that was lost, and both end the job."""
        step.says("{g} raises the alarm: a tag failed, or a message did not come.")
        step.insert(alarmed(g))

    @by_rank("Carnet (restart from a checkpoint)", shortcut_of="iteration-once")
    def restart(step: Step, g: Endpoint, i: Iteration) -> None:
        """A checkpoint has the number of the iteration, and not what was sealed since."""
        step.says("{g} begins iteration {i} again, from a checkpoint and under the same keys.")
        chunk, vector = step.each(Chunk), step.each(Vector)
        step.remove(partial(g, i, chunk, vector), added(g, i, chunk), total(g, i, chunk, vector), settled(g, i, chunk))
        step.remove(spent(g, step.each(Key), i, step.each(Phase), chunk), finished(g, i))


def _takes_part(step: Step, g: Endpoint) -> None:
    step.require("no alarm", ~alarmed(g), defence="alarm-final")
    step.insert(unheeded(g), when=alarmed(g))


def _keep(step: Step, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> None:
    step.insert(learnt(g, v), partial(g, i, c, v), added(g, i, c))
    step.insert(total(g, i, c, v), when=last(c) == g, name="the sum is whole")
    step.insert(settled(g, i, c), when=last(c) == g, name="the chunk is settled")


def _seal(step: Step, g: Endpoint, k: Key, i: Iteration, p: Phase, c: Chunk, v: Vector) -> None:
    step.require("not sealed before", ~spent(g, k, i, p, c), defence="seal-once")
    step.insert(spent(g, k, i, p, c), ciphertext(k, v), masked(k, i, p, c, v), tag(k, i, p, turn(p, c, g), c, v))
    step.insert(sealed(g, i, p, c, v))
    step.insert(reused(k, i, p, c), when=ivs(k, i, p, c))
    step.insert(ivs(k, i, p, c))


def _verify(
    step: Step, g: Endpoint, k: Key, f: Endpoint, expected: tuple[Iteration, Phase, Chunk], v: Vector, label: _Label
) -> None:
    i, p, c = expected
    j, o, t, d = label
    step.require("attested rank before", incoming(g, k, f))
    step.given("some bytes", ciphertext(k, v) | altered(k, v), unless="verify-first")
    step.require("a tag", tag(k, j, o, t, d, v), defence="verify-first")
    step.require("binds the iteration", j == i, defence="bound-iteration")
    step.require("binds the phase", o == p, defence="bound-phase")
    step.require("binds the sub-step", t == turn(p, c, f), defence="bound-step")
    step.require("binds the chunk", d == c, defence="bound-chunk")


# -- adversary ---------------------------------------------------------------------------------------------------------
# Links and hosts, whoever else is on the network, and GPUs that are not of the ring.


def _adversary(draft: Draft) -> None:
    by_adversary = functools.partial(draft.action, ADVERSARY)
    rule = functools.partial(draft.rule, ADVERSARY)

    @by_adversary("Carnet (a fake GPU in the ring)", cost=1)
    def open_own(step: Step, n: Endpoint, k: Key) -> None:
        step.says("{n} opens a key exchange of its own, {k}.")
        step.message("{n} -> network: key exchange {k}")
        step.given("not of the ring", ~sound(n))
        step.fresh(k)
        step.insert(knows(n, k), exposed(k), asked(k))

    @by_adversary("Carnet (a fake GPU in the ring)", cost=1)
    def answer_own(step: Step, n: Endpoint, k: Key) -> None:
        """Who answers a key exchange has its key."""
        step.says("{n} answers the key exchange {k} itself.")
        step.message("{n} -> network: answer to {k}")
        step.given("not of the ring", ~sound(n))
        step.given("asked", asked(k))
        step.given("first answer", ~answered(k))
        step.insert(answered(k), knows(n, k), exposed(k))

    @by_adversary("Carnet (poisoned gradients)", cost=1)
    def make(step: Step, n: Endpoint, v: Vector) -> None:
        step.says("{n} makes a vector as it likes, {v}.")
        step.given("not of the ring", ~sound(n))
        step.fresh(v)
        step.insert(made(v), learnt(n, v))

    @rule("nvtrust cc_admin.py (what a report says)")
    def vouch(step: Step, n: Endpoint, k: Key, m: Mode, q: Code, h: Endpoint) -> None:
        """A genuine GPU says truly in which mode it is and what it runs, and the place is what that code says."""
        step.says("{n} has a report of itself for {k}, {m}, {q}, at the place of {h}.")
        step.given("not of the ring", ~sound(n))
        step.given("an end of it", knows(n, k))
        step.given("true mode", implies(genuine(n) & (m == Mode.CONFIDENTIAL), closed(n)))
        step.given("true code", implies(genuine(n) & (q == Code.TRAINER), trains(n)))
        step.insert(report(n, k, m, q, h))

    @rule("Carnet (who has the key seals)")
    def forge(step: Step, n: Endpoint, k: Key, i: Iteration, p: Phase, t: SubStep, c: Chunk, v: Vector) -> None:
        step.says("{n} seals {v} under {k} as it likes: {p} of iteration {i}, sub-step {t}, {c}.")
        step.given("has the key", ~sound(n) & knows(n, k))
        step.given("has the vector", learnt(n, v))
        step.insert(ciphertext(k, v), tag(k, i, p, t, c, v))

    @rule("SP 800-38D section 7.1 (counter mode)")
    def alter(step: Step, n: Endpoint, k: Key, v: Vector) -> None:
        """A bit that is changed in the ciphertext is changed in the plaintext; the tag does not come with it."""
        step.says("{n} changes bytes under {k}, and they decrypt to {v}.")
        step.given("on the link", ~sound(n) & asked(k))
        step.given("what the adversary wants", learnt(n, v))
        step.insert(altered(k, v))

    colluders = DolevYao(draft, ADVERSARY, Endpoint, lambda n: ~sound(n), "Carnet (colluders pool what they know)")
    colluders.pool(knows, "nok", "the key {k}", name="pool")

    @rule("Carnet (who has the key reads)")
    def open_message(step: Step, n: Endpoint, k: Key, v: Vector) -> None:
        """Whoever has the key, of the ring or not."""
        step.says("{n} opens a message under {k} and reads {v}.")
        step.given("has the key", knows(n, k))
        step.given("a message", ciphertext(k, v))
        step.insert(learnt(n, v))

    @rule("SP 800-38D appendix A")
    def read_two(step: Step, n: Endpoint, k: Key, i: Iteration, p: Phase, c: Chunk, v: Vector, w: Vector) -> None:
        """The sum of two ciphertexts under one key stream is the sum of the plaintexts."""
        step.says("{n} sees two messages under one IV, {v} and {w}, and reads both.")
        step.given("on the link", ~sound(n))
        step.given("one IV", masked(k, i, p, c, v) & masked(k, i, p, c, w) & (v != w))
        step.insert(learnt(n, v))
