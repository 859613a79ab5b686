"""What has to be believed is complete: whatever a verdict's code imports is on the list, or harmless for a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs._ext.carnet_pages.counted_proofs import ROOT, TRUSTED

BASES = (ROOT / "spec", ROOT / "model_check")
COMMON = "To believe `--engine kernel`, without Coq"
HARMLESS: dict[str, str] = {
    "carnet_check/certificates/file.py": "finds and reads certificates, which the kernel judges",
    "carnet_check/coq": "asks the program from Coq, which says for itself whether it accepts",
    "carnet_check/engines/interface.py": "what a task and an outcome are",
    "carnet_check/engines/runner.py": "in how many processes work is done",
    "carnet_check/errors.py": "errors",
    "carnet_check/exports/tptp.py": "writes the same obligations for E",
    "carnet_check/loading": "finds the specification, whose digest is shown, and instances of it",
    "carnet_check/results.py": "verdicts and their order",
    "carnet_check/commands/common.py": "options of commands",
    "carnet_command/exit_codes.py": "exit codes",
    "carnet_command/garbage.py": "how often Python looks for objects that nobody has any more",
    "carnet_command/files.py": "reads files, and says why it cannot",
    "carnet_command/interrupts.py": "ends what is interrupted",
    "carnet_command/text.py": "words",
    "carnet_spec": "the language, and the protocols that are written in it",
}
"""Files or folders that are imported and need not be believed, or are on the list by name, each with why."""
CODE: dict[str, tuple[str, ...]] = {
    COMMON: ("carnet_check.engines.kernel.engine",),
    "To believe `carnet recheck`, without Coq": ("carnet_check.commands.recheck", "carnet_check.certificates.folder"),
}


def file_of(module: str) -> Path | None:
    places = (base / module.replace(".", "/") for base in BASES)
    every = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return next((file for file in every if file.is_file()), None)


def imported(file: Path) -> Iterator[str]:
    """Yield the modules of Carnet that a file imports, in functions too."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def reached(*modules: str) -> set[str]:
    """Return the files that these modules import, and what those import, unless they are harmless."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        file = file_of(waiting.pop())
        if file is None or name_of(file) in found:
            continue
        found.add(name_of(file))
        if not _within(name_of(file), HARMLESS):
            waiting += imported(file)
    return found


def name_of(file: Path) -> str:
    base = next(base for base in BASES if file.is_relative_to(base))
    return file.relative_to(base).as_posix()


def _within(file: str, listed: dict[str, str] | set[str]) -> bool:
    return any(file == each or file.startswith(f"{each}/") for each in listed)


def believed(heading: str) -> set[str]:
    parts = {*TRUSTED[COMMON], *TRUSTED[heading]}
    return {path.removeprefix("model_check/").removeprefix("spec/") for path in parts}


@pytest.mark.parametrize("heading", CODE)
def test_whatever_is_imported_is_to_be_believed_or_harmless(heading: str) -> None:
    listed = believed(heading)
    strange = sorted(each for each in reached(*CODE[heading]) if not _within(each, listed | set(HARMLESS)))
    assert strange == []


def test_nothing_is_called_harmless_that_is_to_be_believed_or_imported_nowhere() -> None:
    every = set().union(*(reached(*modules) for modules in CODE.values()))
    for each in HARMLESS:
        assert any(_within(file, {each}) for file in every), each
        assert not any(_within(file, {each}) for heading in CODE for file in believed(heading)), each


def test_all_that_is_to_be_believed_is_imported() -> None:
    for heading, modules in CODE.items():
        files = reached(*modules, "carnet_check.engines.kernel.engine")
        for each in believed(heading):
            assert any(_within(file, {each}) for file in files), each


def test_the_page_names_what_is_to_be_believed() -> None:
    text = (ROOT / "docs" / "assurance" / "proofs.md").read_text("utf-8")
    for heading in CODE:
        for each in TRUSTED[heading]:
            assert f"`{Path(each).name}`" in text or each.partition("/")[2] in text, each
