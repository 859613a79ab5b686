"""NVIDIA's own verifier and Carnet judge the same H100 evidence and mutations of it: Carnet is never laxer.

Where Carnet is stricter, the row says why. The verifier runs in an environment of its own (`nvidia_verifier_driver`).
"""

from pathlib import Path

import pytest

from tests.fixtures.nvidia_evidence import FOLDER, MISSING
from tests.fixtures.nvidia_mutations import BITS_FLIPPED, UNASKED, accepts, judged_by_nvidia, mutations
from tests.fixtures.own_environment import UnavailableError, verifier_python

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.skipif(FOLDER is None, reason=MISSING)]
STRICTER = {"OCSP replies of 19 days before": "a reply counts until nextUpdate, and the verifier does not look at it"}


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return verifier_python()
    except UnavailableError as error:
        pytest.skip(str(error))


def test_carnet_accepts_what_nvidias_verifier_accepts_or_says_why_not(python: Path, tmp_path: Path) -> None:
    rows = list(mutations())
    assert len(rows) > BITS_FLIPPED + 20
    theirs = judged_by_nvidia(python, rows, tmp_path)
    ours = [row.appraised() for row in rows]
    laxer = [row.name for row, us, them in zip(rows, ours, theirs, strict=True) if accepts(us) and not them]
    stricter = {row.name for row, us, them in zip(rows, ours, theirs, strict=True) if them and not accepts(us)}
    assert theirs[0], "the verifier does not accept the genuine evidence, so the comparison says nothing"
    assert [step for step in ours[0].steps if step.ok is False] == [UNASKED]
    assert not laxer
    assert stricter <= set(STRICTER)
    assert "OCSP replies of 19 days before" in stricter
