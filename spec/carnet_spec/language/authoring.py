"""Helpers for the parts that all protocols have: assumptions, claims, liveness, findings, and instances.

These functions add nothing to the language. They are for a protocol with a normative text beside it, whose variants
differ by the defences that they lack.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from carnet_spec.language.draft import Draft
from carnet_spec.language.expressions import Formula, Individual
from carnet_spec.language.family import Finding, Profile, Scale, Variant, all_sizes
from carnet_spec.language.instance import Row
from carnet_spec.language.lemma_claims import Examination, Hypothesis, LemmaClaim
from carnet_spec.language.requirements import Level, NormativeText, text_beside
from carnet_spec.language.statements import Claim, Invariant

__all__ = [
    "HONEST",
    "Claims",
    "Falls",
    "Findings",
    "LemmaClaims",
    "Promises",
    "StateLemma",
    "amounts_in_words",
    "assumptions_from",
    "by_name",
    "expect_falls",
    "fact",
    "first_names",
    "numbered_names",
    "sizes_for",
    "sizes_in_words",
    "text_beside",
    "unary",
]

_Named = TypeVar("_Named", Profile, Variant)

HONEST = ("alice", "anna", "anton", "agnes")  #: The names of honest agents in instances; further ones are numbered.


def by_name(*listed: _Named) -> dict[str, _Named]:
    """Return variants or profiles by their names."""
    return {each.name: each for each in listed}


# -- a draft -----------------------------------------------------------------------------------------------------------


def assumptions_from(draft: Draft, text: NormativeText, built_in: Collection[str] = ()) -> None:
    """Declare the assumptions of ``text``; those of ``built_in`` are part of the steps, not stated by an axiom."""
    for id, requirement in text.requirements().items():
        if requirement.level is Level.ASSUMPTION:
            draft.assumption(id, requirement.sentence, built_in=id in built_in)


@dataclass(frozen=True)
class Claims:
    """States claims under ``threats``.

    The sentence of claim ``no-replay`` is that of ``CLAIM-NO-REPLAY`` in ``text``.
    """

    draft: Draft
    text: NormativeText
    threats: tuple[str, ...]

    def __call__(
        self, name: str, source: str, *, under: tuple[str, ...] | None = None, fails_under: tuple[str, ...] = ()
    ) -> Callable[[Callable[..., Formula]], Claim]:
        """State the decorated function, over all its parameters, as the claim ``name``."""
        id = f"CLAIM-{name.upper()}"
        return self.draft.claim(
            name=name,
            sentence=self.text.sentence(id),
            requirement=id,
            source=source,
            under=self.threats if under is None else under,
            fails_under=fails_under,
        )


@dataclass(frozen=True)
class LemmaClaims:
    """States lemma claims under ``threats``: the sentence of ``decoding`` is that of ``CLAIM-DECODING`` in ``text``."""

    draft: Draft
    text: NormativeText
    threats: tuple[str, ...]

    def __call__(
        self,
        name: str,
        source: str,
        hypotheses: tuple[Hypothesis, ...],
        *examinations: Examination,
        theorems: tuple[str, ...] = (),
    ) -> None:
        """State the lemma claim ``name``; :class:`LemmaClaim` describes the arguments."""
        id = f"CLAIM-{name.upper()}"
        sentence = self.text.sentence(id)
        self.draft.lemma_claim(LemmaClaim(name, sentence, id, source, self.threats, hypotheses, examinations, theorems))


#: For each fair action, the values of some of its parameters in the fair steps.
Chosen = Mapping[str, Mapping[str, Callable[..., Individual]]]


@dataclass(frozen=True)
class Promises:
    """States liveness properties. The sentence of property ``sum-begun`` is that of ``LIVE-SUM-BEGUN`` in ``text``."""

    draft: Draft
    text: NormativeText

    def __call__(
        self,
        name: str,
        when: Callable[..., Formula],
        then: Callable[..., Formula],
        *,
        each: tuple[type[Individual], ...],
        given: Chosen,
    ) -> None:
        """State that ``when`` leads to ``then``, for each choice of elements, if the ``given`` steps are fair."""
        id, fair = f"LIVE-{name.upper()}", tuple(given)
        sentence = self.text.sentence(id)
        self.draft.eventually(name, when, then, sentence=sentence, each=each, fair=fair, given=given, requirement=id)


#: A decorator that states a function as a lemma, under every threat model or under some.
StateLemma = Callable[[Callable[..., Formula]], Invariant]

#: For each variant, the claims and liveness properties that are violated in it, each with the threat models.
Falls = Mapping[str, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Findings:
    """States findings: each an attack on a variant, in a sentence, under ``threat`` and about one design."""

    threat: str
    about: str

    def __call__(
        self, number: int, variant: str, claim: str, *, threat: str = "", about: str = "", without: tuple[str, ...] = ()
    ) -> Callable[[str], Finding]:
        """Return a function from a sentence to the finding of that number; the arguments may override the defaults."""
        under, of = threat or self.threat, about or self.about
        return lambda says: Finding(f"finding-{number}", says, under, claim, variant, without, of)


def expect_falls(draft: Draft, threats: tuple[str, ...], falls: Falls, untrue: Mapping[str, tuple[str, ...]]) -> None:
    """Declare the expected violations in the drafted variant, and withdraw lemmas that are false in it."""
    for claim, fails in falls.get(draft.variant, {}).items():
        draft.expect(claim, under=tuple(threat for threat in threats if threat not in fails), fails_under=fails)
    draft.withdraw(*untrue.get(draft.variant, ()))


# -- an instance -------------------------------------------------------------------------------------------------------


def numbered_names(what: str, count: int, start: int = 1) -> Row:
    """Return ``count`` names, such as ``key1`` and ``key2``."""
    return tuple(f"{what}{number}" for number in range(start, start + count))


def first_names(names: Row, what: str, count: int) -> Row:
    """Return ``count`` names: the first of ``names``, then numbered ones if these are too few."""
    return (*names[:count], *numbered_names(what, count - len(names), start=1 + len(names)))


def unary(names: Iterable[str]) -> frozenset[Row]:
    """Return the rows of a unary relation that holds of ``names``."""
    return frozenset((name,) for name in names)


def fact(true: bool) -> frozenset[Row]:
    """Return the rows of a relation without arguments: the empty row if it holds, else none."""
    return frozenset({()} if true else ())


def amounts_in_words(*amounts: tuple[int, str]) -> str:
    """Return amounts in words, without those that are zero: ``2 honest users, 1 key of the adversary's``."""
    return ", ".join(f"{number} {what if number == 1 else _plural(what)}" for number, what in amounts if number)


Sizes = Mapping[str, tuple[int, str]]  #: For each size, by name: its default, and a noun for what it counts.


def sizes_for(scale: Scale, sizes: Sizes, where: str) -> dict[str, int]:
    """Return every size of the family ``where``: that of the scale, or the default.

    Raises SpecificationError if the scale names a size that the family does not have.
    """
    return all_sizes(scale, {name: default for name, (default, _) in sizes.items()}, where)


def sizes_in_words(size: Mapping[str, int], sizes: Sizes) -> str:
    """Return the sizes of an instance in words."""
    return amounts_in_words(*((size[name], what) for name, (_, what) in sizes.items()))


def _plural(what: str) -> str:
    """Return the plural: that of the last word before ``of`` or ``to``."""
    head = re.split(" (?:of|to) ", what, maxsplit=1)[0]
    stem = f"{head[:-1]}ie" if re.search("[^aeiou]y$", head) else f"{head}e" if head.endswith("s") else head
    return f"{stem}s{what[len(head) :]}"
