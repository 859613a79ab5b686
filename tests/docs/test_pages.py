"""What the documentation tells a reader to type does what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import Block, agrees, blocks, patched, played

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("tutorial.md", *sorted(f"how-to/{page.name}" for page in (DOCS / "how-to").glob("*.md")))
PLAYED = tuple(page for page in PAGES if "```console" in (DOCS / page).read_text("utf-8"))


@pytest.mark.parametrize("page", PLAYED)
def test_every_command_prints_what_the_page_shows(page: str, tmp_path: Path) -> None:
    for block, printed in played((DOCS / page).read_text("utf-8"), tmp_path):
        assert agrees(block.shown, printed), f"{block.command}\n{printed}"


# -- the tutorial ---------------------------------------------------------------------------------

TUTORIAL = tuple(blocks((DOCS / "tutorial.md").read_text("utf-8")))


def console(number: int) -> Block:
    return [block for block in TUTORIAL if block.language == "console"][number]


def test_a_toy_protocol_takes_under_60_lines() -> None:
    (written,) = [block for block in TUTORIAL if block.what == "file handoff.py"]
    assert len(written.text.splitlines()) < 60


def test_its_planted_flaw_is_found_and_explained() -> None:
    shown = console(0).shown
    assert "secrecy  UNKNOWN!·VIOLATED!" in shown
    assert ">>> holder2 learns holder1" in shown
    assert "secrecy fails for x = holder2, y = holder1" in shown


def test_its_repair_is_proved_and_breaks_without_it() -> None:
    assert "secrecy  PROVED·EXHAUSTED" in console(2).shown
    assert "VIOLATED: secrecy under theft" in console(3).shown


# -- how pages are played -------------------------------------------------------------------------


def test_lines_may_be_left_out_and_times_differ() -> None:
    assert agrees("first\n…\nlast\n", "first\nsecond\nthird\nlast\n")
    assert agrees("time 1 s\n", "time 2 s\n")
    assert agrees("first\n…\n", "first\n")


def test_what_is_shown_has_to_be_printed() -> None:
    assert not agrees("first\nlast\n", "first\nsecond\nlast\n")
    assert not agrees("first\n…\nlast\n", "first\nsecond\n")
    assert not agrees("first\n", "second\n")


def test_a_diff_replaces_what_occurs_once() -> None:
    assert patched("a\nb\nc\n", " a\n-b\n+x\n") == "a\nx\nc\n"
    with pytest.raises(ValueError, match="occurs 0 times"):
        patched("a\n", "-b\n")


def test_a_block_of_which_nothing_is_said_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="% file NAME is missing"):
        list(played("```python\nx = 1\n```\n", tmp_path))


# -- evidence -------------------------------------------------------------------------------------


def test_every_folder_of_evidence_that_a_test_reads_is_on_its_page() -> None:
    tests = Path(__file__).parents[1]
    read = {
        name for path in tests.rglob("*.py") for name in re.findall(r'"(\d\d-[a-z0-9-]+)"', path.read_text("utf-8"))
    }
    page = (DOCS / "assurance" / "evidence-folder.md").read_text("utf-8")
    assert len(read) > 5
    assert not {name for name in read if f"| `{name}` |" not in page}
