"""Which sizes a family knows: a size that none of its instances depends on would change nothing, without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from carnet_spec.language import Family, Instance, Protocol, Scale


class _Listed(str):
    """The name of a size that was taken from the scale itself: who looks it up need not know it."""

    __slots__ = ()


class Watched(Mapping[str, int]):
    """A scale that keeps the names of the sizes that were looked up in it, by who knows them."""

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self.looked_up: dict[str, None] = {}

    def __getitem__(self, name: str) -> int:
        if not isinstance(name, _Listed):
            self.looked_up[name] = None
        return self._scale[name]

    def __iter__(self) -> Iterator[str]:
        return map(_Listed, self._scale)

    def __len__(self) -> int:
        return len(self._scale)


def named_sizes(family: Family) -> dict[str, None]:
    """Return the sizes that the profiles, the hunts and the options of a family name, in order."""
    profiles = (*family.profiles.values(), *family.hunts)
    return dict.fromkeys((*(name for profile in profiles for name in profile.scale), *family.options))


def grows_with(name: str, family: Family, protocol: Protocol, threat: str, scale: Scale, instance: Instance) -> bool:
    """Whether one more of a size makes another instance than this one, or one that the family refuses."""
    try:
        return family.instance(protocol, threat, {**scale, name: scale[name] + 1}) != instance
    except (
        Exception
    ):  # a family's code may raise anything, and only where it looked at the size, since it took one less
        return True
