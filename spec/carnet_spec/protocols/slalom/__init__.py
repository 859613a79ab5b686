"""Slalom: linear layers computed by an untrusted processor on blinded values, with checked results.

In reading order: the text (requirements.md), what is counted (counting), what is first-order of it and what is claimed
(claims), and the whole (design).
"""

from carnet_spec.protocols.slalom.design import FAMILY as FAMILY
