"""The entry of an identifier in ``carnet explain``: plain data, which can be cached and read without the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One meaning of an identifier."""

    id: str
    kind: str
    protocol: str
    sentence: str
    source: str = ""
    enforced_by: tuple[str, ...] = ()
    check: str = ""
    text: str = ""
    variants: tuple[str, ...] = ()
    """The variants that have it, if the first main variant and its layers do not."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        told = {name: getattr(self, name) for name in self.__slots__}
        return told | {"enforced_by": list(self.enforced_by), "variants": list(self.variants)}

    def is_called(self, id: str) -> bool:
        """Whether an id, perhaps with the protocol's id in front, names this entry."""
        return id in (self.id, f"{self.protocol}-{self.id}")
