"""Teechain for custody: an epoch is granted once, even if replicas are killed, rolled back or replaced.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims), and the whole, with how large it is where states are counted (design).
"""

from carnet_spec.protocols.teechain.design import FAMILY as FAMILY
