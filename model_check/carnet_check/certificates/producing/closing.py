"""The end of a branch: the fewest facts that contradict each other, and the rewritings that show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from carnet_check.certificates.producing import bank as b
from carnet_check.certificates.producing.bank import Bank, Fact
from carnet_check.certificates.producing.congruence import Congruence

MOST_REWRITINGS = 200


class NotFound(Exception):
    """The search for a refutation ended without one."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Facts that contradict each other after rewriting by some of them: places among them, and directions."""

    facts: tuple[Fact, ...]
    rewritings: tuple[tuple[int, bool], ...]


def closed(bank: Bank, facts: Iterable[Fact], contradiction: Sequence[Fact]) -> Closed:
    """Return how a branch ends whose facts contradict each other.

    Raises:
        NotFound: rewriting does not show it.
    """
    equations = [fact for fact in facts if is_equation(bank, fact) and fact not in contradiction]
    needed = list(dict.fromkeys((*contradiction, *_fewest(bank, equations, contradiction))))
    rewritings: list[tuple[int, bool]] = []
    now = needed
    while not _is_absurd(bank, now):
        if len(rewritings) == MOST_REWRITINGS:
            raise NotFound("rewriting does not end")
        found = min(_possible(bank, now), key=lambda each: each[0], default=None)
        if found is None:
            raise NotFound("rewriting shows no contradiction")
        _, place, backwards, now = found
        rewritings.append((place, backwards))
    return Closed(tuple(needed), tuple(rewritings))


def is_equation(bank: Bank, fact: Fact) -> bool:
    """Whether a fact says that two terms are equal."""
    return fact.sign and bank.nodes[fact.formula].kind == b.EQUAL


def _fewest(bank: Bank, equations: list[Fact], contradiction: Sequence[Fact]) -> list[Fact]:
    """Leave out equations, many at a time first, as long as there is a contradiction."""
    size = len(equations)
    while size:
        place = 0
        while place < len(equations):
            fewer = equations[:place] + equations[place + size :]
            if Congruence(bank, (*contradiction, *fewer)).contradiction is not None:
                equations = fewer
            else:
                place += size
        size //= 2
    return equations


def _possible(bank: Bank, facts: Sequence[Fact]) -> Iterator[tuple[tuple[object, ...], int, bool, list[Fact]]]:
    """Yield every rewriting from a larger term to a smaller one that changes something, with its outcome."""
    for place, fact in enumerate(facts):
        if not is_equation(bank, fact):
            continue
        left, right = bank.nodes[fact.formula].parts
        backwards = bank.order(left) < bank.order(right)
        large, small = (right, left) if backwards else (left, right)
        changed = [x if at == place else _rewritten(bank, large, small, x) for at, x in enumerate(facts)]
        if changed != list(facts):
            yield (bank.order(large), place), place, backwards, changed


def _rewritten(bank: Bank, large: int, small: int, fact: Fact) -> Fact:
    kind, name, parts = bank.nodes[fact.formula]
    if kind not in b.ATOMS:
        return fact
    changed = tuple(_replaced(bank, large, small, part) for part in parts)
    return fact if changed == parts else Fact(fact.sign, (), bank.number(kind, name, changed))


def _replaced(bank: Bank, large: int, small: int, term: int) -> int:
    if term == large:
        return small
    kind, name, parts = bank.nodes[term]
    if kind != b.APPLY or not parts:
        return term
    return bank.number(kind, name, tuple(_replaced(bank, large, small, part) for part in parts))


def _is_absurd(bank: Bank, facts: Sequence[Fact]) -> bool:
    known = set(facts)
    return any(_alone(bank, fact) or fact._replace(sign=not fact.sign) in known for fact in facts)


def _alone(bank: Bank, fact: Fact) -> bool:
    kind, _, parts = bank.nodes[fact.formula]
    if kind == b.CONST:
        return fact.sign != bool(parts[0])
    if kind != b.EQUAL:
        return False
    members = all(bank.nodes[part].kind == b.MEMBER for part in parts)
    return (parts[0] != parts[1]) and members if fact.sign else parts[0] == parts[1]
