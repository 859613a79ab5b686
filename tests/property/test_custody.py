"""Whatever a hostile platform, a corrupt holder, crashes and time do to a run, what is claimed of it holds."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from carnet_ref.systems.gpu_travelling.defences import Defences
from tests.property.custody import Custody, QuietCustody, SealedCustody

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


WEAKNESSES: dict[str, tuple[type[Custody], tuple[str, ...]]] = {
    "residue": (SealedCustody, ("scrub-workspace",)),
    "a repeated IV": (SealedCustody, ("sender-iv-monotonic",)),
    "planted code": (QuietCustody, ("received-count", "code-reupload", "code-read-back", "fence")),
}


@pytest.mark.parametrize(("machine", "off"), WEAKNESSES.values(), ids=WEAKNESSES)
def test_the_machine_finds_what_it_looks_for(machine: type[Custody], off: tuple[str, ...]) -> None:
    looks_for(machine, off)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("off", [off for _, off in WEAKNESSES.values()], ids=WEAKNESSES)
def test_the_machine_finds_it_among_everything_else(off: tuple[str, ...]) -> None:
    looks_for(SealedCustody, off)


def looks_for(machine: type[Custody], off: tuple[str, ...]) -> None:
    """See that a machine refutes a design without some defences."""

    class Weak(machine):  # type: ignore[misc,valid-type] # a base class that is a parameter
        defences = Defences(frozenset(off))

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Weak, settings=settings(SAMPLE, max_examples=4_000))
