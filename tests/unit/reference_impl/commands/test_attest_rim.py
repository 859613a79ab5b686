"""``carnet attest rim``: reference values by themselves, accepted only with their vendor's signature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from carnet_check.cli import main
from tests.fixtures.nvidia_pki import AT, pem, world

W = world()
SIGNED = W.rims()[0]
WHEN = f"{AT:%Y-%m-%dT%H:%M:%SZ}"


def attest(folder: Path, rim: bytes, *words: str) -> Result:
    (folder / "rim").write_bytes(rim)
    (folder / "roots").write_bytes(pem([W.root.certificate, W.rim_root.certificate]))
    given = [str(folder / "rim"), "--trust-anchor", str(folder / "roots"), "--at", WHEN, *words]
    return CliRunner().invoke(main, ["attest", "rim", *given])


@pytest.mark.parametrize(
    ("rim", "code", "step"),
    [
        (SIGNED, 0, None),
        (SIGNED.replace(b'index="9"', b'index="90"', 1), 1, "signature"),
        (b"<no rim/>", 1, "parse"),
    ],
    ids=["signed", "altered", "none"],
)
def test_reference_values_are_accepted_as_their_vendor_signed_them(
    tmp_path: Path, rim: bytes, code: int, step: str | None
) -> None:
    result = attest(tmp_path, rim, "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["failed_step"]) == (code, step)
    assert bool(shown["claims"]) is (code == 0)


def test_there_is_no_policy_for_them(tmp_path: Path) -> None:
    result = attest(tmp_path, SIGNED, "--policy", "any")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
