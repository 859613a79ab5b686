"""From answers to claims: what a proof rests on is all accounted for, and hints are remembered."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.engines.interface import ProofBasis, Task
from carnet_check.engines.proving import solver
from carnet_check.engines.proving.composition import ClaimProof, Composition, SolverAnswer, SolverOutcome
from carnet_check.engines.proving.prover import Prover
from carnet_check.engines.registry import ENGINES, registered_engines
from carnet_check.engines.runner import NullListener
from carnet_check.loading.families import load
from carnet_check.obligations import layers, obligations
from carnet_check.results import Verdict
from carnet_check.verification.planning import Request, plan_campaign
from tests.proofs import workbench
from tests.unit.model_check.command import FIXTURES, carnet
from tests.unit.model_check.engines.induction import lessons
from tests.unit.model_check.engines.induction.lessons import draft

KNOWN = {"step/a/x": ("inv:x", "guard:g"), "init/x": (), "step/b/x": ("inv:x",)}


def _answer(
    id: str, core: tuple[str, ...], attempt: int = 0, outcome: SolverOutcome = SolverOutcome.PROVED
) -> SolverAnswer:
    return SolverAnswer(id, outcome, core, attempt=attempt)


def test_only_proofs_by_the_solver_are_remembered_and_the_first_of_each() -> None:
    answers = [
        _answer("one", ("inv:x",)),
        _answer("one", ("inv:y",)),
        _answer("refuted", (), outcome=SolverOutcome.REFUTED),
        _answer("unknown", (), outcome=SolverOutcome.UNKNOWN),
        _answer("on sight", (), attempt=-1),
    ]
    assert workbench.hints_from(answers) == {"one": ("inv:x",)}


def test_the_file_is_the_same_whatever_the_order(tmp_path: Path) -> None:
    texts = []
    for number, known in enumerate((KNOWN, dict(reversed(KNOWN.items())))):
        path = tmp_path / str(number) / "main.json"
        workbench.save_hints(known, path)
        texts.append(path.read_text("utf-8"))
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 2 + len({"inv:x", "guard:g"}) + len(KNOWN), "a line for each"


WRONG_PLACE = b'{"names": [], "cores": {"a": [0]}}'
WRONG_KIND = b'{"names": 1, "cores": {"a": [0]}}'


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", WRONG_PLACE, WRONG_KIND, b"\xff"])
def test_a_file_that_cannot_be_read_is_no_hint(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "main.json"
    file.write_bytes(content)
    monkeypatch.setattr(solver, "place_of", lambda _: file)
    assert solver.load_hints(draft().protocol()) == {}


def test_hints_lie_beside_their_protocol_one_file_for_each_variant() -> None:
    protocol = draft().protocol()
    place = solver.place_of(replace(protocol, id="a-lesson", variant="long"))
    assert str(place).endswith("carnet_spec/protocols/a_lesson/hints/long.json")


PROVERS = sorted(engine.name for engine in registered_engines() if Verdict.PROVED in engine.verdicts)


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
    assert (found.is_proved, found.defences) == (True, defences)


def test_there_are_provers_to_ask() -> None:
    assert set(PROVERS) >= {"induction", "kernel"}


def test_the_kernel_says_in_which_layer_it_proved(club: Path) -> None:
    campaign = plan_campaign(Request(load(f"{club}:draft"), engines=("kernel",)))
    (engine,) = campaign.engines
    task: Task = campaign.task
    outcome = engine.run(task, NullListener())
    assert dict(outcome.bases) == {row.key: ProofBasis("") for row in outcome.rows}
    assert outcome.bases


LESSON = lessons.draft().protocol()
HONEST = LESSON.threat("honest")
EVERY = layers(LESSON)
ASKED = [each for layer in EVERY for each in obligations(layer)]


def composed(claim: str, uses: dict[str, tuple[str, ...]], unknown: tuple[str, ...] = ()) -> ClaimProof:
    """Compose a claim where proofs of invariants use others, and where the first states of some are unknown."""
    answers = {
        each.id: SolverAnswer(each.id, SolverOutcome.PROVED, tuple(uses.get(each.invariant.name, ()))) for each in ASKED
    }
    for each in ASKED:
        if each.invariant.name in unknown and each.action is None:
            answers[each.id] = SolverAnswer(each.id, SolverOutcome.UNKNOWN, reason="nobody knows")
    return Composition(EVERY, ASKED, answers).claim(LESSON.claim(claim), HONEST)


#: A claim of the threat model's layer, what it uses of the general one, and two that use each other.
CHAIN = {"no-blame": ("inv:quiet",), "quiet": ("inv:told_are_honest", "axiom:idle"), "told_are_honest": ("inv:quiet",)}


def test_a_claim_rests_on_what_its_lemmas_use_and_is_open_where_one_is() -> None:
    found = composed("no-blame", CHAIN)
    assert found.is_proved
    assert found.lemmas == ("quiet", "told_are_honest")
    assert found.axioms == ("idle",)
    found = composed("no-blame", CHAIN, unknown=("told_are_honest",))
    assert (found.is_proved, found.missing) == (False, ("init/told_are_honest",))
    assert "nobody knows" in found.reason


def test_a_claim_does_not_rest_on_what_it_does_not_use() -> None:
    assert composed("no-blame", {}, unknown=("quiet", "told_are_honest")).is_proved
    assert composed("quiet", CHAIN, unknown=("no-blame", "secrecy")).is_proved
    assert not composed("quiet", CHAIN, unknown=("quiet",)).is_proved
    assert composed("secrecy", CHAIN, unknown=("quiet",)).is_proved
