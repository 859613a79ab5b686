"""Ring all-reduce among GPU TEEs: sums of gradients go round a ring whose hops are encrypted and authenticated.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims), and the whole, with how large it is where states are counted (design).
"""

from carnet_spec.protocols.ring_all_reduce.design import FAMILY as FAMILY
