"""Relevance: what decides something that is watched matters, by whatever way round, and nothing else does."""

from __future__ import annotations

from carnet_check.engines.explicit.layout import Folding, Pattern, Relevance
from carnet_spec.language import Draft, Instance, Protocol, Step
from tests.unit.model_check.small import Party, drafted, first, known, second, seen, third

INSTANCE = Instance({"Party": ("p1", "p2")})
FOLDING = Folding(INSTANCE)
ANY = (None,)


def _relevance(protocol: Protocol, *watched: tuple[str, Pattern], **domains: tuple[str, ...]) -> Relevance:
    known_domains = {
        action.name: {var.name: domains.get(var.name, INSTANCE.of(var.sort)) for var in action.params}
        for action in protocol.actions
    }
    return Relevance.of(watched, protocol.actions, known_domains, FOLDING)


def _drafted(*bodies: object) -> Protocol:
    draft: Draft = drafted(*bodies)  # type: ignore[arg-type] # functions that say what a step does
    return draft.protocol()


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def learn(step: Step, a: Party) -> None:
    step.insert(known(a), when=second)


def light(step: Step) -> None:
    step.insert(second, when=first)


def need(step: Step) -> None:
    step.require("third", third)
    step.insert(first)


def test_everything_matters_unless_something_is_watched() -> None:
    assert Relevance().of_place("seen", ("p1",))
    assert Relevance().of_update(_drafted(see).action("see").updates[0], {"a": ("p1",)}, FOLDING)


def test_what_is_watched_matters_at_its_rows_and_at_no_others() -> None:
    found = _relevance(_drafted(see, learn), ("seen", (frozenset({"p1"}),)))
    assert [found.of_place("seen", (party,)) for party in ("p1", "p2")] == [True, False]
    assert not found.of_place("known", ("p1",))


def test_what_guards_read_matters() -> None:
    found = _relevance(_drafted(need))
    assert found.of_place("third", ())
    assert not found.of_place("first", ())


def test_what_decides_about_what_matters_matters_too_and_so_on() -> None:
    for order in ((learn, light, see), (light, learn, see)):
        found = _relevance(_drafted(*order), ("known", ANY))
        assert [found.of_place(name, ()) for name in ("second", "first")] == [True, True]
        assert not found.of_place("seen", ("p1",))


def test_an_update_matters_if_it_may_write_a_row_that_does() -> None:
    protocol = _drafted(see, learn)
    found = _relevance(protocol, ("seen", (frozenset({"p1"}),)))
    (seeing,), (learning,) = protocol.action("see").updates, protocol.action("learn").updates
    assert found.of_update(seeing, {"a": ("p1", "p2")}, FOLDING)
    assert not found.of_update(seeing, {"a": ("p2",)}, FOLDING)
    assert not found.of_update(learning, {"a": ("p1",)}, FOLDING)


def test_an_update_that_never_reaches_what_matters_makes_nothing_matter() -> None:
    found = _relevance(_drafted(learn), ("known", (frozenset({"p1"}),)), a=("p2",))
    assert not found.of_place("second", ())
