"""What the documentation says of files and folders is true of those that tests read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_every_folder_of_evidence_that_a_test_reads_is_on_its_page() -> None:
    tests = Path(__file__).parents[1]
    read = {
        name for path in tests.rglob("*.py") for name in re.findall(r'"(\d\d-[a-z0-9-]+)"', path.read_text("utf-8"))
    }
    page = (DOCS / "assurance" / "evidence-folder.md").read_text("utf-8")
    assert len(read) > 5
    assert not {name for name in read if f"| `{name}` |" not in page}


@pytest.mark.mends("N8")
def test_words_of_our_own_are_explained_where_everybody_looks() -> None:
    assert re.search(r"^glossary$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)
    entries = re.findall(r"^(?!: )(.+)\n: (.+)", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(entries) > 20


@pytest.mark.mends("N8")
@pytest.mark.parametrize(
    "mannered",
    [
        "as an example stands",
        "what there is of each",
        r"hold an? (?:trace|run) to the spec",
        r"\b(?:hereof|thereof|wherein)\b",
    ],
)
def test_nobody_reads_again_what_readers_stumbled_over(mannered: str) -> None:
    pages = [DOCS.parent / "README.md", *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)]
    assert len(pages) > 50
    said = {path.name: " ".join(path.read_text("utf-8").split()) for path in pages}
    assert [name for name, text in said.items() if re.search(mannered, text, re.IGNORECASE)] == []


@pytest.mark.mends("N23")
def test_the_deck_is_introduced() -> None:
    """Sources cite it, on pages that nobody reads from the beginning."""
    entry = (DOCS / "glossary.md").read_text("utf-8").partition("\ndeck\n: ")[2].partition("\n\n")[0]
    assert "guide/gpu-travelling" in entry
    assert "(slides)" in (DOCS / "guide" / "gpu-travelling.md").read_text("utf-8").rpartition("Source: ")[2]
