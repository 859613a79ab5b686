"""Random protocols with what :mod:`tests.property.random_protocols` does not draw, put in the place of what it does.

There is a relation between parties and phases, a function to phases, one of two arguments, a sort of one member, a
strict order of all parties, parameters and quantifiers over phases, several variables of one quantifier, three parts of
a conjunction, choices as conditions and as values, first values, pools of what is not drawn, and greater costs.
"""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from carnet_spec import language
from carnet_spec.language import Action, Guard, Instance, Kind, Symbol, Term, Update, terms
from carnet_spec.language.instance import InLine
from carnet_spec.language.terms import BOOL, Apply, Exists, Forall, IfThenElse, Member, Not, Var, symbols_of
from tests.property.random_protocols import (
    BAD,
    BOSS,
    CURRENT,
    DERIVED,
    FLAG,
    KEY,
    OWNER,
    PARTY,
    PHASE,
    PHASE_NOW,
    READY,
    TURN,
    Sample,
    samples,
)

SOLE = language.Sort("Sole", ("ONLY",))
STAGE = Symbol("stage", (PARTY, PHASE), BOOL, Kind.STATE, mutable=True)
MODE = Symbol("mode", (PARTY,), PHASE, Kind.STATE, mutable=True)
PAIR = Symbol("pair", (PARTY, KEY), PARTY, Kind.STATE, mutable=True)
WHAT = Symbol("what", (PARTY,), SOLE, Kind.STATE, mutable=True)
BEFORE = Symbol("before", (PARTY, PARTY), BOOL, Kind.PUBLIC, mutable=False)
MORE = (STAGE, MODE, PAIR, WHAT, BEFORE)
SAID_SO = Apply(FLAG, ())
SOMEBODY = Apply(BOSS, ())
Scope = tuple[Var, ...]


class Rewriting:
    """Rewrites terms, places and formulas, each as often as it draws that."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def _now_and_then(self) -> bool:
        return self._draw(st.integers(0, 2)) == 2

    def _one(self, *choices: Term) -> Term:
        return self._draw(st.sampled_from(choices))

    def _some(self, sort: language.Sort, scope: Scope) -> Term:
        """Draw a variable of a sort, or what is there without one."""
        others: Sequence[Term] = [Member(sort, name) for name in sort.members or ()] or [SOMEBODY, Apply(TURN, ())]
        return self._one(*(var for var in scope if var.sort == sort), *others)

    def place(self, place: Apply, scope: Scope) -> Apply:
        """Rewrite what is read or written."""
        if not self._now_and_then():
            return place
        match place:
            case Apply(symbol, (party,)) if symbol == READY:
                return Apply(STAGE, (party, self._some(PHASE, scope)))
            case Apply(symbol, ()) if symbol == PHASE_NOW:
                return Apply(MODE, (self._some(PARTY, scope),))
            case Apply(symbol, (key,)) if symbol == OWNER:
                return Apply(PAIR, (self._some(PARTY, scope), key))
            case Apply(symbol, (party,)) if symbol == BAD:
                return Apply(BEFORE, (party, self._some(PARTY, scope)))
        return place

    def term(self, term: Term, scope: Scope) -> Term:
        """Rewrite a term, from within."""
        inner = (*scope, *term.bound) if isinstance(term, Forall | Exists) else scope
        term = terms.rebuild(term, lambda part: self.term(part, inner))
        if isinstance(term, Apply):
            term = self.place(term, scope)
        if not self._now_and_then():
            return term
        if isinstance(term, Forall | Exists):
            more = Var(f"more.{len(scope)}", self._draw(st.sampled_from((PARTY, PHASE))))
            return type(term)((*term.bound, more), self._other(term.body, (*inner, more)))
        sort = terms.sort_of(term)
        if sort in (PARTY, PHASE):
            test = self._one(SAID_SO, terms.Equal(term, self._some(sort, scope)))
            return self._one(IfThenElse(test, term, self._some(sort, scope)), term)
        return self._other(term, scope) if sort == BOOL else term

    def _other(self, formula: Term, scope: Scope) -> Term:
        """Draw a formula that says more or less; a rule's fact does not become denied."""
        stage = Apply(STAGE, (self._some(PARTY, scope), self._some(PHASE, scope)))
        here = terms.Equal(Apply(WHAT, (self._some(PARTY, scope),)), Member(SOLE, "ONLY"))
        test = self._one(stage, Not(stage), here, SAID_SO)
        choices: list[Term] = [terms.And((formula, test, here)), terms.Or((formula, test, Not(here)))]
        if symbols_of(formula).isdisjoint(DERIVED):
            choices.append(IfThenElse(test, formula, terms.Truth(self._draw(st.booleans()))))
            choices.append(IfThenElse(formula, test, Not(test)))
        return self._one(*choices)

    def update(self, update: Update, params: Scope) -> Update:
        """Rewrite an update; what stands for every element stays an argument of its own."""
        scope = (*params, *update.each)
        args = tuple(arg if arg in update.each else self.term(arg, params) for arg in update.args)
        place = self.place(Apply(update.symbol, args), params)
        value = None if update.value is None else self.term(update.value, scope)
        when = self.term(update.when, scope)
        return replace(update, symbol=place.symbol, args=place.args, value=value, when=when)

    def action(self, action: Action) -> Action:
        """Rewrite an action, and let it choose a phase, cost more, and ask in another way."""
        phase = (Var("phase", PHASE),) if self._now_and_then() else ()
        params = (*action.params, *phase)
        kinds = st.sampled_from((language.GuardKind.REQUIRE, language.GuardKind.GIVEN))

        def rewritten_guard(guard: Guard) -> Guard:
            if guard.kind is language.GuardKind.FRESH:
                return guard
            return replace(guard, formula=self.term(guard.formula, params), kind=self._draw(kinds))

        updates = tuple(self.update(each, params) if self._rewrites(each) else each for each in action.updates)
        cost = action.cost * self._draw(st.sampled_from((1, 1, 2, 3)))
        return replace(
            action, params=params, guards=tuple(map(rewritten_guard, action.guards)), updates=updates, cost=cost
        )

    @staticmethod
    def _rewrites(update: Update) -> bool:
        return not update.name.startswith("use ")


@st.composite
def rich_samples(draw: st.DrawFn) -> Sample:
    sample, rewriting = draw(samples()), Rewriting(draw)
    protocol = sample.protocol
    actions = tuple(map(rewriting.action, protocol.actions))
    started = {initial.symbol for initial in protocol.initial}
    return Sample(
        replace(protocol, actions=actions, sorts=(*protocol.sorts, SOLE), symbols=tuple({*protocol.symbols, *MORE})),
        draw(_instances(sample.instance, actions, started)),
        tuple(replace(each, body=rewriting.term(each.body, each.params)) for each in sample.invariants),
        tuple(replace(each, body=rewriting.term(each.body, each.params)) for each in sample.goals),
    )


@st.composite
def _instances(draw: st.DrawFn, instance: Instance, actions: Sequence[Action], started: set[Symbol]) -> Instance:
    parties, keys = instance.elements[PARTY.name], instance.elements[KEY.name]
    ranges = {PARTY: parties, KEY: keys, PHASE: PHASE.members or ()}
    pools = dict(instance.pools)
    for action in actions:
        for var in action.params:
            if var not in action.fresh and not action.deduction and draw(st.integers(0, 4)) == 4:
                pools[action.name, var.name] = tuple(draw(st.permutations(ranges[var.sort])))[: draw(st.integers(1, 2))]
    first = {
        symbol.name: {row: draw(st.sampled_from(ranges[symbol.result]))}
        for symbol in (MODE, PAIR, CURRENT, TURN)
        if symbol not in started and draw(st.booleans())
        for row in [tuple(ranges[sort][-1] for sort in symbol.domain)]
    }
    order = draw(st.sampled_from((frozenset[language.Row](), InLine(parties), InLine(parties[:1]))))
    budget = draw(st.sampled_from((instance.budget, 3, 5)))
    relations = {**instance.relations, BEFORE.name: order}
    return replace(instance, relations=relations, pools=pools, first=first, budget=budget)
