"""The search of the documentation finds requirements, findings and actions by the ids that people read and type."""

import json
import subprocess
import sys
from importlib import util
from typing import Any

import pytest

from docs._ext.carnet_pages import gallery, specification, write
from tests.fixtures.travelling import FAMILY
from tests.repo.tracked import ROOT

ATTACKS = json.loads((ROOT / "docs/results/attacks/gpu-travelling.json").read_text("utf-8"))

pytestmark = pytest.mark.skipif(
    util.find_spec("sphinx") is None, reason="needs the docs extra; CI builds all pages anyway"
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what the search of the built pages of GPU Travelling looks into."""
    folder = tmp_path_factory.mktemp("search")
    pages = specification([FAMILY], {})
    chosen = {path: text for path, text in pages.items() if path.endswith(("requirements.md", "actions.md"))}
    write(folder, {"index.md": "# Pages", "gallery.md": gallery.gallery([FAMILY], ATTACKS), **chosen})
    (folder / "conf.py").write_text(
        'extensions = ["myst_parser"]\nmyst_enable_extensions = ["colon_fence", "deflist"]\n'
    )
    command = [sys.executable, "-m", "sphinx", "-Q", "-b", "html", str(folder), str(folder / "html")]
    subprocess.run(command, cwd=ROOT, check=True)
    text = (folder / "html" / "searchindex.js").read_text("utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


def pages_of(index: Any, found: list[list[Any]]) -> set[str]:
    return {index["docnames"][place] for place, *_ in found}


@pytest.mark.mends("N26")
def test_a_requirement_is_found_by_its_id(index: Any) -> None:
    entries = index["indexentries"]
    ids = [id.lower() for id in FAMILY.text.requirements()]
    assert [id for id in ids if id not in entries] == []
    assert pages_of(index, entries["req-key-03"]) == {"gpu-travelling/requirements"}


@pytest.mark.mends("N26")
def test_a_finding_is_found_by_its_id(index: Any) -> None:
    entries = index["indexentries"]
    assert {pages for each in FAMILY.findings for pages in pages_of(index, entries[each.id])} == {"gallery"}


def test_an_action_is_found_by_its_name(index: Any) -> None:
    titles = index["alltitles"]
    for action in FAMILY.protocol().actions:
        assert pages_of(index, titles[action.name]) == {"gpu-travelling/actions"}
