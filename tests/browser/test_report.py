"""The report in a browser: steps, links, search, colours, widths."""

import re
import unicodedata
from pathlib import Path

import pytest
from playwright.sync_api import Page
from pypdf import PdfReader

from carnet_check.loading.families import known_protocols
from tests.browser.visit import CONTRAST, READABLE, SMALLEST_TEXT, Visit, broken
from tests.unit.model_check.command import FASTEST

ATTACK = "attack-main.without-fresh-key.collusion.secrecy.html"
STEPS = 5
PHONE, DESK = 390, 1280


def test_an_attack_is_stepped_through_with_the_keyboard(visit: Visit) -> None:
    page = visit.open(ATTACK)
    shown = page.locator(".steps > li:visible")
    assert shown.locator(".sentence").inner_text() == "the lender makes k1 and lends it to borrower2"
    page.keyboard.press("ArrowRight")
    assert shown.count() == 1
    assert shown.locator(".sentence").inner_text() == "borrower2 reads k1"
    assert shown.locator("ins").all_inner_texts() == ["k1"]
    assert page.locator("#announcement").inner_text() == f"2 of {STEPS}: borrower2 reads k1"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#position").inner_text() == f"event 1 of {STEPS}"
    page.keyboard.press("End")
    assert page.locator("#position").inner_text() == f"event {STEPS} of {STEPS}"
    assert page.url.endswith(f"#step-{STEPS}")
    assert page.locator("tr.future").count() == 0
    page.keyboard.press("Home")
    assert page.locator("tr.future").count() == STEPS - 1
    assert page.locator("tr[aria-current=step]").count() == 1


def test_the_buttons_step_too_and_are_reached_by_tab(visit: Visit) -> None:
    page = visit.open(ATTACK)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.go") == "forward":
            break
    page.keyboard.press("Enter")
    assert page.locator("#position").inner_text() == f"event 2 of {STEPS}"


def test_a_step_shows_only_what_changed_and_the_end_says_which_part_fails(visit: Visit) -> None:
    page = visit.open(f"{ATTACK}#step-{STEPS}")
    changes = page.locator(".steps > li:visible .changes code").all_inner_texts()
    assert "phase: HOME → AWAY" in changes
    assert len(changes) == 3
    assert "it is false that  borrower2 = owner(k1)" in page.locator(".failing pre").inner_text()


@pytest.mark.mends("N19")
def test_a_diagram_has_a_column_for_each_party(visit: Visit) -> None:
    page = visit.open(ATTACK)
    assert page.locator(".sequence thead th").all_inner_texts() == ["step", "lender", "borrower2"]


def test_a_deep_link_opens_the_step_it_names(visit: Visit) -> None:
    page = visit.open(f"{ATTACK}#step-3")
    assert page.locator("#position").inner_text() == f"event 3 of {STEPS}"
    assert page.locator(".sequence thead").is_visible()


def test_a_deep_link_unfolds_what_it_names(visit: Visit) -> None:
    page = visit.open("index.html#defence-main-fresh-key")
    assert page.locator("#defence-main-fresh-key").is_visible()
    page = visit.open("index.html#claim-main-secrecy")
    assert page.locator("#claim-main-secrecy").bounding_box() is not None


def test_the_matrix_leads_to_the_claim(visit: Visit) -> None:
    page = visit.open("index.html")
    page.locator(".matrix tbody th a").first.click()
    assert page.url.endswith("#claim-main-secrecy")
    claim = page.locator("article.claim")
    assert "No one but its borrower knows the key of an honest borrower." in claim.inner_text()
    assert f"induction and {FASTEST} agree" in claim.inner_text()
    assert "carnet verify" in claim.inner_text()


def test_search_finds_a_step_and_goes_there(visit: Visit) -> None:
    page = visit.open("index.html")
    page.keyboard.press("/")
    page.keyboard.type("fake_return")
    first = page.locator("#results a").first
    assert "borrower2 sends back k1" in first.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/attack-*#step-3")
    assert page.locator(".steps > li:visible .sentence").inner_text() == "borrower2 sends back k1"


def test_search_says_so_when_there_is_nothing(visit: Visit) -> None:
    page = visit.open("index.html")
    page.locator("#search").fill("xyzzy")
    assert page.locator("#results").inner_text() == "nothing found"
    page.keyboard.press("Escape")
    assert not page.locator("#results").is_visible()


@pytest.mark.parametrize("visit", [(1280, "dark")], indirect=True)
def test_a_dark_system_gets_dark_pages_and_a_click_changes_it(visit: Visit) -> None:
    page = visit.open("index.html")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.locator("#theme").click()
    light = page.evaluate(colour)
    assert (dark, light) == ("rgb(18, 23, 29)", "rgb(255, 255, 255)")
    visit.open(ATTACK)
    assert page.evaluate(colour) == light, "the choice is remembered"


@pytest.mark.parametrize(
    "visit", [(width, scheme) for width in (400, 1600) for scheme in ("light", "dark")], indirect=True, ids=str
)
@pytest.mark.parametrize("name", ["index.html", ATTACK])
def test_text_is_readable_and_nothing_sticks_out(visit: Visit, name: str) -> None:
    page = visit.open(name)
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth")
    assert page.evaluate(SMALLEST_TEXT) >= READABLE
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where


def test_pages_say_everything_without_a_script(report: Path) -> None:
    text = (report / ATTACK).read_text()
    for sentence in ("the lender makes k1 and lends it to borrower2", "borrower2 reads k1", "borrower2 sends back k1"):
        assert sentence in text
    assert not re.search(r"<(script|style)>|\sstyle=|\son\w+=|https?://", text), "nothing inline, nothing elsewhere"


def test_figures_are_drawn_beside_the_published_ones(visit: Visit) -> None:
    page = visit.open("index.html#tables")
    cells = page.locator(".figures tbody td").all_inner_texts()
    assert [text for text in cells if text] == ["2 s", "2.1 s", "+5.0 %", "predicted"]
    widths = [float(bar.get_attribute("width") or 0) for bar in page.locator(".figures rect").all()]
    assert widths == [152.4, 160.0]


def test_the_state_graph_is_drawn_and_told(visit: Visit) -> None:
    page = visit.open("index.html#states")
    assert page.locator(".graph .state").count() == 157
    page.get_by_text("The same as text").click()
    assert page.locator("ol.states > li").count() == 157


@pytest.mark.parametrize("visit", [(400, "light"), (1600, "light")], indirect=True, ids=str)
def test_a_state_graph_opens_at_its_first_state(visit: Visit) -> None:
    page = visit.open("index.html#states")
    box, first = page.locator(".graph").bounding_box(), page.locator(".graph .state").first.bounding_box()
    assert box
    assert first
    assert box["y"] < first["y"] < box["y"] + box["height"]


def labels(page: Page) -> list[str]:
    return [str(each.get_attribute("aria-label")) for each in page.locator(".graph .state").all()]


def test_each_state_has_a_name_of_its_own_that_fits_its_box(visit: Visit) -> None:
    page = visit.open("index.html#states")
    names = [label.partition(": ")[2] for label in labels(page)]
    assert len(set(names)) == len(names) == 157
    sticks_out = """() => [...document.querySelectorAll(".graph .state")].filter((state) => {
      const box = state.querySelector("rect").getBBox();
      return [...state.querySelectorAll("text")].some((text) => {
        const own = text.getBBox();
        return own.x < box.x || own.x + own.width > box.x + box.width || own.y + own.height > box.y + box.height;
      });
    }).length"""
    assert page.evaluate(sticks_out) == 0


def test_a_state_graph_is_walked_through_and_zoomed_with_the_keyboard(visit: Visit) -> None:
    page = visit.open("index.html#states")
    own = "document.activeElement.dataset.state"
    page.locator(".graph").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(own) == "0"
    page.keyboard.press("ArrowRight")
    after = page.evaluate(own)
    assert page.locator(f".graph line[data-from='0'][data-to='{after}'].near").count() == 1
    page.keyboard.press("ArrowDown")
    assert page.evaluate(own) not in ("0", after)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(own) == "0"
    size, frame = (f"document.querySelector('{where}').getBoundingClientRect()" for where in (".graph svg", ".graph"))
    before = page.evaluate(f"{size}.width")
    page.keyboard.press("+")
    assert page.evaluate(f"{size}.width") > before
    page.keyboard.press("0")
    whole = page.evaluate(f"{size}.width")
    assert page.evaluate(f"{size}.width <= {frame}.width && {size}.height <= {frame}.height")
    page.get_by_role("button", name="Larger").click()
    assert page.evaluate(f"{size}.width") > whole
    page.locator(".graph .state[data-state='0']").focus()
    page.keyboard.press("Enter")
    assert page.locator("ol.states > li").first.is_visible()


@pytest.mark.parametrize("visit", [(400, "light"), (1600, "light")], indirect=True, ids=str)
def test_a_deep_link_does_not_hide_who_the_columns_are(visit: Visit) -> None:
    page = visit.open(f"{ATTACK}#step-3")
    seen = """() => {
      const head = document.querySelector(".sequence thead th:nth-child(2)");
      const box = head.getBoundingClientRect();
      return head.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
    }"""
    assert page.evaluate(seen)


def test_the_decisive_step_stands_out(visit: Visit) -> None:
    page = visit.open(ATTACK)
    assert page.locator("tr.decisive").count() == 1
    assert page.locator("p.decisive").all_text_contents() == [
        "decisive: with fresh-key, the guard 'fresh key' refuses this"
    ]


@pytest.mark.mends("N1")
def test_what_is_worked_out_is_written_like_a_step(visit: Visit) -> None:
    page = visit.open(f"{ATTACK}#step-{STEPS}")
    style = "cell => [getComputedStyle(cell).fontStyle, getComputedStyle(cell).color]"
    thought = page.locator("td.thought").first.evaluate(style)
    assert thought == ["normal", page.evaluate("getComputedStyle(document.body).color")]


@pytest.mark.mends("N25")
def test_an_assumption_leads_to_its_sentence(visit: Visit) -> None:
    page = visit.open("index.html")
    assumptions = page.locator(".claim dd a[href^='#assumption-']")
    assert assumptions.count() > 0
    for each in assumptions.all():
        sentence = each.get_attribute("title")
        assert sentence
        place = page.locator(f"[id='{(each.get_attribute('href') or '')[1:]}']")
        assert sentence in place.locator("xpath=following-sibling::dd[1]").inner_text()


@pytest.mark.mends("N3")
@pytest.mark.parametrize("visit", [(1600, "dark")], indirect=True, ids=str)
def test_printing_shows_every_step_in_dark_letters(visit: Visit, tmp_path: Path) -> None:
    """Also from the middle of an attack, in a window that is dark."""
    page = visit.open(f"{ATTACK}#step-2")
    sentences = page.locator(".steps .sentence").all_text_contents()
    file = tmp_path / "attack.pdf"
    page.pdf(path=str(file))
    text = " ".join(sheet.extract_text() for sheet in PdfReader(file).pages)
    printed = " ".join(unicodedata.normalize("NFKC", text).split())  # without ligatures
    assert len(sentences) == STEPS
    assert [sentence for sentence in sentences if sentence not in printed] == []
    assert [number for number in range(1, STEPS) if f"Step {number}" not in printed] == []
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 36, 48)"
    assert page.evaluate(CONTRAST)[0] >= 4.5
    assert page.locator(".steps > li:visible").count() == STEPS
    assert page.locator("tr.future > *").first.evaluate("cell => getComputedStyle(cell).color") == "rgb(27, 36, 48)"


A4 = (210, 297)
MILLIMETRE = 72 / 25.4  #: Points.


def printed_on_a4(page: Page, file: Path) -> list[str]:
    """Print a page and return the text of each sheet."""
    page.pdf(path=str(file), format="A4")
    sheets = PdfReader(file).pages
    sizes = {tuple(round(side / MILLIMETRE) for side in sheet.mediabox[2:]) for sheet in sheets}
    assert sizes == {A4}
    return [" ".join(unicodedata.normalize("NFKC", sheet.extract_text()).split()) for sheet in sheets]


def test_what_is_claimed_comes_first_and_on_sheets_of_its_own(visit: Visit, tmp_path: Path) -> None:
    page = visit.open("index.html")
    assert page.locator("h2").first.inner_text().startswith("What is claimed, and what holds")
    row = page.locator(".one-page tbody tr", has_text="No one but its borrower knows the key")
    assert row.locator("td").all_inner_texts() == ["✓●", "✓●"]
    row.get_by_role("link", name="secrecy").click()
    assert page.url.endswith("#claim-main-secrecy")
    sheets = printed_on_a4(page, tmp_path / "report.pdf")
    (first, *rest) = (at for at, sheet in enumerate(sheets) if "What is claimed" in sheet or "Designs and" in sheet)
    assert (first, rest) == (0, [1])
    assert "A1 The lender is never corrupt" in sheets[0]
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth")


PRINTED = "specification/gpu-travelling/claimed.html"


@pytest.mark.parametrize("read", [(1280, "light"), (390, "dark")], indirect=True, ids=str)
def test_what_is_claimed_is_printed_on_two_sheets(read: Visit, tmp_path: Path) -> None:
    page = read.open(PRINTED)
    cells = page.locator("article td:first-child").all_text_contents()
    sheets = printed_on_a4(page, tmp_path / "claimed.pdf")
    assert len(sheets) == 2
    printed = " ".join(sheets).replace(" ", "")
    assert len(cells) > 50
    assert [cell for cell in cells if "".join(unicodedata.normalize("NFKC", cell).split()) not in printed] == []
    page.emulate_media(media="print")
    smallest = SMALLEST_TEXT.replace('"main *, header *"', '"article *"')
    assert page.evaluate(smallest) >= SMALLEST_PRINTED
    assert page.evaluate(CONTRAST.replace('"main"', '"article"'))[0] >= 4.5


@pytest.mark.parametrize("read", [(PHONE, "dark"), (DESK, "light")], indirect=True, ids=str)
def test_the_page_of_every_protocol_breaks_no_rule_fits_and_is_printed_on_two_sheets(
    read: Visit, tmp_path: Path
) -> None:
    for id in known_protocols():
        page = read.open(f"specification/{id}/claimed.html")
        assert broken(page, "article") == [], id
        assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth"), id
        assert len(printed_on_a4(page, tmp_path / f"{id}.pdf")) <= 2, id


SMALLEST_PRINTED = 7 / 72 * 96  #: Pixels: seven points.


@pytest.mark.mends("N3")
def test_the_printed_index_has_every_claim_without_what_is_looked_up(visit: Visit) -> None:
    page = visit.open("index.html")
    claims = page.locator(".claim .sentence").count()
    looked_up = page.locator(".claim dt.looked-up")
    assert claims > 0
    assert looked_up.first.is_visible()
    page.emulate_media(media="print")
    assert page.locator(".claim .sentence:visible").count() == claims
    assert page.locator(".claim table:visible").count() >= claims
    assert [each for each in looked_up.all() if each.is_visible()] == []


def test_designs_are_compared_in_numbers(visit: Visit) -> None:
    page = visit.open("index.html")
    page.get_by_role("link", name="Designs and threats", exact=True).click()
    assert page.url.endswith("#designs")
    rows = page.locator(".heat tr").all_inner_texts()
    seen = [[word for word in row.split("\t") if word] for row in rows]
    assert [[cell.split()[0] for cell in row] for row in seen] == [
        ["design", "none", "collusion"],
        ["main", "0", "0"],
        ["main", "–", "1"],
    ]
    page.locator(".heat tbody a").first.click()
    assert page.url.endswith("#matrix-main")


# -- pages keep the rules of accessibility that a program can check --------------------------------------


LOOKS = [(PHONE, "light"), (PHONE, "dark"), (DESK, "light"), (DESK, "dark")]
GALLERY = "gallery/gpu-travelling/index.html"
DEFENCES = "specification/gpu-travelling/defences.html"


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
def test_what_is_claimed_breaks_no_rule_and_fits(read: Visit) -> None:
    page = read.open(PRINTED)
    assert broken(page, "article") == []
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth")


@pytest.mark.parametrize("read", LOOKS, indirect=True, ids=str)
def test_the_map_of_defences_breaks_no_rule(read: Visit) -> None:
    assert broken(read.open(DEFENCES), "table.heat") == []


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
