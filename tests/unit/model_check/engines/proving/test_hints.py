"""Hints: what is remembered of proofs, how it is written, and that nothing unreadable is ever an error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.engines.proving import solver
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from tests.unit.model_check.engines.induction.lessons import draft

KNOWN = {"step/a/x": ("inv:x", "guard:g"), "init/x": (), "step/b/x": ("inv:x",)}


def _answer(
    id: str, core: tuple[str, ...], attempt: int = 0, outcome: SolverOutcome = SolverOutcome.PROVED
) -> SolverAnswer:
    return SolverAnswer(id, outcome, core, attempt=attempt)


def test_only_proofs_by_the_solver_are_remembered_and_the_first_of_each() -> None:
    answers = [
        _answer("one", ("inv:x",)),
        _answer("one", ("inv:y",)),
        _answer("refuted", (), outcome=SolverOutcome.REFUTED),
        _answer("unknown", (), outcome=SolverOutcome.UNKNOWN),
        _answer("on sight", (), attempt=-1),
    ]
    assert solver.hints_from(answers) == {"one": ("inv:x",)}


def test_the_file_is_the_same_whatever_the_order(tmp_path: Path) -> None:
    texts = []
    for number, known in enumerate((KNOWN, dict(reversed(KNOWN.items())))):
        path = tmp_path / str(number) / "main.json"
        solver.save_hints(known, path)
        texts.append(path.read_text("utf-8"))
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 2 + len({"inv:x", "guard:g"}) + len(KNOWN), "a line for each"


WRONG_PLACE = b'{"names": [], "cores": {"a": [0]}}'
WRONG_KIND = b'{"names": 1, "cores": {"a": [0]}}'


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", WRONG_PLACE, WRONG_KIND, b"\xff"])
def test_a_file_that_cannot_be_read_is_no_hint(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "main.json"
    file.write_bytes(content)
    monkeypatch.setattr(solver, "place_of", lambda _: file)
    assert solver.load_hints(draft().protocol()) == {}


def test_hints_lie_beside_their_protocol_one_file_for_each_variant() -> None:
    protocol = draft().protocol()
    place = solver.place_of(replace(protocol, id="a-lesson", variant="long"))
    assert str(place).endswith("carnet_spec/protocols/a_lesson/hints/long.json")
