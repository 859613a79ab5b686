"""What the pages on privacy show was measured, and what they say of it is so."""

from pathlib import Path

import pytest

from tests.benchmarks import asymml_pages

PAGES = Path(__file__).resolve().parents[2] / "docs" / "privacy"


def test_the_split_s_page_says_what_was_measured() -> None:
    page = " ".join((PAGES / "asymml.md").read_text("utf-8").split())
    by_epsilon = {row["ε of an image"]: row for row in asymml_pages.read("privacy")}
    bare, clipped = asymml_pages.read("privacy")[:2]
    assert float(bare["error"]) < 0.3 > float(clipped["error"])
    assert float(by_epsilon["8"]["error"]) > 0.99
    names, _, _, shares = zip(*(row.values() for row in asymml_pages.read("costs")), strict=True)
    share = dict(zip(names, map(float, shares), strict=True))
    assert 1 / 16 < share["forward, TEE's part"] < 0.3
    assert share["forward, decomposition"] > 1
    quoted = [
        f"{bare['accuracy'].replace('%', ' %')} of new pictures",
        f"ε = 1,000, {by_epsilon['1000']['accuracy'].replace('%', ' %')}",
        f"factor is {asymml_pages.read('norms')[0]['ratio']} here",
    ]
    assert [each for each in quoted if each not in page] == []


@pytest.mark.slow
def test_the_split_s_records_are_what_is_computed() -> None:
    weights = asymml_pages.trained()
    recorded = asymml_pages.read("privacy")
    for row, again in zip(recorded, asymml_pages.privacy(weights), strict=True):
        assert [*row.values()][:3] == again[:3]
        assert float(row["error"]) == pytest.approx(float(again[3]), abs=0.02)
