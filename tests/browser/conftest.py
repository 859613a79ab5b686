"""A headless browser, and what to look at with it; without one on the machine these tests are skipped and say so."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Literal, cast

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.visit import Visit
from tests.unit.model_check.command import TOY, carnet

ROOT = Path(__file__).parents[2]
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


@pytest.fixture(scope="session")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the documentation, without its longest pages and those that look alike; CI builds all of it."""
    if util.find_spec("sphinx_test_reports") is None:
        pytest.skip("needs the docs extra, which the install of CONTRIBUTING.md brings")
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    folder = (tmp_path_factory.mktemp("one") if alone else tmp_path_factory.getbasetemp().parent) / "documentation"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "index.html").is_file():
            _build(folder)
    return folder


def _build(folder: Path) -> None:
    alike = ("[!c]*", "claims.md", "claims/**")
    left_out = ["_build", "adr/0*.md", "api/*", "assurance/*", *(f"specification/[!ag]*/{each}" for each in alike)]
    left_out += ["specification/gpu-travelling/actions.md", "specification/gpu-travelling/claims.md"]
    settings = ("-D", f"exclude_patterns={','.join(left_out)}")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-Q", *settings, "-b", "html", str(ROOT / "docs"), str(folder)], check=True
    )


@pytest.fixture
def visit(browser: Browser, report: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    yield from watched(browser, report, request)


@pytest.fixture
def read(browser: Browser, documentation: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    yield from watched(browser, documentation, request)


def watched(browser: Browser, folder: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Look at a folder; whatever a test does there, nothing may be complained of and nothing asked of a network."""
    width, scheme = cast("tuple[int, Literal['light', 'dark']]", getattr(request, "param", (1280, "light")))
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    seen = Visit(folder, context.new_page())
    seen.page.on("console", lambda message: seen.heard(message.type, message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda asked: seen.requests.append(asked.url))
    yield seen
    context.close()
    assert seen.complaints == []
    assert seen.requests
    assert all(url.startswith(folder.as_uri() + "/") for url in seen.requests)
