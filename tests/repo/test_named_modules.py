"""Pages name modules that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo.tracked import SOURCE_ROOTS, read, tracked_files

PAGES = [path for path in tracked_files() if path.suffix == ".md"]
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


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_names_modules_that_exist(page: Path) -> None:
    assert list(lost(read(page))) == []


def test_a_module_that_moved_is_noticed() -> None:
    assert list(lost("`carnet_check.semantics`, `carnet_check.meanings`")) == ["carnet_check.meanings"]
