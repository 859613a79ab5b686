"""Drafts: protocols under construction, before their design choices are made.

A draft holds everything a design may contain, the named defences and the shortcuts that exist only without one of
them. ``draft.protocol(without=…)`` resolves it into an immutable protocol value; nothing is global.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from carnet_spec.language.actions import Action, Step, Update, traced_step
from carnet_spec.language.errors import MisuseError, SpecificationError
from carnet_spec.language.expressions import (
    Expression,
    Formula,
    Function,
    Individual,
    Relation,
    declared_sort,
    describe,
    formula_term,
    parameter_names,
    parameters,
)
from carnet_spec.language.lemma_claims import LemmaClaim
from carnet_spec.language.naming import and_known, did_you_mean
from carnet_spec.language.protocol import Protocol, name_list, signature_of, terms_of_action
from carnet_spec.language.statements import (
    Assumption,
    Axiom,
    Claim,
    Defence,
    Eventually,
    Given,
    Goal,
    Initial,
    Invariant,
    Threat,
)
from carnet_spec.language.terms import Apply, Role, Symbol, Term, Var, sort_of, symbols_of
from carnet_spec.language.tracing import SourceLocation, called_from, traced_twice, written_at

Read = TypeVar("Read")


class Draft:
    """A protocol under construction."""

    def __init__(self, id: str, title: str, variant: str = "main") -> None:
        self.id = id
        self.title = title
        self.variant = variant
        self._actions: list[Action] = []
        self._below: frozenset[Symbol] = frozenset()
        self._closed = ""
        self._axioms: list[Axiom] = []
        self._initial: list[Initial] = []
        self._claims: list[Claim] = []
        self._lemmas: list[Invariant] = []
        self._lemma_claims: list[LemmaClaim] = []
        self._goals: list[Goal] = []
        self._liveness: list[Eventually] = []
        self._threats: list[Threat] = []
        self._assumptions: list[Assumption] = []
        self._defences: list[Defence] = []
        self.stated_at: dict[tuple[str, str], SourceLocation | None] = {("draft", id): called_from()}
        """Where everything is said that has a name, by its kind and name."""

    # -- what may happen ------------------------------------------------------------------------------------------

    def action(
        self,
        by: Role,
        source: str,
        *requirements: str,
        enforces: str | tuple[str, ...] = (),
        says: str = "",
        message: str = "",
        cost: int = 0,
        shortcut_of: str | None = None,
        actor: Callable[..., Formula] | None = None,
    ) -> Callable[[Callable[..., None]], Action]:
        """Trace the decorated function into an action, which enforces the ``requirements``.

        ``says`` is a sentence with ``{parameter}`` places. ``message`` reads ``sender -> receiver: text`` and draws the
        arrow of a sequence diagram. The function may say both itself, with :meth:`Step.says` and :meth:`Step.message`.
        ``cost`` is what the step counts against an adversary budget. With ``actor`` the first parameter takes the step,
        as by :meth:`Step.actor`, and ``actor`` says of it that it follows the protocol.
        """
        ids = (*requirements, *_ids(enforces))
        return self._traced(by, says, source, message, ids, cost, False, shortcut_of, actor)

    def rule(
        self,
        by: Role,
        source: str,
        *requirements: str,
        enforces: str | tuple[str, ...] = (),
        says: str = "",
        message: str = "",
        shortcut_of: str | None = None,
    ) -> Callable[[Callable[..., None]], Action]:
        """Trace the decorated function into a rule: it only inserts, costs nothing, and may be taken at any time.

        Rules are the adversary's deductions, and steps that an honest party takes whenever they are possible and that
        can only help.
        """
        return self._traced(by, says, source, message, (*requirements, *_ids(enforces)), 0, True, shortcut_of)

    def _traced(
        self,
        by: Role,
        says: str,
        source: str,
        message: str,
        enforces: tuple[str, ...],
        cost: int,
        deduction: bool,
        shortcut_of: str | None,
        actor: Callable[..., Formula] | None = None,
    ) -> Callable[[Callable[..., None]], Action]:
        def trace(function: Callable[..., None]) -> Action:
            if cost < 0:
                raise SpecificationError(
                    f"{function.__name__}: a cost counts active moves, and {cost} is less than none"
                )
            params = parameters(function, skip=1)

            def begin() -> Step:
                step = Step(function.__name__, params, by, deduction, says, message)
                if actor is not None:
                    step.actor(params[0], actor(params[0]))
                return step

            step = traced_step(function, params, begin)
            action = Action(
                name=name_of(function, "a step"),
                by=by,
                params=tuple(variable_of(param) for param in params),
                guards=tuple(step.guards),
                updates=tuple(step.updates),
                says=step.sentence,
                source=source,
                message=step.sends,
                enforces=enforces,
                cost=cost,
                deduction=deduction,
                actor=step.acting,
                shortcut_of=shortcut_of,
                why=" ".join((function.__doc__ or "").split()),
            )
            if any(other.name == action.name for other in self._actions):
                raise SpecificationError(f"two actions are called '{action.name}'")
            self._refuse_below(action.name, action.updates)
            if by.honest:
                self._refuse_closed(f"{action.name} is a step of an honest role")
            self._actions.append(action)
            self.stated_at["action", action.name] = written_at(function)
            return action

        return trace

    def superpose(
        self, name: str, *, says: str = "", source: str = "", enforces: str | tuple[str, ...] = ()
    ) -> Callable[[Callable[..., None]], Action]:
        """Extend the action called ``name`` by the guards and updates of the decorated function.

        Parameters of the same name and sort are shared; the others are new. What the draft speaks of before the first
        addition, neither additions nor later actions may change: without them every run is a run of the draft.
        ``says`` and ``source`` are appended to the action's own.

        Raises SpecificationError if there is no such action, or the addition changes what it must not.
        """
        if not self._below:
            self._below = frozenset(self._spoken_of())

        def trace(function: Callable[..., None]) -> Action:
            place, base = self._place_of(name)
            if base.by.honest:
                self._refuse_closed(f"{name} is a step of an honest role")
            params = parameters(function, skip=1)
            added = tuple(var for var in map(variable_of, params) if var not in base.params)
            every = {var.name for update in base.updates for var in update.each}
            clashes = sorted(var.name for var in added if var.name in every | {param.name for param in base.params})
            if clashes:
                raise SpecificationError(
                    f"{name}: a parameter or 'each' is called {name_list(clashes)} already: "
                    "give the new one another name"
                )
            taken = every | {param.name for param in base.params}
            step = traced_step(
                function, params, lambda: Step(name, params, base.by, base.deduction, "", base.message, taken)
            )
            self._refuse_below(name, tuple(step.updates))
            action = replace(
                base,
                params=base.params + added,
                guards=base.guards + tuple(step.guards),
                updates=base.updates + tuple(step.updates),
                says=" ".join(filter(None, (base.says, says, step.sentence))),
                source="; ".join(filter(None, (base.source, source))),
                message=step.sends,
                enforces=(*base.enforces, *_ids(enforces)),
                why=" ".join(filter(None, (base.why, " ".join((function.__doc__ or "").split())))),
            )
            self._actions[place] = action
            return action

        return trace

    def _place_of(self, name: str) -> tuple[int, Action]:
        for place, action in enumerate(self._actions):
            if action.name == name:
                return place, action
        raise SpecificationError(f"no action '{name}' to add to{and_known(name, (a.name for a in self._actions))}")

    def _spoken_of(self) -> Iterator[Symbol]:
        """Yield the symbols that actions read or change, and those that are claimed or asked about."""
        for action in self._actions:
            yield from (update.symbol for update in action.updates)
            for term in terms_of_action(action):
                yield from symbols_of(term)
        stated = (claim.invariant.body for claim in self._claims if claim.invariant is not None)
        for term in (*stated, *(lemma.body for lemma in self._lemmas), *(goal.body for goal in self._goals)):
            yield from symbols_of(term)

    def _refuse_below(self, name: str, updates: tuple[Update, ...]) -> None:
        for update in updates:
            if update.symbol in self._below:
                raise SpecificationError(
                    f"{name}: a layer cannot change {update.symbol.name}, which belongs to the design below"
                )

    def close(self, because: str) -> None:
        """Refuse further steps of honest roles and further initial values, for the reason ``because``.

        Raises MisuseError if the draft is closed already.
        """
        self._refuse_closed("it cannot be closed again")
        self._closed = because

    def _refuse_closed(self, what: str) -> None:
        if self._closed:
            raise MisuseError(f"{what}, and the draft is closed: {self._closed}")

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions and rules declared so far, in order, including shortcuts."""
        return tuple(self._actions)

    @property
    def axioms(self) -> tuple[Axiom, ...]:
        """The axioms declared so far, without those of threat models."""
        return tuple(self._axioms)

    @property
    def first_values(self) -> tuple[Initial, ...]:
        """The initial values declared so far."""
        return tuple(self._initial)

    # -- what is claimed and assumed ------------------------------------------------------------------------------

    def claim(
        self,
        *,
        name: str,
        sentence: str,
        requirement: str,
        source: str,
        under: tuple[str, ...],
        fails_under: tuple[str, ...] = (),
    ) -> Callable[[Callable[..., Formula]], Claim]:
        """State the decorated function, for all values of its parameters, as a claim."""

        def state(function: Callable[..., Formula]) -> Claim:
            invariant = traced_invariant(function, name)
            claim = Claim(name, invariant, sentence, requirement, source, under, fails_under)
            self._claims.append(claim)
            self.stated_at["claim", name] = written_at(function)
            return claim

        return state

    def expect(self, name: str, *, under: tuple[str, ...], fails_under: tuple[str, ...] = ()) -> None:
        """Set the threat models under which a claim is made, and those under which it is expected to be violated.

        For a liveness property ``under`` sets nothing, since it is made under all threat models but these.

        Raises SpecificationError if there is no such claim or liveness property.
        """
        stated = [*(claim.name for claim in self._claims), *(live.name for live in self._liveness)]
        if name not in stated:
            raise SpecificationError(f"no claim '{name}'{and_known(name, stated)}")
        self._claims = [
            replace(each, under=under, fails_under=fails_under) if each.name == name else each for each in self._claims
        ]
        self._liveness = [
            replace(each, fails_under=fails_under) if each.name == name else each for each in self._liveness
        ]

    def declare_claim(
        self, name: str, *, sentence: str, requirement: str, source: str, under: tuple[str, ...]
    ) -> Claim:
        """Declare a claim of a layer that is not built yet.

        It has no formula, is listed, and never counts as established.
        """
        claim = Claim(name, None, sentence, requirement, source, under, declared=True)
        self._claims.append(claim)
        return claim

    def lemma_claim(self, claim: LemmaClaim) -> None:
        """State a lemma claim; its theorems have to be stated before it.

        Raises SpecificationError if a theorem of it is no claim of the draft.
        """
        stated = [each.name for each in self._claims if not each.declared]
        for name in claim.theorems:
            if name not in stated:
                raise SpecificationError(
                    f"lemma claim {claim.name} rests on '{name}', which is no claim{and_known(name, stated)}"
                )
        self._lemma_claims.append(claim)
        self.stated_at["lemma claim", claim.name] = called_from()

    def lemma(self, function: Callable[..., Formula]) -> Invariant:
        """State the decorated function as a lemma; its docstring is the lemma's sentence."""
        return self.lemma_under()(function)

    def lemma_under(self, *threats: str) -> Callable[[Callable[..., Formula]], Invariant]:
        """State the decorated function as a lemma that holds under the named threat models only."""

        def state(function: Callable[..., Formula]) -> Invariant:
            invariant = replace(traced_invariant(function, name_of(function, "a lemma")), under=threats)
            self._lemmas.append(invariant)
            self.stated_at["lemma", invariant.name] = written_at(function)
            return invariant

        return state

    def withdraw(self, *lemmas: str) -> None:
        """Remove lemmas that do not hold in this design; raise an error if a name is unknown."""
        known = dict.fromkeys(lemma.name for lemma in self._lemmas)
        for name in lemmas:
            if name not in known:
                raise SpecificationError(f"no lemma '{name}' to take back{and_known(name, known)}")
        self._lemmas = [lemma for lemma in self._lemmas if lemma.name not in lemmas]

    def goal(self, *, sentence: str, rounds: int = 1) -> Callable[[Callable[..., Formula]], Goal]:
        """State the decorated function as a goal: a reachable state satisfies it for some values of its parameters."""

        def state(function: Callable[..., Formula]) -> Goal:
            traced = traced_invariant(function, name_of(function, "a goal").replace("_", "-"))
            goal = Goal(traced.name, traced.params, traced.body, sentence, rounds)
            self._goals.append(goal)
            self.stated_at["goal", goal.name] = written_at(function)
            return goal

        return state

    def eventually(
        self,
        name: str,
        trigger: Formula | Callable[..., Formula],
        response: Formula | Callable[..., Formula],
        *,
        sentence: str,
        each: tuple[type[Individual], ...] = (),
        fair: tuple[str, ...] = (),
        strong: tuple[str, ...] = (),
        given: Mapping[str, Mapping[str, Individual | Callable[..., Individual]]] | None = None,
        requirement: str = "",
        fails_under: tuple[str, ...] = (),
    ) -> None:
        """State a liveness property under fairness of the actions ``fair``, in the order in which they are due.

        With ``each`` there is one for each element of these sorts, and what is said may be functions of the elements.
        Fairness is weak, and of the actions among them that ``strong`` names it is strong. For an action, ``given``
        says what some parameters are in the steps that are to be taken fairly. ``requirement`` is the id of the
        normative sentence that the property states, if there is one. Under the threat models of ``fails_under`` the
        property is expected to be violated; a protocol without threat models has one, called ``unrestricted``.

        Raises MisuseError if a function takes other elements than ``each`` names, ``fair`` or ``strong`` is no tuple,
        ``strong`` or ``given`` speaks of another action, or a value is no element.
        """
        chosen = (value for values in (given or {}).values() for value in dict(values).values())
        elements = elements_of(name, each, trigger, response, *chosen)
        before = said_of(name, trigger, elements, partial(formula_term, what=f"{name}: when"))
        after = said_of(name, response, elements, partial(formula_term, what=f"{name}: then"))
        values = given_values(name, fair, given or {}, elements)
        params = tuple(map(variable_of, elements))
        strongly = fair_names(name, strong, "strong", fair)
        ordered = tuple(action for action in dict.fromkeys(fair) if action in strongly)
        self._liveness.append(
            Eventually(name, before, after, sentence, fair, values, params, ordered, requirement, fails_under)
        )
        self.stated_at["liveness", name] = called_from()

    def axiom(self, name: str, formula: Formula, *, assumption: str = "", says: str = "") -> None:
        """Add an axiom over rigid symbols only; ``assumption`` is the id of the assumption that it states."""
        self._axioms.append(Axiom(name, formula_term(formula, f"axiom {name}"), assumption, says))
        self.stated_at["axiom", name] = called_from()

    def threat(self, id: str, title: str, *, passive: bool = False, **axioms: Formula) -> Threat:
        """Declare a threat model with its axioms; in a ``passive`` one the adversary only listens and deduces."""
        formulas = {name: formula_term(formula, f"axiom {id}: {name}") for name, formula in axioms.items()}
        threat = Threat(id, title, tuple(Axiom(f"{id}: {name}", term) for name, term in formulas.items()), passive)
        self._threats.append(threat)
        self.stated_at["threat model", id] = called_from()
        return threat

    def assumption(self, id: str, sentence: str, *, built_in: bool = False) -> None:
        """Declare an assumption; a ``built_in`` one is stated by the form of the steps instead of an axiom."""
        self._assumptions.append(Assumption(id, sentence, built_in))

    def defence(self, id: str, title: str, *, base: str = "") -> None:
        """Declare a defence that can be removed."""
        self._defences.append(Defence(id, title, base))

    def initially(
        self, what: Expression | Relation | Function[Any], value: Expression | Callable[..., Expression]
    ) -> None:
        """Give a variable, relation or function its value in the first state.

        For a relation or function it is a Python function, in which parameters without a sort have that of their place.

        Raises MisuseError if it is no value of that sort, or takes other parameters than the relation or function.
        """
        symbol, params, given = first_value(what, value)
        if symbol in self._below:
            raise SpecificationError(
                f"a layer cannot give {symbol.name}, which belongs to the design below, a first value"
            )
        self._refuse_closed(f"{symbol.name} gets a first value")
        self._initial.append(Initial(symbol, params, given))
        self.stated_at["initial value of", symbol.name] = called_from()

    # -- the protocol ---------------------------------------------------------------------------------------------

    def protocol(self, without: Iterable[str] = ()) -> Protocol:
        """Return the protocol with the defences ``without`` removed.

        Raises SpecificationError if a defence is unknown, or a claim or lemma names an unknown threat model.
        """
        removed = tuple(sorted(set(without)))
        known = {defence.id: defence for defence in self._defences}
        for id in removed:
            if id not in known:
                raise SpecificationError(f"no defence '{id}' in {self.id}{and_known(id, known)}")
        actions = tuple(
            action.without(removed)
            for action in self._actions
            if action.shortcut_of is None or action.shortcut_of in removed
        )
        protocol = self._built(actions, removed)
        protocol.require_declared_threats(self.stated_at)
        return protocol

    def whole(self) -> Protocol:
        """Return a protocol with all parts of the draft, for the lints.

        Shortcuts, and parts that exist only with or only without a defence, stand side by side.
        """
        return self._built(tuple(self._actions), ())

    def _built(self, actions: tuple[Action, ...], removed: tuple[str, ...]) -> Protocol:
        protocol = Protocol(
            id=self.id,
            title=self.title,
            variant=self.variant,
            without=removed,
            actions=actions,
            axioms=tuple(self._axioms),
            initial=tuple(self._initial),
            claims=tuple(self._claims),
            lemmas=tuple(self._lemmas),
            goals=tuple(self._goals),
            liveness=tuple(self._liveness),
            threats=tuple(self._threats),
            assumptions=tuple(self._assumptions),
            defences=tuple(self._defences),
            lemma_claims=tuple(self._lemma_claims),
        )
        symbols, sorts = signature_of(protocol)
        return replace(protocol, symbols=symbols, sorts=sorts)


def _ids(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


# -- stating -----------------------------------------------------------------------------------------------------------
# Statements as an author writes them down: invariants as functions, and which steps are to be taken fairly.


def traced_invariant(function: Callable[..., Formula], name: str) -> Invariant:
    """Return the invariant that a function states of all values of its parameters.

    Raises MisuseError if it does not return a formula.
    """
    params = parameters(function)
    body = traced_twice(function, lambda: formula_term(function(*params), f"the body of {name}"))
    says = " ".join((function.__doc__ or "").split())
    return Invariant(name, tuple(variable_of(param) for param in params), body, says)


def variable_of(param: Individual) -> Var:
    """Return the variable of a parameter. Raises SpecificationError if the value is not a parameter."""
    if not isinstance(param.term, Var):
        raise SpecificationError(f"{param!r} is not a parameter")
    return param.term


def name_of(function: Callable[..., object], what: str) -> str:
    """Return the name of a function, which becomes the name of the ``what`` that it states.

    Raises MisuseError if the function has no name.
    """
    name = getattr(function, "__name__", "<lambda>")
    if name == "<lambda>":
        raise MisuseError(f"{what} is named after its function, and {describe(function)} has no name: write a 'def'")
    return str(name)


def first_value(
    what: Expression | Relation | Function[Any], value: Expression | Callable[..., Expression]
) -> tuple[Symbol, tuple[Var, ...], Term]:
    """Return a symbol, parameters for its arguments, and its value in the first state.

    Raises MisuseError if the value has another sort, or the parameters do not fit the symbol.
    """
    params: tuple[Individual, ...] = ()
    if isinstance(what, Expression) and isinstance(value, Expression) and isinstance(what.term, Apply):
        symbol, given = what.term.symbol, value
    elif isinstance(what, Relation | Function) and callable(value):
        symbol, params = what.symbol, parameters(value, sorts=what.symbol.domain)
        given_for = tuple(param.sort for param in params)
        if given_for != symbol.domain:
            takes, has = (", ".join(sort.name for sort in each) or "nothing" for each in (symbol.domain, given_for))
            raise MisuseError(f"{symbol.name} takes {takes}, and its first value is given for {has}")
        given = value(*params)
    else:
        raise MisuseError("initially takes a variable and its value, or a relation or function and a Python one")
    if not isinstance(given, Expression) or sort_of(given.term) != symbol.result:
        raise MisuseError(f"{symbol.name} holds a {symbol.result.name}, not {describe(given)}")
    return symbol, tuple(variable_of(param) for param in params), given.term


def elements_of(name: str, each: tuple[type[Individual], ...], *said: object) -> tuple[Individual, ...]:
    """Return parameters of the sorts ``each`` for the property ``name``, named like those of the functions ``said``.

    Raises MisuseError if ``each`` is no tuple of sorts, or a function takes other parameters.
    """
    if not isinstance(each, tuple):
        raise MisuseError(f"{name}: 'each' must be a tuple of sorts, not {describe(each)}")
    sorts = [declared_sort(f"{name}: 'each'", sort) for sort in each]
    functions = [part for part in said if not isinstance(part, Expression) and callable(part)]
    if sorts and not functions:
        raise MisuseError(f"{name} says nothing of each {name_list(sort.name for sort in sorts)}: say it by functions")
    fitting = [function for function in functions if len(parameter_names(function)) == len(each)]
    fitting.sort(key=lambda function: isinstance(function, Relation))  # whose parameters have no names
    names = parameter_names(fitting[0]) if fitting else [sort.name.lower() for sort in sorts]
    return tuple(sort(Var(called_so, sort.sort)) for called_so, sort in zip(names, each, strict=True))


def said_of(name: str, said: object, elements: tuple[Individual, ...], read: Callable[[object], Read]) -> Read:
    """Return a part of the property ``name``: ``said``, or if it is a function, its value for ``elements``.

    Raises MisuseError if the function has another number of parameters.
    """
    if isinstance(said, Expression) or not callable(said):
        return read(said)
    if len(names := parameter_names(said)) != len(elements):
        sorts = name_list(element.sort.name for element in elements)
        raise MisuseError(f"{name}: {describe(said)} takes {name_list(names)}, and the sorts in 'each' are: {sorts}")
    return traced_twice(said, lambda: read(said(*elements)))


def given_values(
    name: str,
    fair: tuple[str, ...],
    given: Mapping[str, Mapping[str, Individual | Callable[..., Individual]]],
    elements: tuple[Individual, ...] = (),
) -> tuple[Given, ...]:
    """Return the parameter values in fair steps of the property ``name``, in the order of ``fair``.

    Raises MisuseError if ``fair`` is no tuple, ``given`` names another action, or a value is no element.
    """
    fair_names(name, tuple(given), "given", fair_names(name, fair, "fair", fair))
    return tuple(
        said_of(name, value, elements, partial(_given_value, name, action, parameter))
        for action in dict.fromkeys(fair)
        for parameter, value in dict(given.get(action, {})).items()
    )


def fair_names(name: str, names: object, part: str, fair: tuple[str, ...]) -> tuple[str, ...]:
    """Return the action names in ``part`` of the property ``name``, each of which is in ``fair``.

    Raises MisuseError if they are no tuple, or one is not in ``fair``.
    """
    if not isinstance(names, tuple):
        raise MisuseError(f"{name}: '{part}' must be a tuple of names, not {names!r}")
    for action in names:
        if action not in fair:
            asked = did_you_mean(action, fair)
            said = f"says what is given of '{action}'" if part == "given" else f"is strongly fair to '{action}'"
            raise MisuseError(f"{name} {said}, which it does not name in 'fair'{asked and '; ' + asked}")
    return names


def _given_value(name: str, action: str, parameter: str, value: object) -> Given:
    if not isinstance(value, Individual):
        raise MisuseError(
            f"{name} gives {describe(value)} for '{parameter}' of {action}, which is no element: write a constant, a "
            "variable or a member"
        )
    return Given(action, parameter, value.term)
