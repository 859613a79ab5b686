"""Whether two readings of one file say the same."""

from __future__ import annotations

import itertools
from pathlib import Path

from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.default_instance import default_instance
from carnet_spec.language import Family, Instance, Profile, Protocol


def changing(file: Path, what: str) -> InvalidSpecificationError:
    """Return the refusal of a file in which something differs each time that it is read."""
    return InvalidSpecificationError(
        f"{file.name}: {what} says something else each time that it is loaded: "
        "let nothing in it depend on chance, on the time or on the system"
    )


def same_instances(one: Family, other: Family) -> bool:
    """Whether the instances of all profiles of two readings of a family are the same."""
    if one.instance is default_instance:
        return True
    for variant in one.main:
        protocol = one.protocol(variant)
        for threat, profile in itertools.product(protocol.threats, one.profiles.values()):
            first, second = (_made(each, each.protocol(variant), threat.id, profile) for each in (one, other))
            if first != second:
                return False
    return True


def _made(family: Family, protocol: Protocol, threat: str, profile: Profile) -> Instance | str:
    """Return an instance, or what is wrong with it: who asks for it is told."""
    try:
        return family.instance(protocol, threat, profile.scale)
    except Exception as error:  # the specification's own code, which may raise anything
        return f"{type(error).__name__}: {error}"
