"""Guessed lemmas that an engine may try, without those that a visited state falsifies."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from carnet_check.engines.exploration import Caps
from carnet_check.engines.interface import Explores, Guesses
from carnet_check.suggestion.facts import Rule, rules_of
from carnet_check.suggestion.shapes import Reader, Shape
from carnet_spec.language import Instance, Invariant, Protocol, Symbol
from carnet_spec.language.terms import Term

MOST_STATES = 20_000  #: How many states of an instance are visited to find out what is false in one of them.
ROUNDS = 3  #: How often what holds where a fact is written is used to see what holds where others are.


@dataclass(frozen=True, slots=True)
class Visit:
    """A search whose states test guesses: the engine and the instance."""

    explorer: Explores
    instance: Instance


class ReadGuesses(Guesses):
    """Guesses that are read off a protocol and tested in the states of some searches."""

    def __init__(self, protocol: Protocol, visits: Sequence[Visit]) -> None:
        self._protocol = protocol
        self._visits = visits
        self._fallen: dict[str, bool] = {}
        self._about: dict[Symbol, list[tuple[tuple[int, int, int], Invariant]]] = {}

    @cached_property
    def _reader(self) -> Reader:
        """What reads guesses, once it has been seen what holds where facts are written."""
        numbers: dict[Term, int] = {}
        reader = Reader(self._protocol, (), numbers)
        plain: list[Invariant] = []
        for _ in range(ROUNDS):
            before, plain = plain, self.plausible([each.invariant for each in reader.plain()])
            if len(plain) == len(before):
                break
            reader = Reader(self._protocol, [rule for each in plain for rule in rules_of(each.body)], numbers)
        return reader

    def about(self, symbols: Collection[Symbol]) -> Sequence[Invariant]:
        """Return the guesses about ``symbols``, the simplest first."""
        found: list[tuple[tuple[int, int, int], Invariant]] = []
        for symbol in sorted(symbols, key=lambda each: each.name):
            if symbol not in self._about:
                listed = self._reader.about(symbol)
                self._about[symbol] = [(_simplicity(each.shape, each.invariant), each.invariant) for each in listed]
            found += self._about[symbol]
        return list(dict.fromkeys(guess for _, guess in sorted(found, key=lambda pair: pair[0])))

    def plausible(self, guesses: Sequence[Invariant]) -> list[Invariant]:
        """Return the guesses that hold in every state of the visits."""
        unknown = [each for each in guesses if each.name not in self._fallen]
        fallen: set[str] = set()
        for visit in self._visits if unknown else ():
            asked = [each for each in unknown if each.name not in fallen]
            seen = visit.explorer.explore(
                self._protocol, visit.instance, invariants=asked, caps=Caps(states=MOST_STATES), stop_when_fallen=True
            )
            fallen |= seen.violations.keys()
        self._fallen.update({each.name: each.name in fallen for each in unknown})
        return [each for each in guesses if not self._fallen[each.name]]


def _simplicity(shape: Shape, guess: Invariant) -> tuple[int, int, int]:
    (rule, *_) = rules_of(guess.body)
    return len(rule.premises) + _size(rule), [*Shape].index(shape), len(guess.params)


def _size(rule: Rule) -> int:
    return len(getattr(rule.conclusion, "parts", ()))
