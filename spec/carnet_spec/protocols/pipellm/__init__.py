"""PipeLLM: blocks are encrypted before the application asks for them, under the IV predicted for that moment.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims), and the whole, with how large it is where states are counted (design).
"""

from carnet_spec.protocols.pipellm.design import FAMILY as FAMILY
