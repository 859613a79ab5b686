"""What steps and elements of the specification are called in traces, and where in the code they are.

Traces are checked against the specification by these names; the documentation shows the table, and a test finds every
place that it names. Where requirements are enforced is read from the code itself: see module `citations`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

HERE: Final = "carnet_ref.systems.gpu_travelling."
ROLES: Final = f"{HERE}roles."


@dataclass(frozen=True, slots=True)
class Named:
    """What an element of a sort is called in a trace, and where that name is kept."""

    trace: str
    code: str


#: Elements, by the sorts of the specification.
ELEMENTS: Final[Mapping[str, Named]] = MappingProxyType(
    {
        "Address": Named("`the buffer`, or `elsewhere`", f"{HERE}names.address_name"),
        "Agent": Named("the holder's name, `orchestrator` or `platform`", f"{ROLES}holder.HolderSetup"),
        "Custody": Named("not named: a state of the orchestrator", f"{ROLES}job.Custody"),
        "Data": Named("`alice's chunk 2`: the second chunk of a hand-over", f"{HERE}orders.Write"),
        "Gpu": Named("the GPU's name", f"{ROLES}gpu.Gpu"),
        "Key": Named("`session/epoch`: epochs of a session are counted from 0", "carnet_ref.keys.LinkKeys"),
        "Mode": Named("`CONFIDENTIAL`, `OPEN`, `DEBUG` or `OUTDATED`", "carnet_ref.device.Mode"),
        "Order": Named("not named: the kind of step says it", f"{HERE}orders.Order"),
        "Phase": Named("not named: the orchestrator's state", f"{ROLES}states.OrchestratorState"),
        "Session": Named("a digest of the key exchange, which both ends see", f"{ROLES}attestation.SessionEnd"),
        "Slot": Named(
            "the message counter of the IV, the channel counter, or an order's number in its epoch, from 0",
            "carnet_ref.keys.IvCounter",
        ),
        "Version": Named("the model's digest, and the epoch that it was trained in", f"{HERE}names.version_name"),
    }
)

#: Steps that roles record, by the actions of the specification, and what takes them.
STEPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "open_session": f"{ROLES}setup.Setup.handshake",
        "answer_session": f"{ROLES}gpu.AwaitsSession",
        "lose_session": f"{ROLES}gpu.Gpu.handle",
        "give_report": f"{ROLES}gpu.InSession.on_session",
        "accept_gpu": f"{ROLES}setup.Setup.accept",
        "attest_orchestrator": f"{ROLES}attestation.accept_orchestrator",
        "prove_enrolment": f"{ROLES}attestation.prove_enrolment",
        "admit": f"{ROLES}facts.establish_enrolment",
        "switch_mux": "carnet_ref.transport.platform.Platform.route",
        "rotate_out": f"{ROLES}custody.Lending.order_rotation",
        "gpu_rotate_out": f"{ROLES}gpu.InSession.obey",
        "rotated_out": f"{ROLES}custody.Lending.rotated_out",
        "grant": f"{ROLES}custody.Lending.grant",
        "accept_grant": f"{ROLES}holder.AwaitsGrant.on_grant",
        "provision": f"{ROLES}holder.Provides.on_proceed",
        "gpu_receive": f"{ROLES}gpu.InSession.on_link",
        "give_back": f"{ROLES}holder.Provides.on_proceed",
        "take_back": f"{ROLES}custody.Lending.take_back",
        "evict": f"{ROLES}custody.Lending.evict",
        "rotate_in": f"{ROLES}returning.Returning.rotate_in",
        "gpu_rotate_in": f"{ROLES}gpu.InSession.obey",
        "rotated_in": f"{ROLES}returning.Returning.rotated_in",
        "send_fence": f"{ROLES}returning.Returning.fence",
        "exec_fence": f"{ROLES}gpu.InSession.obey",
        "fenced": f"{ROLES}returning.Returning.fenced",
        "upload": f"{ROLES}returning.Returning.upload",
        "exec_upload": f"{ROLES}gpu.InSession.on_link",
        "send_read_back": f"{ROLES}returning.Returning.read_back",
        "exec_read_back": f"{ROLES}gpu.InSession.obey",
        "verified": f"{ROLES}returning.Returning.verified",
        "send_train": f"{ROLES}returning.Returning.train",
        "exec_train": f"{ROLES}gpu.InSession.obey",
        "trained": f"{ROLES}returning.Returning.trained",
        "send_save": f"{ROLES}returning.Returning.save",
        "exec_save": f"{ROLES}gpu.InSession.obey",
        "saved": f"{ROLES}returning.Returning.saved",
        "send_scrub": f"{ROLES}returning.Returning.scrub",
        "exec_scrub": f"{ROLES}gpu.InSession.obey",
        "scrubbed": f"{ROLES}returning.Returning.scrubbed",
    }
)
