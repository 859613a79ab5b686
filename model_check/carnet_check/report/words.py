"""Sentences about one instance: templates filled in, facts, what is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from carnet_check.semantics import State
from carnet_spec.language import Kind, Protocol, Symbol
from carnet_spec.language.terms import BOOL

Env = Mapping[str, str]

ANYONE = "the adversary"


def filled(template: str, env: Env) -> str:
    """Fill the ``{parameter}`` places of a sentence; what is not a parameter stays as it is."""
    return re.sub(r"\{(\w+)\}", lambda place: env.get(place[1], place[0]), template)


def knowledge_symbols(protocol: Protocol) -> tuple[Symbol, ...]:
    """Return the relations that say what an agent knows."""
    return tuple(s for s in protocol.symbols if s.kind is Kind.KNOWLEDGE and s.result == BOOL and s.domain)


def knower_and_fact(row: tuple[str, ...]) -> tuple[str, str]:
    """Split a row of a knowledge relation into who knows and what."""
    return (row[0], ", ".join(row[1:])) if len(row) > 1 else (ANYONE, row[0])


def counted(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def listed(words: Iterable[str]) -> str:
    """Join words as in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def learned(protocol: Protocol, before: State, after: State) -> dict[str, list[str]]:
    """Return what each party knows in ``after`` and did not know in ``before``."""
    news: dict[str, list[str]] = {}
    for symbol in knowledge_symbols(protocol):
        for row in sorted(after.relations[symbol.name] - before.relations[symbol.name]):
            knower, what = knower_and_fact(row)
            news.setdefault(knower, []).append(what)
    return news
