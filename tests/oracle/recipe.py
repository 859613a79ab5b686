"""Protocols as plain values that are written down through the public :class:`~carnet_spec.language.Draft` each time.

A draft cannot be compared, shrunk or built twice; a recipe can. Building goes the way an author goes: functions with
annotated parameters, :class:`~carnet_spec.language.Step` methods, sorts as classes.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis.vendor.pretty import RepresentationPrinter

from carnet_spec.language import (
    Draft,
    Effect,
    Eventually,
    Formula,
    Individual,
    Role,
    SpecificationError,
    Step,
    Term,
    Variant,
)
from carnet_spec.language.expressions import Function as Applied
from carnet_spec.language.expressions import Relation
from carnet_spec.language.notation import show
from carnet_spec.language.printing import (
    fair_steps,
    show_action,
    show_axiom,
    show_claim,
    show_goal,
    show_initial,
    show_invariant,
    show_symbol,
)
from carnet_spec.language.terms import TRUE, Apply, Symbol, Var, sort_of, substitute
from tests.oracle.vocabulary import Words

Params = tuple[Var, ...]
Closed = tuple[str, Params, Term]  #: A name, parameters, and a formula over them.


@dataclass(frozen=True)
class GuardRecipe:
    """A guard: ``way`` is the method of :class:`Step` that makes it."""

    way: str
    formula: Term
    defence: str | None = None
    unless: str | None = None


@dataclass(frozen=True)
class UpdateRecipe:
    """An update; the variables of ``each`` are asked of the step when it is built."""

    effect: Effect
    place: Apply
    value: Term | None = None
    when: Term = TRUE
    each: Params = ()
    defence: str | None = None
    unless: str | None = None


@dataclass(frozen=True)
class ActionRecipe:
    """An action, a rule, or what a layer adds to the action of its name."""

    name: str
    by: Role
    params: Params
    guards: tuple[GuardRecipe, ...]
    updates: tuple[UpdateRecipe, ...]
    fresh: Params = ()
    actor: tuple[Var, Term] | None = None
    rule: bool = False
    added: bool = False
    cost: int = 0
    shortcut_of: str | None = None


@dataclass(frozen=True)
class ClaimRecipe:
    """A claim."""

    stated: Closed
    under: tuple[str, ...] = ()
    fails_under: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parts:
    """What a draft is made of, or what a layer adds to one."""

    actions: tuple[ActionRecipe, ...]
    initial: tuple[tuple[Symbol, Params, Term], ...] = ()
    axioms: tuple[Term, ...] = ()
    claims: tuple[ClaimRecipe, ...] = ()
    lemmas: tuple[tuple[Closed, tuple[str, ...]], ...] = ()
    goals: tuple[Closed, ...] = ()
    liveness: tuple[Eventually, ...] = ()


@dataclass(frozen=True, repr=False)
class Recipe:
    """A protocol, with the design without its defence if it has one, and with a layer if it has one."""

    words: Words
    parts: Parts
    threats: tuple[tuple[str, tuple[Term, ...]], ...] = ()
    defence: str | None = None
    layer: Parts | None = None

    def __repr__(self) -> str:
        try:
            protocol = self.draft("layer" if self.layer else "main").protocol()
        except SpecificationError as error:
            return f"refused: {error}"
        listed = [f"{show_symbol(symbol)}, {'mutable' if symbol.mutable else 'rigid'}" for symbol in protocol.symbols]
        listed += [show_axiom(axiom) for axiom in protocol.axioms]
        listed += [f"under {threat.id}: {show_axiom(axiom)}" for threat in protocol.threats for axiom in threat.axioms]
        listed += [*map(show_initial, protocol.initial), *map(show_action, protocol.actions)]
        listed += [f"claim {show_claim(claim)}, under {', '.join(claim.under)}" for claim in protocol.claims]
        listed += [f"lemma {show_invariant(lemma)}, under {', '.join(lemma.under)}" for lemma in protocol.lemmas]
        for live in protocol.liveness:
            listed.append(f"{live.name}: {show(live.trigger)} ~> {show(live.response)}, fair: {fair_steps(live)}")
        if self.layer is not None:
            listed += [f"below: {show_claim(claim)}" for claim in self.draft().protocol().claims]
        return "\n".join(["", *listed, *map(show_goal, protocol.goals)])

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        """Keep Hypothesis from printing every field of every term."""
        printer.text(repr(self))

    @property
    def variants(self) -> dict[str, Variant]:
        """The design choices of the family."""
        found = {"main": Variant("main", "as written")}
        if self.defence is not None:
            found["weak"] = Variant("weak", "without its defence", without=(self.defence,))
        if self.layer is not None:
            found["layer"] = Variant("layer", "with more on top", over="main")
        return found

    def draft(self, variant: str = "main") -> Draft:
        draft = Draft("random", "Random", variant)
        for name, axioms in self.threats:
            draft.threat(name, name, passive=False, **{f"axiom{n}": Formula(axiom) for n, axiom in enumerate(axioms)})
        if self.defence is not None:
            draft.defence(self.defence, "something that can be left out")
        if variant != "layer" or self.layer is None:
            _Writing(draft, self.words).write(self.parts)
        else:  # what is claimed below is claimed there, and holds in the layer by erasure
            _Writing(draft, self.words).write(replace(self.parts, claims=(), goals=(), liveness=()))
            _Writing(draft, self.words).write(self.layer)
        return draft


class _Writing:
    """Writes parts into a draft."""

    def __init__(self, draft: Draft, words: Words) -> None:
        self.draft = draft
        self.words = words

    def write(self, parts: Parts) -> None:
        for number, axiom in enumerate(parts.axioms):
            self.draft.axiom(f"axiom {number}", Formula(axiom))
        for symbol, params, value in parts.initial:
            self._initially(symbol, params, value)
        for action in parts.actions:
            self._action(action)
        for claim in parts.claims:
            self.draft.claim(
                name=claim.stated[0],
                sentence="It is claimed.",
                requirement="R-1",
                source="random",
                under=claim.under,
                fails_under=claim.fails_under,
            )(self._stated(claim.stated))
        for lemma, under in parts.lemmas:
            (self.draft.lemma_under(*under) if under else self.draft.lemma)(self._stated(lemma))
        for goal in parts.goals:
            self.draft.goal(sentence="It is reached.")(self._stated(goal))
        for live in parts.liveness:
            self._eventually(live)

    def individual(self, term: Term) -> Individual:
        """Dress an element as an author's expression."""
        return self.words.classes[sort_of(term)](term)

    def _function(
        self, name: str, params: Params, body: Callable[..., Any], first: str | None = None
    ) -> Callable[..., Any]:
        """Make a Python function of these parameters, each annotated with the class of its sort."""

        def function(*args: Any) -> Any:
            return body(*args)

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        listed = [] if first is None else [inspect.Parameter(first, kind, annotation=Step)]
        listed += [inspect.Parameter(var.name, kind, annotation=self.words.classes[var.sort]) for var in params]
        function.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]  # read by inspect.signature
        function.__name__ = function.__qualname__ = name
        return function

    def _stated(self, closed: Closed) -> Callable[..., Any]:
        name, params, formula = closed
        return self._function(name, params, lambda *_: Formula(formula))

    def _eventually(self, live: Eventually) -> None:
        """State a liveness property; with parameters its parts are functions of them."""

        def with_parameters(value: Formula | Individual) -> Any:
            return self._function("said", live.params, lambda *_: value) if live.params else value

        given: dict[str, dict[str, Any]] = {}
        for each in live.given:
            given.setdefault(each.action, {})[each.parameter] = with_parameters(self.individual(each.value))
        self.draft.eventually(
            live.name,
            with_parameters(Formula(live.trigger)),
            with_parameters(Formula(live.response)),
            sentence=live.sentence,
            each=tuple(self.words.classes[var.sort] for var in live.params),
            fair=live.fair,
            strong=live.strong,
            given=given,
        )

    def _initially(self, symbol: Symbol, params: Params, value: Term) -> None:
        given = Formula(value) if symbol.is_relation else self.individual(value)
        if not symbol.domain:
            place = Apply(symbol, ())
            self.draft.initially(Formula(place) if symbol.is_relation else self.individual(place), given)
        elif symbol.is_relation:
            self.draft.initially(Relation(symbol), self._function("first", params, lambda *_: given))
        else:
            to = self.words.classes[symbol.result]
            self.draft.initially(Applied(symbol, to), self._function("first", params, lambda *_: given))

    def _action(self, recipe: ActionRecipe) -> None:
        says: dict[str, Any] = {"by": recipe.by, "says": "it happens", "source": "random"}
        says["shortcut_of"] = recipe.shortcut_of
        if recipe.added:
            made = self.draft.superpose(recipe.name)
        elif recipe.rule:
            made = self.draft.rule(**says)
        else:
            made = self.draft.action(**says, cost=recipe.cost)
        made(self._function(recipe.name, recipe.params, lambda step, *_: self._step(step, recipe), first="step"))

    def _step(self, step: Step, recipe: ActionRecipe) -> None:
        if recipe.actor is not None:
            step.actor(self.individual(recipe.actor[0]), Formula(recipe.actor[1]))
        for var in recipe.fresh:
            step.fresh(self.individual(var))
        for number, guard in enumerate(recipe.guards):
            name = f"{'added ' if recipe.added else ''}guard {number}"
            getattr(step, guard.way)(name, Formula(guard.formula), defence=guard.defence, unless=guard.unless)
        for number, update in enumerate(recipe.updates):
            self._update(step, f"{'added ' if recipe.added else ''}update {number}", update)

    def _update(self, step: Step, name: str, update: UpdateRecipe) -> None:
        every = {var: step.each(self.words.classes[var.sort]).term for var in update.each}
        place = substitute(update.place, every)
        tags: dict[str, Any] = {"name": name, "defence": update.defence, "unless": update.unless}
        tags["when"] = None if update.when == TRUE else Formula(substitute(update.when, every))
        if update.value is not None:
            step.set(self.individual(place), self.individual(substitute(update.value, every)), **tags)
        elif update.effect is Effect.INSERT:
            step.insert(Formula(place), **tags)
        else:
            step.remove(Formula(place), **tags)
