"""Campaigns: they begin with what is proved, and what nobody could look at kills no mutant and saves none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from carnet_check.errors import EngineError, InvalidSpecificationError
from carnet_check.loading.families import load
from carnet_check.mutation import campaign
from carnet_check.mutation.campaign import Record, Request, list_mutants, run
from carnet_check.mutation.judging import MutantStatus
from carnet_check.mutation.scenarios import Place
from carnet_command.worker import Lost
from tests.fixtures import door

HALL = load("tests/fixtures/hall.py")
NOTICED_BY_ATTACKS = ("look/update insert seen/drop", "find/update insert found/drop")


class Here:
    """Answers in this process, and loses the parts that it is told to."""

    def __init__(self, loses: Callable[[Any], bool]) -> None:
        self.loses = loses

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left running."""

    def results(
        self, function: Callable[[Any], Iterable[Any]], parts: Sequence[Any], last: object
    ) -> Iterator[tuple[Any, Any]]:
        for part in parts:
            if self.loses(part):
                yield part, Lost("the worker was killed")
            else:
                yield from ((part, answer) for answer in function(part))


def fates(request: Request, record: Record, monkeypatch: pytest.MonkeyPatch, loses: Callable[[Any], bool]) -> list[str]:
    monkeypatch.setattr(campaign, "WorkerPool", lambda *_, **__: Here(loses))
    outcome = run(request, list_mutants(request), record, 1, lambda _: None)
    return [f"{each.fate} {each.by}".strip() for each in outcome.judgements]


def no_part(_: object) -> bool:
    return False


@pytest.mark.parametrize("of_place", [True, False])
def test_what_nobody_could_look_at_leaves_a_mutant_unknown_until_somebody_can(
    of_place: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, file = Request(HALL, ("main",), only=NOTICED_BY_ATTACKS), tmp_path / "mutants.ndjson"

    def loses(part: object) -> bool:
        where = getattr(part, "where", None)
        return where is not None and isinstance(where, Place) is of_place

    assert fates(request, Record(file, {}), monkeypatch, loses) == [MutantStatus.UNKNOWN] * 2
    assert fates(request, Record(file, {}), monkeypatch, no_part) == ["killed lost attack"] * 2


def test_mutants_of_what_is_not_proved_are_not_judged(tmp_path: Path) -> None:
    text = Path(door.__file__).read_text("utf-8")
    lemma = "    @door.lemma\n    def nobody_shows(who: Person) -> Formula:\n        return ~badge(who)\n\n"
    assert text.count("    return door\n") == 1
    place = tmp_path / "door.py"
    place.write_text(text.replace("    return door\n", f"{lemma}    return door\n"), "utf-8")
    source = load(str(place))
    request = Request(source, ("main",))
    with pytest.raises(InvalidSpecificationError, match="nobody_shows is not proved; its mutants are judged by"):
        run(request, list_mutants(request), Record(None, {}), 1, lambda _: None)


def test_a_worker_that_is_lost_before_anything_is_known_says_nothing_about_the_specification(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = Request(HALL, ("main",), only=NOTICED_BY_ATTACKS)
    with pytest.raises(EngineError, match=r"main: nobody could ask whether all is proved of it \(the worker was"):
        fates(request, Record(None, {}), monkeypatch, lambda part: not hasattr(part, "where"))


def test_attacks_under_other_threat_models_than_those_asked_for_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*threats: str) -> list[str]:
        request = Request(HALL, ("main",), threats, only=NOTICED_BY_ATTACKS)
        return fates(request, Record(None, {}), monkeypatch, no_part)

    assert killed("outsiders") == ["killed lost attack", "killed lost attack"]
    assert killed("insiders") == ["survived", "killed lost attack"]
