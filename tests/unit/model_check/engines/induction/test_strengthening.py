"""Which guesses an induction takes: those that are proved and needed, whatever else is offered to it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pytest

from carnet_check.engines import registry
from carnet_check.engines.induction.induction import prove, try_claims
from carnet_check.engines.induction.strengthening import LIMIT, WORK
from carnet_check.engines.interface import Guesses, Strengthening, Strengthens
from carnet_check.engines.runner import NullListener
from carnet_spec.language import *
from carnet_spec.language.draft import traced_invariant
from carnet_spec.language.notation import ASCII, show


class Thing(Individual):
    """A thing that goes from one box to the next."""


BELT = Role("belt")
sound = rigid_relation("sound", Thing, kind=Kind.PUBLIC)
first = relation("first", Thing, kind=Kind.STATE, of=BELT)
second = relation("second", Thing, kind=Kind.STATE, of=BELT)
third = relation("third", Thing, kind=Kind.STATE, of=BELT)
broken = relation("broken", Thing, kind=Kind.GHOST)


def _belt() -> Protocol:
    draft = Draft("belt", "A belt")
    draft.threat("anyone", "nothing is assumed")

    @draft.action(by=BELT, says="put {t}", source="example")
    def put(step: Step, t: Thing) -> None:
        step.require("sound", sound(t))
        step.insert(first(t))

    @draft.action(by=BELT, says="move {t}", source="example")
    def move(step: Step, t: Thing) -> None:
        step.require("first", first(t))
        step.insert(second(t))

    @draft.action(by=BELT, says="move {t} on", source="example")
    def move_on(step: Step, t: Thing) -> None:
        step.require("second", second(t))
        step.insert(third(t))
        step.insert(broken(t), when=~sound(t))

    @draft.claim(name="whole", sentence="Nothing breaks.", requirement="R", source="example", under=("anyone",))
    def whole(t: Thing) -> Formula:
        return ~broken(t)

    return draft.protocol()


def _second_is_sound(t: Thing) -> Formula:
    return implies(second(t), sound(t))


def _first_is_sound(t: Thing) -> Formula:
    return implies(first(t), sound(t))


def _third_is_second(t: Thing) -> Formula:
    return implies(third(t), second(t))


def _second_is_nothing(t: Thing) -> Formula:
    return ~second(t)


def _second_is_third(t: Thing) -> Formula:
    return implies(second(t), third(t))


NEEDED = (_second_is_sound, _first_is_sound)
OTHERS = (_third_is_second, _second_is_nothing, _second_is_third)


@dataclass
class Listed(Guesses):
    """Offers what it was given, and finds all of it plausible."""

    guesses: Sequence[Invariant]

    def about(self, symbols: Collection[Symbol]) -> Sequence[Invariant]:
        return self.guesses

    def plausible(self, guesses: Sequence[Invariant]) -> list[Invariant]:
        return list(guesses)


def _strengthened(*functions: object, work: int = WORK, protocol: Protocol | None = None) -> Strengthening:
    named = ((function, getattr(function, "__name__", "")) for function in functions)
    guesses = Listed([traced_invariant(function, name.strip("_")) for function, name in named])  # type: ignore[arg-type] # functions of formulas, listed together
    engine = registry.able(Strengthens)
    return engine.strengthen(protocol or _belt(), None, ["whole"], guesses, NullListener(), work)


def test_the_claim_is_not_proved_without_lemmas() -> None:
    assert not try_claims(_belt(), jobs=1).claims["whole", "anyone"].is_proved


@pytest.mark.parametrize("order", [(*NEEDED, *OTHERS), (*OTHERS, *NEEDED), (*reversed(NEEDED), *OTHERS)])
def test_what_is_needed_is_found_among_what_is_false_and_what_is_true_and_useless(order: tuple[object, ...]) -> None:
    found = _strengthened(*order)
    assert {lemma.name for lemma in found.lemmas} == {"second_is_sound", "first_is_sound"}
    assert set(found.proved["whole"]) == {"second_is_sound", "first_is_sound"}
    assert found.open == ()


def test_what_is_found_is_proved_by_the_ordinary_engine() -> None:
    found = _strengthened(*NEEDED, *OTHERS)
    stronger = replace(_belt(), lemmas=found.lemmas)
    assert try_claims(stronger, jobs=1).claims["whole", "anyone"].is_proved


@pytest.mark.parametrize("offered", [(), OTHERS, (_second_is_sound,), (_second_is_sound, *OTHERS)])
def test_where_one_is_missing_nothing_is_offered(offered: tuple[object, ...]) -> None:
    """The second needs the first: taken for now, it is given up when it cannot be proved."""
    found = _strengthened(*offered)
    assert (found.lemmas, found.proved, found.open) == ((), {}, ("whole",))


def _second_is_sound_if_whole(t: Thing) -> Formula:
    return implies(second(t) & ~broken(t), sound(t))


def test_premises_that_no_proof_needs_are_left_out() -> None:
    found = _strengthened(_second_is_sound_if_whole, _first_is_sound)
    said = {lemma.name: show(lemma.body, ASCII) for lemma in found.lemmas}
    assert said["second_is_sound_if_whole"] == "second(t) -> sound(t)"


def test_a_false_guess_that_excludes_every_counterexample_is_not_believed() -> None:
    found = _strengthened(_second_is_nothing)
    assert found.open == ("whole",)


def _third_is_first(t: Thing) -> Formula:
    return implies(third(t), first(t))


def _second_is_first(t: Thing) -> Formula:
    return implies(second(t), first(t))


def test_a_lemma_of_the_protocol_that_has_no_proof_is_proved_beside_the_claims() -> None:
    """Proofs of claims may rest on it, whether they need it or not."""
    protocol = replace(_belt(), lemmas=(traced_invariant(_third_is_first, "third_is_first"),))
    found = _strengthened(*NEEDED, _second_is_first, *OTHERS, protocol=protocol)
    assert (found.open, set(found.supported)) == ((), {"third_is_first"})
    assert prove(replace(protocol, lemmas=(*protocol.lemmas, *found.lemmas)), jobs=1).failures == ()


def test_what_was_found_says_how_much_work_is_left() -> None:
    found = _strengthened(*NEEDED, *OTHERS)
    assert 0 < found.left < WORK
    assert (found.limit, found.undecided) == ("", 0)


def test_equal_searches_take_equal_work() -> None:
    assert _strengthened(*NEEDED, *OTHERS) == _strengthened(*NEEDED, *OTHERS)


@pytest.mark.parametrize("work", [0, 1, 2_000, 10_000])
def test_a_search_ends_when_its_work_is_done_and_says_so(work: int) -> None:
    found = _strengthened(*NEEDED, *OTHERS, work=work)
    assert (found.lemmas, found.proved, found.open) == ((), {}, ("whole",))
    assert found.limit == LIMIT
    assert found.left <= work


def test_what_was_left_undecided_is_counted() -> None:
    """The work may be done when a state is found that guesses exclude, and before any of them is decided."""
    enough = WORK - _strengthened(*NEEDED).left
    found = [_strengthened(*NEEDED, work=work) for work in range(0, enough, enough // 20)]
    assert {each.undecided for each in found if each.open} > {0}
    assert all(each.limit == LIMIT for each in found if each.undecided)
