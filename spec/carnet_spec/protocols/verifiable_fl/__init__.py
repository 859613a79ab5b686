"""Verifiable claims about training: an auditor accepts only what is true of the run, and exclaves hold no secret.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims), and the whole, with how large it is where states are counted (design).
"""

from carnet_spec.protocols.verifiable_fl.design import FAMILY as FAMILY
