"""The entry of an identifier in ``carnet explain``: plain data, which can be cached and read without the protocol."""

from __future__ import annotations

from collections.abc import Mapping
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
    variants: tuple[str, ...] = ()  #: The variants that have it, if the first main variant and its layers do not.

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values: tuples as lists."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Entry:
        """Return the entry with these fields, as :meth:`as_json` writes them."""
        values: dict[str, Any] = {
            name: tuple(each) if isinstance(each, list) else each for name, each in fields.items()
        }
        return cls(**values)

    def is_called(self, id: str) -> bool:
        """Whether an id, perhaps with the protocol's id in front, names this entry."""
        return id in (self.id, f"{self.protocol}-{self.id}")
