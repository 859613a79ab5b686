"""Findings are scripts that install exact versions, say what they saw and when, and stand in the folder's table."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.repo.tracked import ROOT

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
    installs = re.findall(r"(?:pip\"? install|apt-get) -q (?:download )?(\S+)", text)
    assert installs
    assert all(re.fullmatch(r"[\w.-]+==?\d[\w.+-]*", each) for each in installs), installs
    assert text.endswith(f'\necho "holds: {script.stem}"\n')
    assert os.access(script, os.X_OK)
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
