"""Where each registered protocol lives; nothing is imported until it is asked for.

Carnet's own protocols are listed here. An installed package registers another one by an entry point of the group
``carnet.protocols``, whose name is the protocol's id and whose value is the ``module:attribute`` of its family.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from carnet_spec.language.errors import SpecificationError

ENTRY_POINTS = "carnet.protocols"
OWN = {
    "gpu-travelling": "carnet_spec.protocols.gpu_travelling:FAMILY",
    "fastrack": "carnet_spec.protocols.fastrack:FAMILY",
}
"""The protocols of this package."""
DEFAULT = next(iter(OWN))
"""The protocol that ``carnet verify`` takes when it is told none."""


def registered() -> dict[str, str]:
    """Return all protocol ids, and for each the ``module:attribute`` of its family.

    Raises:
        SpecificationError: two packages register a protocol under the same id.
    """
    found = dict(OWN)
    for entry in entry_points(group=ENTRY_POINTS):
        if found.setdefault(entry.name, entry.value) != entry.value:
            raise SpecificationError(
                f"protocol '{entry.name}' is registered twice, as {found[entry.name]} and as {entry.value}: rename one"
            )
    return found
