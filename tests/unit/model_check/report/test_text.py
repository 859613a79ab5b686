"""What people and tools read of a run: eighty columns, schemas, exit codes, and the folder that is kept."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from lxml import etree

import carnet_spec
from carnet_check.attacks.describing import mermaid
from carnet_check.commands.matrix import matrices
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from carnet_check.report.formats import junit
from carnet_check.report.html import write_html
from carnet_check.report.run_folder import read_run
from carnet_check.results import Result, Verdict, by_verdict, exit_code
from carnet_check.semantics import Interpreter, State
from carnet_check.verification.checks import disagreements
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, plan_campaign
from carnet_check.wording import fill_places, knowers, knowledge_of
from carnet_command import files as artefacts
from carnet_command.text import join_words, wrap_text
from carnet_spec.language import Draft, Individual, Instance, Kind, Protocol, Role, Step, constant, relation
from carnet_spec.trace import Trace, TraceStep
from carnet_spec.trace import TraceStep as Taken
from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, carnet, control


def test_sentences_and_wrapped_text_keep_what_is_no_parameter_and_their_width() -> None:
    assert (
        fill_places("{a} sends {k} in {braces} to {a}", {"a": "alice", "k": "k1"})
        == "alice sends k1 in {braces} to alice"
    )
    assert join_words(["k1"]) == "k1"
    assert join_words(["k1", "k2", "k3"]) == "k1, k2 and k3"
    lines = wrap_text("label", "word " * 40)
    assert lines[0].startswith("label        word")
    assert all(len(line) <= 78 for line in lines)
    assert all(line.startswith(" " * 13) for line in lines[1:])


def test_narrow_matrices_put_the_engines_below_one_another() -> None:
    rows = tuple(
        Result("toy", "main", "secrecy", threat, engine, verdict, verdict)
        for threat in ("none", "collusion")
        for engine, verdict in (("induction", Verdict.PROVED), (FASTEST, Verdict.EXHAUSTED))
    )
    outcome = CampaignOutcome(plan_campaign(Request(load(TOY))), results=rows)
    assert "secrecy  PROVED·EXHAUSTED  PROVED·EXHAUSTED" in matrices(outcome, width=80)
    narrow = matrices(outcome, width=30)
    assert "secrecy  PROVED     PROVED" in narrow
    assert "         EXHAUSTED  EXHAUSTED" in narrow


def test_what_is_expected_to_fall_is_marked_and_what_is_not_stands_out() -> None:
    rows = (
        Result("toy", "main", "secrecy", "none", "explicit", Verdict.VIOLATED, Verdict.VIOLATED),
        Result("toy", "main", "secrecy", "collusion", "explicit", Verdict.UNKNOWN, Verdict.EXHAUSTED, detail="why"),
    )
    lines = matrices(CampaignOutcome(plan_campaign(Request(load(TOY), engines=("explicit",))), results=rows))
    assert "secrecy  VIOLATED*  UNKNOWN!" in lines
    assert any(line.startswith("* expected") for line in lines)
    assert "  UNKNOWN  secrecy · collusion · explicit (expected EXHAUSTED)" in lines
    assert "    why" in lines


def test_files_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "verdicts.jsonl"
    artefacts.write_lines(file, [{"a": 1}, {"b": "ü"}])
    assert file.read_text() == '{"a":1}\n{"b":"ü"}\n'

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="no space left on device"):
        artefacts.write_text(tmp_path / "other", "x")
    assert [each.name for each in tmp_path.iterdir()] == ["verdicts.jsonl"]


class Agent(Individual):
    """A party."""


class Key(Individual):
    """A key with two halves."""


SENDER = Role("sender")
spy = constant("spy", Agent)
knows_in = relation("knows_in", Agent, Key, kind=Kind.KNOWLEDGE)
knows_out = relation("knows_out", Agent, Key, kind=Kind.KNOWLEDGE)
rumour = relation("rumour", Key, kind=Kind.KNOWLEDGE)


def halves() -> Protocol:
    draft = Draft("halves", "Two halves")

    @draft.action(by=SENDER, says="{k}", source="tests", message="{a} -> {b}: half #1; of {k}")
    def give(step: Step, a: Agent, b: Agent, k: Key) -> None:
        step.insert(knows_in(b, k))
        step.insert(knows_out(b, k))
        step.insert(rumour(k))

    @draft.action(by=SENDER, says="{a} keeps quiet; really", source="tests")
    def quiet(step: Step, a: Agent) -> None:
        step.require("is no spy", a != spy)

    return draft.protocol()


def test_knowledge_of_one_thing_in_several_ways_is_told_apart() -> None:
    state = State(
        {
            "knows_in": frozenset({("eve", "k1")}),
            "knows_out": frozenset({("eve", "k1")}),
            "rumour": frozenset({("k1",)}),
        },
        {},
    )
    assert knowledge_of(halves(), state) == {"eve": ["k1 (in, out)"], "the adversary": ["k1"]}
    before = State(
        {"knows_in": frozenset({("eve", "k1")}), "knows_out": frozenset(), "rumour": frozenset({("k1",)})}, {}
    )
    assert knowledge_of(halves(), state, before) == {"eve": ["k1 (out)"]}


def test_knowledge_is_told_of_those_only_of_whom_it_is_counted() -> None:
    instance = Instance({"Agent": ("eve", "bob"), "Key": ("k1",)}, functions={"spy": {(): "eve"}})
    assert knowers(halves(), instance, ["bob", "k1", "the adversary", "eve"]) == ["bob", "the adversary", "eve"]


def test_a_diagram_escapes_what_mermaid_would_read_as_syntax() -> None:
    protocol = halves()
    judge = Interpreter(protocol, Instance({"Agent": ("spy", "eve"), "Key": ("k1",)}, functions={"spy": {(): "spy"}}))
    steps = (
        Taken("give", "sender", (("a", "spy"), ("b", "eve"), ("k", "k1"))),
        Taken("quiet", "sender", (("a", "eve"),)),
    )
    trace = Trace("halves", "main", (), "", steps)
    drawn = mermaid(judge, judge.replay(trace), trace).splitlines()
    assert "    p0->>p1: half #35;1#59; of k1" in drawn
    assert "    Note over p1: eve keeps quiet#59; really" in drawn


SCHEMAS = FIXTURES / "schemas"
RUNS = {
    "sound": ("verify", TOY, "--jobs", "1"),
    "violated": ("verify", control("wrong_claim"), "--engine", "explicit"),
    "vacuous": ("verify", control("unreachable_goal"), "--jobs", "1"),
    "unknown": ("verify", control("wrong_claim"), "--engine", "induction", "--jobs", "1"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every output of every run."""
    folder = tmp_path_factory.mktemp("written")
    for name, arguments in RUNS.items():
        outputs = {"--sarif": "sarif", "--junit": "xml", "--markdown": "md"}
        options = [word for option, end in outputs.items() for word in (option, str(folder / f"{name}.{end}"))]
        carnet(*arguments, *options)
    return folder


def sarif_of(written: Path, name: str) -> Any:
    return json.loads((written / f"{name}.sarif").read_text())


@pytest.mark.parametrize("name", RUNS)
def test_sarif_is_valid_by_the_official_schema(written: Path, name: str) -> None:
    import jsonschema

    schema = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text())
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    assert [error.message for error in validator.iter_errors(sarif_of(written, name))] == []


def test_sarif_has_rules_and_a_result_for_each_failure(written: Path) -> None:
    assert sarif_of(written, "sound")["runs"][0]["results"] == []
    found = {
        name: [(result["ruleId"], result["level"]) for result in sarif_of(written, name)["runs"][0]["results"]]
        for name in ("violated", "vacuous", "unknown")
    }
    assert found == {
        "violated": [("R-2", "error")],
        "vacuous": [("goal/shared", "error")],
        "unknown": [("R-2", "warning")],
    }
    (run,) = sarif_of(written, "violated")["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["R-1", "R-2"]
    (result,) = run["results"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    (result,) = sarif_of(written, "violated")["runs"][0]["results"]
    (flow,) = result["codeFlows"]
    assert [thread["id"] for thread in flow["threadFlows"]] == ["first"]
    (step,) = flow["threadFlows"][0]["locations"]
    assert step["location"]["message"]["text"] == "first passes the token on to party1"
    assert step["executionOrder"] == 1


def test_a_fingerprint_does_not_depend_on_what_else_was_checked(written: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.sarif"
    carnet("verify", control("wrong_claim"), "--engine", "explicit", "--claim", "stays-home", "--sarif", str(file))
    (alone,) = json.loads(file.read_text())["runs"][0]["results"]
    (among,) = sarif_of(written, "violated")["runs"][0]["results"]
    assert alone["partialFingerprints"] == among["partialFingerprints"]


@pytest.mark.parametrize("name", RUNS)
def test_junit_is_valid_by_its_schema(written: Path, name: str) -> None:
    schema = etree.XMLSchema(etree.parse(str(SCHEMAS / "junit-10.xsd")))
    schema.assertValid(etree.parse(str(written / f"{name}.xml")))


def test_the_summary_tells_what_failed_first(written: Path) -> None:
    text = (written / "violated.md").read_text()
    assert text.index("### Not as expected") < text.index("| claim | anyone |")
    assert "* **VIOLATED**, expected EXHAUSTED: **stays-home** in main under anyone, explicit" in text
    assert "  1. first passes the token on to party1" in text
    assert "### Not as expected" not in (written / "sound.md").read_text()


def test_the_table_of_the_summary_has_what_happens_in_the_end(tmp_path: Path) -> None:
    """A proof is of every threat model."""
    desk, summary = tmp_path / "desk_in_the_end.py", tmp_path / "run.md"
    desk.write_text(LIVELY, "utf-8")
    carnet("verify", str(desk), "--engine", "induction", "--engine", "explicit", "--markdown", str(summary))
    table = [line for line in summary.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert table == [
        "| claim | anyone | nobody |",
        "| served-was-called | PROVED<br>EXHAUSTED (2) | – |",
        "| called-again (liveness) | VIOLATED ❌<br>UNKNOWN ❌ | VIOLATED ❌<br>UNKNOWN ❌ |",
        "| done (liveness) | PROVED | PROVED |",
    ]


LIVELY = """from carnet_spec.language import Draft, Formula, Role, Step, flag, implies, true

DESK = Role("desk")
served, called = flag("served", of=DESK, says="it is served"), flag("called", of=DESK, says="it is called")
draft = Draft("lively", "A desk that serves once")
draft.threat("anyone", "nothing is assumed")
draft.threat("nobody", "nothing is assumed either")


@draft.action(by=DESK, says="It is called and served.", source="tests")
def serve(step: Step) -> None:
    step.insert(served)
    step.insert(called)


@draft.claim(name="served-was-called", sentence="S.", requirement="R1", source="tests", under=("anyone",))
def _() -> Formula:
    return implies(served, called)


draft.eventually("done", true, served, sentence="It is served.", fair=("serve",))
draft.eventually("called-again", served, ~called, sentence="It is called off.")
"""


@pytest.mark.mends("N21")
@pytest.mark.mends("N6")
def test_a_result_points_at_the_line_of_its_claim_and_each_step_at_its_action(written: Path) -> None:
    (result,) = sarif_of(written, "violated")["runs"][0]["results"]
    (step,) = result["codeFlows"][0]["threadFlows"][0]["locations"]
    said = [_said_at(place["physicalLocation"]) for place in (*result["locations"], step["location"])]
    assert said == ["    def stated(", "    @token.action("]


def _said_at(place: Any) -> str:
    lines = Path(unquote(place["artifactLocation"]["uri"])).read_text().splitlines()
    line: str = lines[place["region"]["startLine"] - 1]
    return line[: line.index("(") + 1]


def test_a_claim_of_a_package_is_in_the_file_that_states_it(tmp_path: Path) -> None:
    only = ("--claim", "iv-unique", "--threat", "outsider", "--engine", "explicit")
    carnet("verify", "gpu-travelling", *only, "--out", str(tmp_path))
    places = json.loads((tmp_path / "spec.json").read_text())["places"]
    (claim,) = (place for place in places if (place["kind"], place["name"]) == ("claim", "iv-unique"))
    root = Path(next(iter(carnet_spec.__path__))).parent
    lines = (root / claim["file"]).read_text().splitlines()
    assert "claim" in lines[claim["line"] - 1]
    assert '@claim("iv-unique"' in "".join(lines[claim["line"] - 1 : claim["line"] + 3])
    assert len({place["file"] for place in places}) > 5


@pytest.mark.mends("N6")
def test_junit_counts_no_second_twice_and_tells_steps_as_a_story_does(written: Path) -> None:
    rows = [_row("a", 3.0), _row("b", 3.0), _row("c", 3.0), _row("d", 1.5)]
    suites = ElementTree.fromstring(junit(rows))
    assert [case.get("time") for case in suites.iter("testcase")] == ["1.000", "1.000", "1.000", "1.500"]
    assert [suite.get("time") for suite in suites.iter("testsuite")] == ["4.500"]
    failures = [failure.text or "" for failure in ElementTree.parse(written / "violated.xml").iter("failure")]
    assert [text.splitlines()[1:] for text in failures] == [["  1. pass_on(a=first, b=party1)"]]
    steps = [TraceStep("lend", "lender"), TraceStep("learn", "adversary"), TraceStep("use", "borrower")]
    fallen = replace(_row("a", 1.0), verdict=Verdict.VIOLATED, steps=tuple(steps))
    (failure,) = ElementTree.fromstring(junit([fallen], {"learn"})).iter("failure")
    assert (failure.text or "").splitlines()[-3:] == ["  1. lend()", "     learn()", "  2. use()"]


def _row(claim: str, seconds: float) -> Result:
    return Result("p", "main", claim, "t", "explicit", Verdict.EXHAUSTED, Verdict.EXHAUSTED, 1, seconds=seconds)


ROW = Result("toy", "main", "secrecy", "none", "explicit", Verdict.EXHAUSTED, Verdict.EXHAUSTED)


def row(verdict: Verdict, expected: Verdict = Verdict.EXHAUSTED) -> Result:
    return replace(ROW, verdict=verdict, expected=expected)


EXPECTATIONS = [
    (Verdict.PROVED, Verdict.EXHAUSTED, True),
    (Verdict.EXHAUSTED, Verdict.EXHAUSTED, True),
    (Verdict.EXHAUSTED, Verdict.HOLDS_TO, True),
    (Verdict.HOLDS_TO, Verdict.EXHAUSTED, False),
    (Verdict.SAMPLED, Verdict.HOLDS_TO, False),
    (Verdict.UNKNOWN, Verdict.PROVED, False),
    (Verdict.VIOLATED, Verdict.VIOLATED, True),
    (Verdict.PROVED, Verdict.VIOLATED, False),
    (Verdict.EXHAUSTED, Verdict.VIOLATED, False),
    (Verdict.VIOLATED, Verdict.UNKNOWN, False),
    (Verdict.VACUOUS, Verdict.UNKNOWN, False),
    (Verdict.ERROR, Verdict.UNKNOWN, False),
]


@pytest.mark.parametrize(("verdict", "expected", "met"), EXPECTATIONS)
def test_an_expectation_is_met_by_what_is_as_strong(verdict: Verdict, expected: Verdict, met: bool) -> None:
    assert row(verdict, expected).as_expected is met


CODES = [
    ([Verdict.EXHAUSTED], 0),
    ([Verdict.VIOLATED], 1),
    ([Verdict.UNKNOWN], 3),
    ([Verdict.VACUOUS], 4),
    ([Verdict.ERROR], 5),
    ([Verdict.UNKNOWN, Verdict.VACUOUS], 4),
    ([Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.VIOLATED], 1),
    ([Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.VIOLATED, Verdict.ERROR], 5),
]


@pytest.mark.parametrize(("verdicts", "code"), CODES)
def test_the_worst_row_decides_the_exit_code(verdicts: list[Verdict], code: int) -> None:
    assert exit_code([row(Verdict.EXHAUSTED), *map(row, verdicts)]) == code
    assert exit_code([*map(row, reversed(verdicts)), row(Verdict.EXHAUSTED)]) == code


def test_exit_codes_and_counts_follow_from_verdicts() -> None:
    assert exit_code([row(Verdict.EXHAUSTED, Verdict.VIOLATED)]) == 3
    assert exit_code([row(Verdict.PROVED, Verdict.VIOLATED)]) == 1
    assert exit_code([row(Verdict.VIOLATED, Verdict.VIOLATED)]) == 0
    rows = [row(Verdict.VACUOUS), row(Verdict.PROVED), row(Verdict.PROVED)]
    assert list(by_verdict(rows).items()) == [("PROVED", 2), ("VACUOUS", 1)]


def test_engines_that_disagree_are_an_error() -> None:
    (plan,) = plan_campaign(Request(load(TOY))).plans
    rows = [replace(row(Verdict.PROVED), engine="induction"), row(Verdict.VIOLATED)]
    assert [each.verdict for each in disagreements(rows, plan)] == [Verdict.ERROR, Verdict.ERROR]
    apart = [rows[0], replace(rows[1], threat="collusion")]
    assert [each.verdict for each in disagreements(apart, plan)] == [Verdict.PROVED, Verdict.VIOLATED]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run in which the wrong claim of a negative control falls."""
    folder = tmp_path_factory.mktemp("run")
    carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(folder))
    return folder


def test_a_kept_attack_says_who_did_what_beside_its_itf_trace(run: Path) -> None:
    attack = json.loads((run / "attacks" / "main.anyone.stays-home.json").read_text())
    assert attack["parties"] == ["first", "party1"]
    (event,) = attack["events"]
    assert event["sentence"] == "first passes the token on to party1"
    assert event["arrow"] == {"from": "first", "to": "party1", "text": "token"}
    assert [change["text"] for change in event["changes"]] == ["− has(first)", "+ has(party1)"]
    assert attack["expected"] is False
    assert "stays-home fails for a = party1" in attack["reason"][0]
    trace = json.loads((run / "attacks" / "main.anyone.stays-home.itf.json").read_text())
    assert [state["mbt::actionTaken"] for state in trace["states"]] == ["init", "pass_on"]
    read = read_run(run)
    assert [attack["name"] for attack in read.attacks] == ["main.anyone.stays-home"]
    assert {row["claim"] for row in read.verdicts} == {"one-holder", "stays-home"}
    assert read.spec["variants"][0]["claims"][0]["sentence"] == "One party has the token."


@pytest.mark.mends("N22")
def test_a_graph_of_states_names_the_steps_of_its_lines(run: Path, tmp_path: Path) -> None:
    write_html(read_run(run), tmp_path / "html")
    lines = re.findall(r"<line [^>]*><title>([^<]*)</title>", (tmp_path / "html" / "index.html").read_text("utf-8"))
    assert lines
    assert {line.partition("(")[0].strip() for line in lines} == {"pass_on", "look"}


def test_a_later_run_replaces_an_earlier_one_and_a_proof_names_its_lemmas(tmp_path: Path) -> None:
    carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(tmp_path))
    assert list((tmp_path / "attacks").iterdir())
    carnet("verify", control("sound"), "--engine", "explicit", "--out", str(tmp_path))
    assert not list((tmp_path / "attacks").iterdir())
    carnet("verify", TOY, "--engine", "induction", "--jobs", "1", "--out", str(tmp_path))
    for row in read_run(tmp_path).verdicts:
        assert set(row["lemmas"]) == {"lent_keys_are_owned", "known_keys_are_used"}


def test_a_run_that_was_not_written_whole_is_none(tmp_path: Path) -> None:
    carnet("verify", TOY, "--engine", "explicit", "--out", str(tmp_path))
    shutil.rmtree(tmp_path / "attacks", ignore_errors=True)
    (tmp_path / "attacks").touch()
    ran = carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(tmp_path))
    assert ran.code == 2
    assert "cannot create the folder" in ran.err
    with pytest.raises(UsageError, match=r"has no run\.json"):
        read_run(tmp_path)


def test_a_report_names_the_defences_that_no_proof_can_name(tmp_path: Path) -> None:
    carnet("verify", TOY, "--engine", "explicit", "--out", str(tmp_path / "run"))
    run = read_run(tmp_path / "run")
    shut_out = {each["id"]: each["shuts_out"] for each in run.spec["variants"][0]["defences"] if each["shuts_out"]}
    assert shut_out == {"return-checked": ["forget"]}
    write_html(run, tmp_path / "pages")
    page = (tmp_path / "pages" / "index.html").read_text()
    assert "<dt>Proof</dt>\n<dd>none under " in page
    assert '<a href="#defence-main-return-checked">return-checked</a> (no forget)</dd>' in page
    for each in run.spec["variants"][0]["defences"]:  # as an earlier version wrote it
        del each["shuts_out"]
    write_html(run, tmp_path / "earlier")
    assert "(no forget)" not in (tmp_path / "earlier" / "index.html").read_text()


def broken(folder: Path, name: str, text: str) -> Path:
    """Return ``folder`` with one file replaced."""
    for file in ("run.json", "spec.json", "verdicts.jsonl", "timings.jsonl"):
        (folder / file).write_text('{"format": "carnet-run/1"}\n')
    (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.json", '{"format": "carnet-run/9"}', "carnet-run/9"),
        ("run.json", "[]", "expected a json object"),
        ("spec.json", "{", "expected json in"),
        ("verdicts.jsonl", "{}\n{\n", "verdicts.jsonl', line 2"),
        ("verdicts.jsonl", '{}\n{"cl', "verdicts.jsonl', line 2"),
    ],
    ids=["another format", "no object", "cut off", "a broken line", "a line cut off"],
)
def test_what_is_no_run_is_refused_in_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_run(broken(tmp_path, name, text))
    assert said in str(refused.value).lower()


HOSTILE = '<script>alert(1)</script>" onload="alert(1)\u2028'


def test_what_a_run_says_is_text_and_never_markup(run: Path, tmp_path: Path) -> None:
    read = read_run(run)
    poisoned = json.loads(json.dumps(read.spec).replace("One party has the token.", json.dumps(HOSTILE)[1:-1]))
    poisoned["title"] = HOSTILE
    write_html(replace(read, spec=poisoned), tmp_path)
    for page in tmp_path.glob("*.html"):
        assert "<script>alert" not in page.read_text()
        assert 'onload="' not in page.read_text()
    data = (tmp_path / "search.js").read_text()
    assert "alert(1)" in data
    assert "</script>" not in data
    assert "\u2028" not in data


def test_equal_runs_make_equal_pages_and_what_is_no_run_none(run: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_html(read_run(run), tmp_path / name)
    pages = {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()}
    assert pages == {file.name: file.read_bytes() for file in (tmp_path / "other").iterdir()}
    ran = carnet("report", str(tmp_path), "--html", str(tmp_path / "html"))
    assert (ran.code, ran.out) == (2, "")
    assert "has no run.json" in ran.err
    assert not (tmp_path / "html").exists()


BAD_REPORTS = {
    "nothing to do": ([], "give --html DIR"),
    "a key alone": (["--html", "OUT/html", "--key", "x.pem"], "need --key FILE"),
    "a bundle without a key": (["--bundle", "OUT/evidence.json"], "need --key FILE"),
    "to sign and to check": (
        ["--bundle", "OUT/a", "--check-bundle", "OUT/b", "--key", "x.pem"],
        "give only one of them",
    ),
    "no such key": (["--bundle", "OUT/evidence.json", "--key", "OUT/none.pem"], "cannot read"),
    "no such bundle": (["--check-bundle", "OUT/none.json", "--key", "OUT/none.pem"], "cannot read"),
    "no such table": (["--html", "OUT/html", "--table", "OUT/none.json"], "cannot read"),
    "no table": (["--html", "OUT/html", "--table", TOY], "expected JSON in"),
    "a file for a folder": (["--html", TOY], "expected a folder"),
}


@pytest.mark.mends("N12")
@pytest.mark.parametrize("name", BAD_REPORTS)
def test_a_bad_request_for_a_report_is_refused_and_nothing_is_written(run: Path, tmp_path: Path, name: str) -> None:
    arguments, said = BAD_REPORTS[name]
    ran = carnet("report", str(run), *(word.replace("OUT", str(tmp_path)) for word in arguments), "--json")
    assert ran.code == 2
    assert said in ran.json["error"]["message"]
    assert list(tmp_path.iterdir()) == []
