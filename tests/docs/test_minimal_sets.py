"""The least that the proof of a claim needs, which the page of accounts shows."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from carnet_check.engines.induction import prove
from carnet_check.engines.induction.solving import Workers
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.loading.families import load
from carnet_spec.language import Protocol
from docs._ext.carnet_pages import minimal
from docs._ext.carnet_pages.minimal import (
    ASSUMPTION,
    DEFENCE,
    Account,
    Element,
    accounts,
    claims_of_layers,
    minimal_sets,
)
from tests.unit.model_check.command import FIXTURES
from tests.unit.model_check.engines.induction import lessons

pytestmark = pytest.mark.processes

LIST = Element(ASSUMPTION, "A1")
CHECKED = Element(ASSUMPTION, "A3")
FAME = Element(ASSUMPTION, "A2")
FOUNDER = Element(ASSUMPTION, "axiom: the founder is honest")
LISTED = Element(DEFENCE, "list")
SEARCHED = Element(DEFENCE, "search")


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(1) as pool:
        yield pool


def club(name: str) -> Protocol:
    """Return the protocol of a club."""
    return load(f"{FIXTURES / 'assumed.py'}:{name}").protocol()


def account_of(protocol: Protocol, workers: Workers) -> Account:
    """Return the account of what is proved under every threat model."""
    return next(accounts(protocol, (), workers))


def test_the_claim_needs_each_of_its_set_and_nothing_else(workers: Workers) -> None:
    account = account_of(club("draft"), workers)
    assert {FAME, SEARCHED} <= set(account.elements)
    (found,) = minimal_sets(account, ["no-thief"])
    assert found.needed == (LIST, FOUNDER, LISTED)
    assert found.only
    assert not found.unsure
    for element in (LIST, FOUNDER, LISTED):
        assert account.without((element,), {"no-thief"}).lost == {"no-thief"}
    assert not account.without((FAME, SEARCHED), {"no-thief"}).lost


def test_an_assumption_that_is_dropped_from_the_specification_agrees(workers: Workers) -> None:
    protocol = club("draft")
    for name, needed in (("nobody listed steals", True), ("the founder is listed or not", False)):
        weaker = replace(protocol, axioms=tuple(each for each in protocol.axioms if each.name != name))
        assert prove(weaker, jobs=1, workers=workers).claim("no-thief").is_proved is not needed


def test_of_two_that_are_each_enough_one_is_left_and_neither_is_necessary(workers: Workers) -> None:
    (found,) = minimal_sets(account_of(club("doubled"), workers), ["no-thief"])
    assert set(found.needed) in ({LIST, FOUNDER, LISTED}, {CHECKED, FOUNDER, LISTED})
    assert found.necessary == (FOUNDER, LISTED)
    assert not found.only


def test_a_claim_falls_with_the_lemma_or_defence_that_it_rests_on(workers: Workers) -> None:
    account = account_of(lessons.draft().protocol(), workers)
    screening = Element(DEFENCE, "screening")
    assert account.without((screening,), {"secrecy"}).lost == {"secrecy", "told_are_honest"}
    (found,) = minimal_sets(account, ["secrecy"])
    assert found.needed == (screening,)
    (found,) = minimal_sets(account_of(lessons.draft().protocol(), workers), ["quiet"])
    assert found.needed == (Element(DEFENCE, "forgetting"),)
    assert not list(minimal_sets(account_of(lessons.draft().protocol(), workers), ["wrong"]))


def test_an_element_without_an_answer_counts_as_needed(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimal, "BUDGET", 1)
    (found,) = minimal_sets(account_of(club("draft"), workers), ["no-thief"])
    assert set(found.needed) >= {LIST, FOUNDER, LISTED}
    assert set(found.unsure) == set(found.needed)


def test_every_claim_is_accounted_for_once() -> None:
    protocol = lessons.draft().protocol()
    assert claims_of_layers(protocol) == {"": ("secrecy", "quiet", "wrong"), "honest": ("no-blame",)}


def test_the_answers_are_those_of_the_solver(workers: Workers) -> None:
    account = account_of(club("draft"), workers)
    assert {answer.outcome for answer in account.proof.answers.values()} == {SolverOutcome.PROVED}
    account.without((LIST,), {"no-thief"})
    assert account.asked
