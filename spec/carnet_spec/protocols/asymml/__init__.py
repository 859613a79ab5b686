"""AsymML: convolutions split between a TEE and a GPU, which gets clipped and noised residuals.

In reading order: the text (requirements.md), the cases of each lemma claim (cases), what is first-order of them and
what is claimed (claims), and the whole (design).
"""

from carnet_spec.protocols.asymml.design import FAMILY as FAMILY
