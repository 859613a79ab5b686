"""Setup: a user and a GPU agree on a key, which the CPU TEE between them does not learn, and on code."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.fastrack.vocabulary import (
    GPU,
    USER,
    Agent,
    Code,
    Gpu,
    Key,
    Mode,
    answered,
    asked,
    attested,
    certified,
    confidential,
    cpu,
    genuine,
    holds,
    honest,
    knows,
    named,
    opened,
    report,
    runs,
    vetted,
)

_DIRECT = "Fastrack, abstract: direct GPU TEE communication"


def specify_setup(draft: Draft) -> None:
    """Add key exchange, report and the launch of kernels to ``draft``."""
    _exchange(draft)
    _attest(draft)
    _launch(draft)


def _exchange(draft: Draft) -> None:
    @draft.action(
        by=USER,
        says="{a} opens the key exchange {k}.",
        message="{a} -> cpu: key exchange {k}, for a GPU",
        source=_DIRECT,
        enforces="REQ-SETUP-01",
    )
    def open_exchange(step: Step, a: Agent, k: Key) -> None:
        """The CPU TEE forwards the exchange as it forwards everything: it is part of the network."""
        step.actor(a, honest(a))
        step.fresh(k)
        step.insert(opened(a, k))
        step.insert(knows(a, k))
        step.insert(asked(k))

    @draft.action(
        by=GPU,
        says="{g} answers the key exchange {k}, with a report of its mode.",
        message="{g} -> cpu: report that names {k}",
        source="DSP0274, MEASUREMENTS",
        enforces="REQ-SETUP-02",
    )
    def answer_exchange(step: Step, g: Gpu, k: Key) -> None:
        """A genuine GPU answers everybody, and says in which mode it is."""
        step.actor(g, genuine(g))
        step.require("asked", asked(k))
        step.given("first answer", ~answered(k))
        step.insert(answered(k))
        step.insert(holds(g, k))
        step.insert(report(g, k, Mode.CONFIDENTIAL), when=confidential(g), name="report confidential mode")
        step.insert(report(g, k, Mode.OPEN), when=~confidential(g), name="report open mode")


def _attest(draft: Draft) -> None:
    @draft.action(
        by=USER,
        says="{a} takes the report of {g} for {k}, and names {c} as the code to run.",
        message="{a} -> {g}: under {k}, code {c}",
        source=_DIRECT,
        enforces=("REQ-SETUP-01", "REQ-SETUP-03", "REQ-SETUP-04", "REQ-SETUP-05"),
    )
    def take_report(step: Step, a: Agent, k: Key, g: Gpu, j: Key, m: Mode, c: Code) -> None:
        """Send nothing under a key before it is known where it ends."""
        step.actor(a, honest(a))
        step.require("own exchange", opened(a, k))
        step.require("answered", answered(k))
        step.require("a report", report(g, j, m))
        step.require("names this exchange", j == k, defence="report-bound")
        step.require("certificate", certified(g), defence="gpu-certificate")
        step.require("confidential mode", m == Mode.CONFIDENTIAL, defence="mode-check")
        step.require("reviewed code", vetted(c))
        step.insert(attested(a, k, g))
        step.insert(named(k, c))
        step.insert(knows(cpu, k), unless="direct-key", name="the CPU TEE is an end of the key")


def _launch(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="{g} runs {c}, which somebody submitted, on the data under {k}.",
        message="cpu -> {g}: launch {c} on the data under {k}",
        source="Carnet (the CPU TEE launches a kernel)",
        enforces="REQ-KERNEL-01",
    )
    def launch(step: Step, g: Gpu, k: Key, c: Code) -> None:
        """Whoever submits work decides nothing: the CPU TEE is no longer trusted with the data."""
        step.actor(g, genuine(g))
        step.require("own key", holds(g, k))
        step.require("named by the user", named(k, c), defence="kernel-named")
        step.insert(runs(g, k, c))
