"""Lemma claims: claims about finite cases instead of steps, such as a bijection, a rank or an error bound.

A lemma claim is checked by at least two independent means. Each means decides the claim in a series of cases: counting
applies the definition of the words, calculation a formula or an algorithm that has to agree. The first-order part of
the claim is also stated as an ordinary claim, which solvers prove and kernels certify. Decided in
docs/adr/0060-lemma-claims.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.naming import require_name

LeftOut = str  #: The hypothesis that cases need not satisfy; empty if they satisfy all.


class Means(StrEnum):
    """How the cases of a lemma claim are decided; different means share no code."""

    COUNTING = "counting"
    CALCULATION = "calculation"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A hypothesis of a lemma claim; without it there is a case in which the claim is false.

    ``requirement`` is the id of the sentence that requires it, or empty.
    """

    name: str
    sentence: str
    requirement: str = ""

    def __post_init__(self) -> None:
        require_name("a hypothesis", self.name)


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a lemma claim."""

    size: int  #: the size of the case, such as the order of a field; cases are sorted by size.
    #: the parameters of the case by name, in the order in which they are printed.
    values: tuple[tuple[str, object], ...]
    holds: bool  #: whether the claim holds in the case.

    @property
    def words(self) -> str:
        """The parameters of the case, for display."""
        return ", ".join(f"{name} = {value}" for name, value in self.values)


@dataclass(frozen=True, slots=True)
class Examination:
    """The cases that one means decides."""

    means: Means  #: how the cases are decided.
    over: str  #: a description of the cases.
    #: a function that yields the cases that satisfy all hypotheses but the given one, smallest first.
    cases: Callable[[LeftOut], Iterator[Case]] = field(compare=False)
    needs: tuple[str, ...]  #: the hypotheses that this examination shows to be necessary, by a case without them.
    complete: bool = True  #: whether the cases are all that ``over`` describes, not samples.


@dataclass(frozen=True, slots=True)
class LemmaClaim:
    """A claim about finite cases, each of which is decided by counting or by calculation."""

    name: str
    sentence: str
    requirement: str
    source: str
    under: tuple[str, ...]  #: the threat models under which it is claimed.
    hypotheses: tuple[Hypothesis, ...]  #: the hypotheses of the claim; each is shown to be necessary.
    examinations: tuple[Examination, ...]  #: the examinations, at most one by each means.
    #: ordinary claims of the same protocol that state the first-order part, for any size.
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
        """The ids of the sentence that it states, and of those that require its hypotheses."""
        asked = (each.requirement for each in self.hypotheses if each.requirement)
        return tuple(dict.fromkeys((self.requirement, *asked)))

    def examination(self, means: Means) -> Examination | None:
        """Return the examination by ``means``, or None."""
        return next((each for each in self.examinations if each.means is means), None)
