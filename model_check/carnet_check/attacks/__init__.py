"""Attacks: found, minimised, replayed, told as sentences, drawn and written as ITF.

The judge of everything here is the interpreter; an attack that it does not reproduce is an internal error.
"""

from __future__ import annotations

from carnet_check.attacks.hunt import Hunt, hunt
from carnet_check.attacks.mermaid import mermaid
from carnet_check.attacks.minimise import minimise
from carnet_check.exports.itf import itf
from carnet_check.wording.narrate import narrate, reason

__all__ = ["Hunt", "hunt", "itf", "mermaid", "minimise", "narrate", "reason"]
