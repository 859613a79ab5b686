"""What other verifiers are asked, and how their answers are told: by those that are here, and by answers made up."""

import dataclasses
from collections import Counter

import pytest

from tests.evidence import verifiers_table
from tests.evidence.verifiers_table import KINDS, PEERS, Pair, agreement, differences, judged, pairs
from tests.fixtures.asked_of_verifiers import NOTHING, Question, questions
from tests.fixtures.nvidia_evidence import FOLDER, MISSING
from tests.fixtures.own_environment import UnavailableError

HERE = {"dcap-qvl", "omne-attest"}  #: The verifiers among the dependencies of the tests.


@pytest.fixture(scope="module")
def every_question() -> list[Question]:
    return questions()


def test_enough_is_asked_of_each_verifier_and_each_genuine_document_is_accepted(every_question: list[Question]) -> None:
    assert sum(each.kind == peer.kind for peer in PEERS for each in every_question) >= 700
    assert {peer.kind for peer in PEERS} == set(KINDS) == {"gpu", *(each.kind for each in every_question)}
    for kind in {each.kind for each in every_question}:
        of_kind = [each for each in every_question if each.kind == kind]
        assert len({each.change for each in of_kind}) == len(of_kind)
        assert all(each.ours.accepted for each in of_kind if each.change.endswith(NOTHING))
        assert any(not each.ours.accepted for each in of_kind)


def test_each_difference_to_the_verifiers_that_are_here_is_judged(every_question: list[Question]) -> None:
    for peer in (each for each in PEERS if each.name in HERE):
        of_kind = [each for each in every_question if each.kind == peer.kind]
        found = [Pair(peer, each, theirs) for each, theirs in zip(of_kind, peer.ask(of_kind), strict=True)]
        outcomes = Counter(pair.agreement for pair in found)
        assert outcomes["the other alone refuses"] == 0
        assert sum(count for _, count in judged(found).values()) == outcomes["Carnet alone refuses"] > 0
        assert min(outcomes["both accept"], outcomes["both refuse"]) > 0


def test_a_difference_that_nobody_judged_and_a_judgement_of_none_fail(every_question: list[Question]) -> None:
    peer = next(each for each in PEERS if each.name == "omne-attest")
    genuine = next(each for each in every_question if each.kind == "report" and each.change == NOTHING)
    with pytest.raises(AssertionError, match="nobody judged: omne-attest, report"):
        differences([Pair(peer, genuine, "refused for once")])
    with pytest.raises(AssertionError, match="no difference"):
        differences([Pair(peer, genuine, None)])


@pytest.mark.parametrize(
    ("accepted", "theirs", "outcome"),
    [
        (True, None, "both accept"),
        (False, "no", "both refuse"),
        (False, None, "Carnet alone refuses"),
        (True, "no", "the other alone refuses"),
    ],
)
def test_each_outcome_has_its_words(
    every_question: list[Question], accepted: bool, theirs: str | None, outcome: str
) -> None:
    question = next(each for each in every_question if each.kind == "report" and each.ours.accepted is accepted)
    assert Pair(PEERS[0], dataclasses.replace(question, kind="x"), theirs).agreement == outcome


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(FOLDER is None, reason=MISSING)
def test_every_verifier_answers_as_recorded() -> None:
    try:
        found = pairs()
    except UnavailableError as error:
        pytest.skip(str(error))
    assert agreement(found) == verifiers_table.AGREEMENT.read_text("utf-8")
    assert differences(found) == verifiers_table.DIFFERENCES.read_text("utf-8")
