"""A protocol in the form of its obligations: in the certified language, with parameters of actions as constants."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from carnet_check.obligations.preconditions import Change, Start, initially, precondition
from carnet_check.reserved_symbols import Purpose, stand_in
from carnet_spec.language import (
    Action,
    Axiom,
    Effect,
    Initial,
    Invariant,
    Protocol,
    Sort,
    SpecificationError,
    Symbol,
    Term,
    Threat,
    Update,
    terms,
)

GOAL = "goal"  #: The name of the negated goal, which is the last hypothesis of every obligation.


@dataclass(frozen=True, eq=False, slots=True)
class Hypothesis:
    """A formula with its name in proofs; obligations share one object for the same hypothesis."""

    name: str
    formula: Term


SHARED = 1 << 13  #: The most hypotheses, changes and goals that are kept for other designs, which have many alike.
shared_hypothesis = functools.lru_cache(SHARED)(Hypothesis)
_shared_change = functools.lru_cache(SHARED)(Change)


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    """An invariant as a closed formula, the negated goal if an action changes none of its symbols, and the symbols."""

    invariant: Invariant
    hypothesis: Hypothesis
    denied: Hypothesis
    symbols: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Steps:
    """One action: its parameters as constants, its guards as hypotheses, and its updates by symbol."""

    action: Action
    constants: tuple[terms.Apply, ...]
    asked: tuple[Hypothesis, ...]
    changes: Mapping[str, tuple[Change, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A protocol in the certified language."""

    protocol: Protocol
    axioms: tuple[Hypothesis, ...]  #: The hypotheses that sorts are not empty, and the axioms, both sorted by name.
    threats: Mapping[str, tuple[Hypothesis, ...]]
    statements: Mapping[str, Statement]
    starts: Mapping[str, Start]
    steps: tuple[Steps, ...]


def read_protocol(protocol: Protocol) -> Reading:
    """Return ``protocol`` in the certified language.

    Raises SpecificationError if it has a construct that this language lacks.
    """
    language = language_of(protocol)
    once("axiom", (axiom.name for axiom in protocol.axioms))
    once("threat model", (threat.id for threat in protocol.threats))
    once("invariant", (invariant.name for invariant in protocol.invariants))
    once("action", (action.name for action in protocol.actions))
    once("first value", (initial.symbol.name for initial in protocol.initial))
    sorts = (sort for sort in sorted(protocol.sorts, key=lambda sort: sort.name) if sort.members is None)
    return Reading(
        protocol,
        (
            *(
                shared_hypothesis(f"sort:{sort.name}", terms.Exists((terms.Var("x", sort),), terms.TRUE))
                for sort in sorts
            ),
            *(_axiom("axiom", axiom, language) for axiom in protocol.axioms),
        ),
        {threat.id: tuple(_threat_axioms(threat.id, threat.axioms, language)) for threat in protocol.threats},
        {invariant.name: _statement(invariant, language) for invariant in protocol.invariants},
        {initial.symbol.name: _start(initial, language) for initial in protocol.initial},
        tuple(steps_of(action, language) for action in protocol.actions),
    )


def _axiom(kind: str, axiom: Axiom, language: Language) -> Hypothesis:
    formula = language.at(f"axiom '{axiom.name}'", (), rigid=True).formula(axiom.formula)
    return shared_hypothesis(f"{kind}:{axiom.name}", formula)


def _threat_axioms(id: str, axioms: tuple[Axiom, ...], language: Language) -> Iterator[Hypothesis]:
    once(f"in threat model {id} the axiom", (axiom.name for axiom in axioms))
    return (_axiom("threat", axiom, language) for axiom in axioms)


def _statement(invariant: Invariant, language: Language) -> Statement:
    reader = language.at(f"invariant {invariant.name}", invariant.params)
    formula = quantify(terms.Forall, invariant.params, reader.formula(invariant.body))
    names = frozenset(symbol.name for symbol in terms.symbols_of(formula))
    hypothesis = shared_hypothesis(f"inv:{invariant.name}", formula)
    return Statement(invariant, hypothesis, shared_hypothesis(GOAL, terms.Not(formula)), names)


def _start(initial: Initial, language: Language) -> Start:
    symbol = initial.symbol
    place = f"the first value of {symbol.name}"
    once(f"in {place} the parameter", (var.name for var in initial.params))
    reader = language.at(place, initial.params, rigid=True)
    if tuple(var.sort for var in initial.params) != symbol.domain:
        raise reader.refused("other parameters than its symbol")
    if language.symbols.get(symbol.name) != symbol or not symbol.mutable:
        raise reader.refused("a symbol that never changes, or that the protocol does not declare")
    return Start(initial.params, _value(initial.value, symbol.result, reader))


def _value(term: Term, sort: Sort, reader: Reader) -> Term:
    return reader.formula(term) if sort == terms.BOOL else reader.term(term, sort)


# -- actions ---------------------------------------------------------------------------------------


def steps_of(action: Action, language: Language) -> Steps:
    """Return the steps of ``action``.

    Raises SpecificationError if the action has a construct that the certified language lacks.
    """
    place = f"action {action.name}"
    once(f"in {place} the parameter", (var.name for var in action.params))
    values: dict[terms.Var, Term] = {var: stand_in(Purpose.PARAMETER, var) for var in action.params}
    asked = [
        shared_hypothesis(
            f"guard:{guard.name}",
            terms.substitute(
                language.at(f"{place}, guard '{guard.name}'", action.params).formula(guard.formula), values
            ),
        )
        for guard in action.guards
    ]
    asked += _drawn_apart(action, values)
    once(f"in {place} the", (hypothesis.name for hypothesis in asked))
    changes: dict[str, list[Change]] = {}
    for update in action.updates:
        reader = language.at(f"{place}, update '{update.name}'", (*action.params, *update.each))
        changes.setdefault(update.symbol.name, []).append(_change(update, action, reader, values))
    constants = tuple(stand_in(Purpose.PARAMETER, var) for var in action.params)
    return Steps(action, constants, tuple(asked), {name: tuple(found) for name, found in changes.items()})


def _drawn_apart(action: Action, values: Mapping[terms.Var, Term]) -> Iterator[Hypothesis]:
    """Yield the hypothesis that values of the same sort which an action draws fresh are distinct, if there are any."""
    for var in action.fresh:
        if var not in values:
            raise SpecificationError(f"action {action.name} draws {var.name}, which is no parameter of it")
    for first, second in itertools.combinations(action.fresh, 2):
        if first != second and first.sort == second.sort:
            differ = terms.Not(terms.Equal(values[first], values[second]))
            yield shared_hypothesis(f"fresh:{first.name},{second.name}", differ)


def _change(update: Update, action: Action, reader: Reader, values: Mapping[terms.Var, Term]) -> Change:
    symbol = update.symbol
    _check_update(update, action, reader)
    place = reader.language.at(reader.place, action.params)
    return _shared_change(
        symbol,
        update.effect,
        tuple(
            None if arg in update.each else terms.substitute(place.term(arg, sort), values)
            for arg, sort in zip(update.args, symbol.domain, strict=True)
        ),
        tuple(arg for arg in update.args if isinstance(arg, terms.Var) and arg in update.each),
        terms.substitute(reader.formula(update.when), values),
        None if update.value is None else terms.substitute(reader.term(update.value, symbol.result), values),
    )


def _check_update(update: Update, action: Action, reader: Reader) -> None:
    symbol = update.symbol
    if reader.language.symbols.get(symbol.name) != symbol or not symbol.mutable:
        raise reader.refused(f"a change of {symbol.name}, which never changes or is not declared")
    if tuple(map(terms.sort_of, update.args)) != symbol.domain:
        raise reader.refused(f"other arguments than {symbol.name} has")
    if symbol.is_relation != (update.effect is not Effect.ASSIGN) or symbol.is_relation != (update.value is None):
        raise reader.refused(f"an effect that {symbol.name} cannot have")
    for var in update.each:
        parameters = {param.name for param in action.params}
        if var.name in parameters or update.args.count(var) != 1 or update.each.count(var) != 1:
            raise reader.refused(f"'each' {var.name}, which has to stand for one argument alone")


# --------------------------------------------------------------------------------------------------
# The layers of a protocol, and the obligations of a layer in the order of Coq's generator.


@dataclass(frozen=True, eq=False)
class Layer:
    """Claims that are proved together: those that hold under one threat model, or, without one, under all."""

    protocol: Protocol
    threat: Threat | None
    known: tuple[Invariant, ...]  #: invariants that are proved in another layer.
    claims: tuple[Invariant, ...]  #: the invariants to be proved.
    reading: Reading = field(repr=False)

    @cached_property
    def all_axioms(self) -> tuple[Hypothesis, ...]:
        """The axioms of the protocol and of the threat model."""
        return (*self.reading.axioms, *(self.reading.threats[self.threat.id] if self.threat else ()))

    @cached_property
    def before(self) -> tuple[Hypothesis, ...]:
        """The hypotheses about the state before a step."""
        stated = (statement.hypothesis for statement in self._statements((*self.known, *self.claims)))
        return (*self.all_axioms, *stated)

    @cached_property
    def claimed(self) -> tuple[Statement, ...]:
        """The claims in the certified language."""
        return tuple(self._statements(self.claims))

    @cached_property
    def prefix(self) -> str:
        """The prefix of the ids of the layer's obligations."""
        return f"{part_of_id(self.threat.id)}:" if self.threat else ""

    def _statements(self, invariants: Iterable[Invariant]) -> Iterator[Statement]:
        return (self.reading.statements[invariant.name] for invariant in invariants)


@dataclass(frozen=True, eq=False)
class Obligation:
    """One proof obligation: no values of the constants make all hypotheses and the negated goal true."""

    id: str  #: ``init/<invariant>`` or ``step/<action>/<invariant>``, with the layer's threat model, if any, in front.
    layer: Layer = field(repr=False)
    statement: Statement = field(repr=False)
    #: the action that has to preserve the invariant; ``None`` for the first state.
    steps: Steps | None = field(repr=False)
    #: the action changes no symbol of the invariant. The only hypotheses are then the invariant and its negation, so
    #: all such pairs of an invariant have the same text.
    skipped: bool = False

    @property
    def invariant(self) -> Invariant:
        """The invariant to prove."""
        return self.statement.invariant

    @property
    def variant(self) -> str:
        """The variant of the obligation."""
        return self.layer.protocol.variant

    @property
    def under(self) -> str:
        """The id of the threat model whose axioms it may use, or an empty text."""
        return self.layer.threat.id if self.layer.threat else ""

    @property
    def action(self) -> Action | None:
        """The action that has to preserve the invariant; None for the first state."""
        return self.steps.action if self.steps else None

    @property
    def constants(self) -> tuple[terms.Apply, ...]:
        """The constants for the action's parameters."""
        return self.steps.constants if self.steps and not self.skipped else ()

    @cached_property
    def goal(self) -> Hypothesis:
        """The negated goal."""
        if self.skipped:
            return self.statement.denied
        claim = self.statement.hypothesis.formula
        if self.steps is None:
            return shared_hypothesis(GOAL, terms.Not(initially(claim, self.layer.reading.starts)))
        changes = self.steps.changes
        written = sorted(self.statement.symbols & changes.keys())
        return _goal_after(self.statement.hypothesis, tuple((name, changes[name]) for name in written))

    @property
    def likely(self) -> tuple[str, ...]:
        """The prefixes of the names of hypotheses that often suffice for a proof."""
        return ("guard:", f"inv:{self.invariant.name}")

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """All hypotheses in order; the negated goal is the last."""
        if self.skipped:
            return (self.statement.hypothesis, self.goal)
        if self.steps is None:
            return (*self.layer.all_axioms, self.goal)
        return (*self.layer.before, *self.steps.asked, self.goal)


@functools.lru_cache(SHARED)
def _goal_after(claim: Hypothesis, changes: tuple[tuple[str, tuple[Change, ...]], ...]) -> Hypothesis:
    """Return the negated goal of a step; ``changes`` has the updates of each symbol of the claim that it writes."""
    return Hypothesis(GOAL, terms.Not(precondition(claim.formula, dict(changes))))


def layers(protocol: Protocol) -> tuple[Layer, ...]:
    """Return the layers of ``protocol``: the general one first, then one for each threat model that adds claims.

    Claims that hold under every threat model are proved without the axioms of any. If there is only one threat model,
    its axioms may be used for all claims, and the general layer is empty.

    Raises SpecificationError if the protocol has a construct that the certified language lacks.
    """
    reading = read_protocol(protocol)
    alone = len(protocol.threats) == 1 and protocol.threats[0].axioms
    general = () if alone else tuple(_claimed_under(protocol, {threat.id for threat in protocol.threats}))
    found = [Layer(protocol, None, (), general, reading)]
    for threat in protocol.threats:
        further = tuple(each for each in _claimed_under(protocol, {threat.id}) if each not in general)
        if further:
            found.append(Layer(protocol, threat, general, further, reading))
    return tuple(found)


def _claimed_under(protocol: Protocol, wanted: set[str]) -> Iterator[Invariant]:
    for claim in protocol.claims:
        if claim.invariant is not None and wanted <= set(claim.under) - set(claim.fails_under):
            yield claim.invariant
    for lemma in protocol.lemmas:
        if not lemma.under or wanted <= set(lemma.under):
            yield lemma


def obligations(layer: Layer) -> Iterator[Obligation]:
    """Yield all obligations for the claims of ``layer``, skipped pairs included."""
    for statement in layer.claimed:
        yield Obligation(f"{layer.prefix}init/{part_of_id(statement.invariant.name)}", layer, statement, None)
    for steps in layer.reading.steps:
        start = f"{layer.prefix}step/{part_of_id(steps.action.name)}/"
        for statement in layer.claimed:
            skipped = statement.symbols.isdisjoint(steps.changes)
            yield Obligation(start + part_of_id(statement.invariant.name), layer, statement, steps, skipped)


def part_of_id(name: str) -> str:
    """Escape a name as one part of an obligation's id; different names have different escapes."""
    return name.replace("%", "%25").replace("/", "%2F")


# --------------------------------------------------------------------------------------------------
# The certified language: the part of the language for which Coq can check proofs.
#
# It is the language with its shorthands written out: ``and`` and ``or`` join two formulas (several are nested to the
# right), and a quantifier binds one variable. What it lacks is refused here, with the place where it was found.


@dataclass(frozen=True, slots=True)
class Language:
    """The declarations of a protocol, by name; each name is declared once."""

    sorts: Mapping[str, Sort]
    symbols: Mapping[str, Symbol]

    def at(self, place: str, scope: Iterable[terms.Var], *, rigid: bool = False) -> Reader:
        """Return a reader of formulas at ``place``, with the bound variables ``scope``, the innermost last."""
        reader = Reader(self, place, {var.name: var for var in scope}, rigid)
        for var in reader.scope.values():
            reader.sort(var.sort)
        return reader


def language_of(protocol: Protocol) -> Language:
    """Return the declarations of ``protocol``.

    Raises SpecificationError if a declaration has a construct that the certified language lacks.
    """
    sorts = {sort.name: sort for sort in protocol.sorts}
    symbols = {symbol.name: symbol for symbol in protocol.symbols}
    once("sort", (sort.name for sort in protocol.sorts))
    once("symbol", (symbol.name for symbol in protocol.symbols))
    for sort in protocol.sorts:
        if sort.name == terms.BOOL.name or "." in sort.name:
            raise SpecificationError(f"a sort of a certified protocol cannot be called '{sort.name}'")
        if sort.members is not None:
            once(f"member of {sort.name}", sort.members)
            if not sort.members:
                raise SpecificationError(f"sort {sort.name} is an enumeration without members")
    language = Language(sorts, symbols)
    for symbol in protocol.symbols:
        reader = language.at(f"symbol {symbol.name}", ())
        for sort in (*symbol.domain, *(() if symbol.is_relation else (symbol.result,))):
            reader.sort(sort)
    return language


def once(what: str, names: Iterable[str]) -> None:
    """Check that names are distinct; raise SpecificationError if one occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SpecificationError(f"{what} '{name}' is there twice, so a proof that names it would be unclear")
        seen.add(name)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the formulas and terms of one place of a specification."""

    language: Language
    place: str
    scope: Mapping[str, terms.Var]  # name: the innermost bound variable of that name
    rigid: bool  # whether only rigid symbols may occur

    def formula(self, term: Term) -> Term:
        """Return a formula with its shorthands written out.

        Raises SpecificationError if the certified language has no such formula.
        """
        match term:
            case terms.Truth():
                return term
            case terms.Apply(symbol, args) if symbol.result == terms.BOOL:
                return terms.Apply(self._declared(symbol), self._arguments(symbol, args))
            case terms.Equal(left, right):
                if terms.BOOL in (terms.sort_of(left), terms.sort_of(right)):
                    raise self.refused("an equality between formulas")
                return terms.Equal(self.term(left, terms.sort_of(left)), self.term(right, terms.sort_of(left)))
            case terms.Not(body):
                return terms.Not(self.formula(body))
            case terms.And(parts):
                return nest(terms.And, [self.formula(part) for part in parts], terms.TRUE)
            case terms.Or(parts):
                return nest(terms.Or, [self.formula(part) for part in parts], terms.FALSE)
            case terms.Implies(premise, conclusion):
                return terms.Implies(self.formula(premise), self.formula(conclusion))
            case terms.Forall(bound, body):
                return quantify(terms.Forall, bound, self._under(bound).formula(body))
            case terms.Exists(bound, body):
                return quantify(terms.Exists, bound, self._under(bound).formula(body))
            case terms.IfThenElse():
                raise self.refused("a choice between two formulas")
            case _:
                raise self.refused(f"a {terms.sort_of(term).name} in the place of a formula")

    def term(self, term: Term, sort: Sort) -> Term:
        """Return a term of ``sort``.

        Raises SpecificationError if the certified language has no such term, or it is of another sort.
        """
        self._check_term(term)
        if terms.sort_of(term) != sort:
            raise self.refused(f"a {terms.sort_of(term).name} in the place of a {sort.name}")
        return term

    def sort(self, sort: Sort) -> None:
        """Check that a sort is declared."""
        if self.language.sorts.get(sort.name) != sort:
            raise self.refused(f"the sort {sort.name}, which the protocol does not declare, or differently")

    def refused(self, what: str) -> SpecificationError:
        """Return the error that ``what`` was found at this place."""
        return SpecificationError(f"{self.place} has {what}: the certified language cannot say this")

    def _check_term(self, term: Term) -> None:
        match term:
            case terms.Var():
                if self.scope.get(term.name) != term:
                    raise self.refused(
                        f"the variable {term.name} of sort {term.sort.name}, which is hidden or not bound"
                    )
            case terms.Member(sort, name):
                self.sort(sort)
                if name not in (sort.members or ()):
                    raise self.refused(f"{name}, which is no member of {sort.name}")
            case terms.Apply(symbol, args) if symbol.result != terms.BOOL:
                self._declared(symbol)
                self._arguments(symbol, args)
            case terms.IfThenElse():
                raise self.refused("a choice between two terms")
            case _:
                raise self.refused("a formula in the place of a term")

    def _arguments(self, symbol: Symbol, args: tuple[Term, ...]) -> tuple[Term, ...]:
        if len(args) != len(symbol.domain):
            raise self.refused(f"{symbol.name} with {len(args)} arguments in the place of {len(symbol.domain)}")
        return tuple(self.term(arg, sort) for arg, sort in zip(args, symbol.domain, strict=True))

    def _declared(self, symbol: Symbol) -> Symbol:
        if self.language.symbols.get(symbol.name) != symbol:
            raise self.refused(f"the symbol {symbol.name}, which the protocol does not declare, or differently")
        if self.rigid and symbol.mutable:
            raise self.refused(f"{symbol.name}, which steps change, where only what stays may be read")
        return symbol

    def _under(self, bound: tuple[terms.Var, ...]) -> Reader:
        return self.language.at(self.place, (*self.scope.values(), *bound), rigid=self.rigid)


def nest(kind: type[terms.And | terms.Or], parts: list[Term], none: Term) -> Term:
    """Return the conjunction or disjunction of ``parts``, nested to the right; of no parts, ``none``."""
    *others, last = parts or [none]
    for part in reversed(others):
        last = kind((part, last))
    return last


def quantify(kind: type[terms.Forall | terms.Exists], bound: tuple[terms.Var, ...], body: Term) -> Term:
    """Return ``body`` for all or some values of the variables, the first outermost."""
    for var in reversed(bound):
        body = kind((var,), body)
    return body
