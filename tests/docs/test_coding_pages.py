"""What the pages on blinded and coded layers show is what is computed, and what they say of it is so."""

import re
from pathlib import Path

from carnet_ref.field import LARGEST_INNER, PRIME, Field, Freivalds, KeyStream
from tests.benchmarks.coding_pages import HEAD, RESULTS, read, recoveries

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_table_is_what_is_computed_again() -> None:
    found = [each.row for each in recoveries()]
    assert read() == [HEAD, *found]
    assert all(float(without) < 0.2 and float(defended) == 1 for _, _, without, defended in found)
    assert (RESULTS / "recoveries.png").stat().st_size > 10_000


def test_the_page_says_what_is_so() -> None:
    page = " ".join((DOCS / "coding.md").read_text("utf-8").split())
    assert f"**{LARGEST_INNER:,}** such products" in page
    assert f"= {PRIME:,} elements" in page
    bound = Freivalds(Field(), KeyStream(bytes(32), Field()), 2).error_bound
    digits, exponent = f"{bound:.1e}".split("e-")
    assert f"bound is {digits} · 10<sup>−{int(exponent)}</sup>" in page


def test_each_difference_says_what_became_of_it() -> None:
    """A guess, a find, a place and an outcome; at least four differences on each page."""
    for name in ("slalom", "coded-private-ml", "teechain", "pipellm"):
        text = (DOCS / "code" / f"{name}.md").read_text("utf-8")
        rows = [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| \d", line)]
        assert len(rows) >= 4
        assert all(len(row) == 5 and all(cell.strip() for cell in row) for row in rows)
        assert re.search(r"commit [0-9a-f]{7} of", text)


def test_the_split_of_the_authors_is_exact_up_to_the_sum_that_the_page_names() -> None:
    split = round((PRIME // 2) ** 0.5) + 1
    assert split == 2291
    assert 2**24 // (split - 1) == 7326
