"""CodedPrivateML: blocks of data and random ones on a polynomial, of which each worker is given a value.

In reading order: the text (requirements.md), the cases that are counted and calculated (cases), what is claimed
(claims), and the whole (design).
"""

from carnet_spec.protocols.coded_private_ml.design import FAMILY as FAMILY
