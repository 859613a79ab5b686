"""The symbols that stand for states and steps of a run: one of a kind for each place in it."""

from __future__ import annotations

from collections.abc import Mapping

from carnet_check.made import Made, Purpose
from carnet_check.obligations.reading import Steps
from carnet_spec.language import Action, Sort, Symbol
from carnet_spec.language.terms import BOOL, Apply, Kind, Term, rebuild

Slots = Mapping[Symbol, Apply]
"""The constant of one step for each parameter of an action."""


def copied(symbol: Symbol, place: int) -> Symbol:
    """Return ``symbol`` as it is after ``place`` steps."""
    return _made(Purpose.COPY, f"{place}.{symbol.name}", symbol.domain, symbol.result)


def taken(action: Action, place: int) -> Apply:
    """Return whether ``action`` is the step that follows after ``place`` steps."""
    return Apply(_made(Purpose.CHOICE, f"{place}.{action.name}", (), BOOL), ())


def slots(steps: Steps, place: int) -> Slots:
    """Return what stands for the parameters of an action; actions share their constants, since one alone is taken."""
    found: dict[Symbol, Apply] = {}
    counts: dict[Sort, int] = {}
    for constant in steps.constants:
        sort = constant.symbol.result
        number = counts[sort] = counts.get(sort, 0) + 1
        found[constant.symbol] = Apply(_made(Purpose.SLOT, f"{place}.{number}.{sort.name}", (), sort), ())
    return found


def at(term: Term, place: int, args: Slots | None = None) -> Term:
    """Return what ``term`` says of the state after ``place`` steps, of a step with ``args``."""
    changed = rebuild(term, lambda part: at(part, place, args))
    if not isinstance(changed, Apply):
        return changed
    if args and changed.symbol in args:
        return args[changed.symbol]
    return Apply(copied(changed.symbol, place), changed.args) if changed.symbol.mutable else changed


def _made(purpose: Purpose, name: str, domain: tuple[Sort, ...], result: Sort) -> Made:
    return Made(f"${purpose.value}.{name}", domain, result, Kind.TRUTH, mutable=False, purpose=purpose)
