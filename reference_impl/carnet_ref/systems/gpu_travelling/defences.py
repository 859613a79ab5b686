"""Defences that can be switched off, one by one, to show what each of them is worth.

Every defence is enforced at one place; `COUNTERPARTS` names it, or the alternative that takes its place. All of them
stand unless a test or the replay of an attack says otherwise; nothing that a peer sends can switch one off.
"""

from __future__ import annotations

from dataclasses import dataclass

COUNTERPARTS = {
    "gpu-certificate": "carnet_ref.systems.gpu_travelling.weakened.evidence",
    "report-nonce": "carnet_ref.systems.gpu_travelling.weakened.evidence",
    "report-in-session": "carnet_ref.systems.gpu_travelling.roles.setup.AwaitsReport.on_report_outside",
    "signer-is-responder": "carnet_ref.systems.gpu_travelling.roles.appraising.accept_report",
    "mode-check": "carnet_ref.systems.gpu_travelling.weakened.evidence",
    "orchestrator-quote": "carnet_ref.systems.gpu_travelling.weakened.evidence",
    "quote-bound-to-channel": "carnet_ref.systems.gpu_travelling.weakened.evidence",
    "manifest-check": "carnet_ref.systems.gpu_travelling.weakened.evidence",
    "enrolment-check": "carnet_ref.systems.gpu_travelling.roles.appraising.accept_enrolment",
    "rotation-out": "carnet_ref.systems.gpu_travelling.roles.custody.order_rotation",
    "rotation-in": "carnet_ref.systems.gpu_travelling.roles.return_order.stages",
    "rotation-in-h2d": "carnet_ref.systems.gpu_travelling.weakened.links",
    "rotation-in-d2h": "carnet_ref.systems.gpu_travelling.weakened.links",
    "rotation-ack": "carnet_ref.systems.gpu_travelling.roles.facts.rotated",
    "rotation-before-check": "carnet_ref.systems.gpu_travelling.roles.return_order.stages",
    "rotation-before-fence": "carnet_ref.systems.gpu_travelling.roles.return_order.stages",
    "atomic-rotation": "carnet_ref.systems.gpu_travelling.weakened.engines",
    "wrapped-key-once": "carnet_ref.systems.gpu_travelling.keys.schedules._Rotating._require_next",
    "epochs-increase": "carnet_ref.systems.gpu_travelling.keys.schedules._Rotating._require_next",
    "fresh-key": "carnet_ref.systems.gpu_travelling.weakened.links",
    "engine-retirement": "carnet_ref.systems.gpu_travelling.weakened.engines",
    "no-engine-reload": "carnet_ref.systems.gpu_travelling.weakened.engines",
    "fence": "carnet_ref.systems.gpu_travelling.roles.return_order.stages",
    "fence-ack": "carnet_ref.systems.gpu_travelling.roles.facts.fenced",
    "scrub-buffer": "carnet_ref.systems.gpu_travelling.weakened.device",
    "scrub-workspace": "carnet_ref.systems.gpu_travelling.weakened.device",
    "scrub-ack": "carnet_ref.systems.gpu_travelling.roles.facts.scrubbed",
    "code-reupload": "carnet_ref.systems.gpu_travelling.weakened.device",
    "code-read-back": "carnet_ref.systems.gpu_travelling.roles.facts.verified",
    "model-read-back": "carnet_ref.systems.gpu_travelling.roles.facts.verified",
    "received-count": "carnet_ref.systems.gpu_travelling.roles.facts.verified",
    "gpu-implicit-iv": "carnet_ref.systems.gpu_travelling.weakened.engines",
    "sender-iv-monotonic": "carnet_ref.systems.gpu_travelling.weakened.links",
    "count-handover": "carnet_ref.systems.gpu_travelling.roles.custody.grant",
    "h2d-half-only": "carnet_ref.systems.gpu_travelling.roles.custody._paper",
    "launch-key-kept": "carnet_ref.systems.gpu_travelling.roles.custody._paper",
    "grant-addressee": "carnet_ref.systems.gpu_travelling.roles.custody.grant",
    "grant-once": "carnet_ref.systems.gpu_travelling.roles.holder.AwaitsGrant._check",
    "return-authenticated": "carnet_ref.systems.gpu_travelling.roles.custody.AwaitsReturn.on_return",
    "fail-stop-on-reset": "carnet_ref.systems.gpu_travelling.roles.setup.restart",
    "attestation-age": "carnet_ref.systems.gpu_travelling.roles.custody.order_rotation",
    "lease": "carnet_ref.systems.gpu_travelling.roles.custody.AwaitsReturn.on_tick",
    "key-usage-limit": "carnet_ref.systems.gpu_travelling.weakened.design.limits",
}
"""Each defence of the specification that code stands for, and the one place that enforces it."""


@dataclass(frozen=True, slots=True)
class Defences:
    """Which defences stand: all of them, less those in ``off``.

    Raises:
        ValueError: ``off`` names something that is no defence.
    """

    off: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = sorted(self.off - set(COUNTERPARTS))
        if unknown:
            raise ValueError(f"'{unknown[0]}' is no defence that an implementation can have")

    def stands(self, name: str) -> bool:
        """Return whether the defence is in force.

        Raises:
            KeyError: there is no such defence.
        """
        if name not in COUNTERPARTS:
            raise KeyError(name)
        return name not in self.off


ALL = Defences()
"""Every defence in force."""
