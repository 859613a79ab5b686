"""TensorTEE: CPU and NPU protect memory per tensor, and the NPU computes before it verifies.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims), and the whole, with how large it is where states are counted (design).
"""

from carnet_spec.protocols.tensortee.design import FAMILY as FAMILY
