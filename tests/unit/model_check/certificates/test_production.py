"""Making certificates: what serves is kept, the rest is adapted or searched for, and a lost worker costs little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from carnet_check.certificates.file import Certificates
from carnet_check.certificates.judging import Asked, Judge, key_of
from carnet_check.certificates.production import (
    Answer,
    Made,
    Production,
    Question,
    Searcher,
    Workers,
    certificate,
    cores,
)
from carnet_check.exports.obligation_text import Writer
from carnet_check.loading.families import load
from carnet_check.obligations import obligations
from carnet_command.worker import OUT_OF_MEMORY
from tests.unit.model_check.certificates import toys
from tests.unit.model_check.command import TOY

NOTHING = Certificates({})


class NoWorkers(Workers):
    """Answers nothing, because nothing may be asked."""

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        super().__init__(1)
        self.asked: list[str] = []

    def answers(self, questions: Sequence[Question]) -> Iterator[Answer]:
        self.asked += [question.id for question in questions]
        return iter(())


def made(before: Certificates, workers: Workers, *without: str) -> tuple[Made, Certificates]:
    production = Production(load(TOY).reference, before, workers, lambda *_: None)
    return production.make([toys.general(*without)], {}), production.certificates


def test_every_obligation_is_found_by_itself() -> None:
    writer, judge = Writer(), Judge()
    for each in Asked.of(toys.general()):
        assert not judge.why_refused(each, certificate(writer, each, None))


def test_what_serves_is_kept_and_nothing_is_searched_for() -> None:
    workers = NoWorkers()
    report, certificates = made(toys.certificates(), workers)
    assert not workers.asked
    assert report.kept == report.obligations == len(list(Asked.of(toys.general())))
    assert certificates.layers == toys.certificates().layers


def test_after_an_edit_only_what_it_spoilt_is_searched_for() -> None:
    workers = NoWorkers()
    report, certificates = made(toys.certificates(), workers, "return-checked")
    assert report.kept > report.obligations // 2
    assert {id.split("/")[1] for id in workers.asked} <= {"take_back", "forget"}
    layer = certificates.layers[key_of(toys.general())]
    judge, asked = Judge(), Asked.of(toys.general("return-checked"))
    entries = asked.entries(layer)
    accepted = [each.id for each in asked if not judge.why_refused(each, entries[each.id])]
    assert len(accepted) == report.kept + report.adapted


def test_the_hypotheses_of_certificates_are_those_of_obligations() -> None:
    layer = toys.general()
    found = cores(toys.certificates(), [layer])
    assert set(found) == {("main", each.id) for each in obligations(layer)}
    assert cores(NOTHING, [layer]) == {}


LOST = {
    "killed": (toys.killed, "the worker was killed by signal 9"),
    "stuck": (toys.stuck, "the worker said nothing for 10 s"),
    "greedy": (toys.greedy, OUT_OF_MEMORY),
    "failing": (toys.failing_inside, "RecursionError too deep"),
}


@pytest.mark.parametrize("name", ["killed", "failing", "greedy", pytest.param("stuck", marks=pytest.mark.slow)])
def test_a_lost_worker_costs_what_it_was_asked_for_and_nothing_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # workers import nothing from the current folder, and here they need the tests
    search: Searcher
    search, why = LOST[name]
    patience = 10.0 if name == "stuck" else 120.0
    with Workers(1, patience=patience, memory=2 << 30, search=search) as workers:
        report, certificates = made(NOTHING, workers)
    assert set(report.missing) == {toys.VICTIM}
    assert why in report.missing[toys.VICTIM]
    assert report.found == report.obligations - 1
    entries = [each for layer in certificates.layers.values() for each in layer.entries]
    assert entries.count(None) == 1
