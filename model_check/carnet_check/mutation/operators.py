"""The mutation operators: each part of a protocol is dropped, negated, weakened, replaced or swapped.

A part is a guard, an update or an axiom. A mutant that differs from the original, or from another mutant, only in an
order without meaning is left out. Only updates of the same symbol are swapped: all other updates have no order. Fresh
draws are only dropped, since the update that marks a value as used belongs to the draw.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from carnet_spec.language import Action, Axiom, Guard, GuardKind, Protocol, Update, terms
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.lints import RULES, SOUNDNESS
from carnet_spec.language.protocol import terms_of_action


class Operator(StrEnum):
    """The mutation operators: what is done to a part of a specification."""

    DROP = "drop"
    NEGATE = "negate"
    WEAKEN = "weaken"
    REPLACE = "replace"
    SWAP = "swap"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a variant."""

    variant: str
    #: the place and the change, as in ``lend/guard clean/drop``; a mutant of this name is there in every run.
    name: str
    operator: Operator
    parts: tuple[str, ...]  #: the guards and updates that are changed, as proofs name them: ``guard:clean``.
    action: Action | None = None  #: the changed action; ``None`` where an axiom is dropped.
    axiom: str = ""  #: the name of the axiom that is dropped.
    threat: str = ""  #: the threat model that the axiom belongs to; empty: the protocol.

    @property
    def key(self) -> str:
        """The key of the mutant, unique across variants."""
        return f"{self.variant}: {self.name}"

    def of(self, protocol: Protocol) -> Protocol:
        """Return ``protocol`` with the change."""
        if self.action is not None:
            return with_action(protocol, self.action)
        if not self.threat:
            return replace(protocol, axioms=_without(protocol.axioms, self.axiom))
        threats = tuple(
            replace(each, axioms=_without(each.axioms, self.axiom)) if each.id == self.threat else each
            for each in protocol.threats
        )
        return replace(protocol, threats=threats)


def with_action(protocol: Protocol, action: Action) -> Protocol:
    """Return ``protocol`` with ``action`` instead of its action of the same name."""
    return replace(protocol, actions=tuple(action if each.name == action.name else each for each in protocol.actions))


def without_parts(action: Action, parts: Collection[str]) -> Action:
    """Return ``action`` without some of its guards and updates."""
    return replace(
        action,
        guards=tuple(guard for guard in action.guards if f"guard:{guard.name}" not in parts),
        updates=tuple(update for update in action.updates if f"update:{update.name}" not in parts),
    )


def _without(axioms: Iterable[Axiom], name: str) -> tuple[Axiom, ...]:
    return tuple(axiom for axiom in axioms if axiom.name != name)


def refusal(protocol: Protocol) -> str:
    """Return why a verdict on a protocol would have no meaning, according to a lint; empty if it has one.

    A symbol that may be read before it is written is no reason: proofs cover every value that is read.
    """
    found = (f"{name}: {where}: {what}" for name in RULES if name in SOUNDNESS for where, what in RULES[name](protocol))
    return next(found, "")


#: A description with the place, the operator, the changed parts, and the resulting action.
_Change = tuple[str, Operator, tuple[str, ...], Action]


def mutants(protocol: Protocol, beside: Collection[Action] = (), known: Collection[str] = ()) -> tuple[Mutant, ...]:
    """Return the mutants of ``protocol``.

    Args:
        protocol: the protocol to change.
        beside: actions of other variants; parts that are equal in these are mutated there, and left out here.
        known: the names of axioms that are dropped in other variants.
    """
    found: list[Mutant] = []
    for action in protocol.actions:
        elsewhere = _parts(each for each in beside if each.name == action.name)
        found += _of_action(protocol.variant, action, elsewhere)
    found += _of_axioms(protocol, known)
    return tuple(found)


def _parts(actions: Iterable[Action]) -> frozenset[Guard | Update]:
    found: set[Guard | Update] = set()
    for action in actions:
        found.update(action.guards, action.updates)
    return frozenset(found)


def _of_action(variant: str, action: Action, elsewhere: frozenset[Guard | Update]) -> Iterator[Mutant]:
    seen = {_meaning(action)}
    names: dict[str, int] = {}
    every: tuple[Guard | Update, ...] = (*action.guards, *action.updates)
    own = [part for part in every if part not in elsewhere]
    for place, operator, parts, changed in _changes(action, own):
        meaning = _meaning(changed)
        if meaning in seen:
            continue
        seen.add(meaning)
        names[place] = names.get(place, 0) + 1
        again = f" ({names[place]})" if names[place] > 1 else ""
        yield Mutant(variant, f"{action.name}/{place}{again}", operator, parts, changed)


def _meaning(action: Action) -> tuple[object, ...]:
    """Return a key that is equal for actions that differ only in the order of guards or of independent updates."""
    guards = frozenset((canonical(guard.formula), guard.kind is GuardKind.FRESH) for guard in action.guards)
    updates: dict[str, tuple[object, ...]] = {}
    for update in action.updates:
        value = None if update.value is None else canonical(update.value)
        said = (update.effect, tuple(map(canonical, update.args)), value, canonical(update.when), update.each)
        updates[update.symbol.name] = (*updates.get(update.symbol.name, ()), said)
    return guards - {(terms.TRUE, False)}, frozenset(updates.items())


def _changes(action: Action, own: Iterable[Guard | Update]) -> Iterator[_Change]:
    others = Replacements(action, terms_of_action(action))
    for part in own:
        if isinstance(part, Guard):
            yield from _of_guard(action, part, others)
        else:
            yield from _of_update(action, part, others)


# -- guards ---------------------------------------------------------------------------------------


def _of_guard(action: Action, guard: Guard, others: Replacements) -> Iterator[_Change]:
    place, parts = f"guard {guard.name}", (f"guard:{guard.name}",)
    yield f"{place}/drop", Operator.DROP, parts, without_parts(action, parts)
    if guard.kind is GuardKind.FRESH:
        return
    yield f"{place}/negate", Operator.NEGATE, parts, _with_guard(action, guard, terms.negation(guard.formula))
    for what, formula in weakenings(guard.formula):
        yield f"{place}/{what}", Operator.WEAKEN, parts, _with_guard(action, guard, formula)
    for what, formula in rewritings(guard.formula, others):
        yield f"{place}/{what}", Operator.REPLACE, parts, _with_guard(action, guard, formula)


def _with_guard(action: Action, guard: Guard, formula: terms.Term) -> Action:
    changed = replace(guard, formula=formula)
    return replace(action, guards=tuple(changed if each is guard else each for each in action.guards))


# -- updates --------------------------------------------------------------------------------------


def _of_update(action: Action, update: Update, others: Replacements) -> Iterator[_Change]:
    place, parts = f"update {update.name}", (f"update:{update.name}",)
    yield f"{place}/drop", Operator.DROP, parts, without_parts(action, parts)
    if any(update.args == (var,) and update.symbol == used_symbol(var.sort) for var in action.fresh):
        return
    if update.when != terms.TRUE:
        yield f"{place}/drop when", Operator.WEAKEN, parts, _with(action, update, replace(update, when=terms.TRUE))
        negated = replace(update, when=terms.negation(update.when))
        yield f"{place}/negate when", Operator.NEGATE, parts, _with(action, update, negated)
        for what, when in weakenings(update.when):
            yield f"{place}/{what} of when", Operator.WEAKEN, parts, _with(action, update, replace(update, when=when))
    for what, changed in _replaced(update, others):
        yield f"{place}/{what}", Operator.REPLACE, parts, _with(action, update, changed)
    later = action.updates[action.updates.index(update) + 1 :]
    for other in later:
        if other.symbol == update.symbol and (other.effect is not update.effect or update.value is not None):
            both = (*parts, f"update:{other.name}")
            yield f"{place}/swap with {other.name}", Operator.SWAP, both, _swapped(action, update, other)


def _replaced(update: Update, others: Replacements) -> Iterator[tuple[str, Update]]:
    for number, arg in enumerate(update.args):
        if arg not in update.each:
            for what, new in rewritings(arg, others):
                args = (*update.args[:number], new, *update.args[number + 1 :])
                yield f"{what} at {number + 1}", replace(update, args=args)
    if update.value is not None:
        yield from ((f"{what} assigned", replace(update, value=new)) for what, new in rewritings(update.value, others))
    yield from ((f"{what} in when", replace(update, when=new)) for what, new in rewritings(update.when, others))


def _with(action: Action, update: Update, changed: Update) -> Action:
    return replace(action, updates=tuple(changed if each is update else each for each in action.updates))


def _swapped(action: Action, one: Update, other: Update) -> Action:
    places = {id(one): other, id(other): one}
    return replace(action, updates=tuple(places.get(id(each), each) for each in action.updates))


# -- axioms ---------------------------------------------------------------------------------------


def _of_axioms(protocol: Protocol, known: Collection[str]) -> Iterator[Mutant]:
    for axiom in protocol.axioms:
        if axiom.name not in known:
            yield _dropped(protocol.variant, axiom.name, "")
    for threat in protocol.threats:
        for axiom in threat.axioms:
            if f"{threat.id}/{axiom.name}" not in known:
                yield _dropped(protocol.variant, axiom.name, threat.id)


def _dropped(variant: str, axiom: str, threat: str) -> Mutant:
    place = f"threat model {threat}/axiom {axiom}" if threat else f"axiom {axiom}"
    kind = "threat" if threat else "axiom"
    return Mutant(variant, f"{place}/drop", Operator.DROP, (f"{kind}:{axiom}",), axiom=axiom, threat=threat)


# -- Rewriting a formula in one place at a time ----------------------------------------------------

Rewriting = tuple[str, terms.Term]  #: A few words about the change, and the resulting term.


def rewritings(term: terms.Term, change: Callable[[terms.Term], Iterable[Rewriting]]) -> Iterator[Rewriting]:
    """Yield ``term`` with ``change`` applied at one place: at ``term`` itself first, then inside it, left to right."""
    yield from change(term)
    for place, child in enumerate(terms.children(term)):
        for what, new in rewritings(child, change):
            yield what, _with_child(term, place, new)


def _with_child(term: terms.Term, place: int, new: terms.Term) -> terms.Term:
    numbers = iter(range(len(terms.children(term))))
    return terms.rebuild(term, lambda child: new if next(numbers) == place else child)


def weakenings(formula: terms.Term) -> Iterator[Rewriting]:
    """Yield ``formula`` without one of its parts: of a conjunction, a disjunction or an implication."""
    match formula:
        case terms.And(parts) | terms.Or(parts):
            for place in range(len(parts)):
                left = (*parts[:place], *parts[place + 1 :])
                what = "conjunct" if isinstance(formula, terms.And) else "alternative"
                yield f"drop {what} {place + 1}", left[0] if len(left) == 1 else type(formula)(left)
        case terms.Implies(_, conclusion):
            yield "drop premise", conclusion
        case terms.Forall(bound, body):
            yield from ((what, terms.Forall(bound, new)) for what, new in weakenings(body))
        case _:
            return


class Replacements:
    """The replacements of a term in one action: other terms of the same sort that occur in the action."""

    def __init__(self, action: Action, spoken_of: Iterable[terms.Term]) -> None:
        spoken = (
            sub for term in spoken_of for sub in terms.subterms(term) if isinstance(sub, terms.Apply) and not sub.args
        )
        constants = (sub for sub in spoken if not sub.symbol.is_relation)
        self._others: tuple[terms.Term, ...] = tuple(dict.fromkeys([*action.params, *constants]))

    def __call__(self, term: terms.Term) -> Iterator[Rewriting]:
        """Yield the replacements of ``term`` as a whole."""
        match term:
            case terms.Member(sort, name):
                members = sort.members or ()
                place = members.index(name)
                near = (members[(place + 1) % len(members)], members[place - 1])
                yield from (
                    (f"{name} → {other}", terms.Member(sort, other)) for other in dict.fromkeys(near) if other != name
                )
            case terms.Var() | terms.Apply(_, ()) if term in self._others:
                same = (
                    other for other in self._others if other != term and terms.sort_of(other) == terms.sort_of(term)
                )
                yield from ((f"{_named(term)} → {_named(other)}", other) for other in same)


def _named(term: terms.Term) -> str:
    return term.name if isinstance(term, terms.Var) else term.symbol.name if isinstance(term, terms.Apply) else ""


# -- comparing formulas ---------------------------------------------------------------------------


def canonical(term: terms.Term) -> terms.Term:
    """Return ``term`` with sorted sides of equations and sorted parts of conjunctions and disjunctions."""
    inner = terms.rebuild(term, canonical)
    match inner:
        case terms.Equal(left, right):
            return terms.TRUE if left == right else terms.Equal(*sorted((left, right), key=repr))
        case terms.And(parts) | terms.Or(parts):
            return type(inner)(tuple(sorted(dict.fromkeys(parts), key=repr)))
        case terms.Not(terms.Not(body)):
            return body
        case _:
            return inner
