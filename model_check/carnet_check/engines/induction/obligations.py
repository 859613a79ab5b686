"""Proof obligations: the formulas that have to be valid for a set of invariants to be inductive.

``init/<invariant>`` says that the invariant holds in every first state, ``step/<action>/<invariant>`` that the action
preserves it if all invariants hold before. A ``/`` inside a name is written ``%2F``, so ids are unique. Deductions are
actions like any other here.

A pair whose action changes no symbol of the invariant is left out: the weakest precondition is then the invariant
itself, which is one of the hypotheses, so there is nothing to prove.

Hypotheses and goals are named: ``axiom:…``, ``threat:…``, ``inv:…``, ``guard:…``, ``update:…`` (an update that belongs
to a defence takes place) and ``goal``. Invariants whose claim or lemma is limited to some threat models take part only
in obligations under one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar, cast

from carnet_check.exports.smtlib import Declarations, Statement, script, statement
from carnet_check.obligations.liveness import drawn_apart
from carnet_check.reserved_symbols import Purpose, stand_in, switch
from carnet_spec.language import (
    Action,
    Axiom,
    Effect,
    Initial,
    Invariant,
    Protocol,
    SpecificationError,
    Symbol,
    Term,
    Threat,
    Update,
    terms,
)

GOAL = "goal"
FRESH_VALUES_DIFFER = "fresh:values differ"
Computed = TypeVar("Computed")


@dataclass(frozen=True)
class Obligation:
    """One proof obligation: the hypotheses imply the goal, for all values of the constants."""

    id: str  #: ``init/<invariant>`` or ``step/<action>/<invariant>``.
    invariant: Invariant  #: the invariant to prove.
    action: Action | None  #: the action that has to preserve it; ``None`` for the first state.
    goal: Term  #: the weakest precondition, its leading variables replaced by arbitrary constants.
    own: Mapping[str, Term]  #: hypotheses of this obligation alone (guards, switches of updates).
    system: System = field(repr=False, compare=False)

    @cached_property
    def own_statements(self) -> tuple[Statement, ...]:
        """The hypotheses of this obligation alone."""
        return tuple(statement(name, formula, self.system.declarations) for name, formula in self.own.items())

    @cached_property
    def negated_goal(self) -> Statement:
        """The negated goal, which contradicts the hypotheses exactly if the obligation holds."""
        return statement(GOAL, terms.negation(self.goal), self.system.declarations)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The obligation's own hypotheses, and its negated goal."""
        return (*self.own_statements, self.negated_goal)

    @property
    def of_defences(self) -> Mapping[str, str]:
        """The defence of each own hypothesis that belongs to one."""
        if self.action is None:
            return {}
        parts = {f"guard:{guard.name}": guard.defence for guard in self.action.guards}
        parts |= {f"update:{update.name}": update.defence for update in self.action.updates}
        return {name: defence for name, defence in parts.items() if defence and name in self.own}

    @property
    def shared_hypotheses(self) -> Mapping[str, Statement]:
        """The hypotheses that this obligation shares with others of its kind."""
        return self.system.step_hypotheses if self.action else self.system.init_hypotheses

    def smtlib(self) -> str:
        """Return the obligation, all hypotheses included, as one SMT-LIB 2 file; ``unsat`` is a proof."""
        protocol = self.system.protocol
        comments = (
            f"{protocol.id}, variant {protocol.variant}"
            + (f", without {', '.join(protocol.without)}" if protocol.without else ""),
            f"obligation {self.id}; unsat means proved",
        )
        return script(self.system.declarations, (*self.shared_hypotheses.values(), *self.statements), comments)


@dataclass(frozen=True)
class System:
    """A protocol under a threat model (or under none), with the cached text of its hypotheses."""

    protocol: Protocol
    threat: Threat | None
    invariants: tuple[Invariant, ...]
    declarations: Declarations = field(default_factory=Declarations, compare=False, repr=False)
    #: A cache of results that depend on the protocol alone; systems under other threat models share it.
    _computed: dict[tuple[str, str], Any] = field(default_factory=dict, compare=False, repr=False)

    def under(self, threat: Threat | None) -> System:
        """Return the same protocol under another threat model."""
        invariants = tuple(invariants_under(self.protocol, threat))
        return replace(self, threat=threat, invariants=invariants)

    def symbols(self, invariant: Invariant) -> frozenset[Symbol]:
        """The symbols in an invariant."""
        return self._once("symbols", invariant.name, lambda: terms.symbols_of(invariant.body))

    def instance(self, invariant: Invariant) -> Term:
        """The invariant at arbitrary constants."""
        return self._once("instance", invariant.name, lambda: instance_of(invariant))

    def goal_at_start(self, invariant: Invariant) -> Term:
        """The invariant's meaning in the first state."""
        first = at_start(self.protocol.initial, self.protocol.symbols)
        return self._once("start", invariant.name, lambda: first(self.instance(invariant)))

    def ground(self, action: Action) -> Action:
        """The action whose parameters are constants."""
        return self._once("ground", action.name, lambda: with_constants(action))

    def goal_after(self, ground: Action, invariant: Invariant) -> Term:
        """The invariant's weakest precondition under an action whose parameters are constants."""
        after = after_updates(ground.updates, switches=True)
        return self._once(f"after {ground.name}", invariant.name, lambda: after(self.instance(invariant)))

    def is_kept(self, ground: Action, invariant: Invariant) -> bool:
        """Whether the weakest precondition of an invariant is the invariant itself."""
        kept = f"kept by {ground.name}"
        return self._once(kept, invariant.name, lambda: self.goal_after(ground, invariant) == self.instance(invariant))

    def _once(self, what: str, name: str, compute: Callable[[], Computed]) -> Computed:
        key = (what, name)
        if key not in self._computed:
            self._computed[key] = compute()
        return cast(Computed, self._computed[key])

    @cached_property
    def axioms(self) -> Mapping[str, Term]:
        """The protocol's axioms and those of the threat model, by their names in cores."""
        found = {f"axiom:{axiom.name}": axiom.formula for axiom in self.protocol.axioms}
        for axiom in self.threat.axioms if self.threat else ():
            found[f"threat:{axiom.name}"] = axiom.formula
        return found

    @property
    def all_axioms(self) -> tuple[Axiom, ...]:
        """The protocol's axioms and those of the threat model."""
        return (*self.protocol.axioms, *(self.threat.axioms if self.threat else ()))

    @cached_property
    def hypotheses(self) -> Mapping[str, Term]:
        """Axioms and invariants, by their names in cores."""
        return {**self.axioms, **{f"inv:{invariant.name}": invariant.formula for invariant in self.invariants}}

    @cached_property
    def init_hypotheses(self) -> Mapping[str, Statement]:
        """The hypotheses about the first state."""
        return {name: statement(name, formula, self.declarations) for name, formula in self.axioms.items()}

    @cached_property
    def step_hypotheses(self) -> Mapping[str, Statement]:
        """The hypotheses about the state before a step."""
        return {name: statement(name, formula, self.declarations) for name, formula in self.hypotheses.items()}


def system(protocol: Protocol, threat: Threat | None) -> System:
    """Return ``protocol`` under ``threat``, with the invariants that should hold there.

    Raises SpecificationError if two invariants, or two axioms, have the same name.
    """
    names = [invariant.name for invariant in protocol.invariants]  # all of them: caches use names as keys
    names += [axiom.name for axiom in protocol.axioms]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SpecificationError(f"two axioms or invariants are called {', '.join(twice)}")
    return System(protocol, threat, tuple(invariants_under(protocol, threat)))


def invariants_under(protocol: Protocol, threat: Threat | None) -> Iterator[Invariant]:
    """Yield the invariants that should hold under ``threat``, or, without one, under all."""
    every = {declared.id for declared in protocol.threats}
    wanted = every if threat is None else {threat.id}
    for claim in protocol.claims:
        if claim.invariant is not None and wanted <= set(claim.under) - set(claim.fails_under):
            yield claim.invariant
    for lemma in protocol.lemmas:
        under: tuple[str, ...] = getattr(lemma, "under", ())
        if not under or wanted <= set(under):
            yield lemma


def obligations(protocol: Protocol, threat: Threat | None = None) -> tuple[Obligation, ...]:
    """Return the obligations of ``protocol`` under ``threat``; without one, those for all threat models."""
    return tuple(obligations_of(system(protocol, threat)))


def obligations_of(system: System) -> Iterator[Obligation]:
    """Yield the obligations of ``system``, those of the first state first."""
    for invariant in system.invariants:
        id = f"init/{_part(invariant.name)}"
        yield Obligation(id, invariant, None, system.goal_at_start(invariant), {}, system)
    for action in system.protocol.actions:
        yield from obligations_of_action(system, action)


def obligations_of_action(system: System, action: Action, about: Collection[str] | None = None) -> Iterator[Obligation]:
    """Yield the obligations of ``action``, whose name must be unique in ``system``.

    ``about`` names the invariants whose obligations are wanted; by default all are.
    """
    ground = system.ground(action)
    changed = {update.symbol for update in ground.updates}
    guards = {f"guard:{guard.name}": guard.formula for guard in ground.guards}
    if (differ := fresh_values_differ(action)) != terms.TRUE:
        guards[FRESH_VALUES_DIFFER] = differ
    for invariant in system.invariants:
        touched = changed & system.symbols(invariant)
        if not touched or (about is not None and invariant.name not in about) or system.is_kept(ground, invariant):
            continue
        switches = {
            f"update:{update.name}": switch(update)
            for update in ground.updates
            if update.defence is not None and update.symbol in touched
        }
        yield Obligation(
            f"step/{_part(action.name)}/{_part(invariant.name)}",
            invariant,
            action,
            system.goal_after(ground, invariant),
            {**guards, **switches},
            system,
        )


def _part(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F")


def fresh_values_differ(action: Action) -> Term:
    """Return the formula that values of the same sort which one step draws fresh are distinct."""
    return drawn_apart([stand_in(Purpose.PARAMETER, var) for var in action.fresh])


def instance_of(invariant: Invariant) -> Term:
    """Return the invariant at arbitrary constants."""
    values: dict[terms.Var, Term] = {param: stand_in(Purpose.SKOLEM, param) for param in invariant.params}
    return simplify(terms.substitute(invariant.body, values))


# --------------------------------------------------------------------------------------------------
# Weakest preconditions by substitution: the condition before a step for a formula to hold after it.
#
# The value of a symbol after a step is a formula (or a term) over the state before it, so a step needs no second copy
# of the state and no frame axioms: a symbol that the step does not change is not replaced.


@lru_cache(maxsize=1024)
def with_constants(action: Action) -> Action:
    """Replace the parameters of ``action`` by constants, so that no quantifier can capture them."""
    values: dict[terms.Var, Term] = {param: stand_in(Purpose.PARAMETER, param) for param in action.params}

    def ground(term: Term) -> Term:
        return simplify(terms.substitute(term, values))

    return replace(
        action,
        guards=tuple(replace(guard, formula=ground(guard.formula)) for guard in action.guards),
        updates=tuple(
            replace(
                update,
                args=tuple(ground(arg) for arg in update.args),
                value=None if update.value is None else ground(update.value),
                when=ground(update.when),
            )
            for update in action.updates
        ),
    )


def after_updates(updates: Iterable[Update], *, switches: bool = False) -> Callable[[Term], Term]:
    """Return the function from a formula to its weakest precondition under ``updates``.

    With ``switches``, an update that belongs to a defence takes place only if its :func:`switch` is on. A proof that
    does not use the hypothesis that the switch is on is valid with and without the update.
    """
    changed: dict[Symbol, list[Update]] = {}
    for update in updates:
        changed.setdefault(update.symbol, []).append(update)

    def value(symbol: Symbol, args: tuple[Term, ...]) -> Term:
        result: Term = terms.Apply(symbol, args)
        for update in changed[symbol]:
            result = _changed(update, args, result, switches)
        return result

    return lambda formula: replace_symbols(formula, changed, value)


def _changed(update: Update, args: tuple[Term, ...], before: Term, switches: bool) -> Term:
    """Return the value at ``args`` after ``update``, given its value ``before``."""
    places = tuple(zip(update.args, args, strict=True))
    matched: dict[terms.Var, Term] = {
        pattern: arg for pattern, arg in places if isinstance(pattern, terms.Var) and pattern in update.each
    }
    equalities = [equal(arg, terms.substitute(pattern, matched)) for pattern, arg in places if pattern not in matched]
    test = both(*equalities, simplify(terms.substitute(update.when, matched)))
    if switches and update.defence is not None:
        test = both(test, switch(update))
    match update.effect:
        case Effect.INSERT:
            return either(before, test)
        case Effect.REMOVE:
            return both(before, terms.negation(test))
        case Effect.ASSIGN:
            if update.value is None:
                raise SpecificationError(f"update '{update.name}' assigns no value")
            return choose(test, terms.substitute(update.value, matched), before)


def at_start(initial: Iterable[Initial], symbols: Iterable[Symbol]) -> Callable[[Term], Term]:
    """Return the function from a formula to its meaning in the first state.

    A mutable relation without an initial value is empty; a variable or function without one is arbitrary.

    Raises SpecificationError if an initial value reads the state it is part of.
    """
    given = {start.symbol: start for start in initial}
    for start in given.values():
        if any(symbol.mutable for symbol in terms.symbols_of(start.value)):
            raise SpecificationError(f"the initial value of {start.symbol.name} reads state")
    fixed = {
        symbol: given.get(symbol) for symbol in symbols if symbol.mutable and (symbol in given or symbol.is_relation)
    }

    def value(symbol: Symbol, args: tuple[Term, ...]) -> Term:
        start = fixed[symbol]
        if start is None:
            return terms.FALSE
        return simplify(terms.substitute(start.value, dict(zip(start.params, args, strict=True))))

    return lambda formula: replace_symbols(formula, fixed, value)


def replace_symbols(
    formula: Term,
    symbols: Mapping[Symbol, object],
    value: Callable[[Symbol, tuple[Term, ...]], Term],
) -> Term:
    """Replace every application of one of ``symbols`` by its ``value`` at the (replaced) arguments."""

    def visit(term: Term) -> Term:
        rebuilt = terms.rebuild(term, visit)
        if isinstance(rebuilt, terms.Apply) and rebuilt.symbol in symbols:
            return value(rebuilt.symbol, rebuilt.args)
        return rebuilt

    return simplify(visit(formula))


# -- Formula constructors that simplify trivially true or false parts ------------------------------
#
# Every rule is valid in every structure, even with empty sorts, so the simplified formulas are equivalent.


def equal(left: Term, right: Term) -> Term:
    """Return ``left == right``; true for identical terms, false for two different members of an enumeration."""
    if left == right:
        return terms.TRUE
    if isinstance(left, terms.Member) and isinstance(right, terms.Member):
        return terms.FALSE
    for choice, other in ((left, right), (right, left)):
        if isinstance(choice, terms.IfThenElse):  # (if t then a else b) == c is: if t then a == c else b == c
            return choose(choice.test, equal(choice.then, other), equal(choice.otherwise, other))
    return terms.Equal(left, right)


def choose(test: Term, then: Term, otherwise: Term) -> Term:
    """Return ``if test then … else …``, for terms or formulas."""
    if test == terms.TRUE or then == otherwise:
        return then
    if test == terms.FALSE:
        return otherwise
    if isinstance(then, terms.Truth):
        return both(terms.negation(test), otherwise) if then == terms.FALSE else either(test, otherwise)
    if isinstance(otherwise, terms.Truth):
        return both(test, then) if otherwise == terms.FALSE else either(terms.negation(test), then)
    return terms.IfThenElse(test, then, otherwise)


def both(*parts: Term) -> Term:
    """Return the conjunction, without repeated parts."""
    return terms.conjunction(tuple(dict.fromkeys(parts)))


def either(*parts: Term) -> Term:
    """Return the disjunction, without repeated parts."""
    return terms.disjunction(tuple(dict.fromkeys(parts)))


def implication(premise: Term, conclusion: Term) -> Term:
    """Return the formula that ``premise`` implies ``conclusion``."""
    if premise == terms.FALSE or conclusion in (terms.TRUE, premise):
        return terms.TRUE
    if premise == terms.TRUE:
        return conclusion
    if conclusion == terms.FALSE:
        return terms.negation(premise)
    return terms.Implies(premise, conclusion)


def simplify(term: Term) -> Term:
    """Simplify trivially true or false parts everywhere in ``term``."""
    match term:
        case terms.Var() | terms.Member() | terms.Truth():
            return term
        case terms.Apply(symbol, args):
            return terms.Apply(symbol, tuple(simplify(arg) for arg in args)) if args else term
        case terms.Equal(left, right):
            return equal(simplify(left), simplify(right))
        case terms.Not(body):
            return terms.negation(simplify(body))
        case terms.And(parts):
            return both(*(simplify(part) for part in parts))
        case terms.Or(parts):
            return either(*(simplify(part) for part in parts))
        case terms.Implies(premise, conclusion):
            return implication(simplify(premise), simplify(conclusion))
        case terms.IfThenElse(test, then, otherwise):
            return choose(simplify(test), simplify(then), simplify(otherwise))
        case terms.Forall(bound, body):
            inner = simplify(body)
            return terms.TRUE if inner == terms.TRUE else terms.Forall(bound, inner)
        case terms.Exists(bound, body):
            inner = simplify(body)
            return terms.FALSE if inner == terms.FALSE else terms.Exists(bound, inner)
