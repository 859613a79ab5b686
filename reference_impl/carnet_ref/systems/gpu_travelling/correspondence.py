"""What steps, elements and requirements of the specification are called, and where in the code they are.

The checker holds traces to the specification by these names; the documentation shows the table, and a test finds every
place that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Named:
    """What an element of a sort is called in a trace, and where that name is kept."""

    trace: str
    code: str


ELEMENTS: Final[Mapping[str, Named]] = MappingProxyType(
    {
        "Agent": Named(
            "the holder's name, `orchestrator` or `platform`",
            "carnet_ref.systems.gpu_travelling.roles.holder.HolderSetup",
        ),
        "Custody": Named(
            "not named: a state of the orchestrator", "carnet_ref.systems.gpu_travelling.roles.job.Custody"
        ),
        "Data": Named(
            "`alice's chunk 2`: the second chunk of a hand-over",
            "carnet_ref.systems.gpu_travelling.device.commands.Write",
        ),
        "Gpu": Named("the GPU's name", "carnet_ref.systems.gpu_travelling.roles.gpu.Gpu"),
        "Key": Named("`session/epoch`: epochs of a session are counted from 0", "carnet_ref.keys.LinkKeys"),
        "Mode": Named("`CONFIDENTIAL` or `OPEN`", "carnet_ref.device.mode.Mode"),
        "Order": Named(
            "not named: the kind of step says it", "carnet_ref.systems.gpu_travelling.device.commands.Command"
        ),
        "Phase": Named("not named: the orchestrator's state", "carnet_ref.systems.gpu_travelling.roles.job.State"),
        "Session": Named(
            "a digest of the key exchange, which both ends see",
            "carnet_ref.systems.gpu_travelling.roles.ports.SessionEnd",
        ),
        "Slot": Named("the message counter of the IV, from 0", "carnet_ref.keys.IvCounter"),
    }
)
"""Elements, by the sorts of the specification."""

STEPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "open_session": "carnet_ref.systems.gpu_travelling.roles.setup.AwaitsSession",
        "answer_session": "carnet_ref.systems.gpu_travelling.roles.gpu.AwaitsSession",
        "accept_gpu": "carnet_ref.systems.gpu_travelling.roles.setup.AwaitsReport",
        "switch_mux": "carnet_ref.transport.platform.Platform.route",
        "rotate_out": "carnet_ref.systems.gpu_travelling.roles.custody.order_rotation",
        "gpu_rotate_out": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_session",
        "rotated_out": "carnet_ref.systems.gpu_travelling.roles.custody.AwaitsRotationOut",
        "grant": "carnet_ref.systems.gpu_travelling.roles.custody.grant",
        "accept_grant": "carnet_ref.systems.gpu_travelling.roles.holder.AwaitsGrant.on_grant",
        "provision": "carnet_ref.systems.gpu_travelling.roles.holder.Provides.on_proceed",
        "gpu_receive": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "give_back": "carnet_ref.systems.gpu_travelling.roles.holder.Provides.on_proceed",
        "take_back": "carnet_ref.systems.gpu_travelling.roles.custody.AwaitsReturn.on_return",
        "evict": "carnet_ref.systems.gpu_travelling.roles.custody.AwaitsReturn.on_tick",
        "rotate_in": "carnet_ref.systems.gpu_travelling.roles.returning.begin_home",
        "gpu_rotate_in": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_session",
        "rotated_in": "carnet_ref.systems.gpu_travelling.roles.returning.AwaitsRotationIn",
        "send_fence": "carnet_ref.systems.gpu_travelling.roles.returning.begin_home",
        "exec_fence": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "fenced": "carnet_ref.systems.gpu_travelling.roles.returning.AwaitsFence",
        "upload": "carnet_ref.systems.gpu_travelling.roles.returning.begin_home",
        "exec_upload": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "send_read_back": "carnet_ref.systems.gpu_travelling.roles.returning.begin_home",
        "exec_read_back": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "verified": "carnet_ref.systems.gpu_travelling.roles.returning.AwaitsReadBack",
        "send_train": "carnet_ref.systems.gpu_travelling.roles.returning.AwaitsReadBack",
        "exec_train": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "trained": "carnet_ref.systems.gpu_travelling.roles.returning.AwaitsTraining",
        "send_scrub": "carnet_ref.systems.gpu_travelling.roles.returning.AwaitsTraining",
        "exec_scrub": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "scrubbed": "carnet_ref.systems.gpu_travelling.roles.returning.AwaitsScrub",
    }
)
"""Steps that roles record, by the actions of the specification, and what takes them."""

DEDUCED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "give_report": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_session",
        "attest_orchestrator": "carnet_ref.systems.gpu_travelling.roles.appraising.accept_orchestrator",
        "prove_enrolment": "carnet_ref.systems.gpu_travelling.roles.appraising.prove_enrolment",
        "admit": "carnet_ref.systems.gpu_travelling.roles.appraising.accept_enrolment",
    }
)
"""Honest steps that the specification takes as early as it can, so that nobody records them."""

ENFORCED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "REQ-SETUP-01": "carnet_ref.systems.gpu_travelling.roles.setup.AwaitsSession._take_keys",
        "REQ-SETUP-02": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_session",
        "REQ-SETUP-03": "carnet_ref.systems.gpu_travelling.parties.evidence.GpuVerifier.appraise",
        "REQ-SETUP-04": "carnet_ref.systems.gpu_travelling.parties.evidence.GpuVerifier.appraise",
        "REQ-SETUP-05": "carnet_ref.systems.gpu_travelling.parties.evidence.GpuVerifier.appraise",
        "REQ-SETUP-06": "carnet_ref.systems.gpu_travelling.roles.setup.AwaitsReport.on_report_outside",
        "REQ-SETUP-07": "carnet_ref.systems.gpu_travelling.roles.appraising.accept_report",
        "REQ-SETUP-08": "carnet_ref.systems.gpu_travelling.parties.evidence.TdVerifier.appraise",
        "REQ-SETUP-09": "carnet_ref.systems.gpu_travelling.parties.evidence.TdVerifier.appraise",
        "REQ-SETUP-10": "carnet_ref.systems.gpu_travelling.parties.evidence.TdVerifier.appraise",
        "REQ-SETUP-11": "carnet_ref.systems.gpu_travelling.roles.appraising.prove_enrolment",
        "REQ-SETUP-12": "carnet_ref.systems.gpu_travelling.roles.appraising.accept_enrolment",
        "REQ-SETUP-13": "carnet_ref.systems.gpu_travelling.roles.custody.order_rotation",
        "REQ-PLATFORM-01": "carnet_ref.transport.platform.Platform.route",
        "REQ-KEY-01": "carnet_ref.systems.gpu_travelling.roles.links.Link.draw",
        "REQ-KEY-02": "carnet_ref.systems.gpu_travelling.roles.custody.order_rotation",
        "REQ-KEY-03": "carnet_ref.systems.gpu_travelling.roles.custody.lend",
        "REQ-KEY-04": "carnet_ref.device.engines.CopyEngines.accept",
        "REQ-KEY-05": "carnet_ref.systems.gpu_travelling.roles.facts.rotated",
        "REQ-KEY-06": "carnet_ref.systems.gpu_travelling.roles.return_order.stages",
        "REQ-KEY-07": "carnet_ref.keys.KeyUsage.count",
        "REQ-GRANT-01": "carnet_ref.systems.gpu_travelling.roles.custody.grant",
        "REQ-GRANT-02": "carnet_ref.systems.gpu_travelling.roles.custody.grant",
        "REQ-GRANT-03": "carnet_ref.systems.gpu_travelling.roles.custody._paper",
        "REQ-GRANT-04": "carnet_ref.systems.gpu_travelling.roles.holder.AwaitsGrant.on_grant",
        "REQ-GRANT-05": "carnet_ref.systems.gpu_travelling.roles.holder.AwaitsGrant.on_grant",
        "REQ-DATA-01": "carnet_ref.systems.gpu_travelling.roles.holder.Provides.on_proceed",
        "REQ-DATA-02": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "REQ-IV-01": "carnet_ref.keys.IvCounter.advance",
        "REQ-IV-02": "carnet_ref.device.engines.CopyEngines.open",
        "REQ-IV-03": "carnet_ref.systems.gpu_travelling.roles.links.Link.count_borrowed",
        "REQ-RETURN-01": "carnet_ref.systems.gpu_travelling.roles.holder.Provides._give_back",
        "REQ-RETURN-02": "carnet_ref.systems.gpu_travelling.roles.custody.AwaitsReturn._is_due",
        "REQ-RETURN-03": "carnet_ref.systems.gpu_travelling.roles.custody.AwaitsReturn._evict",
        "REQ-RETURN-04": "carnet_ref.systems.gpu_travelling.roles.custody.AwaitsReturn.on_tick",
        "REQ-HOME-01": "carnet_ref.systems.gpu_travelling.roles.return_order.stages",
        "REQ-HOME-02": "carnet_ref.systems.gpu_travelling.roles.facts.fenced",
        "REQ-HOME-03": "carnet_ref.systems.gpu_travelling.roles.return_order.stages",
        "REQ-HOME-04": "carnet_ref.systems.gpu_travelling.roles.facts.verified",
        "REQ-HOME-05": "carnet_ref.systems.gpu_travelling.roles.facts.verified",
        "REQ-HOME-06": "carnet_ref.systems.gpu_travelling.roles.facts.verified",
        "REQ-TRAIN-01": "carnet_ref.systems.gpu_travelling.roles.returning._at_home",
        "REQ-TRAIN-02": "carnet_ref.systems.gpu_travelling.device.device.Device._train",
        "REQ-SCRUB-01": "carnet_ref.systems.gpu_travelling.roles.returning._at_home",
        "REQ-SCRUB-02": "carnet_ref.systems.gpu_travelling.device.device.Device.scrub",
        "REQ-SCRUB-03": "carnet_ref.systems.gpu_travelling.roles.facts.scrubbed",
        "REQ-STOP-01": "carnet_ref.systems.gpu_travelling.roles.setup.restart",
        "CLAIM-NO-SILENT-RESET": "carnet_ref.systems.gpu_travelling.roles.setup.restart",
    }
)
"""Requirements, by their ids, and the one place that enforces each.

Claims follow from many places together, those of the defences that their proofs use; one rests on none of these, and
its place is here.
"""
