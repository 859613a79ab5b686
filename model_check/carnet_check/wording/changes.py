"""What a step changed: only the fields that differ, each with whose it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from carnet_check.semantics import State
from carnet_check.wording.sentences import knower_of
from carnet_spec.language import Kind, Protocol, Symbol
from carnet_spec.language.terms import Sort, Var

WIRE = "on the wire"
BOOKKEEPING = "kept for the claims alone"


@dataclass(frozen=True, slots=True)
class Change:
    """One field that a step changed: whose it is, and what it was and is now."""

    where: str
    symbol: str
    text: str
    says: str


def changes(protocol: Protocol, before: State, after: State) -> Iterator[Change]:
    """Yield every field that differs between two states, in the order of the specification."""
    owners = _owners(protocol)
    for symbol in protocol.symbols:
        if symbol.mutable and symbol.is_relation:
            old, new = before.relations[symbol.name], after.relations[symbol.name]
            for sign, rows in (("−", old - new), ("+", new - old)):
                for row in sorted(rows):
                    yield _change(protocol, symbol, owners, row, f"{sign} {_applied(symbol, row)}")
        elif symbol.mutable:
            was, now = before.functions[symbol.name], after.functions[symbol.name]
            for row in sorted(now):
                if was[row] != now[row]:
                    yield _change(protocol, symbol, owners, row, f"{_applied(symbol, row)}: {was[row]} → {now[row]}")


def _owners(protocol: Protocol) -> Mapping[str, Sort]:
    """Return for each role played by several elements the sort that these belong to."""
    acting = ((action.by.name, action.actor) for action in protocol.actions)
    return {role: actor.sort for role, actor in acting if isinstance(actor, Var)}


def _change(protocol: Protocol, symbol: Symbol, owners: Mapping[str, Sort], row: tuple[str, ...], text: str) -> Change:
    return Change(_where(protocol, symbol, owners, row), symbol.name, text, symbol.says)


def _where(protocol: Protocol, symbol: Symbol, owners: Mapping[str, Sort], row: tuple[str, ...]) -> str:
    match symbol.kind:
        case Kind.MESSAGE | Kind.PUBLIC:
            return WIRE
        case Kind.KNOWLEDGE if len(row) > 1:
            return row[knower_of(protocol, symbol)]
        case Kind.STATE if symbol.role is not None:
            theirs = bool(symbol.domain) and owners.get(symbol.role.name) == symbol.domain[0]
            return row[0] if theirs else symbol.role.name
        case _:
            return BOOKKEEPING


def _applied(symbol: Symbol, row: tuple[str, ...]) -> str:
    return f"{symbol.name}({', '.join(row)})" if row else symbol.name
