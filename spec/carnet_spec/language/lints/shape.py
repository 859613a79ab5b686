"""Lints about the shape of a protocol: every part is closed, used, declared and of the right sort."""

from collections.abc import Iterator

from carnet_spec.language.actions import Action, Effect
from carnet_spec.language.analysis.polarity import deduced_symbols, signed_symbols
from carnet_spec.language.lints.common import Findings, at, by_name, duplicates, one_of, parts_of, read_by, strangers
from carnet_spec.language.protocol import Protocol, terms_of_action
from carnet_spec.language.statements import Axiom
from carnet_spec.language.terms import Symbol, Term, Var, free_variables, sort_of, symbols_of


def scope(protocol: Protocol) -> Findings:
    """Every variable of a formula is a parameter or is bound by a quantifier."""
    for action in protocol.actions:
        for guard in action.guards:
            yield from strangers(at(action, guard), guard.formula, action.params)
        for update in action.updates:
            direct = {arg for arg in update.args if isinstance(arg, Var)}
            for arg in update.args:
                own = action.params if arg not in update.each else update.each
                yield from strangers(at(action, update), arg, own)
            for term in read_by(update)[len(update.args) :]:
                known = (*action.params, *(var for var in update.each if var in direct))
                yield from strangers(at(action, update), term, known)
    for invariant in protocol.invariants:
        yield from strangers(f"claim or lemma {invariant.name}", invariant.body, invariant.params)
    for goal in protocol.goals:
        yield from strangers(f"goal {goal.name}", goal.body, goal.params)
    for live in protocol.liveness:
        for term in live.terms:
            yield from strangers(f"liveness {live.name}", term, live.params)


def unused_parameters(protocol: Protocol) -> Findings:
    """Every parameter is used."""
    for action in protocol.actions:
        read = frozenset().union(*(free_variables(term) for term in terms_of_action(action)))
        for param in action.params:
            if param not in read:
                yield at(action), f"parameter {param.name} is used by no guard or update: drop it"


def axioms(protocol: Protocol) -> Findings:
    """Axioms read rigid symbols only, and name a declared assumption."""
    assumptions = {assumption.id for assumption in protocol.assumptions}
    for axiom in (*protocol.axioms, *(axiom for t in protocol.threats for axiom in t.axioms)):
        yield from _axiom(axiom, assumptions)


def _axiom(axiom: Axiom, assumptions: set[str]) -> Findings:
    where = f"axiom {axiom.name}"
    for symbol in by_name(symbols_of(axiom.formula)):
        if symbol.mutable:
            yield where, f"reads {symbol.name}, which is mutable: an invariant must be proved, not assumed"
    yield from strangers(where, axiom.formula, ())
    if axiom.assumption and axiom.assumption not in assumptions:
        yield (
            where,
            f"states assumption '{axiom.assumption}', which is not declared: {one_of(assumptions, axiom.assumption)}",
        )


def initial(protocol: Protocol) -> Findings:
    """Every initial value is given once, and reads rigid symbols only."""
    for name in duplicates(initial.symbol.name for initial in protocol.initial):
        yield f"initial value of {name}", "is given twice: drop one"
    for initial in protocol.initial:
        where = f"initial value of {initial.symbol.name}"
        if not initial.symbol.mutable:
            yield where, "is given to a rigid symbol: write an axiom"
        for symbol in by_name(symbols_of(initial.value)):
            if symbol.mutable:
                yield where, f"reads {symbol.name}, which is mutable: read only rigid symbols"
        if len(initial.params) != len(initial.symbol.domain):
            yield where, f"needs one parameter for each of {len(initial.symbol.domain)} arguments"
        elif tuple(var.sort for var in initial.params) != initial.symbol.domain:
            yield where, "has parameters of other sorts than the symbol's arguments"
        if sort_of(initial.value) != initial.symbol.result:
            yield where, f"must be a {initial.symbol.result.name}"
        yield from strangers(where, initial.value, initial.params)


def interchangeable(protocol: Protocol) -> Findings:
    """Elements that are drawn fresh differ in nothing before they are drawn.

    Engines draw one unused element, which represents all others.
    """
    for sort in protocol.sorts:
        if sort.fresh and sort.is_enumeration:
            yield f"sort {sort.name}", "is drawn fresh and has named members: drop fresh=True, or the members"
    for symbol in protocol.symbols:
        told_apart = {sort.name for sort in (*symbol.domain, symbol.result) if sort.fresh}
        if told_apart and not symbol.mutable:
            yield (
                f"symbol {symbol.name}",
                f"tells apart elements of {' and '.join(sorted(told_apart))} that no step has drawn yet: "
                "let a step write it, or draw from another sort",
            )


def insert_only(protocol: Protocol) -> Findings:
    """Rules only insert, and have no cost."""
    for action in protocol.actions:
        for update in action.updates if action.deduction else ():
            if update.effect is not Effect.INSERT:
                yield at(action, update), "a rule only inserts: make it an action"
        if action.deduction and action.cost:
            yield at(action), "a rule is free: make it an action, or drop the cost"


def defences(protocol: Protocol) -> Findings:
    """Every tag names a declared defence."""
    known = {defence.id for defence in protocol.defences}
    for id, where in _tags(protocol):
        if id not in known:
            yield where, f"names a defence '{id}' that is not declared: {one_of(known, id)}"


def idle_defences(protocol: Protocol) -> Findings:
    """Every declared defence is tagged somewhere."""
    tagged = {id for id, _ in _tags(protocol)}
    for defence in protocol.defences:
        if defence.id not in tagged:
            yield (
                f"defence {defence.id}",
                "is tagged nowhere: put defence='…' on the guards and updates it consists of, or "
                "unless='…' and shortcut_of='…' on what takes their place",
            )


def _tags(protocol: Protocol) -> Iterator[tuple[str, str]]:
    for action in protocol.actions:
        if action.shortcut_of:
            yield action.shortcut_of, at(action)
        for part in parts_of(action):
            for id in (part.defence, part.unless):
                if id:
                    yield id, at(action, part)


# -- rules -------------------------------------------------------------------------------------------------------------
# Whether deducing early is exact: what rules add may only help guards and only hurt claims.
#
# Rules are deductions, and engines apply them as early as they can. That loses no behaviour if a state with more
# deduced facts allows every step that one with fewer allows, and violates every claim that one violates:
#
# * guards, and the conditions under which deduced facts are inserted, read them positively only; * the conditions under
# which deduced facts are removed read them negatively only; * no other update depends on them; * claims read them
# negatively only, goals positively only, liveness not at all.
#
# Lemmas are exempt: they change no behaviour and no verdict on a claim. The explorer evaluates them in saturated
# states, induction over single deductions, and both must find them true.


def hasty_reads(protocol: Protocol) -> Findings:
    """Yield each read of a deduced fact that makes eager deduction inexact, with the reason."""
    deduced = deduced_symbols(protocol)

    def misread(term: Term, allowed: bool | None) -> list[str]:
        found = {symbol.name for symbol, sign in signed_symbols(term) if symbol in deduced and sign is not allowed}
        return sorted(found)

    for action in protocol.actions:
        for where, term, allowed, why in _readings(action, deduced):
            for name in misread(term, allowed):
                yield where, f"reads {name}, which rules add to, {why}"
    for claim in protocol.claims:
        for name in misread(claim.invariant.body, False) if claim.invariant else ():
            yield (
                f"claim {claim.name}",
                f"asks for {name}, which rules add to: a claim may only say what follows from it",
            )
    for goal in protocol.goals:
        for name in misread(goal.body, True):
            yield f"goal {goal.name}", f"asks that {name}, which rules add to, does not hold"
    for live in protocol.liveness:
        for name in sorted({name for term in live.terms for name in misread(term, None)}):
            yield f"liveness {live.name}", f"reads {name}, which rules add to"


def _readings(action: Action, deduced: frozenset[Symbol]) -> Iterator[tuple[str, Term, bool | None, str]]:
    """Yield each place where ``action`` reads, the sign that is fine there, and why others are not."""
    late = "negatively: a step may not depend on a deduction that has not been made yet"
    for guard in action.guards:
        yield at(action, guard), guard.formula, True, late
    for update in action.updates:
        where = at(action, update)
        if update.symbol not in deduced:
            why = f"to change {update.symbol.name}: split the step so that a guard reads it"
            yield where, update.when, None, why
        elif update.effect is Effect.INSERT:
            yield where, update.when, True, late
        else:
            why = f"to remove facts: remove {update.symbol.name} on a condition that no rule changes"
            yield where, update.when, False, why
