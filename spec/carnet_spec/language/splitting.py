"""What two runs of a protocol have apart and what they share: which symbols may depend on a secret, and their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from carnet_spec.language.actions import Action, GuardKind, Update
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.naming import and_known
from carnet_spec.language.protocol import Protocol, listed, terms_of_action
from carnet_spec.language.terms import (
    Apply,
    Symbol,
    Term,
    Var,
    conjunction,
    free_variables,
    rebuild,
    substitute,
    symbols_of,
)


class RunSide(Enum):
    """One of the two runs."""

    LEFT = "left"
    RIGHT = "right"

    @property
    def other(self) -> RunSide:
        """The run that it is compared with."""
        return RunSide.RIGHT if self is RunSide.LEFT else RunSide.LEFT


@dataclass(frozen=True, slots=True)
class Split:
    """What there is twice: symbols, and the parameters that each run chooses for itself."""

    symbols: frozenset[Symbol]
    own: Mapping[str, frozenset[Var]]

    def of(self, action: Action) -> frozenset[Var]:
        """Return the parameters of an action that each run chooses for itself."""
        return self.own.get(action.name, frozenset())

    def reaches(self, term: Term, own: frozenset[Var] = frozenset()) -> bool:
        """Whether ``term`` may be different in the two runs."""
        return not self.symbols.isdisjoint(symbols_of(term)) or not own.isdisjoint(free_variables(term))

    def symbol(self, symbol: Symbol, side: RunSide) -> Symbol:
        """Return what a symbol is in one run."""
        if symbol not in self.symbols:
            return symbol
        says = f"{symbol.says}, in the {side.value} run" if symbol.says else ""
        return replace(symbol, name=f"{side.value}_{symbol.name}", says=says)

    def term(self, term: Term, side: RunSide, own: frozenset[Var] = frozenset()) -> Term:
        """Return what ``term`` is in one run."""
        return substitute(self._spoken(term, side), {var: named(var, side) for var in own})

    def _spoken(self, term: Term, side: RunSide) -> Term:
        found = rebuild(term, lambda child: self._spoken(child, side))
        return Apply(self.symbol(found.symbol, side), found.args) if isinstance(found, Apply) else found

    def both(self, term: Term) -> Term:
        """Return ``term`` said of both runs."""
        if not self.reaches(term):
            return term
        return conjunction((self.term(term, RunSide.LEFT), self.term(term, RunSide.RIGHT)))


def named(var: Var, side: RunSide) -> Var:
    """Return a parameter that each run chooses for itself, as one of them chose it."""
    return Var(f"{side.value}_{var.name}", var.sort)


def refuse_what_has_no_product(whole: Protocol) -> None:
    """Refuse rules, which no platform schedules, and liveness.

    Raises:
        SpecificationError: there is one.
    """
    for action in whole.actions:
        if action.deduction:
            raise SpecificationError(f"{action.name} is a rule, which runs take when they can: write an action")
    if whole.liveness:
        raise SpecificationError(f"{whole.id} states liveness, which says nothing of two runs: leave it out")


def refuse_equal_secrets(whole: Protocol, secret: frozenset[Symbol], own: Mapping[str, frozenset[Var]]) -> None:
    """Refuse a secret that is the same in any two runs, so that nothing would be said of it.

    Raises:
        SpecificationError: it begins as nothing secret says, and nothing secret is written to it.
    """
    begin = {first.symbol for first in whole.initial}
    differ = {each for each in secret if not each.mutable or not (each.is_relation or each in begin)}
    reached = dependent(whole, frozenset(differ), own)
    for symbol in sorted(secret - reached, key=lambda each: each.name):
        raise SpecificationError(
            f"{symbol.name} begins the same in both runs, and nothing secret is written to it: give it a first value "
            "that is secret"
        )


def refuse_forgotten_axioms(whole: Protocol, split: frozenset[Symbol], public: frozenset[Symbol]) -> None:
    """Refuse an axiom by which something may depend on a secret that there is one of.

    Raises:
        SpecificationError: it says something of a secret and of what is neither secret nor public.
    """
    axioms = (*whole.axioms, *(axiom for threat in whole.threats for axiom in threat.axioms))
    for axiom in axioms:
        spoken = symbols_of(axiom.formula)
        single = sorted(symbol.name for symbol in spoken - split - public)
        if single and not split.isdisjoint(spoken):
            hidden = min(symbol.name for symbol in spoken & split)
            raise SpecificationError(
                f"the axiom '{axiom.name}' ties {hidden}, which is secret, to {listed(single)}: name it in `secret` "
                "if it differs, and in `public` if it is one for both runs"
            )


def own_parameters(whole: Protocol, own: Mapping[str, Collection[str]]) -> dict[str, frozenset[Var]]:
    """Return the parameters that each run chooses for itself, by action.

    Raises:
        SpecificationError: there is no such action or parameter, or it is one that two runs share.
    """
    found: dict[str, frozenset[Var]] = {}
    for name, names in own.items():
        action = whole.action(name)
        params = {var.name: var for var in action.params}
        for missing in sorted(set(names) - set(params)):
            raise SpecificationError(f"{name} has no parameter '{missing}'{and_known(missing, params)}")
        found[name] = frozenset(params[each] for each in names)
        shared = {*action.fresh, *((action.actor,) if isinstance(action.actor, Var) else ())}
        for var in sorted(found[name] & shared, key=lambda each: each.name):
            raise SpecificationError(f"{name}: {var.name} is drawn fresh or acts, which is one for both runs")
    return found


def dependent(whole: Protocol, secret: frozenset[Symbol], own: Mapping[str, frozenset[Var]]) -> frozenset[Symbol]:
    """Return the symbols that may be different in two runs that took steps with the same labels.

    A guard that reads a secret makes none of them: both runs took the step.

    Raises:
        SpecificationError: a secret decides who acts or what is drawn, or a name is taken.
    """
    split = Split(secret, own)
    while True:
        written = {
            update.symbol
            for action in whole.actions
            for update in action.updates
            if any(split.reaches(term, split.of(action)) for term in _read(update))
        }
        written |= {first.symbol for first in whole.initial if split.reaches(first.value)}
        if written <= split.symbols:
            break
        split = replace(split, symbols=split.symbols | written)
    _refuse_secret_actors(whole, split)
    _refuse_taken_names(whole)
    return split.symbols


def _read(update: Update) -> tuple[Term, ...]:
    return (*update.args, update.when, *(() if update.value is None else (update.value,)))


def _refuse_secret_actors(whole: Protocol, split: Split) -> None:
    for action in whole.actions:
        drawn = frozenset(action.fresh)
        for guard in action.guards:
            if not split.reaches(guard.formula, split.of(action)):
                continue
            if guard.kind in (GuardKind.ACTOR, GuardKind.FRESH) or not drawn.isdisjoint(free_variables(guard.formula)):
                raise SpecificationError(
                    f"{action.name}: a secret decides who acts or what is drawn, which is one for both runs"
                )


def _refuse_taken_names(whole: Protocol) -> None:
    names = {symbol.name for symbol in whole.symbols}
    terms = [term for action in whole.actions for term in terms_of_action(action)]
    names |= {var.name for term in terms for var in free_variables(term)}
    names |= {name for action in whole.actions for name in (action.name, *(var.name for var in action.params))}
    clashes = sorted(name for name in names if name.startswith(("left_", "right_", "apart_", "compare_")))
    if clashes:
        raise SpecificationError(f"{listed(clashes)}: a name of one run may not begin as those of two runs do")
