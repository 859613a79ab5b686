"""Whatever a hostile platform, a corrupt holder, crashes and time do to a run, what is claimed of it holds."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.custody import Custody, SealedCustody

SAMPLE = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
LONG = settings(SAMPLE, max_examples=5_000)


@pytest.mark.parametrize("machine", [Custody, SealedCustody])
def test_claims_hold_whatever_happens(machine: type[Custody]) -> None:
    run_state_machine_as_test(machine, settings=SAMPLE)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("machine", [Custody, SealedCustody])
def test_claims_hold_over_ten_thousand_runs(machine: type[Custody]) -> None:
    run_state_machine_as_test(machine, settings=LONG)


WEAKNESSES = {
    "residue": ("scrub-workspace",),
    "a repeated IV": ("sender-iv-monotonic",),
    "planted code": ("received-count", "code-reupload", "code-read-back", "fence"),
}


@pytest.mark.long
@pytest.mark.parametrize("lacking", WEAKNESSES.values(), ids=WEAKNESSES)
def test_the_machine_finds_what_it_looks_for(lacking: tuple[str, ...]) -> None:
    class Weak(SealedCustody):
        off = frozenset(lacking)

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Weak, settings=settings(SAMPLE, max_examples=4_000))
