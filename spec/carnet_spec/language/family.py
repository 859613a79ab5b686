"""Families: a protocol with its variants, profiles and findings, as it is registered under one id."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import Enum

from carnet_spec.language.draft import Draft
from carnet_spec.language.errors import MisuseError, SpecificationError
from carnet_spec.language.instance import Instance
from carnet_spec.language.naming import and_known, require_fields
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.requirements import NormativeText
from carnet_spec.language.statements import Goal

Scale = Mapping[str, int]
"""Sizes of an instance by name, for instance ``{"holders": 2, "rounds": 1}``."""

DIRECTED = "directed"
"""The profile, where a family has it, for goals that need more rounds than the profile of a run has."""


def all_sizes(scale: Scale, defaults: Scale, where: str) -> dict[str, int]:
    """Return every size of a family: what the scale says, and the default where it says nothing.

    Raises:
        SpecificationError: the scale names a size that the family ``where`` does not have.
    """
    sizes = {name: scale.get(name, default) for name, default in defaults.items()}
    for name in scale:
        if name not in sizes:
            raise SpecificationError(f"no size '{name}' in {where}{and_known(name, sizes)}")
    return sizes


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
    hunts: tuple[Profile, ...] = ()
    """The sizes that a search for an attack on this variant goes through, where those of the family lack its parts.

    ``carnet verify`` goes through them, too, for what is expected to fall and stands in the instances of its profile.
    """

    def __post_init__(self) -> None:
        require_fields(self, f"Variant {self.name!r}", name=str, title=str, label=str, over=str)
        require_fields(self, f"Variant {self.name!r}", without=(str,), hunts=(Profile,))


@dataclass(frozen=True, slots=True)
class Finding:
    """An attack that must be found: a variant or removed defences, a threat model and the claim that falls."""

    id: str
    title: str
    threat: str
    claim: str
    variant: str = ""
    without: tuple[str, ...] = ()
    about: str = ""
    """The design that it is a finding about, where a family tells several apart."""

    def __post_init__(self) -> None:
        require_fields(self, f"Finding {self.id!r}", id=str, title=str, threat=str, claim=str, variant=str, about=str)
        require_fields(self, f"Finding {self.id!r}", without=(str,))


@dataclass(frozen=True, slots=True)
class Service:
    """Something that a design asks of a part that its authors do not make, such as firmware.

    ``available`` says in one word what is publicly known of it, and ``where`` how anybody can tell.
    """

    id: str
    title: str
    available: str
    where: str
    needed_by: frozenset[str] = frozenset()
    """The variants that need it."""

    def __post_init__(self) -> None:
        require_fields(self, f"Service {self.id!r}", id=str, title=str, available=str, where=str, needed_by=Set)


class PartyKind(Enum):
    """What a party is, in words that fit every design, so that designs can be compared."""

    OTHERS = "others that take part"
    TEE = "TEE of a CPU"
    ACCELERATOR = "accelerators or workers"
    HOST = "host and network"


class Visibility(Enum):
    """What a party sees of the data of an honest one: the most first."""

    CLEAR = "clear"
    RESULT = "result"
    NOISED = "noised"
    MASKED = "masked"
    HIDDEN = "hidden"
    SHAPE = "shape"
    DIGESTS = "digests"

    @property
    def meaning(self) -> str:
        """What the word stands for."""
        return _MEANINGS[self]


_MEANINGS = {
    Visibility.CLEAR: "the data themselves",
    Visibility.RESULT: "what is computed from the data of several, such as a model or a grant",
    Visibility.NOISED: "a part of the data, clipped and noised",
    Visibility.MASKED: "values under masks or in a code, which are as likely for any other data",
    Visibility.HIDDEN: "ciphertext, with its size, its time and its way",
    Visibility.SHAPE: "ciphertext whose size, time and way are the same for any data",
    Visibility.DIGESTS: "digests and signatures, and no data",
}


@dataclass(frozen=True, slots=True)
class PartyView:
    """What one party sees of the data of an honest one, and what it is trusted for."""

    kind: PartyKind
    party: str
    """What the design calls it."""
    sees: Visibility
    detail: str
    """What exactly it sees, in words."""
    limited_by: tuple[str, ...] = ()
    """The claims that say that it sees no more; without any, nothing that is checked does."""
    trusted_for: str = ""
    """What it is relied on for; empty where nothing is."""
    assumed_in: tuple[str, ...] = ()
    """The assumptions, or hypotheses of lemma claims, that take this for granted."""

    def __post_init__(self) -> None:
        what = f"PartyView {self.party!r}"
        require_fields(self, what, kind=PartyKind, party=str, sees=Visibility, detail=str, limited_by=(str,))
        require_fields(self, what, trusted_for=str, assumed_in=(str,))
        if self.assumed_in and not self.trusted_for:
            raise MisuseError(f"{what}: 'assumed_in' names assumptions, and 'trusted_for' says nothing")


@dataclass(frozen=True, slots=True)
class Profile:
    """A size of instance for explicit search; without ``budget`` the adversary is unbounded."""

    name: str
    scale: Scale
    budget: int | None = None
    title: str = ""

    def __post_init__(self) -> None:
        require_fields(self, f"Profile {self.name!r}", name=str, scale={str: int}, budget=int | None, title=str)


def made_by_the_checker(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Stand for the instances of a family that gives none: whoever checks it makes them.

    Raises:
        SpecificationError: always; a checker puts its own function in this place.
    """
    raise SpecificationError(f"{protocol.id} gives no instance for {threat} and {dict(scale)}: the checker makes them")


@dataclass(frozen=True)
class Family:
    """Everything registered under one protocol id.

    Attributes:
        draft: builds the draft of a variant.
        instance: builds the finite instance for a protocol, a threat id and a scale. Without one the checker makes
            instances, and explores every interpretation of the rigid symbols that the axioms allow.
        variants: the designs by name; without any there is one, called ``main``.
        main: the variants that ``carnet verify`` covers by default, the first being the default everywhere else;
            without any, the first variant.
        profiles: the sizes by name. A family that gives instances and no profile has ``tiny``, an empty scale.
        hunts: the sizes that a search for an attack goes through, small to large, with their adversary budgets; without
            any, those of the profiles.
        default_threat: the threat model under which ``carnet attack`` and ``carnet explore`` look, unless they are told
            another; where it is empty, the one with the fewest axioms.
        rounds: the size that bounds how often the protocol goes round, which ``Goal.rounds`` counts; empty: none does.
        options: sizes that have an option of their own on the command line, each with a letter and what it counts.
        services: what its variants ask of parts that nobody can change, such as firmware.
        views: what each party sees and is trusted for, in the first main variant; of each kind one at most.
        fresh_sizes: the sizes that only say how many values may be drawn fresh: an instance relates none of them to
            each other but in a line, so it grows no faster than the size.
        judged_under: given the actions of a recorded run, returns the threat model that the run is judged under if its
            header names none.
        round_goal: the goal that a whole round leads to, whose run the documentation draws; empty: it draws none.
        text: the normative text; a family that brings none has that of ``requirements.md`` beside the module that it is
            loaded from, if there is one.
    """

    id: str
    title: str
    draft: Callable[[str], Draft]
    instance: Callable[[Protocol, str, Scale], Instance] = field(default_factory=lambda: made_by_the_checker)
    variants: Mapping[str, Variant] = field(default_factory=lambda: {"main": Variant("main", "as written")})
    main: tuple[str, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    hunts: tuple[Profile, ...] = ()
    findings: tuple[Finding, ...] = ()
    services: tuple[Service, ...] = ()
    views: tuple[PartyView, ...] = ()
    default_threat: str = ""
    rounds: str = ""
    options: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    fresh_sizes: frozenset[str] = frozenset()
    judged_under: Callable[[Collection[str]], str] | None = None
    round_goal: str = ""
    text: NormativeText = field(default_factory=NormativeText)
    _drafts: dict[str, Draft] = field(init=False, default_factory=dict, compare=False, repr=False)
    _whole: dict[str, Protocol] = field(init=False, default_factory=dict, compare=False, repr=False)
    """Variants that were built already; what is made from this family by ``replace`` builds its own."""
    _digests: dict[tuple[str, tuple[str, ...]], str] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        what = f"Family {self.id!r}"
        require_fields(self, what, id=str, title=str, draft=Callable, instance=Callable, variants={str: Variant})
        require_fields(self, what, main=(str,), profiles={str: Profile}, hunts=(Profile,), findings=(Finding,))
        require_fields(
            self, what, services=(Service,), views=(PartyView,), default_threat=str, rounds=str, options={str: (str,)}
        )
        require_fields(self, what, fresh_sizes=Set, judged_under=Callable | None, round_goal=str, text=NormativeText)
        if not self.variants:
            raise MisuseError(f"{what} has no variants: leave them out, and there is one called 'main'")
        if not self.main:
            object.__setattr__(self, "main", tuple(self.variants)[:1])
        if not self.profiles and self.instance is not made_by_the_checker:
            object.__setattr__(self, "profiles", {"tiny": Profile("tiny", {})})

    def protocol(self, variant: str = "", without: tuple[str, ...] = ()) -> Protocol:
        """Build a variant (by default the first main one) with further defences removed.

        Raises:
            SpecificationError: the variant or a defence is unknown.
        """
        name = variant or self.main[0]
        if name not in self.variants:
            raise SpecificationError(f"no variant '{name}' in {self.id}{and_known(name, self.variants)}")
        if without:
            return self._built(name, without)
        if name not in self._whole:
            self._whole[name] = self._built(name, ())
        return self._whole[name]

    def digest(self, variant: str = "", without: tuple[str, ...] = ()) -> str:
        """Return the digest of a variant with further defences removed; it is worked out once.

        Raises:
            SpecificationError: the variant or a defence is unknown.
        """
        if (variant, without) not in self._digests:
            self._digests[variant, without] = self.protocol(variant, without).digest
        return self._digests[variant, without]

    def _built(self, name: str, without: tuple[str, ...]) -> Protocol:
        return self.drafted(name).protocol((*self.variants[name].without, *without))

    def drafted(self, variant: str) -> Draft:
        """Return the draft of a variant, which is traced once: every design with less is resolved from it."""
        if variant not in self._drafts:
            drafted = self.draft(variant)
            if not isinstance(drafted, Draft):
                given = type(drafted).__name__
                raise MisuseError(f"'draft' of {self.id} returns a {given} for variant '{variant}': return a Draft")
            self._drafts[variant] = drafted
        return self._drafts[variant]

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
            raise SpecificationError(f"no profile '{name}' in {self.id}{and_known(name, self.profiles)}")
        return self.profiles[name]

    def sizes_to_hunt(self, variant: str) -> tuple[Profile, ...]:
        """Return the sizes that a search for an attack on a variant goes through, small to large."""
        return self.variants[variant].hunts or self.hunts or tuple(self.profiles.values())

    def is_within(self, goal: Goal, profile: Profile) -> bool:
        """Whether the instances of ``profile`` have the rounds that ``goal`` needs."""
        return goal.rounds <= profile.scale.get(self.rounds, goal.rounds)

    def directed(self, profile: Profile, goals: Iterable[Goal]) -> Profile:
        """Return the profile in which to look for goals that need more rounds than ``profile`` has.

        It is the one called ``directed``; without one, ``profile`` with as many rounds as the goals need.
        """
        longer = {**profile.scale, self.rounds: max(goal.rounds for goal in goals)}
        return self.profiles.get(DIRECTED) or replace(profile, scale=longer)
