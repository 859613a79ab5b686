"""Pages keep the rules of accessibility that a program can check, on a phone and in the dark, too."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.visit import Visit

pytestmark = pytest.mark.timeout(300)  # the first of them builds the pages
PHONE, DESK = 390, 1280
LOOKS = [(PHONE, "light"), (PHONE, "dark"), (DESK, "light"), (DESK, "dark")]
ATTACK = "attack-main.without-fresh-key.collusion.secrecy.html"
GALLERY = "gallery/gpu-travelling/index.html"
DEFENCES = "specification/gpu-travelling/defences.html"


def broken(page: Page) -> list[str]:
    """Return the rules that a page breaks, each with the first place where it does."""
    found = Axe().run(page, options={"preload": False}).response["violations"]  # or it would fetch style sheets
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:160]}" for rule in found]


@pytest.mark.parametrize("visit", LOOKS, indirect=True, ids=str)
@pytest.mark.parametrize("name", ["index.html", ATTACK])
def test_the_report_breaks_no_rule(visit: Visit, name: str) -> None:
    assert broken(visit.open(name)) == []


@pytest.mark.parametrize("read", LOOKS, indirect=True, ids=str)
def test_the_gallery_breaks_no_rule_and_fits(read: Visit) -> None:
    page = read.open(GALLERY)
    assert broken(page) == []
    page.locator("article h2 a").first.click()
    assert broken(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth")


@pytest.mark.parametrize("read", LOOKS, indirect=True, ids=str)
def test_the_map_of_defences_breaks_no_rule(read: Visit) -> None:
    page = read.open(DEFENCES)
    found = Axe().run(page, context="table.heat", options={"preload": False}).response["violations"]
    assert [f"{rule['id']}: {rule['nodes'][0]['html'][:160]}" for rule in found] == []


@pytest.mark.mends("N1")
def test_the_gallery_opens_steps_and_names_the_replay(read: Visit) -> None:
    page = read.open("specification/assurance/gallery.html")
    links = page.get_by_role("link", name="Step through it")
    assert links.count() == page.locator("article section section").count() > 15
    links.first.click()
    page.wait_for_selector(".stepper:visible")
    first = page.locator(".steps > li:visible .sentence").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".steps > li:visible .sentence").inner_text() != first
    assert page.locator("tr.decisive").count() == 1
    assert "--replay" in page.locator("main").inner_text()
    page.get_by_role("link", name="all of them").click()
    assert page.locator("article").count() > 15
    page.locator("article .meta a").first.click()
    assert page.locator("p.decisive:visible").count() == 1
