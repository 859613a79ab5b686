"""The documentation in a browser: every kind of page, links, search, colours, widths."""

import pytest

from tests.browser.visit import CONTRAST, READABLE, Visit

PAGES = (
    "index.html",
    "tutorial.html",
    "findings.html",
    "specification/gpu-travelling/claimed.html",
    "specification/gpu-travelling/index.html",
    "specification/gpu-travelling/diagrams.html",
    "specification/verdicts.html",
    "specification/comparison.html",
    "specification/assurance/requirements.html",
    "specification/assurance/tests.html",
    "specification/gpu-travelling/defences.html",
    "how-to/look-in-a-notebook.html",
)
DIAGRAMS = "specification/gpu-travelling/diagrams.html"
LOOKS = [(400, "light"), (400, "dark"), (1600, "light"), (1600, "dark")]
SMALLEST = """() => Math.min(...[...document.querySelectorAll("article *")]
  .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .filter((element) => element.checkVisibility() && !element.closest(".headerlink"))
  .map((element) => parseFloat(getComputedStyle(element).fontSize)))"""


@pytest.mark.parametrize("read", LOOKS, indirect=True, ids=str)
def test_text_is_readable_and_nothing_sticks_out(read: Visit) -> None:
    for name in PAGES:
        page = read.open(name)
        assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth"), name
        assert page.evaluate(SMALLEST) >= READABLE, name
        ratio, where = page.evaluate(CONTRAST.replace('"main"', '"article"').replace('"svg"', '"svg, .highlight"'))
        assert ratio >= 4.5, (name, where)


def test_a_requirement_leads_to_its_proof_its_test_and_its_place(read: Visit) -> None:
    page = read.open("specification/assurance.html")
    page.get_by_role("link", name="REQ-KEY-05").click()
    need = page.locator("#gpu-travelling-REQ-KEY-05")
    assert "after an acknowledgement of the rotation" in need.inner_text()
    for part in ("proved by", "verified by", "enforced by"):
        assert part in need.inner_text()
    need.get_by_role("link", name="step rotated_in").click()
    assert page.url.endswith("evidence.html#step-gpu-travelling-rotated-in")


def test_a_verdict_stands_with_its_digest_and_its_command(read: Visit) -> None:
    page = read.open("specification/verdicts.html")
    shown = page.locator("article").inner_text()
    assert "carnet verify gpu-travelling" in shown
    assert "digest" in shown
    assert "PROVED, induction" in shown


DEFENCES = "specification/gpu-travelling/defences.html"


def test_a_number_of_the_map_leads_to_the_claims_that_fall(read: Visit) -> None:
    page = read.open(DEFENCES)
    page.locator("table.heat").get_by_role("link", name="scrub-workspace", exact=True).click()
    assert page.url.endswith("#gpu-travelling-without-scrub-workspace")
    section = page.locator("#gpu-travelling-without-scrub-workspace")
    section.get_by_role("link", name="clean-handoff", exact=True).click()
    assert page.url.endswith("claims/clean-handoff.html#gpu-travelling-claim-page-clean-handoff")


@pytest.mark.parametrize("read", [(390, "light")], indirect=True, ids=str)
def test_the_map_fits_on_a_phone_and_shows_every_threat_model(read: Visit) -> None:
    page = read.open(DEFENCES)
    box = page.locator("table.heat").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    cells = page.locator("table.heat tbody tr").first.locator("td")
    assert cells.count() == 5
    assert all((cells.nth(place).bounding_box() or {"width": 0})["width"] >= 24 for place in range(5))


@pytest.mark.parametrize("read", [(390, "light"), (390, "dark"), (1280, "light")], indirect=True, ids=str)
def test_all_systems_stand_side_by_side_and_each_leads_to_its_details(read: Visit) -> None:
    page = read.open("specification/comparison.html")
    picture = page.locator("table.parties")
    box, width = picture.bounding_box(), page.evaluate("innerWidth")
    assert box
    assert (box["x"] >= 0, box["x"] + box["width"] <= width) == (True, True)
    cut = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.innerText)"
    assert picture.locator("th, td").evaluate_all(cut) == []
    names = picture.locator("tbody th a")
    assert names.count() == 12
    assert picture.locator("tbody td:visible").count() == 12 * 5
    names.nth(11).click()
    assert page.url.endswith("#comparison-verifiable-fl")
    section = page.locator("#comparison-verifiable-fl")
    assert "an exclave has no secrets" in section.inner_text()
    section.locator("summary").click()
    assert "A step that an auditor accepts MUST have been taken by an exclave." in section.inner_text()


@pytest.mark.parametrize("read", [(1280, "dark")], indirect=True, ids=str)
def test_the_map_is_dark_letters_on_light_where_it_is_printed(read: Visit) -> None:
    page = read.open(DEFENCES)
    colour = """() => { const cell = document.querySelector("table.heat .fallen-4");
      return [getComputedStyle(cell).backgroundColor, getComputedStyle(cell).color]; }"""
    dark = page.evaluate(colour)
    page.emulate_media(media="print")
    assert page.evaluate(colour) != dark
    assert page.evaluate(CONTRAST.replace('"main"', '"table.heat"'))[0] >= 4.5


def test_diagrams_are_drawn_without_a_script(read: Visit) -> None:
    page = read.open(DIAGRAMS)
    drawn = page.locator(".diagram svg[role=img]")
    assert drawn.count() >= 6
    assert all(drawn.nth(place).bounding_box() for place in range(drawn.count()))
    assert page.locator(".diagram text", has_text="KEY_EXCHANGE (s1)").count() == 1


@pytest.mark.mends("N24")
@pytest.mark.parametrize("read", [(1200, "light")], indirect=True, ids=str)
def test_no_diagram_hides_a_lane_in_a_small_window(read: Visit) -> None:
    page = read.open(DIAGRAMS)
    beyond = "[...document.querySelectorAll('.diagram')].map((each) => each.scrollWidth - each.clientWidth)"
    assert max(page.evaluate(beyond)) <= 0


@pytest.mark.mends("N24")
@pytest.mark.parametrize("read", [(390, "light"), (390, "dark")], indirect=True, ids=str)
@pytest.mark.parametrize("name", [DIAGRAMS, "guide/gpu-travelling.html"])
def test_who_knows_what_is_read_on_a_phone(read: Visit, name: str) -> None:
    page = read.open(name)
    table = page.locator("table.knowledge")
    box = table.bounding_box()
    assert box
    assert (box["x"] >= 0, box["x"] + box["width"] <= 390) == (True, True)
    assert table.locator("td:visible").all_inner_texts() == [
        "h1 (h2d, d2h)\ns1 (launch)",
        "k1 (h2d, d2h)",
        "k1 (h2d)",
        "b1 (h2d, d2h)",
    ]
    told = "(cell) => getComputedStyle(cell, '::before').content"
    assert [table.locator("td:visible").nth(place).evaluate(told) for place in (0, 2)] == [
        '"orchestrator newly knows "',
        '"alice newly knows "',
    ]


def test_search_finds_a_page(read: Visit) -> None:
    page = read.open("index.html")
    page.get_by_role("textbox").first.fill("fence")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("Findings" in title or "GPU Travelling" in title for title in found)


@pytest.mark.parametrize("read", [(1280, "dark")], indirect=True)
def test_a_dark_system_gets_dark_pages_and_a_click_changes_it(read: Visit) -> None:
    page = read.open("index.html")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.get_by_role("button", name="Toggle Light / Dark / Auto color theme").locator("visible=true").first.click()
    assert page.evaluate("document.body.dataset.theme") != "auto"
    page.evaluate("document.body.dataset.theme = 'light'")
    assert page.evaluate(colour) != dark
