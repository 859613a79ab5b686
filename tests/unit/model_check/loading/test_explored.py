"""What is said of sizes is computed from the instances, before a search and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Search
from carnet_check.engines.exploring.searches import search, verdict_of
from carnet_check.loading import scope
from carnet_check.loading.extent import MOST_ROWS, Explored, fixed_in_words, fixed_values, sizes_in_words
from carnet_check.loading.families import load
from carnet_check.loading.scope import scope_of
from carnet_check.results import Verdict
from carnet_spec.language import Individual, InLine, Instance, Protocol, rigid_relation
from tests.fixtures import broker
from tests.unit.model_check.command import FIXTURES, Ran, carnet

BROKER = str(FIXTURES / "broker.py:draft")
GIVEN = str(FIXTURES / "broker.py:GIVEN")
SIZES = {"Version": 3, "Guest": 2, "Image": 3, "Secret": 2}
WORDS = "3 Version · 2 Guest · 3 Image · 2 Secret"


def told(ran: Ran) -> str:
    """Return what was printed, in one line."""
    return " ".join(ran.out.split())


def _few(monkeypatch: pytest.MonkeyPatch, most: int = 20) -> None:
    monkeypatch.setattr(scope, "MOST_MEANINGS", most)
    scope.forget()


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    scope.forget()


# -- nothing is made smaller in silence -----------------------------------------------------------


@pytest.mark.mends("R480")
def test_a_violation_that_needs_two_guests_is_found_where_two_are_announced() -> None:
    """An order and two functions: one guest alone was explored, under the name of two."""
    ran = carnet("verify", BROKER, "--engine", "explicit", "--claim", "one-holder", "--jobs", "1")
    assert ran.code == 1
    assert f"every state of profile tiny: {WORDS}, all 81 interpretations of the rigid symbols" in told(ran)
    assert "one-holder VIOLATED!" in told(ran)


@pytest.mark.mends("R480")
@pytest.mark.parametrize("claim", ["one-holder", "good-only"])
def test_where_interpretations_are_too_many_sizes_stay_and_some_are_drawn(
    claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _few(monkeypatch)
    source = load(BROKER)
    found = scope_of(source, source.protocol(), "unrestricted", source.profile("tiny"), (claim,))
    assert {tuple(instance.sizes.items()) for instance, _ in found.instances} == {tuple(SIZES.items())}
    assert (found.explored.interpretations, found.explored.allowed) == (len(found.instances), 81)
    assert 20 < len(found.instances) <= scope.DRAWN
    assert "32 of 81" in found.explored.words
    assert dict(found.left_out) == {claim: found.explored.shortfall}


@pytest.mark.mends("R480")
def test_nothing_is_exhausted_under_the_name_of_a_profile_that_is_not_met() -> None:
    """A line of five versions: too many tables to look at all of them."""
    ran = carnet("verify", BROKER, "--engine", "explicit", "--profile", "review", "--claim", "good-only", "--jobs", "1")
    assert ran.code == 3
    assert "profile review is not met: axioms leave an uncounted number of interpretations" in told(ran)
    before, _, after = told(ran).partition("good-only")
    for part in (before, after):
        assert "5 Version · 4 Guest · 5 Image · 4 Secret, 32 of an uncounted number of interpretations" in part
    assert "UNKNOWN 1" in after
    assert "3,000,000 states where interpretations are drawn" in after


def test_the_same_interpretations_are_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)
    source = load(BROKER)

    def drawn() -> scope.Scope:
        scope.forget()
        return scope_of(source, source.protocol(), "unrestricted", source.profile("tiny"), ("one-holder",))

    assert drawn() == drawn()


def test_a_violation_in_what_was_drawn_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)
    asked = Search(BROKER, "main", (), "unrestricted", load(BROKER).profile("tiny"), ("one-holder", "good-only"))
    found = search(EXPLICIT, asked)
    assert [verdict_of(found, claim)[0] for claim in asked.claims] == [Verdict.VIOLATED, Verdict.UNKNOWN]


def test_the_states_are_shared_among_what_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first interpretation took all of them, no other would be looked at."""
    _few(monkeypatch)
    caps = Caps(states=320)
    asked = Search(BROKER, "main", (), "unrestricted", load(BROKER).profile("tiny"), ("good-only",), caps=caps)
    found = search(EXPLICIT, asked)
    assert (len(found.parts), found.complete, found.stopped_by) == (32, False, "states")
    assert found.states < 2 * 320


# -- what is said before is what was done ---------------------------------------------------------


@pytest.mark.mends("R480")
@pytest.mark.parametrize("change", [{"interpretations": 2}, {"elements": (("Guest", 3),)}, {"authors_words": "many"}])
def test_a_search_that_has_other_instances_than_announced_fails(change: Mapping[str, Any]) -> None:
    source = load(GIVEN)
    profile = source.profile("tiny")
    explored = scope_of(source, source.protocol(), "unrestricted", profile, ("good-only",)).explored
    asked = Search(GIVEN, "main", (), "unrestricted", profile, ("good-only",), explored=explored)
    assert not search(EXPLICIT, asked).problems
    (problem,) = search(EXPLICIT, replace(asked, explored=replace(explored, **change))).problems
    assert problem.startswith(f"the instances are not those that were announced: {next(iter(change))} differ")


@pytest.mark.mends("R481")
def test_sizes_are_counted_and_the_authors_words_are_marked_as_such() -> None:
    ran = carnet("verify", GIVEN, "--engine", "explicit", "--claim", "good-only", "--jobs", "1")
    said = '2 Guest · 2 Version · 2 Image · 1 Secret (author: "any number of everything")'
    assert f"every state of profile tiny: {said}, unbounded adversary" in told(ran)
    assert f"strength explicit: {said}, unbounded adversary" in told(ran)


@pytest.mark.mends("R481")
def test_the_strength_says_what_is_fixed_of_every_rigid_symbol() -> None:
    ran = carnet("verify", GIVEN, "--engine", "explicit", "--claim", "good-only", "--jobs", "1", "--json")
    for fixed in (
        "Version: least = old",
        "Image: good = shipped",
        "image: ann → shipped, ben → patched",
        "made_with: always new",
        "older: old < new",
    ):
        assert fixed in ran.json["run"]["strength"]


@pytest.mark.parametrize(
    "words",
    [
        ("verify", GIVEN, "--engine", "explicit", "--claim", "good-only", "--jobs", "1"),
        ("explore", GIVEN, "--engine", "explicit"),
        ("attack", GIVEN, "--variant", "main", "--claim", "good-only"),
    ],
)
def test_each_command_has_the_same_as_json(words: tuple[str, ...]) -> None:
    told = carnet(*words, "--json").json["explored"]
    explored = told if isinstance(told, dict) else told[0]
    assert explored["elements"] == {"Guest": 2, "Version": 2, "Image": 2, "Secret": 1}
    assert explored["fixed"]["older"] == "old < new"
    assert (explored["interpretations"], explored["allowed"], explored["shortfall"]) == (1, None, None)
    assert explored["authors_words"] == "any number of everything"


def test_a_run_that_is_kept_and_its_sarif_have_it_too(tmp_path: Path) -> None:
    out, sarif = tmp_path / "run", tmp_path / "run.sarif"
    options = ("--engine", "explicit", "--claim", "one-holder", "--jobs", "1", "--out", str(out), "--sarif", str(sarif))
    assert carnet("verify", BROKER, *options).code == 1
    for text in ((out / "run.json").read_text("utf-8"), sarif.read_text("utf-8")):
        assert f"{WORDS}, all 81 interpretations of the rigid symbols" in text
    assert carnet("report", str(out), "--html", str(tmp_path / "html")).code == 0


# -- words ----------------------------------------------------------------------------------------


class Thing(Individual):
    """Anything."""


beside = rigid_relation("beside", Thing, Thing)
FOUR = ("a", "b", "c", "d")
RELATIONS: Mapping[str, tuple[Any, str]] = {
    "a line": (InLine(FOUR), "a < b < c < d"),
    "a line, row by row": (
        frozenset({("b", "a"), ("b", "c"), ("b", "d"), ("c", "a"), ("c", "d"), ("d", "a")}),
        "b < c < d < a",
    ),
    "no line": (frozenset({("a", "b"), ("b", "c"), ("c", "a")}), "(a, b), (b, c), (c, a)"),
    "nothing": (frozenset(), "none"),
    "everything": (frozenset((a, b) for a in FOUR for b in FOUR), "all"),
    "a circle of six rows": (
        frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("b", "d")}),
        "(a, b), (a, c), (b, c), (b, d), (c, d), (d, a)",
    ),
}


def _about_things(rows: Any) -> tuple[Protocol, Instance]:
    protocol = replace(broker.draft().protocol(), symbols=(beside.symbol,), actions=())
    return protocol, Instance({"Thing": FOUR}, {"beside": rows})


@pytest.mark.parametrize("name", RELATIONS)
def test_a_relation_is_told_by_its_rows_or_its_line(name: str) -> None:
    rows, words = RELATIONS[name]
    assert fixed_values(*_about_things(rows)) == {"beside": words}


def test_of_many_rows_the_first_are_told_and_the_others_counted() -> None:
    rows = frozenset((a, b) for a in FOUR for b in FOUR if (a, b) != ("d", "d"))
    assert fixed_values(*_about_things(rows))["beside"].endswith(f"(c, d) and {15 - MOST_ROWS} more")


def test_two_sizes_are_told_one_by_one_and_more_by_their_numbers() -> None:
    one, two, three = (Explored((("Guest", number), ("Key", 2))) for number in (1, 2, 4))
    assert sizes_in_words([one, two, one]) == "1 Guest · 2 Key; 2 Guest · 2 Key"
    assert sizes_in_words([one, two, three]) == "instances of 3 kinds, 1 or 2 or 4 Guest · 2 Key"


def test_what_instances_fix_is_told_once() -> None:
    nobody, ben = (Explored((), fixed=(("corrupt", who),)) for who in ("nobody", "ben"))
    assert fixed_in_words([nobody, ben, ben]) == "corrupt: nobody or ben"


SHARES: Mapping[str, tuple[Explored, str]] = {
    "one that somebody chose": (Explored((("Guest", 2),)), "2 Guest"),
    "the only one": (Explored((("Guest", 2),), 1, 1), "2 Guest"),
    "all": (Explored((("Guest", 2),), 7, 7), "2 Guest, all 7 interpretations of the rigid symbols"),
    "all, with first values": (
        Explored((("Guest", 2),), 7, 7, first_values=("last",)),
        "2 Guest, all 7 choices of an interpretation of the rigid symbols and every first value of last",
    ),
    "some": (
        Explored((("Guest", 2),), 2, 7, shortfall="too many"),
        "2 Guest, 2 of 7 interpretations of the rigid symbols",
    ),
    "some of more": (
        Explored((("Guest", 2),), 2, None, shortfall="too many"),
        "2 Guest, 2 of an uncounted number of interpretations of the rigid symbols",
    ),
    "words alone": (Explored((), authors_words="none"), 'author: "none"'),
}


@pytest.mark.parametrize("name", SHARES)
def test_how_many_interpretations_of_how_many(name: str) -> None:
    explored, words = SHARES[name]
    assert explored.words == words


def test_a_directed_run_is_of_one_interpretation_and_says_so() -> None:
    source = load(BROKER)
    whole = scope_of(source, source.protocol(), "unrestricted", source.profile("tiny"), ())
    first = whole.first_alone(source.protocol())
    assert len(first.instances) == 1
    assert first.explored.words == f"{WORDS}, 1 of 81 interpretations of the rigid symbols"
    assert dict(first.explored.fixed).keys() == {"older", "image", "made_with"}


def test_a_search_that_was_cut_off_says_so_in_its_strength() -> None:
    ran = carnet("explore", BROKER, "--engine", "explicit", "--max-states", "50")
    assert "of 81 interpretations" in told(ran).partition("strength")[2].partition("budget")[0]


def test_no_certificate_is_written_of_what_was_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)
    ran = carnet("exhaust", BROKER, "--out", str(tmp_path / "out"))
    assert ran.code == 2
    assert "no certificate speaks of all of profile tiny: axioms leave 81 interpretations" in ran.err
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
