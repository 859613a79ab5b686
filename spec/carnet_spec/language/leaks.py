"""What two runs show of a secret, and whether a claim speaks of it: of each symbol and each action by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from carnet_spec.language.statements import Claim
from carnet_spec.language.terms import FALSE, TRUE, And, Apply, Equal, Forall, Implies, Not, Symbol, Term, Var

_Said = tuple[tuple[Term, ...], Term]
"""Arguments of a symbol, and its value at them."""


@dataclass(frozen=True, slots=True)
class AcceptedLeak:
    """Something that tells two runs apart, and may."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def judged_under(claims: Iterable[Claim], threats: Iterable[str]) -> tuple[str, ...]:
    """Return the threat models under which something is judged; without any, the one of everybody, called ''."""
    claimed = [claim for claim in claims if claim.invariant is not None]
    named = {id for claim in claimed for id in (*claim.under, *claim.fails_under)}
    return tuple(id for id in threats if id in named) or ("",)


def spoken_of(claims: Iterable[Claim], threat: str) -> Iterator[Term]:
    """Yield what claims say for all values of their parameters under a threat model, part by part."""
    for claim in claims:
        if claim.invariant is not None and (not threat or threat in (*claim.under, *claim.fails_under)):
            yield from _parts(claim.invariant.body)


def _parts(term: Term) -> Iterator[Term]:
    match term:
        case And(parts):
            for part in parts:
                yield from _parts(part)
        case Forall(_, body):
            yield from _parts(body)
        case _:
            yield term


def is_same(left: Symbol, right: Symbol, parts: Iterable[Term]) -> bool:
    """Whether claims say that a symbol is one in both runs, whatever its arguments and without a condition.

    They do if they say so, or if they give it one value in either run.
    """
    implied: set[tuple[Symbol, Symbol]] = set()
    values: dict[Symbol, set[_Said]] = {left: set(), right: set()}
    for part in parts:
        match part:
            case Equal(Apply() as one, Apply() as other) if {one.symbol, other.symbol} == {left, right}:
                if one.args == other.args and _is_general(one.args):
                    return True
            case Implies(Apply() as one, Apply() as other) if {one.symbol, other.symbol} == {left, right}:
                if one.args == other.args and _is_general(one.args):
                    implied.add((one.symbol, other.symbol))
            case Equal(Apply(symbol, args), value) if symbol in values:
                values[symbol] |= {(args, value)} if _is_general(args) else set()
            case Equal(value, Apply(symbol, args)) if symbol in values:
                values[symbol] |= {(args, value)} if _is_general(args) else set()
            case Apply(symbol, args) if symbol in values:
                values[symbol] |= {(args, TRUE)} if _is_general(args) else set()
            case Not(Apply(symbol, args)) if symbol in values:
                values[symbol] |= {(args, FALSE)} if _is_general(args) else set()
    return len(implied) == 2 or not values[left].isdisjoint(values[right])


def _is_general(args: tuple[Term, ...]) -> bool:
    """Whether arguments stand for any: they are variables, and no two of them are one."""
    return all(isinstance(arg, Var) for arg in args) and len(set(args)) == len(args)
