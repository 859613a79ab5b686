"""What the oracle says when it has no answer."""

from __future__ import annotations


class TooBigError(Exception):
    """There is more to look at than the budget allows: there is no answer."""


class NotASpecificationError(Exception):
    """The language gives this protocol no meaning."""
