"""DarKnight: batches of inputs, added up with noise, on processors of which some may work together.

In reading order: the text (requirements.md), the cases that are counted and calculated (cases), what is claimed
(claims), and the whole (design).
"""

from carnet_spec.protocols.darknight.design import FAMILY as FAMILY
