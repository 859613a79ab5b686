"""Each lemma of three protocols removed by itself: most are suggested again, or others that prove as much."""

from collections import Counter

import pytest

from carnet_check.loading.families import load
from tests.benchmarks.suggestions import PROTOCOLS, SHOWN, TABLE, Removal, RemovedLemma, read, rows

SHARE = 0.6  #: How many of the lemmas that are needed have to be found.
LONGEST = 60.0  #: How many seconds of processor time one may take.


def _holds(found: list[RemovedLemma]) -> None:
    counted = Counter(each.removal for each in found)
    needed = len(found) - counted[Removal.UNNEEDED]
    assert counted[Removal.AGAIN] + counted[Removal.REPLACED] >= SHARE * needed, counted
    assert max(float(each.seconds) for each in found) < LONGEST


@pytest.mark.parametrize("id", PROTOCOLS)
def test_each_lemma_has_a_row(id: str) -> None:
    whole = load(id).protocol()
    found = [each for each in read(TABLE) if each.protocol == id]
    assert found
    if {each.digest for each in found} != {whole.digest[:SHOWN]}:
        pytest.skip("stale: python -m docs._ext.carnet_pages.records make suggestions")
    names = [each.lemma for each in found]
    assert len(set(names)) == len(names)
    assert set(names) == {lemma.name for lemma in whole.lemmas}


def test_most_lemmas_were_found_again() -> None:
    for id in PROTOCOLS:
        _holds([each for each in read(TABLE) if each.protocol == id])


def test_each_row_says_what_was_found() -> None:
    for each in read(TABLE):
        assert bool(each.claims) == (each.removal is not Removal.UNNEEDED), each
        assert bool(each.open) == (each.removal is Removal.OPEN), each
        assert each.offered or each.removal in (Removal.UNNEEDED, Removal.OPEN), each


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("id", PROTOCOLS)
def test_most_lemmas_are_found_again(id: str) -> None:
    _holds(list(rows([id], {})))
