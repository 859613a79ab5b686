"""What steps and elements of the specification are called in traces, and where in the code they are.

Traces are checked against the specification by these names; the documentation shows the table, and a test finds every
place that it names. Where requirements are enforced is read from the code itself: see module `citations`.
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
        "Address": Named("`the buffer`, or `elsewhere`", "carnet_ref.systems.gpu_travelling.names.address_name"),
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
        "Mode": Named("`CONFIDENTIAL`, `OPEN`, `DEBUG` or `OUTDATED`", "carnet_ref.device.Mode"),
        "Order": Named("not named: the kind of step says it", "carnet_ref.systems.gpu_travelling.device.orders.Order"),
        "Phase": Named(
            "not named: the orchestrator's state", "carnet_ref.systems.gpu_travelling.roles.states.OrchestratorState"
        ),
        "Session": Named(
            "a digest of the key exchange, which both ends see",
            "carnet_ref.systems.gpu_travelling.roles.ports.SessionEnd",
        ),
        "Slot": Named(
            "the message counter of the IV, the channel counter, or an order's number in its epoch, from 0",
            "carnet_ref.keys.IvCounter",
        ),
        "Version": Named(
            "the model's digest, and the epoch that it was trained in",
            "carnet_ref.systems.gpu_travelling.names.version_name",
        ),
    }
)
"""Elements, by the sorts of the specification."""

STEPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "open_session": "carnet_ref.systems.gpu_travelling.roles.setup.Setup.handshake",
        "answer_session": "carnet_ref.systems.gpu_travelling.roles.gpu.AwaitsSession",
        "lose_session": "carnet_ref.systems.gpu_travelling.roles.gpu.Gpu.handle",
        "give_report": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_session",
        "accept_gpu": "carnet_ref.systems.gpu_travelling.roles.setup.Setup.accept",
        "attest_orchestrator": "carnet_ref.systems.gpu_travelling.roles.appraising.accept_orchestrator",
        "prove_enrolment": "carnet_ref.systems.gpu_travelling.roles.appraising.prove_enrolment",
        "admit": "carnet_ref.systems.gpu_travelling.roles.facts.enrolled",
        "switch_mux": "carnet_ref.transport.platform.Platform.route",
        "rotate_out": "carnet_ref.systems.gpu_travelling.roles.custody.Lending.order_rotation",
        "gpu_rotate_out": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.obey",
        "rotated_out": "carnet_ref.systems.gpu_travelling.roles.custody.Lending.rotated_out",
        "grant": "carnet_ref.systems.gpu_travelling.roles.custody.Lending.grant",
        "accept_grant": "carnet_ref.systems.gpu_travelling.roles.holder.AwaitsGrant.on_grant",
        "provision": "carnet_ref.systems.gpu_travelling.roles.holder.Provides.on_proceed",
        "gpu_receive": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "give_back": "carnet_ref.systems.gpu_travelling.roles.holder.Provides.on_proceed",
        "take_back": "carnet_ref.systems.gpu_travelling.roles.custody.Lending.take_back",
        "evict": "carnet_ref.systems.gpu_travelling.roles.custody.Lending.evict",
        "rotate_in": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.rotate_in",
        "gpu_rotate_in": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.obey",
        "rotated_in": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.rotated_in",
        "send_fence": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.fence",
        "exec_fence": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.obey",
        "fenced": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.fenced",
        "upload": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.upload",
        "exec_upload": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.on_link",
        "send_read_back": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.read_back",
        "exec_read_back": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.obey",
        "verified": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.verified",
        "send_train": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.train",
        "exec_train": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.obey",
        "trained": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.trained",
        "send_save": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.save",
        "exec_save": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.obey",
        "saved": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.saved",
        "send_scrub": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.scrub",
        "exec_scrub": "carnet_ref.systems.gpu_travelling.roles.gpu.InSession.obey",
        "scrubbed": "carnet_ref.systems.gpu_travelling.roles.returning.Returning.scrubbed",
    }
)
"""Steps that roles record, by the actions of the specification, and what takes them."""
