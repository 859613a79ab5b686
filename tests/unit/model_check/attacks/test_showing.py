"""Attacks and verdicts as notebooks show them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_check.attacks.describing import as_html
from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.attacks.regression import of_hunt
from carnet_check.loading.families import load
from carnet_check.results import Kind, Result, Verdict
from carnet_check.results import as_html as results_as_html
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, planned
from tests.fixtures.shown_html import HOSTILE, read
from tests.unit.model_check.command import TOY


@pytest.fixture(scope="module")
def found() -> Hunt:
    return hunt(attack_target(load(TOY), without=("fresh-key",)))


@pytest.mark.mends("N16")
def test_an_attack_is_told_in_numbered_sentences_with_the_decisive_step_marked(found: Hunt) -> None:
    html = found._repr_html_()
    assert found.decisive is not None
    text = read(html).text
    assert "secrecy falls under collusion: toy, main without fresh-key" in text
    (marked,) = [line for line in html.splitlines() if "▶" in line]
    assert found.decisive.says in read(marked).text
    assert "<strong>" in marked
    rows = [line for line in html.splitlines() if 'scope="row"' in line]
    assert rows.index(marked) == found.decisive.position
    assert found.trace is not None
    assert len(rows) == len(found.trace.steps)
    assert "secrecy fails for" in text
    assert "learns k1" in text


def test_an_attack_that_is_kept_is_shown_as_the_hunt_shows_it(found: Hunt) -> None:
    assert of_hunt(found, "again")._repr_html_() == found._repr_html_()


def test_without_a_decisive_step_none_is_marked(found: Hunt) -> None:
    assert "▶" not in replace(found, decisive=None)._repr_html_()


def test_a_hunt_that_finds_nothing_says_how_that_is_known() -> None:
    html = hunt(attack_target(load(TOY)))._repr_html_()
    assert read(html).text.startswith("\nPROVED: toy, main\nevery claim attacked is proved")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_attack_is_shown_as_text(found: Hunt, name: str) -> None:
    assert found.judge is not None
    assert found.trace is not None
    assert found.decisive is not None
    failing = replace(found.target.protocol.claim("secrecy").checked, name=name)
    decisive = replace(found.decisive, says=name)
    trace = replace(found.trace, threat=name, without=(name,))
    read(as_html(found.judge, failing, trace, found.states, decisive))


# -- verdicts -----------------------------------------------------------------------------------------

ROW = Result("toy", "main", "secrecy", "collusion", "explicit", Verdict.EXHAUSTED, Verdict.EXHAUSTED, 1234, "all seen")


@pytest.mark.mends("N16")
def test_verdicts_are_a_table_of_claims_by_threat_models() -> None:
    outcome = verify(planned(Request(load(TOY))))
    html = outcome._repr_html_()
    assert "every verdict as expected" in html
    heads = next(line for line in html.splitlines() if line.startswith("<thead>"))
    threats = dict.fromkeys(row.threat for row in outcome.results if row.kind is Kind.CLAIM)
    assert read(heads).text == "".join(["claim", *threats])
    rows = [line for line in html.splitlines() if 'scope="row"' in line]
    claims = dict.fromkeys(row.claim for row in outcome.results if row.kind is Kind.CLAIM)
    assert [line.split(">")[2].split("<")[0] for line in rows] == list(claims)
    assert html.count("PROVED: induction") == sum(row.verdict is Verdict.PROVED for row in outcome.results)


def test_what_is_not_as_expected_stands_out() -> None:
    wrong = replace(ROW, verdict=Verdict.VIOLATED, bound=None)
    assert "<strong>VIOLATED, expected EXHAUSTED: explicit</strong>" in results_as_html([ROW, wrong])
    fallen = replace(wrong, expected=Verdict.VIOLATED)
    assert "VIOLATED, as expected: explicit" in fallen._repr_html_()
    assert "<strong>VIOLATED" not in results_as_html([fallen])


def test_a_verdict_alone_says_how_it_was_established() -> None:
    assert read(ROW._repr_html_()).text.split("\n")[1:4] == [
        "secrecy under collusion: toy, main",
        "EXHAUSTED(1,234): explicit",
        "all seen",
    ]


def test_a_pair_that_was_not_judged_has_a_dash_and_what_is_no_claim_a_table_of_its_own() -> None:
    other = replace(ROW, claim="other", threat="outsider")
    goal = replace(ROW, kind=Kind.GOAL, claim="lent", detail="not reached")
    html = results_as_html([ROW, other, goal])
    rows = [read(line).text for line in html.splitlines() if 'scope="row"' in line]
    assert rows == [
        "secrecyEXHAUSTED(1,234): explicit–",
        "other–EXHAUSTED(1,234): explicit",
        "goal lentcollusionEXHAUSTED(1,234): explicitnot reached",
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_verdicts_are_shown_as_text(name: str) -> None:
    row = replace(ROW, protocol=name, variant=name, claim=name, threat=name, engine=name, detail=name)
    read(row._repr_html_())
    read(results_as_html([row, replace(row, kind=Kind.GOAL)]))
