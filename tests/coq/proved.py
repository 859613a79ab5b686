"""What is to be proved of a protocol, and so has a theorem."""

from __future__ import annotations

from collections.abc import Iterator

from carnet_spec.language import Protocol


def to_be_proved(protocol: Protocol) -> Iterator[tuple[str, str]]:
    """Yield the threat models and claims that ``carnet verify`` is to call PROVED."""
    for claim in protocol.claims:
        if not claim.declared:
            for threat in claim.under:
                if threat not in claim.fails_under:
                    yield threat, claim.name
