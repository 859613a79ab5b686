"""SGX-LKL: the host's view of an enclave, and of a hand-over, does not depend on the data.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims), and the whole, with how large it is where states are counted (design).
"""

from carnet_spec.protocols.sgx_lkl.design import FAMILY as FAMILY
