"""Where each registered protocol lives; nothing is imported until it is asked for."""

from __future__ import annotations

REGISTRY: dict[str, str] = {
    "gpu-travelling": "carnet_spec.protocols.gpu_travelling:FAMILY",
}
"""Protocol ids, and for each the ``module:attribute`` of its family."""

DEFAULT = "gpu-travelling"
"""The protocol that ``carnet verify`` takes when it is told none."""
