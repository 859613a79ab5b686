"""Families: a protocol with its variants, profiles and findings, registered under one id."""

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

Scale = Mapping[str, int]  #: Sizes of an instance by name, for instance ``{"holders": 2, "rounds": 1}``.

#: The profile, where a family has it, for goals that need more rounds than the profile of a run has.
DIRECTED = "directed"


def all_sizes(scale: Scale, defaults: Scale, where: str) -> dict[str, int]:
    """Return every size of a family: what the scale says, and the default where it says nothing.

    Raises SpecificationError if the scale names a size that the family ``where`` does not have.
    """
    sizes = {name: scale.get(name, default) for name, default in defaults.items()}
    for name in scale:
        if name not in sizes:
            raise SpecificationError(f"no size '{name}' in {where}{and_known(name, sizes)}")
    return sizes


@dataclass(frozen=True, slots=True)
class Variant:
    """One design choice.

    ``label`` is printed with every verdict (``needs firmware``). ``expected`` has, by claim and threat model, the
    verdicts that differ from the claim's own expectation: PROVED or VIOLATED.
    """

    name: str
    title: str
    label: str = ""
    without: tuple[str, ...] = ()  #: Defences that the variant lacks.
    over: str = ""  #: The variant to which this one adds a layer; the claims of both are checked together.
    #: The sizes for attack searches on this variant, if those of the family lack its parts.
    #:
    #: ``carnet verify`` tries these sizes, too, for expected violations that the instances of its profile do not show.
    hunts: tuple[Profile, ...] = ()

    def __post_init__(self) -> None:
        require_fields(self, f"Variant {self.name!r}", name=str, title=str, label=str, over=str)
        require_fields(self, f"Variant {self.name!r}", without=(str,), hunts=(Profile,))


@dataclass(frozen=True, slots=True)
class Finding:
    """An attack that must be found: a variant or removed defences, a threat model and the violated claim."""

    id: str
    title: str
    threat: str
    claim: str
    variant: str = ""
    without: tuple[str, ...] = ()
    about: str = ""  #: The name of the design that the finding is about, if the family distinguishes several.

    def __post_init__(self) -> None:
        require_fields(self, f"Finding {self.id!r}", id=str, title=str, threat=str, claim=str, variant=str, about=str)
        require_fields(self, f"Finding {self.id!r}", without=(str,))


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a design needs from a component of others, such as firmware.

    ``available`` says in one word whether it is publicly known to exist, and ``where`` has the evidence.
    """

    id: str
    title: str
    available: str
    where: str
    needed_by: frozenset[str] = frozenset()  #: The variants that need it.

    def __post_init__(self) -> None:
        require_fields(self, f"Service {self.id!r}", id=str, title=str, available=str, where=str, needed_by=Set)


class PartyKind(Enum):
    """The kinds of parties, common to all designs, so that designs can be compared."""

    OTHERS = "others that take part"
    TEE = "TEE of a CPU"
    ACCELERATOR = "accelerators or workers"
    HOST = "host and network"


class Visibility(Enum):
    """What a party sees of the data of an honest party, from most to least."""

    CLEAR = "clear"
    RESULT = "result"
    NOISED = "noised"
    MASKED = "masked"
    HIDDEN = "hidden"
    SHAPE = "shape"
    DIGESTS = "digests"

    @property
    def meaning(self) -> str:
        """The meaning of the word."""
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
    """What one party sees of the data of an honest party, and what it is trusted for."""

    kind: PartyKind
    party: str  #: The name of the party in the design.
    sees: Visibility
    detail: str  #: What exactly the party sees, in words.
    limited_by: tuple[str, ...] = ()  #: The claims that the party sees no more; if empty, this is not checked.
    trusted_for: str = ""  #: What the party is trusted for; empty if for nothing.
    assumed_in: tuple[str, ...] = ()  #: The assumptions, or hypotheses of lemma claims, that state this trust.

    def __post_init__(self) -> None:
        what = f"PartyView {self.party!r}"
        require_fields(self, what, kind=PartyKind, party=str, sees=Visibility, detail=str, limited_by=(str,))
        require_fields(self, what, trusted_for=str, assumed_in=(str,))
        if self.assumed_in and not self.trusted_for:
            raise MisuseError(f"{what}: 'assumed_in' names assumptions, and 'trusted_for' says nothing")


@dataclass(frozen=True, slots=True)
class Profile:
    """A size of instance for explicit-state search; without ``budget`` the adversary is unbounded."""

    name: str
    scale: Scale
    budget: int | None = None
    title: str = ""

    def __post_init__(self) -> None:
        what = f"Profile {self.name!r}"
        require_fields(self, what, name=str, scale={str: int}, budget=int | None, title=str)
        for name, number in {**self.scale, "budget": self.budget or 0}.items():
            if number < 0:
                raise MisuseError(f"{what}: '{name}' is {number}, and less than nothing is no size")


def made_by_the_checker(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """The placeholder for the instance function of a family without instances: the checker makes these.

    Raises SpecificationError always; a checker replaces this function by its own.
    """
    raise SpecificationError(f"{protocol.id} gives no instance for {threat} and {dict(scale)}: the checker makes them")


@dataclass(frozen=True)
class Family:
    """Everything registered under one protocol id."""

    id: str
    title: str
    draft: Callable[[str], Draft]  #: builds the draft of a variant.
    #: builds the finite instance for a protocol, a threat id and a scale. Without it the checker makes instances, and
    #: explores every interpretation of the rigid symbols that the axioms allow.
    instance: Callable[[Protocol, str, Scale], Instance] = field(default_factory=lambda: made_by_the_checker)
    #: the designs by name; if empty, there is one design, called ``main``.
    variants: Mapping[str, Variant] = field(default_factory=lambda: {"main": Variant("main", "as written")})
    #: the variants that ``carnet verify`` covers by default; the first is the default everywhere else. If empty, it is
    #: the first variant.
    main: tuple[str, ...] = ()
    #: the sizes by name. A family with instances and without profiles has ``tiny``, an empty scale.
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    #: the sizes for attack searches, small to large, with their adversary budgets; if empty, the profiles.
    hunts: tuple[Profile, ...] = ()
    findings: tuple[Finding, ...] = ()
    services: tuple[Service, ...] = ()  #: services that the variants need from components of others, such as firmware.
    #: what each party sees and is trusted for, in the first main variant; at most one of each kind.
    views: tuple[PartyView, ...] = ()
    #: the threat model that ``carnet attack`` and ``carnet explore`` use by default; if empty, the one with the fewest
    #: axioms.
    default_threat: str = ""
    #: the size that bounds the number of rounds, which ``Goal.rounds`` counts; empty if there is none.
    rounds: str = ""
    #: sizes that have their own option on the command line, each with a letter and a noun for what it counts.
    options: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    #: the sizes that only limit how many values may be drawn fresh: an instance relates these values at most by a
    #: linear order, so it grows linearly with the size.
    fresh_sizes: frozenset[str] = frozenset()
    #: a function from the actions of a recorded run to the threat model for its verdict, if the run's header names
    #: none.
    judged_under: Callable[[Collection[str]], str] | None = None
    #: the goal that a whole round reaches, whose run the documentation draws; empty for no drawing.
    round_goal: str = ""
    #: the normative text; by default that of ``requirements.md`` beside the module that the family is loaded from, if
    #: there is one.
    text: NormativeText = field(default_factory=NormativeText)
    _drafts: dict[str, Draft] = field(init=False, default_factory=dict, compare=False, repr=False)
    #: A cache of built variants; a copy made by ``replace`` has its own.
    _whole: dict[str, Protocol] = field(init=False, default_factory=dict, compare=False, repr=False)
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

        Raises SpecificationError if the variant or a defence is unknown.
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
        """Return the digest of a variant with further defences removed; the result is cached.

        Raises SpecificationError if the variant or a defence is unknown.
        """
        if (variant, without) not in self._digests:
            self._digests[variant, without] = self.protocol(variant, without).digest
        return self._digests[variant, without]

    def _built(self, name: str, without: tuple[str, ...]) -> Protocol:
        return self.draft_of(name).protocol((*self.variants[name].without, *without))

    def draft_of(self, variant: str) -> Draft:
        """Return the draft of a variant; it is traced once, and designs with defences removed are resolved from it."""
        if variant not in self._drafts:
            drafted = self.draft(variant)
            if not isinstance(drafted, Draft):
                given = type(drafted).__name__
                raise MisuseError(f"'draft' of {self.id} returns a {given} for variant '{variant}': return a Draft")
            if drafted.variant != variant:
                raise MisuseError(
                    f"'draft' of {self.id} returns variant '{drafted.variant}' for variant '{variant}': hand the name "
                    "on, Draft(id, title, variant)"
                )
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
        """Return the profile called ``name``. Raises SpecificationError if there is no profile of this name."""
        if name not in self.profiles:
            raise SpecificationError(f"no profile '{name}' in {self.id}{and_known(name, self.profiles)}")
        return self.profiles[name]

    def sizes_to_hunt(self, variant: str) -> tuple[Profile, ...]:
        """Return the sizes for attack searches on a variant, small to large."""
        return self.variants[variant].hunts or self.hunts or tuple(self.profiles.values())

    def is_within(self, goal: Goal, profile: Profile) -> bool:
        """Whether the instances of ``profile`` have as many rounds as ``goal`` needs."""
        return goal.rounds <= profile.scale.get(self.rounds, goal.rounds)

    def directed_profile(self, profile: Profile, goals: Iterable[Goal]) -> Profile:
        """Return the profile in which to look for goals that need more rounds than ``profile`` has.

        It is the profile called ``directed``; if there is none, ``profile`` with as many rounds as the goals need.
        """
        longer = {**profile.scale, self.rounds: max(goal.rounds for goal in goals)}
        return self.profiles.get(DIRECTED) or replace(profile, scale=longer)
