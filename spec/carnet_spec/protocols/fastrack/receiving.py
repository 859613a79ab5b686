"""Receiving: the GPU decrypts chunks as they arrive, and no kernel reads them before all have been verified."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step, forall, implies
from carnet_spec.protocols.fastrack.vocabulary import (
    GPU,
    Block,
    Gpu,
    Key,
    Mark,
    Position,
    Transfer,
    again,
    answer,
    arrived,
    changed,
    ciphertext,
    done,
    expected,
    failed,
    filled,
    genuine,
    handed,
    holds,
    released,
    staged,
    started,
    tag,
    verified,
    within,
)

_OVERLAP = "Fastrack, abstract: overlapping decryption with PCI-e transmission"
_PARALLEL = "Fastrack, abstract: parallelized authentication"


def specify_receiving(draft: Draft) -> None:
    """Add what the GPU does with a transfer to ``draft``."""
    _start(draft)
    _arrive(draft)
    _verify(draft)
    _release(draft)
    _answer(draft)


def _start(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="{g} is told of transfer {x} under {k}, up to place {n}, and makes room for it.",
        message="cpu -> {g}: transfer {x} under {k}, up to place {n}",
        source=_OVERLAP,
        enforces="REQ-RECEIVE-01",
    )
    def start(step: Step, g: Gpu, k: Key, x: Transfer, n: Position) -> None:
        """What the host says of the length is not authenticated: only tags tell."""
        step.actor(g, genuine(g))
        step.require("own key", holds(g, k))
        step.require("not begun before", ~started(g, k, x), defence="transfer-once")
        step.remove(done(g, k, x), unless="transfer-once", name="begin anew")
        step.insert(started(g, k, x))
        step.set(expected(g, k, x), n)


def _arrive(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="A chunk arrives at place {i} of transfer {x} under {k}, and {g} decrypts it to {b}.",
        message="cpu -> {g}: a chunk for place {i} of transfer {x}",
        source=_OVERLAP,
        enforces=("REQ-RECEIVE-02", "REQ-RECEIVE-03"),
    )
    def decrypt(step: Step, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> None:
        """Decryption does not wait for the tag; what it gives is nothing yet, and the host chose the chunk."""
        step.actor(g, genuine(g))
        step.given("some bytes", ciphertext(k, b) | changed(k, b))
        step.require("begun", started(g, k, x))
        step.require("a place of it", within(i, expected(g, k, x)))
        step.require("under way", ~done(g, k, x) & ~failed(g, k, x))
        step.require("nothing there yet", ~arrived(g, k, x, i), defence="one-fetch")
        step.remove(staged(g, k, x, i, step.each(Block)), unless="one-fetch", name="overwrite")
        step.insert(arrived(g, k, x, i))
        step.insert(staged(g, k, x, i, b))
        step.insert(released(g, k, x, i, b), unless="private-staging", name="decrypt in place")


def _verify(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="{g} verifies the tag of place {i} of transfer {x} under {k}.",
        source=_PARALLEL,
        enforces="REQ-RECEIVE-04",
    )
    def verify(
        step: Step, g: Gpu, k: Key, x: Transfer, i: Position, b: Block, y: Transfer, j: Position, n: Position, m: Mark
    ) -> None:
        """Each chunk is verified by itself, in any order, by any worker."""
        step.actor(g, genuine(g))
        step.require("staged", staged(g, k, x, i, b))
        step.require("under way", ~done(g, k, x) & ~failed(g, k, x))
        step.require("a tag", tag(k, y, j, n, m, b))
        step.require("binds the transfer", y == x, defence="tag-transfer")
        step.require("binds the place", j == i, defence="tag-place")
        step.require("binds the number", n == expected(g, k, x), defence="tag-number")
        step.require("binds the last", _marked(m, i, expected(g, k, x)), defence="tag-last")
        step.insert(verified(g, k, x, i))


def _marked(mark: Mark, place: Position, last: Position) -> Formula:
    return ((mark == Mark.LAST) & (place == last)) | ((mark == Mark.MORE) & (place != last))


def _release(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="{g} lets kernels read transfer {x} under {k}.",
        source=_OVERLAP,
        enforces=("REQ-RECEIVE-05", "REQ-RECEIVE-06"),
    )
    def release(step: Step, g: Gpu, k: Key, x: Transfer) -> None:
        """All at once: a kernel that has begun cannot be told afterwards that a tag failed."""
        step.actor(g, genuine(g))
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

    @draft.action(
        by=GPU,
        says="{g} gives transfer {x} under {k} up, and clears what was staged.",
        source="SP 800-38D section 7.2",
        enforces="REQ-RECEIVE-05",
    )
    def give_up(step: Step, g: Gpu, k: Key, x: Transfer) -> None:
        """A tag that fails, or a chunk that does not come, ends the transfer: nothing of it is released."""
        step.actor(g, genuine(g))
        step.require("begun", started(g, k, x))
        step.require("under way", ~done(g, k, x) & ~failed(g, k, x))
        step.remove(staged(g, k, x, step.each(Position), step.each(Block)), name="clear")
        step.insert(failed(g, k, x))


def _answer(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="{g} answers transfer {x} under {k}.",
        message="{g} -> cpu: answer to transfer {x} under {k}",
        source="Carnet",
        enforces="REQ-ANSWER-01",
    )
    def send_answer(step: Step, g: Gpu, k: Key, x: Transfer) -> None:
        """Only what kernels were given as a whole is answered."""
        step.actor(g, genuine(g))
        step.require("done", done(g, k, x))
        step.insert(answer(k, x))
