"""Rules about the files themselves: what they may mention, how long they are, what they say, what is installed."""

import ast
import os
import re
import statistics
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.repo.tracked import ROOT, SOURCE_ROOTS, parsed, read, tracked_files, tracked_python

LONGEST = 800
MEDIAN_FUNCTION, LONG_FUNCTION = 7, 20  #: Lines: at most so many for half of all functions, and for nine in ten.

# Assembled from pieces, so that this file passes its own test.
PLACES_OF_ONE_MACHINE = [
    *(f"/{name}/" for name in ("home", "Users", "root")),
    *(
        "".join(parts)
        for parts in (("py", "pi.", "org"), ("python", "hosted.", "org"), ("registry.", "npm", "js.", "org"))
    ),
    "deb." + "debian.org",
    *(f"--{name}" for name in ("index-url", "find-links")),
]


def test_no_tracked_file_names_a_package_index_or_a_path_of_one_machine() -> None:
    texts = {path: read(path) for path in tracked_files()}
    assert [f"{path}: {each}" for path, text in texts.items() for each in PLACES_OF_ONE_MACHINE if each in text] == []


def test_every_python_file_opens_with_a_docstring() -> None:
    """Its first statement is a text in the quotation marks that linting asks for."""
    assert not [str(path) for path in tracked_python() if not re.match(r'(\s|#[^\n]*\n)*r?"""[^"]', read(path))]


def test_docstrings_have_no_lists_of_fields_or_errors() -> None:
    """What a field is says a comment at its line; what a function raises is a sentence."""
    sections = re.compile(r"^ *(Attributes|Raises):$", re.MULTILINE)
    assert not [str(path) for path in tracked_python() if sections.search(read(path))]


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
            for node in ast.walk(parsed(path)):
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


# -- modules that pages name --------------------------------------------------------------------------

NAMED = re.compile(r"\bcarnet_(?:spec|check|ref|command)(?:\.[a-z][a-z_0-9]*)+")


def lost(text: str) -> Iterator[str]:
    """Yield each dotted name that is neither a module nor the name of something in one."""
    for name in NAMED.findall(text):
        module, holder = name.replace(".", "/"), name.rpartition(".")[0].replace(".", "/")
        if not any(
            (root / module).is_dir() or (root / f"{module}.py").is_file() or (root / f"{holder}.py").is_file()
            for root in SOURCE_ROOTS
        ):
            yield name


def test_a_page_names_modules_that_exist() -> None:
    pages = {str(path): [*lost(read(path))] for path in tracked_files() if path.suffix == ".md"}
    assert {page: names for page, names in pages.items() if names} == {}


def test_a_module_that_moved_is_noticed() -> None:
    assert list(lost("`carnet_check.semantics`, `carnet_check.meanings`")) == ["carnet_check.meanings"]


# -- what lies beside the code is installed with it --------------------------------------------------

PATTERNS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
PACKAGES = {file.parent.name: file.parent for root in SOURCE_ROOTS for file in root.glob("*/__init__.py")}


def test_every_file_beside_the_code_is_installed() -> None:
    """A file that no pattern names would be missing from the package."""
    assert set(PATTERNS) == set(PACKAGES)
    found = {file for name, folder in PACKAGES.items() for pattern in PATTERNS[name] for file in folder.glob(pattern)}
    beside = {ROOT / file for file in tracked_files() if file.suffix != ".py"}
    assert {file for file in beside if {*PACKAGES.values()} & {*file.parents}} - found == set()


# -- findings -----------------------------------------------------------------------------------------

FINDINGS = ROOT / "findings"
SCRIPTS = sorted(FINDINGS.glob("*.sh"))


def test_every_finding_is_in_the_table() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", (FINDINGS / "README.md").read_text("utf-8"), re.MULTILINE)
    assert rows == [script.stem for script in SCRIPTS]
    assert {path.suffix for path in FINDINGS.iterdir()} == {".md", ".sh"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_finding_says_what_it_needs_and_what_was_seen(script: Path) -> None:
    text = script.read_text("utf-8")
    head = re.match(r"#!/bin/sh\n# Tool:  .* 20\d\d-\d\d-\d\d\.\n# Guess: [^\n]+\n(#        [^\n]+\n)*# Seen:  ", text)
    assert head, "the head has its tool with a date, the guess, and what was seen"
    assert "set -eu\n" in text
    assert "mktemp -d" in text
    assert "carnet" not in text.lower()
    installs = re.findall(r"(?:pip\"? install|apt-get|npm install) -q (?:download )?(\S+)", text)
    assert installs
    assert all(re.fullmatch(r"@?[\w./-]+(==?|@)\d[\w.+-]*", each) for each in installs), installs
    assert text.endswith(f'\necho "holds: {script.stem}"\n')
    assert os.access(script, os.X_OK)
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
