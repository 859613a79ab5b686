"""What may tell two runs apart is claimed not to, element by element, or accepted, or nobody judges the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_spec.language import Formula, SpecificationError, TwoRuns, forall, implies
from carnet_spec.language.lints import check, lint_draft
from tests.fixtures import bell
from tests.fixtures.bell import Box, box, marked
from tests.unit.model_check.command import FIXTURES, carnet

Said = Callable[[TwoRuns], Callable[..., Formula]]


def _unclaimed(*claims: Said, under: tuple[str, ...] = ("post",), fails_under: tuple[str, ...] = ()) -> set[str]:
    """Return what is unclaimed if these claims are made, too."""
    runs = bell.uncovered()
    for number, said in enumerate(claims):
        make = runs.claim(
            name=f"c{number}", sentence="x", requirement="R", source="x", under=under, fails_under=fails_under
        )
        make(said(runs))
    return {where for where, _ in runs.unclaimed()}


def _of_any(say: Callable[[TwoRuns, Box], Formula]) -> Said:
    """Return a claim about any box."""

    def said(runs: TwoRuns) -> Callable[..., Formula]:
        def claim(b: Box) -> Formula:
            return say(runs, b)

        return claim

    return said


def _closed(say: Callable[[TwoRuns], Formula]) -> Said:
    def said(runs: TwoRuns) -> Callable[..., Formula]:
        def claim() -> Formula:
            return say(runs)

        return claim

    return said


COVERS: dict[str, Said] = {
    "same": _of_any(lambda runs, b: runs.same(marked(b))),
    "same, of all": _closed(lambda runs: forall(lambda b: runs.same(marked(b)), Box)),
    "same, and more": _of_any(lambda runs, b: runs.same(marked(b)) & runs.same(box)),
    "the other way round": _of_any(
        lambda runs, b: (
            (runs.right(marked)(b) >> runs.left(marked)(b)) & (runs.left(marked)(b) >> runs.right(marked)(b))
        )
    ),
    "none in either": _of_any(lambda runs, b: ~runs.left(marked)(b) & ~runs.right(marked)(b)),
    "all in both": _of_any(lambda runs, b: runs.left(marked)(b) & runs.right(marked)(b)),
}
FALLS_SHORT: dict[str, Said] = {
    "of one box": _closed(lambda runs: runs.same(marked(largest))),
    "on a condition": _of_any(lambda runs, b: implies(b != largest, runs.same(marked(b)))),
    "or something else": _of_any(lambda runs, b: runs.same(marked(b)) | (b == largest)),
    "one way": _of_any(lambda runs, b: implies(runs.left(marked)(b), runs.right(marked)(b))),
    "in one run": _of_any(lambda runs, b: ~runs.left(marked)(b)),
    "none in one, all in the other": _of_any(lambda runs, b: ~runs.left(marked)(b) & runs.right(marked)(b)),
    "of something else": _closed(lambda runs: runs.same(box)),
}


@pytest.mark.parametrize("claim", COVERS)
def test_a_claim_covers_what_it_says_to_be_the_same(claim: str) -> None:
    assert _unclaimed(COVERS[claim]) == {"action ring"}


@pytest.mark.parametrize("claim", FALLS_SHORT)
def test_a_claim_of_some_of_it_covers_nothing(claim: str) -> None:
    assert _unclaimed(FALLS_SHORT[claim]) == {"symbol marked", "action ring"}


def test_two_ways_in_two_claims_are_both_ways() -> None:
    there = _of_any(lambda runs, b: implies(runs.left(marked)(b), runs.right(marked)(b)))
    back = _of_any(lambda runs, b: implies(runs.right(marked)(b), runs.left(marked)(b)))
    assert _unclaimed(there, back) == {"action ring"}


def test_a_step_is_covered_by_its_own_claim() -> None:
    ring = _closed(lambda runs: runs.together("ring"))
    assert _unclaimed(ring) == {"symbol marked"}
    assert _unclaimed(_closed(lambda runs: runs.together("ring") | runs.same(box))) == {"symbol marked", "action ring"}


def test_a_value_in_both_runs_is_the_same_value() -> None:
    runs = TwoRuns(bell.one_run(), own={"send": ("thing",)})

    @runs.claim(name="largest", sentence="x", requirement="R", source="x", under=("post",))
    def as_large() -> Formula:
        return (runs.left(box) == largest) & (largest == runs.right(box))

    assert {where for where, _ in runs.unclaimed()} == {"symbol marked", "action ring"}


def test_a_claim_covers_under_its_own_threat_models() -> None:
    """Under a threat model that some claim names, what only others speak of is not covered."""
    same = _of_any(lambda runs, b: runs.same(marked(b)))
    assert _unclaimed(same, under=("street",)) == {"symbol box", "symbol marked", "action ring"}
    assert _unclaimed(same, under=(), fails_under=("post",)) == {"action ring"}


def test_a_claim_that_is_only_declared_covers_nothing() -> None:
    runs = TwoRuns(bell.one_run(), own={"send": ("thing",)})
    runs.declare_claim("later", sentence="x", requirement="R", source="x", under=("post",))
    assert {where for where, _ in runs.unclaimed()} == {"symbol box", "symbol marked", "action ring"}


def test_what_is_accepted_is_not_refused() -> None:
    check(bell.accepted())
    assert [str(leak) for leak in bell.accepted().accepted_leaks] == [
        "marked: marks are for the post",
        "ring: a bell is meant to be heard",
    ]


REFUSED: dict[str, tuple[tuple[str, str], str]] = {
    "misspelt": (("rnig", "why"), "'rnig' is no leak: .*; did you mean 'ring'"),
    "the same in both runs": (("rang", "why"), "'rang' is no leak: it tells no two runs apart"),
    "accepted already": (("ring", "again"), "accepted twice"),
    "without a reason": (("box", " "), "without a reason"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_no_other_leak_is_accepted(what: str) -> None:
    arguments, why = REFUSED[what]
    with pytest.raises(SpecificationError, match=why):
        bell.accepted().accept_leak(*arguments)


def test_a_leak_that_claims_deny_is_not_accepted() -> None:
    runs = bell.accepted()
    runs.accept_leak("box", "it is seen")
    (wrong,) = [complaint for complaint in lint_draft(runs) if complaint.rule == "two-runs"]
    assert str(wrong).startswith("two-runs: accepted leak box: is no leak, since claims say")


@pytest.mark.mends("R421")
def test_the_command_refuses_what_nobody_claims_and_says_where() -> None:
    ran = carnet("verify", f"{FIXTURES / 'bell.py'}:uncovered", "--json")
    lines = (FIXTURES / "bell.py").read_text().splitlines()
    marks, bell_line = (next(n for n, line in enumerate(lines, 1) if each in line) for each in ("marked = ", "rings."))
    assert ran.code == 2
    said = ran.json["error"]["complaints"]
    assert said[0].startswith(f"bell.py:{marks}: main: no verdict would mean anything: two-runs: symbol marked: ")
    assert said[1].startswith(f"bell.py:{bell_line}: main: no verdict would mean anything: two-runs: action ring: ")
    assert "no claim under post says that it does not: claim together('ring'), or accept it" in said[1]


def test_an_accepted_leak_is_said_with_the_verdict() -> None:
    asked = ("verify", f"{FIXTURES / 'bell.py'}:accepted", "--engine", "induction", "--jobs", "1")
    ran = carnet(*asked, "--json")
    assert ran.code == 0
    assert "main: accepted leak ring: a bell is meant to be heard" in ran.json["notes"]
    assert "accepted leak marked: marks are for the post" in " ".join(carnet(*asked).out.split())
