"""Setup: each rank and the next one agree on a key for the hop between them, and each takes the other's report."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.ring_all_reduce.vocabulary import (
    RANK,
    Code,
    Endpoint,
    Key,
    Mode,
    answered,
    asked,
    certified,
    ends,
    follows,
    incoming,
    knows,
    opened,
    outgoing,
    report,
    sound,
)

_HOP = "DDP in GPU TEEs, abstract: only the GPU package is trusted"
_CHECKS = ("REQ-SETUP-03", "REQ-SETUP-04", "REQ-SETUP-05", "REQ-SETUP-06", "REQ-SETUP-07")


def specify_setup(draft: Draft) -> None:
    """Add the attested key exchange of a hop to ``draft``."""
    _open(draft)
    _answer(draft)
    _confirm(draft)
    _adopt(draft)


def _open(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{g} opens the key exchange {k} for its next hop, with a report.",
        message="{g} -> network: key exchange {k}, and a report that names it",
        source=_HOP,
        enforces=("REQ-SETUP-01", "REQ-SETUP-02"),
    )
    def open_hop(step: Step, g: Endpoint, k: Key) -> None:
        """The report speaks for the one who sends; the next rank has to know whose partial sums it will add."""
        step.actor(g, sound(g))
        step.fresh(k)
        step.insert(opened(g, k))
        step.insert(knows(g, k))
        step.insert(asked(k))
        step.insert(report(g, k, Mode.CONFIDENTIAL, Code.TRAINER, g))


def _answer(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{h} takes the report of {n} for {k}, as that of {g} before it, and answers with its own.",
        message="{h} -> {g}: answer to {k}, and a report that names it",
        source=_HOP,
        enforces=("REQ-SETUP-02", *_CHECKS),
    )
    def answer_hop(step: Step, h: Endpoint, k: Key, g: Endpoint, n: Endpoint, j: Key, m: Mode, q: Code) -> None:
        """Whoever opened the exchange wants to be added to."""
        step.actor(h, sound(h))
        step.require("asked", asked(k))
        step.given("first answer", ~answered(k))
        _check(step, k, g, n, j, m, q)
        step.require("place before", follows(g, h), defence="neighbour-check")
        step.insert(answered(k))
        step.insert(ends(h, k))
        step.insert(knows(h, k))
        step.insert(incoming(h, k, g))
        step.insert(report(h, k, Mode.CONFIDENTIAL, Code.TRAINER, h))


def _confirm(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{g} takes the report of {n} for {k}, as that of {h} after it.",
        source=_HOP,
        enforces=_CHECKS,
    )
    def confirm_hop(step: Step, g: Endpoint, k: Key, h: Endpoint, n: Endpoint, j: Key, m: Mode, q: Code) -> None:
        """Send nothing under a key before it is known where it ends."""
        step.actor(g, sound(g))
        step.require("own exchange", opened(g, k))
        step.require("answered", answered(k))
        _check(step, k, h, n, j, m, q)
        step.require("place after", follows(g, h), defence="neighbour-check")
        step.insert(outgoing(g, k, h))


def _check(step: Step, k: Key, place: Endpoint, n: Endpoint, j: Key, m: Mode, q: Code) -> None:
    step.require("a report", report(n, j, m, q, place))
    step.require("names this exchange", j == k, defence="report-bound")
    step.require("certificate", certified(n), defence="gpu-certificate")
    step.require("confidential mode", m == Mode.CONFIDENTIAL, defence="mode-check")
    step.require("the trainer", q == Code.TRAINER, defence="code-check")


def _adopt(draft: Draft) -> None:
    @draft.action(
        by=RANK,
        says="{g} hands the key {k} on to {h}, and uses it for the hop between them, too.",
        message="{g} -> {h}: the key {k}, sealed for {h}",
        source="Carnet (one key for the whole ring)",
        shortcut_of="hop-key",
    )
    def hand_on(step: Step, g: Endpoint, k: Key, f: Endpoint, h: Endpoint) -> None:
        """The ranks trust each other, so a group key looks as good as one for each hop."""
        step.actor(g, sound(g))
        step.require("has the key", incoming(g, k, f))
        step.require("the next rank", follows(g, h))
        step.insert(outgoing(g, k, h))
        step.insert(incoming(h, k, g))
        step.insert(knows(h, k))
