"""What a relying party asks of a whole node, as data: of each device, of their number, and of their links."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from carnet_ref.attestation.nvidia import policy
from carnet_ref.attestation.nvidia.policy import WHAT
from carnet_ref.wire.reader import MalformedError

KEYS: Final = ("gpus", "switches", "require_links")
"""What a node's policy has beside the keys of a device's."""
ONLY_GPUS: Final = frozenset({"driver-rim", "mode", "firmware-id"})
"""Steps for which the reports of switches have nothing."""


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """What is asked.

    Attributes:
        device: what is asked of each GPU.
        gpus: how many GPUs there have to be; ``None``: any number from one.
        switches: how many switches there have to be; ``None``: any number.
        require_links: whether the links between GPUs and switches have to be compared; ``None``: in protected PCIe
            mode, where all that GPUs say to each other goes over switches.
    """

    device: policy.Policy = field(default=policy.DEFAULT_POLICY)
    gpus: int | None = None
    switches: int | None = None
    require_links: bool | None = None

    @property
    def switch(self) -> policy.Policy:
        """What is asked of each switch: the same, but for what only GPUs state; always that it signed its report."""
        asked = self.device.require and (self.device.require - ONLY_GPUS) | {"signature"}
        return replace(self.device, require=asked, modes=None)


DEFAULT_POLICY: Final = NodePolicy()


def parse_node_policy(data: bytes) -> NodePolicy:
    """Read a policy from a JSON object with the keys of `carnet_ref.attestation.nvidia.policy.Policy` and ``KEYS``.

    Raises:
        MalformedError: ``data`` is something else.
    """
    given = policy.policy_object(data)
    of_device = {key: value for key, value in given.items() if key not in KEYS}
    links = given.get("require_links")
    if not isinstance(links, bool | None):
        raise MalformedError(WHAT, "require_links to be true or false", ascii(links)[:100])
    device = policy.policy_of(of_device)
    return NodePolicy(device, _count(given, "gpus", 1), _count(given, "switches", 0), links)


def _count(given: dict[str, object], key: str, least: int) -> int | None:
    value = given.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise MalformedError(WHAT, f"{key} to be a number from {least}", ascii(value)[:100])
    return value
