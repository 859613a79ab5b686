"""Rules about the files themselves: what they may mention, how long they are, what they say."""

import ast
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.repo.tracked import ROOT, SOURCE_ROOTS, read, tracked_files, tracked_python

LONGEST = 800
MEDIAN_FUNCTION, LONG_FUNCTION = 8, 20
"""Lines: at most so many for half of all functions, and for nine in ten."""

# Assembled from pieces, so that this file passes its own test.
PLACES_OF_ONE_MACHINE = {
    "a path of one machine": [
        "/" + "home" + "/",
        "/" + "Users" + "/",
        "/" + "root" + "/",
    ],
    "a package index": [
        "py" + "pi.org",
        "python" + "hosted.org",
        "registry." + "npmjs.org",
        "deb." + "debian.org",
        "--" + "index-url",
        "--" + "find-links",
    ],
}


@pytest.mark.parametrize("what", PLACES_OF_ONE_MACHINE)
def test_no_tracked_file_names(what: str) -> None:
    found = [
        f"{path}: {needle}"
        for path in tracked_files()
        for needle in PLACES_OF_ONE_MACHINE[what]
        if needle in read(path)
    ]
    assert not found


def test_every_python_file_opens_with_a_docstring() -> None:
    silent = [str(path) for path in tracked_python() if not ast.get_docstring(ast.parse(read(path)))]
    assert not silent


def test_every_folder_of_code_is_a_package() -> None:
    """Without ``__init__.py`` a folder works in an editable install and is not in the wheel."""
    folders = {path.parent for path in tracked_python() if any((ROOT / path).is_relative_to(r) for r in SOURCE_ROOTS)}
    assert folders
    assert not [str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()]


def _over_long(lines: Mapping[str, int]) -> list[str]:
    return [f"{path} has {count} lines: split it" for path, count in lines.items() if count > LONGEST]


def test_no_file_is_long() -> None:
    lines = {str(path): read(path).count("\n") for path in tracked_python()}
    assert len(lines) > 100
    assert _over_long(lines) == []


def test_a_long_file_is_noticed() -> None:
    assert _over_long({"spec/a.py": LONGEST}) == []
    assert _over_long({"tests/a.py": LONGEST + 1}) == ["tests/a.py has 801 lines: split it"]


def _function_lengths() -> Iterator[int]:
    for path in tracked_python():
        if any((ROOT / path).is_relative_to(root) for root in SOURCE_ROOTS):
            for node in ast.walk(ast.parse(read(path))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_small() -> None:
    lengths = sorted(_function_lengths())
    assert len(lengths) > 1000
    assert statistics.median(lengths) <= MEDIAN_FUNCTION
    assert lengths[len(lengths) * 9 // 10] <= LONG_FUNCTION


def test_decision_records_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in tracked_files() if path.parent == Path("docs/adr"))
    numbers = [int(name[:4]) for name in names if re.match(r"\d{4}-[a-z0-9-]+\.md$", name)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) == len(names) - 1, "beside the records, the folder holds its index only"


def test_a_decision_record_has_the_parts_of_the_template() -> None:
    records = [path for path in tracked_files() if path.match("docs/adr/[0-9]*.md")]
    assert records
    for path in records:
        headings = re.findall(r"^#+ (.*)$", read(path), flags=re.MULTILINE)
        assert headings[0].startswith(f"{int(path.name[:4])}. "), path
        assert headings[1:] == ["Context", "Decision", "Consequences"], path
        assert re.search(r"^\* Status: (template|accepted|superseded by \d{4})$", read(path), re.MULTILINE), path


def test_a_page_outside_the_documentation_links_to_what_is_committed() -> None:
    """The documentation's own links are checked by its build; it may link to pages that the build writes."""
    known = {str(path) for path in tracked_files()}
    pages = [path for path in tracked_files() if path.suffix == ".md" and len(path.parts) == 1]
    assert pages
    links = [(path, link) for path in pages for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", read(path))]
    assert not [f"{path}: {link}" for path, link in links if link not in known]
