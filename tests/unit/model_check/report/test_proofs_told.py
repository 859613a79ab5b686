"""The report speaks of the proof of a claim where there is one, and says what there is elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from carnet_check.report.html import views, write_html
from carnet_check.report.run_folder import read_run
from tests.unit.model_check.command import carnet, control

PROOF = "Defences whose guards the proof used", "Lemmas the proof rests on"
ATTEMPT = "Lemmas that the attempt to prove it used"


def _told(folder: Path, *command: str) -> str:
    """Return the page about one run, one claim after the other."""
    carnet("verify", *command, "--jobs", "1", "--out", str(folder / "run"))
    write_html(read_run(folder / "run"), folder / "pages")
    return (folder / "pages" / "index.html").read_text()


def _article(page: str, claim: str) -> str:
    (article,) = [part for part in page.split('<article class="claim">')[1:] if f'Verdicts on {claim}"' in part]
    return article.partition("</article>")[0]


@pytest.mark.mends("R468")
def test_a_violated_claim_has_no_proof_and_one_that_is_proved_has(tmp_path: Path) -> None:
    page = _told(tmp_path, control("wrong_claim"))
    proved, fallen = _article(page, "one-holder"), _article(page, "stays-home")
    assert [label in proved for label in (*PROOF, ATTEMPT)] == [True, True, False]
    assert "<dt>Proof</dt>\n<dd>under anyone</dd>" in proved
    assert [label in fallen for label in (*PROOF, ATTEMPT)] == [False, False, False]
    assert "none under anyone, where it is UNKNOWN and VIOLATED" in fallen
    assert "nothing is established" in fallen


@pytest.mark.mends("R468")
def test_a_claim_that_nothing_decides_has_an_attempt_at_most(tmp_path: Path) -> None:
    begun = tmp_path / "tickets"
    carnet("init", str(begun))
    file = begun / "protocol.py"
    file.write_text(file.read_text().replace('step.fresh(ticket, defence="fresh-ticket")', "pass"))
    page = _article(_told(tmp_path, str(file), "--engine", "induction"), "own-ticket")
    assert [label in page for label in (*PROOF, ATTEMPT)] == [False, False, True]
    assert "<dd>none under collusion, where it is UNKNOWN</dd>" in page
    assert "honest_guests_keep_their_tickets" in page.partition(ATTEMPT)[2]


def test_exhausted_is_no_proof_and_establishes_something(tmp_path: Path) -> None:
    page = _article(_told(tmp_path, control("sound"), "--engine", "explicit"), "one-holder")
    assert "<dd>none under anyone, where it is EXHAUSTED</dd>" in page
    assert "nothing is established" not in page


def _row(threat: str, verdict: str, *lemmas: str) -> dict[str, Any]:
    return {"threat": threat, "verdict": verdict, "lemmas": lemmas}


@pytest.mark.mends("R468")
def test_each_threat_model_is_told_by_itself() -> None:
    rows = [_row("host", "PROVED", "a"), _row("host", "EXHAUSTED"), _row("guest", "UNKNOWN", "b")]
    rows += [_row("both", "UNKNOWN", "c"), _row("both", "VIOLATED")]
    assert views._proof(rows) == (
        "under host; none under guest, where it is UNKNOWN; none under both, where it is UNKNOWN and VIOLATED"
    )
    assert views._attempt(rows) == ["b"]
    assert views._proof([]) == "none: no engine judged the claim"
