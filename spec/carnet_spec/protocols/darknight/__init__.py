"""DarKnight: batches of inputs, combined linearly with noise, on accelerators of which some may collude.

In reading order: the text (requirements.md), the cases that are counted and calculated (cases), what is claimed
(claims), and the whole (design).
"""

from carnet_spec.protocols.darknight.design import FAMILY as FAMILY
