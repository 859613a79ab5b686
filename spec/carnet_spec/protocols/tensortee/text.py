"""The normative text of TensorTEE, ``requirements.md``: the only place where its sentences are written."""

from __future__ import annotations

from carnet_spec.language.requirements import text_beside

TEXT = text_beside(__file__)


def sentence(id: str) -> str:
    """Return the normative sentence with this id."""
    return TEXT.requirements()[id].sentence
