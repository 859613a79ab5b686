"""``carnet report``: the check of a bundle ends as the run did."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.model_check.command import TOY, carnet, control
from tests.unit.model_check.report.signing import PRIVATE, PUBLIC


@pytest.mark.mends("L10")
@pytest.mark.parametrize(("protocol", "code"), [(control("wrong_claim"), 1), (TOY, 0)])
def test_the_check_of_a_bundle_ends_as_the_run_did(tmp_path: Path, protocol: str, code: int) -> None:
    run, private, public, bundle = (str(tmp_path / name) for name in ("run", "key.pem", "key.pub", "evidence"))
    Path(private).write_bytes(PRIVATE)
    Path(public).write_bytes(PUBLIC)
    assert carnet("verify", protocol, "--engine", "explicit", "--out", run).code == code
    assert carnet("report", run, "--bundle", bundle, "--key", private).code == 0
    ran = carnet("report", run, "--check-bundle", bundle, "--key", public)
    assert ran.code == code
    assert ran.out.startswith("FAILED" if code else "PASSED")
    assert carnet("report", run, "--html", str(tmp_path / "html")).code == 0
