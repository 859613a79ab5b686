"""Fastrack: a user shares a key with the GPU, chunks are verified in parallel, and decryption overlaps the transfer.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims), and the whole, with how large it is where states are counted (design).
"""

from carnet_spec.protocols.fastrack.design import FAMILY as FAMILY
