"""Sentences about one instance: templates filled in, facts, what is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile

from carnet_check.semantics import State
from carnet_spec.language import Instance, Kind, Protocol, Symbol
from carnet_spec.language.statements import UNNAMED
from carnet_spec.language.terms import BOOL, Apply, Var

Env = Mapping[str, str]

ANYONE = "the adversary"


def filled(template: str, env: Env) -> str:
    """Fill the ``{parameter}`` places of a sentence; what is not a parameter stays as it is."""
    return re.sub(r"\{(\w+)\}", lambda place: env.get(place[1], place[0]), template)


def knowledge_symbols(protocol: Protocol) -> tuple[Symbol, ...]:
    """Return the relations that say what an agent knows."""
    return tuple(s for s in protocol.symbols if s.kind is Kind.KNOWLEDGE and s.result == BOOL and s.domain)


def listed(words: Iterable[str]) -> str:
    """Join words as in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def knower_of(protocol: Protocol, symbol: Symbol) -> int:
    """Return which argument of a knowledge relation is the one who knows.

    It is the first whose elements act, by what the actions say; failing that, the first that is neither drawn fresh nor
    an enumeration, as no agent is; failing that, the first.
    """
    acting = {action.actor.sort for action in protocol.actions if isinstance(action.actor, Var)}
    acting |= {action.actor.symbol.result for action in protocol.actions if isinstance(action.actor, Apply)}
    places = range(len(symbol.domain))
    agents = (place for place in places if symbol.domain[place] in acting)
    others = (place for place in places if not symbol.domain[place].fresh and symbol.domain[place].members is None)
    return next(agents, next(others, 0))


def known(protocol: Protocol, state: State, before: State | None = None) -> dict[str, list[str]]:
    """Return what each party knows in ``state``; with ``before``, what it did not know there."""
    symbols = knowledge_symbols(protocol)
    facts: dict[tuple[str, str], list[str]] = {}
    for symbol in symbols:
        place = knower_of(protocol, symbol)
        rows = state.relations[symbol.name] - (before.relations[symbol.name] if before else frozenset())
        for row in sorted(rows):
            knower, what = (row[place], ", ".join(_beside(row, place))) if len(row) > 1 else (ANYONE, row[0])
            facts.setdefault((knower, what), []).append(_way(symbol, symbols))
    by_party: dict[str, list[str]] = {}
    for (knower, what), ways in facts.items():
        how = ", ".join(way for way in ways if way)
        by_party.setdefault(knower, []).append(f"{what} ({how})" if how else what)
    return by_party


def _beside(row: tuple[str, ...], place: int) -> tuple[str, ...]:
    return (*row[:place], *row[place + 1 :])


def knowers(protocol: Protocol, instance: Instance, parties: Iterable[str]) -> list[str]:
    """Return those of ``parties`` of whom the protocol counts what they know; a device, for one, is only asked."""
    symbols = [symbol for symbol in knowledge_symbols(protocol) if len(symbol.domain) > 1]
    agents = {symbol.domain[knower_of(protocol, symbol)] for symbol in symbols}
    others = {element for sort in protocol.sorts if sort not in agents for element in instance.of(sort)}
    return [party for party in parties if party not in others]


def _way(symbol: Symbol, symbols: Iterable[Symbol]) -> str:
    """Return what tells ``symbol`` from other knowledge of the same kind of thing: h2d, of knows_h2d and knows_d2h."""
    alike = [other.name for other in symbols if other.domain == symbol.domain]
    if len(alike) == 1:
        return ""
    words = [name.split("_") for name in alike]
    shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False)))
    return " ".join(symbol.name.split("_")[shared:])


def resting(assumptions: Iterable[str]) -> str:
    """Write what verdicts rest on: assumptions by their ids, A2 before A10, then axioms that name none."""
    listed = set(assumptions)
    axioms = sorted(name.removeprefix(UNNAMED) for name in listed if name.startswith(UNNAMED))
    ids = sorted(listed - {UNNAMED + name for name in axioms}, key=lambda id: (id.rstrip("0123456789"), len(id), id))
    said = [" ".join(ids)] if ids else []
    if axioms:
        said.append(f"{'axiom' if len(axioms) == 1 else 'axioms'} {', '.join(axioms)}")
    return " · ".join(said) or "none"
