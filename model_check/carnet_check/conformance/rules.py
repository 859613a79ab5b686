"""Rules: the deductions of a protocol, compiled, and which of them to look at again when a row changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.conformance.choices import Choices
from carnet_check.conformance.effects import Effects
from carnet_check.conformance.formulas import Frame
from carnet_spec.language import Action, Effect, Protocol, Symbol
from carnet_spec.language.terms import Apply, Member, Term, Var, subterms


@dataclass(frozen=True, slots=True)
class Rule:
    """A deduction, compiled."""

    action: Action
    scope: Mapping[Var, int]
    effects: tuple[Effects, ...]
    choices: Choices


@dataclass(frozen=True, slots=True)
class Trigger:
    """A place in a rule that reads a symbol: a changed row of the symbol says which parameters are concerned."""

    rule: Rule
    places: tuple[tuple[int, int], ...]
    """Positions in the row, and the places in the frame that they fill."""
    equal: tuple[tuple[int, int], ...]
    """Positions in the row that name the same parameter."""
    members: tuple[tuple[int, str], ...]
    """Positions in the row that have to hold a certain member of an enumeration."""
    known: int

    def fits(self, row: Sequence[str], frame: Frame) -> bool:
        """Whether the rule may be concerned; the parameters that the row gives are put into the frame."""
        for at, place in self.places:
            frame[place] = row[at]
        return all(row[one] == row[other] for one, other in self.equal) and all(
            row[at] == name for at, name in self.members
        )


def _trigger(rule: Rule, args: Sequence[Term]) -> Trigger:
    first: dict[Var, int] = {}
    equal = []
    for at, arg in enumerate(args):
        if isinstance(arg, Var) and arg in rule.scope and first.setdefault(arg, at) != at:
            equal.append((first[arg], at))
    return Trigger(
        rule,
        places=tuple((at, rule.scope[var]) for var, at in first.items()),
        equal=tuple(equal),
        members=tuple((at, arg.name) for at, arg in enumerate(args) if isinstance(arg, Member)),
        known=rule.choices.known(first),
    )


def triggers(protocol: Protocol, rules: Iterable[Rule]) -> dict[str, list[Trigger]]:
    """List, for each symbol, where rules read it, and where they deduce it again after it was removed."""
    updates = [update for action in protocol.actions for update in action.updates]
    lost = {update.symbol for update in updates if update.effect is Effect.REMOVE}
    found: dict[str, list[Trigger]] = {}
    for rule in rules:
        for part in dict.fromkeys(_read(rule.action, lost)):
            found.setdefault(part.symbol.name, []).append(_trigger(rule, part.args))
    return found


def _read(rule: Action, lost: set[Symbol]) -> Iterable[Apply]:
    """Yield the places where a rule reads a symbol that changes, its own heads among them if they can be removed."""
    terms = [guard.formula for guard in rule.guards]
    for update in rule.updates:
        head = (Apply(update.symbol, update.args),) if update.symbol in lost else update.args
        terms += [*head, update.when]
    parts = (part for term in terms for part in subterms(term))
    return (part for part in parts if isinstance(part, Apply) and part.symbol.mutable)
