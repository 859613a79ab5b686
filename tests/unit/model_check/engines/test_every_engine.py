"""What every registered engine promises, a toy engine among them: a new engine has to pass this and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from carnet_check.commands.doctor import look_for
from carnet_check.engines import registry
from carnet_check.engines.interface import Engine, EngineResult, JudgesLemmaClaims
from carnet_check.engines.native.engine import NATIVE
from carnet_check.engines.registry import default_engines
from carnet_check.engines.runner import Listener
from carnet_check.loading.families import load
from carnet_check.results import STRENGTH, Kind, Result, Verdict
from carnet_check.semantics import Interpreter
from carnet_check.verification.campaign import verify
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Campaign, Request, plan_campaign
from docs._ext.carnet_pages.listings import engines
from tests.oracle.compare import judge
from tests.oracle.protocols import recipes
from tests.oracle.recipe import Recipe
from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, WIDE, carnet, control
from tests.unit.model_check.engines.toy import REGISTRATION, TOY_ENGINE

MODEST = {"cvc5": 50_000, "eprover": 300}  #: Budgets, in an engine's own units, that random protocols fit into.
OTHERWISE = 400_000
LEMMA_ENGINES = ["lemma-count", "lemma-calc"]
MENDED = FIXTURES / "mended.py"
LAPS = f"{FIXTURES / 'laps.py'}:FAMILY"
ESTABLISHED = set(Verdict) - {Verdict.UNKNOWN, Verdict.VIOLATED, Verdict.VACUOUS, Verdict.ERROR}


def _may_be_absent(engine: Engine) -> object:
    """Skip an engine that needs what is not installed here; the toy needs an abacus only to say so."""
    lacking = [tool.name for tool in engine.needs if not look_for(tool).present]
    mark = pytest.mark.skipif(bool(lacking), reason=f"{', '.join(lacking)} is not installed")
    return pytest.param(engine, marks=[mark] if engine is not TOY_ENGINE else [], id=engine.name)


EVERY = (*registry.registered_engines(), TOY_ENGINE)
every_engine = pytest.mark.parametrize("engine", [_may_be_absent(each) for each in EVERY])
#: Engines of lemma claims judge nothing else: ``lemmas/test_engine.py`` has what they promise.
every_judge_of_steps = pytest.mark.parametrize(
    "engine", [_may_be_absent(each) for each in EVERY if not isinstance(each, JudgesLemmaClaims)]
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Register the toy engine: one line."""
    name, target = REGISTRATION
    registry.ENGINES[name] = target
    yield
    del registry.ENGINES[name]


class Heard(Listener):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def status(self, text: str) -> None:
        self.told.append(text)

    def line(self, text: str) -> None:
        self.told.append(text)


def asked(reference: str, engine: Engine, variant: str = "") -> Campaign:
    request = Request(load(reference), variants=(variant,) if variant else ())
    return replace(plan_campaign(request), engines=(engine,))


def answered(reference: str, engine: Engine, variant: str = "") -> CampaignOutcome:
    return verify(asked(reference, engine, variant))


def claims(outcome: CampaignOutcome) -> dict[tuple[str, str], Result]:
    return {(row.claim, row.threat): row for row in outcome.results if row.kind is Kind.CLAIM}


def timeless(outcome: EngineResult) -> list[Result]:
    return [replace(row, seconds=0.0) for row in outcome.rows]


@every_engine
def test_it_is_registered_under_its_name(engine: Engine) -> None:
    (found,) = registry.select_engines([engine.name])
    assert found is engine


@every_engine
def test_it_says_what_it_does(engine: Engine) -> None:
    campaign = asked(TOY, engine)
    outcome = engine.run(campaign.task, Heard())
    told = (
        engine.purpose,
        engine.intention(campaign.task),
        engine.budget(campaign.profile),
        *engine.strength(campaign.task, outcome),
    )
    assert all(text and "\n" not in text for text in told)
    assert engine.strength(campaign.task, outcome)[0].startswith(engine.name)


@every_engine
def test_its_words_are_of_the_closed_set(engine: Engine) -> None:
    assert engine.verdicts
    assert set(engine.verdicts) <= ESTABLISHED <= set(STRENGTH)
    source = load(LAPS)
    assert {engine.expected_verdict(source.profile(name)) for name in ("tiny", "ci")} <= set(engine.verdicts)


HOLDS = {
    "a sound protocol": (control("sound"), "", [("one-holder", "anyone")]),
    "the toy": (TOY, "main", [("secrecy", "none"), ("secrecy", "collusion")]),
    "laps": (LAPS, "", [("counted", "dogs")]),
}
FALLS = {
    "a wrong claim": (control("wrong_claim"), "", ("stays-home", "anyone")),
    "keys drawn twice": (f"{MENDED}:keys_given_back", "", ("tight", "unrestricted")),
    "two names of one": (f"{MENDED}:two_names_of_one", "", ("tight", "unrestricted")),
}


@every_judge_of_steps
@pytest.mark.parametrize("name", HOLDS)
def test_what_holds_is_established(engine: Engine, name: str) -> None:
    reference, variant, pairs = HOLDS[name]
    outcome = answered(reference, engine, variant)
    rows = claims(outcome)
    assert set(rows) == set(pairs)
    assert {row.verdict for row in rows.values()} <= set(engine.verdicts)
    assert all(row.as_expected and row.engine == engine.name and row.detail for row in rows.values())
    assert outcome.exit_code == 0


@every_judge_of_steps
@pytest.mark.parametrize("name", FALLS)
def test_what_falls_is_never_established(engine: Engine, name: str) -> None:
    reference, variant, pair = FALLS[name]
    outcome = answered(reference, engine.with_limit(MODEST.get(engine.name, OTHERWISE)), variant)
    row = claims(outcome).get(pair)
    if engine.refutes:
        assert row is not None
        assert row.verdict is Verdict.VIOLATED
        judge = Interpreter(load(reference).protocol(variant), outcome.instance_of(row))
        (found,) = (each.violations[row.claim] for each in outcome.searches if row.claim in each.violations)
        assert found.steps == row.steps
        assert not judge.holds(judge.protocol.claim(row.claim).checked.formula, judge.replay(found)[-1])
    else:
        assert row is None or row.verdict is Verdict.UNKNOWN


@every_judge_of_steps
def test_every_pair_that_should_hold_has_one_row(engine: Engine) -> None:
    campaign = asked(TOY, engine)
    rows = engine.run(campaign.task, Heard()).rows
    pairs = [(claim.name, threat.id) for plan in campaign.plans for claim, threat in plan.pairs]
    assert [(row.claim, row.threat) for row in rows] == pairs
    assert {row.engine for row in rows} == {engine.name}
    assert {row.protocol for row in rows} == {"toy"}


@every_judge_of_steps
def test_equal_tasks_have_equal_outcomes(engine: Engine) -> None:
    task = asked(TOY, engine).task
    first, heard = engine.run(task, Heard()), Heard()
    assert timeless(engine.run(task, heard)) == timeless(first)
    assert heard.told, "a listener is told what goes on"


@every_judge_of_steps
@pytest.mark.parametrize("reference", [TOY, WIDE, control("sound")], ids=["toy", "wide", "sound"])
def test_a_budget_too_small_establishes_nothing(engine: Engine, reference: str) -> None:
    outcome = answered(reference, engine.with_limit(1))
    rows = claims(outcome).values()
    assert rows
    assert {row.verdict for row in rows} == {Verdict.UNKNOWN}
    assert outcome.exit_code == 3


@every_engine
def test_its_budget_is_what_it_says(engine: Engine) -> None:
    profile = load(TOY).profile("tiny")
    assert "1,234,567" in engine.with_limit(1_234_567).budget(profile)
    assert engine.with_limit(1_234_567).name == engine.name
    assert "1,234,567" not in engine.budget(profile)


handful = settings(
    max_examples=6, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck), derandomize=True
)


@every_judge_of_steps
def test_what_it_says_of_random_protocols_is_true(engine: Engine) -> None:
    @handful
    @given(recipes())
    def judged(recipe: Recipe) -> None:
        found = judge(recipe, (engine.with_limit(MODEST.get(engine.name, OTHERWISE)),))
        assert not found.disagreements, "\n".join(map(str, found.disagreements))

    judged()


def test_a_registered_engine_is_asked_by_its_word() -> None:
    ran = carnet("verify", TOY, "--engine", "toy", "--json")
    assert ran.code == 0
    assert {(row["claim"], row["engine"], row["verdict"]) for row in ran.json["results"]} == {
        ("secrecy", "toy", "EXHAUSTED")
    }
    assert ran.json["run"]["strength"].startswith('toy: 3 Agent · 3 Key (author: "toy: 2 borrowers')
    assert [goal["reached"] for goal in ran.json["goals"]] == [True]


def test_a_registered_engine_has_its_place_in_words_and_in_the_matrix() -> None:
    assert (
        "--engine [bmc|cvc5|eprover|explicit|induction|kernel|lemma-calc|lemma-count|native|toy]"
        in carnet("verify", "--help").out
    )
    ran = carnet("verify", TOY, "--engine", "toyy")
    assert (ran.code, "'toyy' is not one of" in ran.err) == (2, True)
    ran = carnet("verify", TOY, "--engine", "toy", "--engine", "induction", "--jobs", "1", "--long")
    assert "secrecy  PROVED·EXHAUSTED  PROVED·EXHAUSTED" in ran.out
    assert "every state of profile tiny: 3 Agent · 3 Key (author:" in ran.out
    assert "assumed in the explored instances: A1" in ran.out


def test_an_engine_that_does_not_run_by_default_is_left_out() -> None:
    rows = carnet("verify", TOY, "--jobs", "1", "--json").json["results"]
    assert {row["engine"] for row in rows} == {"induction", FASTEST}


def test_explicit_runs_by_default_where_nothing_faster_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(NATIVE), "lacks", "not installed")
    assert [engine.name for engine in default_engines()] == ["induction", "explicit", *LEMMA_ENGINES]


def test_the_doctor_knows_a_registered_engine_and_what_it_needs() -> None:
    found = carnet("doctor", "--json").json
    names = ["induction", "explicit", "native", "kernel", "cvc5", "eprover", "bmc"]
    assert [each["name"] for each in found["engines"]] == [*names, *LEMMA_ENGINES, "toy"]
    (toy,) = (each for each in found["engines"] if each["name"] == "toy")
    assert (toy["missing"], toy["by_default"], toy["verdicts"]) == (["abacus"], False, ["EXHAUSTED", "HOLDS-TO"])
    text = carnet("doctor").out
    assert "toy" in text
    assert "absent       abacus" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_documentation_lists_a_registered_engine() -> None:
    (row,) = (line for line in engines().splitlines() if line.startswith("| `toy`"))
    assert row == (
        "| `toy` | every state of tiny instances, slowly | EXHAUSTED, HOLDS-TO | yes | no | the package 'abacus' |"
    )
