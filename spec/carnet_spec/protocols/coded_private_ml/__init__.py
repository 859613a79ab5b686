"""CodedPrivateML: data blocks and random blocks define a polynomial; each worker gets one of its values.

In reading order: the text (requirements.md), the cases that are counted and calculated (cases), what is claimed
(claims), and the whole (design).
"""

from carnet_spec.protocols.coded_private_ml.design import FAMILY as FAMILY
