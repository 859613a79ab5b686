"""Other analyses: stratification keeps obligations decidable, layers add only, and unused elements are alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carnet_spec.language import *
from carnet_spec.language.analysis.freshness import distinguishable_fresh_sorts
from carnet_spec.language.analysis.layers import departures
from carnet_spec.language.analysis.stratification import stratification
from tests.fixtures import toy
from tests.unit.spec.language.vocabulary import PARTY, Agent, Key, boss, drafted, enrolled, own, peer, ready, seen, sent


class Truck(Individual):
    """A truck."""


class Crate(Individual):
    """A crate."""


class Seal(Individual):
    """A seal."""


class State(Individual):
    """An enumeration."""

    OPEN = member()
    SHUT = member()


on = relation("on", Crate, Truck, kind=Kind.MESSAGE)
truck_of = function("truck_of", Crate, to=Truck, kind=Kind.GHOST)
crate_of = rigid_function("crate_of", Seal, to=Crate)
seal_of = rigid_function("seal_of", Truck, to=Seal)
copy_of = rigid_function("copy_of", Seal, to=Seal)
state_of = function("state_of", Seal, to=State, kind=Kind.GHOST)
seal_for = rigid_function("seal_for", State, to=Seal)
heavy = rigid_relation("heavy", Crate)
seals = rigid_relation("seals", Seal, Crate)


def _axiom(formula: Formula) -> Callable[[Draft], object]:
    return lambda draft: draft.axiom("law", formula)


def _guard(formula: Callable[[Crate], Formula]) -> Callable[[Draft], object]:
    def act(step: Step, c: Crate) -> None:
        step.given("it", formula(c))

    return lambda draft: draft.action(by=PARTY, says="x", source="y")(act)


def _condition(formula: Callable[[Crate], Formula]) -> Callable[[Draft], object]:
    def act(step: Step, t: Truck) -> None:
        every: Any = step.each(Crate)
        step.remove(on(every, t), when=formula(every))

    return lambda draft: draft.action(by=PARTY, says="x", source="y")(act)


def _lemma(formula: Callable[[Crate], Formula]) -> Callable[[Draft], object]:
    def lemma(c: Crate) -> Formula:
        return formula(c)

    return lambda draft: draft.lemma(lemma)


def _initially(formula: Callable[[Crate], Formula]) -> Callable[[Draft], object]:
    def first(c: Crate, t: Truck) -> Formula:
        return formula(c)

    return lambda draft: draft.initially(on, first)


def on_some(c: Crate) -> Formula:
    """A truck for each crate."""
    return exists(lambda t: on(c, t), Truck)


def on_all(c: Crate) -> Formula:
    """Every truck, for each crate."""
    return forall(lambda t: on(c, t), Truck)


def loaded(t: Truck) -> Formula:
    """A crate for each truck."""
    return exists(lambda c: on(c, t), Crate)


def loaded_never(t: Truck) -> Formula:
    """No crate."""
    return forall(lambda c: ~on(c, t), Crate)


uses_truck_of = forall(lambda c: on(c, truck_of(c)), Crate)
uses_copy_of = forall(lambda s: copy_of(s) != s, Seal)

ROWS: dict[str, tuple[tuple[Callable[[Draft], object], ...], list[str]]] = {
    "one function": ((_axiom(uses_truck_of),), []),
    "functions in a line": ((_axiom(uses_truck_of), _axiom(forall(lambda s: heavy(crate_of(s)), Seal))), []),
    "a function into its own sort": ((_axiom(uses_copy_of),), ["Seal → Seal (function copy_of)"]),
    "functions in a circle": (
        (_axiom(uses_truck_of), _axiom(forall(lambda t: heavy(crate_of(seal_of(t))), Truck))),
        ["Crate → Truck (function truck_of)", "Truck → Seal (function seal_of)", "Seal → Crate (function crate_of)"],
    ),
    "an enumeration on the way": (
        (
            _axiom(forall(lambda s: state_of(s) == State.OPEN, Seal)),
            _axiom(seal_for(State.OPEN) == seal_for(State.SHUT)),
        ),
        [],
    ),
    "a witness beside a function": ((_lemma(on_some), _axiom(uses_truck_of)), []),
    "a witness against a function": (
        (_axiom(uses_truck_of), _axiom(forall(loaded, Truck))),
        ["Crate → Truck (function truck_of)", "Truck → Crate (a Crate for each Truck, in axiom law)"],
    ),
    "a lemma's witness against a function": (
        (_axiom(forall(lambda t: heavy(crate_of(seal_of(t))), Truck)), _lemma(on_some)),
        [
            "Truck → Seal (function seal_of)",
            "Seal → Crate (function crate_of)",
            "Crate → Truck (a Truck for each Crate, in lemma as a hypothesis)",
        ],
    ),
    "a guard's parameters are constants": ((_guard(on_some), _axiom(forall(loaded, Truck))), []),
    "a witness in a guard": (
        (_guard(lambda c: forall(loaded, Truck)), _axiom(uses_truck_of)),
        ["Crate → Truck (function truck_of)", "Truck → Crate (a Crate for each Truck, in guard 'it' of act)"],
    ),
    "a denied lemma": (
        (_lemma(lambda c: exists(lambda t: forall(lambda d: on(d, t), Crate), Truck)), _axiom(uses_truck_of)),
        ["Crate → Truck (function truck_of)", "Truck → Crate (a Crate for each Truck, in the negation of lemma)"],
    ),
    "a denied premise": (
        (_axiom(forall(lambda c: implies(on_all(c), heavy(c)), Crate)), _axiom(forall(loaded, Truck))),
        [
            "Crate → Truck (a Truck for each Crate, in axiom law)",
            "Truck → Crate (a Crate for each Truck, in axiom law)",
        ],
    ),
    "a condition for every element, either way": (
        (_condition(on_all), _axiom(forall(loaded, Truck))),
        [
            "Truck → Crate (a Crate for each Truck, in axiom law)",
            "Crate → Truck (a Truck for each Crate, in update 'remove on' of act)",
        ],
    ),
    "an initial value": (
        (_initially(on_all), _axiom(forall(loaded, Truck))),
        [
            "Truck → Crate (a Crate for each Truck, in axiom law)",
            "Crate → Truck (a Truck for each Crate, in the initial value of on)",
        ],
    ),
    "a witness that depends on a witness": (
        (
            _axiom(forall(lambda s: exists(lambda c: seals(s, c) & on_some(c), Crate), Seal)),
            _axiom(forall(lambda t: heavy(crate_of(seal_of(t))), Truck)),
        ),
        ["Seal → Truck (a Truck for each Seal, in axiom law)", "Truck → Seal (function seal_of)"],
    ),
    "a witness that depends on nothing": (
        (_axiom(forall(lambda t: exists(heavy, Crate) & loaded_never(t), Truck)), _axiom(uses_truck_of)),
        [],
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_shortest_cycle_is_named(row: str) -> None:
    parts, cycle = ROWS[row]
    draft = Draft("test", "Test")
    for part in parts:
        part(draft)
    found = stratification(draft.protocol())
    assert found.is_stratified is not bool(cycle)
    assert {str(edge) for edge in found.cycle} == set(cycle)
    pairs = list(zip(found.cycle, found.cycle[1:] + found.cycle[:1], strict=True))
    assert all(edge.target == following.source for edge, following in pairs)


def test_the_toy_is_decidable() -> None:
    found = stratification(toy.FAMILY.protocol())
    assert found.is_stratified
    assert [str(edge) for edge in found.edges] == ["Key → Agent (function owner)"]


def give(step: Step, a: Agent, k: Key) -> None:
    step.require("known", own(a, k) & enrolled(a))
    step.insert(sent(a, k))


def look(step: Step, a: Agent) -> None:
    step.given("peer", (peer == a) & ready)
    step.insert(seen(a))


def _designed(*bodies: Callable[..., None]) -> Draft:
    draft = drafted()
    draft.axiom("the boss is enrolled", enrolled(boss))
    for body in bodies:
        draft.action(by=PARTY, says="x", source="y")(body)
    return draft


DESIGN = _designed(give, look).protocol()


def _with(name: str, **changes: object) -> Protocol:
    actions = tuple(replace(a, **changes) if a.name == name else a for a in DESIGN.actions)  # type: ignore[arg-type]
    return replace(DESIGN, actions=actions)


def _also(effect: Effect) -> Protocol:
    (update,) = DESIGN.action("look").updates
    added = replace(update, name="more", symbol=ready.term.symbol, effect=effect, args=())  # type: ignore[union-attr]
    return _with("look", updates=(update, added))


def _clear(step: Step) -> None:
    step.remove(ready)


LAYERS: dict[str, tuple[Callable[[], Protocol], list[str]]] = {
    "the design itself": (lambda: DESIGN, []),
    "one step less": (lambda: _designed(give).protocol(), ["look is gone"]),
    "a new step that changes what is below": (
        lambda: _designed(give, look, _clear).protocol(),
        ["_clear is new and changes ready"],
    ),
    "a step also makes true what another waits for": (lambda: _also(Effect.INSERT), ["look also changes ready"]),
    "a step also makes false what another waits for": (lambda: _also(Effect.REMOVE), ["look also changes ready"]),
    "a step without its guard": (lambda: _with("look", guards=()), ["look lacks guard 'peer'"]),
    "a step without its update": (lambda: _with("look", updates=()), ["look lacks update 'insert seen'"]),
    "a step of another": (
        lambda: _with("look", by=Role("else")),
        ["look is taken by another party, or in another way"],
    ),
    "a deduction": (lambda: _with("look", deduction=True), ["look is taken by another party, or in another way"]),
    "other parameters": (lambda: _with("look", params=()), ["look has other parameters"]),
    "a first value more": (
        lambda: replace(DESIGN, initial=(*DESIGN.initial, Initial(ready.term.symbol, (), true.term))),  # type: ignore[union-attr]
        ["ready has another initial value"],
    ),
    "a first value less": (lambda: replace(DESIGN, initial=()), ["phase has another initial value"]),
    "an axiom less": (lambda: replace(DESIGN, axioms=()), ["axiom 'the boss is enrolled' is gone"]),
    "an axiom more": (lambda: replace(DESIGN, axioms=(*DESIGN.axioms, Axiom("more", enrolled(boss).term))), []),
}


@pytest.mark.parametrize("row", LAYERS)
def test_what_makes_it_more_than_a_layer_is_named(row: str) -> None:
    layer, said = LAYERS[row]
    assert list(departures(layer(), DESIGN)) == said


INSTANCE = Instance({"Agent": ("a1", "a2"), "Key": ("k1", "k2")})
kept = variable("kept", Key, of=PARTY)


def draw(step: Step, a: Agent, k: Key) -> None:
    step.fresh(k)
    step.insert(own(a, k))


def keep(step: Step, k: Key) -> None:
    step.require("another", kept != k)
    step.set(kept, k)


def give_back(step: Step, k: Key) -> None:
    step.require("used", used(k))
    step.remove(used(k))


def burn(step: Step, k: Key) -> None:
    step.require("unused", ~used(k))
    step.insert(used(k))


BODIES: dict[str, tuple[tuple[Callable[..., None], ...], bool]] = {
    "only drawn": ((draw,), False),
    "drawn and kept": ((draw, keep), False),
    "given back": ((draw, give_back), True),
    "marked by hand": ((draw, burn), True),
}


def _draft(*bodies: Callable[..., None]) -> Draft:
    return drafted(*(lambda draft, body=body: draft.action(by=PARTY, says="x", source="y")(body) for body in bodies))


@pytest.mark.parametrize("row", BODIES)
def test_what_steps_do_may_tell_unused_elements_apart(row: str) -> None:
    bodies, apart = BODIES[row]
    found = distinguishable_fresh_sorts(_draft(*bodies).protocol(), INSTANCE)
    assert found == (frozenset({Key.sort}) if apart else frozenset())


def test_a_first_value_tells_unused_elements_apart() -> None:
    protocol = _draft(draw, keep).protocol()
    named = Instance(INSTANCE.elements, first={"kept": {(): "k2"}})
    assert distinguishable_fresh_sorts(protocol, named) == {Key.sort}
