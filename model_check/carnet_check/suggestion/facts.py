"""Facts that hold after a step which inserts a fact: the step's guards and other updates, and their consequences.

All of it is read off the actions, the claims and the lemmas; no name is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_spec.language import Action, Effect, Protocol, Symbol, Term, Update, terms

MOST_FACTS = 80  #: How many facts are read off one write, those that follow from others included.
ROUNDS = 2  #: How often the claims and lemmas are applied to what is known to hold after a step.


@dataclass(frozen=True, slots=True)
class Write:
    """An update that makes a fact true, or gives a function a value, and what holds after it."""

    action: str  #: the name of the step.
    subject: terms.Apply  #: the relation or function at distinct variables.
    facts: tuple[Term, ...]  #: literals and clauses that hold after the step, over these variables and further ones.


@dataclass(frozen=True, slots=True)
class Rule:
    """A clause that a claim or a lemma states: if all premises hold, the conclusion does."""

    premises: tuple[Term, ...]
    conclusion: Term


def rules_of(formula: Term, premises: tuple[Term, ...] = ()) -> Iterator[Rule]:
    """Yield the clauses of a formula, one for each conclusion."""
    match formula:
        case terms.Forall(_, body):
            yield from rules_of(body, premises)
        case terms.And(parts):
            for part in parts:
                yield from rules_of(part, premises)
        case terms.Implies(terms.Or(parts), conclusion):
            for part in parts:
                yield from rules_of(terms.Implies(part, conclusion), premises)
        case terms.Implies(premise, conclusion):
            yield from rules_of(conclusion, (*premises, *terms.conjuncts(premise)))
        case _:
            yield Rule(premises, formula)


def rules_in(protocol: Protocol) -> tuple[Rule, ...]:
    """Return the clauses of all claims, lemmas and axioms that have premises."""
    stated = [rule for each in protocol.invariants for rule in rules_of(each.body)]
    stated += [rule for axiom in protocol.axioms for rule in rules_of(axiom.formula)]
    return tuple(rule for rule in stated if rule.premises)


def writes_of(protocol: Protocol, rules: Sequence[Rule]) -> Iterator[Write]:
    """Yield a :class:`Write` for each update that inserts into a relation or assigns a value to a function.

    What follows by the rules from what holds after the step is said of it, too.
    """
    for action in protocol.actions:
        step = _Step(action)
        for update in action.updates:
            if update.effect is not Effect.REMOVE:
                yield step.write(update, rules)


# -- one step --------------------------------------------------------------------------------------


class _Step:
    """One action, and how what is true of the state before it is said of the state after it."""

    def __init__(self, action: Action) -> None:
        self.action = action
        self._inserted = _changed(action, Effect.INSERT)
        self._removed = _changed(action, Effect.REMOVE)
        self._assigned = _changed(action, Effect.ASSIGN)

    def write(self, update: Update, rules: Sequence[Rule]) -> Write:
        """Return what holds after ``update``, with a variable for each argument that is none, or stands twice."""
        subject, places = _subject(update)
        moved = _Moved(self.action, self._assigned, places)
        facts = [*self._guards(update, moved), *self._updates(update, moved)]
        facts += [terms.Equal(var, value) for term, var in places.items() if (value := moved.inside(term)) is not None]
        reduced = _without_equal_variables(facts, frozenset(subject.args))
        return Write(self.action.name, subject, tuple(deductive_closure(reduced, rules)))

    def _guards(self, update: Update, moved: _Moved) -> Iterator[Term]:
        """Yield what was required and still holds."""
        for formula in (*(guard.formula for guard in self.action.guards), update.when):
            for part in terms.conjuncts(formula):
                if self._still_holds(part, True) and (fact := moved(part)) is not None:
                    yield fact

    def _updates(self, update: Update, moved: _Moved) -> Iterator[Term]:
        """Yield what the updates make true, and what they make false."""
        for each in self.action.updates:
            args = [moved(arg) for arg in each.args]
            place = terms.Apply(each.symbol, tuple(arg for arg in args if arg is not None))
            if each is update or len(place.args) < len(args):
                continue
            if each.effect is Effect.ASSIGN and each.when == terms.TRUE and each.value is not None:
                if (value := moved(each.value)) is not None:
                    yield terms.Equal(place, value)
            elif each.effect is not Effect.ASSIGN:
                fact = place if each.effect is Effect.INSERT else terms.Not(place)
                yield from self._under(each, fact, update, moved)

    def _under(self, each: Update, fact: Term, update: Update, moved: _Moved) -> Iterator[Term]:
        """Yield what an update makes so, for all that it is done for, under its condition if it has one."""
        if each.when not in (terms.TRUE, update.when):
            condition = moved(each.when) if self._still_holds(each.when, True) else None
            if condition is None:
                return
            fact = terms.Implies(condition, fact)
        yield terms.Forall(each.each, fact) if each.each and each.each != update.each else fact

    def _still_holds(self, term: Term, positive: bool) -> bool:
        """Whether the step makes ``term`` false nowhere if it is ``positive``, and else true nowhere."""
        match term:
            case terms.Not(body):
                return self._still_holds(body, not positive)
            case terms.Implies(premise, conclusion):
                return self._still_holds(premise, not positive) and self._still_holds(conclusion, positive)
            case terms.And(parts) | terms.Or(parts):
                return all(self._still_holds(part, positive) for part in parts)
            case terms.Forall(_, body) | terms.Exists(_, body):
                return self._still_holds(body, positive)
            case terms.Apply(symbol, _):
                return symbol not in (self._removed if positive else self._inserted)
            case _:
                return not isinstance(term, terms.IfThenElse)


def _changed(action: Action, effect: Effect) -> frozenset[Symbol]:
    return frozenset(each.symbol for each in action.updates if each.effect is effect)


def _subject(update: Update) -> tuple[terms.Apply, dict[Term, terms.Var]]:
    """Return the symbol at distinct variables, and those variables that stand for an argument that is none."""
    args: list[Term] = []
    places: dict[Term, terms.Var] = {}
    for number, arg in enumerate(update.args):
        if isinstance(arg, terms.Var) and arg not in args:
            args.append(arg)
        else:
            args.append(terms.Var(f"at {number}", terms.sort_of(arg)))
            places[arg] = terms.Var(f"at {number}", terms.sort_of(arg))
    return terms.Apply(update.symbol, tuple(args)), places


class _Moved:
    """Writes what a term was before a step as a term of the state after it, or returns nothing if there is none."""

    def __init__(self, action: Action, assigned: frozenset[Symbol], places: Mapping[Term, terms.Var]) -> None:
        self._assigned = assigned
        self._places = places
        given = (each for each in action.updates if each.effect is Effect.ASSIGN and each.when == terms.TRUE)
        self._saved = {
            each.value: terms.Apply(each.symbol, each.args) for each in given if isinstance(each.value, terms.Apply)
        }

    def __call__(self, term: Term) -> Term | None:
        return self._places[term] if term in self._places else self.inside(term)

    def inside(self, term: Term) -> Term | None:
        """Return the term although a variable stands for all of it."""
        if isinstance(term, terms.Apply) and term.symbol in self._assigned:
            saved = self._saved.get(term)
            return self._rebuilt(saved) if saved is not None else None
        return self._rebuilt(term)

    def _rebuilt(self, term: Term) -> Term | None:
        moved = [self(each) for each in terms.children(term)]
        values = [each for each in moved if each is not None]
        if len(values) < len(moved):
            return None
        given = iter(values)
        return terms.rebuild(term, lambda _: next(given))


def _without_equal_variables(facts: Sequence[Term], kept: frozenset[Term]) -> list[Term]:
    """Put a term for each variable that a fact says it equals, unless the variable is among those to keep."""
    reduced = list(facts)
    while True:
        values = dict(_replaceable(reduced, kept))
        if not values:
            return [each for each in reduced if not (isinstance(each, terms.Equal) and each.left == each.right)]
        var = next(iter(values))
        reduced = [terms.substitute(each, {var: values[var]}) for each in reduced]
        reduced = [each for each in reduced if not (isinstance(each, terms.Equal) and each.left == each.right)]


def _replaceable(facts: Iterable[Term], kept: frozenset[Term]) -> Iterator[tuple[terms.Var, Term]]:
    for fact in facts:
        if isinstance(fact, terms.Equal):
            for var, value in ((fact.left, fact.right), (fact.right, fact.left)):
                if isinstance(var, terms.Var) and var not in kept and var not in terms.free_variables(value):
                    yield var, value


# -- what follows ----------------------------------------------------------------------------------


def deductive_closure(facts: Sequence[Term], rules: Sequence[Rule]) -> Iterator[Term]:
    """Yield the facts, and everything that the rules derive from them.

    Universally quantified facts are used as rules, too.
    """
    known = dict.fromkeys(part for fact in facts for part in terms.conjuncts(fact))
    for _ in range(ROUNDS):
        local = [rule for fact in known if isinstance(fact, terms.Forall) for rule in rules_of(fact) if rule.premises]
        by_head = _by_head(known)
        found = [each for rule in (*local, *rules) for each in consequences(rule, by_head)]
        known.update(dict.fromkeys(part for each in found for part in terms.conjuncts(each)))
        if len(known) > MOST_FACTS:
            break
    yield from (fact for fact in list(known)[:MOST_FACTS] if fact not in (terms.TRUE, terms.FALSE))


Head = tuple[object, ...]  #: What a literal and a pattern that it matches have in common.


def _by_head(facts: Iterable[Term]) -> Mapping[Head, list[Term]]:
    found: dict[Head, list[Term]] = {}
    for fact in facts:
        found.setdefault(head(fact), []).append(fact)
    return found


def consequences(rule: Rule, facts: Mapping[Head, Sequence[Term]]) -> Iterator[Term]:
    """Yield the rule's conclusion for each choice of facts that match its premises; ``facts`` are indexed by head."""
    if all(head(premise) in facts for premise in rule.premises):
        for values in _matches(rule.premises, facts, {}):
            if terms.free_variables(rule.conclusion) <= values.keys():
                yield terms.substitute(rule.conclusion, values)


def _matches(
    patterns: Sequence[Term], facts: Mapping[Head, Sequence[Term]], values: Mapping[terms.Var, Term]
) -> Iterator[dict[terms.Var, Term]]:
    """Yield each way to give values to the variables of ``patterns`` that makes every one of them a fact."""
    if not patterns:
        yield dict(values)
        return
    for fact in facts[head(patterns[0])]:
        if (found := match_pattern(patterns[0], fact, values)) is not None:
            yield from _matches(patterns[1:], facts, found)


def head(term: Term) -> Head:
    """Return the kind of a term, with its symbol, member or number of parts. A negation has those of its operand."""
    match term:
        case terms.Apply(symbol, _):
            return terms.Apply, symbol
        case terms.Not(body):
            return terms.Not, *head(body)
        case terms.Member() | terms.Truth():
            return type(term), term
        case terms.And(parts) | terms.Or(parts):
            return type(term), len(parts)
        case _:
            return (type(term),)


def match_pattern(pattern: Term, term: Term, values: Mapping[terms.Var, Term]) -> dict[terms.Var, Term] | None:
    """Return the substitution that extends ``values`` and turns ``pattern`` into ``term``, or None if there is none."""
    match pattern:
        case terms.Var():
            if terms.sort_of(pattern) != terms.sort_of(term) or values.get(pattern, term) != term:
                return None
            return {**values, pattern: term}
        case terms.Forall() | terms.Exists():
            return None
    if head(pattern) != head(term):
        return None
    found: dict[terms.Var, Term] | None = dict(values)
    for one, other in zip(terms.children(pattern), terms.children(term), strict=True):
        found = match_pattern(one, other, found) if found is not None else None
    return found
