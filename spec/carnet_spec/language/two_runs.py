"""Self-composition: two runs of one protocol side by side, so that noninterference is a claim like any other.

A draft describes one run. :class:`TwoRuns` makes the product of two runs that differ in secrets. A *label* is the name
of an action with the values of all parameters except those that a run chooses for itself: they are chosen, and seen, by
the platform. Both runs take each step together, under one label. A symbol that may depend on a secret has two copies,
``left_x`` and ``right_x``; any other symbol has one, since it is equal in both runs. If one run can take a step of a
label and the other cannot, an observer records that: ``apart_ACTION`` becomes true.

So a state of the product is reachable if and only if two runs with the same labels end in its two sides, and
``same(x)`` is an invariant if and only if no two such runs differ in ``x``. If ``together(ACTION)`` is an invariant,
then after the same labels both runs can take the same labels of the action. The converse holds unless the action draws
something fresh, which the observer ignores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NoReturn, TypeVar

from carnet_spec.language import statements, terms
from carnet_spec.language.actions import Action, Effect, Guard, GuardKind, Update
from carnet_spec.language.draft import Draft
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.expressions import Expression, Formula, Function, Relation
from carnet_spec.language.naming import and_known
from carnet_spec.language.protocol import Protocol, name_list, terms_of_action
from carnet_spec.language.tracing import called_from

OBSERVER = terms.Role("observer", honest=False)  #: Compares what two runs show, and takes no other step.
Spoken = TypeVar("Spoken", bound=Expression | Relation | Function[Any])


class TwoRuns(Draft):
    """The product of two runs of the protocol that another draft describes; they differ in secrets.

    What that draft assumes holds of both runs, as do its claims and lemmas, and both together reach its goals: they do
    if one run can. Claims, lemmas and goals about both are added to this draft as to any other, and nothing else is.

    Raises SpecificationError if ``one`` has a rule or states liveness, ``own`` names what is not there, a secret is
    never different, or an axiom ties one to what is neither secret nor public.

    Args:
        one: what one run does; it has no rules and no liveness.
        secret: relations, functions, variables and flags that may be different in two runs: because they never change,
            because nothing says how they begin, or because something secret is written to them. What may depend on
            them is worked out from what is written.
        own: by the name of an action, the parameters that each run chooses for itself.
        public: what never changes and is one for both runs, although an axiom says something of it and of a secret.
    """

    def __init__(
        self,
        one: Draft,
        *,
        secret: Iterable[Expression | Relation | Function[Any]] = (),
        own: Mapping[str, Collection[str]] | None = None,
        public: Iterable[Expression | Relation | Function[Any]] = (),
    ) -> None:
        super().__init__(one.id, one.title, one.variant)
        whole = one.whole()
        refuse_what_has_no_product(whole)
        chosen, secrets = own_parameters(whole, own or {}), frozenset(map(_symbol_of, secret))
        self._split = Split(dependent(whole, secrets, chosen), chosen)
        refuse_equal_secrets(whole, secrets, chosen)
        refuse_forgotten_axioms(whole, self._split.symbols, frozenset(map(_symbol_of, public)))
        self._one, self._whole = one, whole
        self._accepted: dict[str, AcceptedLeak] = {}
        self._actions = list(whole.actions)
        self._threats = [replace(each, axioms=tuple(self._doubled(each.axioms))) for each in whole.threats]
        self._axioms = list(self._doubled(whole.axioms))
        self._assumptions, self._defences = list(whole.assumptions), list(whole.defences)
        self._initial = [value for each in whole.initial for value in self._first_values(each)]
        self._lemmas = [replace(each, body=self._split.both(each.body)) for each in whole.lemmas]
        self._claims = list(map(self._claimed_of_both, whole.claims))
        self._goals = [replace(each, body=self._split.both(each.body)) for each in whole.goals]
        self.stated_at = one.stated_at | self.stated_at
        for action in whole.actions:
            for side in RunSide:
                self.stated_at["action", _comparing(action, side)] = one.stated_at.get(("action", action.name))

    # -- what is said of both runs --------------------------------------------------------------------------------

    def left(self, what: Spoken) -> Spoken:
        """Return the copy of an expression, formula or symbol in the left run."""
        return self._of(what, RunSide.LEFT)

    def right(self, what: Spoken) -> Spoken:
        """Return the copy of an expression, formula or symbol in the right run."""
        return self._of(what, RunSide.RIGHT)

    def same(self, what: Expression) -> Formula:
        """Return the formula that an expression has the same value in both runs.

        Raises SpecificationError if it cannot depend on a secret, so the formula would be trivial.
        """
        if not self._split.reaches(what.term):
            raise SpecificationError(f"{what!r} is the same in both runs, whatever happens: it depends on no secret")
        left, right = self.left(what).term, self.right(what).term
        if isinstance(what, Formula):
            return Formula(terms.conjunction((terms.Implies(left, right), terms.Implies(right, left))))
        return Formula(terms.Equal(left, right))

    def together(self, action: str) -> Formula:
        """Return the formula that whenever one run could take a step of ``action``, the other could, too.

        Raises SpecificationError if there is no such action, or no secret affects whether it is enabled.
        """
        if action not in self.secretly_possible:
            known = and_known(action, self.secretly_possible).replace("known:", "those that do:")
            raise SpecificationError(f"whether '{action}' is possible depends on no secret{known}")
        return ~Formula(terms.Apply(_divergence_flag(action), ()))

    def accept_leak(self, name: str, why: str) -> None:
        """Declare that a difference between the runs is acceptable, and why; it is printed with every verdict.

        Raises SpecificationError if it is none of these, it was accepted already, or nothing says why.

        Args:
            name: of one of :attr:`seen`, or of an action of :attr:`secretly_possible`.
            why: what makes it acceptable.
        """
        known = dict.fromkeys((*(symbol.name for symbol in self.seen), *self.secretly_possible))
        if name not in known:
            raise SpecificationError(f"'{name}' is no leak: it tells no two runs apart{and_known(name, known)}")
        if name in self._accepted:
            raise SpecificationError(f"the leak '{name}' is accepted twice: say once why")
        if not why.strip():
            raise SpecificationError(f"the leak '{name}' is accepted without a reason: say why it may be")
        self._accepted[name] = AcceptedLeak(name, why)
        self.stated_at["accepted leak", name] = called_from()

    @property
    def accepted_leaks(self) -> tuple[AcceptedLeak, ...]:
        """The accepted leaks, in the order of their declaration."""
        return tuple(self._accepted.values())

    @property
    def seen(self) -> tuple[terms.Symbol, ...]:
        """The symbols that others see of a run and that may depend on a secret.

        That is messages, what is public, what somebody dishonest keeps, and what anybody knows.
        """
        return tuple(each for each in self._whole.symbols if each in self._split.symbols and _shows(each))

    @property
    def secretly_possible(self) -> tuple[str, ...]:
        """The actions for which a secret may affect whether they are enabled, including shortcuts."""
        return tuple(each.name for each in self._whole.actions if any(self._secret_guards(each)))

    def unclaimed_differences(self) -> Iterator[tuple[str, str]]:
        """Yield each symbol and action that may distinguish two runs and is covered by no claim, with advice.

        A claim covers it if it says, without a condition, that it is the same in both runs. Under each threat model
        that some claim names, there has to be one.
        """
        uncovered = set()
        for what, name, claim, lacking in self._distinguishing_observations():
            uncovered |= {name} if lacking else set()
            if lacking and name not in self._accepted:
                under = f" under {name_list(lacking)}" if any(lacking) else ""
                yield (
                    f"{what} {name}",
                    f"may tell two runs apart, and no claim{under} says that it does not: claim {claim}, or accept it "
                    f"by accept_leak('{name}', why)",
                )
        for name in self._accepted:
            if name not in uncovered:
                yield f"accepted leak {name}", "is no leak, since claims say that it tells no two runs apart: drop one"

    def _distinguishing_observations(self) -> Iterator[tuple[str, str, str, list[str]]]:
        """Yield what may tell two runs apart: its kind, its name, what to claim of it, and where nobody does."""
        threats = judged_under(self._claims, (threat.id for threat in self._threats))
        parts = {threat: frozenset(spoken_of(self._claims, threat)) for threat in threats}
        for symbol in self.seen:
            left, right = (self._split.symbol(symbol, side) for side in RunSide)
            lacking = [threat for threat in threats if not is_same(left, right, parts[threat])]
            places = f"({', '.join('…' for _ in symbol.domain)})" if symbol.domain else ""
            yield "symbol", symbol.name, f"same({symbol.name}{places})", lacking
        for action in self.secretly_possible:
            apart = terms.negation(terms.Apply(_divergence_flag(action), ()))
            yield "action", action, f"together('{action}')", [each for each in threats if apart not in parts[each]]

    def _of(self, what: Spoken, side: RunSide) -> Spoken:
        match what:
            case Function():
                return type(what)(self._split.symbol(what.symbol, side), what.to)
            case Relation():
                return type(what)(self._split.symbol(what.symbol, side))
            case _:
                return type(what)(self._split.term(what.term, side))

    # -- the product ----------------------------------------------------------------------------------------------

    def _traced(self, *_args: object) -> NoReturn:
        raise SpecificationError(f"{self.id}: what one run does is said before there are two of it")

    def superpose(self, *_args: object, **_more: object) -> NoReturn:
        """Refuse a layer, which belongs to the draft of one run."""
        self._traced()

    def initially(self, *_args: object) -> NoReturn:
        """Refuse an initial value, which belongs to the draft of one run."""
        self._traced()

    def _built(self, actions: tuple[Action, ...], removed: tuple[str, ...]) -> Protocol:
        """Compose what is left of the actions of one run, so that no step rests on a guard that was removed.

        Raises SpecificationError if one run was said more of since, or a statement about both speaks of what is there
        twice without saying in which.
        """
        if self._one.whole().actions != self._whole.actions:
            raise SpecificationError(f"{self.id}: what one run does is said before there are two of it")
        steps = tuple(step for action in actions for step in (self._lock_step(action), *self._compared(action)))
        product = super()._built(steps, removed)
        bare = sorted(symbol.name for symbol in product.symbols if symbol in self._split.symbols)
        if bare:
            raise SpecificationError(
                f"{self.id}: {name_list(bare)}: there are two of it; say `left`, `right` or `same`"
            )
        return product

    def _lock_step(self, action: Action) -> Action:
        own = self._split.of(action)
        return replace(
            action,
            params=tuple(param for var in action.params for param in _chosen(var, own)),
            guards=tuple(part for guard in action.guards for part in self._guards(guard, own)),
            updates=tuple(part for update in action.updates for part in self._updates(update, own)),
            says=_in_both(action.says, own),
            message=_in_both(action.message, own),
        )

    def _guards(self, guard: Guard, own: frozenset[terms.Var]) -> Iterator[Guard]:
        if not self._split.reaches(guard.formula, own):
            yield guard
            return
        for side in RunSide:
            yield self._guard(guard, side, own)

    def _guard(self, guard: Guard, side: RunSide, own: frozenset[terms.Var]) -> Guard:
        return replace(guard, name=f"{side.value}: {guard.name}", formula=self._split.term(guard.formula, side, own))

    def _updates(self, update: Update, own: frozenset[terms.Var]) -> Iterator[Update]:
        if update.symbol not in self._split.symbols:
            yield update
            return
        for side in RunSide:
            swept = frozenset(update.each)

            def said(term: terms.Term, side: RunSide = side, swept: frozenset[terms.Var] = swept) -> terms.Term:
                return self._split.term(term, side, own | swept)

            yield replace(
                update,
                name=f"{side.value}: {update.name}",
                symbol=self._split.symbol(update.symbol, side),
                args=tuple(map(said, update.args)),
                value=None if update.value is None else said(update.value),
                when=said(update.when),
                each=tuple(parameter_copy(var, side) for var in update.each),
            )

    def _secret_guards(self, action: Action) -> Iterator[Guard]:
        return (each for each in action.guards if self._split.reaches(each.formula, self._split.of(action)))

    def _compared(self, action: Action) -> Iterator[Action]:
        """Yield the steps that look whether one run can take a step when the other can."""
        secret = tuple(self._secret_guards(action))
        if not secret:
            return
        own = self._split.of(action)
        public = tuple(each for each in action.guards if each not in secret and each.kind is not GuardKind.FRESH)
        for side in RunSide:
            guards = (*public, *(self._guard(each, side, own) for each in secret))
            read = frozenset().union(*(terms.free_variables(each.formula) for each in guards))
            unable = _unable(self._split, secret, own, side.other)
            yield Action(
                name=_comparing(action, side),
                by=OBSERVER,
                params=tuple(param for var in action.params for param in _chosen(var, own) if param in read),
                guards=tuple(replace(each, kind=GuardKind.GIVEN) for each in guards),
                updates=(Update("tell the runs apart", _divergence_flag(action.name), Effect.INSERT, (), when=unable),),
                says=f"In the {side.value} run this is possible: {_in_one(action.says, side, own, read)}",
                source=action.source,
                shortcut_of=action.shortcut_of,
                why=f"Where it is not possible in the {side.other.value} run, the two are told apart.",
            )

    def _doubled(self, axioms: Iterable[statements.Axiom]) -> Iterator[statements.Axiom]:
        for axiom in axioms:
            yield replace(axiom, formula=self._split.both(axiom.formula))

    def _claimed_of_both(self, claim: statements.Claim) -> statements.Claim:
        said = claim.invariant
        return replace(claim, invariant=said and replace(said, body=self._split.both(said.body)))

    def _first_values(self, first: statements.Initial) -> Iterator[statements.Initial]:
        if first.symbol not in self._split.symbols:
            yield first
            return
        for side in RunSide:
            value = self._split.term(first.value, side)
            yield statements.Initial(self._split.symbol(first.symbol, side), first.params, value)


def _unable(split: Split, guards: tuple[Guard, ...], own: frozenset[terms.Var], side: RunSide) -> terms.Term:
    """Say that no choice of its own lets a run take a step."""
    cannot = terms.disjunction(tuple(terms.negation(split.term(guard.formula, side, own)) for guard in guards))
    choices = sorted(parameter_copy(var, side).name for var in own)
    bound = tuple(var for name in choices for var in terms.free_variables(cannot) if var.name == name)
    return terms.Forall(bound, cannot) if bound else cannot


def _comparing(action: Action, side: RunSide) -> str:
    return f"compare_{side.value}_{action.name}"


def _divergence_flag(action: str) -> terms.Symbol:
    says = f"one run could take a step of {action} that the other could not"
    return terms.Symbol(f"apart_{action}", (), terms.BOOL, terms.Kind.GHOST, mutable=True, says=says)


def _shows(symbol: terms.Symbol) -> bool:
    kept_by_others = symbol.kind is terms.Kind.STATE and symbol.role is not None and not symbol.role.honest
    return symbol.kind in (terms.Kind.MESSAGE, terms.Kind.PUBLIC, terms.Kind.KNOWLEDGE) or kept_by_others


def _chosen(var: terms.Var, own: frozenset[terms.Var]) -> tuple[terms.Var, ...]:
    return tuple(parameter_copy(var, side) for side in RunSide) if var in own else (var,)


def _in_both(text: str, own: frozenset[terms.Var]) -> str:
    """Return a sentence with what each run chose in place of what one run chose."""
    for var in own:
        text = text.replace(f"{{{var.name}}}", f"{{left_{var.name}}} (right run: {{right_{var.name}}})")
    return text


def _in_one(text: str, side: RunSide, own: frozenset[terms.Var], read: frozenset[terms.Var]) -> str:
    for var in own:
        chosen = f"{{{parameter_copy(var, side).name}}}" if parameter_copy(var, side) in read else "something"
        text = text.replace(f"{{{var.name}}}", chosen)
    return text


def _symbol_of(what: Expression | Relation | Function[Any]) -> terms.Symbol:
    if isinstance(what, Relation | Function):
        return what.symbol
    if isinstance(what.term, terms.Apply):
        return what.term.symbol
    raise SpecificationError(f"{what!r} is no symbol: only a relation, function, variable or flag is secret")


# -- leaks -------------------------------------------------------------------------------------------------------------
# What two runs show of a secret, and whether a claim speaks of it: of each symbol and each action by itself.

_Said = tuple[tuple[terms.Term, ...], terms.Term]  #: Arguments of a symbol, and its value at them.


@dataclass(frozen=True, slots=True)
class AcceptedLeak:
    """A difference between two runs that is declared acceptable."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def judged_under(claims: Iterable[statements.Claim], threats: Iterable[str]) -> tuple[str, ...]:
    """Return the threat models under which some claims are made; ``("",)`` if none is declared."""
    claimed = [claim for claim in claims if claim.invariant is not None]
    named = {id for claim in claimed for id in (*claim.under, *claim.fails_under)}
    return tuple(id for id in threats if id in named) or ("",)


def spoken_of(claims: Iterable[statements.Claim], threat: str) -> Iterator[terms.Term]:
    """Yield the conjuncts of the claims made under a threat model, for all values of their parameters."""
    for claim in claims:
        if claim.invariant is not None and (not threat or threat in (*claim.under, *claim.fails_under)):
            yield from _parts(claim.invariant.body)


def _parts(term: terms.Term) -> Iterator[terms.Term]:
    match term:
        case terms.And(parts):
            for part in parts:
                yield from _parts(part)
        case terms.Forall(_, body):
            yield from _parts(body)
        case _:
            yield term


def is_same(left: terms.Symbol, right: terms.Symbol, parts: Iterable[terms.Term]) -> bool:
    """Whether claims state unconditionally that a symbol is equal in both runs, for all arguments.

    They do if they say so, or if they give it one value in either run.
    """
    implied: set[tuple[terms.Symbol, terms.Symbol]] = set()
    values: dict[terms.Symbol, set[_Said]] = {left: set(), right: set()}
    for part in parts:
        match part:
            case terms.Equal(terms.Apply() as one, terms.Apply() as other) if {one.symbol, other.symbol} == {
                left,
                right,
            }:
                if one.args == other.args and _is_general(one.args):
                    return True
            case terms.Implies(terms.Apply() as one, terms.Apply() as other) if {one.symbol, other.symbol} == {
                left,
                right,
            }:
                if one.args == other.args and _is_general(one.args):
                    implied.add((one.symbol, other.symbol))
            case terms.Equal(terms.Apply(symbol, args), value) if symbol in values:
                values[symbol] |= {(args, value)} if _is_general(args) else set()
            case terms.Equal(value, terms.Apply(symbol, args)) if symbol in values:
                values[symbol] |= {(args, value)} if _is_general(args) else set()
            case terms.Apply(symbol, args) if symbol in values:
                values[symbol] |= {(args, terms.TRUE)} if _is_general(args) else set()
            case terms.Not(terms.Apply(symbol, args)) if symbol in values:
                values[symbol] |= {(args, terms.FALSE)} if _is_general(args) else set()
    return len(implied) == 2 or not values[left].isdisjoint(values[right])


def _is_general(args: tuple[terms.Term, ...]) -> bool:
    """Whether arguments stand for any: they are variables, and no two of them are one."""
    return all(isinstance(arg, terms.Var) for arg in args) and len(set(args)) == len(args)


# -- splitting ---------------------------------------------------------------------------------------------------------
# What two runs of a protocol have apart and what they share: which symbols may depend on a secret, and their names.


class RunSide(Enum):
    """One of the two runs."""

    LEFT = "left"
    RIGHT = "right"

    @property
    def other(self) -> RunSide:
        """The other run."""
        return RunSide.RIGHT if self is RunSide.LEFT else RunSide.LEFT


@dataclass(frozen=True, slots=True)
class Split:
    """The symbols with two copies, and the parameters that each run chooses for itself."""

    symbols: frozenset[terms.Symbol]
    own: Mapping[str, frozenset[terms.Var]]

    def of(self, action: Action) -> frozenset[terms.Var]:
        """Return the parameters of an action that each run chooses for itself."""
        return self.own.get(action.name, frozenset())

    def reaches(self, term: terms.Term, own: frozenset[terms.Var] = frozenset()) -> bool:
        """Whether the value of ``term`` may differ between the two runs."""
        return not self.symbols.isdisjoint(terms.symbols_of(term)) or not own.isdisjoint(terms.free_variables(term))

    def symbol(self, symbol: terms.Symbol, side: RunSide) -> terms.Symbol:
        """Return the copy of a symbol in one run; the symbol itself, if both share it."""
        if symbol not in self.symbols:
            return symbol
        says = f"{symbol.says}, in the {side.value} run" if symbol.says else ""
        return replace(symbol, name=f"{side.value}_{symbol.name}", says=says)

    def term(self, term: terms.Term, side: RunSide, own: frozenset[terms.Var] = frozenset()) -> terms.Term:
        """Return the copy of ``term`` in one run."""
        return terms.substitute(self._spoken(term, side), {var: parameter_copy(var, side) for var in own})

    def _spoken(self, term: terms.Term, side: RunSide) -> terms.Term:
        found = terms.rebuild(term, lambda child: self._spoken(child, side))
        return terms.Apply(self.symbol(found.symbol, side), found.args) if isinstance(found, terms.Apply) else found

    def both(self, term: terms.Term) -> terms.Term:
        """Return the conjunction of the copies of ``term`` in both runs."""
        if not self.reaches(term):
            return term
        return terms.conjunction((self.term(term, RunSide.LEFT), self.term(term, RunSide.RIGHT)))


def parameter_copy(var: terms.Var, side: RunSide) -> terms.Var:
    """Return the copy of a parameter in one run."""
    return terms.Var(f"{side.value}_{var.name}", var.sort)


def refuse_what_has_no_product(whole: Protocol) -> None:
    """Refuse rules, since no platform schedules them, and liveness.

    Raises SpecificationError if the protocol has a rule or a liveness property.
    """
    for action in whole.actions:
        if action.deduction:
            raise SpecificationError(f"{action.name} is a rule, which runs take when they can: write an action")
    if whole.liveness:
        raise SpecificationError(f"{whole.id} states liveness, which says nothing of two runs: leave it out")


def refuse_equal_secrets(
    whole: Protocol, secret: frozenset[terms.Symbol], own: Mapping[str, frozenset[terms.Var]]
) -> None:
    """Refuse a secret that cannot differ between two runs.

    Raises SpecificationError if neither its initial value nor an update of it depends on a secret.
    """
    begin = {first.symbol for first in whole.initial}
    differ = {each for each in secret if not each.mutable or not (each.is_relation or each in begin)}
    reached = dependent(whole, frozenset(differ), own)
    for symbol in sorted(secret - reached, key=lambda each: each.name):
        raise SpecificationError(
            f"{symbol.name} begins the same in both runs, and nothing secret is written to it: give it a first value "
            "that is secret"
        )


def refuse_forgotten_axioms(whole: Protocol, split: frozenset[terms.Symbol], public: frozenset[terms.Symbol]) -> None:
    """Refuse an axiom that relates a secret to a rigid symbol that is neither secret nor public.

    Raises SpecificationError if there is such an axiom.
    """
    axioms = (*whole.axioms, *(axiom for threat in whole.threats for axiom in threat.axioms))
    for axiom in axioms:
        spoken = terms.symbols_of(axiom.formula)
        single = sorted(symbol.name for symbol in spoken - split - public)
        if single and not split.isdisjoint(spoken):
            hidden = min(symbol.name for symbol in spoken & split)
            raise SpecificationError(
                f"the axiom '{axiom.name}' ties {hidden}, which is secret, to {name_list(single)}: name it in `secret` "
                "if it differs, and in `public` if it is one for both runs"
            )


def own_parameters(whole: Protocol, own: Mapping[str, Collection[str]]) -> dict[str, frozenset[terms.Var]]:
    """Return the parameters that each run chooses for itself, by action.

    Raises SpecificationError if an action or parameter does not exist, or both runs have to share it.
    """
    found: dict[str, frozenset[terms.Var]] = {}
    for name, names in own.items():
        action = whole.action(name)
        params = {var.name: var for var in action.params}
        for missing in sorted(set(names) - set(params)):
            raise SpecificationError(f"{name} has no parameter '{missing}'{and_known(missing, params)}")
        found[name] = frozenset(params[each] for each in names)
        shared = {*action.fresh, *((action.actor,) if isinstance(action.actor, terms.Var) else ())}
        for var in sorted(found[name] & shared, key=lambda each: each.name):
            raise SpecificationError(f"{name}: {var.name} is drawn fresh or acts, which is one for both runs")
    return found


def dependent(
    whole: Protocol, secret: frozenset[terms.Symbol], own: Mapping[str, frozenset[terms.Var]]
) -> frozenset[terms.Symbol]:
    """Return the symbols that may differ between two runs with the same labels.

    A guard that reads a secret makes none of them: both runs took the step.

    Raises SpecificationError if a secret decides who acts or what is drawn, or a name is already used.
    """
    split = Split(secret, own)
    while True:
        written = {
            update.symbol
            for action in whole.actions
            for update in action.updates
            if any(split.reaches(term, split.of(action)) for term in _terms_of_update(update))
        }
        written |= {first.symbol for first in whole.initial if split.reaches(first.value)}
        if written <= split.symbols:
            break
        split = replace(split, symbols=split.symbols | written)
    _refuse_secret_actors(whole, split)
    _refuse_taken_names(whole)
    return split.symbols


def _terms_of_update(update: Update) -> tuple[terms.Term, ...]:
    return (*update.args, update.when, *(() if update.value is None else (update.value,)))


def _refuse_secret_actors(whole: Protocol, split: Split) -> None:
    for action in whole.actions:
        drawn = frozenset(action.fresh)
        for guard in action.guards:
            if not split.reaches(guard.formula, split.of(action)):
                continue
            if guard.kind in (GuardKind.ACTOR, GuardKind.FRESH) or not drawn.isdisjoint(
                terms.free_variables(guard.formula)
            ):
                raise SpecificationError(
                    f"{action.name}: a secret decides who acts or what is drawn, which is one for both runs"
                )


def _refuse_taken_names(whole: Protocol) -> None:
    names = {symbol.name for symbol in whole.symbols}
    said = [term for action in whole.actions for term in terms_of_action(action)]
    names |= {var.name for term in said for var in terms.free_variables(term)}
    names |= {name for action in whole.actions for name in (action.name, *(var.name for var in action.params))}
    clashes = sorted(name for name in names if name.startswith(("left_", "right_", "apart_", "compare_")))
    if clashes:
        raise SpecificationError(f"{name_list(clashes)}: a name of one run may not begin as those of two runs do")
