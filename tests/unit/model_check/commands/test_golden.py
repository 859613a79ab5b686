"""What people read, word for word, at eighty columns.

The texts lie in ``__snapshots__``; after a change that is meant, ``pytest --snapshot-update`` writes them again, and
the difference is reviewed like any other.
"""

import re

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.unit.model_check.command import FIXTURES, carnet

#: Fixed protocols of the tests' own, so that no change of a real specification changes what is compared.
CASES = {
    "verify-sound": ("verify", "toy.py", "--jobs", "1"),
    "verify-long": ("verify", "toy.py", "--jobs", "1", "--long"),
    "verify-violated": ("verify", "controls.py:wrong_claim", "--jobs", "1"),
    "verify-vacuous": ("verify", "controls.py:unreachable_goal", "--jobs", "1"),
    "attack-found": ("attack", "toy.py", "--without", "fresh-key", "--mermaid"),
    "attack-in-full": ("attack", "toy.py", "--variant", "forgetful", "--full"),
    "attack-redundant": ("attack", "toy.py", "--without", "return-checked", "--jobs", "1"),
    "explain-claim": ("explain", "secrecy", "--protocol", "toy.py"),
    "explain-action": ("explain", "take_back", "--protocol", "toy.py"),
    "explain-defence": ("explain", "fresh-key", "--protocol", "toy.py"),
}

WHAT_VARIES = {
    r"\b\d+\.\d s\b": "<time>",
    r"\b[0-9a-f]{16}\b": "<digest>",
    r"carnet [\d.]+ · z3(?:[^\S\n]|\n {13}|\S)*python\s+[\d.]+": "<versions>",
}


class Text(SingleFileSnapshotExtension):
    """Keeps each text in a file of its own, as it is printed."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Text)


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_kept_one(name: str, golden: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)
    monkeypatch.setenv("COLUMNS", "80")
    text = carnet(*CASES[name]).out
    for varying, shown in WHAT_VARIES.items():
        text = re.sub(varying, shown, text)
    assert golden == text
    assert [line for line in text.splitlines() if len(line) > 80 and "carnet " not in line] == []


def test_an_attack_on_a_real_protocol_fits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = carnet(
        "attack",
        "gpu-travelling",
        "--threat",
        "holder",
        "--claim",
        "model-confidentiality",
        "--full",
        "--variant",
        "engine-per-holder",
    )
    assert "VIOLATED: model-confidentiality under holder" in ran.out
    assert [line for line in ran.out.splitlines() if len(line) > 80 and "carnet " not in line] == []
