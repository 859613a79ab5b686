"""Families: a protocol with its variants, profiles and findings, as it is registered under one id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from carnet_spec.language.draft import Draft
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.instance import Instance
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.requirements import NormativeText

Scale = Mapping[str, int]
"""Sizes of an instance by name, for instance ``{"holders": 2, "rounds": 1}``."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One design choice.

    ``label`` is printed with every verdict (``needs firmware``); ``expected`` gives, for a claim and a threat model,
    the verdict that differs from the claim's own expectation: PROVED or VIOLATED.
    """

    name: str
    title: str
    label: str = ""
    without: tuple[str, ...] = ()
    """Defences that the variant lacks."""
    over: str = ""
    """The variant that this one adds a layer to; the layer's claims are checked together with that variant's."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An attack that must be found: a variant or removed defences, a threat model and the claim that falls."""

    id: str
    title: str
    threat: str
    claim: str
    variant: str = ""
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """A size of instance for explicit search; without ``budget`` the adversary is unbounded."""

    name: str
    scale: Scale
    budget: int | None = None
    title: str = ""


@dataclass(frozen=True)
class Family:
    """Everything registered under one protocol id.

    Attributes:
        draft: builds the draft of a variant.
        main: the variants that ``carnet verify`` covers by default, the first being the default everywhere else.
        instance: builds the finite instance for a protocol, a threat id and a scale.
        hunts: the sizes that a search for an attack goes through, small to large, with their adversary budgets.
        round_goal: the goal that a whole round leads to, whose run the documentation draws; empty: it draws none.
        text: the normative text; a family that brings none has that of ``requirements.md`` beside the module that it is
            loaded from, if there is one.
    """

    id: str
    title: str
    draft: Callable[[str], Draft]
    instance: Callable[[Protocol, str, Scale], Instance]
    variants: Mapping[str, Variant]
    main: tuple[str, ...]
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    hunts: tuple[Profile, ...] = ()
    findings: tuple[Finding, ...] = ()
    round_goal: str = ""
    text: NormativeText = field(default_factory=NormativeText)

    def protocol(self, variant: str = "", without: tuple[str, ...] = ()) -> Protocol:
        """Build a variant (by default the first main one) with further defences removed.

        Raises:
            SpecificationError: the variant or a defence is unknown.
        """
        name = variant or self.main[0]
        if name not in self.variants:
            known = ", ".join(self.variants)
            raise SpecificationError(f"no variant '{name}' in {self.id}; known: {known}")
        return self.draft(name).protocol((*self.variants[name].without, *without))

    def with_layers(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the variants called ``names``, each followed by the layers over it."""
        layered = (
            (name, *(layer.name for layer in self.variants.values() if layer.over and layer.over == name))
            for name in names
        )
        return tuple(dict.fromkeys(name for group in layered for name in group))

    def profile(self, name: str) -> Profile:
        """Return the profile called ``name``.

        Raises:
            SpecificationError: there is none.
        """
        if name not in self.profiles:
            raise SpecificationError(f"no profile '{name}' in {self.id}; known: {', '.join(self.profiles)}")
        return self.profiles[name]
