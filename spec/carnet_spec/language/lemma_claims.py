"""Lemma claims: what a protocol claims that speaks of no step, such as a bijection, a rank or an error bound.

A lemma claim is checked by two independent means at least. Each means goes through cases in which the claim is
decided: a count decides by what the words mean, a calculation by a formula or an algorithm that has to agree. What is
first-order of the claim is stated beside it as an ordinary claim, which solvers prove and kernels certify. Decided in
docs/adr/0060-lemma-claims.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.naming import require_name

LeftOut = str
"""The hypothesis that cases need not satisfy, or nothing: they satisfy all."""


class Means(StrEnum):
    """How the cases of a lemma claim are decided; means share no code with one another."""

    COUNTING = "counting"
    CALCULATION = "calculation"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What has to hold for a lemma claim to hold: without it there is a case in which the claim fails.

    ``requirement`` is the id of the sentence that asks for it, if one does.
    """

    name: str
    sentence: str
    requirement: str = ""

    def __post_init__(self) -> None:
        require_name("a hypothesis", self.name)


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a lemma claim.

    Attributes:
        size: how large it is, such as the order of a field; cases come in the order of their sizes.
        values: what it is about, by name, in the order in which it is printed.
        holds: whether the claim holds in it.
    """

    size: int
    values: tuple[tuple[str, object], ...]
    holds: bool

    @property
    def words(self) -> str:
        """What the case is about, as people read it."""
        return ", ".join(f"{name} = {value}" for name, value in self.values)


@dataclass(frozen=True, slots=True)
class Examination:
    """The cases that one means decides.

    Attributes:
        means: how.
        over: what is gone through, in words.
        cases: yields the cases that satisfy all hypotheses but the one given, smallest first.
        needs: the hypotheses without which a case is shown in which the claim does not hold.
        complete: whether the cases are all that ``over`` speaks of, and not samples of them.
    """

    means: Means
    over: str
    cases: Callable[[LeftOut], Iterator[Case]] = field(compare=False)
    needs: tuple[str, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class LemmaClaim:
    """A claim that speaks of no step.

    Attributes:
        hypotheses: what has to hold for the claim to; each is shown to be necessary.
        examinations: the means that decide cases, each once.
        theorems: ordinary claims of the same protocol that state what is first-order of it, for any size.
        under: the threat models for which it is claimed.
    """

    name: str
    sentence: str
    requirement: str
    source: str
    under: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...]
    examinations: tuple[Examination, ...]
    theorems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_name("a lemma claim", self.name)
        means = [each.means for each in self.examinations]
        if len(set(means)) < len(means):
            raise SpecificationError(f"lemma claim {self.name} is examined by the same means twice: join their cases")
        if len(means) + bool(self.theorems) < 2:
            raise SpecificationError(
                f"lemma claim {self.name} has one means to check it: add a theorem, or an examination by other means"
            )
        if len(self.hypotheses) < 2:
            raise SpecificationError(f"lemma claim {self.name} names fewer than two hypotheses: say what it rests on")
        shown = {name for each in self.examinations for name in each.needs}
        if strange := sorted(shown ^ {each.name for each in self.hypotheses}):
            raise SpecificationError(
                f"lemma claim {self.name}: declare '{strange[0]}' as a hypothesis, and examine whether it is needed"
            )

    @property
    def cites(self) -> tuple[str, ...]:
        """The ids of the sentence that it states, and of those that ask for its hypotheses."""
        asked = (each.requirement for each in self.hypotheses if each.requirement)
        return tuple(dict.fromkeys((self.requirement, *asked)))

    def examination(self, means: Means) -> Examination | None:
        """Return the examination by ``means``, if there is one."""
        return next((each for each in self.examinations if each.means is means), None)
