"""Errors of the specification language; each says what to write instead."""


class SpecificationError(Exception):
    """A specification is not well formed."""


class MisuseError(SpecificationError, TypeError):
    """An expression was written in a way that cannot be traced, or has the wrong sorts."""
