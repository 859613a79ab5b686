"""What lies beside the code is installed with it: a file that no pattern names would be missing from the package."""

from __future__ import annotations

import tomllib

import pytest

from tests.repo.tracked import ROOT, SOURCE_ROOTS, tracked_files

PATTERNS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
PACKAGES = {file.parent.name: file.parent for root in SOURCE_ROOTS for file in root.glob("*/__init__.py")}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_beside_the_code_is_installed(package: str) -> None:
    installed = {found for pattern in PATTERNS[package] for found in PACKAGES[package].glob(pattern)}
    beside = (ROOT / file for file in tracked_files() if file.suffix != ".py")
    assert {file for file in beside if PACKAGES[package] in file.parents} - installed == set()


def test_every_package_says_what_lies_beside_its_code() -> None:
    assert set(PATTERNS) == set(PACKAGES)
