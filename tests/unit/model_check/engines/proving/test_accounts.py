"""Every engine that proves accounts for every axiom that a proof uses, by its assumption's name or by its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from carnet_check.engines.interface import ProofBasis, Task
from carnet_check.engines.proving.composition import Composition, SolverAnswer, SolverOutcome
from carnet_check.engines.proving.prover import Prover
from carnet_check.engines.registry import ENGINES, registered
from carnet_check.engines.runner import NullListener
from carnet_check.loading.families import load
from carnet_check.obligations import layers, obligations
from carnet_check.results import Verdict
from carnet_check.verification.planning import Request, planned
from tests.unit.model_check.command import FIXTURES, carnet
from tests.unit.model_check.engines.induction import lessons

PROVERS = sorted(engine.name for engine in registered() if Verdict.PROVED in engine.verdicts)


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a protocol with its certificates beside it."""
    spec = tmp_path_factory.mktemp("club") / "assumed.py"
    shutil.copy(FIXTURES / "assumed.py", spec)
    assert carnet("certify", f"{spec}:draft", "--jobs", "1").code == 0
    return spec


@pytest.mark.parametrize("name", PROVERS)
def test_an_axiom_is_listed_by_its_assumption_or_by_its_own_name(club: Path, name: str) -> None:
    engine = ENGINES[name]
    if isinstance(engine, Prover) and (lacking := engine.missing()):
        pytest.skip(f"needs {lacking}")
    ran = carnet("verify", f"{club}:draft", "--engine", name, "--jobs", "1", "--json")
    (row,) = (row for row in ran.json["results"] if row["kind"] == "claim")
    assert row["verdict"] == "PROVED"
    assert row["assumptions"] == ["A1", "axiom: the founder is honest"]
    assert row["defences"] == ["list"]


@pytest.mark.parametrize(("claim", "defences"), [("quiet", ("forgetting",)), ("no-blame", ())])
def test_a_defence_that_is_an_update_is_listed_though_no_core_names_it(claim: str, defences: tuple[str, ...]) -> None:
    lesson = lessons.draft().protocol()
    every = layers(lesson)
    asked = [each for layer in every for each in obligations(layer)]
    answers = {each.id: SolverAnswer(each.id, SolverOutcome.PROVED) for each in asked}
    found = Composition(every, asked, answers).claim(lesson.claim(claim), lesson.threat("honest"))
    assert (found.proved, found.defences) == (True, defences)


def test_there_are_provers_to_ask() -> None:
    assert set(PROVERS) >= {"induction", "kernel"}


def test_the_kernel_says_in_which_layer_it_proved(club: Path) -> None:
    campaign = planned(Request(load(f"{club}:draft"), engines=("kernel",)))
    (engine,) = campaign.engines
    task: Task = campaign.task
    outcome = engine.run(task, NullListener())
    assert dict(outcome.bases) == {row.key: ProofBasis("") for row in outcome.rows}
    assert outcome.bases
