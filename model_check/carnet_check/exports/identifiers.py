"""Unique identifiers in another language for the names of a specification."""

import re
from collections.abc import Hashable, Iterable


class Identifiers:
    """Assigns identifiers of letters, digits and underscores."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        """Begin with the words that mean something else already."""
        self._given: dict[Hashable, str] = {}
        self._taken = set(reserved)

    def of(self, thing: Hashable, *words: str) -> str:
        """Return the identifier of ``thing``, spelt with ``words``, and with a number if that spelling is taken."""
        if thing not in self._given:
            plain = re.sub(r"\W+", "_", "_".join(word for word in words if word), flags=re.ASCII).strip("_")
            plain = plain if plain[:1].isalpha() else f"x_{plain}".rstrip("_")
            found, number = plain, 2
            while found in self._taken:
                found, number = f"{plain}_{number}", number + 1
            self._taken.add(found)
            self._given[thing] = found
        return self._given[thing]

    def is_taken(self, name: str) -> bool:
        """Whether a name is reserved or assigned already."""
        return name in self._taken
