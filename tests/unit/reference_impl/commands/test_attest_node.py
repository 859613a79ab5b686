"""``carnet attest node``: one verdict for the devices in one or several files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from carnet_check.cli import main
from carnet_ref.attestation.nvidia.wrappers import MOST_DEVICES
from tests.fixtures.nvidia_node import GPUS, SWITCHES, members
from tests.fixtures.nvidia_pki import AT, NONCE, pem, world
from tests.fixtures.wrapped_evidence import entries, entry, request

W = world()
DEVICES = [(each.evidence().report, each.device.chain()) for each in members()]


def attest(*words: str) -> Result:
    return CliRunner().invoke(main, ["attest", "node", *words])


def found(*words: str) -> Any:
    return json.loads(attest(*words, "--json").stdout)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Write the node in one file, and in two of different kinds."""
    made = {
        "all": json.dumps(entries(DEVICES)),
        "gpus": json.dumps(request(DEVICES[:GPUS])),
        "switches": json.dumps(entries(DEVICES[GPUS:])),
        "policy": json.dumps({"require": ["nonce"], "gpus": GPUS, "switches": SWITCHES, "require_links": True}),
        "many": json.dumps([entry(DEVICES[0])] * MOST_DEVICES),
        "report": DEVICES[0][0].hex(),
        "text": "no node",
    }
    for name, text in made.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "roots").write_bytes(pem([W.root.certificate, W.rim_root.certificate]))
    return {name: str(tmp_path / name) for name in (*made, "roots")}


def usual(files: dict[str, str], *further: str) -> list[str]:
    return ["--trust-anchor", files["roots"], "--at", f"{AT:%Y-%m-%dT%H:%M:%SZ}", *further]


@pytest.mark.parametrize("given", [["all"], ["gpus", "switches"], ["switches", "gpus"]])
def test_a_node_is_accepted_from_one_file_or_several(files: dict[str, str], given: list[str]) -> None:
    words = [*(files[name] for name in given), *usual(files, "--nonce", NONCE.hex(), "--policy", files["policy"])]
    shown = found(*words)
    assert (shown["accepted"], shown["claims"]["gpus"], shown["claims"]["switches"]) == (True, GPUS, SWITCHES)
    assert [step["id"].partition(".")[2] for step in shown["steps"]][4] == "document"
    result = attest(*words)
    assert result.exit_code == 0
    assert "claim   devices 5" in result.stdout
    again = shlex.split(result.stdout.splitlines()[-1].removeprefix("rerun"))
    assert attest(*again[3:]).stdout == result.stdout


@pytest.mark.parametrize(
    ("given", "step"),
    [
        (["all", "gpus"], "distinct"),
        (["gpus", "gpus"], "distinct"),
        (["switches"], "count"),
        (["many", "many"], "parse"),
        (["all", "text"], "parse"),
    ],
)
def test_a_node_that_does_not_hold_is_refused(files: dict[str, str], given: list[str], step: str) -> None:
    words = [*(files[name] for name in given), *usual(files)]
    assert (attest(*words).exit_code, found(*words)["failed_step"]) == (1, step)


@pytest.mark.parametrize(
    ("words", "why"), [([], "Missing argument"), (["report"], "a report alone has no certificates")]
)
def test_bad_usage_exits_2(files: dict[str, str], words: list[str], why: str) -> None:
    result = attest(*(files[word] for word in words), *usual(files))
    assert (result.exit_code, why in result.stderr) == (2, True)
