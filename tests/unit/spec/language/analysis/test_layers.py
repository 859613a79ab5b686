"""A layer adds to a design, and each way in which it would do more is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from carnet_spec.language import Axiom, Draft, Effect, Initial, Protocol, Role, Step, true
from carnet_spec.language.analysis.layers import departures
from tests.unit.spec.language.vocabulary import PARTY, Agent, Key, boss, drafted, enrolled, own, peer, ready, seen, sent


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
    "an axiom more": (
        lambda: replace(DESIGN, axioms=(*DESIGN.axioms, Axiom("more", enrolled(boss).term))),
        [],
    ),
}


@pytest.mark.parametrize("row", LAYERS)
def test_what_makes_it_more_than_a_layer_is_named(row: str) -> None:
    layer, said = LAYERS[row]
    assert list(departures(layer(), DESIGN)) == said
