"""Arguments for mutants that survive: checked in beside the specification, and good for one digest alone.

A person argues why a surviving change is none that matters. The argument names the variant and its digest; when the
specification changes, it has to be made again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carnet_check.certificates.file import NAME as CERTIFICATES
from carnet_check.certificates.file import place_of
from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.families import Source
from carnet_check.mutation.mutant import Mutant
from carnet_check.mutation.pairs import possible_pairs
from carnet_command.files import reason

NAME = "argued-mutants.toml"
MOST = 0.05
"""Of all mutants of a family, the share that may be argued."""
FIELDS = {"mutant", "variant", "digest", "argument"}


@dataclass(frozen=True, slots=True)
class Argument:
    """Why a mutant may survive, for one digest of a variant."""

    mutant: str
    variant: str
    digest: str
    argument: str

    @property
    def key(self) -> str:
        """The key of the mutant that it is about."""
        return f"{self.variant}: {self.mutant}"


def arguments_of(source: Source) -> tuple[Argument, ...]:
    """Return the arguments that lie beside a specification.

    Raises:
        InvalidSpecificationError: the file is malformed, or argues one mutant twice.
    """
    place = place_beside(source)
    if place is None or not place.is_file():
        return ()
    try:
        found = tomllib.loads(place.read_text("utf-8"))
    except OSError as error:
        raise InvalidSpecificationError(f"cannot read '{place}': {reason(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSpecificationError(f"'{place}' is no TOML: {error}") from None
    listed = found.get("argued", [])
    if set(found) - {"argued"} or not isinstance(listed, list):
        raise InvalidSpecificationError(f"'{place}': expected [[argued]] alone")
    arguments = tuple(_argument(each, place) for each in listed)
    keys = [each.key for each in arguments]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise InvalidSpecificationError(f"'{place}' argues {twice[0]} twice")
    return arguments


def place_beside(source: Source) -> Path | None:
    """Return where the arguments lie, whether there are any or not: beside the certificates."""
    certificates = place_of(source)
    return certificates and certificates.with_name(certificates.name.replace(CERTIFICATES, NAME))


def _argument(value: Any, place: Path) -> Argument:
    if not isinstance(value, Mapping) or set(value) != FIELDS or not all(isinstance(v, str) for v in value.values()):
        raise InvalidSpecificationError(
            f"'{place}': expected the texts {', '.join(sorted(FIELDS))}, not {value!r:.120}"
        )
    if not value["argument"].strip():
        raise InvalidSpecificationError(f"'{place}' has no argument for {value['mutant']}")
    return Argument(**value)


def require_valid(arguments: Collection[Argument], mutants: Collection[Mutant], digests: Mapping[str, str]) -> None:
    """Refuse arguments about mutants that are not there, or about another specification, and too many of them.

    Args:
        arguments: those that lie beside the specification.
        mutants: all mutants of the variants that are judged.
        digests: the digests of these variants; arguments about others are passed over.

    Raises:
        InvalidSpecificationError: with what is wrong.
    """
    known = {mutant.key for mutant in mutants} | possible_pairs(mutants)
    for each in arguments:
        if each.variant not in digests:
            continue
        if each.key not in known:
            raise InvalidSpecificationError(f"{NAME} argues '{each.key}', and there is no such mutant")
        if digests[each.variant] != each.digest:
            raise InvalidSpecificationError(
                f"{NAME}: the argument for '{each.key}' has expired, because the specification changed: "
                f"look at it again, and give it the digest {digests[each.variant]}"
            )
    argued = sum(each.variant in digests for each in arguments)
    if argued > MOST * len(mutants):
        raise InvalidSpecificationError(
            f"{NAME} argues {argued} of {len(mutants)} mutants; at most {MOST:.0%} may be argued"
        )
