"""``carnet step --web`` in a browser: by keyboard alone, at two widths, dark and light."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import pytest
from playwright.sync_api import Browser, Page

from carnet_check.commands.step_server import StepServer
from carnet_check.commands.step_shell import StepShell
from tests.browser.visit import CONTRAST, READABLE, SMALLEST_TEXT, broken
from tests.unit.model_check.command import TOY
from tests.unit.model_check.commands.test_step_server import shell

REFUSED = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
LOOKS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]


@dataclass
class Walk:
    """A walk that a browser looks at."""

    shell: StepShell
    page: Page
    url: str
    complaints: list[str]  #: What the browser wrote on its console.

    @property
    def taken(self) -> int:
        return len(self.shell.walk.steps)


@pytest.fixture
def walk(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Walk]:
    """Serve a walk and open its page; nothing may be complained of, and nobody else asked."""
    reference, variant, (width, scheme) = cast(
        "tuple[str, str, tuple[int, Literal['light', 'dark']]]",
        getattr(request, "param", (TOY, "", (1280, "light"))),
    )
    served = shell(reference, variant)
    server = StepServer(served, "token")
    serving = threading.Thread(target=server.serve)
    serving.start()
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: requests.append(asked.url))
    page.goto(server.url)
    yield Walk(served, page, server.url, complaints)
    context.close()
    server.close()
    serving.join(10)
    assert complaints == []
    assert all(url.startswith(server.url) for url in requests)


def tab_to(page: Page, value: str) -> None:
    """Go to the button or choice of a value with the tabulator alone."""
    for _ in range(80):
        if str(page.evaluate("document.activeElement.value ?? document.activeElement.tagName")) == value:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the tabulator never comes to '{value}'")


def enter(page: Page) -> None:
    """Press the enter key, and wait for the answer."""
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_a_number_that_is_typed_takes_a_step_and_undo_takes_it_back(walk: Walk) -> None:
    page = walk.page
    first = walk.shell.walk.enabled_steps()[0].sentence
    page.keyboard.type("1")
    enter(page)
    assert first in page.locator("#said-lines").inner_text()
    assert walk.taken == 1
    page.keyboard.type("undo")
    enter(page)
    assert walk.taken == 0


def test_everything_is_done_with_the_tabulator_and_the_enter_key(walk: Walk) -> None:
    page = walk.page
    for _ in range(3):
        tab_to(page, "take 1")
        enter(page)
    assert walk.taken == 3
    tab_to(page, "undo 2")
    enter(page)
    assert walk.taken == 1
    refused = str(page.locator("#why").input_value())
    tab_to(page, refused)
    page.keyboard.press("Tab")
    enter(page)
    assert page.locator("#said-lines").inner_text().startswith(f"{refused.removeprefix('why ')}: ")
    tab_to(page, "begin")
    enter(page)
    assert walk.taken == 0


def test_a_tab_that_is_behind_says_so_and_goes_on_from_where_the_walk_is(walk: Walk) -> None:
    behind = walk.page
    ahead = behind.context.new_page()
    ahead.goto(walk.url)
    ahead.locator("button[value='take 1']").click()
    behind.locator("button[value='take 2']").click()
    assert "The walk went on elsewhere" in behind.locator("[role=alert]").inner_text()
    assert walk.taken == 1
    assert "409 (Conflict)" in walk.complaints.pop()
    behind.locator("button[value='undo']").click()
    assert behind.locator("[role=alert]").count() == 0
    assert walk.taken == 0


WALKS = [
    *(("attack secrecy", look) for look in LOOKS),
    ("random 4 1", (390, "dark")),
    ("cti secrecy", (1280, "light")),
    ("fly", (390, "light")),
]


@pytest.mark.parametrize(
    ("line", "walk"), [(line, (TOY, "forgetful", look)) for line, look in WALKS], indirect=["walk"], ids=str
)
def test_it_is_readable_and_accessible_and_nothing_sticks_out(walk: Walk, line: str) -> None:
    page = walk.page
    page.locator("#line").fill(line)
    enter(page)
    assert page.locator("[role=alert]").count() == (line == "fly")
    assert walk.complaints == [REFUSED] * (line == "fly")
    walk.complaints.clear()
    page.locator("details summary").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth")
    assert page.evaluate(SMALLEST_TEXT) >= READABLE
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where
    assert broken(page) == []
