"""Attacks: found, minimised, replayed and drawn.

The judge of everything here is the interpreter; an attack that it does not reproduce is an internal error.
"""

from __future__ import annotations

from carnet_check.attacks.describing import mermaid
from carnet_check.attacks.hunt import Hunt, hunt
from carnet_check.attacks.minimise import minimise

__all__ = ["Hunt", "hunt", "mermaid", "minimise"]
