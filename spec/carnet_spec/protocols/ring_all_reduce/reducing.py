"""Reduce-scatter and all-gather: partial sums go round the ring, and then the whole sums do."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step, forall
from carnet_spec.protocols.ring_all_reduce.vocabulary import (
    RANK,
    Chunk,
    Endpoint,
    Iteration,
    Key,
    Phase,
    SubStep,
    Vector,
    added,
    alarmed,
    altered,
    ciphertext,
    copied,
    doubled,
    finished,
    first,
    incoming,
    ivs,
    last,
    learnt,
    made,
    masked,
    outgoing,
    part,
    partial,
    reused,
    sealed,
    settled,
    sound,
    spent,
    tag,
    took,
    total,
    turn,
    unheeded,
)

_RING = "DDP in GPU TEEs, abstract: ring-all-reduce"
_MAC = "DDP in GPU TEEs, abstract: encryption and MAC generation from the sender"
_CHECK = "DDP in GPU TEEs, abstract: decryption and MAC authentication on the receiver"


_Label = tuple[Iteration, Phase, SubStep, Chunk]
"""What the tag of a message says of it."""


def specify_reducing(draft: Draft) -> None:
    """Add what ranks do with chunks to ``draft``."""
    _contribute(draft)
    _send(draft)
    _add(draft)
    _gather(draft)
    _finish(draft)


def _contribute(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{g} begins the sum of {c} in iteration {i} with its own contribution, {v}.",
        source=_RING,
        enforces=("REQ-REDUCE-01", "REQ-SEND-03", "REQ-ALARM-02"),
    )
    def contribute(step: Step, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> None:
        """Every chunk begins at one rank, and its sum is whole at the rank before that one."""
        step.actor(g, sound(g))
        _takes_part(step, g)
        step.require("begins here", first(c) == g)
        step.require("not yet added", ~added(g, i, c), defence="add-once")
        step.fresh(v)
        step.remove(partial(g, i, c, step.each(Vector)), unless="add-once", name="begin anew")
        step.insert(part(v, i, c, g))
        _keep(step, g, i, c, v)


def _takes_part(step: Step, g: Endpoint) -> None:
    step.require("no alarm", ~alarmed(g), defence="alarm-final")
    step.insert(unheeded(g), when=alarmed(g))


def _keep(step: Step, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> None:
    step.insert(learnt(g, v))
    step.insert(partial(g, i, c, v))
    step.insert(added(g, i, c))
    step.insert(total(g, i, c, v), when=last(c) == g, name="the sum is whole")
    step.insert(settled(g, i, c), when=last(c) == g, name="the chunk is settled")


def _send(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{g} seals its partial sum of {c} in iteration {i}, {v}, for {h}.",
        message="{g} -> {h}: partial sum of {c} in iteration {i}, under {k}",
        source=_MAC,
        enforces=("REQ-SEND-01", "REQ-SEND-02", "REQ-ALARM-02"),
    )
    def send_partial(step: Step, g: Endpoint, k: Key, h: Endpoint, i: Iteration, c: Chunk, v: Vector) -> None:
        """The last rank of the chunk has the whole sum, and sends no partial one."""
        step.actor(g, sound(g))
        _takes_part(step, g)
        step.require("attested next rank", outgoing(g, k, h))
        step.require("has the partial sum", partial(g, i, c, v))
        step.require("not the last", last(c) != g)
        _seal(step, g, k, i, Phase.REDUCE, c, v)

    @draft.action(
        by=RANK,
        says="{g} seals the sum of {c} in iteration {i}, {v}, for {h}.",
        message="{g} -> {h}: sum of {c} in iteration {i}, under {k}",
        source=_MAC,
        enforces=("REQ-SEND-01", "REQ-SEND-02", "REQ-ALARM-02"),
    )
    def send_total(step: Step, g: Endpoint, k: Key, h: Endpoint, i: Iteration, c: Chunk, v: Vector) -> None:
        """Where the sum came from, it does not go back."""
        step.actor(g, sound(g))
        _takes_part(step, g)
        step.require("attested next rank", outgoing(g, k, h))
        step.require("has the sum", total(g, i, c, v))
        step.require("not back to the last", last(c) != h)
        _seal(step, g, k, i, Phase.GATHER, c, v)


def _seal(step: Step, g: Endpoint, k: Key, i: Iteration, p: Phase, c: Chunk, v: Vector) -> None:
    step.require("not sealed before", ~spent(g, k, i, p, c), defence="seal-once")
    step.insert(spent(g, k, i, p, c))
    step.insert(ciphertext(k, v))
    step.insert(masked(k, i, p, c, v))
    step.insert(tag(k, i, p, turn(p, c, g), c, v))
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


def _add(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{g} adds its own contribution to {v}, the partial sum of {c} in iteration {i} from {f}: that is {w}.",
        source=_CHECK,
        enforces=("REQ-REDUCE-02", "REQ-REDUCE-03", "REQ-REDUCE-04", "REQ-SEND-03", "REQ-ALARM-02"),
    )
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
        step.actor(g, sound(g))
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

    @draft.action(
        by=RANK,
        says="{g} got no partial sum of {c} in iteration {i}, and goes on with its own contribution, {w}.",
        source="Carnet (a rank that goes on after a failed tag)",
        shortcut_of="wait-for-sum",
    )
    def go_on_alone(step: Step, g: Endpoint, i: Iteration, c: Chunk, w: Vector) -> None:
        """A training step with fewer gradients is a training step all the same."""
        step.actor(g, sound(g))
        _takes_part(step, g)
        step.require("does not begin here", first(c) != g)
        step.require("not yet added", ~added(g, i, c))
        step.fresh(w)
        step.insert(part(w, i, c, g))
        _keep(step, g, i, c, w)


def _gather(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{g} takes {v} from {f} as the sum of {c} in iteration {i}.",
        source=_CHECK,
        enforces=("REQ-GATHER-01", "REQ-ALARM-02"),
    )
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
        step.actor(g, sound(g))
        _takes_part(step, g)
        _verify(step, g, k, f, (i, Phase.GATHER, c), v, (j, o, t, d))
        step.require("not the last", last(c) != g)
        step.require("no sum yet", ~settled(g, i, c))
        step.insert(total(g, i, c, v))
        step.insert(settled(g, i, c))
        step.insert(copied(g, i, c, v))


def _finish(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{g} finishes iteration {i}.",
        source=_RING,
        enforces=("REQ-GATHER-02", "REQ-ALARM-02"),
    )
    def finish(step: Step, g: Endpoint, i: Iteration) -> None:
        """Only now does the optimiser use the sums."""
        step.actor(g, sound(g))
        _takes_part(step, g)
        step.require("every sum", _everything(g, i), defence="whole-iteration")
        step.insert(finished(g, i))

    @draft.action(
        by=RANK,
        says="{g} raises the alarm: a tag failed, or a message did not come.",
        source="SP 800-38D section 7.2",
        enforces="REQ-ALARM-01",
    )
    def raise_alarm(step: Step, g: Endpoint) -> None:
        """Nobody can tell a message that was changed from one that was lost, and both end the job."""
        step.actor(g, sound(g))
        step.insert(alarmed(g))

    @draft.action(
        by=RANK,
        says="{g} begins iteration {i} again, from a checkpoint and under the same keys.",
        source="Carnet (restart from a checkpoint)",
        shortcut_of="iteration-once",
    )
    def restart(step: Step, g: Endpoint, i: Iteration) -> None:
        """A checkpoint has the number of the iteration, and not what was sealed since."""
        step.actor(g, sound(g))
        chunk, vector = step.each(Chunk), step.each(Vector)
        step.remove(partial(g, i, chunk, vector))
        step.remove(added(g, i, chunk))
        step.remove(total(g, i, chunk, vector))
        step.remove(settled(g, i, chunk))
        step.remove(spent(g, step.each(Key), i, step.each(Phase), chunk))
        step.remove(finished(g, i))


def _everything(g: Endpoint, i: Iteration) -> Formula:
    return forall(lambda c: settled(g, i, c), Chunk)
