"""A headless browser and a report to look at; without a browser on the machine these tests are skipped and say so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.visit import Visit
from tests.unit.model_check.command import TOY, carnet

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of a run with proofs, an attack, a state graph and a table of figures."""
    folder = tmp_path_factory.mktemp("report")
    run, html, table = folder / "run", folder / "html", folder / "figures.json"
    carnet("verify", TOY, "--jobs", "1", "--out", str(run))
    carnet("attack", TOY, "--without", "fresh-key", "--out", str(run))
    table.write_text(
        '{"table": "loans", "rows": [{"name": "time to lend", "published": 2.0, "reproduced": 2.1,'
        ' "relative_error": 0.05, "unit": "s", "role": "predicted"}]}'
    )
    assert carnet("report", str(run), "--html", str(html), "--table", str(table)).code == 0
    return html


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the machine's own browser; an event loop runs beside it, which other modules' tests must not meet."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser on this machine (looked for {', '.join(NAMES)})")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser: Browser, report: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Look at the report; whatever a test does there, nothing may be complained of and nothing asked of a network."""
    width, scheme = cast("tuple[int, Literal['light', 'dark']]", getattr(request, "param", (1280, "light")))
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen = Visit(report, context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda asked: seen.requests.append(asked.url))
    yield seen
    context.close()
    assert seen.complaints == []
    assert seen.requests
    assert all(url.startswith(report.as_uri() + "/") for url in seen.requests)
