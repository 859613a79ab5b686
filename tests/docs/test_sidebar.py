"""The sidebar that is made once for many pages is the one that Sphinx makes for each of them."""

import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from docs._ext.carnet_pages import write
from tests.repo.tracked import ROOT

pytestmark = pytest.mark.skipif(
    util.find_spec("sphinx_remove_toctrees") is None, reason="needs the docs extra; CI builds all pages anyway"
)
PAGES = {
    "index.md": "# Pages\n\n```{toctree}\na/index\nin\nin-all-the-same\nb/index\n```\n",
    "in.md": "# In it\n\n## A section\n",
    "in-all-the-same.md": "# In what the first page lists, from which nothing is left out\n",
    "left-out.md": "---\norphan: true\n---\n\n# Left out\n",
    "a/index.md": "# A\n\n## A section\n\n```{toctree}\nleft-out-1\nleft-out-2\nin\n```\n",
    "a/in.md": "# In A\n",
    "a/left-out-1.md": "# First\n\n## A section\n",
    "a/left-out-2.md": "# Second\n",
    "b/index.md": "# B\n\n```{toctree}\nc/left-out\nc/deep-in\n```\n",
    "b/c/left-out.md": "# Deep\n",
    "b/c/deep-in.md": "# Deep in it\n",
}
SETTINGS = """import sys
sys.path.insert(0, "docs/_ext")
extensions = ["myst_parser", "sphinx_remove_toctrees", {more}]
remove_from_toctrees = ["in-all-the-same*", "*/left-out*", "b/c/left-out*"]
html_theme = "furo"
"""


def built(folder: Path, more: str) -> dict[str, str]:
    """Return the pages that Sphinx makes with one more extension."""
    write(folder, PAGES)
    (folder / "conf.py").write_text(SETTINGS.format(more=more), "utf-8")
    html = folder / "html"
    subprocess.run([sys.executable, "-m", "sphinx", "-Q", "-b", "html", str(folder), str(html)], cwd=ROOT, check=True)
    return {path.relative_to(html).as_posix(): path.read_text("utf-8") for path in html.rglob("*.html")}


def test_every_page_has_the_sidebar_that_sphinx_makes_for_it(tmp_path: Path) -> None:
    made, expected = built(tmp_path / "made", '"carnet_sidebar"'), built(tmp_path / "expected", "")
    assert {name.replace(".md", ".html") for name in PAGES} <= {*made}
    assert {name for name in expected if made[name] != expected[name]} == set()
    assert "current" in made["a/in.html"].partition("sidebar-tree")[2]
