"""The steps of a refutation as tokens, which ``kernel/reader.py`` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from carnet_check.kernel.checker import Node, Step


def tokens_of(steps: Iterable[Step]) -> tuple[str, tuple[str, ...]]:
    """Return the tokens of a refutation, and the names that they refer to by number."""
    names: dict[str, int] = {}
    text = " ".join(str(token) for step in steps for token in _step(step, names))
    return text, tuple(names)


def _step(step: Step, names: dict[str, int]) -> Iterator[str | int]:
    rule, places, terms, rewritings = step
    yield _LETTERS[rule]
    if rule == "close":
        yield len(places)
    yield from places
    if rule == "instance":
        yield len(terms)
    for term in terms:
        yield from _term(term, names)
    if rule == "close":
        yield len(rewritings)
    for place, backwards in rewritings:
        yield from (place, int(backwards))


def _term(term: Node, names: dict[str, int]) -> Iterator[str]:
    kind, name, parts = term
    if kind == "eigen":
        yield f"e{name}"
    elif kind in {"member", "apply"}:
        yield f"{_LETTERS[kind]}{names.setdefault(str(name), len(names))}"
    else:
        raise ValueError(f"expected a closed term, not {term}")
    for each in parts:
        yield from _term(each, names)


_LETTERS = {"use": "u", "instance": "i", "witness": "w", "split": "s", "cases": "c", "close": "x"}
_LETTERS |= {"member": "m", "apply": "f"}
