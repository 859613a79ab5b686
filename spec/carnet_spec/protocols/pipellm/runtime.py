"""The runtime: it encrypts ahead what it guesses, and sends hits, misses and NOPs, each under the IV that is due."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step, forall, implies
from carnet_spec.protocols.pipellm.variants import FLUSHED
from carnet_spec.protocols.pipellm.vocabulary import (
    TENANT,
    Agent,
    Block,
    Copy,
    Iv,
    Key,
    Page,
    before,
    command,
    content,
    due,
    earlier,
    exposed,
    follows,
    gone,
    guessed,
    home,
    honest,
    late,
    latest,
    none,
    opened,
    pending,
    place,
    placed,
    scratch,
    served,
    source,
    spent,
    staged,
    zeros,
)

_SPECULATION = "PipeLLM, abstract: speculative pipelined encryption"
_RELINQUISHING = "PipeLLM, abstract: pipeline relinquishing"


def specify_runtime(draft: Draft) -> None:
    """Add speculation and what is sent to ``draft``.

    Where guesses are flushed, an IV under which something was encrypted ahead encrypts nothing else.
    """
    once = draft.variant == FLUSHED
    _speculate(draft, once=once)
    _hit(draft)
    _miss(draft, once=once)
    _pad(draft, once=once)
    if once:
        _flush(draft)


def _first(key: Key, copy: Copy) -> Formula:
    """Whether no pending copy was asked for before this one."""
    return forall(lambda r: implies(pending(key, r), ~earlier(r, copy)), Copy)


def _take(step: Step, key: Key, iv: Iv) -> None:
    """Note that the message of this number was encrypted under the IV."""
    step.insert(placed(key, due(key), iv))
    step.insert(late(key, iv), when=gone(key, iv))
    step.insert(gone(key, due(key)))


def _speculate(draft: Draft, *, once: bool) -> None:
    @draft.action(
        by=TENANT,
        says="The runtime of {a} guesses {p} for {i}, and encrypts it ahead under {k}.",
        message="{a} -> {a}: ciphertext under {k}, for later",
        source=_SPECULATION,
        enforces="REQ-STAGE-01",
    )
    def speculate(step: Step, a: Agent, k: Key, i: Iv, p: Page) -> None:
        """Any predictor may guess any page for any IV to come, and several pages for one."""
        step.actor(a, honest(a))
        step.require("own channel", opened(a, k))
        step.require("own page", home(p) == a)
        step.require("not passed", ~before(i, due(k)))
        if once:
            step.require("encrypts nothing yet", ~spent(k, i), defence="encrypt-once")
            step.insert(spent(k, i))
        step.insert(staged(k, i, p, content(p)))
        step.insert(exposed(k, i, content(p)), unless="private-staging", name="stage in shared memory")


def _hit(draft: Draft) -> None:
    @draft.action(
        by=TENANT,
        says="The runtime of {a} sends what it staged of {q} under {i} as {r} on {k}.",
        message="{a} -> host: ciphertext under {k}, for {r}",
        source=_SPECULATION,
        enforces=("REQ-SEND-01", "REQ-SEND-02", "REQ-SEND-03", "REQ-ORDER-01"),
    )
    def hit(step: Step, a: Agent, k: Key, r: Copy, q: Page, i: Iv, b: Block, j: Iv) -> None:
        """The ciphertext goes to shared memory only now, when its page is asked for and its IV is due."""
        step.actor(a, honest(a))
        step.require("own channel", opened(a, k))
        step.require("asked for", pending(k, r))
        step.require("the first that is pending", _first(k, r), defence="in-order")
        step.require("staged", staged(k, i, q, b))
        step.require("the page that is asked for", q == source(k, r), defence="page-checked")
        step.require("not behind", ~before(i, due(k)), defence="behind-anew")
        step.require("not ahead", ~before(due(k), i), defence="pad-first")
        step.require("the counter goes on", follows(due(k), j))
        step.insert(exposed(k, i, b))
        step.insert(guessed(k, r))
        step.insert(command(k, due(k), r))
        _take(step, k, i)
        step.insert(served(k, r))
        step.set(place(k, r), due(k))
        step.remove(pending(k, r))
        step.set(due(k), j)


def _miss(draft: Draft, *, once: bool) -> None:
    @draft.action(
        by=TENANT,
        says="The runtime of {a} encrypts {r} anew, and sends it on {k}.",
        message="{a} -> host: ciphertext under {k}, for {r}",
        source=_RELINQUISHING,
        enforces=("REQ-SEND-02", "REQ-SEND-04", "REQ-ORDER-01"),
    )
    def miss(step: Step, a: Agent, k: Key, r: Copy, j: Iv) -> None:
        """Whatever was staged under this IV is sent no more: nobody ever sees it."""
        step.actor(a, honest(a))
        step.require("own channel", opened(a, k))
        step.require("asked for", pending(k, r))
        step.require("the first that is pending", _first(k, r), defence="in-order")
        step.require("the counter goes on", follows(due(k), j))
        if once:
            step.require("encrypts nothing yet", ~spent(k, due(k)), defence="encrypt-once")
        step.insert(exposed(k, due(k), content(source(k, r))))
        step.insert(command(k, due(k), r))
        _take(step, k, due(k))
        step.insert(served(k, r))
        step.set(place(k, r), due(k))
        step.remove(pending(k, r))
        step.set(due(k), j, defence="miss-advances")


def _pad(draft: Draft, *, once: bool) -> None:
    @draft.action(
        by=TENANT,
        says="The runtime of {a} sends a NOP on {k}.",
        message="{a} -> host: NOP under {k}",
        source=_RELINQUISHING,
        enforces=("REQ-SEND-04", "REQ-PAD-01"),
    )
    def pad(step: Step, a: Agent, k: Key, j: Iv) -> None:
        """A copy of a byte to scratch memory: it costs an IV, and does nothing else."""
        step.actor(a, honest(a))
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


def _flush(draft: Draft) -> None:
    @draft.action(
        by=TENANT,
        says="The runtime of {a} sends the guess that is due on {k}, {b}, to scratch memory.",
        message="{a} -> host: a wrong guess under {k}, as a NOP",
        source="Carnet (a guess that is flushed)",
        enforces=("REQ-FLUSH-01", "REQ-SEND-04"),
    )
    def flush(step: Step, a: Agent, k: Key, b: Block, j: Iv) -> None:
        """A whole block travels for nothing, and no IV is used twice."""
        step.actor(a, honest(a))
        step.require("own channel", opened(a, k))
        step.require("encrypted ahead", exposed(k, due(k), b))
        step.require("the counter goes on", follows(due(k), j))
        step.insert(scratch(k, due(k)))
        _take(step, k, due(k))
        step.set(due(k), j)
