"""What a relying party asks of a GPU or switch, and of a whole node, as data.

A policy that asks for no step accepts nothing. The steps ``parse``, ``chain``, ``validity`` and ``signature`` are taken
whatever the policy says, and so is every step that evidence was given for; a policy names the steps without which it
will not accept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from carnet_ref.attestation.nvidia.report import Mode
from carnet_ref.wire import MalformedError, bounded_json

WHAT = "policy"
LARGEST = 64 * 1024
STEPS = (
    "parse",
    "chain",
    "validity",
    "revocation",
    "signature",
    "firmware-id",
    "nonce",
    "driver-rim",
    "vbios-rim",
    "rim-revocation",
    "measurements",
    "mode",
    "debug",
    "policy",
)
DEFAULT_STEPS = frozenset({"chain", "validity", "signature"})
DRIVER = re.compile(r"[0-9]{1,5}(\.[0-9]{1,5}){0,4}")
VBIOS = re.compile(r"[0-9A-Fa-f]{2}(\.[0-9A-Fa-f]{2}){4}")
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Policy:
    """What is asked.

    Attributes:
        require: the steps that must have been taken and have held; ``revocation`` is asked of every signer, so where
            reference values are given it asks for ``rim-revocation``, too.
        products: the chips accepted, such as ``GH100``; ``None``: any.
        minimum_driver: the oldest driver accepted, such as ``550.90.07``; ``None``: any.
        minimum_vbios: the oldest VBIOS accepted, such as ``96.00.9F.00.01``; ``None``: any.
        modes: the modes accepted; ``None``: any.
        allow_debug: whether a device may say that it is debugged, or was since its last reset.
        result_ttl: for how many seconds a result may be relied on.
    """

    require: frozenset[str] = frozenset()
    products: frozenset[str] | None = None
    minimum_driver: str | None = None
    minimum_vbios: str | None = None
    modes: frozenset[Mode] | None = None
    allow_debug: bool = False
    result_ttl: int = field(default=HOUR)


@dataclass(frozen=True, slots=True)
class Firmware:
    """The versions of what runs on a device: of the driver's part, and of the VBIOS."""

    driver: str
    vbios: str


DEFAULT_POLICY = Policy(require=DEFAULT_STEPS)


def parse_policy(data: bytes) -> Policy:
    """Read a policy from a JSON object whose keys are the attributes of `Policy`.

    Raises MalformedError if ``data`` is something else.
    """
    return policy_of(policy_object(data))


def policy_object(data: bytes) -> dict[str, object]:
    """Read the JSON object that every policy is. Raises MalformedError if ``data`` is something else."""
    given = bounded_json(data, WHAT, LARGEST, "a JSON object")
    if not isinstance(given, dict):
        raise MalformedError(WHAT, "a JSON object", type(given).__name__)
    return given


def policy_of(given: dict[str, object]) -> Policy:
    """Return the policy with these attributes.

    Raises MalformedError if one is unknown, or has a value that it cannot have.
    """
    unknown = sorted(set(given) - set(Policy.__dataclass_fields__))
    if unknown:
        raise MalformedError(WHAT, f"only {', '.join(Policy.__dataclass_fields__)}", ascii(unknown[0][:100]))
    modes = _words(given, "modes", tuple(Mode))
    return Policy(
        _words(given, "require", STEPS) or frozenset(),
        _words(given, "products", None),
        _version(given, "minimum_driver", DRIVER),
        _version(given, "minimum_vbios", VBIOS),
        None if modes is None else frozenset(Mode(mode) for mode in modes),
        _flag(given, "allow_debug"),
        _seconds(given, "result_ttl"),
    )


def _words(given: dict[str, object], key: str, allowed: tuple[str, ...] | None) -> frozenset[str] | None:
    if key not in given:
        return None
    value = given[key]
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise MalformedError(WHAT, f"{key} to be a list of strings", type(value).__name__)
    wrong = [word for word in value if allowed is not None and word not in allowed]
    if wrong:
        raise MalformedError(WHAT, f"{key} out of {', '.join(allowed or ())}", ascii(wrong[0][:100]))
    return frozenset(value)


def _version(given: dict[str, object], key: str, form: re.Pattern[str]) -> str | None:
    value = given.get(key)
    if value is not None and not (isinstance(value, str) and form.fullmatch(value)):
        raise MalformedError(WHAT, f"{key} to be a version", ascii(value)[:100])
    return value


def _flag(given: dict[str, object], key: str) -> bool:
    value = given.get(key, False)
    if not isinstance(value, bool):
        raise MalformedError(WHAT, f"{key} to be true or false", ascii(value)[:100])
    return value


def _seconds(given: dict[str, object], key: str) -> int:
    value = given.get(key, HOUR)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise MalformedError(WHAT, f"{key} to be a number of seconds", ascii(value)[:100])
    return value


def at_least(version: str | None, minimum: str, base: int) -> bool:
    """Whether ``version`` is ``minimum`` or newer, both being numbers in ``base`` with dots between them."""
    if version is None:
        return False
    try:
        return [int(part, base) for part in version.split(".")] >= [int(part, base) for part in minimum.split(".")]
    except ValueError:
        return False


NODE_KEYS: Final = ("gpus", "switches", "require_links")
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

    device: Policy = field(default=DEFAULT_POLICY)
    gpus: int | None = None
    switches: int | None = None
    require_links: bool | None = None

    @property
    def switch(self) -> Policy:
        """What is asked of each switch: the same, but for what only GPUs state; always that it signed its report."""
        asked = self.device.require and (self.device.require - ONLY_GPUS) | {"signature"}
        return replace(self.device, require=asked, modes=None)


DEFAULT_NODE_POLICY: Final = NodePolicy()


def parse_node_policy(data: bytes) -> NodePolicy:
    """Read a policy from a JSON object with the keys of `carnet_ref.attestation.nvidia.policy.Policy` and ``KEYS``.

    Raises MalformedError if ``data`` is something else.
    """
    given = policy_object(data)
    of_device = {key: value for key, value in given.items() if key not in NODE_KEYS}
    links = given.get("require_links")
    if not isinstance(links, bool | None):
        raise MalformedError(WHAT, "require_links to be true or false", ascii(links)[:100])
    device = policy_of(of_device)
    return NodePolicy(device, _count(given, "gpus", 1), _count(given, "switches", 0), links)


def _count(given: dict[str, object], key: str, least: int) -> int | None:
    value = given.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise MalformedError(WHAT, f"{key} to be a number from {least}", ascii(value)[:100])
    return value
